"""Write today's failures into a baseline, and keep what people wrote there.

An entry stands as it is while it explains what happened, or while one of its cases was not asked:
a selection drops nothing. One whose case fails in another way keeps its reason and link. What goes
is what passed.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from conformance.base.faults import OutputError
from conformance.base.outcomes import Outcome
from conformance.report.baseline import UNTRIAGED, Baseline, Entry, is_pattern, load_baseline
from conformance.report.output import written_to
from conformance.report.share import Record

Judged: TypeAlias = tuple[str, Mapping[str, int]]
Floor: TypeAlias = float | Mapping[str, Mapping[str, int]]
_PLAIN_SCALAR: Final = re.compile(
    r"(?!null$)[A-Za-z0-9][A-Za-z0-9/._-]*(?:://[A-Za-z0-9/._?=&#%~+-]+)?"
)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What a run has to say about the entries of a baseline.

    Attributes:
        records: id to record of every item that was asked.
        failing: outcomes that fail.
        universe: ids of all items that exist, selected or not.
        shipped: whether those are the kit's own; of another corpus they say nothing about entries
            that name none of them.
    """

    records: Mapping[str, Record]
    failing: frozenset[str]
    universe: Sequence[str]
    shipped: bool = True

    def unasked(self, identity: str) -> bool:
        """Return whether an item was not asked, or was blocked by an intermittent failure."""
        record = self.records.get(identity)
        return record is None or (
            record["outcome"] == Outcome.BLOCKED and bool(record["intermittent"])
        )

    def failed(self, identity: str) -> bool:
        """Return whether an item was asked and failed."""
        return identity in self.records and self.records[identity]["outcome"] in self.failing


def merged(entries: Sequence[Entry], outcomes: Outcomes) -> list[Entry]:
    """Return the entries that a baseline has after a run, the new ones last."""
    kept: list[Entry] = []
    known_items = dict.fromkeys(outcomes.universe)
    explained: set[str] = set()
    for entry in entries:
        matched = entry.covered(known_items)
        failed = [identity for identity in matched if outcomes.failed(identity)]
        known = {identity for identity in failed if _explains(entry, outcomes.records[identity])}
        unasked = any(outcomes.unasked(identity) for identity in matched)
        gone = not matched and outcomes.shipped
        if known or unasked or (not matched and not gone) or (entry.intermittent and not failed):
            kept.append(entry)
            explained |= known
        elif failed and "*" not in entry.id:
            fresh = _entry(outcomes.records[failed[0]])
            kept.append(replace(entry, requirement=fresh.requirement, message=fresh.message))
            explained.add(failed[0])
    new = [name for name in sorted(outcomes.records) if outcomes.failed(name)]
    return [*kept, *(_entry(outcomes.records[name]) for name in new if name not in explained)]


def _explains(entry: Entry, record: Record) -> bool:
    named = [*record["requirements"], *([record["requirement"]] if record["requirement"] else [])]
    return entry.explains(named, record["message"])


def _entry(record: Record) -> Entry:
    message = str(record["message"])
    if is_pattern(message):
        message = f"/{re.escape(message)}/"
    requirement = record["requirement"] or record["requirements"][0]
    return Entry(record["id"], requirement, message, UNTRIAGED)


class BaselineFile:
    """A baseline that a run is going to write.

    Args:
        path: the file; what it holds already is kept as far as it holds.
        other: what to begin with where there is no such file.

    Raises:
        OutputError: the file cannot be written.
        BaselineError: what is there is no baseline.
    """

    def __init__(self, path: Path, other: Baseline) -> None:
        # Beside what a link leads to: the link stays.
        self._path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():
            # A device would be gone.
            raise OutputError(f"a baseline cannot be written to {path}: it is no regular file")
        self._mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        exists = path.exists() and path.stat().st_size > 0
        self._before = load_baseline(path) if exists else other
        self._comment = _leading_comment(path) if exists else ""
        with written_to(path, "a baseline"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._write(None)

    def _write(self, content: bytes | None) -> None:
        """Replace the file at once; ``None`` only tries whether that can be done."""
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        with written_to(self._path, "a baseline"):
            try:
                with temporary.open("xb") as file:
                    file.write(content or b"")
                    if self._mode is not None:
                        os.fchmod(file.fileno(), self._mode)
                if content is not None:
                    temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)

    def write(self, outcomes: Outcomes, claims: Mapping[str, Any], judged: Judged | None) -> int:
        """Write the entries after a run, and return how many there are.

        Args:
            outcomes: what was asked and how it ended.
            claims: what the implementation claims.
            judged: the revision, and how many cases of each chapter were judged by it; ``None``
                where not all were selected, and what is there stays.
        """
        entries = merged(self._before.entries, outcomes)
        before = self._before
        floor: Floor = before.judged if before.percent is None else before.percent
        if judged is not None:
            revision, counts = judged
            floor = {**before.judged, revision: counts}
        text = self._comment + "".join(_lines(entries, claims, floor))
        self._write(text.encode("utf-8", "backslashreplace"))
        return len(entries)


def _leading_comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if not line.startswith("#")]
    return "".join(lines[: ends[0] if ends else len(lines)])


def _lines(entries: Sequence[Entry], claims: Mapping[str, Any], floor: Floor) -> Iterator[str]:
    head = {"claims": dict(claims), **({} if floor == {} else {"judged": floor})}
    yield yaml.safe_dump(head, sort_keys=False, width=96, default_flow_style=None)
    yield "failures:\n" if entries else "failures: []\n"
    for entry in entries:
        yield f"  - id: {_scalar(entry.id)}\n    requirement: {_scalar(entry.requirement)}\n"
        yield f"    message: {_quoted(entry.message)}\n    reason: {_quoted(entry.reason)}\n"
        if entry.link:
            yield f"    link: {_scalar(entry.link)}\n"
        if entry.intermittent:
            yield "    intermittent: true\n"


def _scalar(text: str) -> str:
    return text if _PLAIN_SCALAR.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    text = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=sys.maxsize)
    return text.removesuffix("\n")
