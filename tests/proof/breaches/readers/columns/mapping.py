"""Wrong readers of column mapping: names, ids, modes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    FIELD_ID,
    MAPPING_MODE,
    PHYSICAL_NAME,
    Lines,
    each,
    fields,
    only_when,
    parquet,
    properties,
    struct_fields,
    zeros_for_nulls,
)
from breaches.model import reader
from breaches.seams import Edit, rows, values_of, viewing, where_asked
from breaches.views import bodies, partition_values, replaying
from conformance.adapter import Changes, Scan


def _fields_of(root: Path) -> list[Any]:
    """Return the fields of the newest schema, at any depth."""
    *_, newest = bodies(root, "metaData")
    return [*struct_fields(json.loads(newest["schemaString"]))]


def _renamed_within(name: Callable[[pa.Field[Any]], str]) -> Edit:
    """Give the fields of structs that data files have other names."""

    def change(table: pa.Table) -> pa.Table:
        for at, column in enumerate(table.schema):
            if pa.types.is_struct(column.type):
                held = table.column(at).combine_chunks()
                names = [name(each) for each in column.type]
                values = [held.field(n) for n in range(held.type.num_fields)]
                named = pa.StructArray.from_arrays(values, names=names, mask=held.is_null())
                table = table.set_column(at, column.name, named)
        return table

    return parquet(change)


def _fields_by_display_name(root: Path, fresh: frozenset[str]) -> None:
    """Find a nested field that a file lacks by its display name."""
    keys = {f["name"]: f["metadata"].get(PHYSICAL_NAME, f["name"]) for f in _fields_of(root)}
    _renamed_within(lambda field: keys.get(field.name, field.name))(root, fresh)


def _fields_by_id(root: Path, fresh: frozenset[str]) -> None:
    """Find a nested field that a file lacks by its id."""
    keys = {
        str(f["metadata"].get(FIELD_ID)).encode(): f["metadata"].get(PHYSICAL_NAME)
        for f in _fields_of(root)
    }

    def name(field: pa.Field[Any]) -> str:
        return keys.get((field.metadata or {}).get(b"PARQUET:field_id", b"")) or field.name

    _renamed_within(name)(root, fresh)


def _modes(root: Path) -> set[str]:
    return {b.get("configuration", {}).get(MAPPING_MODE, "none") for b in bodies(root, "metaData")}


def _mode(old: str, new: str) -> Any:
    return properties(
        lambda p: p.update({MAPPING_MODE: new}) if p.get(MAPPING_MODE, "none") == old else None
    )


def _annotated(root: Path) -> bool:
    return any(PHYSICAL_NAME in str(body.get("schemaString")) for body in bodies(root, "metaData"))


def _nothing_there(mode: str) -> Any:
    """Look for partition values by display name, and find none."""
    edit = partition_values(lambda values, _path: dict.fromkeys(values))
    return only_when(lambda root: mode in _modes(root), edit)


def _first_mode(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Read by the mode that the oldest metadata has."""
    found = []
    for action in actions:
        body = action.get("metaData")
        if body:
            rest = {k: v for k, v in body["configuration"].items() if k != MAPPING_MODE}
            mode = kept.setdefault("mode", body["configuration"].get(MAPPING_MODE))
            held = rest if mode is None else {**rest, MAPPING_MODE: mode}
            found.append({"metaData": {**body, "configuration": held}})
        else:
            found.append(action)
    return found


def _displayed(field: Any) -> None:
    if PHYSICAL_NAME in field["metadata"]:
        field["metadata"][PHYSICAL_NAME] = field["name"]


def _without_values(body: dict[str, Any]) -> dict[str, Any]:
    """Look for partition values by display name, and find none."""
    return {**body, "partitionValues": dict.fromkeys(body["partitionValues"])}


def _renamed_by_place(table: pa.Table) -> pa.Table:
    """Call the fields of structs by the order of their names, which is that of the schema."""
    for at, of in enumerate(table.schema):
        if pa.types.is_struct(of.type):
            names = sorted(field.name for field in of.type)
            named = zip(names, (field.type for field in of.type), strict=True)
            arrays = table.column(at).combine_chunks().flatten()
            held = pa.StructArray.from_arrays(arrays, fields=[pa.field(*pair) for pair in named])
            table = table.set_column(at, pa.field(of.name, held.type), held)
    return table


def _else_by_id(root: Path, fresh: frozenset[str]) -> None:
    """Take a column of the right id where none has the name."""
    trees = [json.loads(body["schemaString"]) for body in bodies(root, "metaData")]
    held = [f["metadata"] for f in struct_fields(trees[-1])] if trees else []
    names = {str(each[FIELD_ID]).encode(): each[PHYSICAL_NAME] for each in held if FIELD_ID in each}

    def renamed(table: pa.Table) -> pa.Table:
        ids = [(each.metadata or {}).get(b"PARQUET:field_id", b"") for each in table.schema]
        found = zip(table.column_names, ids, strict=True)
        return table.rename_columns([names.get(number, name) for name, number in found])

    parquet(renamed)(root, fresh)


def _by_left_over_ids(root: Path, fresh: frozenset[str]) -> None:
    """Find columns by the ids of the schema, whatever the mode."""
    *_, newest = bodies(root, "metaData")
    ids = {
        str(field["metadata"].get("delta.columnMapping.id")).encode(): field["name"]
        for field in json.loads(newest["schemaString"])["fields"]
    }

    def change(table: pa.Table) -> pa.Table:
        held = [(field.metadata or {}).get(b"PARQUET:field_id") for field in table.schema]
        names = zip(held, table.column_names, strict=True)
        return table.rename_columns([ids.get(number or b"", name) for number, name in names])

    if newest["configuration"].get(MAPPING_MODE) == "none":
        parquet(change)(root, fresh)


def _plain_names_for_ids(root: Path, fresh: frozenset[str]) -> None:
    """Find the columns of files that have no ids by their display names."""
    *_, newest = bodies(root, "metaData")
    held = json.loads(newest["schemaString"])["fields"]
    ids = {each["name"]: str(each["metadata"].get(FIELD_ID)).encode() for each in held}

    def change(table: pa.Table) -> pa.Table:
        if any(b"PARQUET:field_id" in (of.metadata or {}) for of in table.schema):
            return table
        named = [
            of.with_metadata({b"PARQUET:field_id": ids.get(of.name, b"0")}) for of in table.schema
        ]
        return table.cast(pa.schema(named))

    parquet(change)(root, fresh)


def _no_fields_in_keys(table: pa.Table) -> pa.Table:
    for at, column in enumerate(table.schema):
        if pa.types.is_map(column.type) and pa.types.is_struct(column.type.key_type):
            held = [
                value and [(dict.fromkeys(key), item) for key, item in value]
                for value in table.column(at).to_pylist()
            ]
            table = table.set_column(at, column, pa.chunked_array([held], column.type))
    return table


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """Find two fields by each other's names."""
    return {"a": pair["b"], "b": pair["a"]}


_TURNED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "keys": ("k", lambda pairs: [(_turned(key), value) for key, value in pairs]),
    "lists-of-lists": ("ll", lambda outer: [[_turned(each) for each in inner] for inner in outer]),
    "structs": ("ss", lambda of: {name: _turned(inner) for name, inner in of.items()}),
}


def _computed(table: pa.Table) -> pa.Table:
    """Compute what a generated column lacks."""
    if "g" not in table.column_names:
        return table
    values = pc.coalesce(table.column("g"), pc.multiply(table.column("id"), 2))
    return table.set_column(table.column_names.index("g"), "g", values)


def _first_of_cases(table: pa.Table) -> pa.Table:
    """Take the first column whose name is the same but for the case of letters."""
    names = table.column_names
    held = {name.lower(): table.column(name) for name in reversed(names)}
    return pa.table([held[name.lower()] for name in names], schema=table.schema)


def _hollow(value: Any) -> bool:
    return isinstance(value, dict) and "b" in value and value["b"] is None


def _lost(value: Any) -> Any:
    """Take a struct without a field, below a list or map, for null."""
    if isinstance(value, list):
        return [None if _hollow(each) else _lost(each) for each in value]
    if isinstance(value, tuple):  # an entry of a map
        return (value[0], None if _hollow(value[1]) else _lost(value[1]))
    if isinstance(value, dict):
        return {key: _lost(each) for key, each in value.items()}
    return value


def _without_structs(table: pa.Table) -> pa.Table:
    for at, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            values = [_lost(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, column, pa.chunked_array([values], column.type))
    return table


ROWS = (
    *(
        reader(
            f"loses-structs-that-lack-a-field{slug}",
            row,
            rows(_without_structs),
            f"*/nested-field-added{slug}/*",
        )
        for slug, row in (("", "SNAP-007"), ("-name", "CM-031"), ("-id", "CM-028"))
    ),
    reader(
        "maps-columns-in-mode-none",
        "CM-023",
        viewing(only_when(_annotated, _mode("none", "name"))),
    ),
    reader(
        "keeps-the-mode-of-before",
        "CM-023",
        viewing(replaying(_first_mode)),
        "column-mapping/mode-left-out/*",
    ),
    reader(
        "reads-mapped-columns-by-the-mode-of-before",
        "CM-023",
        viewing(replaying(_first_mode)),
        "column-mapping/upgraded-table/*",
    ),
    reader(
        "takes-annotated-columns-for-mapped",
        "CM-024",
        viewing(only_when(_annotated, _mode("none", "name"))),
    ),
    reader(
        "takes-annotated-partitions-for-mapped",
        "CM-024",
        viewing(
            only_when(_annotated, partition_values(lambda values, _path: dict.fromkeys(values)))
        ),
        "column-mapping/mode-none-nested-annotations/*",
    ),
    reader(
        "takes-annotated-columns-for-mapped-without-a-mode",
        "CM-024",
        viewing(
            only_when(
                _annotated,
                properties(
                    lambda p: p.update({MAPPING_MODE: "name"}) if MAPPING_MODE not in p else None
                ),
            )
        ),
        "column-mapping/mode-none-with-annotations/*",
    ),
    reader("finds-columns-by-name-in-mode-id", "CM-025", viewing(_mode("id", "name"))),
    *(
        reader(
            f"finds-columns-by-name-in-mode-id-for-{name}",
            "CM-025",
            where_asked(wanted, viewing(_mode("id", "name"))),
            "column-mapping/every-question-id-swapped/*",
        )
        for name, wanted in (
            ("changes", lambda request: isinstance(request, Changes)),
            ("row-ids", lambda request: isinstance(request, Scan) and request.row_ids),
        )
    ),
    reader(
        "finds-columns-by-display-name-in-mode-id",
        "CM-025",
        viewing(_mode("id", "name"), fields(_displayed)),
    ),
    reader("finds-no-partition-values-in-mode-id", "CM-026", viewing(_nothing_there("id"))),
    reader("falls-back-to-names-in-mode-id", "CM-027", viewing(_mode("id", "name"))),
    reader(
        "falls-back-to-display-names-without-ids",
        "CM-027",
        viewing(_plain_names_for_ids),
        "column-mapping/id-mode-without-ids-later/*",
    ),
    reader("fills-missing-ids-with-zero", "CM-028", rows(zeros_for_nulls)),
    reader("finds-columns-by-display-name", "CM-029", viewing(fields(_displayed))),
    reader(
        "finds-no-partition-values-in-mode-name",
        "CM-030",
        viewing(_nothing_there("name")),
    ),
    reader("fills-missing-names-with-zero", "CM-031", rows(zeros_for_nulls)),
    reader("finds-columns-by-id-in-mode-name", "CM-032", viewing(_mode("name", "id"))),
    reader(
        "finds-lost-fields-by-display-name",
        "CM-031",
        viewing(_fields_by_display_name),
        "column-mapping/upgraded-and-re-added-within/*",
    ),
    reader(
        "finds-lost-fields-by-id",
        "CM-032",
        viewing(_fields_by_id),
        "column-mapping/nested-name-missing-id-there/*",
    ),
    reader(
        "finds-fields-by-place",
        "CM-024",
        viewing(parquet(_renamed_by_place)),
        "schema-serialization-format/nested-order-differs/*",
    ),
    *(
        reader(
            f"finds-no-values-of-changes-in-mode-{mode}",
            row,
            viewing(each("cdc", _without_values)),
            f"add-cdc-file/partitioned-by-{mode}/*",
        )
        for mode, row in (("name", "CM-030"), ("id", "CM-026"))
    ),
    reader(
        "falls-back-to-ids-in-mode-name",
        "CM-029",
        viewing(_else_by_id),
        "column-mapping/name-missing-id-there/*",
    ),
    reader(
        "finds-columns-without-regard-to-case",
        "CM-029",
        viewing(parquet(_first_of_cases)),
        "column-mapping/physical-names-in-both-cases/*",
    ),
    *(
        reader(
            f"finds-fields-by-name-in-{holder}",
            "CM-025",
            values_of(name, change),
            "column-mapping/id-mode-nested-names-swapped/*",
        )
        for holder, (name, change) in _TURNED.items()
    ),
    *(
        reader(
            f"computes-generated-columns-{mode}",
            requirement,
            rows(_computed),
            f"column-mapping/generated-absent-{mode}/*",
        )
        for mode, requirement in (("name", "CM-031"), ("id", "CM-028"))
    ),
    reader(
        "finds-columns-by-left-over-ids",
        "CM-024",
        viewing(_by_left_over_ids),
        "column-mapping/mode-none-*",
    ),
    reader(
        "finds-no-fields-in-keys",
        "CM-029",
        rows(_no_fields_in_keys),
        "column-mapping/structs-in-depth-*",
    ),
)
