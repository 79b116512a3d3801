"""Materialised row ids and commit versions (sections Row IDs and Row Commit Versions)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.checks.row_tracking import row_id_mark
from conformance.audit.findings import Finding, Findings, check, finding
from conformance.audit.grammar.roaring import Rows
from conformance.audit.read.state import row_count
from conformance.audit.stored.change_rows import ROW_IDS, ROW_VERSIONS
from conformance.audit.stored.changes import ChangeView
from conformance.audit.stored.data_file import DataFile, read_columns
from conformance.audit.subjects import VersionView
from reference_impl.errors import DeltaError
from reference_impl.parquet.opening import open_parquet

_COLUMNS: Final = ((ROW_IDS, "RT-050", "row ids"), (ROW_VERSIONS, "RT-052", "commit versions"))
_MAX_IDS: Final = 1 << 24
"""Materialised ids that are held at once to look for duplicates."""

_FARTHEST: Final = 1 << 62
"""An id beyond those of any table; sums with it still fit 64 bits."""

_Ids = npt.NDArray[np.int64]


@dataclass(slots=True)
class RowIds:
    """The ids of all rows of a version, taken file by file.

    Attributes:
        view: the version.
        held: path, with the ids and the positions of rows whose ids are materialised.
        fresh: first id, number of rows, path and deleted rows of each file.
        count: how many ids are held.
        uncounted: paths of files whose statistics do not say how many rows they have.
    """

    view: VersionView
    held: list[tuple[str, _Ids, _Ids]] = field(default_factory=list)
    fresh: list[tuple[int, int, str, Rows | None]] = field(default_factory=list)
    count: int = 0
    uncounted: set[str] = field(default_factory=set)

    @property
    def supported(self) -> bool:
        """Whether the table has row ids at all."""
        return "rowTracking" in self.view.layout.features

    def add(self, opened: DataFile) -> Iterator[Finding]:
        """Take a data file in."""
        path, deleted = opened.path, opened.deleted
        if not self.supported:
            return
        base = self._note_fresh(opened)
        for name, requirement, what in _COLUMNS:
            column = self.view.layout.properties.get(name)
            if column is None or opened.schema.names.count(column) != 1:
                continue
            stored = opened.schema.field(column).type
            if not pa.types.is_int64(stored):
                message = f"the {what} in column {column} are {stored} and not long"
                yield finding(requirement, path, message)
                continue
            values = opened.read(column)
            kept = deleted.kept(len(values)) if deleted else None
            valid = values.is_valid() if kept is None else pc.and_(values.is_valid(), kept)
            numbers = values.filter(valid).to_numpy().astype(np.int64)
            if name == ROW_IDS:
                yield from self._in_range(path, numbers, row_id_mark(self.view.state.live_domains))
                positions = np.flatnonzero(valid.to_numpy())
                if type(base) is int and (numbers - positions == base).any():
                    yield self._needless(requirement, path, "a row id")
                self._hold(path, numbers, positions)
            elif (
                numbers.size and not 0 <= numbers.min() <= numbers.max() <= self.view.state.version
            ):
                message = (
                    f"commit versions from {numbers.min()} to {numbers.max()} are materialised "
                    f"in a table of version {self.view.state.version}"
                )
                yield finding(requirement, path, message)
            elif (numbers == opened.body.get("defaultRowCommitVersion")).any():
                yield self._needless(requirement, path, "a commit version")

    def _note_fresh(self, opened: DataFile) -> Any:
        """Keep the fresh ids of a file, and return its first."""
        base, count = opened.body.get("baseRowId"), opened.file.metadata.num_rows
        if type(base) is int and 0 <= base < _FARTHEST and count:
            self.fresh.append((base, count, opened.path, opened.deleted))
            if row_count(opened.body) != count:
                self.uncounted.add(opened.path)
        return base

    @staticmethod
    def _needless(requirement: str, path: str, what: str) -> Finding:
        message = f"{what} is materialised that is the fresh one of its row"
        # No reader sees a difference.
        return finding(requirement, path, message, "write null there", severity="warning")

    @staticmethod
    def _in_range(path: str, ids: _Ids, mark: int | None) -> Iterator[Finding]:
        if ids.size and ids.min() < 0:
            yield finding("RT-050", path, f"the row id {ids.min()} is materialised")
        if ids.size and mark is not None and ids.max() > mark:
            message = f"the row id {ids.max()} is materialised, above the high-water mark {mark}"
            yield finding("RT-050", path, message, "no row was ever given it")

    def _hold(self, path: str, ids: _Ids, positions: _Ids) -> None:
        if self.count + ids.size <= _MAX_IDS:
            self.held.append((path, ids, positions))
            self.count += ids.size

    def duplicates(self) -> Iterator[Finding]:
        """Yield findings about ids that two rows have."""
        self.fresh.sort(key=lambda each: each[0])
        if self.uncounted:
            yield from self._beyond_what_is_stated()
        if not self.held or not self.count:
            return
        ids = np.concatenate([each for _, each, _ in self.held])
        unique, counts = np.unique(ids, return_counts=True)
        for number in unique[counts > 1][:1].tolist():
            path = next(path for path, each, _ in self.held if (each == number).any())
            yield finding("RT-048", path, f"the row id {number} is materialised in two rows")
        bases = np.array([base for base, *_ in self.fresh], np.int64)
        for path, each, positions in self.held:
            yield from self._fresh_duplicates(path, each, positions, bases)

    def _beyond_what_is_stated(self) -> Iterator[Finding]:
        """Yield findings about the fresh ids of files whose statistics do not count their rows."""
        mark, last, before = row_id_mark(self.view.state.live_domains), -1, ""
        for base, count, path, _ in self.fresh:
            end = base + count - 1
            uncounted = path in self.uncounted or before in self.uncounted
            if base <= last and path != before and uncounted:
                message = f"row ids overlap with those of {before}: {base} occurs twice"
                yield finding("RT-029", path, message)
            if mark is not None and end > mark and path in self.uncounted:
                message = f"the rows have ids up to {end}, above the high-water mark {mark}"
                yield finding("RT-037", path, message)
            if end > last:
                last, before = end, path

    def _fresh_duplicates(
        self, path: str, ids: _Ids, positions: _Ids, bases: _Ids
    ) -> Iterator[Finding]:
        """Compare materialised ids with the fresh ones of other rows that are live."""
        at = np.searchsorted(bases, ids, "right") - 1
        for index in np.unique(at[at >= 0]).tolist():
            base, count, other, deleted = self.fresh[index]
            inside = (at == index) & (ids < base + count)
            if other == path:
                inside &= ids - base != positions
            taken = ids[inside] - base
            if deleted is not None:
                taken = taken[~deleted.holds(taken)]
            if taken.size:
                number = base + int(taken[0])
                message = f"the materialised row id {number} is the fresh one of a row in {other}"
                yield finding("RT-048", path, message)
                return


@check("change", "RT-004")
def row_ids_without_row_tracking(view: ChangeView) -> Findings:
    """Report ids or commit versions in files of a table that does not have row tracking enabled."""
    step, layout = view.step, view.step.new
    named = {layout.properties[key] for key, _, _ in _COLUMNS if key in layout.properties}
    supported = "rowTracking" in layout.features and step.before.known
    if not (supported and named) or layout.is_true("delta.enableRowTracking"):
        return
    for line in step.of("add"):
        key = line.key
        if key is None or key[0] in step.before.seen:
            continue
        with suppress(DeltaError, OSError, ValueError, pa.ArrowException):  # others report these
            with view.storage.open_input(key[0]) as source:
                file = open_parquet(source)
                names = sorted(named & set(file.schema_arrow.names))
                rows = read_columns(file, source, names) if names else pa.table({})
            for name in names:
                if rows.column(name).null_count < rows.num_rows:
                    message = f"row tracking is not enabled, and {key[0]} has a column {name}"
                    yield finding("RT-004", line.place, message)
