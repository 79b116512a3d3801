"""Names of the files of a log (sections Delta Log Entries and Checkpoint Naming Scheme)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from conformance.audit.grammar.types import LONG_END

LOG_DIR: Final = "_delta_log"
SIDECAR_DIR: Final = f"{LOG_DIR}/_sidecars"
HINT: Final = f"{LOG_DIR}/_last_checkpoint"

FileKind: TypeAlias = Literal[
    "commit", "classic_checkpoint", "multipart_checkpoint", "uuid_checkpoint", "compaction",
    "checksum",
]  # fmt: skip

_DIGITS: Final = frozenset("0123456789")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class LogFile:
    """What the name of a file of the log says.

    Attributes:
        name: in the folder of the log.
        kind: which of the protocol's files it is.
        version: in the name; the first of the range of a compaction.
        end: the last version of the range of a compaction, else the version.
        parts: of a checkpoint in parts; 0 of another file.
    """

    name: str
    kind: FileKind
    version: int
    end: int
    parts: int = 0


def _number(text: str, digits: int) -> int | None:
    whole = len(text) == digits and _DIGITS.issuperset(text)
    return int(text) if whole and int(text) < LONG_END else None


def name_of(name: str) -> LogFile | None:  # noqa: PLR0911  one answer for each form of a name
    """Take a name apart; ``None`` where it is the name of no file of a log."""
    first, *rest = name.split(".")
    version = _number(first, 20)
    if version is None:
        return None
    match rest:
        case ["json"]:
            return LogFile(name, "commit", version, version)
        case ["crc"]:
            return LogFile(name, "checksum", version, version)
        case [last, "compacted", "json"]:
            end = _number(last, 20)
            if end is None or end <= version:
                return None
            return LogFile(name, "compaction", version, end)
        case ["checkpoint", "parquet"]:
            return LogFile(name, "classic_checkpoint", version, version)
        case ["checkpoint", one, "parquet" | "json"] if _UUID.fullmatch(one):
            return LogFile(name, "uuid_checkpoint", version, version)
        case ["checkpoint", one, all_, "parquet"]:
            part, parts = _number(one, 10), _number(all_, 10)
            if part is None or parts is None or not 1 <= part <= parts or parts == 1:
                return None
            return LogFile(name, "multipart_checkpoint", version, version, parts)
        case _:
            return None


def commit_name(version: int) -> str:
    """Name the commit of a version."""
    return f"{version:020d}.json"


def checksum_name(version: int) -> str:
    """Return the name of the checksum file of a version."""
    return f"{version:020d}.crc"
