"""The oracle itself, and the proof that the comparison with it notices a wrong table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from generators.materialise.histories import apply_operation, write_history
from generators.materialise.staging import FileStage, LiveFile
from generators.oracle import filters as filters_module
from generators.oracle.delta_schema import array, field, map_of, struct, type_of
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.model import Oracle, normalized, normalized_row
from generators.oracle.operations import Append, Create, Delete, History, Overwrite, Update, replay

SCHEMA = struct(field("id", "long", nullable=False), field("p", "string"))


def test_versions_stay_as_they_were() -> None:
    oracle = Oracle(SCHEMA)
    (first,) = oracle.insert([{"id": 1, "p": "a"}])
    oracle.commit()
    oracle.update(first.identity, {"p": "b"})
    oracle.commit()
    oracle.delete([first.identity])
    oracle.commit()
    assert [oracle.rows(version) for version in range(3)] == [
        [{"id": 1, "p": "a"}],
        [{"id": 1, "p": "b"}],
        [],
    ]


def test_changes_have_every_row_once() -> None:
    oracle = Oracle(SCHEMA)
    first, second = oracle.insert([{"id": 1}, {"id": 2}])
    oracle.commit()
    oracle.update(first.identity, {"p": "x"})
    oracle.delete([second.identity])
    version = oracle.commit()
    assert [(each.change_type, each.values["id"]) for each in version.changes] == [
        ("update_preimage", 1),
        ("update_postimage", 1),
        ("delete", 2),
    ]


def test_a_fork_leaves_the_table_that_it_came_from_alone() -> None:
    oracle = Oracle(SCHEMA)
    (row,) = oracle.insert([{"id": 1}])
    oracle.commit()
    other = oracle.fork()
    other.update(row.identity, {"p": "x"})
    other.domains["d"] = other.properties["k"] = "v"
    other.commit()
    assert (len(oracle.versions), oracle.pending, oracle.open_changes) == (1, (row,), ())
    assert (oracle.domains, oracle.properties) == ({}, {})
    assert other.rows() == [{"id": 1, "p": "x"}]


def test_what_a_writer_chose_completes_the_row_and_its_change() -> None:
    oracle = Oracle(SCHEMA)
    first, second = oracle.insert([{"id": 1}, {"id": 2}])
    oracle.fill(second.identity, {"p": "x"})
    version = oracle.commit()
    assert oracle.rows() == [{"id": 1, "p": None}, {"id": 2, "p": "x"}]
    assert [each.values for each in version.changes] == oracle.rows()
    assert first.values == {"id": 1, "p": None}


def test_an_update_keeps_the_identity_and_moves_the_version() -> None:
    oracle = Oracle(SCHEMA)
    (row,) = oracle.insert([{"id": 1}])
    oracle.commit()
    after = oracle.update(row.identity, {"p": "x"})
    assert (after.identity, after.changed, row.changed) == (row.identity, 1, 0)


def test_a_predicate_that_is_null_matches_nothing() -> None:
    oracle = Oracle(SCHEMA)
    oracle.insert([{"id": 1, "p": None}])
    assert oracle.matching(lambda _row: None) == []
    assert len(oracle.matching(lambda _row: True)) == 1


def test_a_row_that_is_not_there_cannot_be_deleted() -> None:
    with pytest.raises(KeyError):
        Oracle(SCHEMA).delete([7])


def test_a_schema_change_fills_drops_and_renames() -> None:
    oracle = Oracle(SCHEMA, ["p"])
    oracle.insert([{"id": 1, "p": "a"}])
    oracle.commit()
    wider = struct(field("id", "double"), field("q", "string"), field("new", "date"))
    oracle.change_schema(wider, {"p": "q"})
    oracle.commit()
    assert oracle.rows() == [{"id": 1.0, "q": "a", "new": None}]
    assert oracle.partition_columns == ("q",)
    assert oracle.rows(0) == [{"id": 1, "p": "a"}]


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("float", 0.1, 0.10000000149011612),
        ("double", 1, 1.0),
        ("decimal(5,2)", Decimal("1.5"), Decimal("1.50")),
        ("decimal(5,2)", 3, Decimal("3.00")),
        ("timestamp_ntz", date(2024, 1, 1), datetime(2024, 1, 1)),  # noqa: DTZ001  ntz
        (array("float"), [0.1, None], [0.10000000149011612, None]),
        (map_of("string", "double"), {"k": 1}, [("k", 1.0)]),
        (struct(field("a", "long"), field("b", "long")), {"a": 1}, {"a": 1, "b": None}),
        ("void", None, None),
    ],
)
def test_values_take_the_form_of_their_type(
    data_type: Any, value: object, expected: object
) -> None:
    assert normalized(type_of(data_type), value) == expected


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        ("decimal(5,2)", Decimal("1.234")),
        ("decimal(5,2)", Decimal(1000)),
        ("float", 1e300),
        ("void", 1),
        (struct(field("a", "long")), {"b": 1}),
    ],
)
def test_values_that_do_not_fit_are_refused(data_type: Any, value: object) -> None:
    with pytest.raises(ValueError, match=r"fit|beyond|void|no such"):
        normalized(type_of(data_type), value)


def test_rows_are_checked_against_the_schema() -> None:
    with pytest.raises(ValueError, match="no such columns"):
        normalized_row(SCHEMA, {"id": 1, "x": 2})
    with pytest.raises(ValueError, match="not nullable"):
        normalized_row(SCHEMA, {"p": "a"})
    assert normalized_row(SCHEMA, {"id": 1, "p": ""}, ["p"]) == {"id": 1, "p": None}
    assert normalized_row(SCHEMA, {"id": 1, "p": ""}) == {"id": 1, "p": ""}


# Faults planted in the oracle or in the materialiser: each must make the two differ.

HISTORY: History = (
    Create(SCHEMA, ("p",), {"delta.enableDeletionVectors": "true"}),
    Append(tuple({"id": n, "p": (None, "a")[n % 2]} for n in range(6)), 2),
    Delete(node("<", column("p"), literal("string", "b"))),
    Append(({"id": 10, "p": "c"}, {"id": 11, "p": "c"}, {"id": 12, "p": None})),
    Delete(node("=", column("id"), literal("long", 11)), "file"),
    Delete(node("=", column("id"), literal("long", 10)), "inline"),
    Append(({"id": 20, "p": "d"}, {"id": 21, "p": "d"})),
    Update({"id": 30}, node("=", column("id"), literal("long", 20))),
    Overwrite(({"id": 40, "p": None},), node("is_null", column("p"))),
)


def compares_nulls(right: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda args: True if None in args else right(args)


def forget_deletes(_oracle: Oracle, _identities: Any) -> None:
    return


def update_nothing(oracle: Oracle, identity: int, _values: Mapping[str, Any]) -> Any:
    return next(row for row in oracle.pending if row.identity == identity)


def insert_twice(oracle: Oracle, rows: Any) -> Any:
    listed = list(rows)
    return ORIGINAL_INSERT(oracle, [*listed, *listed])


def live_with_deleted(file: LiveFile) -> tuple[int, ...]:
    return file.identities


ORIGINAL_INSERT = Oracle.insert
RIGHT = filters_module._OPERATIONS
NULLS_COMPARE = {**RIGHT, **{op: compares_nulls(RIGHT[op]) for op in filters_module._ORDERINGS}}

FAULTS: dict[str, tuple[Any, str, Any]] = {
    "null compares as true": (filters_module, "_OPERATIONS", NULLS_COMPARE),
    "deletes are forgotten": (Oracle, "delete", forget_deletes),
    "updates are forgotten": (Oracle, "update", update_nothing),
    "rows are inserted twice": (Oracle, "insert", insert_twice),
    "vectors are forgotten": (LiveFile, "live", property(live_with_deleted)),
}


@contextmanager
def planted(owner: Any, name: str, fault: Any) -> Iterator[None]:
    before = owner.__dict__[name]
    setattr(owner, name, fault)
    try:
        yield
    finally:
        setattr(owner, name, before)


def opinions() -> tuple[list[list[Any]], list[list[Any]], list[list[Any]]]:
    """Return the rows by version of the replay, of the builder, and of the builder's files."""
    from_files = []
    with tempfile.TemporaryDirectory() as folder:
        builder = write_history(Path(folder) / "t", HISTORY[:1])
        from_files.append(file_rows(builder))
        for operation in HISTORY[1:]:
            apply_operation(builder, operation)
            from_files.append(file_rows(builder))
    own = [ordered(builder.rows(version)) for version in range(builder.version + 1)]
    replayed = replay(HISTORY)
    return (
        [ordered(replayed.rows(version.number)) for version in replayed.versions],
        own,
        from_files,
    )


def file_rows(builder: FileStage) -> list[Any]:
    return ordered(
        [row.values for each in builder.files.values() for row in builder.live_rows(each)]
    )


def ordered(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def test_the_three_opinions_agree_without_a_fault() -> None:
    replayed, own, from_files = opinions()
    assert replayed == own == from_files
    assert [len(rows) for rows in replayed] == [0, 6, 3, 6, 5, 4, 6, 6, 3]


RIGHT = [
    [],
    [0, 1, 2, 3, 4, 5],
    [0, 2, 4],
    [0, 2, 4, 10, 11, 12],
    [0, 2, 4, 10, 12],
    [0, 2, 4, 12],
    [0, 2, 4, 12, 20, 21],
    [0, 2, 4, 12, 21, 30],
    [21, 30, 40],
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str) -> None:
    with planted(*FAULTS[fault]):
        try:
            replayed, own, from_files = opinions()
        except (KeyError, ValueError):
            return  # the bookkeeping itself crashes, which cannot be overlooked
    found = [
        [sorted(row["id"] for row in rows) for rows in each] for each in (replayed, own, from_files)
    ]
    assert found != [RIGHT, RIGHT, RIGHT]
