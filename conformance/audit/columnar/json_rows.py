"""File actions out of lines of JSON (section Delta Log Entries).

A line of the plain form has one action, known fields of their types and no deletion vector, and
so breaks no rule of its schema but one that a column shows. Every other line is odd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from conformance.audit.columnar.keys import file_key
from conformance.audit.columnar.rows import (
    ADD,
    COLUMNS,
    FLAGS,
    NAME_END,
    NULL,
    REMOVE,
    RICH,
    VALUE_END,
    Rows,
    key_text,
    part_of,
)
from conformance.audit.grammar.uris import UNESCAPED, lenient_path

__all__ = ["FEW", "JsonRows"]

FEW: Final = 32
"""File actions of one file that are not worth columns: all of them are odd."""

_LONG: Final = 1 << 63
_NONE: Final = type(None)
_KINDS: Final[Mapping[str, tuple[int, Mapping[str, frozenset[type]], frozenset[str]]]] = {
    name: (
        kind,
        {key: frozenset(types) for key, types in fields.items()},
        frozenset(required),
    )
    for name, kind, fields, required in (
        (
            "add",
            ADD,
            {
                "path": (str,),
                "partitionValues": (dict,),
                "size": (int,),
                "modificationTime": (int,),
                "dataChange": (bool,),
                "stats": (str, _NONE),
                "tags": (dict, _NONE),
                "deletionVector": (_NONE,),
                "baseRowId": (int, _NONE),
                "defaultRowCommitVersion": (int, _NONE),
                "clusteringProvider": (str, _NONE),
            },
            ("path", "partitionValues", "size", "modificationTime", "dataChange"),
        ),
        (
            "remove",
            REMOVE,
            {
                "path": (str,),
                "dataChange": (bool,),
                "deletionTimestamp": (int, _NONE),
                "extendedFileMetadata": (bool, _NONE),
                "partitionValues": (dict, _NONE),
                "size": (int, _NONE),
                "stats": (str, _NONE),
                "tags": (dict, _NONE),
                "deletionVector": (_NONE,),
                "baseRowId": (int, _NONE),
                "defaultRowCommitVersion": (int, _NONE),
            },
            ("path", "dataChange"),
        ),
    )
}
"""Kind, fields with the types of their values, and fields that have to be there, by action."""

_SIGNED: Final = frozenset({"modificationTime", "deletionTimestamp"})
_TEXTS: Final = frozenset({str, _NONE})


class JsonRows:
    """Rows of one file, gathered line by line."""

    def __init__(self, read: Callable[[int, bytes], Any]) -> None:
        """Take what makes a line of a place and its text again."""
        self.texts: list[bytes] = []
        self._read = read
        self._at: list[int] = []
        self._kind: list[int] = []
        self._odd: list[bool] = []
        self._rich: list[bool] = []
        self._bare: list[bool] = []
        self._unescaped: list[bool] = []
        self._change: list[bool] = []
        self._based: list[bool] = []
        self._keys: list[str] = []
        self._fields: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def take(self, at: int, text: bytes) -> bool:
        """Take a line in where it is plain; else it has to be parsed with care."""
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        if type(document) is not dict or len(document) != 1:
            return False
        ((name, body),) = document.items()
        if name not in _KINDS or type(body) is not dict:
            return False
        path = body.get("path")
        if type(path) is not str or not path or not _plain(name, body):
            return False
        escaped = "%" in path
        values = body.get("partitionValues")
        spelled = None if values is None else _joined(values)
        if (escaped and not _escapes(path)) or (values and spelled is None):
            return False
        unescaped = not UNESCAPED.isdisjoint(path)
        self._at.append(at)
        self.texts.append(text)
        self._kind.append(_KINDS[name][0])
        self._odd.append(False)
        self._rich.append(any(body.get(key) is not None for key in RICH))
        self._bare.append(not escaped and not unescaped)
        self._unescaped.append(unescaped)
        self._change.append(body["dataChange"])
        self._based.append(body.get("baseRowId") is not None)
        self._keys.append(key_text(lenient_path(path) if escaped else path, None))
        fields = self._fields
        for key in COLUMNS:
            fields[key].append(body.get(key))
        fields["partitionValues"][-1] = spelled
        return True

    def odd(self, at: int, text: bytes, action: str, body: Any) -> bool:
        """Take in a line that was parsed with care: no check may pass it over.

        Gives false for one without a path, which is no file action that could be told apart.
        """
        key = file_key(body)
        if key is None:
            return False
        self._at.append(at)
        self.texts.append(text)
        self._kind.append(_KINDS[action][0])
        self._odd.append(True)
        for flags in (self._rich, self._bare, self._unescaped):
            flags.append(False)
        self._change.append(body.get("dataChange") is True)
        self._based.append(body.get("baseRowId") is not None)
        self._keys.append(key_text(*key))
        for values in self._fields.values():
            values.append(None)
        return True

    def rows(self) -> Rows:
        """Give the rows that were taken in."""
        if not self._at:
            return Rows.none()
        lists = (self._odd, self._rich, self._bare, self._unescaped, self._change, self._based)
        flags = dict(zip(FLAGS, lists, strict=True))
        return Rows(
            kind=np.array(self._kind, np.uint8),
            order=np.array(self._at, np.int64),
            **{name: np.array(values, np.bool_) for name, values in flags.items()},
            keys=pa.chunked_array([pa.array(self._keys, pa.large_string())]),
            columns={
                name: pa.chunked_array([pa.array(values, COLUMNS[name])])
                for name, values in self._fields.items()
            },
            parts=part_of(_Texts(self._at, self.texts, self._read)),
        )


@dataclass(frozen=True, slots=True)
class _Texts:
    """Lines of a file with their places in it, and what makes lines of them again."""

    at: list[int]
    texts: list[bytes]
    make: Callable[[int, bytes], Any]

    def read(self, at: Sequence[int]) -> Iterable[Any]:
        return [self.make(self.at[row], self.texts[row]) for row in at]

    def packed(self, at: Sequence[int]) -> bytes:
        return b"\n".join(self.texts[row] for row in at)


def _plain(name: str, body: Mapping[str, Any]) -> bool:
    _, fields, required = _KINDS[name]
    if not body.keys() >= required:
        return False
    for key, value in body.items():
        types = fields.get(key)
        kind = type(value)
        if types is None or kind not in types:
            return False
        if kind is int:
            least = -_LONG if key in _SIGNED else 0
            if not least <= value < _LONG:
                return False
        elif kind is dict and not {type(each) for each in value.values()} <= _TEXTS:
            return False
    if body.get("extendedFileMetadata") is True:
        return None not in (body.get("partitionValues"), body.get("size"))
    return True


def _escapes(path: str) -> bool:
    pieces = path.split("%")[1:]
    return all(len(piece) > 1 and _HEX.issuperset(piece[:2]) for piece in pieces)


_HEX: Final = frozenset("0123456789abcdefABCDEF")


def _joined(values: Mapping[str, str | None]) -> str | None:
    """Spell partition values as one text, in their order; ``None`` where it could be two."""
    pieces = [
        f"{name}{NAME_END}{NULL if value is None else value}{VALUE_END}"
        for name, value in values.items()
    ]
    text = "".join(pieces)
    nulls = sum(value is None for value in values.values())
    marks = text.count(NAME_END), text.count(VALUE_END), text.count(NULL)
    return text if marks == (len(pieces), len(pieces), nulls) else None
