"""Columns are found, filled in and compared in time that grows with their number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from conformance.judging.compare.rows import _compare_columns
from reference_impl.scan.conform import find_columns
from reference_impl.snapshot.table_schema import TableSchema
from reference_impl.types.arrow import from_arrow
from reference_impl.write.rows.conform import fill_missing

ROWS = pa.table({f"c{n}": pa.array([n], pa.int64()) for n in range(300)})


class Counted:
    """Something of Arrow that counts how often it is asked for all names."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        """Count, and ask the real one."""
        self.asked += name in {"names", "column_names"}
        return getattr(self._real, name)


class Fields(list[pa.Field]):
    """Fields that count how often they are walked over."""

    walks = 0

    def __iter__(self) -> Any:
        """Count, and walk over them."""
        self.walks += 1
        return super().__iter__()


def test_columns_of_a_file_are_found_in_one_pass() -> None:
    columns = from_arrow(ROWS.schema)
    held = Fields(reversed([*ROWS.schema][:-1]))
    found = find_columns(held, [(column, "none") for column in columns.fields])
    assert found == [*reversed(range(299)), None]
    assert held.walks == 1


def test_names_of_partition_columns_are_collected_once() -> None:
    fields = from_arrow(ROWS.schema)
    walks = Fields(fields.fields[:200])
    schema = TableSchema(fields, walks, "none")  # type: ignore[arg-type]
    assert len([field for field in fields.fields if field.name in schema.partition_names]) == 200
    assert walks.walks == 1


def test_columns_are_filled_in_without_a_look_at_all_for_each() -> None:
    given = Counted(ROWS.drop_columns(["c7"]))
    filled = fill_missing(given, from_arrow(ROWS.schema))  # type: ignore[arg-type]
    assert filled.column_names == ROWS.column_names
    assert filled.column("c7").null_count == 1
    assert given.asked < 5


def test_columns_of_an_answer_are_compared_without_a_look_at_all_for_each() -> None:
    expected, actual = Counted(ROWS.schema), Counted(ROWS.drop_columns(["c7"]).schema)
    difference = _compare_columns(expected, actual)  # type: ignore[arg-type]
    assert difference is not None
    assert difference.summary == "missing column 'c7'"
    assert expected.asked + actual.asked < 12
