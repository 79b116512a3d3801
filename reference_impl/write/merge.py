"""Merge rows into a table by keys: update, delete and insert in one version.

Serves "Add File and Remove File" and the writer requirements of every feature about rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.snapshot import Snapshot
from reference_impl.types.model import Struct
from reference_impl.write.changes import Changes
from reference_impl.write.conform import conform
from reference_impl.write.incoming import prepare
from reference_impl.write.live_files import LiveFiles
from reference_impl.write.rules import rules_of
from reference_impl.write.transaction import Transaction

__all__ = ["Clauses", "merge"]


@dataclass(frozen=True, slots=True)
class Clauses:
    """What becomes of rows.

    Attributes:
        matched: rows of the table for which there is a source row with the same keys.
        not_matched: source rows for which there is no such row in the table.
        not_matched_by_source: rows of the table for which there is no such source row.

    """

    matched: Literal["update", "delete", "keep"] = "update"
    not_matched: Literal["insert", "keep"] = "insert"
    not_matched_by_source: Literal["delete", "keep"] = "keep"


def merge(snapshot: Snapshot, source: pa.Table, keys: Sequence[str], clauses: Clauses) -> int:
    """Merge source rows into the table, and give the version.

    Keys are compared as SQL's ``=`` does: null matches nothing. A row that is updated takes the
    columns that the source has. Where nothing changes nothing is committed.

    Raises:
        SchemaMismatch: the source does not fit the schema, or a key is not in both.
        ConstraintViolation: several source rows match one row of the table, or a row breaks a
            rule of the table.

    """
    transaction = Transaction(snapshot.storage, snapshot, "MERGE", {"keys": list(keys)})
    schema = transaction.target.schema
    given = conform(source, schema)
    places = _places(given, _known(keys, schema, given), clauses)
    files = LiveFiles(snapshot, transaction.read_target)
    adds = files.candidates(None)
    transaction.read(None, adds)
    changes = Changes(transaction)
    seen: set[int] = set()
    for file in files.open(adds):
        found = _find(file.rows.select(list(keys)), places)
        hits = file.live & (found >= 0)
        seen.update(found[hits].tolist())
        if clauses.matched == "update" and hits.any():
            rows = _updated(file.take(hits), given.take(pa.array(found[hits])), transaction)
            changes.change(file, hits, rows, _lost(file.live & ~hits, clauses))
        else:
            gone = _lost(file.live & ~hits, clauses)
            gone |= hits if clauses.matched == "delete" else np.zeros_like(hits)
            if gone.any():
                changes.delete(file, gone)
    if clauses.not_matched == "insert":
        fresh = [at for at in range(given.num_rows) if at not in seen]
        if fresh:
            changes.insert(prepare(transaction, given.take(pa.array(fresh, pa.int64()))))
    if changes.is_empty:
        return int(snapshot.version)
    changes.finish()
    return transaction.commit()


def _known(keys: Sequence[str], schema: Struct, given: pa.Table) -> list[str]:
    for name in keys:
        if schema.get(name) is None or name not in given.column_names:
            raise SchemaMismatch(f"key {name!r} is not a column of both the table and the source")
    if not keys:
        raise SchemaMismatch("a merge needs a key")
    return list(keys)


def _places(given: pa.Table, keys: list[str], clauses: Clauses) -> dict[Any, int]:
    """Give the row of each key of the source."""
    places: dict[Any, int] = {}
    for at, key in enumerate(_tuples(given.select(keys))):
        if key is None:
            continue
        if key in places and clauses.matched != "delete":
            raise ConstraintViolation(
                f"several source rows have the keys {key!r}, so that one row would match both"
            )
        places[key] = at
    return places


def _find(rows: pa.Table, places: dict[Any, int]) -> Any:
    return np.array([places.get(key, -1) for key in _tuples(rows)], np.int64)


def _tuples(rows: pa.Table) -> list[tuple[Any, ...] | None]:
    """Give keys that compare as values; ``None`` where one of them is null."""
    columns = [column.to_pylist() for column in rows.columns]
    return [None if None in key else key for key in zip(*columns, strict=True)]


def _updated(held: pa.Table, given: pa.Table, transaction: Transaction) -> pa.Table:
    rules = rules_of(transaction.target)
    names = [
        n
        for n in transaction.target.schema.names
        if n in given.column_names or n not in rules.generated
    ]
    columns = [(given if n in given.column_names else held).column(n) for n in names]
    return prepare(transaction, pa.table(columns, names=names), stored=True)


def _lost(unmatched: Any, clauses: Clauses) -> Any:
    keep = clauses.not_matched_by_source == "keep"
    return np.zeros_like(unmatched) if keep else unmatched
