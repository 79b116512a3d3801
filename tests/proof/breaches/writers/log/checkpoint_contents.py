"""Wrong writers of what a checkpoint has to hold, action by action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    JSON_CHECKPOINT,
    MAPPING_MODE,
    PHYSICAL_NAME,
    REMOVED_DOMAIN,
    SIDECAR,
    Lines,
    checkpoint_column,
    dropping,
    each,
    lines,
    matching,
    merged_actions,
    only_when,
    parquet,
    read_lines,
    setting,
    struct_fields,
    without,
    without_last,
    write_lines,
)
from breaches.model import writer
from breaches.seams import Edit, during, leaving
from breaches.views import bodies, commits_of, log_of
from breaches.writers.log.checkpoints import NAMED


def _no_moved_tombstones(root: Path, fresh: frozenset[str]) -> None:
    """Leave tombstones of what was rearranged out of checkpoints."""
    moved = {body["path"] for body in bodies(root, "remove") if not body["dataChange"]}
    each("remove", lambda body: None if body["path"] in moved else body, CHECKPOINTS)(root, fresh)


def _adding_to(where: str, *actions: dict[str, Any]) -> Edit:
    return lines(lambda found: [*found, *actions], where)


def _field(of: str, name: str, value: Any) -> Edit:
    """Add a field to the struct column of an action in checkpoints."""

    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(of)
        if at < 0:
            return table
        column = table.column(at).combine_chunks()
        kind = pa.array([value]).type
        inner = [column.field(n) for n in range(column.type.num_fields)]
        names = [column.type.field(n).name for n in range(column.type.num_fields)]
        if name in names:
            return table
        made = pa.array([value] * len(column), kind)
        struct = pa.StructArray.from_arrays(
            [*inner, made],
            fields=[*column.type, pa.field(name, kind)],
            mask=column.is_null(),
        )
        return table.set_column(at, of, struct)

    return parquet(change, CHECKPOINT)


def _no_field(of: str, name: str) -> Edit:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(of)
        if at < 0 or table.schema.field(at).type.get_field_index(name) < 0:
            return table
        column = table.column(at).combine_chunks()
        kept = [f for f in column.type if f.name != name]
        struct = pa.StructArray.from_arrays(
            [column.field(f.name) for f in kept], fields=kept, mask=column.is_null()
        )
        return table.set_column(at, of, struct)

    return parquet(change, f"{CHECKPOINT}|{SIDECAR}")


def _of_other_files(found: Lines) -> Lines:
    """Leave out the tombstones of paths that are live, under whatever vector."""
    live = {a["add"]["path"] for a in found if "add" in a}
    return [a for a in found if a.get("remove", {}).get("path") not in live]


def _changes_kept(root: Path, fresh: frozenset[str]) -> None:
    """Keep the change files of the version in a checkpoint in JSON."""
    for name in matching(JSON_CHECKPOINT, fresh):
        changes = [a for a in commits_of(root)[int(Path(name).name[:20])] if "cdc" in a]
        write_lines(root / name, [*read_lines(root / name), *changes])


def _without_vector(body: dict[str, Any]) -> dict[str, Any] | None:
    return None if body.get("deletionVector") else body


def _is_cut(root: Path) -> bool:
    return not (log_of(root) / f"{0:020}.json").exists()


def _is_mapped(root: Path) -> bool:
    return any(
        MAPPING_MODE in (body.get("configuration") or {}) for body in bodies(root, "metaData")
    )


def _renamed(held: pa.Array[Any], names: dict[str, str]) -> pa.Array[Any]:
    """Rename the fields of structs at any depth."""
    if not pa.types.is_struct(held.type):
        return held
    return pa.StructArray.from_arrays(
        [_renamed(held.field(at), names) for at in range(held.type.num_fields)],
        [names.get(of.name, of.name) for of in held.type],
        mask=held.is_null(),
    )


def _by_logical_names(root: Path, fresh: frozenset[str]) -> None:
    """Key typed statistics in sidecars by logical names."""
    *_, described = bodies(root, "metaData")
    names = {
        of["metadata"][PHYSICAL_NAME]: of["name"]
        for of in struct_fields(json.loads(described["schemaString"]))
        if PHYSICAL_NAME in of["metadata"]
    }

    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("add")
        adds = table.column(at).combine_chunks()
        inner = {of.name: adds.field(of.name) for of in adds.type}
        inner["stats_parsed"] = _renamed(inner["stats_parsed"], names)
        made = pa.StructArray.from_arrays([*inner.values()], [*inner], mask=adds.is_null())
        return table.set_column(at, "add", made)

    parquet(change, SIDECAR)(root, fresh)


ROWS = (
    writer(
        "checkpoints-no-tombstones",
        "CKC-005",
        leaving(without("remove", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-half-the-files",
        "CKC-004",
        leaving(without_last("add", CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-protocol",
        "CKC-002",
        leaving(without("protocol", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-metadata",
        "CKC-003",
        leaving(without("metaData", where=CHECKPOINTS)),
    ),
    writer("checkpoints-no-txns", "CKC-006", leaving(without("txn", where=CHECKPOINTS))),
    writer(
        "checkpoints-no-domains",
        "CKC-007",
        leaving(without("domainMetadata", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-removed-domains",
        "CKC-008",
        leaving(_adding_to(f"{CHECKPOINT}|{JSON_CHECKPOINT}", REMOVED_DOMAIN)),
        "*domain*",
    ),
    writer(
        "checkpoints-removed-domains-by-v2",
        "CKC-008",
        leaving(_adding_to(CHECKPOINT, REMOVED_DOMAIN)),
        "checkpoints/write-v2-parquet/*",
    ),
    writer(
        "checkpoints-commitInfo",
        "CKC-012",
        leaving(checkpoint_column("commitInfo", {"operation": "WRITE"})),
    ),
    writer(
        "checkpoints-changes",
        "CKC-014",
        leaving(checkpoint_column("cdc", {"path": "a.parquet", "size": 1, "dataChange": False})),
    ),
    writer(
        "keeps-two-actions-in-a-row",
        "CKC-001",
        leaving(lines(merged_actions, CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-typed-values",
        "CKC-015",
        leaving(_no_field("add", "partitionValues_parsed")),
    ),
    writer(
        "checkpoints-no-typed-statistics",
        "CKC-021",
        leaving(_no_field("add", "stats_parsed")),
    ),
    writer(
        "checkpoints-no-statistics",
        "CKC-018",
        leaving(dropping("add", "stats", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-statistics-beside-vectors",
        "CKC-018",
        leaving(
            each(
                "add",
                lambda body: {**body, "stats": None} if body.get("deletionVector") else body,
                CHECKPOINTS,
            )
        ),
        "checkpoints/write-replaced-vectors/*",
    ),
    writer(
        "keeps-statistics-of-removes",
        "CKC-024",
        leaving(_field("remove", "stats", '{"numRecords":1}')),
    ),
    writer(
        "keeps-tags-of-removes",
        "CKC-025",
        leaving(_field("remove", "tags", [("a", "b")])),
    ),
    writer(
        "leaves-tombstones-out-of-sidecars",
        "CKC-005",
        leaving(without("remove", where=SIDECAR)),
        "checkpoints/write-v2-*-sidecars/*",
    ),
    writer(
        "checkpoints-no-tombstones-of-what-was-rearranged",
        "CKC-005",
        leaving(_no_moved_tombstones),
        "checkpoints/write-long-retention/*",
    ),
    writer(
        "checkpoints-commitInfo-in-json",
        "CKC-012",
        leaving(lines(lambda found: [*found, {"commitInfo": {}}], JSON_CHECKPOINT)),
        "checkpoints/write-v2-json/*",
    ),
    *(
        writer(
            f"checkpoints-no-{name}",
            "CKC-003",
            leaving(dropping("metaData", name, where=CHECKPOINTS)),
            NAMED,
        )
        for name in ("name", "description")
    ),
    writer(
        "checkpoints-empty-statistics",
        "CKC-018",
        leaving(setting("add", "stats", "{}", CHECKPOINTS)),
        "checkpoint-schema/write-*",
    ),
    writer(
        "checkpoints-no-replaced-vectors",
        "CKC-005",
        leaving(lines(_of_other_files, CHECKPOINT)),
        "checkpoints/write-replaced-vectors/*",
    ),
    writer(
        "checkpoints-furthest-progress",
        "CKC-006",
        leaving(setting("txn", "version", 7, CHECKPOINT)),
        "checkpoints/write-lower-progress/*",
    ),
    writer(
        "checkpoints-no-table-without-rows",
        "CKC-003",
        during("checkpoint", without("metaData", where=CHECKPOINT)),
        "add-file-and-remove-file/write-emptied-course/*",
    ),
    writer(
        "checkpoints-vectors-away",
        "CKC-004",
        during("checkpoint", dropping("add", "deletionVector", where=f"{CHECKPOINTS}")),
        "v2-checkpoint-feature/write-states-course/*",
    ),
    writer(
        "keeps-changes-in-json",
        "CKC-014",
        leaving(_changes_kept),
        "checkpoints/write-changes-json*",
    ),
    writer(
        "checkpoints-counted-files-alone",
        "CKC-004",
        during("checkpoint", each("add", lambda b: b if b.get("stats") else None, CHECKPOINTS)),
        "checkpoints/write-checkpoint-uncounted/*",
    ),
    writer(
        "forgets-tombstones-of-mapped-tables",
        "CKC-005",
        leaving(only_when(_is_mapped, without("remove", where=CHECKPOINTS))),
        "checkpoint-schema/write-mapped-parts/*",
    ),
    writer(
        "forgets-tombstones-behind-a-cut",
        "CKC-005",
        leaving(only_when(_is_cut, without("remove", where=CHECKPOINTS))),
        "checkpoints/write-behind-a-cut-*",
    ),
    writer(
        "forgets-domains-behind-a-cut",
        "CKC-007",
        leaving(only_when(_is_cut, without("domainMetadata", where=CHECKPOINTS))),
        "checkpoints/write-behind-a-cut-*",
    ),
    writer(
        "parses-by-logical-names-in-sidecars",
        "CKSCH-013",
        leaving(_by_logical_names),
        "checkpoint-schema/write-mapped-sidecars/*",
    ),
    *(
        writer(
            f"forgets-tombstones-of-vectors-in-{name}",
            "CKC-005",
            leaving(each("remove", _without_vector, where)),
            f"checkpoints/write-behind-a-cut-{name}/*",
        )
        for name, where in (("parts", CHECKPOINT), ("sidecars", SIDECAR))
    ),
)
