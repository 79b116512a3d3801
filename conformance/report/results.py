"""Results files: JSON lines with a header that stamps the run and a footer that completes it.

The first line is the header (``"line": "header"``): kit version, corpus digest, revision, adapter
and engine, claims, selection. One ``result`` line per item follows, then one ``footer`` with the
counts, why the run is partial where it is, and a digest of every line. A file whose lines are not
those that were written is no results file.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self

import schemas
from conformance.base.faults import OutputError, UnusableError
from conformance.base.outcomes import FAILING, Verdict
from conformance.base.status import Status
from conformance.base.untrusted import MIB, DocumentError, count_values, lines_of, parse_json
from conformance.items.items import Item
from conformance.report.output import open_output, written_to
from conformance.report.share import share_of

FORMAT: Final = 2
"""Version of the format."""

_MAX_FILE_BYTES: Final = 256 * MIB
"""Bytes of a results file; one of six thousand cases has six."""

_BEGIN: Final = b'{"line": "header"'
"""How every results file begins."""

_MAX_VALUES: Final = 5_000_000
"""Values in all lines, which take more memory than bytes; that file has a tenth of them."""


class ResultsError(UnusableError):
    """A file is no results file, is of a run that did not end, or was altered."""


def record_of(
    item: Item,
    verdict: Verdict,
    standing: str,
    stale: str | None = None,
    *,
    intermittent: bool = False,
) -> dict[str, Any]:
    """Make the record of one judged item; a plain JSON object.

    Args:
        item: what was judged.
        verdict: how it ended.
        standing: ``new``, ``known`` or ``stale`` against the baseline.
        stale: what the baseline says otherwise, where it does.
        intermittent: the baseline lets the item pass and fail, and it did one of them as listed,
            or was blocked by an item that did.
    """
    return {
        "id": item.id,
        **verdict.as_document(),
        "requirements": list(item.requirements),
        "source": item.source,
        "chapter": item.chapter,
        "title": item.title,
        "features": sorted(item.features),
        "seen": verdict.seen,
        "fault": verdict.fault,
        "unclaimed": list(verdict.unclaimed),
        "standing": standing,
        "stale": stale,
        "intermittent": intermittent,
    }


def _refuse_others(path: Path) -> None:
    """Refuse to replace what is no results file, as a baseline or a program.

    Raises:
        OutputError: there is a file that does not begin as one.
    """
    with suppress(OSError, ValueError):  # the file is opened next, and that says why it cannot be
        if not path.is_file():
            return
        with path.open("rb") as file:
            begin = file.read(len(_BEGIN))
        if begin and not _BEGIN.startswith(begin):
            reason = "what is there is no results file, and is not replaced"
            raise OutputError(f"results cannot be written to {path}: {reason}")


class ResultsWriter:
    """Write a results file line by line; use as a context or call :meth:`close`.

    Args:
        path: the file, replaced when it exists; opened at once, so that a run that cannot keep
            its results does not begin.

    Raises:
        OutputError: the file cannot be written, or holds something else than results.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        _refuse_others(path)
        self._file: IO[bytes] = open_output(path, "results")
        self._kept = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._digest = hashlib.sha256()
        self._records: list[Mapping[str, Any]] = []

    def _put(self, document: Mapping[str, Any]) -> None:
        line = _line(document)
        self._digest.update(line)
        try:
            with written_to(self._path, "results"):
                self._file.write(line)
                self._file.flush()
        except OutputError:
            with suppress(OSError):  # what it holds still, it cannot write either
                self._file.close()
            raise

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the stamp."""
        self._put({"line": "header", "format": FORMAT, **header})

    def add(self, record: Mapping[str, Any]) -> None:
        """Write the line of one judged item."""
        self._records.append({"outcome": record["outcome"]})
        self._put({"line": "result", **record})

    def close(self, status: int, partial: Sequence[str] = ()) -> None:
        """Write the footer.

        Args:
            status: the exit status of the run.
            partial: why not every selected item was judged; empty when all were.
        """
        footer = {
            "line": "footer",
            "records": len(self._records),
            "counts": _counts(self._records),
            "judged": share_of(self._records).judged,
            "complete": not partial,
            "partial": list(partial),
            "status": status,
        }
        sealed = self._digest.copy()
        sealed.update(_line(footer))
        self._put({**footer, "digest": f"sha256:{sealed.hexdigest()}"})
        self._file.close()
        self.refuse_altered()

    def refuse_altered(self) -> None:
        """Refuse a closed file that holds something else than what was written.

        Raises:
            OutputError: it does, or cannot be read.
        """
        if not (self._kept and self._file.closed):
            return
        whole = hashlib.sha256()
        try:
            for line in lines_of(Path(os.path.realpath(self._path)), _MAX_FILE_BYTES):
                whole.update(line)
        except DocumentError as error:
            raise OutputError(f"results are kept no longer in {self._path}: {error}") from error
        if whole.digest() != self._digest.digest():
            raise OutputError(
                f"results are kept no longer in {self._path}: something else was written there"
            )

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave a file without a footer when the block raised."""
        self._file.close()


def write_results(results: Results, path: Path) -> None:
    """Write results that are there as a whole; of their footer the status and what is partial.

    Raises:
        OutputError: the file cannot be written.
    """
    writer = ResultsWriter(path)
    writer.begin(results.header)
    for record in results.records.values():
        writer.add({key: value for key, value in record.items() if key != "line"})
    writer.close(int(results.footer["status"]), results.partial)


def _line(document: Mapping[str, Any]) -> bytes:
    # A lone surrogate of an engine's message becomes the escape that JSON has for it.
    text = json.dumps(document, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _counts(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(str(record["outcome"]) for record in records).items()))


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

    @property
    def partial(self) -> tuple[str, ...]:
        """Why the file lacks cases of its selection; empty when it has them all."""
        return tuple(self.footer["partial"])


def read_results(path: Path) -> Results:
    """Read a results file, and check its lines against its footer.

    Raises:
        ResultsError: it is not a results file, lacks its footer, or is not as it was written.
    """
    try:
        lines, digest = _lines(path)
    except DocumentError as error:
        raise ResultsError(f"{path} is no results file: {error}") from error
    if not lines:
        raise ResultsError(f"{path} does not begin with a header of format {FORMAT}")
    if lines[-1]["line"] != "footer":
        raise ResultsError(f"{path} has no footer: the run did not end")
    found = Results(lines[0], {line["id"]: line for line in lines[1:-1]}, lines[-1])
    for fault in _faults(found, len(lines) - 2, digest):
        raise ResultsError(f"{path}: {fault}")
    return found


def _lines(path: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the lines and their digest; the first bad one is the last that is read.

    Raises:
        DocumentError: a line is not what it has to be where it stands, or there is too much.
    """
    lines: list[dict[str, Any]] = []
    total, values = hashlib.sha256(), 0
    for raw in lines_of(path, _MAX_FILE_BYTES):
        values += count_values(raw)
        if values > _MAX_VALUES:
            raise DocumentError(f"has more than {_MAX_VALUES} values")
        if not raw.endswith(b"\n") and not _is_json(raw):
            raise DocumentError(f"line {len(lines) + 1} ends in its middle: the run did not end")
        line = parse_json(raw)
        if not lines and (not isinstance(line, dict) or line.get("line") != "header"):
            raise DocumentError(f"does not begin with a header of format {FORMAT}")
        place = f"line {len(lines) + 1}"
        for violation in schemas.errors("kit/result-line", line):
            raise DocumentError(f"{place}{violation.path}: {violation.message}")
        kind = line["line"]
        if lines and (kind == "header" or lines[-1]["line"] == "footer"):
            raise DocumentError(f"{place}: a {kind} stands there")
        lines.append(line)
        if kind == "footer":
            total.update(_line({key: value for key, value in line.items() if key != "digest"}))
        else:
            total.update(raw)
    return lines, f"sha256:{total.hexdigest()}"


def _is_json(raw: bytes) -> bool:
    try:
        parse_json(raw)
    except DocumentError:
        return False
    return True


def _is_red(record: Mapping[str, Any]) -> bool:
    """Return whether a run with this record is no success, whatever its options are."""
    standing = record["standing"]
    return standing == "stale" or (standing == "new" and record["outcome"] in FAILING)


def _faults(results: Results, records: int, digest: str) -> Iterator[str]:
    footer = results.footer
    if len(results.records) < records:
        yield f"{records - len(results.records)} cases are there twice"
    if footer["records"] != records:
        yield f"the footer counts {footer['records']} records, and there are {records}"
    if footer["counts"] != _counts([*results.records.values()]):
        yield "the footer counts other outcomes than the records have"
    if footer["judged"] != share_of(results.records.values()).judged:
        yield "the footer counts other judged cases than the records have"
    failed = sum(1 for each in results.records.values() if _is_red(each))
    if footer["status"] == Status.OK and (failed or not footer["judged"]):
        yield f"the footer says that all is well: {failed} failed, {footer['judged']} were judged"
    if footer["complete"] == bool(footer["partial"]):
        yield "the footer says both that the run is complete and that it is partial"
    yield from _faults_of_selection(results, records)
    if footer["digest"] != digest:
        yield "the lines are not those that were written: their digest differs"


def _faults_of_selection(results: Results, records: int) -> Iterator[str]:
    header = results.header
    selected = header["selected"]
    if records > selected or (not results.partial and records != selected):
        yield f"{selected} cases were selected, and the run has {records} records"
    if selected > header["cases"]:
        yield f"{selected} cases were selected, and there are {header['cases']}"
    shard = header.get("shard")
    if shard is not None and shard["number"] > shard["of"]:
        yield f"it says that it is part {shard['number']} of {shard['of']}"
