"""Hold the files of a corpus to what can be copied safely, before anything of it is read or run.

See the section "Case" of ``docs/formats.md``. A corpus may come from anywhere. Nothing in it
leads out of it: it consists of regular files and folders, and what its documents name lies below
the table.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.base.faults import CorpusError
from conformance.base.untrusted import MIB, name_fault, path_fault
from generators.placeholders import BESIDE
from reference_impl.errors import PlaceRefused
from reference_impl.places import LocalRoot, Policy

_MAX_DEPTH: Final = 24
"""Folders within folders."""

_MAX_FILES: Final = 1_000_000
_MAX_CASE_BYTES: Final = 1024 * MIB
"""Bytes of one case, of which every run makes copies, in memory at best."""

_MAX_ROWS_BYTES: Final = 64 * MIB
_MAX_ROWS: Final = 1_000_000
_LAST_TIME: Final = 253_402_300_799_999
"""Milliseconds since the epoch: the end of the year 9999."""

_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def fingerprint(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return what shows whether a folder was touched: path to its inode's facts.

    The time of the last change to an inode moves with every write, rename and change of times,
    and no writer can set it; reading leaves it alone.
    """
    found: dict[str, tuple[int, ...]] = {}
    root = str(folder)
    cut = len(root) + 1
    pending = [root]
    while pending:
        place = pending.pop()
        try:
            entries = list(os.scandir(place))
        except OSError as error:
            found[f"{place[cut:]}/"] = (error.errno or 0,)  # closed, or gone
            continue
        for entry in entries:
            name = entry.path[cut:]
            if entry.is_dir(follow_symlinks=False):
                found[f"{name}/"] = ()
                pending.append(entry.path)
            else:
                facts = entry.stat(follow_symlinks=False)
                found[name] = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return found


def check_tree(root: Path) -> None:
    """Refuse links, special files, and more than a run can copy.

    Args:
        root: the corpus; may itself be a link.

    Raises:
        CorpusError: something below it is neither a folder nor a regular file, lies too deep, or
            is too large.
    """
    sizes: dict[tuple[str, ...], int] = {}
    pending: list[tuple[str, tuple[str, ...]]] = [(str(root), ())]
    files = 0
    while pending:
        folder, parts = pending.pop()
        if len(parts) > _MAX_DEPTH:
            raise CorpusError(Path(folder), f"lies more than {_MAX_DEPTH} folders deep")
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            raise CorpusError(Path(folder), f"cannot be read: {error.strerror}") from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, (*parts, entry.name)))
                continue
            facts = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(facts.st_mode):
                raise CorpusError(Path(entry.path), f"is {_kind(facts.st_mode)}; {_ALLOWED_FILES}")
            files += 1
            case = parts[:2]
            sizes[case] = sizes.get(case, 0) + facts.st_size
            if sizes[case] > _MAX_CASE_BYTES:
                raise CorpusError(Path(root, *case), f"has more than {_MAX_CASE_BYTES} bytes")
            if files > _MAX_FILES:
                raise CorpusError(root, f"has more than {_MAX_FILES} files")


_ALLOWED_FILES: Final = "a corpus has regular files and folders only"


def _kind(mode: int) -> str:
    return next((words for holds, words in _KINDS if holds(mode)), "a device")


def check_named(path: Path, document: Mapping[str, Any], table: Path) -> None:
    """Hold what ``case.json`` names to the table that it describes.

    Args:
        path: ``case.json``, for messages.
        document: its content.
        table: the table root, which is not there when it has no files.

    Raises:
        CorpusError: the root is no plain name, or a named file does not lie below the table.
    """
    root = document.get("root")
    if root is not None:
        fault = name_fault(root)
        if root == BESIDE:
            fault = f"{BESIDE!r} is the folder next to the table"
        if fault:
            raise CorpusError(path, fault, "#/root")
    for name in document.get("placeholders", ()):
        _check_file(path, name, table, "#/placeholders")
    for name, time in document.get("file_times", {}).items():
        _check_file(path, name, table, "#/file_times")
        if not isinstance(time, int) or not 0 <= time <= _LAST_TIME:
            raise CorpusError(path, f"{time!r} is no time from 1970 to 9999, in ms", "#/file_times")


def _check_file(path: Path, name: str, table: Path, place: str) -> None:
    file = below(table, name, path, place)
    try:
        linked = any(each.is_symlink() for each in (file, *file.parents[: name.count("/")]))
        there = file.is_file()
    except OSError as error:  # as where the path is too long for the system
        raise CorpusError(path, f"{name[:80]!r}: {error.strerror}", place) from error
    if linked or not there:
        what = (
            f"is reached by a symbolic link; {_ALLOWED_FILES}"
            if linked
            else "is no file of the table"
        )
        raise CorpusError(path, f"{name[:80]!r} {what}", place)


def count_rows(path: Path, part: Path) -> int:
    """Hold a file of expected rows to what can be compared, and count them.

    Args:
        path: the spec, for messages.
        part: a Parquet file.

    Raises:
        CorpusError: it is too large, holds too many rows, or is no Parquet file.
    """
    facts = part.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_ROWS_BYTES:
        limit = f"a regular file of at most {_MAX_ROWS_BYTES} bytes"
        raise CorpusError(path, f"expected rows in {part} are not {limit}", "#/expected")
    try:
        with pq.ParquetFile(part) as file:
            rows: int = file.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise CorpusError(path, f"expected rows in {part}: {error}", "#/expected") from error
    if rows > _MAX_ROWS:
        raise CorpusError(path, f"{part} has {rows} rows, over {_MAX_ROWS}", "#/expected")
    return rows


def below(table: Path, name: str, document: Path, pointer: str = "") -> Path:
    """Return the file of a table that a document names, which need not exist.

    Names of a corpus are not URIs, and are narrower than paths of a log.

    Args:
        table: the table root.
        name: as the document has it.
        document: which has it, for messages.
        pointer: its place there.

    Raises:
        CorpusError: it is no path below the table, or a symlink leads it out of there.
    """
    fault = path_fault(name)
    if fault:
        raise CorpusError(document, fault, pointer)
    root = LocalRoot(str(table.absolute()), Policy("refuse"))
    try:
        place = root.follow(name)
    except PlaceRefused as error:
        raise CorpusError(document, str(error), pointer) from error
    if place.within != name:
        raise CorpusError(document, f"{name!r} is not the plain path of a file", pointer)
    return Path(place.address)
