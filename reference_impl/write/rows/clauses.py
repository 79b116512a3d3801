"""What a merge does to rows that match and rows that do not.

Implements "Add File and Remove File". A clause is bound to the schemas of the table and the source
before any row is read, so that what cannot be evaluated is refused first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Literal

from reference_impl.errors import InvalidFilter
from reference_impl.expressions.sql import Expression, parse_pair
from reference_impl.types.model import Struct
from reference_impl.write.rows.assignments import Assigned, parse_assignments, refuse_identities
from reference_impl.write.rows.rules import Rules

TARGET: Final = "target"
SOURCE: Final = "source"
"""Names of the two sides in expressions."""


@dataclass(frozen=True, slots=True)
class When:
    """One clause of a merge.

    Attributes:
        match: ``matched`` for rows of the table and of the source that match;
            ``not_matched`` for source rows that no row of the table matches;
            ``not_matched_by_source`` for rows of the table that no source row matches.
        action: ``insert`` goes with ``not_matched``, the others with the other two.
        condition: in Spark SQL over the sides that there are; always true by default.
        values: column to value, as :meth:`reference_impl.Table.update` takes them; ``None`` for
            every column that the source has.
    """

    match: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    condition: str | None = None
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Clauses:
    """Actions that are the same for all rows of a kind.

    Attributes:
        matched: rows of the table for which there is a source row that matches.
        not_matched: source rows for which there is no such row in the table.
        not_matched_by_source: rows of the table for which there is no such source row.
    """

    matched: Literal["update", "delete", "keep"] = "update"
    not_matched: Literal["insert", "keep"] = "insert"
    not_matched_by_source: Literal["delete", "keep"] = "keep"

    def whens(self) -> tuple[When, ...]:
        """Return the clauses of a merge that do so; a kind that is kept has none."""
        given: tuple[tuple[Any, Any], ...] = tuple(asdict(self).items())
        return tuple(When(match, action) for match, action in given if action != "keep")


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause whose expressions are parsed."""

    when: When
    condition: Expression | None
    values: Assigned | None


@dataclass(frozen=True, slots=True)
class Bound:
    """The clauses of a merge by what they are for, each kind in its order."""

    matched: tuple[BoundClause, ...]
    not_matched: tuple[BoundClause, ...]
    by_source: tuple[BoundClause, ...]


_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "matched": ("update", "delete"),
    "not_matched": ("insert",),
    "not_matched_by_source": ("update", "delete"),
}


def check_clauses(whens: Sequence[When]) -> None:
    """Refuse malformed clauses.

    Raises:
        InvalidFilter: a clause does what its kind cannot, or an update sets nothing.
    """
    for when in whens:
        if when.action not in _ACTIONS.get(when.match, ()):
            raise InvalidFilter(f"a merge has no clause {when.match!r} that does {when.action!r}")
        if when.match == "not_matched_by_source" and when.action == "update" and not when.values:
            raise InvalidFilter("an update of rows that match no source row says what it sets")


def bind_clauses(whens: Sequence[When], schema: Struct, source: Struct, rules: Rules) -> Bound:
    """Parse the expressions of clauses, which :func:`check_clauses` let pass.

    Raises:
        InvalidFilter: an expression is not SQL.
        UnknownColumn: an expression names a column that its side does not have.
        UnsupportedExpression: an expression uses something that is not evaluated.
        SchemaMismatch: a column that is set is not there.
        ConstraintViolation: an identity column is set.
    """
    sides = {
        "matched": {TARGET: schema, SOURCE: source},
        "not_matched": {SOURCE: source},
        "not_matched_by_source": {TARGET: schema},
    }
    found: dict[str, list[BoundClause]] = {match: [] for match in sides}
    for when in whens:
        parse = partial(parse_pair, relations=sides[when.match])
        condition = None if when.condition is None else parse(when.condition)
        values = None if when.values is None else parse_assignments(when.values, schema, parse)
        if values is not None and when.action == "update":
            refuse_identities(rules, values)
        found[when.match].append(BoundClause(when, condition, values))
    return Bound(*(tuple(clauses) for clauses in found.values()))
