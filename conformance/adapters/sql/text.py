"""SQL text of filter trees, in the dialect of each engine that takes its filters as text.

Covers the filter trees of ``docs/formats.md``. The tree is the one definition of a filter; an
engine gets the tree in its own spelling, so that a difference in SQL dialects is never taken
for a difference in reading tables.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from conformance.adapter import Aggregate

Number: TypeAlias = Literal["zero", "nan", "other"]
FloatOrder: TypeAlias = Mapping[tuple[str, Number], str]
"""SQL templates by sign and by the number on the right, where a plain comparison will not do.

``{left}`` and ``{right}`` are the operands, ``{plus}`` and ``{minus}`` the two zeros."""

# How an engine orders floats in SQL says nothing about how it reads a table, so a filter asks in
# terms that give the same rows everywhere: NaN is equal to NaN and above every other number, and
# -0.0 is equal to 0.0. By IEEE 754 no comparison with NaN holds, but for `<>`.
IEEE: Final[FloatOrder] = {
    (">", "zero"): "{left} > {right} OR isNaN({left})",
    (">", "other"): "{left} > {right} OR isNaN({left})",
    (">", "nan"): "{left} <> {left} AND NOT isNaN({left})",
    (">=", "zero"): "{left} >= {right} OR isNaN({left})",
    (">=", "other"): "{left} >= {right} OR isNaN({left})",
    (">=", "nan"): "isNaN({left})",
    ("<", "nan"): "NOT isNaN({left})",
    ("<=", "nan"): "{left} = {left} OR isNaN({left})",
    ("=", "nan"): "isNaN({left})",
    ("<>", "nan"): "NOT isNaN({left})",
    ("<=>", "nan"): "ifNull(isNaN({left}), 0)",
}
# By the total order of IEEE 754, -0.0 is below 0.0.
TOTAL_ORDER: Final[FloatOrder] = {
    ("<", "zero"): "{left} < {minus}",
    ("<=", "zero"): "{left} <= {plus}",
    (">", "zero"): "{left} > {plus}",
    (">=", "zero"): "{left} >= {minus}",
    ("=", "zero"): "{left} = {minus} OR {left} = {plus}",
    ("<>", "zero"): "{left} <> {minus} AND {left} <> {plus}",
    ("<=>", "zero"): "{left} IS NOT DISTINCT FROM {minus} OR {left} IS NOT DISTINCT FROM {plus}",
}
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Signs that say the same with the operands exchanged; any other is the same itself."""


def number_of(node: Mapping[str, Any]) -> Number | None:
    """Return the kind of a floating point literal; ``None`` for any other node."""
    if node.get("type") not in ("float", "double") or node.get("literal") is None:
        return None
    value = float(node["literal"])
    if value != value:  # noqa: PLR0124  only NaN differs from itself
        return "nan"
    return "other" if value else "zero"


_COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})

SIDES: Final = frozenset({"target", "source"})
"""What the two sides of a merge are called in trees."""


class FilterError(ValueError):
    """A filter tree is not of the shape that ``docs/formats.md`` gives."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine spells a filter.

    Attributes:
        quote: the character around an identifier; doubled inside it.
        types: the engine's name for each Delta primitive type, in a cast from text.
        casts: templates with ``{text}``, a quoted string, for types that a plain cast would
            not carry exactly.
        decimal: the template of a decimal type, with ``{args}`` as ``10,2``.
        binary: template with ``{hex}`` for a value of type binary.
        null_safe_equal: template of both operands.
        starts_with: name of the function that tests a prefix.
        in_list: whether ``IN`` over a list with null is unknown, not false, for the others.
        escape_backslash: whether a backslash in a string literal is an escape.
        floats: how to compare with a floating point literal, where the engine's own order
            of floats is not that of filters.
        nested: template with ``{parent}``, ``{name}`` (an identifier) and ``{text}`` (a
            string) that reaches a field of a struct.
    """

    quote: str
    types: Mapping[str, str]
    binary: str
    casts: Mapping[str, str]
    decimal: str = "DECIMAL({args})"
    null_safe_equal: str = "{} IS NOT DISTINCT FROM {}"
    starts_with: str = "starts_with"
    in_list: bool = True
    escape_backslash: bool = False
    nested: str = "{parent}.{name}"
    floats: FloatOrder = field(default_factory=dict)

    def identifier(self, name: str) -> str:
        """Quote a name, whatever it is made of."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def string(self, text: str) -> str:
        """Write a string literal that the engine reads back as ``text``."""
        if self.escape_backslash:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
        else:
            text = text.replace("'", "''")
        return f"'{text}'"

    def column(self, parts: Sequence[str]) -> str:
        """Write a reference to a column, or to a field in a struct column."""
        reference = self.identifier(parts[0])
        for part in parts[1:]:
            reference = self.nested.format(
                parent=reference, name=self.identifier(part), text=self.string(part)
            )
        return reference

    def type_name(self, delta_type: str) -> str:
        """Return the engine's name of a Delta primitive type, as ``decimal(10,2)``."""
        if delta_type.startswith("decimal"):
            return self.decimal.format(args=delta_type.removeprefix("decimal").strip("()"))
        return self.types[delta_type]


_TYPES: Final = {
    "string": "VARCHAR",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
}
"""Names that most engines give Delta's types."""

DUCKDB: Final = Dialect(quote='"', types=_TYPES, binary="from_hex('{hex}')", casts={})

DATAFUSION: Final = Dialect(
    quote='"',
    types=_TYPES | {"integer": "INT", "binary": "BYTEA", "timestamp": "TIMESTAMP WITH TIME ZONE"},
    binary="X'{hex}'",
    # A plain cast gives nanoseconds, which cannot hold the years before 1677.
    casts={
        "timestamp": "arrow_cast({text}, 'Timestamp(Microsecond, Some(\"UTC\"))')",
        "timestamp_ntz": "arrow_cast({text}, 'Timestamp(Microsecond, None)')",
    },
    nested="{parent}[{text}]",
    floats=TOTAL_ORDER,
)

SPARK: Final = Dialect(
    quote="`",
    types=_TYPES
    | {
        "string": "STRING",
        "integer": "INT",
        "binary": "BINARY",
        "timestamp": "TIMESTAMP",
        "timestamp_ntz": "TIMESTAMP_NTZ",
    },
    binary="X'{hex}'",
    casts={},
    null_safe_equal="{} <=> {}",
    starts_with="startswith",
    escape_backslash=True,
)

CLICKHOUSE: Final = Dialect(
    quote="`",
    types={
        "string": "Nullable(String)",
        "byte": "Nullable(Int8)",
        "short": "Nullable(Int16)",
        "integer": "Nullable(Int32)",
        "long": "Nullable(Int64)",
        "float": "Nullable(Float32)",
        "double": "Nullable(Float64)",
        "boolean": "Nullable(Bool)",
        "binary": "Nullable(String)",
        "date": "Nullable(Date32)",
        "timestamp": "Nullable(DateTime64(6, 'UTC'))",
        "timestamp_ntz": "Nullable(DateTime64(6, 'UTC'))",
    },
    binary="unhex('{hex}')",
    casts={
        "timestamp": "parseDateTime64BestEffort({text}, 6, 'UTC')",
        "timestamp_ntz": "parseDateTime64BestEffort({text}, 6, 'UTC')",
    },
    decimal="Nullable(Decimal({args}))",
    null_safe_equal="isNotDistinctFrom({}, {})",
    starts_with="startsWith",
    in_list=False,
    escape_backslash=True,
    nested="tupleElement({parent}, {text})",
    floats=IEEE,
)


def render(
    tree: Mapping[str, Any], dialect: Dialect, relations: frozenset[str] = frozenset()
) -> str:
    """Write a filter tree as SQL text.

    Args:
        tree: a node of ``docs/formats.md``.
        dialect: the engine's spelling.
        relations: names that stand first in a column and are no columns, as in a merge.

    Returns:
        A Boolean expression, in parentheses where it has parts.

    Raises:
        FilterError: the tree is malformed.
    """
    match tree:
        case {"column": [first, *parts]} if parts and first in relations:
            return f"{dialect.identifier(first)}.{dialect.column(parts)}"
        case {"column": [*parts]} if parts:
            return dialect.column(parts)
        case {"literal": value, "type": str(delta_type)}:
            return _literal(value, delta_type, dialect)
        case {"op": str(op), "args": [*arguments]} if op in _OPERATORS:
            text = _float_comparison(op, arguments, dialect, relations)
            if text is None:
                parts = [render(node, dialect, relations) for node in arguments]
                text = _OPERATORS[op](parts, dialect)
            return f"({text})"
        case _:
            raise FilterError(f"no filter node of docs/formats.md: {tree!r}")


def _float_comparison(
    op: str, arguments: list[Mapping[str, Any]], dialect: Dialect, relations: frozenset[str]
) -> str | None:
    """Compare with a floating point literal; ``None`` where a plain comparison does."""
    if op not in _COMPARISONS:
        return None
    left, right = arguments
    number = number_of(right)
    if number is None and number_of(left) is not None:
        return _float_comparison(FLIPPED.get(op, op), [right, left], dialect, relations)
    template = dialect.floats.get((op, number)) if number else None
    if template is None:
        return None
    delta_type = right["type"]
    return template.format(
        left=render(left, dialect, relations),
        right=render(right, dialect, relations),
        plus=_literal("0.0", delta_type, dialect),
        minus=_literal("-0.0", delta_type, dialect),
    )


def query(
    source: str,
    dialect: Dialect,
    columns: Sequence[str] | None = None,
    tree: Mapping[str, Any] | None = None,
) -> str:
    """Write a query over a source that is already SQL text.

    Args:
        source: what stands after ``FROM``; its parts are quoted by the caller.
        dialect: the engine's spelling.
        columns: names to select; all when ``None``.
        tree: keep the rows for which it is true; all when ``None``.

    Raises:
        FilterError: the tree is malformed.
    """
    listed = "*" if columns is None else ", ".join(map(dialect.identifier, columns))
    where = "" if tree is None else f" WHERE {render(tree, dialect)}"
    return f"SELECT {listed} FROM {source}{where}"  # noqa: S608  every part is quoted


def aggregates(source: str, dialect: Dialect, request: Aggregate) -> str:
    """Write a query for the number of rows of a source, and for the extremes of columns."""
    name = dialect.identifier
    extremes = (
        f"{function.upper()}({name(column)}) AS {name(alias)}"
        for alias, function, column in request.extremes
    )
    listed = ", ".join(("COUNT(*) AS count", *extremes))
    return f"SELECT {listed} FROM {source}"  # noqa: S608  every part is quoted


def _literal(value: Any, delta_type: str, dialect: Dialect) -> str:
    name = dialect.type_name(delta_type)
    if value is None:
        return f"CAST(NULL AS {name})"
    if delta_type == "binary":
        return dialect.binary.format(hex=base64.b64decode(value).hex())
    if delta_type == "string":
        return dialect.string(value)
    text = dialect.string(str(value).lower() if isinstance(value, bool) else str(value))
    return dialect.casts.get(delta_type, "CAST({text} AS {name})").format(text=text, name=name)


def _joined(word: str) -> Callable[[list[str], Dialect], str]:
    return lambda arguments, _: f" {word} ".join(arguments)


def _in(arguments: list[str], dialect: Dialect) -> str:
    probe, *members = arguments
    if not members:
        # An empty list is no SQL; membership in nothing is false for every probe.
        return "1 = 0"
    if not dialect.in_list:
        return " OR ".join(f"{probe} = {member}" for member in members)
    return f"{probe} IN ({', '.join(members)})"


_OPERATORS: Final[Mapping[str, Callable[[list[str], Dialect], str]]] = {
    **{sign: _joined(sign) for sign in _COMPARISONS - {"<=>"}},
    "and": _joined("AND"),
    "or": _joined("OR"),
    "<=>": lambda arguments, dialect: dialect.null_safe_equal.format(*arguments),
    "in": _in,
    "not": lambda arguments, _: f"NOT {arguments[0]}",
    "is_null": lambda arguments, _: f"{arguments[0]} IS NULL",
    "is_not_null": lambda arguments, _: f"{arguments[0]} IS NOT NULL",
    "starts_with": lambda arguments, dialect: f"{dialect.starts_with}({', '.join(arguments)})",
    **{sign: _joined(sign) for sign in ("+", "-", "*")},
}
"""SQL of each operator, from the SQL of its arguments."""
