"""Make a failing history small: drop operations, rows and columns while it fails in the same way.

See ``docs/formats.md``, "Bundles". What is tried is bounded in number and in time.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from conformance.base.outcomes import FAILING, Verdict
from generators.oracle.filters import columns_of
from generators.oracle.operations import (
    AddColumn,
    Create,
    DropColumn,
    History,
    Operation,
    RenameColumn,
    ReorderColumns,
    Update,
    replay,
)

_log: Final = logging.getLogger(__name__)
_PLACE: Final = re.compile(
    r"^(?:latest version|version \d+(?:, read again at the end)?|the last version): |^step \d+ "
)
_PARTICULAR: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9][\w.:+-]*")
_GIST: Final = 60


def way_of(verdict: Verdict) -> tuple[Any, ...]:
    """Return what two failures of one kind have in common: no names, numbers and versions."""
    message = _PARTICULAR.sub("#", _PLACE.sub("", verdict.message)).split(";")[0]
    return verdict.outcome, verdict.hazard, verdict.requirement, message[:_GIST]


def way_words(verdict: Verdict) -> str:
    """Return :func:`way_of` in words, less the outcome; equal for failures of one kind."""
    return ": ".join(str(part) for part in way_of(verdict)[1:] if part)


@dataclass(slots=True)
class Limit:
    """How much may be tried.

    Attributes:
        asks: histories to judge.
        seconds: time for it.
        clock: gives the time in seconds.
    """

    asks: int = 200
    seconds: float = 30.0
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A history that fails as the first one did.

    Attributes:
        history: the smallest that was found.
        asked: how many others were judged.
        ended: whether nothing smaller was left to try.
    """

    history: History
    asked: int
    ended: bool


def shrink(history: History, judge: Callable[[History], Verdict], way: Any, limit: Limit) -> Shrunk:
    """Look for a smaller history that fails in the same way.

    Args:
        history: fails.
        judge: judges a history.
        way: what :func:`way_of` gives of its failure.
        limit: how much may be tried.
    """
    until = limit.clock() + limit.seconds
    asked = 0
    found = True
    while found:
        found = False
        for candidate in _smaller(history):
            if not _fits(candidate):
                continue
            if asked >= limit.asks or limit.clock() >= until:
                return Shrunk(history, asked, ended=False)
            asked += 1
            if _fails(candidate, judge, way):
                history, found = candidate, True
                break
    return Shrunk(history, asked, ended=True)


def _fails(history: History, judge: Callable[[History], Verdict], way: Any) -> bool:
    try:
        verdict = judge(history)
    except Exception:  # noqa: BLE001  a cut that the kit cannot lay out shows nothing
        _log.debug("a smaller history cannot be judged", exc_info=True)
        return False
    return verdict.outcome in FAILING and way_of(verdict) == way


def _fits(history: History) -> bool:
    try:
        replay(history)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return False
    return True


def _smaller(history: History) -> Iterator[History]:
    first, *rest = history
    for kept in _cuts(rest):
        yield (first, *kept)
    for place, operation in enumerate(history):
        for change in _less(operation):
            yield (*history[:place], change, *history[place + 1 :])
    assert isinstance(first, Create)
    if len(first.schema.fields) > 1:
        for name in first.schema.names:
            yield tuple(_without(history, name))


def _cuts(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Leave out blocks: of half the length at first, of one item at last."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield [*items[:start], *items[start + size :]]
        size //= 2


_LEAST_VALUES: Final = {
    "where": None,
    "rows_per_file": None,
    "vectors": None,
    "partition_columns": (),
    "kind": "classic",
    "sidecars": 0,
}
"""Fields of operations, and what is the least of each."""


def _less(operation: Operation) -> Iterator[Operation]:
    """Return an operation of fewer rows, properties and conditions."""
    make: Any = replace
    for each in fields(operation):
        value = getattr(operation, each.name)
        if each.name in ("rows", "source", "clauses") and value:
            for kept in _cuts(value):
                if kept or each.name != "clauses":
                    yield make(operation, **{each.name: tuple(kept)})
        elif each.name in _LEAST_VALUES and value != _LEAST_VALUES[each.name]:
            yield make(operation, **{each.name: _LEAST_VALUES[each.name]})
        elif each.name == "features" and value:
            for kept in _cuts(value):
                yield make(operation, features=tuple(kept))
        elif each.name in ("properties", "values", "computed") and len(value) > (
            not isinstance(operation, Create)
        ):
            for name in value:
                yield make(operation, **{each.name: {k: v for k, v in value.items() if k != name}})


def _without(history: History, name: str) -> Iterator[Operation]:
    """Leave a column out of a history, under whatever name it goes on."""
    current: str | None = name
    for operation in history:
        match operation:
            case RenameColumn(old, new, ()) if old == current:
                current = new
            case DropColumn(dropped, ()) if dropped == current:
                current = None
            case AddColumn(column, ()) if column.name == current:
                return
            case _ if current is None:
                yield operation
            case _ if _changes_column(operation, current):
                continue
            case _:
                changed = _cut_column(operation, current)
                if changed is not None:
                    yield changed


def _changes_column(operation: Operation, name: str) -> bool:
    """Return whether an operation is about a top-level column, and about nothing else."""
    return getattr(operation, "name", None) == name and not getattr(operation, "parent", ())


def _cut_column(operation: Operation, name: str) -> Operation | None:
    """Leave a column out of an operation; ``None`` where nothing of it remains."""
    if getattr(operation, "parent", ("",))[:1] == (name,):
        return None
    changes: dict[str, Any] = {}
    for each in fields(operation):
        value = getattr(operation, each.name)
        match each.name:
            case "schema":
                changes["schema"] = value.without(name)
            case "partition_columns":
                changes["partition_columns"] = tuple(kept for kept in value if kept != name)
            case "names" if isinstance(operation, ReorderColumns):
                changes["names"] = tuple(kept for kept in value if kept != name)
            case "rows" | "source":
                changes[each.name] = tuple(
                    {key: part for key, part in row.items() if key != name} for row in value
                )
            case "where" if value is not None and name in columns_of(value):
                changes["where"] = None
            case "values" | "computed":
                changes[each.name] = {k: v for k, v in value.items() if k != name}
            case _:
                continue
    make: Any = replace
    made: Operation = make(operation, **changes)
    if isinstance(made, Update) and not made.values and not made.computed:
        return None
    return made
