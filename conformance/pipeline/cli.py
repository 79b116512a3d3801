"""The command ``delta-tck pipeline JOB``: start a job, and say in one line why it cannot run.

Serves ``docs/pipeline.md``. A job is a function of its arguments that gives an exit status; it is
imported when it is started, so that one job's needs are no other's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from conformance.base.faults import KitError
from conformance.base.status import Status, status_of_error
from conformance.base.terminal import say, warn
from conformance.workers.lifetime import interrupt_on_termination

__all__ = ["JOBS", "run_pipeline_cli"]

JOBS: Final[Mapping[str, tuple[str, str]]] = {
    "audit": ("audit one table of any size, or a fleet", "audit:run_audit_job"),
    "judge": ("judge implementations by the corpus", "judge:run_judge_job"),
    "explore": ("judge implementations by new histories", "explore:run_explore_job"),
    "track": ("keep results of many runs, and ask them", "track:run_track_job"),
    "tables": ("build the golden tables of Spark, and read the corpus", "tables:run_tables_job"),
}
"""Name of each job: what it does, and where it is below this package."""


def run_pipeline_cli(arguments: Sequence[str]) -> int:
    """Run a job and return its exit status.

    Args:
        arguments: the job and its own arguments.

    """
    if arguments and arguments[0] in ("-h", "--help"):
        say(_usage())
        return Status.OK
    if not arguments or arguments[0] not in JOBS:
        warn(_usage())
        return Status.USAGE
    interrupt_on_termination()
    module, _, function = JOBS[arguments[0]][1].partition(":")
    try:
        run: Callable[[Sequence[str]], int] = getattr(
            importlib.import_module(f"conformance.pipeline.{module}"), function
        )
        return int(run(arguments[1:]))
    except KitError as error:
        warn(f"delta-tck pipeline: {error}")
        status = status_of_error(error)
        return Status.USAGE if status is Status.INTERNAL else status
    except KeyboardInterrupt:
        warn("delta-tck pipeline: interrupted; the same command goes on from here")
        return Status.INTERRUPTED


def _usage() -> str:
    lines = [f"  {name:<8} {words}" for name, (words, _) in JOBS.items()]
    return "\n".join(["usage: delta-tck pipeline JOB …", "", "jobs:", *lines])
