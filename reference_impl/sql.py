"""SQL expressions: constraints, generated columns, defaults, and those that operations bring.

Serves "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns". The
text is Spark SQL. It is parsed into a tree, every node of which must be on the list below: what
is on it means the same in Spark and in DuckDB, which evaluates it over Arrow. Whatever is not on
the list is refused by name, and never passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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

__all__ = ["Expression", "PairExpression", "Sql", "conjuncts", "parse_expression", "parse_pair"]

_MAX_TEXT: Final = 100_000
_ROWS: Final = "rows_"
_AT: Final = "#at"
_NOTHING: Final = "#nothing"
"""Names of columns beside those of a schema, which a table hardly has."""

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

_OF_LITERALS: Final = frozenset(
    {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "TEXT"}
)
"""Targets for text and null alone: how another value is spelled, and in which time zone it is
meant, differs."""


_CASTING: Final = frozenset((exp.Cast, exp.TryCast))


_Place = tuple[str, str, tuple[str, ...]]
"""Where a name leads: the relation, the column as its schema spells it, and fields in it."""


@dataclass(frozen=True, slots=True)
class Sql:
    """Text that is an expression in Spark SQL, told apart from a value of type string."""

    text: str


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
        query = f"SELECT {self.sql} AS v FROM {_ROWS}"  # noqa: S608  rendered from a checked tree
        values = _run(query, {_ROWS: _only(rows, self.columns)}, self.text).column("v")
        return _typed(values, target, self.text)


@dataclass(frozen=True, slots=True)
class PairExpression:
    """An expression over two relations, whose columns are named with the relation's name.

    Attributes:
        text: as it was given.
        columns: relation to the columns of it that the expression looks at.
        sql: the same for DuckDB.

    """

    text: str
    columns: Mapping[str, tuple[str, ...]]
    sql: str

    def evaluate(
        self, pairs: Mapping[str, pa.Table], wanted: DataType | None = None
    ) -> pa.ChunkedArray:
        """Evaluate over pairs of rows, one value per pair.

        Args:
            pairs: relation to its rows; all of the same length, the n-th rows making a pair.
            wanted: the type to give; the expression's own when ``None``.

        Raises:
            SchemaMismatch: a value overflows, or does not fit the type.

        """
        target = None if wanted is None else arrow_type(wanted)
        if all(rows.num_rows == 0 for rows in pairs.values()):
            return pa.chunked_array([], target or pa.bool_())
        given = {name: _only(rows, self.columns.get(name, ())) for name, rows in pairs.items()}
        joined = " POSITIONAL JOIN ".join(given)
        query = f"SELECT {self.sql} AS v FROM {joined}"  # noqa: S608  rendered from a checked tree
        return _typed(_run(query, given, self.text).column("v"), target, self.text)

    def join(self, left: pa.Table, right: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Give the pairs of rows that the expression is true for, as numbers of rows.

        The relations are those that the expression was parsed over, in that order.

        Raises:
            SchemaMismatch: a value overflows, or the expression is no condition.

        """
        names = list(self.columns)
        given = {
            name: _only(rows, self.columns[name]).append_column(
                _AT, pa.array(range(rows.num_rows), pa.int64())
            )
            for name, rows in zip(names, (left, right), strict=True)
        }
        first, second = names
        none = {name: rows.slice(0, 0) for name, rows in given.items()}
        shape = _run(f"SELECT {self.sql} AS v FROM {first}, {second}", none, self.text)  # noqa: S608  as above
        if not pa.types.is_boolean(shape.schema.field("v").type):
            of = shape.schema.field("v").type
            raise SchemaMismatch(f"{self.text[:200]!r} is of type {of}, no condition")
        query = (
            f'SELECT {first}."{_AT}" AS a, {second}."{_AT}" AS b '  # noqa: S608  as above
            f"FROM {first} JOIN {second} ON {self.sql} ORDER BY ALL"
        )
        found = _run(query, given, self.text)
        return found.column("a").combine_chunks(), found.column("b").combine_chunks()


def _only(rows: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """Give the columns that are looked at; one of nulls where none is, to keep the length."""
    if columns:
        return rows.select(list(columns))
    return pa.table({_NOTHING: pa.nulls(rows.num_rows, pa.int8())})


def _run(query: str, relations: Mapping[str, pa.Table], text: str) -> pa.Table:
    with _database().cursor() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in relations.items():
            connection.register(name, rows)
        try:
            return connection.execute(query).to_arrow_table()
        except (duckdb.Error, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _not_evaluated(text, error) from None


def _typed(values: pa.ChunkedArray, target: pa.DataType | None, text: str) -> pa.ChunkedArray:
    try:
        return values if target is None else _cast(values, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _not_evaluated(text, error) from None


def _not_evaluated(text: str, error: Exception) -> SchemaMismatch:
    return SchemaMismatch(f"the expression {text[:200]!r} cannot be evaluated: {str(error)[:200]}")


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
    folded = {f.name.lower(): f.name for f in schema.fields}

    def find(parts: tuple[str, ...]) -> _Place:
        name = folded.get(parts[0].lower())
        if name is None:
            raise UnknownColumn(
                f"an expression names column {parts[0]!r}, which the table does not have",
                hint="columns: " + ", ".join(schema.names),
            )
        return _ROWS, name, parts[1:]

    used, rendered = _parse(text, find)
    return Expression(text, tuple(name for _, name in used), rendered)


def parse_pair(text: str, relations: Mapping[str, Struct]) -> PairExpression:
    """Parse a Spark SQL expression over two relations, as ``target.id = source.id``.

    Every column is named with its relation: a name alone could be of either.

    Raises:
        InvalidFilter: the text is not SQL.
        UnknownColumn: it names a column that its relation does not have.
        UnsupportedExpression: it uses something that this implementation does not evaluate.

    """
    columns = {r: {f.name.lower(): f.name for f in s.fields} for r, s in relations.items()}

    def find(parts: tuple[str, ...]) -> _Place:
        relation, *rest = parts
        held = columns.get(relation.lower())
        if held is None or not rest:
            raise UnknownColumn(
                f"an expression names {'.'.join(parts)!r}, which is no column of "
                f"{' or '.join(columns)}",
                hint=f"name columns as {next(iter(columns))}.column",
            )
        name = held.get(rest[0].lower())
        if name is None:
            raise UnknownColumn(
                f"an expression names column {rest[0]!r}, which {relation} does not have",
                hint="columns: " + ", ".join(held.values()),
            )
        return relation.lower(), name, tuple(rest[1:])

    used, rendered = _parse(text, find)
    looked = {r: tuple(name for at, name in used if at == r) for r in relations}
    return PairExpression(text, looked, rendered)


def conjuncts(text: str) -> list[str]:
    """Give the conditions that a condition joins by AND; itself where it joins none.

    Raises:
        InvalidFilter: the text is not SQL.

    """
    tree = _tree(text)
    while isinstance(tree, exp.Paren):
        tree = tree.this
    parts = tree.flatten() if isinstance(tree, exp.And) else [tree]
    return [part.sql(dialect="spark") for part in parts]


def _tree(text: str) -> exp.Expression:
    if len(text) > _MAX_TEXT:
        raise InvalidFilter(f"an expression of {len(text)} characters is too long")
    try:
        return sqlglot.parse_one(text, dialect="spark")
    except (SqlglotError, ValueError) as error:
        raise InvalidFilter(f"the expression is not SQL: {str(error)[:200]}") from None
    except RecursionError:
        raise InvalidFilter("the expression is nested too deeply") from None


def _parse(
    text: str, find: Callable[[tuple[str, ...]], _Place]
) -> tuple[list[tuple[str, str]], str]:
    """Give the columns that a text looks at, each with its relation, and the text for DuckDB."""
    tree = _tree(text)
    try:
        used = dict.fromkeys(_check(tree, find))
        return list(used), _qualified(tree, find).sql(dialect="duckdb", identify=True)
    except (SqlglotError, ValueError) as error:
        raise InvalidFilter(f"the expression is not SQL: {str(error)[:200]}") from None
    except RecursionError:
        raise InvalidFilter("the expression is nested too deeply") from None


def _check(
    tree: exp.Expression, find: Callable[[tuple[str, ...]], _Place]
) -> Iterator[tuple[str, str]]:
    """Refuse every node that is not on the list, and give the columns that are looked at."""
    for node in tree.walk():
        if not (type(node) in _CASTING or type(node) in _ALLOWED) or _differs(node):
            raise UnsupportedExpression(
                f"an expression uses {node.sql('spark')[:100]!r}, which is not evaluated",
                hint="comparisons, logic, plain arithmetic, CASE and a few functions are",
            )
        if isinstance(node, exp.Column):
            relation, name, _ = find(_names(node))
            yield relation, name


def _names(node: exp.Column) -> tuple[str, ...]:
    return tuple(part.name for part in node.parts)


def _differs(node: exp.Expression) -> bool:
    """Tell whether a node on the list means something else in the one and in the other."""
    match node:
        case exp.Cast():
            target = node.args["to"].this.name
            null = isinstance(node.this, exp.Null)
            literal = isinstance(node.this, exp.Literal) and node.this.is_string
            return not (target in _CASTS or (target in _OF_LITERALS and (literal or null)))
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


def _qualified(tree: exp.Expression, find: Callable[[tuple[str, ...]], _Place]) -> exp.Expression:
    """Spell columns as the schema does, and nested fields as struct access."""

    def change(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        relation, column, rest = find(_names(node))
        access: exp.Expression = exp.column(column, table=relation)
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
