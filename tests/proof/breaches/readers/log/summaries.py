"""Wrong readers of log compactions and version checksums."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from breaches.edits import COMPACTION, without
from breaches.model import reader
from breaches.seams import asking, refusing, viewing
from breaches.views import commits_of, log_of, vectors


def _to_their_end(request: Any) -> Any:
    """Take a compaction whole, that the version which is asked for is within."""
    version = getattr(request, "version", None)
    if version is None:
        return request
    names = [path.name for path in log_of(Path(request.table)).glob("*.compacted.json")]
    ranges = [(int(name[:20]), int(name[21:41])) for name in names]
    ends = [end for start, end in ranges if start <= version < end]
    return replace(request, version=max(ends)) if ends else request


def _lacks_newest_checksum(root: Path) -> bool:
    checksums = sorted(int(p.stem) for p in log_of(root).glob("*.crc"))
    return bool(checksums) and checksums[-1] < max(commits_of(root), default=-1)


def _no_checksum(root: Path) -> bool:
    return log_of(root).is_dir() and not any(log_of(root).glob("*.crc"))


_OF_COMPACTIONS = {
    "removes": "remove",
    "adds": "add",
    "txns": "txn",
    "domains": "domainMetadata",
    "metadata": "metaData",
    "protocols": "protocol",
}
"""Actions of compactions, by what rows of the table call them."""


ROWS = (
    *(
        reader(
            f"takes-no-{called}-of-compactions",
            "COMP-012",
            viewing(without(action, where=COMPACTION)),
        )
        for called, action in _OF_COMPACTIONS.items()
    ),
    reader("takes-compactions-beyond-the-version", "COMP-012", asking(_to_their_end)),
    reader(
        "mistakes-vectors-of-compactions",
        "COMP-012",
        viewing(vectors(lambda _rows, _file: {0}, COMPACTION)),
    ),
    reader("wants-checksums", "CRC-042", refusing(_no_checksum)),
    reader("asks-for-checksums", "CRC-042", refusing(_lacks_newest_checksum)),
)
