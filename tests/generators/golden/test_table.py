"""The ledger: rows of every version follow from what was put in, not from the files."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from generators.golden.cases.table import GoldenTable, add, feature_protocol, remove
from generators.materialise.data.data_files import FileLayout
from generators.materialise.data.deletion_vectors import inline_descriptor
from generators.oracle.delta_schema import (
    Struct,
    array,
    assign_column_mapping,
    field,
    map_of,
    struct,
)

_PAIR = struct(field("id", "long"), field("name", "string"))


def _table(root: Path, schema: Struct = _PAIR, **options: object) -> GoldenTable:
    return GoldenTable(root, schema, seed="test", **options)  # type: ignore[arg-type]


def test_versions_keep_their_own_rows(tmp_path: Path) -> None:
    table = _table(tmp_path)
    file = table.file([{"id": 1, "name": "a"}])
    table.create(add(file))
    table.commit(add(table.file([{"id": 2, "name": None}])))
    table.commit(remove(file))
    assert table.versions == [0, 1, 2]
    assert [row["id"] for row in table.rows(0)] == [1]
    assert [row["id"] for row in table.rows(1)] == [1, 2]
    assert [row["id"] for row in table.rows()] == [2]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        table = _table(tmp_path / name)
        table.create(add(table.file([{"id": 1, "name": "a"}])))
    left, right = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in files}
        for name in ("one", "two")
        for files in [[p for p in (tmp_path / name).rglob("*") if p.is_file()]]
    )
    assert left == right


def test_text_in_a_commit_is_written_and_not_understood(tmp_path: Path) -> None:
    table = _table(tmp_path)
    table.create()
    table.commit("{not json")
    lines = (tmp_path / "_delta_log" / f"{1:020d}.json").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "{not json"
    assert table.rows() == []


def test_partition_values_join_the_rows_and_empty_ones_are_null(tmp_path: Path) -> None:
    schema = struct(field("id", "long"), field("p", "string"))
    table = _table(tmp_path, schema, partition_columns=["p"])
    table.create(
        add(table.file([{"id": 1}], partition={"p": "x y"})),
        add(table.file([{"id": 2}], partition={"p": ""})),
    )
    assert table.rows() == [{"id": 1, "p": "x y"}, {"id": 2, "p": None}]
    paths = sorted(table.states[0].adds)
    assert paths[1][0].startswith("p=x%20y/")


def test_vectors_delete_rows_by_position(tmp_path: Path) -> None:
    table = _table(tmp_path, protocol=feature_protocol(["deletionVectors"]))
    file = table.file([{"id": n, "name": "x"} for n in range(4)])
    table.create(add(file))
    vector = table.register_vector(inline_descriptor([0, 3]), [0, 3])
    table.commit(remove(file), add(file, deletionVector=vector))
    assert [row["id"] for row in table.rows(1)] == [1, 2]
    assert len(table.rows(0)) == 4


def test_columns_left_out_of_a_file_are_null(tmp_path: Path) -> None:
    table = _table(tmp_path)
    layout = FileLayout(omit=frozenset({"name"}))
    table.create(add(table.file([{"id": 1, "name": "lost"}], layout=layout)))
    assert table.rows() == [{"id": 1, "name": None}]


def test_renamed_columns_keep_their_rows_and_re_added_ones_do_not(tmp_path: Path) -> None:
    mapped, _ = assign_column_mapping(_PAIR, "seed")
    table = _table(tmp_path, mapped)
    table.create(add(table.file([{"id": 1, "name": "a"}])))
    table.schema = Struct((table.schema["id"], replace(table.schema["name"], name="label")))
    table.commit(table.metadata())
    grown, _ = assign_column_mapping(
        struct(table.schema["id"], field("name", "string")), "seed", start=3
    )
    table.schema = grown
    table.commit(table.metadata())
    assert table.rows(1) == [{"id": 1, "label": "a"}]
    assert table.rows(2) == [{"id": 1, "name": None}]


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("integer", "long", 7, 7),
        ("integer", "double", 7, 7.0),
        ("integer", "decimal(12,2)", 7, Decimal(7)),
        ("date", "timestamp_ntz", date(2024, 2, 29), datetime(2024, 2, 29)),  # noqa: DTZ001
    ],
)
def test_values_are_widened_to_the_later_type(
    tmp_path: Path, before: str, after: str, old: object, new: object
) -> None:
    table = _table(tmp_path, struct(field("v", before)))
    table.create(add(table.file([{"v": old}])))
    table.schema = struct(field("v", after))
    table.commit(table.metadata())
    assert table.rows() == [{"v": new}]
    assert type(table.rows()[0]["v"]) is type(new)


def test_nested_values_are_translated_at_every_level(tmp_path: Path) -> None:
    def schema(leaf: str) -> Struct:
        inner = struct(field("x", leaf))
        return struct(field("l", array(inner)), field("m", map_of("string", inner)))

    table = _table(tmp_path, schema("integer"))
    table.create(add(table.file([{"l": [{"x": 1}, None], "m": {"k": {"x": 2}}}])))
    table.schema = schema("double")
    table.commit(table.metadata())
    assert table.rows() == [{"l": [{"x": 1.0}, None], "m": [("k", {"x": 2.0})]}]
