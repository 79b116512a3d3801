"""Edit the footer of a Parquet file, which says what no current library would write.

Serves "Delta Data Type to Parquet Type Mappings" for the layouts of old writers, and the files
whose footers lie about what is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from generators.materialise.data.thrift import Record, decode_record, encode_record

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
"""Bytes after the footer: its length, and the magic word."""

# Field ids of the footer's structs.
_ROW_GROUPS, _COLUMNS = 4, 1


def edit_footer(path: Path, change: Callable[[Record], Any]) -> int:
    """Change the footer of a file in place; pages stay as they are.

    Args:
        path: the file.
        change: changes the footer's struct, ``FileMetaData``; what it returns is left.

    Returns:
        The new size of the file in bytes.

    """
    data = path.read_bytes()
    start = len(data) - _TAIL - int.from_bytes(data[-_TAIL:-4], "little")
    footer = decode_record(data[start:-_TAIL])
    change(footer)
    text = encode_record(footer)
    content = data[:start] + text + len(text).to_bytes(4, "little") + _MAGIC
    path.write_bytes(content)
    return len(content)


def chunks(footer: Record) -> list[list[Record]]:
    """Return the column chunks of each row group, to be changed in place."""
    return [group.get(_COLUMNS).values for group in footer.get(_ROW_GROUPS).values]
