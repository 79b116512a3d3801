"""The job ``tables``: the golden tables that Spark writes, and its word on the whole corpus.

Serves ``docs/pipeline.md``. The work is :mod:`generators.golden.spark.pipeline`'s, several cases
at once; it goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.pipeline.session import SparkMissingError, check_spark

__all__ = ["run_tables_job"]


def run_tables_job(arguments: Sequence[str]) -> int:
    """Run the job; returns 0, or 2 where the request names nothing.

    Args:
        arguments: of the job.

    Raises:
        SparkMissingError: Java, a Python package or Delta's JARs are missing.

    """
    check_spark()
    from generators.golden.spark.pipeline import main  # noqa: PLC0415  not without the extra

    try:
        return main(list(arguments), "delta-tck pipeline tables")
    except FileNotFoundError as error:
        raise SparkMissingError(str(error)) from error
