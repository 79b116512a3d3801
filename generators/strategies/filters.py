"""Filter trees over a schema.

See ``docs/formats.md``, "Filter trees", and through it "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from generators.oracle.delta_schema import DataType, Decimal, Primitive, Struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.strategies.values import values

_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_UNORDERED: Final = frozenset({"void", "variant"})

Tree = dict[str, Any]


def _leaves(
    schema: Struct, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], DataType]]:
    for each in schema:
        path = (*before, each.name)
        match each.type:
            case Struct():
                yield from _leaves(each.type, path)
            case Primitive(name) if name not in _UNORDERED:
                yield path, each.type
            case Decimal():
                yield path, each.type
            case _:
                continue


def _literals(data_type: DataType, known: Sequence[Any]) -> st.SearchStrategy[Tree]:
    drawn = values(data_type, nullable=True)
    near = st.sampled_from(known) if known else drawn
    return st.one_of(near, drawn).map(lambda value: literal(data_type, value))


def _known(path: Sequence[str], rows: Sequence[Any]) -> list[Any]:
    found = []
    for row in rows:
        value = row
        for name in path:
            value = None if value is None else value.get(name)
        if value is not None:
            found.append(value)
    return found


def _tests(
    path: tuple[str, ...], data_type: DataType, rows: Sequence[Any]
) -> st.SearchStrategy[Tree]:
    target = column(*path)
    constants = _literals(data_type, _known(path, rows))
    choices: list[st.SearchStrategy[Tree]] = [
        st.builds(
            lambda op, value: node(op, target, value), st.sampled_from(_COMPARISONS), constants
        ),
        st.builds(
            lambda op, value: node(op, value, target), st.sampled_from(_COMPARISONS), constants
        ),
        st.sampled_from(("is_null", "is_not_null")).map(lambda op: node(op, target)),
        st.lists(constants, min_size=1, max_size=3).map(lambda each: node("in", target, *each)),
    ]
    if data_type == Primitive("string"):
        prefixes = st.text(max_size=2).map(lambda text: literal("string", text))
        choices.append(prefixes.map(lambda prefix: node("starts_with", target, prefix)))
    return st.one_of(*choices)


def filters(schema: Struct, *, rows: Sequence[Any] = ()) -> st.SearchStrategy[Tree]:
    """Filter trees over the columns of a schema that compare.

    Args:
        schema: the table schema.
        rows: rows whose values make likely literals, so that filters cut between rows.

    Raises:
        ValueError: the schema has no column that compares.
    """
    tests = [_tests(path, data_type, rows) for path, data_type in _leaves(schema)]
    if not tests:
        raise ValueError("no column of the schema compares")
    return st.recursive(
        st.one_of(*tests),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda each: node("and", *each)),
            st.lists(inner, min_size=2, max_size=3).map(lambda each: node("or", *each)),
            inner.map(lambda each: node("not", each)),
        ),
        max_leaves=4,
    )
