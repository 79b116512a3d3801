"""Adapter of DuckDB with its ``delta`` extension.

The extension is loaded from the file that the Python package ``duckdb-extension-delta`` holds,
or from the file that ``DELTA_TCK_DUCKDB_EXTENSION`` names; nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from conformance.adapter import Aggregate, Claims, DomainMetadata, Scan, Txn, Write
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule
from conformance.adapters.sql.text import DUCKDB, aggregates, query

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
            "scan.version", "scan.columns", "scan.filter", "aggregate.version",
            "domain_metadata.version", "txn.version",
        }
    ),
)  # fmt: skip
_REFUSALS: Final = Refusals(
    errors=(duckdb.Error,),
    rules=(
        Rule(r"Unsupported(Error| table features)|[Nn]ot supported", "unsupported"),
        Rule(r"not the same as the specified end version", "not_found", "load"),
        Rule(r"InvalidTableLocation|MissingVersion|No files in log", "not_found"),
        Rule(r"^ConstraintException", "constraint"),
        Rule(r"[Cc]onflict", "conflict"),
        Rule(
            r"DeltaKernel (MissingMetadata|MissingProtocol|InvalidProtocol|MalformedJson|"
            r"MissingMetadataAndProtocol|Schema|InvalidLogPath)Error",
            "invalid_table",
            "load",
        ),
    ),
    # Its excerpt of the statement ends where the table's path has a certain length.
    noise=r"^LINE \d+: |^\s*\^\s*$",
    # DuckDB's own words for a broken invariant of its own.
    crashes=r"^(InternalException|FatalException)",
)


def _extension() -> Path:
    named = os.environ.get("DELTA_TCK_DUCKDB_EXTENSION")
    if named:
        return Path(named)
    package = resources.files("duckdb_extension_delta")
    version = f"v{duckdb.__version__}"
    path = Path(str(package / "extensions" / version / "delta.duckdb_extension"))
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: duckdb-extension-delta holds no extension for DuckDB {version}; "
            "install the two packages at the same version"
        )
    return path


class _Engine:
    """One in-memory database that lives as long as its adapter."""

    def __init__(self) -> None:
        self.connection: duckdb.DuckDBPyConnection
        self.open()

    def open(self) -> None:
        """Start an empty database."""
        self.connection = duckdb.connect(
            config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        )
        self.connection.execute(f"LOAD {DUCKDB.string(str(_extension()))}")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET threads = 2")

    @contextmanager
    def attached(self, table: str, version: int | None = None) -> Iterator[str]:
        """Attach a table under a name, and take it off again."""
        options = "TYPE delta" if version is None else f"TYPE delta, VERSION {version:d}"
        self.connection.execute(f"ATTACH {DUCKDB.string(table)} AS tck ({options})")
        try:
            yield "tck"
        except (duckdb.FatalException, duckdb.InternalException):
            # A database that broke an invariant answers no more.
            self.open()
            raise
        except BaseException:
            self.connection.execute("DETACH tck")
            raise
        self.connection.execute("DETACH tck")

    def close(self) -> None:
        """End the database that runs."""
        self.connection.close()

    def rows(self, text: str) -> pa.Table:
        table: pa.Table = self.connection.execute(text).to_arrow_table()
        return table

    def value(self, text: str, parameters: list[Any]) -> Any:
        row = self.connection.execute(text, parameters).fetchone()
        return None if row is None else row[0]

    def scan(self, request: Scan) -> pa.Table:
        source = _call("delta_scan", request.table, request.version)
        return self.rows(query(source, DUCKDB, request.columns, request.filter))

    def aggregate(self, request: Aggregate) -> pa.Table:
        source = _call("delta_scan", request.table, request.version)
        return self.rows(aggregates(source, DUCKDB, request))

    def domain_metadata(self, request: DomainMetadata) -> str | None:
        source = _call("delta_domain_metadata", request.table, request.version)
        text = query(source, DUCKDB, ["configuration"]) + " WHERE domain = ?"
        configuration: str | None = self.value(text, [request.domain])
        return configuration

    def txn(self, request: Txn) -> int | None:
        with self.attached(request.table, request.version) as name:
            source = f"delta_get_transaction_version({DUCKDB.string(name)}, ?)"
            version: int | None = self.value(query(source, DUCKDB), [request.app_id])
        return version

    def append(self, request: Write) -> dict[str, Any]:
        with self.attached(request.table) as name:
            self.connection.register("tck_rows", request.rows)
            try:
                self.connection.execute(f"INSERT INTO {name} BY NAME FROM tck_rows")
            finally:
                self.connection.unregister("tck_rows")
        return {"version": None}

    def checkpoint(self, request: Write) -> dict[str, Any]:
        with self.attached(request.table) as name:
            self.connection.execute(f"CHECKPOINT {name}")
        return {"version": None}


def _call(function: str, table: str, version: int | None) -> str:
    option = "" if version is None else f", version = {version:d}"
    return f"{function}({DUCKDB.string(table)}{option})"


def create() -> EngineAdapter:
    """Return the adapter of the installed DuckDB.

    Raises:
        FileNotFoundError: there is no extension file for this DuckDB.
    """
    engine = _Engine()
    reads: dict[str, Callable[[Any], Any]] = {
        "scan": engine.scan,
        "aggregate": engine.aggregate,
        "domain_metadata": engine.domain_metadata,
        "txn": engine.txn,
    }
    return EngineAdapter(
        name="duckdb",
        engine_version=duckdb.__version__,
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads=reads,
        writes={"append": engine.append, "checkpoint": engine.checkpoint},
        release=engine.close,
    )
