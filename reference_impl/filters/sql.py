"""Spark SQL predicates as filter trees.

Only what a tree can say is read; anything else is refused by name rather than guessed at.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from reference_impl.errors import UnsupportedExpression
from reference_impl.expressions.parser import parse
from reference_impl.expressions.tree import Node, fold
from reference_impl.filters.nodes import Operator

_COMPARISONS: Final = frozenset(get_args(Operator))
_TYPES: Final[Mapping[str, str]] = {
    "BIGINT": "long",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "double",
    "FLOAT": "float",
    "INT": "integer",
    "SMALLINT": "short",
    "STRING": "string",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "TINYINT": "byte",
    "VARCHAR": "string",
}
_TREE = dict[str, Any]


def parse_predicate(sql: str) -> _TREE:
    """Parse the text of a predicate into a filter tree.

    Raises:
        InvalidFilter: the text is not SQL.
        UnsupportedExpression: it uses something that filter trees do not have.
        LimitExceeded: it is longer or nested more deeply than the limits allow.
    """

    def make(at: Node, args: list[_TREE]) -> _TREE:
        reader = _READERS.get(at.kind)
        made = None if reader is None else reader(at, args)
        if made is None:
            raise UnsupportedExpression(f"a filter cannot say {sql[at.start : at.end][:100]!r}")
        return made

    return fold(parse(sql), make)


def _operation(at: Node, args: list[_TREE]) -> _TREE | None:
    return {"op": at.value, "args": args} if at.value in _COMPARISONS else None


def _named(at: Node, args: list[_TREE]) -> _TREE:
    return {"op": at.kind, "args": args}


def _field(at: Node, args: list[_TREE]) -> _TREE | None:
    return {"column": [*args[0]["column"], at.value]} if "column" in args[0] else None


def _literal(value: Any, name: str) -> _TREE:
    return {"literal": value, "type": name}


def _number(at: Node, _: list[_TREE]) -> _TREE:
    text = at.value
    if text.isdecimal() and int(text) < 2**63:
        return _literal(text, "integer" if int(text) < 2**31 else "long")
    if "E" in text:
        return _literal(text, "double")
    whole, _dot, fraction = text.partition(".")
    digits = max(len(whole.lstrip("0")) + len(fraction), 1)
    return _literal(text, f"decimal({digits},{len(fraction)})")


def _binary(at: Node, _: list[_TREE]) -> _TREE:
    # Spark pads an odd number of digits in front.
    return _bytes(bytes.fromhex("0" * (len(at.value) % 2) + at.value))


def _bytes(value: bytes) -> _TREE:
    return _literal(base64.b64encode(value).decode("ascii"), "binary")


def _negative(_: Node, args: list[_TREE]) -> _TREE | None:
    [tree] = args
    if not isinstance(tree.get("literal"), str) or tree["type"] in {"string", "binary"}:
        return None
    return _literal(f"-{tree['literal']}", tree["type"])


def _cast(at: Node, args: list[_TREE]) -> _TREE | None:
    [tree] = args
    target, sizes, lenient = at.value
    name = _TYPES.get(target)
    if target == "DECIMAL":
        precision, scale = (*(sizes or (10,)), 0)[:2]
        name = f"decimal({precision},{scale})"
    if name is None or lenient or not isinstance(tree.get("literal", ()), str | None):
        return None
    if name == "binary" and tree["type"] == "string":
        return _bytes(tree["literal"].encode())
    if (name == "binary") != (tree["type"] == "binary") and tree["literal"] is not None:
        return None
    return _literal(tree["literal"], name)


def _between(_: Node, args: list[_TREE]) -> _TREE:
    value, low, high = args
    bounds = [{"op": ">=", "args": [value, low]}, {"op": "<=", "args": [value, high]}]
    return {"op": "and", "args": bounds}


def _like(at: Node, args: list[_TREE]) -> _TREE | None:
    pattern = at.args[1]
    text = pattern.value if pattern.kind == "string" else ""
    prefix = text[:-1]
    if not text.endswith("%") or any(special in prefix for special in ("%", "_", at.value)):
        return None
    return {"op": "starts_with", "args": [args[0], _literal(prefix, "string")]}


def _call(at: Node, args: list[_TREE]) -> _TREE | None:
    return {"op": "starts_with", "args": args} if at.value == "STARTSWITH" else None


_READERS: Final[Mapping[str, Callable[[Node, list[_TREE]], _TREE | None]]] = {
    "and": _named,
    "between": _between,
    "binary": _binary,
    "boolean": lambda at, _: _literal(at.value, "boolean"),
    "call": _call,
    "cast": _cast,
    "column": lambda at, _: {"column": list(at.value)},
    "field": _field,
    "in": _named,
    "is_null": _named,
    "like": _like,
    "neg": _negative,
    "not": _named,
    "null": lambda _, __: _literal(None, "void"),
    "number": _number,
    "op": _operation,
    "or": _named,
    "string": lambda at, _: _literal(at.value, "string"),
}
