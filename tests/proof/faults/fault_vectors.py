"""Edits of deletion vectors: the frame of the file, and the bytes inside."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generators.materialise.data.deletion_vectors import z85_encode

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _decode(text: str) -> bytes:
    found = b""
    for start in range(0, len(text), 5):
        number = 0
        for letter in text[start : start + 5]:
            number = number * 85 + _Z85.index(letter)
        found += number.to_bytes(4, "big")
    return found


def _edited(payload: bytes, how: Mapping[str, Any]) -> bytes:
    """Put bytes, given in hexadecimal digits, over those at an offset; add some at the end."""
    data = bytearray(payload)
    for offset, digits in how.get("put", {}).items():
        held = bytes.fromhex(str(digits))
        data[int(offset) : int(offset) + len(held)] = held
    if "payload" in how:
        data = bytearray.fromhex(how["payload"])
    return bytes(data) + bytes.fromhex(how.get("more", ""))


def change_vector_file(path: Path, descriptor: dict[str, Any], how: Mapping[str, Any]) -> None:
    """Rewrite a file of one vector; the descriptor takes the new size."""
    data = path.read_bytes()
    begin = descriptor["offset"]
    payload = _edited(data[begin + 4 : begin + 4 + descriptor["sizeInBytes"]], how)
    order = how.get("order", ">")
    size = struct.pack(f"{order}I", how.get("size", len(payload)))
    checksum = struct.pack(f"{order}I", how.get("checksum", zlib.crc32(payload)))
    checksum = checksum[::-1] if how.get("swap checksum") else checksum
    version = bytes([how.get("version", 1)])
    between = bytes.fromhex(how.get("between", ""))
    framed = version + size + between + payload + checksum
    path.write_bytes(framed[: how.get("cut")])
    descriptor["sizeInBytes"] = len(payload)


def inline_vector(descriptor: dict[str, Any], how: Mapping[str, Any]) -> None:
    """Edit the bytes of an inline vector; the descriptor takes the new size."""
    payload = _decode(descriptor["pathOrInlineDv"])[: descriptor["sizeInBytes"]]
    edited = _edited(payload, how)
    descriptor["pathOrInlineDv"] = z85_encode(edited)
    descriptor["sizeInBytes"] = len(edited)
