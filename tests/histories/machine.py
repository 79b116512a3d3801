"""A writer under random operations, held against the oracle and the audit as it goes.

The table has few columns and small values, so that operations meet: the same rows are updated,
merged, deleted, restored. What is drawn is which features the table has, which come later, and
what is done in which order.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.audit import audit
from conformance.compare import compare_rows
from generators.delta_schema import Field, Struct, field, struct, type_of
from generators.materialise.arrow_rows import arrow_table
from generators.operations import (
    AddColumn,
    Append,
    Create,
    Delete,
    DropColumn,
    Keep,
    Merge,
    MergeClause,
    Operation,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    Restore,
    SetDomain,
    SetProperties,
    SetTransaction,
    UnsetProperties,
    Update,
    WidenColumn,
    commits,
    replay,
)
from reference_impl import Table, read_table
from reference_impl.write.checkpoint import Style

__all__ = ["WriterMachine"]

FEATURES = {
    "vectors": {"delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "tracking": {"delta.enableRowTracking": "true"},
    "times": {"delta.enableInCommitTimestamps": "true"},
    "mapping": {"delta.columnMapping.mode": "name"},
    "widening": {"delta.enableTypeWidening": "true"},
    "parsed statistics": {"delta.checkpoint.writeStatsAsStruct": "true"},
    "second checkpoints": {"delta.checkpointPolicy": "v2"},
    "often checkpointed": {"delta.checkpointInterval": "2"},
    "few statistics": {"delta.dataSkippingNumIndexedCols": "1"},
}
"""Features that a table may have from the start or get later."""

COLUMNS = struct(field("id", "long"), field("part", "string"), field("n", "integer"))
STYLES = (Style(), Style(parts=2), Style("v2", "json", 2), Style("v2", "parquet"))
IDS = st.integers(0, 6)
PARTS = st.sampled_from(("a", "b c", "", None, "é%"))
NUMBERS = st.one_of(st.none(), st.integers(-3, 3))


def _equal(column: str, kind: str, value: Any) -> dict[str, Any]:
    return {"op": "=", "args": [{"column": [column]}, {"literal": value, "type": kind}]}


FILTERS = st.one_of(
    st.none(),
    IDS.map(lambda value: _equal("id", "long", str(value))),
    st.sampled_from(("a", "é%")).map(lambda value: _equal("part", "string", value)),
    IDS.map(lambda v: {**_equal("id", "long", str(v)), "op": ">="}),
)
ROWS = st.lists(st.tuples(IDS, PARTS, NUMBERS), min_size=1, max_size=4)
SAME_ID = {"op": "=", "args": [{"column": ["target", "id"]}, {"column": ["source", "id"]}]}
CLAUSES = (MergeClause("matched", "update"), MergeClause("not_matched", "insert"))


class WriterMachine(RuleBasedStateMachine):
    """The writer and the oracle, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.table = Table(self.folder / "table")
        self.history: list[Operation] = []
        self.places: dict[int, int] = {}
        self.properties: dict[str, str] = {}
        self.oldest = 0

    @property
    def location(self) -> str:
        return self.table.storage.location

    @property
    def schema(self) -> Struct:
        return replay(self.history).schema

    def rows(self, drawn: list[tuple[Any, ...]]) -> tuple[dict[str, Any], ...]:
        """Give rows in the columns that the table has now."""
        values = [dict(zip(("id", "part", "n"), row, strict=True)) for row in drawn]
        return tuple({name: row.get(name) for name in self.schema.names} for row in values)

    def arrow(self, rows: tuple[dict[str, Any], ...]) -> pa.Table:
        return arrow_table(self.schema, list(rows))

    def note(self, version: int, operation: Operation) -> None:
        """Let the oracle do what the writer did, and compare the version that came of it."""
        before = max(self.places, default=-1)
        if version == before:
            return  # nothing to do, and nothing committed
        assert version == before + 1
        self.history.append(operation)
        self.places[version] = len(replay(self.history).versions) - 1
        self.compare(version)
        self.compare_feed(version)

    def compare(self, version: int) -> None:
        wanted = replay(self.history).versions[self.places[version]]
        rows = arrow_table(wanted.schema, [row.values for row in wanted.rows])
        difference = compare_rows(rows, read_table(self.location, version=version))
        assert difference is None, f"version {version}: {difference}"
        snapshot = self.table.snapshot(version)
        assert {k: t.version for k, t in snapshot.txns.items()} == dict(wanted.transactions)
        domains = {
            k: d.configuration
            for k, d in snapshot.domain_metadata.items()
            if not k.startswith("delta.")
        }
        assert domains == dict(wanted.domains)

    def compare_feed(self, version: int) -> None:
        """Hold the changes of a version to those of the oracle; of a restore to their sum."""
        held = self.table.snapshot(version).metadata.configuration
        if held.get("delta.enableChangeDataFeed") != "true" or version == 0:
            return
        earlier = self.table.snapshot(version - 1).metadata.configuration
        last = self.history[-1]
        if earlier.get("delta.enableChangeDataFeed") != "true" or isinstance(last, Restore):
            return
        wanted = replay(self.history).versions[-1]
        changes = [(each.change_type, each.values) for each in wanted.changes]
        kinds = pa.array([kind for kind, _ in changes], pa.string())
        rows = arrow_table(wanted.schema, [values for _, values in changes])
        found = self.table.changes(version).drop_columns(["_commit_version", "_commit_timestamp"])
        difference = compare_rows(rows.append_column("_change_type", kinds), found)
        assert difference is None, f"changes of version {version}: {difference}"

    @initialize(
        features=st.sets(st.sampled_from(sorted(FEATURES)), max_size=6),
        partitioned=st.booleans(),
        rows=st.one_of(st.just([]), ROWS),
    )
    def create(self, features: set[str], partitioned: bool, rows: list[Any]) -> None:
        for name in sorted(features):
            self.properties |= FEATURES[name]
        values = tuple(dict(zip(("id", "part", "n"), row, strict=True)) for row in rows)
        listed = ("domainMetadata", "checkConstraints")
        columns = ("part",) if partitioned else ()
        version = self.table.create(
            COLUMNS.to_json(),
            partition_columns=columns,
            properties=self.properties,
            features=listed,
            rows=arrow_table(COLUMNS, list(values)) if values else None,
        )
        self.note(version, Create(COLUMNS, columns, self.properties, listed, values))

    # Rows.

    @rule(rows=ROWS)
    def append(self, rows: list[Any]) -> None:
        given = self.rows(rows)
        self.note(self.table.append(self.arrow(given)), Append(given))

    @rule(where=FILTERS)
    def delete(self, where: Any) -> None:
        self.note(self.table.delete(where), Delete(where))

    @rule(where=FILTERS, value=NUMBERS)
    def update(self, where: Any, value: Any) -> None:
        self.note(self.table.update({"n": value}, where), Update({"n": value}, where))

    @rule(where=FILTERS, value=PARTS)
    def move(self, where: Any, value: Any) -> None:
        self.note(self.table.update({"part": value}, where), Update({"part": value}, where))

    @rule(rows=ROWS)
    def overwrite(self, rows: list[Any]) -> None:
        given = self.rows(rows)
        self.note(self.table.overwrite(self.arrow(given)), Overwrite(given))

    @rule(number=IDS, rest=st.tuples(PARTS, NUMBERS))
    def overwrite_some(self, number: int, rest: tuple[Any, Any]) -> None:
        given, where = self.rows([(number, *rest)]), _equal("id", "long", str(number))
        self.note(self.table.overwrite(self.arrow(given), where), Overwrite(given, where))

    @rule(rows=st.lists(st.tuples(IDS, PARTS, NUMBERS), max_size=4, unique_by=lambda row: row[0]))
    def merge(self, rows: list[Any]) -> None:
        given = self.rows(rows)
        self.note(self.table.merge(self.arrow(given), ["id"]), Merge(given, SAME_ID, CLAUSES))

    # Shape and age.

    @rule(purge=st.booleans())
    def optimize(self, purge: bool) -> None:
        self.note(self.table.optimize(purge_only=purge), Keep())

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        usable = [version for version in self.places if version >= self.oldest]
        version = data.draw(st.sampled_from(usable))
        earlier = replay(self.history).versions[self.places[version]]
        if self._is_unmapped_since(earlier.properties):
            return
        self.note(self.table.restore(version), Restore(self.places[version]))

    def _is_unmapped_since(self, earlier: Any) -> bool:
        """Tell whether to restore would take the mapping away that files rely on."""
        name = "delta.columnMapping.mode"
        return name in replay(self.history).properties and name not in earlier

    @rule(style=st.sampled_from(STYLES))
    def checkpoint(self, style: Style) -> None:
        second = "v2Checkpoint" in (self.table.snapshot().protocol.writer_features or ())
        if second == (style.spec == "v2"):
            self.table.checkpoint(style)

    @rule(data=st.data())
    def compact_log(self, data: st.DataObject) -> None:
        latest = self.table.latest_version()
        if latest > 0:
            start = data.draw(st.integers(0, latest - 1))
            self.table.compact_log(start, data.draw(st.integers(start + 1, latest)))

    @rule()
    def vacuum(self) -> None:
        self.table.vacuum()

    @rule()
    def vacuum_at_once(self) -> None:
        self.table.vacuum(retention=0, unsafe=True)
        self.oldest = self.table.latest_version()

    @rule()
    def clean_log(self) -> None:
        self.table.clean_log()

    # Metadata.

    @rule(name=st.sampled_from(sorted(FEATURES)))
    def switch_on(self, name: str) -> None:
        wanted = FEATURES[name]
        self.note(self.table.set_properties(wanted), SetProperties(wanted))

    @rule(value=st.sampled_from(("x", "y", "")))
    def set_property(self, value: str) -> None:
        self.note(self.table.set_properties({"mine": value}), SetProperties({"mine": value}))

    @rule()
    def unset_property(self) -> None:
        self.note(self.table.unset_properties(["mine"]), UnsetProperties(("mine",)))

    @rule(application=st.sampled_from("pq"), number=st.integers(0, 9))
    def set_transaction(self, application: str, number: int) -> None:
        version = self.table.set_transaction(application, number)
        self.note(version, SetTransaction(application, number))

    @rule(domain=st.sampled_from(("one", "two")), text=st.sampled_from(("{}", "t", None)))
    def set_domain(self, domain: str, text: str | None) -> None:
        self.note(self.table.set_domain(domain, text), SetDomain(domain, text))

    @rule(name=st.sampled_from(("c", "d")), limit=st.integers(7, 9))
    def add_constraint(self, name: str, limit: int) -> None:
        if f"delta.constraints.{name}" not in self.table.snapshot().metadata.configuration:
            key, text = f"delta.constraints.{name}", f"id < {limit}"
            self.note(self.table.add_constraint(name, text), SetProperties({key: text}))

    @rule(name=st.sampled_from(("c", "d")))
    def drop_constraint(self, name: str) -> None:
        key = f"delta.constraints.{name}"
        if key in self.table.snapshot().metadata.configuration:
            self.note(self.table.drop_constraint(name), UnsetProperties((key,)))

    @rule(name=st.sampled_from(("x", "y", "z z")), kind=st.sampled_from(("string", "double")))
    def add_column(self, name: str, kind: str) -> None:
        mapped = "delta.columnMapping.mode" in replay(self.history).properties
        if name in self.schema.names or (" " in name and not mapped):
            return
        column = Field(name, type_of(kind))
        version = self.table.add_columns(Struct((column,)).to_json())
        self.note(version, AddColumn(column))

    def _loose(self) -> list[str]:
        return [name for name in self.schema.names if name not in ("id", "part", "n")]

    @precondition(lambda self: "delta.columnMapping.mode" in replay(self.history).properties)
    @rule(new=st.sampled_from(("x", "y", "w")), data=st.data())
    def rename_column(self, new: str, data: st.DataObject) -> None:
        loose = self._loose()
        if loose and new not in self.schema.names:
            old = data.draw(st.sampled_from(loose))
            self.note(self.table.rename_column(old, new), RenameColumn(old, new))

    @precondition(lambda self: "delta.columnMapping.mode" in replay(self.history).properties)
    @rule(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        loose = self._loose()
        if loose:
            name = data.draw(st.sampled_from(loose))
            self.note(self.table.drop_column(name), DropColumn(name))

    @rule(data=st.data())
    def reorder_columns(self, data: st.DataObject) -> None:
        names = data.draw(st.permutations(list(self.schema.names)))
        self.note(self.table.reorder_columns(names), ReorderColumns(tuple(names)))

    @precondition(lambda self: "delta.enableTypeWidening" in replay(self.history).properties)
    @rule()
    def widen(self) -> None:
        if self.schema["n"].type == type_of("integer"):
            self.note(self.table.change_type("n", "long"), WidenColumn("n", type_of("long")))

    def teardown(self) -> None:
        """Read every version again that is promised, and audit the whole."""
        try:
            if self.history:
                for version in self.places:
                    if version >= self.oldest:
                        self.compare(version)
                faults = [f for f in audit(self.location) if f.severity == "error"]
                assert faults == []
                assert len(self.places) == sum(map(commits, self.history))
        finally:
            shutil.rmtree(self.folder)
