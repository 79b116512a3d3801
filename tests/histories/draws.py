"""What is drawn: features, columns, values, filters and clauses of merges.

The values are few and small, so that operations meet the same rows. A column whose name changes
has a few names that it may have, one at a time: users look for the one in force.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal as DecimalValue
from typing import Any, Final

from hypothesis import strategies as st

from generators.oracle.delta_schema import (
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    array,
    field,
    map_of,
    struct,
    type_of,
)
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import Tree

FEATURES: Final[Mapping[str, Mapping[str, str]]] = {
    "vectors": {"delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "tracking": {"delta.enableRowTracking": "true"},
    "times": {"delta.enableInCommitTimestamps": "true"},
    "mapping": {"delta.columnMapping.mode": "name"},
    "widening": {"delta.enableTypeWidening": "true"},
    "shredding": {"delta.enableVariantShredding": "true"},
    "growing only": {"delta.appendOnly": "true"},
    "iceberg 1": {"delta.enableIcebergCompatV1": "true"},
    "iceberg 2": {"delta.enableIcebergCompatV2": "true"},
    "second checkpoints": {"delta.checkpointPolicy": "v2"},
}
"""Features that a table may have from the start, or get, or lose."""

PROPERTIES: Final[Mapping[str, Mapping[str, str]]] = {
    "parsed statistics": {"delta.checkpoint.writeStatsAsStruct": "true"},
    "no statistics as text": {"delta.checkpoint.writeStatsAsJson": "false"},
    "often checkpointed": {"delta.checkpointInterval": "2"},
    "few statistics": {"delta.dataSkippingNumIndexedCols": "1"},
    "brief tombstones": {"delta.deletedFileRetentionDuration": "interval 0 seconds"},
    "brief log": {"delta.logRetentionDuration": "interval 1 day"},
    "mine": {"mine": "x"},
    "empty": {"mine": ""},
}

CREATED_WITH: Final[Mapping[str, Mapping[str, str]]] = {
    **FEATURES,
    **PROPERTIES,
    "iceberg 1": {**FEATURES["mapping"], **FEATURES["iceberg 1"]},
    "iceberg 2": {**FEATURES["mapping"], **FEATURES["iceberg 2"]},
    "mapping by id": {"delta.columnMapping.mode": "id"},
}
"""Of two that set one property the last by name counts."""

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id",),
    "part": ("part", "p %"),
    "n": ("n", "N2"),
}
"""The columns that every table has, and the names that each may have."""

EXTRAS: Final[Mapping[str, DataType]] = {
    "x": type_of("string"),
    "y": type_of("double"),
    "z z": type_of("float"),
    "X": type_of("boolean"),
    "b": type_of("byte"),
    "day": type_of("date"),
    "local": type_of("timestamp_ntz"),
    "at": type_of("timestamp"),
    "cost": Decimal(5, 2),
    "raw": type_of("binary"),
    "v": type_of("variant"),
    "tags": array("string"),
    "bag": map_of("string", "long"),
    "s": struct(field("a", "byte"), field("b", "string")),
    "list": array(struct(field("a", "float"), field("b", "date"))),
    "nothing": type_of("void"),
}
"""Further columns; ``X`` clashes with ``x``."""

WIDER: Final[Mapping[str, tuple[DataType, ...]]] = {
    "integer": (type_of("long"), type_of("double"), Decimal(12, 1)),
    "byte": (type_of("short"), type_of("integer"), type_of("double"), Decimal(10, 0)),
    "short": (type_of("long"),),
    "float": (type_of("double"),),
    "date": (type_of("timestamp_ntz"),),
    "decimal(5,2)": (Decimal(7, 3), Decimal(20, 2)),
    "void": (type_of("string"), type_of("integer")),
}
"""Types that a column of a type may be given."""

DEFAULTS: Final[Mapping[str, tuple[tuple[str, Any], ...]]] = {
    "string": (("'x'", "x"), ("NULL", None)),
    "long": (("1 + 2", 3),),
    "integer": (("2", 2), ("NULL", None)),
    "double": (("0.5", 0.5),),
    "boolean": (("true", True),),
}
"""Defaults of columns: the SQL, and what it gives."""

IDENTITIES: Final = ((1, 1, False), (10, -3, False), (-5, 4, True))
"""Start, step, and whether users may give values."""

DrawnRow = tuple[int, str | None, int | None, int | None]

IDS = st.integers(0, 6)
PARTS = st.sampled_from(("a", "b c", "", None, "é%"))
NUMBERS = st.one_of(st.none(), st.integers(-3, 3))
SEEDS = st.one_of(st.none(), st.integers(0, 3))
ROWS: st.SearchStrategy[list[DrawnRow]] = st.lists(
    st.tuples(IDS, PARTS, NUMBERS, SEEDS), min_size=1, max_size=4
)

_VALUES: Final[Mapping[str, tuple[Any, ...]]] = {
    "string": ("", "a", "é%", "zz" * 20),
    "long": (0, 1, -1, 2),
    "integer": (0, 1, -1, 2),
    "short": (0, 1, -1, 2),
    "byte": (0, 1, -1, 2),
    "double": (0.0, -1.5, float("nan"), float("inf")),
    "float": (-0.0, 1.5, float("nan"), float("-inf")),
    "boolean": (True, False, True, False),
    "binary": (b"", b"\x00", b"a", b"\xff"),
    "date": tuple(dt.date(1969 + 40 * n, 12, 31) for n in range(4)),
    "timestamp": tuple(dt.datetime(1969 + n, 12, 31, 23, 59, 59, n, dt.UTC) for n in range(4)),
    "timestamp_ntz": tuple(dt.datetime(1969 + n, 1, 2, microsecond=1 + n) for n in range(4)),  # noqa: DTZ001  without zone
    "variant": tuple({"metadata": b"\1\0\0", "value": bytes((12, n))} for n in range(4)),
}


def value_of(  # noqa: PLR0911  one return per kind of type
    data_type: DataType, seed: int | None
) -> Any:
    """Return the value of a type that a seed stands for; none stands for null."""
    if seed is None:
        return None
    match data_type:
        case Decimal(_, scale):
            return DecimalValue(seed).scaleb(-scale)
        case Array(element):
            return [value_of(element, seed), value_of(element, None)][: seed + 1]
        case Map(_, value):
            return [(f"k{n}", value_of(value, n)) for n in range(seed)]
        case Struct(fields):
            return {each.name: value_of(each.type, seed or None) for each in fields}
        case Primitive("void"):
            return None
        case Primitive(name):
            return _VALUES[name][seed]
        case _:
            raise AssertionError(data_type)


def default_of(of: Field) -> Any:
    """Return the default of a column as a value; null where it has none."""
    text = of.metadata.get("CURRENT_DEFAULT")
    return {sql: value for each in DEFAULTS.values() for sql, value in each}.get(text)


def named(schema: Struct, role: str) -> Field:
    """Return the column that a role has in a schema."""
    [found] = [each for each in schema if each.name in NAMES[role]]
    return found


def _compared(schema: Struct, side: tuple[str, ...] = ()) -> st.SearchStrategy[Tree]:
    """Comparisons of a column with a value."""
    ids, parts, numbers = (named(schema, role) for role in ("id", "part", "n"))

    def side_of(of: Field) -> Tree:
        return column(*side, of.name)

    return st.one_of(
        st.builds(
            lambda op, value: node(op, side_of(ids), literal("long", value)),
            st.sampled_from(("=", ">=", "<", "<>", "<=>")),
            IDS,
        ),
        st.sampled_from(("a", "é%")).map(
            lambda value: node("=", side_of(parts), literal("string", value))
        ),
        NUMBERS.map(lambda value: node("<=>", side_of(numbers), number(numbers, value))),
        st.sampled_from([node("is_null", side_of(each)) for each in (parts, numbers)]),
        st.integers(-2, 2).map(lambda value: node(">", side_of(numbers), number(numbers, value))),
    )


def number(of: Field, value: int | None) -> Tree:
    """Return a number as a literal of a column's type."""
    converted = None if value is None else DecimalValue(value)
    return literal(of.type, converted if isinstance(of.type, Decimal) else value)


def _composed(simple: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        simple,
        st.builds(node, st.sampled_from(("and", "or")), simple, simple),
        simple.map(lambda tree: node("not", tree)),
    )


def trees(schema: Struct) -> st.SearchStrategy[Tree | None]:
    """Give filters of a table's rows, all rows among them."""
    return st.one_of(st.none(), _composed(_compared(schema)))


def checks(schema: Struct) -> st.SearchStrategy[Tree]:
    """Conditions that most rows obey."""
    ids, numbers = named(schema, "id"), named(schema, "n")
    return st.one_of(
        st.integers(4, 8).map(lambda n: node("<", column(ids.name), literal("long", n))),
        st.integers(-3, -1).map(
            lambda n: node(
                "or",
                node("is_null", column(numbers.name)),
                node(">", column(numbers.name), number(numbers, n)),
            )
        ),
        st.just(node(">=", node("+", column(ids.name), literal("long", 1)), literal("long", 1))),
    )


def ons(schema: Struct) -> st.SearchStrategy[Tree]:
    """Conditions of merges under which two rows match."""
    ids, parts = named(schema, "id").name, named(schema, "part").name

    def both(name: str, op: str = "=") -> Tree:
        return node(op, column("target", name), column("source", name))

    one_more = node("+", column("source", ids), literal("long", 1))
    same = both(ids)
    return st.one_of(
        st.just(same),
        st.just(same),
        st.just(node("and", same, both(parts, "<=>"))),
        st.just(node("=", column("target", ids), one_more)),
        _compared(schema, ("source",)).map(lambda tree: node("and", same, tree)),
    )


_SIDES: Final[Mapping[str, tuple[str, ...]]] = {
    "matched": ("target", "source"),
    "not_matched": ("source",),
    "not_matched_by_source": ("target",),
}
_ACTIONS: Final = (
    ("matched", "update"),
    ("matched", "delete"),
    ("not_matched", "insert"),
    ("not_matched_by_source", "update"),
    ("not_matched_by_source", "delete"),
)


@st.composite
def _clause(
    draw: Callable[[st.SearchStrategy[Any]], Any], schema: Struct
) -> tuple[str, str, Tree | None, dict[str, Tree] | None]:
    match, action = draw(st.sampled_from(_ACTIONS))
    sides = _SIDES[match]
    simple = st.one_of(*(_compared(schema, (side,)) for side in sides))
    condition = draw(_composed(simple)) if draw(st.booleans()) else None
    if action == "delete":
        return match, action, condition, None
    ids, parts, numbers = (named(schema, role) for role in ("id", "part", "n"))
    side = draw(st.sampled_from(sides))
    values = {
        numbers.name: st.one_of(
            st.just(column(side, numbers.name)),
            NUMBERS.map(lambda value: number(numbers, value)),
            st.just(node("+", column(side, numbers.name), number(numbers, 1))),
        ),
        parts.name: st.one_of(
            st.just(column(side, parts.name)),
            PARTS.map(lambda value: literal("string", value)),
        ),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(values)), min_size=1))
    assigned = {name: draw(values[name]) for name in sorted(chosen)}
    if action == "insert":
        assigned[ids.name] = column("source", ids.name)
    if match == "not_matched_by_source" or draw(st.booleans()):
        return match, action, condition, assigned
    return match, action, condition, None


def clauses(
    schema: Struct,
) -> st.SearchStrategy[list[tuple[str, str, Tree | None, dict[str, Tree] | None]]]:
    """Clauses of a merge: rows, action, condition and the values that are set."""
    return st.lists(_clause(schema), min_size=1, max_size=4)
