"""Which stored types fit a column, by what Parquet says of them and by recorded type changes.

Covers "Delta Data Type to Parquet Type Mappings" and "Type Widening".
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.findings import Severity
from conformance.audit.grammar.types import decimal_of, is_primitive, widens
from conformance.audit.read.layout import Layout
from conformance.audit.read.state import FieldKey
from conformance.audit.stored.places import SchemaPlace
from conformance.judging.compare.families import is_list

TypeMismatch: TypeAlias = tuple[str, str, Severity | None]
"""Requirement, message, and a severity where it is not the registry's."""

_NAMES: Final[Mapping[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
}
_UNIT: Final = "us"


def type_name(stored: pa.DataType) -> str:
    """Name a stored type as a schema would; another text where no primitive type is stored so."""
    if at.is_dictionary(stored):
        return type_name(stored.value_type)
    if at.is_decimal(stored):
        return f"decimal({stored.precision},{stored.scale})"
    if at.is_timestamp(stored):
        return "timestamp" if stored.tz else "timestamp_ntz"
    for test, name in (
        (at.is_string, "string"),
        (at.is_large_string, "string"),
        (at.is_string_view, "string"),
        (at.is_binary, "binary"),
        (at.is_large_binary, "binary"),
        (at.is_binary_view, "binary"),
        (at.is_fixed_size_binary, "binary"),
        (at.is_date, "date"),
    ):
        if test(stored):
            return name
    return _NAMES.get(stored, str(stored))


def type_mismatches(
    column: SchemaPlace, layout: Layout, widened: Container[FieldKey], *, int96: bool
) -> Iterator[TypeMismatch]:
    """Yield what does not fit in a top-level column, at any depth.

    Args:
        column: with what the file has of it.
        layout: of the table.
        widened: where type changes were recorded in this version or an earlier one.
        int96: whether timestamps in it are stored as int96, which says nothing of zones.
    """
    for place in column.walk():
        if place.stored is not None:
            for requirement, message, severity in _mismatches(
                place, place.stored.type, layout, int96=int96
            ):
                yield requirement, message, severity
                if requirement == "TW-006" and place.field_key in widened:
                    yield "TW-009", f"a type change of column {place.name} was recorded", None


def _mismatches(
    place: SchemaPlace, stored: pa.DataType, layout: Layout, *, int96: bool
) -> Iterator[TypeMismatch]:
    declared = place.declared
    if isinstance(declared, Mapping):
        kind = str(declared.get("type"))
        if not _nested(kind, stored):
            yield (
                "WCON-005",
                f"column {place.name} is {kind} in the schema and {stored} in the file",
                None,
            )
        return
    if declared == "variant":
        if not _variant(stored):
            message = f"column {place.name} is variant in the schema and {stored} in the file"
            yield "VAR-003", message, None
        return
    if declared == "void":
        yield "VOID-001", f"the void column {place.name} is in the file", None
        return
    if not isinstance(declared, str) or not is_primitive(declared):
        return  # the schema is reported
    held = type_name(stored)
    if at.is_timestamp(stored) and declared in _ZONES:
        yield from _timestamp_mismatches(place.name, declared, stored, int96=int96)
    elif held != _canonical_name(declared):
        yield from _widening_mismatches(place, held, layout)


def _canonical_name(declared: str) -> str:
    sized = decimal_of(declared)
    return declared if sized is None else f"decimal({sized[0]},{sized[1]})"


_ZONES: Final = {"timestamp": ("SCH-015", "PQ-008"), "timestamp_ntz": ("SCH-019", "PQ-009")}
"""The requirement of isAdjustedToUTC, and the one of the unit."""


def _timestamp_mismatches(
    name: str, declared: str, stored: pa.DataType, *, int96: bool
) -> Iterator[TypeMismatch]:
    if int96:
        return
    zone, unit = _ZONES[declared]
    if (stored.tz is None) != (declared == "timestamp_ntz"):
        flag = "false" if stored.tz is None else "true"
        yield zone, f"column {name} is {declared}, but isAdjustedToUTC is {flag}", None
    if stored.unit != _UNIT:
        message = (
            f"column {name} is {declared}, and the file counts {stored.unit}, not microseconds"
        )
        # The table of types describes what is stored, and older writers counted otherwise.
        yield unit, message, "warning"


def _widening_mismatches(place: SchemaPlace, held: str, layout: Layout) -> Iterator[TypeMismatch]:
    """Judge a stored type that is another than the declared one."""
    what = f"column {place.name} is {place.declared} in the schema and {held} in the file"
    if (held, place.declared) in UNANNOTATED:
        yield UNANNOTATED[held, place.declared], f"{what}, which does not say so", "warning"
    elif not widens(held, place.declared):
        yield "WCON-005", what, None
    elif "typeWidening" not in layout.features:
        yield "WCON-005", f"{what}, and typeWidening is not supported", None
    elif not place.changes:
        yield "TW-006", f"{what}, and no type change is recorded", None
    elif not _changes_lead_to(place.changes, held, _canonical_name(place.declared)):
        yield "TW-009", f"{what}, and the recorded type changes do not begin with {held}", None


UNANNOTATED: Final[Mapping[tuple[str, str], str]] = {
    ("binary", "string"): "PQ-013",
    ("integer", "byte"): "PQ-003",
    ("integer", "short"): "PQ-004",
}
"""Stored and declared type that differ by an annotation of Parquet alone."""


def _changes_lead_to(changes: tuple[tuple[str, str], ...], held: str, declared: str) -> bool:
    """Follow the records from the stored type to the declared one."""
    now = None
    for before, after in changes:
        if now in (None, _canonical_name(before)) and (
            now is not None or _canonical_name(before) == held
        ):
            now = _canonical_name(after)
    return now == declared


def _nested(kind: str, of: pa.DataType) -> bool:
    match kind:
        case "struct":
            return bool(at.is_struct(of))
        case "array":
            return is_list(of)
        case _:
            return bool(at.is_map(of) or is_list(of))


def _variant(of: pa.DataType) -> bool:
    """Accept the struct of two binary parts, and what is shredded beside them."""
    if not at.is_struct(of):
        return False
    parts: dict[str, Any] = {each.name: each.type for each in of}
    if "typed_value" in parts:
        return "metadata" in parts and type_name(parts["metadata"]) == "binary"
    return parts.keys() == {"metadata", "value"} and all(
        type_name(each) == "binary" for each in parts.values()
    )
