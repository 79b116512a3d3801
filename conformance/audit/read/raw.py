"""Read the files of a log as they stand, keeping faults as data.

Covers "Delta Log Entries", "Checkpoints", "Last Checkpoint File" and "Version Checksum File".
Nothing in here raises on a bad table: what cannot be read becomes a :class:`Fault`, and what can
is kept, so that one broken line does not hide the next.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from conformance.audit.columnar.json_rows import JsonRows
from conformance.audit.columnar.keys import Key, file_key
from conformance.audit.columnar.parquet_rows import file_rows
from conformance.audit.columnar.rows import ADD, REMOVE, Mask, Rows
from conformance.audit.read.arrow import limits_of_arrow
from conformance.judging.compare.families import is_list
from reference_impl import untrusted
from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget, exceeded, out_of_memory
from reference_impl.log.checkpoints.bounds import bounded, refuse_bomb
from reference_impl.parquet.opening import open_parquet
from reference_impl.storage import Storage

ACTIONS: Final = (
    "add", "remove", "metaData", "protocol", "txn", "domainMetadata", "commitInfo", "cdc",
    "sidecar", "checkpointMetadata",
)  # fmt: skip
"""Every action that the protocol knows; others are ignored."""

_MIN_MEAN_LINE_BYTES: Final = 24
"""Bytes of an average line below which blank lines are not looked at one by one."""

_GAP_OR_LINE: Final = re.compile(rb"([ \t\r\n]*\n)|[^\n]++\n?")
_GAPS: Final = 100
"""Runs of blank lines that are reported each for itself."""

_LINE_COST: Final = 1024
"""Bytes that a line takes until it is judged."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that cannot be read.

    Attributes:
        place: file, with line or row.
        message: what is wrong with it.
        kind: ``empty`` for a file without bytes, ``blank`` for a line without any, ``no JSON`` for
            one of another form, ``other format`` for the first of a file that begins as those of
            another format do, ``elsewhere`` for a file that is not in the folder where it has
            to be, ``gone`` for one that is nowhere, ``unescaped`` for one that is named as it is
            called, and not as a URI.
        count: how many lines in a row are blank.
        limit: the limit that it is beyond, where nothing is wrong with it otherwise.
    """

    place: str
    message: str
    kind: Literal[
        "broken", "gone", "empty", "blank", "no JSON", "other format", "elsewhere", "unescaped"
    ] = "broken"
    count: int = 1
    limit: LimitExceeded | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value with the keys that it repeats; ``value`` is ``None`` when there is a fault.

    ``limit`` is the limit that it is beyond, where that is the fault; ``spelt`` is the value with
    each number as a :class:`Spelt`, where that was asked for.
    """

    value: Any
    duplicates: tuple[str, ...] = ()
    fault: str | None = None
    limit: LimitExceeded | None = None
    spelt: Any = None


@dataclass(frozen=True, slots=True)
class Spelt:
    """A number as it is written, which its own canonical form keeps."""

    text: str

    def __str__(self) -> str:
        """Return the number as it is written."""
        return self.text

    def __float__(self) -> float:
        """Return the nearest double."""
        return float(self.text)


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

    @property
    def key(self) -> Key | None:
        """The key of a file action; ``None`` when it has no path."""
        return file_key(self.body)


class Lines:
    """What files of actions hold, readable and not, in their order.

    Adds and removes are rows of columns; they become lines on demand.

    Attributes:
        small: place in the order and line of everything but those.
        rows: the adds and removes.
        faults: what cannot be read.
        facts: what is known of a whole file of which this is a part: ``counts`` of its lines by
            action, ``highest`` row id of its adds, and ``added``, the place of the first of them.
            Empty for a whole file.
    """

    __slots__ = ("facts", "faults", "rows", "small")

    def __init__(
        self,
        small: Sequence[tuple[int, Line]] = (),
        faults: tuple[Fault, ...] = (),
        rows: Rows | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Take what a file holds."""
        self.facts = facts or {}
        self.small = small
        self.faults = faults
        self.rows = Rows.none() if rows is None else rows

    @classmethod
    def merged(cls, parts: Sequence[Lines]) -> Lines:
        """Put the lines of several files one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            [(at + (n << _FILE), line) for n, part in enumerate(parts) for at, line in part.small],
            tuple(fault for part in parts for fault in part.faults),
            Rows.joined(
                [
                    replace(part.rows, order=part.rows.order + (n << _FILE))
                    for n, part in enumerate(parts)
                ]
            ),
            {
                "counts": sum((part.counts() for part in parts), Counter()),
                "highest": max(part.facts.get("highest", -1) for part in parts),
            }
            if any(part.facts for part in parts)
            else None,
        )

    @property
    def damaged(self) -> bool:
        """Whether something may be missing; blank lines lose nothing."""
        return any(fault.kind != "blank" for fault in self.faults)

    def counts(self) -> Counter[str | None]:
        """Count the lines of each action, of the whole file."""
        if "counts" in self.facts:
            return Counter(self.facts["counts"])
        counted = Counter(line.action for _, line in self.small)
        adds = int((self.rows.kind == ADD).sum())
        for action, count in (("add", adds), ("remove", len(self.rows) - adds)):
            if count:
                counted[action] += count
        return counted

    @property
    def rearranges(self) -> bool:
        """Whether a file action of the whole file says that it changes no data."""
        if "rearranges" in self.facts:
            return bool(self.facts["rearranges"])
        if bool((~self.rows.change & ~self.rows.irregular).any()):
            return True
        irregular = self.of("add", "remove", shown=self.rows.irregular)
        return any(line.body.get("dataChange") is False for line in irregular)

    def of(self, *actions: str, shown: Mask | None = None) -> Iterator[Line]:
        """Yield the lines of some actions, in file order; of rows those that are ``shown``."""
        small = ((at, line) for at, line in self.small if line.action in actions)
        return self._merge(small, self._wanted(actions, shown))

    def every(self, shown: Mask | None = None) -> Iterator[Line]:
        """Yield all lines, in file order; of rows those that are ``shown``."""
        return self._merge(iter(self.small), self._wanted(("add", "remove"), shown))

    @property
    def first(self) -> Line | None:
        """The first line."""
        return next(self.every(), None)

    @property
    def first_add(self) -> str | None:
        """The place of the first add of the whole file."""
        if "added" in self.facts:
            place: str | None = self.facts["added"]
            return place
        shown = np.zeros(len(self.rows), np.bool_)
        shown[np.flatnonzero(self.rows.kind == ADD)[:1]] = True
        return next((line.place for line in self.of("add", shown=shown)), None)

    def _wanted(self, actions: Sequence[str], shown: Mask | None) -> npt.NDArray[np.int64]:
        if not len(self.rows) or ("add" not in actions and "remove" not in actions):
            return _NO_ROWS
        if "add" in actions and "remove" in actions:
            return np.arange(len(self.rows)) if shown is None else np.flatnonzero(shown)
        of = self.rows.kind == (ADD if "add" in actions else REMOVE)
        return np.flatnonzero(of if shown is None else of & shown)

    def _merge(
        self, small: Iterator[tuple[int, Line]], at: npt.NDArray[np.int64]
    ) -> Iterator[Line]:
        if not len(at):
            return (line for _, line in small)
        rows = zip(self.rows.order[at].tolist(), self.rows.read(at), strict=True)
        both = heapq.merge(small, rows, key=lambda pair: pair[0])
        return (line for _, line in both)


_FILE: Final = 40
"""Bits for the place of a line in its file; those above number the files."""

_NO_ROWS: Final = np.zeros(0, np.int64)


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
        found = {key: _whole(value) for key, value in pairs}
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates.extend(sorted(key for key, count in counts.items() if count > 1))
        return found

    try:
        value = untrusted.parse_json(data, exact=exact, pairs=collect, constant=_refuse_constant)
    except LimitExceeded as error:
        return Document(None, fault=error.message, limit=error)
    except MemoryError as error:
        limit = out_of_memory(error)
        return Document(None, fault=limit.message, limit=limit)
    except ValueError as error:
        return Document(None, fault=str(error)[:300])
    return Document(value, tuple(duplicates))


def parse_object(text: Any, *, exact: bool = False) -> dict[str, Any] | None:
    """Parse JSON as text in a field; ``None`` where the field has no text, or that no object."""
    value = parse_json(text, exact=exact).value if isinstance(text, str) else None
    return value if isinstance(value, dict) else None


def _line(place: str, document: Any) -> Line:
    known = document if isinstance(document, dict) else {}
    action = next((name for name in ACTIONS if known.get(name) is not None), None)
    body = known[action] if action else {}
    if not isinstance(body, dict):
        body = {}
    elif any(type(value) is float for value in body.values()):
        body = {key: _whole(value) for key, value in body.items()}
    return Line(place, document, action, body)


def _whole(value: Any) -> Any:
    """Return a number without a fraction as an integer: in JSON 5.0 and 5 are one number."""
    return int(value) if type(value) is float and value.is_integer() else value


def read_lines(storage: Storage, path: str) -> Lines:
    """Read newline-delimited JSON; file actions become columns where they are not few."""
    try:
        data = storage.get(path)
    except LimitExceeded as error:
        return Lines(faults=(Fault(path, error.message, limit=error),))
    except OSError as error:
        return Lines(faults=(Fault(path, f"cannot be read: {error}"),))
    if not data:
        return Lines(faults=(Fault(path, "the file is empty", "empty"),))
    if data.count(b"\n") * _MIN_MEAN_LINE_BYTES <= len(data):
        return json_lines(path, enumerate(data.removesuffix(b"\n").split(b"\n")))
    texts, blanks = _without_blanks(path, data)
    if len(texts) * _LINE_COST > budget().limits.memory:
        limit = exceeded("memory", f"the file has {len(texts)} lines", path=path)
        return Lines(faults=(*blanks, Fault(path, limit.message, limit=limit)))
    lines = json_lines(path, texts)
    lines.faults = (*blanks, *lines.faults)
    return lines


def _without_blanks(path: str, data: bytes) -> tuple[list[tuple[int, bytes]], list[Fault]]:
    """Return the lines that are not blank with their places from 0, and a fault for each gap.

    The last fault counts the lines of all gaps that are too many to be named.
    """
    texts: list[tuple[int, bytes]] = []
    faults: list[Fault] = []
    at = 0
    for match in _GAP_OR_LINE.finditer(data):
        if not match.lastindex:
            texts.append((at, match[0].removesuffix(b"\n")))
            at += 1
            continue
        count = data.count(b"\n", *match.span())
        if len(faults) < _GAPS:
            faults.append(_blank(path, at + 1, count))
        else:
            faults[-1] = replace(faults[-1], count=faults[-1].count + count)
        at += count
    return texts, faults


_OTHER_FORMATS: Final = (
    *(b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"\x04\x22\x4d\x18"),
    *(b"\xff\x06\0\0sNaPpY", b"PAR1", b"ORC", b"Obj\x01", b"ARROW1"),
)
"""How files begin: of gzip, bzip2, Zstandard, xz, LZ4, Snappy, Parquet, ORC, Avro and Arrow."""

COLUMNAR: Final = True
"""Whether plain lines become columns; without that every line is parsed with care."""


def json_lines(path: str, texts: Iterable[tuple[int, bytes]]) -> Lines:
    """Make lines of texts of a file with their places in it, from 0."""
    small: list[tuple[int, Line]] = []
    faults: list[Fault] = []
    rows = JsonRows(
        lambda at, text: _line(f"{path}:{at + 1}", parse_json(text).value),
        checkpoint=".checkpoint." in path,
    )
    at = blank = 0
    for at, text in texts:
        if not text or text.isspace():
            blank += 1
            continue
        if blank:
            faults.append(_blank(path, at + 1 - blank, blank))
            blank = 0
        if COLUMNAR and rows.take(at, text):
            continue
        place = f"{path}:{at + 1}"
        parsed = parse_json(text)
        if parsed.limit is not None:
            faults.append(Fault(place, parsed.limit.message, limit=parsed.limit))
        elif parsed.fault is not None:
            other = not at and text.startswith(_OTHER_FORMATS)
            message = f"the line is not JSON: {parsed.fault}"
            faults.append(Fault(place, message, "other format" if other else "no JSON"))
        else:
            line = _line(place, parsed.value)
            files = line.action in ("add", "remove")
            if not files or not rows.add_irregular(at, text, str(line.action), line.body):
                small.append((at, line))
    if blank:
        faults.append(_blank(path, at + 2 - blank, blank))
    return Lines(small, tuple(faults), rows.rows())


def _blank(path: str, number: int, count: int) -> Fault:
    return Fault(f"{path}:{number}", "the line is blank", "blank", count)


def read_document(storage: Storage, path: str, *, spelt: bool = False) -> Document | None:
    """Read a file of one JSON value; ``None`` when the file does not exist.

    Args:
        storage: where the table is.
        path: the file, relative to the root.
        spelt: keep numbers as they are written, too.
    """
    try:
        data = storage.get(path)
        found = parse_json(data)
        if not spelt or found.fault is not None:
            return found
        return replace(found, spelt=json.loads(data, parse_int=Spelt, parse_float=Spelt))
    except LimitExceeded as error:
        return Document(None, fault=error.message, limit=error)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Document(None, fault=f"cannot be read: {error}")


def mapping_in(of: Any, name: str) -> Mapping[str, Any]:
    """Return the object that a JSON object has under a name; empty where there is none."""
    found = of.get(name) if isinstance(of, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _plain(value: Any, of: pa.DataType) -> Any:
    """Turn a Python value of an Arrow column into JSON's kinds: maps become objects."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if pa.types.is_struct(of):
        return {of.field(i).name: _plain(value[of.field(i).name], of.field(i).type)
                for i in range(of.num_fields)}  # fmt: skip
    if pa.types.is_map(of):
        return {str(key): _plain(item, of.item_type) for key, item in value}
    if is_list(of):
        return [_plain(item, of.value_type) for item in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def listed(column: pa.Array) -> list[Any]:
    """Return Python values of a column; points in time that Python has no value for as texts."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):  # Python's years are 1 to 9999, and it has no nanoseconds
        return list(column.cast(_timeless(column.type)).to_pylist())


def _timeless(of: pa.DataType) -> pa.DataType:
    """Return a type with text in the place of dates and timestamps."""
    if pa.types.is_struct(of):
        fields = [of.field(i) for i in range(of.num_fields)]
        return pa.struct([each.with_type(_timeless(each.type)) for each in fields])
    if pa.types.is_map(of):
        return pa.map_(_timeless(of.key_type), _timeless(of.item_type))
    if is_list(of):
        return pa.list_(of.value_field.with_type(_timeless(of.value_type)))
    return pa.string() if pa.types.is_date(of) or pa.types.is_timestamp(of) else of


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of a checkpoint as they were read, with their numbers in it."""

    path: str
    numbers: npt.NDArray[np.int64]
    batch: pa.RecordBatch

    def read(self, at: Sequence[int]) -> list[Line]:
        """Return rows as lines, by their numbers in the batch."""
        batch = self.batch
        some = batch
        if len(at) == 1:
            some = batch.slice(at[0], 1)  # a batch of maps takes a millisecond to take one row of
        elif len(at) < len(batch):
            some = batch.take(pa.array(at, pa.int64()))
        types = [some.schema.field(name).type for name in some.schema.names]
        columns = [listed(column) for column in some.columns]
        return [
            _line(
                f"{self.path}#{self.numbers[row]}",
                {
                    name: _plain(value, of)
                    for name, value, of in zip(batch.schema.names, values, types, strict=True)
                },
            )
            for row, values in zip(at, [*zip(*columns, strict=True)] or [()] * len(at), strict=True)
        ]

    def packed(self, at: Sequence[int]) -> bytes:
        """Return the rows at some places as the bytes of an Arrow IPC stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.batch.schema) as writer:
            writer.write_batch(self.batch.take(pa.array(at, pa.int64())))
        return bytes(sink.getvalue())


def batch_lines(
    path: str, numbers: npt.NDArray[np.int64], batch: pa.RecordBatch
) -> tuple[list[tuple[int, Line]], Rows]:
    """Make lines and rows of a batch of a checkpoint, whose rows have these numbers in it."""
    held = _Batch(path, numbers, batch)
    rows, taken = file_rows(batch, numbers, held)
    others = np.flatnonzero(~taken)
    return list(zip(numbers[others].tolist(), held.read(others.tolist()), strict=True)), rows


def read_parts(storage: Storage, path: str, *, sidecar: bool) -> Iterator[Lines]:
    """Read a file of JSON lines whole, a checkpoint or a sidecar some rows at a time."""
    if path.endswith(".json") and not sidecar:
        yield read_lines(storage, path)
    else:
        yield from parquet_parts(storage, path)


def read_file(storage: Storage, path: str, *, sidecar: bool = False) -> Lines:
    """Read a file of actions; a row without any known action is kept as such."""
    parts = list(read_parts(storage, path, sidecar=sidecar))
    if len(parts) == 1:
        return parts[0]
    return Lines(
        [each for part in parts for each in part.small],
        tuple(fault for part in parts for fault in part.faults),
        Rows.joined([part.rows for part in parts]),
    )


def refuse_names_twice(fields: Iterable[pa.Field]) -> None:
    """Refuse fields of which two beside each other, at any depth, have one name.

    Raises:
        ValueError: they have; such rows are no objects.
    """
    names = set()
    for each in fields:
        if each.name in names:
            raise ValueError(f"there are two fields {each.name[:100]!r} beside each other")
        names.add(each.name)
        of = each.type
        refuse_names_twice(of.field(at) for at in range(of.num_fields))


def parquet_parts(storage: Storage, path: str) -> Iterator[Lines]:
    """Read a checkpoint or sidecar some rows at a time; a fault of the file comes last."""
    try:
        with limits_of_arrow(), storage.open_input(path) as source:
            file = open_parquet(source)
            refuse_names_twice(file.schema_arrow)
            names = [name for name in ACTIONS if name in file.schema_arrow.names]
            start = 0
            refuse_bomb(file.metadata, source.size())
            for batch in bounded(source, file, names):
                budget().check_time()
                batch.validate(full=True)  # Parquet says of any bytes that they are text
                small, rows = batch_lines(path, np.arange(start, start + len(batch)), batch)
                yield Lines(small, (), rows)
                start += len(batch)
    except MemoryError as error:  # Arrow's is one as well
        yield Lines(faults=(Fault(path, "no memory", limit=out_of_memory(error, path)),))
    except LimitExceeded as error:
        yield Lines(faults=(Fault(path, error.message, limit=error),))
    except (OSError, pa.ArrowException, ValueError, KeyError, RecursionError) as error:
        fault = Fault(path, f"cannot be read as Parquet: {str(error)[:200]}")
        yield Lines(faults=(fault,))
