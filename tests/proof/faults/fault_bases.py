"""The sound tables that faults are planted in, written by the builders of `generators/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from fault_columns import COLUMN_TABLES

from generators.materialise.builder import TableBuilder
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import drop_commits
from generators.materialise.log.protocols import Protocol
from generators.mutations.bases import BASES
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

_SCHEMA = struct(field("id", "long"), field("name", "string"))
_NESTED = struct(
    field("id", "long"),
    field("s", struct(field("a", "integer"), field("b", "string"))),
    field("l", array("long")),
    field("m", map_of("string", "long")),
)
_KEPT = {"delta.deletedFileRetentionDuration": "interval 5000 weeks"}
_STRUCT = CheckpointStyle(stats_parsed=True)
_AS_STRUCT = {"delta.checkpoint.writeStatsAsStruct": "true"}
_VECTORS = {"delta.enableDeletionVectors": "true"}
_TRACKED = {"delta.enableRowTracking": "true"}
_FED = {"delta.enableChangeDataFeed": "true"}
_TIMED = {"delta.enableInCommitTimestamps": "true"}
_BY_NAME = {"delta.columnMapping.mode": "name"}

_MOMENT = datetime(2024, 2, 29, 12, 30, 15, 250_000, UTC)
_LOCAL = _MOMENT.replace(tzinfo=None)


def _rows(start: int, count: int) -> list[dict[str, Any]]:
    return [{"id": each, "name": f"row {each}"} for each in range(start, start + count)]


def _nested_rows(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "s": {"a": n, "b": "x"}, "l": [n, None], "m": {"k": n}} for n in range(count)]


def _filled(root: Path, schema: Struct = _SCHEMA, **options: Any) -> TableBuilder:
    """Make a table of two appends, the second of two files."""
    builder = TableBuilder(root, schema, seed="faults", **options)
    builder.create()
    builder.append(_rows(0, 3))
    builder.append(_rows(3, 4), rows_per_file=2)
    return builder


def _then(
    build: Callable[..., TableBuilder], *steps: Callable[[TableBuilder], object], **options: Any
) -> Callable[[Path], TableBuilder]:
    """Make a table, and do some things to it."""

    def built(root: Path) -> TableBuilder:
        builder = build(root, **options)
        for step in steps:
            step(builder)
        return builder

    return built


def _checkpoint(kind: Any = "classic", **options: Any) -> Callable[[TableBuilder], object]:
    return lambda builder: builder.checkpoint(kind, hint=False, **options)


def _remove_first(builder: TableBuilder) -> None:
    builder.remove([next(iter(builder.files.values()))])


def _forget_commits(builder: TableBuilder) -> None:
    drop_commits(builder.root, builder.version + 1)


def _restate_first(builder: TableBuilder) -> None:
    builder.commit([{"add": {**next(iter(builder.files.values())).add, "dataChange": False}}])


def _delete(number: int, storage: Any = "file") -> Callable[[TableBuilder], object]:
    return lambda builder: builder.delete_rows(lambda row: row["id"] == number, storage)


def _change(number: int) -> Callable[[TableBuilder], object]:
    return lambda builder: builder.update(lambda row: row["id"] == number, {"name": "changed"})


def _typed(root: Path, **options: Any) -> TableBuilder:
    names = ("d", "date"), ("t", "timestamp"), ("z", "timestamp_ntz"), ("b", "boolean")
    more = ("n", "integer"), ("c", "decimal(6,2)"), ("s", "string"), ("y", "byte"), ("f", "double")
    columns = [field(name, of) for name, of in (*names, *more)]
    schema = struct(field("id", "long"), *columns)
    partitions = [each.name for each in columns]
    builder = TableBuilder(
        root, schema, partition_columns=partitions, seed="typed", hive=False, **options
    )
    builder.create()
    builder.append([
        {
            "id": 1, "d": _LOCAL.date(), "t": _MOMENT, "z": _LOCAL, "b": True,
            "n": 7, "c": Decimal("12.50"), "s": "a b", "y": 1, "f": 0.5,
        }
    ])  # fmt: skip
    return builder


def _valued(root: Path, **options: Any) -> TableBuilder:
    """Make a table of many types with statistics of each, and required parts."""
    schema = struct(
        field("id", "long", nullable=False),
        field("n", "integer"),
        field("x", "double"),
        field("r", "float"),
        field("t", "timestamp"),
        field("z", "timestamp_ntz"),
        field("d", "date"),
        field("c", "decimal(12,3)"),
        field("s", "string"),
        field("b", "boolean"),
        field("h", "short"),
        field("y", "byte"),
        field("i", "binary"),
        field("p", struct(field("a", "integer", nullable=False), field("b", "string"))),
        field("l", array("long", contains_null=False)),
        field("m", map_of("string", "long", value_contains_null=False)),
    )
    builder = TableBuilder(root, schema, seed="valued", **options)
    builder.create()
    builder.append([
        {
            "id": n, "n": n, "x": n / 2, "r": n / 4, "t": _MOMENT.replace(minute=n),
            "z": _LOCAL.replace(minute=n), "d": date(2024, 1, 1 + n), "c": Decimal(n) / 8,
            "s": f"s{n}" if n else None, "b": n == 1, "h": n, "y": n, "i": b"x",
            "p": {"a": n, "b": "x"}, "l": [n], "m": {"k": n},
        }
        for n in range(4)
    ])  # fmt: skip
    return builder


def _rich(root: Path, **options: Any) -> TableBuilder:
    """Make a table with something of every action: vectors, tombstones, txns, domains."""
    schema = struct(field("id", "long"), field("name", "string"), field("p", "integer"))
    properties = {**_VECTORS, **_KEPT, **options.pop("properties", {})}
    features = ["domainMetadata", "deletionVectors", *options.pop("features", ())]
    builder = TableBuilder(
        root,
        schema,
        partition_columns=["p"],
        properties=properties,
        features=features,
        seed="rich",
        **options,
    )
    builder.create()
    builder.append([{"id": n, "name": f"row {n}", "p": n % 2} for n in range(8)])
    builder.append([{"id": n, "name": f"row {n}", "p": 2} for n in range(8, 12)])
    builder.delete_rows(lambda row: row["id"] in (1, 3))
    builder.remove(lambda row: row["p"] == 2)
    builder.set_transaction("app", 1)
    builder.set_transaction("app", 2)
    builder.set_transaction("other", 5)
    builder.set_domain("app.kept", "first")
    builder.set_domain("app.kept", "second")
    builder.set_domain("app.gone", "x")
    builder.set_domain("app.gone", "x", removed=True)
    return builder


def _checkpointed_mapped(root: Path) -> TableBuilder:
    schema = struct(field("id", "long"), field("name", "string"), field("p", "integer"))
    builder = TableBuilder(
        root, schema, partition_columns=["p"], properties=_BY_NAME | _AS_STRUCT, seed="mapped"
    )
    builder.create()
    builder.append([{"id": n, "name": "x", "p": n % 2} for n in range(4)])
    builder.checkpoint(style=_STRUCT, hint=False)
    return builder


def _checkpointed_mapped_nested(root: Path) -> TableBuilder:
    builder = TableBuilder(root, _NESTED, properties=_BY_NAME | _AS_STRUCT, seed="mapped nested")
    builder.create()
    builder.append(_nested_rows(3))
    builder.checkpoint(style=_STRUCT, hint=False)
    return builder


def _hinted_richly(root: Path) -> TableBuilder:
    """Have a hint in which every rule of the canonical form matters."""
    builder = _filled(root)
    builder.checkpoint()
    path = root / "_delta_log/_last_checkpoint"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["later"] = {"b c": [1, None, {"checksum": "x"}], "ä~": True}
    document["many"] = [[0, 1], *range(2, 12)]
    document["tags"] = {"a-b": "50 % /", "_": "ü"}
    del document["checksum"]
    path.write_text(json.dumps(document), encoding="utf-8")
    return builder


def _changed_parts(root: Path) -> TableBuilder:
    schema = struct(field("id", "long"), field("name", "string"), field("p", "integer"))
    builder = TableBuilder(root, schema, partition_columns=["p"], seed="parts", properties=_FED)
    builder.create()
    builder.append([{"id": n, "name": "x", "p": n % 2} for n in range(6)])
    builder.update(lambda row: row["id"] == 2, {"name": "y"})
    return builder


def _changed_moments(root: Path) -> TableBuilder:
    schema = struct(field("id", "long"), field("t", "timestamp"), field("z", "timestamp_ntz"))
    builder = TableBuilder(root, schema, seed="moments", properties=_FED)
    builder.create()
    builder.append([{"id": n, "t": _MOMENT, "z": _LOCAL} for n in range(3)])
    builder.update(lambda row: row["id"] == 1, {"id": 9})
    return builder


def _everything(root: Path) -> TableBuilder:
    """Make a table of every feature that goes with the others."""
    properties = {
        **(_BY_NAME | _VECTORS | _TRACKED | _TIMED | _FED),
        "delta.constraints.small": "id < 1000",
        **_KEPT,
    }
    builder = TableBuilder(
        root,
        _NESTED.with_fields(field("name", "string"), field("q", "integer")),
        partition_columns=["q"],
        properties=properties,
        features=["v2Checkpoint", "domainMetadata", "checkConstraints"],
        seed="everything",
    )
    builder.create()
    builder.append([{**row, "name": "x", "q": row["id"] % 2} for row in _nested_rows(8)])
    builder.delete_rows(lambda row: row["id"] in (1, 2))
    builder.update(lambda row: row["id"] == 4, {"name": "changed"})
    builder.set_transaction("app", 1)
    builder.set_domain("app.kept", "first")
    builder.checkpoint("v2-json", sidecars=2, hint=False)
    builder.checksum()
    return builder


def _mapped(mode: str) -> Callable[[Path], TableBuilder]:
    def build(root: Path) -> TableBuilder:
        schema = _NESTED.with_fields(field("q", "integer"))
        builder = TableBuilder(
            root,
            schema,
            partition_columns=["q"],
            properties={"delta.columnMapping.mode": mode},
            seed=mode,
        )
        builder.create()
        builder.append([{**row, "q": 1} for row in _nested_rows(3)])
        wider = builder.schema.with_fields(field("new", "long"))
        builder.change_table(schema=wider)
        builder.append([{**_nested_rows(1)[0], "q": 1, "new": 4}])
        return builder

    return build


def _iceberg(version: int) -> Callable[[Path], TableBuilder]:
    def build(root: Path) -> TableBuilder:
        columns = [field("id", "long"), field("q", "integer"), field("t", "timestamp")]
        if version == 2:
            ids = {"delta.columnMapping.nested.ids": {"c-4.element": 5}}
            columns.append(field("l", array("long"), metadata={**_names(4), **ids}))
            columns[:3] = [
                field(each.name, each.type, metadata=_names(number))
                for number, each in enumerate(columns[:3], 1)
            ]
        inside = pa.field("element", pa.int64(), metadata={"PARQUET:field_id": "5"})
        lists = ExtraColumn("c-4", pa.array([[1]], pa.list_(inside)), field_id=4)
        properties = {
            "delta.columnMapping.mode": "name",
            f"delta.enableIcebergCompatV{version}": "true",
        }
        if version == 2:
            properties["delta.columnMapping.maxColumnId"] = "5"
        builder = TableBuilder(
            root,
            Struct(tuple(columns)),
            partition_columns=["q"],
            properties=properties,
            seed="iceberg",
            layout=FileLayout(
                partitions_inside=True,
                order=("id", "t"),
                extra=() if version == 1 else (lists,),
            ),
        )
        builder.create()
        row: dict[str, Any] = {"id": 1, "q": 1, "t": datetime(2024, 1, 1, tzinfo=UTC)}
        builder.append([row | ({"l": [1]} if version == 2 else {})])
        return builder

    return build


def _names(number: int) -> dict[str, Any]:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}


def _clustered(root: Path) -> TableBuilder:
    builder = TableBuilder(root, _SCHEMA, features=["clustering"], seed="clustered")
    configuration = json.dumps({"clusteringColumns": [["id"]]})
    domain = {"domain": "delta.clustering", "configuration": configuration, "removed": False}
    builder.create(actions=[{"domainMetadata": domain}])
    builder.append(_rows(0, 3))
    return builder


def _clustered_later(root: Path) -> TableBuilder:
    builder = _filled(root, features=["clustering"], properties=_BY_NAME)
    number = json.loads(builder.metadata()["schemaString"])["fields"][0]["metadata"]
    columns = [[number["delta.columnMapping.physicalName"]]]
    builder.set_domain("delta.clustering", json.dumps({"clusteringColumns": columns}))
    return builder


def _compacted_behind_a_cut(root: Path) -> TableBuilder:
    """Make a compaction of which a cleanup took the first commits."""
    builder = _rich(root)
    kept = builder.version
    builder.checkpoint(hint=False)
    for number in (12, 16):
        builder.append([{"id": number, "name": f"row {number}", "p": number}])
    builder.remove(lambda row: row["p"] == 12)
    builder.set_transaction("app", 3)
    builder.set_domain("app.kept", "third")
    builder.change_table(properties=_FED)
    builder.compact_log(9, builder.version)
    drop_commits(root, kept)
    return builder


_CHECKPOINTED_TRACKED = _then(
    _filled, _remove_first, _checkpoint(), properties={**_TRACKED, **_KEPT}
)
_TIMED_LATER = _then(
    _filled,
    lambda builder: builder.change_table(properties=_TIMED),
    lambda builder: builder.append(_rows(9, 1)),
    features=["domainMetadata"],
)
_v2 = partial(_then, _rich, features=["v2Checkpoint"])
_DELETED = _then(_filled, _delete(1), properties=_VECTORS)

TABLES: Mapping[str, Callable[[Path], TableBuilder]] = {
    **{base.name: base.build for base in BASES},
    **COLUMN_TABLES,
    "filled": _filled,
    "typed": _typed,
    "valued": _valued,
    "rich": _rich,
    "checkpoint": _then(_rich, _checkpoint(style=_STRUCT), properties=_AS_STRUCT),
    "checkpoint-alone-typed": _then(
        _rich,
        _checkpoint(style=_STRUCT),
        lambda builder: drop_commits(builder.root, builder.version),
        properties=_AS_STRUCT,
    ),
    "checkpoint-legacy": _then(_filled, _remove_first, _checkpoint()),
    "checkpoint-early": _then(_filled, _checkpoint(version=1)),
    "checkpoint-valued": _then(_valued, _checkpoint(style=_STRUCT), properties=_AS_STRUCT),
    "checkpoint-mapped": _checkpointed_mapped,
    "checkpoint-mapped-nested": _checkpointed_mapped_nested,
    "checkpoint-typed": _then(_typed, _checkpoint(style=_STRUCT), properties=_AS_STRUCT),
    "checkpoint-tracked": _CHECKPOINTED_TRACKED,
    "cleaned-tracked": _then(
        _CHECKPOINTED_TRACKED, _forget_commits, lambda builder: builder.append(_rows(7, 2))
    ),
    "cleaned-timed": _then(_TIMED_LATER, _checkpoint(), _forget_commits),
    "cleaned-timed-then-appended": _then(
        _TIMED_LATER, _checkpoint(), _forget_commits, lambda builder: builder.append(_rows(10, 1))
    ),
    "v2-json": _v2(_checkpoint("v2-json")),
    "v2-json-sidecar": _v2(_checkpoint("v2-json", sidecars=1)),
    "v2-parquet": _v2(_checkpoint("v2-parquet")),
    "v2-parquet-sidecar": _v2(_checkpoint("v2-parquet", sidecars=1)),
    "v2-classic": _v2(_checkpoint("v2-classic")),
    "v2-twins": _v2(_checkpoint("v2-json"), _checkpoint("v2-classic")),
    "parts": _then(_filled, _checkpoint("multi-part")),
    "parts-vectors": _then(_rich, _checkpoint("multi-part")),
    "compaction": _then(_rich, lambda builder: builder.compact_log(1, builder.version)),
    # Of commits that remove what came before the range.
    "compaction-later": _then(_rich, lambda builder: builder.compact_log(3, 6)),
    "compaction-cut": _compacted_behind_a_cut,
    "compaction-cut-within": _then(
        _rich,
        _checkpoint(version=9),
        lambda builder: builder.compact_log(3, 10),
        lambda builder: drop_commits(builder.root, 9),
    ),
    "compaction-whole": _then(_rich, lambda builder: builder.compact_log(0, builder.version)),
    "cleaned": _then(_rich, _checkpoint(version=4), lambda builder: drop_commits(builder.root, 4)),
    "cleaned-appended": _then(
        _filled, _checkpoint(), lambda builder: drop_commits(builder.root, builder.version)
    ),
    "cleaned-timed-whole": _then(
        _filled,
        _checkpoint(),
        lambda builder: drop_commits(builder.root, builder.version),
        lambda builder: builder.append(_rows(9, 1)),
        properties=_TIMED,
    ),
    "cleaned-domains": _then(
        _filled,
        lambda builder: builder.set_domain("app.kept", "first"),
        lambda builder: builder.append(_rows(9, 1)),
        _checkpoint(version=3),
        lambda builder: drop_commits(builder.root, 3),
        features=["domainMetadata", "appendOnly"],
    ),
    "summed": _then(_rich, lambda builder: builder.checksum(all_files=True), properties=_TIMED),
    "summed-plainly": _then(_filled, TableBuilder.checksum),
    "hinted": _then(_filled, TableBuilder.checkpoint),
    "hinted-richly": _hinted_richly,
    "changed": _then(_filled, _change(2), properties=_FED),
    "changed-parts": _changed_parts,
    "changed-moments": _changed_moments,
    "restated-parts": _then(_changed_parts, _restate_first),
    "everything": _everything,
    "rearranged": _then(_filled, TableBuilder.compact),
    "rearranged-tracked": _then(_filled, TableBuilder.compact, properties=_TRACKED),
    "deleted": _DELETED,
    "deleted-inline": _then(_filled, _delete(1, "inline"), properties=_VECTORS),
    "deleted-twice": _then(_DELETED, _delete(2)),
    "by-name": _mapped("name"),
    "by-id": _mapped("id"),
    "parted-by-text": _then(
        _filled,
        lambda builder: builder.change_table(properties={"delta.appendOnly": "false"}),
        partition_columns=["name"],
    ),
    "tracked": _then(_filled, _change(4), properties=_TRACKED),
    "tracked-vectors": _then(_filled, _delete(1), properties=_TRACKED | _VECTORS),
    "tracked-support": _then(_filled, features=["rowTracking"]),
    "timed-later": _TIMED_LATER,
    "iceberg-1": _iceberg(1),
    "iceberg-2": _iceberg(2),
    "clustered": _clustered,
    "clustered-mapped": _clustered_later,
    "append-only": _then(_filled, properties={"delta.appendOnly": "true"}),
    "catalogued": _then(_filled, properties=_TIMED, features=["catalogManaged"]),
    "catalogued-checkpoint": _then(
        _filled, _checkpoint(), properties=_TIMED, features=["catalogManaged"]
    ),
    "catalogued-compaction": _then(
        _filled,
        lambda builder: builder.compact_log(1, builder.version),
        properties=_TIMED,
        features=["catalogManaged"],
    ),
    "legacy-2-5": _then(_filled, protocol=Protocol(2, 5)),
    "legacy-1-7": _then(_filled, features=["appendOnly"]),
    "features-3-7": _then(_filled, features=["vacuumProtocolCheck"]),
    "mappable": _then(_filled, features=["columnMapping"]),
    "domains": _then(_filled, features=["domainMetadata"]),
    "domains-set": _then(
        _filled,
        lambda builder: builder.set_domain("app.kept", "first"),
        lambda builder: builder.append(_rows(9, 1)),
        features=["domainMetadata", "appendOnly"],
    ),
}
"""Builders of sound tables, by name."""
