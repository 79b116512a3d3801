"""Strings of dictionaries are read right where they may be too long for one batch."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import LimitExceeded, Limits, read_table
from reference_impl.errors import InvalidDataFile

LIMITS = Limits(batch=1 << 16)
"""A batch that a hundred rows of the strings below may fill."""

FORMS: dict[str, dict[str, Any]] = {
    "indices": {},
    "old encodings": {"version": "1.0", "data_page_version": "2.0"},
    "plain pages behind": {"dictionary_pagesize_limit": 2_000},
    "plain pages in a row group": {"dictionary_pagesize_limit": 14_000, "row_group_size": 700},
    "row groups": {"row_group_size": 300},
    "small pages": {"data_page_size": 64, "write_batch_size": 16},
    "a dictionary of the schema": {"store_schema": True},
}


def _strings(draw: random.Random, rows: int, *, distinct: int) -> list[str | None]:
    values = [None, "", "é" * 40, *("v" * draw.randrange(600) + str(n) for n in range(distinct))]
    return [draw.choice(values) for _ in range(rows)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_strings_of_dictionaries_are_read_right(form: str, seed: int, table: Any) -> None:
    draw = random.Random(seed)  # noqa: S311  a fixed choice, not a secret
    inner = [{"name": "t", "type": "string", "nullable": True, "metadata": {}}]
    listed = {"type": "array", "elementType": "string", "containsNull": True}
    table.create(
        [
            ("a", "string"), ("n", "long"), ("b", "binary"),
            ("s", {"type": "struct", "fields": inner}), ("l", listed),
        ]
    )  # fmt: skip
    kinds = {"a": pa.string(), "b": pa.binary(), "t": pa.string()}
    drawn = {
        name: pa.array(_strings(draw, 2_000, distinct=draw.choice((1, 30)))).cast(kind)
        for name, kind in kinds.items()
    }
    lists = [_strings(draw, draw.randrange(4), distinct=2) for _ in range(2_000)]
    a = drawn["a"].dictionary_encode() if "store_schema" in FORMS[form] else drawn["a"]
    columns = {
        "a": a,
        "n": pa.array(range(2_000)),
        "b": drawn["b"],
        "s": pa.StructArray.from_arrays([drawn["t"]], ["t"]),
        "l": pa.array(lists, pa.list_(pa.string())),
    }
    table.commit(table.add(pa.table(columns), options={"store_schema": False, **FORMS[form]}))
    expected = pa.table({**columns, "a": drawn["a"]}).to_pylist()
    assert read_table(table.root, limits=LIMITS).to_pylist() == expected


def _edited(table: Any, old: bytes, new: bytes) -> None:
    """Commit a file of three strings many times over, with an edit of its bytes."""
    table.create([("n", "long"), ("v", "string")])
    strings = [x * 1_000 for x in "abc"]
    rows = pa.table({"n": range(3_000), "v": pa.array(strings * 1_000)})
    options = {
        "compression": "none",
        "write_statistics": False,
        "row_group_size": 999,
        "use_dictionary": ["v"],
    }
    add = table.add(rows, options=options)
    table.commit(add)
    path = table.root / add["add"]["path"]
    data = path.read_bytes()
    assert data.count(old) == pq.read_metadata(path).num_row_groups
    path.write_bytes(data.replace(old, new))


def test_a_dictionary_may_repeat_a_value(table: Any) -> None:
    length = (1_000).to_bytes(4, "little")
    _edited(table, length + b"b" * 1_000, length + b"a" * 1_000)
    found = read_table(table.root, limits=LIMITS)
    assert found["n"].to_pylist() == list(range(3_000))
    assert found["v"].to_pylist() == [x * 1_000 for x in "aac"] * 1_000


def test_an_index_beyond_its_dictionary_is_malformed(table: Any) -> None:
    # In page headers: a dictionary of three values, in plain encoding.
    _edited(table, b"\x4c\x15\x06\x15\x00", b"\x4c\x15\x04\x15\x00")
    with pytest.raises(InvalidDataFile, match="beyond the 2 values of a dictionary"):
        read_table(table.root, limits=LIMITS)


def test_a_dictionary_that_repeats_a_value_hides_no_long_string(table: Any) -> None:
    """Read as indices, the long string of these lists would count as the one behind it."""
    table.create([("v", {"type": "array", "elementType": "string", "containsNull": True})])
    strings = ["aa", "bb", "c" * 1_000, "dd"]
    lists = [[*strings, *["c" * 1_000] * 100]] * 10
    options = {"compression": "none", "write_statistics": False, "store_schema": False}
    add = table.add(pa.table({"v": pa.array(lists, pa.list_(pa.string()))}), options=options)
    table.commit(add)
    path = table.root / add["add"]["path"]
    path.write_bytes(path.read_bytes().replace(b"bb", b"aa"))
    assert read_table(table.root)["v"].to_pylist() == [["aa", "aa", *rows[2:]] for rows in lists]
    with pytest.raises(LimitExceeded, match="more in one row than a batch may have"):
        read_table(table.root, limits=LIMITS)
