"""What a mutation is: one way to change a valid table, and who must make what of it.

Serves every section; each mutation names the requirements that it breaks or probes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from generators.materialise.builder import TableBuilder
from generators.mutations.bases import PLAIN, Base

NoticedBy: TypeAlias = Literal["reader", "audit", "both", "nobody"]
"""Who has to notice: a reader by refusing, an audit by a finding, or nobody at all."""

Expectation: TypeAlias = Literal["refused", "same_rows", "contested"]
"""What a reader must do: refuse, give the original rows, or either by a ruling."""

Outcome: TypeAlias = Literal["refused", "same_rows"]
"""What a reader is seen to do, when it does not give other rows."""

Kind: TypeAlias = Literal["unsupported", "invalid_table", "not_found", "constraint", "conflict"]
Stage: TypeAlias = Literal["load", "plan", "read", "commit"]

Change: TypeAlias = Callable[[Path, TableBuilder], None]
"""Changes a table in place; given its root and its builder."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way to change a table on disk.

    Attributes:
        id: permanent slug, unique over all mutations.
        title: what the table has become, at most 70 characters.
        chapter: the chapter of the registry.
        requirements: ids that it breaks or, for a change that must be survived, probes.
        noticed_by: who must notice.
        expect: what a reader must do.
        base: the table that it applies to.
        change: makes the change in place; given the table root and the base's builder.
        kind: the kind of the expected refusal.
        stage: when the refusal is expected at the latest.
        tolerated: outcomes that a ruling leaves open beside ``expect``.
        open: nobody can derive the rows, so that other rows than the original ones fail nobody.
        reason: for tolerated and contested outcomes, why.

    """

    id: str
    title: str
    chapter: str
    requirements: tuple[str, ...]
    noticed_by: NoticedBy
    expect: Expectation
    base: Base
    change: Change
    kind: Kind | None = None
    stage: Stage = "read"
    tolerated: tuple[Outcome, ...] = ()
    reason: str = ""
    open: bool = False

    def __post_init__(self) -> None:
        """Refuse a description that contradicts itself."""
        if self.expect == "refused" and self.kind is None:
            raise ValueError(f"{self.id}: a refusal has a kind")
        if (self.expect == "contested" or self.tolerated) and not self.reason:
            raise ValueError(f"{self.id}: what is open needs a reason")
        if not self.requirements:
            raise ValueError(f"{self.id}: names no requirement")

    def build(self, root: Path) -> TableBuilder:
        """Build the base table, change it, and return the builder with the original rows."""
        builder = self.base.build(root)
        self.change(root, builder)
        return builder


@dataclass(frozen=True, slots=True)
class Chapter:
    """Makes the mutations of one chapter, by what a reader must make of them.

    They change the chapter's table, unless they name another base.

    Attributes:
        slug: the chapter of the registry.
        base: the chapter's table.

    """

    slug: str
    base: Base = PLAIN

    def refused(  # noqa: PLR0913  the fields of a mutation, less those that a refusal fixes
        self,
        slug: str,
        title: str,
        requirements: str,
        change: Change,
        *,
        base: Base | None = None,
        kind: Kind = "invalid_table",
        noticed_by: NoticedBy = "both",
    ) -> Mutation:
        """Return a change after which a reader must refuse the table."""
        return Mutation(
            slug,
            title,
            self.slug,
            tuple(requirements.split()),
            noticed_by,
            "refused",
            base or self.base,
            change,
            kind=kind,
        )

    def survived(  # noqa: PLR0913  as above
        self,
        slug: str,
        title: str,
        requirements: str,
        change: Change,
        *,
        base: Base | None = None,
        noticed_by: NoticedBy = "nobody",
        tolerated: tuple[Outcome, ...] = (),
        reason: str = "",
    ) -> Mutation:
        """Return a change after which a reader must still give the same rows."""
        return Mutation(
            slug,
            title,
            self.slug,
            tuple(requirements.split()),
            noticed_by,
            "same_rows",
            base or self.base,
            change,
            tolerated=tolerated,
            reason=reason,
        )

    def contested(  # noqa: PLR0913  as above
        self,
        slug: str,
        title: str,
        requirements: str,
        change: Change,
        *,
        base: Base | None = None,
        reason: str,
        open: bool = False,  # noqa: A002  the word of the corpus
    ) -> Mutation:
        """Return a change after which the text leaves a reader free to refuse or go on.

        Whoever goes on gives the original rows, but where it is ``open`` which rows there are.
        """
        return Mutation(
            slug,
            title,
            self.slug,
            tuple(requirements.split()),
            "audit",
            "contested",
            base or self.base,
            change,
            kind="invalid_table",
            reason=reason,
            open=open,
        )


def unique(mutations: Sequence[Mutation]) -> tuple[Mutation, ...]:
    """Return the mutations, refusing two of one id and titles that are too long."""
    seen: set[str] = set()
    for each in mutations:
        if each.id in seen:
            raise ValueError(f"two mutations are called {each.id!r}")
        if len(each.title) > 70:
            raise ValueError(f"{each.id}: the title is longer than 70 characters")
        seen.add(each.id)
    return tuple(mutations)
