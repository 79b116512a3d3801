"""Cases of the last checkpoint file: right hints, stale ones and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, publish, refuse_load
from generators.golden.cases.table import GoldenTable
from generators.golden.chapters.log.checkpoints import grown
from generators.materialise.log.checkpoints import write_classic, write_multi_part
from generators.materialise.log.files import LOG_DIRECTORY, drop_commits, json_text
from generators.materialise.log.hints import last_checkpoint_document, write_last_checkpoint
from generators.oracle.delta_schema import struct

HINT = Chapter("last-checkpoint-file")

_PAIR = struct(id="long", name="string")


def _hint(table: GoldenTable, content: str | bytes | Mapping[str, Any]) -> None:
    if isinstance(content, Mapping):
        content = json_text(content)
    data = content.encode("utf-8") if isinstance(content, str) else content
    (table.root / LOG_DIRECTORY / "_last_checkpoint").write_bytes(data)


def _at(version: int) -> dict[str, int]:
    return {"lastCheckpointVersion": version}


@HINT.case("stale", "LAST-003 CKPT-003")
def _stale(case: CaseWriter) -> None:
    """A reader goes beyond a stale hint."""
    table = grown(case, 8)
    write_last_checkpoint(table.root, write_classic(table.root, 2, table.states[2]))
    write_classic(table.root, 5, table.states[5])
    publish(case, table, log_info=_at(5))


@HINT.case("absent-before-parts", "LAST-004 CKPT-011 CKPT-021")
def _absent_before_parts(case: CaseWriter) -> None:
    """Checkpoints of parts that a cut log begins with are found by listing."""
    table = grown(case, 8)
    write_multi_part(table.root, 2, table.states[2], 2)
    write_multi_part(table.root, 5, table.states[5], 3)
    drop_commits(table.root, 2)
    publish(case, table, versions=[2, 3, 4, 5, 6, 7], log_info=_at(5))


@HINT.case("with-checksum", "LASTS-009 LASTS-010 SUM-001")
def _summed(case: CaseWriter) -> None:
    """A hint with a right checksum is used."""
    table = grown(case, 6)
    write_last_checkpoint(table.root, write_classic(table.root, 3, table.states[3]), checksum=True)
    publish(case, table, log_info=_at(3))


@HINT.case("unknown-fields", "LASTS-001 LASTS-008 PROTO-009")
def _odd_fields(case: CaseWriter) -> None:
    """Unknown fields of a hint are ignored."""
    table = grown(case, 6)
    document = last_checkpoint_document(
        write_classic(table.root, 3, table.states[3]), checksum=False
    )
    extra = {"tags": {"k": "v"}, "future": [{"x": None}], "sizeInBytes": None}
    _hint(table, {**document, **extra})
    publish(case, table, log_info=_at(3))


@HINT.case("minimal", "LASTS-002 LASTS-003 LASTS-004 LASTS-005 LASTS-006")
def _minimal(case: CaseWriter) -> None:
    """Version and size are enough of a hint."""
    table = grown(case, 6)
    written = write_classic(table.root, 3, table.states[3])
    _hint(table, {"version": 3, "size": written.actions})
    drop_commits(table.root, 3)
    publish(case, table, versions=[3, 4, 5], log_info=_at(3))


@HINT.case("multi-part", "LASTS-004 CKPT-021")
def _parts(case: CaseWriter) -> None:
    """A hint with parts leads to all of them."""
    table = grown(case, 6)
    write_last_checkpoint(table.root, write_multi_part(table.root, 4, table.states[4], 2))
    drop_commits(table.root, 4)
    publish(case, table, versions=[4, 5], log_info={**_at(4), "numCheckpointFiles": 2})


def _garbage(table: GoldenTable) -> None:
    _hint(table, "{not json")


def _empty(table: GoldenTable) -> None:
    _hint(table, b"")


def _wrong_json(table: GoldenTable) -> None:
    _hint(table, '["a", "list"]')


def _no_version(table: GoldenTable) -> None:
    _hint(table, {"size": 3})


def _missing_checkpoint(table: GoldenTable) -> None:
    _hint(table, {"version": 4, "size": 7})


def _past_end(table: GoldenTable) -> None:
    _hint(table, {"version": 400, "size": 7})


def _wrong_parts(table: GoldenTable) -> None:
    _hint(table, {"version": 3, "size": 7, "parts": 3})


def _wrong_checksum(table: GoldenTable) -> None:
    written = write_classic(table.root, 3, table.states[3])
    _hint(table, {**last_checkpoint_document(written), "checksum": "0" * 32})


def _duplicate_key(table: GoldenTable) -> None:
    _hint(table, '{"version":3,"size":7,"version":1}')


_BAD_HINTS: Mapping[str, tuple[str, str, Callable[[GoldenTable], None]]] = {
    "garbage": ("A hint that is no JSON is passed over", "LASTS-001", _garbage),
    "zero-bytes": ("An empty hint is passed over", "LASTS-001", _empty),
    "wrong-json": ("A hint that is no object is passed over", "LASTS-001", _wrong_json),
    "without-version": ("A hint without version is passed over", "LASTS-002", _no_version),
    "names-missing": (
        "A hint to a missing checkpoint is passed over",
        "LAST-003",
        _missing_checkpoint,
    ),
    "past-the-end": ("A hint past the end of the log is passed over", "LAST-003", _past_end),
    "wrong-part-count": (
        "A hint to parts that are not there is passed over",
        "LASTS-004",
        _wrong_parts,
    ),
    "wrong-checksum": ("A hint of a wrong checksum is passed over", "LASTS-010", _wrong_checksum),
    "duplicate-key": ("A hint with a key twice is passed over", "SUM-013", _duplicate_key),
}


def _bad_hint(case: CaseWriter, requirement: str, spoil: Callable[[GoldenTable], None]) -> None:
    table = grown(case, 6)
    write_classic(table.root, 3, table.states[3])
    spoil(table)
    describe(case, table, log_info=_at(3))
    refusal = Refusal("invalid_table", "load", requirement)
    case.contest_read(
        "The reader lists the log or refuses, never answers wrong",
        _PAIR,
        Accepted("fallback", "the hint is an aid: the log is listed", rows=table.rows()),
        Accepted("refused", "some readers report a broken hint", refusal=refusal),
        hazard="silent wrong data",
    )


for _name, (_title, _requirement, _spoil) in _BAD_HINTS.items():
    HINT.define(
        _name,
        _title,
        [_requirement, "LAST-004"],
        partial(_bad_hint, requirement=_requirement, spoil=_spoil),
    )


@HINT.case("names-missing-log-cut", "LAST-003 SNAP-001")
def _missing_cut(case: CaseWriter) -> None:
    """A hint to a missing checkpoint of a cut log is fatal."""
    table = grown(case, 6)
    _missing_checkpoint(table)
    drop_commits(table.root, 5)
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, "The state is lost")


@HINT.case("schema-of-newer-checkpoint", "LASTS-007 CKPT-004")
def _other_schema(case: CaseWriter) -> None:
    """A hint's schema serves its own checkpoint only."""
    table = grown(case, 8)
    write_classic(table.root, 2, table.states[2])
    written = write_classic(table.root, 6, table.states[6])
    narrow = struct(add=struct(path="string")).to_json()
    _hint(table, {**last_checkpoint_document(written, checksum=False), "checkpointSchema": narrow})
    publish(case, table, versions=[2, 3, 4], log_info=_at(6))
