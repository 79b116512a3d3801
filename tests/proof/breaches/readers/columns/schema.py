"""Wrong readers of the schema and of metadata: fields, defaults, properties, new columns."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import COMMIT, Lines, each, lines, parquet, types, zeros_for_nulls
from breaches.model import reader
from breaches.seams import Edit, documents, rows, viewing, where_asked
from breaches.views import commits_of, replaying
from conformance.adapter import Scan, Snapshot


def _column_metadata(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep what was once said of a column beside what is said of it now."""
    found = []
    for action in actions:
        body = action.get("metaData")
        if body:
            tree = json.loads(body["schemaString"])
            for field in tree["fields"]:
                field["metadata"] = {**kept.get(field["name"], {}), **field["metadata"]}
                kept[field["name"]] = field["metadata"]
            body = {**body, "schemaString": json.dumps(tree)}
        found.append({"metaData": body} if body else action)
    return found


def _kept(key: str) -> Edit:
    """Keep a field of metadata where a later action has none."""

    def change(actions: Lines, kept: dict[Any, Any]) -> Lines:
        found: Lines = []
        for action in actions:
            body = action.get("metaData")
            if body is not None:
                kept[key] = body.get(key) or kept.get(key)
            found.append(action if body is None else {"metaData": {**body, key: kept[key]}})
        return found

    return replaying(change)


def _merged(actions: Lines, kept: dict[Any, Any]) -> Lines:
    for action in actions:
        if "metaData" in action:
            body, old = action["metaData"], kept.get("metaData", {})
            configuration = {**old.get("configuration", {}), **body.get("configuration", {})}
            kept["metaData"] = {**old, **body, "configuration": configuration}
            action["metaData"] = kept["metaData"]
    return [{**a} for a in actions]


def _with_default(table: pa.Table) -> pa.Table:
    if "later" in table.column_names:
        return table
    return table.append_column("later", pa.array([42] * len(table), pa.int32()))


def _merging(root: Path, fresh: frozenset[str]) -> None:
    kept: dict[Any, Any] = {}
    for version in commits_of(root):
        lines(partial(_merged, kept=kept), rf"_delta_log/{version:020}\.json")(root, fresh)


def _usual_decimal(request: Any, payload: Any) -> Any:
    """Leave out the digits of a decimal that is as most are."""
    if not isinstance(request, Snapshot):
        return payload
    schema = payload["metadata"]["schemaString"].replace('"decimal(10,0)"', '"decimal"')
    return {**payload, "metadata": {**payload["metadata"], "schemaString": schema}}


ROWS = (
    reader(
        "gives-decimals-of-usual-digits-without-them",
        "REC-003",
        documents(_usual_decimal),
        "parquet-type-mappings/decimal-10-0-extremes/*",
    ),
    reader("merges-metadata", "META-002", viewing(_merging)),
    reader(
        "reads-by-properties-left-out",
        "META-002",
        where_asked(lambda request: isinstance(request, Scan), viewing(_merging)),
        "column-mapping/*",
    ),
    reader("fills-missing-columns", "DFT-004", rows(zeros_for_nulls)),
    reader(
        "fills-defaults-in-filters",
        "DFT-004",
        where_asked(
            lambda asked: isinstance(asked, Scan) and asked.filter is not None,
            viewing(parquet(_with_default)),
        ),
        "default-columns/defaults-do-not-affect-reads/*",
    ),
    reader(
        "takes-structs-without-fields-for-empty",
        "SCH-022",
        viewing(types("struct", lambda of: of.setdefault("fields", []))),
        "mutations/schema-no-fields-within/*",
    ),
    reader(
        "keeps-the-time-of-creation",
        "META-002",
        viewing(each("metaData", lambda body: {"createdTime": 1_700_000_000_000, **body}, COMMIT)),
        "action-reconciliation/metadata-replaced-whole/*",
    ),
    reader(
        "keeps-metadata-of-columns",
        "META-002",
        viewing(replaying(_column_metadata)),
        "action-reconciliation/metadata-replaced-whole/*",
    ),
    *(
        reader(f"keeps-{slug}-that-is-gone", "META-002", viewing(_kept(key)), case)
        for slug, key, case in (
            ("a-description", "description", "action-reconciliation/metadata-replaced-whole/*"),
            ("partitioning", "partitionColumns", "change-metadata/missing-field-in-new-schema/*"),
        )
    ),
)
