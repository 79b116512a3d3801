"""Names that no store takes: rows are written all the same, or a typed error says which name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import DataFileNotFound, PlaceRefused

COLUMNS = 700


def _rows(names: list[str], value: str | None) -> pa.Table:
    return pa.table({"id": [1, 2], **{name: pa.array([value] * 2, pa.string()) for name in names}})


@pytest.mark.parametrize(
    ("columns", "value"),
    [(1, "x" * 5000), (1, "\u3042" * 80), (20, "v" * 190), (COLUMNS, None), (COLUMNS, "a")],
    ids=["long", "wide", "several", "nulls", "many"],
)
def test_rows_of_long_partitions_are_written_changed_and_read(
    tmp_path: Path, columns: int, value: str | None
) -> None:
    names = [f"p{number}" for number in range(columns)]
    rows = _rows(names, value)
    table = Table(tmp_path)
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    table.create(rows.schema, partition_columns=names, properties=properties)
    table.append(rows)
    table.delete("id = 1")
    table.optimize()
    assert read_table(tmp_path).equals(rows.slice(1))
    assert not [found for found in audit(str(tmp_path)) if found.severity == "error"]
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet")]
    assert max(len(str(path).encode()) for path in files) < 1024


def test_manifests_of_long_partitions_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(COLUMNS)]
    table = Table(tmp_path)
    rows = _rows(names, "a" * 20)
    table.create(rows.schema, partition_columns=names)
    table.append(rows)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PlaceRefused, match="File name too long") as caught:
        table.generate_manifest()
    assert caught.value.hint
    assert str(caught.value.path).startswith("_symlink_format_manifest/p0=")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_whose_own_name_is_too_long_is_refused(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    for root in (tmp_path / ("x" * 300), tmp_path / "/".join(["y" * 200] * 25)):
        with pytest.raises(PlaceRefused):
            Table(root).create(schema)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("outside", ["refuse", "same-store"])
def test_a_path_that_is_too_long_is_not_resolved_folder_by_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outside: Any
) -> None:
    """Each folder of it would be looked at, by a path that gets longer."""
    table = Table(tmp_path, outside=outside)
    rows = _rows([], None)
    table.create(rows.schema)
    table.append(rows)
    commit = tmp_path / "_delta_log" / f"{2:020d}.json"
    add = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    long = "./" + "a/" * 20_000 + "x"
    commit.write_text(json.dumps({"add": {**add, "path": long}}))
    asked = []
    right = os.lstat

    def counted(path: Any, **options: Any) -> os.stat_result:
        asked.append(path)
        return right(path, **options)

    monkeypatch.setattr(os, "lstat", counted)
    with pytest.raises((DataFileNotFound, PlaceRefused)):
        read_table(tmp_path, outside=outside)
    table.vacuum(retention=0, unsafe=True)
    with pytest.raises(PlaceRefused):
        table.storage.delete(long)
    assert len(asked) < 5_000
    assert read_table(tmp_path, version=1).equals(rows)
