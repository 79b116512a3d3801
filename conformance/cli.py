"""The command ``delta-tck``: judge, try, audit, and read what came of it.

``delta-tck run`` is ``pytest`` with the kit's options under shorter names, as ``--case`` for
``--tck-case``; the other commands need no test runner.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from conformance.base.faults import CorpusError, KitError
from conformance.base.status import Status, status_of_error
from conformance.base.terminal import say

__all__ = ["COMMANDS", "main"]


def _run(arguments: Sequence[str]) -> int:
    import pytest  # noqa: PLC0415  the other commands need no test runner

    from conformance.base.options import (  # noqa: PLC0415  as above
        IMPLEMENTATIONS,
        long_names,
        options_help,
    )

    if any(argument in ("-h", "--help") for argument in arguments):
        say("usage: delta-tck run --impl=NAME …\n")
        say("\n".join(options_help()))
        return Status.OK
    given = long_names(arguments)
    if not any(argument.partition("=")[0] == "--impl" for argument in given):
        say(f"delta-tck run needs --impl: {', '.join(IMPLEMENTATIONS)}, python:… or cmd:…")
        return Status.USAGE
    return int(pytest.main(given))


def _smoke(arguments: Sequence[str]) -> int:
    from conformance.base.options import gibibytes, seconds  # noqa: PLC0415  as the adapters, only on demand
    from conformance.golden.corpus import load_corpus  # noqa: PLC0415  as above
    from conformance.smoke import smoke  # noqa: PLC0415  as above
    from conformance.workers.lifetime import interrupt_on_termination  # noqa: PLC0415  as above
    from conformance.workers.resolve import Limits, resolve  # noqa: PLC0415  as above

    parser = argparse.ArgumentParser(prog="delta-tck smoke", description=COMMANDS["smoke"][0])
    named = parser.add_mutually_exclusive_group(required=True)
    named.add_argument("implementation", nargs="?", metavar="IMPL", help="as for pytest --impl")
    named.add_argument("--impl", help="the same")
    parser.add_argument("--corpus", type=Path, help="folder of golden tables")
    parser.add_argument("--time-limit", type=seconds, default=60.0, help="seconds for a request")
    parser.add_argument("--start-limit", type=seconds, default=180.0, help="seconds to come up")
    parser.add_argument("--memory-limit", type=gibibytes, default=4.0, help="GiB for its processes")
    parser.add_argument("--disk-limit", type=gibibytes, default=4.0, help="GiB that they may write")
    options = parser.parse_args(arguments)
    interrupt_on_termination()
    try:
        corpus = load_corpus(options.corpus)
        memory, disk = int(options.memory_limit * 1024**3), int(options.disk_limit * 1024**3)
        limits = Limits(options.time_limit, options.start_limit, memory, disk)
        adapter = resolve(options.implementation or options.impl, limits, "process")
    except KitError as error:
        say(f"delta-tck: {error}")
        return status_of_error(error)
    faults = 0
    try:
        for step in smoke(adapter, corpus):
            faults += step.fault is not None
            say(f"{'ok  ' if step.fault is None else 'FAIL'}  {step.title}")
            if step.fault is not None:
                say("      " + step.fault.replace("\n", "\n      "))
    finally:
        adapter.close()
    return Status.ADAPTER if faults else Status.OK


class _NoPandas:
    """Hides pandas from imports."""

    def find_spec(self, name: str, *_: object) -> None:
        """Find every module elsewhere but pandas, which is nowhere."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _without_pandas() -> None:
    """Have pyarrow do without pandas, which it imports for the first list that becomes an array.

    Where pandas is installed, that takes longer than the audit of a small table.
    """
    import pyarrow as pa  # noqa: PLC0415  as above

    hider = _NoPandas()
    sys.meta_path.insert(0, hider)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hider)


def _audit(arguments: Sequence[str]) -> int:
    _without_pandas()
    from conformance.audit import run_audit_cli  # noqa: PLC0415  each command loads its own

    return run_audit_cli(list(arguments))


def _replay(arguments: Sequence[str]) -> int:
    from conformance.replay.cli import run_replay_cli  # noqa: PLC0415  as above

    return run_replay_cli(arguments)


def _coverage(arguments: Sequence[str]) -> int:
    from conformance.requirements.coverage import run_coverage_cli  # noqa: PLC0415  as above

    return run_coverage_cli(arguments)


def _drift(arguments: Sequence[str]) -> int:
    from conformance.requirements.drift import run_drift_cli  # noqa: PLC0415  as above

    return run_drift_cli(arguments)


def _explain(arguments: Sequence[str]) -> int:
    from conformance.explain import run_explain_cli  # noqa: PLC0415  as above

    return run_explain_cli(arguments)


def _report(arguments: Sequence[str]) -> int:
    from conformance.report import run_report_cli  # noqa: PLC0415  as above

    return run_report_cli(list(arguments))


def _diff(arguments: Sequence[str]) -> int:
    from conformance.report import run_diff_cli  # noqa: PLC0415  as above

    return run_diff_cli(list(arguments))


def _merge(arguments: Sequence[str]) -> int:
    from conformance.run.merge import run_merge_cli  # noqa: PLC0415  as above

    return run_merge_cli(arguments)


def _pipeline(arguments: Sequence[str]) -> int:
    from conformance.pipeline.cli import run_pipeline_cli  # noqa: PLC0415  as above

    return run_pipeline_cli(arguments)


COMMANDS: Final[Mapping[str, tuple[str, Callable[[Sequence[str]], int]]]] = {
    "run": ("judge an implementation; --help has the options", _run),
    "smoke": ("try an adapter before it is judged", _smoke),
    "replay": ("judge an implementation by the bundle of a failure once more", _replay),
    "audit": ("check a table on disk against the clauses that bind its writers", _audit),
    "coverage": ("say which requirements have cases, and which have not", _coverage),
    "drift": ("say which rows, cases and proofs a new text of the protocol touches", _drift),
    "explain": ("look up a requirement or a case: clause, code, cases, proofs", _explain),
    "report": ("make a page out of results files", _report),
    "diff": ("say what changed between two results files", _diff),
    "merge": ("make one results file out of those of the parts of a run", _merge),
    "pipeline": ("run a job on Spark, or keep results of many runs", _pipeline),
}


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {help_}" for name, (help_, _) in COMMANDS.items()]
    return "\n".join(["usage: delta-tck COMMAND …", "", "commands:", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: the command and its own arguments; the process's when ``None``.

    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # of the parsers of arguments, and of pytest
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in ("-h", "--help"):
        say(_usage())
        return Status.OK
    if given == ["--version"]:
        from conformance.base.version import kit_version  # noqa: PLC0415  each command loads its own

        say(f"delta-tck {kit_version()}")
        return Status.OK
    if not given or given[0] not in COMMANDS:
        say(_usage())
        return Status.USAGE
    try:
        return int(COMMANDS[given[0]][1](given[1:]))
    except CorpusError as error:
        say(f"delta-tck: {error}")
        return Status.CORPUS
