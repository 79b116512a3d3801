"""The files of a bundle, written whole or not at all, and read without trust.

See ``docs/formats.md``, "Bundles". A bundle is untrusted: what is read of it is
the description and the history, each of a bounded size and checked against its schema. The table
and the answers that lie beside them are for people and other programs, and never read here.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import ipc

from conformance.base.faults import CorpusError
from conformance.base.untrusted import DocumentError, open_plain, parse_json, read_bytes
from conformance.items.generated import ReadHistory
from conformance.items.recipes import WrittenHistory
from generators.file_digests import digest_of
from generators.histories.document import HistoryError, document_of, history_of, text_of
from generators.histories.groups import Drawn
from generators.materialise.layouts import LAYOUTS, lay_out
from generators.oracle.literals import encode
from generators.oracle.operations import History, replay
from schemas import errors

DESCRIPTION: Final = "bundle.json"
HISTORY: Final = "history.json"
TABLE: Final = "table"
_MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a table that is kept; tables of drawn histories have a few thousand."""

_MAX_DESCRIPTION_BYTES: Final = 256 * 1024
"""Bytes of a description."""


class BundleError(CorpusError):
    """A folder is no bundle, or one that this kit cannot replay."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What goes into a bundle.

    Attributes:
        description: as ``kit/bundle`` has it, less the digest of the table.
        history: what fails.
        left: the table that the implementation wrote, where it wrote one.
        answer: the rows that the implementation gave at last, where it gave any.
    """

    description: Mapping[str, Any]
    history: History
    left: Path | None = None
    answer: pa.Table | None = None


def write_bundle(folder: Path, contents: Contents) -> None:
    """Write a bundle; one that is there already is replaced.

    Raises:
        OSError: the folder cannot be written, or holds something else than a bundle.
    """
    with replacing(folder) as partial:
        _fill(partial, contents, folder)


def _fill(folder: Path, contents: Contents, target: Path) -> None:
    description = dict(contents.description)
    layout = next((each for each in LAYOUTS if each.name == description["layout"]), None)
    if layout is not None:
        lay_out(folder / TABLE, contents.history, layout)
        description["table_sha256"] = digest_of(folder / TABLE)
    elif contents.left is not None and contents.left.is_dir():
        _copy_plain(contents.left, folder / TABLE)
    if contents.answer is not None:
        with ipc.new_file(folder / "actual.arrow", contents.answer.schema) as sink:
            sink.write_table(contents.answer)
    _put(folder / DESCRIPTION, json.dumps(description, indent=1))
    _put(folder / HISTORY, text_of(document_of(contents.history)))
    _put(folder / "expected.json", json.dumps(_expected(contents.history), indent=1))
    _put(folder / "README.md", _words(description, target))


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which then takes the place of a bundle, or of nothing.

    Raises:
        FileExistsError: something else than a bundle has the name.
        OSError: the folder cannot be written.
    """
    if folder.is_symlink() or (folder.exists() and not (folder / DESCRIPTION).is_file()):
        code = errno.EEXIST
        raise FileExistsError(code, "is no bundle, and is not replaced", str(folder))
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _copy_plain(source: Path, target: Path) -> None:
    """Copy folders and regular files that an implementation left, up to a limit.

    A link may lead to any file of this machine, and a bundle is for others to read; a device or a
    file of holes has no end. Of those nothing is kept.

    Raises:
        OSError: there is more than the limit, or it cannot be read or written.
    """
    left = _MAX_TABLE_BYTES
    pending = [(source, target)]
    while pending:
        folder, copy = pending.pop()
        copy.mkdir()
        for entry in sorted(os.scandir(folder), key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), copy / entry.name))
            elif entry.is_file(follow_symlinks=False):
                with open_plain(Path(entry.path)) as file:
                    content = file.read(left + 1) or b""
                left -= len(content)
                if left < 0:
                    code = errno.EFBIG
                    raise OSError(
                        code, f"a table of more than {_MAX_TABLE_BYTES} bytes", str(source)
                    )
                (copy / entry.name).write_bytes(content)


def _put(path: Path, text: str) -> None:
    path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")


def _expected(history: History) -> dict[str, Any]:
    return {
        "versions": [
            {
                "version": each.number,
                "schema": each.schema.to_json(),
                "rows": [encode(each.schema, row.values) for row in each.rows],
            }
            for each in replay(history).versions
        ]
    }


def _words(description: Mapping[str, Any], folder: Path) -> str:
    who, verdict = description["implementation"], description["verdict"]
    table = (
        f"the table in the layout `{description['layout']}`, before any read"
        if description["layout"]
        else "the table as the implementation left it, where it left one"
    )
    return (
        f"# {description['case']}\n\n"
        f"{who['name']} {who['engine_version']}, "
        f"judged by delta-tck {description['kit_version']}:\n"
        f"{verdict['hazard'] or verdict['outcome']}, "
        f"{verdict['requirement'] or ', '.join(description['requirements'])}.\n\n"
        f"    {verdict['message']}\n\n"
        f"Replay it: `delta-tck replay {folder.name} --impl={who['name']}`\n\n"
        "| File | Holds |\n|--|--|\n"
        f"| `history.json` | the operations |\n| `table` | {table} |\n"
        "| `expected.json` | the rows that each version has to have |\n"
        "| `actual.arrow` | the rows that the implementation gave, where it gave any |\n"
        "| `bundle.json` | who was judged, and how it ended |\n"
    )


def read_bundle(folder: Path) -> tuple[dict[str, Any], ReadHistory | WrittenHistory]:
    """Read a bundle: its description, and what there is to judge.

    Raises:
        BundleError: the folder is no bundle, or its layout is unknown.
    """
    description = _description(folder / DESCRIPTION)
    path = folder / HISTORY
    try:
        history = history_of(_document(path))
    except HistoryError as error:
        raise BundleError(path, str(error)) from error
    kind, name = description["kind"], description["layout"]
    drawn = Drawn("bundle", kind, tuple(description["features"]), lambda: history)
    if kind == "write":
        return description, WrittenHistory(description["case"], drawn)
    layout = next((each for each in LAYOUTS if each.name == name), None)
    if layout is None:
        known = ", ".join(each.name for each in LAYOUTS)
        raise BundleError(folder / DESCRIPTION, f"no layout is named {name!r}; there are {known}")
    return description, ReadHistory(description["case"], drawn, layout)


def _document(path: Path) -> Any:
    try:
        return parse_json(read_bytes(path, _MAX_DESCRIPTION_BYTES))
    except DocumentError as error:
        raise BundleError(path, str(error), error.place) from error


def _description(path: Path) -> dict[str, Any]:
    document = _document(path)
    violations = errors("kit/bundle", document)
    if violations:
        raise BundleError(path, violations[0].message, violations[0].path)
    found: dict[str, Any] = document
    return found
