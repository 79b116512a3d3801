"""Which histories are drawn: how many, with which features, for reading or for writing.

See ``docs/formats.md``, "Histories".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from generators.histories.document import schemas_of
from generators.oracle.delta_schema import Decimal, Primitive, Struct
from generators.oracle.operations import (
    Append,
    Checkpoint,
    Delete,
    History,
    Operation,
    Overwrite,
    Restore,
    Update,
    filtered,
)

Kind: TypeAlias = Literal["read", "write"]
"""Whether the kit lays a history out to be read, or the implementation writes it."""

EXPLORE_FACTOR: Final = 10
"""How many times as many histories exploring draws as the gate has."""

_STEPS: Final = 8


@dataclass(frozen=True, slots=True)
class Drawn:
    """A history to judge by.

    Attributes:
        name: part of case ids.
        kind: who lays it out.
        features: table features that it has.
        load: gives the history; reads or draws it when it is first asked.
    """

    name: str
    kind: Kind
    features: tuple[str, ...]
    load: Callable[[], History]


@dataclass(frozen=True, slots=True)
class Group:
    """Histories that are drawn alike.

    Attributes:
        kind: who lays them out.
        count: how many the gate has.
        features: table features that they have.
        only_rows: rows change, and nothing else, so that most writers can follow.
        upkeep: rows change, are merged, restored and rewritten.
        decimals: among the types there are decimals.
    """

    kind: Kind
    count: int
    features: tuple[str, ...] = ()
    only_rows: bool = False
    upkeep: bool = False
    decimals: bool = True

    def limits(self) -> dict[str, Any]:
        """Return what the strategy of histories gets beside the features."""
        if self.kind == "read":
            return {}
        # The text says of no writer that it has to keep nulls out of fields inside of columns.
        limits = {
            "max_operations": _STEPS,
            "only_rows": self.only_rows,
            "upkeep": self.upkeep,
            "max_depth": 1 if self.upkeep else 2,
            "required_inside": False,
        }
        return limits if self.decimals else {**limits, "decimals": False}


GROUPS: Final = (
    Group("read", 4),
    Group("read", 3, ("columnMapping", "deletionVectors")),
    Group("write", 3, only_rows=True),
    # A writer that fails at wide decimals is to show what else it does.
    Group("write", 3, only_rows=True, decimals=False),
    Group("write", 2),
    Group("write", 2, ("columnMapping", "deletionVectors")),
    Group("write", 2, ("changeDataFeed", "inCommitTimestamp", "rowTracking")),
    Group("write", 2, ("columnMapping", "domainMetadata", "typeWidening")),
    Group("write", 3, upkeep=True, decimals=False),
    Group("write", 2, ("changeDataFeed", "deletionVectors", "rowTracking"), upkeep=True),
)
"""What is drawn, in the order of the numbers in names; a new group goes to the end of its kind."""

_UNASKED: Final[Mapping[type[Operation], Mapping[str, Any]]] = {
    Append: {"rows_per_file": None},
    Delete: {"vectors": None},
    Checkpoint: {"kind": "classic", "sidecars": 0},
}
"""Operation to what of its layout the kit decides in histories, and a writer in recipes."""


def followable(history: History) -> Iterator[Operation]:
    """Return the operations that a recipe can ask an implementation for, without their layout."""
    kept: list[int] = []  # of each version, the one that the recipe has in its place
    made = -1
    for operation, schema in schemas_of(history):
        asked = _asked(operation, schema, kept)
        if operation.commits:
            made += asked is not None
            kept.append(made)
        if asked is not None:
            yield asked


def _asked(operation: Operation, schema: Struct, kept: Sequence[int]) -> Operation | None:
    """Return what a recipe asks for in place of an operation; ``None`` for nothing."""
    match operation:
        case Update(values) if not all(
            isinstance(schema[name].type, Primitive | Decimal) for name in values
        ):
            return None  # constants of a step are single values
        case Restore(version):
            return Restore(kept[version])
        case Overwrite(rows, where) if where is not None:
            # Writers may refuse rows that the filter would not have replaced.
            return replace(operation, rows=tuple(filtered(rows, where)))
        case _:
            return replace(operation, **_UNASKED.get(type(operation), {}))
