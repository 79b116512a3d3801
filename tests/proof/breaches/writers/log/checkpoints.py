"""Wrong writers of checkpoints, their parts and sidecars: names, versions, files."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    checkpoint_column,
    content,
    doubling,
    dropping,
    each,
    in_seconds,
    lines,
    listed,
    matching,
    renaming,
    respelling,
    rewrite,
    setting,
    unlisted,
    without,
)
from breaches.model import Ask, writer
from breaches.seams import Edit, by_request, during, leaving, writing
from breaches.views import bodies, dead_files, log_of
from conformance.adapter import Answer, Request


@by_request
def _cleaning_too_far(ask: Ask, request: Request) -> Answer:
    """Clean the log by a checkpoint that lacks a part."""
    answer = ask(request)
    if writing("cleanup")(request):
        (log_of(Path(request.table)) / f"{0:020}.json").unlink()
    return answer


NAMED = "checkpoints/write-checkpoint-named/*"


def _buried_again(root: Path, fresh: frozenset[str]) -> None:
    """Keep the tombstone of each file that was removed once in a checkpoint."""
    once = [
        {"remove": {name: body[name] for name in ("path", "deletionTimestamp", "dataChange")}}
        for body in bodies(root, "remove")
    ]
    lines(lambda found: [*found, *once], CHECKPOINT)(root, fresh)


def _with_dead_files(root: Path, fresh: frozenset[str]) -> None:
    dead = dead_files(root)
    lines(lambda found: [*found, *dead] if found else found, CHECKPOINTS)(root, fresh)


def _swapped(root: Path, fresh: frozenset[str]) -> None:
    """Replace a part of a checkpoint by the content of another."""
    parts = matching(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet", fresh)
    if len(parts) > 1:
        one, other = (root / parts[0]).read_bytes(), (root / parts[1]).read_bytes()
        rewrite(root / parts[0], other)
        rewrite(root / parts[1], one)


def _swapped_again(root: Path, fresh: frozenset[str]) -> None:
    """Do the same at every other attempt at the version."""
    marker = root.parent / "swapped"
    if matching(r".*\.checkpoint\..*", fresh):
        if marker.exists():
            _swapped(root, fresh)
        marker.touch()


def _moved_again(root: Path, fresh: frozenset[str]) -> None:
    """Put the transactions of the first part into the last one at every other attempt."""
    parts = matching(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet", fresh)
    marker = root.parent / "moved"
    if len(parts) > 1 and marker.exists():
        first, last = (pq.ParquetFile(root / parts[at]).read() for at in (0, -1))
        filled = pc.is_valid(first["txn"])
        moved = first.filter(filled).select(["txn"])
        both = pa.concat_tables([last, moved], promote_options="default")
        for name, table in ((parts[0], first.filter(pc.invert(filled))), (parts[-1], both)):
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink)
            rewrite(root / name, sink.getvalue().to_pybytes())
    if parts:
        marker.touch()


def _split(actions: Lines) -> Lines:
    adds = [a for a in actions if "sidecar" in a]
    if not adds:
        return actions
    body = {
        "path": "part-embedded.parquet",
        "partitionValues": {},
        "size": 1,
        "modificationTime": 0,
        "dataChange": False,
    }
    return [*actions, {"add": body}]


_PARTS = r"(_delta_log/\d{20}\.checkpoint)\.(\d{10})\.(\d{10})\.parquet"


_CLASSIC = r"(_delta_log/)(\d{20})\.checkpoint\.parquet"


_UUID = r"(_delta_log/)(\d{20})\.checkpoint\.([0-9a-f-]{36})\.(json|parquet)"


def _less(kind: str) -> Edit:
    """Leave the last action of a kind out of V2 checkpoints with classic names."""

    def change(actions: Lines) -> Lines:
        found = [at for at, action in enumerate(actions) if action.get(kind)]
        if not found or not any(action.get("checkpointMetadata") for action in actions):
            return actions
        return [action for at, action in enumerate(actions) if at != found[-1]]

    return lines(change, _CLASSIC)


_WEEK = 7 * 86_400_000


def _young(remove: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the tombstones of a week, whatever the table promises."""
    return remove if remove["deletionTimestamp"] > time.time() * 1000 - _WEEK else None


def _wrapped(held: Any) -> Any:
    """Write typed bounds of integers as if they had two bytes."""
    if isinstance(held, dict):
        return {k: v if k == "nullCount" else _wrapped(v) for k, v in held.items()}
    return (held + 2**15) % 2**16 - 2**15 if isinstance(held, int) else held


def _narrow_bounds(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "stats_parsed": _wrapped(body.get("stats_parsed"))}


def _numbered_sidecars(root: Path, fresh: frozenset[str]) -> None:
    """Give the sidecars of each checkpoint numbers from 0, over those of the one before."""
    names = {name: f"part-{at}.parquet" for at, name in enumerate(matching(SIDECAR, fresh))}
    for name, number in names.items():
        (root / name).replace((root / name).with_name(number))
    new = {Path(name).name: number for name, number in names.items()}
    each("sidecar", lambda b: {**b, "path": new[b["path"]]}, JSON_CHECKPOINT)(root, fresh)


def _checkpointed_first(root: Path, fresh: frozenset[str]) -> None:
    """Write checkpoints before the commits of their versions."""
    for name in matching(CHECKPOINT, fresh):
        later = (root / name).stat().st_ctime_ns + 1_000_000
        os.utime(log_of(root) / f"{Path(name).name[:20]}.json", ns=(later, later))


ROWS = (
    writer("keeps-dead-files-in-checkpoints", "CKPT-006", leaving(_with_dead_files)),
    writer(
        "forgets-tombstones-at-checkpoints",
        "CKPT-007",
        leaving(without("remove", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-not-what-was-replayed",
        "CKPT-005",
        leaving(setting("add", "modificationTime", 1, CHECKPOINTS)),
    ),
    writer(
        "marks-version-1-checkpoints",
        "CKPT-V1-002",
        leaving(checkpoint_column("checkpointMetadata", {"version": 1})),
    ),
    writer(
        "puts-sidecars-into-version-1",
        "CKPT-V1-001",
        leaving(
            checkpoint_column(
                "sidecar", {"path": "a.parquet", "sizeInBytes": 1, "modificationTime": 1}
            )
        ),
    ),
    writer(
        "names-v2-by-no-uuid",
        "CKPT-013",
        leaving(respelling(_UUID, r"\1\2.checkpoint.0-1.\4")),
        "checkpoints/*",
    ),
    writer(
        "names-v2-without-zeros",
        "CKPT-014",
        leaving(
            respelling(
                r"(_delta_log/)0*(\d+)\.checkpoint\.([0-9a-f-]{36})\.(json|parquet)",
                r"\1\2.checkpoint.\3.\4",
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-version-1-by-uuid",
        "CKPT-015",
        leaving(without("checkpointMetadata", where=CHECKPOINTS)),
    ),
    writer(
        "names-checkpoints-otherwise",
        "CKPT-018",
        leaving(respelling(_CLASSIC, r"\1\2.checkpoint.parq")),
        "checkpoints/*",
    ),
    writer(
        "names-checkpoints-without-zeros",
        "CKPT-019",
        leaving(
            respelling(r"(_delta_log/)0*(\d+)\.checkpoint\.parquet", r"\1\2.checkpoint.parquet")
        ),
        "checkpoints/*",
    ),
    writer(
        "counts-parts-from-zero",
        "CKPT-021",
        leaving(
            renaming(
                _PARTS,
                lambda n: re.sub(
                    r"\.(\d{10})\.(\d{10})\.", lambda m: f".{int(m[1]) - 1:010}.{m[2]}.", n
                ),
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-parts-without-zeros-of-versions",
        "CKPT-022",
        leaving(
            respelling(
                r"(_delta_log/)0*(\d+)\.checkpoint\.(\d{10})\.(\d{10})\.parquet",
                r"\1\2.checkpoint.\3.\4.parquet",
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-parts-in-few-digits",
        "CKPT-023",
        leaving(
            renaming(_PARTS, lambda n: re.sub(r"\.0*(\d+)\.0*(\d+)\.parquet", r".\1.\2.parquet", n))
        ),
        "checkpoints/*",
    ),
    writer(
        "writes-one-part",
        "CKPT-024",
        leaving(respelling(_CLASSIC, r"\1\2.checkpoint.0000000001.0000000001.parquet")),
        "checkpoints/*",
    ),
    writer(
        "checkpoints-before-the-commit",
        "CKPT-031",
        leaving(
            renaming(_CLASSIC, lambda n: re.sub(r"\d{20}", lambda m: f"{int(m[0]) + 5:020}", n))
        ),
        "checkpoints/*",
    ),
    writer(
        "checkpoints-the-version-to-come",
        "CKPT-031",
        during(
            "checkpoint",
            renaming(_CLASSIC, lambda n: re.sub(r"\d{20}", lambda m: f"{int(m[0]) + 1:020}", n)),
        ),
        "checkpoints/write-checkpoint/*",
    ),
    writer(
        "marks-no-second-kind",
        "CKPT-V2-002",
        leaving(without("checkpointMetadata", where=CHECKPOINTS)),
    ),
    *(
        writer(f"leaves-{name}-out-of-copies-for-old-clients", "CKPT-N-011", leaving(_less(kind)))
        for name, kind in (
            ("transactions", "txn"),
            ("domains", "domainMetadata"),
            ("tombstones", "remove"),
            ("files", "add"),
        )
    ),
    writer(
        "embeds-some-files",
        "CKPT-V2-004",
        leaving(lines(_split, JSON_CHECKPOINT)),
        "checkpoints/*",
    ),
    writer(
        "checkpoints-no-reader-features",
        "CKSCH-008",
        leaving(dropping("protocol", "readerFeatures", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "checkpoints/write-everything*",
    ),
    writer(
        "checkpoints-no-writer-features",
        "CKSCH-009",
        leaving(dropping("protocol", "writerFeatures", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "checkpoints/write-everything*",
    ),
    writer(
        "lists-no-second-checkpoints",
        "V2F-001",
        leaving(unlisted("v2Checkpoint")),
        "checkpoints/write-v2-json/*",
    ),
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
        "cleans-by-a-checkpoint-that-lacks-a-part",
        "CKPT-011",
        _cleaning_too_far,
        "metadata-cleanup/write-cleanup-nothing/*",
    ),
    writer(
        "checkpoints-no-tags",
        "CKPT-005",
        leaving(dropping("add", "tags", where=CHECKPOINTS)),
        NAMED,
    ),
    writer(
        "reports-sidecars-in-seconds",
        "SCA-006",
        leaving(setting("sidecar", "modificationTime", in_seconds)),
        "checkpoints/write-v2-*-sidecars/*",
    ),
    writer(
        "checkpoints-tombstones-of-restored-files",
        "CKPT-006",
        leaving(_buried_again),
        "*/write-restored/*",
    ),
    writer(
        "checkpoints-tombstones-of-a-week",
        "CKPT-007",
        leaving(each("remove", _young, CHECKPOINT)),
        "checkpoints/write-long-retention/*",
    ),
    writer(
        "keeps-typed-bounds-narrow",
        "CKPT-005",
        during("checkpoint", each("add", _narrow_bounds, CHECKPOINT)),
        "type-widening/write-widen-checkpointed/*",
    ),
    writer(
        "checkpoints-first",
        "CKPT-031",
        leaving(_checkpointed_first),
        "delta-log-entries/write-past-ten/*",
    ),
    writer(
        "packs-parts",
        "CKPT-N-002",
        leaving(renaming(_PARTS, lambda name: f"{name}.gz")),
        "checkpoints/write-multi*",
    ),
)
