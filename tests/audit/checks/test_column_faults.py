"""Physical paths of columns over all versions of a table: one that comes again is a finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.audit import audit

Plant = Callable[[Any], Any]


def _column(name: str, number: int, physical: str, of: Any = "long") -> dict[str, Any]:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": of, "nullable": True, "metadata": keys}


def _struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _metadata(lake: Any, *columns: Any, mode: str = "name") -> dict[str, Any]:
    mapped = {"columnMapping__mode": mode, "columnMapping__maxColumnId": "9"}
    return dict(lake.metadata(*columns, **(mapped if mode != "none" else {})))


def _versions(lake: Any, *schemas: Any, mode: str = "name") -> None:
    """Write a mapped table whose schemas follow each other."""
    lake.commit(lake.protocol("r:columnMapping"), _metadata(lake, *schemas[0], mode=mode))
    for columns in schemas[1:]:
        lake.commit(_metadata(lake, *columns, mode=mode))


def _from_a_checkpoint(lake: Any) -> None:
    """Write a log that begins with a checkpoint, and drop and add a column after it."""
    protocol, metadata = lake.protocol("r:columnMapping"), _metadata(lake, A, B)
    lake.commit(protocol, metadata)
    lake.checkpoint([protocol, metadata])
    (lake.log / f"{0:020}.json").unlink()
    lake.commit(_metadata(lake, A))
    lake.commit(_metadata(lake, A, AGAIN))


A, B = _column("a", 1, "p1"), _column("b", 2, "p2")
AGAIN = _column("b", 3, "p2")
REUSED = {"CM-018", "CM-034"}

FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a name is taken by a new column": (REUSED, lambda x: _versions(x, [A, B], [A], [A, AGAIN])),
    "a name is taken by mode id": (
        REUSED,
        lambda x: _versions(x, [A, B], [A], [A, AGAIN], mode="id"),
    ),
    "a name is taken when the table is replaced": (
        REUSED,
        lambda x: _versions(x, [A, B], [_column("a", 4, "p1"), _column("b", 5, "p5")]),
    ),
    "a name is taken in a struct": (
        REUSED,
        lambda x: _versions(
            x,
            [
                _column(
                    "s", 1, "p1", _struct(A | {"metadata": B["metadata"]}, _column("c", 4, "p4"))
                )
            ],
            [_column("s", 1, "p1", _struct(_column("c", 4, "p4")))],
            [_column("s", 1, "p1", _struct(_column("c", 4, "p4"), AGAIN))],
        ),
    ),
    "an earlier name than the checkpoint is taken": (REUSED, _from_a_checkpoint),
    "columns exchange their names": (
        {"CM-014", "CM-034"},
        lambda x: _versions(x, [A, B], [_column("a", 1, "p2"), _column("b", 2, "p1")]),
    ),
}


def _lists(lake: Any, *schemas: tuple[Any, ...]) -> None:
    """Write a table of Iceberg compatibility V2 whose schemas follow each other."""
    lake.commit(lake.protocol("r:columnMapping", "icebergCompatV2"), lake.metadata())
    for columns in schemas:
        action = _metadata(lake, *columns)
        action["metaData"]["configuration"]["delta.enableIcebergCompatV2"] = "true"
        lake.commit(action)


def _list(number: int, element: int) -> dict[str, Any]:
    of = {"type": "array", "elementType": "long", "containsNull": True}
    found = _column("l", number, f"p{number}", of)
    found["metadata"]["delta.columnMapping.nested.ids"] = {f"p{number}.element": element}
    return found


FAULTS["an element has the id of a dropped column"] = (
    {"ICE2-007"},
    lambda x: _lists(x, (A, B), (A,), (A, _list(3, 2))),
)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


def test_a_name_that_is_taken_once_is_reported_once(lake: Any) -> None:
    _versions(lake, [A, B], [A], [A, AGAIN], [A, B], [A, AGAIN])
    places = [each.places or (each.place,) for each in lake.audit() if each.requirement == "CM-034"]
    assert places == [("_delta_log/00000000000000000002.json:1",)]


LEGAL: dict[str, tuple[Any, ...]] = {
    "a column comes back by a restore": ([A, B], [A], [A, B]),
    "a column of its own name comes back by a restore": (
        [A, _column("b", 2, "b")],
        [A],
        [A, _column("b", 2, "b")],
    ),
    "a column is renamed": ([A, B], [A, _column("c", 2, "p2")]),
    "a leaf has a name of another struct": (
        [_column("s", 1, "p1", _struct(_column("c", 2, "p2")))],
        [
            _column("s", 1, "p1", _struct(_column("c", 2, "p2"))),
            _column("r", 3, "p3", _struct(_column("c", 4, "p2"))),
        ],
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_name_of_one_column_alone_is_clean(name: str, lake: Any) -> None:
    _versions(lake, *LEGAL[name])
    assert lake.audit() == []


def test_an_element_of_a_new_id_is_clean(lake: Any) -> None:
    _lists(lake, (A, B), (A,), (A, _list(3, 4)), (A,), (A, _list(3, 4)))
    assert lake.audit() == []


def test_an_element_that_was_reported_stays_as_it_is(lake: Any) -> None:
    _lists(lake, (A, B), (A,), (A, _list(3, 2)), (_list(3, 2),))
    assert [each.count for each in lake.audit()] == [1]


def test_mapping_that_is_turned_on_again_begins_again(lake: Any) -> None:
    """Without mapping no column has an id, and one that comes to it names them so."""
    lake.commit(lake.protocol("r:columnMapping"), _metadata(lake, mode="none"))
    lake.commit(_metadata(lake, _column("id", 1, "id"), _column("name", 2, "name", "string")))
    lake.commit(_metadata(lake, mode="none"))
    lake.commit(_metadata(lake, _column("id", 4, "id"), _column("name", 3, "name", "string")))
    assert [each for each in lake.audit() if each.requirement in REUSED] == []


@pytest.mark.parametrize("revision", ["2021", "2025"])
def test_an_older_text_asks_it_of_new_columns(revision: str, lake: Any) -> None:
    _versions(lake, [A, B], [A], [A, AGAIN])
    assert {each.requirement for each in audit(str(lake.root), revision=revision)} == {"CM-018"}
