"""Old layouts of lists and maps: other footers, the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

from generators.materialise.data.data_files import FileLayout, write_data_file
from generators.materialise.data.legacy_parquet import ListLayout
from generators.materialise.data.thrift import Items, Record, decode_record, encode_record
from generators.oracle.delta_schema import array, field, map_of, struct

SCHEMA = struct(
    field("a", "long"),
    field("l", array("integer")),
    field("ll", array(array("string"))),
    field("ls", array(struct(field("x", "long"), field("y", "string")))),
    field("m", map_of("string", array("long"))),
)

ROWS: list[dict[str, Any]] = [
    {"a": 1, "l": [1, 2], "ll": [["a"], []], "ls": [{"x": 1, "y": None}], "m": [("k", [1])]},
    {"a": 2},
    {"a": 3, "l": [], "ll": [], "ls": [], "m": []},
]

LEAVES: dict[ListLayout, set[str]] = {
    "standard": {"l.list.element", "ll.list.element.list.element", "ls.list.element.x"},
    "two-level": {"l.array", "ll.array.array", "ls.array.x"},
    "bag": {"l.bag.array_element", "ll.bag.array_element.bag.array_element"},
    "array-in-list": {"l.list.array", "ls.list.array.y"},
}


def write(root: Path, rows: list[dict[str, Any]] = ROWS, **layout: Any) -> Path:
    options = FileLayout(**layout)
    add = write_data_file(root, SCHEMA, rows, path="f.parquet", modification_time=0, layout=options)
    assert add["size"] == (root / "f.parquet").stat().st_size
    return root / "f.parquet"


def leaves(path: Path) -> set[str]:
    schema = pq.ParquetFile(path).schema
    return {schema.column(place).path for place in range(len(schema))}


@pytest.mark.parametrize("lists", LEAVES)
@pytest.mark.parametrize("row_group_rows", [None, 1])
def test_every_layout_of_lists_reads_back(
    tmp_path: Path, lists: ListLayout, row_group_rows: int | None
) -> None:
    path = write(tmp_path, lists=lists, row_group_rows=row_group_rows)
    assert leaves(path) >= LEAVES[lists]
    assert pq.read_table(path).to_pylist() == pq.read_table(write(tmp_path)).to_pylist()


def test_legacy_maps_read_back(tmp_path: Path) -> None:
    path = write(tmp_path, legacy_maps=True)
    assert "m.map.key" in leaves(path)
    assert pq.read_table(path).column("m").to_pylist() == [[("k", [1])], None, []]


def test_a_two_level_list_cannot_hold_nulls(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"null"):
        write(tmp_path, [{"l": [1, None]}], lists="two-level")


def test_statistics_and_codecs_of_columns_survive(tmp_path: Path) -> None:
    path = write(tmp_path, lists="two-level", compression="zstd")
    chunk = pq.read_metadata(path).row_group(0).column(0)
    assert (chunk.compression, chunk.statistics.min, chunk.statistics.max) == ("ZSTD", 1, 3)


def test_a_footer_comes_back_as_the_same_bytes(tmp_path: Path) -> None:
    data = write(tmp_path).read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    assert encode_record(decode_record(footer)) == footer


SCALARS = st.one_of(
    st.tuples(st.just(6), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(8), st.binary(max_size=200)),
    st.tuples(st.just(3), st.integers(0, 255)),
    st.tuples(st.just(7), st.binary(min_size=8, max_size=8)),
    st.sampled_from([(1, True), (2, False)]),
    st.lists(st.integers(-5, 5), max_size=40).map(lambda each: (9, Items(5, each))),
    st.lists(st.sampled_from([1, 2]), max_size=20).map(lambda each: (9, Items(1, each))),
)


def records() -> st.SearchStrategy[Record]:
    fields = st.dictionaries(st.integers(1, 300), SCALARS, max_size=6)
    return fields.map(lambda each: Record(dict(sorted(each.items()))))


@profile("gate", examples=80)
@given(records(), records())
def test_any_record_survives_its_encoding(outer: Record, inner: Record) -> None:
    outer.set(301, 12, inner)
    outer.set(302, 9, Items(12, [inner, inner]))
    assert decode_record(encode_record(outer)) == outer


def test_fields_are_set_got_and_dropped() -> None:
    record = Record()
    record.set(5, 6, 1)
    record.set(2, 6, 2)
    assert list(record.fields) == [2, 5]
    record.drop(2)
    record.drop(9)
    assert (record.get(5), record.get(2)) == (1, None)
