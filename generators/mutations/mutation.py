"""What a mutation is: one way to change a valid table, and who must make what of it.

Covers every section; each mutation names the requirements that it breaks or probes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from generators.materialise.builder import TableBuilder
from generators.mutations.bases import Base

NoticedBy: TypeAlias = Literal["reader", "audit", "both", "nobody"]
"""Who has to notice: a reader by refusing, an audit by a finding, both, or neither."""

Expectation: TypeAlias = Literal["refused", "same_rows", "contested"]
"""What a reader must do: refuse, give the original rows, or either by a ruling."""

Outcome: TypeAlias = Literal["refused", "same_rows"]
"""What a reader is seen to do, when it does not give other rows."""

Kind: TypeAlias = Literal["unsupported", "invalid_table", "not_found", "constraint", "conflict"]

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
        tolerated: outcomes that a ruling leaves open beside ``expect``.
        open: the text does not determine the rows: others than the original ones are no failure.
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
    kind: Kind | None
    tolerated: tuple[Outcome, ...]
    reason: str
    open: bool

    def __post_init__(self) -> None:
        """Refuse a description that contradicts itself."""
        if self.expect == "refused" and self.kind is None:
            raise ValueError(f"{self.id}: a refusal has a kind")
        if (self.expect == "contested" or self.tolerated) and not self.reason:
            raise ValueError(f"{self.id}: what is open needs a reason")
        if not self.requirements:
            raise ValueError(f"{self.id}: names no requirement")
        if len(self.title) > 70:
            raise ValueError(f"{self.id}: the title is longer than 70 characters")

    def build(self, root: Path) -> TableBuilder:
        """Build the base table, change it, and return the builder with the original rows."""
        builder = self.base.build(root)
        self.change(root, builder)
        return builder
