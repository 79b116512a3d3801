"""The command ``delta-tck pipeline JOB``: start a job, and say in one line why it cannot run.

See ``docs/pipeline.md``. A job is a function of its arguments that gives an exit status; it is
imported when it is started, so that one job's needs are no other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conformance.base.commands import NOT_ALONE, Commands, run_command
from conformance.base.status import Status
from conformance.base.terminal import warn
from conformance.workers.lifetime import interrupt_on_termination

JOBS: Final[Commands] = {
    "audit": ("audit one table of any size, or a fleet", "pipeline.audit:run_audit_job"),
    "judge": ("judge implementations by the corpus", "pipeline.judge:run_judge_job"),
    "explore": ("judge implementations by new histories", "pipeline.explore:run_explore_job"),
    "track": ("keep results of many runs, and ask them", "pipeline.track:run_track_job"),
    "tables": (
        "build the golden tables of Spark, and read the corpus",
        "pipeline.tables:run_tables_job",
    ),
}


def run_pipeline_cli(arguments: Sequence[str]) -> int:
    """Run a job and return its exit status."""
    interrupt_on_termination()
    try:
        return run_command("delta-tck pipeline", JOBS, arguments)
    except KeyboardInterrupt:
        warn("delta-tck pipeline: interrupted; the same command goes on from here")
        return Status.INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
