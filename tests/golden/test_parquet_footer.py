"""Editing Parquet footers: two-level lists hold what the three-level ones held."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.golden.parquet_footer import flatten_lists

_ROWS = [{"id": 1, "l": [1, 2]}, {"id": 2, "l": []}, {"id": 3, "l": None}]


def _write(path: Path, *, nullable: bool, columns: int = 1) -> None:
    element = pa.field("element", pa.int32(), nullable=nullable)
    names = ["l", *(f"l{n}" for n in range(1, columns))]
    schema = pa.schema(
        [pa.field("id", pa.int64()), *(pa.field(n, pa.list_(element)) for n in names)]
    )
    rows = [{"id": row["id"], **dict.fromkeys(names, row["l"])} for row in _ROWS]
    pq.write_table(pa.Table.from_pylist(rows, schema), path, store_schema=False, row_group_size=2)


@pytest.mark.parametrize("columns", [1, 20])
def test_values_survive_and_the_middle_group_is_gone(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "x.parquet"
    _write(path, nullable=False, columns=columns)
    before = pq.read_table(path)
    flatten_lists(path)
    assert pq.read_table(path).to_pylist() == before.to_pylist()
    leaf = pq.ParquetFile(path).schema.column(1)
    assert leaf.path == "l.array"
    assert (leaf.max_definition_level, leaf.max_repetition_level) == (2, 1)


def test_elements_that_may_be_null_keep_their_three_levels(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    _write(path, nullable=True)
    with pytest.raises(ValueError, match="required primitive"):
        flatten_lists(path)


def test_a_file_without_lists_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1.5, None], "b": ["x", "y"]}), path, store_schema=False)
    before = path.read_bytes()
    flatten_lists(path)
    assert path.read_bytes() == before
