"""Faults of row ids, high-water marks and rules of rows: each fires its findings alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit
from conformance.audit.checks.high_water_marks import lowered_marks
from conformance.audit.read.layout import layout_of

Plant = Callable[[Any], Any]
FEATURES = ("rowTracking", "domainMetadata")
NAMES = {
    "rowTracking__materializedRowIdColumnName": "_id",
    "rowTracking__materializedRowCommitVersionColumnName": "_version",
}


def _mark(number: int, **changes: Any) -> dict[str, Any]:
    body = {"domain": "delta.rowTracking", "removed": False}
    body["configuration"] = json.dumps({"rowIdHighWaterMark": number})
    return {"domainMetadata": body | changes}


def _tracked(lake: Any, *columns: Any, **properties: str) -> None:
    enabled = {"enableRowTracking": "true", **NAMES, **properties}
    lake.commit(lake.protocol(*FEATURES), lake.metadata(*columns, **enabled))


def _add(lake: Any, name: str, base: int, version: int, rows: Any = None) -> dict[str, Any]:
    return lake.file(name, rows, baseRowId=base, defaultRowCommitVersion=version)


def _ids(lake: Any, ids: pa.Array | None = None, versions: pa.Array | None = None) -> None:
    """Commit rows with ids 0 and 1, and a file of two rows with materialised ids."""
    _tracked(lake, lake.field("id"))
    lake.commit(_add(lake, "a.parquet", 0, 1, pa.table({"id": [1, 2]})), _mark(1))
    columns: dict[str, Any] = {"id": [3, 4]}
    columns |= {} if ids is None else {"_id": ids}
    columns |= {} if versions is None else {"_version": versions}
    lake.commit(_add(lake, "b.parquet", 2, 2, pa.table(columns)), _mark(3))


def _again(lake: Any, action: str, **changes: Any) -> None:
    """Recommit or remove a file with other ids than it had."""
    _tracked(lake)
    lake.commit(_add(lake, "a.parquet", 0, 1), _mark(9))
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 1} | changes
    if action == "add":
        lake.commit(lake.file("a.parquet", dataChange=False, **ids))
    else:
        lake.commit(lake.remove("a.parquet", **ids))


def _fallen(lake: Any, *actions: dict[str, Any]) -> None:
    _tracked(lake, lake.field("id"))
    rows = pa.table({"id": range(6)})
    lake.commit(_add(lake, "a.parquet", 0, 1, rows), _mark(9))
    lake.commit(*actions)


def _untracked_for_a_while(lake: Any) -> None:
    """Suspend row tracking, take the ids of a file away, and give it others later on."""
    _again(lake, "add")
    lake.commit(lake.metadata(enableRowTracking="false", rowTrackingSuspended="true"))
    lake.commit(lake.file("a.parquet", dataChange=False))
    lake.commit(lake.metadata(enableRowTracking="false", **NAMES))
    lake.commit(lake.file("a.parquet", dataChange=False, **_IDS_OF_SIX), _mark(12))
    lake.commit(lake.metadata(enableRowTracking="true", **NAMES))
    lake.commit(lake.remove("a.parquet", **_IDS_OF_SIX))


_IDS_OF_SIX: dict[str, int] = {"baseRowId": 10, "defaultRowCommitVersion": 6}


def _given_again(lake: Any) -> None:
    _fallen(lake, lake.remove("a.parquet", baseRowId=0, defaultRowCommitVersion=1))
    lake.commit(_add(lake, "b.parquet", 5, 3, pa.table({"id": [7]})))


def _mapped(lake: Any, *marks: str) -> None:
    for number, mark in enumerate(marks):
        properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": mark}
        first = [] if number else [lake.protocol("r:columnMapping")]
        lake.commit(*first, lake.metadata(lake.column("id", 1), **properties))


def _identity(lake: Any, values: Any, *settings: dict[str, Any]) -> None:
    held = {"start": 10, "step": 5, "highWaterMark": 20, "allowExplicitInsert": False}
    for number, each in enumerate(settings or ({},)):
        keyed = {f"delta.identity.{k}": v for k, v in (held | each).items()}
        first = [] if number else [lake.protocol("identityColumns")]
        lake.commit(*first, lake.metadata(lake.field("id", **keyed)))
    lake.commit(lake.file("a.parquet", pa.table({"id": pa.array(values, pa.int64())})))


def _ruled(lake: Any, text: str, rows: Any, *, deleted: Any = (), feature: str = "") -> None:
    """Commit rows to a table with a constraint, or an invariant of ``id``."""
    invariant = json.dumps({"expression": {"expression": text}})
    kind = feature or "checkConstraints"
    held = {"delta.invariants": invariant} if kind == "invariants" else {}
    columns = (lake.field("id", **held), lake.field("name", "string"))
    own = {"constraints__c": text} if kind == "checkConstraints" else {}
    properties = own | {"enableDeletionVectors": "true"}
    lake.commit(lake.protocol(kind, "r:deletionVectors"), lake.metadata(*columns, **properties))
    more = {"deletionVector": lake.vector(deleted)} if deleted else {}
    lake.commit(lake.file("a.parquet", pa.table(rows), **more))


def _generated(lake: Any, text: str, rows: Any, **file: Any) -> None:
    column = lake.field("g", **{"delta.generationExpression": text})
    partition = ["g"] if file else []
    metadata = lake.metadata(lake.field("id"), column, partition=partition)
    lake.commit(lake.protocol("generatedColumns"), metadata)
    lake.commit(lake.file("a.parquet", pa.table(rows), **file))


LONGS = pa.array([7, None], pa.int64())
IDS = {"id": [1, 2], "name": ["a", None]}

NO_CONDITIONS = (
    "1 + 1", "id + 1", "'yes'", "CASE WHEN id > 1 THEN 1 ELSE 0 END", "id >", "(id > 1", "id > 1)",
    "AND id > 1", "f(id] > 1",
)  # fmt: skip

FAULTS: dict[str, tuple[set[str], Plant]] = {
    "row ids are materialised as text": ({"RT-050"}, lambda x: _ids(x, pa.array(["0", "1"]))),
    "row ids are materialised in 32 bits": (
        {"RT-050"},
        lambda x: _ids(x, pa.array([0, 1], pa.int32())),
    ),
    "commit versions are materialised as text": (
        {"RT-052"},
        lambda x: _ids(x, None, pa.array(["1", "1"])),
    ),
    "a commit version is of the future": ({"RT-052"}, lambda x: _ids(x, None, pa.array([1, 9]))),
    "a commit version is negative": ({"RT-052"}, lambda x: _ids(x, None, pa.array([-1, 1]))),
    "a materialised id is above the mark": ({"RT-050"}, lambda x: _ids(x, LONGS)),
    "a materialised id is negative": (
        {"RT-050"},
        lambda x: _ids(x, pa.array([-3, None], pa.int64())),
    ),
    "a materialised id is the fresh one of a row": (
        {"RT-048"},
        lambda x: _ids(x, pa.array([0, None], pa.int64())),
    ),
    "a materialised id is the fresh one of the next row": (
        {"RT-048"},
        lambda x: _ids(x, pa.array([3, None], pa.int64())),
    ),
    "an add has another base": ({"RT-030"}, lambda x: _again(x, "add", baseRowId=2)),
    "an add has another commit version": (
        {"RT-030"},
        lambda x: _again(x, "add", defaultRowCommitVersion=2),
    ),
    "a remove has another base": ({"RT-030"}, lambda x: _again(x, "remove", baseRowId=5)),
    "a remove has another commit version": (
        {"RT-030"},
        lambda x: _again(x, "remove", defaultRowCommitVersion=2),
    ),
    "the mark of row ids falls": ({"RT-037"}, lambda x: _fallen(x, _mark(4))),
    "the mark of row ids is removed": (
        {"RT-033", "DOM-004"},
        lambda x: _fallen(x, _mark(9, removed=True, configuration="")),
    ),
    "row ids of a file that is gone are given again": ({"RT-039"}, _given_again),
    "the mark of column ids falls": ({"CM-022"}, lambda x: _mapped(x, "7", "3")),
    "the mark of identity values falls": (
        {"IDN-016"},
        lambda x: _identity(x, [10], {}, {"highWaterMark": 10}),
    ),
    "the mark of falling identity values rises": (
        {"IDN-016"},
        lambda x: _identity(
            x, [10], {"step": -5, "highWaterMark": -20}, {"step": -5, "highWaterMark": 10}
        ),
    ),
    "the start of an identity column changes": (
        {"IDN-007"},
        lambda x: _identity(x, [15], {}, {"start": 15}),
    ),
    "the step of an identity column changes": (
        {"IDN-007"},
        lambda x: _identity(x, [10], {}, {"step": 10}),
    ),
    "an identity value is beyond the mark": ({"IDN-008"}, lambda x: _identity(x, [10, 25])),
    "a falling identity value is beyond the mark": (
        {"IDN-009"},
        lambda x: _identity(x, [10, -30], {"step": -5, "highWaterMark": -20}),
    ),
    "an identity value is off the grid": ({"IDN-013"}, lambda x: _identity(x, [10, 12])),
    "an identity value is before the start": ({"IDN-013"}, lambda x: _identity(x, [5])),
    "a row breaks a constraint": ({"CHK-005"}, lambda x: _ruled(x, "id > 1", IDS)),
    "a constraint is null": ({"CHK-005"}, lambda x: _ruled(x, "name > ''", IDS)),
    "a constraint names no column": ({"CHK-004"}, lambda x: _ruled(x, "ghost > 1", IDS)),
    **{
        f"a constraint on no rows is {text!r}": (
            {"CHK-003"},
            lambda x, text=text: _ruled(x, text, pa.table(IDS).slice(0, 0)),
        )
        for text in NO_CONDITIONS
    },
    "a row breaks an invariant": (
        {"INV-005"},
        lambda x: _ruled(x, "id < 2", IDS, feature="invariants"),
    ),
    "an invariant is null": (
        {"INV-006"},
        lambda x: _ruled(x, "name = 'a'", IDS, feature="invariants"),
    ),
    "a generated value is another": (
        {"GEN-004"},
        lambda x: _generated(x, "id + 1", {"id": [1, 2], "g": [2, 4]}),
    ),
    "a generated value is null": (
        {"GEN-004"},
        lambda x: _generated(x, "id + 1", {"id": [1, 2], "g": pa.array([2, None], pa.int64())}),
    ),
    "a generated column is absent": (
        {"GEN-004"},
        lambda x: _generated(x, "id + 1", {"id": [1, 2]}),
    ),
    "a generated partition value is another": (
        {"GEN-004"},
        lambda x: _generated(x, "id * 2", {"id": [1, 2]}, partitionValues={"g": "2"}),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


def _moved(lake: Any) -> None:
    """Move a row by a vector, with its id."""
    features = (*FEATURES, "r:deletionVectors")
    enabled = {"enableRowTracking": "true", "enableDeletionVectors": "true", **NAMES}
    lake.commit(lake.protocol(*features), lake.metadata(lake.field("id"), **enabled))
    rows = pa.table({"id": [1, 2]})
    lake.commit(_add(lake, "a.parquet", 0, 1, rows), _mark(1))
    again = _add(lake, "a.parquet", 0, 1, rows)
    again["add"]["deletionVector"] = lake.vector([0])
    moved = pa.table({"id": [9], "_id": [0], "_version": pa.array([None], pa.int64())})
    gone = lake.remove("a.parquet", baseRowId=0, defaultRowCommitVersion=1)
    lake.commit(gone, again, _add(lake, "b.parquet", 2, 2, moved), _mark(2))


def _unmapped(lake: Any) -> None:
    """Turn column mapping off, as who drops the feature in the next commit."""
    _mapped(lake, "3")
    lake.commit(lake.metadata(lake.field("id")))


RIGHT: dict[str, Plant] = {
    "columns that are mapped no longer": _unmapped,
    "a row that moved": _moved,
    "ids that are null": lambda x: _ids(
        x, pa.array([None, None], pa.int64()), pa.array([None, 1], pa.int64())
    ),
    "a file as it was": lambda x: _again(x, "add"),
    "a file that had no ids for a while": _untracked_for_a_while,
    "a file that is removed": lambda x: _again(x, "remove"),
    "a mark that rises": lambda x: _fallen(x, _mark(12)),
    "a mark that falls to what was given": lambda x: _fallen(x, _mark(5)),
    "ids that an earlier commit reserved": lambda x: _fallen(
        x, _add(x, "b.parquet", 6, 2, pa.table({"id": [7, 8, 9, 10]}))
    ),
    "column ids that rise": lambda x: _mapped(x, "3", "7"),
    "identity values": lambda x: _identity(x, [10, 15, 20]),
    "identity values of users": lambda x: _identity(x, [11], {"allowExplicitInsert": True}),
    "identity values that fall": lambda x: _identity(
        x, [10, 5, -20], {"step": -5, "highWaterMark": -20}
    ),
    "a constraint that holds": lambda x: _ruled(x, "id > 0", IDS),
    "a constraint that deleted rows break": lambda x: _ruled(x, "id > 1", IDS, deleted=[0]),
    "an invariant that holds": lambda x: _ruled(x, "id > 0", IDS, feature="invariants"),
    "generated values": lambda x: _generated(x, "id + 1", {"id": [1, 2], "g": [2, 3]}),
    "a generated partition value": lambda x: _generated(
        x, "id * 2", {"id": [1, 1]}, partitionValues={"g": "2"}
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_clean(name: str, lake: Any) -> None:
    RIGHT[name](lake)
    assert lake.audit() == []


def test_an_expression_that_is_not_known_is_left_open(lake: Any) -> None:
    _ruled(lake, "from_another_world(id)", IDS)
    assert {(f.requirement, f.severity) for f in lake.audit()} == {("CHK-005", "info")}


def test_columns_of_row_ids_stay_hidden_where_they_have_no_name_now(lake: Any) -> None:
    _ids(lake, pa.array([None, None], pa.int64()))
    lake.commit(lake.metadata(lake.field("id"), enableRowTracking="false"))
    assert lake.audit() == []


def test_an_id_of_its_own_is_a_warning(lake: Any) -> None:
    _ids(lake, pa.array([2, None], pa.int64()))
    assert [(each.requirement, each.severity) for each in lake.audit()] == [("RT-050", "warning")]


def test_a_remove_that_leaves_row_ids_out_is_a_warning(lake: Any) -> None:
    _again(lake, "remove", baseRowId=None, defaultRowCommitVersion=None)
    assert {(f.requirement, f.severity) for f in lake.audit()} == {("RT-030", "warning")}


def test_a_double_in_two_files_is_found(lake: Any) -> None:
    _moved(lake)
    rows = pa.table({"id": [9], "_id": [0]})
    lake.commit(_add(lake, "c.parquet", 3, 3, rows), _mark(3))
    assert {f.requirement for f in audit(str(lake.root))} == {"RT-048"}


def test_rows_that_no_statistics_count_have_ids_of_their_own(lake: Any) -> None:
    _tracked(lake, lake.field("id"))
    first = _add(lake, "a.parquet", 0, 1, pa.table({"id": [1, 2, 3]}))
    del first["add"]["stats"]
    lake.commit(first, _mark(2))
    lake.commit(_add(lake, "b.parquet", 2, 2, pa.table({"id": [4]})))
    assert {f.requirement for f in lake.audit()} == {"RT-029"}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_replaced_table_has_new_identity_columns(replaced: bool, lake: Any) -> None:
    _identity(lake, [10])
    settings = {"start": 1, "step": 1, "allowExplicitInsert": False}
    column = lake.field("id", **{f"delta.identity.{k}": v for k, v in settings.items()})
    gone = [lake.remove("a.parquet")] if replaced else []
    lake.commit(lake.metadata(column), *gone)
    found = {each.requirement for each in lake.audit()}
    assert ({"IDN-007", "IDN-016"} <= found) is not replaced
    assert not replaced or found == set()


def _marked(lake: Any, mark: int | None, highest: str) -> Any:
    numbered = {"delta.identity.start": 1, "delta.identity.step": 1}
    numbered |= {} if mark is None else {"delta.identity.highWaterMark": mark}
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c-1"}
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": highest}
    metadata = lake.metadata(lake.field("k", **numbered, **mapped), **properties)
    protocol = lake.protocol("r:columnMapping", "identityColumns")["protocol"]
    return layout_of(protocol, metadata["metaData"])


@pytest.mark.parametrize("mark", [None, 3])
def test_the_marks_of_a_replaced_table_may_fall_but_for_column_ids(lake: Any, mark: Any) -> None:
    """The judge of recipes and the audit of tables share this."""
    old, new = _marked(lake, 9, "5"), _marked(lake, mark, "1")
    assert {row for row, _ in lowered_marks(old, new)} == {"CM-022", "IDN-016"}
    assert {row for row, _ in lowered_marks(old, new, replaced=True)} == {"CM-022"}


def test_a_commit_that_keeps_the_property_does_not_turn_row_tracking_on(lake: Any) -> None:
    for comment in "ab":
        metadata = lake.metadata(
            lake.field("id", comment=comment), enableRowTracking="true", **NAMES
        )
        lake.commit(*([lake.protocol("domainMetadata")] if comment == "a" else []), metadata)
    found = [x for x in lake.audit() if x.requirement == "RT-041"]
    assert [x.severity for x in found] == ["error", "warning"]
