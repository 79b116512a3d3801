"""A data file that was opened, and its columns, which are untrusted (section Data Files)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.audit.checks.values import statistics_of
from conformance.audit.grammar.roaring import Rows
from conformance.audit.grammar.uris import is_absolute
from conformance.audit.read.arrow import as_stored, schema_of
from conformance.audit.read.state import Body
from conformance.audit.subjects import LiveFiles
from reference_impl.errors import DataFileTooLarge
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.bounds import Bounded

_ROWS: Final = 65_536
"""Rows at a time: a footer may claim any number, and room for them is made before they come."""


def stored_as_int96(file: pq.ParquetFile) -> set[str]:
    """Return the top-level columns that hold an int96, which says nothing of a zone."""
    columns = map(file.schema.column, range(len(file.schema)))
    return {each.path.split(".")[0] for each in columns if each.physical_type == "INT96"}


def read_columns(file: pq.ParquetFile, source: pa.NativeFile, names: list[str] | None) -> pa.Table:
    """Read columns, all for ``None``; ``source`` is what the file was opened from.

    Raises:
        DataFileTooLarge: the file decompresses to more than a limit.
        ValueError: the file has fewer rows than its footer promises.
        pa.ArrowException: the file is damaged.
    """
    size, limits = int(source.size()), budget().limits
    limit = min(max(limits.data_file, limits.data_file_growth * size), limits.memory)
    promised = file.metadata.num_rows
    batches: list[pa.RecordBatch] = []
    rows = decompressed = 0
    wanted = file.schema_arrow.names if names is None else names
    held = Bounded(source, file, limit, wanted, name="data_file")
    for batch in held.batches(_ROWS, use_threads=True):
        budget().check_time()
        batches.append(batch)
        rows += batch.num_rows
        decompressed += batch.nbytes + batch.num_rows
        if decompressed > limit:
            found = f"{size} bytes decompress to {decompressed} and more"
            raise exceeded("data_file", found, error=DataFileTooLarge)
    if rows != promised:
        raise ValueError(f"the footer promises {promised} rows, not {rows}")
    if not batches:
        return schema_of(file).empty_table()
    table = pa.Table.from_batches(batches)
    stored = as_stored(table.schema)
    return table if table.schema == stored else table.cast(stored)


def _as_in_json(value: Any) -> Any:
    """Return a typed value of a checkpoint as a text of statistics has it."""
    if isinstance(value, dict):
        return {key: _as_in_json(each) for key, each in value.items()}
    return str(value) if isinstance(value, date) else value


@dataclass(frozen=True)
class DataFile:
    """A data file with what its add action says of it.

    Attributes:
        path: decoded, for messages.
        body: the add action.
        source: what it was opened from.
        file: with its footer.
        deleted: the rows that a vector deletes.
    """

    path: str
    body: Body
    source: pa.NativeFile
    file: pq.ParquetFile
    deleted: Rows | None

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return schema_of(self.file)

    @cached_property
    def stats(self) -> Mapping[str, Any]:
        """The statistics, fractions exact; those by type where no text has them; else empty."""
        typed = self.body.get("stats_parsed")
        return statistics_of(self.body) or (_as_in_json(typed) if isinstance(typed, dict) else {})

    @property
    def tight(self) -> bool:
        """Whether the bounds are said to be exact."""
        return self.stats.get("tightBounds") is not False

    def read(self, name: str) -> pa.ChunkedArray:
        """Read a top-level column by its name in the file."""
        return read_columns(self.file, self.source, [name]).column(name)

    @property
    def live_rows(self) -> int:
        """How many rows a vector does not delete."""
        count = self.file.metadata.num_rows
        kept = self.deleted.kept(count) if self.deleted else None
        return count if kept is None else int(kept.true_count)

    def live(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Leave out the rows that a vector deletes."""
        # As long as what was read: a footer may claim any number of rows.
        kept = self.deleted.kept(len(values)) if self.deleted else None
        return values if kept is None else values.filter(kept)


@dataclass(frozen=True)
class LiveFile(DataFile):
    """A data file in a version that it is live in."""

    view: LiveFiles

    @property
    def born(self) -> int | None:
        """The version that first had the file, where the log says."""
        return self.view.state.seen.get(self.path)

    def follows(self, name: str) -> bool:
        """Return whether the file is known to have come while something was on already."""
        since = self.view.state.since.get(name)
        return self.born is not None and since is not None and self.born >= since

    def precedes(self, name: str) -> bool:
        """Return whether the file is known to have come while something was off."""
        state, born = self.view.state, self.born
        if born is None or not state.whole or is_absolute(self.path):
            return False
        last = state.until.get(name)
        return last is None or (name not in state.since and born > last)
