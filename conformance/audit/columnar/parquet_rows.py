"""File actions out of a batch of a checkpoint (section Checkpoint Schema)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

from conformance.audit.columnar.keys import vector_id
from conformance.audit.columnar.rows import (
    ADD,
    COLUMNS,
    FIELDS,
    FLAGS,
    NAME_END,
    NULL,
    ONLY_IN_COMMITS,
    REMOVE,
    REQUIRED,
    RICH_FIELDS,
    VALUE_END,
    Mask,
    Rows,
    Source,
    key_text,
    part_of,
)
from conformance.audit.grammar.uris import UNESCAPED, lenient_path

_ACTIONS: Final = (("add", ADD), ("remove", REMOVE))
_ABSENT: Final = {name: ("deletionVector", *only) for name, only in ONLY_IN_COMMITS.items()}
_COUNTS: Final = ("size", "baseRowId", "defaultRowCommitVersion")
_PARSED: Final = ("partitionValues_parsed", "stats_parsed")
_MARKS: Final = f"[{NAME_END}{VALUE_END}{NULL}]"
_WELL_ESCAPED: Final = r"^(?:[^%]|%[0-9A-Fa-f]{2})+$"


def file_rows(
    batch: pa.RecordBatch, numbers: npt.NDArray[np.int64], source: Source
) -> tuple[Rows, Mask]:
    """Make rows of the file actions of a batch.

    Args:
        batch: columns of actions.
        numbers: of its rows in the file, rising.
        source: reads rows of the batch again.

    Returns:
        The rows, and which rows of the batch they are; the others are no file actions, or have
        no path.
    """
    names = batch.schema.names
    held = {name: np.asarray(batch.column(name).is_valid(), np.bool_) for name in names}
    count = sum((each.astype(np.int64) for each in held.values()), np.zeros(len(batch), np.int64))
    pieces: list[Rows] = []
    taken = np.zeros(len(batch), np.bool_)
    for action, kind in _ACTIONS:
        if action not in names:
            continue
        here = held[action] & ~taken
        column = batch.column(action)
        if not here.any() or not at.is_struct(column.type):
            continue
        mine, picked = _Column(action, kind, column).rows(here, count == 1, numbers, source)
        pieces.append(mine)
        taken[picked] = True
    found = Rows.joined(pieces)
    if len(pieces) > 1 and len(found):
        found = _sorted(found)
    return found, taken


def _sorted(rows: Rows) -> Rows:
    """Bring rows of two columns into the order of the file."""
    by = np.argsort(rows.order, kind="stable")
    if (np.diff(by) > 0).all():
        return rows
    part = rows.parts[0].source
    assert isinstance(part, _Picked)
    at_ = np.concatenate([each.source.at for each in rows.parts])  # type: ignore[attr-defined]
    return Rows(
        **{name: getattr(rows, name)[by] for name in ("kind", "order", *FLAGS)},
        keys=rows.keys.take(pa.array(by)),
        columns={name: each.take(pa.array(by)) for name, each in rows.columns.items()},
        parts=part_of(_Picked(part.source, at_[by])),
    )


@dataclass(frozen=True, slots=True)
class _Picked:
    """Some rows of a source, by their numbers in it."""

    source: Source
    at: npt.NDArray[np.int64]

    def read(self, at: Sequence[int]) -> Iterable[Any]:
        return self.source.read(self.at[np.asarray(at, np.int64)].tolist())

    def packed(self, at: Sequence[int]) -> bytes:
        return self.source.packed(self.at[np.asarray(at, np.int64)].tolist())


class _Column:
    """The column of one action."""

    def __init__(self, action: str, kind: int, column: pa.StructArray) -> None:
        self.action, self.kind = action, kind
        # Unlike a child itself, this has its parent's nulls.
        self.fields = dict(
            zip([field.name for field in column.type], column.flatten(), strict=True)
        )
        self.repeated = len(self.fields) < column.type.num_fields

    def rows(
        self, here: Mask, alone: Mask, numbers: npt.NDArray[np.int64], source: Source
    ) -> tuple[Rows, npt.NDArray[np.int64]]:
        """Make rows of those that have a path, and return which rows of the batch they are."""
        paths = self.fields.get("path")
        if paths is None or not _is_text(paths.type):
            return Rows.none(), _NO_POSITIONS
        here = here & _true(pc.not_equal(paths, ""), len(paths))
        picked = np.flatnonzero(here)
        if not picked.size:
            return Rows.none(), _NO_POSITIONS
        count = len(picked)
        fields = self.fields
        if count < len(here):
            chosen = pa.array(picked)
            fields = {name: each.take(chosen) for name, each in fields.items()}
        typed, irregular, rich = self._typed(fields, count)
        irregular |= ~alone[picked] | self._broken(typed, count)
        paths = fields["path"].cast(pa.large_string())
        written = _column("partitionValues", typed, count)
        if "partitionValues" in typed:
            # Some that no one text spells.
            irregular |= _valid(typed["partitionValues"]) & np.asarray(written.is_null(), np.bool_)
        keys, percent = _keys(paths, fields, with_vectors="deletionVector" in fields)
        unescaped = _matching(paths, UNESCAPED)
        if percent.any():
            irregular |= percent & ~_matching(paths, _WELL_ESCAPED)
        bare = ~unescaped & ~percent
        found = Rows(
            np.full(count, self.kind, np.uint8),
            numbers[picked],
            irregular,
            rich,
            bare & ~irregular,
            unescaped,
            _true(typed.get("dataChange"), count),
            _valid(fields["baseRowId"]) if "baseRowId" in fields else np.zeros(count, np.bool_),
            keys=pa.chunked_array([keys]),
            columns={name: _column(name, typed, count) for name in COLUMNS}
            | {"partitionValues": written},
            parts=part_of(_Picked(source, picked.astype(np.int64))),
        )
        return found, picked

    def _typed(
        self, fields: Mapping[str, pa.Array], count: int
    ) -> tuple[dict[str, pa.Array], Mask, Mask]:
        """Return fields of their own types, what is irregular for its type, and what is rich."""
        typed: dict[str, pa.Array] = {}
        irregular = np.full(count, self.repeated, np.bool_)
        rich = np.zeros(count, np.bool_)
        for name, values in fields.items():
            wanted = FIELDS.get(name)
            if wanted is not None and _castable(values.type, wanted):
                typed[name] = values if at.is_map(wanted) else values.cast(wanted)
            elif wanted is not None or name == "deletionVector":
                irregular |= _valid(values)
            else:
                rich |= _valid(values)
                if name in _PARSED and not at.is_struct(values.type):
                    irregular |= _valid(values)
        for name in _ABSENT[self.action]:
            if name in fields:
                irregular |= _valid(fields[name])
        for name in RICH_FIELDS:
            if name in typed:
                rich |= _valid(typed[name])
        return typed, irregular, rich

    def _broken(self, typed: Mapping[str, pa.Array], count: int) -> Mask:
        """Return which rows lack a field, or have a value out of its range."""
        irregular = np.zeros(count, np.bool_)
        for name in REQUIRED[self.action]:
            irregular |= ~_valid(typed[name]) if name in typed else np.ones(count, np.bool_)
        for name in _COUNTS:
            if name in typed:
                irregular |= _true(pc.less(typed[name], 0), count)
        if "extendedFileMetadata" in typed:
            full = _true(typed["extendedFileMetadata"], count)
            for name in ("partitionValues", "size"):
                irregular |= full & (~_valid(typed[name]) if name in typed else True)
        return irregular


_NO_POSITIONS: Final = np.zeros(0, np.int64)


def _is_text(of: pa.DataType) -> bool:
    return bool(at.is_string(of) or at.is_large_string(of))


def _castable(of: pa.DataType, wanted: pa.DataType) -> bool:
    if at.is_map(wanted):
        return bool(at.is_map(of) and _is_text(of.key_type) and _is_text(of.item_type))
    if at.is_int64(wanted):
        return bool(at.is_signed_integer(of))
    return bool(_is_text(of) if at.is_large_string(wanted) else of == wanted)


def _valid(values: pa.Array) -> Mask:
    return np.asarray(values.is_valid(), np.bool_)


def _true(values: pa.Array | None, count: int) -> Mask:
    if values is None:
        return np.zeros(count, np.bool_)
    return np.asarray(pc.fill_null(values, fill_value=False), np.bool_)


def _matching(texts: pa.Array, pattern: str) -> Mask:
    return np.asarray(pc.match_substring_regex(texts, pattern), np.bool_)


def _keys(
    paths: pa.Array, fields: Mapping[str, pa.Array], *, with_vectors: bool
) -> tuple[pa.Array, Mask]:
    """Return the texts of the keys, and which paths have a percent sign."""
    percent = np.asarray(pc.match_substring(paths, "%"), np.bool_)
    special = percent | np.asarray(pc.match_substring(paths, "\0"), np.bool_)
    vectors: list[Any] | None = None
    if with_vectors:
        vector = _valid(fields["deletionVector"])
        special |= vector
        if vector.any():
            vectors = fields["deletionVector"].to_pylist()
    if not special.any():
        return paths, percent
    picked = np.flatnonzero(special)
    written = []
    for row, path in zip(picked.tolist(), paths.take(pa.array(picked)).to_pylist(), strict=True):
        held = vectors[row] if vectors is not None else None
        written.append(key_text(lenient_path(path), vector_id(held)))
    texts = pa.array(written, pa.large_string())
    return pc.replace_with_mask(paths, pa.array(special), texts), percent


def _column(name: str, typed: Mapping[str, pa.Array], count: int) -> pa.ChunkedArray:
    values = typed.get(name)
    if name == "partitionValues":
        return pa.chunked_array([_values(values, count)])
    if values is None:
        return pa.chunked_array([pa.nulls(count, COLUMNS[name])])
    return pa.chunked_array([values.cast(COLUMNS[name])])


def _values(maps: pa.MapArray | None, count: int) -> pa.Array:
    """Spell partition values as one text; null where rows have different numbers of them."""
    if maps is None or not len(maps):
        return pa.nulls(count, pa.large_string())
    lengths = np.diff(np.asarray(maps.offsets))[_valid(maps)]
    if not len(lengths) or lengths.min() != lengths.max():
        return pa.nulls(count, pa.large_string())
    longest = int(lengths[0])
    if longest == 0:
        return pc.if_else(maps.is_valid(), pa.scalar("", pa.large_string()), None)
    valid = maps.is_valid()
    whole = maps.filter(valid) if maps.null_count else maps
    keys, items = _entries(whole)
    for texts in (keys, items):
        if pc.any(pc.match_substring_regex(texts, _MARKS)).as_py():
            return pa.nulls(count, pa.large_string())
    pieces = []
    for place in range(longest):
        every = pa.array(range(place, len(keys), longest), pa.int64())
        pieces += [
            keys.take(every),
            pa.scalar(NAME_END, pa.large_string()),
            pc.fill_null(items.take(every), NULL),
            pa.scalar(VALUE_END, pa.large_string()),
        ]
    texts = pc.binary_join_element_wise(*pieces, pa.scalar("", pa.large_string()))
    if not maps.null_count:
        return texts
    return pc.replace_with_mask(pa.nulls(count, pa.large_string()), valid, texts)


def _entries(maps: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    low, high = maps.offsets[0].as_py(), maps.offsets[len(maps)].as_py()
    return (
        maps.keys.slice(low, high - low).cast(pa.large_string()),
        maps.items.slice(low, high - low).cast(pa.large_string()),
    )
