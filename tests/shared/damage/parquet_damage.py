"""Damage to the columns of Parquet files: well-formed files of the wrong shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from random import Random
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

_Shape: TypeAlias = Callable[[pa.Table, int, Random], pa.Table]

_OTHER_TYPES: Final = (
    pa.string(),
    pa.int64(),
    pa.binary(),
    pa.float64(),
    pa.list_(pa.int64()),
    pa.struct([pa.field("x", pa.int64())]),
)


def _filler(data_type: pa.DataType, random: Random) -> Any:
    if pa.types.is_string(data_type):
        return random.choice(("", "x", "\x00", "%zz"))
    if pa.types.is_binary(data_type):
        return b"\xff"
    if pa.types.is_floating(data_type):
        return float("nan")
    if pa.types.is_list(data_type):
        return [1, None]
    return {"x": 1} if pa.types.is_struct(data_type) else random.choice((0, -1, 2**63 - 1))


def _other(column: Any, random: Random) -> pa.Array[Any]:
    data_type = random.choice(_OTHER_TYPES)
    return pa.array([_filler(data_type, random) for _ in range(len(column))], data_type)


def _nulls(column: Any, _random: Random) -> pa.Array[Any]:
    return pa.nulls(len(column), column.type)


def _in_child(change: Callable[[Any, Random], pa.Array[Any]]) -> _Shape:
    """Return the change of one field of a struct column, or of a column that is no struct."""

    def shape(table: pa.Table, place: int, random: Random) -> pa.Table:
        column: Any = table.column(place).combine_chunks()
        if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
            changed = change(column, random)
        else:
            fields = list(column.type)
            children = [column.field(number) for number in range(len(fields))]
            chosen = random.randrange(len(fields))
            children[chosen] = change(children[chosen], random)
            fields[chosen] = pa.field(fields[chosen].name, children[chosen].type)
            changed = pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
        return table.set_column(place, table.column_names[place], changed)

    return shape


def _retype(table: pa.Table, place: int, random: Random) -> pa.Table:
    return table.set_column(place, table.column_names[place], _other(table, random))


def _rename(table: pa.Table, place: int, _random: Random) -> pa.Table:
    names = [f"{name}X" if at == place else name for at, name in enumerate(table.column_names)]
    return table.rename_columns(names)


def _shuffled(table: pa.Table, _place: int, random: Random) -> pa.Table:
    order = list(range(table.num_rows))
    random.shuffle(order)
    return table.take(order)


_SHAPES: Final[Mapping[str, _Shape]] = {
    "retype": _retype,
    "retype-child": _in_child(_other),
    "null-child": _in_child(_nulls),
    "drop": lambda table, place, _: table.remove_column(place),
    "rename": _rename,
    "double": lambda table, at, _: table.append_column(table.field(at), table.column(at)),
    "no-rows": lambda table, _, __: table.slice(0, 0),
    "rows-twice": lambda table, _, __: pa.concat_tables([table, table]),
    "shuffled": _shuffled,
}


def damage_parquet(data: bytes, random: Random) -> bytes:
    """Return a Parquet file of another shape; other bytes come back as they are."""
    target = BytesIO()
    try:
        table = pq.ParquetFile(BytesIO(data)).read()
        shape = _SHAPES[random.choice(sorted(_SHAPES))]
        pq.write_table(shape(table, random.randrange(table.num_columns), random), target)
    except (pa.ArrowException, OSError, ValueError):
        # Struck before, down to names that are no text; or no Parquet type for the new shape.
        return data
    return target.getvalue()
