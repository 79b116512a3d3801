"""Wrong readers of row tracking: ids and commit versions of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    MAPPING_MODE,
    SIDECAR,
    dropping,
    each,
    matching,
    only_when,
    parquet,
    properties,
    schema,
)
from breaches.model import Ask, How, reader
from breaches.seams import by_request, for_changes, refusing, rows, viewing, where_asked
from breaches.views import BATCH, bodies, having
from conformance.adapter import Answer, Ok, Request, Scan


def _ids(change: Callable[[Any], Any]) -> How:
    def changed(table: pa.Table) -> pa.Table:
        if "_row_id" not in table.column_names:
            return table
        at = table.schema.get_field_index("_row_id")
        values = [change(n) for n in table["_row_id"].to_pylist()]
        return table.set_column(at, "_row_id", pa.array(values, pa.int64()))

    return rows(changed)


def _untracked_files(root: Path) -> bool:
    """Return whether files have no row ids though the table says that it does not track rows."""
    off = [b["configuration"].get("delta.enableRowTracking") for b in bodies(root, "metaData")]
    return "false" in off and any("baseRowId" not in b for b in bodies(root, "add"))


def _no_ids(table: pa.Table) -> pa.Table:
    return table.drop_columns([n for n in table.column_names if n.startswith("_row-id-col")])


def _narrow_ids(table: pa.Table) -> pa.Table:
    """Read materialised ids as whole numbers of 32 bits."""
    for at, name in enumerate(table.column_names):
        if name.startswith("_row-id-col"):
            held = [n if n is None else n % 2**32 for n in table[name].to_pylist()]
            table = table.set_column(at, name, pa.array(held, pa.int64()))
    return table


def _later_in(root: Path) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Add to the default version of files that have a column of versions."""

    def later(body: dict[str, Any]) -> dict[str, Any]:
        names = pq.read_schema(root / unquote(body["path"])).names
        held = any(name.startswith("_row-commit-version-col") for name in names)
        number = body["defaultRowCommitVersion"]
        return {**body, "defaultRowCommitVersion": number + 1000} if held else body

    return later


@by_request
def _null_versions(ask: Ask, request: Request) -> Answer:
    """Take a null in the column of versions for the version of the row."""
    answer = ask(request)
    if not (isinstance(request, Scan) and request.row_ids and isinstance(answer, Ok)):
        return answer
    # Only rows of files with the column have what they have by way of the add's default.
    moved = viewing(lambda root, fresh: each("add", _later_in(root))(root, fresh))(ask)(request)
    name, rows = "_row_commit_version", answer.payload
    pairs = zip(rows[name].to_pylist(), moved.payload[name].to_pylist(), strict=True)
    own = pa.array([a if a == b else None for a, b in pairs], pa.int64())
    return Ok(rows.set_column(rows.schema.get_field_index(name), name, own))


def _names_no_version(request: Request) -> bool:
    return isinstance(request, Scan) and request.version is None


def _has_vectors(root: Path) -> object:
    return any(body.get("deletionVector") for body in bodies(root, "add"))


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


_ROW_ID = "delta.rowTracking.materializedRowIdColumnName"


_ROW_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def _moved(name: str) -> Any:
    return properties(lambda p: p.update({name: "nowhere"}) if name in p else None)


def _by_this_commit(root: Path, fresh: frozenset[str]) -> None:
    """Take the version of the commit for that of the rows."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)

        def change(body: dict[str, Any], version: int = version) -> dict[str, Any]:
            known = "defaultRowCommitVersion" in body
            return {**body, "defaultRowCommitVersion": version} if known else body

        each("add", change, name.replace(".", r"\."))(root, fresh)


@by_request
def _numbered_again(ask: Ask, request: Request) -> Answer:
    """Count ids from the first row that a filter left."""
    answer = ask(request)
    filtered = isinstance(request, Scan) and request.row_ids and request.filter is not None
    if not filtered or not isinstance(answer, Ok):
        return answer
    at = answer.payload.schema.get_field_index("_row_id")
    fresh = pa.array(range(answer.payload.num_rows), pa.int64())
    return Ok(answer.payload.set_column(at, "_row_id", fresh))


def _only_with_ids(table: pa.Table) -> pa.Table:
    """Take the version of a row where the row has an id."""
    names = {name.rpartition("-col")[0].lstrip("_"): name for name in table.column_names}
    version, number = names.get("row-commit-version"), names.get("row-id")
    if version is None:
        return table
    at, nothing = table.schema.get_field_index(version), pa.scalar(None, pa.int64())
    held = pa.nulls(len(table), pa.int64())
    if number is not None:
        held = pc.if_else(pc.is_valid(table[number]), table[version], nothing)
    return table.set_column(at, version, held)


def _all_or_none(table: pa.Table) -> pa.Table:
    """Take the ids of a file where every row of it has one."""
    for at, name in enumerate(table.column_names):
        if name.startswith("_row-id-col") and table[name].null_count:
            table = table.set_column(at, name, pa.nulls(len(table), pa.int64()))
    return table


_HIDDEN = "delta.rowTracking.materializedRow"


def _without_hidden(root: Path, fresh: frozenset[str], *, mapped: bool) -> None:
    """Find no hidden column without a field id, or none without the usual prefix."""
    *_, newest = bodies(root, "metaData")
    given = newest["configuration"]
    names = [value for key, value in given.items() if key.startswith(_HIDDEN)]
    lost = [n for n in names if mapped or not n.startswith("_row-")]
    if not mapped or given.get(MAPPING_MODE) == "id":
        parquet(lambda t: t.select([n for n in t.column_names if n not in lost]))(root, fresh)


ROWS = (
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
        "counts-ids-from-each-batch",
        "RT-024",
        _ids(lambda n: n if n is None else n % BATCH),
        "row-tracking/*",
    ),
    reader(
        "counts-ids-where-there-are-none",
        "RT-003",
        _ids(lambda n: 0 if n is None else n),
        "row-tracking/supported-not-enabled/*",
    ),
    *(
        reader(f"forgets-materialised-ids-{slug}", "RT-023", how, "row-tracking/*")
        for slug, how in (
            ("after-checkpoints", viewing(only_when(having("*.checkpoint*"), parquet(_no_ids)))),
            ("in-compactions", viewing(only_when(having("*.compacted.json"), parquet(_no_ids)))),
            ("under-vectors", viewing(only_when(_has_vectors, parquet(_no_ids)))),
            ("of-the-latest-version", where_asked(_names_no_version, viewing(parquet(_no_ids)))),
            ("beyond-32-bits", viewing(parquet(_narrow_ids))),
        )
    ),
    reader(
        "counts-on-row-ids-where-turned-off",
        "RT-003",
        refusing(_untracked_files),
        "row-tracking/supported-turned-off/*",
    ),
    reader(
        "takes-null-versions-as-they-are",
        "RT-026",
        _null_versions,
        "row-tracking/null-versions/*",
    ),
    reader("dates-rows-by-the-last-commit", "RT-026", viewing(_by_this_commit)),
    reader("numbers-what-a-filter-left", "RT-024", _numbered_again, "row-tracking/*"),
    reader(
        "takes-ids-of-all-rows-or-none",
        "RT-023",
        viewing(parquet(_all_or_none)),
        "row-tracking/ids-of-some-rows/*",
    ),
    reader(
        "takes-versions-of-rows-with-ids",
        "RT-025",
        viewing(parquet(_only_with_ids)),
        "row-tracking/versions-*",
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
)
