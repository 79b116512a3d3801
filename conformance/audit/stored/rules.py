"""Rows against the rules of their table: constraints, invariants, generated and identity columns.

Covers "CHECK Constraints", "Column Invariants", "Generated Columns" and "Identity Columns". What
an expression means is no clause of the protocol: it is Spark SQL, which `conformance.audit.sql`
evaluates as far as its meaning is certain. The rest is left open, by a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.findings import Finding, Findings, Severity, check, finding, unchecked
from conformance.audit.grammar.types import is_primitive
from conformance.audit.read.layout import Column, Layout, fields_of
from conformance.audit.read.raw import parse_object
from conformance.audit.sql.errors import Incomplete, Malformed, NoColumn, Uncertain
from conformance.audit.sql.values import arrow_of
from conformance.audit.stored.data_file import DataFile
from conformance.audit.stored.places import SchemaPlace
from conformance.audit.stored.statistics.columns import plain
from conformance.audit.subjects import Step
from reference_impl.errors import LimitExceeded

if TYPE_CHECKING:
    from conformance.audit.sql.evaluate import Expression

_CONSTRAINT: Final = "delta.constraints."
_INVARIANT: Final = "delta.invariants"
_GENERATION: Final = "delta.generationExpression"
_IDENTITY: Final = "delta.identity."
_MAX_VALUES: Final = 1 << 24
"""Values of an identity column that are held at once to look for duplicates."""
_BATCH: Final = 1 << 16
_FARTHEST: Final = 1 << 61
_UNKNOWN: Final = (pa.ArrowException, ValueError, KeyError, OverflowError)
"""What evaluation of untrusted SQL raises beside its own errors."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """An expression that rows are checked against.

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

    @property
    def key(self) -> str:
        """Name of the rule, which changes with its text."""
        return f"{self.what}: {self.text}"


def _rules(layout: Layout) -> Iterator[_Rule]:
    if "checkConstraints" in layout.features:
        for name, text in layout.properties.items():
            if name.startswith(_CONSTRAINT):
                what = f"the constraint {name.removeprefix(_CONSTRAINT)}"
                yield _Rule("CHK-005", "CHK-005", what, text)
    for column in layout.columns:
        invariant = column.metadata.get(_INVARIANT)
        if "invariants" in layout.features and isinstance(invariant, str):
            held = (parse_object(invariant) or {}).get("expression")
            inner = held.get("expression") if isinstance(held, dict) else invariant
            yield _Rule("INV-005", "INV-006", f"the invariant of {column.name}", str(inner))
        generation = column.metadata.get(_GENERATION)
        known = "generatedColumns" in layout.features and len(column.path) == 1
        known = known and column.type != "variant"
        if known and isinstance(generation, str):
            what = f"the expression of the generated column {column.name}"
            yield _Rule("GEN-004", "GEN-004", what, generation, column)


def lasting_rules(layout: Layout) -> frozenset[str]:
    """Return the rules of a layout that may be younger than rows which break them."""
    return frozenset(rule.key for rule in _rules(layout) if rule.requirement != "CHK-005")


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
        self._given: dict[str, list[pa.Array]] = {}
        self._counts: Counter[str] = Counter()

    def begin(self, place: str) -> Iterator[Finding]:
        """Parse the rules; yield what is not known of them."""
        if not self._rules:
            return
        from conformance.audit.sql.evaluate import Expression  # noqa: PLC0415  few tables have SQL

        tops = (column.path[0] for column in self._layout.columns if len(column.path) == 1)
        # Made once: a table may have a thousand columns, and a rule of each.
        names = {name.lower(): name for name in tops}
        fields = _Fields()
        for rule in self._rules:
            constraint = rule.requirement == "CHK-005"
            try:
                expression = Expression.of(rule.text, names)
                _fields_exist(expression.names, self._layout, fields)
                given = None if rule.column is not None else self._result_type(expression)
                if given is None or pa.types.is_null(given) or pa.types.is_boolean(given):
                    self._parsed.append((rule, expression))
                else:
                    message = f"{rule.what} gives {given}, and not a boolean"
                    yield finding("CHK-003" if constraint else "INV-003", place, message)
            except NoColumn as error:
                message = f"{rule.what}: {error}"
                if constraint:
                    yield finding("CHK-004", place, message)
                else:
                    yield finding(rule.requirement, place, message, severity="info")
            except (Malformed, Uncertain) as error:
                message = f"{rule.what} is not checked: {error}"
                if constraint and isinstance(error, Malformed):
                    # It may be SQL that this audit does not know.
                    severity: Severity = "error" if isinstance(error, Incomplete) else "warning"
                    yield finding("CHK-003", place, message, severity=severity)
                else:
                    yield finding(rule.requirement, place, message, severity="info")

    def _result_type(self, expression: Expression) -> pa.DataType | None:
        """Return the type that an expression gives, rows or none; ``None`` where it is unknown."""
        by_path = self._layout.by_path
        try:
            columns = {
                name: pa.nulls(0, arrow_of(by_path[name,].type)) for name in expression.columns
            }
            return expression.evaluate(pa.table(columns or {"": pa.nulls(0)})).type
        except (Uncertain, LimitExceeded, *_UNKNOWN):
            return None

    def judge(
        self, opened: DataFile, places: Iterable[SchemaPlace], follows: Callable[[str], bool]
    ) -> Iterator[Finding]:
        """Check the live rows of a data file against the rules.

        Args:
            opened: the file.
            places: of its columns.
            follows: says of the key of a rule whether the file is known to be no older.
        """
        held = {place.path[0]: place for place in places}
        stored = next((place.stored for place in held.values() if place.stored is not None), None)
        if not (self._parsed or self._identities) or stored is None:
            return
        if not len(opened.read(stored.name)):  # a footer may claim any number
            return
        for rule, expression in self._parsed:
            try:
                # Rows of a time before an invariant need not fulfil it; a constraint is checked
                # against all of them when it comes.
                known = rule.requirement == "CHK-005" or follows(rule.key)
                for found in self._broken(opened, held, rule, expression):
                    yield found if known else replace(found, severity="warning")
            except LimitExceeded as error:
                yield unchecked(rule.requirement, opened.path, error)
            except (Uncertain, *_UNKNOWN) as error:
                message = f"{rule.what} is not checked: {str(error)[:200]}"
                yield finding(rule.requirement, opened.path, message, severity="info")
        for column in self._identities:
            place = held.get(column.path[0])
            if place is not None and place.stored is not None:
                values = opened.live(opened.read(place.stored.name))
                yield from _identity(opened.path, column, values)
                if column.metadata.get(f"{_IDENTITY}allowExplicitInsert") is False:
                    self._hold(column.name, values)

    def _hold(self, name: str, values: pa.ChunkedArray) -> None:
        if self._counts[name] + len(values) <= _MAX_VALUES:
            self._counts[name] += len(values)
            self._given.setdefault(name, []).extend(values.chunks)

    def duplicates(self, place: str) -> Iterator[Finding]:
        """Yield identity columns that have a value twice in the files that were held."""
        for name, chunks in self._given.items():
            if any(not pa.types.is_integer(each.type) for each in chunks):
                continue  # reported as another type; the chunks may differ in theirs
            values = pc.drop_null(pa.chunked_array([each.cast(pa.int64()) for each in chunks]))
            number, times = pc.mode(values)[0].as_py().values() if len(values) else (None, 0)
            if times > 1:
                message = f"identity column {name} has {number} in {times} rows"
                yield finding("IDN-012", place, message, "generated values are new to the column")

    def _broken(
        self,
        opened: DataFile,
        places: Mapping[str, SchemaPlace],
        rule: _Rule,
        expression: Expression,
    ) -> Iterator[Finding]:
        names = list(expression.columns)
        if rule.column is not None and rule.column.path[0] not in names:
            names.append(rule.column.path[0])
        columns = {name: self._values(opened, places, name) for name in names}
        # A constant looks at no column, and is false or null for every row there is.
        nothing = pa.chunked_array([pa.nulls(opened.file.metadata.num_rows)])
        rows = pa.table(columns or {"": opened.live(nothing)})
        for start in range(0, rows.num_rows, _BATCH):
            batch = rows.slice(start, _BATCH)
            if rule.column is None:
                yield from _conditions(opened.path, rule, expression.evaluate(batch))
            else:
                yield from _generated(opened.path, rule, _in_any_zone(expression, batch), batch)

    def _values(
        self, opened: DataFile, places: Mapping[str, SchemaPlace], name: str
    ) -> pa.ChunkedArray:
        """Return the live values of a column by its logical name, of its declared type."""
        column = self._layout.by_path[name,]
        of, count = arrow_of(column.type), opened.file.metadata.num_rows
        if name in self._layout.partitions:
            text = (opened.body.get("partitionValues") or {}).get(column.physical[-1])
            value = pa.scalar(text or None, pa.string()).cast(of)
            whole = pa.chunked_array([pa.repeat(value, count)])
            return opened.live(whole)
        place = places.get(name)
        if place is None or place.stored is None:
            return opened.live(pa.chunked_array([pa.nulls(count, of)]))
        stored = opened.live(opened.read(place.stored.name))
        if not is_primitive(str(place.declared)) and self._layout.mode != "none":
            stored = pa.chunked_array([_by_logical_names(place, each) for each in stored.chunks])
        return plain(stored).cast(of)


@check("definition", "CHK-003 CHK-004 INV-003")
def rules_are_conditions(step: Step) -> Findings:
    """Report constraints and invariants that give no boolean, or name no column."""
    if step.sets_metadata or step.sets_protocol:
        found = Rules(step.new).begin(step.place)
        yield from (each for each in found if each.severity != "info")


def _by_logical_names(place: SchemaPlace, values: pa.Array) -> pa.Array:
    """Return structs with the fields of the schema under their names; others are not known."""
    if is_primitive(str(place.declared)):
        return values
    fields = fields_of(place.declared)
    if not (pa.types.is_struct(values.type) and len(fields) == len(place.inner)):
        raise ValueError(f"the fields of {place.name} have other names in the file")
    held = dict(zip(values.type.names, values.flatten(), strict=True))
    parts = [
        pa.nulls(len(values), arrow_of(each.declared))
        if each.stored is None
        else _by_logical_names(each, held[each.stored.name])
        for each in place.inner
    ]
    return pa.StructArray.from_arrays(
        parts, [each["name"] for each in fields], mask=values.is_null()
    )


class _Fields:
    """The fields of structs of one schema: name in lower case to type."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Any]] = {}

    def of(self, struct: Mapping[str, Any]) -> dict[str, Any]:
        if id(struct) not in self._known:
            fields = {str(each["name"]).lower(): each["type"] for each in struct["fields"]}
            self._known[id(struct)] = fields
        return self._known[id(struct)]


_OPEN_TYPES: Final = frozenset({"variant", "void"})
"""Primitive types that may be asked for what is inside."""


def _fields_exist(names: Iterable[tuple[str, ...]], layout: Layout, known: _Fields) -> None:
    """Look for the fields of structs that an expression names.

    Raises:
        NoColumn: a struct of the schema has no such field.
    """
    for first, *inner in names:
        of: Any = layout.schema
        for name in (first, *inner):
            while isinstance(of, Mapping) and of.get("type") == "array":
                of = of.get("elementType")  # the field of each element
            if isinstance(of, str) and of not in _OPEN_TYPES and is_primitive(of):
                raise NoColumn(
                    f"an expression names {'.'.join((first, *inner))!r}, and {of} has no fields"
                )
            if not isinstance(of, Mapping) or of.get("type") != "struct":
                break  # a map may be asked for a key
            fields = known.of(of)
            if name.lower() not in fields:
                path = ".".join((first, *inner))
                raise NoColumn(f"an expression names field {path!r}, which the table has not")
            of = fields[name.lower()]


def _in_any_zone(expression: Expression, rows: pa.Table) -> list[pa.Array]:
    """Evaluate over rows; days of timestamps in each zone that a session may have had."""
    try:
        return [expression.evaluate(rows)]
    except Uncertain:
        if not expression.of_days:
            raise
    return [expression.evaluate(_zoneless(rows, hours)) for hours in _OFFSETS]


_OFFSETS: Final = range(-18, 19, 6)
"""Hours from UTC: whatever zone there is, its day is that of one of them."""


def _zoneless(rows: pa.Table, hours: int) -> pa.Table:
    for at, of in enumerate(rows.schema):
        if pa.types.is_timestamp(of.type) and of.type.tz:
            counted = pc.add_checked(rows.column(at).cast(pa.int64()), hours * 3_600_000_000)
            rows = rows.set_column(at, of.name, counted.cast(pa.timestamp("us")))
    return rows


def _conditions(path: str, rule: _Rule, values: pa.Array) -> Iterator[Finding]:
    if pa.types.is_null(values.type):
        values = values.cast(pa.bool_())
    wrong = pc.sum(pc.invert(values)).as_py() or 0
    if wrong:
        yield finding(rule.requirement, path, f"{rule.what} is false for {wrong} rows")
    if values.null_count:
        yield finding(rule.null, path, f"{rule.what} is null for {values.null_count} rows")


def _generated(
    path: str, rule: _Rule, results: list[pa.Array], rows: pa.Table
) -> Iterator[Finding]:
    from conformance.audit.sql.evaluate import same_as  # noqa: PLC0415  as above

    assert rule.column is not None
    held = rows.column(rule.column.path[0]).combine_chunks()
    right = reduce(pc.or_, (same_as(held, values) for values in results))
    wrong = pc.sum(pc.invert(right)).as_py() or 0
    if wrong:
        yield finding(rule.requirement, path, f"{rule.what} gives another value for {wrong} rows")


def _identity(path: str, column: Column, values: pa.ChunkedArray) -> Iterator[Finding]:
    """Check an identity column against its start, its step and its mark."""
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
