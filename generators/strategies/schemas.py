"""Column names, types and whole table schemas.

Covers "Schema Serialization Format".
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Final

from hypothesis import strategies as st

from generators.oracle.delta_schema import (
    PRIMITIVE_NAMES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
)

PRIMITIVES: Final = tuple(sorted(PRIMITIVE_NAMES - {"void", "variant"}))
"""Primitive types that every reader has values for, decimal apart."""

_PLAIN_NAMES: Final = ("a", "b", "c", "id", "value", "x1", "snake_case", "camelCase", "UPPER")
_AWKWARD_NAMES: Final = (
    "with.dot", "with-dash", "with space", "semi;colon", "par(en)", "new\nline", "`tick`",
    "\u00e4\u00f6\u00fc", "\u540d\u524d", "%20", "a=b",
)  # fmt: skip

_KEY_TYPES: Final = ("string", "integer", "long", "date")


def names(*, awkward: bool = False) -> st.SearchStrategy[str]:
    """Column names; ``awkward`` ones need column mapping in most writers."""
    plain = st.one_of(
        st.sampled_from(_PLAIN_NAMES),
        st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=6),
    )
    return st.one_of(plain, st.sampled_from(_AWKWARD_NAMES)) if awkward else plain


def _decimals() -> st.SearchStrategy[DataType]:
    return st.integers(1, 38).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: Decimal(precision, scale))
    )


def _primitives(allowed: Collection[str]) -> st.SearchStrategy[DataType]:
    plain = [Primitive(name) for name in sorted(set(allowed) - {"decimal"})]
    choices: list[st.SearchStrategy[DataType]] = []
    if plain:
        choices.append(st.sampled_from(plain))
    if "decimal" in allowed:
        choices.append(_decimals())
    if not choices:
        raise ValueError("no primitive type is allowed")
    return st.one_of(*choices)


def data_types(
    *,
    primitives: Collection[str] = (*PRIMITIVES, "decimal"),
    max_depth: int = 2,
    required: bool = True,
) -> st.SearchStrategy[DataType]:
    """Types, nested at most ``max_depth`` deep.

    Args:
        primitives: names of the primitive types that are valid, ``decimal`` among them.
        max_depth: 0 for primitive types only.
        required: whether fields, elements and values that cannot be null are valid.
    """
    return _cached_types(tuple(sorted(set(primitives))), max_depth, required=required)


@cache
def _cached_types(
    primitives: tuple[str, ...], max_depth: int, *, required: bool
) -> st.SearchStrategy[DataType]:
    base = _primitives(primitives)
    if max_depth == 0:
        return base
    inner = _cached_types(primitives, max_depth - 1, required=required)
    nullable = _nullable(required=required)
    keys = st.sampled_from([Primitive(name) for name in _KEY_TYPES])
    return st.one_of(
        base,
        st.builds(Array, inner, nullable),
        st.builds(Map, keys, inner, nullable),
        _structs(inner, max_columns=3, required=required),
    )


def _nullable(*, required: bool) -> st.SearchStrategy[bool]:
    return st.booleans() if required else st.sampled_from((True,))


def _structs(
    types: st.SearchStrategy[DataType],
    *,
    max_columns: int,
    awkward: bool = False,
    required: bool = True,
) -> st.SearchStrategy[Struct]:
    nullable = _nullable(required=required)
    columns = st.lists(
        st.builds(Field, names(awkward=awkward), types, nullable),
        min_size=1,
        max_size=max_columns,
        unique_by=lambda each: each.name.lower(),
    )
    return columns.map(lambda fields: Struct(tuple(fields)))


def schemas(
    *,
    primitives: Collection[str] = (*PRIMITIVES, "decimal"),
    max_columns: int = 4,
    max_depth: int = 2,
    awkward_names: bool = False,
    required_inside: bool = True,
) -> st.SearchStrategy[Struct]:
    """Table schemas of at least one column.

    Args:
        primitives: names of the primitive types that are valid.
        max_columns: the most columns at the top.
        max_depth: how deep types may nest.
        awkward_names: whether names that need column mapping are valid.
        required_inside: whether what is inside of columns may be such that it cannot be null.
    """
    types = data_types(primitives=primitives, max_depth=max_depth, required=required_inside)
    return _structs(types, max_columns=max_columns, awkward=awkward_names)


def partition_choices(schema: Struct) -> st.SearchStrategy[tuple[str, ...]]:
    """At most two partition columns of a schema, or none; one column stays unpartitioned."""
    able = [
        each.name
        for each in schema
        if isinstance(each.type, Decimal)
        or (
            isinstance(each.type, Primitive) and each.type.name not in ("void", "variant", "binary")
        )
    ]
    most = min(2, len(able), len(schema.fields) - 1)
    if most == 0:
        return st.just(())
    return st.lists(st.sampled_from(able), max_size=most, unique=True).map(tuple)
