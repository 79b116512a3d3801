"""The commands ``delta-tck report`` and ``delta-tck diff``."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import IntEnum
from pathlib import Path
from typing import Final

from conformance.base.commands import NOT_ALONE
from conformance.base.faults import KitError
from conformance.base.terminal import one_line, say, warn
from conformance.report.difference import Change, Difference
from conformance.report.output import refuse_inputs, writing
from conformance.report.page import column_of, render_page
from conformance.report.results import read_results

_ORDER: Final = ("regression", "gone", "changed", "fixed", "intermittent", "added", "unknown")
_UNQUOTED_TEXT: Final = re.compile(r"[A-Za-z0-9/._-]*")
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
    if _UNQUOTED_TEXT.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{_MEANING.sub(lambda found: f'&#{ord(found[0])};', shown)}</code>"


FORMS: Final[Mapping[str, Callable[[Difference], Iterator[str]]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
}
"""What writes the lines of each form."""


class DiffStatus(IntEnum):
    """How a comparison ended."""

    NO_REGRESSION = 0
    REGRESSION = 1
    UNUSABLE = 2
    PARTIAL = 3


def run_report_cli(argv: Sequence[str]) -> int:
    """Write one page over some results files; returns 0, or 2 when a file is not usable."""
    parser = argparse.ArgumentParser(
        prog="delta-tck report", description="Draw results files as one page of HTML."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE")
    options = parser.parse_args(argv)
    try:
        refuse_inputs(options.output, "the page", options.results)
        columns = [column_of(read_results(path)) for path in options.results]
        content = render_page(columns).encode("utf-8", "backslashreplace")
        with writing(options.output, "the page") as file:
            file.write(content)
    except KitError as error:
        warn(str(error))
        return DiffStatus.UNUSABLE
    say(str(options.output))
    return 0


def run_diff_cli(argv: Sequence[str]) -> int:
    """Name what changed between two runs; returns a :class:`DiffStatus`."""
    parser = argparse.ArgumentParser(
        prog="delta-tck diff",
        description="Name the cases that two runs judge differently. "
        "Ends with 0 without regressions, 1 with some, 2 when the files cannot be compared, and 3 "
        "when none is seen but a run is partial or lacks cases that the other selected.",
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--format", choices=FORMS, default="text", help="(default: text)")
    options = parser.parse_args(argv)
    try:
        difference = Difference(read_results(options.before), read_results(options.after))
    except KitError as error:
        warn(str(error))
        return DiffStatus.UNUSABLE
    for line in FORMS[options.format](difference):
        say(line if options.format == "json" else one_line(line))
    if difference.regressions:
        return DiffStatus.REGRESSION
    return DiffStatus.PARTIAL if difference.partial else DiffStatus.NO_REGRESSION


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
