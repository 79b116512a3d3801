"""Lists and maps as older Parquet writers laid them out.

Covers "Delta Data Type to Parquet Type Mappings" ("either as 2-level or 3-level
representation"). The levels and values of the pages are the same in all layouts; what differs is
the schema in the footer, which is rewritten here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from generators.materialise.data.thrift import Items, Record, decode_record, encode_record

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
"""Bytes after the footer: its length, and the magic word."""

ListLayout: TypeAlias = Literal["standard", "two-level", "bag", "array-in-list"]
"""How lists are laid out: ``list.element`` (standard), a repeated element (two-level),
``bag.array_element`` as Hive wrote, ``list.array`` as Avro's three-level form."""

_REPEATED: Final = 2
_REQUIRED: Final = 0

# Field ids: of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData, and of SchemaElement.
_SCHEMA, _ROW_GROUPS, _COLUMNS, _CHUNK_METADATA, _PATH = 2, 4, 1, 3, 3
_REPETITION, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 3, 4, 5, 6, 10
# Converted types, and type codes of Thrift.
_LIST_TYPE, _MAP_TYPE, _MAP_KEY_VALUE = 3, 1, 2
_I32, _BINARY = 5, 8

_LABELS: Final[dict[str, tuple[bytes, bytes]]] = {
    "bag": (b"bag", b"array_element"),
    "array-in-list": (b"list", b"array"),
}


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


@dataclass(slots=True)
class _Node:
    """An element of the schema tree; ``element`` is the footer's own record."""

    element: Record
    children: list[_Node] = field(default_factory=list)

    @property
    def name(self) -> bytes:
        name: bytes = self.element.get(_NAME)
        return name


def _tree(elements: Iterator[Record]) -> _Node:
    node = _Node(next(elements))
    for _ in range(node.element.get(_CHILDREN) or 0):
        node.children.append(_tree(elements))
    return node


def _flat(node: _Node) -> Iterator[Record]:
    if node.children:
        node.element.set(_CHILDREN, _I32, len(node.children))
    yield node.element
    for child in node.children:
        yield from _flat(child)


def _paths(node: _Node) -> Iterator[list[bytes]]:
    """Return the path of every leaf in order, the root's own name left out."""
    for child in node.children:
        if not child.children:
            yield [child.name]
        for path in _paths(child):
            yield [child.name, *path]


def _relabel(node: _Node, lists: ListLayout, *, maps: bool) -> None:
    if node.element.get(_CONVERTED) == _LIST_TYPE and lists != "standard":
        (repeated,) = node.children
        (element,) = repeated.children
        if lists == "two-level":
            if element.element.get(_REPETITION) != _REQUIRED:
                raise ValueError("a two-level list cannot hold nulls")
            element.element.set(_REPETITION, _I32, _REPEATED)
            element.element.set(_NAME, _BINARY, b"array")
            node.children = [element]
        else:
            outer, inner = _LABELS[lists]
            repeated.element.set(_NAME, _BINARY, outer)
            element.element.set(_NAME, _BINARY, inner)
        node.element.drop(_LOGICAL)
    if node.element.get(_CONVERTED) == _MAP_TYPE and maps:
        (pairs,) = node.children
        pairs.element.set(_NAME, _BINARY, b"map")
        pairs.element.set(_CONVERTED, _I32, _MAP_KEY_VALUE)
        node.element.drop(_LOGICAL)
    for child in node.children:
        _relabel(child, lists, maps=maps)


def relabel_lists_and_maps(path: Path, *, lists: ListLayout, legacy_maps: bool) -> int:
    """Rewrite a Parquet file's footer so that lists and maps are laid out as asked.

    Args:
        path: a file with lists in the standard layout.
        lists: the layout of lists.
        legacy_maps: name the pairs ``map`` and annotate them, as early writers did.

    Returns:
        The new size of the file in bytes.

    Raises:
        ValueError: a list whose elements may be null cannot be laid out in two levels.
    """

    def relabel(footer: Record) -> None:
        schema: Items = footer.get(_SCHEMA)
        root = _tree(iter(schema.values))
        _relabel(root, lists, maps=legacy_maps)
        schema.values = list(_flat(root))
        paths = list(_paths(root))
        for group in chunks(footer):
            for chunk, leaf in zip(group, paths, strict=True):
                chunk.get(_CHUNK_METADATA).set(_PATH, 9, Items(_BINARY, list(leaf)))

    return edit_footer(path, relabel)
