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


def _retype(table: pa.Table, place: int, random: Random) -> pa.Table:
    data_type = random.choice(_OTHER_TYPES)
    values = [_filler(data_type, random) for _ in range(table.num_rows)]
    return table.set_column(place, table.column_names[place], pa.array(values, data_type))


def _retype_child(table: pa.Table, place: int, random: Random) -> pa.Table:
    """Change the type of one field of a struct column."""
    column: Any = table.column(place).combine_chunks()
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        return _retype(table, place, random)
    fields = list(column.type)
    chosen = random.randrange(len(fields))
    data_type = random.choice(_OTHER_TYPES)
    children = [column.field(number) for number in range(len(fields))]
    values = [_filler(data_type, random) for _ in range(table.num_rows)]
    children[chosen] = pa.array(values, data_type)
    fields[chosen] = pa.field(fields[chosen].name, data_type)
    changed = pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
    return table.set_column(place, table.column_names[place], changed)


def _null_child(table: pa.Table, place: int, random: Random) -> pa.Table:
    """Make one field of a struct column null in every row."""
    column: Any = table.column(place).combine_chunks()
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        return table.set_column(
            place, table.column_names[place], pa.nulls(table.num_rows, column.type)
        )
    children = [column.field(number) for number in range(column.type.num_fields)]
    chosen = random.randrange(len(children))
    children[chosen] = pa.nulls(table.num_rows, children[chosen].type)
    fields = [each.with_nullable(nullable=True) for each in column.type]
    changed = pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
    return table.set_column(place, table.column_names[place], changed)


def _drop(table: pa.Table, place: int, _random: Random) -> pa.Table:
    return table.remove_column(place)


def _rename(table: pa.Table, place: int, _random: Random) -> pa.Table:
    names = [f"{name}X" if at == place else name for at, name in enumerate(table.column_names)]
    return table.rename_columns(names)


def _double(table: pa.Table, place: int, _random: Random) -> pa.Table:
    return table.append_column(table.field(place), table.column(place))


def _no_rows(table: pa.Table, _place: int, _random: Random) -> pa.Table:
    return table.slice(0, 0)


def _rows_twice(table: pa.Table, _place: int, _random: Random) -> pa.Table:
    return pa.concat_tables([table, table])


def _shuffled(table: pa.Table, _place: int, random: Random) -> pa.Table:
    order = list(range(table.num_rows))
    random.shuffle(order)
    return table.take(order)


_SHAPES: Final[Mapping[str, _Shape]] = {
    "retype": _retype,
    "retype-child": _retype_child,
    "null-child": _null_child,
    "drop": _drop,
    "rename": _rename,
    "double": _double,
    "no-rows": _no_rows,
    "rows-twice": _rows_twice,
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
