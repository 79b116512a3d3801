"""Every operation of the writer on a table that gives it work, and what the model says of it.

Rows are dictionaries here and operations are functions on lists of them: the model shares
nothing with the writer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl import Table
from reference_impl.storage import LocalStorage
from reference_impl.write.checkpoints.write import Style

Row = dict[str, Any]
Rows = list[Row]

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32())])
DAY = 86_400


def rows(*numbers: int) -> Rows:
    return [{"id": n, "part": "ab"[n % 2], "n": 10 * n} for n in numbers]


def arrow(*numbers: int) -> pa.Table:
    return pa.Table.from_pylist(rows(*numbers), schema=SCHEMA)


BASES: Mapping[str, Mapping[str, str]] = {
    "plain": {"delta.checkpointInterval": "100"},
    "rich": {
        "delta.enableDeletionVectors": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.checkpointInterval": "3",
    },
    "mapped": {
        "delta.columnMapping.mode": "name",
        "delta.enableTypeWidening": "true",
        "delta.checkpointPolicy": "v2",
        "delta.checkpointInterval": "3",
        "delta.feature.v2Checkpoint": "supported",
    },
    "clustered": {"delta.checkpointInterval": "100"},
}
BY_PARTITION = ("plain", "rich", "mapped")
ALWAYS = {"delta.deletedFileRetentionDuration": "interval 0 hours", "owner": "me"}
LEFT = rows(1, 2, 3)
"""The rows of every base."""


def build(root: Path, base: str) -> None:
    """Make a table of a few commits, with the marks that all operations need."""
    table = Table(root)
    table.create(
        SCHEMA,
        partition_columns=["part"] if base in BY_PARTITION else (),
        clustering_columns=() if base in BY_PARTITION else ["part"],
        properties={**BASES[base], **ALWAYS},
        features=["domainMetadata", "checkConstraints", "allowColumnDefaults"],
    )
    table.append(arrow(1, 2, 3))
    table.append(arrow(4))
    table.set_domain("mine", "{}")
    table.add_constraint("some", "id > 0")
    table.delete("id = 4")


def grown(root: Path) -> None:
    """Give every partition one file more, so that there is something to put together."""
    Table(root).append(arrow(5, 6))


def aged(root: Path) -> None:
    """Put a checkpoint on a table and make it old, so that its log can be cleaned."""
    table = Table(root)
    table.set_properties({"delta.logRetentionDuration": "interval 1 days"})
    table.checkpoint()
    table.append(arrow(5))
    for path in root.rglob("*"):
        moment = time.time() - 5 * DAY
        os.utime(path, (moment, moment))
    table.append(arrow(6))


@dataclass(frozen=True, slots=True)
class Scenario:
    """One operation.

    Attributes:
        run: carries it out.
        effect: what it does to the rows that are there.
        bases: tables that it is tried on.
        prepare: changes the base before.
        held: the rows after that.
    """

    run: Callable[[Table], object]
    effect: Callable[[Rows], Rows] = list
    bases: tuple[str, ...] = BY_PARTITION
    prepare: Callable[[Path], object] | None = None
    held: Rows = field(default_factory=lambda: LEFT)


def _set(n: int) -> Callable[[Rows], Rows]:
    return lambda held: [row | ({"n": n} if row["id"] > 1 else {}) for row in held]


def _renamed(held: Rows) -> Rows:
    return [{"id": row["id"], "part": row["part"], "m": row["n"]} for row in held]


def _without(*numbers: int) -> Callable[[Rows], Rows]:
    return lambda held: [row for row in held if row["id"] not in numbers]


SCENARIOS: dict[str, Scenario] = {
    "append": Scenario(lambda t: t.append(arrow(8, 9)), lambda held: held + rows(8, 9)),
    "overwrite": Scenario(lambda t: t.overwrite(arrow(50)), lambda _: rows(50)),
    "overwrite where": Scenario(
        lambda t: t.overwrite(arrow(50), "part = 'a'"), lambda _: rows(1, 3, 50)
    ),
    "replace": Scenario(
        lambda t: t.replace(SCHEMA, partition_columns=["part"], rows=arrow(50)),
        lambda _: rows(50),
        ("plain",),
    ),
    "delete": Scenario(lambda t: t.delete("id IN (1, 2)"), _without(1, 2)),
    "delete all": Scenario(lambda t: t.delete(), lambda _: []),
    "update": Scenario(lambda t: t.update({"n": 7}, "id > 1"), _set(7)),
    "merge": Scenario(
        lambda t: t.merge(arrow(2, 60), ["id"]), lambda held: _without(2)(held) + rows(2, 60)
    ),
    "optimize": Scenario(lambda t: t.optimize(), prepare=grown, held=rows(1, 2, 3, 5, 6)),
    "purge": Scenario(
        lambda t: t.optimize(purge_only=True),
        bases=("rich",),
        prepare=lambda root: Table(root).delete("id = 1"),
        held=rows(2, 3),
    ),
    "restore": Scenario(lambda t: t.restore(2), lambda _: rows(1, 2, 3, 4)),
    "vacuum": Scenario(lambda t: t.vacuum()),
    "clean log": Scenario(
        lambda t: t.clean_log(),
        bases=("plain", "mapped"),
        prepare=aged,
        held=rows(1, 2, 3, 5, 6),
    ),
    "compact log": Scenario(lambda t: t.compact_log(1, 3)),
    "checkpoint": Scenario(lambda t: t.checkpoint()),
    "checkpoint in parts": Scenario(lambda t: t.checkpoint(Style(parts=3)), bases=("plain",)),
    "checkpoint in JSON": Scenario(
        lambda t: t.checkpoint(Style("v2", "json", 2)), bases=("mapped",)
    ),
    "checkpoint with sidecars": Scenario(
        lambda t: t.checkpoint(Style("v2", "parquet", 2)), bases=("mapped",)
    ),
    "set properties": Scenario(lambda t: t.set_properties({"a": "b"})),
    "unset properties": Scenario(lambda t: t.unset_properties(["owner"])),
    "support a feature": Scenario(lambda t: t.set_properties({}, features=["vacuumProtocolCheck"])),
    "track rows": Scenario(
        lambda t: t.set_properties({"delta.enableRowTracking": "true"}), bases=("plain",)
    ),
    "time commits": Scenario(
        lambda t: t.set_properties({"delta.enableInCommitTimestamps": "true"}), bases=("plain",)
    ),
    "drop a feature": Scenario(lambda t: t.drop_feature("allowColumnDefaults")),
    "drop a feature of the log": Scenario(
        lambda t: t.drop_feature("v2Checkpoint"),
        bases=("mapped",),
        prepare=lambda root: Table(root).set_properties({"delta.checkpointPolicy": "classic"}),
    ),
    "drop row tracking": Scenario(
        lambda t: t.drop_feature("rowTracking"),
        bases=("rich",),
        prepare=lambda root: Table(root).update({"n": 7}, "id > 1"),
        held=_set(7)(LEFT),
    ),
    "drop vectors": Scenario(lambda t: t.drop_feature("deletionVectors"), bases=("rich",)),
    "drop times of commits": Scenario(
        lambda t: t.drop_feature("inCommitTimestamp"), bases=("rich",)
    ),
    "drop type widening": Scenario(
        lambda t: t.drop_feature("typeWidening"),
        bases=("mapped",),
        prepare=lambda root: Table(root).change_type("n", "long"),
    ),
    "drop column mapping": Scenario(
        lambda t: t.drop_feature("columnMapping"),
        bases=("plain",),
        prepare=lambda root: Table(root).set_properties({"delta.columnMapping.mode": "name"}),
    ),
    "drop clustering": Scenario(lambda t: t.drop_feature("clustering"), bases=("clustered",)),
    "drop domains": Scenario(
        lambda t: t.drop_feature("domainMetadata"),
        bases=("plain",),
        prepare=lambda root: Table(root).set_domain("mine", None),
    ),
    "drop Iceberg": Scenario(
        lambda t: t.drop_feature("icebergCompatV2"),
        bases=("clustered",),
        prepare=lambda root: Table(root).set_properties(
            {"delta.columnMapping.mode": "name", "delta.enableIcebergCompatV2": "true"}
        ),
    ),
    "cluster": Scenario(lambda t: t.cluster_by(["id", "n"]), bases=("clustered",)),
    "optimize clusters": Scenario(
        lambda t: t.optimize(), bases=("clustered",), prepare=grown, held=rows(1, 2, 3, 5, 6)
    ),
    "generate a manifest": Scenario(lambda t: t.generate_manifest(), bases=("plain",)),
    "add a constraint": Scenario(lambda t: t.add_constraint("more", "n < 1000000")),
    "drop a constraint": Scenario(lambda t: t.drop_constraint("some")),
    "set a transaction": Scenario(lambda t: t.set_transaction("app", 7)),
    "set a domain": Scenario(lambda t: t.set_domain("yours", "text")),
    "remove a domain": Scenario(lambda t: t.set_domain("mine", None)),
    "add columns": Scenario(
        lambda t: t.add_columns(pa.schema([("m", pa.string())])),
        lambda held: [row | {"m": None} for row in held],
    ),
    "rename a column": Scenario(lambda t: t.rename_column("n", "m"), _renamed, bases=("mapped",)),
    "drop a column": Scenario(
        lambda t: t.drop_column("n"),
        lambda held: [{"id": row["id"], "part": row["part"]} for row in held],
        bases=("mapped",),
    ),
    "reorder columns": Scenario(lambda t: t.reorder_columns(["n", "part", "id"])),
    "widen a type": Scenario(lambda t: t.change_type("n", "long"), bases=("mapped",)),
    "forbid nulls": Scenario(lambda t: t.set_nullable("n", nullable=False)),
    "set a comment": Scenario(lambda t: t.set_comment("n", "a number")),
    "set a default": Scenario(lambda t: t.set_default("n", "5")),
}
"""Every operation on a table that is there."""

CREATIONS: dict[str, Scenario] = {
    "create": Scenario(
        lambda t: t.create(SCHEMA, properties={**BASES["rich"], **ALWAYS}),
        lambda _: [],
        bases=("nothing",),
    ),
    "convert": Scenario(
        lambda t: t.convert(SCHEMA, partition_columns=["part"], properties=ALWAYS),
        lambda _: rows(1, 2),
        bases=("files",),
    ),
    "create with rows": Scenario(
        lambda t: t.create(
            SCHEMA,
            partition_columns=["part"],
            properties={**BASES["rich"], **ALWAYS},
            rows=arrow(1, 2),
        ),
        lambda _: rows(1, 2),
        bases=("nothing",),
    ),
}
"""Operations where there is no table yet."""

ALL: dict[str, Scenario] = {**SCENARIOS, **CREATIONS}

WITHOUT_COMMIT = frozenset(
    {
        "checkpoint",
        "checkpoint in JSON",
        "checkpoint in parts",
        "checkpoint with sidecars",
        "clean log",
        "compact log",
        "generate a manifest",
        "vacuum",
    }
)
"""Operations that make no version."""


def make(root: Path, name: str, base: str) -> None:
    """Build what an operation is tried on."""
    if base in ("nothing", "files"):
        root.mkdir(parents=True)
        for row in rows(1, 2) if base == "files" else []:
            folder = root / f"part={row.pop('part')}"
            folder.mkdir()
            schema = pa.schema([f for f in SCHEMA if f.name != "part"])
            pq.write_table(pa.Table.from_pylist([row], schema), folder / "rows.parquet")
        return
    build(root, base)
    prepare = ALL[name].prepare
    if prepare is not None:
        prepare(root)


def opened(root: Path) -> LocalStorage:
    """Open the storage of a table without faults."""
    return LocalStorage(root)
