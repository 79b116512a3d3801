"""Sound tables of rules on columns and of rare types, for faults to be planted in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from generators.materialise.builder import TableBuilder
from generators.materialise.data import variants as encoded
from generators.oracle.delta_schema import Struct, array, field, struct


def _ruled(root: Path) -> TableBuilder:
    """Make a table with a constraint, an invariant, a generated, an identity, a default column."""
    invariant = json.dumps({"expression": {"expression": "id >= 0"}})
    identity = {"start": 1, "step": 2, "highWaterMark": 5, "allowExplicitInsert": False}
    schema = struct(
        field("id", "long", metadata={"delta.invariants": invariant}),
        field("name", "string", metadata={"CURRENT_DEFAULT": "'x'"}),
        field("g", "long", metadata={"delta.generationExpression": "id * 2"}),
        field("k", "long", metadata={f"delta.identity.{k}": v for k, v in identity.items()}),
    )
    names = ["checkConstraints", "invariants", "generatedColumns", "identityColumns"]
    builder = TableBuilder(
        root,
        schema,
        properties={"delta.constraints.small": "id < 100"},
        features=[*names, "allowColumnDefaults"],
        seed="ruled",
    )
    builder.create()
    builder.append([{"id": n, "name": "x", "g": 2 * n, "k": 1 + 2 * n} for n in range(3)])
    return builder


def _widened_within(root: Path) -> TableBuilder:
    """Make a table whose array has elements of a wider type than its first file."""
    schema = struct(field("id", "long"), field("l", array("integer")))
    properties = {"delta.enableTypeWidening": "true"}
    builder = TableBuilder(root, schema, properties=properties, seed="widened-within")
    builder.create()
    builder.append([{"id": n, "l": [n]} for n in range(3)])
    change = {"fromType": "integer", "toType": "long", "fieldPath": "element"}
    wide = field("l", array("long"), metadata={"delta.typeChanges": [change]})
    builder.change_table(schema=Struct((builder.schema["id"], wide)))
    builder.append([{"id": 3, "l": [2**40]}])
    return builder


def _variants(root: Path) -> TableBuilder:
    schema = struct(field("id", "long"), field("v", "variant"))
    builder = TableBuilder(root, schema, seed="variants")
    builder.create()
    builder.append([{"id": n, "v": None} for n in range(2)])
    return builder


def _variant_bounds(root: Path) -> TableBuilder:
    """Make a table with bounds of what is inside of variants: whole ones, and shredded ones."""
    schema = struct(field("id", "long"), field("v", "variant"))
    names = ["variantType", "variantShredding"]
    properties = {"delta.enableVariantShredding": "true"}
    builder = TableBuilder(root, schema, features=names, properties=properties, seed="bounds")
    builder.create()
    fields = ("a", "b", "c")
    number, text = encoded.primitive(4, (300).to_bytes(2, "little")), encoded.short_string
    inner = encoded.object_of({"c": text("in")}, fields)
    values = [
        {"a": encoded.primitive(3, b"\x07"), "b": text("x"), "c": inner},
        {"a": number, "b": text("y"), "c": encoded.primitive(0)},
        {"a": encoded.primitive(0)},
    ]
    metadata = encoded.dictionary(fields)
    rows = [
        {"id": n, "v": {"metadata": metadata, "value": encoded.object_of(value, fields)}}
        for n, value in enumerate(values)
    ]
    builder.append(rows)
    commit = root / "_delta_log" / f"{1:020}.json"
    info, line = commit.read_text().splitlines()
    body = json.loads(line)
    low, high = (
        encoded.bounds({"$['a']": values[0]["a"], "$['b']": text("x")}),
        encoded.bounds({"$['a']": number, "$['b']": text("y")}),
    )
    stats = json.loads(body["add"]["stats"])
    stats["minValues"]["v"], stats["maxValues"]["v"] = low, high
    body["add"]["stats"] = json.dumps(stats)
    commit.write_text(f"{info}\n{json.dumps(body)}\n")
    return builder


def _void(root: Path) -> TableBuilder:
    schema = struct(field("id", "long"), field("u", "void"))
    builder = TableBuilder(root, schema, seed="void")
    builder.create()
    builder.append([{"id": 1, "u": None}])
    return builder


COLUMN_TABLES: Mapping[str, Callable[[Path], TableBuilder]] = {
    "ruled": _ruled,
    "variants": _variants,
    "variant-bounds": _variant_bounds,
    "voids": _void,
    "widened-within": _widened_within,
}
"""Builders, by name."""
