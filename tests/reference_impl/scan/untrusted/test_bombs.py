"""Data files that would be huge in memory are refused before they are decompressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.data.legacy_parquet import chunks, edit_footer
from generators.materialise.data.thrift import Record
from reference_impl import LimitExceeded, Limits, Table, read_table
from reference_impl.errors import DataFileTooLarge
from reference_impl.limits import within_limits
from reference_impl.parquet.bounds import Bounded
from reference_impl.parquet.opening import open_parquet

_STRINGS = {"type": "array", "elementType": "string", "containsNull": True}
_LONGS = {**_STRINGS, "elementType": "long"}


def _repeats(length: int, rows: int, before: int = 0) -> pa.Table:
    """Return a column in which one long string follows upon short ones, again and again."""
    short = [f"{number:08}" for number in range(before)]
    indices = pa.array([*range(before), *[before] * rows], pa.int32())
    return pa.table({"v": pa.DictionaryArray.from_arrays(indices, [*short, "x" * length])})


def _one_list(items: pa.Array) -> pa.Table:
    return pa.table({"v": pa.ListArray.from_arrays([0, len(items)], items)})


_TABLES = {
    "one string": ("string", lambda: _repeats(50_000_000, 50_000)),
    "a string among many": ("string", lambda: _repeats(500_000, 80_000, 50_000)),
    "strings in a list": (
        _STRINGS,
        lambda: _one_list(_repeats(100_000, 200_000)["v"].combine_chunks()),
    ),
    "a long list": (_LONGS, lambda: _one_list(pa.nulls(40_000_000, pa.int64()))),
}


@pytest.mark.parametrize("name", _TABLES)
def test_what_decompresses_beyond_measure_is_refused(name: str, table: Any) -> None:
    kind, build = _TABLES[name]
    table.create([("v", kind)])
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30}
    table.commit(table.add(build(), options={**options, "write_statistics": False}))
    with pytest.raises(DataFileTooLarge):
        read_table(table.root)


_MEBI = 1 << 20


@pytest.mark.parametrize("memory", [5, 12, 22, 32])
@pytest.mark.parametrize("ask", ["read", "update", "delete", "changes"])
@pytest.mark.parametrize("stored", [False, True], ids=["string", "dictionary"])
def test_a_long_string_is_counted_before_it_is_decoded(
    ask: str, memory: int, table: Any, *, stored: bool
) -> None:
    table.create([("v", "string"), ("n", "long")])
    rows = _repeats(10 * _MEBI, 20)
    rows = rows.append_column("n", pa.array(range(20)))
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "store_schema": stored}
    table.commit(table.add(rows, options={**options, "write_statistics": False}))
    limited = Table(table.root, limits=Limits(memory=memory * _MEBI, batch=_MEBI))
    asked: dict[str, Callable[[], object]] = {
        "read": lambda: read_table(table.root, limits=limited.limits),
        "update": lambda: limited.update({"v": "x"}, "n = 3"),
        "delete": lambda: limited.delete("n = 3"),
        "changes": lambda: limited.changes(0),
    }
    with _measured() as pool, pytest.raises(LimitExceeded, match="limit 'memory'"):
        asked[ask]()
    assert pool.max_memory() <= memory * _MEBI
    assert Table(table.root).latest_version() == 1


@contextmanager
def _measured() -> Iterator[pa.MemoryPool]:
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(usual)


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
def test_one_long_string_among_many_short_ones_is_counted(codec: str, table: Any) -> None:
    table.create([("v", "string")])
    options = {"compression": codec, "write_statistics": False}
    table.commit(table.add(_repeats(400_000, 2_000, 20_000), options=options))
    limits = Limits(memory=48 * _MEBI, batch=4 * _MEBI)
    with _measured() as pool, pytest.raises(LimitExceeded, match="limit 'memory'"):
        read_table(table.root, limits=limits)
    assert pool.max_memory() <= 48 * _MEBI


def test_a_batch_that_begins_among_short_strings_ends_before_long_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    schema = pa.schema({"v": pa.struct({"s": pa.string()})})  # which is not kept as indices
    with pq.ParquetWriter(path, schema, store_schema=False) as writer:
        for length, count in ((2, 1000), (100_000, 200), (2, 1000)):
            writer.write_table(pa.table({"v": [{"s": "x" * length}] * count}))
    limits = Limits(batch=_MEBI)
    with pa.OSFile(str(path)) as source, within_limits(limits, "read"):
        file = open_parquet(source)
        held = Bounded(source, file, 100 * _MEBI, ["v"], name="data_file")
        sizes = [(batch.num_rows, batch.nbytes) for batch in held.batches(65_536)]
    assert sum(rows for rows, _ in sizes) == 2200
    assert max(size for _, size in sizes) <= _MEBI + 8 * 2200  # and the offsets


def test_a_footer_that_lies_about_sizes_lets_nothing_be_decompressed(table: Any) -> None:
    table.create([("v", "string")])
    options = {"compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 30}
    rows = pa.table({"v": ["x" * (1 << 27)] * 4})
    add = table.add(rows, options={**options, "write_statistics": False})
    table.commit(add)
    path = table.root / add["add"]["path"]

    def lie(footer: Record) -> None:
        for group in footer.get(4).values:
            group.set(2, 6, 1000)
        for chunk in chain(*chunks(footer)):
            chunk.get(3).set(6, 6, 1000)

    edit_footer(path, lie)
    with pytest.raises(DataFileTooLarge):
        read_table(table.root)


def test_long_strings_of_a_dictionary_are_read_right(table: Any) -> None:
    table.create([("v", "string")])
    rows = _repeats(3_000_000, 60, 2_000)
    options = {"dictionary_pagesize_limit": 1 << 30, "row_group_size": 900, "store_schema": False}
    add = table.add(rows, options=options)
    table.commit(add)
    found = read_table(table.root)["v"]
    assert found.to_pylist() == rows["v"].to_pylist()
    assert pq.read_metadata(table.root / add["add"]["path"]).num_row_groups == 3
