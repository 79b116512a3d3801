"""Replay of a log into the state of each version, from raw actions.

Covers "Action Reconciliation". This replay shares nothing with the reference implementation's:
the audit judges that one's tables too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from decimal import Decimal
from typing import Any, TypeAlias

from conformance.audit.columnar.files import Files, Ids, Seen, Vectors, resized
from conformance.audit.columnar.keys import Body, FileIndex, Key, dv_id, file_key
from conformance.audit.columnar.rows import ADD
from conformance.audit.grammar.types import LONG_END
from conformance.audit.read.raw import Lines, parse_object

__all__ = [
    "Body",
    "FieldKey",
    "IdRange",
    "Key",
    "State",
    "dv_id",
    "file_key",
    "row_count",
    "timestamp_of",
]

FieldKey: TypeAlias = tuple[tuple[object, ...], str]
"""Identity of a field, and a path through arrays and maps inside of it."""

IdRange: TypeAlias = tuple[int, int, str, int, int]
"""First and last row id of a file, its path, the version that gave them, and the one that
removed it."""


def row_count(body: Mapping[str, Any]) -> int | None:
    """Return ``numRecords`` of a file action's statistics, when it has them."""
    return counted(parse_object(body.get("stats")))


def counted(stats: Mapping[str, Any] | None) -> int | None:
    """Return ``numRecords`` of statistics: a whole number, however JSON spells it."""
    count = (stats or {}).get("numRecords")
    if isinstance(count, float | Decimal) and 0 <= count < LONG_END and count == int(count):
        return int(count)
    return count if type(count) is int else None


def is_empty(body: Mapping[str, Any]) -> bool:
    """Return whether a logical file is known to have no rows left."""
    vector = body.get("deletionVector")
    deleted = vector.get("cardinality") if isinstance(vector, dict) else 0
    count = row_count(body)
    return count is not None and isinstance(deleted, int) and count <= deleted


def last_row_id(body: Mapping[str, Any]) -> int | None:
    """Return the last row id that an add assigns, when it says how many rows there are."""
    base, count = body.get("baseRowId"), row_count(body)
    return base + count - 1 if type(base) is int and count is not None else None


def timestamp_of(lines: Lines) -> int | None:
    """Return the in-commit timestamp of a commit, of several the last."""
    stamps = [x.body.get("inCommitTimestamp") for _, x in lines.small if x.action == "commitInfo"]
    return stamps[-1] if stamps and type(stamps[-1]) is int else None


def highest_row_id(adds: Iterable[Mapping[str, Any]]) -> int:
    """Return the highest row id that adds assign; -1 for none."""
    return max((last for body in adds if (last := last_row_id(body)) is not None), default=-1)


class State:
    """What a table is at one version; the bodies are those of the log.

    Attributes:
        known: whether everything before is known; false for a log that starts in the middle.
        version: the version; -1 before the first commit.
        adds: live files.
        vectors: path of each live file to the ids of the vectors that it is live with.
        begun: the version of the checkpoint that the replay goes on from; -1 where there is none.
        seen: every path that was ever added or removed, to the version that did so first.
        used: features that a version uses by its metadata, of those that came before the lists.
        since: what is active to the first version that had it so, and every one since then.
        until: whatever was ever active to the last version that had it so.
        names: physical names of the top-level columns of every schema so far; ``None`` where the
            log does not have them all.
        hidden: names that columns of row ids and of row commit versions ever had.
        widened: where type changes were ever recorded.
        paths: physical path of each column since column mapping is on, to its ids.
        removed: tombstones, those that have expired included.
        added: the last add of each file, whether it is live or not.
        domains: by name, tombstones included.
        timestamp: the in-commit timestamp of the version, when it has one.
        stamped: the version that turned in-commit timestamps on, its timestamp, and whether the
            log says.
        ids: path to baseRowId and defaultRowCommitVersion of its last add, and of earlier ones.
        id_ranges: row ids of files that were removed.
        given: the highest row id that an add of the log assigns; -1 for none.
        lapsed: the newest removal, in ms since the epoch, that may have expired under a retention
            which was longer again since; 0 for none.
    """

    def __init__(self, index: FileIndex | None = None, *, known: bool = True) -> None:
        """Begin before the first commit, over the rows that an index has."""
        self.index = FileIndex() if index is None else index
        self.known = known
        self.version = -1
        self.begun = -1
        self.protocol: Body | None = None
        self.metadata: Body | None = None
        self.adds = Files(self.index)
        self.removed = Files(self.index)
        self.added = Files(self.index)
        self.seen = Seen(self.index)
        self.ids = Ids(self.index)
        self.txns: dict[str, Body] = {}
        self.domains: dict[str, Body] = {}
        self.timestamp: int | None = None
        self.used: frozenset[str] = frozenset()
        self.since: dict[str, int] = {}
        self.until: dict[str, int] = {}
        self.names: set[str] | None = set() if known else None
        self.paths: dict[tuple[str, ...], set[int]] = {}
        self.hidden: set[str] = set()
        self.widened: set[FieldKey] = set()
        self.id_ranges: list[IdRange] = []
        self.given = -1
        self.lapsed = 0
        self.stamped: tuple[int, int | None, bool] | None = None

    @property
    def whole(self) -> bool:
        """Whether the log has every commit so far."""
        return self.names is not None

    @property
    def vectors(self) -> Vectors:
        """The vectors of each live path."""
        return Vectors(self.adds)

    def extend(self, index: FileIndex) -> None:
        """Extend to an index that has more rows."""
        if index is self.index:
            return
        self.index = index
        for files in (self.adds, self.removed, self.added):
            files.index, files.rows = index, resized(files.rows, index.keys)
        self.seen.index, self.seen.versions = index, resized(self.seen.versions, index.paths)
        self.ids.extend(index)

    def apply(self, version: int, lines: Lines) -> None:
        """Move to a version by its actions; their order does not matter."""
        self.extend(self.index.with_rows([lines.rows]))
        self.version = version
        self.timestamp = timestamp_of(lines)
        for _, line in lines.small:
            body = line.body
            match line.action:
                case "metaData":
                    self.metadata = body
                case "protocol":
                    self.protocol = body
                case "txn":
                    self.txns[str(body.get("appId"))] = body
                case "domainMetadata":
                    self.domains[str(body.get("domain"))] = body
                case _:
                    pass
        if len(lines.rows):
            self._files(version, lines)

    def _files(self, version: int, lines: Lines) -> None:
        rows = lines.rows
        codes, numbers = self.index.codes_of(rows), self.index.numbers_of(rows)
        added = rows.kind == ADD
        gone, new = codes[~added], codes[added]
        # Of several actions of one key the last one counts, as numpy assigns them in order.
        self.adds.rows[gone] = -1
        self.removed.rows[gone] = numbers[~added]
        self.removed.rows[new] = -1
        self.adds.rows[new] = self.added.rows[new] = numbers[added]
        paths = self.index.path_codes(codes)
        self.seen.versions[paths[self.seen.versions[paths] < 0]] = version
        based = added & rows.based
        self.ids.note(version, paths[added & ~rows.based], paths[based], numbers[based])

    def note(self, active: Collection[str], version: int) -> None:
        """Keep what is active from a version on."""
        self.since = {name: self.since.get(name, version) for name in active}
        self.until |= dict.fromkeys(active, version)

    def adopt(self, content: State) -> None:
        """Go on from what a checkpoint has, when the commits before it are not all there."""
        self.index = content.index
        for name in (
            "protocol", "metadata", "adds", "removed", "added", "seen", "ids", "stamped", "txns",
            "domains", "begun",
        ):  # fmt: skip
            setattr(self, name, getattr(content, name))
        self.known = True

    def without_files(self) -> State:
        """Return the version less its files, to which those of a part may be applied."""
        found, nothing = copy(self), State()
        for name in ("index", "adds", "removed", "added", "seen", "ids", "id_ranges", "known"):
            setattr(found, name, getattr(nothing, name))
        return found

    @property
    def live_domains(self) -> dict[str, Body]:
        """The domains that are not removed."""
        return {
            name: body for name, body in self.domains.items() if body.get("removed") is not True
        }
