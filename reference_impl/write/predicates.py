"""Predicates of row changes: filter trees, and SQL that no filter tree expresses.

Implements "Add File and Remove File". Filter trees serve data skipping and conflict
detection; the rest of a predicate is evaluated by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reference_impl.errors import SchemaMismatch, UnsupportedExpression
from reference_impl.expressions.sql import Expression, conjuncts, parse_expression
from reference_impl.filters import And, Node, bind_filter, evaluate
from reference_impl.types.model import Struct

Filter: TypeAlias = Mapping[str, Any] | str | None
"""Which rows: a tree, Spark SQL, or ``None`` for all rows."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A filter bound to the schema of a table; a row is chosen where every part is true.

    Attributes:
        node: the part that is a filter tree; ``None`` without one.
        rest: the other parts.
    """

    node: Node | None
    rest: tuple[Expression, ...] = ()

    def holds(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Return the mask of rows for which it is true; null is false.

        Raises:
            SchemaMismatch: a part overflows on a row, or is no condition.
        """
        node = self.node
        chosen = np.ones(len(rows), np.bool_) if node is None else _mask(evaluate(node, rows))
        for part in self.rest:
            # Rows that an earlier part excludes are not evaluated: they may overflow.
            left = rows.filter(pa.array(chosen))
            chosen[chosen] = truth(part.evaluate(left), part.text)
        return chosen


def truth(values: pa.ChunkedArray, text: str) -> npt.NDArray[np.bool_]:
    """Return the mask of an evaluated condition; null is false.

    Raises:
        SchemaMismatch: the values are no truths.
    """
    if not pa.types.is_boolean(values.type):
        raise SchemaMismatch(f"{text[:200]!r} is of type {values.type}, no condition")
    return _mask(values)


def _mask(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.asarray(values.fill_null(False))  # noqa: FBT003  a value


def bind_predicate(filter: Filter, schema: Struct) -> Predicate | None:
    """Bind a filter to a schema; ``None`` for all rows.

    Raises:
        InvalidFilter: it is malformed.
        UnknownColumn: it names a column that the schema does not have.
        UnsupportedExpression: it uses something that this implementation does not evaluate.
    """
    if filter is None:
        return None
    if not isinstance(filter, str):
        return Predicate(bind_filter(filter, schema))
    nodes: list[Node] = []
    rest: list[Expression] = []
    for text in conjuncts(filter):
        try:
            nodes.append(bind_filter(text, schema))
        except UnsupportedExpression:
            rest.append(parse_expression(text, schema))
    node = And(tuple(nodes)) if nodes else None
    return Predicate(node, tuple(rest))
