"""Generated columns that are left out are generated, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Sql, Table, When, read_table
from reference_impl.errors import ConstraintViolation, UnsupportedExpression

CHAIN = {"d": "c + 1", "b": "a + 1", "c": "b + 1"}
"""Each is made of the one before it, and comes before it in the schema."""
ROW = {"a": 1, "d": 4, "b": 2, "c": 3}


def schema(expressions: dict[str, str], kind: str = "integer") -> dict[str, Any]:
    columns = [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]
    columns += [
        {
            "name": name,
            "type": kind,
            "nullable": False,
            "metadata": {"delta.generationExpression": text},
        }
        for name, text in expressions.items()
    ]
    return {"type": "struct", "fields": columns}


def given(**columns: int) -> pa.Table:
    return pa.table({name: pa.array([value], pa.int32()) for name, value in columns.items()})


WRITES: dict[str, Callable[[Table], object]] = {
    "append": lambda t: t.append(given(a=1)),
    "overwrite": lambda t: t.overwrite(given(a=1)),
    "overwrite where": lambda t: t.overwrite(given(a=1), "a = 1"),
    "merge insert": lambda t: t.merge(given(a=1), ["a"]),
    "merge insert of values": lambda t: t.merge(
        given(x=1),
        "target.a = source.x",
        [When("not_matched", "insert", None, {"a": Sql("source.x")})],
    ),
}


@pytest.mark.parametrize("partitioned", [(), ("c",), ("b", "d")])
@pytest.mark.parametrize("write", WRITES)
def test_every_generated_column_that_is_left_out_is_generated(
    tmp_path: Path, write: str, partitioned: tuple[str, ...]
) -> None:
    table = Table(tmp_path)
    table.create(schema(CHAIN), partition_columns=partitioned)
    WRITES[write](table)
    assert read_table(tmp_path).to_pylist() == [ROW]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.update({"a": 1}),
        lambda t: t.update({"a": Sql("a - 9")}),
        lambda t: t.merge(
            given(k=10), "target.a = source.k", [When("matched", "update", None, {"a": 1})]
        ),
    ],
)
def test_what_follows_from_a_column_that_is_updated_follows_again(
    tmp_path: Path, change: Callable[[Table], object]
) -> None:
    table = Table(tmp_path)
    table.create(schema(CHAIN))
    table.append(given(a=10))
    change(table)
    assert read_table(tmp_path).to_pylist() == [ROW]


@pytest.mark.parametrize("left", [("b",), ("c",), ("d",), ("b", "c"), ("b", "d"), ("c", "d")])
def test_any_of_several_generated_columns_may_be_left_out(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    table = Table(tmp_path)
    table.create(schema(CHAIN))
    table.append(given(**{name: value for name, value in ROW.items() if name not in left}))
    assert read_table(tmp_path).to_pylist() == [ROW]


def test_columns_of_one_source_are_all_generated(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.create(schema({"b": "a + 1", "c": "a + 2"}))
    table.append(given(a=1))
    assert read_table(tmp_path).to_pylist() == [{"a": 1, "b": 2, "c": 3}]


@pytest.mark.parametrize("circle", [{"b": "c", "c": "b"}, {"b": "b + 1"}])
def test_columns_that_are_made_of_each_other_are_refused_where_none_is_given(
    tmp_path: Path, circle: dict[str, str]
) -> None:
    table = Table(tmp_path)
    table.create(schema(circle))
    with pytest.raises(UnsupportedExpression):
        table.append(given(a=1))
    assert table.latest_version() == 0


def test_a_value_that_the_expression_does_not_give_is_refused(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.create(schema(CHAIN))
    with pytest.raises(ConstraintViolation):
        table.append(given(a=1, c=9))


def test_an_empty_partition_value_is_null_before_others_are_made_of_it(tmp_path: Path) -> None:
    table = Table(tmp_path)
    columns = schema({"b": "a", "c": "b"}, "string")
    for column in columns["fields"]:
        column["nullable"] = True
    columns["fields"].append({"name": "z", "type": "string", "nullable": True, "metadata": {}})
    table.create(columns, partition_columns=["a", "b"])
    table.append(pa.table({"a": [""], "z": ["z"]}))
    assert read_table(tmp_path).to_pylist() == [{"a": None, "b": None, "c": None, "z": "z"}]
