"""A compaction against what a cleanup left of its commits, and the checkpoint that it kept.

Covers "Log Compaction Files" and "Metadata Cleanup". What the commits say that are left is the last
word of the range. Where a checkpoint goes before them, the state at the end of the range is known,
and nothing in the compaction contradicts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.audit.findings import Findings, finding
from conformance.audit.grammar.log_files import LogFile
from conformance.audit.read.layout import Layout, layout_of
from conformance.audit.read.log import Checkpoint, Commit, Log
from conformance.audit.read.state import Body, State
from conformance.audit.summaries.actions import file_differences, known


def commits_left(file: LogFile, log: Log) -> list[Commit]:
    """Return the commits that end with the last of the range, as far back as they are there."""
    found: list[Commit] = []
    version = file.end
    while version >= file.version and version in log.commits:
        if log.commits[version].content.damaged:
            break
        found.append(log.commits[version])
        version -= 1
    return found[::-1]


def compared_with_remaining_log(
    place: str, file: LogFile, have: State, log: Log, commits: Sequence[Commit]
) -> Findings:
    """Report where a compaction differs from the remaining commits and checkpoint.

    Args:
        place: of the compaction.
        file: its name, with the range.
        have: what it gives.
        log: without some of the first commits of the range.
        commits: those that are left.
    """
    start = _start(file, log, commits)
    if commits:
        last = State(have.index, known=False)
        for commit in commits:
            last.apply(commit.version, commit.content)
        yield from _last_word(place, last, have)
    if start is not None:
        end = State(have.index, known=False)
        end.apply(start.version, start.all)
        for commit in commits:
            if commit.version > start.version:
                end.apply(commit.version, commit.content)
        yield from _contradicted(place, end, have)


def _start(file: LogFile, log: Log, commits: Sequence[Commit]) -> Checkpoint | None:
    """Return a checkpoint from which the commits lead to the end of the range."""
    first = commits[0].version if commits else file.end + 1
    for checkpoint in log.checkpoints:
        if checkpoint.complete and first - 1 <= checkpoint.version <= file.end:
            return None if checkpoint.all.damaged else checkpoint
    return None


def _last_word(place: str, last: State, have: State) -> Findings:
    """Report what the commits say that are left, and the compaction does not."""
    for path, _ in sorted(last.adds.minus(have.adds), key=str):
        message = f"the compaction lacks {path}, which a commit adds that is still there"
        yield finding("COMP-004", place, message, "readers that start here lose its rows")
    for path, _ in sorted(last.removed.minus(have.removed), key=str):
        # Whether the range added it as well is known only where the commits are.
        message = f"the compaction lacks the tombstone of {path}, which a commit removes"
        yield finding("COMP-007", place, message, "readers bring its rows back")
    for path, _ in sorted(last.removed.shared(have.adds), key=str):
        message = f"the compaction has the add of {path}, which a commit removes"
        yield finding("COMP-006", place, message, "readers return deleted rows")
    for name in sorted(last.txns):
        yield from _application(place, name, last.txns, have.txns)
    for name in sorted(last.domains):
        yield from _domain(place, name, last.domains, have.domains)
    layout = layout_of(last.protocol or have.protocol, last.metadata or have.metadata)
    yield from differences(place, last, have, layout, some=True)


def differences(
    place: str, want: State, have: State, layout: Layout, *, some: bool = False
) -> Findings:
    """Report files, metadata and protocol that a compaction has otherwise than its commits.

    Args:
        place: of the compaction.
        want: what the commits give.
        have: what the compaction gives.
        layout: of the table.
        some: the first commits are gone, which may have set what the others do not.
    """
    adds, removes = ("COMP-004", "COMP-004"), ("COMP-007", "COMP-007")
    yield from file_differences(place, want, have, layout, adds=adds, removes=removes, whole=True)
    for what, logged, kept in _table(want, have):
        if (logged or not some) and known(what, logged) != known(what, kept):
            message = f"{what} of the compaction differs from that of its commits"
            yield finding("COMP-004", place, message)


def _contradicted(place: str, end: State, have: State) -> Findings:
    """Report what a compaction has that is not so at the end of its range."""
    for path, _ in sorted(have.adds.minus(end.adds), key=str):
        message = f"the compaction has the add of {path}, which is not live after its range"
        yield finding("COMP-004", place, message, "readers return rows that are not there")
    for path, _ in sorted(have.removed.shared(end.adds), key=str):
        message = f"the compaction has a tombstone of {path}, which is live after its range"
        yield finding("COMP-004", place, message, "readers lose its rows")
    unknown = have.removed.minus(end.removed) - have.removed.shared(end.adds)
    for path, _ in sorted(unknown, key=str):
        # It may have expired before the checkpoint.
        message = f"the compaction has a tombstone of {path}, which the checkpoint does not know"
        yield finding("COMP-004", place, message, severity="warning")
    for name in sorted(have.txns.keys() & end.txns.keys()):
        yield from _application(place, name, end.txns, have.txns)
    live = have.live_domains.keys() | (have.domains.keys() & end.live_domains.keys())
    for name in sorted(live):
        yield from _domain(place, name, end.live_domains, have.live_domains)
    for what, logged, kept in _table(end, have):
        if kept is not None and known(what, logged) != known(what, kept):
            message = f"{what} of the compaction is not that of the table after its range"
            yield finding("COMP-004", place, message)


def _table(want: State, have: State) -> tuple[tuple[str, Body | None, Body | None], ...]:
    return (("metaData", want.metadata, have.metadata), ("protocol", want.protocol, have.protocol))


def _application(
    place: str, name: str, want: Mapping[str, Body], have: Mapping[str, Body]
) -> Findings:
    if name not in have:
        message = f"the compaction lacks the transaction of {name}"
        for requirement in ("COMP-004", "COMP-008"):
            yield finding(requirement, place, message)
    elif known("txn", want[name]) != known("txn", have[name]):
        message = f"the transaction of {name} in the compaction is not the last one of its range"
        yield finding("COMP-008", place, message)


def _domain(place: str, name: str, want: Mapping[str, Body], have: Mapping[str, Body]) -> Findings:
    if known("domainMetadata", want.get(name)) != known("domainMetadata", have.get(name)):
        message = f"the domain {name} of the compaction is not that of the end of its range"
        for requirement in ("COMP-004", "DOM-014"):
            yield finding(requirement, place, message)
