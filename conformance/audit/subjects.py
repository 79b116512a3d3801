"""What checks look at: a table's log, a step from one version to the next, a version.

Serves "Action Reconciliation": a step has the state before a commit and the one after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from conformance.audit.read.layout import Layout, layout_of
from conformance.audit.read.log import Commit, Log
from conformance.audit.read.raw import Line
from conformance.audit.read.state import Body, State
from reference_impl.storage import Storage

__all__ = ["LogView", "Step", "VersionView"]


@dataclass(frozen=True, slots=True)
class LogView:
    """The files of a log, before any replay."""

    storage: Storage
    log: Log


class Layouts:
    """Layouts by protocol and metadata action, so that each pair is parsed once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._last: tuple[Body | None, Body | None] | None = None
        self._layout = layout_of(None, None)

    def get(self, protocol: Body | None, metadata: Body | None) -> Layout:
        """Give the layout of a version; consecutive versions mostly share it."""
        last = self._last
        if last is None or last[0] is not protocol or last[1] is not metadata:
            self._layout = layout_of(protocol, metadata)
            self._last = (protocol, metadata)
        return self._layout


class Step:
    """A commit between the state before it and the protocol and metadata after it.

    ``before`` is the running state: a check reads it and changes nothing.
    """

    def __init__(self, commit: Commit, before: State, layouts: Layouts) -> None:
        """Derive protocol and metadata after the commit."""
        self.commit = commit
        self.version = commit.version
        self.before = before
        self.place = commit.path
        self.old = layouts.get(before.protocol, before.metadata)
        self.protocol = self._last("protocol") or before.protocol
        self.metadata = self._last("metaData") or before.metadata
        self.new = layouts.get(self.protocol, self.metadata)

    def of(self, *actions: str) -> Iterator[Line]:
        """Yield the commit's lines of some actions."""
        return self.commit.content.of(*actions)

    def _last(self, action: str) -> Body | None:
        found = None
        for line in self.of(action):
            found = line.body
        return found

    @cached_property
    def commit_info(self) -> Line | None:
        """The commit's first ``commitInfo``."""
        return next(self.of("commitInfo"), None)


@dataclass(frozen=True, slots=True)
class VersionView:
    """The state of one version with the log that it came from.

    Attributes:
        last: whether it is the latest version.
        now: current time in ms since the epoch, for expiry.

    """

    storage: Storage
    log: Log
    state: State
    layout: Layout
    last: bool
    now: int
