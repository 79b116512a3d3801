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
    uncounted,
    unlisted,
)
from breaches.model import Ask, How, writer
from breaches.seams import (
    Edit,
    afterwards,
    by_request,
    carrying_out,
    during,
    leaving,
    where_asked,
    writing,
)
from breaches.views import bodies, commits_of, rows_of, vectors
from conformance.adapter import Answer, Ok, Refused, Request, Write

_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_HIGHEST = "delta.columnMapping.maxColumnId"


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
    return where_asked(writing(*operations), lambda _ask: lambda _request: Ok({"version": None}))


def _drop_from(configuration: str) -> Edit:
    return properties(lambda p: p.pop(configuration, None) and None)


def _setting_property(name: str, value: str) -> Edit:
    return properties(lambda p: p.update({name: value}))


def _renamed_columns(change: Any) -> Edit:
    return parquet(lambda t: t.rename_columns([change(n) for n in t.column_names]))


def _no_field_ids(table: pa.Table) -> pa.Table:
    plain = [field.remove_metadata() for field in table.schema]
    return table.cast(pa.schema(plain))


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


def last_only(root: Path, fresh: frozenset[str]) -> None:
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


def materialised(suffix: str, value: int | None = None) -> Edit:
    """Write one value, or none, to all rows of a column of row tracking."""

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
                table = table.set_column(at, kind, pa.array([value] * len(table), kind.type))
            return table

        parquet(change)(root, fresh)

    return edit


def _without_partitions(root: Path, fresh: frozenset[str]) -> None:
    """Leave the columns of partition values out of files."""
    gone = {name for body in bodies(root, "add") for name in body["partitionValues"]}

    def change(table: pa.Table) -> pa.Table:
        return table.drop_columns([n for n in table.column_names if n in gone])

    parquet(change)(root, fresh)


def _no_vectors(root: Path) -> None:
    for path in root.rglob("*.bin"):
        path.unlink()


def _no_files_with_vectors(root: Path) -> None:
    for body in bodies(root, "add"):
        if body.get("deletionVector"):
            (root / body["path"]).unlink(missing_ok=True)


def _no_removed_files(root: Path) -> None:
    for body in bodies(root, "remove"):
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


ROW_ID = "materializedRowIdColumnName"
ROW_VERSION = "materializedRowCommitVersionColumnName"

MAPPED = "column-mapping/write-changes-by-*"
COLUMNS = "column-mapping/write-columns*"
VECTORS = "deletion-vectors/write-changes*"
TRACKED = "row-tracking/write-changes/*"
MERGED = "row-tracking/write-merge/*"
TIMED = "in-commit-timestamps/write-changes*"
ICE1 = "iceberg-compatibility-v1/write-changes*"
ICE2 = "iceberg-compatibility-v2/write-changes*"


@by_request
def _stays_upgraded(ask: Ask, request: Request) -> Answer:
    """Refuse every restore of a table that was made without vectors."""
    if isinstance(request, Write) and request.operation == "restore":
        first = next(bodies(Path(request.table), "protocol"))
        if "deletionVectors" not in first.get("readerFeatures", ()):
            return Refused("unsupported", "load", "refused by a wrong implementation")
    return ask(request)


ROWS = (
    # Column mapping.
    writer(
        "maps-columns-without-names",
        "CM-001",
        leaving(fields(lambda f: f["metadata"].pop(_NAME, None))),
        MAPPED,
    ),
    writer(
        "maps-columns-without-ids",
        "CM-002",
        leaving(fields(lambda f: f["metadata"].pop(_ID, None))),
        MAPPED,
    ),
    writer("gives-physical-names-twice", "CM-003", leaving(fields(_same_names)), MAPPED),
    writer("gives-column-ids-twice", "CM-004", leaving(fields(_same_ids)), MAPPED),
    writer(
        "stores-columns-by-other-names",
        "CM-013",
        leaving(_renamed_columns(lambda n: f"x{n}")),
        MAPPED,
    ),
    writer("stores-no-field-ids", "CM-015", leaving(parquet(_no_field_ids)), MAPPED),
    writer(
        "lowers-the-highest-column-id",
        "CM-020",
        leaving(_setting_property(_HIGHEST, "1")),
        MAPPED,
    ),
    writer(
        "changes-physical-names",
        "CM-014",
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
        after_step(6, leaving(fields(lambda f: f["metadata"].pop(_ID, None)))),
        COLUMNS,
    ),
    writer(
        "lets-users-set-the-highest-id",
        "CM-021",
        carrying_out(),
        "column-mapping/write-own-ids*",
    ),
    writer(
        "turns-mapping-on-in-name-alone",
        "CM-010",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on-legacy*",
    ),
    writer(
        "turns-mapping-on-without-mode",
        "CM-012",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "turns-mapping-on-under-new-names",
        "CM-014",
        during(
            "set_properties",
            fields(lambda f: _mapped(f, lambda g: g["metadata"].update({_NAME: f"c-{g['name']}"}))),
        ),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "turns-mapping-on-without-the-feature",
        "CM-011",
        leaving(unlisted("columnMapping")),
        "column-mapping/write-turn-on/*",
    ),
    # Deletion vectors.
    writer(
        "describes-vectors-by-another-letter",
        "DVDESC-001",
        leaving(_vector(storageType="x")),
        VECTORS,
    ),
    writer(
        "cuts-names-of-vectors",
        "DVDESC-002",
        leaving(_vector(pathOrInlineDv=lambda v: v["pathOrInlineDv"][-19:])),
        VECTORS,
    ),
    writer(
        "tells-wrong-sizes-of-vectors",
        "DVDESC-009",
        leaving(_vector(sizeInBytes=lambda v: v["sizeInBytes"] + 1)),
        VECTORS,
    ),
    writer(
        "miscounts-vectors",
        "DVDESC-010",
        leaving(_vector(cardinality=lambda v: v["cardinality"] + 1)),
        VECTORS,
    ),
    writer(
        "leaves-row-counts-out",
        "DVDESC-022",
        leaving(uncounted()),
        VECTORS,
    ),
    writer(
        "writes-vectors-of-another-version",
        "DVSTO-003",
        leaving(content(VECTOR, lambda b: b"\x02" + b[1:])),
        VECTORS,
    ),
    writer(
        "writes-wrong-sizes-of-vectors",
        "DVSTO-005",
        leaving(content(VECTOR, _flipped(4))),
        VECTORS,
    ),
    writer("writes-wrong-crc", "DVSTO-007", leaving(content(VECTOR, _flipped(-1))), VECTORS),
    writer(
        "forgets-earlier-vectors",
        "DVD-017",
        leaving(last_only),
        "deletion-vectors*/write-*",
    ),
    writer(
        "keeps-the-file-with-its-old-vector",
        "DVD-018",
        after_step(3, leaving(lines(_forgetting, COMMIT))),
        VECTORS,
    ),
    writer(
        "removes-without-vectors",
        "REM-014",
        leaving(dropping("remove", "deletionVector", where=COMMIT)),
        VECTORS,
    ),
    writer(
        "purges-nothing",
        "DVD-005",
        doing_nothing("optimize"),
        "deletion-vectors-design/write-purge*",
    ),
    writer(
        "restores-without-vectors",
        "DVD-013",
        after_step(8, leaving(dropping("add", "deletionVector", where=COMMIT))),
        "deletion-vectors-design/write-restore-across-upgrade*",
    ),
    writer(
        "refuses-to-restore-across-upgrades",
        "DVD-013",
        _stays_upgraded,
        "deletion-vectors-design/write-restore-across-upgrade*",
    ),
    writer(
        "restores-protocols-of-writers",
        "DVD-014",
        during(
            "restore",
            lines(
                lambda a: [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, *a], COMMIT
            ),
        ),
        "clustered-table/write-restore-before-clustered*",
    ),
    writer(
        "restores-protocols",
        "DVD-014",
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
        afterwards(_no_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    writer(
        "vacuums-files-behind-vectors",
        "DVD-004",
        afterwards(_no_files_with_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    writer(
        "vacuums-before-tombstones-expire",
        "FA-008",
        afterwards(_no_removed_files),
        "add-file-and-remove-file/write-vacuum-long-retention/*",
    ),
)
