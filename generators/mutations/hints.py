"""The files beside the log proper: hints, checksums and whatever else lies about.

Serves "Last Checkpoint File", "JSON checksum" and "Version Checksum File". A hint is a hint: a
reader that falls back to listing is right, one that refuses cleanly is left open, and one that
gives other rows is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from generators.materialise.builder import TableBuilder
from generators.materialise.log.hints import json_checksum
from generators.mutations.bases import CHECKPOINTED, CHECKSUMMED
from generators.mutations.edits import delete, edit_bytes, log_path, write_file
from generators.mutations.mutation import Change, Chapter, Mutation

_HINTS: Final = Chapter("last-checkpoint-file", CHECKPOINTED)
_CHECKSUMS: Final = Chapter("version-checksum-file", CHECKSUMMED)
_LOG: Final = Chapter("delta-log-entries")

_A_HINT: Final = "the file only helps to find the checkpoint; refusing over it is open"
_LAST: Final = f"{4:020d}.crc"


def _hint(slug: str, title: str, requirements: str, change: Change) -> Mutation:
    return _HINTS.survived(
        f"hint-{slug}",
        title,
        f"{requirements} LAST-004",
        change,
        noticed_by="audit",
        tolerated=("refused",),
        reason=_A_HINT,
    )


def _hint_bytes(content: bytes) -> Change:
    return edit_bytes("_last_checkpoint", lambda _data: content)


def _hint_fields(*, checked: bool = True, **fields: Any) -> Change:
    """Set fields of the hint, with a checksum that fits unless another is given."""

    def edit(data: bytes) -> bytes:
        document = {**json.loads(data), **fields}
        if checked:
            document["checksum"] = json_checksum(document)
        return json.dumps(document).encode("utf-8")

    return edit_bytes("_last_checkpoint", edit)


def _without_checksum(data: bytes) -> bytes:
    document = json.loads(data)
    del document["checksum"]
    return json.dumps(document).encode("utf-8")


def _checksum_fields(**fields: Any) -> Change:
    return edit_bytes(
        _LAST, lambda data: json.dumps({**json.loads(data), **fields}).encode("utf-8")
    )


def _checksum(slug: str, title: str, requirements: str, change: Change) -> Mutation:
    return _CHECKSUMS.survived(
        f"checksum-{slug}",
        title,
        requirements,
        change,
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader may validate by the checksum file and report what differs",
    )


def _stray_directories(root: Path, _builder: TableBuilder) -> None:
    for name in ("_staged_commits", "_commits", f"{7:020d}.json.d", "_tmp"):
        folder = log_path(root, name)
        folder.mkdir()
        (folder / "file").write_bytes(b"x")


def _near_commits(root: Path, builder: TableBuilder) -> None:
    names = (
        f"{5:020d}.json.tmp",
        f"{5:020d}.JSON",
        f"{5:021d}.json",
        f"{5:019d}.json",
        f"{5:020d}.jsonl",
        f"-{5:019d}.json",
        f"{5:020d}.backup.json",
    )
    for name in names:
        write_file(f"_delta_log/{name}", b"{not json")(root, builder)


def _many_strays(root: Path, _builder: TableBuilder) -> None:
    for number in range(300):
        log_path(root, f"zz-{number:04d}.tmp").write_bytes(b"")
        log_path(root, f".{number:020d}.json.{number}.tmp").write_bytes(b"")


MUTATIONS: Final = (
    _hint("empty", "the hint has zero bytes", "LAST-001 LASTS-001", _hint_bytes(b"")),
    _hint("garbage", "the hint is not JSON", "LAST-001 LASTS-001", _hint_bytes(b"\x00\xffnot")),
    _hint("array", "the hint is a JSON array", "LASTS-001", _hint_bytes(b"[]")),
    _hint("no-version", "the hint names no version", "LASTS-002", _hint_bytes(b'{"size":3}')),
    _hint(
        "names-missing-checkpoint",
        "the hint names a checkpoint that does not exist",
        "LAST-003 LASTS-002",
        _hint_fields(version=3),
    ),
    _hint(
        "names-future-version",
        "the hint names a version that was never committed",
        "LAST-003 LASTS-002",
        _hint_fields(version=99),
    ),
    _hint(
        "negative-version",
        "the version of the hint is negative",
        "LASTS-002",
        _hint_fields(version=-1),
    ),
    _hint(
        "version-beyond-long",
        "the version of the hint does not fit 64 bits",
        "LASTS-002",
        _hint_fields(version=2**70),
    ),
    _hint(
        "false-parts",
        "the hint says that the classic checkpoint has parts",
        "LASTS-004",
        _hint_fields(parts=3),
    ),
    _hint(
        "false-size",
        "the hint counts other actions than the checkpoint has",
        "LASTS-003 LASTS-005 LASTS-006",
        _hint_fields(size=9999, sizeInBytes=1, numOfAddFiles=77),
    ),
    _hint(
        "wrong-checksum",
        "the checksum of the hint does not match",
        "LASTS-010 SUM-001",
        _hint_fields(checked=False, checksum="0" * 32),
    ),
    _hint(
        "duplicate-key",
        "the hint has a key twice",
        "SUM-013",
        _hint_bytes(b'{"version":2,"size":6,"version":1}'),
    ),
    _HINTS.survived(
        "hint-absent",
        "there is a checkpoint and no hint",
        "LAST-004",
        delete("_last_checkpoint"),
    ),
    _HINTS.survived(
        "hint-unknown-fields",
        "the hint has fields that no revision knows",
        "PROTO-009 LASTS-008",
        _hint_fields(future={"a": [1]}, tags={"x": "y"}),
    ),
    _HINTS.survived(
        "hint-without-checksum",
        "the hint carries no checksum",
        "LASTS-009",
        edit_bytes("_last_checkpoint", _without_checksum),
    ),
    _CHECKSUMS.survived(
        "checksum-absent",
        "the last version has no checksum file",
        "CRC-042",
        delete(_LAST),
    ),
    _checksum(
        "garbage",
        "the checksum file of the last version is not JSON",
        "CRC-005",
        edit_bytes(_LAST, lambda _data: b"\x00\x01"),
    ),
    _checksum(
        "empty",
        "the checksum file of the last version has zero bytes",
        "CRC-005",
        edit_bytes(_LAST, lambda _data: b""),
    ),
    _checksum(
        "two-objects",
        "the checksum file holds two objects",
        "CRC-005",
        edit_bytes(_LAST, lambda data: data + b"\n" + data),
    ),
    _checksum(
        "wrong-file-count",
        "numFiles is not the number of live files",
        "CRC-008 CRC-037",
        _checksum_fields(numFiles=17),
    ),
    _checksum(
        "wrong-size",
        "tableSizeBytes is not the size of the live files",
        "CRC-007 CRC-037",
        _checksum_fields(tableSizeBytes=1),
    ),
    _checksum(
        "wrong-metadata-count",
        "numMetadata is two",
        "CRC-009",
        _checksum_fields(numMetadata=2),
    ),
    _checksum(
        "wrong-protocol",
        "the checksum file tells of another protocol",
        "CRC-016 CRC-037",
        _checksum_fields(protocol={"minReaderVersion": 1, "minWriterVersion": 4}),
    ),
    _checksum(
        "uneven-histogram",
        "the arrays of the file size histogram differ in length",
        "CRC-024 CRC-025",
        _checksum_fields(
            fileSizeHistogram={
                "sortedBinBoundaries": [0, 1024],
                "fileCounts": [1],
                "totalBytes": [1, 2, 3],
            }
        ),
    ),
    _checksum(
        "histogram-not-from-zero",
        "the file size histogram begins above zero",
        "CRC-023",
        _checksum_fields(
            fileSizeHistogram={
                "sortedBinBoundaries": [1, 1024],
                "fileCounts": [2, 0],
                "totalBytes": [1, 0],
            }
        ),
    ),
    _LOG.survived(
        "strays-in-log",
        "the log directory has files of other kinds",
        "LOG-002",
        _many_strays,
        base=CHECKPOINTED,
    ),
    _LOG.survived(
        "strays-are-directories",
        "the log directory has directories of other kinds",
        "LOG-001",
        _stray_directories,
        base=CHECKPOINTED,
    ),
    _LOG.survived(
        "strays-like-commits",
        "the log directory has files whose names resemble commits",
        "LOG-002",
        _near_commits,
        noticed_by="audit",
    ),
)
