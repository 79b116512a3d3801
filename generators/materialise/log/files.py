"""Commit files and the names of every kind of log file.

Covers "Delta Log Entries", "Checkpoint Naming Scheme", "Log Compaction Files" and "Version
Checksum File" as far as names go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

Action: TypeAlias = Mapping[str, Any]
"""A wrapped action, as ``{"add": {...}}``."""

LOG_DIRECTORY: Final = "_delta_log"
SIDECAR_DIRECTORY: Final = "_delta_log/_sidecars"


def commit_name(version: int) -> str:
    """Return ``n.json``, the version padded to twenty digits."""
    return f"{version:020d}.json"


def classic_checkpoint_name(version: int) -> str:
    """Return ``n.checkpoint.parquet``."""
    return f"{version:020d}.checkpoint.parquet"


def part_name(version: int, part: int, parts: int) -> str:
    """Return the name of part ``part`` (from 1) of a multi-part checkpoint."""
    return f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def uuid_checkpoint_name(version: int, identity: str, extension: str) -> str:
    """Return ``n.checkpoint.u.json`` or ``n.checkpoint.u.parquet``."""
    return f"{version:020d}.checkpoint.{identity}.{extension}"


def compaction_name(start: int, end: int) -> str:
    """Return ``x.y.compacted.json``."""
    return f"{start:020d}.{end:020d}.compacted.json"


def checksum_name(version: int) -> str:
    """Return ``n.crc``."""
    return f"{version:020d}.crc"


def json_text(document: Any) -> str:
    """Return a document as compact JSON on one line."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def action_line(action: Action | str) -> str:
    """Return the line of an action; text passes through, for lines that are wrong on purpose."""
    return action if isinstance(action, str) else json_text(action)


def set_modification_time(path: Path, milliseconds: int) -> None:
    """Set a file's modification time in milliseconds since the epoch."""
    nanoseconds = milliseconds * 1_000_000
    os.utime(path, ns=(nanoseconds, nanoseconds))


def _write_lines(path: Path, actions: Iterable[Action | str], modified: int | None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(action_line(each) + "\n" for each in actions).encode("utf-8"))
    if modified is not None:
        set_modification_time(path, modified)
    return path


def write_commit(
    root: Path, version: int, actions: Iterable[Action | str], *, modified: int | None = None
) -> Path:
    """Write the commit of a version and return its path.

    Args:
        root: the table root.
        version: the version.
        actions: wrapped actions; text is written as it is.
        modified: modification time of the file in milliseconds since the epoch.
    """
    return _write_lines(root / LOG_DIRECTORY / commit_name(version), actions, modified)


def drop_commits(root: Path, below: int) -> None:
    """Delete the commits of the versions below one, as log cleanup does.

    Cleanup that starts from a checkpoint leaves the commit of the checkpoint's own version,
    because a checkpoint holds no commit information ("Metadata Cleanup").
    """
    for version in range(below):
        (root / LOG_DIRECTORY / commit_name(version)).unlink()


def write_compaction_lines(root: Path, start: int, end: int, actions: Iterable[Action]) -> Path:
    """Write a log compaction file of the versions ``start`` to ``end`` and return its path."""
    return _write_lines(root / LOG_DIRECTORY / compaction_name(start, end), actions, None)


def read_commit(root: Path, version: int) -> list[dict[str, Any]]:
    """Read back a commit that the materialiser wrote."""
    text = (root / LOG_DIRECTORY / commit_name(version)).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
