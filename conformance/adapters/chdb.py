"""Adapter of ClickHouse, embedded as chDB: the table function ``deltaLakeLocal``.

ClickHouse has one type for text and bytes and one for instants and zone-less times, so the
declared types of the table label those columns (see :mod:`conformance.adapters.sql.labels`).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Final

import chdb
import pyarrow as pa
from chdb import session

from conformance.adapter import Aggregate, Changes, Claims, Scan, Write
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule
from conformance.adapters.sql.labels import relabelled
from conformance.adapters.sql.text import CLICKHOUSE, aggregates, query
from reference_impl.errors import DeltaError
from reference_impl.table import Table
from reference_impl.types.arrow import arrow_schema
from reference_impl.types.schema import parse_schema

_CLAIMS: Final = Claims(
    reader_version=3,
    writer_version=7,
    reader_features=frozenset(
        {
            "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint",
            "vacuumProtocolCheck",
        }
    ),
    writer_features=frozenset({"appendOnly", "invariants"}),
    capabilities=frozenset(
        {
            "scan.version",
            "scan.columns",
            "scan.filter",
            "aggregate.version",
            "changes.column_mapping",
        }
    ),
)  # fmt: skip
_REFUSALS: Final = Refusals(
    errors=(RuntimeError,),
    rules=(
        Rule(r"InvalidTableLocation|not the same as the specified end", "not_found"),
        Rule(r"Unsupported(Error| table features)|NOT_IMPLEMENTED", "unsupported"),
        Rule(
            r"kernel error (MissingMetadata|MissingProtocol|InvalidProtocol|Malformed)",
            "invalid_table",
            "load",
        ),
    ),
    # ClickHouse's own words for a broken invariant of its own.
    crashes=r"\(LOGICAL_ERROR\)",
)
_SETTINGS: Final = {
    "session_timezone": "'UTC'",
    "max_threads": "2",
    "output_format_arrow_string_as_string": "1",
    "allow_delta_lake_writes": "1",
}


class _Engine:
    """One ClickHouse session that lives as long as its adapter."""

    def __init__(self) -> None:
        # ClickHouse reads only below its working directory.
        os.chdir("/")
        self._open()

    def _open(self) -> None:
        self.session = session.Session()
        for name, value in _SETTINGS.items():
            self.session.query(f"SET {name} = {value}")

    def query(self, text: str, layout: str) -> bytes:
        try:
            answer: bytes = self.session.query(text, layout).bytes()
        except RuntimeError:
            # chDB prepends what a failed query had written to the next query's answer.
            self.session.close()
            self._open()
            raise
        return answer

    def rows(self, text: str) -> pa.Table:
        return pa.ipc.open_file(self.query(text, "Arrow")).read_all()

    def close(self) -> None:
        self.session.close()

    def scan(self, request: Scan) -> pa.Table:
        text = query(_source(request.table), CLICKHOUSE, request.columns, request.filter)
        rows = self.rows(_at_version(text, request.version))
        return relabelled(rows, _declared(request.table, request.version))

    def aggregate(self, request: Aggregate) -> pa.Table:
        text = aggregates(_source(request.table), CLICKHOUSE, request)
        rows = self.rows(_at_version(text, request.version))
        declared = _declared(request.table, request.version)
        extremes = {
            alias: declared[name] for alias, _, name in request.extremes if name in declared
        }
        rows = rows.set_column(0, "count", rows.column("count").cast(pa.int64()))
        return relabelled(rows, extremes)

    def changes(self, request: Changes) -> pa.Table:
        settings = f"delta_lake_snapshot_start_version = {request.start:d}"
        if request.end is not None:
            settings += f", delta_lake_snapshot_end_version = {request.end:d}"
        rows = self.rows(f"{query(_source(request.table), CLICKHOUSE)} SETTINGS {settings}")
        return relabelled(rows, _declared(request.table, request.end))

    def append(self, request: Write) -> dict[str, Any]:
        rows = request.rows
        if rows is None:
            raise ValueError("an append brings rows")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arrow"
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
            names = ", ".join(map(CLICKHOUSE.identifier, rows.column_names))
            source = f"file({CLICKHOUSE.string(str(path))}, Arrow)"
            self.query(
                f"INSERT INTO FUNCTION {_source(request.table)} ({names}) "
                + query(source, CLICKHOUSE, rows.column_names),
                "TSV",
            )
        return {"version": None}


def _source(table: str) -> str:
    return f"deltaLakeLocal({CLICKHOUSE.string(table)})"


def _at_version(text: str, version: int | None) -> str:
    """Return a query that reads a version."""
    if version is None:
        return text
    return f"{text} SETTINGS delta_lake_snapshot_version = {version:d}"


def _declared(table: str, version: int | None) -> dict[str, pa.DataType]:
    try:
        metadata = Table(table).snapshot(version=version).metadata
        schema = arrow_schema(parse_schema(metadata.schema_string))
    except DeltaError:
        # A table that only ClickHouse opens keeps ClickHouse's own labels.
        return {}
    return {field.name: field.type for field in schema}


def create() -> EngineAdapter:
    """Return the adapter of the installed chDB."""
    engine = _Engine()
    version = engine.query("SELECT version()", "TSV").decode().strip()
    return EngineAdapter(
        name="chdb",
        engine_version=f"{chdb.__version__} (ClickHouse {version})",
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads={"scan": engine.scan, "aggregate": engine.aggregate, "changes": engine.changes},
        writes={"append": engine.append},
        release=engine.close,
    )
