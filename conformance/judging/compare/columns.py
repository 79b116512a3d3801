"""Say in which columns alone the rows of an answer are wrong.

Covers every reading section. An answer that has the right rows with wrong values in some columns
breaks what is said of values, and nothing that is said of which rows are live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from conformance.judging.compare.canonical import canonical_values
from conformance.judging.compare.families import family_of

_Row: TypeAlias = tuple[Any, ...]

Rows: TypeAlias = Counter[_Row]
"""Canonical values of rows, each row with how often it is there."""


@dataclass(frozen=True, slots=True)
class WrongColumns:
    """Columns in which an answer is wrong while the others have the right rows.

    Attributes:
        columns: their names.
        keyed: no two rows agree in the other columns, so that these are the right rows.
        misnamed: the columns were looked for by a wrong name: all of them are missing or null, or
            one has the values of others; so may fields within columns.
    """

    columns: frozenset[str]
    keyed: bool
    misnamed: bool


def wrong_columns(expected: pa.Table, actual: pa.Table) -> WrongColumns | None:
    """Find the columns in which an answer is wrong.

    Args:
        expected: the rows that have to be given.
        actual: the rows that were given.

    Returns:
        ``None`` where there are none, or the other columns have other rows as well.
    """
    if expected.num_rows != actual.num_rows:
        return None
    right = {name: canonical_values(expected.column(name)) for name in expected.column_names}
    seen = {
        name: canonical_values(actual.column(name))
        for name in right
        if actual.column_names.count(name) == 1
        and family_of(actual.field(name).type) == family_of(expected.field(name).type)
    }
    agree = [name for name in seen if Counter(seen[name]) == Counter(right[name])]
    columns = frozenset(right).difference(agree)
    keys = Counter(_rows(right, agree, expected.num_rows))
    if not columns or keys != Counter(_rows(seen, agree, expected.num_rows)):
        return None
    lost = {
        name
        for name in columns
        if name not in actual.column_names or not any(v is not None for v in seen.get(name, (0,)))
    }
    misnamed = lost == columns or any(
        _is_of_others(seen[name], name, right, columns) or _is_moved(seen[name], right[name])
        for name in columns - lost
        if name in seen
    )
    return WrongColumns(columns, bool(agree) and max(keys.values(), default=1) == 1, misnamed)


def _rows(values: dict[str, list[Any]], names: list[str], count: int) -> list[_Row]:
    return list(zip(*(values[name] for name in names), strict=True)) if names else [()] * count


def _is_of_others(
    actual: list[Any], name: str, right: dict[str, list[Any]], columns: frozenset[str]
) -> bool:
    values = {value for value in actual if value is not None}
    others = {value for other in columns - {name} for value in right[other]}
    return values <= others and values.isdisjoint(right[name])


def _is_moved(actual: list[Any], expected: list[Any]) -> bool:
    """Return whether values are nested, and fields of them have values of others, or are null."""
    rows = [tuple(map(_leaves, pair)) for pair in zip(actual, expected, strict=True)]
    changed = [(mine, right) for mine, right in rows if mine != right]
    return bool(changed) and all(
        len(mine) == len(right) > 1 and {each for each in mine if each is not None} <= {*right}
        for mine, right in changed
    )


def _leaves(value: Any) -> tuple[Any, ...]:
    """Return what a value of lists and structs holds, in order; what else is nested is one."""
    if not isinstance(value, tuple):
        return (value,)
    return tuple(leaf for each in value for leaf in _leaves(each))


def counted_rows(table: pa.Table, names: Sequence[str]) -> Rows:
    """Return the rows of some columns, each with how often it is there."""
    values = {name: canonical_values(table.column(name)) for name in names}
    return Counter(_rows(values, list(names), table.num_rows))


def differing_rows(expected: pa.Table, actual: pa.Table) -> tuple[Rows, Rows] | None:
    """Return the rows that an answer lacks, and those that it has too many.

    ``None`` where it has not the columns that it has to have.
    """
    names = expected.column_names
    if sorted(names) != sorted(actual.column_names):
        return None
    right, seen = counted_rows(expected, names), counted_rows(actual, names)
    return right - seen, seen - right


def equal_with_empty_as_null(expected: pa.Table, actual: pa.Table) -> bool:
    """Return whether tables have equal rows where null counts as equal to what holds nothing.

    As for an empty array or map, and a struct of nulls.
    """
    names = expected.column_names
    if sorted(names) != sorted(actual.column_names):
        return False
    left, right = (
        Counter(
            zip(*(map(_empty_as_null, canonical_values(each[name])) for name in names), strict=True)
        )
        for each in (expected, actual)
    )
    return bool(left == right)


def _empty_as_null(value: Any) -> Any:
    if isinstance(value, tuple):
        inner = tuple(map(_empty_as_null, value))
        return None if all(each is None for each in inner) else inner
    if isinstance(value, frozenset):
        return value or None
    return value
