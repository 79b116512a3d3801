"""Cases of the files beside the log: last checkpoint hint, version checksum, log compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from generators.delta_schema import field, struct
from generators.golden.case import Accepted, CaseWriter, Refusal
from generators.golden.catalog import Chapter
from generators.golden.chapters.checkpoints import cut_log, grown
from generators.golden.publish import describe, earlier_spec, publish, read_spec, refuse_load
from generators.golden.table import GoldenTable, add, domain, remove, txn
from generators.materialise.checkpoints import write_classic, write_multi_part
from generators.materialise.hints import (
    last_checkpoint_document,
    version_checksum_document,
    write_compaction,
    write_last_checkpoint,
    write_version_checksum,
)
from generators.materialise.log_files import (
    LOG_DIRECTORY,
    checksum_name,
    compaction_name,
    json_text,
)

__all__ = ["CHAPTERS"]

HINT = Chapter("last-checkpoint-file")
CHECKSUM = Chapter("version-checksum-file")
COMPACTION = Chapter("log-compaction-files")

_PAIR = struct(field("id", "long"), field("name", "string"))


def _hint(table: GoldenTable, content: str | bytes | Mapping[str, Any]) -> None:
    if isinstance(content, Mapping):
        content = json_text(content)
    data = content.encode("utf-8") if isinstance(content, str) else content
    (table.root / LOG_DIRECTORY / "_last_checkpoint").write_bytes(data)


def _at(version: int) -> dict[str, int]:
    return {"lastCheckpointVersion": version}


@HINT.case("stale", "A reader goes beyond a stale hint", "LAST-003 CKPT-003")
def _stale(case: CaseWriter) -> None:
    table = grown(case, 8)
    write_last_checkpoint(table.root, write_classic(table.root, 2, table.states[2]))
    write_classic(table.root, 5, table.states[5])
    publish(case, table, log_info=_at(5))


@HINT.case("with-checksum", "A hint with a right checksum is used", "LASTS-009 LASTS-010 SUM-001")
def _summed(case: CaseWriter) -> None:
    table = grown(case, 6)
    write_last_checkpoint(table.root, write_classic(table.root, 3, table.states[3]), checksum=True)
    publish(case, table, log_info=_at(3))


@HINT.case(
    "unknown-fields", "Unknown fields of a hint are ignored", "LASTS-001 LASTS-008 PROTO-009"
)
def _odd_fields(case: CaseWriter) -> None:
    table = grown(case, 6)
    document = last_checkpoint_document(
        write_classic(table.root, 3, table.states[3]), checksum=False
    )
    extra = {"tags": {"k": "v"}, "future": [{"x": None}], "sizeInBytes": None}
    _hint(table, {**document, **extra})
    publish(case, table, log_info=_at(3))


@HINT.case(
    "minimal",
    "Version and size are enough of a hint",
    "LASTS-002 LASTS-003 LASTS-004 LASTS-005 LASTS-006",
)
def _minimal(case: CaseWriter) -> None:
    table = grown(case, 6)
    written = write_classic(table.root, 3, table.states[3])
    _hint(table, {"version": 3, "size": written.actions})
    cut_log(table, 4)
    publish(case, table, versions=[3, 4, 5], log_info=_at(3))


@HINT.case("multi-part", "A hint with parts leads to all of them", "LASTS-004 CKPT-021")
def _parts(case: CaseWriter) -> None:
    table = grown(case, 6)
    write_last_checkpoint(table.root, write_multi_part(table.root, 4, table.states[4], 2))
    cut_log(table, 5)
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
    case.contest(
        "read",
        "read-latest",
        [
            Accepted("fallback", "the hint is an aid: the log is listed", rows=table.rows()),
            Accepted("refused", "some readers report a broken hint", refusal=refusal),
        ],
        title="The reader lists the log or refuses, never answers wrong",
        schema=_PAIR,
        hazard="silent wrong data",
    )


def _define_bad_hints() -> None:
    for name, (title, requirement, spoil) in _BAD_HINTS.items():
        HINT.define(
            name,
            title,
            [requirement, "LAST-004"],
            partial(_bad_hint, requirement=requirement, spoil=spoil),
        )


_define_bad_hints()


@HINT.case(
    "names-missing-log-cut",
    "A hint to a missing checkpoint of a cut log is fatal",
    "LAST-003 SNAP-001",
)
def _missing_cut(case: CaseWriter) -> None:
    table = grown(case, 6)
    _missing_checkpoint(table)
    cut_log(table, 5)
    describe(case, table)
    refuse_load(case, Refusal("invalid_table", "load", "SNAP-001"), "The state is lost")


@HINT.case(
    "schema-of-newer-checkpoint",
    "A hint's schema serves its own checkpoint only",
    "LASTS-007 CKPT-004",
)
def _other_schema(case: CaseWriter) -> None:
    table = grown(case, 8)
    write_classic(table.root, 2, table.states[2])
    written = write_classic(table.root, 6, table.states[6])
    narrow = struct(field("add", struct(field("path", "string")))).to_json()
    _hint(table, {**last_checkpoint_document(written, checksum=False), "checkpointSchema": narrow})
    publish(case, table, versions=[2, 3, 4], log_info=_at(6))


# Version checksums.


def _summed_table(case: CaseWriter, versions: int) -> GoldenTable:
    table = grown(case, versions)
    for version in table.versions:
        write_version_checksum(
            table.root, version, version_checksum_document(table.states[version])
        )
    return table


@CHECKSUM.case(
    "present-and-right",
    "Right checksums beside the commits change nothing",
    "CRC-002 CRC-003 CRC-004 CRC-007 CRC-008 CRC-009 CRC-010 CRC-015 CRC-016 CRC-023",
)
def _right(case: CaseWriter) -> None:
    table = _summed_table(case, 6)
    publish(case, table, log_info={"lastCrcVersion": 5})
    for version in (0, 5):
        case.spec(
            "checksum",
            f"checksum-v{version}",
            title="The checksum agrees with the state",
            expected={"valid": True},
            version=version,
        )


@CHECKSUM.case(
    "histogram-opt", "The older name of the histogram is read as well", "CRC-017 CRC-022"
)
def _histogram(case: CaseWriter) -> None:
    table = grown(case, 4)
    document = version_checksum_document(table.states[3])
    document["histogramOpt"] = document.pop("fileSizeHistogram")
    write_version_checksum(table.root, 3, document)
    publish(case, table, log_info={"lastCrcVersion": 3})


@CHECKSUM.case(
    "in-commit-timestamp",
    "A checksum repeats the in-commit timestamp of its version",
    "CRC-011 CRC-014 CRC-002",
    since="2025",
)
def _in_commit(case: CaseWriter) -> None:
    table = GoldenTable(
        case.delta,
        _PAIR,
        seed=case.info.id,
        protocol={
            "minReaderVersion": 1,
            "minWriterVersion": 7,
            "writerFeatures": ["domainMetadata", "inCommitTimestamp"],
        },
        properties={"delta.enableInCommitTimestamps": "true"},
    )
    stamps = (1_700_000_000_123, 1_700_000_000_124)
    kept, gone = domain("app.kept", "1"), domain("app.gone", "2")
    table.create(kept, gone, info={"inCommitTimestamp": stamps[0]})
    removed = domain("app.gone", "2", removed=True)
    row = add(table.file([{"id": 1, "name": "a"}]))
    table.commit(removed, row, info={"inCommitTimestamp": stamps[1]})
    for version, stamp in enumerate(stamps):
        document = version_checksum_document(table.states[version], in_commit_timestamp=stamp)
        write_version_checksum(table.root, version, document)
    publish(case, table, log_info={"lastCrcVersion": 1})
    for version in (0, 1):
        case.spec(
            "checksum",
            f"checksum-v{version}",
            title="The checksum agrees with the state",
            expected={"valid": True},
            version=version,
        )


def _wrong_count(document: dict[str, Any]) -> str:
    return json_text({**document, "numFiles": document["numFiles"] + 1})


def _wrong_size(document: dict[str, Any]) -> str:
    return json_text({**document, "tableSizeBytes": 1})


def _wrong_metadata(document: dict[str, Any]) -> str:
    metadata = {**document["metadata"], "id": "00000000-0000-0000-0000-000000000000"}
    return json_text({**document, "metadata": metadata})


def _cut_short(document: dict[str, Any]) -> str:
    return json_text(document)[:40]


def _nothing(_: dict[str, Any]) -> str:
    return ""


_BAD_CHECKSUMS: Mapping[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "wrong-file-count": (
        "A wrong file count is found, and stops no reader",
        "CRC-008",
        _wrong_count,
    ),
    "wrong-table-size": (
        "A wrong table size is found, and stops no reader",
        "CRC-007",
        _wrong_size,
    ),
    "wrong-metadata": ("Other metadata is found, and stops no reader", "CRC-015", _wrong_metadata),
    "truncated": ("A truncated checksum stops no reader", "CRC-005", _cut_short),
    "zero-bytes": ("An empty checksum stops no reader", "CRC-005", _nothing),
}


def _bad_checksum(case: CaseWriter, spoil: Callable[[dict[str, Any]], str]) -> None:
    table = grown(case, 4)
    text = spoil(version_checksum_document(table.states[3]))
    (table.root / LOG_DIRECTORY / checksum_name(3)).write_text(text, encoding="utf-8")
    describe(case, table, log_info={"lastCrcVersion": 3})
    read_spec(case, table, None)
    read_spec(case, table, 2)
    case.spec(
        "checksum",
        "checksum-v3",
        title="The checksum does not agree with the state",
        expected={"valid": False},
        version=3,
    )


def _define_bad_checksums() -> None:
    for name, (title, requirement, spoil) in _BAD_CHECKSUMS.items():
        CHECKSUM.define(
            name,
            title,
            [requirement, "CRC-042", "CRC-034"],
            partial(_bad_checksum, spoil=spoil),
            since="2025",
        )


_define_bad_checksums()


@CHECKSUM.case(
    "older-than-checkpoint",
    "A checksum older than the checkpoint changes nothing",
    "CRC-042 CRC-002",
    since="2025",
)
def _older(case: CaseWriter) -> None:
    table = grown(case, 7)
    write_version_checksum(table.root, 2, version_checksum_document(table.states[2]))
    write_last_checkpoint(table.root, write_classic(table.root, 4, table.states[4]))
    publish(case, table, log_info={"lastCrcVersion": 2, "lastCheckpointVersion": 4})


@CHECKSUM.case(
    "masks-no-corrupt-commit",
    "A checksum does not hide a commit that is damaged",
    "CRC-035 LOG-004",
    since="2025",
)
def _masking(case: CaseWriter) -> None:
    table = _summed_table(case, 4)
    describe(case, table, log_info={"lastCrcVersion": 3})
    path = table.root / LOG_DIRECTORY / f"{3:020d}.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    refusal = Refusal("invalid_table", "read", "LOG-004", code="DELTA_COMMIT_MALFORMED")
    case.refuse("read", "read-latest", refusal, title="The damaged version is refused")
    earlier_spec(case, table, 2)


@CHECKSUM.case(
    "does-not-replace-log",
    "A checksum is no state to start a cut log from",
    "CRC-002 SNAP-001",
    since="2025",
)
def _no_start(case: CaseWriter) -> None:
    table = _summed_table(case, 6)
    describe(case, table, log_info={"lastCrcVersion": 5})
    cut_log(table, 3)
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_TRUNCATED_LOG")
    refuse_load(case, refusal, "The live files cannot be told")


# Log compactions.


def _compact(table: GoldenTable, start: int, end: int) -> None:
    commits = []
    for version in range(start, end + 1):
        actions = [each for each in table.actions[version] if not isinstance(each, str)]
        commits.append([each for each in actions if "commitInfo" not in each])
    write_compaction(table.root, start, end, commits)


@COMPACTION.case(
    "one-range",
    "A compaction stands in for the commits of its range",
    "COMP-001 COMP-002 COMP-004 COMP-005 COMP-011 COMP-012",
    since="2025",
)
def _one_range(case: CaseWriter) -> None:
    table = grown(case, 8)
    _compact(table, 2, 5)
    publish(case, table)


@COMPACTION.case(
    "overlapping",
    "Overlapping compactions give the same answer",
    "COMP-010 COMP-011 COMP-012",
    since="2025",
)
def _overlapping(case: CaseWriter) -> None:
    table = grown(case, 10)
    for start, end in ((0, 4), (2, 6), (5, 9)):
        _compact(table, start, end)
    publish(case, table, versions=[3, 4, 5, 6, 8, 9])


@COMPACTION.case(
    "with-checkpoint",
    "A compaction after or across a checkpoint agrees",
    "COMP-011 COMP-012 CKPT-003",
    since="2025",
)
def _with_checkpoint(case: CaseWriter) -> None:
    table = grown(case, 9)
    write_last_checkpoint(table.root, write_classic(table.root, 4, table.states[4]))
    _compact(table, 2, 6)
    _compact(table, 5, 8)
    publish(case, table, log_info=_at(4))


@COMPACTION.case(
    "remove-without-timestamp",
    "A bare remove stays in a compaction",
    "COMP-007 REM-003",
    since="2025",
)
def _bare_remove(case: CaseWriter) -> None:
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id)
    files = [table.file([{"id": n, "name": "x"}]) for n in range(3)]
    table.create(*(add(file) for file in files))
    table.commit({"remove": {"path": files[0].path, "dataChange": True}})
    table.commit(remove(files[1]), add(table.file([{"id": 9, "name": "y"}])))
    _compact(table, 1, 2)
    publish(case, table)


@COMPACTION.case(
    "added-and-removed-inside",
    "A file born and removed in the range is gone",
    "COMP-006 COMP-008 COMP-009",
    since="2025",
)
def _inside(case: CaseWriter) -> None:
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id)
    table.create(add(table.file([{"id": 1, "name": "stays"}])), txn("app", 1))
    brief = table.file([{"id": 2, "name": "brief"}])
    table.commit(add(brief), txn("app", 2))
    table.commit(remove(brief), txn("app", 3))
    table.commit(add(table.file([{"id": 3, "name": "last"}])))
    _compact(table, 1, 2)
    publish(case, table)
    case.spec(
        "txn",
        "txn-app",
        title="The last transaction of the range is known",
        expected={"txnVersion": 3},
        parameters={"appId": "app"},
    )


@COMPACTION.case(
    "domain-removed-inside",
    "A domain removed in the range stays removed",
    "COMP-004 REC-015",
    since="2025",
)
def _domain_removed(case: CaseWriter) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id, protocol=protocol)
    table.create(domain("app.d", "1"), add(table.file([{"id": 1, "name": "a"}])))
    write_classic(table.root, 0, table.states[0])
    table.commit(domain("app.d", "1", removed=True))
    table.commit(add(table.file([{"id": 2, "name": "b"}])))
    _compact(table, 1, 2)
    publish(case, table, log_info=_at(0))
    case.spec(
        "domain_metadata",
        "domain-app-d",
        title="The domain is not set",
        expected={"configuration": None},
        parameters={"domain": "app.d"},
    )


@COMPACTION.case(
    "empty-file", "A compaction of zero bytes is passed over or refused", "COMP-011", since="2025"
)
def _empty_compaction(case: CaseWriter) -> None:
    table = grown(case, 6)
    (table.root / LOG_DIRECTORY / compaction_name(1, 4)).write_bytes(b"")
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "COMP-004")
    case.contest(
        "read",
        "read-latest",
        [
            Accepted("commits", "compactions may be ignored", rows=table.rows()),
            Accepted("refused", "a compaction that holds nothing is broken", refusal=refusal),
        ],
        title="The commits are read, or the empty file is reported",
        schema=_PAIR,
    )


@COMPACTION.case(
    "start-equals-end",
    "A compaction of one version is no compaction",
    "COMP-013 COMP-011",
    since="upstream",
)
def _single(case: CaseWriter) -> None:
    table = grown(case, 6)
    stray = json_text(add(table.file([{"id": 99, "name": "stray"}])))
    path = table.root / LOG_DIRECTORY / compaction_name(3, 3)
    path.write_text(stray + "\n", encoding="utf-8")
    publish(case, table)


CHAPTERS = (HINT, CHECKSUM, COMPACTION)
