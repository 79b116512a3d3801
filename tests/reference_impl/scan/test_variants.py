"""Shredded variants: typed columns and what is left over become plain values again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import InvalidDataFile

# A dictionary of the names a, b and c (ids 0 to 2).
_METADATA = bytes((0x01, 3, 0, 1, 2, 3)) + b"abc"
_FIVE = b"\x0c\x05"


def _read(table: Any, rows: Sequence[Any], typed: pa.DataType) -> list[Any]:
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    table.create([("v", "variant")], features=["variantType", "variantShredding"])
    filled = [None if row is None else {"metadata": _METADATA, **row} for row in rows]
    table.commit(table.add(pa.table({"v": pa.array(filled, stored)})))
    found = read_table(table.root)["v"].to_pylist()
    assert all(v is None or v["metadata"] == _METADATA for v in found)
    return [None if v is None else v["value"] for v in found]


@pytest.mark.parametrize(
    ("of", "value", "encoded"),
    [
        (pa.bool_(), True, "04"),
        (pa.bool_(), False, "08"),
        (pa.int8(), -1, "0cff"),
        (pa.int16(), 258, "100201"),
        (pa.int32(), 70000, "1470110100"),
        (pa.int64(), -(2**33), "1800000000feffffff"),
        (pa.int64(), 7, "0c07"),
        (pa.int64(), 127, "0c7f"),
        (pa.int32(), -128, "0c80"),
        (pa.int32(), 128, "108000"),
        (pa.float64(), 1.0, "1c000000000000f03f"),
        (pa.decimal128(9, 2), Number("-1.50"), "20026affffff"),
        (pa.decimal128(18, 1), Number("0.5"), "200105000000"),
        (pa.decimal128(18, 0), Number(10**9), "240000ca9a3b00000000"),
        (pa.decimal128(38, 0), Number(10**18), "2800000064a7b3b6e00d" + "00" * 8),
        (pa.decimal128(38, 10), Number("0.5"), "240a00f2052a01000000"),
        (pa.date32(), date(1970, 1, 2), "2c01000000"),
        (
            pa.timestamp("us", "UTC"),
            datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "3040420f0000000000",
        ),
        (pa.timestamp("us"), datetime(1970, 1, 1, 0, 0, 1), "3440420f0000000000"),  # noqa: DTZ001  no zone
        (pa.float32(), 1.0, "380000803f"),
        (pa.binary(), b"\xff", "3c01000000ff"),
        (pa.string(), "é", "09c3a9"),
        (pa.string(), "x" * 64, "4040000000" + "78" * 64),
    ],
)
def test_a_typed_value_is_encoded(table: Any, of: pa.DataType, value: Any, encoded: str) -> None:
    rows = [{"typed_value": value}, {"value": _FIVE}, {}, None]
    assert _read(table, rows, of) == [bytes.fromhex(encoded), _FIVE, b"\x00", None]


def _shredded(of: pa.DataType) -> pa.DataType:
    return pa.struct([("value", pa.binary()), ("typed_value", of)])


def test_typed_fields_and_the_rest_become_one_object(table: Any) -> None:
    typed = pa.struct([("b", _shredded(pa.int8())), ("a", _shredded(pa.string()))])
    # The rest is an object of field c with the value 5.
    rest = bytes((0x02, 1, 2, 0, 2)) + _FIVE
    rows = [
        {"typed_value": {"a": {"typed_value": "x"}, "b": {"value": _FIVE}}},
        {"typed_value": {"a": {}, "b": {"typed_value": 6}}, "value": rest},
        {"typed_value": {"a": {}, "b": {}}},
        {"value": _FIVE},
    ]
    assert _read(table, rows, typed) == [
        bytes((0x02, 2, 0, 1, 0, 2, 4)) + b"\x05x" + _FIVE,
        bytes((0x02, 2, 1, 2, 0, 2, 4)) + b"\x0c\x06" + _FIVE,
        bytes((0x02, 0, 0)),
        _FIVE,
    ]


def test_typed_items_become_an_array(table: Any) -> None:
    typed = pa.list_(_shredded(pa.int8()))
    rows = [
        {"typed_value": [{"typed_value": 5}, {"value": b"\x04"}, {}]},
        {"value": _FIVE},
        {"typed_value": []},
        None,
        {"typed_value": [{"typed_value": 7}]},
    ]
    assert _read(table, rows, typed) == [
        bytes((0x03, 3, 0, 2, 3, 4)) + _FIVE + b"\x04\x00",
        _FIVE,
        bytes((0x03, 0, 0)),
        None,
        bytes((0x03, 1, 0, 2)) + b"\x0c\x07",
    ]


def test_a_large_object_has_wide_offsets(table: Any) -> None:
    typed = pa.struct([("a", _shredded(pa.string())), ("b", _shredded(pa.int8()))])
    rows = [{"typed_value": {"a": {"typed_value": "x" * 300}, "b": {"typed_value": 5}}}]
    (found,) = _read(table, rows, typed)
    assert found[:10] == bytes((0x06, 2, 0, 1, 0, 0, 49, 1, 51, 1))
    assert found.endswith(_FIVE)


@pytest.mark.parametrize(
    "rest",
    [
        _FIVE,
        b"",
        b"\x02",
        b"\x02\x01\x02\x00",
        b"\x02\x01\x09\x00\x02" + _FIVE,
        b"\x02\x01\x02\x00\x09",
    ],
)
def test_a_malformed_rest_is_refused(table: Any, rest: bytes) -> None:
    typed = pa.struct([("a", _shredded(pa.int8()))])
    with pytest.raises(InvalidDataFile, match="column v"):
        _read(table, [{"typed_value": {"a": {}}, "value": rest}], typed)


def test_a_field_that_the_metadata_does_not_name_is_refused(table: Any) -> None:
    typed = pa.struct([("nameless", _shredded(pa.int8()))])
    with pytest.raises(InvalidDataFile, match="nameless"):
        _read(table, [{"typed_value": {"nameless": {"typed_value": 1}}}], typed)


def test_a_typed_value_of_a_type_outside_of_the_encoding_is_refused(table: Any) -> None:
    with pytest.raises(InvalidDataFile, match="uint32"):
        _read(table, [{"typed_value": 1}], pa.uint32())


@pytest.mark.parametrize(
    "metadata", [b"", b"\x01\x01\x00\x01\xff", b"\x01\x09\x00", b"\x02\x00\x00"]
)
def test_malformed_metadata_is_refused(table: Any, metadata: bytes) -> None:
    with pytest.raises(InvalidDataFile, match="column v"):
        _read(table, [{"metadata": metadata, "typed_value": 1}], pa.int8())
