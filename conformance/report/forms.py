"""A difference as text, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Final

from conformance.report.difference import Change, Difference

__all__ = ["FORMS"]

_ORDER: Final = ("regression", "gone", "changed", "fixed", "added", "unknown")
_COLUMNS: Final = 200
"""Characters of a message in a Markdown table."""


def _ordered(difference: Difference) -> list[Change]:
    return sorted(difference.changes, key=lambda change: (_ORDER.index(change.kind), change.id))


def _total(difference: Difference) -> str:
    counts = difference.counts
    words = [f"{counts[kind]} {kind}" for kind in _ORDER if counts.get(kind)]
    before, after = difference.shares
    return f"{', '.join(words) or 'no change'}; {before}, then {after}"


def _text(difference: Difference) -> Iterator[str]:
    yield from difference.remarks
    for change in _ordered(difference):
        yield f"{change.kind}: {change.id}"
        yield f"  before: {change.before or '-'}"
        yield f"  after:  {change.after or '-'}"
    yield f"{_total(difference)}; {len(difference.regressions)} regressions"


def _json(difference: Difference) -> Iterator[str]:
    before, after = difference.shares
    document = {
        "changes": [asdict(change) for change in _ordered(difference)],
        "regressions": list(difference.regressions),
        "remarks": list(difference.remarks),
        "partial": list(difference.partial),
        "judged": {"before": asdict(before), "after": asdict(after)},
    }
    yield json.dumps(document, indent=2)


def _markdown(difference: Difference) -> Iterator[str]:
    name = difference.after.header["adapter"]["name"]
    yield f"### {_cell(name)}: {_total(difference)}"
    yield ""
    yield from (f"- {_cell(remark)}" for remark in difference.remarks)
    changes = _ordered(difference)
    if changes:
        yield ""
        yield "| | Case | Before | After |"
        yield "|--|--|--|--|"
        for change in changes:
            cells = (change.kind, f"`{change.id}`", change.before or "-", change.after or "-")
            yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Return text that neither ends a cell of a table nor begins HTML."""
    shown = " ".join(text.split())[:_COLUMNS]
    for character, escaped in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;")):
        shown = shown.replace(character, escaped)
    return shown


FORMS: Final[Mapping[str, Callable[[Difference], Iterator[str]]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
}
"""What writes the lines of each form."""
