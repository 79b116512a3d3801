"""SQL expressions: constraints, generated columns, defaults, and those of operations.

Serves "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns". The
text is Spark SQL and comes from a table, so that it is parsed under bounds. Every node of its tree
must be on the list of :mod:`reference_impl.expressions.render`: what is on it means the same in
Spark and in DuckDB, which evaluates it over Arrow. Anything else is refused by name, and
never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from reference_impl.errors import SchemaMismatch, UnknownColumn
from reference_impl.expressions.engine import not_evaluated, run
from reference_impl.expressions.growth import Texts, check_texts, texts_of
from reference_impl.expressions.parser import parse
from reference_impl.expressions.render import ColumnReference, Find, render
from reference_impl.expressions.tree import walk
from reference_impl.types.arrow import arrow_type, cast
from reference_impl.types.model import DataType, Struct

_ROWS: Final = "rows_"
_AT: Final = "#at"
_NOTHING: Final = "#nothing"
"""Names of helper columns, unlikely to be those of a table."""


@dataclass(frozen=True, slots=True)
class Sql:
    """Text that is an expression in Spark SQL, as distinct from a string value."""

    text: str


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that can be evaluated.

    Attributes:
        text: as the table spells it.
        columns: top-level columns that it uses, as the schema spells them.
        sql: the same for DuckDB.
        texts: what it builds text from.

    """

    text: str
    columns: tuple[str, ...]
    sql: str
    texts: Texts

    def evaluate(self, rows: pa.Table, wanted: DataType | None = None) -> pa.ChunkedArray:
        """Evaluate over rows, one value per row.

        Args:
            rows: columns by logical name, at least those that the expression uses.
            wanted: the type to give; the expression's own when ``None``.

        Raises:
            SchemaMismatch: a value overflows, or does not fit the type.
            LimitExceeded: it takes more time or memory than the limits allow.

        """
        alone = PairExpression(self.text, {_ROWS: self.columns}, self.sql, self.texts)
        return alone.evaluate({_ROWS: rows}, wanted)


@dataclass(frozen=True, slots=True)
class PairExpression:
    """An expression over two relations, whose columns are named with the relation's name.

    Attributes:
        text: as it was given.
        columns: relation to the columns of it that the expression uses.
        sql: the same for DuckDB.
        texts: what it builds text from.

    """

    text: str
    columns: Mapping[str, tuple[str, ...]]
    sql: str
    texts: Texts

    def evaluate(
        self, pairs: Mapping[str, pa.Table], wanted: DataType | None = None
    ) -> pa.ChunkedArray:
        """Evaluate over pairs of rows, one value per pair.

        Args:
            pairs: relation to its rows; all of the same length, the n-th rows making a pair.
            wanted: the type to give; the expression's own when ``None``.

        Raises:
            SchemaMismatch: a value overflows, or does not fit the type.
            LimitExceeded: it takes more time or memory than the limits allow.

        """
        target = None if wanted is None else arrow_type(wanted)
        if all(rows.num_rows == 0 for rows in pairs.values()):
            return pa.chunked_array([], target or pa.bool_())
        given = {name: _only(rows, self.columns[name]) for name, rows in pairs.items()}
        check_texts(self.texts, pairs)
        joined = " POSITIONAL JOIN ".join(given)
        query = f"SELECT {self.sql} AS v FROM {joined}"  # noqa: S608  rendered from a checked tree
        values = run(query, given, self.text).column("v")
        try:
            return values if target is None else cast(values, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise not_evaluated(self.text, error) from None

    def join(self, left: pa.Table, right: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Return the pairs of rows that the expression is true for, as numbers of rows.

        The relations are those that the expression was parsed over, in that order.

        Raises:
            SchemaMismatch: a value overflows, or the expression is no condition.
            LimitExceeded: it takes more time or memory than the limits allow.

        """
        names = list(self.columns)
        given = {
            name: _only(rows, self.columns[name]).append_column(_AT, pa.arange(0, rows.num_rows))
            for name, rows in zip(names, (left, right), strict=True)
        }
        first, second = names
        check_texts(self.texts, given)
        none = {name: rows.slice(0, 0) for name, rows in given.items()}
        shape = run(f"SELECT {self.sql} AS v FROM {first}, {second}", none, self.text)  # noqa: S608  as above
        if not pa.types.is_boolean(shape.schema.field("v").type):
            of = shape.schema.field("v").type
            raise SchemaMismatch(f"{self.text[:200]!r} is of type {of}, no condition")
        query = (
            f'SELECT {first}."{_AT}" AS a, {second}."{_AT}" AS b '  # noqa: S608  as above
            f"FROM {first} JOIN {second} ON {self.sql} ORDER BY ALL"
        )
        found = run(query, given, self.text)
        return found.column("a").combine_chunks(), found.column("b").combine_chunks()


def _only(rows: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """Return the columns that are used; a column of nulls where none is, to keep the length."""
    if columns:
        return rows.select(list(columns))
    return pa.table({_NOTHING: pa.nulls(rows.num_rows, pa.int8())})


def parse_expression(text: str, schema: Struct) -> Expression:
    """Parse a Spark SQL expression over the columns of a schema.

    Raises:
        InvalidFilter: the text is not SQL.
        UnknownColumn: it names a column that the schema does not have.
        UnsupportedExpression: it uses something that this implementation does not evaluate.
        LimitExceeded: it is longer or nested more deeply than the limits allow.

    """
    folded = {f.name.lower(): f for f in schema.fields}

    def find(parts: tuple[str, ...]) -> ColumnReference:
        column = folded.get(parts[0].lower())
        if column is None:
            raise UnknownColumn(
                f"an expression names column {parts[0]!r}, which the table does not have",
                hint="columns: " + ", ".join(schema.names),
            )
        return ColumnReference(_ROWS, column.name, parts[1:], column.type)

    used, rendered, texts = _parse(text, find)
    return Expression(text, tuple(name for _, name in used), rendered, texts)


def parse_pair(text: str, relations: Mapping[str, Struct]) -> PairExpression:
    """Parse a Spark SQL expression over two relations, as ``target.id = source.id``.

    Every column is named with its relation: a name alone could be of either.

    Raises:
        InvalidFilter: the text is not SQL.
        UnknownColumn: it names a column that its relation does not have.
        UnsupportedExpression: it uses something that this implementation does not evaluate.
        LimitExceeded: it is longer or nested more deeply than the limits allow.

    """
    columns = {r: {f.name.lower(): f for f in s.fields} for r, s in relations.items()}

    def find(parts: tuple[str, ...]) -> ColumnReference:
        relation, *rest = parts
        held = columns.get(relation.lower())
        if held is None or not rest:
            raise UnknownColumn(
                f"an expression names {'.'.join(parts)!r}, which is no column of "
                f"{' or '.join(columns)}",
                hint=f"name columns as {next(iter(columns))}.column",
            )
        column = held.get(rest[0].lower())
        if column is None:
            raise UnknownColumn(
                f"an expression names column {rest[0]!r}, which {relation} does not have",
                hint="columns: " + ", ".join(f.name for f in held.values()),
            )
        return ColumnReference(relation.lower(), column.name, tuple(rest[1:]), column.type)

    used, rendered, texts = _parse(text, find)
    looked = {r: tuple(name for at, name in used if at == r) for r in relations}
    return PairExpression(text, looked, rendered, texts)


def conjuncts(text: str) -> list[str]:
    """Return the conditions that a condition joins by AND; itself where it joins none.

    Raises:
        InvalidFilter: the text is not SQL.
        UnsupportedExpression: it uses SQL that is not read here.
        LimitExceeded: it is longer or nested more deeply than the limits allow.

    """
    found: list[str] = []
    open_ = [parse(text)]
    while open_:
        part = open_.pop()
        if part.kind == "and":
            open_ += reversed(part.args)
        else:
            found.append(text[part.start : part.end])
    return found


def _parse(text: str, find: Find) -> tuple[list[tuple[str, str]], str, Texts]:
    """Return the columns that a text uses, each with its relation, and the text for DuckDB."""
    tree = parse(text)
    rendered = render(tree, text, find)
    places = [find(node.value) for node in walk(tree) if node.kind == "column"]
    used = dict.fromkeys((place.relation, place.column) for place in places)
    return list(used), rendered, texts_of(tree, find)
