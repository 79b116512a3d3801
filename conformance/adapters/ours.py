"""Adapter of the reference implementation.

Covers every section: it is judged like any other implementation, and refuses by raising its own
typed errors, whose kind and stage become the refusal's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.adapter import (
    FILE_KEYS,
    METADATA_KEYS,
    READ_OPERATIONS,
    Aggregate,
    Answer,
    Changes,
    Claims,
    DomainMetadata,
    Files,
    History,
    Ok,
    Refused,
    Scan,
    Snapshot,
    Stage,
    Txn,
    Write,
)
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals
from conformance.adapters.sql.text import SIDES, SPARK, render
from conformance.base.home import kit_version
from generators.oracle.delta_schema import type_of
from generators.oracle.filters import in_partition
from generators.oracle.literals import decode
from reference_impl import (
    DeltaError,
    InlineCommit,
    RatifiedCommits,
    Sql,
    StagedCommit,
    Table,
    When,
    read_table,
)
from reference_impl.model.features import WRITABLE_FEATURES
from reference_impl.write.checkpoints.write import Style
from schemas.features import FEATURES

_CAPABILITIES: Final = frozenset(
    {
        f"{operation}.{point}"
        for operation in ("scan", "snapshot", "files")
        for point in ("version", "timestamp")
    }
    | {"aggregate.version"}
    | {f"{operation}.ratified" for operation in READ_OPERATIONS}
    | FILE_KEYS.keys()
    | METADATA_KEYS.keys()
    | {"scan.columns", "scan.filter", "scan.row_ids", "changes.column_mapping", "checkpoint.kind"}
    | {"create.sql", "add_constraint.sql"}
    | {f"{operation}.txn" for operation in ("append", "overwrite", "delete", "update", "merge")}
    | {"append.invariants", "txn.version", "domain_metadata.version"}
    | {"overwrite.filter", "overwrite.partition", "optimize.purge"}
    | {"set_nullable.required"}
)


def _ratified(document: Mapping[str, Any] | None) -> RatifiedCommits | None:
    if document is None:
        return None
    commits: list[StagedCommit | InlineCommit] = [
        StagedCommit(each["staged"])
        if "staged" in each
        else InlineCommit(each["version"], each["content"].encode())
        for each in document["commits"]
    ]
    return RatifiedCommits(document["latest"], commits)


def _table(request: Snapshot | Files | Changes | History | Txn | DomainMetadata) -> Table:
    return Table(request.table, ratified=_ratified(request.ratified))


def _snapshot(request: Snapshot) -> Any:
    snapshot = _table(request).snapshot(request.version, request.timestamp)
    # The log is valid only when its file actions are: a snapshot that cannot be planned is invalid.
    snapshot.adds()
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol.to_wire(),
        "metadata": snapshot.metadata.to_wire(),
    }


def _files(request: Files) -> Any:
    snapshot = _table(request).snapshot(request.version, request.timestamp)
    return [_file(row) for row in snapshot.adds().to_pylist(maps_as_pydicts="strict")]


def _file(row: Mapping[str, Any]) -> dict[str, Any]:
    stats = row["stats"]
    return {**row, "stats": None if stats is None else json.loads(stats)}


def _scan(request: Scan) -> Any:
    return read_table(
        request.table,
        version=request.version,
        timestamp=request.timestamp,
        columns=request.columns,
        filter=request.filter if request.filter is not None else request.predicate,
        row_ids=request.row_ids,
        ratified=_ratified(request.ratified),
    )


def _aggregate(request: Aggregate) -> Any:
    ratified = _ratified(request.ratified)
    rows = read_table(
        request.table, version=request.version, columns=request.columns, ratified=ratified
    )
    found = {"count": pa.array([len(rows)], pa.int64())}
    for alias, function, name in request.extremes:
        column = rows.column(name)
        found[alias] = pa.array([getattr(pc, function)(column)], column.type)
    return pa.table(found)


def _changes(request: Changes) -> Any:
    return _table(request).changes(request.start, request.end)


def _history(request: History) -> Any:
    return [
        {"version": commit.version, "timestamp": commit.timestamp, "operation": commit.operation}
        for commit in _table(request).history(request.limit)
    ]


def _txn(request: Txn) -> Any:
    found = _table(request).snapshot(request.version).txns.get(request.app_id)
    return None if found is None else found.version


def _domain_metadata(request: DomainMetadata) -> Any:
    found = _table(request).snapshot(request.version).domain_metadata.get(request.domain)
    return None if found is None else found.configuration


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "snapshot": _snapshot,
    "files": _files,
    "scan": _scan,
    "aggregate": _aggregate,
    "changes": _changes,
    "history": _history,
    "txn": _txn,
    "domain_metadata": _domain_metadata,
}


def _definition(request: Write, *optional: str) -> dict[str, Any]:
    """Return the schema that a table is to have, and which other arguments are given."""
    given = request.arguments
    return {"schema": given["schema"]} | {name: given[name] for name in optional if given.get(name)}


def _filter(request: Write) -> Any:
    """Return the filter of a write, or that of the partition which it names."""
    given = request.arguments
    if given.get("partition"):
        schema = Table(request.table).snapshot().schema
        return in_partition(given["partition"], {f.name: str(f.type) for f in schema.fields})
    return given.get("filter") or given.get("predicate")


def _values(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values to set: constants as they are, other nodes as SQL."""
    return {
        name: decode(type_of(node["type"]), node["literal"])
        if "literal" in node
        else Sql(render(node, SPARK, SIDES))
        for name, node in nodes.items()
    }


def _merge(table: Table, request: Write) -> int:
    given = request.arguments
    clauses = [
        When(
            each["match"],
            each["action"],
            render(each["condition"], SPARK, SIDES) if "condition" in each else None,
            _values(each["set"]) if "set" in each else None,
        )
        for each in given["when"]
    ]
    condition = render(given["on"], SPARK, SIDES)
    return table.merge(request.rows, condition, clauses, txn=_progress(request))


def _keeping_version(table: Table, work: Callable[[], object]) -> int:
    """Run an operation that commits nothing, and return the version."""
    work()
    return table.latest_version()


def _calling(method: str, *names: str, **keywords: str) -> Callable[[Table, Write], int]:
    """Return a function that calls a method of the table with arguments of the request."""

    def call(table: Table, request: Write) -> int:
        given = request.arguments
        options = {keyword: given[name] for keyword, name in keywords.items()}
        made: int = getattr(table, method)(*(given[name] for name in names), **options)
        return made

    return call


def _progress(request: Write) -> tuple[str, int] | None:
    given = request.arguments.get("txn")
    return None if given is None else (given["app_id"], given["txn_version"])


_WRITERS: Final[Mapping[str, Callable[[Table, Write], int]]] = {
    "create": lambda table, request: table.create(
        **_definition(request, "partition_columns", "properties", "features", "clustering_columns"),
        rows=request.rows,
    ),
    "convert": lambda table, request: table.convert(
        **_definition(request, "partition_columns", "properties")
    ),
    "append": lambda table, request: table.append(request.rows, txn=_progress(request)),
    "overwrite": lambda table, request: table.overwrite(
        request.rows, _filter(request), txn=_progress(request)
    ),
    "delete": lambda table, request: table.delete(_filter(request), txn=_progress(request)),
    "update": lambda table, request: table.update(
        _values(request.arguments["set"]), _filter(request), txn=_progress(request)
    ),
    "merge": _merge,
    "replace": lambda table, request: table.replace(
        **_definition(request, "partition_columns"), rows=request.rows
    ),
    "restore": _calling("restore", "version"),
    "optimize": lambda table, request: table.optimize(
        purge_only=bool(request.arguments.get("purge"))
    ),
    "vacuum": lambda table, _: _keeping_version(table, table.vacuum),
    "cleanup": lambda table, _: _keeping_version(table, table.clean_log),
    "checkpoint": lambda table, request: table.checkpoint(_style(request.arguments)),
    "compact_log": lambda table, request: _keeping_version(
        table, lambda: table.compact_log(request.arguments["start"], request.arguments["end"])
    ),
    "generate_manifest": lambda table, _: _keeping_version(table, table.generate_manifest),
    "set_properties": _calling("set_properties", "properties"),
    "unset_properties": _calling("unset_properties", "names"),
    "set_txn": _calling("set_transaction", "app_id", "txn_version"),
    "set_domain_metadata": _calling("set_domain", "domain", "configuration"),
    "add_columns": _calling("add_columns", "schema"),
    "rename_column": _calling("rename_column", "column", "name"),
    "drop_column": _calling("drop_column", "column"),
    "reorder_columns": _calling("reorder_columns", "columns"),
    "change_type": _calling("change_type", "column", "type"),
    "set_nullable": _calling("set_nullable", "column", nullable="nullable"),
    "set_comment": _calling("set_comment", "column", "comment"),
    "set_default": _calling("set_default", "column", "expression"),
    "add_constraint": _calling("add_constraint", "name", "expression"),
    "drop_constraint": _calling("drop_constraint", "name"),
    "enable_feature": lambda table, request: table.set_properties(
        {}, features=[request.arguments["feature"]]
    ),
    "drop_feature": _calling("drop_feature", "feature"),
    "cluster_by": _calling("cluster_by", "columns"),
}


def _style(given: Mapping[str, Any]) -> Style | None:
    """Return the kind of checkpoint that is asked for; ``None`` leaves it to the table."""
    kind, sidecars = given.get("kind"), given.get("sidecars", 0)
    match kind:
        case None:
            return None
        case "multi-part":
            return Style(parts=given["parts"])
        case _:
            return Style(
                "v2",
                "json" if kind == "v2-json" else "parquet",
                sidecars,
                classic=kind == "v2-classic",
            )


class _TypedRefusals(Refusals):
    """The implementation's own errors, which carry kind and stage."""

    def answer(self, call: Callable[[], Any], stage: Stage | None = None) -> Answer:
        """Answer with what a call gives, or with the error that it raises."""
        del stage  # the error knows better
        try:
            return Ok(call())
        except DeltaError as error:
            return Refused(error.kind, error.stage, str(error))


def _committing(call: Callable[[Table, Write], int]) -> Callable[[Write], dict[str, int]]:
    return lambda request: {"version": call(Table(request.table), request)}


def create() -> EngineAdapter:
    """Return the adapter; it claims the features that the registry says are implemented."""
    reader = {f.name for f in FEATURES.values() if f.kind == "reader_writer"}
    claims = Claims(
        reader_version=3,
        writer_version=7,
        reader_features=frozenset(reader),
        writer_features=WRITABLE_FEATURES,
        capabilities=_CAPABILITIES,
    )
    return EngineAdapter(
        name="ours",
        engine_version=kit_version(),
        claims=claims,
        refusals=_TypedRefusals(errors=(DeltaError,)),
        reads=_READERS,
        writes={name: _committing(call) for name, call in _WRITERS.items()},
    )
