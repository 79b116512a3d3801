"""The oracle: a Delta table as plain Python rows, version by version.

Covers "Delta Table Specification" and, for row ids and changes, "Row Tracking" and "Change Data
Files". There are no files here, no log and no Arrow: a table is a list of rows, an operation
gives the next list, and every former list stays. What any reader must return for a version is
exactly :meth:`Oracle.rows`. Nothing of the reference implementation is used.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal as DecimalValue
from decimal import localcontext
from typing import Any, Final, Literal, TypeAlias

from generators.oracle.delta_schema import Array, DataType, Decimal, Map, Primitive, Struct

Row: TypeAlias = dict[str, Any]
"""Logical column name to Python value; ``None`` is null."""

ChangeType: TypeAlias = Literal["insert", "update_preimage", "update_postimage", "delete"]

_NO_RENAMES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class TrackedRow:
    """A row with its identity.

    Attributes:
        identity: number of the row within the table's whole life; it survives updates.
        values: the row.
        changed: the version that inserted it or updated it last.
    """

    identity: int
    values: Row
    changed: int


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the change data feed."""

    change_type: ChangeType
    version: int
    values: Row


@dataclass(frozen=True, slots=True)
class Version:
    """Everything that a reader can see of one version.

    Attributes:
        number: the version.
        schema: the table schema.
        rows: the rows, in no meaningful order.
        properties: the table properties (``metaData.configuration``).
        transactions: version per application id.
        domains: configuration per live metadata domain.
        changes: what this version did to rows, in no meaningful order.
        partition_columns: logical names.
    """

    number: int
    schema: Struct
    rows: tuple[TrackedRow, ...]
    properties: Mapping[str, str]
    transactions: Mapping[str, int]
    domains: Mapping[str, str]
    changes: tuple[Change, ...]
    partition_columns: tuple[str, ...]


def normalized(  # noqa: C901, PLR0911  one branch per kind of type
    data_type: DataType, value: Any
) -> Any:
    """Return a value as its type holds it: single precision, full scale, every nested field.

    Maps become lists of pairs, for their keys need not be hashable.

    Raises:
        ValueError: the value does not fit the type.
    """
    if value is None:
        return None
    match data_type:
        case Primitive("float"):
            return _single(float(value))
        case Primitive("double"):
            return float(value)
        case Primitive("timestamp_ntz") if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)  # noqa: DTZ001  a type without zone
        case Primitive("void"):
            raise ValueError("a void column holds nothing but null")
        case Decimal(precision, scale):
            return _fixed(value, precision, scale)
        case Struct(fields):
            unknown = set(value) - {each.name for each in fields}
            if unknown:
                raise ValueError(f"no such struct fields: {sorted(unknown)}")
            return {
                each.name: _inner(each.type, value.get(each.name), null=each.nullable)
                for each in fields
            }
        case Array(element, null):
            return [_inner(element, each, null=null) for each in value]
        case Map(key_type, value_type, null):
            pairs = value.items() if isinstance(value, Mapping) else value
            return [
                (_inner(key_type, key, null=False), _inner(value_type, each, null=null))
                for key, each in pairs
            ]
        case _:
            return value


def _inner(data_type: DataType, value: Any, *, null: bool) -> Any:
    if value is None and not null:
        raise ValueError("a field, an element, a key or a value is null, and may not be")
    return normalized(data_type, value)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError as error:
        raise ValueError(f"{value!r} is beyond single precision") from error


def _fixed(value: Any, precision: int, scale: int) -> DecimalValue:
    with localcontext() as context:
        context.prec = 76
        exact = DecimalValue(value)
        scaled = exact.quantize(DecimalValue(1).scaleb(-scale))
        if scaled != exact or abs(scaled) >= DecimalValue(10) ** (precision - scale):
            raise ValueError(f"{value} does not fit decimal({precision},{scale})")
        return scaled


def _renamed(value: Any, parent: Sequence[str], names: Mapping[str, str]) -> Any:
    """Rename the fields of the struct that a path leads to."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_renamed(each, parent[1:], names) for each in value]
    if not parent:
        return {names.get(name, name): each for name, each in value.items()}
    first, *rest = parent
    return {n: _renamed(each, rest, names) if n == first else each for n, each in value.items()}


def _known(data_type: DataType, value: Any) -> Any:
    """Leave out the struct fields that a type does not have."""
    if value is None:
        return None
    match data_type:
        case Struct(fields):
            kept = {each.name: each.type for each in fields}
            return {n: _known(kept[n], each) for n, each in value.items() if n in kept}
        case Array(element):
            return [_known(element, each) for each in value]
        case _:
            return value


def normalized_row(schema: Struct, row: Mapping[str, Any], partitions: Sequence[str] = ()) -> Row:
    """Return a row with a value for every column, each as its type holds it.

    An empty string or binary in a partition column is null: the log has no other spelling.

    Raises:
        ValueError: a column is unknown, null where it may not be, or does not fit its type.
    """
    unknown = set(row) - set(schema.names)
    if unknown:
        raise ValueError(f"no such columns: {sorted(unknown)}")
    result: Row = {}
    for column in schema:
        value = normalized(column.type, row.get(column.name))
        if column.name in partitions and value in ("", b""):
            value = None
        if value is None and not column.nullable:
            raise ValueError(f"column {column.name!r} is not nullable and has a null")
        result[column.name] = value
    return result


class Oracle:
    """A table under change: pending work on top of the versions committed so far.

    Rows are put in, taken out and replaced by identity; :meth:`commit` closes a version.
    """

    def __init__(self, schema: Struct, partition_columns: Sequence[str] = ()) -> None:
        """Begin a table that has no version yet."""
        self.schema = schema
        self.partition_columns = tuple(partition_columns)
        self.properties: dict[str, str] = {}
        self.transactions: dict[str, int] = {}
        self.domains: dict[str, str] = {}
        self.versions: list[Version] = []
        self.restored: list[Version] = []
        self._rows: dict[int, TrackedRow] = {}
        self._changes: list[Change] = []
        self._next_identity = 0

    @property
    def next_version(self) -> int:
        """The number that :meth:`commit` will give."""
        return len(self.versions)

    @property
    def pending(self) -> tuple[TrackedRow, ...]:
        """The rows as they stand, work of the open version included."""
        return tuple(self._rows.values())

    @property
    def open_changes(self) -> tuple[Change, ...]:
        """What the open version has done to rows so far."""
        return tuple(self._changes)

    def insert(self, rows: Iterable[Mapping[str, Any]]) -> list[TrackedRow]:
        """Put rows in and return them with their identities."""
        inserted = []
        for row in rows:
            values = normalized_row(self.schema, row, self.partition_columns)
            tracked = TrackedRow(self._next_identity, values, self.next_version)
            self._next_identity += 1
            self._rows[tracked.identity] = tracked
            self._changes.append(Change("insert", self.next_version, values))
            inserted.append(tracked)
        return inserted

    def delete(self, identities: Iterable[int]) -> None:
        """Take rows out; raises :class:`KeyError` for a row that is not there."""
        for identity in identities:
            gone = self._rows.pop(identity)
            self._changes.append(Change("delete", self.next_version, gone.values))

    def update(self, identity: int, values: Mapping[str, Any]) -> TrackedRow:
        """Replace some columns of a row, which keeps its identity."""
        before = self._rows[identity]
        merged = normalized_row(self.schema, {**before.values, **values}, self.partition_columns)
        after = TrackedRow(identity, merged, self.next_version)
        self._rows[identity] = after
        self._changes.append(Change("update_preimage", self.next_version, before.values))
        self._changes.append(Change("update_postimage", self.next_version, merged))
        return after

    def row(self, identity: int) -> Row:
        """Return a row as it stands; raises :class:`KeyError` for one that is not there."""
        return self._rows[identity].values

    def restore(self, number: int) -> None:
        """Make rows, schema and properties those of a version again.

        Transactions and domains stay; no clause says whether they do, and ``restored`` has those
        of the version.
        """
        earlier = self.versions[number]
        self.restored.append(earlier)
        then = {each.identity: each for each in earlier.rows}
        same = {i for i, row in self._rows.items() if i in then and then[i].changed == row.changed}
        self.delete([identity for identity in self._rows if identity not in same])
        for identity, row in then.items():
            if identity not in same:
                self._changes.append(Change("insert", self.next_version, row.values))
        self._rows = then
        self.schema = earlier.schema
        self.partition_columns = earlier.partition_columns
        self.properties = dict(earlier.properties)

    def matching(self, predicate: Callable[[Row], bool | None]) -> list[int]:
        """Return the identities of the rows for which a predicate is true, not null."""
        return [each.identity for each in self._rows.values() if predicate(each.values) is True]

    def change_schema(
        self, schema: Struct, renamed: Mapping[str, str] = _NO_RENAMES, parent: Sequence[str] = ()
    ) -> None:
        """Take another schema: rows gain nulls, lose dropped columns, keep renamed ones.

        Args:
            schema: the new schema.
            renamed: old logical name to new logical name of columns.
            parent: path to the struct whose fields they are; the table itself by default.
                ``element`` leads into an array.
        """
        self.schema = schema
        if not parent:
            self.partition_columns = tuple(renamed.get(n, n) for n in self.partition_columns)
        for identity, row in self._rows.items():
            moved = _known(schema, _renamed(row.values, parent, renamed))
            self._rows[identity] = replace(row, values=normalized_row(schema, moved))

    def fill(self, identity: int, values: Mapping[str, Any]) -> None:
        """Complete a row of the open version with values that its writer was free to choose."""
        before = self._rows[identity]
        after = normalized_row(self.schema, {**before.values, **values}, self.partition_columns)
        self._rows[identity] = replace(before, values=after)
        self._changes = [
            replace(each, values=after) if each.values is before.values else each
            for each in self._changes
        ]

    def fork(self) -> Oracle:
        """Return an independent copy of the table."""
        other = Oracle(self.schema, self.partition_columns)
        other.properties, other.domains = dict(self.properties), dict(self.domains)
        other.transactions, other.versions = dict(self.transactions), list(self.versions)
        other.restored = list(self.restored)
        other._rows, other._changes = dict(self._rows), list(self._changes)
        other._next_identity = self._next_identity
        return other

    def commit(self) -> Version:
        """Close the open version and return it."""
        version = Version(
            self.next_version,
            self.schema,
            tuple(self._rows.values()),
            dict(self.properties),
            dict(self.transactions),
            dict(self.domains),
            tuple(self._changes),
            self.partition_columns,
        )
        self.versions.append(version)
        self._changes = []
        return version

    def rows(self, version: int | None = None) -> list[Row]:
        """Return the rows of a version, the latest when ``None``."""
        return [each.values for each in self.versions[-1 if version is None else version].rows]
