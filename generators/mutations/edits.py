"""Edits of the files of a table: where, and what becomes of it.

Covers the documents in ``chapters/``, "Changes" in ``README.md``. :func:`edit_of` reads what an
entry spells; :func:`edit_bytes` and :func:`edit_action` are for changes that only code can say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    action_line,
    checksum_name,
    commit_name,
    json_text,
    write_commit,
)
from generators.materialise.log.hints import json_checksum
from generators.mutations.mutation import Change

Place = Mapping[str, Any]
"""One of ``commit``, ``checksum``, ``log``, ``file`` and ``data_file``, with which one is meant."""

_HINT: Final = "_last_checkpoint"


def edit_of(document: Mapping[str, Any]) -> Change:
    """Return the change that a document spells: a place, an edit, and how it is to be done.

    Of several files at the place the first is edited, by name; to delete means all of them.

    Raises:
        ValueError: it names no place, or no edit.
    """
    options = dict(document)
    if "write" in options:
        return partial(_write, options["write"])
    if "next" in options:
        return partial(_commit_next, options["next"])
    place = {name: options.pop(name) for name in _PLACES if name in options}
    name = next((name for name in _EDITS if name in options), None)
    if len(place) != 1 or name is None:
        raise ValueError(f"no place and edit of a table: {document}")
    edit = partial(_EDITS[name], **{name: options.pop(name)}, **options)

    def change(root: Path, builder: TableBuilder) -> None:
        found = paths_at(place, root, builder)
        for path in found if name == "delete" else found[:1]:
            edit(path)

    return change


def edit_bytes(place: Place, edit: Callable[[bytes], bytes]) -> Change:
    """Return a change of the bytes of the first file at a place."""

    def change(root: Path, builder: TableBuilder) -> None:
        path = paths_at(place, root, builder)[0]
        path.write_bytes(edit(path.read_bytes()))

    return change


def edit_action(
    version: int, kind: str, edit: Callable[[dict[str, Any]], Any], *, every: bool = False
) -> Change:
    """Return a change of the body of the first action of a kind in a commit, or of every one.

    ``edit`` changes the body in place, or gives another one.
    """
    return lambda root, _builder: _edit_action(commit_path(root, version), kind, edit, every=every)


def commit_path(root: Path, version: int) -> Path:
    """Return the path of a commit."""
    return root / LOG_DIRECTORY / commit_name(version)


def log_file(root: Path, pattern: str) -> Path:
    """Return the first file of the log that a pattern matches, by name."""
    return min((root / LOG_DIRECTORY).glob(pattern))


def data_file(root: Path, builder: TableBuilder, number: int = -1) -> Path:
    """Return the path of a live data file, by default of the newest."""
    return root / unquote(list(builder.files.values())[number].path)


def paths_at(place: Place, root: Path, builder: TableBuilder) -> Sequence[Path]:
    """Return the files at a place of a table.

    Raises:
        LookupError: the table has no such file.
    """
    ((name, which),) = place.items()
    found = _PLACES[name](which, root, builder)
    if not found:
        raise LookupError(f"no file of the table is {name} {which}")
    return found


_PLACES: Final[Mapping[str, Callable[[Any, Path, TableBuilder], Sequence[Path]]]] = {
    "commit": lambda version, root, _: [commit_path(root, version)],
    "checksum": lambda version, root, _: [root / LOG_DIRECTORY / checksum_name(version)],
    "log": lambda pattern, root, _: sorted((root / LOG_DIRECTORY).glob(pattern)),
    "file": lambda pattern, root, _: sorted(root.glob(pattern)),
    "data_file": lambda number, root, builder: [data_file(root, builder, number)],
}


def _write(files: Mapping[str, str], root: Path, _builder: TableBuilder) -> None:
    """Write files below the table root, their directories made."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes(text))


def _commit_next(
    commits: Sequence[Sequence[Mapping[str, Any]]], root: Path, builder: TableBuilder
) -> None:
    """Commit more versions, each a list of actions."""
    for version, actions in enumerate(commits, builder.version + 1):
        write_commit(root, version, actions)


def _bytes(text: str) -> bytes:
    """Return text in which every character stands for the byte of its number."""
    return text.encode("latin-1")


# Edits of whole files and of their bytes


def _delete(path: Path, *, delete: bool) -> None:
    if delete:
        path.unlink()


def _rename(path: Path, *, rename: str) -> None:
    path.rename(path.with_name(rename))


def _content(path: Path, *, content: str) -> None:
    path.write_bytes(_bytes(content))


def _keep(path: Path, *, keep: int | str) -> None:
    """Cut a file off: after some bytes, or after ``half`` of them."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if keep == "half" else int(keep)])


def _replace(path: Path, *, replace: Sequence[str], times: int = -1) -> None:
    old, new = map(_bytes, replace)
    path.write_bytes(path.read_bytes().replace(old, new, times))


# Edits of lines of JSON


def _edit_lines(path: Path, edit: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    path.write_bytes("".join(f"{line}\n" for line in edit(lines)).encode("utf-8"))


def _add_lines(path: Path, *, lines: Sequence[str | Mapping[str, Any]]) -> None:
    """Add lines at the end: actions, or text as it stands."""
    _edit_lines(path, lambda there: [*there, *map(action_line, lines)])


def _without(path: Path, *, without: str) -> None:
    """Leave out every action of a kind."""
    _edit_lines(path, lambda lines: [each for each in lines if without not in json.loads(each)])


def _edit_action(path: Path, kind: str, edit: Callable[[Any], Any], *, every: bool) -> None:
    done = False

    def edited(line: str) -> str:
        nonlocal done
        document = json.loads(line)
        if kind not in document or (done and not every):
            return line
        done = True
        body = edit(document[kind])
        return json_text({kind: document[kind] if body is None else body})

    _edit_lines(path, lambda lines: [edited(each) for each in lines])
    if not done:
        raise LookupError(f"{path.name} has no {kind} action to change")


def _action(path: Path, *, action: str, every: bool = False, **fields: Any) -> None:
    """Edit the body of the first action of a kind, or of every one."""
    _edit_action(path, action, lambda body: edit_fields(body, **fields), every=every)


def _repeat(path: Path, *, repeat: str, to: int | None = None, **fields: Any) -> None:
    """Copy the first action of a kind, edited, to the end of this commit or of another."""
    actions = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    body = next(each[repeat] for each in actions if repeat in each)
    line = json.dumps({repeat: edit_fields(body, **fields)})
    target = path if to is None else path.with_name(commit_name(to))
    _add_lines(target, lines=[line])


def _document(path: Path, **fields: Any) -> None:
    """Edit the fields of a file of one JSON document; a checksum in it is given, or made to fit."""
    document = edit_fields(json.loads(path.read_bytes()), **fields)
    if path.name == _HINT and "checksum" in document and "checksum" not in fields.get("set", ()):
        document["checksum"] = json_checksum(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def edit_fields(
    fields: Any,
    *,
    body: Any = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002  the word of the documents
    drop: Sequence[str] = (),
    replace: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Edit the fields of a JSON object and return it.

    A path of names and indexes, separated by slashes, leads to a field; JSON in a string on the
    way, as a schema, is edited inside.

    Args:
        fields: the object; changed in place.
        body: what takes its place as a whole.
        set: path to the new value.
        drop: paths of what is left out.
        replace: path to a part of a string and what takes its place.
    """
    if body is not None:
        return body
    edits = {
        **{path: _to(value) for path, value in (set or {}).items()},
        **{path: _to(_DROPPED) for path in drop},
        **{path: _replacing(*texts) for path, texts in (replace or {}).items()},
    }
    for path, edit in edits.items():
        _edit_at(fields, path, edit)
    return fields


_DROPPED: Final = object()


def _to(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def _replacing(old: str, new: str) -> Callable[[Any], Any]:
    return lambda text: text.replace(old, new)


def _edit_at(holder: Any, path: str, edit: Callable[[Any], Any]) -> None:
    """Put what ``edit`` makes of a field in its place, or leave the field out."""
    first, _, rest = path.partition("/")
    key = int(first) if isinstance(holder, list) else first
    if not rest:
        old = holder.get(key) if isinstance(holder, dict) else holder[key]
        holder[key] = edit(old)
        if holder[key] is _DROPPED:
            del holder[key]
    elif isinstance(holder[key], str):
        document = json.loads(holder[key])
        _edit_at(document, rest, edit)
        holder[key] = json_text(document)
    else:
        _edit_at(holder[key], rest, edit)


_EDITS: Final[Mapping[str, Callable[..., None]]] = {
    "delete": _delete,
    "rename": _rename,
    "content": _content,
    "keep": _keep,
    "lines": _add_lines,
    "without": _without,
    "repeat": _repeat,
    "action": _action,
    "replace": _replace,
    "set": _document,
    "drop": _document,
}
"""Name of an edit to what makes it; the first that a document names says what it is."""
