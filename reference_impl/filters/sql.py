"""Spark SQL predicates as filter trees.

Only what a tree can say is read; anything else is refused by name rather than guessed at.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from reference_impl.errors import InvalidFilter, UnsupportedExpression

__all__ = ["parse_predicate"]

_COMPARISONS: Mapping[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_TYPES: Mapping[str, str] = {
    "BIGINT": "long",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "double",
    "FLOAT": "float",
    "INT": "integer",
    "SMALLINT": "short",
    "TEXT": "string",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "TIMESTAMPTZ": "timestamp",
    "TINYINT": "byte",
    "VARCHAR": "string",
}
_MAX_TEXT = 100_000
_MAX_DIGITS = 38
_TREE = dict[str, Any]


def parse_predicate(sql: str) -> _TREE:
    """Parse the text of a predicate into a filter tree.

    Raises:
        InvalidFilter: the text is not SQL.
        UnsupportedExpression: it uses something that filter trees do not have.

    """
    if len(sql) > _MAX_TEXT:
        raise InvalidFilter(f"a predicate of {len(sql)} characters is too long")
    try:
        parsed = sqlglot.parse_one(sql, dialect="spark")
    except (SqlglotError, RecursionError, ValueError, ArithmeticError) as error:
        raise InvalidFilter(f"the predicate is not SQL: {str(error)[:200]}") from None
    try:
        return _tree(parsed)
    except RecursionError:
        raise InvalidFilter("the predicate is nested too deeply") from None


def _tree(node: exp.Expression) -> _TREE:
    if type(node) in _COMPARISONS:
        return _op(_COMPARISONS[type(node)], node.this, node.expression)
    reader = _READERS.get(type(node))
    if reader is None:
        raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")
    return reader(node)


def _op(name: str, *arguments: exp.Expression) -> _TREE:
    return {"op": name, "args": [_tree(argument) for argument in arguments]}


def _negation(tree: _TREE) -> _TREE:
    return {"op": "not", "args": [tree]}


def _column(node: exp.Expression) -> _TREE:
    return {"column": [part.name for part in node.parts]}


def _literal(node: exp.Expression) -> _TREE:
    text = node.this
    if node.is_string:
        return {"literal": text, "type": "string"}
    if text.isdecimal() and int(text) < 2**63:
        return {"literal": text, "type": "integer" if int(text) < 2**31 else "long"}
    if "e" in text.lower():
        return {"literal": text, "type": "double"}
    whole, _, fraction = text.partition(".")
    digits = max(len(whole.lstrip("0")) + len(fraction), 1)
    if not (whole + fraction).isdecimal() or digits > _MAX_DIGITS:
        raise UnsupportedExpression(f"the literal {text[:60]} is no decimal of 38 digits")
    return {"literal": text, "type": f"decimal({digits},{len(fraction)})"}


def _binary(node: exp.Expression) -> _TREE:
    # Spark pads an odd number of digits in front.
    return _bytes(bytes.fromhex("0" * (len(node.this) % 2) + node.this))


def _bytes(value: bytes) -> _TREE:
    return {"literal": base64.b64encode(value).decode("ascii"), "type": "binary"}


def _negative(node: exp.Expression) -> _TREE:
    tree = _tree(node.this)
    if not isinstance(tree.get("literal"), str) or tree["type"] == "string":
        raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")
    return {"literal": f"-{tree['literal']}", "type": tree["type"]}


def _cast(node: exp.Expression) -> _TREE:
    tree, target = _tree(node.this), node.args["to"]
    name = _TYPES.get(target.this.name)
    if target.this.name == "DECIMAL":
        sizes = [int(size.name) for size in target.expressions] or [10, 0]
        name = f"decimal({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})"
    if name is None or not isinstance(tree.get("literal"), str | None) or "literal" not in tree:
        raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")
    if name == "binary" and tree["type"] == "string":
        return _bytes(tree["literal"].encode())
    if (name == "binary") != (tree["type"] == "binary") and tree["literal"] is not None:
        raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")
    return {"literal": tree["literal"], "type": name}


def _is(node: exp.Expression) -> _TREE:
    match node.expression:
        case exp.Null():
            return _op("is_null", node.this)
        case exp.Boolean() as value:
            return _op("<=>", node.this, value)
        case exp.Not(this=exp.Null()):
            return _op("is_not_null", node.this)
        case _:
            raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")


def _in(node: exp.Expression) -> _TREE:
    if node.args.get("query") or not node.expressions:
        raise UnsupportedExpression(f"a filter cannot say {node.sql('spark')[:100]!r}")
    return _op("in", node.this, *node.expressions)


def _between(node: exp.Expression) -> _TREE:
    low, high = node.args["low"], node.args["high"]
    return {"op": "and", "args": [_op(">=", node.this, low), _op("<=", node.this, high)]}


def _like(node: exp.Expression) -> _TREE:
    pattern = node.expression
    text = pattern.this if isinstance(pattern, exp.Literal) and pattern.is_string else ""
    prefix = text[:-1]
    if not text.endswith("%") or any(special in prefix for special in "%_\\"):
        raise UnsupportedExpression(f"of LIKE, only a prefix test is read: {text[:60]!r}")
    return {"op": "starts_with", "args": [_tree(node.this), {"literal": prefix, "type": "string"}]}


def _starts_with(node: exp.Expression) -> _TREE:
    return _op("starts_with", node.this, node.expression)


_READERS: Mapping[type[exp.Expression], Callable[[exp.Expression], _TREE]] = {
    exp.And: lambda node: _op("and", node.this, node.expression),
    exp.Between: _between,
    exp.Boolean: lambda node: {"literal": node.this, "type": "boolean"},
    exp.Cast: _cast,
    exp.Column: _column,
    exp.Dot: _column,
    exp.HexString: _binary,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.Literal: _literal,
    exp.Neg: _negative,
    exp.Not: lambda node: _negation(_tree(node.this)),
    exp.Null: lambda _: {"literal": None, "type": "void"},
    exp.Or: lambda node: _op("or", node.this, node.expression),
    exp.Paren: lambda node: _tree(node.this),
    exp.StartsWith: _starts_with,
    exp.TryCast: _cast,
}
