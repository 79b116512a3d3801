"""Run every check over a table, in one replay of its log (section Action Reconciliation)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from conformance.audit.checks import (
    column_ids,
    commits,
    domains,
    features,
    high_water_marks,
    metadata,
    names,
    protocols,
    row_tracking,
    timestamps,
    transitions,
    values,
)
from conformance.audit.checks.row_tracking import MATERIALIZED, note_row_ids
from conformance.audit.checks.transitions import Balance, balance_of
from conformance.audit.columnar.keys import FileIndex
from conformance.audit.findings import (
    Check,
    Finding,
    Findings,
    Stage,
    checks_in,
    finding,
    gathered,
)
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.grammar.retention import retention
from conformance.audit.read.layout import Layout, supported_features
from conformance.audit.read.log import AuditError, Checkpoint, Commit, Log, open_log
from conformance.audit.read.raw import Line, Lines
from conformance.audit.read.state import Body, State, timestamp_of
from conformance.audit.revisions import in_revision
from conformance.audit.stored import changes, files, row_ids, rules, vectors
from conformance.audit.stored.change_rows import RowChanges, read_row_changes
from conformance.audit.stored.changes import ChangeView
from conformance.audit.stored.rearranged import Moved, read_moved
from conformance.audit.subjects import (
    CheckpointStep,
    Layouts,
    LogView,
    RepeatedFiles,
    RepeatedStep,
    Step,
    VersionView,
    highest_in,
)
from conformance.audit.summaries import (
    checkpoints,
    checksums,
    columns,
    forms,
    pointers,
    tails,
)
from conformance.audit.summaries.actions import differing_files, restates
from conformance.audit.summaries.checkpoints import (
    CheckpointView,
    FilesWithoutStatistics,
    typed_otherwise,
)
from conformance.audit.summaries.checksums import ChecksumView, Measure
from reference_impl.errors import PlaceRefused
from reference_impl.limits import DEFAULT_LIMITS, Limits, budget, within_limits
from reference_impl.places import SAME_STORE, Outside
from reference_impl.storage import Storage, open_storage

CHECKS: Final = checks_in(
    names, pointers,
    commits, protocols, metadata, column_ids, transitions, domains, values, timestamps,
    high_water_marks, row_tracking, features,
    checkpoints, tails, columns, forms, checksums,
    rules, files, changes, vectors, row_ids,
)  # fmt: skip
"""Every check that an audit runs."""


def checks_of(*stages: Stage) -> tuple[Check[Any], ...]:
    """Return the checks of some stages, in the order in which they run."""
    return tuple(check for check in CHECKS if check.stage in stages)


_ACTIVE: Final = ("icebergCompatV1", "icebergCompatV2", "variantShredding")
"""Features that ask something of the files that come while they are active."""


def _content(checkpoint: Checkpoint, index: FileIndex) -> State:
    state = State(index)
    state.apply(checkpoint.version, checkpoint.all)
    state.names = None
    state.begun = checkpoint.version
    return state


def _screened(check: Check[Any], subject: Any) -> Findings:
    """Run a check over what its screen shows of the subject, irregular rows always among it."""
    if check.screen is not None and SCREENS and subject.rows.plain:
        subject = subject.only(check.screen(subject) | subject.rows.irregular)
    yield from check.run(subject)


SCREENS: Final = True
"""Whether screens are used; without them every check sees every row, and finds the same."""


def _starts(log: Log) -> tuple[State, bool]:
    """Return the state before the first commit that can be replayed, and whether it is known."""
    first = min(log.commits, default=None)
    if first == 0:
        return State(log.index), True
    for checkpoint in log.checkpoints:
        usable = first is None or checkpoint.version >= first - 1
        if checkpoint.complete and usable and not checkpoint.all.damaged:
            content = _content(checkpoint, log.index)
            if "rowTracking" in supported_features(content.protocol):
                content.given = highest_in(checkpoint.all)
            # A checkpoint has no timestamp; its commit may be there.
            own = log.commits.get(checkpoint.version)
            content.timestamp = None if own is None else timestamp_of(own.content)
            return content, True
    return State(log.index, known=False), False


_CHANGING: Final = frozenset({"cdc", "domainMetadata", "metaData", "protocol"})
"""Small actions that are judged beside the files that a part of the table has."""


_FILE_FIELDS: Final = ("size", "stats", "stats_parsed", "deletionVector")
"""Fields of an add that its files can be compared with."""


Sum: TypeAlias = Measure | Balance | RowChanges | Moved
"""What is known of a version by parts of its files, which add up."""


class Run:
    """One run over the log of one table, or over those of its file actions that a log was given.

    Over a part of the file actions, checks that are :attr:`~Check.whole` are left to the
    caller that has all of them; what they need of the part is kept in the attributes.

    Attributes:
        sums: what parts of the table add up to, of each version: numbers of the files where it has
            a checksum, rows that its commit brings and takes away, or moves, and those of files
            that it rearranges.
        latest: the latest version; ``None`` where the log does not give its state.
    """

    def __init__(  # noqa: PLR0913  each is one option of a run
        self,
        storage: Storage,
        log: Log,
        *,
        data: bool,
        whole: bool = True,
        first: bool = True,
        now: int | None = None,
    ) -> None:
        """Take a log.

        Args:
            storage: where the table is.
            log: of the table.
            data: also look at data files; over a part of the table, at change files alone.
            whole: the log has all file actions.
            first: also look at commits without any of its file actions.
            now: current time in ms since the epoch.
        """
        self.sums: list[tuple[int, Sum]] = []
        self.latest: VersionView | None = None
        self._storage = storage
        self._data = data
        self._log = log
        self._whole = whole
        self._first = first
        self._layouts = Layouts()
        self._noted: Layout | None = None
        self._ruled: frozenset[str] = frozenset()
        self._visited: set[Checkpoint] = set()
        self._left_out = FilesWithoutStatistics(log.checkpoints)
        self._complete: dict[int, list[Checkpoint]] = {}
        self._partial: dict[int, list[Checkpoint]] = {}
        for checkpoint in self._log.checkpoints:
            held = self._complete if checkpoint.complete else self._partial
            held.setdefault(checkpoint.version, []).append(checkpoint)
        self._judged: set[int] = set()
        self._compacted: dict[int, list[tuple[str, Lines]]] = {}
        for file, content in self._log.compactions:
            self._compacted.setdefault(file.end, []).append((file.name, content))
        self._now = int(time.time() * 1000) if now is None else now

    def run(self) -> Findings:
        """Yield every finding, log first, then version by version, then the files."""
        yield from self._of(checks_of("log"), LogView(self._storage, self._log, self._now))
        state, known = _starts(self._log)
        if state.version >= 0:
            yield from self._left_behind(state)
            # What a checkpoint has may be older than what is active in it.
            self._note(state, state.version + 1)
            yield from self._version(state, replayed=False)
        for version, commit in self._log.commits.items():
            if version <= state.version:
                continue  # older than the checkpoint that the replay starts from
            state.known = state.known and version == state.version + 1
            step = Step(commit, state, self._layouts)
            if self._is_mine(step):
                yield from self._of(checks_of("commit", "definition", "add"), step)
                if self._data:
                    yield from self._of(checks_of("change"), ChangeView(step, self._storage))
                self.sums += [(version, found) for found in self._sums(step) if found is not None]
            note_row_ids(step)
            state.apply(version, commit.content)
            commit.content.rows.forget()
            self._note(state, version)
            yield from self._version(state, replayed=state.known)
        for checkpoint in self._log.checkpoints:
            if checkpoint.complete and checkpoint not in self._visited:
                # Older than the replay, or newer than every commit: judged by itself.
                content = _content(checkpoint, state.index)
                yield from self._checkpoint(checkpoint, content, replayed=False)
        yield from self._latest(state, known=known)

    def _sums(self, step: Step) -> Iterator[Sum | None]:
        """Yield what parts of a commit add up to, for who has only a part."""
        if not self._whole:
            yield balance_of(step)
            if self._data:
                yield read_row_changes(step, self._storage)
                yield read_moved(step, self._storage)

    def _is_mine(self, step: Step) -> bool:
        # What changes the table may be wrong because of files that are in this part alone.
        changes = any(line.action in _CHANGING for line in step.small)
        return self._first or changes or len(step.rows) > 0

    def _left_behind(self, start: State) -> Findings:
        """Judge commits that a cleanup left below the checkpoint, by what they say themselves.

        Protocol and metadata of the checkpoint are theirs, back to the last commit that sets one.
        """
        left: list[Commit] = []
        for version, commit in self._log.commits.items():
            if version <= start.version:
                if any(x.action in ("metaData", "protocol") for _, x in commit.content.small):
                    left.clear()
                left.append(commit)
        for commit in left:
            before = State(self._log.index, known=False)
            before.protocol, before.metadata = start.protocol, start.metadata
            step = Step(commit, before, self._layouts)
            if self._is_mine(step):
                yield from self._of(checks_of("commit", "definition", "add"), step)

    def _note(self, state: State, version: int) -> None:
        layout = self._layouts.get(state.protocol, state.metadata)
        if not state.known:
            state.names = None
        if layout is not self._noted:
            self._lapse(state, layout)
            self._noted, state.used = layout, state.used | layout.used
            self._ruled = rules.lasting_rules(layout)
            if state.names is not None:
                state.names |= layout.top_names
            state.hidden |= {layout.properties[n] for n in MATERIALIZED if n in layout.properties}
            if layout.mode == "none":
                state.paths.clear()
            for path, number in layout.physical_ids:
                state.paths.setdefault(path, set()).add(number)
            for column in layout.columns:
                state.widened |= {(column.identity, path) for path, _, _ in column.type_changes}
        if layout.active("inCommitTimestamp"):
            # Known where the log has the version that turned them on.
            state.stamped = state.stamped or (version, state.timestamp, state.version == version)
        else:
            state.stamped = None
        mapped = {"columnMapping"} if layout.mode != "none" else set()
        state.note(mapped | self._ruled | set(filter(layout.active, _ACTIVE)), version)

    def _lapse(self, state: State, layout: Layout) -> None:
        """Note which tombstones may be gone where their retention becomes longer."""
        if self._noted is None:
            return
        former = retention(self._noted.properties)
        if former >= retention(layout.properties):
            return
        removed = state.removed.wholes("deletionTimestamp")
        if len(removed):
            state.lapsed = max(state.lapsed, min(self._now - former, int(removed.max())))

    def _view(self, state: State) -> VersionView:
        layout = self._layouts.get(state.protocol, state.metadata)
        return VersionView(self._storage, state, layout, self._log, self._now)

    def _version(self, state: State, *, replayed: bool) -> Findings:
        view = self._view(state)
        budget().check_time()
        for checkpoint in self._partial.get(state.version, ()) if self._first else ():
            subject = CheckpointView(checkpoint, state, view, replayed, self._left_out)
            yield from self._of(checks_of("checkpoint parts"), subject)
        for checkpoint in self._complete.get(state.version, ()):
            yield from self._checkpoint(checkpoint, state, replayed=replayed)
            if not state.known and not checkpoint.all.damaged:
                state.adopt(_content(checkpoint, state.index))
        document = self._log.checksums.get(state.version)
        if document is not None and state.known:
            summed = ChecksumView(document, view)
            if not self._whole:
                self.sums.append((state.version, summed.measure))
            yield from self._of(checks_of("checksum"), summed)
            yield from self._repeated(summed.definitions, summed.place, state)
            yield from self._differing(summed.differing, summed.place, view)
        for name, content in self._compacted.get(state.version, ()) if state.known else ():
            lines = [line for _, line in content.small]
            yield from self._repeated(lines, f"{LOG_DIR}/{name}", state)
            if self._data and len(content.rows):
                have = State(state.index)
                have.apply(state.version, content)
                files = differing_files(state, have, view.layout)
                yield from self._differing(files, f"{LOG_DIR}/{name}", view)

    def _differing(
        self, files: Iterable[tuple[str, Body]], place: str, view: VersionView
    ) -> Findings:
        """Judge what a summary says otherwise than its version of files by those."""
        if self._data:
            subject = RepeatedFiles(view.storage, view.state, view.layout, place, self._new(files))
            yield from self._of(checks_of("repeated"), subject)

    def _new(self, files: Iterable[tuple[str, Body]]) -> Iterator[tuple[str, Body]]:
        """Leave out what another summary said of a file before."""
        for path, body in files:
            stated = hash(repr((path, [body.get(name) for name in _FILE_FIELDS])))
            if stated not in self._judged:
                self._judged.add(stated)
                yield path, body

    def _repeated(self, lines: Sequence[Line], place: str, state: State) -> Findings:
        """Judge what a summary says otherwise than its version by what it says itself."""
        if self._first and restates(lines, state):
            step = RepeatedStep(lines, place, state, self._layouts)
            yield from self._of(checks_of("definition"), step)

    def _checkpoint(self, checkpoint: Checkpoint, state: State, *, replayed: bool) -> Findings:
        self._visited.add(checkpoint)
        content = _content(checkpoint, state.index)
        # What is not replayed may have changed in commits that are gone.
        view = self._view(state if replayed else content)
        subject = CheckpointView(checkpoint, content, view, replayed, self._left_out)
        readable = () if checkpoint.all.damaged else checks_of("checkpoint content")
        for check in (*checks_of("checkpoint parts", "checkpoint"), *readable):
            # What the whole has to report of one is reported without its file actions.
            if self._first or not check.whole:
                yield from _screened(check, subject)
        if readable and not replayed:
            step = CheckpointStep(checkpoint, subject.content.index, self._layouts)
            yield from self._of(checks_of("definition") if self._first else (), step)
            yield from self._of(checks_of("add"), step)
            files = typed_otherwise(subject)
            yield from self._differing(files, checkpoint.place, view)
        elif readable:
            lines = [line for _, line in checkpoint.all.small]
            yield from self._repeated(lines, checkpoint.place, state)
            files = differing_files(state, content, view.layout)
            yield from self._differing(files, checkpoint.place, view)
        checkpoint.forget()

    def _latest(self, state: State, *, known: bool) -> Findings:
        if not known and not state.known:
            return  # the missing beginning is reported; the rest would only echo it
        place = f"{LOG_DIR}, version {state.version}"
        for action, body, requirement in (
            ("protocol", state.protocol, "REC-002"),
            ("metaData", state.metadata, "REC-003"),
        ):
            if body is None:
                yield finding(requirement, place, f"the latest version has no {action}")
        view = self._view(state)
        self.latest = view
        yield from self._of(checks_of("version"), view)
        if self._data and self._whole:
            yield from self._of(checks_of("files"), view)

    def _of(self, checks: Iterable[Check[Any]], subject: Any) -> Findings:
        for check in checks:
            if self._whole or not check.whole:
                yield from _screened(check, subject)


def audit(  # noqa: PLR0913  each keyword is one option of an audit
    location: str,
    *,
    data: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    outside: Outside = SAME_STORE,
    stores: Mapping[str, Any] | None = None,
    revision: str | None = None,
) -> list[Finding]:
    """Check a table on disk or in an object store against the protocol.

    Args:
        location: path or URL of the table root.
        data: also open the live data files, to check them against sizes, statistics and schema.
        limits: what the audit may take. What is beyond one of them, such as a data file, is not
            checked, and a finding with ``limit`` says so.
        outside: which places outside of the root are looked at; see
            :func:`reference_impl.storage.open_storage`.
        stores: options of other stores, as there.
        revision: report what breaks this text of the protocol, a key of
            ``SELECTIONS`` of the registry; what breaks any of them for ``None``.

    Returns:
        Findings, the gravest first, in the order of the log within one severity. Empty for a
        table that breaks nothing.

    Raises:
        AuditError: there is no log at the location, it cannot be listed, or a file of it lies
            outside of the root where ``outside`` keeps it from being read.
        ValueError: there is no such revision.
        LimitExceeded: the time is up, or the system has no memory left.
    """
    try:
        storage = open_storage(location, outside=outside, stores=stores)
    except PlaceRefused as error:
        raise AuditError(location, error.message) from error
    try:
        with within_limits(limits, "audit"):
            run = Run(storage, open_log(storage), data=data).run()
            return gathered(run if revision is None else in_revision(run, revision), revision)
    except PlaceRefused as error:  # of a file of the log, without which nothing is known
        raise AuditError(location, str(error)) from error
