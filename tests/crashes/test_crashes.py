"""A writer whose storage goes wrong, or that is killed, leaves the table as before or as after.

A few operations and steps of the matrix that ``tox run -e crashes`` tries as a whole.
"""

from __future__ import annotations

import inspect
import os
from itertools import count
from pathlib import Path

import pytest
from faulty_storage import WRITES, Fault, FaultyStorage
from injecting import go_wrong, tried
from killing import kill
from scenarios import ALL, SCHEMA, arrow, opened

from reference_impl import Table, read_table
from reference_impl.errors import StorageFailed
from reference_impl.write.alter import dropping

READS = {"changes", "history", "latest_version", "snapshot"}


def writes(steps: list[tuple[str, str]]) -> list[int]:
    return [number for number, (step, _) in enumerate(steps, 1) if step in WRITES]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("append", "rich"),
        ("update", "rich"),
        ("merge", "plain"),
        ("overwrite where", "mapped"),
        ("optimize", "rich"),
        ("restore", "rich"),
        ("vacuum", "rich"),
        ("checkpoint in parts", "plain"),
        ("set properties", "mapped"),
        ("create with rows", "nothing"),
    ],
)
def test_an_answer_that_is_lost_at_any_step_leaves_before_or_after(
    tmp_path: Path, name: str, base: str
) -> None:
    trial = tried(tmp_path, name, base)
    steps = writes(trial.steps)
    assert steps
    assert go_wrong(trial, tmp_path, Fault.LATE, steps) == len(steps)


@pytest.mark.parametrize(("name", "base"), [("delete", "rich"), ("vacuum", "plain")])
def test_a_storage_that_fails_for_good_leaves_before_or_after(
    tmp_path: Path, name: str, base: str
) -> None:
    trial = tried(tmp_path, name, base)
    steps = writes(trial.steps)
    assert go_wrong(trial, tmp_path, Fault.TIMEOUT, steps, lasting=True) == len(steps)


def test_a_writer_that_is_killed_leaves_before_or_after(tmp_path: Path) -> None:
    trial = tried(tmp_path, "append", "plain")
    steps = writes(trial.steps)
    assert kill(trial, tmp_path, "storage after", steps) == len(steps)
    # Those of the system are more: a storage's step that puts a file has several.
    assert kill(trial, tmp_path, "system", count(1)) > len(steps)


def test_what_a_killed_writer_left_is_no_table(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    staged = log / ".staged-abc.tmp"
    staged.write_bytes(b"{")
    os.utime(staged, (0, 0))
    table = Table(tmp_path)
    assert table.create(SCHEMA, rows=arrow(1)) == 0
    assert table.vacuum(dry_run=True) == ["_delta_log/.staged-abc.tmp"]
    table.vacuum()
    assert not staged.exists()
    assert read_table(tmp_path).num_rows == 1


def test_every_operation_of_the_writer_is_in_the_matrix() -> None:
    operations = {
        name
        for name, _ in inspect.getmembers(Table, inspect.isfunction)
        if not name.startswith("_")
    }
    sources = "".join(inspect.getsource(scenario.run) for scenario in ALL.values())
    assert {name for name in operations - READS if f"t.{name}(" not in sources} == set()


def test_every_feature_that_leaves_traces_is_dropped_in_the_matrix() -> None:
    sources = "".join(inspect.getsource(scenario.run) for scenario in ALL.values())
    assert {
        name for name in dropping._TRACES if f't.drop_feature("{name}")' not in sources
    } == set()


def test_a_fault_happens_at_its_step_alone(tmp_path: Path) -> None:
    Table(tmp_path).create(SCHEMA)
    faulty = FaultyStorage(opened(tmp_path), 2, Fault.LATE)
    faulty.put("a", b"1")
    with pytest.raises(TimeoutError):
        faulty.put("b", b"2")
    faulty.put("c", b"3")
    assert [faulty.get(name) for name in "abc"] == [b"1", b"2", b"3"]
    assert faulty.taken[1] == ("put", "b")
    gone = FaultyStorage(opened(tmp_path), 1, Fault.FAIL, lasting=True)
    for _ in range(2):
        with pytest.raises(OSError, match="put d"):
            gone.put("d", b"4")
    assert not (tmp_path / "d").exists()


def test_a_storage_that_fails_is_not_taken_for_a_damaged_file(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.create(SCHEMA, rows=arrow(1, 3))
    table.checkpoint()
    counting = FaultyStorage(opened(tmp_path))
    Table(counting).snapshot().adds()
    assert ("open", f"_delta_log/{0:020}.checkpoint.parquet") in counting.taken
    for step, (name, _) in enumerate(counting.taken, 1):
        if name == "open":
            with pytest.raises(StorageFailed, match="times out"):
                Table(FaultyStorage(opened(tmp_path), step, Fault.TIMEOUT)).snapshot().adds()
    table.set_properties({"delta.enableDeletionVectors": "true"})
    table.delete("id = 1")
    reading = FaultyStorage(opened(tmp_path))
    read_table(reading)
    names = [path for _, path in reading.taken]
    assert any(name.endswith(".bin") for name in names)
    for step, name in enumerate(names, 1):
        if name.endswith((".bin", ".zstd.parquet")):
            with pytest.raises(StorageFailed, match="times out"):
                read_table(FaultyStorage(opened(tmp_path), step, Fault.TIMEOUT))


def test_an_operation_that_nothing_kills_is_not_taken_for_killed(tmp_path: Path) -> None:
    trial = tried(tmp_path, "set properties", "plain")
    assert kill(trial, tmp_path, "storage before", [1, 1000]) == 1
