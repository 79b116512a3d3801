"""SQL expressions: constraints, generated columns, defaults, and those of operations.

Implements "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns". The
text is Spark SQL and comes from a table, so that it is parsed under bounds. Every node of its tree
must be on the list of :mod:`reference_impl.expressions.render`: what is on it means the same in
Spark and in DuckDB, which evaluates it over Arrow. Anything else is refused by name, and
never ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import SchemaMismatch, UnknownColumn
from reference_impl.expressions.engine import not_evaluated, run
from reference_impl.expressions.parser import parse
from reference_impl.expressions.render import ColumnReference, Find, render
from reference_impl.expressions.tree import Node, walk
from reference_impl.limits import budget, exceeded
from reference_impl.types.arrow import arrow_type, cast
from reference_impl.types.model import DataType, Struct

_ROWS: Final = "rows_"
_AT: Final = "#at"
"""Name of a helper column, unlikely to be that of a table: the number of the row."""


@dataclass(frozen=True, slots=True)
class Sql:
    """Text that is an expression in Spark SQL, as distinct from a string value."""

    text: str


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that can be evaluated, over the rows of a table or over pairs of rows.

    Attributes:
        text: as it was given.
        used: relation to the top-level columns of it that the expression uses, as the schema
            spells them.
        sql: the same for DuckDB.
        texts: what it builds text from.
    """

    text: str
    used: Mapping[str, tuple[str, ...]]
    sql: str
    texts: Texts

    @property
    def columns(self) -> list[str]:
        """The columns that it uses, whatever relation has them."""
        return list(chain.from_iterable(self.used.values()))

    def evaluate(
        self, rows: pa.Table | Mapping[str, pa.Table], wanted: DataType | None = None
    ) -> pa.ChunkedArray:
        """Evaluate over rows, one value per row or pair.

        Args:
            rows: columns by logical name, at least those that the expression uses; or relation to
                its rows, all of the same length, the n-th rows making a pair.
            wanted: the type to give; the expression's own when ``None``.

        Raises:
            SchemaMismatch: a value overflows, or does not fit the type.
            LimitExceeded: it takes more time or memory than the limits allow.
        """
        target = None if wanted is None else arrow_type(wanted)
        pairs = {_ROWS: rows} if isinstance(rows, pa.Table) else rows
        given = {name: _only(each, self.used[name]) for name, each in pairs.items()}
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
        given = {
            name: _only(rows, columns)
            for (name, columns), rows in zip(self.used.items(), (left, right), strict=True)
        }
        first, second = given
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
    """Return the columns that are used, and the number of each row."""
    return rows.select(list(columns)).append_column(_AT, pa.arange(0, rows.num_rows))


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

    return _parsed(text, find, [_ROWS])


def parse_pair(text: str, relations: Mapping[str, Struct]) -> Expression:
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

    return _parsed(text, find, relations)


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


def _parsed(text: str, find: Find, relations: Iterable[str]) -> Expression:
    tree = parse(text)
    rendered = render(tree, text, find)
    used: dict[str, dict[str, None]] = {relation: {} for relation in relations}
    for place in (find(node.value) for node in walk(tree) if node.kind == "column"):
        used[place.relation][place.column] = None
    columns = {relation: tuple(names) for relation, names in used.items()}
    return Expression(text, columns, rendered, texts_of(tree, find))


_VECTOR: Final = 2048
"""Rows that the database evaluates at once."""

_NUMBER: Final = 64
"""Bytes that a value of another type takes as text."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings that an expression concatenates.

    Attributes:
        columns: relation, column and fields in it, with how often each is concatenated.
        constant: bytes of string literals that are concatenated.
    """

    columns: tuple[tuple[tuple[str, ...], int], ...]
    constant: int


def texts_of(root: Node, find: Find) -> Texts:
    """Find the strings that an expression concatenates, nested calls included.

    ``concat(x, x, ...)`` gives text that is longer than any value of the table; the database does
    not count it against its own memory limit.
    """
    columns: Counter[tuple[str, ...]] = Counter()
    constant = 0
    open_ = [(root, False)]
    while open_:
        at, inside = open_.pop()
        inside = inside or (at.kind == "call" and at.value == "CONCAT")
        if inside and at.kind == "column":
            place = find(at.value)
            columns[(place.relation, place.column, *place.fields)] += 1
        elif inside and at.kind == "string":
            constant += len(at.value.encode())
        open_ += [(arg, inside) for arg in at.args]
    return Texts(tuple(columns.items()), constant)


def check_texts(texts: Texts, relations: Mapping[str, pa.Table]) -> None:
    """Refuse to build more text at once than the limits allow.

    Raises:
        LimitExceeded: it would.
    """
    count = min(_VECTOR, max((rows.num_rows for rows in relations.values()), default=0))
    size = count * texts.constant
    for (relation, *path), times in texts.columns:
        size += times * count * _longest(relations[relation], path)
    if size > budget().limits.sql_memory:
        raise exceeded("sql_memory", f"an SQL expression builds {size} bytes of text at once")


def _longest(rows: pa.Table, path: list[str]) -> int:
    """Return the bytes of the longest value of a column, or of a field in it."""
    values = rows.column(path[0])
    for name in path[1:]:
        fields = list(values.type) if pa.types.is_struct(values.type) else []
        at = next((i for i, f in enumerate(fields) if f.name.lower() == name.lower()), None)
        if at is None:
            return _NUMBER
        values = pc.struct_field(values, at)
    of = values.type
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_binary(of):
        return pc.max(pc.binary_length(values)).as_py() or 0
    return _NUMBER
