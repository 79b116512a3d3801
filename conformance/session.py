"""A pytest session that judges: items in, records out, the kit's exit status.

Loaded by :mod:`conformance.plugin` only when ``--impl`` is given.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.baseline import write_baseline
from conformance.faults import AdapterError, KitError
from conformance.items import Item
from conformance.lifetime import interrupt_on_termination
from conformance.outcomes import FAILING
from conformance.results import ResultsWriter
from conformance.run import Judgement, Run, decide_status
from conformance.settings import SEED, read_settings
from conformance.status import Status, status_of_error
from conformance.summary import counts_line, reproduce_command, summary_lines
from conformance.untrusted import printable

__all__ = ["SUITE", "start"]

SUITE: Final = Path(__file__).resolve().parent / "suite"
"""Where the suite's test modules are."""

_PROPERTY: Final = "delta-tck"
_KEPT: Final = (Status.INTERRUPTED, Status.INTERNAL, Status.USAGE)


def start(config: pytest.Config) -> None:
    """Load, select and start before anything is collected, or end the run with its status."""
    interrupt_on_termination()
    settings = read_settings(config)
    worker = hasattr(config, "workerinput")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(SUITE)]
    run = None
    try:
        run = Run(settings, trusted=worker)
        plugin = _WorkerPlugin(run) if worker else _MainPlugin(run)
    except KitError as error:
        if run is not None:
            run.close()
        details = f"\n{error.details}" if isinstance(error, AdapterError) else ""
        message = printable(f"delta-tck: {error}{details}")
        pytest.exit(message, returncode=status_of_error(error))
    config.pluginmanager.register(plugin, "delta-tck-run")


class _WorkerPlugin:
    """Run items in this process; all there is in a test process of xdist."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.fixture(scope="session")
    def delta_tck_run(self) -> Run:
        """Give the run."""
        return self.run

    @pytest.fixture
    def delta_tck_judge(self, request: pytest.FixtureRequest) -> Callable[[Item], None]:
        """Judge an item, record the verdict with the test, and fail the test when it is red."""

        def judge(item: Item) -> None:
            judgement = self.run.decide(item)
            request.node.user_properties.append((_PROPERTY, json.dumps(judgement.record)))
            _conclude(judgement)

        return judge

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out modules of the suite that have nothing to judge in this run."""
        if collection_path.parent != SUITE or not collection_path.name.startswith("test_"):
            return None
        source = collection_path.stem.removeprefix("test_")
        return None if self.run.of_source(source) else True

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of each selected item of the module's source."""
        if "delta_tck_item" in metafunc.fixturenames:
            source = metafunc.module.__name__.rpartition("test_")[2]
            items = self.run.of_source(source)
            metafunc.parametrize("delta_tck_item", items, ids=[item.id for item in items])

    def pytest_collection_finish(self) -> None:
        """Keep the collector of garbage from going through thousands of items again and again."""
        gc.freeze()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Release what this process holds; a test process of xdist may not live longer."""
        del session, exitstatus
        self.run.close()

    def pytest_unconfigure(self) -> None:
        """Release the adapter of a session that never began."""
        self.run.close()


def _conclude(judgement: Judgement) -> None:
    if judgement.known is not None:
        pytest.xfail(f"known: {judgement.known}")
    if judgement.failure is not None:
        record = judgement.record
        lines = [judgement.failure, f"expected: {record['expected']}"]
        pytest.fail("\n".join([*lines, *record["details"]]), pytrace=False)


class _MainPlugin(_WorkerPlugin):
    """Gather the records, write them, sum them up and set the exit status."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._records: dict[str, dict[str, Any]] = {}
        self._unrecorded: set[str] = set()
        self._status = Status.OK
        self._stale = run.stale_entries()
        # Starts the adapter, so that one that cannot start ends the run here.
        run.description  # noqa: B018  the cached property is asked for its effect
        run.witness  # noqa: B018  as above
        results = run.settings.results
        self._writer = ResultsWriter(results, run.header()) if results else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let every test process of xdist draw the same histories."""
        node.workerinput[SEED] = self.run.settings.plan.seed

    def pytest_report_header(self) -> list[str]:
        """Say who is judged by what."""
        run, who = self.run, self.run.description
        revision = run.settings.selection.revision
        return [
            f"delta-tck: judging {who.name} {who.engine_version} by revision {revision}",
            f"delta-tck: {len(run.selected)} of {len(run.items)} cases of {run.corpus.root}",
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record out of a test's report."""
        found = [str(value) for key, value in report.user_properties if key == _PROPERTY]
        record = json.loads(found[-1]) if found else None
        if record is None:
            if report.failed:
                self._unrecorded.add(report.nodeid)
        elif report.when == "call":
            self._records[record["id"]] = record
            if self._writer:
                self._writer.add(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit status, and write what the options ask for."""
        super().pytest_sessionfinish(session, exitstatus)
        records = list(self._records.values())
        self._status = decide_status(records, self._stale, len(self._unrecorded))
        if exitstatus in _KEPT:
            self._status = Status(exitstatus)
        session.exitstatus = self._status
        complete = exitstatus not in _KEPT and not self._unrecorded
        if self._writer:
            self._writer.close(self._status, complete=complete)
        target = self.run.settings.write_baseline
        if target and complete and records:
            write_baseline(target, [r for r in records if r["outcome"] in FAILING])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary that a person acts on."""
        settings = self.run.settings
        options = settings.repeat_options()
        records = list(self._records.values())

        def reproduce(identity: str) -> str:
            return reproduce_command(settings.impl, options, identity)

        terminalreporter.section("delta-tck")
        for line in summary_lines(records, self.run.registry, reproduce):
            terminalreporter.line(line)
        for line in self._stale:
            terminalreporter.line(f"STALE BASELINE: {line}")
        for nodeid in sorted(self._unrecorded):
            terminalreporter.line(f"NO RECORD: {nodeid}")
        only = terminalreporter.config.option.collectonly
        counts = "nothing was asked: --collect-only" if only else counts_line(records)
        terminalreporter.line(
            f"{counts}; exit status {int(self._status)} "
            f"({self._status.name.lower().replace('_', ' ')})"
        )
