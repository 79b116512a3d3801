"""Every limit raises an error that names it and never calls the table invalid."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import LimitExceeded, Limits, Table, read_table
from reference_impl.errors import DeltaError, InvalidTableError
from reference_impl.scan.scan import scan
from reference_impl.storage import LocalStorage

pytestmark = pytest.mark.usefixtures("ends_where_it_hangs")


def _plain(table: Any) -> str:
    table.create([("v", "long")])
    table.commit(table.add(pa.table({"v": range(1000)})))
    return str(table.root)


def _checkpointed(table: Any) -> str:
    root = _plain(table)
    Table(root).checkpoint()
    (table.root / "_delta_log" / f"{0:020}.json").unlink()
    return root


def _nested(table: Any) -> str:
    kind: Any = "long"
    for _ in range(10):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    table.create([("v", kind)])
    return str(table.root)


def _partitioned(table: Any) -> str:
    table.create([("v", "long"), ("p", "double")], partition=["p"])
    rows = pa.table({"v": [1]})
    table.commit(table.add(rows, partitionValues={"p": "1." + "0" * 50}))
    return str(table.root)


def _wide(table: Any) -> str:
    names = [f"c{number}" for number in range(60)]
    table.create([(name, "long") for name in names])
    table.commit(table.add(pa.table({name: [1] for name in names})))
    return str(table.root)


def _compressible(table: Any) -> str:
    table.create([("v", "string")])
    rows = pa.table({"v": ["x" * 1000] * 1000})
    table.commit(table.add(rows, options={"compression": "zstd", "use_dictionary": False}))
    return str(table.root)


def _framed(payload: bytes, buckets: int, table: Any) -> str:
    table.create([("v", "long")], features=["deletionVectors"])
    frame = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
    (table.root / "v.bin").write_bytes(b"\x01" + frame)
    descriptor = {
        "storageType": "p",
        "pathOrInlineDv": f"file://{table.root}/v.bin",
        "offset": 1,
        "sizeInBytes": len(payload),
        "cardinality": buckets,
    }
    table.commit(table.add(pa.table({"v": range(1000)}), deletionVector=descriptor))
    return str(table.root)


def _vector(buckets: int) -> bytes:
    empty = struct.pack("<II", 12346, 0)
    parts = [struct.pack("<I", key) + empty for key in range(buckets)]
    return struct.pack("<IQ", 1681511377, buckets) + b"".join(parts)


def _buckets(table: Any) -> str:
    return _framed(_vector(300_000), 0, table)


def _containers(table: Any) -> str:
    """Make a vector whose runs of six bytes hold 65,536 rows each."""
    count, full = 4096, struct.pack("<HHH", 1, 0, 65535)
    head = struct.pack("<I", 12347 | (count - 1) << 16) + bytes([255] * (count // 8))
    head += b"".join(struct.pack("<HH", key, 65535) for key in range(count))
    first = len(head) + 4 * count
    table_of = b"".join(struct.pack("<I", first + 6 * at) for at in range(count))
    bitmaps = [struct.pack("<I", key) + head + table_of + full * count for key in range(65)]
    payload = struct.pack("<IQ", 1681511377, 65) + b"".join(bitmaps)
    return _framed(payload, 65 * count << 16, table)


def _damaged(table: Any) -> str:
    root = _plain(table)
    for number in range(150):
        table.commit({"txn": {"appId": "a", "version": number}})
        name = f"{number + 2:020}.checkpoint.parquet"
        (table.root / "_delta_log" / name).write_bytes(b"PAR1")
    return root


_BEYOND: dict[str, tuple[Callable[[Any], str], Limits]] = {
    "memory": (_plain, Limits(memory=1000)),
    "seconds": (_plain, Limits(seconds=0)),
    "log_file": (_plain, Limits(log_file=100)),
    "nesting": (_nested, Limits(nesting=5)),
    "number": (_partitioned, Limits(number=20)),
    "footer": (_wide, Limits(footer=100)),
    "footer_items": (_wide, Limits(footer_items=50)),
    "batch": (_plain, Limits(batch=4)),
    "pages": (_compressible, Limits(pages=100)),
    "data_file": (_compressible, Limits(data_file=100, data_file_growth=1)),
    "checkpoint": (_checkpointed, Limits(checkpoint=100, checkpoint_growth=0)),
    "vector": (_buckets, Limits(vector=100)),
    "vector_buckets": (_buckets, Limits()),
    "vector_containers": (_containers, Limits()),
    "checkpoints": (_damaged, Limits()),
}
_TOGETHER = {"data_file_growth": "data_file", "checkpoint_growth": "checkpoint"}
_SQL = {"sql_seconds", "sql_memory", "sql_result"}
"""Limits of expressions, which their own tests attack."""

_AUDIT = {"compacted"}
"""Limits of audits, which their own tests attack."""

_STORES = {"listing", "listing_seconds"}
"""Limits of listings of object stores, which tests/reference_impl/storage attacks."""

_NEVER = {"vector", "vector_buckets", "vector_containers", "checkpoints"}
"""Limits whose attack is beyond the default as well."""

_UNKNOWN = {"hint", "statistics"}
"""Limits beyond which something that is not needed counts as absent."""


def test_each_limit_is_attacked() -> None:
    attacked = {*_BEYOND, *_TOGETHER, *_UNKNOWN, *_SQL, *_AUDIT, *_STORES}
    assert {one.name for one in fields(Limits)} == attacked


@pytest.mark.parametrize("name", _BEYOND)
def test_what_is_beyond_a_limit_is_refused_by_its_name(name: str, table: Any) -> None:
    build, limits = _BEYOND[name]
    root = build(table)
    with pytest.raises(LimitExceeded, match=f"limit '{name}' is") as caught:
        read_table(root, limits=limits)
    error = caught.value
    assert (error.limit, error.kind) == (name, "unsupported")
    assert f"Limits({name}=" in str(error)
    assert not isinstance(error, InvalidTableError)


@pytest.mark.parametrize("name", sorted(set(_BEYOND) - _NEVER))
def test_the_same_tables_are_read_within_the_default_limits(name: str, table: Any) -> None:
    read_table(_BEYOND[name][0](table))


def test_a_hint_beyond_its_limit_is_passed_over(table: Any) -> None:
    root = _plain(table)
    Table(root).checkpoint()
    assert read_table(root, limits=Limits(hint=10)).num_rows == 1000


def test_statistics_beyond_their_limit_are_unknown(table: Any) -> None:
    table.create([("v", "long")])
    stats = {"numRecords": 3, "maxValues": {"v": 2}}
    table.commit(table.add(pa.table({"v": range(3)}), stats=json.dumps(stats)))
    found = Table(table.root, limits=Limits(statistics=10)).snapshot().files()["stats"]
    assert found.to_pylist()[0]["numRecords"] is None
    assert Table(table.root).snapshot().files()["stats"].to_pylist()[0]["numRecords"] == 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: table.snapshot(),
        lambda table: table.history(),
        lambda table: table.changes(0),
        lambda table: table.append(pa.table({"v": [1]})),
        lambda table: table.delete("v = 1"),
    ],
)
def test_the_time_of_every_operation_is_limited(ask: Callable[[Table], object], table: Any) -> None:
    root = _plain(table)
    with pytest.raises(LimitExceeded, match="limit 'seconds'"):
        ask(Table(root, limits=Limits(seconds=0)))
    assert Table(root).latest_version() == 1


def test_a_snapshot_keeps_the_limits_that_it_was_loaded_under(table: Any) -> None:
    root = _plain(table)
    snapshot = Table(root, limits=Limits(log_file=10_000, memory=10)).snapshot()
    with pytest.raises(LimitExceeded, match="limit 'memory' is 10 bytes"):
        scan(snapshot)


def test_a_scan_counts_all_of_its_files(table: Any) -> None:
    table.create([("v", "long")])
    add = table.add(pa.table({"v": [0] * 10_000}))
    name = add["add"]["path"]
    for number in range(50):
        os.link(table.root / name, table.root / f"again-{number}.parquet")
    again = [{"add": add["add"] | {"path": f"again-{number}.parquet"}} for number in range(50)]
    table.commit(*again)
    assert read_table(table.root, limits=Limits(memory=6_000_000)).num_rows == 500_000
    with pytest.raises(LimitExceeded, match="limit 'memory'"):
        read_table(table.root, limits=Limits(memory=2_000_000))
    with pytest.raises(LimitExceeded, match="limit 'memory'"):
        Table(table.root, limits=Limits(memory=2_000_000)).changes(0)


class _Exhausted(LocalStorage):
    """A disk whose reader finds no memory left."""

    def __init__(self, root: Any, error: type[MemoryError], where: str) -> None:
        super().__init__(root)
        self._error, self._where = error, where

    def get(self, path: str) -> bytes:
        if self._where == "get":
            raise self._error("realloc failed")
        return super().get(path)

    def open_input(self, path: str) -> Any:
        if self._where == "open_input" or path.startswith("_delta_log/"):
            raise self._error("realloc failed")
        return super().open_input(path)


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
@pytest.mark.parametrize(
    ("build", "where"),
    [(_plain, "get"), (_plain, "open_input"), (_checkpointed, "log")],
)
def test_exhausted_memory_is_no_fault_of_the_table(
    build: Callable[[Any], str], where: str, error: type[MemoryError], table: Any
) -> None:
    build(table)
    storage = _Exhausted(table.root, error, where)
    with pytest.raises(LimitExceeded, match="limit 'memory'"):
        Table(storage).delete("v = 1")


def test_a_vector_that_is_a_hole_in_its_file_is_not_read(table: Any) -> None:
    root = _framed(_vector(1), 0, table)
    with (table.root / "v.bin").open("r+b") as file:
        file.truncate(1 << 32)
    log = table.root / "_delta_log" / f"{1:020}.json"
    size = (1 << 31) - 1
    action = json.loads(log.read_text())
    action["add"]["deletionVector"]["sizeInBytes"] = size
    log.write_text(json.dumps(action))
    with pytest.raises(LimitExceeded, match=f"{size} bytes: the limit 'vector'"):
        read_table(root)
    with (table.root / "v.bin").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(InvalidTableError):  # a file that is shorter cannot hold it
        read_table(root)


_NUMBERS = {
    "exponent": "1e999999",
    "negative exponent": "-1e999999",
    "tiny": "1e-999999",
    "zero": "0e999999",
    "exponent beyond decimals": "1e99999999999999999999",
    "tiny beyond decimals": "1e-99999999999999999999",
    "5,000 digits": "9" * 5000,
    "100,000 digits": "9" * 100_000,
    "100,000 places": "0." + "1" * 100_000,
    "nan": "NaN",
    "infinity": "-Infinity",
    "100,000 digits of exponent": "1e" + "9" * 100_000,
}
_TYPES = ("long", "byte", "double", "float", "decimal(38,10)", "date", "timestamp", "string")


@pytest.mark.parametrize("quoted", [False, True], ids=["number", "text"])
@pytest.mark.parametrize("number", _NUMBERS)
def test_no_number_of_statistics_hangs_or_breaks_anything(
    number: str, table: Any, *, quoted: bool
) -> None:
    text = f'"{_NUMBERS[number]}"' if quoted else _NUMBERS[number]
    table.create([(f"c{at}", of) for at, of in enumerate(_TYPES)])
    bounds = ",".join(f'"c{at}":{text}' for at in range(len(_TYPES)))
    stats = f'{{"numRecords":{text},"minValues":{{{bounds}}},"nullCount":{{{bounds}}}}}'
    empty = pa.schema([(f"c{at}", pa.int64()) for at in range(1)]).empty_table()
    table.commit(table.add(empty, stats=stats), table.add(empty, stats='{"numRecords":0}'))
    snapshot = Table(table.root).snapshot()
    assert snapshot.files().num_rows == 2
    assert read_table(table.root, filter="c0 = 1").num_rows == 0
    Table(table.root).delete("c0 = 1")


@pytest.mark.parametrize("of", _TYPES)
@pytest.mark.parametrize("number", _NUMBERS)
def test_no_number_of_a_partition_value_hangs_or_breaks_anything(
    number: str, of: str, table: Any
) -> None:
    table.create([("v", "long"), ("p", of)], partition=["p"])
    add = table.add(pa.table({"v": [1]}), partitionValues={"p": _NUMBERS[number]})
    table.commit(add)
    try:
        assert read_table(table.root).num_rows == 1
    except DeltaError as error:
        assert len(str(error)) < 1000  # noqa: PT017  either is right


@pytest.mark.parametrize("number", _NUMBERS)
@pytest.mark.parametrize(
    "name",
    [
        "delta.columnMapping.maxColumnId",
        "delta.dataSkippingNumIndexedCols",
        "delta.deletedFileRetentionDuration",
        "delta.inCommitTimestampEnablementVersion",
    ],
)
def test_no_number_of_a_property_hangs_or_breaks_anything(
    name: str, number: str, table: Any
) -> None:
    mapped = {"delta.columnMapping.physicalName": "v", "delta.columnMapping.id": 1}
    column = {"name": "v", "type": "long", "nullable": True, "metadata": mapped}
    configuration = {
        "delta.columnMapping.mode": "name",
        "delta.enableInCommitTimestamps": "true",
        name: _NUMBERS[number],
    }
    table.create(
        [column],
        features=["columnMapping"],
        writer_features=["inCommitTimestamp"],
        configuration=configuration,
    )
    for ask in (
        lambda: Table(table.root).history(),
        lambda: Table(table.root).append(pa.table({"v": [1]})),
        lambda: Table(table.root).add_columns(pa.schema([("w", pa.int64())])),
        lambda: Table(table.root).vacuum(dry_run=True),
    ):
        try:
            ask()
        except DeltaError as error:
            assert len(str(error)) < 1000  # noqa: PT017  either is right


@pytest.mark.parametrize("depth", [41, 200, 5_000, 100_000])
def test_nesting_is_read_or_beyond_the_limit(depth: int, table: Any) -> None:
    opened, closed = '{"a":' * depth, "}" * depth
    table.create([("v", "long")])
    stats = f'{{"numRecords":1,"minValues":{opened}1{closed}}}'
    add = table.add(pa.table({"v": [1]}), stats=stats)
    table.commit(add)
    assert read_table(table.root, filter="v = 1").num_rows == 1
    (table.root / "_delta_log" / "_last_checkpoint").write_text(
        f'{{"version":0,"size":1,"checksum":"x","tags":{opened}1{closed}}}'
    )
    line = f'{{"novelty":{opened}1{closed}}}\n'
    (table.root / "_delta_log" / f"{2:020}.json").write_text(line)
    if depth < 1000:
        assert read_table(table.root).num_rows == 1
        return
    with pytest.raises(LimitExceeded, match="limit 'nesting'"):
        read_table(table.root)


@pytest.mark.parametrize("depth", [41, 90, 99])
def test_rows_of_deep_structs_are_read(depth: int, table: Any) -> None:
    of: Any = "long"
    value: Any = 7
    for _ in range(depth):
        field = {"name": "a", "type": of, "nullable": True, "metadata": {}}
        of, value = {"type": "struct", "fields": [field]}, {"a": value}
    table.create([("v", of)])
    table.commit(table.add(pa.table({"v": [value]})))
    if depth == 99:
        with pytest.raises(LimitExceeded, match="Arrow reads at most 100 levels"):
            read_table(table.root)
        return
    assert read_table(table.root)["v"].to_pylist() == [value]
    assert Table(table.root).snapshot().files().num_rows == 1
