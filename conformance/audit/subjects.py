"""What checks look at: a table's log, a step from one version to the next, a version.

Covers "Action Reconciliation": a step has the state before a commit and the one after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from conformance.audit.columnar.keys import Codes, FileIndex, Key
from conformance.audit.columnar.rows import Mask, Rows
from conformance.audit.read.layout import Layout, layout_of
from conformance.audit.read.log import Checkpoint, Commit, Log
from conformance.audit.read.raw import Line, Lines
from conformance.audit.read.state import Body, State, highest_row_id
from reference_impl.storage import Storage


@dataclass(frozen=True, slots=True)
class LogView:
    """The files of a log, before any replay.

    Attributes:
        storage: where the table lies.
        log: its listing.
        now: current time in ms since the epoch.
    """

    storage: Storage
    log: Log
    now: int


class Layouts:
    """Layouts by protocol and metadata action, so that each pair is parsed once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._of: tuple[Layout, Layout] | None = None
        self._verdicts: dict[Any, bool] = {}
        self._last: tuple[Body | None, Body | None] | None = None
        self._layout = layout_of(None, None)

    def get(self, protocol: Body | None, metadata: Body | None) -> Layout:
        """Return the layout of a version; consecutive versions mostly share it."""
        last = self._last
        if last is None or last[0] is not protocol or last[1] is not metadata:
            self._layout = layout_of(protocol, metadata)
            self._last = (protocol, metadata)
        return self._layout

    def verdicts(self, old: Layout, new: Layout) -> dict[Any, bool]:
        """Return the verdicts about values that come again, cached as long as the layouts."""
        if self._of is None or self._of[0] is not old or self._of[1] is not new:
            self._of, self._verdicts = (old, new), {}
        if len(self._verdicts) > _VERDICTS:
            self._verdicts.clear()
        return self._verdicts


_VERDICTS: Final = 100_000
"""Values whose verdicts are cached, at most."""


def highest_in(lines: Lines) -> int:
    """Return the highest row id that adds assign, those of other parts among them; -1 for none."""
    known = lines.facts.get("highest")
    return highest_row_id(x.body for x in lines.of("add")) if known is None else int(known)


class Step:
    """A commit between the state before it and the protocol and metadata after it.

    ``before`` is the running state: a check reads it and changes nothing.

    Attributes:
        from_checkpoint: whether these are the adds of a checkpoint, and not of a commit.
    """

    from_checkpoint = False

    def __init__(self, commit: Commit, before: State, layouts: Layouts) -> None:
        """Derive protocol and metadata after the commit."""
        self._layouts = layouts
        self.shown: Mask | None = None
        self._masks: dict[str, Mask] = {}
        self.commit = commit
        self.version = commit.version
        self.before = before
        self.place = commit.path
        self.old = layouts.get(before.protocol, before.metadata)
        self.protocol = self._last("protocol") or before.protocol
        self.metadata = self._last("metaData") or before.metadata
        self.new = layouts.get(self.protocol, self.metadata)

    def of(self, *actions: str) -> Iterator[Line]:
        """Yield the commit's lines of some actions, less what the check's screen leaves out."""
        return self.commit.content.of(*actions, shown=self.shown)

    def every(self) -> Iterator[Line]:
        """Yield all of the commit's lines, less what the check's screen leaves out."""
        return self.commit.content.every(self.shown)

    def keys(self, *actions: str) -> set[Key]:
        """Return the keys of the files that some actions name, as :meth:`of` yields them."""
        return {key for line in self.of(*actions) if (key := line.key)}

    def paths(self, *actions: str) -> set[str]:
        """Return the decoded paths of these files."""
        return {path for path, _ in self.keys(*actions)}

    @cached_property
    def keeps_files(self) -> bool:
        """Whether files of the version before stay, so that the table is not replaced."""
        adds = self.before.adds
        return len(adds) > sum(key in adds for key in self.keys("remove"))

    def staying(self) -> Iterator[tuple[Key, Body]]:
        """Yield key and add of each live file of the version before that the commit passes over."""
        here = self.keys("add", "remove")
        return ((key, body) for key, body in self.before.adds.items() if key not in here)

    @property
    def replaces_files(self) -> bool:
        """Whether there are files in the version before, and none of them stays."""
        return len(self.before.adds) > 0 and not self.keeps_files

    @property
    def rows(self) -> Rows:
        """The commit's file actions as columns, for screens."""
        return self.commit.content.rows

    @property
    def small(self) -> list[Line]:
        """The commit's other lines."""
        return [line for _, line in self.commit.content.small]

    @cached_property
    def codes(self) -> Codes:
        """The codes of the keys of :attr:`rows`."""
        return self.before.index.codes_of(self.rows)

    @property
    def verdicts(self) -> dict[Any, bool]:
        """What was found of values that come again, for screens."""
        return self._layouts.verdicts(self.old, self.new)

    def memo(self, name: str, make: Callable[[], Mask]) -> Mask:
        """Make a mask that several screens share."""
        if name not in self._masks:
            self._masks[name] = make()
        return self._masks[name]

    def only(self, shown: Mask) -> Step:
        """Return the step with some of its file actions."""
        found = copy(self)
        found.shown = shown
        self.before.index.cache_codes(self.rows, shown)
        return found

    @cached_property
    def highest_row_id(self) -> int:
        """The highest row id that the commit assigns; -1 for none."""
        return highest_in(self.commit.content)

    @property
    def sets_metadata(self) -> bool:
        """Whether the commit has a metaData."""
        return self.metadata is not self.before.metadata

    @property
    def sets_protocol(self) -> bool:
        """Whether the commit has a protocol."""
        return self.protocol is not self.before.protocol

    def _last(self, action: str) -> Body | None:
        found = None
        for line in self.of(action):
            found = line.body
        return found

    @cached_property
    def commit_info(self) -> Line | None:
        """The commit's first ``commitInfo``."""
        return next(self.of("commitInfo"), None)


class CheckpointStep(Step):
    """The adds of a checkpoint whose commits are gone, as a step that begins with nothing.

    Tombstones may be older than the metadata, so that they are left out.
    """

    from_checkpoint = True

    def __init__(self, checkpoint: Checkpoint, index: FileIndex, layouts: Layouts) -> None:
        """Take all of a checkpoint whose rows an index has."""
        commit = Commit(checkpoint.version, checkpoint.place, checkpoint.all)
        super().__init__(commit, State(index, known=False), layouts)

    def of(self, *actions: str) -> Iterator[Line]:
        """Yield the lines of some actions but ``remove``."""
        return super().of(*(action for action in actions if action != "remove"))


class RepeatedStep(Step):
    """What a summary repeats of protocol, metadata and domains, as a step that sets them.

    What the summary leaves out is that of its version.
    """

    from_checkpoint = True

    def __init__(self, lines: Sequence[Line], place: str, state: State, layouts: Layouts) -> None:
        """Take the lines of a summary, and the version that they are of."""
        before = State(known=False)
        before.protocol, before.metadata = state.protocol, state.metadata
        before.domains = state.domains
        commit = Commit(state.version, place, Lines(list(enumerate(lines))))
        super().__init__(commit, before, layouts)


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The files that are live in a version, and where they are."""

    storage: Storage
    state: State
    layout: Layout


@dataclass(frozen=True, slots=True)
class RepeatedFiles(LiveFiles):
    """What a summary says of files otherwise than the version that it is of.

    Attributes:
        place: of the summary.
        bodies: path and add of each, as the summary has it.
    """

    place: str
    bodies: Iterable[tuple[str, Body]]


@dataclass(frozen=True, slots=True)
class VersionView(LiveFiles):
    """The state of one version with the log that it came from.

    Attributes:
        log: the whole log.
        now: current time in ms since the epoch, for expiry.
    """

    log: Log
    now: int
