"""Judge what summarises a version: its checkpoints, checksum and compactions.

Covers "Checkpoints", "Version Checksum File" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from conformance.audit.checker import Checker, checks_of, screened
from conformance.audit.columnar.keys import FileIndex
from conformance.audit.findings import Findings
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.read.log import Checkpoint
from conformance.audit.read.raw import Line, Lines
from conformance.audit.read.state import Body, State
from conformance.audit.subjects import CheckpointStep, RepeatedFiles, RepeatedStep, VersionView
from conformance.audit.summaries.actions import differing_files, restates
from conformance.audit.summaries.checkpoints import (
    CheckpointView,
    FilesWithoutStatistics,
    wrong_typed_adds,
)
from conformance.audit.summaries.checksums import ChecksumView, Measure
from reference_impl.limits import budget

_FILE_FIELDS: Final = ("size", "stats", "stats_parsed", "deletionVector")
"""Fields of an add that its files can be compared with."""


def content_of(checkpoint: Checkpoint, index: FileIndex) -> State:
    """Return the state that a checkpoint has by itself."""
    state = State(index)
    state.apply(checkpoint.version, checkpoint.all)
    state.names = None
    state.begun = checkpoint.version
    return state


class Summaries:
    """Judges the summaries of a log, each beside its version.

    Attributes:
        measures: numbers of the files of each version that has a checksum, of a part of the table.
    """

    def __init__(self, checker: Checker) -> None:
        """Look at the log of a checker."""
        self.measures: list[tuple[int, Measure]] = []
        self._checker = checker
        self._visited: set[Checkpoint] = set()
        self._left_out = FilesWithoutStatistics(checker.log.checkpoints)
        self._checkpoints: dict[int, list[Checkpoint]] = {}
        for checkpoint in checker.log.checkpoints:
            self._checkpoints.setdefault(checkpoint.version, []).append(checkpoint)
        self._judged: set[int] = set()
        self._compacted: dict[int, list[tuple[str, Lines]]] = {}
        for file, content in checker.log.compactions:
            self._compacted.setdefault(file.end, []).append((file.name, content))

    def of(self, state: State, *, replayed: bool) -> Findings:
        """Judge the summaries of a version, whose state is replayed or that of a checkpoint."""
        budget().check_time()
        checker, view = self._checker, self._checker.view(state)
        for checkpoint in self._checkpoints.get(state.version, ()):
            if not checkpoint.complete and checker.first:
                subject = CheckpointView(checkpoint, state, view, replayed, self._left_out)
                yield from checker.run(checks_of("checkpoint parts"), subject)
        for checkpoint in self._checkpoints.get(state.version, ()):
            if not checkpoint.complete:
                continue
            yield from self._checkpoint(checkpoint, state, replayed=replayed)
            if not state.known and not checkpoint.all.damaged:
                state.adopt(content_of(checkpoint, state.index))
        if state.known:
            yield from self._checksum(state, view)
            yield from self._compactions(state, view)

    def _checksum(self, state: State, view: VersionView) -> Findings:
        checker = self._checker
        document = checker.log.checksums.get(state.version)
        if document is not None:
            summed = ChecksumView(document, view)
            if not checker.whole:
                self.measures.append((state.version, summed.measure))
            yield from checker.run(checks_of("checksum"), summed)
            yield from self._repeated(summed.definitions, summed.place, state)
            yield from self._differing(summed.differing, summed.place, view)

    def _compactions(self, state: State, view: VersionView) -> Findings:
        for name, content in self._compacted.get(state.version, ()):
            lines = [line for _, line in content.small]
            yield from self._repeated(lines, f"{LOG_DIR}/{name}", state)
            if self._checker.data and len(content.rows):
                have = State(state.index)
                have.apply(state.version, content)
                files = differing_files(state, have, view.layout)
                yield from self._differing(files, f"{LOG_DIR}/{name}", view)

    def left(self, index: FileIndex) -> Findings:
        """Judge by itself each checkpoint older than the replay, or newer than every commit."""
        for checkpoint in self._checker.log.checkpoints:
            if checkpoint.complete and checkpoint not in self._visited:
                yield from self._checkpoint(
                    checkpoint, content_of(checkpoint, index), replayed=False
                )

    def _differing(
        self, files: Iterable[tuple[str, Body]], place: str, view: VersionView
    ) -> Findings:
        """Judge what a summary says otherwise than its version of files by those."""
        if self._checker.data:
            subject = RepeatedFiles(view.storage, view.state, view.layout, place, self._new(files))
            yield from self._checker.run(checks_of("repeated"), subject)

    def _new(self, files: Iterable[tuple[str, Body]]) -> Iterator[tuple[str, Body]]:
        """Leave out what another summary said of a file before."""
        for path, body in files:
            stated = hash(repr((path, [body.get(name) for name in _FILE_FIELDS])))
            if stated not in self._judged:
                self._judged.add(stated)
                yield path, body

    def _repeated(self, lines: Sequence[Line], place: str, state: State) -> Findings:
        """Judge what a summary says otherwise than its version by what it says itself."""
        if self._checker.first and restates(lines, state):
            step = RepeatedStep(lines, place, state, self._checker.layouts)
            yield from self._checker.run(checks_of("definition"), step)

    def _checkpoint(self, checkpoint: Checkpoint, state: State, *, replayed: bool) -> Findings:
        self._visited.add(checkpoint)
        content = content_of(checkpoint, state.index)
        # What is not replayed may have changed in commits that are gone.
        view = self._checker.view(state if replayed else content)
        subject = CheckpointView(checkpoint, content, view, replayed, self._left_out)
        readable = () if checkpoint.all.damaged else checks_of("checkpoint content")
        for check in (*checks_of("checkpoint parts", "checkpoint"), *readable):
            # What the whole has to report of one is reported without its file actions.
            if self._checker.first or not check.whole:
                yield from screened(check, subject)
        if readable and not replayed:
            step = CheckpointStep(checkpoint, subject.content.index, self._checker.layouts)
            yield from self._checker.run(
                checks_of("definition") if self._checker.first else (), step
            )
            yield from self._checker.run(checks_of("add"), step)
            files = wrong_typed_adds(subject)
            yield from self._differing(files, checkpoint.place, view)
        elif readable:
            lines = [line for _, line in checkpoint.all.small]
            yield from self._repeated(lines, checkpoint.place, state)
            files = differing_files(state, content, view.layout)
            yield from self._differing(files, checkpoint.place, view)
        checkpoint.forget()
