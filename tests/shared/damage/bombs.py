"""Tables that are small on disk and would be huge in memory, or deep beyond any stack.

Each has a limit that a careful reader keeps: it refuses, or it reads on without taking more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import z85_encode
from generators.mutations.bases import BY_NAME, Base
from generators.mutations.edits import edit_of, log_file
from generators.mutations.mutation import Change

MEBIBYTE: Final = 1024 * 1024

_PLAIN: Final = BY_NAME["plain"]
_CHECKPOINT_ONLY: Final = BY_NAME["checkpoint-only"]
_VECTORS_INLINE: Final = BY_NAME["vectors-inline"]


@dataclass(frozen=True, slots=True)
class Bomb:
    """A table that asks for more than it is worth.

    Attributes:
        id: slug.
        title: what it does.
        base: the valid table that it is made of.
        change: plants the bomb.
    """

    id: str
    title: str
    base: Base
    change: Change

    def build(self, root: Path) -> TableBuilder:
        """Build the base below ``root`` and plant the bomb."""
        builder = self.base.build(root)
        self.change(root, builder)
        return builder


def _nested_type(depth: int) -> Any:
    data_type: Any = '"long"'
    return '{"type":"array","containsNull":true,"elementType":' * depth + data_type + "}" * depth


def _deep_schema(depth: int) -> Change:
    text = (
        '{"type":"struct","fields":[{"name":"id","nullable":true,"metadata":{},"type":'
        + _nested_type(depth)
        + "}]}"
    )
    return _set_fields(0, "metaData", schemaString=text)


def _wide_schema(columns: int) -> Change:
    fields = ",".join(
        f'{{"name":"c{n}","type":"long","nullable":true,"metadata":{{}}}}' for n in range(columns)
    )
    text = f'{{"type":"struct","fields":[{fields}]}}'
    return _set_fields(0, "metaData", schemaString=text)


def _repeated_path(length: int, copies: int) -> Change:
    """Put one long path into a checkpoint many times: a dictionary keeps it small on disk."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = log_file(root, "*.checkpoint.parquet")
        table = pq.read_table(path)
        one = next(row for row in table.to_pylist() if row["add"] is not None)
        one["add"]["path"] = "x" * length
        row = pa.Table.from_pylist([one], schema=table.schema)
        with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
            writer.write_table(table)
            block = pa.concat_tables([row] * 100).combine_chunks()
            for _ in range(copies // 100):
                writer.write_table(block)

    return change


def _many_lines(count: int) -> Change:
    """Put a great many unknown actions into one commit."""
    line = b'{"futureAction":{"a":1}}\n'

    def change(root: Path, builder: TableBuilder) -> None:
        path = root / "_delta_log" / f"{builder.version:020d}.json"
        path.write_bytes(path.read_bytes() + line * count)

    return change


def _full_vector(bits: int) -> Change:
    """Return an inline vector that marks every one of many rows: a few run containers."""
    containers = (bits + 65535) // 65536
    cookie = (12347 | ((containers - 1) << 16)).to_bytes(4, "little")
    flags = b"\xff" * ((containers + 7) // 8)
    head = b"".join(n.to_bytes(2, "little") + b"\xff\xff" for n in range(containers))
    offsets = b""
    if containers >= 4:
        first = 4 + len(flags) + len(head) + 4 * containers
        offsets = b"".join((first + 6 * n).to_bytes(4, "little") for n in range(containers))
    runs = b"\x01\x00\x00\x00\xff\xff" * containers
    bitmap = cookie + flags + head + offsets + runs
    magic = (1681511377).to_bytes(4, "little")
    data = magic + (1).to_bytes(8, "little") + bytes(4) + bitmap
    vector = {
        "storageType": "i",
        "pathOrInlineDv": z85_encode(data),
        "sizeInBytes": len(data),
        "cardinality": containers * 65536,
    }
    return _set_fields(2, "add", deletionVector=vector)


def _set_fields(version: int, kind: str, **fields: Any) -> Change:
    return edit_of({"commit": version, "action": kind, "set": fields})


def _add_line(version: int, line: str) -> Change:
    return edit_of({"commit": version, "lines": [line]})


BOMBS: Final = (
    Bomb("schema-1000-deep", "a schema nests a thousand arrays", _PLAIN, _deep_schema(1000)),
    Bomb("schema-100000-deep", "a schema nests 100,000 arrays", _PLAIN, _deep_schema(100_000)),
    Bomb("schema-100000-wide", "a schema has 100,000 columns", _PLAIN, _wide_schema(100_000)),
    Bomb(
        "line-100000-deep",
        "a line of a commit nests 100,000 arrays",
        _PLAIN,
        _add_line(2, '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"),
    ),
    Bomb(
        "line-64-mebibytes",
        "a line of a commit has 64 MiB of spaces",
        _PLAIN,
        _add_line(2, '{"x":' + " " * (64 * MEBIBYTE) + "1}"),
    ),
    Bomb("million-unknown-actions", "a commit has a million lines", _PLAIN, _many_lines(1_000_000)),
    Bomb(
        "statistics-100000-deep",
        "the statistics of a file nest 100,000 objects",
        _PLAIN,
        _set_fields(2, "add", stats='{"a":' * 100_000 + "1" + "}" * 100_000),
    ),
    Bomb(
        "number-of-a-million-digits",
        "a size has a million digits",
        _PLAIN,
        _add_line(2, '{"txn":{"appId":"a","version":' + "9" * 1_000_000 + "}}"),
    ),
    Bomb(
        "hint-100000-deep",
        "the hint nests 100,000 arrays",
        _CHECKPOINT_ONLY,
        edit_of({"write": {"_delta_log/_last_checkpoint": "[" * 100_000 + "]" * 100_000}}),
    ),
    Bomb(
        "checkpoint-of-one-long-path",
        "a small checkpoint expands to two gibibytes of paths",
        _CHECKPOINT_ONLY,
        _repeated_path(MEBIBYTE // 2, 4_000),
    ),
    Bomb(
        "vector-of-2-to-31-rows",
        "a vector of a few hundred kilobytes marks 2,147,483,648 rows",
        _VECTORS_INLINE,
        _full_vector(2**31),
    ),
    Bomb(
        "vector-claims-gibibytes",
        "a vector claims to be two gibibytes long",
        _VECTORS_INLINE,
        _set_fields(
            2,
            "add",
            **{"deletionVector/sizeInBytes": 2**31 - 1, "deletionVector/cardinality": 2**62},
        ),
    ),
)
"""Every bomb; none takes more than a few mebibytes on disk, bar the line of spaces."""
