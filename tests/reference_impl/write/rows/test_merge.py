"""Merges by key: every row ends as its clause says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.write.rows.clauses import Clauses

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("n", pa.int64())])
EVERYTHING = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
}


def rows(*given: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=False)) for row in given], schema=SCHEMA
    )


def found(table: Table) -> list[tuple[Any, ...]]:
    read = read_table(table.storage.location).to_pylist()
    return sorted((tuple(row.values()) for row in read), key=repr)


@pytest.fixture(params=[{}, EVERYTHING])
def filled(table: Table, request: pytest.FixtureRequest) -> Table:
    table.create(SCHEMA, properties=request.param)
    table.append(rows((1, "a", 1), (2, "b", 2), (None, "x", 0)))
    table.append(rows((3, "c", 3)))
    return table


SOURCE = rows((2, "B", 20), (3, "C", 30), (4, "D", 40), (None, "Y", 50))
LEFT: dict[str, tuple[Clauses, list[tuple[Any, ...]]]] = {
    "upsert": (
        Clauses(),
        [(1, "a", 1), (2, "B", 20), (3, "C", 30), (4, "D", 40), (None, "Y", 50), (None, "x", 0)],
    ),
    "delete": (Clauses("delete", "keep"), [(1, "a", 1), (None, "x", 0)]),
    "insert": (
        Clauses("keep"),
        [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "D", 40), (None, "Y", 50), (None, "x", 0)],
    ),
    "mirror": (
        Clauses("update", "insert", "delete"),
        [(2, "B", 20), (3, "C", 30), (4, "D", 40), (None, "Y", 50)],
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_each_row_ends_as_its_clause_says(
    filled: Table, clean: Callable[[], None], name: str
) -> None:
    clauses, expected = LEFT[name]
    assert filled.merge(SOURCE, ["id"], clauses) == 3
    assert found(filled) == expected
    clean()


def test_a_source_with_fewer_columns_changes_those(filled: Table) -> None:
    filled.merge(pa.table({"id": [1], "n": [9]}), ["id"])
    assert (1, "a", 9) in found(filled)


def test_rows_keep_their_ids_and_the_feed_has_each_change(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties=EVERYTHING, rows=rows((1, "a", 1), (2, "b", 2), (5, "e", 5)))
    before = {
        r["id"]: r["_row_id"] for r in read_table(table.storage.location, row_ids=True).to_pylist()
    }
    table.merge(rows((2, "B", 20), (4, "D", 40)), ["id"], Clauses("update", "insert", "delete"))
    after = {
        r["id"]: r["_row_id"] for r in read_table(table.storage.location, row_ids=True).to_pylist()
    }
    assert after[2] == before[2]
    changes = sorted((r["_change_type"], r["id"]) for r in table.changes(1).to_pylist())
    assert changes == [
        ("delete", 1),
        ("delete", 5),
        ("insert", 4),
        ("update_postimage", 2),
        ("update_preimage", 2),
    ]
    clean()


def test_a_row_that_would_match_twice_is_refused(filled: Table) -> None:
    with pytest.raises(ConstraintViolation):
        filled.merge(rows((1, "p", 0), (1, "q", 0)), ["id"])
    with pytest.raises(SchemaMismatch):
        filled.merge(pa.table({"n": [1]}), ["id"])
    assert filled.latest_version() == 2


def test_a_merge_that_changes_nothing_commits_nothing(filled: Table) -> None:
    assert filled.merge(rows((9, "z", 0)), ["id"], Clauses("update", "keep")) == 2
