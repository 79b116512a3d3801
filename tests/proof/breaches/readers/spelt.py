"""Wrong readers of what is spelt otherwise, lies deeper, or is in two places at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    Action,
    Lines,
    content,
    dropping,
    each,
    lines,
    listed,
    matching,
    parquet,
    read_lines,
    rewrite,
    setting,
    statistics,
    write_lines,
)
from breaches.model import How, reader
from breaches.readers.features import for_changes
from breaches.seams import documents, refusing, rows, viewing
from breaches.views import bodies, log_of
from conformance.adapter import DomainMetadata

_PAIR = re.compile(rb"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_CLASSIC = r"_delta_log/\d{20}\.checkpoint\.parquet"
_MODE = "delta.columnMapping.mode"
_HIDDEN = "delta.rowTracking.materializedRow"


def _split_at_separators(data: bytes) -> bytes:
    return "\n".join(data.decode().splitlines()).encode()


def _compacted(root: Path, fresh: frozenset[str]) -> None:
    """Give the last version of a compacted range all the changes that are left of it."""
    for name in matching(COMPACTION, fresh):
        start, end = map(int, Path(name).name.split(".")[:2])
        for version in range(start, end + 1):
            place = log_of(root) / f"{version:020d}.json"
            held = [a for a in read_lines(place) if not {"add", "remove"} & a.keys()]
            if version == end:
                held += [a for a in read_lines(root / name) if {"add", "remove"} & a.keys()]
            write_lines(place, held)


def _later_inline_vectors_stay(root: Path, fresh: frozenset[str]) -> None:
    """Know an inline vector of a checkpoint by another id than the removes after it."""
    held = {
        row["deletionVector"]["pathOrInlineDv"]
        for name in matching(f"{CHECKPOINT}|{SIDECAR}", fresh)
        if "add" in pq.read_schema(root / name).names
        for row in pq.read_table(root / name, columns=["add"]).column("add").to_pylist()
        if row and (row.get("deletionVector") or {}).get("storageType") == "i"
    }

    def change(body: dict[str, Any]) -> dict[str, Any] | None:
        return None if (body.get("deletionVector") or {}).get("pathOrInlineDv") in held else body

    each("remove", change, COMMIT)(root, fresh)


def _respelt(request: Any, payload: Any) -> Any:
    """Parse a configuration that is JSON, and write it in another spelling."""
    if not isinstance(request, DomainMetadata) or payload is None:
        return payload
    try:
        return json.dumps(json.loads(payload), separators=(",", ":"), sort_keys=True)
    except ValueError:
        return payload


def _absent_is_empty(request: Any, payload: Any) -> Any:
    """Take the list that a checksum lacks for an empty one."""
    newest = max(log_of(Path(request.table)).glob("*.crc"), default=None)
    if not isinstance(request, DomainMetadata) or newest is None:
        return payload
    return payload if "domainMetadata" in json.loads(newest.read_bytes()) else None


def _checkpoints(root: Path) -> Iterator[Lines]:
    for place in log_of(root).glob("*.checkpoint.*.json"):
        yield read_lines(place)


def _sidecar_in_folder(root: Path) -> bool:
    return any("/" in a["sidecar"]["path"] for c in _checkpoints(root) for a in c if "sidecar" in a)


def _first_groups(root: Path, fresh: frozenset[str]) -> None:
    for name in matching(SIDECAR, fresh):
        sink = pa.BufferOutputStream()
        pq.write_table(pq.ParquetFile(root / name).read_row_group(0), sink)
        rewrite(root / name, sink.getvalue().to_pybytes())


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

    if newest["configuration"].get(_MODE) == "none":
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


def _without_hidden(root: Path, fresh: frozenset[str], *, mapped: bool) -> None:
    """Find no hidden column without a field id, or none without the usual prefix."""
    *_, newest = bodies(root, "metaData")
    given = newest["configuration"]
    names = [value for key, value in given.items() if key.startswith(_HIDDEN)]
    lost = [n for n in names if mapped or not n.startswith("_row-")]
    if not mapped or given.get(_MODE) == "id":
        parquet(lambda t: t.select([n for n in t.column_names if n not in lost]))(root, fresh)


def _vector_in_folder(root: Path) -> bool:
    return any(
        "/" in body["path"] and (body.get("deletionVector") or {}).get("storageType") == "u"
        for body in bodies(root, "add")
    )


def _two_letters(body: Action) -> Action:
    """Take two letters at most of what precedes the name of a vector."""
    held = body.get("deletionVector")
    if not held or held["storageType"] != "u":
        return body
    prefix, name = held["pathOrInlineDv"][:-20], held["pathOrInlineDv"][-20:]
    return {**body, "deletionVector": {**held, "pathOrInlineDv": prefix[:2] + name}}


def _sidecars_of_classic_names_in_the_log(root: Path, fresh: frozenset[str]) -> None:
    """Find no sidecar by a bare name that a V2 checkpoint of the classic name gives."""
    for name in matching(_CLASSIC, fresh):
        table = pq.read_table(root / name, partitioning=None)
        if "sidecar" in table.column_names:
            for body in table.column("sidecar").drop_null().to_pylist():
                (log_of(root) / "_sidecars" / body["path"]).unlink()


def _without_offsets(stats: dict[str, Any]) -> None:
    for name in ("minValues", "maxValues"):
        for key, value in stats.get(name, {}).items():
            if isinstance(value, str):
                stats[name][key] = re.sub(r"[+-]\d{2}:\d{2}$", "Z", value)


def _values_of_files(root: Path, fresh: frozenset[str]) -> None:
    """Take the values of a partition column from a file that holds such a column."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        held = pq.ParquetFile(root / unquote(body["path"])).read().slice(0, 1).to_pylist()
        values = {key: (held or [{}])[0].get(key, v) for key, v in body["partitionValues"].items()}
        return {**body, "partitionValues": values}

    each("add", change, COMMIT)(root, fresh)


def _no_changes_of_added_files(actions: Lines) -> Lines:
    """Take a cdc for an add where its file is added as well."""
    added = {a["add"]["path"] for a in actions if "add" in a}
    return [a for a in actions if "cdc" not in a or a["cdc"]["path"] not in added]


def _typed_by_added_files(root: Path, fresh: frozenset[str]) -> None:
    """Read files that say so as change files, whether a cdc names them or not."""

    def change(actions: Lines) -> Lines:
        if any("cdc" in a for a in actions):
            return actions
        for action in actions:
            body = action.get("add") or action.get("remove")
            if body and "_change_type" in pq.read_schema(root / unquote(body["path"])).names:
                named = {name: body[name] for name in ("path", "partitionValues", "size")}
                actions = [*actions, {"cdc": {**named, "dataChange": False}}]
        return actions

    lines(change, COMMIT)(root, fresh)


def _vector_of_absolute_file(root: Path) -> bool:
    return any(
        ":" in body["path"] and (body.get("deletionVector") or {}).get("storageType") == "u"
        for body in bodies(root, "add")
    )


def _plus_in_vectors(body: dict[str, Any]) -> dict[str, Any]:
    vector = body.get("deletionVector")
    if not vector or vector["storageType"] != "p":
        return body
    spaced = vector["pathOrInlineDv"].replace("+", "%20")
    return {**body, "deletionVector": {**vector, "pathOrInlineDv": spaced}}


def _changed(name: str, change: Callable[[Any], Any]) -> How:
    """Change the values of a column that are not null."""

    def changed(table: pa.Table) -> pa.Table:
        if name not in table.column_names:
            return table
        at = table.column_names.index(name)
        held = [None if value is None else change(value) for value in table.column(at).to_pylist()]
        return table.set_column(at, name, pa.chunked_array([held], table.schema.field(at).type))

    return rows(changed)


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """Find two fields by each other's names."""
    return {"a": pair["b"], "b": pair["a"]}


_TURNED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "keys": ("k", lambda pairs: [(_turned(key), value) for key, value in pairs]),
    "lists-of-lists": ("ll", lambda outer: [[_turned(each) for each in inner] for inner in outer]),
    "structs": ("ss", lambda of: {name: _turned(inner) for name, inner in of.items()}),
}


def _stored_variants(change: Callable[[Any], Any]) -> How:
    """Change shredded variants as they are stored."""

    def changed(table: pa.Table) -> pa.Table:
        if "v" not in table.column_names:
            return table
        column = table.column("v")
        held = [value and change(value) for value in column.to_pylist()]
        return table.set_column(1, table.schema.field("v"), pa.chunked_array([held], column.type))

    return viewing(parquet(changed))


def _no_missing_items(variant: dict[str, Any]) -> dict[str, Any]:
    for array in (variant.get("typed_value") or {}).values():
        if isinstance((array or {}).get("typed_value"), list):
            array["typed_value"] = [
                item
                for item in array["typed_value"]
                if any(each is not None for each in item.values())
            ]
    return variant


def _no_inner_rest(variant: dict[str, Any]) -> dict[str, Any]:
    for inner in (variant.get("typed_value") or {}).values():
        if isinstance((inner or {}).get("typed_value"), dict):
            inner["value"] = None
    return variant


def _computed(table: pa.Table) -> pa.Table:
    """Compute what a generated column lacks."""
    if "g" not in table.column_names:
        return table
    values = pc.coalesce(table.column("g"), pc.multiply(table.column("id"), 2))
    return table.set_column(table.column_names.index("g"), "g", values)


_WITHIN = {"c2": "l", "c3": "m", "c4": "s", "c1": "ls", "c0": "ms"}
"""Columns of widened types, and the holder of each that is overlooked."""


def _overlooked(name: str, holder: str) -> How:
    return _changed(name, lambda held: {**held, holder: None})


def _first_of_cases(table: pa.Table) -> pa.Table:
    """Take the first column whose name is the same but for the case of letters."""
    names = table.column_names
    held = {name.lower(): table.column(name) for name in reversed(names)}
    return pa.table([held[name.lower()] for name in names], schema=table.schema)


ROWS = (
    reader(
        "finds-columns-without-regard-to-case",
        "CM-029",
        viewing(parquet(_first_of_cases)),
        "column-mapping/physical-names-in-both-cases/*",
    ),
    reader(
        "takes-no-changes-from-added-files",
        "CDC-003",
        viewing(lines(_no_changes_of_added_files, COMMIT)),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader(
        "believes-types-in-added-files",
        "CDC-004",
        for_changes(viewing(_typed_by_added_files)),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader(
        "takes-plus-for-a-space-in-sidecars",
        "SCA-004",
        viewing(setting("sidecar", "path", lambda p: p.replace("+", "%20"), where=JSON_CHECKPOINT)),
        "sidecar-files/*",
    ),
    reader(
        "decodes-sidecars-twice",
        "SCA-004",
        viewing(setting("sidecar", "path", unquote, where=JSON_CHECKPOINT)),
        "sidecar-files/*",
    ),
    reader(
        "takes-plus-for-a-space-in-vectors",
        "DV-005",
        viewing(each("add", _plus_in_vectors)),
        "deletion-vectors/absolute-encoded/*",
    ),
    reader(
        "looks-for-vectors-beside-lent-data",
        "DVDESC-016",
        refusing(_vector_of_absolute_file),
        "deletion-vectors/absolute-clone/*",
    ),
    *(
        reader(
            f"finds-fields-by-name-in-{holder}",
            "CM-025",
            _changed(name, change),
            "column-mapping/id-mode-nested-names-swapped/*",
        )
        for holder, (name, change) in _TURNED.items()
    ),
    reader(
        "takes-null-variants-in-lists-for-nulls",
        "VAR-004",
        _changed("v", lambda of: [i and (None if i["value"] == b"\x00" else i) for i in of]),
        "variant-type/within-lists/*",
    ),
    reader(
        "drops-missing-items-of-variants",
        "SHRED-006",
        _stored_variants(_no_missing_items),
        "variant-shredding/arrays/*",
    ),
    reader(
        "drops-what-is-left-of-inner-objects",
        "SHRED-006",
        _stored_variants(_no_inner_rest),
        "variant-shredding/objects/*",
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
    *(
        reader(
            f"overlooks-widened-{name}-{holder}",
            "TW-012",
            _overlooked(name, holder),
            "type-widening/nested-types/*",
        )
        for name, holder in _WITHIN.items()
    ),
    reader(
        "ends-lines-at-separators",
        "SNAP-007",
        viewing(content(COMMIT, _split_at_separators)),
        "delta-log-entries/separators-in-texts/*",
    ),
    reader(
        "keeps-surrogates-apart",
        "SNAP-007",
        viewing(content(COMMIT, lambda data: _PAIR.sub(rb"\\ufffd\\ufffd", data))),
        "delta-log-entries/letters-as-escapes/*",
    ),
    reader(
        "takes-changes-of-compactions",
        "CDC-004",
        for_changes(viewing(_compacted)),
        "log-compaction-files/*",
    ),
    reader(
        "knows-checkpointed-inline-vectors-by-offsets",
        "DVDESC-013",
        viewing(_later_inline_vectors_stay),
        "deletion-vectors/inline-after-*",
    ),
    reader("respells-configurations", "DOM-012", documents(_respelt)),
    reader("takes-absent-lists-for-empty", "DOM-012", documents(_absent_is_empty)),
    reader(
        "wants-checkpoint-metadata-first",
        "SIDE-005",
        refusing(lambda root: any("checkpointMetadata" not in c[0] for c in _checkpoints(root))),
        "v2-checkpoint-feature/lines-in-reverse/*",
    ),
    reader(
        "takes-sidecars-for-names",
        "SIDE-005",
        refusing(_sidecar_in_folder),
        "v2-checkpoint-feature/absolute-sidecars/*",
    ),
    reader(
        "reads-first-groups-of-sidecars",
        "SIDE-005",
        viewing(_first_groups),
        "v2-checkpoint-feature/sidecars-of-small-row-groups/*",
    ),
    reader(
        "loses-vectors-of-json-checkpoints",
        "REC-018",
        viewing(dropping("add", "deletionVector", where=JSON_CHECKPOINT)),
        "v2-checkpoint-feature/json-with-vectors/*",
    ),
    reader(
        "checks-no-protocols-of-changes",
        "TF-001",
        for_changes(viewing(listed(lambda names: [n for n in names if "Nobody" not in n]))),
        "table-features/changes-*",
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
    reader(
        "finds-hidden-columns-by-id",
        "RT-023",
        viewing(partial(_without_hidden, mapped=True)),
        "row-tracking/*",
    ),
    reader(
        "knows-hidden-columns-by-prefix",
        "RT-023",
        viewing(partial(_without_hidden, mapped=False)),
        "row-tracking/*",
    ),
    reader(
        "looks-for-vectors-beside-data",
        "DVDESC-016",
        refusing(_vector_in_folder),
        "deletion-vectors/relative-*",
    ),
    reader(
        "takes-two-letters-for-the-prefix",
        "DVDESC-016",
        viewing(each("add", _two_letters)),
        "deletion-vectors/relative-*",
    ),
    reader(
        "looks-in-the-log-for-sidecars-of-classic-names",
        "SCA-004",
        viewing(_sidecars_of_classic_names_in_the_log),
        "v2-checkpoint-feature/classic-*",
    ),
    reader(
        "takes-bounds-without-offsets",
        "SNAP-007",
        viewing(statistics(_without_offsets)),
        "per-file-statistics/bounds-*",
    ),
    reader(
        "takes-partitions-from-files",
        "DATA-003",
        viewing(_values_of_files),
        "data-files/partition-*",
    ),
    reader(
        "loses-format-options-of-checkpoints",
        "REC-003",
        viewing(setting("metaData", "format.options", {}, where=CHECKPOINT)),
        "checkpoints/format-options/*",
    ),
)
