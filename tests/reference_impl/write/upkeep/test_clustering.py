"""A clustered table has statistics of its clustering columns in every file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import (
    ConcurrentDomainChange,
    ConstraintViolation,
    DeltaError,
    InvalidMetadata,
    UnknownColumn,
)
from reference_impl.model.actions import DomainMetadata
from reference_impl.write.alter import columns
from reference_impl.write.features.target import Target
from reference_impl.write.files.clustering import clustering_leaves
from reference_impl.write.rows.operations import append

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("s", pa.struct([("x", pa.int32())])),
        ("l", pa.list_(pa.int64())),
    ]
)
NO_STATISTICS = {"delta.dataSkippingNumIndexedCols": "0"}
DOMAIN = "delta.clustering"


def rows(*numbers: int) -> pa.Table:
    made = [{"id": n, "name": f"n{n}", "s": {"x": -n}, "l": [n]} for n in numbers]
    return pa.Table.from_pylist(made, SCHEMA)


def statistics(table: Table) -> list[dict[str, Any]]:
    return [json.loads(text) for text in table.snapshot().adds().column("stats").to_pylist()]


def clustering_columns(table: Table) -> list[list[str]]:
    held = json.loads(table.snapshot().domain_metadata[DOMAIN].configuration)
    found: list[list[str]] = held["clusteringColumns"]
    return found


@pytest.mark.parametrize("mode", ["none", "name"])
def test_every_file_has_statistics_of_the_clustering_columns(
    table: Table, clean: Callable[[], None], mode: str
) -> None:
    table.create(
        SCHEMA,
        properties={"delta.columnMapping.mode": mode, **NO_STATISTICS},
        clustering_columns=["name", ("s", "x")],
        rows=rows(1, 2),
    )
    table.append(rows(3))
    table.update({"id": 9}, "id = 1")
    table.delete("id = 2")
    [name, [outer, inner]] = clustering_columns(table)
    assert (name == ["name"]) == (mode == "none")
    for document in statistics(table):
        assert set(document["minValues"]) == {name[0], outer}
        assert set(document["minValues"][outer]) == {inner}
    clean()


@pytest.mark.parametrize("way", ["row ids", "vector", "restore"])
def test_files_that_a_checkpoint_took_statistics_of_get_them_back(
    table: Table, clean: Callable[[], None], way: str
) -> None:
    lost = {"delta.checkpoint.writeStatsAsJson": "false", "delta.enableDeletionVectors": "true"}
    table.create(SCHEMA, properties=lost, rows=rows(1, 2, 3), clustering_columns=["id"])
    if way == "restore":
        table.delete()
    table.checkpoint()
    ways: dict[str, Callable[[], int]] = {
        "row ids": lambda: table.set_properties({"delta.enableRowTracking": "true"}),
        "vector": lambda: table.delete("id = 2"),
        "restore": lambda: table.restore(0),
    }
    ways[way]()
    [document] = statistics(table)
    assert document["numRecords"] == 3
    assert (document["minValues"]["id"], document["maxValues"]["id"]) == (1, 3)
    clean()


def test_a_table_may_keep_statistics_out_of_checkpoints(
    table: Table, clean: Callable[[], None]
) -> None:
    lost = {"delta.checkpoint.writeStatsAsJson": "false"}
    table.create(SCHEMA, properties=lost, rows=rows(1, 2, 3), clustering_columns=["id"])
    table.append(rows(4))
    table.checkpoint()
    log = Path(table.storage.location) / "_delta_log"
    for number, path in enumerate(sorted(log.glob("*.json"))):
        os.utime(path, (1_500_000_000 + number, 1_500_000_000 + number))
    assert table.clean_log()
    assert table.snapshot().adds().column("stats").to_pylist() == [None, None]
    clean()


def test_files_that_are_there_get_statistics(
    table: Table, clean: Callable[[], None], actions: Callable[..., list[dict[str, Any]]]
) -> None:
    properties = {**NO_STATISTICS, "delta.enableDeletionVectors": "true"}
    table.create(SCHEMA, properties=properties, rows=rows(1, 2, 3))
    table.delete("id = 2")
    table.append(rows(7))
    assert all(document["minValues"] == {} for document in statistics(table))
    version = table.cluster_by(["id"])
    assert [add["dataChange"] for add in actions(version, "add")] == [False, False]
    assert sorted(d["maxValues"]["id"] for d in statistics(table)) == [3, 7]
    assert sorted(d["numRecords"] for d in statistics(table)) == [1, 3]
    assert read_table(table.storage.location).num_rows == 3
    clean()
    again = table.cluster_by([("s", "x"), "id"])
    assert len(actions(again, "add")) == 2
    assert actions(table.cluster_by(["id"]), "add") == []
    assert table.cluster_by([]) == again + 2
    assert clustering_columns(table) == []
    clean()


def test_to_optimize_is_to_cluster(table: Table, clean: Callable[[], None]) -> None:
    table.create(SCHEMA, clustering_columns=["id"], rows=rows(5, 1))
    table.append(rows(4, 2))
    table.append(rows(3))
    table.optimize()
    [add] = table.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert add["clusteringProvider"] == "delta-tck-reference"
    assert read_table(table.storage.location).column("id").to_pylist() == [1, 2, 3, 4, 5]
    table.append(rows(6))
    table.optimize()
    assert table.snapshot().adds().num_rows == 1
    clean()


def test_what_another_writer_clustered_stays(
    table: Table, actions: Callable[..., list[dict[str, Any]]]
) -> None:
    table.create(SCHEMA, clustering_columns=["id"], rows=rows(1))
    [add] = actions(0, "add")
    foreign = json.dumps({"add": {**add, "clusteringProvider": "liquid"}})
    table.storage.put_if_absent(f"_delta_log/{1:020d}.json", foreign.encode())
    table.append(rows(3))
    table.append(rows(2))
    table.optimize()
    adds = table.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert sorted(a["clusteringProvider"] for a in adds) == ["delta-tck-reference", "liquid"]
    assert add["path"] in {a["path"] for a in adds}


def test_restore_brings_the_clustering_columns_of_then(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, clustering_columns=["id"], properties=NO_STATISTICS, rows=rows(1))
    table.append(rows(2))
    table.cluster_by(["name"])
    table.restore(0)
    assert clustering_columns(table) == [["id"]]
    assert all("id" in document["minValues"] for document in statistics(table))
    clean()


REFUSED: dict[str, tuple[Any, type[DeltaError]]] = {
    "unknown": (["zz"], UnknownColumn),
    "a struct": (["s"], UnknownColumn),
    "an array": (["l"], ConstraintViolation),
    "twice": (["id", "id"], ConstraintViolation),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_column_that_cannot_cluster_is_refused(table: Table, name: str) -> None:
    names, error = REFUSED[name]
    with pytest.raises(error):
        table.create(SCHEMA, clustering_columns=names)
    table.create(SCHEMA, clustering_columns=["id"])
    with pytest.raises(error):
        table.cluster_by(names)
    assert clustering_columns(table) == [["id"]]


def test_a_table_is_clustered_or_partitioned(table: Table) -> None:
    choices: list[dict[str, Any]] = [{"clustering_columns": ["id"]}, {"features": ["clustering"]}]
    for arguments in choices:
        with pytest.raises(InvalidMetadata):
            table.create(SCHEMA, partition_columns=["name"], **arguments)
    table.create(SCHEMA, partition_columns=["name"])
    with pytest.raises(InvalidMetadata):
        table.cluster_by(["id"])
    assert table.latest_version() == 0


def test_a_clustering_column_is_not_dropped(table: Table, clean: Callable[[], None]) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table.create(SCHEMA, properties=properties, clustering_columns=[("s", "x")], rows=rows(1))
    for path in ("s", ("s", "x")):
        with pytest.raises(ConstraintViolation):
            table.drop_column(path)
    table.rename_column(("s", "x"), "y")
    table.append(pa.table({"id": [1], "s": [{"y": 3}]}))
    table.drop_column("name")
    clean()


def test_the_feature_goes_with_its_domain(table: Table) -> None:
    table.create(SCHEMA, clustering_columns=["id"], rows=rows(2))
    table.append(rows(1))
    table.optimize()
    table.drop_feature("clustering")
    assert table.snapshot().domain_metadata == {}
    [add] = table.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert add["clusteringProvider"] is None


def test_users_do_not_set_the_domain(table: Table) -> None:
    table.create(SCHEMA, clustering_columns=["id"])
    for configuration in ("{}", None):
        with pytest.raises(ConstraintViolation):
            table.set_domain(DOMAIN, configuration)


def test_an_append_does_not_go_with_other_clustering_columns(table: Table) -> None:
    table.create(SCHEMA, clustering_columns=["id"], properties=NO_STATISTICS)
    before = table.snapshot()
    table.cluster_by(["name"])
    with pytest.raises(ConcurrentDomainChange):
        append(before, rows(1))
    table.append(rows(1))
    stale = table.snapshot()
    table.append(rows(2))
    with pytest.raises(DeltaError):
        columns.cluster_by(stale, ["id"])


@pytest.mark.parametrize(
    "held",
    ["", "{", "[1]", '{"x":1e999}', '{"x":NaN}', "[" * 5000, '{"clusteringColumns":null,"x":1}'],
)
def test_a_domain_that_is_no_json_is_replaced(table: Table, held: str) -> None:
    table.create(SCHEMA, clustering_columns=["name"], rows=rows(1, 2))
    action = {"domain": DOMAIN, "configuration": held, "removed": False}
    commit = Path(table.storage.location) / "_delta_log" / f"{1:020d}.json"
    commit.write_text(json.dumps({"domainMetadata": action}) + "\n")
    table.cluster_by(["id"])
    text = table.snapshot().domain_metadata[DOMAIN].configuration
    kept = {"x": 1} if "null" in held else {}
    assert json.loads(text, parse_constant=pytest.fail) == {"clusteringColumns": [["id"]], **kept}
    assert read_table(table.storage.location).num_rows == 2


def test_a_column_that_is_named_many_times_clusters_once(table: Table) -> None:
    table.create(SCHEMA, clustering_columns=["name"], rows=rows(1, 2))
    held = json.dumps({"clusteringColumns": [["id"]] * 1000})
    domains = {DOMAIN: DomainMetadata(DOMAIN, held, removed=False)}
    snapshot = table.snapshot()
    target = Target.of(snapshot.protocol, snapshot.metadata)
    assert [leaf.path for leaf in clustering_leaves(target, domains)] == [("id",)]
