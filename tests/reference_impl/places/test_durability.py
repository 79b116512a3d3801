"""Local files are there as a whole, stay through a power cut, and may be cut off by others."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Table
from reference_impl.storage import LocalStorage


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Note what the system is asked to do, in order; descriptors by the name of their file."""
    noted: list[str] = []

    def named(place: Any, folder: int | None = None) -> str:
        text = str(Path(f"/proc/self/fd/{place}").readlink() if isinstance(place, int) else place)
        text = text if folder is None else f"{named(folder)}/{text}"
        text = text.replace(str(tmp_path), ".")
        folder, _, name = text.rpartition("/")
        return f"{folder}/staged" if name.startswith(".staged") else text

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*places: Any, **folders: int) -> Any:
            folder = next(iter(folders.values()), None)
            noted.append(" ".join([name, *(named(place, folder) for place in places[:2])]))
            return real(*places, **folders)

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "link", "replace", "mkdir", "unlink"):
        watch(name)
    yield noted
    monkeypatch.undo()


def test_a_new_file_is_flushed_before_its_name_and_its_folder_after(
    tmp_path: Path, calls: list[str]
) -> None:
    LocalStorage(tmp_path / "t").put_if_absent("_delta_log/0.json", b"x")
    assert calls == [
        "mkdir ./t",
        "fsync .",
        "mkdir ./t/_delta_log",
        "fsync ./t",
        "fsync ./t/_delta_log/staged",
        "link ./t/_delta_log/staged ./t/_delta_log/0.json",
        "unlink ./t/_delta_log/staged",
        "fsync ./t/_delta_log",
    ]


def test_a_file_that_is_replaced_is_flushed_before_and_after(
    tmp_path: Path, calls: list[str]
) -> None:
    storage = LocalStorage(tmp_path)
    storage.put("f", b"x")
    calls.clear()
    storage.put("f", b"y")
    assert calls == ["fsync ./staged", "replace ./staged ./f", "fsync ."]


def test_every_file_of_a_commit_is_flushed_before_the_commit(
    tmp_path: Path, calls: list[str]
) -> None:
    Table(tmp_path).create(pa.schema([("id", pa.int64())]), rows=pa.table({"id": [1]}))
    data = next(i for i, call in enumerate(calls) if call.endswith(".parquet"))
    commit = next(i for i, call in enumerate(calls) if call.endswith(f"{0:020d}.json"))
    assert data < calls.index("fsync .", data) < commit
    assert calls[-1] == "fsync ./_delta_log"


@pytest.mark.parametrize("step", ["write", "fsync", "link", "replace"])
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path)
    storage.put("kept", b"old")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "no space left on device")

    if step == "write":
        real = os.fdopen

        def fdopen(descriptor: int, *more: Any) -> Any:
            file = real(descriptor, *more)
            return _Full(file)

        monkeypatch.setattr(os, "fdopen", fdopen)
    else:
        monkeypatch.setattr(os, step, full)
    asked = storage.put_if_absent if step == "link" else storage.put
    with pytest.raises(OSError, match="no space"):
        asked("new", b"x" * 100)
    if step != "link":
        with pytest.raises(OSError, match="no space"):
            storage.put("kept", b"new")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert storage.get("kept") == b"old"


class _Full:
    """A file on a full disk."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, _: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")


def test_files_have_the_mode_that_the_umask_leaves_in_every_thread(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    before = os.umask(0o027)
    try:
        threads = [
            threading.Thread(target=storage.put, args=(f"f{number}", b"x")) for number in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


CUT = """
import os, sys
import pyarrow.parquet as pq
from reference_impl.errors import DeltaError
from reference_impl.scan import data_file
from reference_impl import read_table
from conformance.audit import audit

root, path, how = sys.argv[1:]
real = pq.ParquetFile

def opened(source, *args, **options):
    file = real(source, *args, **options)
    os.truncate(path, 5000)
    return file

pq.ParquetFile = opened
if how == "audit":
    found = audit(root)
    sys.exit(0 if any(f.severity == "error" for f in found) else 3)
try:
    read_table(root)
except DeltaError as error:
    print(type(error).__name__)
    sys.exit(0)
sys.exit(3)
"""


@pytest.mark.parametrize("how", ["read", "audit"])
def test_a_file_that_is_cut_off_while_it_is_read_is_a_typed_error(tmp_path: Path, how: str) -> None:
    table = Table(tmp_path)
    numbers = np.random.default_rng(7).integers(0, 2**60, 200_000)
    table.create(pa.schema([("id", pa.int64())]), rows=pa.table({"id": numbers}))
    (path,) = tmp_path.glob("*.parquet")
    assert pq.read_metadata(path).num_rows == 200_000
    run = subprocess.run(  # noqa: S603  our own interpreter and script
        [sys.executable, "-c", CUT, str(tmp_path), str(path), how],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, (run.returncode, run.stdout, run.stderr)
    if how == "read":
        assert "InvalidDataFile" in run.stdout


def test_no_module_maps_files_into_memory() -> None:
    root = Path(__file__).resolve().parents[3]
    for package in ("reference_impl", "conformance"):
        for module in (root / package).rglob("*.py"):
            text = module.read_text()
            assert "memory_map(" not in text, module
            assert "memory_map=True" not in text, module
