"""Adapter of the reference implementation.

Serves every section: it is judged like any other implementation, and refuses by raising its own
typed errors, whose kind and stage become the refusal's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.adapter import (
    READ_OPERATIONS,
    Answer,
    Changes,
    Claims,
    Description,
    DomainMetadata,
    Files,
    History,
    Ok,
    Refused,
    Request,
    Scan,
    Snapshot,
    Txn,
    Write,
    operation_of,
)
from conformance.adapters.sql.text import SIDES, SPARK, render
from conformance.base.version import kit_version
from conformance.golden.partition_filter import in_partition
from generators.oracle.delta_schema import type_of
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
from reference_impl.model.features import WRITTEN
from reference_impl.write.checkpoints.write import Style
from schemas.features import FEATURES

__all__ = ["create"]

_READER_VERSION: Final = 3
_WRITER_VERSION: Final = 7
_CAPABILITIES: Final = frozenset(
    {
        f"{operation}.{point}"
        for operation in ("scan", "snapshot", "files")
        for point in ("version", "timestamp")
    }
    | {f"{operation}.ratified" for operation in READ_OPERATIONS}
    | {"scan.columns", "scan.filter", "scan.row_ids", "checkpoint.kind"}
    | {"txn.version", "domain_metadata.version"}
    | {"overwrite.filter", "overwrite.partition", "optimize.purge", "set_nullable.required"}
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
    # The log is valid only when its file actions are: a snapshot that nobody can plan is invalid.
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
    "changes": _changes,
    "history": _history,
    "txn": _txn,
    "domain_metadata": _domain_metadata,
}


def _create(table: Table, request: Write) -> int:
    given = request.arguments
    return table.create(
        given["schema"],
        partition_columns=given.get("partition_columns") or (),
        properties=given.get("properties") or {},
        features=given.get("features") or (),
        clustering_columns=given.get("clustering_columns") or (),
        rows=request.rows,
    )


def _filter(request: Write) -> Any:
    """Give the filter of a write, of a partition where it is given so."""
    given = request.arguments
    if given.get("partition"):
        schema = Table(request.table).snapshot().schema
        return in_partition(given["partition"], {f.name: str(f.type) for f in schema.fields})
    return given.get("filter") or given.get("predicate")


def _values(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Give values to set: a constant as it is, another node as SQL."""
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
    return table.merge(request.rows, render(given["on"], SPARK, SIDES), clauses)


def _convert(table: Table, request: Write) -> int:
    given = request.arguments
    return table.convert(
        given["schema"],
        partition_columns=given.get("partition_columns") or (),
        properties=given.get("properties") or {},
    )


def _keeping_version(table: Table, work: Callable[[], object]) -> int:
    """Do what commits nothing, and give the version."""
    work()
    return table.latest_version()


_WRITERS: Final[Mapping[str, Callable[[Table, Write], int]]] = {
    "create": _create,
    "append": lambda table, request: table.append(request.rows),
    "overwrite": lambda table, request: table.overwrite(request.rows, _filter(request)),
    "delete": lambda table, request: table.delete(_filter(request)),
    "update": lambda table, request: table.update(
        _values(request.arguments["set"]), _filter(request)
    ),
    "checkpoint": lambda table, request: table.checkpoint(_style(request.arguments)),
    "set_properties": lambda table, request: table.set_properties(request.arguments["properties"]),
    "set_txn": lambda table, request: table.set_transaction(
        request.arguments["app_id"], request.arguments["txn_version"]
    ),
    "merge": _merge,
    "convert": _convert,
    "replace": lambda table, request: table.replace(
        request.arguments["schema"],
        partition_columns=request.arguments.get("partition_columns") or (),
        rows=request.rows,
    ),
    "generate_manifest": lambda table, _: _keeping_version(table, table.generate_manifest),
    "optimize": lambda table, request: table.optimize(
        purge_only=bool(request.arguments.get("purge"))
    ),
    "unset_properties": lambda table, request: table.unset_properties(request.arguments["names"]),
    "reorder_columns": lambda table, request: table.reorder_columns(request.arguments["columns"]),
    "set_nullable": lambda table, request: table.set_nullable(
        request.arguments["column"], nullable=request.arguments["nullable"]
    ),
    "set_default": lambda table, request: table.set_default(
        request.arguments["column"], request.arguments["expression"]
    ),
    "drop_feature": lambda table, request: table.drop_feature(request.arguments["feature"]),
    "cluster_by": lambda table, request: table.cluster_by(request.arguments["columns"]),
    "restore": lambda table, request: table.restore(request.arguments["version"]),
    "add_columns": lambda table, request: table.add_columns(request.arguments["schema"]),
    "rename_column": lambda table, request: table.rename_column(
        request.arguments["column"], request.arguments["name"]
    ),
    "drop_column": lambda table, request: table.drop_column(request.arguments["column"]),
    "change_type": lambda table, request: table.change_type(
        request.arguments["column"], request.arguments["type"]
    ),
    "add_constraint": lambda table, request: table.add_constraint(
        request.arguments["name"], request.arguments["expression"]
    ),
    "drop_constraint": lambda table, request: table.drop_constraint(request.arguments["name"]),
    "set_domain_metadata": lambda table, request: table.set_domain(
        request.arguments["domain"], request.arguments["configuration"]
    ),
    "enable_feature": lambda table, request: table.set_properties(
        {}, features=[request.arguments["feature"]]
    ),
    "vacuum": lambda table, _: _keeping_version(table, table.vacuum),
    "cleanup": lambda table, _: _keeping_version(table, table.clean_log),
    "compact_log": lambda table, request: _keeping_version(
        table,
        lambda: table.compact_log(request.arguments["start"], request.arguments["end"]),
    ),
}


def _style(given: Mapping[str, Any]) -> Style | None:
    """Give the kind of checkpoint that is asked for; ``None`` leaves it to the table."""
    kind, sidecars = given.get("kind"), given.get("sidecars", 0)
    match kind:
        case None:
            return None
        case "multi-part":
            return Style(parts=given["parts"])
        case _:
            return Style("v2", "json" if kind == "v2-json" else "parquet", sidecars)


def _write(request: Write) -> Any:
    return {"version": _WRITERS[request.operation](Table(request.table), request)}


class _Ours:
    """The reference implementation behind the contract; holds nothing between requests."""

    def describe(self) -> Description:
        """Claim what the feature registry says that is implemented."""
        reader = {f.name for f in FEATURES.values() if f.kind == "reader_writer"}
        claims = Claims(
            reader_version=_READER_VERSION,
            writer_version=_WRITER_VERSION,
            reader_features=frozenset(reader),
            writer_features=WRITTEN,
            operations=frozenset({*_READERS, *_WRITERS}),
            capabilities=_CAPABILITIES,
        )
        return Description("ours", kit_version(), claims)

    def run(self, request: Request) -> Answer:
        """Execute one request; the implementation's own errors are refusals."""
        if isinstance(request, Write):
            answer: Callable[[Any], Any] = _write
            if request.operation not in _WRITERS:
                return Refused("unsupported", None, f"there is no operation {request.operation}")
        else:
            answer = _READERS[operation_of(request)]
        try:
            return Ok(answer(request))
        except DeltaError as error:
            return Refused(error.kind, error.stage, str(error))

    def close(self) -> None:
        """Release nothing."""


def create() -> _Ours:
    """Give the adapter."""
    return _Ours()
