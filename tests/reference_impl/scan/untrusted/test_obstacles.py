"""What is in place of a file and is not one: a pipe, a device, a directory, a dangling link."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import AuditError, audit
from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import DataFileNotFound, DeletionVectorNotFound, InvalidLogSegment

CORPUS = Path(__file__).parents[4] / "golden-tables"
CHECKPOINTED = "v2-checkpoint-feature/json-sidecars-hint"
DELETED = "deletion-vectors/relative"
CHANGED = "change-data-files/files-win"
SECONDS = 20
"""Until a call counts as hanging; each takes milliseconds."""


def _socket(path: Path) -> None:
    # The name of a socket is short, so that it is made where it goes.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _linked_pipe(path: Path) -> None:
    os.mkfifo(path.parent.parent / f"{path.name}.pipe")
    path.symlink_to(path.parent.parent / f"{path.name}.pipe")


OBSTACLES: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "link to a pipe": _linked_pipe,
    "directory": Path.mkdir,
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to its directory": lambda path: path.symlink_to("."),
    "link to a name too long": lambda path: path.symlink_to("x" * 300),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "socket": _socket,
}
WORKS: dict[str, Callable[[Path], Any]] = {
    "read": read_table,
    "read an old version": lambda table: read_table(table, version=0),
    "travel": lambda table: Table(table).snapshot(timestamp=2**50).adds(),
    "history": lambda table: Table(table).history(),
    "changes": lambda table: Table(table).changes(0),
    "audit": lambda table: audit(str(table)),
}


@pytest.fixture(autouse=True)
def _watchdog() -> Iterator[None]:
    def bark(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, bark)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class Blocked:
    """A copy of a golden table with an obstacle in place of one of its files."""

    def __init__(self, folder: Path, case: str, file: str, obstacle: str) -> None:
        self.root = folder / "table"
        shutil.copytree(CORPUS / case / "delta", self.root)
        (path,) = self.root.glob(file) if file != "." else (self.root,)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        OBSTACLES[obstacle](path)

    def __call__(self, work: str) -> Any:
        signal.alarm(SECONDS)
        try:
            return WORKS[work](self.root)
        finally:
            signal.alarm(0)


ROLES = [
    (CHECKPOINTED, "_delta_log/_last_checkpoint"),
    (CHECKPOINTED, "_delta_log/*9.checkpoint.*.json"),
    (CHECKPOINTED, "_delta_log/_sidecars/5*"),
    (CHECKPOINTED, "_delta_log/_sidecars"),
    (CHECKPOINTED, "_delta_log"),
    (CHECKPOINTED, "."),
    (DELETED, "_delta_log/*0.json"),
    (DELETED, "deletion_vector*"),
    (DELETED, "part-*"),
    (CHANGED, "_change_data"),
]


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_no_obstacle_blocks_a_read(obstacle: str, tmp_path: Path) -> None:
    for number, (case, file) in enumerate(ROLES):
        folder = tmp_path / str(number)
        folder.mkdir()
        blocked = Blocked(folder, case, file, obstacle)
        for work in WORKS:
            # A read may do without the file; anything but a typed refusal passes through here.
            with suppress(DeltaError, AuditError):
                blocked(work)


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_the_hint_is_done_without(obstacle: str, tmp_path: Path) -> None:
    whole = read_table(CORPUS / CHECKPOINTED / "delta")
    rows = Blocked(tmp_path, CHECKPOINTED, "_delta_log/_last_checkpoint", obstacle)("read")
    assert rows.sort_by("id").equals(whole.sort_by("id"))


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize(
    ("file", "error"),
    [
        ("_delta_log/*0.json", InvalidLogSegment),
        ("deletion_vector*", DeletionVectorNotFound),
        ("part-*", DataFileNotFound),
    ],
)
def test_what_is_needed_is_missed(
    file: str, error: type[DeltaError], obstacle: str, tmp_path: Path
) -> None:
    with pytest.raises(error):
        Blocked(tmp_path, DELETED, file, obstacle)("read")


def test_a_path_that_is_too_long_leads_to_no_file(tmp_path: Path) -> None:
    shutil.copytree(CORPUS / DELETED / "delta", tmp_path / "table")
    (data,) = (tmp_path / "table").glob("part-*")
    for path in (tmp_path / "table" / "_delta_log").glob("*.json"):
        path.write_text(path.read_text().replace(data.name, "x" * 5000))
    with pytest.raises(DataFileNotFound):
        read_table(tmp_path / "table")


def test_a_log_among_thousands_of_other_files_is_found(tmp_path: Path) -> None:
    table = tmp_path / "table"
    shutil.copytree(CORPUS / CHECKPOINTED / "delta", table)
    whole = read_table(table)
    for number in range(20_000):
        (table / "_delta_log" / f"{number:020d}.json.tmp").touch()
    assert read_table(table).equals(whole)
    assert Table(table).history()[0].version == Table(table).latest_version()
