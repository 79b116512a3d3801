"""What a file holds, whatever it is called.

Covers "Checkpoint Naming Scheme", "Log Compaction Files" and "Version Checksum File": a file of
another name belongs to the log by what is in it.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from conformance.audit.read.raw import ACTIONS
from reference_impl.errors import DeltaError
from reference_impl.parquet.opening import open_parquet
from reference_impl.storage import Storage

_BEGINNING: Final = 1 << 16
"""Bytes that are looked at."""

_PARQUET: Final = b"PAR1"
_CODECS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
"""How a packed file begins, and the codec that Arrow unpacks it by."""

_ACTION: Final = re.compile(rf'\s*\{{\s*"(?:{"|".join(ACTIONS)})"\s*:\s*\{{'.encode())
_SUMS: Final = (b'"tableSizeBytes"', b'"numFiles"')


def is_parquet(storage: Storage, path: str) -> bool | None:
    """Return whether a file begins as Parquet does; ``None`` where it cannot be read."""
    try:
        return storage.get_range(path, 0, len(_PARQUET)) == _PARQUET
    except (OSError, ValueError, DeltaError):
        return None


def is_log_content(storage: Storage, path: str) -> bool:
    """Return whether a file has actions, as lines or as columns, or is a checksum.

    ``False`` for a file that cannot be read, or only beyond the limits.
    """
    try:
        with storage.open_input(path) as source:
            if source.read(len(_PARQUET)) == _PARQUET:
                return any(name in ACTIONS for name in open_parquet(source).schema_arrow.names)
            source.seek(0)
            text = _unpacked(source)
    except (OSError, DeltaError, pa.ArrowException, ValueError):
        return False
    return _ACTION.match(text) is not None or all(each in text for each in _SUMS)


def _unpacked(source: Any) -> bytes:
    """Return how a file begins, a packed one as it was before."""
    text = bytes(source.read(_BEGINNING))
    codec = next((codec for magic, codec in _CODECS.items() if text.startswith(magic)), None)
    if codec is None:
        return text
    source.seek(0)
    return bytes(pa.CompressedInputStream(source, codec).read(_BEGINNING))
