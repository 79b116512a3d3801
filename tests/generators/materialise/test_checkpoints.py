"""Checkpoints and the files beside the log, looked at with the Parquet library and as JSON."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.builder import TableBuilder
from generators.materialise.data.spark_hash import murmur3_text
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import LOG_DIRECTORY
from generators.materialise.log.hints import canonical_json, json_checksum
from generators.oracle.delta_schema import field, struct

SCHEMA = struct(field("id", "long"), field("p", "date"), field("s", "string"))


@pytest.fixture
def table(tmp_path: Path) -> TableBuilder:
    builder = TableBuilder(
        tmp_path / "t", SCHEMA, partition_columns=["p"], features=["v2Checkpoint"], seed="ckpt"
    )
    builder.create()
    rows = [{"id": n, "p": date(2024, 1, 1 + n % 2), "s": None} for n in range(6)]
    builder.append(rows, rows_per_file=1)
    builder.remove(lambda row: row["id"] == 0)
    builder.set_transaction("app", 7)
    builder.set_domain("user.kept", "{}")
    builder.set_domain("user.gone", "{}")
    builder.set_domain("user.gone", "{}", removed=True)
    return builder


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in pq.read_table(path).to_pylist()
    ]


def kinds(rows: list[dict[str, Any]]) -> dict[str, int]:
    names = [name for row in rows for name in row]
    return {name: names.count(name) for name in sorted(set(names))}


EXPECTED = {"add": 5, "domainMetadata": 1, "metaData": 1, "protocol": 1, "remove": 1, "txn": 1}


def test_a_classic_checkpoint_holds_the_reconciled_state(table: TableBuilder) -> None:
    written = table.checkpoint()
    (path,) = written.files
    assert path.name == "00000000000000000006.checkpoint.parquet"
    rows = rows_of(path)
    assert all(len(row) == 1 for row in rows)
    assert kinds(rows) == EXPECTED
    assert (written.actions, written.adds) == (10, 5)
    removed = next(row["remove"] for row in rows if "remove" in row)
    assert "stats" not in removed
    assert "tags" not in removed
    assert next(row["txn"] for row in rows if "txn" in row)["version"] == 7
    domain = next(row["domainMetadata"] for row in rows if "domainMetadata" in row)
    assert domain["domain"] == "user.kept"


def test_a_checkpoint_of_an_older_version_has_the_state_of_then(table: TableBuilder) -> None:
    (path,) = table.checkpoint(version=1).files
    assert kinds(rows_of(path)) == {"add": 6, "metaData": 1, "protocol": 1}


def test_the_schema_follows_the_style(table: TableBuilder) -> None:
    (path,) = table.checkpoint(style=CheckpointStyle(stats_json=False, stats_parsed=True)).files
    add = pq.read_schema(path).field("add").type
    names = {each.name for each in add}
    assert "stats" not in names
    assert add.field("partitionValues_parsed").type.field("p").type == pa.date32()
    parsed = add.field("stats_parsed").type
    assert {each.name for each in parsed} == {
        "numRecords",
        "tightBounds",
        "minValues",
        "maxValues",
        "nullCount",
    }
    adds = [row["add"] for row in rows_of(path) if "add" in row]
    assert adds[0]["stats_parsed"]["minValues"] == {"id": 2, "s": None}
    assert adds[0]["stats_parsed"]["nullCount"] == {"id": 0, "s": 1}
    assert adds[0]["partitionValues_parsed"] == {"p": date(2024, 1, 1)}


def test_parsed_statistics_take_every_digit_of_a_decimal(tmp_path: Path) -> None:
    schema = struct(field("d", "decimal(38,0)"), field("e", "decimal(38,38)"))
    builder = TableBuilder(tmp_path, schema)
    widest = Decimal(10**38 - 1)
    builder.create([{"d": widest, "e": widest.scaleb(-38, Context(prec=38))}])
    (path,) = builder.checkpoint(style=CheckpointStyle(stats_parsed=True)).files
    (add,) = [row["add"] for row in rows_of(path) if "add" in row]
    assert add["stats_parsed"]["maxValues"]["d"] == widest
    assert str(add["stats_parsed"]["maxValues"]["e"]) == "0." + "9" * 38


def test_tombstones_can_be_left_out(table: TableBuilder) -> None:
    (path,) = table.checkpoint(style=CheckpointStyle(tombstones=False)).files
    assert "remove" not in kinds(rows_of(path))


def test_parts_hold_every_action_once_where_the_hash_puts_it(table: TableBuilder) -> None:
    written = table.checkpoint("multi-part", parts=3)
    assert [each.name for each in written.files] == [
        f"00000000000000000006.checkpoint.{part:010d}.0000000003.parquet" for part in (1, 2, 3)
    ]
    parts = [rows_of(path) for path in written.files]
    assert kinds([row for rows in parts for row in rows]) == EXPECTED
    for place, rows in enumerate(parts):
        for row in rows:
            if "add" in row:
                assert murmur3_text(row["add"]["path"], 42) % 3 == place
    hint = json.loads((table.root / LOG_DIRECTORY / "_last_checkpoint").read_bytes())
    assert (hint["version"], hint["parts"], hint["size"]) == (6, 3, 10)


@pytest.mark.parametrize(
    ("text", "seed", "expected"),
    [
        ("test", 0, 0xBA6BD213 - 2**32),
        ("", 1, 0x514E28B7),
        ("a", 42, 1485273170),
        ("Spark", 42, 228093765),
    ],
)
def test_the_spark_hash_meets_known_values(text: str, seed: int, expected: int) -> None:
    assert murmur3_text(text, seed) == expected


def test_a_json_v2_checkpoint_lists_its_sidecars(table: TableBuilder) -> None:
    written = table.checkpoint("v2-json", sidecars=2)
    top, *sidecars = written.files
    assert top.name.startswith("00000000000000000006.checkpoint.")
    assert top.suffix == ".json"
    lines = [json.loads(line) for line in top.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"checkpointMetadata": {"version": 6, "tags": {}}}
    assert not any("add" in line or "remove" in line for line in lines)
    named = [line["sidecar"] for line in lines if "sidecar" in line]
    assert [each["path"] for each in named] == [each.name for each in sidecars]
    assert [each["sizeInBytes"] for each in named] == [each.stat().st_size for each in sidecars]
    assert all(each.parent.name == "_sidecars" for each in sidecars)
    assert pq.read_schema(sidecars[0]).names == ["add", "remove"]
    held = [row for path in sidecars for row in rows_of(path)]
    assert kinds(held) == {"add": 5, "remove": 1}


def test_a_v2_checkpoint_without_sidecars_embeds_the_files(table: TableBuilder) -> None:
    (path,) = table.checkpoint("v2-parquet").files
    assert kinds(rows_of(path)) == {**EXPECTED, "checkpointMetadata": 1}


def test_a_v2_checkpoint_can_have_the_classic_name(table: TableBuilder) -> None:
    top, sidecar = table.checkpoint("v2-classic", sidecars=1).files
    assert top.name == "00000000000000000006.checkpoint.parquet"
    assert kinds(rows_of(top))["sidecar"] == 1
    assert kinds(rows_of(sidecar)) == {"add": 5, "remove": 1}


CANONICAL_SAMPLE = {
    "k0": "'v 0'",
    "checksum": "adsaskfljadfkjadfkj",
    "k1": {"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]},
}


def test_the_checksum_example_of_the_text_is_met() -> None:
    assert canonical_json(CANONICAL_SAMPLE) == (
        '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
        '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6",'
        '"k1"+"k3"+2+"k5"+2="v7"'
    )
    assert json_checksum(CANONICAL_SAMPLE) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_canonical_forms_of_scalars_and_nested_checksums() -> None:
    document = {"b": {"y": None, "x": "https://delta.io"}, "a": 10, "t": True, "e": []}
    assert canonical_json(document) == (
        '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null,"t"=true'
    )
    assert canonical_json({"n": {"checksum": 1}}) == '"n"+"checksum"=1'


def test_the_hint_carries_its_own_checksum(table: TableBuilder) -> None:
    table.checkpoint()
    hint = json.loads((table.root / LOG_DIRECTORY / "_last_checkpoint").read_bytes())
    text = canonical_json(hint).encode()
    assert hint["checksum"] == hashlib.md5(text, usedforsecurity=False).hexdigest()
    assert (hint["version"], hint["size"], hint["numOfAddFiles"]) == (6, 10, 5)


def test_a_version_checksum_counts_the_live_files(table: TableBuilder) -> None:
    path = table.checksum(all_files=True)
    assert path.name == "00000000000000000006.crc"
    document = json.loads(path.read_bytes())
    adds = table.states[6].adds.values()
    assert document["numFiles"] == len(adds) == len(document["allFiles"])
    assert document["tableSizeBytes"] == sum(each["size"] for each in adds)
    assert (document["numMetadata"], document["numProtocol"]) == (1, 1)
    assert document["protocol"] == table.protocol.body()
    assert document["setTransactions"][0]["version"] == 7
    assert [each["domain"] for each in document["domainMetadata"]] == ["user.kept"]
    histogram = document["fileSizeHistogram"]
    assert histogram["sortedBinBoundaries"][0] == 0
    assert sum(histogram["fileCounts"]) == 5
    assert sum(histogram["totalBytes"]) == document["tableSizeBytes"]


def test_a_version_checksum_counts_deleted_rows(tmp_path: Path) -> None:
    builder = TableBuilder(
        tmp_path, struct(field("id", "long")), properties={"delta.enableDeletionVectors": "true"}
    )
    builder.create([{"id": n} for n in range(20)])
    builder.delete_rows(lambda row: row["id"] < 12)
    document = json.loads(builder.checksum().read_bytes())
    assert (document["numDeletedRecordsOpt"], document["numDeletionVectorsOpt"]) == (12, 1)
    histogram = document["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"]
    assert histogram == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_compaction_reconciles_its_range_and_keeps_tombstones(table: TableBuilder) -> None:
    path = table.compact_log(1, 6)
    assert path.name == "00000000000000000001.00000000000000000006.compacted.json"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    counts = {kind: sum(kind in line for line in lines) for kind in ("add", "remove", "txn")}
    assert counts == {"add": 5, "remove": 1, "txn": 1}
    removed = [line for line in lines if line.get("domainMetadata", {}).get("removed")]
    assert len(removed) == 1
    assert not any("commitInfo" in line for line in lines)
