"""Cases of the last checkpoint file: right hints, stale ones and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, publish, publish_cut, refuse_load
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import GoldenTable
from generators.golden.chapters.log.checkpoints import grown
from generators.materialise.log.files import LOG_DIRECTORY, drop_commits, json_text, part_name
from generators.materialise.log.hints import last_checkpoint_document
from generators.oracle.delta_schema import struct

HINT = Chapter("last-checkpoint-file")

_Content: TypeAlias = str | bytes | Mapping[str, Any]


def _hint(table: GoldenTable, content: _Content) -> None:
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
    table.checkpoint(version=2)
    table.checkpoint(version=5, hint=False)
    publish(case, table, log_info=_at(5))


@HINT.case("absent-before-parts", "LAST-004 CKPT-011 CKPT-021")
def _absent_before_parts(case: CaseWriter) -> None:
    """Checkpoints of parts that a cut log begins with are found by listing."""
    table = grown(case, 8)
    table.checkpoint("multi-part", 2, parts=2, hint=False)
    table.checkpoint("multi-part", 5, parts=3, hint=False)
    publish_cut(case, table, 2, checkpoint=5)


@HINT.case("with-checksum", "LASTS-009 LASTS-010 SUM-001")
def _summed(case: CaseWriter) -> None:
    """A hint with a right checksum is used."""
    table = grown(case, 6)
    table.checkpoint(version=3)
    publish(case, table, log_info=_at(3))


@HINT.case("unknown-fields", "LASTS-001 LASTS-008 PROTO-009")
def _odd_fields(case: CaseWriter) -> None:
    """Unknown fields of a hint are ignored."""
    table = grown(case, 6)
    document = last_checkpoint_document(table.checkpoint(version=3, hint=False), checksum=False)
    _hint(table, {**document, "tags": {"k": "v"}, "future": [{"x": None}], "sizeInBytes": None})
    publish(case, table, log_info=_at(3))


@HINT.case("minimal", "LASTS-002 LASTS-003 LASTS-004 LASTS-005 LASTS-006")
def _minimal(case: CaseWriter) -> None:
    """Version and size are enough of a hint."""
    table = grown(case, 6)
    _hint(table, {"version": 3, "size": table.checkpoint(version=3, hint=False).actions})
    publish_cut(case, table, 3)


@HINT.case("multi-part", "LASTS-004 CKPT-021")
def _parts(case: CaseWriter) -> None:
    """A hint with parts leads to all of them."""
    table = grown(case, 6)
    table.checkpoint("multi-part", 4, parts=2)
    publish_cut(case, table, 4, numCheckpointFiles=2)


def _wrong_checksum(table: GoldenTable) -> Mapping[str, Any]:
    written = table.checkpoint(version=3, hint=False)
    return {**last_checkpoint_document(written), "checksum": "0" * 32}


_MISSING: Mapping[str, Any] = {"version": 4, "size": 7}
"""A hint to a checkpoint that is not there."""


def _incomplete(table: GoldenTable) -> Mapping[str, Any]:
    written = table.checkpoint("multi-part", 4, parts=2, hint=False)
    (table.root / LOG_DIRECTORY / part_name(4, 2, 2)).unlink()
    return last_checkpoint_document(written)


_BAD_HINTS: Mapping[str, tuple[str, str, _Content | Callable[[GoldenTable], _Content]]] = {
    "garbage": ("A hint that is no JSON is passed over", "LASTS-001", "{not json"),
    "zero-bytes": ("An empty hint is passed over", "LASTS-001", b""),
    "wrong-json": ("A hint that is no object is passed over", "LASTS-001", '["a", "list"]'),
    "without-version": ("A hint without version is passed over", "LASTS-002", {"size": 3}),
    "names-missing": ("A hint to a missing checkpoint is passed over", "LAST-003", _MISSING),
    "past-the-end": (
        "A hint past the end of the log is passed over",
        "LAST-003",
        {"version": 400, "size": 7},
    ),
    "wrong-part-count": (
        "A hint to parts that are not there is passed over",
        "LASTS-004",
        {"version": 3, "size": 7, "parts": 3},
    ),
    "lacks-a-part": ("A hint to parts of which one lacks is passed over", "CKPT-030", _incomplete),
    "wrong-checksum": ("A hint of a wrong checksum is passed over", "LASTS-010", _wrong_checksum),
    "duplicate-key": (
        "A hint with a key twice is passed over",
        "SUM-013",
        '{"version":3,"size":7,"version":1}',
    ),
}
"""Case to title, requirement, and the content of the hint."""


def _bad_hint(
    case: CaseWriter, requirement: str, content: _Content | Callable[[GoldenTable], _Content]
) -> None:
    table = grown(case, 6)
    table.checkpoint(version=3, hint=False)
    _hint(table, content(table) if callable(content) else content)
    describe(case, table, log_info=_at(3))
    refusal = Refusal("invalid_table", "load", requirement)
    case.contest_read(
        "The reader lists the log or refuses, never answers wrong",
        PAIR,
        Accepted("fallback", "the hint is an aid: the log is listed", rows=table.rows()),
        Accepted("refused", "some readers report a broken hint", refusal=refusal),
        hazard="silent wrong data",
    )


for _name, (_title, _requirement, _content) in _BAD_HINTS.items():
    HINT.define(
        _name,
        _title,
        [_requirement, "LAST-004"],
        partial(_bad_hint, requirement=_requirement, content=_content),
    )


@HINT.case("names-missing-log-cut", "LAST-003 SNAP-001")
def _missing_cut(case: CaseWriter) -> None:
    """A hint to a missing checkpoint of a cut log is fatal."""
    table = grown(case, 6)
    _hint(table, _MISSING)
    drop_commits(table.root, 5)
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, "The state is lost")


@HINT.case("schema-of-newer-checkpoint", "LASTS-007 CKPT-004")
def _other_schema(case: CaseWriter) -> None:
    """A hint's schema serves its own checkpoint only."""
    table = grown(case, 8)
    table.checkpoint(version=2, hint=False)
    written = table.checkpoint(version=6, hint=False)
    narrow = struct(add=struct(path="string")).to_json()
    _hint(table, {**last_checkpoint_document(written, checksum=False), "checkpointSchema": narrow})
    publish(case, table, versions=[2, 3, 4], log_info=_at(6))
