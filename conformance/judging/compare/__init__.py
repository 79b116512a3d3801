"""The comparator: the one place where an answer and an expectation meet."""

from __future__ import annotations

from conformance.judging.compare.columns import (
    Rows,
    WrongColumns,
    counted_rows,
    differing_rows,
    equal_with_empty_as_null,
    wrong_columns,
)
from conformance.judging.compare.documents import (
    compare_document,
    compare_files,
    compare_history,
    compare_snapshot,
)
from conformance.judging.compare.rows import Difference, compare_rows, moved_rows

__all__ = [
    "Difference", "Rows", "WrongColumns", "compare_document", "compare_files", "compare_history",
    "compare_rows", "compare_snapshot", "counted_rows", "differing_rows",
    "equal_with_empty_as_null", "moved_rows", "wrong_columns",
]  # fmt: skip
