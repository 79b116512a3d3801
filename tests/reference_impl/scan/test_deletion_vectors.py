"""Deletion vectors: vectors of the text, formats, files, and how scans apply them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyroaring
import pytest

from reference_impl import read_table
from reference_impl.deletion_vectors import (
    MAGIC,
    NATIVE_MAGIC,
    Descriptor,
    decode,
    decode_z85,
    encode,
    encode_z85,
    frame,
)
from reference_impl.errors import (
    DeletionVectorNotFound,
    InvalidDataFile,
    InvalidDeletionVector,
)

_UUID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
_ROWS = [3, 4, 7, 11, 18, 29]
_SETS: dict[str, list[int]] = {
    "empty": [],
    "one": [0],
    "array": [0, 5, 65_535, 65_536, 200_000],
    "bitmap": list(range(0, 130_000, 7)),
    "run": list(range(10, 150_000)),
    "mixed": [*range(5_000, 70_000), *range(131_072, 190_000, 3), 400_000],
    "beyond 32 bits": [1, 2**32, 2**32 + 65_536, 2**40, 2**62],
}


def test_z85_gives_the_vectors_of_the_text() -> None:
    text = "^-aqEH.-t@S}K{vb[*k^"
    assert decode_z85(text) == _UUID.bytes
    assert encode_z85(_UUID.bytes) == text


@pytest.mark.parametrize("length", range(9))
def test_z85_pads_with_zero_bytes(length: int) -> None:
    data = bytes(range(250, 250 - length, -1))
    assert decode_z85(encode_z85(data)) == data + b"\0" * (-length % 4)


@pytest.mark.parametrize("text", ["a", "abcd", "ab,cd", "ab cd", "éabcd", "#####"])
def test_what_is_no_z85_is_refused(text: str) -> None:
    with pytest.raises(InvalidDeletionVector):
        decode_z85(text)


def test_the_inline_examples_decode() -> None:
    portable = decode_z85("^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L")
    native = decode_z85("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L")
    assert (len(portable), len(native)) == (44, 40)
    assert struct.unpack("<I", portable[:4]) == (MAGIC,)
    assert struct.unpack(">I", native[:4]) == (NATIVE_MAGIC,)
    assert decode(portable).rows().tolist() == _ROWS
    assert decode(native).rows().tolist() == _ROWS


def test_the_path_example_resolves() -> None:
    descriptor = Descriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
    assert descriptor.path == f"ab/deletion_vector_{_UUID}.bin"
    assert descriptor.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"


@pytest.mark.parametrize("name", _SETS)
def test_a_set_survives_the_round_trip(name: str) -> None:
    rows = _SETS[name]
    found = decode(encode(rows))
    assert found.cardinality == len(rows)
    assert found.rows().tolist() == rows


@pytest.mark.parametrize("name", _SETS)
def test_a_roaring_library_reads_what_is_written(name: str) -> None:
    payload = encode(_SETS[name])
    assert list(pyroaring.BitMap64.deserialize(payload[4:])) == _SETS[name]


@pytest.mark.parametrize("name", _SETS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_the_older_layout_is_read(name: str, order: str) -> None:
    rows = [row for row in _SETS[name] if row < 2**33]
    highest = max(rows, default=-1) >> 32
    parts = [struct.pack(f"{order}II", NATIVE_MAGIC, highest + 1)]
    for high in range(highest + 1):
        low = pyroaring.BitMap([row & 0xFFFFFFFF for row in rows if row >> 32 == high])
        parts += [struct.pack(f"{order}I", len(low.serialize())), low.serialize()]
    assert decode(b"".join(parts)).rows().tolist() == rows


@pytest.mark.parametrize("name", _SETS)
@pytest.mark.parametrize(
    ("start", "length"), [(0, 1), (0, 70_000), (65_530, 12), (100_000, 99_999)]
)
def test_the_mask_of_a_range_marks_what_is_kept(name: str, start: int, length: int) -> None:
    gone = set(_SETS[name])
    expected = [row not in gone for row in range(start, start + length)]
    kept = decode(encode(_SETS[name])).kept(start, length)
    assert expected == ([True] * length if kept is None else kept.to_pylist())


def test_every_truncation_and_flipped_header_is_an_error_or_another_set() -> None:
    payload = encode(_SETS["mixed"])
    for cut in [*range(60), len(payload) // 2, len(payload) - 1]:
        with pytest.raises(InvalidDeletionVector):
            decode(payload[:cut])
    with pytest.raises(InvalidDeletionVector):
        decode(payload + b"\0")
    refused = 0
    for at in range(64):
        damaged = bytearray(payload)
        damaged[at] ^= 0x55
        try:
            decode(bytes(damaged))
        except InvalidDeletionVector:
            refused += 1
    assert refused > 50


def test_containers_out_of_order_are_refused() -> None:
    payload = bytearray(encode([1, 70_000]))
    keys = payload.index(struct.pack("<HHHH", 0, 0, 1, 0))
    payload[keys : keys + 8] = struct.pack("<HHHH", 1, 0, 0, 0)
    with pytest.raises(InvalidDeletionVector, match="ascend"):
        decode(bytes(payload))


def test_a_bucket_with_its_top_bit_set_is_refused() -> None:
    payload = bytearray(encode([1]))
    payload[12:16] = struct.pack("<I", 1 << 31)
    with pytest.raises(InvalidDeletionVector, match="top bit"):
        decode(bytes(payload))


def _scan_table(table: Any, rows: int = 1000, **options: Any) -> dict[str, Any]:
    table.create([("v", "long"), ("p", "string")], partition=["p"], features=["deletionVectors"])
    data = pa.table({"v": range(rows)})
    return dict(table.add(data, partitionValues={"p": "x"}, options=options))


def _store(table: Any, name: str, data: bytes) -> None:
    path = table.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _commit(table: Any, add: dict[str, Any], descriptor: dict[str, Any]) -> None:
    add["add"]["deletionVector"] = descriptor
    table.commit(add)


@pytest.mark.parametrize("gone", [[], [0], [999], list(range(999)), list(range(1000)), [5, 2**40]])
def test_deleted_rows_are_not_read(
    table: Any, vector: Callable[[Sequence[int]], Any], gone: list[int]
) -> None:
    add = _scan_table(table)
    _commit(table, add, vector(gone))
    assert read_table(table.root)["v"].to_pylist() == [v for v in range(1000) if v not in gone]


@pytest.mark.parametrize(
    ("of", "values"),
    [
        ("long", pa.array([1, None, 3, None], pa.int64())),
        ({"type": "array", "elementType": "long", "containsNull": False}, [[1], [None], [3], [4]]),
    ],
)
def test_what_a_deleted_row_holds_breaks_no_rule_of_its_column(
    table: Any, vector: Callable[[Sequence[int]], Any], of: Any, values: Any
) -> None:
    held = {"name": "v", "type": of, "nullable": False, "metadata": {}}
    table.create([held, ("n", "long")], features=["deletionVectors"])
    data = pa.table({"v": values, "n": [10, 11, 12, 13]})
    add = table.add(data, options={"write_statistics": False})
    _commit(table, add, vector([1, 3]))
    whole = data.filter(pa.array([True, False, True, False])).to_pylist()
    assert read_table(table.root).to_pylist() == whole
    assert read_table(table.root, filter="n > 10").to_pylist() == whole[1:]


def test_a_row_that_stays_is_held_to_the_rule_of_its_column(
    table: Any, vector: Callable[[Sequence[int]], Any]
) -> None:
    held = {"name": "v", "type": "long", "nullable": False, "metadata": {}}
    table.create([held], features=["deletionVectors"])
    data = pa.table({"v": pa.array([1, None, 3], pa.int64())})
    _commit(table, table.add(data), vector([0]))
    with pytest.raises(InvalidDataFile, match="not null"):
        read_table(table.root)


def test_rows_are_counted_physically_whatever_is_read(
    table: Any, vector: Callable[[Sequence[int]], Any]
) -> None:
    add = _scan_table(table, 200_000, row_group_size=7_000)
    gone = [0, 6_999, 7_000, 65_535, 65_536, 150_000, 199_999]
    _commit(table, add, vector(gone))
    kept = np.setdiff1d(np.arange(200_000), gone)
    assert read_table(table.root)["v"].to_pylist() == kept.tolist()
    assert read_table(table.root, columns=["p"]).num_rows == len(kept)
    assert read_table(table.root, filter="v >= 149999 and v < 150002")["v"].to_pylist() == [
        149_999,
        150_001,
    ]


@pytest.mark.parametrize("prefix", ["", "ab", "a/b"])
def test_vectors_in_one_file_are_found_by_offset(table: Any, prefix: str) -> None:
    table.create([("v", "long")], features=["deletionVectors"])
    sets = [[0], [1, 2], list(range(3, 10))]
    payloads = [encode(rows) for rows in sets]
    data, offsets = frame(payloads)
    assert offsets[0] == 1
    folder = f"{prefix}/" if prefix else ""
    _store(table, f"{folder}deletion_vector_{_UUID}.bin", data)
    table.commit(
        *(
            table.add(
                pa.table({"v": range(10)}),
                deletionVector={
                    "storageType": "u",
                    "pathOrInlineDv": prefix + encode_z85(_UUID.bytes),
                    "offset": offset,
                    "sizeInBytes": len(payload),
                    "cardinality": len(rows),
                },
            )
            for rows, payload, offset in zip(sets, payloads, offsets, strict=True)
        )
    )
    expected = [v for rows in sets for v in range(10) if v not in rows]
    assert read_table(table.root)["v"].to_pylist() == expected


@pytest.mark.parametrize("framed_whole", [True, False])
def test_a_vector_without_offset_is_the_first_of_its_file(table: Any, framed_whole: bool) -> None:
    add = _scan_table(table, 10)
    payload = encode([1])
    data, _ = frame([payload])
    _store(table, "my dv.bin", data if framed_whole else data[1:])
    path = str(table.root / "my dv.bin").replace(" ", "%20")
    _commit(table, add, _descriptor("p", path, None, payload))
    assert read_table(table.root)["v"].to_pylist() == [0, *range(2, 10)]


def _descriptor(kind: str, text: str, offset: int | None, payload: bytes) -> dict[str, Any]:
    body = {
        "storageType": kind,
        "pathOrInlineDv": text,
        "sizeInBytes": len(payload),
        "cardinality": 1,
    }
    return body if offset is None else {**body, "offset": offset}


def _framed(serialized: bytes, **changes: Any) -> bytes:
    parts = {
        "version": b"\x01",
        "size": struct.pack(">I", len(serialized)),
        "payload": serialized,
        "checksum": struct.pack(">I", zlib.crc32(serialized)),
        **changes,
    }
    return b"".join(parts.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"version": b"\x02"},
        {"size": struct.pack(">I", 7)},
        {"size": struct.pack("<I", 34)},
        {"checksum": b"\0\0\0\0"},
        {"checksum": b""},
        {"payload": b"\0" * 34},
        {"payload": b"", "checksum": b""},
        {"version": b"", "size": b"", "payload": b"", "checksum": b""},
    ],
)
def test_a_damaged_vector_file_is_refused(table: Any, changes: dict[str, bytes]) -> None:
    add = _scan_table(table, 10)
    payload = encode([1])
    _store(table, f"deletion_vector_{_UUID}.bin", _framed(payload, **changes))
    _commit(table, add, _descriptor("u", encode_z85(_UUID.bytes), 1, payload))
    with pytest.raises(InvalidDeletionVector):
        read_table(table.root)


@pytest.mark.parametrize(
    "changes",
    [
        {"storageType": "x"},
        {"storageType": "u", "pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k"},
        {"storageType": "u", "pathOrInlineDv": "a\0b^-aqEH.-t@S}K{vb[*k^"},
        {"storageType": "u", "pathOrInlineDv": "\0^-aqEH.-t@S}K{vb[*k^"},
        {"offset": 1},
        {"sizeInBytes": 0},
        {"sizeInBytes": 4},
        {"sizeInBytes": 2**31 - 1},
        {"cardinality": 2},
        {"cardinality": -1},
        {"pathOrInlineDv": ""},
        {"pathOrInlineDv": "?"},
        {"pathOrInlineDv": "0" * 45},
    ],
)
def test_a_wrong_descriptor_is_refused(table: Any, changes: dict[str, Any]) -> None:
    add = _scan_table(table, 10)
    payload = encode([1])
    _commit(table, add, {**_descriptor("i", encode_z85(payload), None, payload), **changes})
    with pytest.raises(InvalidDeletionVector):
        read_table(table.root)


def test_a_missing_vector_file_is_named(table: Any) -> None:
    add = _scan_table(table, 10)
    _commit(table, add, _descriptor("u", encode_z85(_UUID.bytes), 1, encode([1])))
    with pytest.raises(DeletionVectorNotFound) as caught:
        read_table(table.root)
    assert caught.value.path == f"deletion_vector_{_UUID}.bin"
