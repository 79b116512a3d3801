"""The command ``delta-tck``: judge, try, audit, and read the results.

``delta-tck run`` is ``pytest`` with the kit's options under shorter names, as ``--case`` for
``--tck-case``; the other commands need no test runner.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

from conformance.base.commands import Commands, function_of, run_command
from conformance.base.status import Status
from conformance.base.terminal import say

COMMANDS: Final[Commands] = {
    "run": ("judge an implementation; --help has the options", "plugin.cli:run_judging_cli"),
    "smoke": ("try an adapter before it is judged", "smoke:run_smoke_cli"),
    "replay": (
        "judge an implementation by the bundle of a failure once more",
        "replay.cli:run_replay_cli",
    ),
    "audit": ("check a table on disk against the clauses that bind its writers", "cli:audit"),
    "coverage": (
        "say which requirements have cases, and which have not",
        "requirements.coverage:run_coverage_cli",
    ),
    "drift": (
        "say which rows, cases and proofs a new text of the protocol touches",
        "requirements.drift:run_drift_cli",
    ),
    "explain": (
        "look up a requirement or a case: clause, code, cases, proofs",
        "explain.cli:run_explain_cli",
    ),
    "report": ("make a page out of results files", "report.cli:run_report_cli"),
    "diff": ("say what changed between two results files", "report.cli:run_diff_cli"),
    "merge": (
        "make one results file out of those of the parts of a run",
        "run.merge:run_merge_cli",
    ),
    "pipeline": (
        "run a job on Spark, or keep results of many runs",
        "pipeline.cli:run_pipeline_cli",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: the command and its own arguments; the process's when ``None``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # of the parsers of arguments, and of pytest
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        return run_command("delta-tck", {"--version": ("", "cli:show_version")}, given)
    return run_command("delta-tck", COMMANDS, given)


def show_version(_: Sequence[str]) -> int:
    """Print name and version of the kit."""
    from conformance.base.home import kit_version  # noqa: PLC0415  no command needs it

    say(f"delta-tck {kit_version()}")
    return Status.OK


def audit(arguments: Sequence[str]) -> int:
    """Run ``delta-tck audit``, which does without pandas.

    Where pandas is installed, pyarrow imports it for the first list that becomes an array, which
    takes longer than the audit of a small table.
    """
    import pyarrow as pa  # noqa: PLC0415  not every command needs it

    hider = _NoPandas()
    sys.meta_path.insert(0, hider)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hider)
    return int(function_of("conformance.audit.cli:run_audit_cli")(arguments))


class _NoPandas:
    """Hides pandas from imports."""

    def find_spec(self, name: str, *_: object) -> None:
        """Find every module elsewhere but pandas, which is nowhere."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


if __name__ == "__main__":
    raise SystemExit(main())
