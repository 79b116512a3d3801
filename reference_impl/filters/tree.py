"""Bind filter trees (``docs/formats.md``) to a table schema.

Binding resolves columns, types literals, and brings both sides of a comparison to one type, so
that evaluation and skipping need not think about types again.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import pyarrow as pa

from reference_impl.errors import DeltaError, InvalidFilter, UnknownColumn
from reference_impl.filters.nodes import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNull,
    Node,
    Not,
    Operand,
    Operator,
    Or,
    StartsWith,
)
from reference_impl.model.partition_values import parse_values
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from reference_impl.types.schema import parse_type

MAX_DEPTH = 200
"""Deepest nesting that is followed; a bound against trees made to exhaust the stack."""

_OPERATORS = frozenset(get_args(Operator))
_FLIPPED: Mapping[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FRACTIONS = (FLOAT, DOUBLE)
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def bind(tree: Mapping[str, Any], schema: Struct) -> Node:
    """Bind a tree to a schema.

    Raises:
        InvalidFilter: the tree is malformed, or compares what cannot be compared.
        UnknownColumn: a column is not in the schema.
    """
    return _predicate(_bind(tree, schema, 0))


def _bind(tree: Any, schema: Struct, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise InvalidFilter(f"the filter is nested deeper than {MAX_DEPTH} levels")
    if not isinstance(tree, Mapping):
        raise InvalidFilter(f"a node is an object, not {tree!r:.80}")
    if "column" in tree:
        return _column(tree["column"], schema)
    if "literal" in tree:
        return _literal(tree["literal"], tree.get("type"))
    name, arguments = tree.get("op"), tree.get("args")
    if not isinstance(arguments, Sequence) or isinstance(arguments, str):
        raise InvalidFilter(f"a node has a column, a literal, or op and args: {tree!r:.80}")
    return _apply(name, [_bind(argument, schema, depth + 1) for argument in arguments])


def _apply(name: Any, bound: list[Node]) -> Node:  # noqa: PLR0911  one return per operation
    match name, bound:
        case "and", [_, *_]:
            return And(tuple(_predicate(part) for part in bound))
        case "or", [_, *_]:
            return Or(tuple(_predicate(part) for part in bound))
        case "not", [part]:
            return Not(_predicate(part))
        case "is_null", [value]:
            return IsNull(_operand(value))
        case "is_not_null", [value]:
            return Not(IsNull(_operand(value)))
        case "starts_with", [value, prefix]:
            return _starts_with(_operand(value), _operand(prefix))
        case "in", [value, *choices]:
            return _bind_in(_operand(value), choices)
        case str(), [left, right] if name in _OPERATORS:
            return _compare(cast("Operator", name), _operand(left), _operand(right))
        case _:
            raise InvalidFilter(f"there is no op {name!r:.40} of {len(bound)} arguments")


def _column(path: Any, schema: Struct) -> Column:
    parts = [path] if isinstance(path, str) else path
    if not isinstance(parts, Sequence) or not parts:
        raise InvalidFilter(f"a column is an array of name parts, not {path!r:.80}")
    names: list[str] = []
    at: DataType = schema
    for part in parts:
        found = None
        if isinstance(at, Struct) and isinstance(part, str):
            folded = {f.name.lower(): f for f in at.fields}
            found = at.get(part) or folded.get(part.lower())
        if found is None:
            raise UnknownColumn(f"the table has no column {'.'.join(map(str, parts))!r:.200}")
        names.append(found.name)
        at = found.type
    return Column(tuple(names), at)


def _literal(value: Any, name: Any) -> Constant:
    if name is None:
        of: DataType = VOID if value is None else _type_of(value)
    else:
        of = _named(name)
    return Constant(_scalar(value, of), of)


def _named(name: Any) -> DataType:
    try:
        of = parse_type(name)
    except (DeltaError, TypeError):
        of = Struct(())
    if isinstance(of, Struct | Array | Map):
        raise InvalidFilter(f"{name!r:.80} is no primitive type")
    return of


def _type_of(value: Any) -> DataType:
    types = {bool: BOOLEAN, int: LONG, float: DOUBLE, str: STRING, bytes: BINARY}
    if type(value) not in types:
        raise InvalidFilter(f"the literal {value!r:.80} has no type")
    return types[type(value)]


def _scalar(value: Any, of: DataType) -> pa.Scalar:
    if value is None:
        return pa.scalar(None)
    target = arrow_type(of)
    try:
        if of == BINARY and isinstance(value, str):
            return pa.scalar(base64.b64decode(value, validate=True), target)
        if isinstance(value, str) and of != STRING:
            found = parse_values(pa.array([value]), of)[0]
            if found.is_valid:
                return found
        else:
            return pa.scalar(value, target)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, DeltaError):
        pass
    raise InvalidFilter(f"the literal {value!r:.80} is no {of}")


def _predicate(node: Node) -> Node:
    if isinstance(node, Column | Constant) and node.type not in (BOOLEAN, VOID):
        raise InvalidFilter(f"a condition is of type {node.type}, not boolean")
    return node


def _operand(node: Node) -> Operand:
    if not isinstance(node, Column | Constant):
        raise InvalidFilter("an operand of a comparison is a column or a literal")
    return node


def _compare(operator: Operator, left: Operand, right: Operand) -> Compare:
    if isinstance(left, Constant) and not isinstance(right, Constant):
        left, right, operator = right, left, _FLIPPED.get(operator, operator)
    return Compare(operator, *_unified(left, right))


def _unified(left: Operand, right: Operand) -> tuple[Operand, Operand]:
    """Type a literal like what it is compared with, where its text allows that."""
    for side in (left, right):
        if isinstance(side.type, Struct | Array | Map):
            raise InvalidFilter(f"values of type {side.type} are not compared")
    if isinstance(right, Constant):
        right = _retyped(right, left.type)
    if isinstance(left, Constant):
        left = _retyped(left, right.type)
    if not _comparable(left.type, right.type):
        raise InvalidFilter(f"{left.type} and {right.type} are not compared")
    return left, right


def _retyped(constant: Constant, of: DataType) -> Constant:
    if not constant.value.is_valid:
        return Constant(pa.scalar(None), of)
    if constant.type == STRING:
        return _parsed(constant.value.as_py(), of)
    return constant


def _parsed(text: str, of: DataType) -> Constant:
    return Constant(_scalar(text.encode() if of == BINARY else text, of), of)


def _comparable(left: DataType, right: DataType) -> bool:
    if left == right or VOID in (left, right):
        return True
    return (_is_number(left) and _is_number(right)) or (left in _TIMES and right in _TIMES)


def _is_number(of: DataType) -> bool:
    return of in INTEGERS or of in _FRACTIONS or isinstance(of, Decimal)


def _bind_in(value: Operand, choices: Sequence[Node]) -> In:
    constants = []
    for choice in choices:
        if not isinstance(choice, Constant):
            raise InvalidFilter("the choices of 'in' are literals")
        _, typed = _unified(value, choice)
        constants.append(cast("Constant", typed))
    return In(value, tuple(constants))


def _starts_with(value: Operand, prefix: Operand) -> Node:
    if not isinstance(prefix, Constant):
        raise InvalidFilter("the prefix of 'starts_with' is a literal")
    if value.type not in (STRING, VOID) or prefix.type not in (STRING, VOID):
        raise InvalidFilter("'starts_with' tests strings")
    if not prefix.value.is_valid:
        return Constant(pa.scalar(None), BOOLEAN)
    return StartsWith(value, prefix)
