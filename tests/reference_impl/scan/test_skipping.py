"""Data skipping: files that statistics rule out are not opened, and no row is ever lost."""

from __future__ import annotations

import json
import random
import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.filters import bind_filter, evaluate

_STRUCT = {
    "type": "struct",
    "fields": [{"name": "y", "type": "long", "nullable": True, "metadata": {}}],
}
_TYPES: dict[str, Any] = {
    "i": "integer",
    "f": "float",
    "d": "double",
    "n": "decimal(10,2)",
    "s": "string",
    "b": "boolean",
    "t": "date",
    "ts": "timestamp",
    "p": "string",
    "q": "float",
}
_NAN, _INF = float("nan"), float("inf")
_VALUES: dict[str, list[Any]] = {
    "i": [-3, 0, 1, 7],
    "f": [0.1, -1.5, _NAN, 1e30, -0.0],
    "d": [0.1, _NAN, _INF, -2.0],
    "n": ["1.50", "-2.25", "0.00"],
    "s": ["", "a", "ab", "abc", "abcd", "b", "é"],
    "b": [True, False],
    "t": ["1960-01-01", "2020-01-01"],
    "ts": [
        "1969-12-31T23:59:59.999999Z",
        "2020-01-01T00:00:00.000000Z",
        "2020-01-01T00:00:00.000999Z",
        "2020-01-01T00:00:00.001000Z",
    ],
    "p": ["a", "ab", "x"],
    "q": [0.1, _NAN, 2.0],
}
_BROKEN = [None, "", "{}", "nonsense", '{"numRecords":"x","minValues":{"i":"y"}}', '{"a":1}\n{}']


def _python(name: str, value: Any) -> Any:
    if value is None:
        return None
    convert: dict[str, Any] = {"n": Number, "t": date.fromisoformat, "ts": datetime.fromisoformat}
    return convert.get(name, lambda given: given)(value)


def _bound(name: str, value: Any) -> Any:
    """Spell a bound as writers do: strings cut short, timestamps cut to milliseconds."""
    if name == "s":
        return value[:2]
    if name == "ts":
        return value[:-4] + "Z"
    return float(value) if name == "n" else value


def _statistics(draw: random.Random, rows: list[dict[str, Any]]) -> str | None:
    if draw.random() < 0.05:
        return draw.choice(_BROKEN)
    low, high, nulls = {}, {}, {}
    for name in set(_TYPES) - {"p", "q", "b"}:
        found = [r[name] for r in rows if r[name] is not None]
        known = sorted((v for v in found if v == v), key=lambda v: _python(name, v))  # noqa: PLR0124  used at once; NaN
        if known and known[-1] != _INF and draw.random() < 0.8:
            low[name], high[name] = _bound(name, known[0]), _bound(name, known[-1])
        if draw.random() < 0.8:
            nulls[name] = len(rows) - len(found)
    return json.dumps(
        {"numRecords": len(rows), "minValues": low, "maxValues": high, "nullCount": nulls}
    )


def _leaf(draw: random.Random) -> dict[str, Any]:
    name = draw.choice(list(_TYPES))
    column = {"column": [name]}

    def literal() -> dict[str, Any]:
        return {"literal": draw.choice([*_VALUES[name], None]), "type": _TYPES[name]}

    match draw.randrange(6):
        case 0:
            return {"op": draw.choice(["is_null", "is_not_null"]), "args": [column]}
        case 1:
            return {"op": "in", "args": [column, literal(), literal()]}
        case 2 if name in "sp":
            prefix = {"literal": draw.choice(["", "a", "abc"]), "type": "string"}
            return {"op": "starts_with", "args": [column, prefix]}
        case _:
            operator = draw.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
            return {"op": operator, "args": [column, literal()]}


def _tree(draw: random.Random, depth: int = 0) -> dict[str, Any]:
    if depth == 2 or draw.random() < 0.4:
        return _leaf(draw)
    operator = draw.choice(["and", "or", "not"])
    parts = 1 if operator == "not" else 2
    return {"op": operator, "args": [_tree(draw, depth + 1) for _ in range(parts)]}


@pytest.mark.parametrize("seed", range(3))
def test_a_filtered_scan_equals_a_filtered_full_scan(table: Any, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  nothing here is a secret
    table.create(list(_TYPES.items()), partition=["p", "q"])
    actions = []
    for _ in range(12):
        p, q = draw.choice([*_VALUES["p"], None]), draw.choice([*_VALUES["q"], None])
        rows = [{name: draw.choice([*_VALUES[name], None]) for name in _TYPES} for _ in range(2)]
        typed = {
            name: pa.array([_python(name, r[name]) for r in rows], of)
            for name, of in _arrow_types().items()
        }
        values = {"p": p, "q": None if q is None else str(q)}
        stats = _statistics(draw, rows)
        actions.append(table.add(pa.table(typed), partitionValues=values, stats=stats))
    table.commit(*actions)
    whole = read_table(table.root)
    schema = Table(table.root).snapshot().schema
    for _ in range(25):
        tree = _tree(draw)
        expected = whole.filter(evaluate(bind_filter(tree, schema), whole))
        assert str(read_table(table.root, filter=tree).to_pylist()) == str(expected.to_pylist())


def _arrow_types() -> dict[str, pa.DataType]:
    return {
        "i": pa.int32(),
        "f": pa.float32(),
        "d": pa.float64(),
        "n": pa.decimal128(10, 2),
        "s": pa.string(),
        "b": pa.bool_(),
        "t": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
    }


def _stats(**parts: Any) -> str:
    return json.dumps({"numRecords": 2, **parts})


@pytest.mark.parametrize(
    ("of", "stats", "sql"),
    [
        ("long", _stats(minValues={"v": 5}, maxValues={"v": 9}), "v < 5"),
        ("long", _stats(minValues={"v": 5}, maxValues={"v": 9}), "v > 9 OR v = 4"),
        ("long", _stats(minValues={"v": 5}, maxValues={"v": 5}), "v <> 5"),
        ("long", _stats(nullCount={"v": 0}), "v IS NULL"),
        ("long", _stats(nullCount={"v": 2}), "v = 1"),
        ("long", _stats(nullCount={"v": 2}, tightBounds=False), "v IS NOT NULL"),
        ("string", _stats(minValues={"v": "b"}, maxValues={"v": "c"}), "v > 'd'"),
        ("string", _stats(minValues={"v": "b"}, maxValues={"v": "c"}), "v LIKE 'a%'"),
        ("double", _stats(minValues={"v": 1}, maxValues={"v": 2}), "v = 3"),
        ("decimal(38,2)", _stats(minValues={"v": 1}, maxValues={"v": 2.5}), "v > 2.51"),
        ("date", _stats(minValues={"v": "2020-01-01"}), "v < DATE '2019-01-01'"),
        (
            "timestamp",
            _stats(maxValues={"v": "2020-01-01T00:00:00.123Z"}),
            "v > TIMESTAMP '2020-01-01 00:00:00.124'",
        ),
        (_STRUCT, _stats(minValues={"v": {"y": 5}}), "v.y < 5"),
    ],
)
def test_a_file_that_is_ruled_out_is_not_opened(table: Any, of: Any, stats: str, sql: str) -> None:
    table.create([("v", of)])
    add = table.add(pa.table({"w": [1, 2]}), stats=stats)
    table.commit(add)
    (table.root / add["add"]["path"]).unlink()
    assert read_table(table.root, filter=sql).num_rows == 0


@pytest.mark.parametrize(
    ("of", "value", "stats", "sql"),
    [
        ("double", _NAN, _stats(minValues={"v": 1}, maxValues={"v": 2}), "v > 1e300"),
        ("string", "abcd", _stats(minValues={"v": "ab"}, maxValues={"v": "ab"}), "v > 'abc'"),
        ("string", "abcd", _stats(minValues={"v": "ab"}, maxValues={"v": "ab"}), "v <> 'ab'"),
        ("string", "abcd", _stats(maxValues={"v": "ab"}), "v LIKE 'abc%'"),
        (
            "timestamp",
            datetime(2020, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC),
            _stats(maxValues={"v": "2020-01-01T00:00:00.123Z"}),
            "v > TIMESTAMP '2020-01-01 00:00:00.1234'",
        ),
        (
            "timestamp",
            datetime(2020, 1, 1, tzinfo=UTC),
            _stats(maxValues={"v": "2019-01-01 00:00:00"}),
            "v = TIMESTAMP '2020-01-01 00:00:00'",
        ),
        ("long", 5, _stats(maxValues={"v": None}, minValues={"v": None}), "v = 5"),
        ("long", 5, _stats(nullCount={"v": 1}), "v = 5"),
        ("long", None, _stats(nullCount={"v": 1}), "v IS NULL"),
        ("long", 5, '{"maxValues":{"v":"3"}', "v = 5"),
    ],
)
def test_a_row_survives_what_statistics_leave_out(
    table: Any, of: str, value: Any, stats: str, sql: str
) -> None:
    stored = {"double": pa.float64(), "string": pa.string(), "long": pa.int64()}
    arrow = stored.get(of, pa.timestamp("us", "UTC"))
    table.create([("v", of)])
    table.commit(table.add(pa.table({"v": pa.array([value], arrow)}), stats=stats))
    assert read_table(table.root, filter=sql).num_rows == 1


@pytest.mark.parametrize(("value", "text"), [(4 / 3, "1.3333334"), (1 / 7, "0.14285715")])
def test_a_bound_of_a_float_in_its_own_digits_holds_once_it_is_a_double(
    table: Any, value: float, text: str
) -> None:
    widened = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    field = {"name": "v", "type": "double", "nullable": True, "metadata": widened}
    table.create([field], features=["typeWidening"])
    stored = pa.table({"v": pa.array([value], pa.float32())})
    stats = f'{{"numRecords":1,"minValues":{{"v":{text}}},"maxValues":{{"v":{text}}}}}'
    table.commit(table.add(stored, stats=stats))
    exact = stored["v"].cast(pa.float64())[0].as_py()
    assert exact < float(text)
    assert read_table(table.root, filter=f"v <= {exact!r}").num_rows == 1


def test_a_long_text_is_compared_with_cut_bounds_in_little_memory(table: Any) -> None:
    long = "a" * 20_000
    cut = json.dumps(
        {"numRecords": 1, "minValues": {"s": long[:32]}, "maxValues": {"s": long[:32]}}
    )
    table.create([("s", "string")])
    table.commit(table.add(pa.table({"s": [long]}), stats=cut))
    tree = {"op": "=", "args": [{"column": ["s"]}, {"literal": long, "type": "string"}]}
    tracemalloc.start()
    try:
        found = read_table(table.root, filter=tree).num_rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == 1
    assert peak < 1000 * len(long)


def test_live_files_have_typed_statistics_and_partition_values(table: Any) -> None:
    table.create([("p", "date"), ("v", "long"), ("s", _STRUCT)], partition=["p"])
    stats = _stats(minValues={"v": 5, "s": {"y": 1}}, nullCount={"v": 0, "s": {"y": 1}})
    values = {"p": "2020-01-01"}
    table.commit(table.add(pa.table({"v": [5, 6]}), partitionValues=values, stats=stats))
    (found,) = Table(table.root).snapshot().files().to_pylist()
    assert found["partitionValues"] == {"p": date(2020, 1, 1)}
    assert found["stats"] == {
        "numRecords": 2,
        "tightBounds": None,
        "minValues": {"v": 5, "s": {"y": 1}},
        "maxValues": {"v": None, "s": {"y": None}},
        "nullCount": {"v": 0, "s": {"y": 1}},
    }
