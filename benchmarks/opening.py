"""Open large tables: from the log to all live files as Arrow, and to protocol and metadata only.

``adds`` gives paths, sizes, times, partition values, statistics and deletion vectors as the log
spells them, statistics as JSON; ``files`` types partition values and statistics as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.logs import build
from benchmarks.measure import Limit, Row, Work, compare

_OURS = "from reference_impl import Table"
_PEER = "from deltalake import DeltaTable"
_BAR = 0.3


def _ours(table: Path, call: str) -> Work:
    text = f"found = Table({str(table)!r}).snapshot().{call}(); assert found.num_rows"
    return Work(_OURS, text)


def _peer(table: Path) -> Work:
    text = f"found = DeltaTable({str(table)!r}).get_add_actions(); assert found.num_rows"
    return Work(_PEER, text)


def rows(root: Path, files: int, runs: int) -> Iterator[Row | Limit]:
    """Measure every shape of a table of ``files`` files built below ``root``."""
    yield from _classic(root, files, runs)
    for shape in ("sidecars", "parts", "commits"):
        table = build(root, shape, files)
        works = [_ours(table, "adds"), _ours(table, "files"), _peer(table)]
        adds, typed, theirs = compare(works, runs=runs)
        yield Row(f"open {files} files, {shape}: adds", "deltalake", adds, theirs, _BAR)
        yield Row(f"open {files} files, {shape}: typed", "deltalake", typed, theirs, _BAR)


def _classic(root: Path, files: int, runs: int) -> Iterator[Row | Limit]:
    table, tenth = build(root, "classic", files), build(root, "classic", files // 10)
    (checkpoint,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    adds, typed, head, small, theirs, bare = compare(
        [
            _ours(table, "adds"),
            _ours(table, "files"),
            Work(_OURS, f"s = Table({str(table)!r}).snapshot(); s.protocol, s.metadata"),
            _ours(tenth, "adds"),
            _peer(table),
            Work(
                "import pyarrow.parquet as pq",
                f"found = pq.read_table({str(checkpoint)!r}, columns=['add'])",
            ),
        ],
        runs=runs,
    )
    name = f"open {files} files, classic"
    yield Row(f"{name}: adds", "deltalake", adds, theirs, _BAR)
    yield Row(f"{name}: typed", "deltalake", typed, theirs, _BAR)
    yield Row(f"{name}: adds", "Parquet read of `add`", adds, bare, 3.0)
    yield Row("protocol and metadata only", "our adds", head, adds, 0.1)
    yield Row(f"{files} files: adds", f"{files // 10} files", adds, small, 11.0)
    yield Limit(f"{name}: adds", adds.peak >> 20, "MiB at most", 1024)
    yield Limit(f"{name}: typed", typed.peak >> 20, "MiB at most", 1024)
