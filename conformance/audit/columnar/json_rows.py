"""File actions out of lines of JSON (section Delta Log Entries).

A line of the plain form has one action, known fields of their types and no deletion vector, and
so breaks no rule of its schema but one that a column shows. Every other line is irregular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Final

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
    RICH_FIELDS,
    VALUE_END,
    Rows,
    key_text,
    part_of,
)
from conformance.audit.grammar.types import LONG_END
from conformance.audit.grammar.uris import UNESCAPED, lenient_path
from reference_impl import untrusted

_NULL_TYPE: Final = type(None)
_TYPES: Final[Mapping[pa.DataType, type]] = {
    pa.large_string(): str,
    pa.int64(): int,
    pa.bool_(): bool,
    FIELDS["tags"]: dict,
}
_KINDS: Final[Mapping[str, tuple[int, Mapping[str, frozenset[type]], frozenset[str]]]] = {
    name: (
        kind,
        {"deletionVector": frozenset({_NULL_TYPE})}
        | {
            key: frozenset({_TYPES[of]} if key in REQUIRED[name] else {_TYPES[of], _NULL_TYPE})
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

_BLOCK: Final = 1024
"""Lines that are compressed together."""

_UNESCAPED: Final = re.compile(UNESCAPED)
_SIGNED: Final = frozenset({"modificationTime", "deletionTimestamp"})
_TEXTS: Final = frozenset({str, _NULL_TYPE})
_NO_RICH_FIELDS: Final = (None,) * len(RICH_FIELDS)
_LINE_COLUMNS: Final = ("order", "kind", *FLAGS, "key", *COLUMNS)
"""What is held of each line until all of them make columns."""


class JsonRows:
    """Rows of one file, gathered line by line."""

    def __init__(self, read: Callable[[int, bytes], Any], *, checkpoint: bool) -> None:
        """Take what makes a line of a place and its text again, and whether they summarise."""
        self._absent = ONLY_IN_COMMITS if checkpoint else {}
        self._read = read
        self._texts: list[bytes] = []
        self._held: list[tuple[Any, ...]] = []

    def take(self, at: int, text: bytes) -> bool:
        """Take in the line of a place where it is plain; any other has to be parsed with care."""
        try:
            document = untrusted.load_json(text)
        except (orjson.JSONDecodeError, MemoryError):  # parsed with care
            return False
        if type(document) is not dict or len(document) != 1:
            return False
        ((name, body),) = document.items()
        if name not in _KINDS or type(body) is not dict or not _is_plain(name, body):
            return False
        path, values = body["path"], body.get("partitionValues")
        written = None if values is None else _values_text(values)
        if (values and written is None) or not body.keys().isdisjoint(self._absent.get(name, ())):
            return False
        escaped, unescaped = "%" in path, _UNESCAPED.search(path) is not None
        body |= {
            "rich": (*map(body.get, RICH_FIELDS),) != _NO_RICH_FIELDS,
            "bare": not (escaped or unescaped),
            "unescaped": unescaped,
            "change": body["dataChange"],
            "based": body.get("baseRowId") is not None,
            "key": key_text(lenient_path(path) if escaped else path, None),
            "partitionValues": written,
        }
        self._add(at, text, name, body)
        return True

    def add_irregular(self, at: int, text: bytes, action: str, body: Any) -> bool:
        """Add a line that no fast parser may read, so that every check sees it.

        Returns false for one without a path, as its file is unknown.
        """
        key = file_key(body)
        if key is None:
            return False
        change, based = body.get("dataChange") is True, body.get("baseRowId") is not None
        known = {"irregular": True, "change": change, "based": based, "key": key_text(*key)}
        self._add(at, text, action, known)
        return True

    def _add(self, at: int, text: bytes, action: str, known: dict[str, Any]) -> None:
        known["order"], known["kind"] = at, _KINDS[action][0]
        self._texts.append(text)
        self._held.append((*map(known.get, _LINE_COLUMNS),))

    def rows(self) -> Rows:
        """Return the rows that were taken in."""
        if not self._texts:
            return Rows.none()
        held = dict(zip(_LINE_COLUMNS, zip(*self._held, strict=True), strict=True))
        order = np.array(held["order"], np.int64)
        return Rows(
            kind=np.array(held["kind"], np.uint8),
            order=order,
            **{name: np.array(held[name], np.bool_) for name in FLAGS},
            keys=pa.chunked_array([pa.array(held["key"], pa.large_string())]),
            columns={
                name: pa.chunked_array([pa.array(held[name], of)]) for name, of in COLUMNS.items()
            },
            parts=part_of(_Texts(order, _packed(self._texts), self._read)),
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


def _is_plain(name: str, body: Mapping[str, Any]) -> bool:
    """Return whether an action has the fields of its kind, with values that no rule forbids."""
    _, known, required = _KINDS[name]
    if not required <= body.keys():
        return False
    for key, value in body.items():
        kind = type(value)
        if kind not in known.get(key, ()):
            return False
        if kind is int and not (-LONG_END if key in _SIGNED else 0) <= value < LONG_END:
            return False
        if kind is dict and not _TEXTS.issuperset(map(type, value.values())):
            return False
    full = body.get("extendedFileMetadata") is True
    if full and None in (body.get("partitionValues"), body.get("size")):
        return False  # it promises metadata that it does not have
    return _PATH.fullmatch(body["path"]) is not None


_PATH: Final = re.compile(r"(?!\Z)[^%]*+(?:%[0-9A-Fa-f]{2}[^%]*+)*+")


def _values_text(values: Mapping[str, str | None]) -> str | None:
    """Spell partition values as one text, in their order; ``None`` where it could be two."""
    pieces = [
        f"{name}{NAME_END}{NULL if value is None else value}{VALUE_END}"
        for name, value in values.items()
    ]
    text = "".join(pieces)
    nulls = sum(value is None for value in values.values())
    marks = text.count(NAME_END), text.count(VALUE_END), text.count(NULL)
    return text if marks == (len(pieces), len(pieces), nulls) else None
