"""Edit the footer of a Parquet file, to lay lists out as writers of old did.

Serves "Delta Data Type to Parquet Type Mappings": a list may have two levels or three, and no
current library writes two. The levels of a list whose elements are never null are the same in
both layouts, so that only the schema in the footer has to change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from generators.materialise.thrift import Items, Record, decode_record, encode_record

__all__ = ["flatten_lists"]

_MAGIC: Final = b"PAR1"
_INTEGER, _BINARY = 5, 8
_REQUIRED, _REPEATED = 0, 2

# Field ids of the footer's structs.
_SCHEMA, _ROW_GROUPS, _COLUMNS, _CHUNK_METADATA, _PATH = 2, 4, 1, 3, 3
_REPETITION, _NAME, _CHILDREN = 3, 4, 5


def flatten_lists(path: Path) -> None:
    """Turn the three-level lists of a file into two-level ones of the old name ``array``.

    Raises:
        ValueError: a list holds something other than primitive elements that are never null.

    """
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = decode_record(data[start:-8])
    footer.get(_SCHEMA).values = _flat(footer.get(_SCHEMA).values)
    for group in footer.get(_ROW_GROUPS).values:
        for chunk in group.get(_COLUMNS).values:
            place: Items = chunk.get(_CHUNK_METADATA).get(_PATH)
            if b"list" in place.values:
                place.values = [*place.values[: place.values.index(b"list")], b"array"]
    text = encode_record(footer)
    path.write_bytes(data[:start] + text + len(text).to_bytes(4, "little") + _MAGIC)


def _flat(elements: list[Record]) -> list[Record]:
    """Give the elements of the schema without the middle level of lists."""
    kept = []
    inside = False
    for element in elements:
        if element.get(_NAME) == b"list" and element.get(_REPETITION) == _REPEATED:
            inside = True
            continue
        if inside:
            if element.get(_CHILDREN) is not None or element.get(_REPETITION) != _REQUIRED:
                raise ValueError("only required primitive elements keep their levels")
            element.set(_REPETITION, _INTEGER, _REPEATED)
            element.set(_NAME, _BINARY, b"array")
            inside = False
        kept.append(element)
    return kept
