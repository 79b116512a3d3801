"""SQL expressions that tables carry: constraints, generated columns, defaults.

Serves "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns". The
text is Spark SQL. It is parsed into a tree, every node of which must be on the list below: what
is on it means the same in Spark and in DuckDB, which evaluates it over Arrow. Whatever is not on
the list is refused by name, and never passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from reference_impl.errors import (
    InvalidFilter,
    SchemaMismatch,
    UnknownColumn,
    UnsupportedExpression,
)
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import DataType, Struct

__all__ = ["Expression", "parse_expression"]

_MAX_TEXT: Final = 100_000
_ROWS: Final = "rows_"

_STRUCTURE: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Dot,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE,
    exp.NullSafeEQ, exp.Is, exp.In, exp.Tuple, exp.Between, exp.Case, exp.If, exp.Coalesce,
    exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Like, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
_FUNCTIONS: Final = (
    exp.Abs, exp.Upper, exp.Lower, exp.Length, exp.Concat, exp.Year, exp.Month, exp.Day,
    exp.StartsWith, exp.Nullif, exp.Greatest, exp.Least, exp.TsOrDsToDate, exp.Substring,
)  # fmt: skip
_ALLOWED: Final = frozenset((*_STRUCTURE, *_FUNCTIONS))

_CASTS: Final = frozenset(
    {"DATE", "BIGINT", "INT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "DECIMAL"}
)
"""Targets of casts that mean the same in both; a cast to text spells numbers differently."""

_INSTANTS: Final = frozenset({"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ"})
"""Targets for literals alone: of another value the session's time zone would decide."""


_CASTING: Final = frozenset((exp.Cast, exp.TryCast))


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that can be evaluated.

    Attributes:
        text: as the table spells it.
        columns: top-level columns that it looks at, as the schema spells them.
        sql: the same for DuckDB.

    """

    text: str
    columns: tuple[str, ...]
    sql: str

    def evaluate(self, rows: pa.Table, wanted: DataType | None = None) -> pa.ChunkedArray:
        """Evaluate over rows, one value per row.

        Args:
            rows: columns by logical name, at least those that the expression looks at.
            wanted: the type to give; the expression's own when ``None``.

        Raises:
            SchemaMismatch: a value overflows, or does not fit the type.

        """
        target = None if wanted is None else arrow_type(wanted)
        if rows.num_rows == 0:
            return pa.chunked_array([], target or pa.bool_())
        given = (
            rows.select(list(self.columns))
            if self.columns
            else pa.table({"_": pa.nulls(rows.num_rows, pa.int8())})
        )
        with _database().cursor() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register(_ROWS, given)
            try:
                found = connection.execute(f"SELECT {self.sql} AS v FROM {_ROWS}").to_arrow_table()  # noqa: S608  rendered from a checked tree
                values = found.column("v")
                return values if target is None else _cast(values, target)
            except (duckdb.Error, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise SchemaMismatch(
                    f"the expression {self.text[:200]!r} cannot be evaluated: {str(error)[:200]}"
                ) from None


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Start the database that evaluates; it holds nothing between two expressions."""
    return duckdb.connect(
        config={"enable_external_access": False, "threads": 1, "preserve_insertion_order": True}
    )


def _cast(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_integer(values.type) and pa.types.is_decimal(target):
        values = values.cast(pa.decimal128(38, 0))
    return values.cast(target)


def parse_expression(text: str, schema: Struct) -> Expression:
    """Parse a Spark SQL expression over the columns of a schema.

    Raises:
        InvalidFilter: the text is not SQL.
        UnknownColumn: it names a column that the schema does not have.
        UnsupportedExpression: it uses something that this implementation does not evaluate.

    """
    if len(text) > _MAX_TEXT:
        raise InvalidFilter(f"an expression of {len(text)} characters is too long")
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
        used = dict.fromkeys(_check(tree, schema))
        rendered = _qualified(tree, schema).sql(dialect="duckdb", identify=True)
    except (SqlglotError, ValueError) as error:
        raise InvalidFilter(f"the expression is not SQL: {str(error)[:200]}") from None
    except RecursionError:
        raise InvalidFilter("the expression is nested too deeply") from None
    return Expression(text, tuple(used), rendered)


def _check(tree: exp.Expression, schema: Struct) -> Iterator[str]:
    """Refuse every node that is not on the list, and give the columns that are looked at."""
    folded = {f.name.lower(): f.name for f in schema.fields}
    for node in tree.walk():
        if not (type(node) in _CASTING or type(node) in _ALLOWED) or _differs(node):
            raise UnsupportedExpression(
                f"an expression uses {node.sql('spark')[:100]!r}, which is not evaluated",
                hint="comparisons, logic, plain arithmetic, CASE and a few functions are",
            )
        if isinstance(node, exp.Column):
            first = node.parts[0].name
            if first.lower() not in folded:
                raise UnknownColumn(
                    f"an expression names column {first!r}, which the table does not have",
                    hint="columns: " + ", ".join(schema.names),
                )
            yield folded[first.lower()]


def _differs(node: exp.Expression) -> bool:
    """Tell whether a node on the list means something else in the one and in the other."""
    match node:
        case exp.Cast():
            target = node.args["to"].this.name
            literal = isinstance(node.this, exp.Literal) and node.this.is_string
            return not (target in _CASTS or (target in _INSTANTS and literal))
        case exp.In():
            return bool(node.args.get("query")) or not node.expressions
        case exp.Like():
            # Spark escapes with a backslash where nothing is said, DuckDB with nothing.
            pattern = node.expression
            return not (isinstance(pattern, exp.Literal) and "\\" not in pattern.this)
        case exp.Substring():
            start = node.args.get("start")
            return not (
                isinstance(start, exp.Literal) and start.this.isdecimal() and int(start.this)
            )
        case _:
            return False


def _qualified(tree: exp.Expression, schema: Struct) -> exp.Expression:
    """Spell columns as the schema does, and nested fields as struct access."""
    folded = {f.name.lower(): f.name for f in schema.fields}

    def change(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        first, *rest = [part.name for part in node.parts]
        access: exp.Expression = exp.column(folded[first.lower()], table=_ROWS)
        for name in rest:
            access = exp.Dot(this=exp.Paren(this=access), expression=exp.to_identifier(name))
        return access

    changed = tree.copy().transform(change)
    for node in list(changed.find_all(exp.TryCast)):
        # Spark's plain cast: a value that does not fit is an error, not null.
        strict = exp.Cast(this=node.this, to=node.args["to"])
        if node is changed:
            changed = strict
        else:
            node.replace(strict)
    return changed
