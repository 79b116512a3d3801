"""Tables that a job keeps: rows come in once, columns are added."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.pipeline.store import StoredTable, StoreError
from reference_impl import Table

SCHEMA = pa.schema([("name", pa.string()), ("parts", pa.list_(pa.string()))])
LATER = pa.schema([*SCHEMA, pa.field("size", pa.int64())])


def test_rows_of_the_same_progress_come_in_once(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), SCHEMA)
    assert table.add([{"name": "a", "parts": ["x"]}], "app", 1)
    assert not table.add([{"name": "a", "parts": ["x"]}], "app", 1)
    assert not table.add([{"name": "b", "parts": []}], "app", 0)
    assert table.add([{"name": "b"}], "app", 2)
    assert table.add([{"name": "a", "parts": ["x"]}], "other", 1)
    assert [row["name"] for row in table.read().to_pylist()] == ["a", "b", "a"]
    assert table.progress() == {"app": 2, "other": 1}


def test_writers_at_once_add_each_progress_once(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), SCHEMA)
    work = [(f"app-{number % 3}", number % 2) for number in range(24)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: table.add([{"name": f"{each}"}], *each), work))
    found = table.read().column("name").to_pylist()
    assert len(found) == len(set(found))
    assert {f"app-{n}" for n in range(3)} == table.progress().keys()
    assert set(table.progress().values()) == {1}


def test_rows_of_progress_that_is_recorded_in_part_come_in_once(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), LATER)
    rows = [{"name": str(number), "size": number} for number in range(1, 7)]
    table.add(rows[:4], "app", 4, "size")
    assert table.add(rows, "app", 6, "size")
    assert table.read().column("size").to_pylist() == [1, 2, 3, 4, 5, 6]


def test_no_rows_are_progress_as_well(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), SCHEMA)
    table.add([], "app", 3)
    assert table.progress() == {"app": 3}
    assert table.read().num_rows == 0


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), SCHEMA)
    assert table.progress() == {}
    assert table.read(["name"]).schema.names == ["name"]


def test_a_later_kit_adds_its_columns_and_an_earlier_one_leaves_them(tmp_path: Path) -> None:
    early, late = (StoredTable(str(tmp_path / "t"), schema) for schema in (SCHEMA, LATER))
    early.add([{"name": "a"}], "app", 1)
    assert late.read(["name", "size"]).to_pylist() == [{"name": "a", "size": None}]
    late.add([{"name": "b", "size": 7}], "app", 2)
    early.add([{"name": "c"}], "app", 3)
    assert late.read(["name", "size"]).column("size").to_pylist() == [None, 7, None]
    assert early.read().schema == SCHEMA


def test_what_cannot_be_read_is_said_with_its_place(tmp_path: Path) -> None:
    table = StoredTable(str(tmp_path / "t"), SCHEMA)
    table.add([{"name": "a"}], "app")
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").write_text("{")
    with pytest.raises(StoreError, match=str(tmp_path / "t")):
        table.read()
    with pytest.raises(StoreError):
        table.progress()
    with pytest.raises(StoreError):
        table.add([{"name": "b"}], "app", 2)


def test_a_table_appends_with_a_transaction_once(tmp_path: Path) -> None:
    table = Table(tmp_path / "t")
    table.create(SCHEMA)
    rows = pa.table({"name": ["a"]})
    first = table.append(rows, txn=("app", 5))
    assert table.append(rows, txn=("app", 5)) == first
    assert table.append(rows, txn=("app", 4)) == first
    assert table.append(rows) == first + 1
    assert table.snapshot().txns["app"].version == 5
