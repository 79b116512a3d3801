"""A table that Spark writes, with the rows that its builder says every version has.

Nothing is read back: a builder runs one statement or write per version and states the schema and
the rows that it put in or left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from generators.golden.cases.case import CaseError, CaseWriter
from generators.golden.cases.publish import publish_written
from generators.materialise.data.arrow_rows import Row, arrow_table
from generators.oracle.delta_schema import Struct

_VERSION_DIGITS: Final = 20


class SparkTable:
    """The table of one case, written by Spark.

    Attributes:
        identifier: the table's name in SQL, a path in back quotes.
        versions: per committed version the schema and the rows that a read of it gives.
    """

    def __init__(self, case: CaseWriter, session: SparkSession) -> None:
        """Start with an empty folder; version 0 comes with :meth:`run` or :meth:`append`."""
        self.session = session
        self.identifier = f"delta.`{case.delta}`"
        self.versions: dict[int, tuple[Struct, tuple[Row, ...]]] = {}
        self._case = case

    def run(self, statement: str, schema: Struct, rows: Sequence[Row]) -> int:
        """Run one SQL statement that commits one version; ``{table}`` is the table's name.

        Args:
            statement: Spark SQL.
            schema: the table schema after it.
            rows: the rows of the table after it.

        Returns:
            The version that was committed.
        """
        self.session.sql(statement.format(table=self.identifier))
        return self._committed(schema, rows)

    def run_in_steps(self, statement: str, schema: Struct, rows: Sequence[Row]) -> int:
        """Run one SQL statement that commits several versions, all of the same rows.

        For statements that leave the rows as they are but work in steps, such as enabling row
        tracking on a table with files or dropping a feature. Returns the last version.

        Raises:
            CaseError: Spark committed nothing.
        """
        self.session.sql(statement.format(table=self.identifier))
        last = self._last()
        if last < len(self.versions):
            raise CaseError(f"{self._case.info.id}: Spark committed nothing")
        for version in range(len(self.versions), last + 1):
            self.versions[version] = (schema, tuple(rows))
        return last

    @contextmanager
    def setting(self, key: str, value: str) -> Iterator[None]:
        """Hold a setting of the session for the length of a ``with`` block."""
        before = self.session.conf.get(key, None)
        self.session.conf.set(key, value)
        try:
            yield
        finally:
            if before is None:
                self.session.conf.unset(key)
            else:
                self.session.conf.set(key, before)

    def append(  # noqa: PLR0913  a write has this many independent properties
        self,
        schema: Struct,
        new: Sequence[Row],
        rows: Sequence[Row],
        *,
        mode: str = "append",
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> int:
        """Write rows as one file per partition; ``rows`` are those of the table after it."""
        # Spark would take zone-less Arrow timestamps for instants without the type.
        spark_schema = StructType.fromJson(schema.to_json())
        frame: Any = self.session.createDataFrame(arrow_table(schema, new), spark_schema)
        writer = frame.coalesce(1).write.format("delta").mode(mode)
        if partition_by:
            writer = writer.partitionBy(*partition_by)
        for key, value in (options or {}).items():
            writer = writer.option(key, value)
        writer.save(str(self._case.delta))
        return self._committed(schema, rows)

    def publish(self, *, requirements: Sequence[str] = ()) -> None:
        """Tidy the folder, describe the table, and write a read of every version."""
        self._tidy()
        publish_written(self._case, self.versions, requirements)

    def _committed(self, schema: Struct, rows: Sequence[Row]) -> int:
        version, last = len(self.versions), self._last()
        if last != version:
            raise CaseError(f"{self._case.info.id}: expected version {version}, Spark is at {last}")
        self.versions[version] = (schema, tuple(rows))
        return version

    def _last(self) -> int:
        return max(int(path.stem) for path in self._commits())

    def _commits(self) -> list[Path]:
        log = self._case.delta / "_delta_log"
        found = sorted(log.glob("*.json"))
        return [path for path in found if len(path.stem) == _VERSION_DIGITS and path.stem.isdigit()]

    def _tidy(self) -> None:
        """Drop what Hadoop's local file system leaves beside the table's own files."""
        for path in self._case.delta.rglob(".*.crc"):
            path.unlink()
        for path in sorted(self._case.delta.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
