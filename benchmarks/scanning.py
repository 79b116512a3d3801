"""Scan tables whole, beside a bare read of the same Parquet files, and decode deletion vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.data import build
from benchmarks.measure import Limit, Row, Work, compare
from reference_impl import Table
from reference_impl.log.names import LOG_DIR
from reference_impl.scan.scan import scan
from reference_impl.storage import LocalStorage

_OURS = "from reference_impl import read_table"
_BARE_READ = "import pyarrow.dataset as ds, glob"
_BITMAP = """
import numpy, pyroaring
from reference_impl.deletion_vectors import decode
random = numpy.random.default_rng(7)
bitmap = pyroaring.BitMap64(random.choice(2**27, 10_000_000, replace=False).astype("uint64"))
portable = bitmap.serialize()
stored = (1681511377).to_bytes(4, "little") + portable
"""


def rows(root: Path, files: int, per_file: int, runs: int) -> Iterator[Row | Limit]:
    """Measure scans of ``files`` files of ``per_file`` rows built below ``root``."""
    total = files * per_file
    plain = build(root, files, per_file, deleted=0.0)
    marked = build(root, files, per_file, deleted=0.05)
    pattern = str(plain / "*.parquet")
    full, partial, bare = compare(
        [
            Work(_OURS, f"found = read_table({str(plain)!r}); assert found.num_rows == {total}"),
            Work(_OURS, f"found = read_table({str(marked)!r}); assert found.num_rows < {total}"),
            Work(_BARE_READ, f"found = ds.dataset(glob.glob({pattern!r})).to_table()"),
        ],
        runs=runs,
    )
    yield Row(f"scan {total} rows in {files} files", "pyarrow dataset", full, bare, 1.2)
    yield Row("the same with 5 % deleted by DV", "our scan without", partial, full, 1.5)
    yield Limit("the same with 5 % deleted by DV", _extra(marked), "extra reads per file", 1)
    ours, theirs = compare(
        [
            Work(_BITMAP, "found = decode(stored)"),
            Work(_BITMAP, "found = pyroaring.BitMap64.deserialize(portable)"),
        ],
        runs=runs,
    )
    yield Row("decode a DV of 10 M scattered rows", "pyroaring", ours, theirs, 1.3)


class _Counted(LocalStorage):
    """Counts the requests for each file outside of the log."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.requests: Counter[str] = Counter()

    def _count(self, path: str) -> str:
        if not path.startswith(LOG_DIR):
            self.requests[path] += 1
        return path

    def get(self, path: str) -> bytes:
        return super().get(self._count(path))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return super().get_range(self._count(path), start, length)

    def open_input(self, path: str) -> Any:
        return super().open_input(self._count(path))


def _extra(table: Path) -> float:
    """Return the requests of a scan beyond one for each data file, per data file."""
    storage = _Counted(table)
    snapshot = Table(storage).snapshot()
    scan(snapshot)
    files = snapshot.adds().num_rows
    return (storage.requests.total() - files) / files
