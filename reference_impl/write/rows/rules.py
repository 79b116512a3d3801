"""The rules that a table sets for its rows, parsed.

Implements "CHECK Constraints", "Column Invariants", "Generated Columns", "Default Columns" and
"Identity Columns". A rule counts only where the protocol supports its feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reference_impl.errors import InvalidMetadata, UnsupportedExpression
from reference_impl.expressions.sql import Expression, parse_expression
from reference_impl.model.ranges import INT64
from reference_impl.types.keys import (
    DEFAULT_KEY,
    EXPLICIT_KEY,
    GENERATION_KEY,
    HIGH_WATER_MARK_KEY,
    INVARIANT_KEY,
    START_KEY,
    STEP_KEY,
)
from reference_impl.types.model import LONG, VARIANT, Field, Struct, every_field
from reference_impl.untrusted import parse_json
from reference_impl.write.features.protocols import CONSTRAINT_PREFIX
from reference_impl.write.features.target import Target


@dataclass(frozen=True, slots=True)
class Identity:
    """How the values of an identity column are generated.

    Attributes:
        start: the first value.
        step: from one value to the next; not zero.
        high_water_mark: the furthest value so far, in the direction of the step.
        explicit: whether users may give values.
    """

    start: int
    step: int
    high_water_mark: int | None
    explicit: bool

    def following(self) -> int:
        """Return the next value: on the grid of start and step, and past the mark."""
        if self.high_water_mark is None:
            return self.start
        passed = (self.high_water_mark - self.start) // self.step + 1
        return self.start + max(passed, 0) * self.step


@dataclass(frozen=True, slots=True)
class Rules:
    """Conditions on rows, and expressions of columns.

    Attributes:
        checks: name to condition that must be true of every row; names are for messages.
        generated: column to the expression that gives its value.
        defaults: column to the expression of its default.
        identities: column to how its values are generated.
    """

    checks: Mapping[str, Expression]
    generated: Mapping[str, Expression]
    defaults: Mapping[str, Expression]
    identities: Mapping[str, Identity]


def rules_of(target: Target) -> Rules:
    """Parse the rules of a table version.

    Raises:
        UnsupportedExpression: an expression cannot be evaluated here, so that rows cannot be
            written.
        InvalidMetadata: a rule is malformed.
        UnknownColumn: an expression names a column that the schema does not have.
    """
    schema = target.schema
    generated = _expressions(target, "generatedColumns", GENERATION_KEY)
    for name in generated:
        if schema[name].type == VARIANT:
            raise InvalidMetadata(
                f"column {name} is a variant, which no expression gives",
                stage="commit",
                requirement="VAR-007",
            )
    defaults = _expressions(target, "allowColumnDefaults", DEFAULT_KEY)
    for name, expression in defaults.items():
        if expression.columns:
            raise UnsupportedExpression(f"the default of column {name} looks at other columns")
    identities: dict[str, Identity] = {}
    if target.supports("identityColumns"):
        identities = {c.name: _identity(c) for c in _with_key(schema, START_KEY)}
    return Rules(_checks(target), generated, defaults, identities)


def _expressions(target: Target, feature: str, key: str) -> dict[str, Expression]:
    if not target.supports(feature):
        return {}
    return {
        column.name: parse_expression(str(column.metadata[key]), target.schema)
        for column in _with_key(target.schema, key)
    }


def _checks(target: Target) -> dict[str, Expression]:
    checks: dict[str, Expression] = {}
    if target.supports("checkConstraints"):
        for name, text in target.configuration.items():
            if name.startswith(CONSTRAINT_PREFIX):
                checks[name.removeprefix(CONSTRAINT_PREFIX)] = parse_expression(text, target.schema)
    if target.supports("invariants"):
        for column in _with_key(target.schema, INVARIANT_KEY):
            condition = parse_expression(invariant_of(column), target.schema)
            checks[f"the invariant of {column.name}"] = condition
    return checks


def _with_key(schema: Struct, key: str) -> Iterator[Field]:
    for column in schema.fields:
        if key in column.metadata:
            yield column
        # The protocol has no rule on a field inside a column, and none is ignored.
        if any(key in inner.metadata for _, inner in every_field(column.type)):
            raise UnsupportedExpression(f"column {column.name} has {key} on a field inside of it")


def invariant_of(column: Field) -> str:
    """Return the condition of a column that has an invariant."""
    # Obeys INV-003.
    text = column.metadata[INVARIANT_KEY]
    try:
        document = parse_json(text)
        return str(document["expression"]["expression"])
    except (ValueError, TypeError, KeyError):
        # The older text says that the value is the expression itself.
        return str(text)


def _identity(column: Field) -> Identity:
    def number(key: str) -> int | None:
        value = column.metadata.get(key)
        if value is not None and value not in INT64:
            raise _malformed(column, f"{key} is {value!r:.80}, not a long")
        return value

    start, step, mark = (number(key) for key in (START_KEY, STEP_KEY, HIGH_WATER_MARK_KEY))
    if start is None or not step:
        raise _malformed(column, "an identity column has a start and a step that is not 0")
    if column.type != LONG:
        raise _malformed(column, f"an identity column is of type long, not {column.type}")
    return Identity(start, step, mark, bool(column.metadata.get(EXPLICIT_KEY)))


def _malformed(column: Field, message: str) -> InvalidMetadata:
    return InvalidMetadata(
        f"column {column.name}: {message}", stage="commit", requirement="IDN-004"
    )
