"""Action reconciliation: which file actions of a checkpoint and later commits are in force.

Implements "Action Reconciliation" and "Add File and Remove File". Everything happens on Arrow
columns. Only paths that a commit after the checkpoint touches are looked up in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import DuplicateAction
from reference_impl.log.checkpoints.reader import FileBatches
from reference_impl.log.commits import Commit
from reference_impl.log.file_columns import from_lines
from reference_impl.model.file_actions import FILE_ACTIONS
from reference_impl.model.wire import LogPlace
from reference_impl.snapshot.paths import Paths, PathSet, logical_keys
from reference_impl.storage.threads import in_order

_KINDS: Final = ("add", "remove")

_Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CommittedFiles:
    """File actions of commits in ascending order, not yet reconciled.

    Attributes:
        tables: action to table, in the columns of :data:`FILE_ACTIONS`.
        orders: action to position of each row's commit, from 0.
        places: the commits by position.
        compacted: positions of compactions, which hold the reconciled actions of many commits.
    """

    tables: dict[str, pa.Table]
    orders: dict[str, pa.Array]
    places: tuple[LogPlace, ...]
    compacted: frozenset[int]

    @classmethod
    def of(cls, commits: Sequence[Commit]) -> CommittedFiles:
        """Parse adds and removes of commits and compactions.

        Raises:
            InvalidAction: an action lacks a required field or has a field of a wrong type.
        """
        places = tuple(commit.place for commit in commits)
        counts = {kind: [len(commit.lines[kind]) for commit in commits] for kind in _KINDS}
        return cls(
            {
                kind: from_lines(kind, [(commit.place, commit.lines[kind]) for commit in commits])
                for kind in _KINDS
            },
            {kind: pa.array(np.repeat(np.arange(len(places)), counts[kind])) for kind in _KINDS},
            places,
            frozenset(order for order, commit in enumerate(commits) if commit.compacted),
        )

    @classmethod
    def joined(cls, parts: Iterable[CommittedFiles]) -> CommittedFiles:
        """Put the file actions of consecutive commits one after the other."""
        tables = {kind: [FILE_ACTIONS[kind].none] for kind in _KINDS}
        orders = {kind: [pa.array([], pa.int64())] for kind in _KINDS}
        places: list[LogPlace] = []
        compacted: set[int] = set()
        for part in parts:
            for kind in _KINDS:
                tables[kind].append(part.tables[kind])
                orders[kind].append(pc.add(part.orders[kind], len(places)))
            compacted.update(len(places) + order for order in part.compacted)
            places += part.places
        return cls(
            {kind: pa.concat_tables(tables[kind]) for kind in _KINDS},
            {kind: pa.concat_arrays(orders[kind]) for kind in _KINDS},
            tuple(places),
            frozenset(compacted),
        )


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The reconciled file actions.

    Attributes:
        adds: live logical files, unique by data file.
        removes: tombstones, unique by logical file, and none of them live.
    """

    adds: pa.Table
    removes: pa.Table


def reconcile(
    adds: Iterable[FileBatches],
    removes: Iterable[FileBatches],
    committed: CommittedFiles,
    threads: int,
) -> Reconciled:
    """Apply committed file actions to those of a checkpoint.

    Args:
        adds: the checkpoint's adds; none without checkpoint.
        removes: the checkpoint's tombstones.
        committed: what was committed after it.
        threads: how many of them work on the checkpoint.

    Raises:
        DuplicateAction: a commit, the checkpoint or the result has contradicting actions.
    """
    # Obeys FA-003 REC-018 REC-020 REC-009 REC-010 CKC-027.
    newest = _Newest.of(committed)
    live = _Survivors.of(newest, "add", adds, threads)
    dead = _Survivors.of(newest, "remove", removes, threads)
    _check_unique(live, dead)
    return Reconciled(live.table, dead.table)


def _combine(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _both(columns: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
    """Put the columns of adds and removes one after the other, without a copy."""
    chunks = [chunk for kind in _KINDS for chunk in columns[kind].chunks]
    return pa.chunked_array(chunks, columns["add"].type)


def _logical_keys(paths: pa.ChunkedArray | pa.Array, vectors: pa.ChunkedArray) -> pa.Array:
    return logical_keys(_combine(paths), _combine(vectors))


@dataclass(frozen=True)
class _Newest:
    """The newest reference to each logical file among commits.

    Attributes:
        tables: action to table.
        paths: action to the decoded paths of the table.
    """

    tables: dict[str, pa.Table]
    paths: dict[str, Paths]

    @cached_property
    def touched(self) -> _Touched:
        """The logical files, to look up those of a checkpoint."""
        vectors = {kind: self.tables[kind]["deletionVector"] for kind in _KINDS}
        paths = Paths.joined([self.paths[kind] for kind in _KINDS])
        return _Touched(PathSet(paths), _logical_keys(paths.texts, _both(vectors)))

    @classmethod
    def of(cls, committed: CommittedFiles) -> _Newest:
        tables = committed.tables
        paths = {kind: Paths.of(tables[kind]["path"].chunks) for kind in _KINDS}
        both = Paths.joined([paths[kind] for kind in _KINDS])
        repeated = both.repeated()
        if not repeated.any():
            return cls(tables, paths)
        rows = _newest_rows(committed, both, repeated)
        split = tables["add"].num_rows
        live = {
            "add": rows.filter(pc.less(rows, split)),
            "remove": pc.subtract(rows.filter(pc.greater_equal(rows, split)), split),
        }
        return cls(
            {kind: tables[kind].take(live[kind]) for kind in _KINDS},
            {kind: paths[kind].take(live[kind]) for kind in _KINDS},
        )


def _newest_rows(
    committed: CommittedFiles, paths: Paths, repeated: npt.NDArray[np.bool_]
) -> pa.Array:
    """Return the rows, adds before removes, that are the newest of their logical file.

    Only rows whose path occurs again, a mask, are compared.
    """
    rows = np.flatnonzero(repeated)
    some = pa.array(rows)
    texts = _combine(paths.texts.take(some))
    vectors = _both({kind: committed.tables[kind]["deletionVector"] for kind in _KINDS})
    codes = _codes(_logical_keys(texts, vectors.take(some)))
    orders = pa.concat_arrays([committed.orders[kind] for kind in _KINDS]).to_numpy()[rows]
    kinds = rows >= committed.tables["add"].num_rows
    _check_commits(committed, texts, codes, orders, kinds)
    # The last assignment to an index wins: that of the newest commit. The two runs are in order.
    ascending = np.argsort(orders, kind="stable")
    newest = np.empty(codes.max() + 1, np.int64)
    newest[codes[ascending]] = ascending
    best = rows[newest]
    return pa.array(np.sort(np.concatenate([np.flatnonzero(~repeated), best])))


def _codes(texts: pa.Array) -> _Numbers:
    """Return a number from 0 for each text, the same for equal ones."""
    found: _Numbers = texts.dictionary_encode().indices.to_numpy()
    return found


@dataclass(frozen=True, slots=True)
class _Touched:
    """The logical files that commits refer to, as sets."""

    paths: PathSet
    keys: pa.Array

    def survivors(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Paths]:
        """Return the actions that no commit overrides, and their decoded paths."""
        paths = Paths.of([batch["path"]])
        rows = self.paths.rows(paths)
        if len(rows) == 0:
            return batch, paths
        keys = logical_keys(_combine(paths.texts.take(rows)), batch["deletionVector"].take(rows))
        gone = rows.filter(pc.is_in(keys, value_set=self.keys))
        kept = pc.invert(pc.is_in(pa.arange(0, batch.num_rows), value_set=gone))
        return batch.filter(kept), paths.filter(kept)


@dataclass(frozen=True, slots=True)
class _Survivors:
    """The reconciled actions of one kind.

    Attributes:
        table: the actions.
        paths: their decoded paths.
    """

    table: pa.Table
    paths: Paths

    @classmethod
    def of(
        cls, newest: _Newest, kind: str, portions: Iterable[FileBatches], threads: int
    ) -> _Survivors:
        committed = newest.tables[kind]
        given = list(portions)
        if not given:
            return cls(committed, newest.paths[kind])
        touched = newest.touched

        def survive(batch: Callable[[], pa.RecordBatch]) -> tuple[pa.RecordBatch, Paths]:
            return touched.survivors(batch())

        # Several files are read on as many threads; the batches of one are read on this one,
        # and the rest is done on others.
        if len(given) == 1:
            found = list(in_order(survive, given[0], threads))
        else:
            files = in_order(lambda portion: list(map(survive, portion)), given, threads)
            found = [batch for file in files for batch in file]
        return cls(
            pa.concat_tables(
                [pa.Table.from_batches([batch for batch, _ in found], committed.schema), committed]
            ),
            Paths.joined([*(paths for _, paths in found), newest.paths[kind]]),
        )

    def keys(self) -> pa.Array:
        return _logical_keys(self.paths.texts, self.table["deletionVector"])


def _check_commits(
    committed: CommittedFiles,
    paths: pa.Array,
    keys: _Numbers,
    orders: _Numbers,
    kinds: npt.NDArray[np.bool_],
) -> None:
    """Refuse contradicting actions of one commit."""
    # Obeys FA-011.
    per_path = (orders * 2 + kinds) * len(paths) + _codes(paths)
    per_key = orders * len(paths) + keys
    every = np.arange(len(paths))
    # A compaction may well hold one path under several deletion vectors.
    plain = every[~np.isin(orders, list(committed.compacted))]
    for numbers, rows, message, requirement in (
        (per_path[plain], plain, "two {} actions of one path", "FA-012"),
        (per_key, every, "two file actions of one logical file", "WLOG-001"),
    ):
        ordered = np.sort(numbers)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(repeated) == 0:
            continue
        row = rows[np.flatnonzero(np.isin(numbers, repeated))[0]]
        place, kind = committed.places[orders[row]], _KINDS[int(kinds[row])]
        found = f"a commit has {message.format(kind)}: {paths[int(row)]}"
        raise place.error(DuplicateAction, found, action=kind, requirement=requirement)


def _check_unique(live: _Survivors, dead: _Survivors) -> None:
    """Refuse duplicates in a checkpoint, and a data file that is live twice.

    Actions of files that later commits touch are gone already, and harmless.
    """
    if not live.paths.all_distinct():
        path = _repeated(live.paths.texts)
        same = _repeated(live.keys()) is not None
        raise DuplicateAction(
            f"one {'logical' if same else 'data'} file is live twice: {path}",
            action="add",
            requirement="REC-006" if same else "REC-021",
        )
    if dead.table.num_rows == 0:
        return
    tombstones = dead.keys()
    if not dead.paths.all_distinct() and _repeated(tombstones) is not None:
        raise DuplicateAction(
            "one logical file has two tombstones", action="remove", requirement="REC-007"
        )
    rows = PathSet(dead.paths).rows(live.paths)
    vectors = live.table["deletionVector"].take(rows)
    keys = _logical_keys(live.paths.texts.take(rows), vectors)
    if pc.any(pc.is_in(keys, value_set=tombstones)).as_py():
        raise DuplicateAction(
            "one logical file is both live and removed", action="add", requirement="REC-008"
        )


def _repeated(texts: pa.Array | pa.ChunkedArray) -> str | None:
    """Return the first string that occurs twice; ``None`` where none does."""
    counts = pc.value_counts(texts)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    return str(repeated[0]) if len(repeated) else None
