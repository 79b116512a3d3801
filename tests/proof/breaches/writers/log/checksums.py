"""Wrong writers of version checksums."""

from __future__ import annotations

import os
import re
from pathlib import Path

from breaches.edits import (
    CHECKSUM,
    COMMIT,
    REMOVED_DOMAIN,
    content,
    document,
    renaming,
    rewriting_earlier,
)
from breaches.model import writer
from breaches.seams import afterwards, leaving, where_asked, writing
from breaches.views import log_of


def _sums(root: Path) -> list[Path]:
    return sorted(log_of(root).glob("*.crc"))


def _again(_root: Path, sums: list[Path]) -> None:
    """Write the checksums again that were there before."""
    for path in sums:
        path.write_bytes(path.read_bytes() + b" ")


def _summed_first(root: Path, fresh: frozenset[str]) -> None:
    """Write checksums before the commits of their versions."""
    for name in (name for name in fresh if name.endswith(".crc")):
        later = (root / name).stat().st_ctime_ns + 1_000_000
        os.utime((root / name).with_suffix(".json"), ns=(later, later))


def _without_the_last_but_one(root: Path) -> None:
    """Take a commit away that another one follows."""
    sorted(log_of(root).glob("*[0-9].json"))[-2].unlink()


ROWS = (
    writer("alters-commits", "CRC-001", leaving(rewriting_earlier(COMMIT, lambda b: b + b"\n"))),
    writer(
        "alters-checksums",
        "CRC-039",
        leaving(rewriting_earlier(CHECKSUM, lambda b: b + b" "), sums=True),
    ),
    writer(
        "names-checksums-otherwise",
        "CRC-003",
        leaving(renaming(CHECKSUM, lambda n: re.sub(r"/0*(\d)", r"/\1", n)), sums=True),
    ),
    writer(
        "keeps-checksums-in-a-folder",
        "CRC-004",
        leaving(
            renaming(CHECKSUM, lambda n: n.replace("_delta_log/", "_delta_log/_checksums/")),
            sums=True,
        ),
    ),
    writer(
        "sums-wrong-sizes",
        "CRC-007",
        leaving(
            document(CHECKSUM, lambda d: d.update(tableSizeBytes=d["tableSizeBytes"] + 1)),
            sums=True,
        ),
    ),
    writer(
        "counts-wrong-files",
        "CRC-008",
        leaving(document(CHECKSUM, lambda d: d.update(numFiles=d["numFiles"] + 1)), sums=True),
    ),
    writer(
        "counts-no-metadata",
        "CRC-009",
        leaving(document(CHECKSUM, lambda d: d.update(numMetadata=0)), sums=True),
    ),
    writer(
        "counts-no-protocol",
        "CRC-010",
        leaving(document(CHECKSUM, lambda d: d.update(numProtocol=0)), sums=True),
    ),
    writer(
        "sums-no-timestamp",
        "CRC-011",
        leaving(
            document(CHECKSUM, lambda d: d.pop("inCommitTimestampOpt", None) and None), sums=True
        ),
        "in-commit*",
    ),
    writer(
        "sums-other-metadata",
        "CRC-015",
        leaving(
            document(
                CHECKSUM,
                lambda d: d.update(
                    metadata={**d["metadata"], "id": "3f1c0a52-7a5d-4d58-9a01-6f2b8f9f2a10"}
                ),
            ),
            sums=True,
        ),
    ),
    writer(
        "sums-other-protocols",
        "CRC-016",
        leaving(
            document(
                CHECKSUM, lambda d: d.update(protocol={**d["protocol"], "minWriterVersion": 1})
            ),
            sums=True,
        ),
    ),
    writer(
        "sums-two-objects",
        "CRC-005",
        leaving(content(CHECKSUM, lambda b: b + b"\n{}\n"), sums=True),
    ),
    writer(
        "sums-a-state-of-before",
        "CRC-037",
        leaving(
            document(
                CHECKSUM, lambda d: d.update(setTransactions=[{"appId": "nobody", "version": 1}])
            ),
            sums=True,
        ),
    ),
    writer(
        "sums-a-wrong-histogram",
        "CRC-028",
        leaving(
            document(
                CHECKSUM,
                lambda d: d.update(
                    fileSizeHistogram={
                        "sortedBinBoundaries": [0, 8],
                        "fileCounts": [0, 0],
                        "totalBytes": [0, 0],
                    }
                ),
            ),
            sums=True,
        ),
    ),
    writer(
        "sums-removed-domains",
        "CRC-014",
        leaving(
            document(
                CHECKSUM,
                lambda d: d.update(
                    domainMetadata=[
                        *(d.get("domainMetadata") or []),
                        REMOVED_DOMAIN["domainMetadata"],
                    ]
                ),
            ),
            sums=True,
        ),
        "domain*",
    ),
    writer(
        "sums-before-it-commits",
        "CRC-038",
        leaving(
            renaming(CHECKSUM, lambda n: re.sub(r"\d{20}", lambda m: f"{int(m[0]) + 7:020}", n)),
            sums=True,
        ),
    ),
    writer(
        "alters-checksums-at-checkpoints",
        "CRC-039",
        where_asked(writing("checkpoint"), afterwards(_again, _sums)),
        "version-checksum-file/write-others-kept/*",
    ),
    writer(
        "sums-first",
        "CRC-038",
        leaving(_summed_first, sums=True),
        "delta-log-entries/write-past-ten/*",
    ),
    writer(
        "restores-by-taking-commits-away",
        "CRC-001",
        where_asked(writing("restore"), afterwards(_without_the_last_but_one)),
        "version-checksum-file/write-each/*",
    ),
)
