"""Who runs the questions: DuckDB here, over what the reference reader reads, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import duckdb
import pyarrow as pa

from conformance.pipeline.session import SparkOptions, spark_session
from conformance.pipeline.track.schema import TABLES
from conformance.pipeline.track.store import Store

Ask: TypeAlias = Callable[..., pa.Table]
"""Runs a question over the views; keywords give further views as Arrow tables."""


@contextmanager
def here(store: Store) -> Iterator[Ask]:
    """Ask in this process.

    Raises:
        StoreError: a table cannot be read.

    """
    with duckdb.connect(":memory:") as database:
        for name, rows in store.tables().items():
            database.register(name, rows)

        def ask(question: str, **more: pa.Table) -> pa.Table:
            for name, rows in more.items():
                database.register(name, rows)
            return database.sql(question).to_arrow_table()

        yield ask


@contextmanager
def on_spark(store: Store, options: SparkOptions) -> Iterator[Ask]:
    """Ask Spark, for stores that are larger than this machine.

    Raises:
        SparkMissingError: Spark is not available.

    """
    with spark_session("track", options) as session:
        for name in TABLES:
            frame = session.read.format("delta").load(store.table(name).location)
            frame.createOrReplaceTempView(name)

        def ask(question: str, **more: pa.Table) -> pa.Table:
            for name, rows in more.items():
                session.createDataFrame(rows).createOrReplaceTempView(name)
            return session.sql(question).toArrow()

        yield ask
