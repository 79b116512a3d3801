"""Filters: trees and Spark SQL text, bound to a table schema, evaluated over Arrow.

Implements "Per-file Statistics" (what skipping asks of bounds) and the filters of case specs
(``docs/formats.md``). Logic is SQL's, with three values; NaN is equal to NaN and greater than
every other number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_impl.filters.evaluate import evaluate
from reference_impl.filters.nodes import And, Node, columns_of
from reference_impl.filters.sql import parse_predicate
from reference_impl.filters.tree import bind
from reference_impl.types.model import Struct

__all__ = ["And", "Node", "bind", "bind_filter", "columns_of", "evaluate", "parse_predicate"]


def bind_filter(filter: Mapping[str, Any] | str, schema: Struct) -> Node:
    """Bind a filter that is a tree, or the text of a Spark SQL predicate.

    Raises:
        InvalidFilter: the filter is malformed or does not fit the schema.
        UnknownColumn: it names a column that the schema does not have.
        UnsupportedExpression: the text uses SQL that a tree cannot say.
    """
    return bind(parse_predicate(filter) if isinstance(filter, str) else filter, schema)
