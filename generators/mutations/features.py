"""Tables that break the rules of one feature: change feed, row tracking, timestamps, domains.

Serves "Add CDC File", "Row Tracking", "In-Commit Timestamps", "Commit Provenance Information",
"Transaction Identifiers", "Domain Metadata", "Column Mapping" and "Timestamp without timezone".
Most bind writers alone: a reader gives the rows all the same, and an audit reports it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import write_commit
from generators.mutations.bases import (
    CHANGE_FEED,
    MAPPED_BY_ID,
    ROW_TRACKED,
    TIMED,
    WIDENED,
)
from generators.mutations.edits import (
    add_line,
    add_lines,
    commit_path,
    drop_action,
    edit_action,
    edit_schema,
    set_fields,
    without,
)
from generators.mutations.mutation import Change, Chapter

_CHANGES: Final = Chapter("add-cdc-file", CHANGE_FEED)
_CHANGE_FILES: Final = Chapter("change-data-files", CHANGE_FEED)
_ROWS: Final = Chapter("row-tracking", ROW_TRACKED)
_TIMES: Final = Chapter("in-commit-timestamps", TIMED)
_PROVENANCE: Final = Chapter("commit-provenance-information")
_TRANSACTIONS: Final = Chapter("transaction-identifiers")
_DOMAINS: Final = Chapter("domain-metadata")
_MAPPING: Final = Chapter("column-mapping")
_ZONELESS: Final = Chapter("timestamp-ntz")
_WIDENING: Final = Chapter("type-widening", WIDENED)

_NO_ROW: Final = "the action says nothing about rows, yet it is not what the text calls one"
_OF_WRITERS: Final = "the text binds the writer and says nothing to a reader of rows"

_UPDATE: Final = 2
"""The version of the change feed base that carries a cdc action."""


def _change_file(root: Path, builder: TableBuilder) -> Path:
    body = next(each["cdc"] for each in builder.commits[_UPDATE] if "cdc" in each)
    return root / unquote(body["path"])


def _without_change_type(root: Path, builder: TableBuilder) -> None:
    path = _change_file(root, builder)
    pq.write_table(pq.read_table(path).drop_columns(["_change_type"]), path)
    set_fields(_UPDATE, "cdc", size=path.stat().st_size)(root, builder)


def _unknown_change_type(root: Path, builder: TableBuilder) -> None:
    path = _change_file(root, builder)
    table = pq.read_table(path)
    kinds = pa.array(["upsert"] * table.num_rows)
    pq.write_table(table.drop_columns(["_change_type"]).append_column("_change_type", kinds), path)
    set_fields(_UPDATE, "cdc", size=path.stat().st_size)(root, builder)


def _change_file_gone(root: Path, builder: TableBuilder) -> None:
    _change_file(root, builder).unlink()


def _without_field_ids(root: Path, builder: TableBuilder) -> None:
    """Rewrite a data file so that its columns carry no field ids."""
    file = next(iter(builder.files.values()))
    path = root / unquote(file.path)
    table = pq.read_table(path)
    bare = pa.schema([pa.field(each.name, _bare(each.type)) for each in table.schema])
    pq.write_table(pa.Table.from_arrays(table.columns, schema=bare), path, store_schema=False)

    def resized(body: dict[str, Any]) -> None:
        if body["path"] == file.path:
            body["size"] = path.stat().st_size

    edit_action(1, "add", resized, every=True)(root, builder)


def _bare(data_type: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(data_type):
        return data_type
    shape: Any = data_type
    return pa.struct([pa.field(each.name, _bare(each.type)) for each in shape])


def _timestamp_back(root: Path, builder: TableBuilder) -> None:
    earlier = builder.time_of(0) - 5
    set_fields(builder.version, "commitInfo", inCommitTimestamp=earlier)(root, builder)


def _commit_info_last(root: Path, builder: TableBuilder) -> None:
    path = commit_path(root, builder.version)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*rest, first]), encoding="utf-8")


def _domain_next(text: str) -> Change:
    """Commit one more version that records the row id high water mark."""

    def change(root: Path, builder: TableBuilder) -> None:
        body = {"domain": "delta.rowTracking", "configuration": text, "removed": False}
        write_commit(root, builder.version + 1, [{"domainMetadata": body}])

    return change


def _transaction_back(root: Path, builder: TableBuilder) -> None:
    for step, version in enumerate((7, 3), start=1):
        body = {"appId": "app", "version": version}
        write_commit(root, builder.version + step, [{"txn": body}])


def _without_features(*names: str) -> Change:
    def edit(body: dict[str, Any]) -> None:
        body["writerFeatures"] = [each for each in body["writerFeatures"] if each not in names]

    return edit_action(0, "protocol", edit)


def _zoneless(schema: dict[str, Any]) -> None:
    column = {"name": "t", "type": "timestamp_ntz", "nullable": True, "metadata": {}}
    schema["fields"].append(column)


def _property(name: str, value: str) -> Change:
    return edit_action(0, "metaData", lambda body: body["configuration"].update({name: value}))


def _without_property(part: str) -> Change:
    def edit(body: dict[str, Any]) -> None:
        kept = {key: text for key, text in body["configuration"].items() if part not in key}
        body["configuration"] = kept

    return edit_action(0, "metaData", edit)


MUTATIONS: Final = (
    _CHANGES.survived(
        "change-file-missing",
        "a change data file is gone; the rows need it not",
        "CDC-001 SNAP-004",
        _change_file_gone,
    ),
    _CHANGES.survived(
        "change-action-changes-data",
        "a cdc action says dataChange true",
        "CDC-009",
        set_fields(_UPDATE, "cdc", dataChange=True),
        noticed_by="audit",
    ),
    _CHANGES.contested(
        "change-action-without-path",
        "a cdc action has no path",
        "CDC-005",
        without(_UPDATE, "cdc", "path"),
        reason=_NO_ROW,
    ),
    _CHANGE_FILES.survived(
        "change-type-missing",
        "a change data file has no _change_type column",
        "CDFF-007",
        _without_change_type,
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _CHANGE_FILES.survived(
        "change-type-unknown",
        "a change data file has a _change_type that does not exist",
        "CDFF-008",
        _unknown_change_type,
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _ROWS.survived(
        "row-ids-without-base",
        "an add of a row-tracked table has no baseRowId",
        "RT-028",
        without(1, "add", "baseRowId"),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _ROWS.survived(
        "row-ids-overlap",
        "two files of a row-tracked table share row ids",
        "RT-029 RT-039",
        set_fields(2, "add", baseRowId=0),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _ROWS.survived(
        "row-ids-without-commit-version",
        "an add of a row-tracked table has no defaultRowCommitVersion",
        "RT-040",
        without(1, "add", "defaultRowCommitVersion"),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _ROWS.survived(
        "row-ids-above-the-mark",
        "row ids are above the recorded high water mark",
        "RT-037 RT-036",
        drop_action(2, "domainMetadata"),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _ROWS.survived(
        "row-ids-mark-not-json",
        "the high water mark is recorded as a text that is not JSON",
        "RT-034 RT-035",
        _domain_next("high"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader that serves row ids may need the mark",
    ),
    _ROWS.survived(
        "row-ids-without-domain-feature",
        "row tracking is listed without domainMetadata",
        "RT-007",
        _without_features("domainMetadata"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader that serves row ids may need what the feature depends on",
    ),
    _ROWS.survived(
        "row-ids-without-column-names",
        "row tracking is on and names no hidden columns",
        "RT-042",
        _without_property("materialized"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="without the names a reader cannot find ids that files may hold",
    ),
    _TIMES.survived(
        "time-missing",
        "a commit has no in-commit timestamp",
        "ICT-005 ICT-007",
        without(1, "commitInfo", "inCommitTimestamp"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader that orders versions by time has no time for one of them",
    ),
    _TIMES.survived(
        "time-without-commit-info",
        "a commit with timestamps has no commitInfo",
        "ICT-005",
        drop_action(1, "commitInfo"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader that orders versions by time has no time for one of them",
    ),
    _TIMES.survived(
        "time-goes-back",
        "the in-commit timestamp of the last commit goes back",
        "ICT-009 ICT-008",
        _timestamp_back,
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OF_WRITERS,
    ),
    _TIMES.survived(
        "time-not-first",
        "commitInfo is the last action of a commit with timestamps",
        "ICT-006",
        _commit_info_last,
        noticed_by="audit",
        tolerated=("refused",),
        reason="a reader may look for the timestamp in the first line alone",
    ),
    _PROVENANCE.survived(
        "provenance-of-any-shape",
        "commitInfo holds values of other types than engines write",
        "CINFO-002 CINFO-003",
        edit_action(
            2,
            "commitInfo",
            lambda _body: {
                "operation": ["WRITE", 7],
                "timestamp": "yesterday",
                "operationParameters": "none",
                "future": {"deep": [1, {"a": None}]},
            },
        ),
    ),
    _PROVENANCE.survived(
        "provenance-absent",
        "no commit has a commitInfo",
        "CINFO-001",
        drop_action(2, "commitInfo"),
    ),
    _TRANSACTIONS.survived(
        "transaction-goes-back",
        "a later txn has a lower version than the one before",
        "TXN-005",
        _transaction_back,
    ),
    _TRANSACTIONS.contested(
        "transaction-without-application",
        "a txn action has no appId",
        "TXN-001",
        add_line(2, {"txn": {"version": 1}}),
        reason=_NO_ROW,
    ),
    _TRANSACTIONS.contested(
        "transaction-version-is-text",
        "the version of a txn action is a word",
        "TXN-002",
        add_line(2, {"txn": {"appId": "app", "version": "one"}}),
        reason=_NO_ROW,
    ),
    _DOMAINS.contested(
        "domain-without-name",
        "a domainMetadata action has no domain",
        "DOM-001",
        add_line(2, {"domainMetadata": {"configuration": "{}", "removed": False}}),
        reason=_NO_ROW,
    ),
    _DOMAINS.survived(
        "domain-of-the-system-unknown",
        "a commit sets a system domain that no revision knows",
        "PROTO-010 DOM-011 DOM-007",
        add_lines(
            2,
            {
                "domainMetadata": {
                    "domain": "delta.ofTheFuture",
                    "configuration": json.dumps({"key": 1}),
                    "removed": False,
                }
            },
        ),
        base=ROW_TRACKED,
        noticed_by="audit",
    ),
    _MAPPING.survived(
        "mapping-without-protocol",
        "the mapping mode is set and the protocol does not support it",
        "CM-006",
        _property("delta.columnMapping.mode", "name"),
        noticed_by="audit",
    ),
    _MAPPING.contested(
        "mapping-by-id-without-ids",
        "a data file of a table mapped by id has no field ids",
        "CM-027 CM-015",
        _without_field_ids,
        base=MAPPED_BY_ID,
        reason="the text leaves a reader two ways: refuse, or null in every column",
        open=True,
    ),
    _ZONELESS.contested(
        "zoneless-without-feature",
        "a zone-less timestamp column stands without its feature",
        "NTZ-002",
        edit_schema(_zoneless),
        reason="the type has a name; a reader that knows it can read the table",
        open=True,
    ),
    _WIDENING.survived(
        "widening-unrecorded",
        "a widened column carries no record of its change",
        "TW-006 TW-012",
        edit_schema(lambda schema: schema["fields"][0].update(metadata={}), version=2),
        tolerated=("refused",),
        reason="the record is what tells a reader that the narrower files are meant",
    ),
)
