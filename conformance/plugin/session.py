"""A pytest session that judges: items in, records out, the kit's exit status.

Loaded by ``delta_tck_pytest`` only when ``--impl`` is given.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.base.faults import AdapterError, CorpusError, KitError, OutputError
from conformance.base.limits import pause, resume, write_to, written_to
from conformance.base.options import STATUS, destination
from conformance.base.outcomes import Outcome
from conformance.base.scratch import sweep
from conformance.base.status import Status, status_of_error
from conformance.base.terminal import printable, warn
from conformance.items.items import Item
from conformance.plugin.partial import LEFT_OUT_ELSEWHERE, partial_reasons, set_elsewhere
from conformance.plugin.spread import Crew, processes_for
from conformance.plugin.start_folder import StartFolder
from conformance.plugin.summary import Summary, counts_line, lead_line, reproduce_command
from conformance.report.baseline_writing import BaselineFile, Outcomes
from conformance.report.output import refuse_inputs, refuse_places
from conformance.report.results import ResultsWriter
from conformance.report.share import judged_by_chapter
from conformance.run.breaker import Breaker
from conformance.run.run import Judgement, Run, rootless, status_of_run
from conformance.run.settings import SEED, read_settings
from conformance.workers.lifetime import interrupt_on_termination

SUITE: Final = Path(__file__).resolve().parent / "suite"
"""Where the suite's test modules are."""

_JOURNAL: Final = "delta_tck_journal"
"""Under which name a test process of xdist gets the folder to write down what it is at."""

_PROPERTY: Final = "delta-tck"
_ABORTED: Final = (Status.INTERRUPTED, Status.INTERNAL, Status.USAGE)


def start(config: pytest.Config) -> None:
    """Load, select and start before anything is collected, or end the run with its status."""
    interrupt_on_termination()
    settings = read_settings(config)
    given = getattr(config, "workerinput", None)
    worker = given is not None
    if given and _JOURNAL in given:
        write_to(Path(given[_JOURNAL]))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(SUITE)]
        # Its plugin loads all of Hypothesis to find, at the end, that it has nothing to say; a run
        # that draws needs it, since it says when Hypothesis may begin.
        draws = settings.plan.profile != "gate"
        if not draws and config.pluginmanager.hasplugin("hypothesispytest"):
            config.pluginmanager.unregister(name="hypothesispytest")
    if not config.get_verbosity() > 0:
        _leave_failures_to_the_summary(config)
    run = None
    try:
        with _uncollected():
            run = Run(settings, trusted=worker)
        plugin = _WorkerPlugin(run) if worker else _MainPlugin(run)
    except KitError as error:
        if run is not None:
            run.close()
        details = f"\n{error.details}" if isinstance(error, AdapterError) else ""
        message = printable(f"delta-tck: {error}{details}")
        pytest.exit(message, returncode=status_of_error(error))
    config.pluginmanager.register(plugin, "delta-tck-run")
    config.pluginmanager.register(StartFolder(), "delta-tck-start-folder")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave garbage for later: of all that is loaded there is none, and to look takes long."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _leave_failures_to_the_summary(config: pytest.Config) -> None:
    """Print no failure twice, unless an option asks for it."""
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
    config.option.reportchars = ""


class _WorkerPlugin:
    """Run items in this process; all there is in a test process of xdist."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.fixture(scope="session")
    def delta_tck_run(self) -> Run:
        """Return the run."""
        return self.run

    @pytest.fixture
    def delta_tck_judge(self, request: pytest.FixtureRequest) -> Callable[[Item], None]:
        """Judge an item, record the verdict with the test, and fail the test when it is red."""

        def judge(item: Item) -> None:
            judgement = self.run.judge_item(item)
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

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep what is going to be asked, and exclude its thousands from garbage collection."""
        asked = (_asked(item) for item in session.items)
        self.run.collected = frozenset(item.id for item in asked if item is not None)
        gc.freeze()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Release what this process holds; a test process of xdist may not live longer."""
        del session, exitstatus
        self.run.close()

    def pytest_enter_pdb(self) -> None:
        """Stop the time limits while a debugger waits for its user."""
        pause()

    def pytest_leave_pdb(self) -> None:
        """Go on with the time limits."""
        resume()

    def pytest_unconfigure(self) -> None:
        """Release the adapter of a session that never began."""
        self.run.close()


def _asked(item: pytest.Item) -> Item | None:
    call = getattr(item, "callspec", None)
    asked: Item | None = call.params.get("delta_tck_item") if call is not None else None
    return asked


def _group(item: pytest.Item) -> str:
    """Name what an item's neighbours share with it: the case, or else the module."""
    asked = _asked(item)
    return str(asked.id.rpartition("/")[0] if asked else item.nodeid.partition("::")[0])


def _record_of(report: pytest.TestReport | pytest.CollectReport) -> dict[str, Any] | None:
    kept = getattr(report, "user_properties", ())
    found = [str(value) for key, value in kept if key == _PROPERTY]
    record: dict[str, Any] | None = json.loads(found[-1]) if found else None
    return record


def _conclude(judgement: Judgement) -> None:
    if judgement.known is not None:
        pytest.xfail(f"known: {judgement.known}")
    if judgement.failure is not None:
        record = judgement.record
        lines = [judgement.failure, f"expected: {record['expected']}"]
        pytest.fail("\n".join([*lines, *record["details"]]), pytrace=False)


class _MainPlugin(_WorkerPlugin):
    """Gather the records, write them, sum them up and set the exit status.

    Raises:
        KitError: a file cannot be written, or the adapter does not start.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        settings = run.settings
        self._records: dict[str, dict[str, Any]] = {}
        self._collected: set[str] = set()
        self._unrecorded: set[str] = set()
        self._breaker = Breaker()
        self._broken: str | None = None
        self._unwritten: str | None = None
        self._altered: str | None = None
        self._session: pytest.Session | None = None
        self._status = Status.OK
        self._partial: list[str] = []
        self._shortfalls: list[str] = []
        self._stale = run.stale_entries()
        # What a run is to leave is opened before it begins, and replaces nothing that it reads.
        outputs = {
            "results": settings.results,
            "a baseline": settings.write_baseline,
            "bundles": settings.bundles,
        }
        for what, output in outputs.items():
            if output is not None:
                refuse_places(output, what, run.corpus.root)
        if settings.results:
            read = (settings.baseline, settings.write_baseline)
            refuse_inputs(settings.results, "results", read)
        target = settings.write_baseline
        self._baseline = BaselineFile(target, run.baseline) if target else None
        self._writer = ResultsWriter(settings.results) if settings.results else None
        # Starts the adapter, so that one that cannot start ends the run here.
        run.description  # noqa: B018  the cached property is asked for its effect
        run.witness  # noqa: B018  as above
        if self._writer:
            self._writer.begin(run.header())

    def pytest_unconfigure(self) -> None:
        """Remove what test processes left that were killed; those of xdist have ended by now."""
        super().pytest_unconfigure()
        if self._session is not None and self._session.exitstatus == Status.OK:
            # Another plugin may have set it at the end; no run that failed is a success for that.
            self._session.exitstatus = self._status
        self._fail_if_results_altered()
        sweep()

    def _fail_if_results_altered(self) -> None:
        """Fail a run whose results another plugin wrote over at its end, as a report of JUnit."""
        if self._writer is None or self._session is None:
            return
        try:
            self._writer.refuse_altered()
        except OutputError as error:
            warn(f"delta-tck: {error}; exit status {int(Status.USAGE)}")
            self._session.exitstatus = Status.USAGE

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let every test process of xdist draw the same histories, and say what it is at."""
        node.workerinput[SEED] = self.run.settings.plan.seed
        journal = written_to()
        if journal is not None:
            node.workerinput[_JOURNAL] = str(journal)

    def pytest_report_header(self) -> list[str]:
        """Say who is judged by what."""
        run, who = self.run, self.run.description
        revision = run.settings.selection.revision
        return [
            f"delta-tck: judging {who.name} {who.engine_version} by revision {revision}",
            f"delta-tck: {len(run.selected)} of {len(run.ids)} cases of {run.corpus.root}",
        ]

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session, to end it where the adapter no longer answers."""
        self._session = session

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep which tests are going to run; under xdist its processes know."""
        super().pytest_collection_finish(session)
        self._collected = {item.nodeid for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record out of a test's report."""
        record = _record_of(report)
        if record is None:
            if report.failed or report.skipped or report.when == "call":
                self._unrecorded.add(report.nodeid)
            return
        self._collected.discard(report.nodeid)
        # The first verdict stands: a case that is asked again until it passes has failed.
        if report.when == "call" and record["id"] not in self._records:
            self._records[record["id"]] = record
            self._write_results(lambda writer: writer.add(record))
            reason = self._breaker.add(record)
            if reason is not None and not self._broken:
                self._broken = reason
                self._end(reason)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count and name no test as passed whose case did not pass."""
        record = _record_of(report) if report.when == "call" and report.passed else None
        outcome = Outcome.PASS if record is None else Outcome(record["outcome"])
        if outcome is Outcome.PASS:
            return None
        return outcome.value, outcome.value[0], outcome.value.upper()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Judge on every core, or leave the loop to others.

        Raises:
            pytest.Session.Failed: ``-x`` or ``--maxfail`` ends the run.
            pytest.Session.Interrupted: something else does.
        """
        config = session.config
        count = processes_for(session) if config.getoption(destination("--impl")) == "ours" else 1
        if count < 2:
            return None

        def leave_to_the_first() -> None:
            config.pluginmanager.unregister(self)

        crew = Crew(session, leave_to_the_first, self.run.close, _group)
        with closing(crew.reports(count)) as found:
            for item, reports in zip(session.items, found, strict=True):
                hook = item.ihook
                hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                for report in reports:
                    hook.pytest_runtest_logreport(report=report)
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        return True

    def _write_results(self, write: Callable[[ResultsWriter], None]) -> None:
        """Write to the results file; where that cannot be done, there is nothing to go on for."""
        if self._writer is not None:
            try:
                write(self._writer)
            except OutputError as error:
                self._writer, self._unwritten = None, str(error)
                self._end(str(error))

    def _end(self, reason: str) -> None:
        if self._session is None:
            return
        self._session.shouldstop = reason
        spread = self._session.config.pluginmanager.get_plugin("dsession")
        if spread is not None:
            spread.shouldstop = reason

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit status, and write what the options ask for."""
        super().pytest_sessionfinish(session, exitstatus)
        ended_early = exitstatus in _ABORTED or session.shouldfail or session.shouldstop
        if not ended_early and not session.config.option.collectonly:
            self._unrecorded |= self._collected
        records = list(self._records.values())
        missing = len(self.run.selected) - len(records)
        self._partial = partial_reasons(
            session, exitstatus, missing=missing, unrecorded=len(self._unrecorded), suite=str(SUITE)
        )
        whole = not self._partial
        self._shortfalls = self.run.shortfalls(records, whole=whole)
        self._status = status_of_run(
            records, self._stale, len(self._unrecorded), self._shortfalls, self.run.settings.strict
        )
        if self._status is Status.OK and LEFT_OUT_ELSEWHERE in self._partial:
            self._status = Status.INTERRUPTED
        if exitstatus in _ABORTED:
            self._status = Status.GAVE_UP if self._broken else Status(exitstatus)
        else:
            self._fail_if_corpus_written()
        self._write_results(lambda writer: writer.close(self._status, self._partial))
        if self._baseline and records and exitstatus not in _ABORTED and not self._altered:
            try:
                self._write_baseline(self._baseline, whole=whole)
            except OutputError as error:
                self._unwritten = str(error)
        if self._unwritten:
            self._status = Status.USAGE
        session.exitstatus = session.config.stash[STATUS] = self._status

    def _fail_if_corpus_written(self) -> None:
        """Fail a run during which the tables that it copies were written to."""
        try:
            self.run.refuse_written()
        except CorpusError as error:
            self._status, self._altered = Status.CORPUS, str(error)

    def _write_baseline(self, file: BaselineFile, *, whole: bool) -> None:
        run = self.run
        everything = whole and not run.settings.narrowed
        outcomes = Outcomes(
            self._records, run.failing, run.ids, shipped=run.settings.corpus is None
        )
        revision = run.settings.selection.revision
        judged = (revision, judged_by_chapter(self._records.values())) if everything else None
        file.write(outcomes, run.description.claims.as_document(), judged)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary that a person acts on."""
        settings = self.run.settings
        options = settings.repeat_options()
        records = list(self._records.values())
        config = terminalreporter.config

        def reproduce(identity: str) -> str:
            return reproduce_command(settings.impl, options, identity)

        summary = Summary(
            records,
            len(self.run.selected),
            self.run.registry,
            reproduce,
            verbose=config.get_verbosity() > 0,
        )
        terminalreporter.section("delta-tck")
        for line in (*summary.lines(), *self._remarks(config)):
            terminalreporter.line(printable(line))
        only = config.option.collectonly
        counts = "nothing was asked: --collect-only" if only else counts_line(records)
        lead = lead_line(records, len(self.run.selected)).partition(";")[0]
        terminalreporter.line(
            f"{lead}: {counts}; exit status {int(self._status)} "
            f"({self._status.name.lower().replace('_', ' ')})"
        )

    def _remarks(self, config: pytest.Config) -> Iterator[str]:
        yield from (f"STALE BASELINE: {line}" for line in self._stale)
        yield from (f"NO RECORD: {nodeid}" for nodeid in sorted(self._unrecorded))
        for name in rootless(self._records.values()):
            yield f"NO VERDICT: {name} is blocked by a case that did not fail in this run"
        yield from (f"TOO FEW: {line}" for line in self._shortfalls)
        shard = self.run.settings.shard
        if shard is not None and not self.run.selected:
            none = f"none of {self.run.asked} selected cases is in part {shard.number}"
            yield (
                f"EMPTY PART: {none} of {shard.parts}; fewer parts leave none empty, and "
                "delta-tck merge takes the results file of one that is"
            )
        if self._unwritten:
            yield f"NOT WRITTEN: {self._unwritten}"
        if self._altered:
            yield f"ALTERED DURING THE RUN: {self._altered}"
        if self._broken:
            yield f"GAVE UP: {self._broken}"
        yield from (f"PARTIAL: {reason}" for reason in self._partial)
        if elsewhere := set_elsewhere(config):
            yield f"NOT OF THE COMMAND: {elsewhere}"
