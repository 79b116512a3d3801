"""High-water marks of a table, which only rise: of row ids, column ids and identity values.

Serves "Row Tracking", "Column Mapping" and "Identity Columns". A mark that falls lets the next
operation give out what rows or columns of an earlier version have, which no audit of the table
as it stands could see.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reference_impl import Snapshot
from reference_impl.features import supported

__all__ = ["fallen"]

_ROW: Final = ("RT-037", "row ids")
_COLUMN: Final = ("CM-022", "column ids")
_VALUE: Final = "IDN-016"
"""Requirement of each mark, and its name where a table has one alone."""

_ROW_IDS: Final = "delta.rowTracking"
_ROW_ID_KEYS: Final = ("rowIdHighWaterMark", "highWaterMark")
_COLUMN_IDS: Final = "delta.columnMapping.maxColumnId"
_IDENTITY: Final = "delta.identity."
_FEATURES: Final = {_ROW: "rowTracking", _COLUMN: "columnMapping"}


def fallen(former: Snapshot, now: Snapshot) -> Iterator[tuple[str, str]]:
    """Give the requirement and a message for each mark that a later version lowers or loses.

    A mark whose feature was dropped, or whose column is gone, is promised no longer.
    """
    after = dict(_marks(now))
    listed = supported(now.protocol)
    dropped = {mark for mark, feature in _FEATURES.items() if feature not in listed}
    columns = {field.name for field in now.schema.fields}
    for (requirement, name), value in _marks(former):
        held = after.get((requirement, name))
        gone = (requirement, name) in dropped or (requirement == _VALUE and name not in columns)
        if gone or (held is not None and held >= value):
            continue
        state = "is gone" if held is None else f"fell from {value} to {held}"
        yield requirement, f"the high-water mark of {name} {state}"


def _marks(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], int]]:
    domain = snapshot.domain_metadata.get(_ROW_IDS)
    if domain is not None:
        document = _json(domain.configuration)
        values = [document[key] for key in _ROW_ID_KEYS if type(document.get(key)) is int]
        yield from ((_ROW, value) for value in values[:1])
    text = snapshot.metadata.configuration.get(_COLUMN_IDS, "")
    if text.isascii() and text.isdigit() and len(text) < 20:
        yield _COLUMN, int(text)
    for column in snapshot.schema.fields:
        mark, step = (column.metadata.get(f"{_IDENTITY}{key}") for key in ("highWaterMark", "step"))
        if type(mark) is int and type(step) is int:
            yield (_VALUE, column.name), mark if step > 0 else -mark


def _json(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
