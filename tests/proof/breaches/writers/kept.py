"""Wrong writers that lose what they had to keep, or say it wrong: summaries, columns, times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHANGES,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    doubling,
    dropping,
    each,
    fields,
    matching,
    parquet,
    properties,
    read_lines,
    schema,
    setting,
    statistics,
    struct_fields,
    unlisted,
    without,
    write_lines,
)
from breaches.model import Ask, How, writer
from breaches.seams import Edit, afterwards, by_request, carrying_out, during, leaving
from breaches.views import bodies, commits_of, log_of
from breaches.writers.features import after_step, last_only
from conformance.adapter import Answer, Request, Write
from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name

_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity")
_COMPACTED = "log-compaction-files/write-compaction-*"
_NAMED = "checkpoints/write-checkpoint-named/*"


def _unnumbered(tree: Any) -> None:
    """Take the ids of fields within columns."""
    for column in tree["fields"]:
        for each_field in struct_fields(column["type"]):
            each_field["metadata"].pop("delta.columnMapping.id", None)


def asking_for(change: Any) -> How:
    """Write a table whose columns were changed before the step: a change that lost something."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        answer = ask(request)
        if isinstance(request, Write) and request.operation in _ALTERS:
            root = Path(request.table)
            latest = max(commits_of(root))
            name = f"_delta_log/{latest:020}.json"
            fields(change, name.replace(".", r"\."))(root, frozenset({name}))
            for path in log_of(root).glob(f"{latest:020}.crc"):
                path.unlink()
        return answer

    return run


_ALTERS = ("add_columns", "rename_column", "drop_column", "set_column_comment", "set_properties")


def _nullable(field: Any) -> None:
    field["nullable"] = True


def _without_rules(field: Any) -> None:
    kept = {k: v for k, v in field["metadata"].items() if not k.startswith(_RULES)}
    field["metadata"] = kept


def _inner_untold(tree: Any) -> None:
    for field in tree["fields"]:
        if isinstance(field["type"], dict):
            for inner in struct_fields(field["type"]):
                inner["metadata"] = {}


def _kinds(names: Mapping[str, str]) -> Edit:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index("_change_type")
        kinds = [names.get(kind, kind) for kind in table.column(at).to_pylist()]
        return table.set_column(at, table.field(at), pa.array(kinds))

    return parquet(change, CHANGES)


def _without_constraints(found: dict[str, str]) -> None:
    for name in [*found]:
        if name.startswith("delta.constraints."):
            del found[name]


def _unmarked(field: Any) -> None:
    field["metadata"].pop("delta.identity.highWaterMark", None)


def _one_for_another(body: dict[str, Any]) -> dict[str, Any]:
    listed = body.get("writerFeatures") or []
    kept = [name for name in listed if name != "checkConstraints" or "changeDataFeed" not in listed]
    return {**body, "writerFeatures": kept} if listed else body


def _by_logical_names(body: dict[str, Any]) -> dict[str, Any]:
    if len(json.loads(body["configuration"])["clusteringColumns"]) < 2:
        return body
    return {**body, "configuration": '{"clusteringColumns":[["id"],["label"]]}'}


def _without_places(field: Any) -> None:
    for record in field.get("metadata", {}).get("delta.typeChanges", ()):
        record.pop("fieldPath", None)


def _copying(table: pa.Table) -> pa.Table:
    """Report a row that stayed as it was, as inserted."""
    at = table.column_names.index("_change_type")
    copy = table.slice(0, 1).set_column(at, table.field(at), pa.array(["insert"]))
    return pa.concat_tables([table, copy])


def _seconds(stamp: Any) -> Any:
    return stamp and stamp // 1000


def _elsewhere(found: dict[str, str]) -> None:
    for name in [n for n in found if n.startswith("delta.constraints.")]:
        found[name.replace("constraints", "check")] = found.pop(name)


def _by_number(found: Any) -> None:
    for name in ("minValues", "maxValues", "nullCount"):
        found[name] = {str(n): value for n, value in enumerate(found.get(name, {}).values())}


def _twice_otherwise(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "modificationTime": body["modificationTime"] + 1}


def _renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns([f"x{name}" for name in table.column_names])


def _gone_too_early(root: Path, fresh: frozenset[str]) -> None:
    """Delete the vector files that commits name."""
    for name in matching(COMMIT, fresh):
        for line in (root / name).read_text().splitlines():
            if "deletionVector" in json.loads(line).get("add", {}):
                for path in root.glob("*.bin"):
                    path.unlink()


def _without_tombstones(root: Path) -> None:
    """Delete the vector files that no live file has."""
    live: dict[tuple[str, str], Any] = {}
    for _, actions in sorted(commits_of(root).items()):
        for kind in ("remove", "add"):
            for body in (action[kind] for action in actions if kind in action):
                vector = body.get("deletionVector")
                key = body["path"], json.dumps(vector)
                live.pop(key, None)
                if kind == "add" and vector and vector["storageType"] == "u":
                    prefix, number = decode_uuid_name(vector["pathOrInlineDv"])
                    live[key] = root / vector_file_name(number, prefix)
    for path in root.rglob("*.bin"):
        if path not in live.values():
            path.unlink()


def _null_partitions(root: Path, fresh: frozenset[str]) -> None:
    names = {name for body in bodies(root, "add") for name in body["partitionValues"]}

    def change(table: pa.Table) -> pa.Table:
        for at, field in enumerate(table.schema):
            if field.name in names:
                table = table.set_column(at, field, pa.nulls(len(table), field.type))
        return table

    parquet(change)(root, fresh)


def _feeds_anyway(root: Path, fresh: frozenset[str]) -> None:
    """Write what a commit adds as changes, too."""
    for name in matching(COMMIT, fresh):
        actions = read_lines(root / name)
        if not any("remove" in action for action in actions):
            continue
        for body in [action["add"] for action in actions if "add" in action]:
            rows = pq.ParquetFile(root / unquote(body["path"])).read()
            kinds = pa.array(["insert"] * rows.num_rows)
            place = root / "_change_data" / Path(body["path"]).name
            place.parent.mkdir(exist_ok=True)
            pq.write_table(rows.append_column("_change_type", kinds), place)
            path = place.relative_to(root).as_posix()
            change = {"path": path, "partitionValues": {}, "size": place.stat().st_size}
            actions.append({"cdc": {**change, "dataChange": False}})
        write_lines(root / name, actions)


def _nameless(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("name")
    return rows.set_column(at, rows.field(at), pa.nulls(rows.num_rows, rows.field(at).type))


def _untold(field: Any) -> None:
    field["metadata"].pop("comment", None)


ROWS = (
    # Summaries.
    *(
        writer(
            f"compacts-without-{name}",
            "COMP-004",
            leaving(dropping("add", *fields_of, where=COMPACTION)),
            _COMPACTED,
        )
        for name, fields_of in (
            ("row-ids", ("baseRowId", "defaultRowCommitVersion")),
            ("tags", ("tags",)),
            ("clustering-provider", ("clusteringProvider",)),
            ("statistics", ("stats",)),
        )
    ),
    writer(
        "compacts-without-applications",
        "COMP-004",
        leaving(without("txn", where=COMPACTION)),
        _COMPACTED,
    ),
    writer(
        "compacts-removals-of-domains-away",
        "COMP-004",
        leaving(each("domainMetadata", lambda body: None if body["removed"] else body, COMPACTION)),
        "log-compaction-files/write-compaction-domain-removed/*",
    ),
    writer(
        "compacts-removes-without-vectors",
        "COMP-006",
        leaving(dropping("remove", "deletionVector", where=COMPACTION)),
        _COMPACTED,
    ),
    writer(
        "compacts-removes-without-row-ids",
        "COMP-007",
        leaving(dropping("remove", "baseRowId", where=COMPACTION)),
        _COMPACTED,
    ),
    *(
        writer(
            f"checkpoints-no-{name}",
            "CKC-003",
            leaving(dropping("metaData", name, where=CHECKPOINTS)),
            _NAMED,
        )
        for name in ("name", "description")
    ),
    writer(
        "checkpoints-no-tags",
        "CKPT-005",
        leaving(dropping("add", "tags", where=CHECKPOINTS)),
        _NAMED,
    ),
    # Times.
    writer(
        "reports-creation-in-seconds",
        "ADD-007",
        leaving(setting("add", "modificationTime", _seconds, COMMIT)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "dates-converted-files-in-seconds",
        "ADD-007",
        leaving(setting("add", "modificationTime", _seconds, COMMIT)),
        "add-file-and-remove-file/write-convert/*",
    ),
    writer(
        "reports-sidecars-in-seconds",
        "SCA-006",
        leaving(setting("sidecar", "modificationTime", _seconds)),
        "checkpoints/write-v2-*-sidecars/*",
    ),
    # The change feed.
    writer(
        "reports-inserts-as-updates",
        "CDC-012",
        leaving(_kinds({"insert": "update_postimage"})),
        "change-data-files/write-merge*",
    ),
    writer(
        "reports-deletes-as-updates",
        "CDC-012",
        leaving(_kinds({"delete": "update_preimage"})),
        "change-data-files/write-*",
    ),
    writer(
        "copies-rows-into-change-files",
        "CDC-001",
        leaving(parquet(_copying, CHANGES)),
        "change-data-files/write-*",
    ),
    # Vectors and column mapping.
    writer(
        "keeps-files-that-it-optimizes",
        "DVD-005",
        during("optimize", without("remove", where=COMMIT)),
        "deletion-vectors-design/write-purge/*",
    ),
    writer(
        "turns-mapping-on-for-writers-alone",
        "CM-011",
        leaving(unlisted("columnMapping", "readerFeatures")),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "keys-statistics-by-no-names",
        "CM-017",
        leaving(statistics(_by_number)),
        "column-mapping/write-changes-by-*",
    ),
    # Changes of columns.
    writer(
        "lets-nulls-in-later",
        "SCH-025",
        asking_for(_nullable),
        "schema-serialization-format/write-null-refused-later/*",
    ),
    writer(
        "lets-nulls-in-after-renaming",
        "SCH-025",
        asking_for(_nullable),
        "column-mapping/write-null-refused-renamed/*",
    ),
    writer(
        "loses-generation-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "generated-columns/write-broken-later/*",
    ),
    writer(
        "loses-invariants-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "column-invariants/write-broken-later/*",
    ),
    writer(
        "loses-identity-with-a-column",
        "SCH-037",
        asking_for(_without_rules),
        "identity-columns/write-add-column/*",
    ),
    writer(
        "loses-what-is-said-within-columns",
        "SCH-037",
        during("add_columns", schema(_inner_untold)),
        "schema-serialization-format/write-add-column-beside-nested/*",
    ),
    writer(
        "keeps-constraints-elsewhere",
        "CHK-002",
        leaving(properties(_elsewhere)),
        "check-constraints/write-*",
    ),
    # What a sample of violations had not been caught by.
    writer(
        "deletes-vectors-of-tombstones",
        "DVD-003",
        afterwards(_without_tombstones),
        "deletion-vectors/write-changes*",
    ),
    writer(
        "checkpoints-empty-statistics",
        "CKC-018",
        leaving(setting("add", "stats", "{}", CHECKPOINTS)),
        "checkpoint-schema/write-*",
    ),
    writer(
        "stores-nulls-for-partitions",
        "ICE2-015",
        leaving(_null_partitions),
        "iceberg-compatibility-v2/write-changes*",
    ),
    writer(
        "drops-every-constraint",
        "CHK-002",
        during("drop_constraint", properties(_without_constraints)),
        "check-constraints/write-drop-one*",
    ),
    writer(
        "forgets-where-a-type-was-widened",
        "TW-008",
        leaving(fields(_without_places, COMMIT)),
        "type-widening/write-nested-record*",
    ),
    writer(
        "forgets-constraints-when-it-upgrades",
        "TF-012",
        leaving(unlisted("checkConstraints")),
        "table-features/write-upgrade*",
    ),
    writer(
        "takes-any-value-for-generated-at-4",
        "WVER-003",
        carrying_out(),
        "version-requirements/write-generated-4*",
    ),
    # Rows that say in general what others say one by one.
    writer(
        "creates-without-formats",
        "META-003",
        leaving(dropping("metaData", "format", where=COMMIT)),
        "change-metadata/write-*",
    ),
    writer(
        "adds-files-twice",
        "FA-011",
        leaving(doubling("add", _twice_otherwise)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "removes-as-if-it-rearranged",
        "FA-017",
        during("delete", setting("remove", "dataChange", value=False, where=COMMIT)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "leaves-widening-on",
        "TW-011",
        during(
            "drop_feature",
            properties(lambda kept: kept.update({"delta.enableTypeWidening": "true"}), COMMIT),
        ),
        "type-widening/write-drop-feature/*",
    ),
    writer(
        "tracks-no-new-rows",
        "RT-002",
        during("append", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-changes/*",
    ),
    writer(
        "tracks-no-mark",
        "RT-032",
        after_step(1, leaving(without("domainMetadata", where=COMMIT))),
        "row-tracking/write-changes/*",
    ),
    writer(
        "vacuums-what-tables-with-vectors-need",
        "DVD-001",
        leaving(_gone_too_early),
        "deletion-vectors-design/write-*",
    ),
    writer(
        "stores-columns-by-other-names-at-5",
        "WVER-004",
        leaving(parquet(_renamed)),
        "version-requirements/write-mapped-5*",
    ),
    writer(
        "stores-columns-by-other-names-at-6",
        "WVER-007",
        leaving(parquet(_renamed)),
        "version-requirements/write-mapped-6*",
    ),
    writer(
        "feeds-copied-rows-at-4",
        "WVER-003",
        leaving(parquet(_copying, CHANGES)),
        "version-requirements/write-feed-4*",
    ),
    writer(
        "feeds-by-the-property-alone",
        "CDC-013",
        leaving(_feeds_anyway),
        "change-data-files/write-feed-unlisted*",
    ),
    writer(
        "leaves-defaults-out-of-merges",
        "DFT-005",
        during("merge", parquet(_nameless)),
        "default-columns/write-merge-with-default*",
    ),
    writer(
        "forgets-earlier-vectors-in-merges",
        "DVD-017",
        during("merge", last_only),
        "deletion-vectors/write-merge-after-*",
    ),
    writer(
        "numbers-no-fields-within-new-columns",
        "CM-002",
        during("add_columns", schema(_unnumbered, COMMIT)),
        "column-mapping/write-add-nested-*",
    ),
    writer(
        "names-no-row-columns-when-it-replaces",
        "RT-042",
        during(
            "replace",
            properties(lambda p: [p.pop(k) for k in [*p] if "materialized" in k] and None),
        ),
        "row-tracking/write-replace*",
    ),
    writer(
        "forgets-comments-with-not-null",
        "SCH-037",
        during("set_nullable", fields(_untold, COMMIT)),
    ),
    writer(
        "forgets-marks-with-a-name",
        "SCH-037",
        during("rename_column", fields(_unmarked, COMMIT)),
        "identity-columns/write-mark-kept-by-rename/*",
    ),
    writer(
        "enables-one-feature-for-another",
        "TF-016",
        leaving(each("protocol", _one_for_another, COMMIT)),
        "table-features/write-enable-several*",
    ),
    writer(
        "clusters-by-logical-names",
        "CM-035",
        leaving(each("domainMetadata", _by_logical_names, COMMIT)),
        "clustered-table/write-mapped/*",
    ),
)
