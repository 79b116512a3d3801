"""Read commits and compactions: JSON with one action per line.

Implements "Delta Log Entries" and "Log Compaction Files".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from reference_impl.errors import DuplicateAction, InvalidAction
from reference_impl.log.lines import Lines, group_actions, parse_bodies
from reference_impl.model.actions import Action, CommitInfo, Protocol, action_key, decode_action
from reference_impl.model.file_actions import from_objects
from reference_impl.model.protocol import validate_protocol
from reference_impl.model.wire import LogPlace

_V2_ONLY: Final = {"checkpointMetadata": "CKM-001", "sidecar": "SCA-001"}
_UNIQUE_ACTIONS: Final = {
    "protocol": "PROTO-001",
    "metaData": "META-001",
    "txn": "REC-004",
    "domainMetadata": "REC-005",
}
"""Actions of which a commit has at most one (per application, per domain)."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The actions of one commit or compaction.

    Attributes:
        place: the file and the version.
        actions: everything but file actions, in file order.
        lines: the lines of file actions by wire name, not yet parsed; none when not
            asked for. :func:`reference_impl.log.file_columns.from_lines` makes columns of them.
        compacted: whether it is a compaction: the reconciled actions of several commits.
    """

    place: LogPlace
    actions: list[Action]
    lines: dict[str, Lines]
    compacted: bool

    def bodies(self, action: str) -> list[Any]:
        """Parse the file actions of a wire name into JSON values, for the few of one commit.

        Raises:
            MalformedCommit: a line is not a JSON object with one action.
            InvalidAction: an action lacks a required field, or a field has a wrong type or range.
        """
        bodies = parse_bodies(action, self.lines[action], self.place)
        from_objects(action, bodies, self.place)  # refuses what the action must not hold
        return bodies

    @property
    def info(self) -> CommitInfo | None:
        """The commitInfo action."""
        return next((item for item in self.actions if isinstance(item, CommitInfo)), None)


def parse_commit(data: bytes, place: LogPlace, *, files: bool, compacted: bool = False) -> Commit:
    """Parse the content of a commit or compaction.

    Args:
        data: the file's bytes.
        place: the file and its version.
        files: with ``False`` lines that hold a file action are skipped.
        compacted: whether it is a compaction.

    Raises:
        MalformedCommit: a line is not a JSON object with one action.
        InvalidAction: an action lacks a required field or has a field of a wrong type.
        InvalidProtocol: a protocol action contradicts itself.
        DuplicateAction: an action occurs twice that may occur once.
    """
    # Obeys LOG-006 PROTO-008 FA-015.
    actions: list[Action] = []
    seen: set[tuple[str, str]] = set()

    def decode(name: str, value: Any) -> None:
        if name in _V2_ONLY:
            message = f"a commit has a {name} action, which only V2 checkpoints may have"
            raise place.error(InvalidAction, message, action=name, requirement=_V2_ONLY[name])
        action = decode_action(name, value, place)
        if isinstance(action, Protocol):
            action = validate_protocol(action, place)
        key = action_key(action)
        if key in seen and name in _UNIQUE_ACTIONS:
            about = f" for {key[1]!r}" if key[1] else ""
            message = f"a commit has two {name} actions{about}"
            broken = _UNIQUE_ACTIONS[name]
            raise place.error(DuplicateAction, message, action=name, requirement=broken)
        seen.add(key)
        actions.append(action)

    return Commit(place, actions, group_actions(data, place, decode, files=files), compacted)
