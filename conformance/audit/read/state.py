"""Replay of a log into the state of each version, from raw actions.

Serves "Action Reconciliation". This replay shares nothing with the reference implementation's:
the audit judges that one's tables too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from conformance.audit.grammar.uris import lenient_path
from conformance.audit.read.raw import Line, parse_json

__all__ = ["Body", "Key", "State", "dv_id", "file_key", "row_count"]

Body: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str | None]
"""A logical file: decoded path and the unique id of its deletion vector."""


def dv_id(body: Body) -> str | None:
    """Give the unique id of a file action's deletion vector ("Derived Fields")."""
    vector = body.get("deletionVector")
    if not isinstance(vector, dict):
        return None
    name = f"{vector.get('storageType')}{vector.get('pathOrInlineDv')}"
    offset = vector.get("offset")
    return name if offset is None else f"{name}@{offset}"


def file_key(body: Body) -> Key | None:
    """Give the key of a file action; ``None`` when it has no path."""
    path = body.get("path")
    if not isinstance(path, str) or not path:
        return None
    return lenient_path(path), dv_id(body)


def row_count(body: Body) -> int | None:
    """Give ``numRecords`` of a file action's statistics, when it has them."""
    text = body.get("stats")
    stats = parse_json(text).value if isinstance(text, str) else None
    count = stats.get("numRecords") if isinstance(stats, dict) else None
    return count if type(count) is int else None


@dataclass(slots=True)
class State:
    """What a table is at one version; the bodies are those of the log.

    Attributes:
        known: whether everything before is known; false for a log that starts in the middle.
        version: the version; -1 before the first commit.
        vectors: path of each live file to the ids of the vectors that it is live with.
        seen: every path that was ever added or removed, to the version that did so first.
        since: what is active to the first version that had it so, and every one since then.
        removed: tombstones, those that have expired included.
        domains: by name, tombstones included.
        timestamp: the in-commit timestamp of the version, when it has one.

        stamped: the version that turned in-commit timestamps on, its timestamp, and whether the
            log tells.
        ids: path to baseRowId and defaultRowCommitVersion of the last add that had one.

    """

    known: bool = True
    version: int = -1
    protocol: Body | None = None
    metadata: Body | None = None
    adds: dict[Key, Body] = field(default_factory=dict)
    vectors: dict[str, set[str | None]] = field(default_factory=dict)
    removed: dict[Key, Body] = field(default_factory=dict)
    txns: dict[str, Body] = field(default_factory=dict)
    domains: dict[str, Body] = field(default_factory=dict)
    timestamp: int | None = None
    seen: dict[str, int] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    stamped: tuple[int, int | None, bool] | None = None
    ids: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def apply(self, version: int, lines: Iterable[Line]) -> None:
        """Move to a version by its actions; their order does not matter."""
        self.version = version
        self.timestamp = None
        later: list[tuple[Key, Body]] = []
        for line in lines:
            body = line.body
            match line.action:
                case "add" if key := file_key(body):
                    later.append((key, body))
                case "remove" if key := file_key(body):
                    self._drop(key)
                    self.removed[key] = body
                    self.seen.setdefault(key[0], version)
                case "metaData":
                    self.metadata = body
                case "protocol":
                    self.protocol = body
                case "txn":
                    self.txns[str(body.get("appId"))] = body
                case "domainMetadata":
                    self.domains[str(body.get("domain"))] = body
                case "commitInfo":
                    stamp = body.get("inCommitTimestamp")
                    self.timestamp = stamp if type(stamp) is int else None
                case _:
                    pass
        for key, body in later:
            self._add(key, body)

    def _add(self, key: Key, body: Body) -> None:
        self.removed.pop(key, None)
        self.adds[key] = body
        self.vectors.setdefault(key[0], set()).add(key[1])
        self.seen.setdefault(key[0], self.version)
        if body.get("baseRowId") is not None:
            self.ids[key[0]] = body["baseRowId"], body.get("defaultRowCommitVersion")

    def note(self, active: Collection[str], version: int) -> None:
        """Keep what is active from a version on."""
        self.since = {name: self.since.get(name, version) for name in active}

    def _drop(self, key: Key) -> None:
        if self.adds.pop(key, None) is not None:
            self.vectors[key[0]].discard(key[1])
            if not self.vectors[key[0]]:
                del self.vectors[key[0]]

    @property
    def live_domains(self) -> dict[str, Body]:
        """The domains that are not removed."""
        return {
            name: body for name, body in self.domains.items() if body.get("removed") is not True
        }
