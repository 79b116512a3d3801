"""When versions were committed, and which version was the latest at a time.

Implements "In-Commit Timestamps" with its recommendations for readers, and "Commit Provenance
Information". A commit's time is its in-commit timestamp from the enabling version on, and the
modification time of its file before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from reference_impl.errors import InvalidMetadata, TimestampNotFound
from reference_impl.limits import budget
from reference_impl.model.actions import CommitInfo
from reference_impl.model.features import active
from reference_impl.model.ranges import INT64
from reference_impl.snapshot.segment import Listing
from reference_impl.snapshot.snapshot import Snapshot, in_commit_timestamp, read_commit
from reference_impl.storage import Storage
from reference_impl.types.temporal import parse_timestamp

ICT_PROVENANCE: Final = (
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
)
"""Properties for the version and the time at which in-commit timestamps were enabled."""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit in the history.

    Attributes:
        version: the version that it made.
        timestamp: milliseconds since the epoch.
        info: the whole commitInfo action, where there is one.
    """

    version: int
    timestamp: int
    info: CommitInfo | None

    @property
    def operation(self) -> str | None:
        """Name of the operation, where the writer recorded it."""
        return self.info.operation if self.info else None


def to_millis(timestamp: int | str | datetime) -> int:
    """Return a time in milliseconds since the epoch, rounded down.

    Args:
        timestamp: milliseconds since the epoch, a datetime, or text in ISO 8601 or the
            format of the protocol; UTC where no zone is given.

    Raises:
        TimestampNotFound: it is not a time.
    """
    if type(timestamp) is int:
        return timestamp
    try:
        if isinstance(timestamp, datetime):
            aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
            return (aware - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
        if isinstance(timestamp, str):
            return parse_timestamp(timestamp, zone=True) // 1000
    except (ValueError, OverflowError, TypeError) as error:
        # A time zone may run any code.
        raise _no_time(str(error)) from None
    raise _no_time(f"{type(timestamp).__name__} is not a type of a time")


def _no_time(message: str) -> TimestampNotFound:
    return TimestampNotFound(
        message[:200], hint="give milliseconds since the epoch, a datetime, or ISO 8601 text"
    )


class History:
    """The commits that a table's log still holds."""

    def __init__(self, storage: Storage, listing: Listing, latest: Snapshot) -> None:
        """Bind to a whole listing and the latest snapshot of it.

        Raises:
            InvalidMetadata: the properties for the enablement of in-commit timestamps are
                not integers.
        """
        self._storage = storage
        self._listing = listing
        self._versions: Sequence[int] = sorted(listing.commits)
        self._enabled_at: int | None = None
        self._enabled_when: int | None = None
        if active(latest.protocol, latest.metadata, "inCommitTimestamp"):
            version, time = (_integer(latest, name) for name in ICT_PROVENANCE)
            self._enabled_at, self._enabled_when = version or 0, time

    def commits(self, limit: int | None) -> list[CommitRecord]:
        """Return the commits, newest first; at most ``limit`` of them."""
        return [self._record(version) for version in self._versions[::-1][:limit]]

    def version_at(self, timestamp: int) -> int:
        """Return the latest version that was committed at or before a time in milliseconds.

        Where file times go back, a commit counts as later than the one before it.

        Raises:
            TimestampNotFound: the log holds no version that old.
        """
        # Obeys ICT-014 ICT-015 ICT-016 ICT-017.
        early = [v for v in self._versions if self._enabled_at is None or v < self._enabled_at]
        late = self._versions[len(early) :]
        found = None
        when = self._enabled_when if late and late[0] == self._enabled_at else None
        if late and timestamp >= (self._time(late[0]) if when is None else when):
            found = self._search(late, timestamp)
        else:
            clock = None
            for version in early:
                mtime = self._listing.modified(version)
                clock = mtime if clock is None else max(mtime, clock + 1)
                if clock > timestamp:
                    break
                found = version
        if found is None:
            raise TimestampNotFound(
                f"no version that the log holds was committed at or before {timestamp} ms",
                hint="ask for a later time",
            )
        return found

    def _search(self, versions: Sequence[int], timestamp: int) -> int | None:
        """Find by bisection: in-commit timestamps rise strictly."""
        low, high = 0, len(versions)
        while high - low > 1:
            middle = (low + high) // 2
            if self._time(versions[middle]) <= timestamp:
                low = middle
            else:
                high = middle
        # A clone may keep the properties of its source, which say an earlier time.
        return versions[low] if low or self._time(versions[low]) <= timestamp else None

    def _time(self, version: int) -> int:
        return self._record(version).timestamp

    def _record(self, version: int) -> CommitRecord:
        budget().check_time()
        commit = read_commit(self._storage, self._listing.commits[version], files=False)
        info = commit.info
        if self._enabled_at is not None and version >= self._enabled_at:
            timestamp = in_commit_timestamp(info, version)
        else:
            timestamp = self._listing.modified(version)
        return CommitRecord(version, timestamp, info)


def _integer(snapshot: Snapshot, name: str) -> int | None:
    text = snapshot.metadata.configuration.get(name)
    if text is None:
        return None
    value = INT64.parse(text)
    if value is None:
        raise InvalidMetadata(
            f"{name} is {text[:80]!r}, not a 64-bit integer",
            version=snapshot.version,
            requirement="ICT-010",
        )
    return value
