"""Statistics that are parsed many at a time are those that parsing one by one gives."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.json as pj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.snapshot import stats
from reference_impl.snapshot.stats import leaves, parse_statistics, to_struct
from reference_impl.types.schema import parse_schema

KINDS = {
    "l": "long",
    "s": "string",
    "d": "double",
    "t": "date",
    "b": "boolean",
    "n": "decimal(9,2)",
}
SCHEMA = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in KINDS.items()
            ],
        }
    )
)
WANTED = list(leaves(SCHEMA, "none"))
LOWS = {"l": -5, "s": "a\u00e9\n", "d": 1.5, "t": "2024-01-31", "n": 1.25}
REGULAR = json.dumps({"numRecords": 3, "minValues": LOWS, "nullCount": dict.fromkeys(KINDS, 1)})
ODD = [
    None,
    "",
    " ",
    "{}",
    "{} {}",
    "nonsense",
    "[1]",
    "1",
    "null",
    '"{}"',
    '{"numRecords":1}\n{"numRecords":2}',
    '{"numRecords":1}\n',
    "{\n}",
    '{"numRecords":1,"numRecords":2}',
    '{"minValues":{"l":1,"l":2}}',
    '{"numRecords":1.0}',
    '{"numRecords":1e400}',
    '{"numRecords":9223372036854775808}',
    '{"numRecords":true}',
    '{"numRecords":"1"}',
    '{"minValues":[]}',
    '{"minValues":{"l":{"x":1}}}',
    '{"minValues":{"l":null,"s":7,"d":"NaN","t":"2024-13-99","b":"true","n":"1.2"}}',
    '{"minValues":{"n":123456789.01}}',
    '{"minValues":{"d":NaN}}',
    '{"minValues":{"d":1e999}}',
    '{"unknown":{"deep":[{"er":1}]},"numRecords":4}',
    '{"numRecords":1,}',
    '{"numRecords":01}',
    '{"a":' + "[" * 2_000 + "]" * 2_000 + "}",
]


def _both(texts: list[str | None]) -> tuple[pa.Array, pa.Array]:
    """Return the statistics of texts parsed together, and of each alone by the general way."""
    given = pa.chunked_array([texts], pa.string())
    together = to_struct(parse_statistics(given, WANTED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pj, "read_json", _refuse)
        return together, to_struct(parse_statistics(given, WANTED))


def _refuse(*_args: object, **_options: object) -> None:
    raise pa.ArrowInvalid("Arrow's reader takes no line")


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_odd_text_changes_nothing_for_its_neighbours(odd: str | None, position: int) -> None:
    texts: list[str | None] = [REGULAR, REGULAR]
    texts.insert(position, odd)
    together, singly = _both(texts)
    assert together.equals(singly)
    others = [row for at, row in enumerate(together.to_pylist()) if at != position]
    assert others[0] == others[1]
    assert others[0]["numRecords"] == 3
    assert others[0]["minValues"]["s"] == LOWS["s"]


NUMBERS = st.integers(-(2**63), 2**63 - 1)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "numRecords": st.none() | NUMBERS,
        "tightBounds": st.none() | st.booleans(),
        "minValues": st.fixed_dictionaries(
            {},
            optional={
                "l": st.none() | NUMBERS,
                "s": st.none() | st.text(max_size=5),
                "d": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "t": st.none() | st.dates().map(str),
                "x": st.none() | NUMBERS,
            },
        ),
        "nullCount": st.dictionaries(st.sampled_from("lsdtb"), st.none() | NUMBERS, max_size=3),
        "later": st.lists(NUMBERS, max_size=2),
    },
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.none() | DOCUMENTS, max_size=6), st.booleans())
def test_texts_of_every_form_agree(documents: list[object], ascii_only: bool) -> None:
    texts = [
        None if document is None else json.dumps(document, ensure_ascii=ascii_only)
        for document in documents
    ]
    together, singly = _both(texts)
    assert together.equals(singly)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [json.dumps({"numRecords": number}) for number in range(50)]
    monkeypatch.setattr(stats, "_BATCH", 7)
    for threads in (1, 3):
        monkeypatch.setattr(stats, "MAX_THREADS", threads)
        found = parse_statistics(pa.chunked_array([texts[:20], texts[20:]]), WANTED)
        assert found.records.to_pylist() == list(range(50))
