"""Cases of classic and multi-part checkpoints: found, ignored, preferred, broken."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generators.golden.cases.case import REVISIONS, Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import all_of, compare, is_in, is_null, negate
from generators.golden.cases.publish import (
    describe,
    files_spec,
    filtered,
    publish,
    publish_cut,
    read_spec,
    refuse_load,
)
from generators.golden.cases.table import GoldenTable, add, domain, remove, txn, writer_protocol
from generators.golden.chapters.files.types import utc
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.materialise.log.checkpoints import (
    CheckpointStyle,
    checkpoint_schema,
    checkpoint_table,
    write_multi_part,
)
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    classic_checkpoint_name,
    commit_name,
    drop_commits,
    part_name,
)
from generators.materialise.log.hints import write_last_checkpoint
from generators.materialise.log.state import LogState
from generators.oracle.delta_schema import array, field, map_of, struct

CHECKPOINTS = Chapter("checkpoints")
SCHEMA = Chapter("checkpoint-schema")

_PAIR = struct(id="long", name="string")


def grown(case: CaseWriter, commits: int, *, progress: bool = True, **options: Any) -> GoldenTable:
    """Return a table whose commits each add a row, every third also removes the oldest one.

    With ``progress`` each has a transaction as well.
    """
    table = GoldenTable.created(case, options.pop("schema", _PAIR), **options)
    live = []
    for number in range(1, commits):
        live.append(table.file([{"id": number, "name": f"n{number}"}]))
        actions = [add(live[-1]), *([txn("grower", number)] if progress else [])]
        if number % 3 == 0:
            actions.append(remove(live.pop(0)))
        table.commit(*actions)
    return table


def _checkpoint(table: GoldenTable, version: int, **style: Any) -> None:
    table.checkpoint(version=version, style=CheckpointStyle(**style), hint=False)


def _at(version: int) -> dict[str, int]:
    return {"lastCheckpointVersion": version}


@CHECKPOINTS.case("without-hint", "CKPT-009 CKPT-018 LAST-004")
def _no_hint(case: CaseWriter) -> None:
    """A checkpoint is used or not, the answer is the same."""
    table = grown(case, 7)
    _checkpoint(table, 4)
    publish(case, table, log_info=_at(4))


@CHECKPOINTS.case("with-hint", "CKPT-003 CKPT-004 LAST-001 LAST-002")
def _with_hint(case: CaseWriter) -> None:
    """A checkpoint with its hint gives every version."""
    table = grown(case, 7)
    table.checkpoint(version=4)
    publish(case, table, log_info=_at(4))


@CHECKPOINTS.case("at-every-version", "CKPT-001 CKPT-004 CKPT-005")
def _everywhere(case: CaseWriter) -> None:
    """With a checkpoint at every version all of them agree."""
    table = grown(case, 5)
    for version in table.versions:
        _checkpoint(table, version)
    publish(case, table, log_info=_at(4))


@CHECKPOINTS.case("newer-than-asked", "CKPT-004")
def _newer(case: CaseWriter) -> None:
    """Time travel does not start from a newer checkpoint."""
    table = grown(case, 6)
    table.checkpoint(version=5)
    publish(case, table, versions=[0, 3, 4, 5], log_info=_at(5))
    files_spec(case, table, 3)


@CHECKPOINTS.case("newer-parts-than-asked", "CKPT-004")
def _newer_parts(case: CaseWriter) -> None:
    """Time travel does not start from a newer checkpoint in parts."""
    table = grown(case, 6)
    table.checkpoint("multi-part", 5, parts=2)
    publish(case, table, versions=[3, 4], log_info=_at(5))


@CHECKPOINTS.case("log-cut", "CKPT-011 CKPT-003 CLEAN-005 CLEAN-007")
def _cut(case: CaseWriter) -> None:
    """A log cut below a checkpoint still gives what follows."""
    table = grown(case, 8)
    table.checkpoint(version=4)
    publish_cut(case, table, 4)
    refusal = Refusal("not_found", "load", "SNAP-002", code="DELTA_VERSION_NOT_FOUND")
    refuse_load(case, refusal, "A version before the checkpoint is gone", slug="v3", version=3)
    refuse_load(case, refusal, "So is version 0", slug="v0", version=0)


@CHECKPOINTS.case("log-cut-without-hint", "CKPT-011 LAST-004")
def _cut_no_hint(case: CaseWriter) -> None:
    """The checkpoint of a cut log is found by listing."""
    table = grown(case, 8)
    _checkpoint(table, 2)
    _checkpoint(table, 5)
    publish_cut(case, table, 2, checkpoint=5)


@CHECKPOINTS.case("gap-after-checkpoint", "SNAP-001 CKPT-003")
def _gap(case: CaseWriter) -> None:
    """A gap after the checkpoint makes later versions invalid."""
    table = grown(case, 7)
    _checkpoint(table, 3)
    describe(case, table, log_info=_at(3))
    (table.root / LOG_DIRECTORY / commit_name(5)).unlink()
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_VERSIONS_NOT_CONTIGUOUS")
    refuse_load(case, refusal, "The latest version cannot be told")


@CHECKPOINTS.case("gap-below-checkpoint", "CKPT-003 CKPT-011")
def _gap_below(case: CaseWriter) -> None:
    """A gap below the checkpoint does not matter after it."""
    table = grown(case, 7)
    table.checkpoint(version=4)
    (table.root / LOG_DIRECTORY / commit_name(2)).unlink()
    publish(case, table, versions=[4, 5, 6], log_info=_at(4))


@CHECKPOINTS.case(
    "commit-at-checkpoint-missing",
    "CKPT-003 CKPT-005",
    # The later text has cleanup keep this commit, so that such a log is no writer's any more.
    revisions=REVISIONS[:2],
)
def _commit_missing(case: CaseWriter) -> None:
    """The commit of the checkpoint's version may be gone."""
    table = grown(case, 6)
    table.checkpoint(version=3)
    drop_commits(table.root, 4)
    publish(case, table, versions=[3, 4, 5], log_info=_at(3))


@CHECKPOINTS.case("multi-part", "CKPT-021 CKPT-022 CKPT-023 CKPT-N-002")
def _multi(case: CaseWriter) -> None:
    """The parts of a checkpoint read as one."""
    table = grown(case, 10)
    table.checkpoint("multi-part", 6, parts=3)
    publish_cut(case, table, 6, numCheckpointFiles=3)


@CHECKPOINTS.case("multi-part-scattered", "TXN-005 REC-013 REC-012 CKPT-021 CKPT-005")
def _scattered(case: CaseWriter) -> None:
    """Any part of a checkpoint may hold what is no file action."""
    table = GoldenTable.of(case, _PAIR)
    table.create(*(txn(f"app-{n}", n) for n in range(6)))
    table.append([{"id": 1, "name": "a"}])
    written = write_multi_part(table.root, 1, table.states[1], 3, scattered=True)
    write_last_checkpoint(table.root, written)
    table.commit(add(table.file([{"id": 2, "name": "b"}])), txn("app-5", 9))
    publish_cut(case, table, 1, numCheckpointFiles=3)
    for number in (0, 1, 2, 5):
        txn_spec(case, f"app-{number}", 9 if number == 5 else number)


@CHECKPOINTS.case("multi-part-scattered-domains", "REC-014 DOM-013 CKPT-021", since="2025")
def _scattered_domains(case: CaseWriter) -> None:
    """Any part of a checkpoint may hold a domain, in any letters."""
    table = GoldenTable.of(case, _PAIR, protocol=writer_protocol(["domainMetadata"]))
    held = {f"app.{n}": f"größe {n} 日本" for n in range(6)}
    table.create(*(domain(name, text) for name, text in held.items()))
    table.append([{"id": 1, "name": "a"}])
    written = write_multi_part(table.root, 1, table.states[1], 3, scattered=True)
    write_last_checkpoint(table.root, written)
    drop_commits(table.root, 1)
    describe(case, table)
    case.judged = {f"domain-app-{n}": "REC-014" for n in range(3)}
    for number in range(3):
        domain_spec(case, f"app.{number}", held[f"app.{number}"])


@CHECKPOINTS.case("multi-part-incomplete", "CKPT-030")
def _incomplete(case: CaseWriter) -> None:
    """A checkpoint that lacks a part is ignored."""
    table = grown(case, 8)
    _checkpoint(table, 2)
    table.checkpoint("multi-part", 5, parts=3, hint=False)
    (table.root / LOG_DIRECTORY / part_name(5, 2, 3)).unlink()
    publish(case, table, log_info=_at(2))


@CHECKPOINTS.case("multi-part-incomplete-cut", "CKPT-030 SNAP-001")
def _incomplete_cut(case: CaseWriter) -> None:
    """Without older state an incomplete one is fatal."""
    table = grown(case, 8)
    table.checkpoint("multi-part", 5, parts=2, hint=False)
    (table.root / LOG_DIRECTORY / part_name(5, 1, 2)).unlink()
    drop_commits(table.root, 6)
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "CKPT-030", code="DELTA_MISSING_PART_FILES")
    refuse_load(case, refusal, "Nothing whole is left to start from")


@CHECKPOINTS.case("two-part-counts", "CKPT-029")
def _two_counts(case: CaseWriter) -> None:
    """Two complete checkpoints of one version agree."""
    table = grown(case, 8)
    table.checkpoint("multi-part", 5, parts=2, hint=False)
    table.checkpoint("multi-part", 5, parts=4, hint=False)
    _checkpoint(table, 5)
    table.checkpoint("multi-part", 5, parts=4)
    publish(case, table, log_info={**_at(5), "numCheckpointFiles": 4})


@CHECKPOINTS.case("racing-classic", "CKPT-N-001")
def _racing(case: CaseWriter) -> None:
    # The hint gives the bytes of the other checkpoint.
    """The later of two racing checkpoints is read, whoever wrote the hint."""
    table = grown(case, 6)
    first = table.checkpoint(version=3, style=CheckpointStyle(row_group_rows=2), hint=False)
    later = table.checkpoint(version=3, hint=False)
    if first.bytes == later.bytes:
        raise ValueError("the checkpoints are of one size")
    write_last_checkpoint(table.root, first)
    describe(case, table, log_info=_at(3))
    read_spec(case, table, None)


@CHECKPOINTS.case("parts-of-two-counts-mixed", "CKPT-030 CKPT-021")
def _mixed_counts(case: CaseWriter) -> None:
    """Parts of different counts do not make a whole."""
    table = grown(case, 8)
    table.checkpoint("multi-part", 5, parts=2, hint=False)
    table.checkpoint("multi-part", 5, parts=3, hint=False)
    log = table.root / LOG_DIRECTORY
    for part, parts in ((2, 2), (1, 3), (3, 3)):
        (log / part_name(5, part, parts)).unlink()
    publish(case, table)


@CHECKPOINTS.case("foreign-names", "CKPT-018 CKPT-019 CKPT-024 CKPT-025")
def _foreign(case: CaseWriter) -> None:
    """Files of almost a checkpoint's name are ignored."""
    table = grown(case, 6)
    log = table.root / LOG_DIRECTORY
    _checkpoint(table, 3)
    content = (log / classic_checkpoint_name(3)).read_bytes()
    (log / classic_checkpoint_name(3)).unlink()
    for name in (
        "3.checkpoint.parquet",
        "5.checkpoint.parquet",
        f"{5:020d}.checkpoint.parquet.tmp",
        f".{5:020d}.checkpoint.parquet.crc",
        f"{5:020d}.checkpoint.1.2.parquet",
        f"{5:020d}.checkpoint.{0:010d}.{1:010d}.parquet",
    ):
        (log / name).write_bytes(content)
    publish(case, table)


@CHECKPOINTS.case("corrupt-with-full-log", "CKPT-009 CKPT-029")
def _corrupt(case: CaseWriter) -> None:
    """A corrupt checkpoint beside a full log is contested."""
    table = grown(case, 6)
    _checkpoint(table, 3)
    (table.root / LOG_DIRECTORY / classic_checkpoint_name(3)).write_bytes(b"PAR1 not really PAR1")
    describe(case, table, log_info=_at(3))
    refusal = Refusal("invalid_table", "read", "CKPT-005")
    case.contest_read(
        "The reader falls back to the commits or refuses",
        _PAIR,
        Accepted("fallback", "a checkpoint is an aid, the commits are whole", rows=table.rows()),
        Accepted("refused", "a damaged log file is reported", refusal=refusal),
    )
    read_spec(case, table, 2)


@CHECKPOINTS.case("corrupt-cut-log", "CKPT-005 CKPT-011")
def _corrupt_cut(case: CaseWriter) -> None:
    """A corrupt checkpoint of a cut log is refused."""
    table = grown(case, 6)
    _checkpoint(table, 3)
    (table.root / LOG_DIRECTORY / classic_checkpoint_name(3)).write_bytes(b"PAR1 not really PAR1")
    drop_commits(table.root, 4)
    describe(case, table, log_info=_at(3))
    refuse_load(case, Refusal("invalid_table", "load", "SNAP-001"), "The state is lost")


def _checkpoint_of(state: LogState, without: str = "") -> pa.Table:
    """Return the rows of a checkpoint of a state, less those of one kind of action."""
    actions = [each for each in state.other_actions() if without not in each]
    schema = checkpoint_schema(_PAIR, (), CheckpointStyle())
    return checkpoint_table(actions + state.file_actions(), schema)


def _store(table: GoldenTable, version: int, rows: pa.Table, *, footer: bool = False) -> None:
    """Store the rows of a checkpoint; with ``footer`` a library's types are in it."""
    target = table.root / LOG_DIRECTORY / classic_checkpoint_name(version)
    pq.write_table(rows, target, store_schema=footer)


def _lacking(case: CaseWriter, kind: str, requirement: str) -> None:
    table = grown(case, 6)
    _store(table, 3, _checkpoint_of(table.states[3], kind))
    drop_commits(table.root, 4)
    describe(case, table, log_info=_at(3))
    refusal = Refusal("invalid_table", "load", requirement, code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, f"Without {kind} there is no snapshot")


@CHECKPOINTS.case("without-protocol", "CKC-002 REC-002")
def _no_protocol(case: CaseWriter) -> None:
    """A checkpoint without protocol is refused."""
    _lacking(case, "protocol", "REC-002")


@CHECKPOINTS.case("without-metadata", "CKC-003 REC-003")
def _no_metadata(case: CaseWriter) -> None:
    """A checkpoint without metaData is refused."""
    _lacking(case, "metaData", "REC-003")


@CHECKPOINTS.case("partition-filters", "CKPT-005 CKC-004 PART-003")
def _partition_filters(case: CaseWriter) -> None:
    """Filters on partitions hold across a checkpoint."""
    table = GoldenTable.created(case, struct(id="long", p="string"), partition_columns=["p"])
    for value in ("a", "b", "c", None):
        table.commit(*(add(table.file([{"id": n}], partition={"p": value})) for n in range(3)))
    _checkpoint(table, table.version, stats_parsed=True)
    table.append([{"id": 9}], partition={"p": "a"})
    publish(case, table, versions=[4, 5], log_info=_at(4))
    equal = compare("p", "=", "a", "string")
    probes = {
        "equal": equal,
        "unequal": compare("p", "<>", "a", "string"),
        "not-in": negate(is_in("p", ["a", "b"], "string")),
        "null-safe": compare("p", "<=>", "c", "string"),
        "is-null": is_null("p"),
        "both": all_of(equal, compare("id", ">", 1, "long")),
    }
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


# What a checkpoint's Parquet file looks like.


def _styled(case: CaseWriter, **style: Any) -> None:
    table = GoldenTable.of(
        case,
        struct(id="long", at="timestamp", p="integer", deep=struct(x="string", y="date")),
        partition_columns=["p"],
        properties={
            "delta.checkpoint.writeStatsAsJson": str(style.get("stats_json", True)).lower(),
            "delta.checkpoint.writeStatsAsStruct": str(style.get("stats_parsed", False)).lower(),
        },
        protocol={"minReaderVersion": 1, "minWriterVersion": 3},
    )
    table.create(txn("app", 1))
    for number in range(4):
        row = {"id": number, "at": utc(2024, 1, 1 + number), "deep": {"x": f"s{number}"}}
        table.append([row], partition={"p": number % 2})
    table.commit(remove(table.live(4)[0][0]))
    _checkpoint(table, table.version, **style)
    table.append([{"id": 9, "at": utc(2025, 1, 1)}], partition={"p": None})
    publish_cut(case, table, 5)
    probes = {
        "id": compare("id", ">", 1, "long"),
        "time": compare("at", "<", utc(2024, 1, 3), "timestamp"),
        "partition": compare("p", "=", 1, "integer"),
        "nested": compare("deep.x", "=", "s2", "string"),
        "nested-null": is_null("deep.y"),
    }
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


@SCHEMA.case("statistics-json", "CKC-018 CKC-019")
def _json_stats(case: CaseWriter) -> None:
    """A checkpoint with JSON statistics answers filters."""
    _styled(case)


@SCHEMA.case("statistics-struct", "CKC-020 CKC-021 CKC-015 CKSCH-004")
def _struct_stats(case: CaseWriter) -> None:
    """A checkpoint with parsed statistics only answers filters."""
    _styled(case, stats_json=False, stats_parsed=True)


@SCHEMA.case("statistics-both", "CKC-018 CKC-021 CKC-016")
def _both_stats(case: CaseWriter) -> None:
    """A checkpoint with both kinds of statistics answers filters."""
    _styled(case, stats_parsed=True)


@SCHEMA.case("statistics-none", "CKC-020 CKC-023")
def _no_stats(case: CaseWriter) -> None:
    """A checkpoint without statistics answers filters."""
    _styled(case, stats_json=False)


@SCHEMA.case("small-row-groups", "CKC-001 CKC-010")
def _row_groups(case: CaseWriter) -> None:
    """Row groups of a checkpoint do not matter."""
    _styled(case, row_group_rows=1)


@SCHEMA.case("absent-columns", "CKC-011")
def _absent(case: CaseWriter) -> None:
    """Action columns that a checkpoint lacks count as null."""
    table = grown(case, 6, progress=False)
    _checkpoint(table, 3, omit=frozenset({"txn", "domainMetadata", "remove"}))
    publish_cut(case, table, 3)


@SCHEMA.case("without-tombstones", "CKPT-008 CKC-005")
def _no_tombstones(case: CaseWriter) -> None:
    """A checkpoint may leave expired tombstones out."""
    table = grown(case, 8)
    _checkpoint(table, 6, tombstones=False)
    publish(case, table, log_info=_at(6))


@SCHEMA.case("data-change-either-way", "CKC-004 CKC-027 ADD-008")
def _data_change(case: CaseWriter) -> None:
    """dataChange in a checkpoint does not affect a read."""
    table = grown(case, 6)
    held = _checkpoint_of(table.states[4])
    rows = held.to_pylist()
    for number, row in enumerate(rows):
        if row["add"] is not None:
            row["add"]["dataChange"] = number % 2 == 0
    _store(table, 4, pa.Table.from_pylist(rows, held.schema))
    publish_cut(case, table, 4)


@SCHEMA.case("data-change-of-removes", "CKC-027 ADD-008 REM-004")
def _data_change_of_removes(case: CaseWriter) -> None:
    """A file that is removed without a change of data is gone."""
    table = grown(case, 3)
    old = [file for file, _ in table.live(2)]
    rows = table.rows(2)
    table.commit(
        *(remove(file, dataChange=False) for file in old),
        add(table.file(rows), dataChange=False),
        operation="OPTIMIZE",
    )
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "CKC-027")
    publish(case, table)


@SCHEMA.case("unknown-columns", "PROTO-008 PROTO-009 CKC-010")
def _unknown(case: CaseWriter) -> None:
    """Columns and fields of files that a checkpoint adds are ignored."""
    table = grown(case, 6)
    rows = _checkpoint_of(table.states[4])
    future = pa.array([{"x": number} for number in range(rows.num_rows)])
    rows = rows.append_column("futureAction", future).append_column("note", future.field("x"))
    at = rows.schema.get_field_index("add")
    kept = rows["add"].combine_chunks()
    fields = [*kept.type, pa.field("future", future.type)]
    wider = pa.StructArray.from_arrays(
        [*(kept.field(n) for n in range(kept.type.num_fields)), future],
        fields=fields,
        mask=kept.is_null(),
    )
    rows = rows.set_column(at, "add", wider)
    _store(table, 4, rows)
    case.judged |= {"read-v4": "PROTO-009", "files-latest": "PROTO-009"}
    publish_cut(case, table, 4)


@SCHEMA.case("schema-of-a-library", "CKC-010 CKPT-005")
def _own_types(case: CaseWriter) -> None:
    """Types that a library keeps in a checkpoint's footer change nothing."""
    table = grown(case, 6)
    plain = _checkpoint_of(table.states[4])

    def own(of: Any) -> Any:
        if pa.types.is_string(of):
            return pa.large_string()
        if pa.types.is_struct(of):
            return pa.struct([each.with_type(own(each.type)) for each in of])
        if pa.types.is_map(of):
            return pa.map_(own(of.key_type), own(of.item_type))
        return pa.large_list(own(of.value_type)) if pa.types.is_list(of) else of

    schema = pa.schema([each.with_type(own(each.type)) for each in plain.schema])
    _store(table, 4, pa.Table.from_pylist(plain.to_pylist(), schema), footer=True)
    publish_cut(case, table, 4)


@SCHEMA.case("required-leaves", "CKC-010 ADD-012")
def _required(case: CaseWriter) -> None:
    """Required leaves below null groups read as null groups."""
    table = grown(case, 6)
    loose = _checkpoint_of(table.states[4])
    strict = {
        "add": {"path", "partitionValues", "size", "modificationTime", "dataChange"},
        "remove": {"path", "dataChange"},
        "metaData": {"id", "format", "schemaString", "partitionColumns", "configuration"},
        "protocol": {"minReaderVersion", "minWriterVersion"},
        "txn": {"appId", "version"},
        "deletionVector": {"storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"},
    }

    def tightened(part: Any) -> Any:
        if not pa.types.is_struct(part.type):
            return part
        inner = [
            tightened(each).with_nullable(each.name not in strict.get(part.name, ()))
            for each in part.type
        ]
        return pa.field(part.name, pa.struct(inner))

    schema = pa.schema([tightened(each) for each in loose.schema])
    _store(table, 4, pa.Table.from_pylist(loose.to_pylist(), schema))
    publish_cut(case, table, 4)


@SCHEMA.case("not-null-partition-parsed", "CKC-016 CKC-015")
def _not_null_partition(case: CaseWriter) -> None:
    """Parsed values of a not-null partition column read."""
    schema = struct(field("id", "long"), field("p", "integer", nullable=False))
    table = GoldenTable.of(case, schema, partition_columns=["p"])
    first = table.create_with([{"id": 1}], partition={"p": 1})
    table.commit(remove(first), add(table.file([{"id": 2}], partition={"p": 2})))
    _checkpoint(table, 1, stats_parsed=True)
    drop_commits(table.root, 1)
    table.append([{"id": 3}], partition={"p": 3})
    publish(case, table, versions=[1, 2], log_info=_at(1))


@SCHEMA.case("columns-without-bounds", "CKSCH-005 CKC-021")
def _no_bounds(case: CaseWriter) -> None:
    """Types without bounds do not disturb parsed statistics."""
    schema = struct(
        flag="boolean", raw="binary", list=array("integer"), map=map_of("string", "integer")
    )
    table = GoldenTable.created(case, schema)
    table.append([{"flag": True, "raw": b"x", "list": [1], "map": {"k": 1}}, {}])
    _checkpoint(table, 1, stats_parsed=True)
    table.append([{"flag": False}])
    publish_cut(case, table, 1)
    kept = compare("flag", "=", True, "boolean")  # noqa: FBT003  a boolean value, not a flag
    filtered(case, table, "filter-flag", kept, "A filter on a column without bounds works")
