"""Draw histories with Hypothesis: the same ones for the same seed, wherever the kit lies.

Hypothesis mixes constants of the caller's local modules into what it draws, whatever the seed:
a checkout, an installed kit and a folder with modules of its own would draw three different
histories. Here it draws from its own constants alone.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, Final
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import providers

from generators.histories.groups import EXPLORE_FACTOR, GROUPS, Drawn, Group, followable
from generators.oracle.operations import History
from generators.strategies.histories import histories
from generators.strategies.schemas import PRIMITIVES

_INTERNALS: Final = frozenset({"CONSTANTS_CACHE", "Constants", "_get_local_constants"})
"""Where Hypothesis 6.140 and later keep constants of local modules."""


@contextmanager
def _without_local_constants() -> Iterator[None]:
    """Keep constants of local modules out; the cache may hold some that were drawn before.

    Hypothesis has no setting for it. Where a later version keeps them under other names nothing is
    kept out, and the test of this module fails.
    """
    names = vars(providers)
    if not names.keys() >= _INTERNALS:
        yield
        return
    cache_of_constants = names["CONSTANTS_CACHE"].cache
    cache_of_constants.clear()
    try:
        with patch.object(providers, "_get_local_constants", names["Constants"]):
            yield
    finally:
        cache_of_constants.clear()


class _EnoughError(BaseException):
    """All histories are drawn; no failure, so that Hypothesis lets it pass."""


def draw_histories(
    count: int, number: int, features: Sequence[str] = (), **limits: Any
) -> list[History]:
    """Return as many histories as asked for, the same ones for the same seed number.

    Args:
        count: how many.
        number: the seed.
        features: features that the tables have.
        limits: further arguments of :func:`~generators.strategies.histories.histories`.

    Raises:
        ValueError: a feature is unknown, or the strategy runs dry before ``count``.
    """
    found: list[History] = []
    # Of upkeep each has the same steps: they are to differ in their order, not in a constant.
    upkeep = limits.get("upkeep", False)
    alike, tries = (_in_order, 10) if upkeep else (operator.eq, 3)

    @seed(number)
    @settings(
        max_examples=count * tries + 10,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        backend="hypothesis",
        suppress_health_check=list(HealthCheck),
    )
    @given(histories(features=features, **limits))
    def collect(history: History) -> None:
        known = any(alike(history, each) for each in found)
        shows = not upkeep or _rows_differ(history)
        if len(found) < count and not known and shows and len(history) > 1:
            found.append(history)
        if len(found) == count:
            raise _EnoughError  # what else would be drawn is not asked for

    with _without_local_constants(), suppress(_EnoughError):
        collect()
    if len(found) < count:
        raise ValueError(f"only {len(found)} of {count} histories could be drawn")
    return found


def _in_order(one: History, other: History) -> bool:
    return list(map(type, one)) == list(map(type, other))


def _rows_differ(history: History) -> bool:
    """Say whether rows differ: of one row again and again no step shows which ones it took."""
    rows = [row for step in history for row in getattr(step, "rows", None) or ()]
    return any(row != rows[0] for row in rows)


def draw_group(group: Group, count: int, number: int) -> tuple[History, ...]:
    """Draw histories of a group, the same ones for the same seed number.

    Raises:
        ValueError: the strategy runs dry before ``count``.
    """
    limits = group.limits()
    if group.kind == "write":
        # The order of the types decides what a seed draws.
        decimal = ["decimal"] if limits.pop("decimals", True) else []
        limits["primitives"] = (*PRIMITIVES, *decimal)
    drawn = draw_histories(count, number, group.features, **limits)
    if group.kind == "write":
        return tuple(tuple(followable(each)) for each in drawn)
    return tuple(drawn)


@cache
def _group(group: Group, factor: int, number: int) -> tuple[History, ...]:
    return draw_group(group, group.count * factor, number)


def _named(names: dict[str, str], factor: int, number: int) -> Iterator[Drawn]:
    counts = dict.fromkeys(names, 0)
    for group in GROUPS:
        for index in range(group.count * factor):
            name = f"{names[group.kind]}-{counts[group.kind]}"
            yield Drawn(
                name, group.kind, group.features, partial(_at, group, factor, number, index)
            )
            counts[group.kind] += 1


def _at(group: Group, factor: int, number: int, index: int) -> History:
    return _group(group, factor, number)[index]


def explored_histories(number: int) -> tuple[Drawn, ...]:
    """List the histories of a seed, ten times as many as the gate has; drawn when asked for."""
    names = {"read": f"seed-{number}", "write": f"recipe-seed-{number}"}
    return tuple(_named(names, EXPLORE_FACTOR, number))


def draw_gate(number: int) -> tuple[Drawn, ...]:
    """Draw the histories that the files of the gate are made of."""
    return tuple(_named({"read": "history", "write": "recipe"}, 1, number))
