"""What a step leaves beside rows: the change feed, row ids, and the log as it was before.

See the section "Write recipes" of ``docs/formats.md``. Where a table records changes, those
of a step are the oracle's; where it tracks rows, a row should keep its id for life, and its commit
version for as long as it is not changed; and no commit, and no checksum, is ever touched again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.grammar.log_files import LOG_DIR, name_of
from conformance.judging.compare import compare_rows, moved_rows
from conformance.judging.recipes.checks import Fault
from conformance.judging.recipes.files import read_commits
from generators.file_digests import digests
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Field, Struct, type_of
from generators.oracle.model import TrackedRow, Version
from reference_impl import DeltaError, Snapshot, Table
from reference_impl.model.features import active
from reference_impl.scan.scan import scan

_ID, _COMMIT_VERSION = "_row_id", "_row_commit_version"
_KIND: Final = "_change_type"
_PLAIN_KINDS: Final[Mapping[str, str]] = {"update_preimage": "delete", "update_postimage": "insert"}
"""An update may be reported as the loss of one row and the gain of another."""

MATERIALISED: Final[Mapping[str, str]] = {"RT-049": "RT-050", "RT-051": "RT-052"}
"""Requirement by which ids, or commit versions, should be kept to the requirement of what keeps
them in files."""

_UNTOUCHED: Final = {"commit": "WNEW-001", "checksum": "CRC-039"}
"""Kinds of log files that are never rewritten, and what a rewrite breaks."""


def _untouched(name: str) -> str | None:
    """Return what is broken where a file of the log is written again; ``None`` where nothing is."""
    if name.startswith("_sidecars/") and name.endswith(".parquet"):
        return "SIDE-002"
    file = name_of(name)
    return None if file is None else _UNTOUCHED.get(file.kind)


def wrong_data_change(
    table: Path, versions: range, rows: tuple[pa.Table, pa.Table]
) -> Fault | None:
    """Find rows that are new, or gone, while no file action says that data changed.

    Args:
        table: the table root.
        versions: what a step committed.
        rows: the rows before the step, and after it.
    """
    before, after = rows
    if before.schema != after.schema or len(commits := read_commits(table, versions)) < len(
        versions
    ):
        return None  # rows of other columns are not comparable; a catalog has other commits
    gone, new = moved_rows(before, after)
    for kind, count, requirement in (("remove", gone, "REM-005"), ("add", new, "ADD-009")):
        bodies = [line.body for lines in commits for line in lines.of(kind)]
        if count and bodies and all(body.get("dataChange") is False for body in bodies):
            what = "gone" if kind == "remove" else "new"
            return requirement, f"{count} rows are {what}, and every {kind} has dataChange false"
    return None


@dataclass(slots=True)
class Traces:
    """What is known of a table from the steps so far.

    Attributes:
        table: the table root.
        version: the latest version.
        number: the oracle's latest version.
        digests: log file to the digest of its content, and what is broken where it changes.
        rows: identity of a row to its id and commit version.
    """

    table: Path
    version: int = -1
    number: int = -1
    digests: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)

    def after(
        self, former: Snapshot | None, now: Snapshot, oracle: Version | None, operation: str
    ) -> Fault | None:
        """Look at the table after a step, and return what is wrong.

        Args:
            former: the version before the step; ``None`` where there was none.
            now: the version after it.
            oracle: what the step did; ``None`` where the oracle does not know.
            operation: the step's name.
        """
        fault = self._log()
        before, self.version = self.version, now.version
        if oracle is None:
            return fault
        own, self.number = oracle.number != self.number, oracle.number
        if not own:
            # Who logs a vacuum commits a version that changes no row.
            oracle = replace(oracle, number=oracle.number + 1, changes=())
        if before == now.version:
            return fault
        try:
            restored = operation == "restore"
            # Rows of another schema would have to be given in the present one.
            if (
                fault is None
                and former is not None
                and 0 <= before < now.version
                and (not restored or former.schema == now.schema)
            ):
                fault = self._feed(former, now, oracle, restored=restored)
            return fault or self._ids(before, now, oracle, restored=restored)
        except DeltaError as error:
            return error.requirement, f"changes or row ids cannot be read: {error}"

    def _log(self) -> Fault | None:
        """Compare what there still is of commits, checksums and sidecars with what it was."""
        found = {
            name: (digest, requirement)
            for name, digest in digests(self.table / LOG_DIR).items()
            if (requirement := _untouched(name)) is not None
        }
        held, self.digests = self.digests, found
        for name, (digest, requirement) in held.items():
            if name in found and found[name][0] != digest:
                return requirement, f"{name} was written again"
        return None

    def _feed(
        self, former: Snapshot, now: Snapshot, oracle: Version, *, restored: bool
    ) -> Fault | None:
        for snapshot in (former, now):
            if not active(snapshot.protocol, snapshot.metadata, "changeDataFeed"):
                return None
        seen = (
            Table(self.table)
            .changes(former.version + 1, now.version)
            .drop_columns(["_commit_version", "_commit_timestamp"])
        )
        given, kinds = (
            seen,
            [_PLAIN_KINDS.get(kind, kind) for kind in seen.column(_KIND).to_pylist()],
        )
        seen = seen.drop_columns([_KIND]).append_column(_KIND, pa.array(kinds, pa.string()))
        schema = oracle.schema.with_fields(Field(_KIND, type_of("string")))
        wanted = [
            {**change.values, _KIND: _PLAIN_KINDS.get(change.change_type, change.change_type)}
            for change in oracle.changes
        ]
        rows = arrow_table(_nullable(schema), wanted)
        if idle := _idle_updates(oracle, rows):
            rows, seen = (_without(idle, each) for each in (rows, seen))
        if restored:
            rows, seen = _net(rows), _net(seen)
        found = compare_rows(rows, seen)
        if found is None:
            if _has_updates(oracle) and not self._names_changes(former.version + 1, now.version):
                return "CDC-012", "the change feed: rows are updated, and no cdc action says so"
            return _misnamed(oracle, given, schema)
        lost, copied = moved_rows(rows, seen) if found.reason == "rows" else (1, 0)
        copies = copied and not lost and self._names_changes(former.version + 1, now.version)
        broken = "CDC-001" if copies else "CDC-012"
        return broken, f"the change feed: {found.summary}"

    def _names_changes(self, first: int, last: int) -> bool:
        """Return whether the versions name change data files."""
        commits = read_commits(self.table, range(first, last + 1))
        return any(True for commit in commits for _ in commit.of("cdc"))

    def _ids(self, before: int, now: Snapshot, oracle: Version, *, restored: bool) -> Fault | None:
        if not active(now.protocol, now.metadata, "rowTracking"):
            self.rows = {}
            return None
        seen = scan(now, row_ids=True).to_pylist()
        if any(None in (row[_ID], row[_COMMIT_VERSION]) for row in seen):
            self.rows = {}
            return None  # a file without them is for the audit to report
        known = {_key(row): (row[_ID], row[_COMMIT_VERSION]) for row in seen}
        values = [row.values for row in oracle.rows]
        keys = [_key(row) for row in arrow_table(_nullable(oracle.schema), values).to_pylist()]
        if len(set(keys)) < len(keys):
            return None  # rows that are alike cannot be distinguished
        held, self.rows = self.rows, {}
        advice: Fault | None = None
        for row, key in zip(oracle.rows, keys, strict=True):
            number, changed = known[key]
            self.rows[row.identity] = (number, changed)
            # A restore brings the commit versions of then, too.
            former = held.get(row.identity)
            if restored and former is not None:
                former = former[0], changed
            fault = self._kept(row, former, before, now.version, oracle.number)
            if fault is not None:
                requirement, message = fault
                if requirement not in MATERIALISED:
                    return requirement, f"row {key} {message}"
                advice = advice or (requirement, f"row {key} {message}")
        if len({number for number, _ in self.rows.values()}) < len(self.rows):
            return "RT-029", "two rows have the same id"
        return advice

    def _kept(
        self,
        row: TrackedRow,
        former: tuple[int, int] | None,
        before: int,
        version: int,
        number: int,
    ) -> Fault | None:
        """Compare the id and the commit version of a row with those that it had."""
        if former is None:
            return None
        held, since = former
        now, changed = self.rows[row.identity]
        if row.changed == number and not before < changed <= version:
            return "RT-047", f"changed, and its commit version is {changed}"
        if now != held:
            return "RT-049", f"had id {held} and has {now}"
        if row.changed < number and changed != since:
            return "RT-051", "did not change, and its commit version did"
        return None


def _has_updates(oracle: Version) -> bool:
    """Return whether a version updates rows, to other values than they had."""
    before, after = (
        Counter(_key(each.values) for each in oracle.changes if each.change_type == kind)
        for kind in _PLAIN_KINDS
    )
    return before != after


def _idle_updates(oracle: Version, changes: pa.Table) -> Counter[str]:
    """Return the rows that a version updates to what they were: a feed may leave them out.

    Args:
        oracle: what the step did.
        changes: its changes as rows, in their order.
    """
    keys = [_key({**row, _KIND: None}) for row in changes.to_pylist()]
    kinds = [each.change_type for each in oracle.changes]
    before, after = (
        Counter(key for key, held in zip(keys, kinds, strict=True) if held == kind)
        for kind in _PLAIN_KINDS
    )
    return before & after


def _without(idle: Mapping[str, int], changes: pa.Table) -> pa.Table:
    """Leave out pairs of a row that goes and comes again, as many as there are updates of it."""
    places: dict[str, dict[str, list[int]]] = {}
    for place, row in enumerate(changes.to_pylist()):
        kind, key = str(row[_KIND]), _key({**row, _KIND: None})
        if key in idle:
            places.setdefault(key, {}).setdefault(kind, []).append(place)
    gone = set()
    for key, held in places.items():
        pairs = min(idle[key], *(len(held.get(kind, ())) for kind in _PLAIN_KINDS.values()))
        gone |= {place for kind in _PLAIN_KINDS.values() for place in held.get(kind, ())[:pairs]}
    left = [place for place in range(changes.num_rows) if place not in gone]
    return changes.take(pa.array(left, pa.int64()))


def _misnamed(oracle: Version, actual: pa.Table, schema: Struct) -> Fault | None:
    """Find rows that are called updated, and were inserted or deleted."""
    for kind in _PLAIN_KINDS:
        wanted = [
            {**each.values, _KIND: kind} for each in oracle.changes if each.change_type == kind
        ]
        seen = actual.filter(pc.equal(actual.column(_KIND), kind))
        rows = arrow_table(_nullable(schema), wanted).select(seen.column_names)
        _, others = moved_rows(rows, seen)
        if others:
            return "CDC-012", f"the change feed: {others} rows are called {kind}, and were not"
    return None


def _net(changes: pa.Table) -> pa.Table:
    """Leave out rows that go and come again: restoring moves files, whole as they are."""
    left: dict[str, list[tuple[str, int]]] = {}
    for place, row in enumerate(changes.to_pylist()):
        kind = row.pop(_KIND)
        held = left.setdefault(_key(row), [])
        if held and held[-1][0] != kind:
            held.pop()
        else:
            held.append((kind, place))
    places = sorted(place for held in left.values() for _, place in held)
    return changes.take(pa.array(places, pa.int64()))


def _nullable(schema: Struct) -> Struct:
    return Struct(tuple(Field(each.name, each.type) for each in schema))


def _key(row: Mapping[str, Any]) -> str:
    """Spell a row without its ids, columns in the order of their names."""
    return repr(sorted((n, v) for n, v in row.items() if n not in (_ID, _COMMIT_VERSION)))
