"""Read one data file: batches of rows in the table's types, with their physical positions.

Serves "Data Files" and "Delta Data Type to Parquet Type Mappings". Columns that a file lacks are
null, columns that the table lacks are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.column_mapping import Mode
from reference_impl.errors import DataFileNotFound, DataFileTooLarge, DeltaError, InvalidDataFile
from reference_impl.parquet_bounds import Bounded, Unfolds
from reference_impl.scan.conform import converter, find_column, missing, refuse_nulls
from reference_impl.storage import Storage, is_failure
from reference_impl.types.model import STRING, DataType, Field, children
from reference_impl.types.text import refuse_bad_text

__all__ = ["at_file", "read_batches"]

_BATCH_ROWS = 1 << 16
_MAX_STRING = 1 << 24
_MAX_CONTAINER = 1 << 22
"""Bounds on what a footer may ask to be allocated: bytes of a string, items of a list."""

_SUSPECT = 384 << 20
_EXPANSION = 100
"""A file that unfolds to more bytes than the one, and by more than the other, is a bomb."""

_NULL = 8
"""Bytes of a null, about."""

_COSTS = {"BOOLEAN": 0, "INT32": 1, "FLOAT": 2, "INT64": 3, "DOUBLE": 4, "INT96": 5}

# What pyarrow raises for files that are not what they claim to be.
_DAMAGE = (
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    MemoryError,
    NotImplementedError,
)


@contextmanager
def at_file(path: str) -> Iterator[None]:
    """Turn what goes wrong inside into typed errors that name the file.

    Raises:
        DataFileNotFound: the file is missing.
        DataFileTooLarge: the file unfolds beyond measure.
        InvalidDataFile: the file is damaged.
        OSError: the storage failed.

    """
    try:
        yield
    except DeltaError as error:
        error.path = error.path or path
        raise
    except Unfolds as error:
        raise DataFileTooLarge(
            str(error),
            path=path,
            hint="rewrite the table's files in smaller ones if their content is genuine",
        ) from error
    except FileNotFoundError as error:
        raise DataFileNotFound(
            "a data file of this version does not exist",
            path=path,
            action="add",
            hint="it may have been vacuumed: read a later version",
        ) from error
    except _DAMAGE as error:
        if is_failure(error):
            raise  # the file may be as good as any
        raise InvalidDataFile(
            f"the file cannot be read as Parquet: {str(error)[:300]}", path=path
        ) from error


def read_batches(  # noqa: PLR0913  each argument is one fact about what is read
    storage: Storage,
    path: str,
    columns: Sequence[Field],
    mode: Mode,
    hidden: Sequence[Field] = (),
    *,
    width: int = 0,
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    """Read columns of a file in physical order.

    Args:
        storage: the table's storage.
        path: the decoded path of the file.
        columns: the columns to give, none of them a partition column.
        mode: how columns are found in the file.
        hidden: further columns, which no schema lists and which are always found by name.
        width: bytes that the caller adds to each row.

    Yields:
        The position of the first row, the number of rows, and an array per column and per
        hidden column.

    Raises:
        DataFileNotFound: the file is missing.
        DataFileTooLarge: the file unfolds beyond measure.
        InvalidDataFile: the file is damaged, or does not hold the columns' types.

    """
    with (
        at_file(path),
        storage.open_input(path) as source,
        pq.ParquetFile(
            source,
            coerce_int96_timestamp_unit="us",
            # What is in memory already need not be fetched ahead.
            pre_buffer=not isinstance(source, pa.MemoryMappedFile),
            thrift_string_size_limit=_MAX_STRING,
            thrift_container_size_limit=_MAX_CONTAINER,
        ) as file,
    ):
        wanted = [*((c, mode) for c in columns), *((c, "none") for c in hidden)]
        limit = max(_SUSPECT, _EXPANSION * source.size())
        yield from _batches(source, file, wanted, limit, width)


def _batches(
    source: pa.NativeFile,
    file: pq.ParquetFile,
    wanted: Sequence[tuple[Field, Mode]],
    limit: int,
    width: int,
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    held = list(file.schema_arrow)
    if any(mode == "id" for _, mode in wanted):
        _refuse_lost_ids(held)
    columns = [column for column, _ in wanted]
    sources = [find_column(held, column, mode) for column, mode in wanted]
    converters = [
        None if at is None else converter(held[at], column, mode)
        for at, (column, mode) in zip(sources, wanted, strict=True)
    ]
    names = sorted({held[at].name for at in sources if at is not None})
    # Row counts of a footer are claims: without a column to give, the smallest one is counted.
    names = names or _smallest(file)
    textual = [_has_text(column.type) for column in columns]
    start = unfolded = 0
    # Nulls take room as values do.
    lacking = [column for at, column in zip(sources, columns, strict=True) if at is None]
    nulls = _NULL * sum(_count(column.type) for column in lacking)
    bounded = Bounded(source, file, limit, names)
    for batch in bounded.batches(_BATCH_ROWS, width=width + nulls):
        arrays = []
        for at, change, column, text in zip(sources, converters, columns, textual, strict=True):
            if at is None:
                values = missing(column, batch.num_rows)
            else:
                values = batch.column(held[at].name)
                values = values if change is None else change(values)
            if text:
                refuse_bad_text(values)
            refuse_nulls(values, column)
            arrays.append(values)
        unfolded += sum(values.nbytes for values in arrays) + (1 + width) * batch.num_rows
        if unfolded > limit:
            raise Unfolds(f"{source.size()} bytes unfold to more than {limit}")
        yield start, batch.num_rows, arrays
        start += batch.num_rows
    if start != file.metadata.num_rows:
        raise InvalidDataFile(f"the footer promises {file.metadata.num_rows} rows, not {start}")


def _has_text(of: DataType) -> bool:
    return of == STRING or any(_has_text(inner) for _, inner in children(of))


def _count(of: DataType) -> int:
    """Count the arrays that make up one of a type."""
    return 1 + sum(_count(inner) for _, inner in children(of))


def _refuse_lost_ids(held: Sequence[pa.Field]) -> None:
    if held and not any(b"PARQUET:field_id" in (f.metadata or {}) for f in held):
        raise InvalidDataFile(
            "the table finds columns by field id and the file has none", requirement="CM-027"
        )


def _smallest(file: pq.ParquetFile) -> list[str]:
    """Name the column that is the cheapest to count, as far as the schema tells."""
    # Not the sizes of column chunks: for some damaged footers asking ends the process.
    columns = [file.schema.column(at) for at in range(len(file.schema))]
    ranked = sorted(columns, key=lambda column: _COSTS.get(column.physical_type, len(_COSTS)))
    return [column.path for column in ranked[:1]]
