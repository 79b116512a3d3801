"""Run every check over a table, in one replay of its log (section Action Reconciliation)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from conformance.audit.checker import Checker, checks_of
from conformance.audit.checks.row_tracking import MATERIALIZED, note_row_ids
from conformance.audit.checks.transitions import Balance, balance_of
from conformance.audit.findings import Finding, Findings, finding, gathered
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.grammar.retention import retention
from conformance.audit.read.layout import Layout, supported_features
from conformance.audit.read.log import AuditError, Commit, Log, open_log
from conformance.audit.read.state import State, timestamp_of
from conformance.audit.revisions import in_revision
from conformance.audit.stored import rules
from conformance.audit.stored.change_rows import RowChanges, read_row_changes
from conformance.audit.stored.changes import ChangeView
from conformance.audit.stored.rearranged import Moved, read_moved
from conformance.audit.subjects import LogView, Step, VersionView, highest_in
from conformance.audit.summaries.checksums import Measure
from conformance.audit.summary_checks import Summaries, content_of
from reference_impl.errors import PlaceRefused
from reference_impl.limits import DEFAULT_LIMITS, Limits, within_limits
from reference_impl.places import SAME_STORE, Outside
from reference_impl.storage import open_storage

_ACTIVE: Final = ("icebergCompatV1", "icebergCompatV2", "variantShredding")
"""Features that ask something of the files that come while they are active."""


def _starts(log: Log) -> tuple[State, bool]:
    """Return the state before the first commit that can be replayed, and whether it is known."""
    first = min(log.commits, default=None)
    if first == 0:
        return State(log.index), True
    for checkpoint in log.checkpoints:
        usable = first is None or checkpoint.version >= first - 1
        if checkpoint.complete and usable and not checkpoint.all.damaged:
            content = content_of(checkpoint, log.index)
            if "rowTracking" in supported_features(content.protocol):
                content.given = highest_in(checkpoint.all)
            # A checkpoint has no timestamp; its commit may be there.
            own = log.commits.get(checkpoint.version)
            content.timestamp = None if own is None else timestamp_of(own.content)
            return content, True
    return State(log.index, known=False), False


_CHANGING: Final = frozenset({"cdc", "domainMetadata", "metaData", "protocol"})
"""Small actions that are judged beside the files that a part of the table has."""

Sum: TypeAlias = Measure | Balance | RowChanges | Moved
"""What is known of a version by parts of its files, which add up."""


class Run:
    """One run over the log of one table, or over those of its file actions that a log was given.

    What only the caller that has all of them can judge is kept in the attributes.

    Attributes:
        sums: what parts of the table add up to, of each version: numbers of the files where it has
            a checksum, rows that its commit brings and takes away, or moves, and those of files
            that it rearranges.
        latest: the latest version; ``None`` where the log does not give its state.
    """

    def __init__(self, checker: Checker) -> None:
        """Take the log of a checker."""
        self.sums: list[tuple[int, Sum]] = []
        self.latest: VersionView | None = None
        self._log = checker.log
        self._checker = checker
        self._summaries = Summaries(checker)
        self._noted: Layout | None = None
        self._ruled: frozenset[str] = frozenset()

    def run(self) -> Findings:
        """Yield every finding, log first, then version by version, then the files."""
        checker = self._checker
        yield from checker.run(checks_of("log"), LogView(checker.storage, self._log, checker.now))
        state, known = _starts(self._log)
        if state.version >= 0:
            yield from self._left_behind(state)
            # What a checkpoint has may be older than what is active in it.
            self._note(state, state.version + 1)
            yield from self._summaries.of(state, replayed=False)
        for version, commit in self._log.commits.items():
            if version <= state.version:
                continue  # older than the checkpoint that the replay starts from
            state.known = state.known and version == state.version + 1
            step = Step(commit, state, checker.layouts)
            if self._is_mine(step):
                yield from checker.run(checks_of("commit", "definition", "add"), step)
                if checker.data:
                    yield from checker.run(checks_of("change"), ChangeView(step, checker.storage))
                self.sums += [(version, found) for found in self._sums(step) if found is not None]
            note_row_ids(step)
            state.apply(version, commit.content)
            commit.content.rows.forget()
            self._note(state, version)
            yield from self._summaries.of(state, replayed=state.known)
        yield from self._summaries.left(state.index)
        self.sums += self._summaries.measures
        yield from self._latest(state, known=known)

    def _sums(self, step: Step) -> Iterator[Sum | None]:
        """Yield what parts of a commit add up to, for who has only a part."""
        checker = self._checker
        if not checker.whole:
            yield balance_of(step)
            if checker.data:
                yield read_row_changes(step, checker.storage)
                yield read_moved(step, checker.storage)

    def _is_mine(self, step: Step) -> bool:
        # What changes the table may be wrong because of files that are in this part alone.
        changes = any(line.action in _CHANGING for line in step.small)
        return self._checker.first or changes or len(step.rows) > 0

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
            step = Step(commit, before, self._checker.layouts)
            if self._is_mine(step):
                yield from self._checker.run(checks_of("commit", "definition", "add"), step)

    def _note(self, state: State, version: int) -> None:
        layout = self._checker.layouts.get(state.protocol, state.metadata)
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
            state.lapsed = max(state.lapsed, min(self._checker.now - former, int(removed.max())))

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
        view = self._checker.view(state)
        self.latest = view
        yield from self._checker.run(checks_of("version"), view)
        if self._checker.data and self._checker.whole:
            yield from self._checker.run(checks_of("files"), view)


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
            run = Run(Checker(storage, open_log(storage), data)).run()
            return gathered(run if revision is None else in_revision(run, revision), revision)
    except PlaceRefused as error:  # of a file of the log, without which nothing is known
        raise AuditError(location, str(error)) from error
