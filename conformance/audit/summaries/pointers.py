"""Checks of ``_last_checkpoint`` and of log compactions.

Covers "Last Checkpoint File", "JSON checksum" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np

import schemas
from conformance.audit.checks.commits import (
    bare_path,
    fault_finding,
    line_findings,
    schema_findings,
    without_nulls,
)
from conformance.audit.columnar.keys import Codes, FileIndex, repeated
from conformance.audit.columnar.rows import ADD
from conformance.audit.findings import Findings, check, finding, unchecked
from conformance.audit.grammar.log_files import HINT, LOG_DIR, LogFile
from conformance.audit.grammar.retention import retention, stated_retention
from conformance.audit.read.layout import layout_of, supported_features
from conformance.audit.read.log import Checkpoint, Log
from conformance.audit.read.raw import Lines
from conformance.audit.read.state import Body, Key, State
from conformance.audit.subjects import LogView
from conformance.audit.summaries.actions import REPEATED, known_of
from conformance.audit.summaries.canonical_json import broken_rules, canonical_form, digest
from conformance.audit.summaries.checkpoints import expired
from conformance.audit.summaries.cut_compactions import (
    commits_left,
    compared_with_remaining_log,
    differences,
)
from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget, exceeded


@check("log", "LASTS-001 SUM-013", *schemas.requirements("log/last-checkpoint"), whole=True)
def valid_hint(view: LogView) -> Findings:
    """Report a hint that is no JSON, breaks its schema, or repeats a key."""
    hint = view.log.hint
    if hint is None:
        return
    advice = "readers fall back to listing the log"
    if hint.limit is not None:
        yield unchecked("LASTS-001", HINT, hint.limit)
        return
    if hint.fault is not None:
        message = f"_last_checkpoint is not JSON: {hint.fault}"
        yield finding("LASTS-001", HINT, message, advice)
        return
    for key in hint.duplicates:
        yield finding("SUM-013", HINT, f"the key {key} occurs twice", advice)
    for each in schema_findings("log/last-checkpoint", hint.value, HINT, "LASTS-001"):
        # How the schema of a checkpoint is written there, no sentence says.
        free = each.requirement != "LASTS-007" and each.message.startswith(_SCHEMA)
        yield replace(each, severity="warning") if free else each


_SCHEMA: Final = "/checkpointSchema"


@check(
    "log",
    "SUM-001 SUM-002 SUM-003 SUM-004 SUM-005 SUM-006 SUM-007 SUM-008 SUM-009 SUM-010",
    "SUM-011 SUM-012 SUM-015 SUM-016 SUM-017 SUM-018 LASTS-009",
    whole=True,
)
def hint_checksum(view: LogView) -> Findings:
    """Report a checksum that is not that of the hint's other fields."""
    document = view.log.hint.spelt if view.log.hint else None
    stated = document.get("checksum") if isinstance(document, dict) else None
    if isinstance(document, dict) and isinstance(stated, str):
        try:
            right = digest(canonical_form(document))
        except LimitExceeded as error:
            yield unchecked("SUM-001", HINT, error)
            return
        if right == stated.lower():
            # Which letters the digits of a digest have, no sentence says.
            if right != stated:
                message = "checksum is in capitals, which not every reader takes"
                yield finding("LASTS-009", HINT, message, severity="warning")
        else:
            message = f"checksum is {stated}, the fields have {right}"
            yield finding("SUM-001", HINT, message)
            for requirement in broken_rules(document, stated):
                message = "checksum is that of a form which breaks this rule alone"
                yield finding(requirement, HINT, message)


@check("log", "LASTS-002 LASTS-003 LASTS-004 LASTS-005 LASTS-006", whole=True)
def hint_describes_its_checkpoint(view: LogView) -> Findings:
    """Report numbers of the hint that its checkpoint does not have."""
    document = view.log.hint.value if view.log.hint else None
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        return
    named = [c for c in view.log.checkpoints if c.version == document["version"] and c.complete]
    if not named:
        message = f"there is no complete checkpoint of version {document['version']}"
        # It may have been there when the hint was written: no sentence keeps a checkpoint.
        latest = max([*view.log.commits, *(c.version for c in view.log.checkpoints)], default=-1)
        sure = not 0 <= document["version"] <= latest
        advice = "readers fall back to listing the log"
        yield finding("LASTS-002", HINT, message, advice, sure=sure)
        return
    parts = document.get("parts")
    kinds = {c.files[0].parts or None for c in named}
    if parts not in kinds and not (parts == 1 and None in kinds):
        message = f"parts is {parts}, the checkpoint has {max(filter(None, kinds), default=None)}"
        # It may be left out, and what is there has to be right.
        yield finding("LASTS-004", HINT, message, severity="error" if parts else "warning")
        return
    meant = [c for c in named if (c.files[0].parts or None) == parts] or named
    best = [list(_wrong_numbers(document, checkpoint, view)) for checkpoint in meant]
    # Several checkpoints of one version are legal; the hint fits if it fits one.
    yield from min(best, key=len)


def _wrong_numbers(document: dict[str, Any], checkpoint: Checkpoint, view: LogView) -> Findings:
    if checkpoint.top.faults:
        return
    counted = checkpoint.all.counts()
    known = counted.total() - counted[None]
    sizes = [sum(entry.size for entry in checkpoint.entries)]
    counts = [known, checkpoint.top.counts().total()]
    plain = known - counted["checkpointMetadata"] - counted["sidecar"]
    sizes.append(sizes[0] + sum(_sidecar_bytes(checkpoint)))
    for field, right, requirement in (
        ("size", counts, "LASTS-003"),
        ("sizeInBytes", sizes, "LASTS-005"),
        ("numOfAddFiles", [counted["add"]], "LASTS-006"),
    ):
        stated = document.get(field)
        if type(stated) is int and stated not in right:
            message = f"{field} is {stated}, the checkpoint has {right[0]}"
            raced = field == "size" and (
                _of_other_spec(stated, plain, checkpoint)
                or any(_explained(stated - count, checkpoint, view) for count in counts)
            )
            hint = "another writer may have made it otherwise" if raced else ""
            sure = field == "size" and not raced
            yield finding(requirement, HINT, message, hint, sure=sure)


def _of_other_spec(stated: int, plain: int, checkpoint: Checkpoint) -> bool:
    """Return whether a classic checkpoint of the other spec may have so many actions.

    Of two writers that race for one name, one may have written by V1 and the other by V2, with as
    many sidecars as it liked.

    Args:
        stated: the number of the hint.
        plain: the number of actions that both have.
        checkpoint: the one that is there.
    """
    protocol = next((line.body for line in checkpoint.all.of("protocol")), None)
    may_be_v2 = "v2Checkpoint" in supported_features(protocol)
    if checkpoint.kind != "classic_checkpoint" or not may_be_v2:
        return False
    counted = checkpoint.all.counts()
    files = counted["add"] + counted["remove"]
    more = 2 if files else 1  # checkpoint metadata, and a sidecar at least
    return stated == plain or stated >= plain - files + more


_SHORT_RETENTION: Final = 3_600_000
"""Least ms that users who state no retention may keep tombstones for."""


def _explained(more: int, checkpoint: Checkpoint, view: LogView) -> bool:
    """Return whether a lawful checkpoint of the same version may have so many actions more.

    Of two writers that race, one may leave its checkpoint and the other its hint. Both hold the
    same but for tombstones that expire in between. Those before the log are not known.
    """
    commits = [each.content for n, each in view.log.commits.items() if n <= checkpoint.version]
    metadata = [x.body for lines in (checkpoint.all, *commits) for x in lines.of("metaData")]
    stated = [stated_retention(layout_of(None, body).properties) for body in metadata]
    # The threshold is the user's: where the table does not say it, it may be a short one.
    horizon = view.now - min(
        (_SHORT_RETENTION if each is None else each for each in stated), default=_SHORT_RETENTION
    )
    if more < 0:
        return sum(expired(x.body, horizon) for x in checkpoint.all.of("remove")) >= -more
    if min(view.log.commits, default=1) > 0:
        return True
    removed = {
        key
        for lines in commits
        for x in lines.of("remove")
        if (key := x.key) is not None and expired(x.body, horizon)
    }
    if len(removed) >= more:
        removed.difference_update(x.key for x in checkpoint.all.of("add", "remove") if x.key)
    return len(removed) >= more


def _sidecar_bytes(checkpoint: Checkpoint) -> Iterator[int]:
    for line in checkpoint.top.of("sidecar"):
        size = line.body.get("sizeInBytes")
        if type(size) is int:
            yield size


class _Replay:
    """The commits of compactions, which come by start and end: each goes on with the last one."""

    def __init__(self, log: Log) -> None:
        """Begin with no commit."""
        self._log = log
        self._latest = max(log.commits, default=-1)
        self._start = 0
        self._left = budget().limits.compacted
        self._clear(0)

    def _clear(self, start: int) -> None:
        self._start = self._next = start
        self._whole = True
        self._state, self._contents = State(self._log.index), list[Lines]()

    def spend(self, commits: int) -> None:
        """Count commits that are replayed for a compaction.

        Raises:
            LimitExceeded: those of all compactions together are too many.
        """
        if self._left < commits:
            raise exceeded("compacted", "the compactions of the log overlap")
        self._left -= commits

    def to(self, file: LogFile) -> tuple[State, list[Lines]] | None:
        """Return the state that the commits of a compaction give, and what each holds.

        ``None`` where one of them is gone, or something in it is broken.

        Raises:
            LimitExceeded: the commits of all compactions together are too many.
        """
        if file.version != self._start or file.end < self._next - 1:
            self._clear(file.version)
        # A range that reaches beyond the latest commit costs nothing: its next one is missing.
        for version in range(self._next, min(file.end, self._latest + 1) + 1):
            commit = self._log.commits.get(version)
            self._whole = self._whole and commit is not None and not commit.content.damaged
            if commit is None or not self._whole:
                break
            self.spend(1)
            self._state.apply(version, commit.content)
            self._contents.append(commit.content)
            self._next = version + 1
        return (self._state, self._contents) if self._whole else None


@check(
    "log",
    "COMP-004 COMP-005 COMP-006 COMP-007 COMP-008 COMP-009 COMP-012 DOM-014 REC-005 ADD-004",
    *REPEATED,
    *schemas.requirements("log/commit-line"),
)
def compactions(view: LogView) -> Findings:
    """Report compactions that do not hold the reconciled actions of their commits."""
    replay, before = _Replay(view.log), _Before(view)
    latest = max(view.log.commits, default=None)
    first = min(view.log.commits, default=0)
    for file, content in view.log.compactions:
        budget().check_time()
        place = f"{LOG_DIR}/{file.name}"
        if any(fault.kind == "empty" for fault in content.faults) and _keeps_nothing(replay, file):
            continue
        yield from _line_by_line(content)
        if latest is not None and file.end > latest:
            message = f"the compaction reaches to version {file.end}, which is not committed"
            yield finding("COMP-012", place, message, severity="warning")
        if content.damaged:
            continue  # something is broken, and reported
        try:
            replayed = replay.to(file)
        except LimitExceeded as error:
            yield unchecked("COMP-004", place, error)
            continue
        if replayed is not None:
            want, commits = replayed
            yield from _same(file, want, content, commits, before)
            continue
        if file.version >= first:
            continue  # what is broken within the log is reported
        left = commits_left(file, view.log)
        try:
            replay.spend(len(left) + 1)
        except LimitExceeded as error:
            yield unchecked("COMP-004", place, error)
            continue
        have = State(view.log.index)
        have.apply(file.end, content)
        yield from _repeated(content, have.index)
        yield from compared_with_remaining_log(place, file, have, view.log, left)


def _keeps_nothing(replay: _Replay, file: LogFile) -> bool:
    """Return whether the commits of a compaction are known to hold nothing that is reconciled."""
    try:
        replayed = replay.to(file)
    except LimitExceeded:
        return False
    if replayed is None:
        return False
    want = replayed[0]
    held = (want.adds, want.removed, want.txns, want.domains, want.metadata, want.protocol)
    return not any(each is not None and len(each) for each in held)


def _line_by_line(content: Lines) -> Findings:
    """Report lines of a compaction that no log file may have."""
    for fault in content.faults:
        yield fault_finding("COMP-005", fault)
    irregular = content.rows.irregular  # a plain row breaks no rule of the schema
    documents = ((without_nulls(line), line.place) for line in content.every(irregular))
    for found in line_findings("log/commit-line", documents, "COMP-005"):
        ours = found.requirement == "LOG-004"
        yield replace(found, requirement="COMP-005") if ours else found
    for line in content.of("add", "remove", shown=content.rows.unescaped | irregular):
        yield from bare_path("ADD-004", line)
    for action, requirement in (("sidecar", "SCA-001"), ("checkpointMetadata", "CKM-001")):
        for line in content.of(action):
            yield finding(requirement, line.place, f"a compaction has a {action} action")


def _added(keys: set[Key], commits: Sequence[Lines], index: FileIndex) -> set[Key]:
    """Return which of the files, by their keys, one of the commits adds."""
    if not keys:
        return set()
    codes = [index.codes_of(lines.rows)[lines.rows.kind == ADD] for lines in commits]
    added = set(np.concatenate(codes).tolist()) if codes else set()
    return {key for key in keys if index.code(key) in added}


class _Before:
    """What the commits before the range of a compaction say; the log is looked through once.

    Attributes:
        whole: whether the log has all of them.
    """

    def __init__(self, view: LogView) -> None:
        """Take the log."""
        self._view = view
        self._commits = view.log.commits
        self.whole = min(self._commits, default=0) == 0

    def expired(self, file: LogFile, want: State, lost: set[Key]) -> set[Key]:
        """Return the files of some that the range alone had, and whose tombstones have expired."""
        if not lost:
            return set()
        before = [version for version in self._metadata if version < file.version]
        metadata = want.metadata or (self._metadata[max(before)] if before else None)
        horizon = self._view.now - retention(layout_of(want.protocol, metadata).properties)
        old = {key for key in lost if expired(want.removed[key], horizon)}
        first = self._first_adds
        return {key for key in old if file.version <= first[want.index.code(key)] <= file.end}

    def ended(self, file: LogFile, want: State, have: State) -> set[str]:
        """Return the domains that a compaction lacks, and that the range both set and removed."""
        lost = {name for name, body in want.domains.items() if body.get("removed") is True}
        lost -= have.domains.keys()
        if not self.whole or not lost:
            return set()
        return {name for name in lost if self._first_domains[name] >= file.version}

    @cached_property
    def _metadata(self) -> dict[int, Body]:
        """The metadata of each version that has one."""
        found = ((number, each.content.of("metaData")) for number, each in self._commits.items())
        return {number: line.body for number, lines in found for line in lines}

    @cached_property
    def _first_domains(self) -> dict[str, int]:
        """The version that first has each domain."""
        found: dict[str, int] = {}
        for version, commit in self._commits.items():
            for line in commit.content.of("domainMetadata"):
                found.setdefault(str(line.body.get("domain")), version)
        return found

    @cached_property
    def _first_adds(self) -> Codes:
        """The version that first adds each file, by the code of its key; -1 where none does."""
        index = self._view.log.index
        found = np.full(index.keys, -1)
        for version in sorted(self._commits, reverse=True):
            rows = self._commits[version].content.rows
            found[index.codes_of(rows)[rows.kind == ADD]] = version
        return found


def _same(
    file: LogFile, want: State, content: Lines, commits: Sequence[Lines], before: _Before
) -> Findings:
    """Compare a compaction with its commits."""
    place = f"{LOG_DIR}/{file.name}"
    layout, have = layout_of(want.protocol, want.metadata), State(want.index)
    have.apply(0, content)
    yield from _repeated(content, have.index)
    lost = want.removed.minus(have.removed)
    older = lost - _added(lost, commits, want.index)
    for key in sorted(map(str, older)):
        message = f"the compaction lacks the tombstone of {key}, an older file"
        yield finding("COMP-007", place, message, "readers bring its rows back")
    ended = before.ended(file, want, have)
    wanted = {name: body for name, body in want.domains.items() if name not in ended}
    txns, domains = (
        [known_of(action, bodies) for bodies in pair]
        for action, *pair in (
            ("txn", want.txns, have.txns),
            ("domainMetadata", wanted, have.domains),
        )
    )
    # A tombstone remains until it has expired; what came before the range is gone by this one.
    spent = before.expired(file, want, lost - older)
    others = (lost - older - spent) | (have.removed.minus(want.removed))
    for key in () if before.whole else sorted(map(str, spent)):
        message = f"the compaction lacks the expired tombstone of {key}"
        hint = "readers bring its rows back if it is older than the range"
        yield finding("COMP-006", place, message, hint, severity="warning")
    for name in sorted(ended):
        message = f"the compaction lacks the removal of the domain {name}, which began in its range"
        yield finding("COMP-004", place, message, severity="warning")
    rules: tuple[tuple[Any, Any, str, str], ...] = (
        (want.adds.has_keys_of(have.adds), True, "COMP-004", "added files"),
        (others, set(), "COMP-006", "tombstones"),
        (want.txns.keys(), have.txns.keys(), "COMP-004", "applications"),
        (txns[0], txns[1], "COMP-008", "transactions"),
        (domains[0], domains[1], "COMP-004", "domains"),
    )
    for a, b, requirement, what in rules:
        if a != b:
            message = f"the {what} of the compaction differ from those of its commits"
            yield finding(requirement, place, message)
    for name in sorted(wanted.keys() - have.domains.keys()):
        yield finding("DOM-014", place, f"the compaction lacks the domain {name}")
    for name in sorted(domains[0].keys() & domains[1].keys()):
        if domains[0][name] != domains[1][name]:
            yield finding("DOM-014", place, f"the compaction has the domain {name} otherwise")
    yield from differences(place, want, have, layout)
    if any(content.of("commitInfo")):
        message = "the compaction keeps a commitInfo"
        yield finding("COMP-009", place, message, severity="info")


_KEYED_ACTIONS: Final = ("txn", "domainMetadata")
"""Actions of which there is one for each application or domain."""


def _repeated(content: Lines, index: FileIndex) -> Findings:
    """Report a small action, or one of a file, that the compaction has already."""
    again = repeated(index.codes_of(content.rows))
    files = set()
    for line in content.of("add", "remove", shown=again | content.rows.irregular):
        file = line.key
        if file is not None and file in files:
            message = f"the compaction has another action of {file[0]}"
            yield finding("COMP-004", line.place, message)
        files.add(file)
    for line in content.of("cdc"):
        message = "the compaction keeps a cdc, which is no part of what reconciling gives"
        yield finding("COMP-004", line.place, message, severity="warning")
    seen = set()
    for line in content.of("txn", "domainMetadata", "metaData", "protocol"):
        name = (
            line.body.get("appId", line.body.get("domain"))
            if line.action in _KEYED_ACTIONS
            else None
        )
        key = line.action, str(name)
        if key in seen:
            of = f" of {name}" if line.action in _KEYED_ACTIONS else ""
            message = f"the compaction has another {line.action}{of}"
            broken = {"txn": ("COMP-008",), "domainMetadata": ("COMP-004", "REC-005")}
            for requirement in broken.get(str(line.action), ("COMP-004",)):
                yield finding(requirement, line.place, message)
        seen.add(key)
