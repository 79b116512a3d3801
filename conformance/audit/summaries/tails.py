"""Checks of a checkpoint against the commits that a cleanup left of those before it.

Covers "Checkpoints" and "Metadata Cleanup". A cleanup keeps the commit of the checkpoint that it
cuts at: what that commit says, and those before it that are left, the checkpoint has to have,
whatever the commits said that are gone.
"""

from __future__ import annotations

from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.retention import retention, stated_retention
from conformance.audit.read.log import Commit
from conformance.audit.read.state import State
from conformance.audit.summaries.actions import REPEATED, file_differences
from conformance.audit.summaries.checkpoints import CheckpointView, expired, small_differences


def _kept(subject: CheckpointView) -> list[Commit]:
    """Return the commits that end with the checkpoint's own, as far back as the log has them."""
    commits, version = subject.view.log.commits, subject.checkpoint.version
    found: list[Commit] = []
    while version in commits and not commits[version].content.damaged:
        found.append(commits[version])
        version -= 1
    return found[::-1]


@check(
    "checkpoint content",
    "CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 CKC-007 CKPT-005 CKPT-006 CKPT-007 DOM-014 RT-031",
    "CKC-016 CKSCH-012 CKSCH-013",
    *REPEATED,
)
def checkpoint_has_remaining_commits(subject: CheckpointView) -> Findings:
    """Report what the remaining commits have and the checkpoint lacks."""
    commits = [] if subject.replayed else _kept(subject)
    if not commits:
        return
    have, place = subject.content, subject.checkpoint.place
    tail = State(have.index, known=False)
    for commit in commits:
        tail.apply(commit.version, commit.content)
    redefined = tail.metadata is not None
    # Of what the commits do not set, those that are gone have the last word.
    tail.protocol, tail.metadata = tail.protocol or have.protocol, tail.metadata or have.metadata
    domains = tail.live_domains.keys() | (tail.domains.keys() & have.live_domains.keys())
    yield from small_differences(place, tail, have, tail.txns, domains)
    for path, _ in sorted(tail.adds.minus(have.adds), key=str):
        message = f"the checkpoint lacks {path}, which a commit adds that is still there"
        yield finding("CKC-004", place, message, "readers that start here lose its rows")
    for path, _ in sorted(tail.removed.shared(have.adds), key=str):
        message = f"the checkpoint has {path}, which a commit removes that is still there"
        yield finding("CKPT-006", place, message, "readers that start here return deleted rows")
    yield from _lost_tombstones(subject, tail, redefined=redefined)
    rows = ("CKPT-005", "RT-031")
    yield from file_differences(place, tail, have, subject.view.layout, adds=rows, removes=rows)


def _lost_tombstones(subject: CheckpointView, tail: State, *, redefined: bool) -> Findings:
    """Report unexpired tombstones that are missing; their retention may have been another one."""
    properties, place = subject.view.layout.properties, subject.checkpoint.place
    horizon = subject.view.now - retention(properties)
    sure = stated_retention(properties) is not None and not redefined
    for key in sorted(tail.removed.minus(subject.content.removed), key=str):
        if not expired(tail.removed[key], horizon):
            message = f"the checkpoint lacks the unexpired tombstone of {key[0]}"
            for requirement in ("CKC-005", "CKPT-007"):
                hint = "vacuum may keep the file for ever"
                yield finding(requirement, place, message, hint, sure=sure)
