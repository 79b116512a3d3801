"""What there are many of, in parts: the tests take one of four, and the rest is a heavy suite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parents[2] / "golden-tables"
_PARTS = 4


def _marks(part: int) -> list[pytest.MarkDecorator]:
    return [pytest.mark.corpus] if part else []


PARTS = [
    pytest.param(chapter, part, id=chapter, marks=_marks(part))
    for part in range(_PARTS)
    for chapter in sorted({path.parent.name for path in CORPUS.glob("*/*/") if path.is_dir()})
]
"""Arguments of a test of `chapter` and `part`; all parts but the first are marked `corpus`."""


def tables(chapter: str, part: int) -> list[Path]:
    """Return the folders of every fourth table of a chapter, from the one that `part` counts."""
    logs = sorted((CORPUS / chapter).rglob("_delta_log"))
    return [log.parent for log in logs[part::_PARTS]]


def one_of_four(values: Iterable[Any]) -> list[Any]:
    """Return names, or what has an `id`, as arguments of a test; three of four are `corpus`."""
    return [
        pytest.param(value, id=getattr(value, "id", value), marks=_marks(at % _PARTS))
        for at, value in enumerate(values)
    ]
