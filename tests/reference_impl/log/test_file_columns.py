"""Lines of file actions become the same columns however they are spelt."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.errors import DeltaError
from reference_impl.log.file_columns import from_lines
from reference_impl.log.lines import Lines
from reference_impl.model.wire import LogPlace

PLACE = LogPlace("_delta_log/0.json", 0)
LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=12)
VALUES = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3)
VECTORS = st.fixed_dictionaries(
    {
        "storageType": st.sampled_from("uip"),
        "pathOrInlineDv": TEXTS,
        "sizeInBytes": st.integers(-(2**31), 2**31 - 1),
        "cardinality": LONGS,
    },
    optional={"offset": st.none() | st.integers(0, 2**31 - 1)},
)
ADDS = st.fixed_dictionaries(
    {
        "path": TEXTS,
        "partitionValues": VALUES,
        "size": LONGS,
        "modificationTime": LONGS,
        "dataChange": st.booleans(),
    },
    optional={
        "stats": st.none() | TEXTS,
        "tags": st.none() | VALUES,
        "deletionVector": st.none() | VECTORS,
        "baseRowId": st.none() | LONGS,
        "clusteringProvider": st.none() | TEXTS,
    },
)
NAMES = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
]
VECTOR_NAMES = ["storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"]


def _expected(add: dict[str, Any]) -> dict[str, Any]:
    row = {name: add.get(name) for name in NAMES}
    if row["deletionVector"] is not None:
        row["deletionVector"] = {name: row["deletionVector"].get(name) for name in VECTOR_NAMES}
    return row


def _rows(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return the rows of lines; few lines and many, which are read another way, agree."""
    few, many = (
        from_lines("add", [(PLACE, Lines.of(lines))] * times).to_pylist(maps_as_pydicts="strict")
        for times in (1, 100)
    )
    assert many == few * 100
    rows: list[dict[str, Any]] = few
    return rows


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(ADDS, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_what_is_written_is_read(adds: list[dict[str, Any]], ascii_only: bool, odd: bool) -> None:
    def spell(add: dict[str, Any]) -> bytes:
        body = dict(reversed(add.items())) | ({"novelty": [1, {}]} if odd else {})
        return json.dumps({"add": body}, ensure_ascii=ascii_only).encode()

    assert _rows([spell(add) for add in adds]) == [_expected(add) for add in adds]


def _line(**over: Any) -> bytes:
    body = {"path": "f", "partitionValues": {"p": "1"}, "size": 1, "modificationTime": 1}
    return json.dumps({"add": body | {"dataChange": True} | over}).encode()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([_line(), _line(partitionValues={})], [{"p": "1"}, {}]),
        ([_line(), _line(partitionValues={"p": None})], [{"p": "1"}, {"p": None}]),
        ([_line(partitionValues={}), _line()], [{}, {"p": "1"}]),
        ([_line(partitionValues={"p": "1", "q": "2"})] * 2, [{"p": "1", "q": "2"}] * 2),
        (
            [_line(partitionValues={"p": None, "q": "2"}), _line(partitionValues={"q": None})],
            [{"p": None, "q": "2"}, {"q": None}],
        ),
        (
            [_line(partitionValues={f"p{key}": "1" for key in range(40)}), _line()],
            [{f"p{key}": "1" for key in range(40)}, {"p": "1"}],
        ),
    ],
)
def test_a_missing_key_differs_from_a_null_value(lines: list[bytes], expected: Any) -> None:
    assert [row["partitionValues"] for row in _rows(lines)] == expected


def test_fields_and_keys_of_a_line_amid_many_arrive() -> None:
    lines = [_line() for _ in range(300)]
    lines[137] = _line(tags={"rare": "x", "null": None}, baseRowId=7, partitionValues={"q": None})
    rows = _rows(lines)[:300]
    assert rows[137]["tags"] == {"rare": "x", "null": None}
    assert (rows[137]["baseRowId"], rows[137]["partitionValues"]) == (7, {"q": None})
    assert all(row == rows[0] for at, row in enumerate(rows) if at != 137)


@pytest.mark.parametrize(
    "bad",
    [
        b'{"add":{"path":"f"}}',
        _line()[:-1] + b"}" + _line(),
        _line().replace(b'"size": 1', b'"size": 01'),
        _line().replace(b'"f"', b'"f\tg"'),
        _line().replace(b'"f"', b'"\xff"'),
        _line().replace(b'"f"', b'"\\ud800"'),
        _line().replace(b'"f"', b'"f",'),
        _line(size=2**63),
        _line(size=1.0),
        _line(deletionVector={}),
        _line(partitionValues={"p": 1}),
        _line(partitionValues={"q": None, "p": {}}),
        _line(tags={"p": ["x"]}, partitionValues={"p": None}),
        _line(deletionVector={"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1}),
        _line().replace(b"{", b'{"remove": {"path": "g"}, ', 1),
        b'{"add":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
    ids=range(16),
)
@pytest.mark.parametrize("position", [0, 1])
def test_one_bad_line_among_good_ones_is_refused(bad: bytes, position: int) -> None:
    lines = [_line(), _line()]
    assert len(_rows(lines)) == 2
    lines.insert(position, bad)
    for times in (1, 100):
        with pytest.raises(DeltaError):
            from_lines("add", [(PLACE, Lines.of(lines))] * times)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "value",
    ["x", 1, True, [], [None], [None, None], [[None]], [["a", "b"], None], [{}], {}, {"a": [None]}],
    ids=str,
)
def test_a_field_of_any_shape_is_read_or_refused(name: str, value: object) -> None:
    """Given some of them for a map, Arrow ends the process."""
    with suppress(DeltaError):
        from_lines("add", [(PLACE, Lines.of([_line(**{name: value})]))])
