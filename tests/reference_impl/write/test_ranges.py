"""Numbers at the end of their range are refused before a commit, and one before it they work."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hostile import BASES, SCHEMA, Variant, plant, with_schema

from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import ConstraintError, ConstraintViolation, RangeExhausted
from reference_impl.model.ranges import INT31, INT64
from reference_impl.write.checkpoints.write import Style

LONG, INT = 2**63 - 1, 2**31 - 1
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1}
BACKWARDS = {"delta.identity.start": -1, "delta.identity.step": -1}
ITEMS = pa.schema([("m", pa.list_(pa.int32()))])


def one(**columns: Any) -> pa.Table:
    given = {"id": 9, "part": "a", "n": 9} | columns
    fields = [f for f in SCHEMA if given[f.name] is not None]
    return pa.table({f.name: [given[f.name]] for f in fields}, pa.schema(fields))


def row_ids(mark: int) -> Variant:
    text = json.dumps({"rowIdHighWaterMark": mark})
    body = {"domain": "delta.rowTracking", "configuration": text, "removed": False}
    return lambda actions: actions["domainMetadata"].append(body)


def commit_time(moment: int) -> Variant:
    return lambda actions: actions["commitInfo"].update(inCommitTimestamp=moment)


def column_id(number: int) -> Variant:
    name = "delta.columnMapping.maxColumnId"
    return lambda actions: actions["metaData"]["configuration"].update({name: str(number)})


def identity(keys: dict[str, int], mark: int) -> Variant:
    metadata = {**keys, "delta.identity.highWaterMark": mark}
    return with_schema(lambda schema: schema["fields"][0]["metadata"].update(metadata))


MARKS: dict[str, tuple[str, Callable[[int], Variant], int, int, Callable[[Table], object]]] = {
    "row ids": ("tracked", row_ids, LONG, -1, lambda t: t.append(one())),
    "row ids of an update": ("tracked", row_ids, LONG, -1, lambda t: t.update({"n": 1}, "id = 1")),
    "in-commit timestamp": ("tracked", commit_time, LONG, -1, lambda t: t.append(one())),
    "in-commit timestamp, properties alone": (
        "tracked", commit_time, LONG, -1, lambda t: t.set_properties({"a": "b"})
    ),
    "column ids": (
        "mapped", column_id, INT, -1, lambda t: t.add_columns(pa.schema([("m", pa.int32())]))
    ),
    "column ids of a replaced table": (
        "mapped", column_id, INT - 2, -1, lambda t: t.replace(SCHEMA)
    ),
    "identity": (
        "plain", lambda mark: identity(IDENTITY, mark), LONG, -1, lambda t: t.append(one(id=None))
    ),
    "identity backwards": (
        "plain", lambda mark: identity(BACKWARDS, mark), -LONG - 1, 1,
        lambda t: t.append(one(id=None)),
    ),
}  # fmt: skip
"""Base, what plants the mark, the mark at the end, the way back, what needs one number more."""


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_at_the_end_of_its_range_is_refused_and_the_one_before_it_is_not(
    tmp_path: Path, name: str
) -> None:
    base, planted, end, back, run = MARKS[name]
    full = BASES[base](tmp_path / "full")
    plant(full, planted(end))
    version = full.latest_version()
    with pytest.raises((RangeExhausted, ConstraintViolation)):
        run(full)
    assert full.latest_version() == version
    assert read_table(tmp_path / "full").num_rows == 4
    nearly = BASES[base](tmp_path / "nearly")
    plant(nearly, planted(end + back))
    run(nearly)
    assert nearly.latest_version() == version + 1
    read_table(tmp_path / "nearly", row_ids=base == "tracked")
    with pytest.raises(ConstraintError):
        run(nearly) and run(nearly)
    read_table(tmp_path / "nearly")


def aged(root: Path, version: int) -> Table:
    """Return a table whose log begins with the checkpoint of a version."""
    table = BASES["plain"](root)
    table.checkpoint()
    log = root / "_delta_log"
    last = table.latest_version()
    for path in log.iterdir():
        if path.name.startswith(f"{last:020}.") and path.suffix != ".crc":
            path.rename(log / path.name.replace(f"{last:020}", f"{version:020}"))
        else:
            path.unlink()
    return table


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.append(one()),
        lambda t: t.delete("id = 1"),
        lambda t: t.set_properties({"a": "b"}),
        lambda t: t.set_transaction("app", 1),
        lambda t: t.add_columns(ITEMS),
        lambda t: t.overwrite(one()),
    ],
)
def test_the_last_version_is_committed_and_none_after_it(
    tmp_path: Path, run: Callable[[Table], int]
) -> None:
    nearly = aged(tmp_path / "nearly", LONG - 1)
    assert run(nearly) == LONG
    assert nearly.snapshot().version == LONG
    read_table(tmp_path / "nearly")
    full = aged(tmp_path / "full", LONG)
    before = {path.name for path in (tmp_path / "full").rglob("*")}
    with pytest.raises(RangeExhausted):
        run(full)
    assert {path.name for path in (tmp_path / "full").rglob("*")} == before
    assert read_table(tmp_path / "full").num_rows == 4


@pytest.mark.parametrize("number", [LONG, -LONG - 1, LONG + 1, -LONG - 2, 10**400, True, "7", 1.0])
def test_the_version_of_an_application_is_a_long(tmp_path: Path, number: Any) -> None:
    table = BASES["plain"](tmp_path)
    if number in INT64:
        table.set_transaction("app", number)
        assert table.snapshot().txns["app"].version == number
        return
    with pytest.raises(RangeExhausted):
        table.set_transaction("app", number)
    assert table.snapshot().txns == {}


@pytest.mark.parametrize(
    "style",
    [Style(parts=n) for n in (-1, 2**31, 10**12)]
    + [Style("v2", "parquet", n) for n in (-1, 2**31)],
    ids=str,
)
def test_a_checkpoint_of_no_possible_number_of_files_is_refused(
    tmp_path: Path, style: Style
) -> None:
    table = BASES["mapped"](tmp_path)
    with pytest.raises(ConstraintViolation):
        table.checkpoint(style)
    assert read_table(tmp_path).num_rows == 4


@pytest.mark.parametrize(("total", "written"), [(LONG, True), (LONG + 1, False)])
def test_sizes_that_do_not_add_up_to_a_long_get_no_checksum(
    tmp_path: Path, total: int, written: bool
) -> None:
    table = BASES["tracked"](tmp_path)
    sizes = [total // 2, total - total // 2]

    def planted(actions: dict[str, Any]) -> None:
        for body, size in zip(actions["add"], sizes, strict=True):
            body["size"] = size

    plant(table, planted)
    version = table.set_transaction("app", 1)
    checksum = tmp_path / "_delta_log" / f"{version:020}.crc"
    assert checksum.exists() is written
    if written:
        assert json.loads(checksum.read_text())["tableSizeBytes"] == total


EXTREMES = pa.table(
    {
        "id": pa.array([LONG, -LONG - 1], pa.int64()),
        "n": pa.array([INT, -INT - 1], pa.int32()),
        "d": pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38)], pa.decimal128(38, 0)),
        "f": pa.array([Decimal("0." + "9" * 38), Decimal("-0." + "9" * 38)], pa.decimal128(38, 38)),
        "day": pa.array([INT, -INT - 1], pa.int32()).cast(pa.date32()),
        "t": pa.array([LONG, -LONG - 1], pa.timestamp("us")),
    }
)


def test_extreme_values_are_written_with_statistics_that_hold(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.create(EXTREMES.schema, rows=EXTREMES)
    table.append(EXTREMES)
    table.checkpoint()
    assert read_table(tmp_path).num_rows == 4
    for condition in (f"id = {LONG}", f"n = {-INT - 1}", f"d = {'9' * 38}", f"f = 0.{'9' * 38}"):
        assert read_table(tmp_path, filter=condition).num_rows == 2


NUMBERS = (LONG + 1, -LONG - 2, 2**64, 10**400)
VECTOR = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
FIELDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "protocol": lambda n: {"protocol": {"minReaderVersion": n, "minWriterVersion": 2}},
    "txn.version": lambda n: {"txn": {"appId": "a", "version": n}},
    "txn.lastUpdated": lambda n: {"txn": {"appId": "a", "version": 1, "lastUpdated": n}},
    **{
        f"add.{name}": lambda n, name=name: {
            "add": {
                "path": "x",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 1,
                "dataChange": True,
                name: n,
            }
        }
        for name in ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion")
    },
    **{
        f"remove.{name}": lambda n, name=name: {
            "remove": {"path": "x", "dataChange": True, "extendedFileMetadata": True, name: n}
        }
        for name in ("size", "deletionTimestamp", "baseRowId", "defaultRowCommitVersion")
    },
    **{
        f"deletionVector.{name}": lambda n, name=name: {
            "remove": {"path": "x", "dataChange": True, "deletionVector": {**VECTOR, name: n}}
        }
        for name in ("offset", "sizeInBytes", "cardinality")
    },
}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: str(n)[:12])
@pytest.mark.parametrize("field", FIELDS)
def test_a_number_of_the_log_beyond_its_range_is_a_typed_error(
    tmp_path: Path, field: str, number: int
) -> None:
    table = BASES["plain"](tmp_path)
    line = json.dumps(FIELDS[field](number)) + "\n"
    (tmp_path / "_delta_log" / f"{table.latest_version() + 1:020}.json").write_text(line)
    with pytest.raises(DeltaError):
        table.snapshot().adds()
    with pytest.raises(DeltaError):
        table.delete("id = 1")


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: str(n)[:12])
def test_an_in_commit_timestamp_beyond_its_range_is_a_typed_error(
    tmp_path: Path, number: int
) -> None:
    table = BASES["tracked"](tmp_path)
    plant(table, commit_time(number))
    for ask in (table.history, lambda: table.snapshot().timestamp, lambda: table.append(one())):
        with pytest.raises(DeltaError):
            ask()


def test_ranges_hold_integers_alone() -> None:
    for each in (INT31, INT64):
        assert each.least in each
        assert each.most in each
        assert each.most + 1 not in each
        assert each.least - 1 not in each
        for other in (True, 1.0, "1", None):
            assert other not in each
        assert each.parse(str(each.most)) == each.most
        for text in ("", " 1", "1.0", "1e3", "0x1", "\u0663", "9" * 5000, str(each.most + 1), None):
            assert each.parse(text) is None
