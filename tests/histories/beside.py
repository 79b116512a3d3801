"""The writer and the oracle, side by side: every operation is done by both, or refused by both.

After each step the version that came of it is read and compared with the oracle's, with
transactions, domains, properties, schema, clustering, changes and row ids; and the audit finds
nothing in log and files.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
from hypothesis.stateful import RuleBasedStateMachine
from objections import broken_rule, iceberg_fault, is_on, removed_rows
from tally import Counted, Tally, in_use

from conformance.audit import audit
from conformance.judging.compare import compare_rows
from conformance.judging.recipes.traces import Traces
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import DataType, Field, Struct, from_json
from generators.oracle.model import Oracle
from generators.oracle.operations import Operation, Restore, Tree
from reference_impl import DeltaError, Table, read_table
from reference_impl.model.features import supported
from reference_impl.scan.scan import scan
from reference_impl.snapshot.snapshot import Snapshot

_DERIVED: Final = (
    "delta.columnMapping.maxColumnId",
    "delta.inCommitTimestampEnablement",
    "delta.rowTracking.materialized",
)
"""Properties that the writer sets by itself, by how they begin."""

_TOLD: Final = ("CURRENT_DEFAULT", "delta.generationExpression", "delta.invariants", "comment")
"""Metadata of columns that people have set."""

_GROWING: Final = "delta.appendOnly"


def _plain(value: Any) -> str:
    return repr(sorted(value.items()))


def _described(of: Struct) -> list[Any]:
    """Return what people see of a schema."""
    return [
        (
            each.name,
            _shape(each.type),
            each.nullable,
            {key: value for key, value in each.metadata.items() if key in _TOLD},
        )
        for each in of
    ]


def _shape(of: DataType) -> str:
    """Spell a type without the metadata of fields in it."""
    bare = Field("bare", of).to_json()["type"]

    def stripped(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: stripped(item) for key, item in node.items() if key != "metadata"}
        return [stripped(each) for each in node] if isinstance(node, list) else node

    return repr(stripped(bare))


class SideBySide(RuleBasedStateMachine):
    """What the rules share.

    Attributes:
        tally: what was reached by all machines of a run.
        oracle: the table as plain rows.
        rules: SQL of the table's rules to their trees.
        clusterings: the clustering columns of every version, by their paths now.
        marks: identity column to the furthest value that it ever had.
        now: the latest version, as it was read after the last change.
        oldest: the first version that is promised.
    """

    tally: ClassVar[Tally] = Tally()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.table: Any = Counted(Table(self.folder / "table"), self.tally)
        self.oracle = Oracle(Struct(()))
        self.rules: dict[str, Tree] = {}
        self.clustered: tuple[tuple[str, ...], ...] = ()
        self.clusterings: list[tuple[tuple[str, ...], ...]] = []
        self.marks: dict[str, int] = {}
        self.traces = Traces(self.folder / "table")
        self.now: Snapshot | None = None
        self.oldest = 0

    @property
    def location(self) -> str:
        return str(self.table.storage.location)

    @property
    def version(self) -> int:
        """The latest version, -1 before there is any."""
        return len(self.oracle.versions) - 1

    @property
    def schema(self) -> Struct:
        return self.oracle.schema

    def supported(self) -> frozenset[str]:
        """Return the features that the protocol supports."""
        return frozenset() if self.now is None else supported(self.now.protocol)

    def attempt(  # noqa: PLR0913  what is known ahead has this many sides
        self,
        call: Callable[[], int],
        work: Operation | Callable[[Oracle], None],
        *,
        objection: str | None = None,
        free: bool = False,
        new_rules: Iterable[str] = (),
        clustered: tuple[tuple[str, ...], ...] | None = None,
        feed: bool = True,
    ) -> bool:
        """Let the writer and the oracle do the same, and return whether it was done.

        Args:
            call: lets the writer do it, and gives the version.
            work: what it is to the oracle.
            objection: why it has to be refused, where that is known ahead.
            free: whether it may be refused all the same.
            new_rules: rules that rows that are there have to obey from now on.
            clustered: the clustering columns afterwards, if they change.
            feed: whether the changes are those of single rows.
        """
        trial = self.oracle.fork()
        grows = self.oracle.properties.get(_GROWING) == "true"
        if objection is None:
            try:
                if callable(work):
                    work(trial)
                else:
                    work.apply(trial)
                objection = self._objection(trial, frozenset(new_rules), grows=grows)
            except ValueError as error:
                objection = str(error)
        try:
            version = call()
        except DeltaError as error:
            refusal: DeltaError | None = error
        else:
            refusal = None
        if refusal is not None:
            assert objection or free, f"{work} is refused: {refusal!r}"
            assert self._latest() == self.version
            return False
        assert objection is None, f"{work} is carried out in spite of: {objection}"
        if version == self.version:
            assert _state(trial) == _state(self.oracle), f"{work} changes nothing"
            return False
        assert version == self.version + 1
        self._adopt(trial, version)
        trial.commit()
        self.oracle = trial
        self.clustered = self.clustered if clustered is None else clustered
        self.clusterings.append(self.clustered)
        former, self.now = self.now, Table(self.location).snapshot()
        self.compare(self.now)
        self._look(former, self.now, feed=feed and not isinstance(work, Restore))
        self.tally.update(f"feature {name}" for name in in_use(self.now))
        return True

    def _objection(self, trial: Oracle, new: frozenset[str], *, grows: bool) -> str | None:
        if grows and trial.properties.get(_GROWING) == "true" and removed_rows(trial):
            return "the table only grows"
        held = self.supported()
        if is_on(trial.properties, "deletionVectors"):
            held |= {"deletionVectors"}
        return broken_rule(trial, self.rules, new) or iceberg_fault(trial, held)

    def _latest(self) -> int:
        return int(self.table.latest_version()) if self.oracle.versions else -1

    def _adopt(self, trial: Oracle, version: int) -> None:
        """Take over the identity values that the writer was free to choose."""
        for each in trial.schema:
            if "delta.identity.start" not in each.metadata:
                continue
            start, step = (each.metadata[f"delta.identity.{key}"] for key in ("start", "step"))
            free = [row for row in trial.pending if row.values[each.name] is None]
            if free:
                self._adopt_column(trial, each.name, version, start, step)
            values = [r.values[each.name] for r in trial.pending if r.values[each.name] is not None]
            if values:
                furthest = max if step > 0 else min
                self.marks[each.name] = furthest(
                    [*values, *([self.marks[each.name]] if each.name in self.marks else [])]
                )

    def _adopt_column(self, trial: Oracle, name: str, version: int, start: int, step: int) -> None:
        found = read_table(self.location, version=version)
        pool: dict[str, list[int]] = {}
        for row in found.to_pylist():
            value = row.pop(name)
            pool.setdefault(_plain(row), []).append(value)
        keys = {}
        bare = Struct(tuple(Field(f.name, f.type) for f in trial.schema if f.name != name))
        rows = arrow_table(bare, [row.values for row in trial.pending]).to_pylist()
        for row, values in zip(trial.pending, rows, strict=True):
            keys[row.identity] = _plain(values)
            if row.values[name] is not None:
                pool.get(keys[row.identity], []).remove(row.values[name])
        fresh = []
        for row in trial.pending:
            if row.values[name] is None:
                value = pool[keys[row.identity]].pop()
                trial.fill(row.identity, {name: value})
                fresh.append(value)
        assert len(set(fresh)) == len(fresh), f"{name} has a value twice: {fresh}"
        mark = self.marks.get(name)
        for value in fresh:
            assert (value - start) % step == 0, f"{name} has {value}"
            assert (value - start) // step >= 0, f"{name} has {value}"
            assert mark is None or (value - mark) * step > 0, f"{name} has {value} after {mark}"

    def compare(self, snapshot: Snapshot) -> None:
        """Check a version against the oracle's."""
        version = snapshot.version
        wanted = self.oracle.versions[version]
        rows = arrow_table(wanted.schema, [row.values for row in wanted.rows])
        difference = compare_rows(rows, scan(snapshot))
        assert difference is None, f"version {version}: {difference}"
        assert {k: t.version for k, t in snapshot.txns.items()} == dict(wanted.transactions)
        domains = {
            k: d.configuration
            for k, d in snapshot.domain_metadata.items()
            if not k.startswith("delta.")
        }
        assert domains == dict(wanted.domains)
        properties = {
            key: value
            for key, value in snapshot.metadata.configuration.items()
            if not key.startswith(_DERIVED)
        }
        assert properties == dict(wanted.properties)
        assert tuple(snapshot.metadata.partition_columns) == wanted.partition_columns
        held = from_json(json.loads(snapshot.metadata.schema_string))
        assert _described(held) == _described(wanted.schema)
        assert _clustering(snapshot, held) == self.clusterings[version]

    def _look(self, former: Snapshot | None, now: Snapshot, *, feed: bool) -> None:
        """Compare changes and row ids of the latest version, and audit log and files."""
        assert now.version == self.version
        if feed:
            self._compare_feed()
        operation = "" if feed else "restore"
        fault = self.traces.after(former, now, self.oracle.versions[-1], operation)
        assert fault is None, fault
        self.audit()

    def audit(self) -> None:
        """Find nothing in log and files that a clause forbids."""
        faults = [each for each in audit(self.location) if each.severity == "error"]
        assert not faults, "\n".join(f"{f.requirement} {f.place}: {f.message}" for f in faults)

    def _compare_feed(self) -> None:
        version = self.version
        fed = [
            is_on(self.oracle.versions[at].properties, "changeDataFeed")
            for at in (version, max(version - 1, 0))
        ]
        if version == 0 or not all(fed) or version == self.traces.version:
            return
        wanted = self.oracle.versions[-1]
        changes = [(each.change_type, each.values) for each in wanted.changes]
        kinds = pa.array([kind for kind, _ in changes], pa.string())
        bare = Struct(tuple(Field(each.name, each.type) for each in wanted.schema))
        rows = arrow_table(bare, [values for _, values in changes])
        found = self.table.changes(version).drop_columns(["_commit_version", "_commit_timestamp"])
        difference = compare_rows(rows.append_column("_change_type", kinds), found)
        assert difference is None, f"changes of version {version}: {difference}"

    def teardown(self) -> None:
        """Read every version again that is promised."""
        try:
            for version in range(self.oldest, self.version + 1):
                self.compare(self.table.snapshot(version))
        finally:
            shutil.rmtree(self.folder)


def _state(oracle: Oracle) -> tuple[Any, ...]:
    return (
        sorted(_plain(row.values) for row in oracle.pending),
        _described(oracle.schema),
        oracle.properties,
        oracle.domains,
        oracle.transactions,
    )


def _clustering(snapshot: Snapshot, schema: Struct) -> tuple[tuple[str, ...], ...]:
    """Return the clustering columns of a version by their logical names."""
    held = snapshot.domain_metadata.get("delta.clustering")
    if held is None or held.removed:
        return ()
    columns = json.loads(held.configuration)["clusteringColumns"]
    return tuple(tuple(_logical(schema, path)) for path in columns)


def _logical(of: DataType, path: Iterable[str]) -> Iterable[str]:
    for name in path:
        assert isinstance(of, Struct)
        [found] = [each for each in of if each.physical_name == name]
        yield found.name
        of = found.type
