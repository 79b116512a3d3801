"""Cases of classic and multi-part checkpoints: found, ignored, preferred, broken."""

from __future__ import annotations

from collections.abc import Iterable
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
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import GoldenTable, add, domain, remove, txn, writer_protocol
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.materialise.data.arrow_rows import library_footer
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
    json_text,
    part_name,
)
from generators.materialise.log.hints import (
    json_checksum,
    last_checkpoint_document,
    write_last_checkpoint,
)
from generators.materialise.log.state import LogState
from generators.oracle.delta_schema import Struct, array, map_of, struct

CHECKPOINTS = Chapter("checkpoints")


def grown(case: CaseWriter, commits: int, *, progress: bool = True, **options: Any) -> GoldenTable:
    """Return a table whose commits each add a row, every third also removes the oldest one.

    With ``progress`` each has a transaction as well.
    """
    table = GoldenTable.created(case, options.pop("schema", PAIR), **options)
    live = []
    for number in range(1, commits):
        live.append(table.file([{"id": number, "name": f"n{number}"}]))
        actions = [add(live[-1]), *([txn("grower", number)] if progress else [])]
        if number % 3 == 0:
            actions.append(remove(live.pop(0)))
        table.commit(*actions)
    return table


def checkpoint_at(table: GoldenTable, version: int, **style: Any) -> None:
    """Write a checkpoint of a version, in a style, without a hint."""
    table.checkpoint(version=version, style=CheckpointStyle(**style), hint=False)


def _at(version: int) -> dict[str, int]:
    return {"lastCheckpointVersion": version}


@CHECKPOINTS.case("without-hint", "CKPT-009 CKPT-018 LAST-004")
def _no_hint(case: CaseWriter) -> None:
    """A checkpoint is used or not, the answer is the same."""
    table = grown(case, 7)
    checkpoint_at(table, 4)
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
        checkpoint_at(table, version)
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
    checkpoint_at(table, 2)
    checkpoint_at(table, 5)
    publish_cut(case, table, 2, checkpoint=5)


@CHECKPOINTS.case("gap-after-checkpoint", "SNAP-001 CKPT-003")
def _gap(case: CaseWriter) -> None:
    """A gap after the checkpoint makes later versions invalid."""
    table = grown(case, 7)
    checkpoint_at(table, 3)
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


@CHECKPOINTS.case("multi-part-scattered", "TXN-005 REC-013 REC-012 REC-002 CKPT-021")
def _scattered(case: CaseWriter) -> None:
    """Any part of a checkpoint may hold what is no file action."""
    table = GoldenTable.of(case, PAIR)
    table.create(*(txn(f"app-{n}", n) for n in range(6)))
    table.append([{"id": 1, "name": "a"}])
    written = write_multi_part(table.root, 1, table.states[1], 3, scattered=True)
    write_last_checkpoint(table.root, written)
    table.commit(add(table.file([{"id": 2, "name": "b"}])), txn("app-5", 9))
    case.judged = {"snapshot-v1": "REC-002", "snapshot-v2": "REC-003", "snapshot-latest": "REC-003"}
    publish_cut(case, table, 1, numCheckpointFiles=3)
    for number in (0, 1, 2, 5):
        txn_spec(case, f"app-{number}", 9 if number == 5 else number)


@CHECKPOINTS.case("multi-part-scattered-domains", "REC-014 DOM-013 CKPT-021", since="2025")
def _scattered_domains(case: CaseWriter) -> None:
    """Any part of a checkpoint may hold a domain, in any letters."""
    table = GoldenTable.of(case, PAIR, protocol=writer_protocol(["domainMetadata"]))
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
    checkpoint_at(table, 2)
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
    checkpoint_at(table, 5)
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
    case.judged = dict.fromkeys(("read-latest", "snapshot-latest", "files-latest"), "CKPT-N-001")
    publish_cut(case, table, 3)


def _type_of(of: pa.DataType) -> Any:
    """Return the type of the protocol that a column of a checkpoint has."""
    if pa.types.is_struct(of):
        return _struct_of(of)
    if pa.types.is_list(of):
        return array(_type_of(of.value_type))
    if pa.types.is_map(of):
        return map_of(_type_of(of.key_type), _type_of(of.item_type))
    return {"bool": "boolean", "int32": "integer", "int64": "long"}.get(str(of), str(of))


def _struct_of(fields: Iterable[pa.Field[Any]]) -> Struct:
    return struct(**{field.name: _type_of(field.type) for field in fields})


@CHECKPOINTS.case("racing-classic-contents", "CKPT-N-001 LASTS-007")
def _racing_contents(case: CaseWriter) -> None:
    # The writer of the later one kept no tombstones and no statistics as structs.
    """The hint of a race may tell of more than the checkpoint has."""
    table = grown(case, 6)
    first = table.checkpoint(version=4, style=CheckpointStyle(stats_parsed=True), hint=False)
    held = _struct_of(pq.read_schema(first.files[0])).to_json()
    later = table.checkpoint(version=4, style=CheckpointStyle(tombstones=False), hint=False)
    if first.actions == later.actions:
        raise ValueError("the checkpoints have as many actions")
    hint = {**last_checkpoint_document(first, checksum=False), "checkpointSchema": held}
    hint["checksum"] = json_checksum(hint)
    path = table.root / LOG_DIRECTORY / "_last_checkpoint"
    path.write_bytes(json_text(hint).encode("utf-8"))
    asked = ("read-latest", "snapshot-latest", "files-latest")
    case.judged = dict.fromkeys(asked, "CKPT-N-001")
    publish_cut(case, table, 4)


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
    checkpoint_at(table, 3)
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
    checkpoint_at(table, 3)
    (table.root / LOG_DIRECTORY / classic_checkpoint_name(3)).write_bytes(b"PAR1 not really PAR1")
    describe(case, table, log_info=_at(3))
    refusal = Refusal("invalid_table", "read", "CKPT-005")
    case.contest_read(
        "The reader falls back to the commits or refuses",
        PAIR,
        Accepted("fallback", "a checkpoint is an aid, the commits are whole", rows=table.rows()),
        Accepted("refused", "a damaged log file is reported", refusal=refusal),
    )
    read_spec(case, table, 2)


@CHECKPOINTS.case("corrupt-cut-log", "CKPT-005 CKPT-011")
def _corrupt_cut(case: CaseWriter) -> None:
    """A corrupt checkpoint of a cut log is refused."""
    table = grown(case, 6)
    checkpoint_at(table, 3)
    (table.root / LOG_DIRECTORY / classic_checkpoint_name(3)).write_bytes(b"PAR1 not really PAR1")
    drop_commits(table.root, 4)
    describe(case, table, log_info=_at(3))
    refuse_load(case, Refusal("invalid_table", "load", "SNAP-001"), "The state is lost")


def checkpoint_rows(state: LogState, without: str = "") -> pa.Table:
    """Return the rows of a checkpoint of a state, less those of one kind of action."""
    actions = [each for each in state.other_actions() if without not in each]
    schema = checkpoint_schema(PAIR, (), CheckpointStyle())
    return checkpoint_table(actions + state.file_actions(), schema)


def store_checkpoint(
    table: GoldenTable, version: int, rows: pa.Table, *, footer: pa.Schema | None = None
) -> None:
    """Store the rows of a checkpoint, with what a library takes its columns for in the footer."""
    target = table.root / LOG_DIRECTORY / classic_checkpoint_name(version)
    with pq.ParquetWriter(target, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        if footer is not None:
            writer.add_key_value_metadata(library_footer(footer))


def _lacking(case: CaseWriter, kind: str, requirement: str) -> None:
    table = grown(case, 6)
    store_checkpoint(table, 3, checkpoint_rows(table.states[3], kind))
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
    checkpoint_at(table, table.version, stats_parsed=True)
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
