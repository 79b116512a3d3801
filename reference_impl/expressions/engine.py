"""The database that evaluates expressions over Arrow: locked, bounded and interruptible.

Nothing that it is asked can change its settings, open a file or the network, or load an
extension: it is started so, and its configuration is locked.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from reference_impl.errors import SchemaMismatch
from reference_impl.limits import Limits, budget, exceeded

if TYPE_CHECKING:
    import duckdb

_GROWTH: Final = 16
"""A result may always have this many times the bytes of the rows that it is computed from."""

_BATCH: Final = 100_000
"""Rows of a batch of the result."""

_PATIENCE: Final = 1.0
"""Seconds to wait for an interrupted query, before it is left to end by itself."""

_SETTINGS: Final = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "preserve_insertion_order": True,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "temp_directory": "",
    "threads": 1,
}
_UNUSED: Final = (
    "common_subexpressions", "expression_rewriter", "filter_pullup", "filter_pushdown", "in_clause",
    "regex_range", "statistics_propagation",
)  # fmt: skip
"""Optimizers that take quadratic time on a long condition, or rewrite how text is matched."""

_AFTERWARDS: Final = (
    "SET GLOBAL TimeZone = 'UTC'",
    f"SET GLOBAL disabled_optimizers = '{','.join(_UNUSED)}'",
    "SET GLOBAL lock_configuration = true",
)


@lru_cache(maxsize=4)
def _database(memory_bytes: int) -> duckdb.DuckDBPyConnection:
    """Start a database in memory; it holds nothing between two expressions."""
    import duckdb  # it is slow to import, and most tables carry no SQL

    memory = f"{max(memory_bytes // 2**20, 16)}MiB"
    database = duckdb.connect(config={**_SETTINGS, "memory_limit": memory})
    for statement in _AFTERWARDS:
        database.execute(statement)
    return database


def connect() -> duckdb.DuckDBPyConnection:
    """Return a connection to the database, under the limits in force; the caller closes it."""
    return _database(budget().limits.sql_memory).cursor()


@dataclass(slots=True)
class _Query:
    """A query that runs in a thread of its own, so that the caller can be interrupted."""

    connection: duckdb.DuckDBPyConnection
    text: str
    relations: Mapping[str, pa.Table]
    allowed: int
    done: threading.Event = field(default_factory=threading.Event)
    found: pa.Table = field(init=False)
    error: BaseException | None = None
    stopped: bool = False

    def work(self) -> None:
        """Evaluate, and keep the result or the error."""
        try:
            with self.connection as connection:
                for name, rows in self.relations.items():
                    connection.register(name, rows)
                self.found = self._collected(connection.sql(self.text))
        except BaseException as error:  # noqa: BLE001  raised again in the thread that asked
            self.error = error
        finally:
            self.done.set()

    def interrupt(self) -> None:
        """Ask the query to end; it may have ended by now, and closed its connection."""
        import duckdb

        self.stopped = True
        with suppress(duckdb.Error):
            self.connection.interrupt()

    def _collected(self, result: duckdb.DuckDBPyRelation) -> pa.Table:
        reader = result.to_arrow_reader(_BATCH)
        batches, size = [], 0
        for batch in reader:
            size += batch.nbytes
            if size > self.allowed:
                raise exceeded(
                    "sql_result", f"an SQL expression gives more than {self.allowed} bytes"
                )
            if self.stopped:
                break
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def run(query: str, relations: Mapping[str, pa.Table], text: str) -> pa.Table:
    """Evaluate a query over relations.

    Args:
        query: in DuckDB's SQL, rendered from a checked tree.
        relations: name to rows.
        text: the expression as it was given, for messages.

    Raises:
        SchemaMismatch: a value overflows or does not fit.
        LimitExceeded: it takes more time or memory than the limits allow.
    """
    import duckdb

    limits = budget().limits
    given = sum(rows.nbytes for rows in relations.values())
    asked = _Query(connect(), query, relations, max(limits.sql_result, _GROWTH * given))
    _await(asked, limits)
    match asked.error:
        case None:
            return asked.found
        case duckdb.OutOfMemoryException():
            raise exceeded("sql_memory", "an SQL expression needs more memory")
        case (
            duckdb.Error()
            | pa.ArrowInvalid()
            | pa.ArrowNotImplementedError()
            | UnicodeEncodeError()
        ) as error:
            raise not_evaluated(text, error) from None
        case error:
            raise error


def _await(asked: _Query, limits: Limits) -> None:
    """Wait for a query; interrupt it when the time is over, or the wait itself is interrupted."""
    # No daemon: one that is inside of the database when the interpreter ends aborts the process.
    threading.Thread(target=asked.work, name="sql").start()
    finished = False
    try:
        finished = asked.done.wait(limits.sql_seconds)
    finally:
        if not finished:
            asked.interrupt()
            asked.done.wait(_PATIENCE)
    if not finished:
        raise exceeded("sql_seconds", "an SQL expression is not done")


def not_evaluated(text: str, error: Exception) -> SchemaMismatch:
    """Return the error for an expression that a database or a cast refuses."""
    return SchemaMismatch(f"the expression {text[:200]!r} cannot be evaluated: {str(error)[:200]}")
