"""Filter trees over Python rows, by the three-valued logic of SQL.

See ``docs/formats.md``, "Filter trees". A row is kept when its tree is true, not when it is
false or null. NaN equals NaN and is greater than every other number; zeros are equal whatever
their sign. This evaluator belongs to the oracle and shares nothing with any reader.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from generators.oracle.delta_schema import type_of
from generators.oracle.literals import decode


class FilterError(ValueError):
    """A tree that is no filter; the message names the node."""


def column(*parts: str) -> dict[str, Any]:
    """Return a column node by its logical name parts."""
    return {"column": list(parts)}


def node(op: str, *args: Any) -> dict[str, Any]:
    """Return an operation node."""
    return {"op": op, "args": list(args)}


def in_partition(values: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Return the tree that is true for the rows of one partition.

    Args:
        values: for each partition column its value, a typed literal; null for the null partition.
        types: for each of them its primitive type, as a table's schema spells it.
    """
    tests = [
        node("<=>", column(name), {"literal": value, "type": types[name]})
        for name, value in values.items()
    ]
    return tests[0] if len(tests) == 1 else node("and", *tests)


def columns_of(tree: Mapping[str, Any]) -> set[str]:
    """Return the top-level columns that a tree looks at."""
    if "column" in tree:
        return {tree["column"][0]}
    return {name for each in tree.get("args", ()) for name in columns_of(each)}


def _order(left: Any, right: Any) -> int:
    """Compare two values that are not null: -1, 0 or 1."""
    if isinstance(left, float) or isinstance(right, float):
        nan = [isinstance(each, float) and math.isnan(each) for each in (left, right)]
        if any(nan):
            return int(nan[0]) - int(nan[1])
    try:
        return int(left > right) - int(left < right)
    except TypeError as error:
        raise FilterError(f"{left!r} and {right!r} do not compare") from error


_ORDERINGS: Final[Mapping[str, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def _holds(op: str, left: Any, right: Any) -> bool:
    return _ORDERINGS[op](_order(left, right))


def _same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is None and right is None
    return _order(left, right) == 0


def _decided(values: Iterable[bool | None], *, by: bool) -> bool | None:
    """Return the value that decides where it is there, null where a value is, else the other."""
    listed = list(values)
    if by in listed:
        return by
    return None if None in listed else not by


def _unless_null(work: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """Return an operation that is null where an argument is."""
    return lambda args: None if any(each is None for each in args) else work(*args)


_EQUAL: Final = _unless_null(partial(_holds, "="))

_OPERATIONS: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    **{op: _unless_null(partial(_holds, op)) for op in _ORDERINGS},
    "<=>": lambda args: _same(*args),
    "in": lambda args: _decided((_EQUAL((args[0], each)) for each in args[1:]), by=True),
    "is_null": lambda args: args[0] is None,
    "is_not_null": lambda args: args[0] is not None,
    "and": partial(_decided, by=False),
    "or": partial(_decided, by=True),
    "not": _unless_null(operator.not_),
    "starts_with": _unless_null(str.startswith),
    "+": _unless_null(operator.add),
    "-": _unless_null(operator.sub),
    "*": _unless_null(operator.mul),
}


def evaluate(tree: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    """Return the value of a tree for a row: true, false or null for a filter.

    A tree that gives a value, and no truth, may add, subtract and multiply; what overflows its
    type is for the caller to notice.

    Raises:
        FilterError: the tree has an unknown node, or compares what does not compare.
        KeyError: the tree names a column that the row lacks.
    """
    match tree:
        case {"column": [first, *rest]}:
            value = row[first]
            for name in rest:
                value = None if value is None else value[name]
            return value
        case {"literal": document, "type": written}:
            return decode(type_of(written), document)
        case {"op": str() as op, "args": [*args]} if op in _OPERATIONS:
            return _OPERATIONS[op]([evaluate(each, row) for each in args])
        case _:
            raise FilterError(f"{tree!r} is no node of a filter tree")


def predicate_of(tree: Mapping[str, Any] | None) -> Callable[[Mapping[str, Any]], bool]:
    """Return a predicate that is true of the rows for which a tree is; of all without a tree."""
    return lambda row: tree is None or evaluate(tree, row) is True
