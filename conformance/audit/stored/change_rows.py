"""Rows of change data files against the rows that a commit changes (section Add CDC File).

Readers of changes take the change files of a commit in the place of its data files, so that both
have to say the same: what the added files have more than the removed ones is what is inserted
and updated, less what is deleted and what was there before the update.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.findings import Findings, finding
from conformance.audit.grammar.partition_text import fault_of
from conformance.audit.grammar.types import decimal_of
from conformance.audit.grammar.uris import decode_path
from conformance.audit.grammar.vectors import load_vector
from conformance.audit.read.layout import Layout
from conformance.audit.read.raw import Line
from conformance.audit.sql.errors import Uncertain
from conformance.audit.sql.values import arrow_of
from conformance.audit.stored.data_file import read_columns
from conformance.audit.stored.places import SchemaPlace, places_of
from conformance.audit.stored.statistics.columns import plain
from conformance.audit.stored.types import type_name
from conformance.audit.subjects import Step
from reference_impl.errors import DeltaError, LimitExceeded, PlaceRefused
from reference_impl.parquet.opening import open_parquet
from reference_impl.storage import Storage

FILES: Final = 50
"""File actions of a commit up to which its rows are compared."""

_ROWS: Final = 5_000
"""Rows of one file up to which they are compared."""

_BYTES: Final = 16 << 20
"""Bytes of the rows of one file up to which they are compared."""

ROW_IDS: Final = "delta.rowTracking.materializedRowIdColumnName"
ROW_VERSIONS: Final = "delta.rowTracking.materializedRowCommitVersionColumnName"
_KIND: Final = "_change_type"
_SIGNS: Final = {"insert": -1, "update_postimage": -1, "delete": 1, "update_preimage": 1}
_PAIRED: Final = {"update_preimage": -1, "update_postimage": 1}
_CODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPE_SEQUENCES: Final = re.compile(rf"(?:{_CODE.pattern})+")
_TEXTS: Final = frozenset({"string", "binary", "boolean", "date"})
"""Types of partition columns whose value is their text."""

_NUMBERS: Final = frozenset({"byte", "short", "integer", "long"})
"""Types of partition columns that are compared by value: ``01`` is 1, and ``1.50`` is 1.5."""

UNREADABLE: Final = (
    OSError, ValueError, KeyError, MemoryError, OverflowError, DeltaError, PlaceRefused,
    Uncertain, pa.ArrowException,
)  # fmt: skip
"""What is raised for a file that is gone, damaged or too large, which others report."""


@dataclass(slots=True)
class RowChanges:
    """Rows that a commit moves, or some of its files: those of parts add up.

    Attributes:
        known: whether all files could be read.
        rows: how many more of each row the added files have than the removed ones, less what the
            change files say of it; rows of no difference are left out.
        stated: how many more of each row there are by the change files.
        updates: rows after an update, less those before one.
        updated: how many more of each row there are after updates than before them.
        moving: whether an added or removed file is said to change data.
        listed: rows that the change files insert or delete, those of updates left out.
        parts: partition values of data files.
        changed_parts: partition values of change files.
    """

    known: bool = True
    rows: Counter[str] = field(default_factory=Counter)
    stated: Counter[str] = field(default_factory=Counter)
    updates: int = 0
    updated: Counter[str] = field(default_factory=Counter)
    moving: bool = False
    listed: int = 0
    parts: frozenset[str] = frozenset()
    changed_parts: frozenset[str] = frozenset()

    def __add__(self, other: RowChanges) -> RowChanges:
        """Add the rows of other files."""
        rows, stated, updated = map(Counter, (self.rows, self.stated, self.updated))
        parts = (rows, other.rows), (stated, other.stated), (updated, other.updated)
        for total, more in parts:
            for row, count in more.items():
                total[row] += count
        return RowChanges(
            self.known and other.known,
            rows,
            stated,
            self.updates + other.updates,
            updated,
            self.moving or other.moving,
            self.listed + other.listed,
            self.parts | other.parts,
            self.changed_parts | other.changed_parts,
        )


def read_row_changes(step: Step, storage: Storage) -> RowChanges | None:
    """Read what a commit moves, or that part of it which the step has.

    Returns:
        The rows; ``None`` for a commit without change files.
    """
    counts = step.commit.content.counts()
    if not counts["cdc"] or not step.before.known:
        return None
    if step.new.schema is None or counts["add"] + counts["remove"] + counts["cdc"] > FILES:
        return RowChanges(known=False)
    found = RowChanges()
    try:
        for line in step.of("add", "remove"):
            found.moving |= line.body.get("dataChange") is not False
            found.parts |= {_parts(line, step)}
        for line in _moving_files(step):
            sign = 1 if line.action == "add" else -1
            for row, _ in rows_of(line, step, storage):
                found.rows[row] += sign
        for line in step.of("cdc"):
            _count_changes(found, line, step, storage)
    except LimitExceeded as error:
        if error.limit == "seconds":
            raise
        return RowChanges(known=False)
    except UNREADABLE:
        return RowChanges(known=False)
    found.rows = Counter({row: count for row, count in found.rows.items() if count})
    return found


def _count_changes(changes: RowChanges, line: Line, step: Step, storage: Storage) -> None:
    """Add the rows of a change file."""
    changes.changed_parts |= {_parts(line, step)}
    for row, kind in rows_of(line, step, storage):
        changes.listed += str(kind) not in _PAIRED
        changes.rows[row] += _SIGNS[str(kind)]
        changes.stated[row] -= _SIGNS[str(kind)]
        changes.updates += _PAIRED.get(str(kind), 0)
        changes.updated[row] += _PAIRED.get(str(kind), 0)


def _moving_files(step: Step) -> Iterator[Line]:
    """Yield the file actions of a commit that bring rows or take some away.

    An add of a file that stays restates it, and what is not there takes no row away.
    """
    live, gone = step.before.adds, step.keys("remove")
    for line in step.of("add", "remove"):
        key = line.key
        if (key not in live or key in gone) if line.action == "add" else key in live:
            yield line


def differing_changes(place: str, moved: RowChanges | None) -> Findings:
    """Report change files that have other rows than the data files, or of half an update."""
    if moved is None or not moved.known:
        return
    if moved.updates:
        more = "after" if moved.updates > 0 else "before"
        message = f"the change files have {abs(moved.updates)} more rows {more} an update"
        yield finding("CDFF-009", place, message, "an update has a row before it and one after")
    # Changes that change nothing, as of a row to what it was, have no data file.
    for values in sorted(moved.changed_parts - moved.parts) if moved.parts else ():
        message = f"a change file has partition values {values}, and no data file of the commit"
        yield finding("CDC-007", place, message)
    unlike = sum(abs(count) for count in moved.rows.values())
    if unlike and _is_exchanged(moved):
        message = "the change files have the rows before an update as those after it"
        yield finding("CDFF-009", place, message, "readers of changes would undo the update")
    elif unlike:
        message = f"change files and data files of the commit differ in {unlike} rows"
        yield finding("CDC-012", place, message, "readers of changes see the change files alone")
    strange = sum(1 for row, count in moved.stated.items() if count and moved.rows[row] == -count)
    if strange:
        message = f"change files have {strange} rows that the data files do not change"
        yield finding("CDC-001", place, message)
    else:
        yield from _changes_without_moves(place, moved)


def _is_exchanged(moved: RowChanges) -> bool:
    """Return whether the changes are right once rows before and after updates are exchanged."""
    rows = moved.rows.keys() | moved.updated.keys()
    return all(moved.rows[row] == -2 * moved.updated[row] for row in rows)


def _changes_without_moves(place: str, moved: RowChanges) -> Findings:
    """Report inserts and deletes of a commit whose files are moved without any change of data.

    An update may leave every value as it was.
    """
    if moved.listed and not moved.moving:
        message = f"change files have {moved.listed} rows that come or go, and no file changes data"
        yield finding("CDC-001", place, message)


def _body(line: Line, step: Step) -> Mapping[str, Any]:
    """Return an action, a remove with what the add of its file says."""
    key = line.key
    if line.action == "remove" and key is not None:
        return {**step.before.adds.get(key, {}), **line.body}
    return line.body


def _parts(line: Line, step: Step) -> str:
    return repr(_partition(_body(line, step).get("partitionValues"), _layout(line, step)))


def _layout(line: Line, step: Step) -> Layout:
    """Return the layout by which a file has its columns: what is removed was written before.

    Columns are compared by their place where the commit changes the names that files have.
    """
    old, new = step.old, step.new
    if line.action != "remove" or old.mode == new.mode:
        return new
    if [(c.path, c.type) for c in old.columns] != [(c.path, c.type) for c in new.columns]:
        raise ValueError("the commit changes columns and their names in files at once")
    if any(len(column.path) > 1 for column in new.columns):
        raise ValueError("fields inside have other names in the files before")
    return old


def rows_of(
    line: Line, step: Step, storage: Storage, *, tracked: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file as digests, of a change file with the kind of the change.

    With ``tracked`` those of a data file come with row id and commit version. Whatever has neither
    comes with None.

    Raises:
        ValueError: the rows cannot be compared.
        one of ``UNREADABLE``: the file cannot be read.
    """
    body = _body(line, step)
    path = body["path"]
    if not isinstance(path, str):
        raise ValueError("the path is no text, which is reported")  # noqa: TRY004  caught above
    with storage.open_input(decode_path(path)) as source:
        file = open_parquet(source)
        names = file.schema_arrow.names
        count = file.metadata.num_rows
        if count > _ROWS or len(set(names)) < len(names):
            raise ValueError("the rows are too many to compare, or their names come twice")
        table = read_columns(file, source, None)
    if table.nbytes > _BYTES:
        raise ValueError("the rows are too large to compare")
    layout = _layout(line, step)
    places = places_of(layout, table.schema)
    if line.action == "cdc" and any(place.misnamed is not None for place in places):
        raise ValueError("the change file has a column by another name, which is reported")
    columns = [_column(table, place, count) for place in places]
    parts = _parts(line, step)
    beside: list[Any] = [None] * count
    if line.action == "cdc":
        beside = table.column(_KIND).to_pylist()
    elif tracked:
        beside = _tracked(body, layout, table)
    vector = body.get("deletionVector")
    deleted = load_vector(storage, vector) if isinstance(vector, dict) else None
    mask = deleted.kept(count) if deleted else None
    kept = [True] * count if mask is None else mask.to_pylist()
    for number, live in enumerate(kept):
        if live:
            row = f"{parts}{[column[number] for column in columns]!r}"
            yield blake2b(row.encode(), digest_size=16).hexdigest(), beside[number]


def _tracked(body: Mapping[str, Any], layout: Layout, table: pa.Table) -> list[Any]:
    """Return row id and commit version of each row of a data file, None where there are none."""
    count = table.num_rows
    base, version = body.get("baseRowId"), body.get("defaultRowCommitVersion")
    enabled = "rowTracking" in layout.features and layout.is_true("delta.enableRowTracking")
    if not enabled or type(base) is not int or type(version) is not int:
        return [None] * count
    found = []
    for key, fresh in ((ROW_IDS, range(base, base + count)), (ROW_VERSIONS, [version] * count)):
        name = layout.properties.get(key)
        held = table.column(name).to_pylist() if name in table.column_names else [None] * count
        found.append([new if old is None else old for old, new in zip(held, fresh, strict=True)])
    return list(zip(*found, strict=True))


def _column(table: pa.Table, place: SchemaPlace, count: int) -> list[Any]:
    if place.stored is None:
        return [None] * count
    values = plain(table.column(place.stored.name))
    declared = place.declared
    if not isinstance(declared, str):
        if not all(map(_whole, place.walk())):
            raise ValueError("other files may have other fields inside")
        return [_ordered(value, values.type) for value in values.to_pylist()]
    of = arrow_of(declared)
    return [_ordered(value, of) for value in values.cast(of).to_pylist()]


def _ordered(value: Any, of: pa.DataType) -> Any:
    """Return a value in one form: structs and maps have no order, and numbers several texts."""
    if value is None:
        return None
    if at.is_struct(of):
        return sorted((f.name, _ordered(value[f.name], f.type)) for f in of)
    if at.is_map(of):
        entries = [(_ordered(k, of.key_type), _ordered(v, of.item_type)) for k, v in value]
        return sorted(entries, key=repr)
    if at.is_list(of) or at.is_large_list(of):
        return [_ordered(item, of.value_type) for item in value]
    if at.is_timestamp(of):
        # The unit and the name of the zone are the file's, not the row's.
        return (value if of.tz is None else value.astimezone(UTC)).isoformat()
    # Minus zero is zero, and a writer may keep either.
    return value + 0.0 if at.is_floating(of) else value


def _whole(place: SchemaPlace) -> bool:
    """Return whether a file has a place as every other file would have it."""
    if place.stored is None or place.changes:
        return False
    of = place.stored.type
    if at.is_struct(of):
        return bool(of.num_fields == len(place.inner))
    return bool(place.inner) or type_name(of) == place.declared


def _partition(values: Any, layout: Layout) -> list[Any]:
    """Return the partition values of a file, less those of types that have several texts.

    Raises:
        ValueError: one is no value of its column, which others report.
    """
    held = values if isinstance(values, Mapping) else {}
    found: list[Any] = []
    for name, column in layout.partition_columns.items():
        text = held[name] or None
        if column is None:
            continue
        declared = str(column.type)
        if text is not None and (not isinstance(text, str) or fault_of(text, declared)):
            raise ValueError(f"{text!r} is no value of {name}")
        if text is None or column.type in _TEXTS:
            # Bytes are written as characters, or as escapes of them.
            if text is not None and column.type == "binary" and _ESCAPE_SEQUENCES.fullmatch(text):
                text = _CODE.sub(lambda x: chr(int(x[1], 16)), text)
            found.append(text)
        elif column.type in _NUMBERS or decimal_of(declared):
            found.append(str(Decimal(text).normalize()))
    return found
