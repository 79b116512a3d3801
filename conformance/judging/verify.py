"""Hold an answer against the expected one, by the type of the question.

Serves the section "Case" of ``docs/formats.md``. An answer of another shape than its request
documents is a fault of the adapter, not a statement about the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from conformance.base.faults import AdapterError
from conformance.golden.cases import Expected
from conformance.judging.compare import (
    Difference,
    compare_files,
    compare_history,
    compare_rows,
    compare_snapshot,
)

__all__ = ["count_rows", "describe_expected", "verify"]

_TIMESTAMP_COLUMN: Final = "_commit_timestamp"


def _rows(expected: Expected, payload: Any) -> Difference | None:
    if not isinstance(payload, pa.Table):
        raise AdapterError("garbage", f"rows are answered as {type(payload).__name__}")
    return compare_rows(expected.rows(), payload)


def _changes(expected: Expected, payload: Any) -> Difference | None:
    # The time of a commit without a recorded time is the file's own, which a case may leave open.
    if isinstance(payload, pa.Table) and _TIMESTAMP_COLUMN not in expected.rows().column_names:
        kept = [name for name in payload.column_names if name != _TIMESTAMP_COLUMN]
        payload = payload.select(kept)
    return _rows(expected, payload)


def _scalar(key: str, shape: type) -> Callable[[Expected, Any], Difference | None]:
    def compare(expected: Expected, payload: Any) -> Difference | None:
        if payload is not None and (not isinstance(payload, shape) or isinstance(payload, bool)):
            raise AdapterError("garbage", f"{key} is answered as {type(payload).__name__}")
        wanted = expected.document[key]
        if wanted == payload:
            return None
        return Difference("document", f"{key} is {payload!r}, expected {wanted!r}")

    return compare


_BY_TYPE: Final[Mapping[str, Callable[[Expected, Any], Difference | None]]] = {
    "read": _rows,
    "row_ids": _rows,
    "changes": _changes,
    "snapshot": lambda expected, payload: compare_snapshot(expected.document, payload),
    "files": lambda expected, payload: compare_files(expected.document["files"], payload),
    "history": lambda expected, payload: compare_history(expected.document["commits"], payload),
    "txn": _scalar("txnVersion", int),
    "domain_metadata": _scalar("configuration", str),
}


def verify(kind: str, expected: Expected, payload: Any) -> Difference | None:
    """Compare an answer's payload with the expected answer.

    Args:
        kind: the type of the spec.
        expected: what has to be answered.
        payload: what was answered.

    Returns:
        ``None`` when they agree.

    Raises:
        AdapterError: the payload is not of the shape that the request documents.

    """
    return _BY_TYPE[kind](expected, payload)


def count_rows(number: int) -> str:
    """Say how many rows there are."""
    return "1 row" if number == 1 else f"{number} rows"


def describe_expected(kind: str, expected: Expected) -> str:
    """Say in a few words what has to be answered."""
    if expected.source is not None:
        return count_rows(expected.rows().num_rows)
    return {"files": "the live files", "history": "the commits"}.get(kind, f"the {kind}")
