"""File actions as columns, beside where each of them can be read again.

Covers "Add File and Remove File". A log has millions of adds and removes that are alike. As
columns they take a few hundred bytes each and are judged together; only what a check suspects is
read again as the line that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
"""One truth value for each row."""

ADD: Final = 0
REMOVE: Final = 1
"""Kinds of rows."""

COLUMNS: Final[Mapping[str, pa.DataType]] = {
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "deletionTimestamp": pa.int64(),
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "partitionValues": pa.large_string(),
    "stats": pa.large_string(),
}
"""Fields that are kept; partition values as one text of all names and values in their order."""

_STRINGS: Final = pa.map_(pa.string(), pa.string())
FIELDS: Final[Mapping[str, pa.DataType]] = {
    "path": pa.large_string(),
    "partitionValues": _STRINGS,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "deletionTimestamp": pa.int64(),
    "dataChange": pa.bool_(),
    "stats": pa.large_string(),
    "tags": _STRINGS,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.large_string(),
    "extendedFileMetadata": pa.bool_(),
}
"""Fields that a plain action may have, whichever it is, with their types."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("path", "partitionValues", "size", "modificationTime", "dataChange"),
    "remove": ("path", "dataChange"),
}
"""Fields that an action has to have."""

ONLY_IN_COMMITS: Final[Mapping[str, tuple[str, ...]]] = {"add": (), "remove": ("stats", "tags")}
"""Fields that a plain action of a checkpoint has not."""

FLAGS: Final = ("irregular", "rich", "bare", "unescaped", "change", "based")
"""Truth values of rows."""

NAME_END: Final = "\1"
VALUE_END: Final = "\2"
NULL: Final = "\3"
"""Separators in the text of partition values, and what stands for a null."""

RICH_FIELDS: Final = ("tags", "clusteringProvider", "extendedFileMetadata")
"""Fields that are none of :data:`COLUMNS`, and make a row rich."""

VECTOR: Final = "\0\2"
"""Separator of path and vector id in the text of a key."""

_NUL: Final = "\0"
_ESCAPED_NUL: Final = "\0\1"

_MAX_SHOWN_LINES: Final = 20_000
"""Lines that one source keeps after they were read again."""


def key_text(path: str, vector: str | None) -> str:
    """Spell the key of a logical file as one text, different for different keys."""
    written = path.replace(_NUL, _ESCAPED_NUL) if _NUL in path else path
    return written if vector is None else f"{written}{VECTOR}{vector}"


def text_key(text: str) -> tuple[str, str | None]:
    """Undo :func:`key_text`."""
    path, separator, vector = text.partition(VECTOR)
    return path.replace(_ESCAPED_NUL, _NUL), vector if separator else None


class Source(Protocol):
    """What rows were made from."""

    def read(self, at: Sequence[int]) -> Iterable[Any]:
        """Read rows again, as lines, by their numbers in the source."""
        ...

    def packed(self, at: Sequence[int]) -> bytes:
        """Serialize rows, to be read elsewhere."""
        ...


@dataclass(slots=True)
class _Part:
    """Rows of one source, with the lines that were read again and are still wanted."""

    start: int
    source: Source
    shown: dict[int, Any]


@dataclass(eq=False)
class Rows:
    """Adds and removes of one or more files, in their order.

    Attributes:
        kind: :data:`ADD` or :data:`REMOVE` of each row.
        order: where a row stands among all lines, as a number that only rises.
        irregular: not of the plain form; every check looks at such a line itself.
        rich: has fields other than :data:`COLUMNS`, as tags.
        bare: the path has no escapes and needs none, so that its text is the decoded path.
        unescaped: the path has characters that a URI has to escape.
        change: ``dataChange`` is true.
        based: has a ``baseRowId``.
        keys: texts of the keys.
        columns: the other fields; null in irregular rows.
        parts: where the rows can be read again.
    """

    kind: npt.NDArray[np.uint8]
    order: npt.NDArray[np.int64]
    irregular: Mask
    rich: Mask
    bare: Mask
    unescaped: Mask
    change: Mask
    based: Mask
    keys: pa.ChunkedArray
    columns: Mapping[str, pa.ChunkedArray]
    parts: list[_Part]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.kind)

    @classmethod
    def none(cls) -> Rows:
        """Make rows of nothing."""
        empty = np.zeros(0, np.bool_)
        return cls(
            kind=np.zeros(0, np.uint8),
            order=np.zeros(0, np.int64),
            irregular=empty, rich=empty, bare=empty, unescaped=empty, change=empty, based=empty,
            keys=pa.chunked_array([], pa.large_string()),
            columns={name: pa.chunked_array([], of) for name, of in COLUMNS.items()},
            parts=[],
        )  # fmt: skip

    @classmethod
    def joined(cls, pieces: Sequence[Rows]) -> Rows:
        """Concatenate rows; ``order`` keeps increasing."""
        pieces = [piece for piece in pieces if len(piece)]
        if not pieces:
            return cls.none()
        if len(pieces) == 1:
            return pieces[0]
        starts = np.cumsum([0, *map(len, pieces)])

        def of(name: str) -> Any:
            return np.concatenate([getattr(piece, name) for piece in pieces])

        return cls(
            **{name: of(name) for name in ("kind", "order", *FLAGS)},
            keys=_chained([piece.keys for piece in pieces]),
            columns={name: _chained([p.columns[name] for p in pieces]) for name in COLUMNS},
            parts=[
                _Part(part.start + int(start), part.source, part.shown)
                for start, piece in zip(starts, pieces, strict=False)
                for part in piece.parts
            ],
        )  # fmt: skip

    @cached_property
    def plain(self) -> bool:
        """Whether any row is of the plain form, so that a screen is worth its time."""
        return not bool(self.irregular.all())

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        return np.array([part.start for part in self.parts], np.int64)

    def read(self, at: npt.NDArray[np.int64]) -> Iterator[Any]:
        """Read rows again as lines, in order; those that many checks want are kept a while."""
        for begin in range(0, len(at), _MAX_SHOWN_LINES >> 2):
            some = at[begin : begin + (_MAX_SHOWN_LINES >> 2)]
            of = np.searchsorted(self._starts, some, "right") - 1
            for number in np.unique(of).tolist():
                yield from self._read(self.parts[number], some[of == number])

    @staticmethod
    def _read(part: _Part, at: npt.NDArray[np.int64]) -> Iterator[Any]:
        wanted: list[int] = (at - part.start).tolist()
        missing = [row for row in wanted if row not in part.shown]
        if missing:
            if len(part.shown) + len(missing) > _MAX_SHOWN_LINES:
                part.shown.clear()
                missing = wanted
            part.shown.update(zip(missing, part.source.read(missing), strict=True))
        # The consumer may read other lines meanwhile, which drops these.
        yield from [part.shown[row] for row in wanted]

    def forget(self) -> None:
        """Drop the lines that were read again."""
        for part in self.parts:
            part.shown.clear()

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """Return a column of numbers, 0 where there is none."""
        return np.asarray(pc.fill_null(self.columns[name], 0).to_numpy(), np.int64)

    def missing(self, name: str) -> Mask:
        """Return where a column has nothing."""
        return np.asarray(self.columns[name].is_null().to_numpy(), np.bool_)


def _chained(pieces: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pieces[0].type)


def part_of(source: Source) -> list[_Part]:
    """Make the parts of rows that come from one source."""
    return [_Part(0, source, {})]
