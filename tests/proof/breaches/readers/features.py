"""Wrong readers of features: mapping, vectors, row tracking, defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    VECTOR,
    Lines,
    dropping,
    each,
    fields,
    lines,
    only_when,
    properties,
    renaming,
    schema,
    struct_fields,
)
from breaches.model import How, reader
from breaches.seams import refusing, rows, viewing, where_asked
from breaches.views import bodies, groups_of, partition_values, vectors
from conformance.adapter import Changes

_MODE = "delta.columnMapping.mode"
_NAME = "delta.columnMapping.physicalName"


def _modes(root: Path) -> set[str]:
    return {b.get("configuration", {}).get(_MODE, "none") for b in bodies(root, "metaData")}


_CHANGES = "delta.typeChanges"


def _without_changes(field: Any) -> None:
    field["metadata"].pop(_CHANGES, None)


def _last_change(field: Any) -> None:
    if _CHANGES in field["metadata"]:
        field["metadata"][_CHANGES] = field["metadata"][_CHANGES][-1:]


def _changes_at_the_top(tree: Any) -> None:
    """Pass over what is recorded of elements and of the fields of structs."""
    for column in tree["fields"]:
        for inner in struct_fields(column["type"]):
            _without_changes(inner)
        found = column["metadata"].get(_CHANGES, [])
        column["metadata"][_CHANGES] = [each for each in found if "fieldPath" not in each]


def _mode(old: str, new: str) -> Any:
    return properties(lambda p: p.update({_MODE: new}) if p.get(_MODE, "none") == old else None)


def _annotated(root: Path) -> bool:
    return any(_NAME in str(body.get("schemaString")) for body in bodies(root, "metaData"))


def _nothing_there(mode: str) -> Any:
    """Look for partition values by display name, and find none."""
    edit = partition_values(lambda values, _path: dict.fromkeys(values))
    return only_when(lambda root: mode in _modes(root), edit)


def _without_removes_of_pairs(actions: Lines) -> Lines:
    """Pass over the remove of a file that is added again."""
    added = {action["add"]["path"] for action in actions if "add" in action}
    return [a for a in actions if a.get("remove", {}).get("path") not in added]


def _zeros(table: pa.Table) -> pa.Table:
    """Return zero for what a file lacks."""
    for at, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            table = table.set_column(at, table.column_names[at], pc.fill_null(column, 0))
        elif pa.types.is_string(kind):
            table = table.set_column(at, table.column_names[at], pc.fill_null(column, "0"))
    return table


def _displayed(field: Any) -> None:
    if _NAME in field["metadata"]:
        field["metadata"][_NAME] = field["name"]


def _no_vector(kind: str | None = None) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector or kind not in (None, vector["storageType"]):
            return body
        return {k: v for k, v in body.items() if k != "deletionVector"}

    # Both actions, or a removed file would be another than the one that was added.
    return lambda root, fresh: [each(k, change)(root, fresh) for k in ("add", "remove")] and None


def _descriptor(**changes: Any) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector:
            return body
        made = {k: f(vector) if callable(f) else f for k, f in changes.items()}
        return {**body, "deletionVector": {**vector, **made}}

    return lambda root, fresh: [each(k, change)(root, fresh) for k in ("add", "remove")] and None


def _by_group(marked: set[int], path: Path) -> set[int]:
    """Count rows from zero in every row group."""
    found, start = set(), 0
    for size in groups_of(path):
        found |= {start + n for n in marked if n < size}
        start += size
    return found


def _up_to_the_last(marked: set[int], path: Path) -> set[int]:
    return marked | {*range(max(marked, default=0), sum(groups_of(path)))}


def _without_runs(marked: set[int], _path: Path) -> set[int]:
    """Read no run: take neighbours for unmarked."""
    return {n for n in marked if n - 1 not in marked and n + 1 not in marked}


def _live_counts(body: dict[str, Any]) -> dict[str, Any]:
    """Take the count of nulls for one of live rows."""
    import json  # noqa: PLC0415

    vector = body.get("deletionVector")
    if not vector:
        return body

    def counted(document: dict[str, Any]) -> dict[str, Any]:
        live = document["numRecords"] - vector["cardinality"]
        counts = {
            k: document["numRecords"] if isinstance(n, int) and n >= live else n
            for k, n in document.get("nullCount", {}).items()
        }
        return {**document, "nullCount": counts}

    found = dict(body)
    if body.get("stats"):
        found["stats"] = json.dumps(counted(json.loads(body["stats"])))
    if body.get("stats_parsed"):
        found["stats_parsed"] = counted(body["stats_parsed"])
    return found


def _off(root: Path) -> bool:
    newest = [*bodies(root, "metaData")][-1:]
    name = "delta.enableDeletionVectors"
    return any(b.get("configuration", {}).get(name) != "true" for b in newest)


def _unnumbered(root: Path) -> bool:
    tracked = any(
        "rowTracking" in (b.get("writerFeatures") or ()) for b in bodies(root, "protocol")
    )
    return tracked and any(b.get("baseRowId") is None for b in bodies(root, "add"))


def _exposing(root: Path, fresh: frozenset[str]) -> None:
    """Show the columns that row tracking keeps in files."""
    names = {
        value
        for body in bodies(root, "metaData")
        for key, value in body.get("configuration", {}).items()
        if key.startswith("delta.rowTracking.materialized")
    }

    def change(tree: Any) -> None:
        for name in sorted(names):
            if all(field["name"] != name for field in tree["fields"]):
                column = {"name": name, "type": "long", "nullable": True, "metadata": {}}
                tree["fields"].append(column)

    schema(change)(root, fresh)


def for_changes(how: How) -> How:
    """Go wrong where changes are asked for."""
    return where_asked(lambda request: isinstance(request, Changes), how)


_ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
_ROW_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def _moved(name: str) -> Any:
    return properties(lambda p: p.update({name: "nowhere"}) if name in p else None)


def _reader_2(body: dict[str, Any]) -> bool:
    return bool(body.get("minReaderVersion") == 2)


ROWS = (
    reader(
        "counts-nulls-of-live-rows",
        "DVD-022",
        viewing(each("add", _live_counts)),
        "deletion-vectors/wide-null-counts/*",
    ),
    *(
        reader(
            f"counts-nulls-of-live-rows-{slug}",
            "DVD-022",
            viewing(each("add", _live_counts, CHECKPOINTS)),
            f"deletion-vectors/wide-null-counts-{slug}/*",
        )
        for slug in ("in-checkpoint", "in-checkpoint-as-struct")
    ),
    reader(
        "maps-columns-in-mode-none",
        "CM-023",
        viewing(only_when(_annotated, _mode("none", "name"))),
    ),
    reader(
        "takes-annotated-columns-for-mapped",
        "CM-024",
        viewing(only_when(_annotated, _mode("none", "name"))),
    ),
    reader(
        "takes-annotated-columns-for-mapped-without-a-mode",
        "CM-024",
        viewing(
            only_when(
                _annotated,
                properties(lambda p: p.update({_MODE: "name"}) if _MODE not in p else None),
            )
        ),
        "column-mapping/mode-none-with-annotations/*",
    ),
    reader("finds-columns-by-name-in-mode-id", "CM-025", viewing(_mode("id", "name"))),
    reader(
        "finds-columns-by-display-name-in-mode-id",
        "CM-025",
        viewing(_mode("id", "name"), fields(_displayed)),
    ),
    reader("finds-no-partition-values-in-mode-id", "CM-026", viewing(_nothing_there("id"))),
    reader("falls-back-to-names-in-mode-id", "CM-027", viewing(_mode("id", "name"))),
    reader("reads-on-after-any-type-change", "TW-013", viewing(fields(_without_changes))),
    reader(
        "minds-type-changes-of-columns-alone",
        "TW-013",
        viewing(schema(_changes_at_the_top)),
        "type-widening/unsupported-change-*",
    ),
    reader(
        "minds-the-last-type-change-alone",
        "TW-013",
        viewing(fields(_last_change)),
        "type-widening/unsupported-change-first/*",
    ),
    reader("fills-missing-ids-with-zero", "CM-028", rows(_zeros)),
    reader("finds-columns-by-display-name", "CM-029", viewing(fields(_displayed))),
    reader(
        "finds-no-partition-values-in-mode-name",
        "CM-030",
        viewing(_nothing_there("name")),
    ),
    reader("fills-missing-names-with-zero", "CM-031", rows(_zeros)),
    reader("finds-columns-by-id-in-mode-name", "CM-032", viewing(_mode("name", "id"))),
    reader(
        "knows-no-mapping-on-version-2",
        "RVER-001",
        viewing(
            only_when(
                lambda root: any(map(_reader_2, bodies(root, "protocol"))),
                fields(lambda f: f["metadata"].pop(_NAME, None)),
            )
        ),
    ),
    reader(
        "applies-vectors-while-they-are-on",
        "DV-004",
        viewing(only_when(_off, _no_vector())),
    ),
    reader("finds-no-vectors-at-absolute-paths", "DV-005", viewing(_no_vector("p"))),
    reader("finds-no-vectors-in-the-log", "DV-005", viewing(_no_vector("i"))),
    reader("finds-no-vectors-by-their-names", "DV-005", viewing(_no_vector("u"))),
    reader(
        "takes-the-prefix-for-nothing",
        "DVDESC-003",
        viewing(
            _descriptor(
                pathOrInlineDv=lambda v: (
                    v["pathOrInlineDv"][-20:] if v["storageType"] == "u" else v["pathOrInlineDv"]
                )
            )
        ),
    ),
    reader(
        "takes-absolute-vectors-for-relative",
        "DVDESC-015",
        viewing(
            _descriptor(
                pathOrInlineDv=lambda v: (
                    "/" + v["pathOrInlineDv"].rsplit("/", 1)[-1]
                    if v["storageType"] == "p"
                    else v["pathOrInlineDv"]
                )
            )
        ),
    ),
    reader(
        "looks-for-vectors-elsewhere",
        "DVDESC-016",
        viewing(renaming(VECTOR, lambda name: f"elsewhere/{name}")),
    ),
    reader(
        "takes-inline-vectors-for-names",
        "DVDESC-017",
        viewing(
            _descriptor(storageType=lambda v: "u" if v["storageType"] == "i" else v["storageType"])
        ),
    ),
    reader("ignores-vectors", "DVDESC-020", viewing(_no_vector())),
    reader("ends-at-the-last-marked-row", "DVDESC-020", viewing(vectors(_up_to_the_last))),
    reader("counts-rows-by-row-group", "DVDESC-021", viewing(vectors(_by_group))),
    reader("reads-no-runs", "DVFMT-007", viewing(vectors(_without_runs))),
    reader(
        "gives-whole-files-of-a-vector-pair",
        "DVD-008",
        for_changes(viewing(_no_vector())),
    ),
    reader(
        "deletes-again-what-a-vector-deleted",
        "DVD-008",
        for_changes(viewing(dropping("remove", "deletionVector", where=COMMIT))),
        "add-cdc-file/remove-with-vector/*",
    ),
    reader(
        "tells-no-deletes-of-a-vector-pair",
        "CDC-004",
        for_changes(viewing(lines(_without_removes_of_pairs, COMMIT))),
        "add-cdc-file/vector-*",
    ),
    reader("counts-on-row-ids", "RT-003", refusing(_unnumbered)),
    reader("shows-columns-of-row-tracking", "RT-017", viewing(_exposing)),
    reader(
        "shows-columns-of-row-tracking-in-changes",
        "RT-017",
        for_changes(viewing(_exposing)),
        "row-tracking/hidden-from-changes/*",
    ),
    reader("forgets-materialised-ids", "RT-023", viewing(_moved(_ROW_ID))),
    reader(
        "counts-ids-from-zero",
        "RT-024",
        viewing(each("add", lambda b: {**b, "baseRowId": 0} if b.get("baseRowId") else b)),
    ),
    reader("forgets-materialised-versions", "RT-025", viewing(_moved(_ROW_VERSION))),
    reader(
        "forgets-versions-of-files",
        "RT-026",
        viewing(
            each(
                "add",
                lambda b: (
                    {**b, "defaultRowCommitVersion": 0} if b.get("baseRowId") is not None else b
                ),
            )
        ),
    ),
    reader(
        "refuses-vacuumProtocolCheck",
        "VPC-003",
        refusing(
            lambda root: any(
                "vacuumProtocolCheck" in (b.get("readerFeatures") or ())
                for b in bodies(root, "protocol")
            )
        ),
    ),
    reader("fills-missing-columns", "DFT-004", rows(_zeros)),
)
