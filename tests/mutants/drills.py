"""Small pieces of work for a writer, with the rows that the model has after them.

They are for rules that no golden recipe asks about, or that one writer alone cannot break: two
at once, a table of another age. Each names the requirement that its rows or its refusal stand
for; what the audit finds has requirements of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.audit import audit
from reference_impl import DeltaError, Table, read_table
from reference_impl.storage import LocalStorage
from reference_impl.write.checkpoint import Style

Row = dict[str, Any]

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32())])
VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
TIMED = {"delta.enableInCommitTimestamps": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
AT_ONCE = {"delta.deletedFileRetentionDuration": "interval 0 hours"}


def rows(*numbers: int) -> list[Row]:
    return [{"id": n, "part": "ab"[n % 2], "n": n} for n in numbers]


def arrow(*numbers: int) -> pa.Table:
    return pa.Table.from_pylist(rows(*numbers), schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Drill:
    """A piece of work.

    Attributes:
        requirement: what its rows, changes, ids or refusal stand for.
        work: what the writer does.
        rows: the rows that there are in the end, if they are compared.
        refused: a last step that has to be refused and to leave no version.
        meanwhile: versions that others commit while that step is refused.
        holds: what else is true in the end.

    """

    requirement: str
    work: Callable[[Table], object]
    rows: list[Row] | None = None
    refused: Callable[[Table], object] | None = None
    meanwhile: int = 0
    holds: Callable[[Table], bool] | None = None


def complaints(drill: Drill, root: Path, wrong: Callable[[], Any]) -> Iterator[str]:
    """Let a writer do a drill; gives the requirements that it broke.

    ``wrong`` gives a context in which the writer is wrong; nothing is judged inside of it.
    """
    table = Table(root)
    try:
        with wrong():
            drill.work(table)
        if drill.refused is not None:
            yield from _refusal(drill, table, wrong)
        if drill.rows is not None:
            found = sorted(read_table(root).to_pylist(), key=repr)
            if found != sorted(drill.rows, key=repr):
                yield drill.requirement
        if drill.holds is not None and not drill.holds(table):
            yield drill.requirement
    except DeltaError:
        yield drill.requirement
    yield from (found.requirement for found in audit(str(root)) if found.severity == "error")


def _refusal(drill: Drill, table: Table, wrong: Callable[[], Any]) -> Iterator[str]:
    assert drill.refused is not None
    before = table.latest_version()
    try:
        with wrong():
            drill.refused(table)
    except DeltaError:
        if table.latest_version() == before + drill.meanwhile:
            return
    yield drill.requirement


class _Racing(LocalStorage):
    """A storage on which somebody else commits just before this writer does."""

    def __init__(self, table: Table, race: Callable[[Table], Any]) -> None:
        super().__init__(Path(table.storage.location))
        self._race: Callable[[Table], Any] | None = race

    def put(self, path: str, data: bytes) -> None:
        self._somebody(path)
        super().put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._somebody(path)
        super().put_if_absent(path, data)

    def _somebody(self, path: str) -> None:
        if path.startswith("_delta_log/") and path.endswith(".json"):
            race, self._race = self._race, None
            if race is not None:
                race(Table(self.location))


def racing(table: Table, race: Callable[[Table], Any]) -> Table:
    """Give the table as a writer sees it that somebody else overtakes."""
    return Table(_Racing(table, race))


def typed(*fields: Row) -> str:
    """Give a schema in JSON."""
    whole = [{"nullable": True, "metadata": {}, "type": "long", **each} for each in fields]
    return json.dumps({"type": "struct", "fields": whole})


def steps(*work: Callable[[Table], object]) -> Callable[[Table], object]:
    return lambda table: [each(table) for each in work]


def made(properties: dict[str, str], *numbers: int, **more: Any) -> Callable[[Table], object]:
    """Give the work that creates a table and appends rows."""
    more.setdefault("partition_columns", ["part"])

    def work(table: Table) -> None:
        table.create(SCHEMA, properties=properties, **more)
        if numbers:
            table.append(arrow(*numbers))

    return work


def aged(table: Table) -> None:
    """Make every file of the table ten days older."""
    for path in Path(table.storage.location).rglob("*"):
        moment = time.time() - 10 * 86_400
        os.utime(path, (moment, moment))


def waited(_: Table) -> None:
    """Let a millisecond pass: a tombstone of this very one has not expired."""
    time.sleep(0.003)


def behind(table: Table) -> None:
    """Put the latest in-commit timestamp an hour ahead of the clock, as another writer might."""
    version = table.latest_version()
    path = Path(table.storage.location) / f"_delta_log/{version:020}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["commitInfo"]["inCommitTimestamp"] += 3_600_000
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path.with_suffix(".crc").unlink()


def foreign(change: Callable[[list[Row]], object]) -> Callable[[Table], object]:
    """Give the work of another writer: version 0 as it would have written it."""

    def work(table: Table) -> None:
        path = Path(table.storage.location) / f"_delta_log/{0:020}.json"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        change(lines)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        path.with_suffix(".crc").unlink()

    return work


def lists_unknown(lines: list[Row]) -> None:
    for line in lines:
        if "protocol" in line:
            line["protocol"]["writerFeatures"].append("unheardOf")


def row_ids(table: Table) -> dict[int, int]:
    """Give the row id of every row, by its key."""
    found = read_table(table.storage.location, row_ids=True).to_pylist()
    return {row["id"]: row["_row_id"] for row in found}


def changes(*wanted: tuple[int, str]) -> Callable[[Table], bool]:
    """Tell whether the latest version changed these rows in this way."""

    def holds(table: Table) -> bool:
        found = table.changes(table.latest_version()).to_pylist()
        told = [(row["id"], row["_change_type"]) for row in found]
        return sorted(told) == sorted(wanted)

    return holds


IDENTITY = typed(
    {"name": "k", "metadata": {"delta.identity.start": 10, "delta.identity.step": -5}},
    {"name": "id"},
)
EXHAUSTED = typed(
    {"name": "k", "metadata": {"delta.identity.start": 2**63 - 2, "delta.identity.step": 1}},
    {"name": "id"},
)
GENERATED = typed(
    {"name": "id"}, {"name": "twice", "metadata": {"delta.generationExpression": "id * 2"}}
)
DEFAULTED = typed({"name": "id"}, {"name": "n", "metadata": {"CURRENT_DEFAULT": "7"}})


def keys(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def text(value: str) -> pa.Table:
    return pa.table({"t": [value]})


TEXT = pa.schema([("t", pa.string())])
STAMP = pa.schema([("t", pa.timestamp("us", tz="UTC"))])
FLOAT = pa.schema([("t", pa.float64())])

DRILLS: dict[str, Drill] = {
    "append beside append": Drill(
        "WNEW-001",
        steps(made({}, 1), lambda t: racing(t, lambda o: o.append(arrow(2))).append(arrow(3))),
        rows(1, 2, 3),
    ),
    "delete after delete": Drill(
        "LOG-003",
        made({}, 1, 3),
        rows(3),
        refused=lambda t: racing(t, lambda o: o.delete("id = 1")).delete("id = 3"),
        meanwhile=1,
    ),
    "domain after domain": Drill(
        "DOM-005",
        made({}, features=["domainMetadata"]),
        refused=lambda t: racing(t, lambda o: o.set_domain("d", "1")).set_domain("d", "2"),
        meanwhile=1,
    ),
    "append only": Drill(
        "APP-002",
        made({"delta.appendOnly": "true"}, 1, 2),
        refused=lambda t: t.delete("id = 1"),
    ),
    "constraint on rows that are there": Drill(
        "CHK-009", made({}, 1, 2), refused=lambda t: t.add_constraint("c", "id > 1")
    ),
    "constraint in an update": Drill(
        "CHK-006",
        steps(made({}, 1, 2), lambda t: t.add_constraint("c", "n < 10")),
        refused=lambda t: t.update({"n": 10}, "id = 1"),
    ),
    "generated": Drill(
        "GEN-004",
        steps(lambda t: t.create(GENERATED), lambda t: t.append(keys(4))),
        [{"id": 4, "twice": 8}],
        refused=lambda t: t.append(pa.table({"id": [1], "twice": [3]})),
    ),
    "defaults": Drill(
        "DFT-005",
        steps(
            lambda t: t.create(DEFAULTED),
            lambda t: t.append(keys(4)),
            lambda t: t.append(pa.table({"id": [5], "n": pa.array([None], pa.int64())})),
        ),
        [{"id": 4, "n": 7}, {"id": 5, "n": None}],
    ),
    "identity": Drill(
        "IDN-011",
        steps(
            lambda t: t.create(IDENTITY),
            lambda t: t.append(keys(1, 2)),
            lambda t: t.append(keys(3)),
        ),
        [{"k": 10, "id": 1}, {"k": 5, "id": 2}, {"k": 0, "id": 3}],
        refused=lambda t: t.append(pa.table({"k": [1], "id": [4]})),
    ),
    "identity at its end": Drill(
        "IDN-015",
        steps(lambda t: t.create(EXHAUSTED), lambda t: t.append(keys(1))),
        refused=lambda t: t.append(keys(2, 3)),
    ),
    "mapped columns": Drill(
        "CM-014",
        steps(
            made(MAPPED, 1),
            lambda t: t.rename_column("n", "m"),
            lambda t: t.drop_column("m"),
            lambda t: t.add_columns(pa.schema([("n", pa.int32())])),
            lambda t: t.append(arrow(2)),
        ),
        [{"id": 1, "part": "b", "n": None}, {"id": 2, "part": "a", "n": 2}],
    ),
    "a name given again": Drill(
        "CM-014",
        steps(
            made(MAPPED, 1),
            lambda t: t.add_columns(pa.schema([("x", pa.int64())])),
            lambda t: t.append(arrow(2).append_column("x", pa.array([5]))),
            lambda t: t.drop_column("x"),
            lambda t: t.add_columns(pa.schema([("x", pa.int64())])),
        ),
        [row | {"x": None} for row in rows(1, 2)],
    ),
    "mapped later": Drill(
        "CM-013",
        steps(made({}, 1), lambda t: t.set_properties(MAPPED), lambda t: t.append(arrow(2))),
        rows(1, 2),
    ),
    "vectors twice": Drill(
        "DVD-017",
        steps(made(VECTORS, 1, 3, 5), lambda t: t.delete("id = 1"), lambda t: t.delete("id = 3")),
        rows(5),
    ),
    "vectors vacuumed": Drill(
        "DVD-001",
        steps(
            made({**VECTORS, **AT_ONCE}, 1, 3, 5),
            lambda t: t.delete("id = 1"),
            waited,
            lambda t: t.vacuum(),
        ),
        rows(3, 5),
    ),
    "vectors optimized away": Drill(
        "DVD-005",
        steps(made(VECTORS, 1, 3, 5), lambda t: t.delete("id = 1"), lambda t: t.optimize()),
        rows(3, 5),
        holds=lambda t: t.snapshot().adds()["deletionVector"].null_count == 1,
    ),
    "vectors under a manifest": Drill(
        "DVD-010",
        steps(made(VECTORS, 1, 3, 5), lambda t: t.delete("id = 1")),
        refused=lambda t: t.generate_manifest(),
    ),
    "vectors restored": Drill(
        "DVD-013",
        steps(
            made(VECTORS, 1, 3, 5),
            lambda t: t.delete("id = 1"),
            lambda t: t.delete("id = 3"),
            lambda t: t.restore(2),
        ),
        rows(3, 5),
    ),
    "retained": Drill(
        "FA-008",
        steps(made({}, 1, 3), aged, lambda t: t.delete("id = 1"), waited, lambda t: t.vacuum()),
        rows(3),
        holds=lambda t: read_table(t.storage.location, version=1).num_rows == 2,
    ),
    "feed of a delete": Drill(
        "CDC-012",
        steps(made(FEED, 1, 3), lambda t: t.delete("id = 1")),
        rows(3),
        holds=changes((1, "delete")),
    ),
    "feed of an update": Drill(
        "CDC-012",
        steps(made({**FEED, **VECTORS}, 1, 3), lambda t: t.update({"n": 9}, "id = 1")),
        holds=changes((1, "update_preimage"), (1, "update_postimage")),
    ),
    "feed of a compaction": Drill(
        "FA-017",
        steps(made(FEED, 1, 3), lambda t: t.append(arrow(5)), lambda t: t.optimize()),
        rows(1, 3, 5),
        holds=changes(),
    ),
    "row ids": Drill(
        "RT-039",
        steps(
            made(TRACKED, 1, 3),
            lambda t: t.append(arrow(5)),
            lambda t: t.update({"n": 3}, "id = 3"),
            lambda t: t.optimize(),
        ),
        rows(1, 3, 5),
    ),
    "row ids that stay": Drill(
        "RT-047",
        steps(made(TRACKED, 1, 3), lambda t: t.update({"n": 9}, "id = 1"), lambda t: t.optimize()),
        holds=lambda t: sorted(row_ids(t).items()) == [(1, 0), (3, 1)],
    ),
    "row ids for files of before": Drill(
        "RT-045",
        steps(made({}, 1, 3), lambda t: t.set_properties(TRACKED), lambda t: t.append(arrow(5))),
        rows(1, 3, 5),
    ),
    "time under a clock that goes back": Drill(
        "ICT-008",
        steps(made(TIMED, 1), behind, lambda t: t.append(arrow(2)), lambda t: t.append(arrow(3))),
        rows(1, 2, 3),
    ),
    "time from now on": Drill(
        "ICT-010",
        steps(made({}, 1), lambda t: t.set_properties(TIMED), lambda t: t.append(arrow(2))),
        rows(1, 2),
    ),
    "clustering": Drill(
        "CLUS-009",
        steps(
            made(
                {"delta.dataSkippingNumIndexedCols": "1"},
                1,
                partition_columns=(),
                clustering_columns=["n"],
            ),
            lambda t: t.append(arrow(2)),
        ),
        rows(1, 2),
    ),
    "clustering by more": Drill(
        "CLUS-010",
        steps(
            made(
                {"delta.dataSkippingNumIndexedCols": "1"},
                1,
                partition_columns=(),
                clustering_columns=["id"],
            ),
            lambda t: t.cluster_by(["n"]),
        ),
        rows(1),
    ),
    "iceberg": Drill(
        "ICE1-007",
        made({**MAPPED, "delta.enableIcebergCompatV1": "true"}, 1),
        rows(1),
    ),
    "iceberg with vectors": Drill(
        "ICE2-014",
        made({**MAPPED, "delta.enableIcebergCompatV2": "true"}, 1),
        refused=lambda t: t.set_properties(VECTORS),
    ),
    "without zone": Drill("NTZ-002", lambda t: t.create(pa.schema([("t", pa.timestamp("us"))]))),
    "widening": Drill(
        "TW-006",
        steps(
            made({"delta.enableTypeWidening": "true"}, 1),
            lambda t: t.change_type("n", "long"),
            lambda t: t.append(arrow(2)),
        ),
        rows(1, 2),
    ),
    "narrowing": Drill(
        "TW-003",
        made({"delta.enableTypeWidening": "true"}, 1),
        refused=lambda t: t.change_type("id", "integer"),
    ),
    "widening that is not on": Drill(
        "TW-002", made({}, 1), refused=lambda t: t.change_type("n", "long")
    ),
    "checkpoints of the second kind": Drill(
        "CKPT-V2-002",
        steps(
            made({"delta.feature.v2Checkpoint": "supported"}, 1, 2),
            lambda t: t.checkpoint(Style("v2", "json", 2)),
            lambda t: t.append(arrow(3)),
        ),
        rows(1, 2, 3),
    ),
    "checkpoints of everything": Drill(
        "CKPT-005",
        steps(
            made({**VECTORS, **TRACKED}, 1, 3, 5, features=["domainMetadata"]),
            lambda t: t.set_domain("unknown.to.all", "{}"),
            lambda t: t.set_transaction("app", 3),
            lambda t: t.delete("id = 1"),
            lambda t: t.checkpoint(),
        ),
        rows(3, 5),
    ),
    "vacuum of what is unknown": Drill(
        "VPC-002",
        steps(
            made({"delta.feature.vacuumProtocolCheck": "supported", **AT_ONCE}),
            foreign(lists_unknown),
        ),
        refused=lambda t: t.vacuum(),
    ),
    "writing of what is unknown": Drill(
        "TF-003",
        steps(made({"delta.feature.vacuumProtocolCheck": "supported"}), foreign(lists_unknown)),
        refused=lambda t: t.append(arrow(1)),
    ),
    "domains of the system": Drill(
        "DOM-015",
        made(TRACKED, 1),
        refused=lambda t: t.set_domain("delta.rowTracking", '{"rowIdHighWaterMark":-1}'),
    ),
    "upgrade": Drill(
        "TF-012",
        steps(made({}, 1), lambda t: t.set_properties(VECTORS)),
        rows(1),
        holds=lambda t: (
            {"appendOnly", "invariants"} <= {*(t.snapshot().protocol.writer_features or ())}
        ),
    ),
    "odd paths": Drill(
        "ADD-004",
        lambda t: t.create(
            SCHEMA, partition_columns=["part"], rows=pa.table({"id": [1], "part": ["a %?#b"]})
        ),
        [{"id": 1, "part": "a %?#b", "n": None}],
    ),
    "partition values": Drill(
        "PART-008",
        lambda t: t.create(
            pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", tz="UTC"))]),
            partition_columns=["t"],
            rows=pa.table({"id": [1], "t": pa.array([1_500_000], pa.timestamp("us", tz="UTC"))}),
        ),
        holds=lambda t: (
            t.snapshot().adds()["partitionValues"][0].as_py()
            == [("t", "1970-01-01T00:00:01.500000Z")]
        ),
    ),
    "long strings": Drill("STAT-012", lambda t: t.create(TEXT, rows=text("b" * 40))),
    "long strings of many bytes": Drill(
        "STAT-012", lambda t: t.create(TEXT, rows=text("b" * 31 + "😀😀"))
    ),
    "instants": Drill(
        "STAT-012",
        lambda t: t.create(
            STAMP, rows=pa.table({"t": pa.array([1_500_001], pa.timestamp("us", tz="UTC"))})
        ),
    ),
    "no numbers": Drill(
        "STAT-012",
        lambda t: t.create(FLOAT, rows=pa.table({"t": [1.0, float("nan"), float("inf")]})),
    ),
    "log cleaned": Drill(
        "CKPT-011",
        steps(
            made({"delta.logRetentionDuration": "interval 1 days"}, 1),
            lambda t: t.append(arrow(2)),
            lambda t: t.checkpoint(),
            lambda t: t.append(arrow(3)),
            aged,
            lambda t: t.append(arrow(4)),
            lambda t: t.clean_log(),
        ),
        rows(1, 2, 3, 4),
        holds=lambda t: read_table(t.storage.location, version=3).num_rows == 3,
    ),
    "log compacted": Drill(
        "COMP-004",
        steps(
            made({}, 1),
            lambda t: t.append(arrow(3)),
            lambda t: t.delete("id = 1"),
            lambda t: t.compact_log(1, 3),
        ),
        rows(3),
    ),
    "properties restored": Drill(
        "META-002",
        steps(made({"a": "b"}, 1), lambda t: t.set_properties({"a": "c"}), lambda t: t.restore(1)),
        rows(1),
        holds=lambda t: t.snapshot().metadata.configuration["a"] == "b",
    ),
    "row ids of nothing yet": Drill("RT-042", made(TRACKED)),
    "nulls": Drill(
        "SCH-025",
        lambda t: t.create(typed({"name": "id", "nullable": False})),
        refused=lambda t: t.append(pa.table({"id": pa.array([None], pa.int64())})),
    ),
}
"""Work for writers, by what it is about."""
