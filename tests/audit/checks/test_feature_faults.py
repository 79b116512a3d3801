"""Faults of single features fire exactly their findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

Plant = Callable[[Any], Any]

ARRAY = {"type": "array", "elementType": "long", "containsNull": True}


def _widened(lake: Any, of: Any, *changes: dict[str, str]) -> None:
    column = lake.field("v", of, **{"delta.typeChanges": list(changes)})
    lake.commit(lake.protocol("r:typeWidening"), lake.metadata(column))


def _change(before: str, after: str, **path: str) -> dict[str, str]:
    return {"fromType": before, "toType": after, **path}


def _retyped(lake: Any, before: str, after: str) -> None:
    features = lake.protocol("r:typeWidening")
    lake.commit(features, lake.metadata(lake.field("v", before)))
    lake.commit(lake.file("a.parquet", pa.table({"v": pa.array([1], pa.int32())})))
    lake.commit(lake.metadata(lake.field("v", after)))


def _clustered(lake: Any, columns: Any, stats: dict[str, Any], *fields: Any) -> None:
    domain = {
        "domain": "delta.clustering",
        "configuration": json.dumps({"clusteringColumns": columns}),
        "removed": False,
    }
    protocol = lake.protocol("clustering", "domainMetadata", *(["r:variantType"] if fields else []))
    lake.commit(protocol, lake.metadata(*fields), {"domainMetadata": domain})
    rows = pa.table({"id": [1, 2]})
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps({"numRecords": 2, **stats})))


def _domain(columns: Any, name: str = "delta.clustering") -> dict[str, Any]:
    configuration = json.dumps({"clusteringColumns": columns})
    body = {"domain": name, "configuration": configuration, "removed": False}
    return {"domainMetadata": body}


def _reclustered(lake: Any, columns: Any, *features: str, **of: Any) -> None:
    """Name clustering columns that the next version exchanges for right ones."""
    fields = [lake.field(name, kind) for name, kind in ({"id": "long"} | of).items()]
    protocol = lake.protocol("clustering", "domainMetadata", *features)
    lake.commit(protocol, lake.metadata(*fields), _domain(columns))
    lake.commit(_domain([["id"]]))


def _joined(lake: Any, *more: str) -> None:
    """Let a column join the clustering columns over a file without its statistics."""
    columns = ["id", *more]
    bounds = {"minValues": {"id": 1}, "maxValues": {"id": 2}}
    _clustered(lake, ["id"], {"nullCount": {"id": 0}, **bounds})
    lake.commit(_domain(columns))


def _catalog(lake: Any, *, stamps: bool, txn: bool) -> None:
    protocol = lake.protocol("r:catalogManaged", "inCommitTimestamp")
    info = {"inCommitTimestamp": 5} | ({"txnId": "t"} if txn else {})
    properties = {"enableInCommitTimestamps": "true"} if stamps else {}
    lake.commit({"commitInfo": info}, protocol, lake.metadata(**properties))


def _elsewhere(lake: Any, folder: str, *, by_uri: bool) -> None:
    """Name a change file by its whole place."""
    kinds = ["update_preimage", "update_postimage"]
    _changed(lake, pa.table({"id": [1, 1], "name": ["a", "b"], "_change_type": kinds}))
    held, target = lake.root / "_change_data/c.parquet", lake.root / f"{folder}_change_data"
    target.mkdir(parents=True, exist_ok=True)
    (target / "c.parquet").write_bytes(held.read_bytes())
    text = (lake.log / f"{2:020d}.json").read_text()
    whole = target.as_uri() if by_uri else str(target)
    lake.write(f"{2:020d}.json", text.replace('"_change_data/c.', f'"{whole}/c.'))


def _unmoved(lake: Any, *kinds: str, files: bool = True) -> None:
    """Rewrite a file without a change of data, beside a change file."""
    lake.commit(lake.protocol("changeDataFeed"), lake.metadata(enableChangeDataFeed="true"))
    held = pa.table({"id": [1], "name": ["a"]})
    lake.commit(lake.file("old.parquet", held))
    rows = pa.table({"id": [1] * len(kinds), "name": ["a"] * len(kinds), "_change_type": kinds})
    size = lake.file("_change_data/c.parquet", rows)["add"]["size"]
    cdc = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": size}
    moves = [
        lake.remove("old.parquet", dataChange=False),
        lake.file("new.parquet", held, dataChange=False),
    ]
    lake.commit(*(moves if files else ()), {"cdc": cdc | {"dataChange": False}})


def _changed(lake: Any, rows: pa.Table | None) -> None:
    lake.commit(lake.protocol("changeDataFeed"), lake.metadata(enableChangeDataFeed="true"))
    lake.commit(lake.file("old.parquet", pa.table({"id": [1], "name": ["a"]})))
    path = "_change_data/c.parquet"
    body = {"path": path, "partitionValues": {}, "size": 4, "dataChange": False}
    if rows is None:
        lake.write("../_change_data/c.parquet", "PAR1")
    else:
        body["size"] = lake.file(path, rows)["add"]["size"]
    new = lake.file("new.parquet", pa.table({"id": [1], "name": ["b"]}))
    lake.commit(lake.remove("old.parquet"), new, {"cdc": body})


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a type is narrowed": (
        {"TW-003", "TW-004"},
        lambda x: _widened(x, "short", _change("long", "short")),
    ),
    "a decimal loses digits": (
        {"TW-003", "TW-005"},
        lambda x: _widened(x, "decimal(10,4)", _change("decimal(10,2)", "decimal(10,4)")),
    ),
    "the last type change is not to the type": (
        {"TW-006"},
        lambda x: _widened(x, "long", _change("byte", "short")),
    ),
    "the last type change of an element is not to its type": (
        {"TW-006"},
        lambda x: _widened(x, ARRAY, _change("byte", "short", fieldPath="element")),
    ),
    "a type changes and nothing says so": (
        {"TW-002", "TW-006"},
        lambda x: _retyped(x, "integer", "long"),
    ),
    "a type change is of nothing": (
        {"TW-006", "TW-008"},
        lambda x: _widened(x, ARRAY, _change("short", "long", fieldPath="key")),
    ),
    "a catalog-managed table has no timestamps": (
        {"CAT-015"},
        lambda x: _catalog(x, stamps=False, txn=True),
    ),
    "a catalog-managed commit has no txnId": (
        {"CINFO-004"},
        lambda x: _catalog(x, stamps=True, txn=False),
    ),
    "a clustering column is missing": (
        {"CLUS-006", "CLUS-009"},
        lambda x: _clustered(x, [["ghost"]], {}),
    ),
    "a clustering column is a variant": (
        {"VAR-006", "CLUS-009", "STAT-008"},
        lambda x: _clustered(
            x, [["v"]], {"nullCount": {"v": 0}}, x.field("v", "variant"), x.field("id")
        ),
    ),
    "a clustering column was missing": ({"CLUS-006"}, lambda x: _reclustered(x, [["ghost"]])),
    "a clustering column was a variant": (
        {"VAR-006"},
        lambda x: _reclustered(x, [["v"]], "r:variantType", v="variant"),
    ),
    "a clustering column has no statistics": (
        {"CLUS-009"},
        lambda x: _clustered(x, ["id"], {"nullCount": {"name": 2}}),
    ),
    "a column joins those of the clustering, over files without its statistics": (
        {"CLUS-009", "CLUS-010"},
        lambda x: _joined(x, "name"),
    ),
    "a change file has no kinds of change": (
        {"CDFF-007"},
        lambda x: _changed(x, pa.table({"id": [1], "name": ["a"]})),
    ),
    "a change file has the kinds of change twice": (
        {"CDFF-007"},
        lambda x: _changed(
            x,
            pa.table(
                [[1], ["a"], ["insert"], ["insert"]],
                ["id", "name", "_change_type", "_change_type"],
            ),
        ),
    ),
    "a change file is in another folder, by its URI": (
        {"CDFF-001"},
        lambda x: _elsewhere(x, "data/", by_uri=True),
    ),
    "a change file is in another folder, by its path": (
        {"CDFF-001"},
        lambda x: _elsewhere(x, "data/", by_uri=False),
    ),
    "a change file says of rows that are moved alone": (
        {"CDC-001"},
        lambda x: _unmoved(x, "delete", "insert"),
    ),
    "a change file is not Parquet": ({"CDFF-007", "META-012"}, lambda x: _changed(x, None)),
    "a change file has another kind of change": (
        {"CDFF-008"},
        lambda x: _changed(x, pa.table({"id": [1], "name": ["a"], "_change_type": ["upsert"]})),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


def test_right_uses_are_clean(lake: Any) -> None:
    bounds = {"minValues": {"id": 1}, "maxValues": {"id": 2}}
    _clustered(lake, ["id", ["name"]], {"nullCount": {"id": 0, "name": 2}, **bounds})
    assert lake.audit() == []


def _restated(lake: Any) -> dict[str, Any]:
    bounds = {"minValues": {"id": 1}, "maxValues": {"id": 2}}
    stats = {"numRecords": 2, "nullCount": {"id": 0, "name": 2}, **bounds}
    rows = pa.table({"id": [1, 2]})
    held: dict[str, Any] = lake.file("a.parquet", rows, stats=json.dumps(stats), dataChange=False)
    return held


JOINED: dict[str, Callable[[Any], list[list[dict[str, Any]]]]] = {
    "a file gets statistics as the column joins": lambda x: [[_domain(["name"]), _restated(x)]],
    "a file gets statistics before": lambda x: [[_restated(x)], [_domain(["id", "name"])]],
    "a file without statistics goes": lambda x: [[_domain(["name"]), x.remove("a.parquet")]],
    "a column is spelled as parts": lambda _: [[_domain([["id"]])]],
    "a column leaves and comes again": lambda _: [[_domain([])], [_domain([["id"]])]],
    "the domain goes and comes again": lambda _: [
        [{"domainMetadata": {**_domain([])["domainMetadata"], "removed": True}}],
        [_domain(["id"])],
    ],
}


@pytest.mark.parametrize("name", JOINED)
def test_a_column_joins_those_of_the_clustering(name: str, lake: Any) -> None:
    bounds = {"minValues": {"id": 1}, "maxValues": {"id": 2}}
    _clustered(lake, ["id"], {"nullCount": {"id": 0}, **bounds})
    for actions in JOINED[name](lake):
        lake.commit(*actions)
    assert [each for each in lake.audit() if each.severity == "error"] == []


def test_a_table_that_is_replaced_has_the_types_that_it_wants(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", "integer")))
    lake.commit(lake.file("a.parquet", pa.table({"v": pa.array([1], pa.int32())})))
    lake.commit(lake.metadata(lake.field("v", "string")), lake.remove("a.parquet"))
    assert lake.audit() == []


def test_right_type_changes_are_clean(lake: Any) -> None:
    first, second = _change("byte", "short"), _change("short", "long")
    nested = _change("integer", "long", fieldPath="element")
    lake.commit(
        lake.protocol("r:typeWidening"),
        lake.metadata(
            lake.field("v", "long", **{"delta.typeChanges": [first, second]}),
            lake.field("a", ARRAY, **{"delta.typeChanges": [nested]}),
        ),
    )
    assert lake.audit() == []


def test_change_files_that_are_gone_or_right_are_clean(lake: Any) -> None:
    kinds = ["update_preimage", "update_postimage"]
    rows = pa.table({"id": [1, 1], "name": ["a", "b"], "_change_type": kinds})
    _changed(lake, rows)
    assert lake.audit() == []
    (lake.root / "_change_data" / "c.parquet").unlink()
    assert lake.audit() == []


@pytest.mark.parametrize("by_uri", [True, False])
def test_a_change_file_may_be_named_by_its_whole_place(by_uri: bool, lake: Any) -> None:
    _elsewhere(lake, "", by_uri=by_uri)
    assert lake.audit() == []


def test_the_name_counts_below_the_root_alone(lake: Any) -> None:
    inside = type(lake)(lake.root.with_name("_change_data") / "table")
    _elsewhere(inside, "", by_uri=True)
    assert inside.audit() == []
    other = inside.root / "c.parquet"
    other.write_bytes((inside.root / "_change_data/c.parquet").read_bytes())
    path = inside.log / f"{2:020d}.json"
    path.write_text(path.read_text().replace("_change_data/c.parquet", "c.parquet"))
    assert [each.requirement for each in inside.audit()] == ["CDFF-001"]


def test_a_change_file_of_a_commit_without_data_is_reported(lake: Any) -> None:
    _unmoved(lake, "delete", "insert", files=False)
    assert "CDC-001" in {each.requirement for each in lake.audit()}


@pytest.mark.parametrize("files", [True, False])
def test_an_update_that_changes_no_value_is_one(files: bool, lake: Any) -> None:
    _unmoved(lake, "update_preimage", "update_postimage", files=files)
    assert "CDC-001" not in {each.requirement for each in lake.audit()}


def test_an_empty_change_file_says_of_no_row(lake: Any) -> None:
    _unmoved(lake)
    assert "CDC-001" not in {each.requirement for each in lake.audit()}


def test_a_right_catalog_managed_table_is_clean(lake: Any) -> None:
    _catalog(lake, stamps=True, txn=True)
    assert lake.audit() == []
