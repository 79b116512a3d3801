"""Predicates, which are filters bound to a schema, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from reference_impl.types.model import DataType

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">=", "<=>"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its logical path, written as in the schema."""

    path: tuple[str, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Constant:
    """A typed value; null when the scalar is."""

    value: pa.Scalar
    type: DataType


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison; where one side is a constant it is the right one."""

    operator: Operator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class In:
    """Membership in a list of constants."""

    value: Operand
    choices: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a value is null: never null itself."""

    value: Operand


@dataclass(frozen=True, slots=True)
class StartsWith:
    """Whether a string starts with a prefix."""

    value: Operand
    prefix: Constant


@dataclass(frozen=True, slots=True)
class And:
    """True when all parts are, false when one is false."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when one part is, false when all are false."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True when the part is false, false when it is true; null stays null."""

    part: Node


Operand: TypeAlias = Column | Constant
Node: TypeAlias = Compare | In | IsNull | StartsWith | And | Or | Not | Column | Constant
"""A predicate; a boolean column or constant is one."""


def columns_of(node: Node) -> Iterator[tuple[str, ...]]:
    """Return the path of every column that a predicate looks at, repeats included."""
    match node:
        case Column(path):
            yield path
        case Constant():
            return
        case Compare(_, left, right):
            yield from columns_of(left)
            yield from columns_of(right)
        case In(value, _) | IsNull(value) | StartsWith(value, _):
            yield from columns_of(value)
        case And(parts) | Or(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield from columns_of(part)
