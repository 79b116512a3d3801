"""Columns of the tables that ``explore`` keeps; see ``docs/pipeline.md``."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_JOB: Final = [
    ("job_id", pa.string()),
    ("unit", pa.int64()),
    ("implementation", pa.string()),
    ("engine_version", pa.string()),
    ("seed", pa.int64()),
    ("group", pa.int32()),
]

TABLES: Final = {
    "failures": pa.schema(
        [
            *_JOB,
            ("defect", pa.string()),
            ("case_id", pa.string()),
            ("outcome", pa.string()),
            ("hazard", pa.string()),
            ("requirement", pa.string()),
            ("way", pa.string()),
            ("message", pa.string()),
            ("count", pa.int64()),
        ]
    ),
    "units": pa.schema(
        [
            *_JOB,
            ("tables", pa.int64()),
            ("passed", pa.int64()),
            ("failed", pa.int64()),
            ("errors", pa.int64()),
            ("seconds", pa.float64()),
        ]
    ),
}
"""Name of each table, and its columns; ``units`` is written last and says how far the job is."""
