"""The state of a log at one version, action by action.

Covers "Action Reconciliation" and "Log Compaction Files". Written for checkpoints, checksums and
compactions of small tables: plain dictionaries, one action at a time, newest wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from generators.materialise.log.files import Action

FileKey: TypeAlias = tuple[str, str | None]
"""A logical file: path as in the log, and unique id of its deletion vector."""


def dv_unique_id(descriptor: dict[str, Any] | None) -> str | None:
    """Return the unique id of a deletion vector descriptor, ``None`` for none."""
    if descriptor is None:
        return None
    identity = f"{descriptor['storageType']}{descriptor['pathOrInlineDv']}"
    offset = descriptor.get("offset")
    return identity if offset is None else f"{identity}@{offset}"


def file_key(body: dict[str, Any]) -> FileKey:
    """Return the key of an ``add`` or ``remove`` body."""
    return body["path"], dv_unique_id(body.get("deletionVector"))


@dataclass(slots=True)
class LogState:
    """What a log says at one version.

    Attributes:
        protocol: the protocol in force.
        metadata: the metadata in force.
        adds: live logical files.
        removes: tombstones.
        transactions: the latest ``txn`` per application.
        domains: the latest ``domainMetadata`` per domain, tombstones among them.
    """

    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    adds: dict[FileKey, dict[str, Any]] = field(default_factory=dict)
    removes: dict[FileKey, dict[str, Any]] = field(default_factory=dict)
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, actions: Iterable[Action]) -> None:
        """Apply the actions of the next commit."""
        for wrapped in actions:
            for kind, body in wrapped.items():
                self._apply(kind, dict(body))

    def _apply(self, kind: str, body: dict[str, Any]) -> None:
        match kind:
            case "protocol":
                self.protocol = body
            case "metaData":
                self.metadata = body
            case "txn":
                self.transactions[body["appId"]] = body
            case "domainMetadata":
                self.domains[body["domain"]] = body
            case "add":
                key = file_key(body)
                self.removes.pop(key, None)
                self.adds.pop(key, None)
                self.adds[key] = body
            case "remove":
                key = file_key(body)
                self.adds.pop(key, None)
                self.removes[key] = body
            case _:
                return

    def copy(self) -> LogState:
        """Return a copy that later commits do not touch."""
        return LogState(
            self.protocol,
            self.metadata,
            dict(self.adds),
            dict(self.removes),
            dict(self.transactions),
            dict(self.domains),
        )

    def file_actions(self) -> list[dict[str, Any]]:
        """Return tombstones and live files as wrapped actions."""
        return [{"remove": body} for body in self.removes.values()] + [
            {"add": body} for body in self.adds.values()
        ]

    def other_actions(self, *, tombstones: bool = False) -> list[dict[str, Any]]:
        """Return everything but file actions, in a fixed order.

        Args:
            tombstones: also give removed domains, which compactions keep and checkpoints drop.
        """
        actions: list[dict[str, Any]] = []
        if self.protocol is not None:
            actions.append({"protocol": self.protocol})
        if self.metadata is not None:
            actions.append({"metaData": self.metadata})
        actions += [{"txn": self.transactions[name]} for name in sorted(self.transactions)]
        actions += [
            {"domainMetadata": self.domains[name]}
            for name in sorted(self.domains)
            if tombstones or not self.domains[name].get("removed")
        ]
        return actions
