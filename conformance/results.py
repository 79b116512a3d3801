"""Results files: JSON lines with a header that stamps the run and a footer that completes it.

The first line is the header (``"line": "header"``): kit version, corpus digest, revision, adapter
and engine, selection. One ``result`` line per item follows, then one ``footer`` with the counts. A
file without a footer is of a run that did not end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from conformance.faults import KitError
from conformance.items import Item
from conformance.outcomes import Verdict
from conformance.untrusted import MIB, DocumentError, lines_of, parse_json

__all__ = [
    "FORMAT",
    "Results",
    "ResultsError",
    "ResultsWriter",
    "kit_version",
    "read_results",
    "record_of",
]

FORMAT: Final = 1
"""Version of the format."""

_LARGEST: Final = 256 * MIB
"""Bytes of a results file; one of six thousand cases has six."""


class ResultsError(KitError):
    """A file is no results file, or of a run that did not end."""


def kit_version() -> str:
    """Give the version of the installed kit."""
    try:
        return version("delta-tck")
    except PackageNotFoundError:
        return "0"


def record_of(item: Item, verdict: Verdict, standing: str) -> dict[str, Any]:
    """Make the record of one judged item; a plain JSON object.

    Args:
        item: what was judged.
        verdict: how it ended.
        standing: ``new``, ``known`` or ``stale`` against the baseline.

    """
    return {
        "id": item.id,
        "outcome": verdict.outcome.value,
        "hazard": verdict.hazard.value if verdict.hazard else None,
        "message": verdict.message,
        "requirement": verdict.requirement,
        "requirements": list(item.requirements),
        "source": item.source,
        "chapter": item.chapter,
        "title": item.title,
        "features": sorted(item.features),
        "expected": verdict.expected,
        "actual": verdict.actual,
        "details": list(verdict.details),
        "seen": verdict.seen,
        "standing": standing,
    }


class ResultsWriter:
    """Write a results file line by line; use as a context or call :meth:`close`.

    Args:
        path: the file, replaced when it exists.
        header: the stamp.

    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = path.open("w", encoding="utf-8")
        self._counts: Counter[str] = Counter()
        self._put({"line": "header", "format": FORMAT, **header})

    def _put(self, document: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(document, ensure_ascii=False) + "\n")
        self._file.flush()

    def add(self, record: Mapping[str, Any]) -> None:
        """Write the line of one judged item."""
        self._counts[record["outcome"]] += 1
        self._put({"line": "result", **record})

    def close(self, status: int, *, complete: bool) -> None:
        """Write the footer.

        Args:
            status: the exit status of the run.
            complete: whether every selected item was judged.

        """
        counts = dict(sorted(self._counts.items()))
        self._put({"line": "footer", "counts": counts, "complete": complete, "status": status})
        self._file.close()

    def __enter__(self) -> Self:
        """Give the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave a file without a footer when the block raised."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Results:
    """A results file that was read.

    Attributes:
        header: the stamp.
        records: id to record.
        footer: counts, completeness and status.

    """

    header: Mapping[str, Any]
    records: Mapping[str, Mapping[str, Any]]
    footer: Mapping[str, Any]


def read_results(path: Path) -> Results:
    """Read a results file.

    Raises:
        ResultsError: it is none, or lacks its footer.

    """
    try:
        lines = [parse_json(line) for line in lines_of(path, _LARGEST)]
    except DocumentError as error:
        raise ResultsError(f"{path} is no results file: {error}") from error
    kinds = [line.get("line") if isinstance(line, dict) else None for line in lines]
    if not kinds or kinds[0] != "header" or lines[0].get("format") != FORMAT:
        raise ResultsError(f"{path} does not begin with a header of format {FORMAT}")
    if kinds[-1] != "footer":
        raise ResultsError(f"{path} has no footer: the run did not end")
    if set(kinds[1:-1]) - {"result"}:
        raise ResultsError(f"{path} has a line that is no result")
    return Results(lines[0], {line["id"]: line for line in lines[1:-1]}, lines[-1])
