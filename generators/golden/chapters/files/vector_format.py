"""Cases of a deletion vector's bytes: containers, layouts, and every kind of damage."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.publish import describe, filtered, read_spec
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, DataFile, GoldenTable, add
from generators.golden.chapters.files.deletion_vectors import (
    numbered,
    store,
    vector_table,
    with_vector,
)
from generators.materialise.data.data_files import FileLayout, write_parquet
from generators.materialise.data.deletion_vectors import (
    StoredVector,
    inline_descriptor,
    serialize_vector,
    serialize_vector_native,
    vector_file_name,
    write_vector_file,
)
from generators.materialise.log.files import json_text
from generators.oracle.delta_schema import struct

FORMAT = Chapter("deletion-vector-format", since="2025")


@FORMAT.case("containers", "DVFMT-007 DVFMT-002 DVFMT-003 DVDESC-021")
def _containers(case: CaseWriter) -> None:
    """Array, bitmap and run containers are all read."""
    table = vector_table(case, struct(id="integer"))
    count = 70_000
    rows = [{"id": n} for n in range(count)]
    sets = {
        "array": [1, 5, 65_535, 65_536, 69_999],
        "run": range(100, 60_000),
        "bitmap": [n for n in range(count) if n % 3],
    }
    file = table.create_with(rows, layout=FileLayout(compression="zstd"))
    old: Any = ...
    for members in sets.values():
        vector = store(table, members)[0]
        table.commit(*with_vector(file, vector, old))
        old = vector
    describe(case, table)
    # The last rows lie beyond the first batch of most readers.
    case.judged["last-v1"] = "DVDESC-021"
    first = compare("id", "<", 8, "integer")
    last = compare("id", ">=", 69_990, "integer")
    for version in (1, 2, 3):
        filtered(case, table, f"first-v{version}", first, "The first rows", version=version)
        filtered(case, table, f"last-v{version}", last, "The last rows", version=version)
    read_spec(case, table, 2)


@FORMAT.case("containers-in-turns", "DVFMT-007 DVFMT-005 DVFMT-002")
def _containers_in_turns(case: CaseWriter) -> None:
    """Containers of all kinds stand side by side in one vector."""
    schema = struct(id="integer", low="integer")
    table = vector_table(case, schema)
    each = 65_536
    rows = [{"id": n // 256, "low": n % 256} for n in range(9 * each + 1000)]
    name = f"part-{table.unique_name('file')}.zstd.parquet"
    data = pa.table({n: pa.array([row[n] for row in rows], pa.int32()) for n in ("id", "low")})
    body = {
        "path": name,
        "partitionValues": {},
        "size": write_parquet(table.root / name, data, FileLayout(compression="zstd")),
        "modificationTime": EPOCH,
        "dataChange": True,
        "stats": json_text({"numRecords": len(rows)}),
    }
    file = table.register(DataFile(body, tuple(rows), schema))
    table.create(add(file))
    members = [
        *range(10),
        20,
        *range(100, 60_000),
        *range(each, 2 * each, 16),  # 4096 values, and one more than an array has
        each + 1,
        *range(2 * each, 3 * each, 16),  # as many as an array has
        *range(3 * each, 3 * each + 100),
        3 * each + 999,
        *range(4 * each - 300, 4 * each),  # to the last row that a container has
        # Two of each kind side by side, the second beginning before the first ends.
        *range(4 * each, 4 * each + 300),
        *range(4 * each + 600, 4 * each + 900),
        *range(5 * each + 7, 6 * each, 3),
        *range(6 * each, 7 * each, 2),
        7 * each + 40_000,
        8 * each - 1,
        8 * each + 1,
        8 * each + 513,
        *range(9 * each, 9 * each + 500),
    ]
    table.commit(*with_vector(file, store(table, members)[0]))
    describe(case, table)
    ends = [256 * at + n for at in (4, 5, 6, 7, 8) for n in (0, 2, 3, 255)]
    ids = [0, 233, 234, 256, 511, 512, 640, 767, 768, 771, 1022, 1023, *ends, 1948, 2304, 2306]
    gone = set(members)
    kept = [row for n, row in enumerate(rows) if n // 256 in ids and n not in gone]
    title = "The rows where containers begin and end"
    case.read("edges", schema, kept, title=title, filter=is_in("id", ids, "integer"))


_CONTAINER: Final = 65_536
"""Rows of a container."""


def _all_deleted_but(case: CaseWriter, left: Sequence[tuple[int, set[int]]]) -> None:
    """Build files of so many rows, of which vectors leave few."""
    table = vector_table(case, struct(file="integer", id="integer"))
    files, vectors = [], []
    for number, (count, kept) in enumerate(left):
        # What is deleted is never asked for: a constant takes no room.
        rows = [{"file": number, "id": n if n in kept else -1} for n in range(count)]
        files.append(table.file(rows, layout=FileLayout(compression="zstd")))
        vectors += store(table, [n for n in range(count) if n not in kept])
    table.create(*map(add, files))
    pairs = zip(files, vectors, strict=True)
    table.commit(*(each for file, vector in pairs for each in with_vector(file, vector)))
    describe(case, table)
    read_spec(case, table, 1)


@FORMAT.case("runs-of-few-containers", "DVFMT-007 DVFMT-005 DVFMT-002")
def _runs(case: CaseWriter) -> None:
    """Bitmaps with runs are read whatever their number of containers."""
    # Offsets are there from four containers on; the flags of eight fill a byte.
    each = _CONTAINER
    left = []
    for number, containers in enumerate((1, 3, 4, 7, 8, 9)):
        count = containers * each - 10
        kept = {at * each + 7 * (number + 1) for at in range(containers)}
        left.append((count, kept | {count - 1}))
    _all_deleted_but(case, left)


@FORMAT.case("whole-containers", "DVFMT-007 DVFMT-005 DVFMT-002")
def _whole_containers(case: CaseWriter) -> None:
    """Runs that fill a container are read, alone and among others."""
    each = _CONTAINER
    left = (
        (each, set[int]()),
        (each + 3, {each, each + 2}),
        (2 * each, {*range(0, each, 4096)}),
        (3 * each + 5, {7, 2 * each - 1, *range(2 * each, 2 * each + 9), 3 * each + 4}),
        (5 * each + 1, {each, 3 * each + 40_000, 5 * each}),
    )
    _all_deleted_but(case, left)


@FORMAT.case("row-beyond-32-bits", "DVFMT-001 DVFMT-004 DVFMT-005 DVFMT-006 DVDESC-021")
def _large(case: CaseWriter) -> None:
    """A vector may name rows that need more than 32 bits."""
    table = vector_table(case)
    file = table.create_with(numbered(4))
    table.commit(*with_vector(file, store(table, [1, 2**32, 2**33 + 7])[0]))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "DVFMT-001")
    case.judged["read-latest"] = "DVDESC-021"
    case.contest_read(
        "The rows that exist are deleted, or the vector is refused",
        PAIR,
        Accepted("read", "rows that the file lacks are deleted already", rows=table.rows()),
        Accepted("refused", "a vector names rows of its own file", refusal=refusal),
    )
    read_spec(case, table, 0)


@FORMAT.case("native-layout", "DVDESC-019 DVFMT-008 DVFMT-009")
def _native(case: CaseWriter) -> None:
    """The older native layout is read or refused."""
    table = vector_table(case)
    file = table.create_with(numbered(6))
    rows = [1, 4]
    vector = inline_descriptor(rows, data=serialize_vector_native(rows))
    table.commit(*with_vector(file, table.register_vector(vector, rows)))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "DVFMT-009")
    case.contest_read(
        "The rows of the native layout are deleted, or it is refused",
        PAIR,
        Accepted("read", "the protocol's own inline example has this layout", rows=table.rows()),
        Accepted("refused", "the format has one magic number", refusal=refusal),
    )


@FORMAT.case("absent-offset", "DVDESC-012 DVDESC-013", since="upstream")
def _absent_offset(case: CaseWriter) -> None:
    """A stored vector without offset starts its file."""
    table = vector_table(case)
    file = table.create_with(numbered(4))
    vector = dict(store(table, [1])[0])
    path = next(table.root.glob("deletion_vector_*.bin"))
    # Without offset the size field comes first: the byte of the file's version is not there.
    path.write_bytes(path.read_bytes()[1:])
    del vector["offset"]
    table.commit(*with_vector(file, table.register_vector(vector, [1])))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "DVSTO-003")
    case.contest_read(
        "The row is deleted, or the file's layout is refused",
        PAIR,
        Accepted("read", "an absent offset counts as 0", rows=table.rows()),
        Accepted("refused", "2025: a vector file begins with its version", refusal=refusal),
    )
    read_spec(case, table, 0)


@dataclass(frozen=True, slots=True)
class _Damage:
    """A way to damage the vector of rows 1 and 3, by descriptor or by bytes."""

    title: str
    requirement: str
    apply: Callable[[GoldenTable], Mapping[str, Any]]
    contested: bool = False
    kind: str = "invalid_table"


_ROWS = [1, 3]


def _stored(table: GoldenTable, **vector: Any) -> dict[str, Any]:
    identity = uuid.UUID(table.unique_name("vector"))
    return write_vector_file(table.root, identity, [StoredVector(_ROWS, **vector)])[0]


def _spoil_file(table: GoldenTable, spoil: Callable[[bytes], bytes]) -> dict[str, Any]:
    identity = uuid.UUID(table.unique_name("vector"))
    descriptor = write_vector_file(table.root, identity, [StoredVector(_ROWS)])[0]
    path = table.root / vector_file_name(identity)
    path.write_bytes(spoil(path.read_bytes()))
    return descriptor


def _lost(table: GoldenTable) -> dict[str, Any]:
    identity = uuid.UUID(table.unique_name("vector"))
    descriptor = write_vector_file(table.root, identity, [StoredVector(_ROWS)])[0]
    (table.root / vector_file_name(identity)).unlink()
    return descriptor


_PORTABLE = serialize_vector(_ROWS)
_OF_READERS = ("DV-004", "DVSTO-008", "DVFMT-009")
"""Requirements of damages that a reader is held to; the others bind who writes the vector."""

_DAMAGES = {
    "wrong-crc": _Damage(
        "A vector of a wrong checksum is refused, or read where it is whole",
        "DVSTO-007",
        lambda table: _stored(table, checksum=1),
        contested=True,
    ),
    "flipped-bit": _Damage(
        "A vector with a flipped bit is refused",
        "DVSTO-008",
        lambda table: _spoil_file(table, lambda data: data[:-8] + b"\x00" + data[-7:]),
    ),
    "wrong-size": _Damage(
        "A vector whose size is not that in its file is refused, or read by it",
        "DVSTO-005",
        lambda table: {**_stored(table), "sizeInBytes": len(_PORTABLE) - 2},
        contested=True,
    ),
    "size-past-file": _Damage(
        "A vector that claims to be longer than its file is refused or read",
        "DVDESC-009",
        lambda table: {**_stored(table), "sizeInBytes": 1_000_000_000},
        contested=True,
    ),
    "offset-past-file": _Damage(
        "An offset past the end of the file is refused",
        "DVDESC-007",
        lambda table: {**_stored(table), "offset": 1_000_000},
    ),
    "truncated-file": _Damage(
        "A vector file that is cut short is refused",
        "DVSTO-006",
        lambda table: _spoil_file(table, lambda data: data[:20]),
    ),
    "file-missing": _Damage(
        "A vector file that is not there fails the read", "DV-004", _lost, kind="not_found"
    ),
    "wrong-magic": _Damage(
        "A vector of an unknown magic number is refused",
        "DVFMT-009",
        lambda table: _stored(table, data=b"\x00\x01\x02\x03" + _PORTABLE[4:]),
    ),
    "inline-wrong-magic": _Damage(
        "An inline vector of an unknown magic number is refused",
        "DVFMT-009",
        lambda _: inline_descriptor(_ROWS, data=b"\x00\x01\x02\x03" + _PORTABLE[4:]),
    ),
    "inline-not-z85": _Damage(
        "An inline vector that is no Z85 text is refused",
        "DVDESC-011",
        lambda _: {**inline_descriptor(_ROWS), "pathOrInlineDv": "~~ ~~" * 9},
    ),
    "unknown-storage-type": _Damage(
        "A vector of an unknown storage type is refused",
        "DVDESC-001",
        lambda _: {**inline_descriptor(_ROWS), "storageType": "x"},
    ),
    "short-uuid": _Damage(
        "A relative vector whose text is too short is refused",
        "DVDESC-002",
        lambda table: {**_stored(table), "pathOrInlineDv": "abc"},
    ),
    "wrong-cardinality": _Damage(
        "A wrong cardinality is refused, or the bitmap wins",
        "DVDESC-010",
        lambda table: {**_stored(table), "cardinality": 5},
        contested=True,
    ),
    "wrong-file-version": _Damage(
        "Another version of the vector file is refused or not looked at",
        "DVSTO-003",
        lambda table: _spoil_file(table, lambda data: b"\x02" + data[1:]),
        contested=True,
    ),
    "inline-with-offset": _Damage(
        "An inline vector with an offset is refused, or read",
        "DVDESC-008",
        lambda _: {**inline_descriptor(_ROWS), "offset": 4},
        contested=True,
    ),
}


def _damaged(case: CaseWriter, damage: _Damage) -> None:
    table = vector_table(case)
    file = table.create_with(numbered(6))
    vector = table.register_vector(damage.apply(table), _ROWS)
    table.commit(*with_vector(file, vector), operation="DELETE")
    describe(case, table)
    # What a malformed vector marks may be any row.
    judged = damage.requirement if damage.requirement in _OF_READERS else "DVDESC-020"
    refusal = Refusal(damage.kind, "read", judged, code="FAILED_READ_FILE.NO_HINT")  # type: ignore[arg-type]
    if damage.contested:
        case.contest_read(
            damage.title,
            PAIR,
            Accepted("refused", "the descriptor breaks the format", refusal=refusal),
            Accepted("read", "the bitmap itself is whole", rows=table.rows()),
        )
    else:
        case.refuse("read", "read-latest", refusal, title=damage.title, hazard="silent wrong data")
    read_spec(case, table, 0)


for _name, _damage in _DAMAGES.items():
    FORMAT.define(
        f"damaged-{_name}",
        _damage.title,
        list(dict.fromkeys((_damage.requirement, "DVDESC-020"))),
        partial(_damaged, damage=_damage),
    )
