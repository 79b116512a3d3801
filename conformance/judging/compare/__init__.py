"""The comparator: the one place where an answer and an expectation meet."""

from __future__ import annotations

from conformance.judging.compare.columns import Astray, astray_columns, hollow_alike
from conformance.judging.compare.documents import (
    compare_document,
    compare_files,
    compare_history,
    compare_snapshot,
)
from conformance.judging.compare.rows import Difference, compare_rows, moved_rows

__all__ = [
    "Astray", "Difference", "astray_columns", "compare_document", "compare_files",
    "compare_history", "compare_rows", "compare_snapshot", "hollow_alike", "moved_rows",
]  # fmt: skip
