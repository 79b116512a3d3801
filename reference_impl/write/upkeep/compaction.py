"""Write log compactions (section Log Compaction Files)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import VersionNotFound
from reference_impl.log.names import LOG_DIR, compaction_name
from reference_impl.model.actions import CommitInfo, action_key
from reference_impl.model.protocol import check_writable
from reference_impl.model.wire import json_text
from reference_impl.places import decode_path
from reference_impl.snapshot.segment import list_log
from reference_impl.snapshot.snapshot import Snapshot, read_commit


def compact_log(snapshot: Snapshot, start: int, end: int) -> None:
    """Carry out :meth:`~reference_impl.table.Table.compact_log`.

    An existing one stays, and none is written for commits that cancel out.

    Raises:
        VersionNotFound: the range has fewer than two commits, or one of them is missing.
    """
    # Obeys COMP-001 COMP-004 COMP-005 COMP-006 COMP-007 COMP-008 COMP-013.
    check_writable(snapshot.protocol)
    storage = snapshot.storage
    commits = list_log(storage, from_start=True).commits
    # However long the range is, the first commit that it lacks ends it.
    if end <= start or any(version not in commits for version in range(start, end + 1)):
        raise VersionNotFound(
            f"a compaction of {start} to {end} needs two commits at least, and every one of them",
            version=end,
            stage="commit",
        )
    single: dict[tuple[str, str], dict[str, Any]] = {}
    files: dict[tuple[str, str | None], tuple[str, dict[str, Any]]] = {}
    for version in range(start, end + 1):
        commit = read_commit(storage, commits[version])
        for action in commit.actions:
            if not isinstance(action, CommitInfo):
                key = action_key(action)
                single[key] = {key[0]: action.to_wire()}
        # A file that one commit removes under one vector and adds under another is two files.
        for name in ("remove", "add"):
            for body in commit.bodies(name):
                files[_key(body, name)] = (name, body)
    lines = [*single.values(), *({name: body} for name, body in files.values())]
    # A compaction without actions is useless, and looks truncated.
    if data := "".join(_encoded(lines)).encode():
        with suppress(FileExistsError):
            storage.put_if_absent(f"{LOG_DIR}/{compaction_name(start, end)}", data)


def _encoded(lines: list[dict[str, Any]]) -> Iterator[str]:
    return (f"{json_text(line)}\n" for line in lines)


def _key(body: dict[str, Any], action: str) -> tuple[str, str | None]:
    vector = body.get("deletionVector")
    identity = Descriptor.from_wire(vector).unique_id if vector else None
    return decode_path(body["path"], action=action), identity
