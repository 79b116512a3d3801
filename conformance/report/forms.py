"""A difference as text, as JSON and as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Final

from conformance.base.terminal import one_line
from conformance.report.difference import Change, Difference

_ORDER: Final = ("regression", "gone", "changed", "fixed", "intermittent", "added", "unknown")
_PLAIN: Final = re.compile(r"[A-Za-z0-9/._-]*")
_MEANING: Final = re.compile(r"[^\w\s,;:='\"?+%/.-]|_")

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
    count = len(difference.regressions)
    yield f"{_total(difference)}; {count} regression{'s' * (count != 1)}"


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
            cells = map(_cell, (change.id, change.before or "-", change.after or "-"))
            yield f"| {change.kind} | {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Return text as code, in which no character means anything to Markdown or HTML.

    It neither ends a cell nor loads a picture, and what shows comments makes no link, mention or
    reference of it.
    """
    shown = one_line(" ".join(text.split())[:_COLUMNS])
    if shown == "-":
        return shown
    if _PLAIN.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{_MEANING.sub(lambda found: f'&#{ord(found[0])};', shown)}</code>"


FORMS: Final[Mapping[str, Callable[[Difference], Iterator[str]]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
}
"""What writes the lines of each form."""
