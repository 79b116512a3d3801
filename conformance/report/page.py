"""Draw results as one page of HTML that needs nothing beside itself.

The page has a matrix of chapters and implementations, and below it every failure of each
implementation, worst hazard first. Everything that comes out of a results file is escaped:
messages repeat what engines and tables say, and neither is trusted.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.base.outcomes import HAZARDS, JUDGED, Outcome
from conformance.base.terminal import one_line
from conformance.report.results import Results
from conformance.report.share import Record, Share, by_chapter, share_of


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcomes of one chapter for one implementation.

    Attributes:
        counts: outcome to number of cases.
        hazard: the worst hazard among the failures, ``None`` without failures.
    """

    counts: Mapping[str, int]
    hazard: str | None

    @property
    def judged(self) -> int:
        """How many cases were judged."""
        return sum(count for outcome, count in self.counts.items() if outcome in JUDGED)

    @property
    def total(self) -> int:
        """How many cases there are, judged or not."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Column:
    """One results file, counted.

    Attributes:
        name: the implementation.
        engine_version: version of the engine that answered.
        header: the stamp.
        counts: outcome to number of cases, over all chapters.
        share: how much of its selection was judged.
        partial: why cases of the selection are missing; empty when none are.
        cells: chapter to its cell.
        failures: records that failed or ended in an error, worst hazard first.
    """

    name: str
    engine_version: str
    header: Mapping[str, Any]
    counts: Mapping[str, int]
    share: Share
    partial: tuple[str, ...]
    cells: Mapping[str, Cell]
    failures: tuple[Record, ...]


def column_of(results: Results) -> Column:
    """Count one results file."""
    chapters = by_chapter(results.records.values())
    adapter = results.header.get("adapter") or {}
    failures = sorted(
        (r for r in results.records.values() if r["outcome"] in (Outcome.FAIL, Outcome.ERROR)),
        key=lambda record: (_rank(record["hazard"]), record["id"]),
    )
    return Column(
        name=str(adapter.get("name", "?")),
        engine_version=str(adapter.get("engine_version", "?")),
        header=results.header,
        counts=Counter(record["outcome"] for record in results.records.values()),
        share=share_of(results.records.values(), results.header["selected"]),
        partial=results.partial,
        cells={chapter: _cell_of(records) for chapter, records in chapters.items()},
        failures=tuple(failures),
    )


def chapters_of(columns: Sequence[Column]) -> Iterator[str]:
    """Return every chapter that any of the files has, in alphabetical order."""
    yield from sorted({chapter for column in columns for chapter in column.cells})


def _cell_of(records: Sequence[Record]) -> Cell:
    hazards = [record["hazard"] for record in records if record["outcome"] == Outcome.FAIL]
    return Cell(
        Counter(record["outcome"] for record in records), min(hazards, key=_rank, default=None)
    )


def _rank(hazard: str | None) -> int:
    return _HAZARDS.index(hazard) if hazard in _HAZARDS else len(_HAZARDS)


_HAZARDS: Final = tuple(each.value for each in HAZARDS)

STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
td.cell { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.h0 { background: #c6282833; } td.h1 { background: #d8431533; } td.h2 { background: #ef6c0033; }
td.h3 { background: #f9a82533; } td.h4 { background: #9e9d2433; }
td.clean { background: #2e7d3226; }
td.error { background: #6a1b9a33; }
small { opacity: .75; } code { font-size: .9em; } details { margin: .6rem 0; }
.bar { display: flex; height: .5rem; border-radius: .25rem; overflow: hidden; min-width: 6rem; }
.bar i { display: block; } .pass { background: #2e7d32; } .fail { background: #c62828; }
.unsupported { background: #90a4ae; } .blocked { background: #5d4037; }
.bar .error { background: #6a1b9a; } .open { background: #1565c0; }
.advice { background: #f9a825; } .partial { color: #c62828; font-weight: bold; }
"""
"""How every page of a report looks."""

_ORDER: Final = (
    Outcome.PASS, Outcome.FAIL, Outcome.ERROR, Outcome.BLOCKED, Outcome.OPEN, Outcome.ADVICE,
    Outcome.UNSUPPORTED,
)  # fmt: skip


def escaped(text: str) -> str:
    """Return text that is no markup, and shows what would hide or turn other text."""
    return html.escape(one_line(text))


def render_page(columns: Sequence[Column]) -> str:
    """Return the page for some results, one column each."""
    return "".join(
        (
            "<!doctype html><html lang=en><meta charset=utf-8>",
            "<meta name=viewport content='width=device-width'>",
            f"<title>Delta protocol conformance</title><style>{STYLE}</style>",
            "<h1>Delta protocol conformance</h1>",
            *_stamps(columns),
            *_matrix(columns),
            *(part for column in columns for part in _failures(column)),
            "</html>\n",
        )
    )


def _stamps(columns: Sequence[Column]) -> Iterator[str]:
    yield "<table><tr><th>Implementation<th>Engine<th>Kit<th>Revision<th>Corpus"
    yield "<th>Judged<th>Outcomes<th>"
    for column in columns:
        header = column.header
        fields = (
            column.name,
            column.engine_version,
            header.get("kit_version", "?"),
            header.get("revision", "?"),
            str(header.get("corpus_digest", "?"))[:12],
            str(column.share),
            _counted(column.counts, _ORDER),
        )
        yield "<tr>" + "".join(f"<td>{escaped(str(field))}" for field in fields)
        yield f"<td>{_bar(column.counts)}"
        for reason in column.partial:
            yield f"<tr><td colspan=8 class=partial>Partial run: {escaped(reason)}"
    yield "</table>"


def _counted(counts: Mapping[str, int], outcomes: Sequence[Outcome]) -> str:
    return ", ".join(f"{counts[each]} {each.value}" for each in outcomes if counts.get(each))


def _bar(counts: Mapping[str, int]) -> str:
    total = sum(counts.values()) or 1
    parts = (
        f"<i class={outcome.value} style='width:{100 * counts[outcome] / total:.2f}%'></i>"
        for outcome in _ORDER
        if counts.get(outcome)
    )
    return f"<div class=bar>{''.join(parts)}</div>"


def _matrix(columns: Sequence[Column]) -> Iterator[str]:
    yield "<h2>By chapter</h2><p><small>Passed of judged, and of how many there are; the colour "
    yield "is the worst hazard: "
    yield " &gt; ".join(map(escaped, _HAZARDS))
    yield ". Cases that an implementation does not claim and refuses are not judged against it."
    yield "</small><table><tr><th>Chapter"
    yield "".join(f"<th>{escaped(column.name)}" for column in columns)
    for chapter in chapters_of(columns):
        yield f"<tr><td>{escaped(chapter)}"
        for column in columns:
            yield _cell(column.cells.get(chapter))
    yield "</table>"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td class=cell><small>not run</small>"
    passed = cell.counts.get(Outcome.PASS, 0)
    aside = _counted(cell.counts, _ORDER[2:])
    judged = cell.judged
    if cell.hazard in _HAZARDS:
        colour = f"h{_rank(cell.hazard)}"
    elif cell.counts.get(Outcome.ERROR):
        colour = "error"
    else:
        colour = "clean" if judged else ""
    note = f" <small>{aside}</small>" if aside else ""
    of = f" of {cell.total}" if cell.total > judged else ""
    return f"<td class='cell {colour}'>{passed}/{judged}{of}{note}"


def _failures(column: Column) -> Iterator[str]:
    yield f"<h2>{escaped(column.name)} {escaped(column.engine_version)}</h2>"
    if not column.failures:
        yield "<p>Nothing failed."
        return
    hazard: object = object()
    for record in column.failures:
        if record["hazard"] != hazard:
            hazard = record["hazard"]
            yield f"<h3>{escaped(str(hazard or 'no verdict'))}</h3>"
        yield _failure(record)


def _failure(record: Record) -> str:
    requirement = record["requirement"] or ", ".join(record["requirements"])
    known = " <small>known</small>" if record["standing"] == "known" else ""
    lines = (
        f"<b>{escaped(name)}</b> {escaped(str(record[key]))}"
        for name, key in (("Expected", "expected"), ("Actual", "actual"), ("Message", "message"))
        if record[key]
    )
    return (
        f"<details><summary><code>{escaped(record['id'])}</code> {escaped(record['title'])} "
        f"<small>{escaped(requirement)}</small>{known}</summary><p>{'<br>'.join(lines)}</details>"
    )
