"""Clustered tables: which columns cluster them, and statistics of those for every file.

Implements "Clustered Table". The columns are kept by physical name in a domain of the system; a
file of the table always has statistics for them. To cluster is to sort what ``optimize``
rewrites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import (
    ConstraintViolation,
    InvalidMetadata,
    InvalidTableError,
    LimitExceeded,
    UnknownColumn,
)
from reference_impl.model.actions import DomainMetadata
from reference_impl.model.file_actions import ADD_SCHEMA, choose
from reference_impl.model.wire import json_text
from reference_impl.snapshot.stats import Leaf, Structs, column_at, leaves
from reference_impl.storage import Storage
from reference_impl.untrusted import load_json, parse_json
from reference_impl.write.features.target import Target
from reference_impl.write.files.live_files import live_files
from reference_impl.write.statistics import is_bounded, parse_exact, statistics_json, statistics_of

CLUSTERING_DOMAIN: Final = "delta.clustering"
PROVIDER: Final = "delta-tck-reference"
"""``add.clusteringProvider`` of our files."""

_COLUMNS: Final = "clusteringColumns"


def clustering_leaves(target: Target, domains: Mapping[str, DomainMetadata]) -> tuple[Leaf, ...]:
    """Return the columns that cluster a table; none for one that is not clustered.

    Both shapes of a column are read: the array of its name parts, and its name.

    Raises:
        InvalidTableError: the domain does not name columns of the table.
    """
    held = domains.get(CLUSTERING_DOMAIN)
    if held is None or not target.supports("clustering"):
        return ()
    known = {leaf.physical: leaf for leaf in leaves(target.schema, target.table.mode)}
    try:
        columns = parse_json(held.configuration)[_COLUMNS]
        paths = [(each,) if isinstance(each, str) else tuple(each) for each in columns]
        return tuple(known[path] for path in dict.fromkeys(paths))  # named again it sorts nothing
    except (ValueError, TypeError, KeyError):
        raise InvalidTableError(
            f"the domain {CLUSTERING_DOMAIN} names no columns of the table",
            action="domainMetadata",
            stage="commit",
            requirement="CLUS-007",
        ) from None


def clustering_domain(columns: Iterable[Leaf], before: DomainMetadata | None) -> DomainMetadata:
    """Return the metadata domain that names the columns of a clustered table.

    Args:
        columns: none for a table that is clustered by no column any more.
        before: the domain in force, whose other keys are kept.
    """
    # Obeys CM-035 CLUS-006.
    held: dict[str, Any] = {}
    if before is not None:
        with suppress(ValueError):  # what is no JSON names no columns, and is replaced
            document = load_json(before.configuration)
            held = document if isinstance(document, dict) else {}
    held[_COLUMNS] = [list(leaf.physical) for leaf in columns]
    return DomainMetadata(CLUSTERING_DOMAIN, json_text(held), removed=False)


def check_unpartitioned(target: Target) -> None:
    """Refuse to cluster a table that is partitioned ("Clustered Table").

    Raises:
        InvalidMetadata: the table supports clustering and has partition columns.
    """
    if target.supports("clustering") and target.table.partition_columns:
        raise InvalidMetadata(
            "a table is clustered or partitioned, not both", stage="commit", requirement="CLUS-004"
        )


def named_leaves(target: Target, paths: Iterable[Sequence[str]]) -> tuple[Leaf, ...]:
    """Find columns to cluster by, by their logical names.

    Raises:
        UnknownColumn: there is no such column, or it is a struct.
        ConstraintViolation: it is named twice, or its type has no bounds.
    """
    known = {leaf.path: leaf for leaf in leaves(target.schema, target.table.mode)}
    found: list[Leaf] = []
    for path in paths:
        leaf, label = known.get(tuple(path)), ".".join(path)
        if leaf is None:
            raise UnknownColumn(f"there is no column {label!r} to cluster by", stage="commit")
        if leaf in found:
            raise ConstraintViolation(f"column {label} clusters the table twice")
        if not is_bounded(leaf):
            raise ConstraintViolation(
                f"column {label} is {leaf.type}, whose statistics have no bounds to cluster by",
                requirement="CLUS-009",
            )
        found.append(leaf)
    return tuple(found)


def without_statistics(adds: pa.Table, columns: Sequence[Leaf]) -> pa.Table:
    """Return the add actions, in wire columns, that lack statistics of columns."""
    return choose(adds, [_lacks(text, columns) for text in adds.column("stats").to_pylist()])


def ensure_clustering_statistics(
    storage: Storage, target: Target, adds: Sequence[dict[str, Any]], columns: Sequence[Leaf]
) -> list[dict[str, Any]]:
    """Return bodies of adds that all have statistics of columns, read from the file if necessary.

    Raises:
        DeltaError: a file cannot be read.
    """
    # Obeys CLUS-010.
    lacking = [at for at, body in enumerate(adds) if _lacks(body.get("stats"), columns)]
    listed = [
        {**adds[at], "partitionValues": list(adds[at]["partitionValues"].items())} for at in lacking
    ]
    files = live_files(storage, target, pa.Table.from_pylist(listed, schema=ADD_SCHEMA))
    found = list(adds)
    for at, file in zip(lacking, files, strict=True):
        document = _document(adds[at].get("stats"))
        for name, value in statistics_of(file.rows, columns).items():
            document[name] = _merged(document.get(name), value)
        if file.vector is not None:
            document["tightBounds"] = False
        found[at] = {**adds[at], "stats": statistics_json(document)}
    return found


def _lacks(stats: str | None, columns: Sequence[Leaf]) -> bool:
    document = _document(stats)
    return "numRecords" not in document or not all(_has(document, leaf) for leaf in columns)


def _document(text: str | None) -> dict[str, Any]:
    try:
        return parse_exact(text) or {}
    except LimitExceeded:
        return {}


def _has(document: Mapping[str, Any], leaf: Leaf) -> bool:
    """Return whether statistics have the null count of a column."""
    found: Any = document.get("nullCount")
    for name in leaf.physical:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found is not None


def _merged(held: Any, fresh: Any) -> Any:
    if not isinstance(held, dict) or not isinstance(fresh, dict):
        return fresh
    return {**held, **{name: _merged(held.get(name), value) for name, value in fresh.items()}}


def sorted_by(rows: pa.Table, columns: Sequence[Leaf]) -> pa.Table:
    """Sort rows by columns, the first of them first."""
    structs: Structs = {}
    keys = [column_at(rows, leaf.path, structs) for leaf in columns]
    names = [str(at) for at in range(len(keys))]
    order = pc.sort_indices(
        pa.table(keys, names=names), sort_keys=[(name, "ascending") for name in names]
    )
    return rows.take(order)
