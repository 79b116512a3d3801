"""A table that is replaced has other columns, partitions and rows, and is the same table."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import AppendOnlyViolation, InvalidMetadata

BEFORE = pa.schema([("id", pa.int64()), ("part", pa.string())])
AFTER = pa.schema([("id", pa.string()), ("day", pa.string())])
ROWS = pa.table({"id": [1, 2], "part": ["a", None]})
NEW = pa.table({"id": ["x"], "day": [None]}, schema=AFTER)


def replaced(table: Table, **properties: str) -> None:
    table.create(BEFORE, partition_columns=["part"], properties=properties, rows=ROWS)
    table.replace(AFTER, partition_columns=["day"], rows=NEW)


def test_rows_columns_and_partitions_are_new(table: Table, clean: Callable[[], None]) -> None:
    replaced(table, owner="me")
    assert read_table(table.storage.location).to_pylist() == NEW.to_pylist()
    assert read_table(table.storage.location, version=0).num_rows == 2
    metadata, before = table.snapshot().metadata, table.snapshot(0).metadata
    assert (metadata.id, metadata.configuration) == (before.id, before.configuration)
    assert metadata.partition_columns == ("day",)
    clean()


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_of_old_names_get_ids_of_their_own(
    table: Table, clean: Callable[[], None], mode: str
) -> None:
    replaced(table, **{"delta.columnMapping.mode": mode})
    before, after = (table.snapshot(version).schema.fields for version in (0, 1))
    assert not {str(f.metadata) for f in before} & {str(f.metadata) for f in after}
    assert table.snapshot().metadata.configuration["delta.columnMapping.maxColumnId"] == "4"
    clean()


def test_the_feed_has_the_rows_that_went_and_came(table: Table) -> None:
    table.create(BEFORE, properties={"delta.enableChangeDataFeed": "true"}, rows=ROWS)
    table.replace(BEFORE, rows=ROWS.slice(1))
    invariant = [(row["id"], row["_change_type"]) for row in table.changes(1).to_pylist()]
    assert sorted(invariant) == [(1, "delete"), (2, "delete"), (2, "insert")]


def test_an_append_only_table_is_not_replaced(table: Table) -> None:
    with pytest.raises(AppendOnlyViolation):
        replaced(table, **{"delta.appendOnly": "true"})
    assert table.latest_version() == 0


@pytest.mark.parametrize(("version", "requirement"), [(1, "ICE1-011"), (2, "ICE2-019")])
def test_iceberg_compatibility_keeps_the_names_of_partition_columns(
    table: Table, version: int, requirement: str
) -> None:
    on = {"delta.columnMapping.mode": "name", f"delta.enableIcebergCompatV{version}": "true"}
    with pytest.raises(InvalidMetadata) as caught:
        replaced(table, **on)
    assert caught.value.requirement == requirement
    assert table.latest_version() == 0


def test_no_row_that_goes_has_to_obey_rules_of_new_columns(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(BEFORE, rows=ROWS)
    invariant = json.dumps({"expression": {"expression": "id > 7"}})
    column = {"name": "id", "type": "long", "nullable": True}
    table.replace(
        {"type": "struct", "fields": [{**column, "metadata": {"delta.invariants": invariant}}]},
        properties={"delta.constraints.c": "id > 8"},
        rows=pa.table({"id": [9]}),
    )
    assert read_table(table.storage.location).to_pylist() == [{"id": 9}]
    clean()
