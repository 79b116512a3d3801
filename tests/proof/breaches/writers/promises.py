"""Wrong writers that lose what is promised: changes, tombstones, vectors, times, progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    CHANGES,
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    DATA,
    Lines,
    dropping,
    each,
    fields,
    lines,
    parquet,
    properties,
    setting,
    unlisted,
    without,
)
from breaches.model import Ask, How, writer
from breaches.seams import Edit, afterwards, by_request, carrying_out, during, leaving
from breaches.views import bodies, commits_of
from conformance.adapter import Answer, Ok, Request, Write
from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name
from reference_impl import read_table

_WEEK = 7 * 86_400_000


def _without_whole_files(rows: pa.Table) -> pa.Table:
    """Leave out the rows of the file that goes whole."""
    return rows.filter(pc.greater(rows["id"], 2))


def _unrecorded(configuration: dict[str, str]) -> None:
    for name in ("Version", "Timestamp"):
        configuration.pop(f"delta.inCommitTimestampEnablement{name}", None)


def _young(remove: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the tombstones of a week, whatever the table promises."""
    return remove if remove["deletionTimestamp"] > time.time() * 1000 - _WEEK else None


def _of_other_files(found: Lines) -> Lines:
    """Leave out the tombstones of paths that are live, under whatever vector."""
    live = {a["add"]["path"] for a in found if "add" in a}
    return [a for a in found if a.get("remove", {}).get("path") not in live]


def _no_replaced_vectors(root: Path) -> None:
    """Delete the vector files of tombstones, however young."""
    for body in bodies(root, "remove"):
        vector = body.get("deletionVector")
        if vector and vector["storageType"] == "u":
            _, name = decode_uuid_name(vector["pathOrInlineDv"])
            (root / vector_file_name(name)).unlink(missing_ok=True)


def _no_escaped_files(root: Path) -> None:
    """Delete data files whose names the log does not have letter by letter."""
    named = {body["path"] for body in bodies(root, "add")}
    for path in [*root.glob("*.parquet"), *root.glob("*=*/*.parquet")]:
        if path.relative_to(root).as_posix() not in named:
            path.unlink()


def _column(name: str, change: Callable[[pa.Array], pa.Array], pattern: str = DATA) -> Edit:
    """Change a column of files, where they have it."""

    def changed(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(name)
        if at < 0:
            return rows
        field = rows.schema.field(at)
        return rows.set_column(at, field, change(rows.column(at)).cast(field.type))

    return parquet(changed, pattern)


def _doing_nothing(operation: str, when: Callable[[Write], object]) -> How:
    """Take an operation for done, where there seems to be nothing to do."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        if isinstance(request, Write) and request.operation == operation and when(request):
            return Ok({"version": max(commits_of(Path(request.table)))})
        return ask(request)

    return run


def _brings_nothing(request: Write) -> bool:
    return request.rows is not None and not len(request.rows)


def _has_no_rows(request: Write) -> bool:
    return not read_table(request.table).num_rows


def _with_earlier_name(root: Path, fresh: frozenset[str]) -> None:
    """Give a new column the name in files of the one that was dropped."""
    found = [json.loads(body["schemaString"])["fields"] for body in bodies(root, "metaData")]
    names = [field["metadata"].get(_PHYSICAL) for fields_of in found for field in fields_of]
    now = {field["metadata"].get(_PHYSICAL) for field in found[-1]}
    gone = [name for name in names if name and name not in now]

    def renamed(field: Any) -> None:
        if gone and names.count(field["metadata"].get(_PHYSICAL)) == 1:
            field["metadata"][_PHYSICAL] = gone[-1]

    fields(renamed, COMMIT)(root, fresh)


_PHYSICAL: Final = "delta.columnMapping.physicalName"


def _first_removed(found: Lines) -> Lines:
    """Forget the first file that is to be removed."""
    first = next((a for a in found if "remove" in a), None)
    return [a for a in found if a is not first]


def _one_partition(found: Lines) -> Lines:
    """Put the rows of null with those of another partition."""
    values = [a["add"]["partitionValues"] for a in found if "add" in a]
    held = next((v for v in values if None not in v.values()), None)
    for value in values:
        if held is not None and None in value.values():
            value.update(held)
    return found


def _stamped_before(found: Lines) -> Lines:
    return [
        {"commitInfo": {**a["commitInfo"], "inCommitTimestamp": 1}} if "commitInfo" in a else a
        for a in found
    ]


def _fresh_ids(base: Any) -> Any:
    return None if base is None else base + 1000


def _zoned(body: dict[str, Any]) -> dict[str, Any]:
    values = body["partitionValues"]
    return {**body, "partitionValues": {k: v and f"{v}Z" for k, v in values.items()}}


def _gone(domain: str, configuration: str) -> Edit:
    gone = {"domain": domain, "configuration": configuration, "removed": True}
    return lines(lambda found: [*found, {"domainMetadata": gone}], COMMIT)


def _without_kept(found: dict[str, str]) -> None:
    found.pop("kept", None)


def _without_vectors(found: dict[str, str]) -> None:
    found.pop("delta.enableDeletionVectors", None)


_COURSES: Final[tuple[tuple[str, str, str, Edit, str], ...]] = (
    (
        "optimizes-without-row-ids",
        "RT-028",
        "optimize",
        dropping("add", "baseRowId", where=COMMIT),
        "row-tracking/write-moves-course",
    ),
    (
        "restores-under-fresh-row-ids",
        "RT-030",
        "restore",
        setting("add", "baseRowId", _fresh_ids, COMMIT),
        "row-tracking/write-moves-course",
    ),
    (
        "updates-without-row-ids",
        "RT-028",
        "update",
        dropping("add", "baseRowId", where=COMMIT),
        "row-tracking/write-changes-course",
    ),
    (
        "optimizes-null-partitions-away",
        "ADD-009",
        "optimize",
        lines(_one_partition, COMMIT),
        "add-file-and-remove-file/write-moves-course",
    ),
    (
        "updates-null-partitions-away",
        "SNAP-008",
        "update",
        lines(_one_partition, COMMIT),
        "add-file-and-remove-file/write-changes-course",
    ),
    (
        "deletes-all-files-but-one",
        "SNAP-008",
        "delete",
        lines(_first_removed, COMMIT),
        "add-file-and-remove-file/write-emptied-course",
    ),
    (
        "restores-beside-what-is-there",
        "SNAP-008",
        "restore",
        lines(_first_removed, COMMIT),
        "deletion-vectors/write-moves-course",
    ),
    (
        "optimizes-beside-what-is-there",
        "ADD-009",
        "optimize",
        lines(_first_removed, COMMIT),
        "deletion-vectors/write-moves-course",
    ),
    (
        "restores-files-without-vectors",
        "SNAP-008",
        "restore",
        dropping("add", "deletionVector", where=COMMIT),
        "table-features/write-moves-course",
    ),
    (
        "optimizes-identities-anew",
        "ADD-009",
        "optimize",
        _column("number", lambda held: pc.add(held, 300)),
        "identity-columns/write-moves-course",
    ),
    (
        "optimizes-generated-values-away",
        "ADD-009",
        "optimize",
        _column("twice", lambda held: pa.nulls(len(held), held.type)),
        "generated-columns/write-moves-course",
    ),
    (
        "optimizes-times-into-a-zone",
        "PART-011",
        "optimize",
        each("add", _zoned, COMMIT),
        "timestamp-ntz/write-moves-course",
    ),
    (
        "restores-to-the-time-of-then",
        "ICT-009",
        "restore",
        lines(_stamped_before, COMMIT),
        "in-commit-timestamps/write-moves-course",
    ),
    (
        "optimizes-without-a-time",
        "ICT-007",
        "optimize",
        dropping("commitInfo", "inCommitTimestamp", where=COMMIT),
        "in-commit-timestamps/write-moves-course",
    ),
    (
        "optimizes-clusters-without-statistics",
        "CLUS-009",
        "optimize",
        dropping("add", "stats", where=COMMIT),
        "clustered-table/write-moves-course",
    ),
    (
        "updates-clusters-without-statistics",
        "CLUS-009",
        "update",
        dropping("add", "stats", where=COMMIT),
        "clustered-table/write-changes-course",
    ),
    (
        "clusters-no-more-once-a-column-comes",
        "CLUS-006",
        "add_columns",
        _gone("delta.clustering", "{}"),
        "clustered-table/write-columns-course",
    ),
    (
        "creates-clusters-without-their-feature",
        "SNAP-008",
        "create",
        unlisted("clustering", where=COMMIT),
        "clustered-table/write-replace-without-column",
    ),
    (
        "gives-a-new-column-an-old-name",
        "CM-034",
        "add_columns",
        _with_earlier_name,
        "column-mapping/write-columns-course-by-name",
    ),
    (
        "updates-without-ids-of-fields",
        "CM-015",
        "update",
        parquet(
            lambda rows: rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))
        ),
        "column-mapping/write-changes-course-by-id",
    ),
    (
        "forgets-records-when-a-column-comes",
        "TW-009",
        "add_columns",
        fields(lambda field: field["metadata"].pop("delta.typeChanges", None) and None, COMMIT),
        "type-widening/write-columns-course",
    ),
    (
        "forgets-identity-when-a-column-comes",
        "SCH-037",
        "add_columns",
        fields(lambda field: field["metadata"].pop("delta.identity.step", None) and None, COMMIT),
        "identity-columns/write-columns-course",
    ),
    (
        "optimizes-partitions-out-of-files",
        "ICE1-007",
        "optimize",
        parquet(lambda rows: rows.drop_columns(rows.column_names[-1:])),
        "iceberg-compatibility-v1/write-moves-course",
    ),
    (
        "updates-partitions-out-of-files",
        "ICE2-015",
        "update",
        parquet(lambda rows: rows.drop_columns(rows.column_names[-1:])),
        "iceberg-compatibility-v2/write-changes-course",
    ),
    (
        "unsets-what-nobody-named",
        "META-011",
        "unset_properties",
        properties(_without_kept, COMMIT),
        "table-features/write-settings-course",
    ),
    (
        "resets-the-table-with-a-constraint",
        "CHK-002",
        "add_constraint",
        properties(_without_vectors, COMMIT),
        "table-features/write-settings-course",
    ),
    (
        "enables-one-feature-and-disables-another",
        "TF-016",
        "enable_feature",
        unlisted("inCommitTimestamp", where=COMMIT),
        "table-features/write-settings-course",
    ),
    (
        "clusters-and-drops-a-feature-out-of-use",
        "TF-016",
        "cluster_by",
        unlisted("invariants", where=COMMIT),
        "clustered-table/write-cluster-vectors",
    ),
    (
        "sets-a-domain-that-stays-removed",
        "DOM-001",
        "set_domain_metadata",
        setting("domainMetadata", "removed", value=True, where=COMMIT),
        "table-features/write-settings-course",
    ),
    (
        "feeds-nothing-of-a-table-that-is-emptied",
        "CDC-012",
        "delete",
        parquet(lambda rows: rows.slice(1), CHANGES),
        "change-data-files/write-emptied-course",
    ),
    (
        "checkpoints-no-table-without-rows",
        "CKC-003",
        "checkpoint",
        without("metaData", where=CHECKPOINT),
        "add-file-and-remove-file/write-emptied-course",
    ),
    (
        "checkpoints-vectors-away",
        "CKC-004",
        "checkpoint",
        dropping("add", "deletionVector", where=f"{CHECKPOINTS}"),
        "v2-checkpoint-feature/write-states-course",
    ),
    (
        "compacts-without-settings",
        "COMP-004",
        "compact_log",
        without("metaData", where=COMPACTION),
        "table-features/write-compactions-course",
    ),
    (
        "compacts-ids-away",
        "COMP-004",
        "compact_log",
        dropping("add", "defaultRowCommitVersion", where=COMPACTION),
        "table-features/write-compactions-course",
    ),
    (
        "checkpoints-parts-without-domains",
        "DOM-014",
        "checkpoint",
        without("domainMetadata", where=CHECKPOINT),
        "domain-metadata/write-multi-part",
    ),
    *(
        (
            f"{slug}-in-{operation.replace('_', '-')}",
            breaks,
            operation,
            fields(lambda field, key=key: field["metadata"].pop(key, None) and None, COMMIT),
            case,
        )
        for slug, breaks, operation, key, case in (
            (
                "forgets-a-default",
                "SCH-037",
                "set_nullable",
                "CURRENT_DEFAULT",
                "default-columns/write-kept-by-nullable",
            ),
            (
                "forgets-an-invariant",
                "SCH-037",
                "set_nullable",
                "delta.invariants",
                "column-invariants/write-columns-course",
            ),
        )
    ),
    (
        "lets-rows-go-with-a-constraint",
        "SNAP-008",
        "drop_constraint",
        properties(lambda found: found.pop("delta.appendOnly", None) and None, COMMIT),
        "append-only-tables/write-settings",
    ),
    (
        "lets-no-nulls-in-beside-a-constraint",
        "SCH-025",
        "add_constraint",
        fields(lambda field: field.update(nullable=False), COMMIT),
        "check-constraints/write-add",
    ),
    (
        "converts-with-one-list-of-features",
        "TF-008",
        "convert",
        dropping("protocol", "writerFeatures", where=COMMIT),
        "deletion-vectors/write-convert",
    ),
)
"""What is wrong in one operation of a course: slug, row, operation, how, case."""


def _without_folders(root: Path) -> None:
    """Delete vector files in folders, whose names no vector has as its own."""
    for path in root.glob("ab/*.bin"):
        path.unlink()


ROWS = (
    writer(
        "feeds-no-files-that-go-whole",
        "CDC-012",
        leaving(parquet(_without_whole_files, CHANGES)),
        "change-data-files/write-whole-files/*",
    ),
    writer(
        "restores-without-time-of-enablement",
        "ICT-010",
        during("restore", properties(_unrecorded, COMMIT)),
        "in-commit-timestamps/write-enabled-then-restored/*",
    ),
    writer(
        "vacuums-vectors-of-young-tombstones",
        "DVD-003",
        afterwards(_no_replaced_vectors),
        "deletion-vectors-design/write-vacuum-retained-vectors/*",
    ),
    writer(
        "vacuums-by-encoded-paths",
        "SNAP-008",
        afterwards(_no_escaped_files),
        "add-file-and-remove-file/write-vacuum-encoded-paths/*",
    ),
    writer(
        "checkpoints-tombstones-of-a-week",
        "CKPT-007",
        leaving(each("remove", _young, CHECKPOINT)),
        "checkpoints/write-long-retention/*",
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
    *(
        writer(slug, breaks, during(operation, edit), f"{case}/*")
        for slug, breaks, operation, edit, case in _COURSES
    ),
    *(
        writer(slug, "SNAP-008", _doing_nothing(operation, when), f"{case}/*")
        for slug, operation, when, case in (
            (
                "replaces-rows-by-none-by-nothing",
                "overwrite",
                _brings_nothing,
                "add-file-and-remove-file/write-emptied-course",
            ),
            (
                "merges-nothing-into-no-rows",
                "merge",
                _has_no_rows,
                "add-file-and-remove-file/write-emptied-course",
            ),
        )
    ),
    writer(
        "checks-the-first-group-of-a-file",
        "CHK-009",
        carrying_out(),
        "check-constraints/write-add-broken-group/*",
    ),
    writer(
        "vacuums-vectors-in-folders",
        "DVD-003",
        afterwards(_without_folders),
        "deletion-vectors-design/write-vacuum-folders/*",
    ),
)
