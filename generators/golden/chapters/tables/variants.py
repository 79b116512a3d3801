"""Cases of variants, whole and shredded."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from struct import pack
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, projected, publish
from generators.golden.cases.table import EPOCH, DataFile, GoldenTable, add, feature_protocol
from generators.golden.chapters.files.types import local
from generators.materialise.data import variants as encoded
from generators.materialise.data.data_files import write_parquet
from generators.oracle.delta_schema import Struct, array, field, struct

SHREDDING = Chapter("variant-shredding", since="upstream")
VARIANT = Chapter("variant-type", since="upstream")

_VARIANT = struct(id="long", v="variant")
_METADATA = b"\x01\x00\x00"  # version 1, an empty dictionary
_ENCODED: Sequence[bytes | None] = (
    b"\x00",  # null
    b"\x04",  # true
    b"\x0c\x07",  # the byte 7
    b"\x09hi",  # the short string "hi"
    b"\x03\x02\x00\x02\x04\x0c\x01\x0c\x02",  # the array [1, 2]
    None,  # no variant at all
)


def _variant_table(case: CaseWriter) -> GoldenTable:
    return GoldenTable.of(case, _VARIANT, protocol=feature_protocol(["variantType"]))


def _registered(table: GoldenTable, data: pa.Table, rows: Sequence[Mapping[str, Any]]) -> DataFile:
    """Write a file of rows as they are stored; ``rows`` are what they stand for."""
    name = f"part-{table.unique_name('variant')}.parquet"
    body = {
        "path": name,
        "partitionValues": {},
        "size": write_parquet(table.root / name, data),
        "modificationTime": EPOCH,
        "dataChange": True,
    }
    return table.register(DataFile(body, tuple(map(dict, rows)), table.schema))


def _register_variants(
    table: GoldenTable, start: int, stored: Any, values: Sequence[Any]
) -> DataFile:
    """Write a file of ids and stored variants; ``values`` are what they stand for."""
    ids = range(start, start + len(values))
    data = pa.table({"id": pa.array(ids, pa.int64()), "v": stored})
    rows = [{"id": n, "v": value} for n, value in zip(ids, values, strict=True)]
    return _registered(table, data, rows)


def _variant_file(table: GoldenTable, start: int, order: Sequence[str]) -> DataFile:
    """Write a file of every encoded value, the group's members in the given order."""
    values = [None if each is None else {"metadata": _METADATA, "value": each} for each in _ENCODED]
    members = pa.struct([pa.field(name, pa.binary(), nullable=False) for name in order])
    return _register_variants(table, start, pa.array(values, members), values)


@VARIANT.case("unshredded", "VAR-001 VAR-002 VAR-004 VAR-005")
def _unshredded(case: CaseWriter) -> None:
    """An unshredded variant keeps its values."""
    table = _variant_table(case)
    table.create(add(_variant_file(table, 0, ("value", "metadata"))))
    case.judged["read-latest"] = "VAR-005"
    publish(case, table)
    projected(case, table, "project-id", ["id"], "The other columns are read alone")


@VARIANT.case("member-order", "VAR-003 VAR-004")
def _member_order(case: CaseWriter) -> None:
    """The members of a variant come in either order."""
    table = _variant_table(case)
    table.create(add(_variant_file(table, 0, ("value", "metadata"))))
    table.commit(add(_variant_file(table, 10, ("metadata", "value"))))
    publish(case, table)


@VARIANT.case("within-lists", "VAR-004 VAR-005")
def _within_lists(case: CaseWriter) -> None:
    """A null variant in a list is an item, and a null in its place is none."""
    schema = struct(id="long", v=array("variant"))
    table = GoldenTable.of(case, schema, protocol=feature_protocol(["variantType"]))
    values = [None if each is None else {"metadata": _METADATA, "value": each} for each in _ENCODED]
    members = pa.struct(
        [pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")]
    )
    lists = [values, None, [], [values[0]], [None]]
    table.create(add(_register_variants(table, 0, pa.array(lists, pa.list_(members)), lists)))
    describe(case, table)
    case.read("read-latest", schema, table.rows(), title="Each item is the one that was put in")


@VARIANT.case("without-feature", "VAR-001")
def _variant_unlisted(case: CaseWriter) -> None:
    """A variant column without its feature is invalid."""
    table = GoldenTable.of(case, _VARIANT)
    table.create(add(_variant_file(table, 0, ("value", "metadata"))))
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "VAR-001")
    refused = Accepted("refused", "the type needs its feature", refusal=refusal)
    read = Accepted("read", "a reader that knows the type reads it", rows=table.rows())
    case.contest_read("The table is refused or read", _VARIANT, refused, read)


@VARIANT.case("partition-column", "VAR-006")
def _variant_partition(case: CaseWriter) -> None:
    """A variant is no partition column."""
    table = _variant_table(case)
    table.create()
    describe(case, table)
    table.commit(table.metadata(partitionColumns=["v"]))
    refusal = Refusal("invalid_table", "load", "VAR-006")
    refused = Accepted("refused", "a variant cannot be a partition column", refusal=refusal)
    read = Accepted("read", "without files there is nothing to read wrong", rows=[])
    case.contest_read("The table is refused, or empty", _VARIANT, refused, read)


def _shredded_table(case: CaseWriter, schema: Struct = _VARIANT) -> GoldenTable:
    return GoldenTable.of(
        case,
        schema,
        protocol=feature_protocol(["variantShredding", "variantType"]),
        properties={"delta.enableVariantShredding": "true"},
    )


def _group(typed: pa.DataType, *, rest: bool = True) -> pa.DataType:
    """Return the type of a field or element: what is left of it, and its typed value."""
    plain = [pa.field("value", pa.binary())] if rest else []
    return pa.struct([*plain, pa.field("typed_value", typed)])


def _shredded_as(typed: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("metadata", pa.binary(), nullable=False), *_group(typed)])


def _whole(metadata: bytes, value: bytes) -> dict[str, bytes]:
    return {"metadata": metadata, "value": value}


@SHREDDING.case("typed-and-untyped", "SHRED-003 SHRED-004 SHRED-006")
def _shredded(case: CaseWriter) -> None:
    """Shredded and unshredded values read alike."""
    table = _shredded_table(case)
    # Per row: the untyped rest, the typed value, and the encoding of the whole.
    parts = ((None, 7, b"\x0c\x07"), (b"\x09hi", None, b"\x09hi"), (None, -1, b"\x0c\xff"))
    stored = [
        {"metadata": _METADATA, "value": rest, "typed_value": typed} for rest, typed, _ in parts
    ]
    values = [{"metadata": _METADATA, "value": whole} for _, _, whole in parts]
    shredded = _register_variants(
        table, 0, pa.array([*stored, None], _shredded_as(pa.int64())), [*values, None]
    )
    table.create(add(shredded))
    table.commit(add(_variant_file(table, 10, ("metadata", "value"))))
    publish(case, table)


@SHREDDING.case("bounds-of-paths", "VAR-009 VAR-010 VAR-011 VAR-012 SHRED-006")
def _bounds_of_paths(case: CaseWriter) -> None:
    """A file is read whose statistics bound what is inside of its variants."""
    table = _shredded_table(case)
    metadata, names = encoded.dictionary(["a", "b"]), ("a", "b")
    least, most, text = b"\x0c\x05", b"\x10\x2c\x01", encoded.short_string("x")
    objects = [{"a": least}, {"a": most, "b": text}, {"a": least, "b": b"\x00"}]
    stored = [_whole(metadata, encoded.object_of(each, names)) for each in objects]
    members = pa.struct([pa.field(name, pa.binary(), nullable=False) for name in stored[0]])
    sides = {"minValues": least, "maxValues": most}
    stats: dict[str, Any] = {"numRecords": 4, "nullCount": {"id": 0, "v": 1}}
    for (side, bound), at in zip(sides.items(), (0, 3), strict=True):
        stats[side] = {"id": at, "v": encoded.bounds({"$['a']": bound, "$['b']": text})}
    whole = _register_variants(table, 0, pa.array([*stored, None], members), [*stored, None])
    table.create(add(whole, stats=json.dumps(stats, separators=(",", ":"))))
    case.judged["read-latest"] = "SHRED-006"
    publish(case, table)


_INSTANT = local(2024, 2, 29, 12, 30, 15, 123456)
_MICROS = 1_709_209_815_123_456  # of the same, since 1970 in UTC
_LONG_TEXT = "ä" * 32  # of 64 bytes, one more than a short string has
_UUID = bytes(range(0xF0, 0x100))


def _signed(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little", signed=True)


def _scaled(number: int, width: int, unscaled: int, scale: int) -> bytes:
    return encoded.primitive(number, bytes((scale,)) + _signed(unscaled, width))


def _integers(number: int, width: int, *values: int) -> list[tuple[int, bytes]]:
    return [(value, encoded.primitive(number, _signed(value, width))) for value in values]


_TYPED: Mapping[str, tuple[pa.DataType, Sequence[tuple[Any, bytes]]]] = {
    "int8": (pa.int8(), _integers(3, 1, -128, 127)),
    "int16": (pa.int16(), _integers(4, 2, -(2**15), 128)),
    "int32": (pa.int32(), _integers(5, 4, -(2**31), 2**15)),
    "int64": (pa.int64(), _integers(6, 8, -(2**63), 2**31)),
    "float": (pa.float32(), [(0.5, encoded.primitive(14, pack("<f", 0.5)))]),
    "double": (
        pa.float64(),
        [(value, encoded.primitive(7, pack("<d", value))) for value in (0.1, -math.inf)],
    ),
    "boolean": (pa.bool_(), [(True, encoded.primitive(1)), (False, encoded.primitive(2))]),
    "decimal4": (
        pa.decimal128(9, 2),
        [
            (Decimal("-1234567.89"), _scaled(8, 4, -123456789, 2)),
            (Decimal(7), _scaled(8, 4, 700, 2)),
        ],
    ),
    "decimal8": (
        pa.decimal128(18, 9),
        [(Decimal("123456789.1"), _scaled(9, 8, 123456789100000000, 9))],
    ),
    "decimal16": (
        pa.decimal128(38, 10),
        [
            (
                Decimal("-1234567890123456789012345678.5"),
                _scaled(10, 16, -12345678901234567890123456785 * 10**9, 10),
            ),
            (Decimal("0.0000000001"), _scaled(10, 16, 1, 10)),
        ],
    ),
    "date": (pa.date32(), [(date(1969, 12, 31), encoded.primitive(11, _signed(-1, 4)))]),
    "time": (pa.time64("us"), [(time(0, 0, 1, 5), encoded.primitive(17, _signed(1_000_005, 8)))]),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        [(_INSTANT, encoded.primitive(12, _signed(_MICROS, 8)))],
    ),
    "local": (pa.timestamp("us"), [(_INSTANT, encoded.primitive(13, _signed(_MICROS, 8)))]),
    "nanos": (
        pa.timestamp("ns", tz="UTC"),
        [(_INSTANT, encoded.primitive(18, _signed(_MICROS * 1000, 8)))],
    ),
    "local_nanos": (
        pa.timestamp("ns"),
        [(_INSTANT, encoded.primitive(19, _signed(_MICROS * 1000, 8)))],
    ),
    "binary": (pa.binary(), [(b"\x00\xff", encoded.primitive(15, b"\x02\x00\x00\x00\x00\xff"))]),
    "string": (
        pa.string(),
        [
            ("", encoded.short_string("")),
            ("é" * 31 + "x", encoded.short_string("é" * 31 + "x")),
            (_LONG_TEXT, encoded.primitive(16, b"\x40\x00\x00\x00" + _LONG_TEXT.encode())),
        ],
    ),
    "uuid": (pa.uuid(), [(_UUID, encoded.primitive(20, _UUID))]),
}
"""Types of shredded values, with values and their encoding."""


def _values_of(of: pa.DataType, values: Sequence[Any]) -> pa.Array[Any]:
    if isinstance(of, pa.BaseExtensionType):
        return of.wrap_array(pa.array(values, of.storage_type))
    return pa.array(values, of)


@SHREDDING.case("every-type", "SHRED-006 SHRED-003")
def _every_type(case: CaseWriter) -> None:
    """A shredded value of every type is the variant that it was."""
    schema = struct(field("id", "long"), *(field(name, "variant") for name in _TYPED))
    table = _shredded_table(case, schema)
    count = max(len(values) for _, values in _TYPED.values())
    rows: list[dict[str, Any]] = [{"id": n} for n in range(count + 1)]
    columns: dict[str, Any] = {"id": pa.array(range(count + 1), pa.int64())}
    for name, (typed, values) in _TYPED.items():
        shown = [values[n % len(values)] for n in range(count)]
        for row, (_, whole) in zip(rows, shown, strict=False):
            row[name] = _whole(_METADATA, whole)
        # A value of another type is stored whole.
        rows[-1][name] = _whole(_METADATA, b"\x09hi")
        parts = (
            pa.array([_METADATA] * (count + 1), pa.binary()),
            pa.array([*[None] * count, b"\x09hi"], pa.binary()),
            _values_of(typed, [*(value for value, _ in shown), None]),
        )
        columns[name] = pa.StructArray.from_arrays(parts, fields=list(_shredded_as(typed)))
    table.create(add(_registered(table, pa.table(columns), rows)))
    case.judged["read-latest"] = "SHRED-006"
    publish(case, table)


_NAMES = ("b", "a", "rest", "n", "ä", "unused")
_DICTIONARY = encoded.dictionary(_NAMES)
_SMALL = encoded.primitive(3, b"\x05")
_WORD = encoded.short_string("word")
_TRUE = encoded.primitive(1)
_NESTED = pa.struct([pa.field("ä", _group(pa.string()), nullable=False)])
_OBJECT = pa.struct(
    [
        pa.field("a", _group(pa.int64()), nullable=False),
        pa.field("b", _group(pa.string(), rest=False), nullable=False),
        pa.field("n", _group(_NESTED), nullable=False),
    ]
)


def _parts(a: Any = None, b: Any = None, n: Any = None) -> dict[str, Any]:
    """Return a shredded object: each field is missing, typed, or bytes of another type."""

    def part(value: Any) -> dict[str, Any]:
        return {"value": value} if isinstance(value, bytes) else {"typed_value": value}

    nested = n if n is None or isinstance(n, bytes) else {"ä": part(n["ä"])}
    return {"a": part(a), "b": part(b), "n": part(nested)}


def _whole_object(fields: Mapping[str, bytes]) -> bytes:
    return encoded.object_of(fields, _NAMES)


_REST = {"rest": _WORD, "unused": _TRUE, "ä": _SMALL}
_LEFT = (
    encoded.Widths(),
    encoded.Widths(ids=2, offsets=3),
    encoded.Widths(ids=4, offsets=2, large=True),
    encoded.Widths(ids=3, offsets=4),
)


@SHREDDING.case("objects", "SHRED-006 SHRED-003")
def _shredded_objects(case: CaseWriter) -> None:
    """An object is its shredded fields and what is left of it."""
    table = _shredded_table(case)
    ab = {"a": _SMALL, "b": _WORD}
    deep = {"n": _whole_object({"ä": _WORD})}
    wide = encoded.dictionary(_NAMES, 2)
    # Per row: metadata, what is left, the shredded fields, and the whole.
    parts: list[tuple[bytes, bytes | None, Any, bytes]] = [
        (_DICTIONARY, None, _parts(5, "word"), _whole_object(ab)),
        (_DICTIONARY, None, _parts(), _whole_object({})),
        (_DICTIONARY, None, _parts(_TRUE), _whole_object({"a": _TRUE})),
        (_DICTIONARY, None, _parts(b"\x00"), _whole_object({"a": b"\x00"})),
        (wide, None, _parts(n={"ä": "word"}), _whole_object(deep)),
        (_DICTIONARY, None, _parts(n={"ä": None}), _whole_object({"n": _whole_object({})})),
        (_DICTIONARY, None, _parts(n=_WORD), _whole_object({"n": _WORD})),
        (_DICTIONARY, _WORD, None, _WORD),
        (_DICTIONARY, _whole_object({"rest": _TRUE}), None, _whole_object({"rest": _TRUE})),
        (_DICTIONARY, None, None, b"\x00"),
    ]
    # What is left of an object within another stands beside its shredded fields.
    inner = {"value": _whole_object({"rest": _TRUE}), **_parts(n={"ä": "word"})["n"]}
    whole = _whole_object({"n": _whole_object({"rest": _TRUE, "ä": _WORD})})
    parts.append((_DICTIONARY, None, {**_parts(), "n": inner}, whole))
    for widths in _LEFT:
        left = encoded.object_of(_REST, _NAMES, widths, ("ä", "unused", "rest"))
        parts.append((_DICTIONARY, left, _parts(5, "word"), _whole_object({**_REST, **ab})))
    long_text = encoded.primitive(16, b"\x2c\x01\x00\x00" + b"x" * 300)
    parts.append((wide, None, _parts(long_text, "x" * 300, {"ä": "y"}), _whole_long(long_text)))
    stored = [
        {"metadata": metadata, "value": rest, "typed_value": typed}
        for metadata, rest, typed, _ in parts
    ]
    values = [_whole(metadata, whole) for metadata, _, _, whole in parts]
    kind = _shredded_as(_OBJECT)
    file = _register_variants(table, 0, pa.array([*stored, None], kind), [*values, None])
    table.create(add(file))
    case.judged["read-latest"] = "SHRED-006"
    publish(case, table)


def _whole_long(text: bytes) -> bytes:
    fields = {"a": text, "b": text, "n": _whole_object({"ä": encoded.short_string("y")})}
    return encoded.object_of(fields, _NAMES, encoded.Widths(offsets=2))


_MANY = 300


@SHREDDING.case("many-fields", "SHRED-006 SHRED-003")
def _many_fields(case: CaseWriter) -> None:
    """An object of more than 255 fields is put together."""
    table = _shredded_table(case)
    names = [f"f{number:03}" for number in range(_MANY)]
    dictionary = encoded.dictionary(names, 3)
    fields = {name: encoded.primitive(4, _signed(at, 2)) for at, name in enumerate(names)}
    left = {name: value for name, value in fields.items() if name != "f299"}
    wide = encoded.Widths(ids=2, offsets=2, large=True)
    typed = pa.struct([pa.field("f299", _group(pa.int64()), nullable=False)])
    stored = [
        {
            "metadata": dictionary,
            "value": encoded.object_of(left, names, wide),
            "typed_value": {"f299": {"typed_value": 299}},
        }
    ]
    whole = encoded.object_of(fields, names, wide)
    file = _register_variants(
        table, 0, pa.array(stored, _shredded_as(typed)), [_whole(dictionary, whole)]
    )
    table.create(add(file))
    case.judged["read-latest"] = "SHRED-006"
    publish(case, table)


@SHREDDING.case("arrays", "SHRED-006 SHRED-003")
def _shredded_arrays(case: CaseWriter) -> None:
    """An array is its elements, each typed or not."""
    table = _shredded_table(case)
    pair = pa.struct([pa.field("a", _group(pa.int64()), nullable=False)])
    kind = _shredded_as(
        pa.struct(
            [
                pa.field(
                    "a",
                    _group(pa.list_(pa.field("element", _group(pa.int64()), nullable=False))),
                    nullable=False,
                ),
                pa.field(
                    "b",
                    _group(pa.list_(pa.field("element", _group(pair), nullable=False))),
                    nullable=False,
                ),
            ]
        )
    )

    def typed(value: Any) -> dict[str, Any]:
        return {"typed_value": value}

    def number(value: int) -> bytes:
        return encoded.primitive(5, _signed(value, 4))

    none: dict[str, Any] = {}
    many = list(range(_MANY))
    numbers = encoded.array_of([number(n) for n in many], encoded.Widths(offsets=2, large=True))
    objects = [_whole_object({"a": number(1)}), _whole_object({})]
    parts = [
        ([typed(1), {"value": _WORD}, {"value": b"\x00"}], [number(1), _WORD, b"\x00"]),
        ([], []),
        (None, None),
        ([typed(-1)], [number(-1)]),
        # An item that is neither typed nor plain is a null of the variant.
        ([typed(1), none, typed(2)], [number(1), b"\x00", number(2)]),
    ]
    stored: list[Any] = []
    values: list[Any] = []
    for shredded, whole in parts:
        fields = {} if whole is None else {"a": encoded.array_of(whole)}
        stored.append({"metadata": _DICTIONARY, "typed_value": {"a": typed(shredded), "b": none}})
        values.append(_whole(_DICTIONARY, _whole_object(fields)))
        if whole is not None and len(stored) == 1:
            stored.append(None)
            values.append(None)
    stored.append(
        {
            "metadata": _DICTIONARY,
            "typed_value": {
                "a": typed([typed(n) for n in many]),
                "b": typed([typed({"a": typed(1)}), typed({"a": none})]),
            },
        }
    )
    both = {"a": numbers, "b": encoded.array_of(objects)}
    values.append(_whole(_DICTIONARY, encoded.object_of(both, _NAMES, encoded.Widths(offsets=2))))
    table.create(add(_register_variants(table, 0, pa.array(stored, kind), values)))
    case.judged["read-latest"] = "SHRED-006"
    publish(case, table)
