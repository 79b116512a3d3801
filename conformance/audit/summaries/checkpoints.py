"""Checks of a checkpoint against the replay of the commits that it stands for.

Covers "Checkpoints", "Checkpoint Specs", "Checkpoint Schema" and "Sidecar Files".
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

import schemas
from conformance.audit.checks.commits import (
    bare_path,
    fault_finding,
    line_findings,
    with_inert_settings,
)
from conformance.audit.checks.values import statistics_of
from conformance.audit.columnar.keys import repeated
from conformance.audit.columnar.rows import Mask, Rows
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.retention import retention, stated_retention
from conformance.audit.read.log import Checkpoint, sidecar_path
from conformance.audit.read.raw import Document, Line, parse_json
from conformance.audit.read.state import Body, Key, State, file_key
from conformance.audit.screens import no_plain_row
from conformance.audit.subjects import VersionView
from conformance.audit.summaries.actions import (
    REPEATED,
    add_differences,
    differing_bodies,
    file_differences,
    known,
)
from conformance.audit.summaries.parsed import is_stated, left_out
from reference_impl.errors import DeltaError

_AT_ONCE: Final = 4096
"""Actions of the log that are read again at a time."""


class FilesWithoutStatistics:
    """Files whose statistics a checkpoint left out: they are lost since."""

    def __init__(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Take the checkpoints of a log, by version; none is read before it is asked for."""
        self._left = deque(checkpoint for checkpoint in checkpoints if checkpoint.complete)
        self._keys: set[Key | None] = set()

    def before(self, version: int) -> AbstractSet[Key | None]:
        """Return the keys of files without statistics in checkpoints before a version.

        Versions are asked for in ascending order.
        """
        while self._left and self._left[0].version < version:
            earlier = self._left.popleft()
            lacking = _without_text(earlier.all.rows)
            self._keys |= {
                line.key
                for line in earlier.all.of("add", shown=lacking | earlier.all.rows.irregular)
                if not _counts(line.body)
            }
            earlier.forget()
        return self._keys


@dataclass(frozen=True, slots=True)
class CheckpointView:
    """A checkpoint with the state of its version as replayed from commits.

    Attributes:
        checkpoint: complete, and of the version of ``view``.
        content: the state that the checkpoint's own rows make.
        view: the version; by ``content`` where it is not replayed.
        replayed: whether the state of ``view`` came from commits and not from a checkpoint.
        left_out: what earlier checkpoints have no statistics of.
        shown: what the check's screen lets it see of the file actions; ``None`` for all.
    """

    checkpoint: Checkpoint
    content: State
    view: VersionView
    replayed: bool
    left_out: FilesWithoutStatistics
    shown: Mask | None = None

    @property
    def rows(self) -> Rows:
        """The file actions as columns, for screens."""
        return self.checkpoint.all.rows

    def every(self) -> Iterator[Line]:
        """Yield all lines, less what the check's screen leaves out."""
        return self.checkpoint.all.every(self.shown)

    def of(self, *actions: str) -> Iterator[Line]:
        """Yield the lines of some actions, less what the check's screen leaves out."""
        return self.checkpoint.all.of(*actions, shown=self.shown)

    def only(self, shown: Mask) -> CheckpointView:
        """Return the subject with some of its file actions."""
        self.content.index.cache_codes(self.rows, shown)
        return replace(self, shown=shown)


def repeated_paths(subject: CheckpointView) -> Mask:
    """Return a mask of the actions of paths that the checkpoint has more than once."""
    index = subject.content.index
    return repeated(index.path_codes(index.codes_of(subject.rows)))


def _repeated_keys(subject: CheckpointView) -> Mask:
    """Return a mask of the actions of logical files that it has more than once."""
    return repeated(subject.content.index.codes_of(subject.rows))


def without_statistics(subject: CheckpointView) -> Mask:
    """Return a mask of adds without statistics; of all where the table asks for typed ones."""
    if subject.view.layout.is_true("delta.checkpoint.writeStatsAsStruct"):
        return np.ones(len(subject.rows), np.bool_)
    return _without_text(subject.rows)


_SAYING: Final = r'^\s*\{[^{}]*?"\s*:\s*["0-9tf-]'
"""How an object with a value begins; what begins otherwise is read again."""


def _without_text(rows: Rows) -> Mask:
    """Return a mask of rows without statistics in JSON, or whose JSON may be empty."""
    texts = rows.columns["stats"]
    says = pc.and_(pc.match_substring_regex(texts, _SAYING), pc.ends_with(texts, "}"))
    return ~np.asarray(pc.fill_null(says, fill_value=False).to_numpy(), np.bool_)


@check("checkpoint", "CKPT-005 CKPT-011 CKC-001 SIDE-004 SIDE-005 SCA-002")
def readable(subject: CheckpointView) -> Findings:
    """Report checkpoints and sidecars that cannot be read."""
    checkpoint = subject.checkpoint
    for fault in checkpoint.top.faults:
        yield fault_finding("CKPT-005", fault, "checkpoint: ")
        if fault.kind in ("no JSON", "other format"):
            yield fault_finding("CKC-001", fault, "checkpoint: ")
    for lines in checkpoint.sidecars.values():
        for fault in lines.faults:
            requirement = _SIDECAR_FAULTS.get(fault.kind, "SIDE-005")
            yield fault_finding(requirement, fault, "sidecar: ")
    faults = (fault for lines in checkpoint.sidecars.values() for fault in lines.faults)
    if any(fault.kind == "gone" for fault in faults) and _is_alone(subject):
        message = "sidecars are gone, and neither commits nor another checkpoint make the version"
        yield finding("CKPT-011", checkpoint.place, message, "restore the sidecars")


def _is_alone(subject: CheckpointView) -> bool:
    """Return whether nothing else covers the commits that are gone up to its version."""
    log, version = subject.view.log, subject.checkpoint.version
    first = min(log.commits, default=version + 1)
    others = (each.version for each in log.checkpoints if each.complete)
    covering = [other for other in others if other >= first - 1]
    return first > 0 and covering == [version]


_SIDECAR_FAULTS: Final = {"elsewhere": "SIDE-004", "unescaped": "SCA-002"}
"""What a sidecar that cannot be read breaks, by the kind of the fault."""


@check("checkpoint content", *schemas.requirements("log/checkpoint-row"), screen=no_plain_row)
def valid_rows(subject: CheckpointView) -> Findings:
    """Report rows that break the schema of a checkpoint row."""
    documents = ((line.document, line.place) for line in subject.every())
    found = line_findings("log/checkpoint-row", documents, "CKC-001")
    yield from with_inert_settings(found, subject.view.layout)


@check("checkpoint content", "CKC-002 CKC-003 CKPT-006 REC-005")
def exactly_one(subject: CheckpointView) -> Findings:
    """Report a checkpoint without, or with several of, protocol, metaData and marks of V2."""
    checkpoint = subject.checkpoint
    counts = checkpoint.all.counts()
    for action, requirement in (("protocol", "CKC-002"), ("metaData", "CKC-003")):
        if counts[action] != 1:
            message = f"the checkpoint has {counts[action]} {action} actions instead of one"
            for broken in (requirement, *(("CKPT-006",) if counts[action] else ())):
                yield finding(broken, checkpoint.place, message)
    keys: Counter[tuple[str | None, str]] = Counter(
        (line.action, str(line.body.get("appId", line.body.get("domain"))))
        for line in checkpoint.all.of("txn", "domainMetadata")
    )
    for (kind, key), count in keys.items():
        if count > 1:
            message = f"the checkpoint has {count} {kind} actions of {key}"
            for broken in ("CKPT-006",) if kind == "txn" else ("CKPT-006", "REC-005"):
                yield finding(broken, checkpoint.place, message)


@check("checkpoint content", "CKPT-006", screen=_repeated_keys)
def one_action_per_file(subject: CheckpointView) -> Findings:
    """Report a logical file that the checkpoint adds, or removes, twice, or both."""
    found: dict[Key, list[str]] = {}
    for line in subject.of("add", "remove"):
        key = line.key
        if key is not None and line.action is not None:
            found.setdefault(key, []).append(line.action)
    for (path, vector), actions in found.items():
        if len(actions) > 1:
            message = f"the checkpoint has {' and '.join(actions[:3])} of {path}{_with(vector)}"
            hint = "of several actions of one file the last one alone is in force"
            yield finding("CKPT-006", subject.checkpoint.place, message, hint)


@check("checkpoint content", "SCA-006")
def times_of_sidecars(subject: CheckpointView) -> Findings:
    """Report the modificationTime of a sidecar that is negative or not in milliseconds.

    Taken for milliseconds it lies in 1970, or after 5138. It is an error where it lies within 50
    years after ``createdTime`` of the metadata in seconds, microseconds or nanoseconds; else a
    warning, for the clock of the writer may be wrong.
    """
    top = subject.checkpoint.top
    made = next((line.body.get("createdTime") for line in top.of("metaData")), None)
    for line in top.of("sidecar"):
        time = line.body.get("modificationTime")
        if type(time) is int and (time < 0 or time in _SECONDS or time >= _MICROSECONDS):
            message = f"modificationTime {time} is not in milliseconds"
            yield finding("SCA-006", line.place, message, sure=_in_another_unit(time, made))


_SECONDS: Final = range(10**9, 10**11)
_MICROSECONDS: Final = 10**14
_PLAUSIBLE: Final = range(10**12, 10**14)
"""Milliseconds from 2001 to 5138."""

_MAX_AGE_MILLIS: Final = 50 * 366 * 86_400_000
"""Milliseconds that lie between a table and its checkpoints at most."""


def _in_another_unit(time: int, made: Any) -> bool:
    """Return whether a time is one soon after another, given in milliseconds, in another unit."""
    if type(made) is not int or made not in _PLAUSIBLE:
        return False
    return any(
        each in range(made, made + _MAX_AGE_MILLIS)
        for each in (time * 1000, time // 1000, time // 10**6)
    )


@check("checkpoint content", "SCA-002 SCA-003 SCA-005 CKPT-V2-003")
def sidecar_files(subject: CheckpointView) -> Findings:
    """Report sidecars that are not as their actions say."""
    checkpoint, storage = subject.checkpoint, subject.view.storage
    sizes: dict[str, int | None] = {}  # a sidecar may be named often
    for line in checkpoint.top.of("sidecar"):
        path, size = line.body.get("path"), line.body.get("sizeInBytes")
        if not isinstance(path, str):
            continue
        yield from bare_path("SCA-002", line)
        if "/" in path:
            message = f"sidecar.path {path} is more than the name of the file"
            yield finding("SCA-003", line.place, message)
        if path not in sizes:
            sizes[path] = None
            with suppress(OSError, ValueError, DeltaError):  # reported as unreadable
                sizes[path] = storage.head(sidecar_path(storage, path)).size
        stored = sizes[path]
        if stored is not None and type(size) is int and size != stored:
            message = f"sidecar {path} has {stored} bytes, sizeInBytes says {size}"
            yield finding("SCA-005", line.place, message)
    for lines in checkpoint.sidecars.values():
        for _, line in lines.small:
            if line.action not in (None, "add", "remove"):
                message = f"a sidecar holds a {line.action} action"
                yield finding("CKPT-V2-003", line.place, message)


@check("checkpoint content", "CKC-004 CKC-005 CKPT-005 CKPT-006 CKPT-007")
def files_equal_replay(subject: CheckpointView) -> Findings:
    """Report live files that are missing, removed files that are live, and lost tombstones."""
    if not subject.replayed:
        return
    place, want, have = subject.checkpoint.place, subject.view.state, subject.content
    for path, vector in sorted(want.adds.minus(have.adds), key=str):
        message = f"the checkpoint lacks the live file {path}{_with(vector)}"
        yield finding("CKC-004", place, message, "readers that start here lose its rows")
    for path, vector in sorted(have.adds.minus(want.adds), key=str):
        message = f"the checkpoint has {path}{_with(vector)}, which is not live"
        yield finding("CKPT-006", place, message, "readers that start here return deleted rows")
    # What has expired is not in the state, and a longer retention does not bring it back.
    properties = subject.view.layout.properties
    horizon = max(subject.view.now - retention(properties), want.lapsed)
    for path, vector in sorted(have.removed.minus(want.removed), key=str):
        message = f"the checkpoint has a tombstone of {path}{_with(vector)}, which was not removed"
        # An expired one may be older than the log: it can be kept, and be left out earlier.
        old = not want.whole and expired(have.removed[path, vector], horizon)
        yield finding("CKPT-006", place, message, sure=not old)
    yield from _stale(subject)
    # The threshold is the user's: where the table does not say it, it may be a shorter one.
    sure = stated_retention(properties) is not None
    for key in sorted(want.removed.minus(have.removed), key=str):
        if not expired(want.removed[key], horizon):
            message = f"the checkpoint lacks the unexpired tombstone of {key[0]}{_with(key[1])}"
            for requirement in ("CKC-005", "CKPT-007"):
                hint = "vacuum may keep the file for ever"
                yield finding(requirement, place, message, hint, sure=sure)


def expired(tombstone: Body, horizon: int) -> bool:
    """Return whether a tombstone may have expired: one without a time has, as far as is known."""
    stamp = tombstone.get("deletionTimestamp")
    return type(stamp) is not int or stamp <= horizon


def _stale(subject: CheckpointView) -> Findings:
    """Report a checkpoint that has nothing of the commit of its own version."""
    want, have = subject.view.state, subject.content
    commit = subject.view.log.commits.get(subject.checkpoint.version)
    if commit is None:
        return
    lines = commit.content
    added, removed = (
        {key for line in lines.of(action) if (key := line.key)} for action in ("add", "remove")
    )
    lacking, beyond = want.adds.minus(have.adds), have.adds.minus(want.adds)
    fresh = added - removed
    if lacking | beyond and lacking == fresh and beyond == removed - added:
        message = "the checkpoint is that of the version before: its own commit is not in it"
        yield finding("CKPT-005", subject.checkpoint.place, message)


@check("checkpoint content", "CKPT-005 RT-031 CKC-016 CKSCH-012 CKSCH-013", *REPEATED)
def files_are_copied(subject: CheckpointView) -> Findings:
    """Report files and tombstones of which a checkpoint says other things than the log."""
    if not subject.replayed:
        return
    place, view = subject.checkpoint.place, subject.view
    rows = ("CKPT-005", "RT-031")
    yield from file_differences(
        place, view.state, subject.content, view.layout, adds=rows, removes=rows
    )


@check("checkpoint content", "CKPT-005 CKC-016 CKSCH-012 CKSCH-013", screen=lambda x: x.rows.rich)
def typed_copies_agree(subject: CheckpointView) -> Findings:
    """Report typed copies that say other things than the texts of their own rows.

    Where the commits are there, both are checked against those.
    """
    if subject.replayed:
        return
    place, layout = subject.checkpoint.place, subject.view.layout
    for line in subject.of("add"):
        body, path = line.body, line.body.get("path")
        for requirement, message, sure in add_differences(body, body, layout, "CKPT-005", "RT-031"):
            yield finding(requirement, place, f"{path}: {message}", sure=sure)


def wrong_typed_adds(subject: CheckpointView) -> Iterator[tuple[str, Body]]:
    """Yield path and add of each file whose typed statistics are not its text, less the text."""
    rows = subject.rows
    shown = subject.only(rows.rich | rows.irregular) if rows.plain else subject
    for line in shown.of("add"):
        if key := line.key:
            bodies = differing_bodies(line.body, line.body, subject.view.layout)
            yield from ((key[0], body) for body in bodies if body.get("stats") is None)


@check("checkpoint content", "ADD-004", screen=lambda x: x.rows.unescaped)
def escaped_paths(subject: CheckpointView) -> Findings:
    """Report paths with characters that a URI has to escape."""
    for line in subject.of("add", "remove"):
        yield from bare_path("ADD-004", line)


def _with(vector: str | None) -> str:
    return f" with deletion vector {vector}" if vector else ""


@check("checkpoint content", "CKC-002 CKC-003 CKC-006 CKC-007 CKC-008 CKPT-006 DOM-014")
def the_rest_equals_replay(subject: CheckpointView) -> Findings:
    """Report protocol, metadata, transactions and domains that differ from the log."""
    place, want, have = subject.checkpoint.place, subject.view.state, subject.content
    for name in sorted(have.domains.keys() - have.live_domains.keys()):
        yield finding("CKC-008", place, f"the checkpoint keeps the removed domain {name}")
    if subject.replayed:
        names = want.live_domains.keys() | have.live_domains.keys()
        yield from small_differences(place, want, have, want.txns.keys() | have.txns.keys(), names)


def small_differences(
    place: str, want: State, have: State, applications: Iterable[str], domains: Iterable[str]
) -> Findings:
    """Report protocol, metadata, transactions and domains that a checkpoint has otherwise.

    Args:
        place: of the checkpoint.
        want: what the log gives.
        have: what the checkpoint gives.
        applications: those whose transactions are compared.
        domains: those that are compared.
    """
    for action, a, b, requirement in (
        ("protocol", want.protocol, have.protocol, "CKC-002"),
        ("metaData", want.metadata, have.metadata, "CKC-003"),
    ):
        if b is not None and known(action, a) != known(action, b):
            message = f"{action} of the checkpoint differs from the log's"
            yield finding(requirement, place, message)
    for what, action, names, a2, b2, requirement in (
        ("transaction", "txn", applications, want.txns, have.txns, "CKC-006"),
        ("domain", "domainMetadata", domains, want.live_domains, have.live_domains, "CKC-007"),
    ):
        for name in sorted(names):
            if known(action, a2.get(name)) != known(action, b2.get(name)):
                message = f"the {what} {name} of the checkpoint differs from the log's"
                yield finding(requirement, place, message)
                if what == "domain" and name in a2:
                    yield finding("DOM-014", place, message)
            if what == "domain" and name in want.domains and name not in a2:
                yield finding("CKPT-006", place, f"the domain {name} was removed before")


def _with_logged(subject: CheckpointView) -> Iterator[tuple[Body, Key | None, Body]]:
    """Yield each add with its key and the add of the log, which is empty where there is none."""
    lines, log = subject.of("add"), subject.view.state.adds
    while some := [(line.body, file_key(line.body)) for line in islice(lines, _AT_ONCE)]:
        logged = log.actions_of(key for _, key in some)
        yield from ((body, key, logged.get(key, {}) if key else {}) for body, key in some)


def _says(text: Any) -> bool:
    """Return whether statistics as text say anything; what is beyond a limit may."""
    parsed = parse_json(text, exact=True) if isinstance(text, str) else Document(None)
    return parsed.limit is not None or (
        isinstance(parsed.value, Mapping) and is_stated(parsed.value)
    )


def _counts(body: Body) -> bool:
    """Return whether a file has statistics, as text or as a struct, that say anything."""
    return _says(body.get("stats")) or is_stated(body.get("stats_parsed"))


@check("checkpoint content", "CKC-015 CKC-018 CKC-021", screen=without_statistics)
def statistics_as_configured(subject: CheckpointView) -> Findings:
    """Report statistics and typed values that are missing though the table asks for them."""
    layout, place = subject.view.layout, subject.checkpoint.place
    if layout.writer < 3:
        return
    struct = layout.is_true("delta.checkpoint.writeStatsAsStruct")
    text = layout.properties.get("delta.checkpoint.writeStatsAsJson", "true").lower() != "false"
    # The sentences that ask for typed copies are about columns of Parquet.
    columns = bool(subject.checkpoint.sidecars) or not place.endswith(".json")
    for have, key, logged in _with_logged(subject):
        counted = _counts(logged if subject.replayed else have)
        path = key[0] if key else ""
        rules = (
            (
                struct and bool(layout.partitions) and have.get("partitionValues_parsed") is None,
                "CKC-015",
                "partitionValues_parsed",
            ),
            (
                struct and counted and not is_stated(have.get("stats_parsed")),
                "CKC-021",
                "stats_parsed",
            ),
            (text and counted and not _says(have.get("stats")), "CKC-018", "stats"),
        )
        for broken, requirement, field in rules:
            if broken and (
                requirement == "CKC-015"
                or key not in subject.left_out.before(subject.checkpoint.version)
            ):
                message = f"the checkpoint has no {field} of {path}, which the table asks for"
                yield finding(requirement, place, message, sure=columns or field == "stats")
        parsed, stats = have.get("stats_parsed"), statistics_of(have) or statistics_of(logged)
        if struct and stats and isinstance(parsed, Mapping) and is_stated(parsed):
            for name in islice(left_out(stats, parsed, layout), 1):
                message = f"stats_parsed of {path} has no {name}, which its statistics have"
                # It is written, as the sentence asks; of what is in there it says nothing.
                yield finding("CKC-021", place, message, severity="warning")
