"""Families of Arrow types: what the protocol pins of a column's type, and nothing more.

Covers the "Schema Serialization Format" section: a Delta type maps to one family. Width, unit
and encoding (``int32`` against ``int64``, milliseconds against microseconds, dictionary or view
encodings) are an engine's own affair; the family is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from pyarrow import types

_LEAVES = (
    (types.is_boolean, "boolean"),
    (types.is_integer, "integer"),
    (types.is_floating, "floating"),
    (types.is_decimal, "decimal"),
    (types.is_date, "date"),
    (types.is_null, "void"),
    (types.is_string, "string"),
    (types.is_large_string, "string"),
    (types.is_string_view, "string"),
    (types.is_binary, "binary"),
    (types.is_large_binary, "binary"),
    (types.is_binary_view, "binary"),
    (types.is_fixed_size_binary, "binary"),
)
_LISTS = (
    types.is_list,
    types.is_large_list,
    types.is_fixed_size_list,
    types.is_list_view,
    types.is_large_list_view,
)


def storage_of(data_type: pa.DataType) -> pa.DataType:
    """Return the type that carries the values: extensions and encodings taken off.

    Returns:
        The same type when it is no extension, dictionary or run-end encoding.
    """
    if isinstance(data_type, pa.BaseExtensionType):
        return storage_of(data_type.storage_type)
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return storage_of(data_type.value_type)
    return data_type


def is_list(data_type: pa.DataType) -> bool:
    """Return whether a type is a list in any of Arrow's layouts."""
    return any(test(data_type) for test in _LISTS)


def is_variant(data_type: pa.DataType) -> bool:
    """Return whether a type is the storage of a variant: binary ``metadata`` and ``value``."""
    if not types.is_struct(data_type) or data_type.num_fields != 2:
        return False
    fields = {field.name: family_of(field.type) for field in data_type}
    return fields == {"metadata": "binary", "value": "binary"}


def family_of(data_type: pa.DataType) -> str:
    """Name the family of a type, nested families written out.

    Returns:
        For example ``"integer"``, ``"timestamp_ntz"`` or ``"list<struct<'a': string>>"``.
        Struct fields are in the order of their names, since the order of fields is not compared.
        A type that no Delta type maps to is named ``other:<arrow type>``.
    """
    data_type = storage_of(data_type)
    for test, name in _FAMILIES:
        if test(data_type):
            return name if isinstance(name, str) else name(data_type)
    return f"other:{data_type}"


def _struct_family(data_type: pa.DataType) -> str:
    fields = sorted((field.name, family_of(field.type)) for field in data_type)
    return "struct<" + ", ".join(f"{name!r}: {family}" for name, family in fields) + ">"


_FAMILIES: Final[
    tuple[tuple[Callable[[pa.DataType], bool], str | Callable[[pa.DataType], str]], ...]
] = (
    *_LEAVES,
    (types.is_timestamp, lambda t: "timestamp_ntz" if t.tz is None else "timestamp"),
    (is_list, lambda t: f"list<{family_of(t.value_type)}>"),
    (types.is_map, lambda t: f"map<{family_of(t.key_type)}, {family_of(t.item_type)}>"),
    (is_variant, "variant"),
    (types.is_struct, _struct_family),
)
