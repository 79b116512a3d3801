"""Deletion vectors as bytes: against the text's examples and the Roaring library's own reader."""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile
from pyroaring import BitMap64

from generators.materialise.data.deletion_vectors import (
    MAGIC,
    StoredVector,
    decode_uuid_name,
    inline_descriptor,
    serialize_vector,
    serialize_vector_native,
    vector_file_name,
    write_vector_file,
    z85_encode,
)
from generators.materialise.log.state import dv_unique_id

SAMPLE_ROWS = [3, 4, 7, 11, 18, 29]
SAMPLE_UUID = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def decoded(data: bytes) -> list[int]:
    assert struct.unpack("<i", data[:4]) == (MAGIC,)
    return list(BitMap64.deserialize(data[4:]))


def test_the_inline_example_of_the_design_note_is_met() -> None:
    assert inline_descriptor(SAMPLE_ROWS) == {
        "storageType": "i",
        "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 44,
        "cardinality": 6,
    }


def test_the_inline_example_of_the_protocol_is_the_older_native_layout() -> None:
    data = serialize_vector_native(SAMPLE_ROWS)
    assert len(data) == 40
    assert z85_encode(data) == "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"


def test_the_uuid_example_of_the_protocol_decodes() -> None:
    assert decode_uuid_name("ab^-aqEH.-t@S}K{vb[*k^") == ("ab", SAMPLE_UUID)
    assert z85_encode(SAMPLE_UUID.bytes) == "^-aqEH.-t@S}K{vb[*k^"
    assert vector_file_name(SAMPLE_UUID, "ab") == f"ab/deletion_vector_{SAMPLE_UUID}.bin"


def test_z85_pads_with_zero_bytes() -> None:
    assert z85_encode(b"\x86\x4f\xd2\x6f\xb5\x59\xf7\x5b") == "HelloWorld"
    assert z85_encode(b"\x01") == z85_encode(b"\x01\x00\x00\x00")
    assert z85_encode(b"") == ""
    assert len(z85_encode(bytes(34))) == len(base64.b85encode(bytes(36)))


@profile("gate", examples=60)
@given(st.sets(st.one_of(st.integers(0, 200), st.integers(0, 2**40)), max_size=30))
def test_the_roaring_library_reads_what_is_written(rows: set[int]) -> None:
    assert decoded(serialize_vector(rows)) == sorted(rows)


@pytest.mark.parametrize(
    "rows",
    [range(100_000), range(0, 200_000, 2), [0], [2**32, 1], []],
    ids=["runs", "bitmap", "one", "two-buckets", "none"],
)
def test_every_kind_of_container_is_written(rows: range | list[int]) -> None:
    assert decoded(serialize_vector(rows)) == sorted(rows)


def test_buckets_stand_in_ascending_order() -> None:
    data = serialize_vector([2**33, 0, 2**32])
    (count,) = struct.unpack("<Q", data[4:12])
    assert count == 3
    assert struct.unpack("<I", data[12:16]) == (0,)


def test_a_vector_file_is_framed_as_the_text_says(tmp_path: Path) -> None:
    vectors = [StoredVector([1, 2]), StoredVector([2**20])]
    first, second = write_vector_file(tmp_path, SAMPLE_UUID, vectors, prefix="ab")
    data = (tmp_path / "ab" / f"deletion_vector_{SAMPLE_UUID}.bin").read_bytes()
    assert data[0] == 1
    assert first["offset"] == 1
    assert first["pathOrInlineDv"] == "ab^-aqEH.-t@S}K{vb[*k^"
    end = 0
    for descriptor, rows in ((first, [1, 2]), (second, [2**20])):
        start, size = descriptor["offset"], descriptor["sizeInBytes"]
        assert struct.unpack(">I", data[start : start + 4]) == (size,)
        vector = data[start + 4 : start + 4 + size]
        assert decoded(vector) == rows
        end = start + 8 + size
        assert struct.unpack(">I", data[end - 4 : end]) == (zlib.crc32(vector),)
        assert descriptor["cardinality"] == len(rows)
    assert end == len(data)


def test_damage_can_be_planted_in_a_vector_file(tmp_path: Path) -> None:
    vectors = [StoredVector([1], data=b"junk", checksum=5)]
    write_vector_file(tmp_path, SAMPLE_UUID, vectors)
    data = (tmp_path / f"deletion_vector_{SAMPLE_UUID}.bin").read_bytes()
    assert data == b"\x01\x00\x00\x00\x04junk\x00\x00\x00\x05"


def test_absolute_descriptors_carry_the_uri(tmp_path: Path) -> None:
    (descriptor,) = write_vector_file(
        tmp_path, SAMPLE_UUID, [StoredVector([0])], absolute="file:///t/dv.bin"
    )
    assert (descriptor["storageType"], descriptor["pathOrInlineDv"]) == ("p", "file:///t/dv.bin")


def test_unique_ids_distinguish_vectors(tmp_path: Path) -> None:
    first, second = write_vector_file(tmp_path, SAMPLE_UUID, [StoredVector([0]), StoredVector([1])])
    assert dv_unique_id(first) == "u^-aqEH.-t@S}K{vb[*k^@1"
    assert dv_unique_id(first) != dv_unique_id(second)
    assert dv_unique_id(inline_descriptor([0])) == "i" + inline_descriptor([0])["pathOrInlineDv"]
    assert dv_unique_id(None) is None
