"""File actions out of lines of JSON (section Delta Log Entries).

A line of the plain form has one action, known fields of their types and no deletion vector, and
so breaks no rule of its schema but one that a column shows. Every other line is irregular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from conformance.audit.columnar.keys import file_key
from conformance.audit.columnar.rows import (
    ADD,
    COLUMNS,
    FIELDS,
    FLAGS,
    NAME_END,
    NULL,
    ONLY_IN_COMMITS,
    REMOVE,
    REQUIRED,
    RICH,
    VALUE_END,
    Rows,
    key_text,
    part_of,
)
from conformance.audit.grammar.types import LONG_END
from conformance.audit.grammar.uris import UNESCAPED, lenient_path
from reference_impl import untrusted

FEW: Final = 1
"""File actions of one file that are worth columns. What is irregular is read again for each summary
of a version that has it: those of small commits cost the product of commits and checkpoints."""

_NONE: Final = type(None)
_TYPES: Final[Mapping[pa.DataType, type]] = {
    pa.large_string(): str,
    pa.int64(): int,
    pa.bool_(): bool,
    FIELDS["tags"]: dict,
}
_KINDS: Final[Mapping[str, tuple[int, Mapping[str, frozenset[type]], frozenset[str]]]] = {
    name: (
        kind,
        {"deletionVector": frozenset({_NONE})}
        | {
            key: frozenset({_TYPES[of]} if key in REQUIRED[name] else {_TYPES[of], _NONE})
            for key, of in FIELDS.items()
            if key not in others
        },
        frozenset(REQUIRED[name]),
    )
    for name, kind, others in (
        ("add", ADD, ("deletionTimestamp", "extendedFileMetadata")),
        ("remove", REMOVE, ("modificationTime", "clusteringProvider")),
    )
}
"""Kind, fields with the types of their values, and fields that have to be there, by action."""

_AT_ONCE: Final = 100
"""Lines that are judged together at most: so few that Python's collector has no work with them."""

_BLOCK: Final = 1024
"""Lines that are compressed together."""

_Parsed: TypeAlias = tuple[int, dict[str, Any]]
"""A line's number among those that are held, and its action."""

_UNESCAPED: Final = re.compile(UNESCAPED)
_SIGNED: Final = frozenset({"modificationTime", "deletionTimestamp"})
_TEXTS: Final = frozenset({str, _NONE})


class JsonRows:
    """Rows of one file, gathered line by line."""

    def __init__(self, read: Callable[[int, bytes], Any], *, checkpoint: bool = False) -> None:
        """Take what makes a line of a place and its text again, and whether they summarise."""
        self._absent = ONLY_IN_COMMITS if checkpoint else {}
        self.texts: list[bytes] = []
        self._read = read
        self._at: list[int] = []
        self._kind: list[int] = []
        self._flags: dict[str, list[bool]] = {name: [] for name in FLAGS}
        self._keys: list[str] = []
        self._fields: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def take(self, held: Sequence[tuple[int, bytes]]) -> list[bool]:
        """Take in those lines that are plain; the others have to be parsed with care.

        Args:
            held: places and texts.

        Returns:
            whether each was taken in.
        """
        taken = [False] * len(held)
        # Lines with the same fields are judged together, field by field.
        alike: dict[tuple[str, ...], list[_Parsed]] = {}
        for number, (_, text) in enumerate(held):
            try:
                document = untrusted.load_json(text)
            except (orjson.JSONDecodeError, MemoryError):  # parsed with care
                continue
            if type(document) is not dict or len(document) != 1:
                continue
            ((name, body),) = document.items()
            if name not in _KINDS or type(body) is not dict:
                continue
            fields = (name, *body)
            if fields not in alike:
                _, known, required = _KINDS[name]
                if not required <= body.keys() <= known.keys():
                    continue
                if not body.keys().isdisjoint(self._absent.get(name, ())):
                    continue
                alike[fields] = []
            some = alike[fields]
            some.append((number, body))
            if len(some) == _AT_ONCE:
                self._add_plain(name, held, alike.pop(fields), taken)
        for (name, *_), some in alike.items():
            self._add_plain(name, held, some, taken)
        return taken

    def _add_plain(
        self,
        name: str,
        held: Sequence[tuple[int, bytes]],
        some: Sequence[_Parsed],
        taken: list[bool],
    ) -> None:
        """Add the plain ones among parsed lines of one action that have the same fields."""
        kind, known, _ = _KINDS[name]
        columns = _transposed(some)
        unfit = {n for key, values in columns.items() for n in _unfit(key, values, known[key])}
        some, columns = _without(unfit | _contradictory(columns), some, columns)
        nothing = [None] * len(some)
        values = columns.get("partitionValues", nothing)
        written = _joined(values)
        if written.count(None) > values.count(None):
            unfit = {n for n, text in enumerate(written) if text is None and values[n] is not None}
            some, columns = _without(unfit, some, columns)
            written = [text for n, text in enumerate(written) if n not in unfit]
            nothing = [None] * len(some)
        if not some:
            return
        for number, _ in some:
            taken[number] = True
        paths = columns["path"]
        none = [False] * len(some)
        whole = "".join(paths)  # where nothing is in all, nothing is in each
        escaped = ["%" in path for path in paths] if "%" in whole else none
        unescaped = (
            [bool(_UNESCAPED.search(path)) for path in paths] if _UNESCAPED.search(whole) else none
        )
        rich = [columns[key] for key in RICH if key in columns]
        self._at += [held[number][0] for number, _ in some]
        self.texts += [held[number][1] for number, _ in some]
        self._kind += [kind] * len(some)
        for flag, values in (
            ("irregular", none),
            ("rich", [any(x is not None for x in of) for of in zip(*rich, strict=True)] or none),
            ("bare", [not (a or b) for a, b in zip(escaped, unescaped, strict=True)]),
            ("unescaped", unescaped),
            ("change", columns["dataChange"]),
            ("based", [each is not None for each in columns.get("baseRowId", nothing)]),
        ):
            self._flags[flag] += values
        self._keys += [
            key_text(lenient_path(path) if escapes else path, None)
            for path, escapes in zip(paths, escaped, strict=True)
        ]
        columns["partitionValues"] = written
        for key, kept in self._fields.items():
            kept.extend(columns.get(key, nothing))

    def add_irregular(self, at: int, text: bytes, action: str, body: Any) -> bool:
        """Add a line that no fast parser may read, so that every check sees it.

        Returns false for one without a path, as its file is unknown.
        """
        key = file_key(body)
        if key is None:
            return False
        self._at.append(at)
        self.texts.append(text)
        self._kind.append(_KINDS[action][0])
        change, based = body.get("dataChange") is True, body.get("baseRowId") is not None
        known = {"irregular": True, "change": change, "based": based}
        for name, flags in self._flags.items():
            flags.append(known.get(name, False))
        self._keys.append(key_text(*key))
        for values in self._fields.values():
            values.append(None)
        return True

    def rows(self) -> Rows:
        """Return the rows that were taken in, in the order of their places."""
        if not self._at:
            return Rows.none()
        by = sorted(range(len(self._at)), key=self._at.__getitem__)
        if by != list(range(len(by))):
            lists = (self._at, self.texts, self._kind, self._keys)
            for each in (*lists, *self._flags.values(), *self._fields.values()):
                each[:] = [each[n] for n in by]  # type: ignore[index]
        order = np.array(self._at, np.int64)
        return Rows(
            kind=np.array(self._kind, np.uint8),
            order=order,
            **{name: np.array(values, np.bool_) for name, values in self._flags.items()},
            keys=pa.chunked_array([pa.array(self._keys, pa.large_string())]),
            columns={
                name: pa.chunked_array([pa.array(values, COLUMNS[name])])
                for name, values in self._fields.items()
            },
            parts=part_of(_Texts(order, _packed(self.texts), self._read)),
        )


_CODEC: Final = "snappy"
"""Fast, and there wherever Delta tables are read."""


def _packed(texts: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Compress lines, some together, as few of them are ever read again; returns sizes as well."""
    blocks = (b"\n".join(texts[start : start + _BLOCK]) for start in range(0, len(texts), _BLOCK))
    return [(pa.compress(block, _CODEC, asbytes=True), len(block)) for block in blocks]


@lru_cache(maxsize=1)
def _lines(packed: bytes, size: int) -> list[bytes]:
    block: bytes = pa.decompress(packed, size, _CODEC, asbytes=True)
    return block.split(b"\n")


@dataclass(frozen=True, slots=True)
class _Texts:
    """Lines of a file with their places in it, and what makes lines of them again."""

    at: npt.NDArray[np.int64]
    blocks: list[tuple[bytes, int]]
    make: Callable[[int, bytes], Any]

    def read(self, at: Sequence[int]) -> Iterable[Any]:
        return [self.make(int(self.at[row]), text) for row, text in self._texts(at)]

    def packed(self, at: Sequence[int]) -> bytes:
        return b"\n".join(text for _, text in self._texts(at))

    def _texts(self, at: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for block, rows in groupby(at, lambda row: row // _BLOCK):
            lines = _lines(*self.blocks[block])
            yield from ((row, lines[row % _BLOCK]) for row in rows)


def _transposed(some: Sequence[_Parsed]) -> dict[str, Sequence[Any]]:
    values = zip(*(body.values() for _, body in some), strict=True)
    return dict(zip(some[0][1], values, strict=True))


def _without(
    unfit: AbstractSet[int], some: Sequence[_Parsed], columns: dict[str, Sequence[Any]]
) -> tuple[Sequence[_Parsed], dict[str, Sequence[Any]]]:
    """Leave lines out."""
    if not unfit:
        return some, columns
    left = [n for n in range(len(some)) if n not in unfit]
    return [some[n] for n in left], {
        key: [values[n] for n in left] for key, values in columns.items()
    }


def _unfit(name: str, values: Sequence[Any], types: frozenset[type]) -> list[int]:
    """Return the places of values that a plain line does not have in a field."""
    kinds = set(map(type, values))
    found = []
    if not kinds <= types:
        found += [n for n, value in enumerate(values) if type(value) not in types]
    if int in kinds:
        least = -LONG_END if name in _SIGNED else 0
        found += [
            n for n, value in enumerate(values)
            if type(value) is int and not least <= value < LONG_END
        ]  # fmt: skip
    if dict in kinds:
        found += [
            n for n, value in enumerate(values)
            if type(value) is dict and not _TEXTS.issuperset(map(type, value.values()))
        ]  # fmt: skip
    if name == "path":
        found += [n for n, path in enumerate(values) if not path or not _escapes(path)]
    return found


def _contradictory(columns: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the places of removes that promise metadata which they do not have."""
    promised = columns.get("extendedFileMetadata", ())
    wanted = [columns.get(key, [None] * len(promised)) for key in ("partitionValues", "size")]
    return {
        n for n, promise in enumerate(promised)
        if promise is True and any(values[n] is None for values in wanted)
    }  # fmt: skip


def _escapes(path: Any) -> bool:
    if type(path) is not str or "%" not in path:
        return True
    pieces = path.split("%")[1:]
    return all(len(piece) > 1 and _HEX.issuperset(piece[:2]) for piece in pieces)


_HEX: Final = frozenset("0123456789abcdefABCDEF")


def _joined(values: Iterable[Mapping[str, str | None] | None]) -> list[str | None]:
    """Spell partition values as one text each, in their order; ``None`` where it could be two."""
    known: dict[tuple[tuple[str, str | None], ...], str | None] = {}
    found: list[str | None] = []
    for each in values:
        if each is None:
            found.append(None)
            continue
        items = (*each.items(),)
        if items not in known:
            known[items] = _values_text(items)
        found.append(known[items])
    return found


def _values_text(values: Sequence[tuple[str, str | None]]) -> str | None:
    pieces = [
        f"{name}{NAME_END}{NULL if value is None else value}{VALUE_END}" for name, value in values
    ]
    text = "".join(pieces)
    nulls = sum(value is None for _, value in values)
    marks = text.count(NAME_END), text.count(VALUE_END), text.count(NULL)
    return text if marks == (len(pieces), len(pieces), nulls) else None
