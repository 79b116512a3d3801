"""Updates, deletes and merges follow SQL expressions, or refuse them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Sql, Table, When, read_table
from reference_impl.errors import (
    AppendOnlyViolation,
    ConstraintViolation,
    DeltaError,
    InvalidFilter,
    SchemaMismatch,
    UnknownColumn,
    UnsupportedExpression,
)

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("name", pa.string())])
EVERYTHING = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.columnMapping.mode": "name",
}
FIRST = [(1, 10, "a"), (2, 20, "b"), (3, None, "c"), (4, 40, None)]
MAX = 2**31 - 1


def rows(*given: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, r, strict=True)) for r in given], SCHEMA)


def found(table: Table) -> list[tuple[Any, ...]]:
    read = read_table(table.storage.location).to_pylist()
    return sorted((tuple(row.values()) for row in read), key=repr)


@pytest.fixture(params=[{}, EVERYTHING], ids=["plain", "everything"])
def filled(table: Table, request: pytest.FixtureRequest) -> Table:
    table.create(SCHEMA, properties=request.param)
    table.append(rows(*FIRST[:2]))
    table.append(rows(*FIRST[2:]))
    return table


def test_an_update_computes_from_the_row_as_it_was(
    filled: Table, clean: Callable[[], None]
) -> None:
    filled.update({"n": Sql("n + id"), "id": Sql("n"), "name": Sql("upper(name)")}, "id <= 3")
    assert found(filled) == [(10, 11, "A"), (20, 22, "B"), (4, 40, None), (None, None, "C")]
    clean()


def test_a_string_that_is_no_expression_stays_one(filled: Table) -> None:
    filled.update({"name": "n + 1"}, "id = 1")
    assert (1, 10, "n + 1") in found(filled)


CONDITIONS = {
    "n % 20 = 0": {2, 4},
    "id + coalesce(n, 0) > 20 AND id < 4": {2},
    "length(name) = 1 AND n IS NULL": {3},
    "(id = 1 OR n / 1 = 2)": None,
    "CASE WHEN n > 10 THEN id > 2 ELSE true END": {1, 3, 4},
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_delete_follows_any_condition(
    filled: Table, clean: Callable[[], None], condition: str
) -> None:
    gone = CONDITIONS[condition]
    if gone is None:
        with pytest.raises(UnsupportedExpression, match=r"/ 1"):
            filled.delete(condition)
        assert filled.latest_version() == 2
        return
    filled.delete(condition)
    assert {row[0] for row in found(filled)} == {1, 2, 3, 4} - gone
    clean()


def test_an_overwrite_replaces_what_a_condition_chooses(filled: Table) -> None:
    filled.overwrite(rows((8, 80, "x")), "id % 2 = 0")
    assert {row[0] for row in found(filled)} == {1, 3, 8}
    with pytest.raises(ConstraintViolation):
        filled.overwrite(rows((9, 80, "x")), "id % 2 = 0")


def test_a_row_that_is_ruled_out_is_not_evaluated(filled: Table) -> None:
    filled.append(rows((5, MAX, "big")))
    filled.delete("id < 5 AND n + 1 = 11")
    assert {row[0] for row in found(filled)} == {2, 3, 4, 5}
    filled.delete("id = 5")
    filled.delete("n + 1 = 21")
    assert {row[0] for row in found(filled)} == {3, 4}


REFUSED = {
    "overflow": ({"n": Sql("n * 2147483647")}, SchemaMismatch),
    "does not fit": ({"n": Sql("id + 4294967296")}, SchemaMismatch),
    "unknown column": ({"n": Sql("m + 1")}, UnknownColumn),
    "unknown function": ({"n": Sql("hash(n)")}, UnsupportedExpression),
    "no SQL": ({"n": Sql("n +")}, InvalidFilter),
    "no such column": ({"m": Sql("n")}, SchemaMismatch),
    "twice": ({"n": Sql("n"), "N": Sql("id")}, SchemaMismatch),
    "nothing": ({}, SchemaMismatch),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_evaluated_is_refused(filled: Table, name: str) -> None:
    values, error = REFUSED[name]
    before = found(filled)
    with pytest.raises(error):
        filled.update(values)
    assert filled.latest_version() == 2
    assert found(filled) == before


SOURCE = pa.table({"key": [2, 3, 4, 9], "by": [5, 6, 7, 8]})
MERGES: dict[str, tuple[str, list[When], list[tuple[Any, ...]]]] = {
    "first clause that holds": (
        "target.id = source.key",
        [
            When("matched", "delete", "source.by = 6"),
            When("matched", "update", "target.n > 20", {"n": Sql("target.n + source.by")}),
            When("matched", "update", None, {"name": "rest"}),
        ],
        [(1, 10, "a"), (2, 20, "rest"), (4, 47, None)],
    ),
    "inequality": (
        "target.id > source.key + 1",
        [When("matched", "update", None, {"n": Sql("source.by")})],
        [(1, 10, "a"), (2, 20, "b"), (3, None, "c"), (4, 5, None)],
    ),
    "insert": (
        "target.id = source.key",
        [
            When("not_matched", "insert", "source.by > 8", {"id": Sql("source.key")}),
            When(
                "not_matched",
                "insert",
                None,
                {"id": Sql("source.key"), "n": Sql("source.by * 2"), "name": "new"},
            ),
        ],
        [*FIRST, (9, 16, "new")],
    ),
    "not matched by source": (
        "target.id = source.key AND source.by < 7",
        [
            When("not_matched_by_source", "update", "target.id = 1", {"n": Sql("target.n - 1")}),
            When("not_matched_by_source", "delete"),
        ],
        [(1, 9, "a"), (2, 20, "b"), (3, None, "c")],
    ),
    "everything at once": (
        "target.id = source.key",
        [
            When("matched", "update", "source.by = 5", {"n": Sql("target.n + 1")}),
            When("matched", "delete"),
            When("not_matched", "insert", None, {"id": Sql("source.key")}),
            When("not_matched_by_source", "update", None, {"name": "alone"}),
        ],
        [(1, 10, "alone"), (2, 21, "b"), (9, None, None)],
    ),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_merge_follows_its_clauses(filled: Table, clean: Callable[[], None], name: str) -> None:
    on, clauses, expected = MERGES[name]
    assert filled.merge(SOURCE, on, clauses) == 3
    assert found(filled) == sorted(expected, key=repr)
    clean()


def test_an_ambiguous_match_is_refused_where_it_changes_a_row(filled: Table) -> None:
    twice = pa.table({"key": [1, 1], "by": [1, 2]})
    on = "target.id = source.key"
    update = {"n": Sql("source.by")}
    with pytest.raises(ConstraintViolation, match="several source rows"):
        filled.merge(twice, on, [When("matched", "update", None, update)])
    assert filled.latest_version() == 2
    filled.merge(twice, on, [When("matched", "update", "source.by = 2", update)])
    assert (1, 2, "a") in found(filled)
    filled.merge(twice, on, [When("matched", "delete")])
    assert {row[0] for row in found(filled)} == {2, 3, 4}


MALFORMED = {
    "insert of what is there": ([When("matched", "insert")], InvalidFilter),
    "update of what is not": ([When("not_matched", "update")], InvalidFilter),
    "update without values": ([When("not_matched_by_source", "update")], InvalidFilter),
    "bare name": ([When("matched", "delete", "by = 1")], UnknownColumn),
    "other side": ([When("not_matched", "insert", "target.id = 1", {"id": 1})], UnknownColumn),
    "no such column": ([When("matched", "delete", "source.zz = 1")], UnknownColumn),
    "no condition": ([When("matched", "delete", "source.by")], SchemaMismatch),
    "whole rows of other columns": ([When("matched", "update")], SchemaMismatch),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_merge_is_refused(filled: Table, name: str) -> None:
    clauses, error = MALFORMED[name]
    with pytest.raises(error):
        filled.merge(SOURCE, "target.id = source.key", clauses)
    assert filled.latest_version() == 2


def test_rows_keep_their_ids_and_the_feed_has_what_a_merge_did(table: Table) -> None:
    table.create(SCHEMA, properties=EVERYTHING, rows=rows(*FIRST))

    def ids() -> dict[int, int]:
        read = read_table(table.storage.location, row_ids=True).to_pylist()
        return {r["id"]: r["_row_id"] for r in read}

    before = ids()
    on, clauses, _ = MERGES["everything at once"]
    table.merge(SOURCE, on, clauses)
    after = ids()
    assert {key: after[key] for key in (1, 2)} == {key: before[key] for key in (1, 2)}
    assert after[9] not in before.values()
    changes = sorted(
        (r["_change_type"], r["id"], r["n"]) for r in table.changes(1).to_pylist() if r["id"] != 9
    )
    assert changes == [
        ("delete", 3, None),
        ("delete", 4, 40),
        ("update_postimage", 1, 10),
        ("update_postimage", 2, 21),
        ("update_preimage", 1, 10),
        ("update_preimage", 2, 20),
    ]


def ruled(name: str, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": "long", "nullable": True, "metadata": metadata}


def test_what_is_generated_follows_and_constraints_hold(
    table: Table, clean: Callable[[], None]
) -> None:
    double = {"delta.generationExpression": "n * 2"}
    fields = [ruled("id"), ruled("n"), ruled("double", **double), ruled("d", CURRENT_DEFAULT="7")]
    table.create(
        {"type": "struct", "fields": fields},
        properties={"delta.constraints.small": "n < 100"},
        rows=pa.table({"id": [1, 2], "n": [3, 4]}),
    )
    table.update({"n": Sql("n + 10")}, "id = 1")
    on = "target.id = source.key"
    table.merge(
        SOURCE,
        on,
        [
            When("matched", "update", None, {"n": Sql("target.n + source.by")}),
            When("not_matched", "insert", "source.by = 8", {"id": 9, "n": Sql("source.by")}),
        ],
    )
    assert found(table) == [(1, 13, 26, 7), (2, 9, 18, 7), (9, 8, 16, 7)]
    works: list[Callable[[], int]] = [
        lambda: table.update({"n": Sql("n * 20")}),
        lambda: table.update({"double": Sql("double + 1")}),
        lambda: table.merge(SOURCE, on, [When("matched", "update", None, {"n": 100})]),
        lambda: table.merge(SOURCE, on, [When("not_matched", "insert", None, {"n": 100})]),
    ]
    for work in works:
        with pytest.raises(ConstraintViolation):
            work()
    clean()


def test_identity_columns_are_inserted_and_not_updated(table: Table) -> None:
    identity = ruled("i", **{"delta.identity.start": 5, "delta.identity.step": -2})
    table.create({"type": "struct", "fields": [identity, ruled("n")]}, rows=pa.table({"n": [1]}))
    insert = When("not_matched", "insert", None, {"n": Sql("source.by")})
    table.merge(SOURCE, "false", [insert])
    assert sorted(found(table)) == [(-3, 8), (-1, 7), (1, 6), (3, 5), (5, 1)]
    works: list[Callable[[], int]] = [
        lambda: table.update({"i": Sql("i + 1")}),
        lambda: table.merge(SOURCE, "true", [When("matched", "update", None, {"i": 1})]),
        lambda: table.merge(pa.table({"i": [6], "n": [1]}), ["n"]),
    ]
    for work in works:
        with pytest.raises(ConstraintViolation, match="identity"):
            work()


def test_an_append_only_table_refuses_to_merge_into_rows(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.appendOnly": "true"}, rows=rows(*FIRST))
    on = "target.id = source.key"
    with pytest.raises(AppendOnlyViolation):
        table.merge(SOURCE, on, [When("matched", "update", None, {"n": 1})])
    table.merge(SOURCE, on, [When("not_matched", "insert", None, {"id": Sql("source.key")})])
    assert len(found(table)) == 5


def test_every_refusal_is_typed(filled: Table) -> None:
    for text in ("target.id = (SELECT 1)", "rand() < 1", "target.id", "", "target.id = source"):
        with pytest.raises(DeltaError):
            filled.merge(SOURCE, text, [When("matched", "delete")])
