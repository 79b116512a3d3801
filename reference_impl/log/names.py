"""Names of the files of a transaction log.

Implements "Delta Log Entries", "Checkpoints", "Sidecar Files", "Log Compaction Files", "Last
Checkpoint File" and "Version Checksum File". A name that matches none of the patterns is
foreign, and foreign files are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from reference_impl.model.ranges import INT64

LOG_DIR: Final = "_delta_log"
SIDECAR_DIR: Final = "_delta_log/_sidecars"
LAST_CHECKPOINT: Final = "_last_checkpoint"

FileKind: TypeAlias = Literal[
    "commit", "classic_checkpoint", "multipart_checkpoint", "uuid_checkpoint", "compaction",
    "checksum",
]  # fmt: skip

VERSION: Final = r"(?P<version>[0-9]{20})"
"""How a file name holds its version, as a pattern with a group."""

UUID: Final = r"(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})"
"""How a file name holds its UUID, as a pattern with a group."""

_RESTS: Final[tuple[tuple[FileKind, str], ...]] = (
    ("commit", r"\.json"),
    ("classic_checkpoint", r"\.checkpoint\.parquet"),
    ("multipart_checkpoint", r"\.checkpoint\.(?P<part>[0-9]{10})\.(?P<parts>[0-9]{10})\.parquet"),
    ("uuid_checkpoint", rf"\.checkpoint\.{UUID}\.(?P<encoding>json|parquet)"),
    ("compaction", r"\.(?P<end>[0-9]{20})\.compacted\.json"),
    ("checksum", r"\.crc"),
)
_PATTERNS: Final = tuple((kind, re.compile(VERSION + rest)) for kind, rest in _RESTS)


@dataclass(frozen=True, slots=True)
class LogFile:
    """What a log file's name says.

    Attributes:
        name: the file's name, relative to the log directory.
        kind: which of the protocol's files it is.
        version: the version in the name; the first of the range for a compaction.
        end: last version of the range for a compaction, else the same as ``version``.
        parts: number of parts of a multi-part checkpoint; 1 for other kinds.
        content: the bytes of a commit that a catalog keeps and no file holds; ``None`` for a
            file.
    """

    name: str
    kind: FileKind
    version: int
    end: int
    parts: int = 1
    content: bytes | None = None


def parse_name(name: str) -> LogFile | None:
    """Read a file name in the log directory; ``None`` for a foreign file.

    A compaction must end after it starts, a multi-part checkpoint must have more than one part
    with the part number in range, and versions must fit a signed 64-bit integer: names that
    break this are foreign.
    """
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(name)
        if match is None:
            continue
        groups = match.groupdict()
        version = int(groups["version"])
        end = int(groups.get("end", version))
        part, parts = int(groups.get("part", 1)), int(groups.get("parts", 1))
        fits = end in INT64 and 1 <= part <= parts
        if kind == "compaction":
            fits = fits and end > version
        if kind == "multipart_checkpoint":
            fits = fits and parts > 1
        if not fits:
            return None
        return LogFile(name, kind, version, end, parts)
    return None


def commit_name(version: int) -> str:
    """Name the commit of a version."""
    # Obeys LOG-002.
    return f"{version:020d}.json"


def checkpoint_name(version: int) -> str:
    """Name the classic checkpoint of a version."""
    # Obeys CKPT-018 CKPT-019.
    return f"{version:020d}.checkpoint.parquet"


def part_name(version: int, part: int, parts: int) -> str:
    """Name part ``part`` (from 1) of a checkpoint of ``parts`` parts."""
    # Obeys CKPT-021 CKPT-022 CKPT-023.
    return f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def uuid_checkpoint_name(version: int, uuid: str, encoding: Literal["json", "parquet"]) -> str:
    """Name a UUID-named V2 checkpoint."""
    # Obeys CKPT-013 CKPT-014.
    return f"{version:020d}.checkpoint.{uuid}.{encoding}"


def compaction_name(start: int, end: int) -> str:
    """Name the compaction of the commits ``start`` to ``end``, both included."""
    # Obeys COMP-002.
    return f"{start:020d}.{end:020d}.compacted.json"


def checksum_name(version: int) -> str:
    """Name the checksum file of a version."""
    # Obeys CRC-003.
    return f"{version:020d}.crc"
