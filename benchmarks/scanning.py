"""Scan tables whole, beside a bare read of the same Parquet files, and decode deletion vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import build
from benchmarks.measure import Row, measure

__all__ = ["rows"]

_OURS = "from reference_impl import read_table"
_BARE = "import pyarrow.dataset as ds, glob"
_BITMAP = """
import numpy, pyroaring
from reference_impl.deletion_vectors import decode
random = numpy.random.default_rng(7)
bitmap = pyroaring.BitMap64(random.choice(2**27, 10_000_000, replace=False).astype("uint64"))
portable = bitmap.serialize()
stored = (1681511377).to_bytes(4, "little") + portable
"""


def rows(root: Path, files: int, per_file: int) -> Iterator[Row]:
    """Measure scans of ``files`` files of ``per_file`` rows built below ``root``."""
    total = files * per_file
    plain = build(root, files, per_file, deleted=0.0)
    marked = build(root, files, per_file, deleted=0.05)
    scan = measure(_OURS, f"assert read_table({str(plain)!r}).num_rows == {total}")
    pattern = str(plain / "*.parquet")
    bare = measure(_BARE, f"assert ds.dataset(glob.glob({pattern!r})).to_table().num_rows")
    yield Row(f"scan {total} rows in {files} files", "pyarrow dataset", scan, bare, 1.2)
    with_vectors = measure(_OURS, f"assert read_table({str(marked)!r}).num_rows < {total}")
    yield Row("scan with 5 % deleted by DV", "our scan without", with_vectors, scan, 1.5)
    ours = measure(_BITMAP, "decode(stored)")
    theirs = measure(_BITMAP, "pyroaring.BitMap64.deserialize(portable)")
    yield Row("decode a DV of 10 M rows", "pyroaring", ours, theirs, 1.3)
