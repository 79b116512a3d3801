"""A table by the commits of its log, and the summaries of any version of it.

Covers "Delta Log Entries", "Checkpoints", "Log Compaction Files" and "Version Checksum File".
Builders that say otherwise which rows a version has keep the log here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.materialise.log import checkpoints, hints
from generators.materialise.log.checkpoints import CheckpointStyle, Written
from generators.materialise.log.files import Action, write_commit
from generators.materialise.log.state import LogState
from generators.oracle.delta_schema import Struct
from generators.oracle.operations import CheckpointKind


class LoggedTable(ABC):
    """A table below ``root``, commit by commit.

    Attributes:
        root: the table root on disk.
        schema: the schema in force.
        partition_columns: logical names in force.
        properties: the table properties in force.
        states: what the log says, per version.
        commits: the lines of each version's commit, ``commitInfo`` first where there is one.
    """

    def __init__(
        self,
        root: Path,
        schema: Struct,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Begin a table without any commit."""
        self.root = Path(root)
        self.schema = schema
        self.partition_columns = tuple(partition_columns)
        self.properties = dict(properties or {})
        self.states: dict[int, LogState] = {}
        self.commits: dict[int, list[Action | str]] = {}

    @abstractmethod
    def name_for(self, what: str, place: str) -> str:
        """Return the UUID of a file of a kind, at a place of the log that is its alone."""

    def sidecar_time(self, version: int) -> int:  # noqa: ARG002  for who has times
        """Return the time of the sidecars of a version in milliseconds since the epoch."""
        return 0

    def checkpoint_style(self, version: int) -> CheckpointStyle:  # noqa: ARG002  as above
        """Return what the checkpoints of a version carry."""
        return checkpoints.USUAL

    @property
    def version(self) -> int:
        """The last committed version; -1 before the first."""
        return max(self.states, default=-1)

    def write_commit(
        self, version: int, lines: Sequence[Action | str], *, modified: int | None = None
    ) -> LogState:
        """Write the commit of a version, and return what the log says with it.

        Args:
            version: the version, one that comes after all others.
            lines: wrapped actions; text is written as a line of its own and not understood.
            modified: modification time of the file in milliseconds since the epoch.
        """
        write_commit(self.root, version, lines, modified=modified)
        state = self.states[self.version].copy() if self.states else LogState()
        state.apply(each for each in lines if not isinstance(each, str))
        self.states[version], self.commits[version] = state, list(lines)
        return state

    def checkpoint(  # noqa: PLR0913  kind, layout and hint are independent of one another
        self,
        kind: CheckpointKind = "classic",
        version: int | None = None,
        *,
        parts: int = 2,
        sidecars: int = 0,
        style: CheckpointStyle | None = None,
        hint: bool = True,
    ) -> Written:
        """Write a checkpoint.

        Args:
            kind: spec and naming scheme.
            version: the version to checkpoint, the latest when ``None``.
            parts: parts of a multi-part checkpoint.
            sidecars: sidecar files of a V2 checkpoint.
            style: what the checkpoint carries; :meth:`checkpoint_style` when ``None``.
            hint: also write ``_last_checkpoint``, its checksum included.
        """
        at = self.version if version is None else version
        state = self.states[at]
        style = style or self.checkpoint_style(at)
        match kind:
            case "classic":
                written = checkpoints.write_classic(self.root, at, state, style)
            case "multi-part":
                written = checkpoints.write_multi_part(self.root, at, state, parts, style)
            case _:
                named = kind != "v2-classic"
                written = checkpoints.write_v2(
                    self.root,
                    at,
                    state,
                    identity=self.name_for("checkpoint", f"{kind}/{at}/{sidecars}")
                    if named
                    else None,
                    extension="json" if kind == "v2-json" else "parquet",
                    sidecars=[
                        f"{self.name_for('sidecar', f'sidecar/{kind}/{at}/{number}')}.parquet"
                        for number in range(sidecars)
                    ],
                    modified=self.sidecar_time(at),
                    style=style,
                )
        if hint:
            hints.write_last_checkpoint(self.root, written)
        return written

    def compact_log(self, start: int, end: int) -> Path:
        """Write the log compaction file of the versions ``start`` to ``end``, both included."""
        commits = [
            [each for each in self.commits[number] if not isinstance(each, str)]
            for number in range(start, end + 1)
        ]
        return hints.write_compaction(self.root, start, end, commits)

    def checksum(self, version: int | None = None, **options: Any) -> Path:
        """Write the checksum file of a version, with the in-commit timestamp that its commit has.

        Args:
            version: the version, the latest when ``None``.
            options: those of :func:`~generators.materialise.log.hints.version_checksum_document`.
        """
        at = self.version if version is None else version
        for action in self.commits[at]:
            if not isinstance(action, str) and "commitInfo" in action:
                options["in_commit_timestamp"] = action["commitInfo"].get("inCommitTimestamp")
        document = hints.version_checksum_document(self.states[at], **options)
        return hints.write_version_checksum(self.root, at, document)
