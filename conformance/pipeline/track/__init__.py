"""The job ``track``: keep results files of any number of runs, and ask them.

See ``docs/pipeline.md``. The tables are Delta tables, written by the reference implementation;
questions are SQL that DuckDB runs here, and Spark where ``--master`` is given.
"""

from __future__ import annotations

from conformance.pipeline.track.job import run_track_job

__all__ = ["run_track_job"]
