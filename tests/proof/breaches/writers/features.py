"""Wrong writers of features: mapping, vectors, row tracking, timestamps, clustering, Iceberg."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    COMMIT,
    VECTOR,
    Lines,
    content,
    dropping,
    each,
    fields,
    lines,
    matching,
    parquet,
    properties,
    setting,
    statistics,
    unlisted,
    without,
)
from breaches.model import Ask, Breach, How, Where
from breaches.seams import Edit, afterwards, carrying_out, leaving
from breaches.views import bodies, commits_of, rows_of, vectors
from conformance.adapter import Answer, Ok, Request, Write

_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_HIGHEST = "delta.columnMapping.maxColumnId"


def writer(slug: str, breaks: str, where: Where, how: How, case: str = "*") -> Breach:
    return Breach(slug, breaks, "writer", where, how, case)


def after_step(number: int, how: How) -> How:
    """Go wrong from a step on, so that what the recipe is about comes to it."""

    def wrong(ask: Ask) -> Ask:
        other, asked = how(ask), [0]

        def run(request: Request) -> Answer:
            asked[0] += 1
            return (other if asked[0] > number else ask)(request)

        return run

    return wrong


def doing_nothing(*operations: str) -> How:
    """Say that some operations were carried out, and do nothing."""

    def how(ask: Ask) -> Ask:
        def run(request: Request) -> Answer:
            if isinstance(request, Write) and request.operation in operations:
                return Ok({"version": None})
            return ask(request)

        return run

    return how


def _drop_from(configuration: str) -> Edit:
    return properties(lambda p: p.pop(configuration, None) and None)


def _setting_property(name: str, value: str) -> Edit:
    return properties(lambda p: p.update({name: value}))


def _renamed_columns(change: Any) -> Edit:
    return parquet(lambda t: t.rename_columns([change(n) for n in t.column_names]))


def _no_field_ids(table: pa.Table) -> pa.Table:
    plain = [field.remove_metadata() for field in table.schema]
    return table.cast(pa.schema(plain))


def _keyed(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "partitionValues": {f"x{k}": v for k, v in body["partitionValues"].items()}}


def _stats_keyed(found: Any) -> None:
    for name in ("minValues", "maxValues", "nullCount"):
        if name in found:
            found[name] = {f"x{k}": v for k, v in found[name].items()}


def _mapped(field: Any, change: Any) -> None:
    if _NAME in field["metadata"]:
        change(field)


def _same_ids(field: Any) -> None:
    if _ID in field["metadata"]:
        field["metadata"][_ID] = 1


def _same_names(field: Any) -> None:
    if _NAME in field["metadata"]:
        field["metadata"][_NAME] = "c"


def _vector(**changes: Any) -> Edit:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector:
            return body
        made = {k: f(vector) if callable(f) else f for k, f in changes.items()}
        kept = {k: v for k, v in {**vector, **made}.items() if v is not ...}
        return {**body, "deletionVector": kept}

    return each("add", change, COMMIT)


def _flipped(at: int) -> Any:
    def change(data: bytes) -> bytes:
        where = at if at >= 0 else len(data) + at
        return data[:where] + bytes([data[where] ^ 0x55]) + data[where + 1 :]

    return change


def _first_of_all(actions: Lines) -> Lines:
    return [*actions[1:], actions[0]] if len(actions) > 1 else actions


def _domain(name: str, change: Any) -> Edit:
    def changed(body: dict[str, Any]) -> dict[str, Any] | None:
        if body["domain"] != name or body.get("removed"):
            return body
        found = json.loads(body["configuration"])
        after = change(found)
        if after is None:
            return None
        return {**body, "configuration": json.dumps(after)}

    return each("domainMetadata", changed, COMMIT)


def _lower(found: Any) -> Any:
    return dict.fromkeys(found, 0)


def _forgetting(removes: Lines) -> Lines:
    """Leave out the remove of a file that is added again with another vector."""
    added = {a["add"]["path"] for a in removes if "add" in a}
    return [a for a in removes if "remove" not in a or a["remove"]["path"] not in added]


def _last_only(root: Path, fresh: frozenset[str]) -> None:
    """Keep of a vector what the latest deletion marked."""
    older: dict[str, set[int]] = {}
    names = matching(COMMIT, fresh)
    for number, actions in sorted(commits_of(root).items()):
        name = f"_delta_log/{number:020}.json"
        for action in actions:
            body = action.get("remove")
            if body and body.get("deletionVector"):
                older[body["path"]] = rows_of(root, body["deletionVector"])
        if name in names:

            def change(marked: set[int], path: Path) -> set[int]:
                known = older.get(path.name, older.get(str(path.relative_to(root)), set()))
                return marked - known or marked

            vectors(change, name.replace(".", r"\."))(root, frozenset({name}))


def _no_materialised(suffix: str) -> Edit:
    """Write no values to a column of row tracking."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        names = {
            value
            for body in bodies(root, "metaData")
            for key, value in body.get("configuration", {}).items()
            if key.endswith(suffix)
        }

        def change(table: pa.Table) -> pa.Table:
            for name in names & {*table.column_names}:
                at = table.column_names.index(name)
                kind = table.schema.field(at)
                table = table.set_column(at, kind, pa.nulls(len(table), kind.type))
            return table

        parquet(change)(root, fresh)

    return edit


def _without_partitions(root: Path, fresh: frozenset[str]) -> None:
    """Leave the columns of partition values out of files."""
    gone = {name for body in bodies(root, "add") for name in body["partitionValues"]}

    def change(table: pa.Table) -> pa.Table:
        return table.drop_columns([n for n in table.column_names if n in gone])

    parquet(change)(root, fresh)


def _vector_files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*.bin")}


def _restored(_root: Path, held: dict[Path, bytes]) -> None:
    for path, data in held.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _no_vectors(root: Path) -> None:
    for path in root.rglob("*.bin"):
        path.unlink()


def _no_files_with_vectors(root: Path) -> None:
    for body in bodies(root, "add"):
        if body.get("deletionVector"):
            (root / body["path"]).unlink(missing_ok=True)


def _a_minute_on(root: Path, fresh: frozenset[str]) -> None:
    """Take a minute after the commit before for the time."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)
        before = [
            a["commitInfo"]["inCommitTimestamp"]
            for a in commits_of(root).get(version - 1, [])
            if "inCommitTimestamp" in a.get("commitInfo", {})
        ]
        if before:
            later = before[0] + 60_000
            setting("commitInfo", "inCommitTimestamp", later, name.replace(".", r"\."))(root, fresh)


_ROW_ID = "materializedRowIdColumnName"
_ROW_VERSION = "materializedRowCommitVersionColumnName"

MAPPED = "column-mapping/write-changes-by-*"
COLUMNS = "column-mapping/write-columns*"
VECTORS = "deletion-vectors/write-changes*"
TRACKED = "row-tracking/write-changes/*"
MERGED = "row-tracking/write-merge/*"
TIMED = "in-commit-timestamps/write-changes*"
ICE1 = "iceberg-compatibility-v1/write-changes*"
ICE2 = "iceberg-compatibility-v2/write-changes*"

ROWS = (
    # Column mapping.
    writer(
        "maps-columns-without-names",
        "CM-001",
        "actions",
        leaving(fields(lambda f: f["metadata"].pop(_NAME, None))),
        MAPPED,
    ),
    writer(
        "maps-columns-without-ids",
        "CM-002",
        "actions",
        leaving(fields(lambda f: f["metadata"].pop(_ID, None))),
        MAPPED,
    ),
    writer("gives-physical-names-twice", "CM-003", "actions", leaving(fields(_same_names)), MAPPED),
    writer("gives-column-ids-twice", "CM-004", "actions", leaving(fields(_same_ids)), MAPPED),
    writer(
        "stores-columns-by-other-names",
        "CM-013",
        "files",
        leaving(_renamed_columns(lambda n: f"x{n}")),
        MAPPED,
    ),
    writer("stores-no-field-ids", "CM-015", "files", leaving(parquet(_no_field_ids)), MAPPED),
    writer(
        "lowers-the-highest-column-id",
        "CM-020",
        "actions",
        leaving(_setting_property(_HIGHEST, "1")),
        MAPPED,
    ),
    writer(
        "changes-physical-names",
        "CM-014",
        "actions",
        after_step(
            2,
            leaving(
                fields(
                    lambda f: _mapped(
                        f, lambda g: g["metadata"].update({_NAME: f"col-{g['name']}"})
                    )
                )
            ),
        ),
        COLUMNS,
    ),
    writer(
        "numbers-no-new-columns",
        "CM-019",
        "actions",
        after_step(6, leaving(fields(lambda f: f["metadata"].pop(_ID, None)))),
        COLUMNS,
    ),
    writer(
        "lets-users-set-the-highest-id",
        "CM-021",
        "answers",
        carrying_out(),
        "column-mapping/write-own-ids*",
    ),
    writer(
        "turns-mapping-on-in-name-alone",
        "CM-010",
        "requests",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on-legacy*",
    ),
    writer(
        "turns-mapping-on-without-mode",
        "CM-012",
        "requests",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "turns-mapping-on-without-the-feature",
        "CM-011",
        "actions",
        leaving(unlisted("columnMapping")),
        "column-mapping/write-turn-on/*",
    ),
    # Deletion vectors.
    writer(
        "writes-vectors-without-the-feature",
        "DV-001",
        "actions",
        leaving(unlisted("deletionVectors")),
        VECTORS,
    ),
    writer(
        "writes-vectors-that-are-off",
        "DV-002",
        "actions",
        leaving(_drop_from("delta.enableDeletionVectors")),
        VECTORS,
    ),
    writer(
        "describes-vectors-by-another-letter",
        "DVDESC-001",
        "actions",
        leaving(_vector(storageType="x")),
        VECTORS,
    ),
    writer(
        "cuts-names-of-vectors",
        "DVDESC-002",
        "actions",
        leaving(_vector(pathOrInlineDv=lambda v: v["pathOrInlineDv"][-19:])),
        VECTORS,
    ),
    writer(
        "tells-wrong-sizes-of-vectors",
        "DVDESC-009",
        "actions",
        leaving(_vector(sizeInBytes=lambda v: v["sizeInBytes"] + 1)),
        VECTORS,
    ),
    writer(
        "miscounts-vectors",
        "DVDESC-010",
        "actions",
        leaving(_vector(cardinality=lambda v: v["cardinality"] + 1)),
        VECTORS,
    ),
    writer(
        "leaves-row-counts-out",
        "DVDESC-022",
        "actions",
        leaving(statistics(lambda s: s.pop("numRecords", None) and None)),
        VECTORS,
    ),
    writer(
        "writes-vectors-of-another-version",
        "DVSTO-003",
        "files",
        leaving(content(VECTOR, lambda b: b"\x02" + b[1:])),
        VECTORS,
    ),
    writer(
        "writes-wrong-sizes-of-vectors",
        "DVSTO-005",
        "files",
        leaving(content(VECTOR, _flipped(4))),
        VECTORS,
    ),
    writer(
        "writes-wrong-crc", "DVSTO-007", "files", leaving(content(VECTOR, _flipped(-1))), VECTORS
    ),
    writer(
        "forgets-earlier-vectors",
        "DVD-017",
        "actions",
        leaving(_last_only),
        "deletion-vectors*/write-*",
    ),
    writer(
        "keeps-the-file-with-its-old-vector",
        "DVD-018",
        "actions",
        after_step(3, leaving(lines(_forgetting, COMMIT))),
        VECTORS,
    ),
    writer(
        "removes-without-vectors",
        "REM-014",
        "actions",
        leaving(dropping("remove", "deletionVector", where=COMMIT)),
        VECTORS,
    ),
    writer(
        "purges-nothing",
        "DVD-005",
        "requests",
        doing_nothing("optimize"),
        "deletion-vectors-design/write-purge*",
    ),
    writer(
        "restores-without-vectors",
        "DVD-013",
        "actions",
        after_step(4, leaving(dropping("add", "deletionVector", where=COMMIT))),
        "deletion-vectors-design/write-restore-vectors*",
    ),
    writer(
        "restores-protocols",
        "DVD-014",
        "actions",
        after_step(
            5,
            leaving(
                lines(
                    lambda a: [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, *a],
                    COMMIT,
                )
            ),
        ),
        "deletion-vectors-design/write-restore-before*",
    ),
    writer(
        "vacuums-every-vector",
        "DVD-003",
        "files",
        afterwards(_no_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    writer(
        "vacuums-files-behind-vectors",
        "DVD-004",
        "files",
        afterwards(_no_files_with_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    writer(
        "vacuums-nothing",
        "FA-008",
        "requests",
        doing_nothing("vacuum"),
        "add-file-and-remove-file/write-vacuum/*",
    ),
    # Row tracking.
    writer(
        "assigns-no-row-ids",
        "RT-028",
        "actions",
        leaving(dropping("add", "baseRowId", where=COMMIT)),
        TRACKED,
    ),
    writer(
        "gives-row-ids-twice",
        "RT-029",
        "actions",
        leaving(setting("add", "baseRowId", 0, COMMIT)),
        TRACKED,
    ),
    writer(
        "tells-other-ids-of-removed-files",
        "RT-030",
        "actions",
        leaving(setting("remove", "baseRowId", 77, COMMIT)),
        "row-tracking/write-*",
    ),
    writer(
        "checkpoints-no-row-ids",
        "RT-031",
        "actions",
        leaving(dropping("add", "baseRowId", where=r"_delta_log/\d{20}\.checkpoint.*")),
        TRACKED,
    ),
    writer(
        "raises-no-mark",
        "RT-036",
        "actions",
        after_step(2, leaving(_domain("delta.rowTracking", lambda _d: None))),
        TRACKED,
    ),
    writer(
        "keeps-the-mark-low",
        "RT-037",
        "actions",
        leaving(_domain("delta.rowTracking", _lower)),
        TRACKED,
    ),
    writer(
        "numbers-versions-otherwise",
        "RT-040",
        "actions",
        leaving(setting("add", "defaultRowCommitVersion", 99, COMMIT)),
        TRACKED,
    ),
    writer(
        "names-no-row-columns",
        "RT-042",
        "actions",
        leaving(properties(lambda p: [p.pop(k) for k in [*p] if "materialized" in k] and None)),
        "row-tracking/write-created*",
    ),
    writer(
        "tracks-without-the-feature", "RT-041", "actions", leaving(unlisted("rowTracking")), TRACKED
    ),
    writer(
        "tracks-without-domains", "RT-007", "actions", leaving(unlisted("domainMetadata")), TRACKED
    ),
    writer(
        "tracks-without-backfill",
        "RT-045",
        "actions",
        leaving(dropping("add", "baseRowId", "defaultRowCommitVersion", where=COMMIT)),
        "row-tracking/write-enable*",
    ),
    writer(
        "backfills-after-it-enables",
        "RT-046",
        "actions",
        leaving(dropping("add", "baseRowId", "defaultRowCommitVersion", where=COMMIT)),
        "row-tracking/write-enable*",
    ),
    writer(
        "gives-rows-new-ids",
        "RT-047",
        "files",
        leaving(_no_materialised(_ROW_ID)),
        "row-tracking/write-merge-with-feed*",
    ),
    writer("preserves-no-row-ids", "RT-050", "files", leaving(_no_materialised(_ROW_ID)), MERGED),
    writer(
        "calls-a-row-column-like-a-column",
        "RT-043",
        "actions",
        leaving(properties(lambda p: p.update({k: "id" for k in p if k.endswith(_ROW_ID)}))),
        TRACKED,
    ),
    # In-commit timestamps.
    writer(
        "leaves-commit-info-out",
        "ICT-005",
        "actions",
        leaving(without("commitInfo", where=COMMIT)),
        TIMED,
    ),
    writer(
        "puts-commit-info-last", "ICT-006", "actions", leaving(lines(_first_of_all, COMMIT)), TIMED
    ),
    writer(
        "tells-times-as-text",
        "ICT-007",
        "actions",
        leaving(setting("commitInfo", "inCommitTimestamp", str, COMMIT)),
        TIMED,
    ),
    writer(
        "stops-the-clock",
        "ICT-009",
        "actions",
        leaving(setting("commitInfo", "inCommitTimestamp", 1_700_000_000_000, COMMIT)),
        TIMED,
    ),
    writer(
        "goes-by-the-clock-alone",
        "ICT-008",
        "actions",
        leaving(_a_minute_on),
        "in-commit-timestamps/write-behind*",
    ),
    writer(
        "tells-not-since-which-version",
        "ICT-010",
        "actions",
        leaving(_drop_from("delta.inCommitTimestampEnablementVersion")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "tells-not-since-what-time",
        "ICT-011",
        "actions",
        leaving(_drop_from("delta.inCommitTimestampEnablementTimestamp")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "starts-behind-the-file",
        "ICT-012",
        "actions",
        leaving(
            setting("commitInfo", "inCommitTimestamp", 1_000, COMMIT),
            properties(
                lambda p: p.update({k: "1000" for k in p if k.endswith("EnablementTimestamp")})
            ),
        ),
        "in-commit-timestamps/write-enable-behind*",
    ),
    writer(
        "times-without-the-feature",
        "ICT-002",
        "actions",
        leaving(unlisted("inCommitTimestamp")),
        TIMED,
    ),
    writer(
        "turns-times-on-without-the-property",
        "ICT-004",
        "actions",
        leaving(_drop_from("delta.enableInCommitTimestamps")),
        "in-commit-timestamps/write-merge*",
    ),
    writer(
        "locks-without-the-feature",
        "APP-001",
        "actions",
        leaving(unlisted("appendOnly")),
        "table-features/write-created-for-writers*",
    ),
    # Clustering.
    writer(
        "counts-not-what-clusters",
        "CLUS-009",
        "actions",
        leaving(statistics(lambda s: {"numRecords": s["numRecords"]})),
        "clustered-table/write-*",
    ),
    writer(
        "tells-not-who-clusters",
        "CLUS-011",
        "actions",
        leaving(dropping("add", "clusteringProvider", where=COMMIT)),
        "clustered-table/write-cluster-run*",
    ),
    writer(
        "clusters-without-domains",
        "CLUS-003",
        "actions",
        leaving(unlisted("domainMetadata")),
        "clustered-table/write-append*",
    ),
    writer(
        "clusters-partitioned-tables",
        "CLUS-004",
        "answers",
        carrying_out(),
        "clustered-table/write-partitioned*",
    ),
    # Iceberg compatibility.
    writer(
        "leaves-partitions-out-of-files-1",
        "ICE1-007",
        "files",
        leaving(_without_partitions),
        ICE1,
    ),
    writer(
        "leaves-partitions-out-of-files-2",
        "ICE2-015",
        "files",
        leaving(_without_partitions),
        ICE2,
    ),
    writer(
        "puts-partitions-first",
        "ICE1-008",
        "files",
        leaving(parquet(lambda t: t.select(list(reversed(t.column_names))))),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-1",
        "ICE1-009",
        "actions",
        leaving(statistics(lambda s: s.pop("numRecords", None) and None)),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-2",
        "ICE2-016",
        "actions",
        leaving(statistics(lambda s: s.pop("numRecords", None) and None)),
        ICE2,
    ),
    writer(
        "unmaps-iceberg-1",
        "ICE1-005",
        "actions",
        leaving(_setting_property("delta.columnMapping.mode", "none")),
        ICE1,
    ),
    writer(
        "unmaps-iceberg-2",
        "ICE2-005",
        "actions",
        leaving(_setting_property("delta.columnMapping.mode", "none")),
        ICE2,
    ),
    writer(
        "mixes-iceberg-1-and-vectors",
        "ICE1-006",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-2-and-vectors",
        "ICE2-014",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-1-and-2",
        "ICE2-013",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-first*",
    ),
    writer(
        "takes-arrays-under-iceberg-1",
        "ICE1-010",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-array*",
    ),
    writer(
        "repartitions-under-iceberg-1",
        "ICE1-011",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v1/write-replace-part*",
    ),
    writer(
        "repartitions-under-iceberg-2",
        "ICE2-019",
        "answers",
        carrying_out(),
        "iceberg-compatibility-v2/write-replace-part*",
    ),
    writer(
        "stores-instants-as-int96",
        "ICE2-017",
        "files",
        leaving(parquet(lambda t: t, use_deprecated_int96_timestamps=True)),
        "iceberg-compatibility-v2/write-*",
    ),
)
