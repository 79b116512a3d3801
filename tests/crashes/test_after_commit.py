"""Once a commit is there, nothing that follows it makes the operation fail."""

from __future__ import annotations

import errno
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from faulty_storage import WRITES, Fault, FaultyStorage
from injecting import commit_step
from scenarios import ALL, WITHOUT_COMMIT, make, opened

from reference_impl import Table, read_table
from reference_impl.errors import InvalidMetadata

ERRORS = [
    OSError(errno.EIO, "planted"),
    OSError(errno.ENOSPC, "planted"),
    MemoryError("planted"),
    RecursionError("planted"),
    ValueError("planted"),
    KeyError("planted"),
    TypeError("planted"),
    AttributeError("planted"),
]

COMMITTING = sorted(ALL.keys() - WITHOUT_COMMIT)
EVERY_STEP = "append"
"""Tried at every step, and with every error where it writes; others with one where they write."""


def prepared(root: Path, name: str) -> None:
    """Build a table whose every commit is followed by a checkpoint."""
    base = ALL[name].bases[-1]
    make(root, name, base)
    if base not in ("nothing", "files"):
        Table(root).set_properties({"delta.checkpointInterval": "1"})


def rows(root: Path) -> list[dict[str, Any]]:
    return sorted(read_table(root).to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("name", COMMITTING)
def test_an_operation_returns_its_version_whatever_fails_after_the_commit(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    prepared(kept, name)
    shutil.copytree(kept, whole)
    counting = FaultyStorage(opened(whole))
    version = ALL[name].run(Table(counting))
    first = commit_step(counting) + 1
    steps = range(first, len(counting.taken) + 1)
    assert steps, "nothing follows the commit"
    faults = [
        (step, error, False)
        for step in steps
        for number, error in enumerate(ERRORS)
        if (writes := counting.taken[step - 1][0] in WRITES) or name == EVERY_STEP
        if number == step % len(ERRORS) or (writes and name == EVERY_STEP)
    ]
    faults.append((first, ERRORS[COMMITTING.index(name) % len(ERRORS)], True))
    for number, (step, error, lasting) in enumerate(faults):
        place = tmp_path / str(number)
        shutil.copytree(kept, place)
        faulty = FaultyStorage(opened(place), step, Fault.FAIL, lasting=lasting, error=error)
        caplog.clear()
        assert ALL[name].run(Table(faulty)) == version
        assert Table(place).latest_version() == version
        assert rows(place) == rows(whole)
        if lasting and step == first:
            warnings = [r for r in caplog.records if r.levelno == logging.WARNING and r.exc_info]
            assert warnings, f"nobody hears of {error!r}"


@pytest.mark.parametrize(
    "text", ["9" * 5000, "-3", "0", "2.5", "often", "", "\u0663", "2147483648"]
)
def test_a_malformed_checkpoint_interval_of_a_table_is_passed_over(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / "t", "append", "plain")
    table = Table(tmp_path / "t")
    plant(table, {"delta.checkpointInterval": text})
    version = table.latest_version()
    assert ALL["append"].run(table) == version + 1
    assert read_table(tmp_path / "t").num_rows == 5
    while table.latest_version() % 10:
        caplog.clear()
        ALL["set a domain"].run(table)
    assert any("delta.checkpointInterval" in record.getMessage() for record in caplog.records)
    last = table.latest_version()
    assert (tmp_path / "t" / "_delta_log" / f"{last:020}.checkpoint.parquet").exists()


@pytest.mark.parametrize(
    "planted",
    [
        {"delta.checkpointPolicy": "v9"},
        {"delta.deletedFileRetentionDuration": "a while"},
        {"delta.deletedFileRetentionDuration": "interval 999999999999 weeks"},
        {"delta.logRetentionDuration": "9" * 5000},
        {"delta.dataSkippingNumIndexedCols": "9" * 5000},
        {"delta.dataSkippingNumIndexedCols": "many"},
        {"delta.checkpoint.writeStatsAsJson": "9" * 5000},
        {"delta.checkpoint.writeStatsAsStruct": "perhaps"},
    ],
    ids=str,
)
def test_a_malformed_property_of_upkeep_does_not_keep_a_checkpoint_away(
    tmp_path: Path, planted: dict[str, str]
) -> None:
    make(tmp_path / "t", "append", "plain")
    table = Table(tmp_path / "t")
    plant(table, {**planted, "delta.checkpointInterval": "1"})
    version = ALL["append"].run(table)
    assert version == table.latest_version()
    assert read_table(tmp_path / "t").num_rows == 5
    assert (tmp_path / "t" / "_delta_log" / f"{version:020}.checkpoint.parquet").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.checkpointInterval", "9" * 5000),
        ("delta.checkpointInterval", "0"),
        ("delta.checkpointInterval", "-1"),
        ("delta.checkpointInterval", "x"),
        ("delta.dataSkippingNumIndexedCols", "x"),
        ("delta.dataSkippingNumIndexedCols", "-2"),
        ("delta.deletedFileRetentionDuration", "a while"),
        ("delta.logRetentionDuration", "interval 2 months"),
    ],
)
def test_a_malformed_property_is_refused_when_it_is_set(
    tmp_path: Path, name: str, value: str
) -> None:
    make(tmp_path / "t", "append", "plain")
    table = Table(tmp_path / "t")
    version = table.latest_version()
    with pytest.raises(InvalidMetadata):
        table.set_properties({name: value})
    assert table.latest_version() == version


def plant(table: Table, properties: dict[str, str]) -> None:
    """Commit properties as another writer may, who checks none."""
    snapshot = table.snapshot()
    body = snapshot.metadata.to_wire()
    body["configuration"] = {**body["configuration"], **properties}
    line = json.dumps({"metaData": body}) + "\n"
    table.storage.put_if_absent(f"_delta_log/{snapshot.version + 1:020}.json", line.encode())


def test_a_hint_that_cannot_be_written_leaves_the_checkpoint(tmp_path: Path) -> None:
    make(tmp_path / "t", "append", "plain")
    (tmp_path / "t" / "_delta_log" / "_last_checkpoint").mkdir()
    assert Table(tmp_path / "t").checkpoint() == Table(tmp_path / "t").latest_version()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_after_the_commit_leaves_the_commit_and_its_files(
    tmp_path: Path, interrupt: type[BaseException]
) -> None:
    make(tmp_path / "t", "append", "plain")
    counting = FaultyStorage(opened(tmp_path / "t"))
    shutil.copytree(tmp_path / "t", tmp_path / "u")
    ALL["append"].run(Table(counting))

    class Interrupted(FaultyStorage):
        def put_if_absent(self, path: str, data: bytes) -> None:
            super().put_if_absent(path, data)
            raise interrupt

    with pytest.raises(interrupt):
        ALL["append"].run(Table(Interrupted(opened(tmp_path / "u"))))
    assert rows(tmp_path / "u") == rows(tmp_path / "t")
