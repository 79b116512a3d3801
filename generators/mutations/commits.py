"""Changes of commits that no entry of a chapter can spell, by the id of their mutation.

Covers "Delta Log Entries", "Action Reconciliation", "Schema Serialization Format", "Column
Mapping" and "Row Tracking".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import inline_descriptor
from generators.materialise.log.files import LOG_DIRECTORY, json_text, write_commit
from generators.mutations.edits import commit_path, edit_action, edit_bytes
from generators.mutations.mutation import Change
from generators.oracle.delta_schema import ID_KEY, PHYSICAL_NAME_KEY


def _of_commit(edit: Callable[[bytes], bytes], version: int = 2) -> Change:
    return edit_bytes({"commit": version}, edit)


def _several_lines(data: bytes) -> bytes:
    lines = data.decode("utf-8").splitlines()
    return ("\n".join(json.dumps(json.loads(each), indent=2) for each in lines) + "\n").encode()


def _commit_info_last(data: bytes) -> bytes:
    first, *rest = data.splitlines(keepends=True)
    return b"".join([*rest, first])


def _remove_own_add(root: Path, _builder: TableBuilder) -> None:
    path = commit_path(root, 2)
    text = path.read_text(encoding="utf-8")
    body = next(json.loads(each)["add"] for each in text.splitlines() if '"add"' in each[:6])
    line = {"remove": {"path": body["path"], "deletionTimestamp": 0, "dataChange": True}}
    path.write_text(text + json.dumps(line) + "\n", encoding="utf-8")


def _remove_again(root: Path, builder: TableBuilder) -> None:
    removed = next(iter(builder.states[builder.version].removes.values()))
    write_commit(root, builder.version + 1, [{"remove": removed}])


def _remove_other_vector(root: Path, builder: TableBuilder) -> None:
    body = {
        "path": next(iter(builder.files.values())).path,
        "deletionTimestamp": 0,
        "dataChange": True,
        "deletionVector": inline_descriptor([0]),
    }
    write_commit(root, builder.version + 1, [{"remove": body}])


def _without_properties(root: Path, builder: TableBuilder) -> None:
    metadata = {**builder.metadata(), "configuration": {}}
    write_commit(root, builder.version + 1, [{"metaData": metadata}])


def _empty_for_null(body: dict[str, Any]) -> None:
    if body["partitionValues"]["n"] is None:
        body["partitionValues"]["n"] = ""


def _same_in_two_columns(key: str) -> Change:
    def edit(body: dict[str, Any]) -> None:
        schema = json.loads(body["schemaString"])
        first, second = schema["fields"][:2]
        second["metadata"][key] = first["metadata"][key]
        body["schemaString"] = json_text(schema)

    return edit_action(0, "metaData", edit)


def _with_zoneless_column(body: dict[str, Any]) -> None:
    schema = json.loads(body["schemaString"])
    column = {"name": "t", "type": "timestamp_ntz", "nullable": True, "metadata": {}}
    schema["fields"].append(column)
    body["schemaString"] = json_text(schema)


def _many_strays(root: Path, _builder: TableBuilder) -> None:
    for number in range(300):
        for name in (f"zz-{number:04d}.tmp", f".{number:020d}.json.{number}.tmp"):
            (root / LOG_DIRECTORY / name).write_bytes(b"")


CHANGES: Final[Mapping[str, Change]] = {
    "log-cut-line": _of_commit(lambda data: data[: data.rindex(b'"size"') + 3]),
    "log-action-over-lines": _of_commit(_several_lines),
    "log-actions-on-one-line": _of_commit(lambda data: data.replace(b"\n", b"") + b"\n"),
    "log-utf16": _of_commit(lambda data: data.decode("utf-8").encode("utf-16")),
    "log-binary-garbage": _of_commit(lambda data: data + bytes(range(128, 256))),
    "log-byte-order-mark": _of_commit(lambda data: b"\xef\xbb\xbf" + data),
    "log-no-last-newline": _of_commit(lambda data: data.rstrip(b"\n")),
    "log-other-order": _of_commit(
        lambda data: b"".join(reversed(data.splitlines(keepends=True))), version=0
    ),
    "strays-in-log": _many_strays,
    "reconcile-add-and-remove": _remove_own_add,
    "reconcile-remove-again": _remove_again,
    "reconcile-tombstone-of-other-vector": _remove_other_vector,
    "time-not-first": _of_commit(_commit_info_last),
    "vector-property-off": _without_properties,
    "partition-empty-text": edit_action(2, "add", _empty_for_null, every=True),
    "mapping-same-physical-name": _same_in_two_columns(PHYSICAL_NAME_KEY),
    "mapping-same-id": _same_in_two_columns(ID_KEY),
    "zoneless-without-feature": edit_action(0, "metaData", _with_zoneless_column),
}
