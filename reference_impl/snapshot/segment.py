"""Choose the log files from which a version is loaded.

Implements "Checkpoints", "Log Compaction Files", "Last Checkpoint File" and "Delta Log Entries". A
listing starts at the hinted checkpoint where the hint is valid, else at version 0. Ratified
commits ("Catalog-managed tables") take precedence over published ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from reference_impl.errors import (
    DeltaError,
    InvalidLogSegment,
    InvalidRatifiedCommits,
    TableNotFound,
    VersionNotFound,
)
from reference_impl.log.checkpoints.reader import Checkpoint
from reference_impl.log.last_checkpoint import read_hint
from reference_impl.log.names import LOG_DIR, LogFile, commit_name, parse_name
from reference_impl.log.ratified import RatifiedCommits
from reference_impl.shown import shown_location
from reference_impl.storage import Entry, Storage
from reference_impl.storage.threads import MAX_THREADS

_GROUP_BYTES: Final = 1 << 22
_GROUPS_PER_THREAD: Final = 4
_MIN_THREADED_COMMITS: Final = 8
"""Small commits that are read before threads could be started."""

_PROBES: Final = 16
"""Missing commits that are asked for by name, each a request to the storage."""

_Group: TypeAlias = tuple[int, str, int, str]
"""Version, kind and number of parts of a checkpoint; with its name where it has one part."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The log files of a table, without foreign files and incomplete checkpoints.

    Attributes:
        start: the first version that the listing covers; 0 for a whole listing.
        commits: by version.
        checkpoints: complete ones by version; several of a version in order of preference.
        compactions: by first version.
        entries: size and time of each commit by version; a commit without a file has none.
        ratified: the commits that the table's catalog ratified, where there is one.
    """

    start: int
    commits: Mapping[int, LogFile]
    checkpoints: Mapping[int, tuple[Checkpoint, ...]]
    compactions: Mapping[int, tuple[LogFile, ...]]
    entries: Mapping[int, Entry]
    ratified: RatifiedCommits | None = None

    @property
    def latest(self) -> int | None:
        """The newest version that a commit or a complete checkpoint gives."""
        return max((*self.commits, *self.checkpoints), default=None)

    def modified(self, version: int) -> int:
        """Return the modification time of a commit in milliseconds since the epoch.

        Raises:
            InvalidRatifiedCommits: a catalog keeps the commit, so that no file has a time.
        """
        entry = self.entries.get(version)
        if entry is None:
            raise InvalidRatifiedCommits(
                "a commit that the catalog keeps has no time of its own",
                version=version,
                hint="a catalog-managed table has in-commit timestamps",
                requirement="CAT-015",
            )
        return entry.mtime


@dataclass(frozen=True, slots=True)
class Segment:
    """What to read for one version: a checkpoint or none, and what was committed after it.

    Attributes:
        version: the version that it gives.
        checkpoint: where replay starts; ``None`` for version 0.
        commits: commits and compactions in ascending order, without gap or overlap.
    """

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogFile, ...]


def list_log(
    storage: Storage,
    version: int | None = None,
    *,
    from_start: bool = False,
    ratified: RatifiedCommits | None = None,
) -> Listing:
    """List the log, from the hinted checkpoint on where that serves the version.

    A listing is no snapshot of its folder: it may miss a commit that is made meanwhile and have
    a later one. Where one is missing, the log is listed again, and what is missing then is asked
    for by name.

    Args:
        storage: the table's storage.
        version: the version that is wanted; the latest when ``None``.
        from_start: list the log from its first file on, for history.
        ratified: the commits that the table's catalog ratified.

    Raises:
        TableNotFound: there is neither a commit nor a checkpoint.
        InvalidRatifiedCommits: what was handed in contradicts itself, or the latest ratified
            version is neither there nor published.
    """
    # Obeys LAST-003 LAST-004 CKPT-032.
    hint = None if from_start else read_hint(storage)
    asked = [] if version is None else [version]
    last = min([*asked, *([] if ratified is None else [ratified.latest])], default=None)
    if hint is not None and (last is None or hint <= last):
        listing = _list_without_gaps(storage, hint, ratified)
        if hint in listing.checkpoints:
            return listing
    listing = _list_without_gaps(storage, 0, ratified)
    if listing.latest is None:
        raise TableNotFound(
            f"there is no Delta table at {shown_location(storage.location)}",
            path=LOG_DIR,
            hint="check the location: the log directory is empty or absent",
        )
    return listing


def segments(
    listing: Listing, version: int | None, *, before: int | None = None
) -> Iterator[Segment]:
    """Return every way to load a version, the best first, and none twice.

    The newest usable checkpoint comes first, then older ones, then the bare commits; each with
    compactions before the same without them.

    Args:
        listing: the log.
        version: the version to load; the latest when ``None``.
        before: leave out checkpoints of this version and later ones, which were tried already;
            then there may be no segment left.

    Raises:
        VersionNotFound: there is no such version, or the log no longer reaches it.
        InvalidLogSegment: commits are missing.
    """
    # Obeys CKPT-003 CKPT-004.
    latest = listing.latest
    assert latest is not None
    target = latest if version is None else version
    if not 0 <= target <= latest:
        raise VersionNotFound(
            f"there is no version {target}: the latest is {latest}", version=target
        )
    # No commit is missing from the oldest on; found once, as there may be many checkpoints to try.
    oldest = target + 1
    while oldest - 1 in listing.commits:
        oldest -= 1
    every = tuple(listing.commits[number] for number in range(oldest, target + 1))
    found = False
    for checkpoint in _starts(listing, target if before is None else before - 1):
        first = checkpoint.version + 1 if checkpoint is not None else 0
        if first >= oldest:
            found = True
            plain = every[first - oldest :]
            if listing.compactions:
                shorter = _with_compactions(listing, first, target)
                if shorter != plain:
                    yield Segment(target, checkpoint, shorter)
            yield Segment(target, checkpoint, plain)
    if not found and before is None:
        raise _incomplete(listing, target, asked=version is not None)


def commit_groups(
    commits: Sequence[LogFile], sizes: Mapping[int, int]
) -> tuple[list[Sequence[LogFile]], int]:
    """Spread commits over threads.

    Args:
        commits: commits and compactions in ascending order.
        sizes: bytes of commits by version; those that are missing count as small.

    Returns:
        Groups of consecutive commits that are worked on at a time, few enough for memory, and
        the number of threads that are worth starting.
    """
    bytes_of = [sizes.get(file.version, 0) for file in commits]
    threads = (
        1 if len(commits) < _MIN_THREADED_COMMITS and sum(bytes_of) < _GROUP_BYTES else MAX_THREADS
    )
    most = max(len(commits) // (threads * _GROUPS_PER_THREAD), 1) if threads > 1 else len(commits)
    groups: list[Sequence[LogFile]] = []
    begin = in_group = 0
    for at, size in enumerate(bytes_of):
        if at > begin and (at - begin >= most or in_group + size > _GROUP_BYTES):
            groups.append(commits[begin:at])
            begin, in_group = at, 0
        in_group += size
    if begin < len(commits):
        groups.append(commits[begin:])
    return groups, threads


def _starts(listing: Listing, target: int) -> Iterator[Checkpoint | None]:
    for number in sorted(listing.checkpoints, reverse=True):
        if number <= target:
            yield from listing.checkpoints[number]
    # Obeys CKPT-009: a log that reaches back to version 0 needs no checkpoint.
    if 0 in listing.commits:
        yield None


def _with_compactions(listing: Listing, first: int, target: int) -> tuple[LogFile, ...]:
    """Cover a range with the longest compactions that start where the last one ended."""
    # Obeys COMP-012.
    chosen: list[LogFile] = []
    number = first
    while number <= target:
        fitting = [item for item in listing.compactions.get(number, ()) if item.end <= target]
        best = max(fitting, key=lambda item: item.end, default=listing.commits[number])
        chosen.append(best)
        number = best.end + 1
    return tuple(chosen)


def _incomplete(listing: Listing, target: int, *, asked: bool) -> DeltaError:
    first = max((number + 1 for number in listing.checkpoints if number <= target), default=0)
    missing = next(number for number in range(first, target + 1) if number not in listing.commits)
    # The log may have been cut by cleanup: what is left begins with a newer checkpoint.
    if asked and missing == 0 and listing.checkpoints:
        return VersionNotFound(
            f"version {target} was cleaned up: the log begins at version "
            f"{min(listing.checkpoints)}",
            version=target,
        )
    return InvalidLogSegment(
        f"the commit of version {missing} is missing",
        version=missing,
        path=f"{LOG_DIR}/{missing:020d}.json",
        hint="without it no later version can be loaded",
    )


def _list_without_gaps(storage: Storage, start: int, ratified: RatifiedCommits | None) -> Listing:
    """List the log; where a commit is missing once more, and then ask for it by name."""
    listing = _with_ratified(storage, _list_once(storage, start), ratified)
    if next(_gaps(listing), None) is None:
        return listing
    # What was there before the second listing began is in it; only later ones may be missing.
    listing = _with_ratified(storage, _list_once(storage, start), ratified)
    commits, entries = dict(listing.commits), dict(listing.entries)
    for version in islice(_gaps(listing), _PROBES):
        name = commit_name(version)
        with suppress(FileNotFoundError):
            entries[version] = storage.head(f"{LOG_DIR}/{name}")
            commits[version] = LogFile(name, "commit", version, version)
    return replace(listing, commits=commits, entries=entries)


def _gaps(listing: Listing) -> Iterator[int]:
    """Return the versions whose commits are missing up to the newest commit, in order.

    They are counted from the newest checkpoint before the first commit on, and from version 0
    where there is no checkpoint at all. A hostile log may have 2**63 of them.
    """
    commits = listing.commits
    if not commits:
        return
    first, last = min(commits), max(commits)
    older = (v + 1 for v in listing.checkpoints if v < first)
    start = max(older, default=first) if listing.checkpoints else 0
    if last - start + 1 > len(commits):
        yield from (version for version in range(start, last) if version not in commits)


def _list_once(storage: Storage, start: int) -> Listing:
    # Obeys CKPT-030 CAT-005.
    commits: dict[int, LogFile] = {}
    entries: dict[int, Entry] = {}
    groups: dict[_Group, list[LogFile]] = defaultdict(list)
    compactions: dict[int, list[LogFile]] = defaultdict(list)
    # Names of a version begin with its digits and go on with a dot.
    start_after = f"{start:020d}" if start else None
    for entry in storage.list_from(LOG_DIR, start_after):
        file = parse_name(entry.name)
        if file is None:
            continue
        match file.kind:
            case "commit":
                commits[file.version] = file
                entries[file.version] = entry
            case "compaction":
                compactions[file.version].append(file)
            case "checksum":
                pass  # Obeys CRC-042.
            case _:
                name = "" if file.parts > 1 else file.name
                groups[file.version, file.kind, file.parts, name].append(file)
    complete: dict[int, list[Checkpoint]] = defaultdict(list)
    for (version, _, parts, _), files in sorted(groups.items(), key=_preference):
        if len(files) == parts:
            complete[version].append(Checkpoint(version, tuple(files)))
    return Listing(
        start,
        commits,
        {version: tuple(found) for version, found in complete.items()},
        {version: tuple(found) for version, found in compactions.items()},
        entries,
    )


def _with_ratified(storage: Storage, listing: Listing, ratified: RatifiedCommits | None) -> Listing:
    """Replace published commits by ratified ones, and drop versions after the latest."""
    # Obeys CAT-007 CAT-009.
    if ratified is None:
        return listing
    latest = ratified.latest
    handed = ratified.by_version()
    entries = dict(listing.entries)
    for version, file in handed.items():
        # A staged commit that is missing is reported when it is read.
        with suppress(FileNotFoundError):
            if file.content is None:
                entries[version] = storage.head(f"{LOG_DIR}/{file.name}")
    published = {v: file for v, file in listing.commits.items() if v <= latest}
    later = {v: file for v, file in handed.items() if v >= listing.start}
    found = replace(
        listing,
        commits=published | later,
        checkpoints={v: files for v, files in listing.checkpoints.items() if v <= latest},
        compactions={
            v: tuple(file for file in files if file.end <= latest)
            for v, files in listing.compactions.items()
        },
        entries=entries,
        ratified=ratified,
    )
    if found.latest != latest:
        raise InvalidRatifiedCommits(
            f"version {latest}, the latest ratified one, is neither published nor handed in",
            version=latest,
            hint="a catalog keeps a ratified commit until it is published",
            requirement="CAT-008",
        )
    return found


def _preference(item: tuple[_Group, list[LogFile]]) -> tuple[int, int, int, str]:
    # Obeys CKPT-N-001.
    (version, kind, parts, name), _ = item
    order = ("uuid_checkpoint", "classic_checkpoint", "multipart_checkpoint")
    return version, order.index(kind), parts, name
