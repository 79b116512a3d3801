"""Damaged and hostile data files: typed errors, in bounded memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import DeltaError, read_table
from reference_impl.errors import DataFileTooLarge, InvalidDataFile

_ROWS = pa.table(
    {
        "v": range(300),
        "s": [None if row % 5 == 0 else f"text {row % 7}" for row in range(300)],
        "l": [None if row % 4 == 0 else [row, None] for row in range(300)],
        "m": pa.array([[("k", str(row))] for row in range(300)], pa.map_(pa.string(), pa.string())),
    }
)
_FIELDS = [
    ("v", "long"),
    ("s", "string"),
    ("l", {"type": "array", "elementType": "long", "containsNull": True}),
    ("m", {"type": "map", "keyType": "string", "valueType": "string"}),
]


def _flip(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.randint(1, 8)):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data)) :]


def _swell(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data))
    data[at : at + 8] = b"\xff" * draw.randint(1, 9)


def _footer(data: bytearray, draw: random.Random) -> None:
    length = int.from_bytes(data[-8:-4], "little")
    for _ in range(draw.randint(1, 4)):
        data[len(data) - 8 - draw.randrange(length)] = draw.randrange(256)


@pytest.mark.parametrize("damage", [_flip, _cut, _swell, _footer])
@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_damage_gives_rows_or_a_typed_error(
    table: Any, damage: Callable[[bytearray, random.Random], None], compression: str
) -> None:
    draw = random.Random(7)  # noqa: S311  nothing here is a secret
    table.create(_FIELDS)
    add = table.add(_ROWS, options={"compression": compression})
    table.commit(add)
    file = table.root / add["add"]["path"]
    whole = file.read_bytes()
    refused = 0
    for _ in range(40):
        data = bytearray(whole)
        damage(data, draw)
        file.write_bytes(data)
        with suppress(DeltaError):
            read_table(table.root).to_pylist()
            continue
        refused += 1
    assert refused > 5


def test_text_that_is_not_utf_8_is_refused(table: Any) -> None:
    table.create([("s", "string"), ("n", _FIELDS[2][1])])
    add = table.add(pa.table({"s": ["marker!"]}), options={"compression": "none"})
    table.commit(add)
    file = table.root / add["add"]["path"]
    file.write_bytes(file.read_bytes().replace(b"marker!", b"mark\xffr!"))
    with pytest.raises(InvalidDataFile):
        read_table(table.root)


def test_bytes_without_annotation_must_be_utf_8_as_well(table: Any) -> None:
    table.create([("s", "string")])
    table.commit(table.add(pa.table({"s": [b"plain"]})))
    assert read_table(table.root)["s"].to_pylist() == ["plain"]
    table.commit(table.add(pa.table({"s": [b"\xff"]})))
    with pytest.raises(InvalidDataFile):
        read_table(table.root)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"not parquet at all" * 10])
def test_what_is_no_parquet_is_refused(table: Any, content: bytes) -> None:
    table.create([("v", "long")])
    add = table.add(pa.table({"v": [1]}))
    table.commit(add)
    (table.root / add["add"]["path"]).write_bytes(content)
    with pytest.raises(InvalidDataFile):
        read_table(table.root)


def test_a_directory_in_place_of_a_file_is_refused(table: Any) -> None:
    table.create([("v", "long")])
    add = table.add(pa.table({"v": [1]}))
    table.commit(add)
    file = table.root / add["add"]["path"]
    file.unlink()
    file.mkdir()
    with pytest.raises(DeltaError):
        read_table(table.root)


def test_a_file_that_decompresses_beyond_measure_is_refused(table: Any) -> None:
    table.create([("v", "string")])
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 6_000, pa.int32()), ["x" * 100_000])
    table.commit(table.add(pa.table({"v": text}), options={"compression": "zstd"}))
    with pytest.raises(DataFileTooLarge):
        read_table(table.root)
