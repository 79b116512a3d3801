"""Wrong readers of corners: one version off, behind the first part or batch, a summary's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    SIDECAR,
    Lines,
    dropping,
    each,
    matching,
    parquet,
    statistics,
    struct_fields,
    without,
)
from breaches.model import How, reader
from breaches.seams import asking, documents, refusing, rows, viewing
from breaches.views import (
    bodies,
    by_path_alone,
    directory_values,
    log_of,
    partition_values,
    replaying,
    vectors,
)

_BATCH = 65_536
_LATER_PARTS = r"_delta_log/\d{20}\.checkpoint\.(?!0000000001)\d{10}\.\d{10}\.parquet"


def _one_later(pattern: str) -> How:
    """Start from a checkpoint one version beyond what is asked for."""

    def changed(request: Any) -> Any:
        version = getattr(request, "version", None)
        if version is None:
            return request
        name = f"{version + 1:020d}.checkpoint.{pattern}"
        later = any(log_of(Path(request.table)).glob(name))
        return replace(request, version=version + 1) if later else request

    return asking(changed)


def _of_any_case(kind: str, key: str, field: str) -> How:
    """Answer a name that is not there by one that differs by case."""

    def changed(request: Any) -> Any:
        asked = getattr(request, field, None)
        named = sorted({body[key] for body in bodies(Path(request.table), kind)})
        if asked is None or asked in named:
            return request
        alike = [name for name in named if name.lower() == asked.lower()]
        return replace(request, **{field: alike[0]}) if alike else request

    return asking(changed)


def _removed_by_name(found: Lines, live: dict[Any, Any]) -> Lines:
    """Let a remove take all files of its bare name."""
    paths = [action["remove"]["path"] for action in found if "remove" in action]
    gone = {path.rpartition("/")[2] for path in paths}
    more = [path for path in live if path.rpartition("/")[2] in gone and path not in paths]
    live |= {action["add"]["path"]: action for action in found if "add" in action}
    return [*found, *({"remove": {"path": path, "dataChange": True}} for path in more)]


def _wider_add(root: Path) -> bool:
    """Say whether a checkpoint has a field of files that no text knows."""
    return any(
        "add" in schema.names and schema.field("add").type.get_field_index("future") >= 0
        for schema in map(pq.read_schema, log_of(root).glob("*.checkpoint*.parquet"))
    )


def _by_path_after_checkpoints(root: Path, fresh: frozenset[str]) -> None:
    """Let a bare remove cancel what a checkpoint has of its path, whatever its vector."""
    held = {
        row["path"]: row["deletionVector"]
        for name in matching(f"{CHECKPOINT}|{SIDECAR}", fresh)
        if "add" in pq.read_schema(root / name).names
        for row in pq.read_table(root / name, columns=["add"]).column("add").to_pylist()
        if row and row.get("deletionVector")
    }

    def change(body: dict[str, Any]) -> dict[str, Any]:
        bare = body["path"] in held and not body.get("deletionVector")
        return {**body, "deletionVector": held[body["path"]]} if bare else body

    each("remove", change, COMMIT)(root, fresh)


def _same_absolute(added: Any, removed: Any) -> bool:
    """Say whether two vectors lie in one file at an absolute path."""
    one, other = (body.get("deletionVector") or {} for body in (added, removed))
    name = "pathOrInlineDv"
    return one.get("storageType") == "p" and one.get(name) == other.get(name)


def _from_folders(values: dict[str, Any], path: str) -> dict[str, Any]:
    """Take a null for a value that a folder gives."""
    spelled = directory_values(values, path)
    return {key: spelled[key] if value is None else value for key, value in values.items()}


def _one_for_both(stats: dict[str, Any]) -> None:
    for one, other in (("minValues", "maxValues"), ("maxValues", "minValues")):
        if one not in stats and other in stats:
            stats[one] = stats[other]


def _deletes_twice(table: pa.Table) -> pa.Table:
    if "_change_type" not in table.column_names:
        return table
    return pa.concat_tables([table, table.filter(pc.equal(table["_change_type"], "delete"))])


def _fields_by_display_name(root: Path, fresh: frozenset[str]) -> None:
    """Find a nested field that a file lacks by its display name."""
    *_, newest = bodies(root, "metaData")
    keys = {
        each["name"]: each["metadata"].get("delta.columnMapping.physicalName", each["name"])
        for each in struct_fields(json.loads(newest["schemaString"]))
    }

    def change(table: pa.Table) -> pa.Table:
        for at, column in enumerate(table.schema):
            if pa.types.is_struct(column.type):
                held = table.column(at).combine_chunks()
                names = [keys.get(each.name, each.name) for each in column.type]
                values = [held.field(n) for n in range(held.type.num_fields)]
                named = pa.StructArray.from_arrays(values, names=names, mask=held.is_null())
                table = table.set_column(at, column.name, named)
        return table

    parquet(change)(root, fresh)


def _ids(change: Callable[[Any], Any]) -> How:
    def changed(table: pa.Table) -> pa.Table:
        if "_row_id" not in table.column_names:
            return table
        at = table.schema.get_field_index("_row_id")
        values = [change(n) for n in table["_row_id"].to_pylist()]
        return table.set_column(at, "_row_id", pa.array(values, pa.int64()))

    return rows(changed)


def _plain_letters(_request: Any, payload: Any) -> Any:
    """Lose letters beyond ASCII."""
    return payload.encode("ascii", "ignore").decode() if isinstance(payload, str) else payload


def _of_32_bits(_request: Any, payload: Any) -> Any:
    return (payload + 2**31) % 2**32 - 2**31 if isinstance(payload, int) else payload


ROWS = (
    reader(
        "removes-files-by-bare-names",
        "REC-018",
        viewing(replaying(_removed_by_name)),
        "add-file-and-remove-file/one-name-in-folders/*",
    ),
    reader(
        "finds-domains-of-any-case",
        "REC-005",
        _of_any_case("domainMetadata", "domain", "domain"),
        "domain-metadata/names-alike/*",
    ),
    reader(
        "finds-applications-of-any-case",
        "REC-004",
        _of_any_case("txn", "appId", "app_id"),
        "transaction-identifiers/names-alike/*",
    ),
    reader(
        "starts-from-parts-one-version-later",
        "CKPT-004",
        _one_later("??????????.*.parquet"),
        "checkpoints/newer-parts-than-asked/*",
    ),
    reader(
        "starts-from-v2-one-version-later",
        "CKPT-004",
        _one_later("????????-*"),
        "v2-checkpoint-feature/newer-than-asked/*",
    ),
    reader(
        "refuses-unknown-fields-of-checkpointed-files",
        "PROTO-009",
        refusing(_wider_add),
        "checkpoint-schema/unknown-columns/*",
    ),
    reader(
        "cancels-checkpointed-vectors-by-path",
        "REC-010",
        viewing(_by_path_after_checkpoints),
    ),
    reader(
        "knows-absolute-vectors-without-offsets",
        "DVDESC-014",
        viewing(by_path_alone(_same_absolute)),
    ),
    reader(
        "leaves-quiet-removes-out-of-compactions",
        "CKC-027",
        viewing(each("remove", lambda b: b if b.get("dataChange") else None, COMPACTION)),
    ),
    reader(
        "reads-progress-in-the-first-part",
        "TXN-005",
        viewing(without("txn", where=_LATER_PARTS)),
        "checkpoints/multi-part-scattered/*",
    ),
    reader(
        "reads-domains-in-the-first-part",
        "REC-014",
        viewing(without("domainMetadata", where=_LATER_PARTS)),
        "checkpoints/multi-part-scattered-domains/*",
    ),
    reader(
        "reads-domains-as-ascii",
        "REC-014",
        documents(_plain_letters),
        "checkpoints/multi-part-scattered-domains/*",
    ),
    reader(
        "takes-progress-for-32-bits",
        "TXN-005",
        documents(_of_32_bits),
        "transaction-identifiers/beyond-double/*",
    ),
    reader(
        "loses-base-ids-of-sidecars",
        "RT-024",
        viewing(dropping("add", "baseRowId", where=SIDECAR)),
        "row-tracking/*",
    ),
    reader(
        "loses-default-versions-of-checkpoints",
        "RT-026",
        viewing(dropping("add", "defaultRowCommitVersion", where=CHECKPOINTS)),
        "row-tracking/*",
    ),
    reader(
        "loses-tags-of-checkpoints",
        "REC-018",
        viewing(dropping("add", "tags", where=CHECKPOINTS)),
        "*/files-*",
    ),
    reader(
        "counts-rows-of-vectors-from-each-batch",
        "DVDESC-021",
        viewing(
            vectors(
                lambda marked, _: {n + at for n in marked if n < _BATCH for at in (0, _BATCH)},
            )
        ),
        "deletion-vector-format/containers/*",
    ),
    reader(
        "knows-rows-of-32-bits",
        "DVDESC-021",
        viewing(vectors(lambda marked, _: {n % 2**32 for n in marked})),
        "deletion-vector-format/row-beyond-32-bits/*",
    ),
    reader(
        "counts-ids-from-each-batch",
        "RT-024",
        _ids(lambda n: n if n is None else n % _BATCH),
        "row-tracking/*",
    ),
    reader(
        "counts-ids-where-there-are-none",
        "RT-003",
        _ids(lambda n: 0 if n is None else n),
        "row-tracking/supported-not-enabled/*",
    ),
    reader(
        "takes-nulls-for-values-of-folders",
        "DATA-003",
        viewing(partition_values(_from_folders)),
    ),
    reader(
        "adds-removes-to-change-files",
        "CDC-003",
        rows(_deletes_twice),
        "change-data-files/files-beside-removes-alone/*",
    ),
    reader(
        "finds-lost-fields-by-display-name",
        "CM-031",
        viewing(_fields_by_display_name),
        "column-mapping/upgraded-and-re-added-within/*",
    ),
    reader(
        "takes-one-bound-for-both",
        "SNAP-007",
        viewing(statistics(_one_for_both)),
        "per-file-statistics/one-bound-alone/*",
    ),
)
