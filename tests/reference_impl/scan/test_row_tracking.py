"""Row ids and row commit versions: fresh, materialised, and under deletion vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import InvalidAction, RowsNotTracked

_NAMES = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_hidden_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_hidden_version",
}
_FEATURES = ["rowTracking", "domainMetadata"]


def _ids(root: Any, **options: Any) -> list[tuple[int | None, ...]]:
    found = read_table(root, row_ids=True, **options)
    names = ("v", "_row_id", "_row_commit_version")
    return list(zip(*(found[name].to_pylist() for name in names), strict=True))


def test_ids_count_physical_rows_from_the_base(table: Any, vector: Callable[..., Any]) -> None:
    table.create(
        [("v", "long")],
        features=["deletionVectors"],
        writer_features=_FEATURES,
        configuration=_NAMES,
    )
    rows = pa.table({"v": [10, 11, 12, 13]})
    base = {"baseRowId": 100, "defaultRowCommitVersion": 7}
    table.commit(table.add(rows, **base, deletionVector=vector([0, 2])))
    assert _ids(table.root) == [(11, 101, 7), (13, 103, 7)]
    assert _ids(table.root, filter="v > 11") == [(13, 103, 7)]


def test_materialised_values_win_where_they_are_not_null(table: Any) -> None:
    table.create([("v", "long")], writer_features=_FEATURES, configuration=_NAMES)
    rows = pa.table(
        {
            "v": [1, 2, 3],
            "_hidden_id": pa.array([50, None, 51], pa.int64()),
            "_hidden_version": pa.array([None, 3, 4], pa.int64()),
        }
    )
    table.commit(table.add(rows, baseRowId=0, defaultRowCommitVersion=9))
    assert _ids(table.root) == [(1, 50, 9), (2, 1, 3), (3, 51, 4)]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_materialised_columns_are_found_by_name_under_column_mapping(table: Any, mode: str) -> None:
    metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    table.create(
        [{"name": "v", "type": "long", "nullable": True, "metadata": metadata}],
        features=["columnMapping"],
        writer_features=_FEATURES,
        configuration={**_NAMES, "delta.columnMapping.mode": mode},
    )
    schema = pa.schema(
        [
            pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field("_hidden_id", pa.int64()),
        ]
    )
    rows = pa.table([[1], [50]], schema=schema)
    table.commit(table.add(rows, baseRowId=0, defaultRowCommitVersion=1))
    assert _ids(table.root) == [(1, 50, 1)]


def test_ordinary_reads_do_not_show_the_materialised_columns(table: Any) -> None:
    table.create([("v", "long")], writer_features=_FEATURES, configuration=_NAMES)
    table.commit(table.add(pa.table({"v": [1], "_hidden_id": [50]}), baseRowId=0))
    assert read_table(table.root).column_names == ["v"]


def test_rows_without_a_base_have_no_id(table: Any) -> None:
    table.create([("v", "long")], writer_features=_FEATURES)
    table.commit(table.add(pa.table({"v": [1]})))
    assert _ids(table.root) == [(1, None, None)]


def test_ids_of_a_table_without_row_tracking_are_refused(table: Any) -> None:
    table.create([("v", "long")])
    with pytest.raises(RowsNotTracked):
        read_table(table.root, row_ids=True)


@pytest.mark.parametrize("base", [-1, 2**63 - 1])
def test_a_base_without_room_for_the_rows_is_refused(table: Any, base: int) -> None:
    table.create([("v", "long")], writer_features=_FEATURES, configuration=_NAMES)
    table.commit(table.add(pa.table({"v": [1, 2]}), baseRowId=base, defaultRowCommitVersion=0))
    with pytest.raises(InvalidAction):
        read_table(table.root, row_ids=True)
    assert read_table(table.root).num_rows == 2
