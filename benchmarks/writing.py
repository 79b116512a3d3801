"""Write: a large append, deletes of few rows, many small commits, a checkpoint of many files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.logs import build
from benchmarks.measure import Limit, Row, Work, compare

_CHECKPOINT_MIB: Final = 1536
"""Memory that a checkpoint of a million files may take."""

_ROWS: Final = """
import atexit, numpy, pyarrow as pa, shutil, tempfile
place = tempfile.mkdtemp(dir={root!r})
atexit.register(shutil.rmtree, place)
random = numpy.random.default_rng(7)
rows = pa.table({{
    "id": numpy.arange({count}),
    "key": random.integers(0, 1000, {count}, dtype="int32"),
    "value": random.random({count}),
    "text": pa.array(random.integers(0, 10**9, {count})).cast(pa.string()),
}})
few = rows.slice(0, 10)
parts = [rows.slice(at, {count} // 10) for at in range(0, {count}, {count} // 10)]
"""
_OURS: Final = """
from reference_impl import Table
table = Table(place)
table.create(rows.schema, properties={properties!r})
"""
_PEER: Final = """
from deltalake import DeltaTable, write_deltalake
table = DeltaTable.create(place, schema=rows.schema)
"""
_FILLED: Final = """
for part in parts: table.append(part)
"""
_PEER_FILLED: Final = """
for part in parts: write_deltalake(table, part, mode="append")
"""
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_COPIED: Final = """
import atexit, shutil, tempfile
place = tempfile.mkdtemp(dir={root!r}) + "/table"
atexit.register(shutil.rmtree, place.rpartition("/")[0])
shutil.copytree({table!r}, place)
"""


def rows(root: Path, files: int, count: int, commits: int, runs: int) -> Iterator[Row | Limit]:
    """Measure writing below ``root``.

    Args:
        root: where tables are written, and removed again.
        files: live files of the table that is checkpointed.
        count: rows that are appended, of which one in a hundred is deleted.
        commits: small commits, one after the other.
        runs: of each piece of work.
    """
    given = {"root": str(root), "count": count, "properties": {}}
    ours = (_ROWS + _OURS).format(**given)
    theirs = (_ROWS + _PEER).format(**given)
    with_vectors = (_ROWS + _OURS).format(**{**given, "properties": _VECTORS})
    write = "write_deltalake(table, rows, mode='append')"
    mine, peer = compare([Work(ours, "table.append(rows)"), Work(theirs, write)], runs=runs)
    yield Row(f"append {count} rows", "deltalake", mine, peer, 1.5)
    where = "'key < 10'"
    vectors, copies, peer = compare(
        [
            Work(with_vectors + _FILLED, f"table.delete({where})"),
            Work(ours + _FILLED, f"table.delete({where})"),
            Work(theirs + _PEER_FILLED, f"table.delete({where})"),
        ],
        runs=runs,
    )
    yield Row("delete 1 % of them by DV", "our copy-on-write", vectors, copies, 1.0)
    yield Row("delete 1 % of them by copying", "deltalake", copies, peer, 1.5)
    many = f"for _ in range({commits}): "
    mine, peer = compare(
        [
            Work(ours, f"{many}table.append(few)"),
            Work(theirs, f"{many}write_deltalake(table, few, mode='append')"),
        ],
        runs=runs,
    )
    yield Row(f"{commits} small commits", "deltalake", mine, peer, 1.5)
    yield from _checkpoints(root, files, runs)


def _checkpoints(root: Path, files: int, runs: int) -> Iterator[Row | Limit]:
    setup = _COPIED.format(root=str(root), table=str(build(root, "classic", files)))
    mine, peer = compare(
        [
            Work(setup + "from reference_impl import Table", "Table(place).checkpoint()"),
            Work(
                setup + "from deltalake import DeltaTable", "DeltaTable(place).create_checkpoint()"
            ),
        ],
        runs=runs,
    )
    name = f"checkpoint {files} files"
    yield Row(name, "deltalake", mine, peer, 1.0)
    yield Limit(name, mine.peak >> 20, "MiB at most", _CHECKPOINT_MIB)
