"""What has to hold after an operation went wrong, wherever it went wrong."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from scenarios import ALL, ALWAYS, SCHEMA, Row, Rows, rows

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import TableNotFound
from reference_impl.snapshot.snapshot import Snapshot

_RANDOM = ("delta.rowTracking.materialized", "delta.inCommitTimestampEnablementTimestamp")


_WARNED = {
    "CKPT-011",  # expired commits below a checkpoint, which a cleanup has begun to delete
    "CKPT-030",  # a checkpoint that lacks a part, which readers pass over
    "SNAP-001",  # expired commits below a checkpoint, of which a power cut brings some back
    "TF-016",  # a feature that is dropped, about which the texts differ
}
"""What the audit warns about and what is as it has to be."""


class Seen(NamedTuple):
    """Everything that the latest version says, but for what is drawn at random."""

    version: int
    rows: Rows
    facts: dict[str, Any]


def seen(root: Path) -> Seen | None:
    """Return what a reader sees; ``None`` where there is no table."""
    try:
        snapshot = Table(root).snapshot()
    except TableNotFound:
        return None
    return Seen(snapshot.version, _read(root), _facts(snapshot))


def _read(root: Path) -> Rows:
    return sorted(read_table(root).to_pylist(), key=_by_id)


def _by_id(row: Row) -> Any:
    return row["id"]


def _facts(snapshot: Snapshot) -> dict[str, Any]:
    metadata = snapshot.metadata
    return {
        "columns": [(f.name, str(f.type), f.nullable) for f in snapshot.schema.fields],
        "properties": {
            name: value
            for name, value in metadata.configuration.items()
            if not name.startswith(_RANDOM)
        },
        "protocol": snapshot.protocol,
        "txns": {name: txn.version for name, txn in snapshot.txns.items()},
        "domains": {name: each.configuration for name, each in snapshot.domain_metadata.items()},
    }


def check_model(name: str, before: Seen | None, after: Seen | None) -> None:
    """Check an operation that nothing disturbs against the model."""
    scenario = ALL[name]
    assert after is not None
    assert after.rows == sorted(scenario.effect(scenario.held), key=_by_id)
    if before is not None:
        assert before.rows == sorted(scenario.held, key=_by_id)
        assert after.version <= before.version + 1


def judge(root: Path, before: Seen | None, after: Seen | None, *, finished: bool) -> None:
    """Check a table against what it was and what it was to become.

    Args:
        root: the table.
        before: what :func:`seen` gave before.
        after: what it gives after the same operation when nothing disturbs it.
        finished: whether the operation said that it was done.
    """
    found = seen(root)
    # The version is part of what is compared: a commit made twice is neither.
    assert found in ([after] if finished else [before, after]), f"{found} is neither"
    table = Table(root)
    if found is None:
        assert table.create(SCHEMA, properties=ALWAYS) == 0
        found = seen(root)
    assert found is not None
    fresh = {name: rows(1001)[0].get(name) for name, *_ in found.facts["columns"]}
    assert table.append(pa.Table.from_pylist([fresh], read_table(root).schema)) == found.version + 1
    assert _read(root) == [*found.rows, fresh]
    _cleaned(root, table)
    assert _read(root) == [*found.rows, fresh]
    _audited(root)


def content(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def _audited(root: Path) -> None:
    found = [f for f in audit(str(root)) if f.severity != "info"]
    faults = [f for f in found if f.severity == "error" or f.requirement not in _WARNED]
    assert faults == [], f"the audit finds {faults}"


def _cleaned(root: Path, table: Table) -> None:
    """Vacuum, and find nothing left that no version needs."""
    earlier = time.time() - 60
    for path in root.rglob("*"):
        if "_delta_log" not in path.parts or path.suffix == ".tmp":
            os.utime(path, (earlier, earlier))
    time.sleep(0.002)  # a tombstone of this very millisecond has not expired
    table.vacuum()
    files = table.snapshot().adds().to_pylist()
    vectors = sum(row["deletionVector"] is not None for row in files)
    left = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and (path.suffix == ".tmp" or "_delta_log" not in path.parts)
    ]
    left = [path for path in left if not path.startswith("_symlink_format_manifest")]
    data = [path for path in left if path.endswith(".parquet")]
    assert len(data) == len(files), f"{left} are more than {files}"
    assert len(left) - len(data) <= vectors, f"{left} are left of {vectors} vectors"
