"""Read one data file: batches of rows in the table's types, with their physical positions.

Implements "Data Files" and "Delta Data Type to Parquet Type Mappings". Columns that a file lacks
are null, columns that the table lacks are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.errors import DataFileNotFound, DataFileTooLarge, DeltaError, InvalidDataFile
from reference_impl.limits import budget, exceeded, out_of_memory
from reference_impl.model.column_mapping import Mode
from reference_impl.parquet.bounds import Bounded
from reference_impl.parquet.opening import open_parquet
from reference_impl.scan.conform import converter, find_columns, missing, refuse_nulls
from reference_impl.storage import Storage, is_failure
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import STRING, Array, DataType, Field, Map, Struct, walk
from reference_impl.types.text import refuse_bad_text

_NULL: Final = 8
"""Bytes of a null, about."""

Kept: TypeAlias = Callable[[int, int], "pa.BooleanArray | None"]
"""Returns the mask of the kept rows of a range; ``None`` for all."""

_BATCH_ROWS = 1 << 18
"""Rows of a batch at most: each batch has its price, and a limit bounds its bytes."""

_COSTS = {"BOOLEAN": 0, "INT32": 1, "FLOAT": 2, "INT64": 3, "DOUBLE": 4, "INT96": 5}

# What pyarrow raises for damaged files.
_DAMAGE = (
    pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError, OverflowError,
    NotImplementedError,
)  # fmt: skip


@contextmanager
def at_file(path: str) -> Iterator[None]:
    """Turn errors of the block into typed errors that name the file.

    Raises:
        DataFileNotFound: the file is missing.
        LimitExceeded: the file takes more than the limits allow.
        InvalidDataFile: the file is damaged.
        OSError: the storage failed.
    """
    try:
        yield
    except DeltaError as error:
        error.path = error.path or path
        raise
    except MemoryError as error:  # Arrow's is one as well
        raise out_of_memory(error, path) from error
    except FileNotFoundError as error:
        raise DataFileNotFound(
            "a data file of this version does not exist",
            path=path,
            hint="it may have been vacuumed: read a later version",
        ) from error
    except _DAMAGE as error:
        if is_failure(error):
            raise  # the file may be intact
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
    kept: Kept = lambda _start, _length: None,
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    """Read columns of a file in physical order.

    Rows that are not kept are not checked: they may have nulls in columns that are not
    nullable, and their values may be replaced by nulls.

    Args:
        storage: the table's storage.
        path: the decoded path of the file.
        columns: the columns to give, none of them a partition column.
        mode: how columns are found in the file.
        hidden: further columns, which no schema lists and which are always found by name.
        width: bytes that the caller adds to each row.
        kept: returns the mask of the rows that the caller keeps, by the position of the first
            row and the number of rows; ``None`` for all.

    Yields:
        The position of the first row, the number of rows, and an array per column and per
        hidden column.

    Raises:
        DataFileNotFound: the file is missing.
        LimitExceeded: the file takes more than the limits allow.
        InvalidDataFile: the file is damaged, or does not hold the columns' types.
    """
    with at_file(path), storage.open_input(path) as source, open_parquet(source) as file:
        wanted = [*((c, mode) for c in columns), *((c, "none") for c in hidden)]
        yield from _batches(source, file, _Columns(file, wanted), width, kept)


def _batches(
    source: pa.NativeFile, file: pq.ParquetFile, columns: _Columns, width: int, kept: Kept
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    limits, size = budget().limits, int(source.size())
    limit = max(limits.data_file, limits.data_file_growth * size)
    # Row counts of a footer are claims: without a column to give, the smallest one is counted.
    names = columns.names or _smallest(file)
    bounded = Bounded(source, file, limit, names, name="data_file", added=columns.added)
    start = decoded = 0
    for batch in bounded.batches(_BATCH_ROWS, width=width + columns.nulls):
        budget().check_time()
        try:
            arrays = columns.take(batch)
        except InvalidDataFile:
            rows = kept(start, batch.num_rows)
            if rows is None:
                raise
            arrays = [_scatter(values, rows) for values in columns.take(batch.filter(rows))]
        decoded += sum(values.nbytes for values in arrays) + (1 + width) * batch.num_rows
        if decoded > limit:
            found = f"{size} bytes decompress to {decoded} and more"
            raise exceeded("data_file", found, error=DataFileTooLarge)
        yield start, batch.num_rows, arrays
        start += batch.num_rows
    if start != file.metadata.num_rows:
        raise InvalidDataFile(f"the footer promises {file.metadata.num_rows} rows, not {start}")


class _Columns:
    """Columns of the table in one file.

    Attributes:
        names: the file's columns that they come from.
        nulls: bytes of a row that the columns which the file lacks take.
        added: by the number of a leaf of the file, bytes that conversion adds to each value.
    """

    def __init__(self, file: pq.ParquetFile, wanted: Sequence[tuple[Field, Mode]]) -> None:
        """Find the columns; raises :class:`InvalidDataFile` for a type that does not convert."""
        self._held = list(file.schema_arrow)
        _refuse_lost_ids(self._held, wanted)
        self._columns = [column for column, _ in wanted]
        self._sources = find_columns(self._held, wanted)
        self._converters = [
            None if at is None else converter(self._held[at], column, mode)
            for at, (column, mode) in zip(self._sources, wanted, strict=True)
        ]
        self._textual = [
            any(of == STRING for _, of in walk(column.type)) for column in self._columns
        ]
        self.names = sorted({self._held[at].name for at in self._sources if at is not None})
        # Nulls take room as values do.
        self.nulls = _null_bytes(self._columns, self._sources)
        grown = _bytes_added(self._held, wanted, self._sources)
        self.added = {leaf: size for leaf, size in enumerate(grown) if size}

    def take(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Read the columns of a batch; raises :class:`InvalidDataFile` for what does not fit."""
        arrays = []
        for at, change, column, text in zip(
            self._sources, self._converters, self._columns, self._textual, strict=True
        ):
            if at is None:
                values = missing(column.type, batch.num_rows)
            else:
                values = batch.column(self._held[at].name)
                values = values if change is None else change(values)
            if text:
                refuse_bad_text(values)
            refuse_nulls(values, column)
            arrays.append(values)
        return arrays


def _scatter(values: pa.Array, kept: pa.BooleanArray) -> pa.Array:
    """Put the values of kept rows at their positions, and nulls between them."""
    places = pc.subtract(pc.cumulative_sum(kept.cast(pa.int64())), 1)
    return values.take(pc.if_else(kept, places, None))


def _refuse_lost_ids(held: Sequence[pa.Field], wanted: Sequence[tuple[Field, Mode]]) -> None:
    by_id = any(mode == "id" for _, mode in wanted)
    if held and by_id and not any(b"PARQUET:field_id" in (f.metadata or {}) for f in held):
        raise InvalidDataFile(
            "the table finds columns by field id and the file has none", requirement="CM-027"
        )


def _smallest(file: pq.ParquetFile) -> list[str]:
    """Name the column with the narrowest type."""
    # Not by the sizes of column chunks: with some damaged footers pyarrow aborts.
    columns = [file.schema.column(at) for at in range(len(file.schema))]
    ranked = sorted(columns, key=lambda column: _COSTS.get(column.physical_type, len(_COSTS)))
    return [column.path for column in ranked[:1]]


def _null_bytes(fields: Iterable[Field], sources: Iterable[int | None]) -> int:
    """Return about how many bytes the nulls take of fields without a source, and all in them."""
    # Few bytes of a file become many where fields are missing or numbers widened.
    pairs = zip(fields, sources, strict=True)
    return _NULL * sum(1 for field, at in pairs if at is None for _ in walk(field.type))


def _bytes_added(
    held: Sequence[pa.Field], wanted: Sequence[tuple[Field, Mode]], sources: Sequence[int | None]
) -> list[int]:
    """Return how many bytes conversion adds to each value, for every leaf of fields of a file.

    What a struct lacks counts at its first leaf, which has as many values or more.

    Args:
        held: the fields of the file, or of a struct in it.
        wanted: the columns, or nested fields, of the table, and how they are found.
        sources: which of the former each of the latter is, as
            :func:`~reference_impl.scan.conform.find_columns` says.
    """
    found = dict(zip(sources, wanted, strict=True))
    leaves = []
    for at, field in enumerate(held):
        if at in found:
            column, mode = found[at]
            leaves += _bytes_added_to(field.type, column.type, mode)
        else:
            leaves += _bytes_added_to(field.type, None, "none")
    return leaves


def _bytes_added_to(stored: pa.DataType, wanted: DataType | None, mode: Mode) -> list[int]:
    if isinstance(stored, pa.BaseExtensionType):
        return _bytes_added_to(stored.storage_type, wanted, mode)
    if pa.types.is_dictionary(stored):
        return _bytes_added_to(stored.value_type, wanted, mode)
    inner = [stored.field(at) for at in range(stored.num_fields)]
    if not inner:
        return [0 if wanted is None else _widened(stored, wanted)]
    kinds: list[DataType | None] = [None] * len(inner)
    match wanted:
        case Struct(fields) if pa.types.is_struct(stored):
            columns: list[tuple[Field, Mode]] = [(field, mode) for field in fields]
            sources = find_columns(inner, columns)
            leaves = _bytes_added(inner, columns, sources)
            leaves[0] += _null_bytes(fields, sources)
            return leaves
        case Map(key, value) if pa.types.is_map(stored):
            inner, kinds = [stored.key_field, stored.item_field], [key, value]
        case Array(element) if len(inner) == 1:
            kinds = [element]
        case _:
            pass
    pairs = zip(inner, kinds, strict=True)
    return [size for field, kind in pairs for size in _bytes_added_to(field.type, kind, mode)]


def _widened(stored: pa.DataType, wanted: DataType) -> int:
    try:
        return max(int(arrow_type(wanted).bit_width) - int(stored.bit_width), 0) // 8
    except ValueError:  # of strings
        return 0
