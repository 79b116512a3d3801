"""Filters of read cases: one definition gives the tree, the SQL text and the expected rows.

Serves `docs/formats.md`, "Filter trees". The truth of a filter on a row is computed here in
plain Python with three-valued logic, so the expected rows of a filtered read never come from
an engine.
"""

from __future__ import annotations

import base64
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

__all__ = [
    "Filter",
    "all_of",
    "any_of",
    "compare",
    "is_in",
    "is_not_null",
    "is_null",
    "negate",
    "starts_with",
]

Row: TypeAlias = Mapping[str, Any]
Truth: TypeAlias = bool | None

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A predicate over logical rows.

    Attributes:
        tree: the wire form, a node as ``docs/formats.md`` defines it.
        sql: the same predicate as Spark SQL text.
        test: its truth on a row; ``None`` stands for unknown.

    """

    tree: Mapping[str, Any]
    sql: str
    test: Callable[[Row], Truth]

    def keeps(self, row: Row) -> bool:
        """Tell whether a read with this filter returns the row."""
        return self.test(row) is True


def compare(column: str, op: str, value: Any, type_name: str) -> Filter:
    """Compare a column (dotted for nested fields) with a literal of a Delta primitive type.

    ``op`` is one of ``= <> < <= > >= <=>``; only the last one is true of two nulls.
    """
    tree = {"op": op, "args": [_column_node(column), _literal_node(value, type_name)]}
    sql = f"{_quoted(column)} {op} {_sql_literal(value, type_name)}"

    def test(row: Row) -> Truth:
        found = _value(row, column)
        if op == "<=>":
            if found is None or value is None:
                return found is None and value is None
            return bool(operator.eq(_Ordered(found), _Ordered(value)))
        if found is None or value is None:
            return None
        return _COMPARISONS[op](_Ordered(found), _Ordered(value))

    return Filter(tree, sql, test)


def is_in(column: str, values: Sequence[Any], type_name: str) -> Filter:
    """Test membership; a null in the list makes every miss unknown."""
    literals = [_literal_node(value, type_name) for value in values]
    tree = {"op": "in", "args": [_column_node(column), *literals]}
    listed = ", ".join(_sql_literal(value, type_name) for value in values)

    def test(row: Row) -> Truth:
        found = _value(row, column)
        if found is None:
            return None
        if any(value is not None and _Ordered(found) == _Ordered(value) for value in values):
            return True
        return None if None in values else False

    return Filter(tree, f"{_quoted(column)} IN ({listed})", test)


def is_null(column: str) -> Filter:
    """Test that a column is null."""
    return Filter(
        {"op": "is_null", "args": [_column_node(column)]},
        f"{_quoted(column)} IS NULL",
        lambda row: _value(row, column) is None,
    )


def is_not_null(column: str) -> Filter:
    """Test that a column is not null."""
    return Filter(
        {"op": "is_not_null", "args": [_column_node(column)]},
        f"{_quoted(column)} IS NOT NULL",
        lambda row: _value(row, column) is not None,
    )


def starts_with(column: str, prefix: str) -> Filter:
    """Test that a string column begins with a prefix free of SQL wildcards."""

    def test(row: Row) -> Truth:
        found = _value(row, column)
        return None if found is None else str(found).startswith(prefix)

    return Filter(
        {"op": "starts_with", "args": [_column_node(column), _literal_node(prefix, "string")]},
        f"{_quoted(column)} LIKE {_sql_literal(prefix + '%', 'string')}",
        test,
    )


def all_of(*parts: Filter) -> Filter:
    """Join filters by AND."""

    def test(row: Row) -> Truth:
        truths = [part.test(row) for part in parts]
        if False in truths:
            return False
        return None if None in truths else True

    return Filter({"op": "and", "args": [p.tree for p in parts]}, _joined("AND", parts), test)


def any_of(*parts: Filter) -> Filter:
    """Join filters by OR."""

    def test(row: Row) -> Truth:
        truths = [part.test(row) for part in parts]
        if True in truths:
            return True
        return None if None in truths else False

    return Filter({"op": "or", "args": [p.tree for p in parts]}, _joined("OR", parts), test)


def negate(part: Filter) -> Filter:
    """Turn true into false and keep unknown."""

    def test(row: Row) -> Truth:
        truth = part.test(row)
        return None if truth is None else not truth

    return Filter({"op": "not", "args": [part.tree]}, f"NOT ({part.sql})", test)


def _joined(word: str, parts: Sequence[Filter]) -> str:
    return f" {word} ".join(f"({part.sql})" for part in parts)


def _column_node(column: str) -> dict[str, Any]:
    return {"column": column.split(".")}


def _quoted(column: str) -> str:
    return ".".join(
        part if _PLAIN_NAME.match(part) else "`" + part.replace("`", "``") + "`"
        for part in column.split(".")
    )


def _value(row: Row, column: str) -> Any:
    found: Any = row
    for part in column.split("."):
        if found is None:
            return None
        found = found.get(part)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Ordered:
    """A value under the order of the protocol's readers: NaN equals NaN and tops all numbers."""

    value: Any

    def _key(self) -> tuple[int, Any]:
        if isinstance(self.value, float) and math.isnan(self.value):
            return (1, 0.0)
        if isinstance(self.value, str):
            return (0, self.value.encode())
        return (0, self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ordered) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: _Ordered) -> bool:
        return self._key() < other._key()

    def __le__(self, other: _Ordered) -> bool:
        return self._key() <= other._key()

    def __gt__(self, other: _Ordered) -> bool:
        return self._key() > other._key()

    def __ge__(self, other: _Ordered) -> bool:
        return self._key() >= other._key()


def _literal_node(value: Any, type_name: str) -> dict[str, Any]:
    return {"literal": _wire_literal(value, type_name), "type": type_name}


def _wire_literal(value: Any, type_name: str) -> Any:  # noqa: PLR0911  a table of types
    match value:
        case None | bool():
            return value
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case datetime():
            return _timestamp_text(value, "T") + ("Z" if type_name == "timestamp" else "")
        case date():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case float() | str():
            return value
        case _ if type_name == "long" or type_name.startswith("decimal"):
            return format(value, "f") if isinstance(value, Decimal) else str(value)
        case _:
            return value


def _sql_literal(value: Any, type_name: str) -> str:  # noqa: PLR0911  a table of types
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            # The zone is written out, so the text means the same instant in every session.
            if type_name == "timestamp":
                return f"TIMESTAMP'{_timestamp_text(value, 'T')}Z'"
            return f"TIMESTAMP_NTZ'{_timestamp_text(value, ' ')}'"
        case date():
            return f"DATE'{value.isoformat()}'"
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            return f"CAST('{_wire_literal(value, type_name)}' AS {type_name.upper()})"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return str(value)


def _timestamp_text(value: datetime, separator: str) -> str:
    moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return moment.isoformat(sep=separator, timespec="microseconds")
