"""Filters of read cases: one definition gives the tree, the SQL text and the expected rows.

See `docs/formats.md`, "Filter trees". The truth of a filter on a row comes from the oracle's
evaluator (:mod:`generators.oracle.filters`), never from an engine.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from generators.oracle.delta_schema import type_of
from generators.oracle.filters import column, evaluate, node
from generators.oracle.literals import literal

Row: TypeAlias = Mapping[str, Any]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Filter:
    """A predicate over logical rows.

    Attributes:
        tree: the wire form, a node as ``docs/formats.md`` defines it.
        sql: the same predicate as Spark SQL text.
    """

    tree: Mapping[str, Any]
    sql: str

    def test(self, row: Row) -> bool | None:
        """Return the truth on a row, ``None`` for unknown; a column that the row lacks is null."""
        truth: bool | None = evaluate(self.tree, defaultdict(lambda: None, row))
        return truth

    def keeps(self, row: Row) -> bool:
        """Return whether a read with this filter returns the row."""
        return self.test(row) is True


def compare(name: str, op: str, value: Any, type_name: str) -> Filter:
    """Compare a column (dotted for nested fields) with a literal of a Delta primitive type.

    ``op`` is one of ``= <> < <= > >= <=>``; only the last one is true of two nulls.
    """
    tree = node(op, _column(name), literal(type_of(type_name), value))
    return Filter(tree, f"{_quoted(name)} {op} {_sql_literal(value, type_name)}")


def is_in(name: str, values: Sequence[Any], type_name: str) -> Filter:
    """Test membership; a null in the list makes every miss unknown."""
    tree = node("in", _column(name), *(literal(type_of(type_name), value) for value in values))
    listed = ", ".join(_sql_literal(value, type_name) for value in values)
    return Filter(tree, f"{_quoted(name)} IN ({listed})")


def is_null(name: str) -> Filter:
    """Test that a column is null."""
    return Filter(node("is_null", _column(name)), f"{_quoted(name)} IS NULL")


def is_not_null(name: str) -> Filter:
    """Test that a column is not null."""
    return Filter(node("is_not_null", _column(name)), f"{_quoted(name)} IS NOT NULL")


def starts_with(name: str, prefix: str) -> Filter:
    """Test that a string column begins with a prefix, in which no character is a wildcard."""
    tree = node("starts_with", _column(name), literal(type_of("string"), prefix))
    if {*"%_\\"} & {*prefix}:
        return Filter(tree, f"startswith({_quoted(name)}, {_sql_literal(prefix, 'string')})")
    return Filter(tree, f"{_quoted(name)} LIKE {_sql_literal(prefix + '%', 'string')}")


def all_of(*parts: Filter) -> Filter:
    """Join filters by AND."""
    return Filter(node("and", *(part.tree for part in parts)), _joined("AND", parts))


def any_of(*parts: Filter) -> Filter:
    """Join filters by OR."""
    return Filter(node("or", *(part.tree for part in parts)), _joined("OR", parts))


def negate(part: Filter) -> Filter:
    """Turn true into false and keep unknown."""
    return Filter(node("not", part.tree), f"NOT ({part.sql})")


def _joined(word: str, parts: Sequence[Filter]) -> str:
    return f" {word} ".join(f"({part.sql})" for part in parts)


def _column(name: str) -> dict[str, Any]:
    return column(*name.split("."))


def _quoted(name: str) -> str:
    # A name before a dot is quoted too: parsers take some words there for keywords.
    if _PLAIN_NAME.match(name):
        return name
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.split("."))


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
            word = literal(type_of(type_name), value)["literal"]
            return f"CAST('{word}' AS {type_name.upper()})"
        case str():
            # Spark SQL unescapes backslashes, and reads two adjoining literals where others see
            # a doubled quote.
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return str(value)


def _timestamp_text(value: datetime, separator: str) -> str:
    moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return moment.isoformat(sep=separator, timespec="microseconds")
