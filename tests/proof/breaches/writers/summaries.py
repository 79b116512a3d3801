"""Wrong writers of parts, sidecars, compactions and checksums."""

from __future__ import annotations

import re
from pathlib import Path

from breaches.edits import (
    CHECKPOINTS,
    CHECKSUM,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    content,
    document,
    doubling,
    each,
    lines,
    listed,
    matching,
    renaming,
    without,
)
from breaches.model import writer
from breaches.seams import leaving
from breaches.writers.log import (
    _GONE,
    _added_too,
    _merged_rows,
    _moved_again,
    _old_txns,
    _one_less,
    _swapped_again,
)


def _numbered_sidecars(root: Path, fresh: frozenset[str]) -> None:
    """Give the sidecars of each checkpoint numbers from 0, over those of the one before."""
    names = {name: f"part-{at}.parquet" for at, name in enumerate(matching(SIDECAR, fresh))}
    for name, number in names.items():
        (root / name).replace((root / name).with_name(number))
    new = {Path(name).name: number for name, number in names.items()}
    each("sidecar", lambda b: {**b, "path": new[b["path"]]}, JSON_CHECKPOINT)(root, fresh)


ROWS = (
    writer(
        "splits-parts-anew",
        "CKPT-N-007",
        leaving(_swapped_again),
        "checkpoints/write-multi*",
    ),
    writer(
        "moves-transactions-to-another-part",
        "CKPT-N-007",
        leaving(_moved_again),
        "checkpoints/write-multi*",
    ),
    writer(
        "writes-parts-beside-v2",
        "CKPT-N-009",
        leaving(listed(lambda found: [*found, "v2Checkpoint"])),
        "checkpoints/write-multi-part-vectors*",
    ),
    writer(
        "writes-sidecars-as-text",
        "SIDE-001",
        leaving(content(SIDECAR, lambda _: b"{}\n")),
        "checkpoints/*",
    ),
    writer(
        "names-sidecars-twice",
        "SIDE-002",
        leaving(doubling("sidecar", where=CHECKPOINTS)),
        "checkpoints/*",
    ),
    writer(
        "names-sidecars-as-those-before",
        "SIDE-002",
        leaving(_numbered_sidecars),
        "checkpoints/write-v2-json-sidecars/*",
    ),
    writer(
        "compacts-under-another-name",
        "COMP-002",
        leaving(renaming(COMPACTION, lambda n: n.replace(".compacted", ".compact"))),
        "log-compaction*",
    ),
    writer(
        "compacts-in-a-folder",
        "COMP-001",
        leaving(renaming(COMPACTION, lambda n: n.replace("_delta_log/", "_delta_log/_compacted/"))),
        "log-compaction*",
    ),
    writer(
        "compacts-without-removes",
        "COMP-007",
        leaving(without("remove", where=COMPACTION)),
    ),
    writer("compacts-without-adds", "COMP-004", leaving(_one_less("add", COMPACTION))),
    writer("compacts-what-was-removed", "COMP-006", leaving(_added_too), "log-compaction*"),
    writer(
        "compacts-every-txn",
        "COMP-008",
        leaving(lines(_old_txns, COMPACTION)),
        "log-compaction*",
    ),
    writer(
        "compacts-two-actions-in-a-line",
        "COMP-005",
        leaving(lines(_merged_rows, COMPACTION)),
        "log-compaction*",
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
                    domainMetadata=[*(d.get("domainMetadata") or []), _GONE["domainMetadata"]]
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
)
