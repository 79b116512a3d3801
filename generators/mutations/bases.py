"""The small valid tables that mutations start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import drop_commits
from generators.oracle.delta_schema import Primitive, Struct, array, map_of, struct
from generators.oracle.operations import widened_field


@dataclass(frozen=True, slots=True)
class Base:
    """A small valid table to mutate.

    Attributes:
        name: slug.
        features: reader features that the table lists.
        build: builds the table below a root that does not exist yet.
    """

    name: str
    features: tuple[str, ...]
    build: Callable[[Path], TableBuilder]


_SCHEMA: Final = struct(id="long", name="string")
_NESTED: Final = struct(
    id="long", s=struct(a="integer", b="string"), l=array("long"), m=map_of("string", "long")
)


def _rows(start: int, count: int) -> list[dict[str, object]]:
    return [{"id": each, "name": f"row {each}"} for each in range(start, start + count)]


def _plain_history(builder: TableBuilder) -> TableBuilder:
    """Return a table of four versions: three files in, one out again."""
    builder.create()
    builder.append(_rows(0, 3))
    builder.append(_rows(3, 3))
    builder.append(_rows(6, 2))
    builder.remove([next(iter(builder.files.values()))])
    return builder


def _begun(root: Path, seed: str, **named: str) -> TableBuilder:
    """Create an empty table with properties, named without their ``delta.``."""
    properties = {f"delta.{name}": value for name, value in named.items()}
    builder = TableBuilder(root, _SCHEMA, properties=properties, seed=seed)
    builder.create()
    return builder


def _plain(root: Path) -> TableBuilder:
    return _plain_history(TableBuilder(root, _SCHEMA, seed="plain"))


def _checkpointed(root: Path) -> TableBuilder:
    builder = _plain(root)
    builder.checkpoint(version=2)
    return builder


def _checksummed(root: Path) -> TableBuilder:
    builder = _checkpointed(root)
    for version in range(builder.version + 1):
        builder.checksum(version)
    return builder


def _checkpoint_only(root: Path) -> TableBuilder:
    builder = _plain(root)
    builder.checkpoint(version=2, hint=False)
    drop_commits(root, 3)
    return builder


def _multi_part(root: Path) -> TableBuilder:
    builder = _plain(root)
    builder.checkpoint("multi-part", version=3, parts=2, hint=False)
    return builder


def _multi_part_only(root: Path) -> TableBuilder:
    builder = _multi_part(root)
    drop_commits(root, 4)
    return builder


def _sidecars(root: Path) -> TableBuilder:
    builder = _plain_history(
        TableBuilder(root, _SCHEMA, seed="sidecars", features=["v2Checkpoint"])
    )
    builder.checkpoint("v2-json", version=3, sidecars=2)
    return builder


def _sidecars_only(root: Path) -> TableBuilder:
    builder = _sidecars(root)
    drop_commits(root, 4)
    return builder


def _compacted(root: Path) -> TableBuilder:
    builder = _plain(root)
    builder.compact_log(1, 3)
    return builder


def _partitioned(root: Path) -> TableBuilder:
    schema = struct(id="long", day="date", n="integer")
    builder = TableBuilder(root, schema, partition_columns=["n"], seed="partitioned")
    builder.create()
    builder.append([{"id": each, "n": each % 2} for each in range(4)])
    builder.append([{"id": 4, "n": None}, {"id": 5, "n": 7}])
    return builder


def _vectors(root: Path) -> TableBuilder:
    builder = _begun(root, "vectors", enableDeletionVectors="true")
    builder.append(_rows(0, 6))
    builder.append(_rows(6, 6))
    builder.delete_rows(lambda row: row["id"] % 3 == 1)
    return builder


def _vectors_inline(root: Path) -> TableBuilder:
    builder = _begun(root, "inline", enableDeletionVectors="true")
    builder.append(_rows(0, 6))
    builder.delete_rows(lambda row: row["id"] in (1, 4), "inline")
    return builder


def _mapped(root: Path, mode: str = "name") -> TableBuilder:
    builder = TableBuilder(
        root, _NESTED, properties={"delta.columnMapping.mode": mode}, seed=f"mapped-{mode}"
    )
    builder.create()
    builder.append(
        [{"id": n, "s": {"a": n, "b": "x"}, "l": [n, None], "m": {"k": n}} for n in range(3)],
        rows_per_file=2,
    )
    return builder


def _change_feed(root: Path) -> TableBuilder:
    builder = _begun(root, "changes", enableChangeDataFeed="true")
    builder.append(_rows(0, 4))
    builder.update(lambda row: row["id"] == 2, {"name": "changed"})
    return builder


def _row_tracked(root: Path) -> TableBuilder:
    builder = _begun(root, "row-tracked", enableRowTracking="true")
    builder.append(_rows(0, 4))
    builder.append(_rows(4, 4))
    return builder


def _timed(root: Path) -> TableBuilder:
    builder = _begun(root, "timed", enableInCommitTimestamps="true")
    builder.append(_rows(0, 3))
    builder.append(_rows(3, 3))
    return builder


def _widened(root: Path) -> TableBuilder:
    schema = struct(n="integer", name="string")
    builder = TableBuilder(
        root, schema, properties={"delta.enableTypeWidening": "true"}, seed="widened"
    )
    builder.create()
    builder.append([{"n": each, "name": "narrow"} for each in range(3)])
    wide = Struct((widened_field(builder.schema["n"], Primitive("long")), builder.schema["name"]))
    builder.change_table(schema=wide)
    builder.append([{"n": 2**40, "name": "wide"}])
    return builder


BASES: Final = (
    Base("plain", (), _plain),
    Base("checkpointed", (), _checkpointed),
    Base("checksummed", (), _checksummed),
    Base("checkpoint-only", (), _checkpoint_only),
    Base("multi-part", (), _multi_part),
    Base("multi-part-only", (), _multi_part_only),
    Base("sidecars", ("v2Checkpoint",), _sidecars),
    Base("sidecars-only", ("v2Checkpoint",), _sidecars_only),
    Base("compacted", (), _compacted),
    Base("partitioned", (), _partitioned),
    Base("vectors", ("deletionVectors",), _vectors),
    Base("vectors-inline", ("deletionVectors",), _vectors_inline),
    Base("mapped", ("columnMapping",), _mapped),
    Base("mapped-by-id", ("columnMapping",), partial(_mapped, mode="id")),
    Base("change-feed", (), _change_feed),
    Base("row-tracked", (), _row_tracked),
    Base("timed", (), _timed),
    Base("widened", ("typeWidening",), _widened),
)
"""Every base table, each valid and readable as it is."""

BY_NAME: Final = {base.name: base for base in BASES}
"""Name of a base table to the table."""
