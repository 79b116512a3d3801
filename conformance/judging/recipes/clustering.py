"""What a run of clustering leaves of who clustered the files (section Clustered Table)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.audit.checks.features import clustering_of
from conformance.judging.recipes.files import path_in_table
from conformance.judging.recipes.times import Fault
from reference_impl import Snapshot


def check_providers(former: Snapshot, now: Snapshot, table: Path) -> Iterator[Fault]:
    """Compare who clustered the files before and after a run.

    No clause says when a file is clustered: one that was packed, and is in no order that its
    rows did not have, need not say who clustered it.
    """
    before, after = _providers(former), _providers(now)
    domain = now.domain_metadata.get("delta.clustering")
    clustered = clustering_of(None if domain is None else domain.to_wire())
    names = [path[0] for path in clustered if len(path) == 1]
    new, gone = (sorted(a.keys() - b.keys()) for a, b in ((after, before), (before, after)))
    for path in new:
        if not after[path] and _became_sorted(table, path, gone, names):
            yield "CLUS-011", f"{path} was clustered, and its clusteringProvider is not set"
    for path in sorted(before.keys() & after.keys()):
        if before[path] and after[path] not in (None, before[path]):
            message = f"{path} was clustered by {before[path]} and is said to be by {after[path]}"
            yield "CLUS-012", message
    own = {after[path] for path in new}
    unnamed = any(not after[path] and _is_sorted(table, path, names) for path in new)
    for path in gone:
        if not before[path] or before[path] in own:
            continue
        message = f"{path} was clustered by {before[path]} and is rewritten"
        yield (
            ("CLUS-011", f"{message}, and no provider is named")
            if unnamed
            else ("CLUS-012", message)
        )


def _is_sorted(table: Path, path: str, names: Sequence[str]) -> bool:
    return any(held == sorted(held) for held in _values(table, path, names).values())


def _became_sorted(table: Path, path: str, former: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether rows lie in the order of a clustering column, and did not before."""
    old = [_values(table, each, names) for each in former]
    for name, values in _values(table, path, names).items():
        held = set(values)
        before = ([v for v in each.get(name, ()) if v in held] for each in old)
        if values == sorted(values) and any(found != sorted(found) for found in before):
            return True
    return False


def _values(table: Path, path: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read columns of a file without their nulls; none of a file that is outside of the table."""
    place = table / path_in_table(table, path)
    if not place.is_file():
        return {}
    file = pq.ParquetFile(place, pre_buffer=False)
    found = file.read(columns=list(names), use_threads=False)
    flat = (f.name for f in found.schema if not pa.types.is_nested(f.type))
    return {name: found.column(name).drop_null().to_pylist() for name in flat}


def _providers(snapshot: Snapshot) -> dict[str, str | None]:
    adds = snapshot.adds()
    columns = (adds.column("path").to_pylist(), adds.column("clusteringProvider").to_pylist())
    return dict(zip(*columns, strict=True))
