"""Tables looked at, and edits by what is seen: replays gone wrong, vectors changed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pyroaring

from breaches.edits import (
    COMMIT,
    EVERYWHERE,
    Lines,
    each,
    matching,
    read_lines,
    write_lines,
)
from breaches.seams import Edit
from conformance.audit.grammar.z85 import decode_z85
from generators.materialise.data.deletion_vectors import (
    decode_uuid_name,
    serialize_vector,
    vector_file_name,
)

BATCH = 65_536
"""Rows of a batch in which readers read data files."""


def log_of(root: Path) -> Path:
    return root / "_delta_log"


def commits_of(root: Path) -> dict[int, Lines]:
    """Return the actions of each commit whose lines are JSON."""
    found = {}
    for path in sorted(log_of(root).glob("*.json")):
        if re.fullmatch(r"\d{20}\.json", path.name):
            try:
                found[int(path.stem)] = [a for a in read_lines(path) if isinstance(a, dict)]
            except ValueError:
                continue
    return found


def bodies(root: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Return the actions of a kind in all commits, oldest first."""
    for actions in commits_of(root).values():
        yield from (a[kind] for a in actions if isinstance(a.get(kind), dict))


def replaying(change: Callable[[Lines, dict[Any, Any]], Lines]) -> Edit:
    """Change commits in the order of their versions, with what is kept from one to the next."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        kept: dict[Any, Any] = {}
        for name in matching(COMMIT, fresh):
            path = root / name
            try:
                actions = read_lines(path)
            except ValueError:
                continue
            after = change(actions, kept)
            if after != actions:
                write_lines(path, after)

    return edit


def first_wins(kind: str, key: Callable[[Any], Any]) -> Edit:
    """Take the first action of a key, and none after it."""

    def change(actions: Lines, kept: dict[Any, Any]) -> Lines:
        found = []
        for action in actions:
            if kind in action and kept.setdefault(key(action[kind]), action) is not action:
                continue
            found.append(action)
        return found

    return replaying(change)


def by_path_alone(wanted: Callable[[Any, Any], bool] = lambda *_: True) -> Edit:
    """Let a remove cancel an add of its path in the same commit, whatever their vectors."""

    def change(actions: Lines, _kept: dict[Any, Any]) -> Lines:
        gone = {a["remove"]["path"]: a["remove"] for a in actions if "remove" in a}
        return [
            a
            for a in actions
            if "add" not in a
            or a["add"]["path"] not in gone
            or not wanted(a["add"], gone[a["add"]["path"]])
        ]

    return replaying(change)


def partition_values(
    change: Callable[[dict[str, Any], str], dict[str, Any]],
    kind: str = "add",
    where: str = EVERYWHERE,
) -> Edit:
    """Change the partition values of each action of a kind: gets them, and the path."""
    return each(
        kind,
        lambda b: {**b, "partitionValues": change(dict(b["partitionValues"]), b["path"])},
        where,
    )


def directory_values(values: dict[str, Any], path: str) -> dict[str, Any]:
    """Take the partition values that names of directories give for those of the log."""
    spelled = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
    return {**values, **{name: spelled[name] for name in values if name in spelled}}


def _payload(root: Path, vector: dict[str, Any]) -> bytes:
    kind, text = vector["storageType"], vector["pathOrInlineDv"]
    if kind == "i":
        return decode_z85(text)[: vector["sizeInBytes"]]
    if kind == "p":
        path = Path(unquote(re.sub(r"^file:(//)?", "", text)))
    else:
        prefix, number = decode_uuid_name(text)
        path = root / prefix / Path(vector_file_name(number)).name
    at = (vector.get("offset") or 1) + 4
    return path.read_bytes()[at : at + vector["sizeInBytes"]]


def rows_of(root: Path, vector: dict[str, Any]) -> set[int]:
    """Return the rows that a vector marks."""
    return {*pyroaring.BitMap64.deserialize(_payload(root, vector)[4:])}


def vectors(change: Callable[[set[int], Path], set[int]], where: str | None = None) -> Edit:
    """Change the rows that vectors mark: gets them, and the data file."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        def changed(body: dict[str, Any]) -> dict[str, Any]:
            vector = body.get("deletionVector")
            if not vector:
                return body
            marked = rows_of(root, vector)
            rows = change(set(marked), root / unquote(body["path"]))
            # A vector that stays as it was stays where it was: later removes name it.
            return body if rows == marked else {**body, "deletionVector": stored(root, rows)}

        each("add", changed, where or COMMIT)(root, fresh)

    return edit


def stored(root: Path, rows: set[int]) -> dict[str, Any]:
    """Store a vector in a file of its own, and describe it."""
    payload = serialize_vector(sorted(rows))
    path = root / f"vector-{zlib.crc32(payload)}.bin"
    size, crc = (n.to_bytes(4, "big") for n in (len(payload), zlib.crc32(payload)))
    path.write_bytes(b"\x01" + size + payload + crc)
    return {
        "storageType": "p",
        "pathOrInlineDv": f"file://{path}",
        "offset": 1,
        "sizeInBytes": len(payload),
        "cardinality": len(rows),
    }


def groups_of(path: Path) -> list[int]:
    """Return the numbers of rows of a file's row groups."""
    footer = pq.read_metadata(path)
    return [footer.row_group(n).num_rows for n in range(footer.num_row_groups)]


def actions_of(root: Path) -> Lines:
    """Return the actions of all commits, oldest first."""
    return [action for found in commits_of(root).values() for action in found]


def having(pattern: str) -> Callable[[Path], object]:
    """Want tables whose log has a file of a name."""
    return lambda root: any(log_of(root).glob(pattern))


def log_actions(path: Path) -> list[dict[str, Any]]:
    """Return the actions of a file of the log, of JSON or Parquet."""
    if path.suffix == ".json":
        return read_lines(path)
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    return found


def checkpoints_of(table: str | Path) -> dict[int, list[str]]:
    """Return the names of the checkpoint files of each version."""
    found: dict[int, list[str]] = {}
    for path in log_of(Path(table)).glob("*.checkpoint*"):
        found.setdefault(int(path.name[:20]), []).append(path.name)
    return found


def spelled_values(change: Any) -> Edit:
    """Spell the partition values of adds otherwise."""
    return each(
        "add",
        lambda body: {
            **body,
            "partitionValues": {k: v and change(v) for k, v in body["partitionValues"].items()},
        },
        COMMIT,
    )


def dead_files(root: Path) -> Lines:
    """Return the adds of files without a vector that some commit removes."""
    gone = [b for found in commits_of(root).values() for b in found if "remove" in b]
    paths = {a["remove"]["path"] for a in gone}
    return [
        a
        for found in commits_of(root).values()
        for a in found
        if "add" in a and a["add"]["path"] in paths and not a["add"].get("deletionVector")
    ]


def without_summed_up(root: Path, fresh: frozenset[str]) -> None:
    """Add no file again that a checkpoint has."""
    held = {
        action["add"]["path"]
        for path in log_of(root).glob("*.checkpoint.parquet")
        for action in log_actions(path)
        if action.get("add")
    }
    each("add", lambda body: None if body["path"] in held else body, COMMIT)(root, fresh)
