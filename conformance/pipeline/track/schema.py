"""Columns of the tables that keep results of many runs.

Serves "Tables of a store" of ``docs/pipeline.md``. Columns are only ever added, nullable, and
never change their type; a kit fills the columns that it knows.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_TEXTS: Final = pa.list_(pa.string())

RUNS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("implementation", pa.string()),
        ("engine_version", pa.string()),
        ("release_key", pa.string()),
        ("adapter_version", pa.string()),
        ("revision", pa.string()),
        ("label", pa.string()),
        ("kit_version", pa.string()),
        ("corpus_digest", pa.string()),
        ("cases", pa.int64()),
        ("selected", pa.int64()),
        ("judged", pa.int64()),
        ("records", pa.int64()),
        ("partial", _TEXTS),
        ("status", pa.int32()),
        ("header", pa.string()),
    ]
)
"""A row for each results file; the last to be written, so that a run is whole or not there."""

RESULTS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("case_id", pa.string()),
        ("outcome", pa.string()),
        ("hazard", pa.string()),
        ("requirement", pa.string()),
        ("requirements", _TEXTS),
        ("source", pa.string()),
        ("chapter", pa.string()),
        ("features", _TEXTS),
        ("message", pa.string()),
        ("seen", pa.string()),
        ("fault", pa.string()),
        ("standing", pa.string()),
        ("intermittent", pa.bool_()),
    ]
)
"""A row for each case of each run."""

FINDINGS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("case_id", pa.string()),
        ("requirement", pa.string()),
        ("hazard", pa.string()),
        ("way", pa.string()),
        ("title", pa.string()),
        ("expected", pa.string()),
        ("actual", pa.string()),
        ("details", _TEXTS),
    ]
)
"""A row for each case that failed, ended in an error or goes against advice, with what was seen."""

TABLES: Final = {"runs": RUNS, "results": RESULTS, "findings": FINDINGS}
"""Name of each table, and its columns."""
