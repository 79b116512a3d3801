"""Open an untrusted Parquet file whose footer is within the limits.

Implements "Data Files" and "Checkpoints". Arrow reads a footer whole, and what it says of itself
may be a lie.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.errors import DataFileTooLarge
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.pages import refuse_large_footer

_MAX_STRING: Final = 1 << 24
"""Most bytes of a string in a footer."""

_AT_ONCE: Final = 1 << 20
"""Bytes of a local file that are read before another thread has begun to fetch them ahead."""


def open_parquet(source: pa.NativeFile, **options: Any) -> pq.ParquetFile:
    """Open a file whose footer is within the limits.

    Args:
        source: the file; it stays open when this fails.
        options: of ``pq.ParquetFile``.

    Raises:
        DataFileTooLarge: the footer is beyond a limit.
        pa.ArrowException: the footer is damaged.
        OSError: the same, or the storage failed.
    """
    limits = budget().limits
    # A store is asked once only; what it reads ahead holds most footers.
    if options.get("metadata") is None and not isinstance(source, pa.PythonFile):
        size = int(source.size())
        length = int.from_bytes(source.read_at(8, max(size - 8, 0))[:4], "little")
        if length <= size:  # another is damaged, and no footer is read
            refuse_large_footer(length)
    try:
        # Obeys PROP-005 PROP-008.
        return pq.ParquetFile(
            source,
            thrift_string_size_limit=_MAX_STRING,
            thrift_container_size_limit=limits.footer_items,
            pre_buffer=isinstance(source, pa.PythonFile) or int(source.size()) > _AT_ONCE,
            # Microseconds are of the table's types; nanoseconds end in 2262.
            **{"coerce_int96_timestamp_unit": "us", **options},
        )
    except OSError as error:
        if "too deeply nested" in str(error):
            made = exceeded("nesting", "Arrow reads at most 100 levels", error=DataFileTooLarge)
            made.hint = "the limit is Arrow's own: no option raises it"
            raise made from error
        if "Exceeded size limit" not in str(error):
            raise
        found = "a list in the footer is longer"
        raise exceeded("footer_items", found, error=DataFileTooLarge) from error
