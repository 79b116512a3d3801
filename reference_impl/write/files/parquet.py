"""Write one Parquet file, as the properties of the table ask for.

Implements "Data Files" and upstream's table properties for codec and page version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.errors import InvalidMetadata
from reference_impl.limits import exceeded
from reference_impl.storage import Storage

_CODEC: Final = "delta.parquet.compression.codec"
_VERSION: Final = "delta.parquet.format.version"
_CODECS: Final = frozenset({"none", "snappy", "gzip", "lz4", "zstd", "brotli"})
_ALIASES: Final = {"uncompressed": "none", "lz4_raw": "lz4"}
"""Codecs as pyarrow names them, and other names that the property may have for them."""

_PAGES_V2: Final = re.compile(r"2\.\d{1,4}\.\d{1,4}", re.ASCII)
_ROW_GROUP_ROWS: Final = 1 << 20
_SAMPLE: Final = 4096
_MOST_LEVELS: Final = 100
"""Levels of the schema of a Parquet file that Arrow reads, the root among them."""


@dataclass(frozen=True, slots=True)
class ParquetStyle:
    """How files are written.

    Attributes:
        codec: as the Parquet writer names it.
        pages: version of data pages.
    """

    codec: str
    pages: str

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> ParquetStyle:
        """Read the properties of a table.

        Raises:
            InvalidMetadata: the codec or the version cannot be written.
        """
        # Obeys PROP-001 PROP-002 PROP-003 PROP-006.
        named = configuration.get(_CODEC, "zstd").lower()
        codec = _ALIASES.get(named, named)
        version = configuration.get(_VERSION, "1.0.0")
        if codec not in _CODECS:
            raise _refused(_CODEC, named, "PROP-004")
        if version != "1.0.0" and _PAGES_V2.fullmatch(version) is None:
            raise _refused(_VERSION, version, "PROP-007")
        return cls(codec, "1.0" if version == "1.0.0" else "2.0")


def write_parquet(storage: Storage, path: str, rows: pa.Table, style: ParquetStyle) -> int:
    """Write a Parquet file; returns its size in bytes.

    Raises:
        LimitExceeded: columns are nested so deep that Arrow would not read them again.
    """
    refuse_deep(rows.schema.types)
    # Obeys ICE2-017 SHRED-002.
    sink = pa.BufferOutputStream()
    # Without Arrow's own schema every reader derives types from the Parquet schema alone.
    pq.write_table(
        rows,
        sink,
        compression=style.codec,
        store_schema=False,
        row_group_size=_ROW_GROUP_ROWS,
        data_page_version=style.pages,
        use_dictionary=_dictionaries(rows),
    )
    data = sink.getvalue()
    storage.put(path, data.to_pybytes())
    return int(data.size)


def refuse_deep(types: Iterable[pa.DataType]) -> None:
    """Refuse columns that are nested so deep that Arrow would not read their file again.

    Raises:
        LimitExceeded: a type has more levels than readers follow.
    """
    if any(_levels(of) >= _MOST_LEVELS for of in types):
        raise exceeded("nesting", f"Arrow reads at most {_MOST_LEVELS} levels of a Parquet file")


def _levels(of: pa.DataType) -> int:
    """Return how deep a Parquet schema of a type is; a list or a map takes two levels."""
    inner = max((_levels(of.field(at).type) for at in range(of.num_fields)), default=0)
    # The field of a map is the struct of its keys and values.
    return inner + (2 if pa.types.is_list(of) else 1)


def _dictionaries(rows: pa.Table) -> Any:
    """Name the columns whose values repeat, by a sample.

    A dictionary of values that hardly repeat is built and then discarded.
    """
    if rows.num_rows <= _SAMPLE or any(pa.types.is_nested(f.type) for f in rows.schema):
        return True
    sample = rows.slice(0, _SAMPLE)
    return [
        name
        for name, column in zip(sample.column_names, sample.columns, strict=True)
        if not pa.types.is_boolean(column.type) and pc.count_distinct(column).as_py() < _SAMPLE // 2
    ]


def _refused(name: str, value: str, requirement: str) -> InvalidMetadata:
    return InvalidMetadata(
        f"{name} is {value[:40]!r}, which no file is written with",
        stage="commit",
        requirement=requirement,
    )
