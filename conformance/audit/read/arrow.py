"""What is of Arrow, and not of the Parquet file that it reads.

A writer may leave a schema of Arrow's own in the footer, as an entry of the key-value metadata,
which is free. "Delta Data Type to Parquet Type Mappings" is about what the columns of the file are:
a number that Arrow takes for a duration is an int64, and a text that it takes for JSON is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as at

from reference_impl.errors import LimitExceeded


def schema_of(file: pq.ParquetFile) -> pa.Schema:
    """Return the columns of a file, in the types that the file itself has."""
    return as_stored(file.schema_arrow)


def as_stored(schema: pa.Schema) -> pa.Schema:
    """Return a schema without extension types and durations; layouts of one type stay."""
    return pa.schema([_field(each) for each in schema], schema.metadata)


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(_type(field.type))


def _type(of: pa.DataType) -> pa.DataType:  # noqa: PLR0911  one return per kind of type
    if isinstance(of, pa.BaseExtensionType):
        return _type(of.storage_type)
    if at.is_duration(of):
        return pa.int64()
    if at.is_struct(of):
        return pa.struct([_field(each) for each in of])
    if at.is_map(of):
        return pa.map_(_field(of.key_field), _field(of.item_field), of.keys_sorted)
    if at.is_fixed_size_list(of):
        return pa.list_(_field(of.value_field), of.list_size)
    for test, make in _LISTS:
        if test(of):
            return make(_field(of.value_field))
    return of


_LISTS: Final = (
    (at.is_list, pa.list_),
    (at.is_large_list, pa.large_list),
    (at.is_list_view, pa.list_view),
    (at.is_large_list_view, pa.large_list_view),
)

_BEYOND: Final = re.compile(
    "supported by the Parquet format in general|no decryption found|^Cannot decrypt "
)
"""What Arrow says of a file that is packed by LZO, and of one that is encrypted."""


@contextmanager
def limits_of_arrow() -> Iterator[None]:
    """Raise a limit for a file that Arrow does not read, and that may be Parquet all the same.

    Raises:
        LimitExceeded: by the name ``arrow``.
    """
    try:
        yield
    except OSError as error:
        if not _BEYOND.search(str(error)):
            raise
        hint = "the limit is Arrow's own: no option raises it"
        message = str(error)[:200]
        raise LimitExceeded(message, limit="arrow", allowed=None, hint=hint) from error
