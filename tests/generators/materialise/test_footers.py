"""Editing Parquet footers: two-level lists hold what the three-level ones held."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.data.legacy_parquet import chunks, edit_footer, relabel_lists_and_maps
from generators.materialise.data.thrift import Record

_ROWS = [{"id": 1, "l": [1, 2]}, {"id": 2, "l": []}, {"id": 3, "l": None}]


def _write(path: Path, *, nullable: bool, columns: int = 1) -> None:
    element = pa.field("element", pa.int32(), nullable=nullable)
    names = ["l", *(f"l{n}" for n in range(1, columns))]
    schema = pa.schema(
        [pa.field("id", pa.int64()), *(pa.field(n, pa.list_(element)) for n in names)]
    )
    rows = [{"id": row["id"], **dict.fromkeys(names, row["l"])} for row in _ROWS]
    pq.write_table(pa.Table.from_pylist(rows, schema), path, store_schema=False, row_group_size=2)


def _flatten(path: Path) -> int:
    return relabel_lists_and_maps(path, lists="two-level", legacy_maps=False)


@pytest.mark.parametrize("columns", [1, 20])
def test_values_survive_and_the_middle_group_is_gone(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "x.parquet"
    _write(path, nullable=False, columns=columns)
    before = pq.read_table(path)
    assert _flatten(path) == path.stat().st_size
    assert pq.read_table(path).to_pylist() == before.to_pylist()
    leaf = pq.ParquetFile(path).schema.column(1)
    assert leaf.path == "l.array"
    assert (leaf.max_definition_level, leaf.max_repetition_level) == (2, 1)


def test_elements_that_may_be_null_keep_their_three_levels(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    _write(path, nullable=True)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="two-level list cannot hold nulls"):
        _flatten(path)
    assert path.read_bytes() == before


def test_a_file_without_lists_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1.5, None], "b": ["x", "y"]}), path, store_schema=False)
    before = path.read_bytes()
    _flatten(path)
    assert path.read_bytes() == before


def test_what_a_footer_says_of_its_columns_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    _write(path, nullable=False)
    counted = []

    def change(footer: Record) -> None:
        first, second = chunks(footer)
        counted.extend([len(first), len(second)])
        second[0].get(3).set(5, 6, 7)

    edit_footer(path, change)
    assert counted == [2, 2]
    assert pq.read_metadata(path).row_group(1).column(0).num_values == 7
