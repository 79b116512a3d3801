"""What the live files of a version say of rows that an answer has wrong: vectors, ids, columns.

Covers "Deletion Vectors", "Row Tracking" and "Change Metadata". It decides nothing about an answer:
of one that is wrong it says which clause that shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.golden.commits import commits_in
from reference_impl import DeltaError, Snapshot, Table
from reference_impl.deletion_vectors import VectorStore
from reference_impl.scan.reader import FileReader, file_tasks

_METADATA: Final = re.compile(rb'"metaData": ?\{')


@lru_cache(maxsize=64)
def marked_rows(table: Path, version: int | None) -> pa.Table | None:
    """Return the rows that the vectors of a version mark; ``None`` where it cannot be read."""
    with suppress(DeltaError):
        return pa.concat_tables(_marked(Table(table).snapshot(version)))
    return None


def _marked(snapshot: Snapshot) -> Iterator[pa.Table]:
    of, files = snapshot.table, snapshot.adds()
    reader = FileReader(snapshot.storage, of, of.columns.fields, VectorStore(snapshot.storage))
    yield reader.schema.empty_table()
    vectors = files.filter(pc.is_valid(files["deletionVector"]))
    for task in file_tasks(vectors, of.partition_columns, of.mode):
        for batch, kept in reader.read_physical(task):
            if kept is not None:
                yield pa.Table.from_batches([batch.filter(pc.invert(kept))])


@lru_cache(maxsize=64)
def fresh_ids(table: Path, version: int | None) -> tuple[range, ...] | None:
    """Return the ids that rows of each live file have by their position.

    ``None`` where a file does not say which, or the version cannot be read.
    """
    with suppress(DeltaError, ValueError, LookupError, TypeError):
        adds = Table(table).snapshot(version).adds()
        counts = [int(json.loads(stats)["numRecords"]) for stats in adds["stats"].to_pylist()]
        bases = adds["baseRowId"].to_pylist()
        return tuple(range(b, b + n) for b, n in zip(bases, counts, strict=True))
    return None


def older_columns(table: Path, version: int | None) -> Iterator[list[str]]:
    """Return the names of the columns by each metaData of a version's commits but the newest."""
    found: list[list[str]] = []
    for at, content in commits_in(table).items():
        if content is not None and (version is None or at <= version):
            for line in filter(_METADATA.search, content.splitlines()):
                with suppress(ValueError, LookupError, TypeError, RecursionError):
                    schema = json.loads(json.loads(line)["metaData"]["schemaString"])
                    found.append([each["name"] for each in schema["fields"]])
    yield from found[:-1]
