"""The tools that mutations change tables with: lines of a commit, bodies of actions, files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, json_text
from generators.mutations.mutation import Change


def log_path(root: Path, name: str) -> Path:
    """Return the path of a file of the log."""
    return root / LOG_DIRECTORY / name


def commit_path(root: Path, version: int) -> Path:
    """Return the path of a commit."""
    return log_path(root, commit_name(version))


def only(root: Path, pattern: str) -> Path:
    """Return the first file of the log that a pattern matches, by name."""
    return min((root / LOG_DIRECTORY).glob(pattern))


def _edit_lines(root: Path, version: int, edit: Callable[[list[str]], list[str]]) -> None:
    path = commit_path(root, version)
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    path.write_bytes("".join(f"{line}\n" for line in edit(lines)).encode("utf-8"))


def add_line(version: int, line: str | Mapping[str, Any]) -> Change:
    """Return a change that adds a line at the end of a commit; documents become JSON."""
    text = line if isinstance(line, str) else json_text(line)

    def change(root: Path, _builder: TableBuilder) -> None:
        _edit_lines(root, version, lambda lines: [*lines, text])

    return change


def add_lines(version: int, *lines: str | Mapping[str, Any]) -> Change:
    """Return a change that adds several lines at the end of a commit."""

    def change(root: Path, builder: TableBuilder) -> None:
        for line in lines:
            add_line(version, line)(root, builder)

    return change


def drop_action(version: int, kind: str) -> Change:
    """Return a change that drops every action of a kind from a commit."""

    def change(root: Path, _builder: TableBuilder) -> None:
        _edit_lines(
            root, version, lambda lines: [each for each in lines if kind not in json.loads(each)]
        )

    return change


def edit_action(
    version: int, kind: str, edit: Callable[[dict[str, Any]], Any], *, every: bool = False
) -> Change:
    """Return a change that edits the body of the first action of a kind in a commit.

    Args:
        version: the commit.
        kind: the action's name.
        edit: changes the body in place, or gives another one.
        every: edit all actions of the kind.

    """

    def change(root: Path, _builder: TableBuilder) -> None:
        done = False

        def edited(line: str) -> str:
            nonlocal done
            document = json.loads(line)
            if kind not in document or (done and not every):
                return line
            done = True
            body = edit(document[kind])
            return json_text({kind: document[kind] if body is None else body})

        _edit_lines(root, version, lambda lines: [edited(each) for each in lines])
        if not done:
            raise LookupError(f"commit {version} has no {kind} action to change")

    return change


def set_fields(version: int, kind: str, **fields: Any) -> Change:
    """Return a change that sets fields of the first action of a kind."""
    return edit_action(version, kind, lambda body: body.update(fields))


def without(version: int, kind: str, *names: str) -> Change:
    """Return a change that takes fields out of the first action of a kind."""

    def edit(body: dict[str, Any]) -> None:
        for name in names:
            del body[name]

    return edit_action(version, kind, edit)


def edit_schema(edit: Callable[[dict[str, Any]], Any], version: int = 0) -> Change:
    """Return a change that edits the table schema inside ``schemaString``."""

    def edited(body: dict[str, Any]) -> None:
        document = json.loads(body["schemaString"])
        replaced = edit(document)
        body["schemaString"] = json_text(document if replaced is None else replaced)

    return edit_action(version, "metaData", edited)


def edit_bytes(name: str, edit: Callable[[bytes], bytes]) -> Change:
    """Return a change of the bytes of the first log file of a pattern."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = only(root, name)
        path.write_bytes(edit(path.read_bytes()))

    return change


def delete(pattern: str) -> Change:
    """Return a change that deletes every log file of a pattern; there must be one."""

    def change(root: Path, _builder: TableBuilder) -> None:
        found = sorted((root / LOG_DIRECTORY).glob(pattern))
        if not found:
            raise LookupError(f"no log file is called {pattern}")
        for path in found:
            path.unlink()

    return change


def write_file(name: str, content: bytes | str) -> Change:
    """Return a change that writes a file below the table root, its directories made."""
    data = content.encode("utf-8") if isinstance(content, str) else content

    def change(root: Path, _builder: TableBuilder) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return change


def append_text(version: int, text: bytes) -> Change:
    """Return a change that appends bytes to a commit as they are."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = commit_path(root, version)
        path.write_bytes(path.read_bytes() + text)

    return change


def data_file(root: Path, builder: TableBuilder) -> Path:
    """Return the place of a live data file."""
    file = next(reversed(builder.files.values()))
    return root / unquote(file.path)


def rewrite_checkpoint(
    pattern: str, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> Change:
    """Return a change that rewrites the rows of the first Parquet log file of a pattern.

    ``edit`` gets one dictionary per row, in which every column but one is null; maps are lists
    of pairs. The file keeps its schema.
    """

    def change(root: Path, _builder: TableBuilder) -> None:
        path = only(root, pattern)
        table = pq.read_table(path)
        rows = edit(table.to_pylist())
        pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)

    return change
