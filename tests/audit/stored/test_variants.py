"""Variants whose bytes are unusual and sound pass, and broken ones are found at any depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.audit import audit
from generators.materialise.builder import TableBuilder
from generators.oracle.delta_schema import DataType, array, field, map_of, struct

PLAIN, FIVE = b"\x01\0\0", b"\x0c\x05"


def said(root: Path, metadata: bytes, value: bytes) -> set[str]:
    part = {"metadata": metadata, "value": value}
    held: dict[str, DataType] = {
        "o": struct(v="variant"),
        "l": array("variant"),
        "m": map_of("string", "variant"),
    }
    builder = TableBuilder(root, struct(*(field(n, of) for n, of in held.items())), seed="v")
    builder.create()
    builder.append([{"o": {"v": part}, "l": [None, part], "m": {"k": part}}, dict.fromkeys(held)])
    found = audit(str(root))
    return {each.message.split(":")[0] for each in found if each.requirement == "VAR-003"}


@pytest.mark.parametrize(
    ("metadata", "value"),
    [
        pytest.param(PLAIN, b"\x00", id="null"),
        pytest.param(PLAIN, b"\x03\x02\0\0\x02\x0c\x05", id="items-share-bytes"),
        pytest.param(b"\x01\x02\0\x01\x02ba", b"\x02\x02\x01\0\0\x02\x04\x0c\5\x0c\6", id="names"),
        pytest.param(
            b"\x01\x02\0\x01\x02ab", b"\x02\x02\0\1\2\0\4\x0c\5\x0c\6", id="values-turned"
        ),
        pytest.param(PLAIN, FIVE + b"\0", id="bytes-after-it"),
        pytest.param(PLAIN, b"\x78\x01", id="type-of-a-later-version"),
    ],
)
def test_unusual_bytes_pass(tmp_path: Path, metadata: bytes, value: bytes) -> None:
    assert said(tmp_path / "t", metadata, value) == set()


def test_broken_bytes_are_found_inside_of_columns(tmp_path: Path) -> None:
    places = {f"a variant of {each}" for each in ("o.v", "l.element", "m.value")}
    assert said(tmp_path / "t", PLAIN, b"\x18\x05") == places
