"""Checks of a version checksum against the replayed state (section Version Checksum File)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import schemas
from conformance.audit.checks.commits import schema_findings, with_inert_settings
from conformance.audit.columnar.keys import CARDINALITY, Codes
from conformance.audit.findings import Findings, Severity, check, finding, unchecked
from conformance.audit.grammar.log_files import LOG_DIR, checksum_name
from conformance.audit.grammar.types import LONG_END
from conformance.audit.read.raw import Document, Line
from conformance.audit.read.state import Body, Key, State, file_key
from conformance.audit.subjects import VersionView
from conformance.audit.summaries.actions import (
    REPEATED,
    add_differences,
    differing_bodies,
    known,
    known_of,
    malformed,
)

_BINS: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2**31 - 1)
"""First deleted-record count of each bin of the deleted record counts histogram."""


@dataclass(frozen=True, slots=True)
class ChecksumView:
    """A checksum file with the state of its version.

    Attributes:
        document: the content of the file.
        view: the version, replayed.
        given: the numbers of its files, where they were counted already.
    """

    document: Document
    view: VersionView
    given: Measure | None = None

    @property
    def measure(self) -> Measure:
        """The numbers of the version's files."""
        return self.given or measure(self.fields, self.view.state)

    @property
    def place(self) -> str:
        """The path of the file."""
        return f"{LOG_DIR}/{checksum_name(self.view.state.version)}"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields; empty when it is no object."""
        return self.document.value if isinstance(self.document.value, dict) else {}

    @property
    def differing(self) -> Iterator[tuple[str, Body]]:
        """Path and add of each live file that the checksum describes otherwise."""
        listed, adds = self.fields.get("allFiles"), self.view.state.adds
        for item in listed if isinstance(listed, list) else ():
            key = file_key(item) if isinstance(item, dict) else None
            if key is not None and key in adds:
                for body in differing_bodies(adds[key], item, self.view.layout):
                    yield key[0], body
            elif key is not None and self.view.state.vectors.get(key[0]):
                yield key[0], item

    @property
    def definitions(self) -> list[Line]:
        """Protocol, metadata and domains as lines of a log have them."""
        fields = self.fields
        listed = fields.get("domainMetadata")
        pairs = [("protocol", fields.get("protocol")), ("metaData", fields.get("metadata"))]
        pairs += [("domainMetadata", x) for x in (listed if isinstance(listed, list) else ())]
        return [Line(self.place, {n: x}, n, x) for n, x in pairs if isinstance(x, dict)]


@check("checksum", "CRC-005", *schemas.requirements("log/version-checksum"))
def valid(subject: ChecksumView) -> Findings:
    """Report a checksum file that is no JSON object or breaks its schema."""
    if subject.document.limit is not None:
        yield unchecked("CRC-005", subject.place, subject.document.limit)
        return
    if subject.document.fault is not None:
        message = f"the checksum is not one JSON object: {subject.document.fault}"
        yield finding("CRC-005", subject.place, message)
        return
    found = schema_findings(
        "log/version-checksum", subject.document.value, subject.place, "CRC-005"
    )
    yield from with_inert_settings(found, subject.view.layout)


# Fields that may be left out must be right where they are there: CRC-037 binds, whatever the
# level of the field's own requirement.


@check("checksum", "CRC-007 CRC-008 CRC-019 CRC-020", whole=True)
def totals(subject: ChecksumView) -> Findings:
    """Report numbers that the state of the version does not have."""
    found = subject.measure
    right = {
        "tableSizeBytes": (found.size, "CRC-007"),
        "numFiles": (found.files, "CRC-008"),
        "numDeletedRecordsOpt": (found.deleted, "CRC-019"),
        "numDeletionVectorsOpt": (found.vectors, "CRC-020"),
    }
    for field, (value, requirement) in right.items():
        stated = subject.fields.get(field)
        if type(stated) is int and stated != value:
            message = f"{field} is {stated}, the version has {value}"
            yield finding(requirement, subject.place, message, severity="error")


@check("checksum", "CRC-012 CRC-013 CRC-014 CRC-015 CRC-016")
def copies(subject: ChecksumView) -> Findings:
    """Report copies of actions that differ from the state of the version."""
    state, fields = subject.view.state, subject.fields
    for field, kind, action, requirement in (
        ("metadata", "metaData", state.metadata, "CRC-015"),
        ("protocol", "protocol", state.protocol, "CRC-016"),
    ):
        stated = fields.get(field)
        if isinstance(stated, dict) and known(kind, stated) != known(kind, action):
            message = f"{field} differs from that of the version"
            yield finding(requirement, subject.place, message)
        if field in fields and not isinstance(stated, dict):
            yield finding(requirement, subject.place, f"{field} is no {field}: {stated!r:.100}")
    for field, kind, actions, key, requirement in (
        ("setTransactions", "txn", state.txns, "appId", "CRC-012"),
        ("domainMetadata", "domainMetadata", state.live_domains, "domain", "CRC-013"),
    ):
        listed = fields.get(field)
        if isinstance(listed, list):
            # A removed domain has no place here, which the schema reports.
            held = [x for x in listed if isinstance(x, dict) and x.get("removed") is not True]
            have = {str(item.get(key)): known(kind, item) for item in held}
            right = known_of(kind, actions)
            if have != right or len(held) != len(have):
                message = f"{field} differs from those of the version"
                yield finding(requirement, subject.place, message, severity="error")
            if field == "domainMetadata":
                for name in sorted(have.keys() & (state.domains.keys() - actions.keys())):
                    message = f"domainMetadata lists {name}, which the version has removed"
                    yield finding("CRC-014", subject.place, message)


@check("checksum", "CRC-018", *REPEATED)
def files(subject: ChecksumView) -> Findings:
    """Report a list of files that differs from the live ones."""
    state, listed = subject.view.state, subject.fields.get("allFiles")
    if not isinstance(listed, list):
        return
    have = {file_key(item): item for item in listed if isinstance(item, dict)}
    if have.keys() != state.adds.keys() or len(listed) != len(state.adds):
        message = "allFiles differs from the live files of the version"
        # The text does not say whether a path of this machine may be written in another way here.
        same = len(listed) == len(state.adds) and _places(filter(None, have)) == _places(state.adds)
        severity: Severity = "warning" if same else "error"
        yield finding("CRC-018", subject.place, message, severity=severity)
    for key, body in state.adds.items():
        copy = have.get(key)
        pairs = (
            ()
            if copy is None
            else (add_differences(body, copy, subject.view.layout, "CRC-018", "CRC-018"))
        )
        for requirement, message, sure in pairs:
            text = f"allFiles: {key[0]}: {message}"
            for broken in {"CRC-018", requirement}:
                severity = "error" if sure else "warning"
                yield finding(broken, subject.place, text, severity=severity)
        if copy is not None:
            place = f"{subject.place}: {key[0]}"
            yield from malformed(place, body, copy, subject.view.layout)


_LOCAL: Final = re.compile(r"file:(//(localhost)?)?(?=/)", re.IGNORECASE)


def _places(keys: Iterable[Key]) -> set[Key]:
    """Return keys with the paths of this machine written in one way."""
    return {
        (_LOCAL.sub("", path, count=1) if _LOCAL.match(path) else path, vector)
        for path, vector in keys
    }


@check("checksum", "CRC-006")
def transaction(subject: ChecksumView) -> Findings:
    """Report a transaction id that is not that of the commit."""
    commit = subject.view.log.commits.get(subject.view.state.version)
    info = next(commit.content.of("commitInfo"), None) if commit else None
    stated, actual = subject.fields.get("txnId"), info.body.get("txnId") if info else None
    if stated is not None and isinstance(actual, str) and stated != actual:
        message = f"txnId is {stated}, the commit has {actual}"
        # Elsewhere commitInfo is free, and a txnId in it may be one of the writer's own.
        defined = "catalogManaged" in subject.view.layout.features
        severity: Severity = "error" if defined else "warning"
        yield finding("CRC-006", subject.place, message, severity=severity)


@check("checksum", "CRC-011")
def timestamp(subject: ChecksumView) -> Findings:
    """Report a timestamp that is not the version's."""
    enabled = subject.view.layout.active("inCommitTimestamp")
    stated = subject.fields.get("inCommitTimestampOpt")
    actual = subject.view.state.timestamp if enabled else None
    if subject.fields and stated != actual and (actual is not None or not enabled):
        message = f"inCommitTimestampOpt is {stated}, the version has {actual}"
        yield finding("CRC-011", subject.place, message)


@check("checksum", "CRC-028 CRC-030", whole=True)
def histograms(subject: ChecksumView) -> Findings:
    """Report histograms that do not count the live files."""
    found = subject.measure
    for field in _HISTOGRAMS:
        stated = subject.fields.get(field)
        bounds = _bounds(stated)
        if not isinstance(stated, dict) or not bounds or not _as_long(stated, len(bounds)):
            continue  # the schema reports it
        counts, sizes = ([n for n, _ in found.bins[field]], [n for _, n in found.bins[field]])
        if (stated.get("fileCounts"), stated.get("totalBytes")) != (counts, sizes):
            message = f"{field} does not count the live files of the version"
            yield finding("CRC-028", subject.place, message)
    stated = subject.fields.get("deletedRecordCountsHistogramOpt")
    listed = stated.get("deletedRecordCounts") if isinstance(stated, dict) else None
    if isinstance(listed, list):
        deleted = [count for count, _ in found.bins[_DELETED]]
        if listed != deleted and len(listed) == len(_BINS):
            message = f"deletedRecordCounts is {listed}, the version has {deleted}"
            yield finding("CRC-030", subject.place, message, severity="error")


_HISTOGRAMS: Final = ("fileSizeHistogram", "histogramOpt")
_DELETED: Final = "deleted"


@dataclass(frozen=True, slots=True)
class Measure:
    """Numbers of the files of a version, or of some of them: those of parts add up.

    Attributes:
        files: how many there are.
        size: their bytes.
        vectors: how many have a deletion vector.
        deleted: rows that those delete.
        bins: count and bytes in each bin of each histogram that a checksum has.
    """

    files: int
    size: int
    vectors: int
    deleted: int
    bins: Mapping[str, list[tuple[int, int]]]

    def __add__(self, other: Measure) -> Measure:
        """Add the numbers of other files."""
        return Measure(
            self.files + other.files,
            self.size + other.size,
            self.vectors + other.vectors,
            self.deleted + other.deleted,
            {
                name: [
                    (a + c, b + d) for (a, b), (c, d) in zip(held, other.bins[name], strict=True)
                ]
                for name, held in self.bins.items()
            },
        )


def measure(fields: Mapping[str, Any], state: State) -> Measure:
    """Measure the live files of a version for the checksum that has these fields."""
    sizes, deleted = state.adds.wholes("size"), state.adds.wholes(CARDINALITY)
    bins = {
        name: _binned(bounds, sizes)
        for name in _HISTOGRAMS
        if (bounds := _bounds(fields.get(name)))
    }
    bins[_DELETED] = _binned(_BINS, deleted)
    first, total = bins[_DELETED][0]
    bins[_DELETED][0] = first + len(state.adds) - len(deleted), total
    size, gone = (_binned([0], numbers)[0][1] for numbers in (sizes, deleted))
    return Measure(len(state.adds), size, len(deleted), gone, bins)


def _binned(bounds: Sequence[int], numbers: Codes) -> list[tuple[int, int]]:
    """Return count and sum of the numbers in each bin, exact beyond 64 bits."""
    starts = np.array([max(bound, -LONG_END) for bound in bounds if bound < LONG_END], np.int64)
    at = np.maximum(np.searchsorted(starts, numbers, "right") - 1, 0)
    counts = np.bincount(at, minlength=len(bounds))
    halves = np.zeros((2, len(bounds)), np.int64)
    np.add.at(halves[0], at, numbers >> _HALF)
    np.add.at(halves[1], at, numbers & ((1 << _HALF) - 1))
    sums = [(high << _HALF) + low for high, low in zip(*halves.tolist(), strict=True)]
    return list(zip(counts.tolist(), sums, strict=True))


_HALF: Final = 32


def _as_long(histogram: dict[str, Any], count: int) -> bool:
    lists = (histogram.get(name) for name in ("fileCounts", "totalBytes"))
    return all(isinstance(each, list) and len(each) == count for each in lists)


def _bounds(histogram: Any) -> list[int]:
    """Return the bin boundaries when they ascend, else nothing."""
    bounds = histogram.get("sortedBinBoundaries") if isinstance(histogram, dict) else None
    if not isinstance(bounds, list) or not all(type(bound) is int for bound in bounds):
        return []
    return bounds if bounds == sorted(bounds) else []
