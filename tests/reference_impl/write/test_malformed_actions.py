"""Actions of another writer that lack what they must have: what reads their JSON says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table
from reference_impl.errors import DeltaError, InvalidAction

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
BODIES: tuple[Any, ...] = (
    "x", 5, 1.5, [], [{}], {}, {"path": None}, {"path": 5}, {"path": ["x"]}, {"path": ""},
    {"path": "x", "deletionVector": 5}, {"path": "x", "deletionVector": {"storageType": 1}},
)  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=str)
@pytest.mark.parametrize("action", ["add", "remove", "cdc"])
def test_a_malformed_file_action_is_a_typed_error_of_every_operation(
    tmp_path: Path, action: str, body: Any
) -> None:
    table = Table(tmp_path)
    table.create(ROWS.schema, properties={"delta.enableChangeDataFeed": "true"})
    table.append(ROWS)
    table.append(ROWS)
    commit = tmp_path / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text() + json.dumps({action: body}) + "\n")
    works: list[Callable[[Table], object]] = [
        lambda now: now.compact_log(0, 2),
        lambda now: now.vacuum(),
        lambda now: now.changes(0),
        lambda now: now.append(ROWS),
    ]
    for work in works:
        with suppress(DeltaError):  # anything else passes through here
            work(Table(tmp_path))


def test_a_malformed_action_of_a_commit_that_a_checkpoint_covers_is_not_compacted(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    table.create(ROWS.schema)
    for _ in range(3):
        table.append(ROWS)
    table.checkpoint()
    commit = tmp_path / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text() + '{"remove":"x"}\n')
    with pytest.raises(InvalidAction, match="remove is not an object"):
        Table(tmp_path).compact_log(0, 2)
