"""Adapter of delta-rs, through its Python package ``deltalake``.

Rows come from ``DeltaTable.scan``, the package's own reader (DataFusion over delta-kernel-rs), and
from the same by SQL in releases that have no such method, not from the bridge to PyArrow datasets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import deltalake
import pyarrow as pa
from deltalake.exceptions import DeltaError

from conformance.adapter import (
    Aggregate,
    Changes,
    Claims,
    Files,
    History,
    Scan,
    Snapshot,
    Txn,
    Write,
)
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import NotOfferedError, Refusals, Rule
from conformance.adapters.sql.text import DATAFUSION, SIDES, aggregates, query, render

_CLAIMS: Final = Claims(
    reader_version=3,
    writer_version=7,
    reader_features=frozenset(
        {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "variantType"}
    ),
    writer_features=frozenset(
        {
            "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants",
            "timestampNtz",
        }
    ),
    capabilities=frozenset(
        {
            "scan.version", "scan.timestamp", "scan.columns", "scan.filter", "snapshot.version",
            "snapshot.timestamp", "files.version", "files.timestamp", "aggregate.version",
            "files.size", "files.modification_time", "snapshot.id", "snapshot.name",
            "snapshot.description", "snapshot.created_time",
            "txn.version", "append.invariants", "overwrite.filter", "create.sql",
            "add_constraint.sql",
        }
    ),
)  # fmt: skip
_REFUSALS: Final = Refusals(
    errors=(DeltaError, OSError, ValueError, NotImplementedError),
    untyped=True,
    rules=(
        Rule(
            r"^NotImplementedError|Unsupported table features|[Nn]ot supported"
            r"|[Uu]nsupported (minimum )?writer|Table features must be specified"
            r"|Error parsing property",
            "unsupported",
        ),
        Rule(r"^TableNotFoundError|No files in log segment", "not_found", "load"),
        Rule(r"not the same as the specified end version", "not_found", "load"),
        Rule(r"Invariant violations|[Cc]onstraint|check failed", "constraint"),
        Rule(r"append[- ]only", "constraint", "commit"),
        Rule(r"^CommitFailedError.*([Cc]onflict|[Cc]oncurrent)", "conflict", "commit"),
    ),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _open(request: Any) -> deltalake.DeltaTable:
    table = deltalake.DeltaTable(request.table, version=getattr(request, "version", None))
    if getattr(request, "timestamp", None) is not None:
        table.load_as_version(_EPOCH + timedelta(milliseconds=request.timestamp))
    return table


def _snapshot(request: Snapshot) -> dict[str, Any]:
    table = _open(request)
    protocol, metadata = table.protocol(), table.metadata()
    # The package gives None for an absent list and for an empty one, so None says nothing.
    lists = {"readerFeatures": protocol.reader_features, "writerFeatures": protocol.writer_features}
    return {
        "version": table.version(),
        "protocol": {
            "minReaderVersion": protocol.min_reader_version,
            "minWriterVersion": protocol.min_writer_version,
            **{name: features for name, features in lists.items() if features is not None},
        },
        "metadata": {
            "id": str(metadata.id),
            "name": metadata.name,
            "description": metadata.description,
            "schemaString": table.schema().to_json(),
            "partitionColumns": list(metadata.partition_columns),
            "configuration": dict(metadata.configuration),
            "createdTime": metadata.created_time,
        },
    }


def _files(request: Files) -> list[dict[str, Any]]:
    adds = pa.table(_open(request).get_add_actions())
    named = {"path": "path", "size": "size_bytes", "modificationTime": "modification_time"}
    files: list[dict[str, Any]] = (
        adds.select(list(named.values())).rename_columns(list(named)).to_pylist()
    )
    return files


def _scan(request: Scan) -> pa.Table:
    table = _open(request)
    if not hasattr(table, "scan"):
        return _answered(table, query("asked", DATAFUSION, request.columns, request.filter))
    predicate = None if request.filter is None else render(request.filter, DATAFUSION)
    columns = None if request.columns is None else list(request.columns)
    return pa.table(table.scan(columns=columns, predicate=predicate))


def _answered(table: deltalake.DeltaTable, text: str) -> pa.Table:
    """Answer a query of a table that it calls ``asked``."""
    return pa.table(deltalake.QueryBuilder().register("asked", table).execute(text))


def _aggregate(request: Aggregate) -> pa.Table:
    return _answered(_open(request), aggregates("asked", DATAFUSION, request))


def _changes(request: Changes) -> pa.Table:
    rows = pa.table(
        deltalake.DeltaTable(request.table).load_cdf(
            starting_version=request.start, ending_version=request.end
        )
    )
    # The package writes the instant of a commit without its zone, which is UTC.
    index = rows.column_names.index("_commit_timestamp")
    instants = rows.column(index).cast(pa.timestamp("us", "UTC"))
    return rows.set_column(index, "_commit_timestamp", instants)


def _history(request: History) -> list[dict[str, Any]]:
    return [
        {key: commit.get(key) for key in ("version", "timestamp", "operation")}
        for commit in deltalake.DeltaTable(request.table).history(request.limit)
    ]


def _txn(request: Txn) -> Any:
    return _open(request).transaction_version(request.app_id)


def _committing(call: Callable[[Write], None]) -> Callable[[Write], dict[str, Any]]:
    """Let a write answer with the version that is the latest after it."""

    def write(request: Write) -> dict[str, Any]:
        call(request)
        return {"version": deltalake.DeltaTable(request.table).version()}

    return write


def _create(request: Write) -> None:
    arguments = request.arguments
    if arguments.get("clustering_columns"):
        raise NotOfferedError("deltalake clusters no tables")
    table = deltalake.DeltaTable.create(
        request.table,
        schema=deltalake.Schema.from_json(json.dumps(arguments["schema"])),
        mode="error",
        partition_by=list(arguments.get("partition_columns") or ()),
        configuration=dict(arguments.get("properties") or {}),
        raise_if_key_not_exists=False,
    )
    for feature in arguments.get("features") or ():
        table.alter.add_feature(_feature(feature), allow_protocol_versions_increase=True)
    if request.rows is not None:
        _append(request)


def _feature(name: str) -> Any:
    features = {str(known).rpartition(".")[2].lower(): known for known in _KNOWN_FEATURES}
    wanted = {"timestampntz": "timestampwithouttimezone"}.get(name.lower(), name.lower())
    if wanted not in features:
        raise NotOfferedError(f"deltalake has no table feature {name!r} to add")
    return features[wanted]


_KNOWN_FEATURES: Final = tuple(
    getattr(deltalake.TableFeatures, name)
    for name in dir(deltalake.TableFeatures)
    if name[0].isupper()
)


def _append(request: Write) -> None:
    deltalake.write_deltalake(request.table, request.rows, mode="append")


def _overwrite(request: Write) -> None:
    deltalake.write_deltalake(
        request.table, request.rows, mode="overwrite", predicate=_predicate(request)
    )


def _replace(request: Write) -> None:
    assert request.rows is not None
    # Metadata of Arrow fields becomes that of the columns.
    said = {
        each["name"]: {k: v for k, v in each.get("metadata", {}).items() if isinstance(v, str)}
        for each in request.arguments["schema"]["fields"]
    }
    fields = [each.with_metadata(said.get(each.name) or None) for each in request.rows.schema]
    deltalake.write_deltalake(
        request.table,
        request.rows.cast(pa.schema(fields)),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=list(request.arguments.get("partition_columns") or ()),
    )


def _predicate(request: Write) -> str | None:
    tree = request.arguments.get("filter")
    partition = request.arguments.get("partition")
    if tree is None and partition:
        raise NotOfferedError("deltalake overwrites by predicate, not by partition")
    return None if tree is None else render(tree, DATAFUSION)


def _delete(request: Write) -> None:
    deltalake.DeltaTable(request.table).delete(_predicate(request))


def _update(request: Write) -> None:
    deltalake.DeltaTable(request.table).update(
        updates={
            DATAFUSION.identifier(name): render(node, DATAFUSION)
            for name, node in request.arguments["set"].items()
        },
        predicate=_predicate(request),
    )


def _merge(request: Write) -> None:
    arguments = request.arguments
    merger = deltalake.DeltaTable(request.table).merge(
        source=request.rows,
        predicate=render(arguments["on"], DATAFUSION, SIDES),
        source_alias="source",
        target_alias="target",
    )
    for clause in arguments["when"]:
        method = f"when_{clause['match']}_{clause['action']}"
        given: dict[str, Any] = {}
        if "condition" in clause:
            given["predicate"] = render(clause["condition"], DATAFUSION, SIDES)
        if "set" in clause:
            given["updates"] = {
                DATAFUSION.identifier(name): render(node, DATAFUSION, SIDES)
                for name, node in clause["set"].items()
            }
        elif clause["action"] != "delete":
            method += "_all"
        merger = getattr(merger, method)(**given)
    merger.execute()


def _convert(request: Write) -> None:
    arguments = request.arguments
    names = list(arguments.get("partition_columns") or ())
    fields = [f for f in arguments["schema"]["fields"] if f["name"] in names]
    document = {"type": "struct", "fields": fields}
    deltalake.convert_to_deltalake(
        request.table,
        partition_by=deltalake.Schema.from_json(json.dumps(document)) if names else None,
        partition_strategy="hive" if names else None,
        configuration=dict(arguments.get("properties") or {}),
    )


def _optimize(table: deltalake.DeltaTable, arguments: Mapping[str, Any]) -> None:
    if arguments.get("purge"):
        raise NotOfferedError("deltalake compacts files, and purges none alone")
    table.optimize.compact()


def _add_columns(table: deltalake.DeltaTable, arguments: Mapping[str, Any]) -> None:
    table.alter.add_columns(deltalake.Schema.from_json(json.dumps(arguments["schema"])).fields)


def _set_nullable(table: deltalake.DeltaTable, arguments: Mapping[str, Any]) -> None:
    if not arguments["nullable"]:
        raise NotOfferedError("deltalake makes no column not null")
    table.alter.drop_column_not_null(arguments["column"])


def _on_table(
    call: Callable[[deltalake.DeltaTable, Mapping[str, Any]], Any],
) -> Callable[[Write], None]:
    """Lift a call on an open table to a write request."""

    def write(request: Write) -> None:
        call(deltalake.DeltaTable(request.table), request.arguments)

    return write


_READS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "snapshot": _snapshot,
    "files": _files,
    "scan": _scan,
    "aggregate": _aggregate,
    "changes": _changes,
    "history": _history,
    "txn": _txn,
}
_ON_TABLE: Final[Mapping[str, Callable[[deltalake.DeltaTable, Mapping[str, Any]], Any]]] = {
    "checkpoint": lambda table, _: table.create_checkpoint(),
    "cleanup": lambda table, _: table.cleanup_metadata(),
    "optimize": _optimize,
    "restore": lambda table, given: table.restore(given["version"]),
    "vacuum": lambda table, _: table.vacuum(dry_run=False),
    "compact_log": lambda table, given: table.compact_logs(given["start"], given["end"]),
    "generate_manifest": lambda table, _: table.generate(),
    "add_columns": _add_columns,
    "set_nullable": _set_nullable,
    "set_comment": lambda table, given: table.alter.set_column_metadata(
        given["column"], {"comment": given["comment"]}
    ),
    "add_constraint": lambda table, given: table.alter.add_constraint(
        {given["name"]: given["expression"]}
    ),
    "drop_constraint": lambda table, given: table.alter.drop_constraint(given["name"]),
    "enable_feature": lambda table, given: table.alter.add_feature(
        _feature(given["feature"]), allow_protocol_versions_increase=True
    ),
    "set_properties": lambda table, given: table.alter.set_table_properties(
        dict(given["properties"]), raise_if_not_exists=False
    ),
}
"""What is asked of an open table, with the arguments of the request."""

_WRITES: Final[Mapping[str, Callable[[Write], None]]] = {
    "create": _create,
    "append": _append,
    "overwrite": _overwrite,
    "replace": _replace,
    "delete": _delete,
    "update": _update,
    "merge": _merge,
    "convert": _convert,
    **{name: _on_table(call) for name, call in _ON_TABLE.items()},
}


def create() -> EngineAdapter:
    """Return the adapter of the installed ``deltalake``."""
    return EngineAdapter(
        name="deltalake",
        engine_version=deltalake.__version__,
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads=_READS,
        writes={name: _committing(call) for name, call in _WRITES.items()},
    )
