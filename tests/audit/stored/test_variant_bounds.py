"""Bounds of what is inside of variants are checked against the values, whole or shredded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from conformance.audit.grammar.variants import Leaf, VariantError, bounds_of, steps_of
from generators.materialise.builder import TableBuilder
from generators.materialise.data import variants as encoded
from generators.materialise.data.deletion_vectors import z85_encode
from generators.oracle.delta_schema import field, struct

TEXT_EXAMPLE = "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu"
NAMES = ("a", "b")
BINARY = pa.binary()


def tiny(number: int) -> bytes:
    return encoded.primitive(3, bytes([number]))


def table(root: Path, values: pa.Array, **bounds: Mapping[str, bytes] | str) -> Path:
    """Write a table of one file of variants, with bounds of them."""
    schema = struct(field("id", "long"), field("v", "variant"))
    names = ["variantType", "variantShredding"]
    properties = {"delta.enableVariantShredding": "true"}
    builder = TableBuilder(root, schema, features=names, properties=properties, seed="v")
    builder.create()
    builder.append([{"id": n, "v": None} for n in range(len(values))])
    commit = root / "_delta_log" / f"{1:020}.json"
    info, line = commit.read_text().splitlines()
    add = json.loads(line)["add"]
    data = root / add["path"]
    pq.write_table(pa.table({"id": pa.array(range(len(values)), pa.int64()), "v": values}), data)
    stats = json.loads(add["stats"])
    for side, leaves in bounds.items():
        stats[side]["v"] = leaves if isinstance(leaves, str) else encoded.bounds(leaves)
    add |= {"stats": json.dumps(stats), "size": data.stat().st_size}
    commit.write_text(f"{info}\n{json.dumps({'add': add})}\n")
    return root


def whole(*fields: Mapping[str, bytes] | None) -> pa.Array:
    metadata = encoded.dictionary(NAMES)
    rows = [
        None if f is None else {"metadata": metadata, "value": encoded.object_of(f, NAMES)}
        for f in fields
    ]
    return pa.array(rows, pa.struct({"metadata": BINARY, "value": BINARY}))


def shredded(of: pa.DataType, *values: Any) -> pa.Array:
    """Return objects whose field ``a`` is shredded; bytes are what did not fit."""
    inner = pa.struct({"value": BINARY, "typed_value": of})
    kind = pa.struct({"metadata": BINARY, "value": BINARY, "typed_value": pa.struct({"a": inner})})
    metadata = encoded.dictionary(NAMES)
    rest = [isinstance(value, bytes) for value in values]
    parts = [
        {"value": v if r else None, "typed_value": None if r else v}
        for v, r in zip(values, rest, strict=True)
    ]
    rows = [{"metadata": metadata, "value": None, "typed_value": {"a": part}} for part in parts]
    return pa.array(rows, kind)


def found(root: Path) -> set[str]:
    return {each.requirement for each in audit(str(root)) if each.severity == "error"}


def test_the_example_of_the_text_is_read_though_its_parts_are_the_other_way_round() -> None:
    assert bounds_of(TEXT_EXAMPLE) == {
        ("a",): Leaf("string", b"min-string"),
        ("b", "c"): Leaf("exact number", 1),
    }


def test_sound_bounds_have_no_finding(tmp_path: Path) -> None:
    values = whole({"a": tiny(1)}, None, {"a": encoded.primitive(4, bytes([0, 1])), "b": tiny(1)})
    low, high = {"$['a']": tiny(1)}, {"$['a']": encoded.primitive(4, bytes([0, 1]))}
    assert audit(str(table(tmp_path / "t", values, minValues=low, maxValues=high))) == []


@pytest.mark.parametrize(
    ("of", "values", "low", "high"),
    [
        (pa.int64(), (1, 300), tiny(1), encoded.primitive(4, bytes([44, 1]))),
        (pa.int64(), (1, tiny(2)), tiny(1), tiny(2)),
        (pa.decimal128(4, 2), (Decimal("1.50"), None), tiny(1), tiny(2)),
        (pa.string(), ("x", "y"), encoded.short_string("x"), encoded.short_string("y")),
        (pa.date32(), (date(1970, 1, 2), None), encoded.primitive(11, bytes([1, 0, 0, 0])), None),
        (pa.timestamp("us"), (5, 6), encoded.primitive(13, bytes([5, *bytes(7)])), None),
        (pa.bool_(), (False, True), encoded.primitive(2), encoded.primitive(1)),
    ],
)
def test_sound_bounds_of_shredded_values_have_no_finding(
    tmp_path: Path, of: pa.DataType, values: tuple[Any, ...], low: bytes, high: bytes | None
) -> None:
    bounds = {"minValues": {"$['a']": low}} | ({"maxValues": {"$['a']": high}} if high else {})
    assert audit(str(table(tmp_path / "t", shredded(of, *values), **bounds))) == []


@pytest.mark.parametrize(
    ("values", "low", "high", "broken"),
    [
        (whole({"a": tiny(1)}, {"a": encoded.short_string("x")}), tiny(1), None, "VAR-011"),
        (whole({"a": encoded.array_of([tiny(1)])}), tiny(1), None, "VAR-011"),
        (whole({"a": tiny(1)}), tiny(1), encoded.short_string("x"), "VAR-012"),
        (whole({"a": tiny(1)}), tiny(2), None, "STAT-012"),
        (shredded(pa.int64(), 1, encoded.short_string("x")), tiny(1), None, "VAR-011"),
        (shredded(pa.list_(pa.int64()), [1]), tiny(1), None, "VAR-011"),
        (shredded(pa.string(), "x", "z"), None, encoded.short_string("y"), "STAT-012"),
        (shredded(pa.date32(), date(1970, 1, 2)), tiny(1), None, "VAR-011"),
    ],
)
def test_unsound_bounds_are_reported(
    tmp_path: Path, values: pa.Array, low: bytes | None, high: bytes | None, broken: str
) -> None:
    sides = {"minValues": low, "maxValues": high}
    bounds = {side: {"$['a']": leaf} for side, leaf in sides.items() if leaf}
    assert found(table(tmp_path / "t", values, **bounds)) == {broken}


@pytest.mark.parametrize("path", ["a", "$.a", "$[a]", "$['a'", "$['\\u0041']", "$[01]", "$['a']b"])
def test_other_paths_than_normalized_ones_are_reported(tmp_path: Path, path: str) -> None:
    root = table(tmp_path / "t", whole({"a": tiny(1)}), minValues={path: tiny(1)})
    assert {each.requirement for each in audit(str(root))} == {"VAR-010"}


def test_steps_are_unescaped() -> None:
    assert steps_of("$['it\\'s'][3]['\\u000b\\n']") == ("it's", 3, "\x0b\n")


@pytest.mark.parametrize("size", range(len(TEXT_EXAMPLE)))
def test_cut_bounds_are_malformed(size: int) -> None:
    with pytest.raises(VariantError):
        bounds_of(TEXT_EXAMPLE[:size])


def test_bounds_of_nothing_but_noise_are_malformed() -> None:
    for start in range(0x100):
        for flags in (0, 0x80, 0xFF):
            noise = bytes((start, flags, start ^ flags, *bytes(5), *[flags] * 8))
            with pytest.raises(VariantError):
                bounds_of(z85_encode(noise))
