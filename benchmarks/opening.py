"""Open large tables: from the log to all live files as Arrow, and to protocol and metadata only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.logs import build
from benchmarks.measure import Row, measure

__all__ = ["rows"]

_OURS = "from reference_impl import Table"
_PEER = "from deltalake import DeltaTable"
_BARE = """
import glob
import pyarrow.parquet as pq
"""


def _open(table: Path) -> tuple[str, str]:
    ours = f"files = Table({str(table)!r}).snapshot().files(); assert files.num_rows"
    peer = f"files = DeltaTable({str(table)!r}).get_add_actions(); assert files.num_rows"
    return ours, peer


def rows(root: Path, files: int) -> Iterator[Row]:
    """Measure every shape of a table of ``files`` files built below ``root``."""
    full = None
    for shape in ("classic", "sidecars", "parts", "commits"):
        table = build(root, shape, files)
        ours, peer = _open(table)
        mine = measure(_OURS, ours)
        if shape == "classic":
            full = mine
            pattern = str(table / "_delta_log" / "*.checkpoint.parquet")
            bare = measure(_BARE, f"pq.read_table(glob.glob({pattern!r})[0], columns=['add'])")
            yield Row(f"open {files} files, classic", "pyarrow, add column", mine, bare, 3.0)
        yield Row(f"open {files} files, {shape}", "deltalake", mine, measure(_PEER, peer), 0.3)
    if full is not None:
        table = build(root, "classic", files)
        head = measure(_OURS, f"s = Table({str(table)!r}).snapshot(); s.protocol, s.metadata")
        yield Row("protocol and metadata only", "our full open", head, full, 0.1)
    tenth = build(root, "classic", files // 10)
    if full is not None:
        small = measure(_OURS, _open(tenth)[0])
        yield Row(f"{files} files", f"{files // 10} files", full, small, 11.0)
