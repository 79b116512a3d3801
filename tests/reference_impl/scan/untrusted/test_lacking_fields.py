"""Fields that a data file lacks, and numbers that become wider, count before there are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Limits, read_table
from reference_impl.errors import DataFileTooLarge
from reference_impl.scan import data_file

_ROWS = 40_000
_LIMITS = Limits(batch=1 << 22, data_file=1 << 24, data_file_growth=1)


def _struct(*fields: tuple[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields
        ],
    }


_WIDE = _struct(("a", "integer"), *((f"lost{number}", "string") for number in range(400)))
_ONES = pa.array([1] * _ROWS, pa.int32())
_NARROW = pa.StructArray.from_arrays([_ONES], ["a"])
_ENDS = pa.array([0, _ROWS], pa.int32())


def _array(element: Any) -> Mapping[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def _map(key: Any, value: Any) -> Mapping[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


_LISTS: Mapping[str, tuple[Any, pa.Array]] = {
    "list": (_array(_WIDE), pa.ListArray.from_arrays(_ENDS, _NARROW)),
    "value": (_map("integer", _WIDE), pa.MapArray.from_arrays(_ENDS, _ONES, _NARROW)),
    "key": (_map(_WIDE, "integer"), pa.MapArray.from_arrays(_ENDS, _NARROW, _ONES)),
    "list in a struct": (
        _struct(("l", _array(_WIDE))),
        pa.StructArray.from_arrays([pa.ListArray.from_arrays(_ENDS, _NARROW)], ["l"]),
    ),
}


@pytest.mark.parametrize("name", _LISTS)
def test_lost_fields_of_elements_are_counted(
    name: str, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, values = _LISTS[name]
    table.create([("id", "long"), ("v", kind)])
    table.commit(table.add(pa.table({"id": pa.array([1], pa.int64()), "v": values})))
    assert len(read_table(table.root)) == 1
    monkeypatch.setattr(data_file._Columns, "take", _never)
    with pytest.raises(DataFileTooLarge):
        read_table(table.root, limits=_LIMITS)


def _never(*_: object) -> Sequence[pa.Array]:
    pytest.fail("rows are converted before they are counted")


def _wide_structs(depth: int) -> tuple[Any, pa.Array]:
    kind, values = _WIDE, _NARROW
    for _ in range(depth):
        kind, values = (
            _struct(("b", "long"), ("s", kind)),
            pa.StructArray.from_arrays([values], ["s"]),
        )
    return kind, values


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_batches_have_room_for_lost_fields_of_structs(
    depth: int, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, values = _wide_structs(depth)
    table.create([("v", kind)])
    table.commit(table.add(pa.table({"v": values})))
    assert _largest_batch(table, monkeypatch) < 2 * _LIMITS.batch


def test_batches_have_room_for_wider_numbers(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{number}" for number in range(100)]
    change = {"fromType": "integer", "toType": "decimal(38,0)"}
    column = {
        "type": "decimal(38,0)", "nullable": True, "metadata": {"delta.typeChanges": [change]}
    }  # fmt: skip
    table.create([{"name": name, **column} for name in names], features=["typeWidening"])
    table.commit(table.add(pa.table(dict.fromkeys(names, _ONES))))
    assert _largest_batch(table, monkeypatch) < 2 * _LIMITS.batch


def _largest_batch(table: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read all rows, and return the bytes of the largest batch once it is converted."""
    sizes = []
    take = data_file._Columns.take

    def taken(columns: Any, batch: pa.RecordBatch) -> list[pa.Array]:
        arrays = take(columns, batch)
        sizes.append(sum(each.nbytes for each in arrays))
        return arrays

    monkeypatch.setattr(data_file._Columns, "take", taken)
    limits = Limits(batch=_LIMITS.batch)
    assert len(read_table(table.root, limits=limits)) == _ROWS
    return max(sizes)
