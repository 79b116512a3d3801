"""Placeholders for where a table lies, in cases about absolute paths.

Covers "Add File and Remove File" and "Deletion Vector Descriptor Schema", whose paths may be
absolute. A corpus does not know where it will lie: the log of such a case has placeholders, and
the copy of the table that is read has them expanded. A brace has no place in a URI, so a
placeholder is never a path of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

TABLE_PLACEHOLDER: Final = "{{table}}"
"""Stands for the absolute path of the table root, percent-encoded, without a slash at its end."""

BESIDE_PLACEHOLDER: Final = "{{beside}}"
"""Stands for the absolute path of the folder beside the table root, in the same spelling."""

BESIDE: Final = "beside"
"""Name of the folder with files outside of the table, in a case and beside a copied table."""

_T = TypeVar("_T")


def _values(root: Path) -> Mapping[str, str]:
    table = root.absolute()
    return {
        TABLE_PLACEHOLDER: quote(str(table)),
        BESIDE_PLACEHOLDER: quote(str(table.parent / BESIDE)),
    }


def expand(value: _T, root: Path) -> _T:
    """Return a JSON value with the placeholders in all its strings expanded, for a table root."""
    return cast("_T", _expanded(value, _values(root)))


def expand_files(root: Path, files: Iterable[str]) -> None:
    """Expand the placeholders in text files of a table, in place; paths are relative to it."""
    values = _values(root)
    for name in files:
        path = root / name
        path.write_text(_expanded(path.read_text(encoding="utf-8"), values), encoding="utf-8")


def found_in(root: Path) -> list[str]:
    """Name the files below a table root that have placeholders, sorted."""
    words = (TABLE_PLACEHOLDER.encode(), BESIDE_PLACEHOLDER.encode())
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    )


def _expanded(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            for word, meaning in values.items():
                value = value.replace(word, meaning)
            return value
        case Mapping():
            return {_expanded(key, values): _expanded(item, values) for key, item in value.items()}
        case list():
            return [_expanded(item, values) for item in value]
        case _:
            return value
