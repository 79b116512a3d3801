"""Rows against the rules of their table: constraints, invariants, generated and identity columns.

Serves "CHECK Constraints", "Column Invariants", "Generated Columns" and "Identity Columns". What
an expression means is no clause of the protocol: it is Spark SQL, and the engine of the reference
implementation evaluates it here as well. What that engine does not know is left open, by a finding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.findings import Finding, Severity, finding, unchecked
from conformance.audit.grammar.types import is_primitive
from conformance.audit.read.layout import Column, Layout
from conformance.audit.read.raw import parse_json
from conformance.audit.read.state import Body
from conformance.audit.stored.places import Place
from conformance.audit.stored.statistics import plain
from reference_impl.errors import DeltaError, InvalidFilter, LimitExceeded, UnknownColumn
from reference_impl.expressions.sql import Expression, parse_expression
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import DataType
from reference_impl.types.schema import parse_schema, parse_type

__all__ = ["Rules"]

_CONSTRAINT: Final = "delta.constraints."
_INVARIANT: Final = "delta.invariants"
_GENERATION: Final = "delta.generationExpression"
_IDENTITY: Final = "delta.identity."
_BATCH: Final = 1 << 16
_FARTHEST: Final = 1 << 61


@dataclass(frozen=True, slots=True)
class _Rule:
    """An expression that rows are held against.

    Attributes:
        requirement: what a row breaks for which it is false, or another value than the column's.
        null: what a row breaks for which it is null.
        what: for messages.
        text: in SQL.
        column: the generated column; ``None`` for a condition.

    """

    requirement: str
    null: str
    what: str
    text: str
    column: Column | None = None


def _rules(layout: Layout) -> Iterator[_Rule]:
    if "checkConstraints" in layout.features:
        for name, text in layout.properties.items():
            if name.startswith(_CONSTRAINT):
                what = f"the constraint {name.removeprefix(_CONSTRAINT)}"
                yield _Rule("CHK-005", "CHK-005", what, text)
    for column in layout.columns:
        invariant = column.metadata.get(_INVARIANT)
        if "invariants" in layout.features and isinstance(invariant, str):
            document = parse_json(invariant).value
            held = document.get("expression") if isinstance(document, dict) else None
            inner = held.get("expression") if isinstance(held, dict) else invariant
            yield _Rule("INV-005", "INV-006", f"the invariant of {column.name}", str(inner))
        generation = column.metadata.get(_GENERATION)
        known = "generatedColumns" in layout.features and len(column.path) == 1
        known = known and column.type != "variant"
        if known and isinstance(generation, str):
            what = f"the expression of the generated column {column.name}"
            yield _Rule("GEN-004", "GEN-004", what, generation, column)


@dataclass(frozen=True, slots=True)
class _Held:
    """A data file, as rules look at it."""

    path: str
    body: Body
    count: int
    places: Mapping[str, Place]
    read: Callable[[str], pa.ChunkedArray]
    live: Callable[[pa.ChunkedArray], pa.ChunkedArray]


class Rules:
    """The rules of one version, parsed once; a table without any costs nothing."""

    def __init__(self, layout: Layout) -> None:
        """Take the rules of a layout."""
        self._layout = layout
        self._rules = tuple(_rules(layout))
        self._identities = tuple(
            column
            for column in layout.columns
            if "identityColumns" in layout.features and f"{_IDENTITY}step" in column.metadata
        )
        self._parsed: list[tuple[_Rule, Expression]] = []

    def begin(self, place: str) -> Iterator[Finding]:
        """Parse the rules; yield what is not known of them."""
        for rule in self._rules:
            try:
                schema = parse_schema(self._schema_string())
                self._parsed.append((rule, parse_expression(rule.text, schema)))
            except UnknownColumn as error:
                constraint = rule.requirement == "CHK-005"
                severity: Severity | None
                absent, severity = ("CHK-004", None) if constraint else (rule.requirement, "info")
                message = f"{rule.what}: {error.message}"
                yield finding(absent, place, message, severity=severity)
            except DeltaError as error:
                message = f"{rule.what} is not checked: {error.message}"
                unread = isinstance(error, InvalidFilter) and rule.requirement == "CHK-005"
                # It may be SQL that this audit does not know.
                told, severity = ("CHK-003", "warning") if unread else (rule.requirement, "info")
                yield finding(told, place, message, severity=severity)

    def _schema_string(self) -> str:
        return json.dumps(self._layout.schema)

    def judge(
        self,
        path: str,
        body: Body,
        places: tuple[Place, ...],
        read: tuple[Callable[[str], pa.ChunkedArray], Callable[[pa.ChunkedArray], pa.ChunkedArray]],
    ) -> Iterator[Finding]:
        """Hold the live rows of a data file against the rules.

        Args:
            path: decoded, for messages.
            body: its add action.
            places: its columns.
            read: what gives a column by its name in the file, and what leaves out deleted rows.

        """
        stored = next((place.stored for place in places if place.stored is not None), None)
        if not (self._parsed or self._identities) or stored is None:
            return
        count = len(read[0](stored.name))  # a footer may claim any number
        if not count:
            return
        held = _Held(path, body, count, {place.path[0]: place for place in places}, *read)
        for rule, expression in self._parsed:
            try:
                yield from self._broken(held, rule, expression)
            except LimitExceeded as error:
                yield unchecked(rule.requirement, path, error)
            except (DeltaError, pa.ArrowException, ValueError, KeyError, OverflowError) as error:
                told = getattr(error, "message", str(error))[:200]
                message = f"{rule.what} is not checked: {told}"
                yield finding(rule.requirement, path, message, severity="info")
        for column in self._identities:
            place = held.places.get(column.path[0])
            if place is not None and place.stored is not None:
                yield from _identity(path, column, held.live(held.read(place.stored.name)))

    def _broken(self, held: _Held, rule: _Rule, expression: Expression) -> Iterator[Finding]:
        names = list(expression.columns)
        if rule.column is not None and rule.column.path[0] not in names:
            names.append(rule.column.path[0])
        rows = pa.table({name: self._values(held, name) for name in names})
        if not names:
            return  # a constant: there is no row that could break it
        for start in range(0, rows.num_rows, _BATCH):
            batch = rows.slice(start, _BATCH)
            if rule.column is None:
                yield from _conditions(held.path, rule, expression.evaluate(batch))
            else:
                of = _type_of(rule.column)
                yield from _generated(held.path, rule, expression.evaluate(batch, of), batch)

    def _values(self, held: _Held, name: str) -> pa.ChunkedArray:
        """Give the live values of a column by its logical name, of its declared type."""
        column = self._layout.by_path[name,]
        of = _type_of(column)
        if name in self._layout.partitions:
            text = (held.body.get("partitionValues") or {}).get(column.physical[-1])
            value = pa.scalar(text or None, pa.string()).cast(arrow_type(of))
            whole = pa.chunked_array([pa.repeat(value, held.count)])
            return held.live(whole)
        place = held.places.get(name)
        if place is None or place.stored is None:
            return held.live(pa.chunked_array([pa.nulls(held.count, arrow_type(of))]))
        if not is_primitive(str(place.declared)) and self._layout.mode != "none":
            raise ValueError(f"the fields of {name} have other names in the file")
        return plain(held.live(held.read(place.stored.name))).cast(arrow_type(of))


def _type_of(column: Column) -> DataType:
    return parse_type(column.type, column.path)


def _conditions(path: str, rule: _Rule, values: pa.ChunkedArray) -> Iterator[Finding]:
    if not pa.types.is_boolean(values.type):
        message = f"{rule.what} gives {values.type}, and not a boolean"
        yield finding("CHK-003" if rule.requirement == "CHK-005" else "INV-003", path, message)
        return
    wrong = pc.sum(pc.invert(values)).as_py() or 0
    if wrong:
        yield finding(rule.requirement, path, f"{rule.what} is false for {wrong} rows")
    if values.null_count:
        yield finding(rule.null, path, f"{rule.what} is null for {values.null_count} rows")


def _generated(
    path: str, rule: _Rule, values: pa.ChunkedArray, rows: pa.Table
) -> Iterator[Finding]:
    assert rule.column is not None
    held = rows.column(rule.column.path[0])
    same = pc.equal(held, values)
    if pa.types.is_floating(held.type):
        both = pc.and_(pc.is_nan(held), pc.is_nan(values))
        same = pc.or_kleene(same, both)
    same = pc.fill_null(same, fill_value=False)
    same = pc.or_(same, pc.and_(held.is_null(), values.is_null()))
    wrong = len(same) - (pc.sum(same).as_py() or 0)
    if wrong:
        yield finding(rule.requirement, path, f"{rule.what} gives another value for {wrong} rows")


def _identity(path: str, column: Column, values: pa.ChunkedArray) -> Iterator[Finding]:
    """Hold an identity column against its start, its step and its mark."""
    start, step, mark, explicit = (
        column.metadata.get(f"{_IDENTITY}{key}")
        for key in ("start", "step", "highWaterMark", "allowExplicitInsert")
    )
    if type(start) is not int or type(step) is not int or step == 0:
        return
    if max(abs(start), abs(step)) > _FARTHEST or not pa.types.is_integer(values.type):
        return  # a sum of the numbers of 64 bits would not be one
    span = pc.min_max(values)
    low, high = span["min"].as_py(), span["max"].as_py()
    if low is None or max(abs(low), abs(high)) > _FARTHEST:
        return
    far = high if step > 0 else low
    if type(mark) is int and (far - mark) * step > 0:
        requirement = "IDN-008" if step > 0 else "IDN-009"
        message = f"identity column {column.name} has {far}, beyond its high-water mark {mark}"
        yield finding(requirement, path, message, "the value may be given out again")
    if explicit is not True:
        numbers = values.drop_null().to_numpy()
        off = [int(each) for each in (low, high) if (each - start) * step < 0]
        wrong = numbers[(numbers - start) % step != 0]
        for number in (*off, *wrong.tolist())[:1]:
            message = f"{number} of identity column {column.name} is not {start} + n * {step}"
            yield finding("IDN-013", path, message)
