"""Which rows of a log are in force, as mappings from key or path to action.

Covers "Action Reconciliation". They look like dictionaries to a check, hold one number for each
file, and read an action again when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.columnar.keys import Body, Codes, FileIndex, Key
from conformance.audit.columnar.rows import Mask

_AT_ONCE: Final = 4096
"""Actions that are read again at a time."""

_ADDS: Final = ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion",
                "partitionValues", "stats")  # fmt: skip
_REMOVES: Final = ("deletionTimestamp", "baseRowId", "defaultRowCommitVersion",
                   "partitionValues", "size")  # fmt: skip


def resized(numbers: Codes, count: int) -> Codes:
    """Extend row numbers by code to more codes; the new ones have no row, -1."""
    if len(numbers) >= count:
        return numbers
    return np.concatenate([numbers, np.full(count - len(numbers), -1, np.int64)])


class Files(Mapping[Key, Body]):
    """Actions by key.

    Attributes:
        index: of the rows.
        rows: the number of the row of each code; -1 for none.
    """

    def __init__(self, index: FileIndex) -> None:
        """Begin with none."""
        self.index = index
        self.rows = np.full(index.keys, -1, np.int64)

    def row(self, key: Key) -> int:
        """Return the number of the row of a key; -1 for none."""
        code = self.index.code(key)
        return int(self.rows[code]) if 0 <= code < len(self.rows) else -1

    def __contains__(self, key: object) -> bool:
        """Return whether a key has an action."""
        return isinstance(key, tuple) and self.row(key) >= 0

    def __getitem__(self, key: Key) -> Body:
        """Read the action of a key."""
        row = self.row(key) if isinstance(key, tuple) else -1
        if row < 0:
            raise KeyError(key)
        return self.index.bodies(np.array([row], np.int64))[0]

    def __len__(self) -> int:
        """Count the keys."""
        return int((self.rows >= 0).sum())

    def codes(self) -> Codes:
        """Return the codes of the keys, in the order of their rows."""
        held = np.flatnonzero(self.rows >= 0)
        return held[np.argsort(self.rows[held], kind="stable")]

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, in the order of their rows."""
        codes = self.codes()
        for start in range(0, len(codes), _AT_ONCE):
            yield from self.index.key_list(codes[start : start + _AT_ONCE])

    def minus(self, other: Files) -> set[Key]:
        """Return the keys that another mapping of the same log does not have."""
        mine, theirs, index = _paired(self, other)
        return set(index.key_list(np.flatnonzero((mine >= 0) & (theirs < 0))))

    def shared(self, other: Files) -> set[Key]:
        """Return the keys that another mapping of the same log has as well."""
        mine, theirs, index = _paired(self, other)
        return set(index.key_list(np.flatnonzero((mine >= 0) & (theirs >= 0))))

    def has_keys_of(self, other: Files) -> bool:
        """Return whether another mapping of the same log has the same keys."""
        mine, theirs, _ = _paired(self, other)
        return bool(((mine >= 0) == (theirs >= 0)).all())

    def items(self) -> Any:
        """Yield keys and actions, some at a time."""
        return self.of(self.codes())

    def of(self, codes: Codes) -> Iterator[tuple[Key, Body]]:
        """Yield the key and the action of each code, which has to have one, in their order."""
        for start in range(0, len(codes), _AT_ONCE):
            some = codes[start : start + _AT_ONCE]
            yield from zip(
                self.index.key_list(some), self.index.bodies(self.rows[some]), strict=True
            )

    def actions_of(self, keys: Iterable[Key | None]) -> dict[Key, Body]:
        """Return the actions of those of some keys that have one."""
        rows = {key: row for key in keys if key is not None and (row := self.row(key)) >= 0}
        if not rows:
            return {}
        return dict(zip(rows, self.index.bodies(np.array([*rows.values()], np.int64)), strict=True))

    def wholes(self, name: str) -> Codes:
        """Return the whole numbers that actions have in a field; see :meth:`FileIndex.wholes`."""
        rows = self.rows[self.rows >= 0]
        return self.index.wholes(name, rows) if len(rows) else rows


def _paired(left: Files, right: Files) -> tuple[Codes, Codes, FileIndex]:
    """Return the rows of both by the codes of that one of their stores which knows more."""
    count = max(len(left.rows), len(right.rows))
    index = left.index if left.index.keys >= right.index.keys else right.index
    return resized(left.rows, count), resized(right.rows, count), index


def unlike(
    left: Files, right: Files, *, adds: bool, whole: bool = False
) -> Iterator[tuple[Key, Body, Body]]:
    """Yield the keys that both have, and whose actions may differ in a field that is compared.

    They come in the order of the keys, each with both actions.

    Args:
        left: of the log.
        right: of a summary, which may leave some fields out.
        adds: compare adds, else removes.
        whole: nothing may be left out.
    """
    mine, theirs, index = _paired(left, right)
    both = np.flatnonzero((mine >= 0) & (theirs >= 0))
    a, b = mine[both], theirs[both]
    if not len(both):
        return
    same = ~left.index.flags("irregular")[a] & ~right.index.flags("irregular")[b]
    if adds:
        same &= ~left.index.flags("rich")[a] & ~right.index.flags("rich")[b]
    for name in _ADDS if adds else _REMOVES:
        at = np.flatnonzero(same)
        if len(at):
            pair = left.index.column(name, a[at]), right.index.column(name, b[at])
            same[at] = _equal(*pair, left_out=0 if whole else _LEFT_OUT[adds].get(name, 0))
    keys = index.key_list(both[~same])
    order = np.array(sorted(range(len(keys)), key=lambda n: str(keys[n])), np.int64)
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        bodies = left.index.bodies(a[~same][some]), right.index.bodies(b[~same][some])
        yield from zip((keys[n] for n in some.tolist()), *bodies, strict=True)


_LEFT_OUT: Final[Mapping[bool, Mapping[str, int]]] = {
    True: {"stats": 1},
    False: {"partitionValues": 2, "size": 2},
}
"""Fields of adds, and of removes, that the summary alone may leave out, or either."""


def _equal(left: pa.Array, right: pa.Array, *, left_out: int) -> Mask:
    found = pc.or_(
        pc.fill_null(pc.equal(left, right), fill_value=False),
        pc.and_(left.is_null(), right.is_null()),
    )
    if left_out > 0:
        found = pc.or_(found, right.is_null())
    if left_out > 1:
        found = pc.or_(found, left.is_null())
    return np.asarray(found, np.bool_)


class Vectors:
    """The vectors that each path is live with."""

    def __init__(self, adds: Files) -> None:
        """Look at live files."""
        self._adds = adds

    def get(self, path: str, default: Any = None) -> Any:
        """Return the ids of the vectors of a path, ``None`` among them; ``default`` for none."""
        index, rows = self._adds.index, self._adds.rows
        live = [code for code in index.keys_of(path) if code < len(rows) and rows[code] >= 0]
        return {index.key(code)[1] for code in live} or default


class Seen:
    """The version that first named each path."""

    def __init__(self, index: FileIndex) -> None:
        """Begin with none."""
        self.index = index
        self.versions = np.full(index.paths, -1, np.int64)

    def get(self, path: str) -> int | None:
        """Return the version; ``None`` for a path that never was."""
        code = self.index.path_code(path)
        found = int(self.versions[code]) if 0 <= code < len(self.versions) else -1
        return found if found >= 0 else None

    def __contains__(self, path: object) -> bool:
        """Return whether a path ever was."""
        return isinstance(path, str) and self.get(path) is not None


class Ids:
    """The row ids that the last add of each path has, and those of an earlier one.

    A table that no longer supports row tracking may add its files again without ids.
    """

    def __init__(self, index: FileIndex) -> None:
        """Begin with none."""
        self.index = index
        # The row of the last add with ids; below -1 where an add without came after it.
        self.rows = np.full(index.paths, -1, np.int64)
        self._given = np.full(index.paths, -1, np.int64)

    def extend(self, index: FileIndex) -> None:
        """Extend to an index that has more rows."""
        self.index = index
        self.rows, self._given = resized(self.rows, index.paths), resized(self._given, index.paths)

    def note(self, version: int, bare: Codes, based: Codes, rows: Codes) -> None:
        """Take the adds of a version: paths without ids, and paths with some and their rows."""
        held = self.rows[bare]
        self.rows[bare] = np.where(held >= 0, -held - 2, held)
        self._given[based[self.rows[based] < 0]] = version
        self.rows[based] = rows

    def since(self, path: str) -> int:
        """Return the version from which on the adds of a path have ids; 0 where none has."""
        code = self.index.path_code(path)
        return max(int(self._given[code]), 0) if 0 <= code < len(self._given) else 0

    def get(self, path: str) -> tuple[Any, Any] | None:
        """Return the ids of a path's last add; ``None`` for none."""
        return self._of(self._row(path))

    def former(self, path: str) -> tuple[Any, Any] | None:
        """Return the ids of a path's last add that had some."""
        row = self._row(path)
        return self._of(row if row >= -1 else -row - 2)

    def _row(self, path: str) -> int:
        code = self.index.path_code(path)
        return int(self.rows[code]) if 0 <= code < len(self.rows) else -1

    def _of(self, row: int) -> tuple[Any, Any] | None:
        """Return ``baseRowId`` and ``defaultRowCommitVersion`` of a row."""
        if row < 0:
            return None
        body = self.index.bodies(np.array([row], np.int64))[0]
        return body.get("baseRowId"), body.get("defaultRowCommitVersion")
