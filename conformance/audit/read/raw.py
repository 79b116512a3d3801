"""Read the files of a log as they stand, keeping faults as data.

Serves "Delta Log Entries", "Checkpoints", "Last Checkpoint File" and "Version Checksum File".
Nothing in here raises on a bad table: what cannot be read becomes a :class:`Fault`, and what can
is kept, so that one broken line does not hide the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa

from reference_impl import untrusted
from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget, out_of_memory
from reference_impl.log.checkpoints.bounds import bounded, refuse_bomb
from reference_impl.parquet.bounds import open_parquet
from reference_impl.storage import Storage

__all__ = [
    "ACTIONS",
    "Document",
    "Fault",
    "Line",
    "Lines",
    "parse_json",
    "read_lines",
    "read_parquet_rows",
]

ACTIONS: Final = (
    "add",
    "remove",
    "metaData",
    "protocol",
    "txn",
    "domainMetadata",
    "commitInfo",
    "cdc",
    "sidecar",
    "checkpointMetadata",
)
"""Every action that the protocol knows; others are ignored."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that cannot be read.

    Attributes:
        place: file, with line or row.
        message: what is wrong with it.
        kind: ``empty`` for a file without bytes, ``blank`` for a line without any, ``elsewhere``
            for a file that is not in the folder where it has to be.
        count: how many lines in a row are blank.
        limit: the limit that it is beyond, where nothing is wrong with it otherwise.

    """

    place: str
    message: str
    kind: Literal["broken", "empty", "blank", "elsewhere"] = "broken"
    count: int = 1
    limit: LimitExceeded | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value with the keys that it repeats; ``value`` is ``None`` when there is a fault.

    ``limit`` is the limit that it is beyond, where that is the fault.
    """

    value: Any
    duplicates: tuple[str, ...] = ()
    fault: str | None = None
    limit: LimitExceeded | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One action of a commit, compaction or checkpoint.

    Attributes:
        place: file with line (from 1) or row (from 0).
        document: the whole object, for its schema.
        action: the first known action that it holds; ``None`` when it holds none.
        body: that action; empty when it is not an object.

    """

    place: str
    document: Any
    action: str | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file of actions holds, readable and not."""

    lines: tuple[Line, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def damaged(self) -> bool:
        """Whether something may be missing; blank lines lose nothing."""
        return any(fault.kind != "blank" for fault in self.faults)

    def of(self, *actions: str) -> Iterator[Line]:
        """Yield the lines of some actions, in file order."""
        return (line for line in self.lines if line.action in actions)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def parse_json(data: bytes | str, *, exact: bool = False) -> Document:
    """Parse one JSON value strictly.

    Args:
        data: the text, UTF-8 when it is bytes.
        exact: give fractions as :class:`~decimal.Decimal`, for statistics.

    """
    duplicates: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates.extend(sorted(key for key, count in counts.items() if count > 1))
        return found

    try:
        value = untrusted.parse_json(data, exact=exact, pairs=collect, constant=_refuse_constant)
    except LimitExceeded as error:
        return Document(None, fault=error.message, limit=error)
    except ValueError as error:
        return Document(None, fault=str(error)[:300])
    return Document(value, tuple(duplicates))


def _line(place: str, document: Any) -> Line:
    known = document if isinstance(document, dict) else {}
    action = next((name for name in ACTIONS if known.get(name) is not None), None)
    body = known[action] if action else {}
    return Line(place, document, action, body if isinstance(body, dict) else {})


def read_lines(storage: Storage, path: str) -> Lines:
    """Read newline-delimited JSON."""
    try:
        data = storage.get(path)
    except LimitExceeded as error:
        return Lines(faults=(Fault(path, error.message, limit=error),))
    except OSError as error:
        return Lines(faults=(Fault(path, f"cannot be read: {error}"),))
    if not data:
        return Lines(faults=(Fault(path, "the file is empty", "empty"),))
    lines: list[Line] = []
    faults: list[Fault] = []
    blank = 0
    for number, text in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        if not text or text.isspace():
            blank += 1
            continue
        if blank:
            faults.append(_blank(path, number - blank, blank))
            blank = 0
        place = f"{path}:{number}"
        parsed = parse_json(text)
        if parsed.limit is not None:
            faults.append(Fault(place, parsed.limit.message, limit=parsed.limit))
        elif parsed.fault is not None:
            faults.append(Fault(place, f"the line is not JSON: {parsed.fault}"))
        else:
            lines.append(_line(place, parsed.value))
    if blank:
        faults.append(_blank(path, number - blank + 1, blank))
    return Lines(tuple(lines), tuple(faults))


def _blank(path: str, number: int, count: int) -> Fault:
    return Fault(f"{path}:{number}", "the line is blank", "blank", count)


def read_document(storage: Storage, path: str) -> Document | None:
    """Read a file of one JSON value; ``None`` when the file does not exist."""
    try:
        return parse_json(storage.get(path))
    except LimitExceeded as error:
        return Document(None, fault=error.message, limit=error)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Document(None, fault=f"cannot be read: {error}")


def _plain(value: Any, of: pa.DataType) -> Any:
    """Turn a Python value of an Arrow column into JSON's kinds: maps become objects."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if pa.types.is_struct(of):
        return {of.field(i).name: _plain(value[of.field(i).name], of.field(i).type)
                for i in range(of.num_fields)}  # fmt: skip
    if pa.types.is_map(of):
        return {str(key): _plain(item, of.item_type) for key, item in value}
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return [_plain(item, of.value_type) for item in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def read_parquet_rows(storage: Storage, path: str) -> Lines:
    """Read a checkpoint or sidecar; a row without any known action is kept as such."""
    lines: list[Line] = []
    try:
        with storage.open_input(path) as source:
            file = open_parquet(source)
            names = [name for name in ACTIONS if name in file.schema_arrow.names]
            row = 0
            refuse_bomb(file.metadata, source.size())
            for batch in bounded(source, file, names, use_threads=True):
                budget().check_time()
                types = [batch.schema.field(name).type for name in batch.schema.names]
                columns = [column.to_pylist() for column in batch.columns]
                for values in zip(*columns, strict=True):
                    document = {
                        name: _plain(value, of)
                        for name, value, of in zip(batch.schema.names, values, types, strict=True)
                    }
                    lines.append(_line(f"{path}#{row}", document))
                    row += 1
    except MemoryError as error:  # Arrow's is one as well
        return Lines(tuple(lines), (Fault(path, "no memory", limit=out_of_memory(error, path)),))
    except LimitExceeded as error:
        return Lines(tuple(lines), (Fault(path, error.message, limit=error),))
    except (OSError, pa.ArrowException, ValueError, KeyError, RecursionError) as error:
        fault = Fault(path, f"cannot be read as Parquet: {str(error)[:200]}")
        return Lines(tuple(lines), (fault,))
    return Lines(tuple(lines))
