"""The table builder: what its commits say, and that it says the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from generators.materialise.builder import START, STEP, TableBuilder
from generators.materialise.data.data_files import FileLayout
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, read_commit
from generators.materialise.log.protocols import Protocol, protocol_for
from generators.oracle.delta_schema import field, struct

SCHEMA = struct(field("id", "long"), field("name", "string"))


def numbered(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": each, "name": f"n{each}"} for each in numbers]


def actions(builder: TableBuilder, version: int, kind: str) -> list[dict[str, Any]]:
    return [each[kind] for each in read_commit(builder.root, version) if kind in each]


def ids(builder: TableBuilder, version: int | None = None) -> list[int]:
    return sorted(row["id"] for row in builder.rows(version))


def test_version_zero_has_protocol_and_metadata(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"custom": "x"}, seed="one")
    builder.create()
    (protocol,) = actions(builder, 0, "protocol")
    (metadata,) = actions(builder, 0, "metaData")
    assert protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert json.loads(metadata["schemaString"]) == SCHEMA.to_json()
    assert (metadata["partitionColumns"], metadata["configuration"]) == ([], {"custom": "x"})
    assert metadata["format"] == {"provider": "parquet", "options": {}}


def test_commits_carry_the_fixed_clock(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create()
    builder.append(numbered(1))
    path = tmp_path / LOG_DIRECTORY / commit_name(1)
    assert path.stat().st_mtime_ns == (START + STEP) * 1_000_000
    assert actions(builder, 1, "commitInfo")[0]["timestamp"] == START + STEP


def test_two_builds_of_one_seed_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        builder = TableBuilder(
            tmp_path / name, SCHEMA, properties={"delta.enableDeletionVectors": "true"}
        )
        builder.create(numbered(1, 2, 3))
        builder.delete_rows(lambda row: row["id"] == 2)
        builder.checkpoint()
        builder.checksum()
    first = {path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*")}
    second = {path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*")}
    assert first == second
    for path in first:
        if (tmp_path / "a" / path).is_file():
            assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()


def test_another_seed_gives_other_names(tmp_path: Path) -> None:
    names = set()
    for seed in ("one", "two"):
        builder = TableBuilder(tmp_path / seed, SCHEMA, seed=seed)
        builder.create(numbered(1))
        names |= {each.path for each in builder.files.values()}
    assert len(names) == 2


def test_rows_of_every_version_stay_known(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create()
    builder.append(numbered(1, 2, 3), rows_per_file=2)
    builder.delete(lambda row: row["id"] == 2)
    builder.update(lambda row: row["id"] == 3, {"name": "changed"})
    builder.overwrite(numbered(9), lambda row: row["id"] == 1)
    assert [ids(builder, version) for version in range(5)] == [
        [],
        [1, 2, 3],
        [1, 3],
        [1, 3],
        [3, 9],
    ]
    assert {row["name"] for row in builder.rows()} == {"changed", "n9"}


def test_a_partly_deleted_file_is_rewritten_and_an_untouched_one_stays(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create(numbered(1, 2, 3, 4), rows_per_file=2)
    untouched = [each.path for each in builder.files.values()][1]
    builder.delete(lambda row: row["id"] == 1)
    assert len(actions(builder, 1, "remove")) == len(actions(builder, 1, "add")) == 1
    assert untouched in {each.path for each in builder.files.values()}


def test_partitioned_rows_are_grouped_by_value(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, partition_columns=["name"])
    builder.create([*numbered(1, 2), {"id": 3, "name": None}, {"id": 4, "name": ""}])
    adds = actions(builder, 0, "add")
    assert [each["partitionValues"]["name"] for each in adds] == ["n1", "n2", None]
    assert adds[2]["path"].startswith("name=__HIVE_DEFAULT_PARTITION__/")
    assert [row["name"] for row in builder.rows() if row["id"] in (3, 4)] == [None, None]
    for add in adds:
        assert pq.read_schema(tmp_path / unquote(add["path"])).names == ["id"]


def test_deletion_vectors_keep_the_file_and_widen_the_bounds(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.enableDeletionVectors": "true"})
    builder.create(numbered(1, 2, 3))
    builder.delete_rows(lambda row: row["id"] == 1)
    builder.delete_rows(lambda row: row["id"] == 2, "inline")
    first, second = (actions(builder, version, "add")[0] for version in (1, 2))
    assert first["path"] == second["path"] == actions(builder, 0, "add")[0]["path"]
    assert (first["deletionVector"]["cardinality"], second["deletionVector"]["cardinality"]) == (
        1,
        2,
    )
    assert json.loads(second["stats"])["tightBounds"] is False
    assert json.loads(second["stats"])["numRecords"] == 3
    assert actions(builder, 2, "remove")[0]["deletionVector"] == first["deletionVector"]
    assert ids(builder) == [3]


def test_a_file_that_loses_its_last_row_is_removed(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.enableDeletionVectors": "true"})
    builder.create(numbered(1, 2))
    builder.delete_rows(lambda _row: True)
    assert actions(builder, 1, "add") == []
    assert builder.files == {}


def test_row_tracking_gives_ids_that_survive_rewrites(tmp_path: Path) -> None:
    builder = TableBuilder(
        tmp_path, SCHEMA, properties={"delta.enableRowTracking": "true"}, seed="rt"
    )
    builder.create(numbered(1, 2, 3))
    builder.update(lambda row: row["id"] == 2, {"name": "changed"})
    builder.append(numbered(4))
    assert [each["baseRowId"] for each in actions(builder, 0, "add")] == [0]
    (rewritten,) = actions(builder, 1, "add")
    assert (rewritten["baseRowId"], rewritten["defaultRowCommitVersion"]) == (3, 1)
    (domain,) = actions(builder, 2, "domainMetadata")
    assert json.loads(domain["configuration"]) == {"rowIdHighWaterMark": 6}
    tracked = {row["id"]: (row["_row_id"], row["_row_commit_version"]) for row in builder.row_ids()}
    assert tracked == {1: (0, 0), 2: (1, 1), 3: (2, 0), 4: (6, 2)}
    hidden = pq.read_table(tmp_path / rewritten["path"]).to_pydict()
    row_ids = builder.properties["delta.rowTracking.materializedRowIdColumnName"]
    versions = builder.properties["delta.rowTracking.materializedRowCommitVersionColumnName"]
    assert hidden[row_ids] == [0, 1, 2]
    assert hidden[versions] == [0, None, 0]


def test_the_change_feed_has_files_for_updates_and_none_for_appends(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.enableChangeDataFeed": "true"})
    builder.create()
    builder.append(numbered(1, 2))
    builder.update(lambda row: row["id"] == 1, {"name": "x"})
    assert actions(builder, 1, "cdc") == []
    (cdc,) = actions(builder, 2, "cdc")
    assert cdc["path"].startswith("_change_data/")
    assert cdc["dataChange"] is False
    stored = pq.read_table(tmp_path / cdc["path"]).to_pylist()
    assert [(row["_change_type"], row["name"]) for row in stored] == [
        ("update_preimage", "n1"),
        ("update_postimage", "x"),
    ]
    feed = [(row["_change_type"], row["_commit_version"]) for row in builder.changes(1)]
    assert feed == [("insert", 1), ("insert", 1), ("update_preimage", 2), ("update_postimage", 2)]


def test_in_commit_timestamps_come_first(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.enableInCommitTimestamps": "true"})
    builder.create()
    first = read_commit(tmp_path, 0)[0]
    assert first["commitInfo"]["inCommitTimestamp"] == START
    assert "inCommitTimestamp" in builder.protocol.body()["writerFeatures"]
    assert json.loads(builder.checksum().read_bytes())["inCommitTimestampOpt"] == START


def test_mapped_columns_keep_physical_names_over_a_rename(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.columnMapping.mode": "name"})
    builder.create(numbered(1))
    physical = builder.schema["name"].physical_name
    renamed = struct(
        builder.schema["id"], field("title", "string", metadata=builder.schema["name"].metadata)
    )
    builder.change_table(schema=renamed, renamed={"name": "title"})
    builder.append([{"id": 2, "title": "t"}])
    assert builder.schema["title"].physical_name == physical
    assert sorted(row["title"] for row in builder.rows()) == ["n1", "t"]
    assert builder.rows(0) == numbered(1)


def test_a_new_mapped_column_gets_the_next_id(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, properties={"delta.columnMapping.mode": "id"})
    builder.create()
    builder.change_table(schema=builder.schema.with_fields(field("more", "long")))
    assert builder.schema["more"].field_id == 3
    (metadata,) = actions(builder, 1, "metaData")
    assert metadata["configuration"]["delta.columnMapping.maxColumnId"] == "3"


def test_mapping_turned_on_later_keeps_the_names_of_the_files(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create(numbered(1))
    builder.change_table(properties={"delta.columnMapping.mode": "name"})
    builder.change_table(schema=builder.schema.with_fields(field("more", "long")))
    assert [each.field_id for each in builder.schema] == [1, 2, 3]
    assert [each.physical_name for each in builder.schema][:2] == ["id", "name"]
    assert builder.schema["more"].physical_name.startswith("col-")


def test_timestamps_turned_on_later_say_since_when(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create()
    builder.append(numbered(1))
    builder.set_properties({"delta.enableInCommitTimestamps": "true"})
    configuration = actions(builder, 2, "metaData")[0]["configuration"]
    assert configuration["delta.inCommitTimestampEnablementVersion"] == "2"
    assert int(configuration["delta.inCommitTimestampEnablementTimestamp"]) == START + 2 * STEP
    assert actions(builder, 2, "commitInfo")[0]["inCommitTimestamp"] == START + 2 * STEP
    assert "inCommitTimestamp" not in actions(builder, 1, "commitInfo")[0]


def test_row_tracking_is_not_turned_on_over_files_without_ids(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create(numbered(1))
    with pytest.raises(ValueError, match="without row ids"):
        builder.set_properties({"delta.enableRowTracking": "true"})


def test_turning_a_feature_on_commits_the_protocol_it_needs(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create()
    builder.set_properties({"delta.enableDeletionVectors": "true"})
    (protocol,) = actions(builder, 1, "protocol")
    assert protocol["readerFeatures"] == protocol["writerFeatures"] == ["deletionVectors"]


def test_compaction_changes_no_row_and_says_so(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create(numbered(1, 2, 3), rows_per_file=1)
    builder.compact()
    assert {each["dataChange"] for each in actions(builder, 1, "add")} == {False}
    assert len(builder.files) == 1
    assert ids(builder) == [1, 2, 3]


def test_a_raw_commit_changes_the_log_and_no_row(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA)
    builder.create(numbered(1))
    builder.commit([{"futureAction": {}}], commit_info=False)
    assert read_commit(tmp_path, 1) == [{"futureAction": {}}]
    assert builder.rows() == builder.rows(0)


@pytest.mark.parametrize(
    ("properties", "features", "expected"),
    [
        ({}, (), Protocol()),
        ({}, ("appendOnly",), Protocol(1, 7, None, ("appendOnly",))),
        (
            {"delta.enableRowTracking": "true"},
            (),
            Protocol(1, 7, None, ("domainMetadata", "rowTracking")),
        ),
        (
            {"delta.enableDeletionVectors": "true"},
            ("appendOnly",),
            Protocol(3, 7, ("deletionVectors",), ("appendOnly", "deletionVectors")),
        ),
    ],
)
def test_the_protocol_is_the_least_that_is_needed(
    properties: dict[str, str], features: tuple[str, ...], expected: Protocol
) -> None:
    assert protocol_for(SCHEMA, properties, features) == expected


def test_a_zone_less_column_needs_its_feature_however_deep() -> None:
    schema = struct(field("s", struct(field("t", "timestamp_ntz"))))
    assert protocol_for(schema, {}).reader_features == ("timestampNtz",)


def test_the_layout_of_the_builder_reaches_its_files(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path, SCHEMA, layout=FileLayout(compression="zstd"))
    builder.create(numbered(1))
    (file,) = builder.files.values()
    chunk = pq.read_metadata(tmp_path / file.path).row_group(0).column(0)
    assert chunk.compression == "ZSTD"


def test_required_columns_list_invariants_beside_other_features_only() -> None:
    schema = struct(field("s", struct(field("x", "long", nullable=False))))
    assert protocol_for(schema, {}) == Protocol()
    assert protocol_for(schema, {}, ["v2Checkpoint"]).writer_features == (
        "invariants",
        "v2Checkpoint",
    )
