"""Read commits and compactions: JSON with one action per line.

Serves "Delta Log Entries" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from reference_impl.actions import SMALL_ACTIONS, Action, CommitInfo, Protocol, decode_action
from reference_impl.errors import DuplicateAction, InvalidAction, MalformedCommit
from reference_impl.file_actions import FILE_ACTIONS
from reference_impl.protocol import validate_protocol
from reference_impl.wire import Place

__all__ = ["Commit", "parse_commit", "parse_lines"]

_FILE_LINES: Final = tuple(f'{{"{name}":'.encode() for name in FILE_ACTIONS)
_V2_ONLY: Final = {"checkpointMetadata": "CKM-001", "sidecar": "SCA-001"}
_SINGLE: Final = {
    "protocol": "PROTO-001",
    "metaData": "META-001",
    "txn": "REC-004",
    "domainMetadata": "REC-005",
    "commitInfo": "CINFO-001",
}
"""Actions of which a commit has at most one (per application, per domain)."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The actions of one commit or compaction.

    Attributes:
        place: the file and the version.
        actions: everything but file actions, in file order.
        files: the JSON objects of file actions by wire name; empty lists when not asked for.

    """

    place: Place
    actions: list[Action] = field(default_factory=list)
    files: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in FILE_ACTIONS})

    @property
    def info(self) -> CommitInfo | None:
        """The commitInfo action."""
        return next((item for item in self.actions if isinstance(item, CommitInfo)), None)


def parse_commit(data: bytes, place: Place, *, files: bool = True) -> Commit:
    """Parse the content of a commit or compaction.

    Args:
        data: the file's bytes.
        place: the file and its version.
        files: with ``False`` lines that hold a file action are passed over unread.

    Raises:
        MalformedCommit: a line is not a JSON object with one action.
        InvalidAction: an action lacks a required field or has a field of a wrong type.
        InvalidProtocol: a protocol action contradicts itself.
        DuplicateAction: an action occurs twice that may occur once.

    """
    commit = Commit(place)
    seen: set[tuple[str, str]] = set()
    for name, value in parse_lines(data, place, files=files):
        if name in FILE_ACTIONS:
            commit.files[name].append(value)
            continue
        if name in _V2_ONLY:
            raise InvalidAction(
                f"a commit has a {name} action, which only V2 checkpoints may have",
                path=place.path,
                version=place.version,
                action=name,
                requirement=_V2_ONLY[name],
            )
        action = decode_action(name, value, place)
        if isinstance(action, Protocol):
            validate_protocol(action, place)
        key = (name, str(getattr(action, "app_id", getattr(action, "domain", ""))))
        if key in seen:
            about = f" for {key[1]!r}" if key[1] else ""
            raise DuplicateAction(
                f"a commit has two {name} actions{about}",
                path=place.path,
                version=place.version,
                action=name,
                requirement=_SINGLE[name],
            )
        seen.add(key)
        commit.actions.append(action)
    return commit


def parse_lines(data: bytes, place: Place, *, files: bool = True) -> Iterator[tuple[str, Any]]:
    """Give name and JSON value of each known action; unknown actions are passed over.

    Raises:
        MalformedCommit: a line is not a JSON object with one action.

    """
    known = SMALL_ACTIONS.keys() | FILE_ACTIONS.keys()
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = raw.strip()
        if not line or (not files and line.startswith(_FILE_LINES)):
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _malformed(f"line {number} is not JSON: {error}", place) from None
        if type(value) is not dict:
            raise _malformed(f"line {number} is not a JSON object", place)
        present = [(name, item) for name, item in value.items() if item is not None]
        named = [(name, item) for name, item in present if name in known]
        if len(named) > 1:
            names = " and ".join(name for name, _ in named)
            raise _malformed(f"line {number} has more than one action: {names}", place)
        yield from named


def _malformed(message: str, place: Place) -> MalformedCommit:
    return MalformedCommit(message, path=place.path, version=place.version)
