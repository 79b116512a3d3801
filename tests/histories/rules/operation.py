"""Operations of a machine, and how often each is drawn.

Hypothesis draws for each history which rules it may use at all, which leaves long histories of
few operations; here every operation is there at every step, the weightier ones more often.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from hypothesis import strategies as st

_Work = TypeVar("_Work", bound=Callable[..., None])


def operation(weight: int = 1, **drawn: st.SearchStrategy[Any]) -> Callable[[_Work], _Work]:
    """Make a method an operation; ``data`` is what it draws by itself from, the rest is drawn."""

    def mark(work: _Work) -> _Work:
        work.weight, work.drawn = weight, drawn  # type: ignore[attr-defined]
        return work

    return mark


def only_if(condition: Callable[[Any], Any]) -> Callable[[_Work], _Work]:
    """Keep an operation from being drawn where a condition on the machine does not hold."""

    def mark(work: _Work) -> _Work:
        work.condition = condition  # type: ignore[attr-defined]
        return work

    return mark


def _operations(machine: object) -> Iterator[tuple[str, Any]]:
    for name, work in inspect.getmembers(type(machine), inspect.isfunction):
        if hasattr(work, "weight"):
            yield name, work


def draw_operation(machine: object, data: st.DataObject) -> None:
    """Draw an operation and what it takes, and do it."""
    able = [
        name
        for name, work in _operations(machine)
        if getattr(work, "condition", lambda _: True)(machine)
        for _ in range(work.weight)
    ]
    name = data.draw(st.sampled_from(able), label="operation")
    work = getattr(machine, name)
    given = {
        key: data if key == "data" else data.draw(strategy, label=key)
        for key, strategy in work.drawn.items()
    }
    work(**given)
