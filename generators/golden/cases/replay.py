"""A naive reader, to check tables of other hands against their expected rows.

Covers "Action Reconciliation". A table that another engine wrote cannot be rebuilt byte by byte,
so its commits are replayed here in the plainest way: JSON lines in, newest action per path wins,
files through the Parquet library. It knows no feature: a table that needs one is reported as
unreadable, never passed over.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.log.files import LOG_DIRECTORY, commit_name, read_commit
from generators.materialise.log.state import LogState
from generators.oracle.delta_schema import Struct, arrow_schema, from_json
from generators.spec_files import spec_files

_READABLE = frozenset({"timestampNtz"})
"""Reader features that change nothing in a plain replay."""


def replay_differences(directory: Path) -> list[str]:
    """Replay a case's table and name the reads whose expected rows it does not give.

    Returns:
        A line per unfiltered ``read`` spec that disagrees, and one when the case has none.
    """
    found = []
    reads = 0
    for path in spec_files(directory):
        spec = json.loads(path.read_text(encoding="utf-8"))
        if spec["type"] != "read" or "expected" not in spec or "filter" in spec:
            continue
        reads += 1
        place = directory / "expected" / path.stem / "expected_data" / "part-0.parquet"
        try:
            rows = _rows(directory / "delta", spec.get("version"))
        except ValueError as error:
            found.append(f"{path.stem}: {error}")
            continue
        wanted = _counted(pq.read_table(place))
        if rows != wanted:
            extra, lost = (rows - wanted).total(), (wanted - rows).total()
            found.append(f"{path.stem}: a replay has {extra} rows more and {lost} rows less")
    return found if reads else ["no read to replay"]


def _rows(root: Path, version: int | None) -> Counter[str]:
    state, number = LogState(), 0
    while (version is None or number <= version) and _commit(root, number).exists():
        state.apply(read_commit(root, number))
        protocol = state.protocol or {"minReaderVersion": 1}
        unknown = set(protocol.get("readerFeatures") or ()) - _READABLE
        if unknown or protocol["minReaderVersion"] == 2:
            raise ValueError(f"a plain replay does not know {sorted(unknown)}")
        number += 1
    if version is not None and number <= version:
        raise ValueError(f"commit {number} is missing")
    metadata = state.metadata or {}
    schema = from_json(json.loads(metadata["schemaString"]))
    total: Counter[str] = Counter()
    for body in state.adds.values():
        total += _counted(_file(root, schema, metadata["partitionColumns"], body))
    return total


def _commit(root: Path, version: int) -> Path:
    return root / LOG_DIRECTORY / commit_name(version)


def _file(root: Path, schema: Struct, partitions: list[str], add: dict[str, Any]) -> pa.Table:
    data = pq.ParquetFile(root / unquote(add["path"])).read()
    columns = []
    for target in arrow_schema(schema):
        if target.name in partitions:
            text = add["partitionValues"][target.name] or None
            value = pa.scalar(text, pa.string()).cast(target.type)
            columns.append(pa.repeat(value, data.num_rows))
        elif target.name in data.column_names:
            columns.append(data.column(target.name).cast(target.type))
        else:
            columns.append(pa.nulls(data.num_rows, target.type))
    return pa.table(columns, names=list(schema.names))


def _counted(table: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in table.to_pylist())
