"""Which Arrow types of a Parquet column fit a Delta type.

Serves "Delta Data Type to Parquet Type Mappings".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.layout import Column

__all__ = ["unfit"]

_Test = Callable[[pa.DataType], bool]


def _narrower_integer(bits: int) -> _Test:
    """Accept integers up to a width: a column may have been widened since."""
    return lambda of: bool(at.is_signed_integer(of)) and of.bit_width <= bits


def _timestamp(of: pa.DataType) -> bool:
    return bool(at.is_timestamp(of))


def _text(of: pa.DataType) -> bool:
    return bool(at.is_string(of) or at.is_large_string(of) or at.is_string_view(of))


def _bytes(of: pa.DataType) -> bool:
    tests = (at.is_binary, at.is_large_binary, at.is_binary_view, at.is_fixed_size_binary)
    return any(test(of) for test in tests)


_FITS: Final[Mapping[str, _Test]] = {
    "boolean": at.is_boolean,
    "byte": _narrower_integer(8),
    "short": _narrower_integer(16),
    "integer": _narrower_integer(32),
    "long": _narrower_integer(64),
    "float": at.is_float32,
    "double": lambda of: bool(at.is_float32(of) or at.is_float64(of)) or _narrower_integer(32)(of),
    "string": lambda of: _text(of) or _bytes(of),
    "binary": lambda of: _bytes(of) or _text(of),
    "date": at.is_date,
    "timestamp": _timestamp,
    "timestamp_ntz": lambda of: _timestamp(of) or bool(at.is_date(of)),
}
"""Delta type to a test; a narrower stored type is one that type widening allows."""


def _decimal(of: pa.DataType) -> bool:
    return bool(at.is_decimal(of)) or _narrower_integer(64)(of)


def _nested(kind: str, of: pa.DataType) -> bool:
    match kind:
        case "struct":
            return bool(at.is_struct(of))
        case "array":
            return bool(at.is_list(of) or at.is_large_list(of) or at.is_list_view(of))
        case _:
            return bool(at.is_map(of) or at.is_list(of))


def _fits(declared: Any, of: pa.DataType) -> bool:
    if isinstance(declared, dict):
        return _nested(str(declared.get("type")), of)
    name = str(declared)
    if name.startswith("decimal"):
        return _decimal(of)
    test = _FITS.get(name)
    return True if test is None else bool(test(of))


def _variant(of: pa.DataType) -> bool:
    """Accept the struct of two binary parts, and what is shredded beside them."""
    if not at.is_struct(of):
        return False
    parts = {each.name: each.type for each in of}
    if "typed_value" in parts:
        return "metadata" in parts and _bytes(parts["metadata"])
    return parts.keys() == {"metadata", "value"} and all(map(_bytes, parts.values()))


def unfit(column: Column, stored: pa.DataType, *, int96: bool) -> Iterator[tuple[str, str]]:
    """Yield requirement and message where a stored column does not fit its declared type.

    Args:
        column: of the schema.
        stored: the column's type as Arrow reads it.
        int96: whether it is stored as int96, which does not tell of zones.

    """
    if not _fits(column.type, stored):
        declared = column.type.get("type") if isinstance(column.type, dict) else column.type
        yield (
            "WCON-005",
            f"column {column.name} is {declared} in the schema and {stored} in the file",
        )
    if column.type == "variant" and not _variant(stored):
        yield "VAR-003", f"column {column.name} is variant in the schema and {stored} in the file"
    if int96 or not _timestamp(stored):
        return
    if column.type == "timestamp" and stored.tz is None:
        yield "SCH-015", f"column {column.name} is timestamp, but isAdjustedToUTC is false"
    if column.type == "timestamp_ntz" and stored.tz is not None:
        yield "SCH-019", f"column {column.name} is timestamp_ntz, but isAdjustedToUTC is true"
