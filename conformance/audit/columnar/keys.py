"""Logical files by number: a code for every key, and for every path.

Covers "Action Reconciliation". Codes turn replay into work on numbers, whatever the paths are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.columnar.rows import VECTOR, Mask, Rows, key_text, text_key
from conformance.audit.grammar.types import LONG_END
from conformance.audit.grammar.uris import lenient_path

Body: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str | None]
"""A logical file: decoded path and the unique id of its deletion vector."""

Codes = npt.NDArray[np.int64]

CARDINALITY: Final = "deletionVector.cardinality"
"""Rows that the vector of an add deletes: 0 for a vector that does not say."""

_MAX_CACHED_TEXTS: Final = 200_000
"""Texts whose codes are kept at hand."""

_SCANS: Final = 32
"""Texts that are looked up by a scan of all before they are put in order."""


def dv_id(body: Mapping[str, Any]) -> str | None:
    """Return the unique id of a file action's deletion vector ("Derived Fields")."""
    return vector_id(body.get("deletionVector"))


def vector_id(descriptor: Any) -> str | None:
    """Derive the unique id of a deletion vector ("Derived Fields"); ``None`` for no object."""
    if not isinstance(descriptor, dict):
        return None
    name = f"{descriptor.get('storageType')}{descriptor.get('pathOrInlineDv')}"
    offset = descriptor.get("offset")
    return name if offset is None else f"{name}@{offset}"


def file_key(body: Mapping[str, Any]) -> Key | None:
    """Return the key of a file action; ``None`` when it has no path."""
    path = body.get("path")
    if not isinstance(path, str) or not path:
        return None
    vector = dv_id(body)
    # JSON can hold half of a surrogate pair, which no column of texts holds.
    written = vector and vector.encode(errors="backslashreplace").decode()
    return lenient_path(path), written


def _whole(body: Body, name: str) -> int | None:
    if name != CARDINALITY:
        return _long(body.get(name))
    vector = body.get("deletionVector")
    if not isinstance(vector, dict):
        return None
    return _long(vector.get("cardinality")) or 0


def _long(value: Any) -> int | None:
    return value if type(value) is int and -LONG_END <= value < LONG_END else None


def repeated(codes: Codes) -> Mask:
    """Return which of some codes come more than once."""
    _, of, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray((counts > 1)[of.reshape(-1)], np.bool_)


class _Dictionary:
    """Texts by number; what is added later leaves the numbers of the former as they are."""

    def __init__(self, texts: pa.Array) -> None:
        self.texts = texts
        self._known: dict[str, int] = {}
        self._scans = 0
        self._order: Codes | None = None

    def extended(self, texts: pa.ChunkedArray) -> tuple[_Dictionary, Codes]:
        """Return a dictionary that has more texts as well, and their codes."""
        chunks = [*([self.texts] if len(self.texts) else []), *texts.chunks]
        if not texts.length():
            return self, np.zeros(0, np.int64)
        # All chunks share one dictionary, and nothing is copied into one.
        found = pa.chunked_array(chunks).dictionary_encode().chunks
        codes = np.concatenate([np.asarray(chunk.indices, np.int64) for chunk in found])
        dictionary = found[-1].dictionary
        if len(dictionary) == len(self.texts):
            return self, codes[len(self.texts) :]
        return _Dictionary(dictionary), codes[len(self.texts) :]

    def cache_codes(self, codes: Codes) -> None:
        """Cache the codes of some texts."""
        if len(self._known) + len(codes) > _MAX_CACHED_TEXTS:
            self._known.clear()
        texts = self.texts.take(pa.array(codes)).to_pylist()
        self._known.update(zip(texts, codes.tolist(), strict=True))

    def code(self, text: str) -> int:
        """Return the code of a text; -1 where it has none."""
        found = self._known.get(text)
        if found is None:
            found = self._found(text)
            if len(self._known) < _MAX_CACHED_TEXTS:
                self._known[text] = found
        return found

    def _found(self, text: str) -> int:
        """Look a text up: a few by a scan, which is quicker than an order, many by halves."""
        if self._scans < _SCANS:
            self._scans += 1
            return int(pc.index(self.texts, pa.scalar(text, self.texts.type)).as_py())
        if self._order is None:
            self._order = np.asarray(pc.sort_indices(self.texts), np.int64)
        order = self._order
        at = bisect_left(range(len(order)), text, key=lambda n: self.texts[int(order[n])].as_py())
        found = int(order[at]) if at < len(order) else -1
        return found if found >= 0 and self.texts[found].as_py() == text else -1


class FileIndex:
    """The file actions of some files, numbered through, with codes for their keys and paths.

    An index never changes: one that has more rows is another one, whose numbers agree.
    """

    def __init__(self) -> None:
        """Begin with no rows."""
        self._keys = _Dictionary(pa.nulls(0, pa.large_string()))
        self._paths = self._keys
        self._path_of: Codes | None = None
        self._rows: list[Rows] = []
        self._starts: list[int] = []
        self._codes: dict[int, Codes] = {}
        self._place: dict[int, int] = {}
        self._flags: dict[str, Mask] = {}
        self._wholes: dict[str, tuple[Codes, npt.NDArray[np.int8]]] = {}
        self._count = 0

    def with_rows(self, parts: Sequence[Rows]) -> FileIndex:
        """Return an index that holds these rows as well."""
        new = [rows for rows in parts if len(rows) and id(rows) not in self._codes]
        if not new:
            return self
        found = FileIndex()
        texts = pa.chunked_array(
            [chunk for rows in new for chunk in rows.keys.chunks], pa.large_string()
        )
        found._keys, codes = self._keys.extended(texts)
        found._rows, found._starts = [*self._rows, *new], list(self._starts)
        found._codes, found._place = dict(self._codes), dict(self._place)
        found._count = self._count
        start = 0
        for rows in new:
            found._place[id(rows)] = len(found._starts)
            found._starts.append(found._count)
            found._codes[id(rows)] = codes[start : start + len(rows)]
            start += len(rows)
            found._count += len(rows)
        found._name_paths(self)
        return found

    def _name_paths(self, former: FileIndex) -> None:
        """Give numbers to paths: those of the keys, as long as no key has a vector."""
        texts = self._keys.texts
        fresh = texts.slice(len(former._keys.texts))
        with_vector = np.asarray(pc.match_substring(fresh, VECTOR), np.bool_)
        if former._path_of is None and not with_vector.any():
            self._paths = self._keys
            return
        before = former._path_of
        paths = former._paths
        if before is None:
            before = np.arange(len(former._keys.texts))
            paths = _Dictionary(former._keys.texts)
        bare = fresh
        if with_vector.any():
            cut = [
                text.partition(VECTOR)[0]
                for text in fresh.filter(pa.array(with_vector)).to_pylist()
            ]
            mask = pa.array(with_vector)
            bare = pc.replace_with_mask(fresh, mask, pa.array(cut, pa.large_string()))
        self._paths, codes = paths.extended(pa.chunked_array([bare]))
        self._path_of = np.concatenate([before, codes])

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self._keys.texts)

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self._paths.texts)

    def path_codes(self, codes: Codes) -> Codes:
        """Return the codes of the paths of keys."""
        return codes if self._path_of is None else self._path_of[codes]

    @cached_property
    def _by_path(self) -> tuple[Codes, Codes]:
        """The codes of the keys path by path, and where each path begins among them."""
        assert self._path_of is not None
        order = np.argsort(self._path_of, kind="stable")
        return order, np.searchsorted(self._path_of[order], np.arange(self.paths + 1))

    def several(self, codes: Codes) -> Mask:
        """Return which keys share their path with another one."""
        if self._path_of is None:
            return np.zeros(len(codes), np.bool_)
        return np.asarray((np.bincount(self._path_of) > 1)[self._path_of[codes]], np.bool_)

    def keys_of(self, path: str) -> list[int]:
        """Return the codes of the keys of a path."""
        code = self.path_code(path)
        if code < 0:
            return []
        if self._path_of is None:
            return [code]
        order, starts = self._by_path
        found: list[int] = order[starts[code] : starts[code + 1]].tolist()
        return found

    def codes_of(self, rows: Rows) -> Codes:
        """Return the codes of the keys of some rows."""
        return self._codes[id(rows)] if len(rows) else np.zeros(0, np.int64)

    def numbers_of(self, rows: Rows) -> Codes:
        """Return the numbers of rows by which the index keeps them; at least one row is given."""
        start = self._starts[self._place[id(rows)]]
        return np.arange(start, start + len(rows))

    def cache_codes(self, rows: Rows, shown: Mask) -> None:
        """Cache the codes of some rows, because they are looked at now."""
        codes = self._codes[id(rows)][shown]
        if not len(codes):
            return
        self._keys.cache_codes(codes)
        if self._paths is not self._keys:
            self._paths.cache_codes(self.path_codes(codes))

    def code(self, key: Key) -> int:
        """Return the code of a key; -1 where it has none."""
        return self._keys.code(key_text(*key))

    def path_code(self, path: str) -> int:
        """Return the code of a path; -1 where it has none."""
        return self._paths.code(key_text(path, None))

    def key(self, code: int) -> Key:
        """Return the key of a code."""
        return text_key(self._keys.texts[code].as_py())

    def key_list(self, codes: Codes) -> list[Key]:
        """Return the keys of codes."""
        if not len(codes):
            return []
        return [text_key(text) for text in self._keys.texts.take(pa.array(codes)).to_pylist()]

    def bodies(self, numbers: Codes) -> list[Body]:
        """Read the actions of rows again, in the order of their numbers as given."""
        found: dict[int, Body] = {}
        starts = np.array(self._starts, np.int64)
        of = np.searchsorted(starts, numbers, "right") - 1
        for at in np.unique(of).tolist():
            mine = numbers[of == at]
            lines = self._rows[at].read(np.sort(mine) - starts[at])
            found.update(zip(np.sort(mine).tolist(), (line.body for line in lines), strict=True))
        return [found[number] for number in numbers.tolist()]

    def values(self, name: str, numbers: Codes) -> list[Any]:
        """Return the values of a column for rows, from the files that have them alone."""
        found: list[Any] = [None] * len(numbers)
        starts = np.array(self._starts, np.int64)
        of = np.searchsorted(starts, numbers, "right") - 1
        by = np.argsort(of, kind="stable")
        for some in np.split(by, np.flatnonzero(np.diff(of[by])) + 1):
            if len(some):
                at = int(of[some[0]])
                column = self._rows[at].columns[name].take(pa.array(numbers[some] - starts[at]))
                for place, value in zip(some.tolist(), column.to_pylist(), strict=True):
                    found[place] = value
        return found

    def column(self, name: str, numbers: Codes) -> pa.Array:
        """Return the values of a column for rows."""
        return self._chained(name).take(pa.array(numbers)).combine_chunks()

    def wholes(self, name: str, numbers: Codes) -> Codes:
        """Return the whole numbers that rows have in a field, or as :data:`CARDINALITY`.

        Each row is read once, however many versions it is in.
        """
        if name not in self._wholes:
            unknown = np.full(self._count, -1, np.int8)
            self._wholes[name] = np.zeros(self._count, np.int64), unknown
        values, known = self._wholes[name]
        unread = numbers[known[numbers] < 0]
        irregular = self.flags("irregular")[unread]
        for rows, found in (
            (unread[irregular], [_whole(body, name) for body in self.bodies(unread[irregular])]),
            (unread[~irregular], self._plain_wholes(name, unread[~irregular])),
        ):
            known[rows] = [value is not None for value in found]
            values[rows] = [value or 0 for value in found]
        return values[numbers[known[numbers] > 0]]

    def _plain_wholes(self, name: str, numbers: Codes) -> list[int | None]:
        if name == CARDINALITY or not len(numbers):
            return [None] * len(numbers)  # a plain row has no vector
        found: list[int | None] = self.column(name, numbers).to_pylist()
        return found

    def _chained(self, name: str) -> pa.ChunkedArray:
        chunks = [chunk for rows in self._rows for chunk in rows.columns[name].chunks]
        return pa.chunked_array(chunks)

    def flags(self, name: str) -> Mask:
        """Return one of the flags of all rows."""
        if name not in self._flags:
            self._flags[name] = np.concatenate([getattr(rows, name) for rows in self._rows])
        return self._flags[name]
