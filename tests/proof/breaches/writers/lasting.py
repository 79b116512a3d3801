"""Wrong writers that keep a promise in one operation, and not in the next one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHANGES,
    CHECKPOINT,
    COMMIT,
    COMPACTION,
    DATA,
    JSON_CHECKPOINT,
    Lines,
    dropping,
    each,
    fields,
    lines,
    parquet,
    properties,
    statistics,
    unlisted,
    without,
)
from breaches.model import Ask, Breach, How, writer
from breaches.seams import (
    Edit,
    afterwards,
    asking,
    by_request,
    carrying_out,
    during,
    leaving,
    where_asked,
    writing,
)
from breaches.views import bodies, commits_of, log_of
from conformance.adapter import Answer, Ok, Refused, Request, Write

_PROVENANCE: Final = "delta.inCommitTimestampEnablement"


def _unprovenanced(found: dict[str, str]) -> None:
    for name in [*found]:
        if name.startswith(_PROVENANCE):
            del found[name]


def _since(operation: str, edit: Edit) -> How:
    """Go wrong in what an operation leaves, and all steps after it."""

    def how(ask: Ask) -> Ask:
        seen: list[bool] = []
        inner = leaving(lambda root, fresh: edit(root, fresh) if seen else None)(ask)

        def run(request: Request) -> Answer:
            if isinstance(request, Write) and request.operation == operation:
                seen.append(True)
            return inner(request)

        return run

    return how


def _losing(key: str, operation: str, breaks: str, slug: str, case: str) -> Breach:
    """Lose a key of column metadata from an operation on."""
    lost = fields(lambda field: field["metadata"].pop(key, None) and None, COMMIT)
    return writer(slug, breaks, _since(operation, lost), case)


def _numberless(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


@by_request
def _dead_rows_checked(ask: Ask, request: Request) -> Answer:
    """Refuse a constraint for rows that a vector deleted."""
    adding = isinstance(request, Write) and request.operation == "add_constraint"
    if adding and any(b.get("deletionVector") for b in bodies(Path(request.table), "add")):
        return Refused("constraint", "commit", "a row breaks the constraint")
    return ask(request)


@by_request
def _latest_file_checked(ask: Ask, request: Request) -> Answer:
    """Let a column have no nulls that has none in the file that came last."""
    if isinstance(request, Write) and request.operation == "set_nullable":
        root = Path(request.table)
        last = [body["path"] for body in bodies(root, "add")][-1]
        column = pq.read_table(root / last).column(request.arguments["column"])
        if not column.null_count:
            return Ok({"version": None})
    return ask(request)


def _without_null_values(body: dict[str, Any]) -> dict[str, Any]:
    values = body["partitionValues"].items()
    return {**body, "partitionValues": {name: value for name, value in values if value is not None}}


def _defaulted(table: pa.Table) -> pa.Table:
    at = table.column_names.index("name")
    return table.set_column(at, table.field(at), table.column("name").fill_null("none"))


def _rounded(found: Any) -> None:
    for kind in ("minValues", "maxValues"):
        bounds = found.get(kind, {})
        found[kind] = {k: int(float(v)) if type(v) is int else v for k, v in bounds.items()}


def _timeless_lost(body: dict[str, Any]) -> dict[str, Any] | None:
    return body if body.get("deletionTimestamp") is not None else None


def _spelled_twice(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": body["path"].replace("%", "%25")}


def _unfiltered(operation: str) -> How:
    """Take whole files by their bounds, in which a null has no part."""

    def whole(request: Any) -> Any:
        kept = {k: v for k, v in request.arguments.items() if k not in _FILTERS}
        return replace(request, arguments=kept)

    return where_asked(writing(operation), asking(whole))


_FILTERS: Final = ("filter", "predicate")


def _empty_file(root: Path, fresh: frozenset[str]) -> None:
    """Add a file without rows, and without values of partitions, where no row was added."""
    path = "part-00000-no-rows.parquet"

    def adding(actions: Lines) -> Lines:
        if any("add" in action or "metaData" in action for action in actions):
            return actions
        pq.write_table(pa.table({"id": pa.array([], pa.int64())}), root / path)
        size = (root / path).stat().st_size
        body = {"path": path, "partitionValues": {}, "size": size, "dataChange": True}
        return [*actions, {"add": {**body, "modificationTime": int(commit_time(root))}}]

    lines(adding, COMMIT)(root, fresh)


def commit_time(root: Path) -> float:
    """Return when the latest commit was written, in ms since the epoch."""
    return max(path.stat().st_mtime for path in log_of(root).glob("*.json")) * 1000


def _buried_again(root: Path, fresh: frozenset[str]) -> None:
    """Keep the tombstone of each file that was removed once in a checkpoint."""
    once = [
        {"remove": {name: body[name] for name in ("path", "deletionTimestamp", "dataChange")}}
        for body in bodies(root, "remove")
    ]
    lines(lambda found: [*found, *once], CHECKPOINT)(root, fresh)


def _taking_hidden(root: Path, fresh: frozenset[str]) -> None:
    """Convert what lies in a hidden folder, too."""
    hidden = next(path for path in sorted(root.rglob("_temporary/*")))

    def adding(actions: Lines) -> Lines:
        (first, *_) = (action["add"] for action in actions if "add" in action)
        path = hidden.relative_to(root).as_posix()
        return [*actions, {"add": {**first, "path": path, "size": hidden.stat().st_size}}]

    lines(adding, COMMIT)(root, fresh)


@by_request
def _dropping_anyway(ask: Ask, request: Request) -> Answer:
    """Drop a column and look at nothing that names it."""
    if not (isinstance(request, Write) and request.operation == "drop_column"):
        return ask(request)
    root = Path(request.table)
    (*_, metadata) = bodies(root, "metaData")
    tree = json.loads(metadata["schemaString"])
    gone = request.arguments["column"]
    tree["fields"] = [field for field in tree["fields"] if field["name"] != gone]
    version = max(commits_of(root)) + 1
    action = {"metaData": {**metadata, "schemaString": json.dumps(tree)}}
    (log_of(root) / f"{version:020}.json").write_text(json.dumps(action) + "\n")
    return Ok({"version": version})


def _without_changes(root: Path) -> None:
    for path in (root / "_change_data").rglob("*.parquet"):
        path.unlink()


_OTHERS: Final = (
    writer(
        "deletes-unknown-rows-with-their-file",
        "SNAP-008",
        _unfiltered("delete"),
        "*/write-unknown-beside/*",
    ),
    writer(
        "updates-unknown-rows-with-their-file",
        "SNAP-008",
        _unfiltered("update"),
        "*/write-unknown-beside/*",
    ),
    writer(
        "appends-no-rows-in-a-file-of-no-partition",
        "WCON-002",
        during("append", _empty_file),
        "add-file-and-remove-file/write-empty-append/*",
    ),
    *(
        writer(
            f"leaves-{rule}-to-version-2",
            "WVER-007",
            carrying_out(),
            f"version-requirements/write-{rule}-6/*",
        )
        for rule in ("invariant", "append-only")
    ),
    writer(
        "updates-append-only-tables-of-features",
        "APP-002",
        carrying_out(),
        "append-only-tables/write-update-with-features/*",
    ),
    *(
        writer(slug, row, carrying_out(), f"*/{case}/*")
        for slug, row, case in (
            ("replaces-with-values-that-are-not-generated", "GEN-004", "write-other-value-replace"),
            ("updates-to-values-that-are-not-generated", "GEN-004", "write-other-value-update"),
            ("takes-null-for-every-generated-value", "GEN-004", "write-other-value-null"),
            ("takes-every-value-where-null-is-generated", "GEN-004", "write-other-value-unknown"),
            ("renames-to-names-that-are-taken", "SCH-028", "write-rename-taken-name"),
            ("removes-known-domains-for-users", "DOM-015", "write-system-remove-known"),
            ("comments-at-unknown-versions", "PROTO-006", "write-unknown-version-set-comment"),
            ("upgrades-unknown-versions", "PROTO-006", "write-unknown-version-enable-feature"),
        )
    ),
    writer(
        "checks-rows-before-they-get-defaults",
        "CHK-006",
        carrying_out(),
        "*/write-broken-default/*",
    ),
    writer(
        "checks-rows-before-they-are-generated",
        "CHK-006",
        carrying_out(),
        "*/write-broken-generated/*",
    ),
    writer(
        "checkpoints-tombstones-of-restored-files",
        "CKPT-006",
        leaving(_buried_again),
        "*/write-restored/*",
    ),
    writer(
        "removes-files-of-a-checkpoint-without-size",
        "REM-007",
        _since("checkpoint", dropping("remove", "size", where=COMMIT)),
        "*/write-changes-after/*",
    ),
    writer(
        "vacuums-young-changes",
        "FA-008",
        where_asked(writing("vacuum"), afterwards(_without_changes)),
        "change-data-files/write-vacuum/*",
    ),
    writer(
        "converts-hidden-files",
        "DATA-001",
        during("convert", _taking_hidden),
        "*/write-convert-hidden/*",
    ),
    writer(
        "converts-without-row-ids",
        "RT-028",
        during("convert", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-convert/*",
    ),
    writer(
        "upgrades-without-the-mapping-of-readers",
        "TF-012",
        during("enable_feature", unlisted("columnMapping", "readerFeatures", where=COMMIT)),
        "*/write-upgrade-mapped/*",
    ),
    writer(
        "drops-a-column-that-clusters",
        "CLUS-006",
        _dropping_anyway,
        "clustered-table/write-drop-column/*",
    ),
)

ROWS = (
    *_OTHERS,
    writer(
        "compacts-without-removes-of-no-time",
        "COMP-007",
        leaving(each("remove", _timeless_lost, COMPACTION)),
        "*/write-compaction-given/*",
    ),
    writer(
        "forgets-since-when-in-an-alter",
        "ICT-010",
        during("add_columns", properties(_unprovenanced, COMMIT)),
        "*/write-enabled-then-altered/*",
    ),
    writer(
        "numbers-no-columns-of-changes",
        "CM-015",
        leaving(parquet(_numberless, CHANGES)),
        "*/write-mapped-by-name/*",
    ),
    writer(
        "removes-by-another-spelling",
        "SNAP-008",
        leaving(each("remove", _spelled_twice, COMMIT), sums=True),
        "*/write-odd-changes/*",
    ),
    writer(
        "feeds-no-changes-of-overwrites",
        "CDC-012",
        during("overwrite", without("cdc", where=COMMIT)),
        "*/write-overwrite-where/*",
    ),
    _losing("delta.typeChanges", "rename_column", "TW-009", "renames-away-a-record", "type-w*"),
    _losing("delta.typeChanges", "set_nullable", "TW-009", "loosens-away-a-record", "type-w*"),
    _losing("delta.typeChanges", "set_default", "TW-009", "defaults-away-a-record", "type-w*"),
    _losing(
        "delta.generationExpression",
        "set_nullable",
        "SCH-037",
        "loosens-away-an-expression",
        "generated-columns/write-kept-by-nullable/*",
    ),
    writer(
        "merges-rows-that-break",
        "CHK-006",
        carrying_out(),
        "*/write-broken-merge-match*",
    ),
    writer(
        "checks-one-file-for-a-constraint",
        "CHK-010",
        carrying_out(),
        "*/write-add-broken-between/*",
    ),
    writer(
        "checks-deleted-rows-for-a-constraint",
        "CHK-009",
        _dead_rows_checked,
        "*/write-add-after-vectors/*",
    ),
    writer(
        "updates-nulls-to-the-default",
        "DFT-006",
        during("update", parquet(_defaulted, DATA)),
        "*/write-update-null/*",
    ),
    writer(
        "rounds-bounds-of-longs",
        "STAT-012",
        leaving(statistics(_rounded, COMMIT)),
        "*/write-exact-statistics/*",
    ),
    writer(
        "checks-one-file-for-nulls",
        "SCH-025",
        _latest_file_checked,
        "*/write-not-null-refused/*",
    ),
    writer(
        "leaves-nulls-out-of-json",
        "ADD-005",
        leaving(each("add", _without_null_values, JSON_CHECKPOINT)),
        "checkpoints/write-v2-json/*",
    ),
)
