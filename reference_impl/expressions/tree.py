"""Trees of SQL expressions, and how to walk them without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from reference_impl.expressions.limits import MAX_HEIGHT, check

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an expression tree.

    Attributes:
        kind: what it is:

            * ``column`` with the parts of the name as value; ``field`` of a struct, with a name;
            * ``string``, ``number`` (as written), ``boolean``, ``null``, ``binary`` (hex digits);
            * ``op`` with the operator as value, ``and``, ``or``, ``not``, ``neg``, ``is_null``;
            * ``in``, ``between``, ``row``;
            * ``like`` with the escape character as value;
            * ``case`` with whether there is an operand and whether there is an ELSE;
            * ``cast`` with target, its parameters, and whether what does not fit is null;
            * ``call`` with the name of a function in upper case.
        value: see above.
        args: its operands.
        start: where it starts in the text.
        end: where it ends in the text.
        height: levels below it, itself included.
    """

    kind: str
    value: Any
    args: tuple[Node, ...]
    start: int
    end: int
    height: int


def node(kind: str, value: Any, args: tuple[Node, ...], start: int, end: int) -> Node:
    """Make a node.

    Raises:
        LimitExceeded: the tree is too high.
    """
    height = 1 + max((arg.height for arg in args), default=0)
    check("sql_operators", height, MAX_HEIGHT)
    return Node(kind, value, args, start, end, height)


def fold(root: Node, make: Callable[[Node, list[_Result]], _Result]) -> _Result:
    """Compute a value of a tree bottom-up: that of a node from those of its operands."""
    done: list[_Result] = []
    open_: list[tuple[Node, bool]] = [(root, False)]
    while open_:
        at, ready = open_.pop()
        if not ready:
            open_.append((at, True))
            open_ += [(arg, False) for arg in reversed(at.args)]
            continue
        below = len(done) - len(at.args)
        done[below:] = [make(at, done[below:])]
    return done[0]


def walk(root: Node) -> Iterator[Node]:
    """Return every node, a node before its operands, in the order of the text."""
    open_ = [root]
    while open_:
        at = open_.pop()
        yield at
        open_ += reversed(at.args)
