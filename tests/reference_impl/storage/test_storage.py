"""Storage: local disk and object stores behave alike."""

from __future__ import annotations

import os
import random
import threading
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from reference_impl.errors import FileTooLarge, PlaceRefused
from reference_impl.limits import Limits, within_limits
from reference_impl.log.last_checkpoint import read_hint
from reference_impl.storage import LocalStorage, Storage, open_storage
from reference_impl.storage.object_store import ObjectStorage
from reference_impl.table import Table

LOG = "_delta_log"


@pytest.fixture(params=["local", "object"])
def storage(request: Any, tmp_path: Path) -> Storage:
    if request.param == "local":
        return LocalStorage(tmp_path / "table")
    return ObjectStorage("memory:///", store=MemoryStore())


def test_what_is_put_is_got(storage: Storage) -> None:
    storage.put("a b/c%20d#e.bin", b"0123456789")
    assert storage.get("a b/c%20d#e.bin") == b"0123456789"
    assert storage.get_range("a b/c%20d#e.bin", 3, 4) == b"3456"
    assert storage.get_range("a b/c%20d#e.bin", 8, 99) == b"89"
    assert storage.get_range("a b/c%20d#e.bin", 99, 2**62) == b""
    entry = storage.head("a b/c%20d#e.bin")
    assert (entry.size, entry.name) == (10, "c%20d#e.bin")
    assert entry.mtime > 1_600_000_000_000
    with storage.open_input("a b/c%20d#e.bin") as file:
        file.seek(5)
        assert file.read(2) == b"56"
    storage.put("a b/c%20d#e.bin", b"new")
    assert storage.get("a b/c%20d#e.bin") == b"new"


def test_an_empty_file_is_opened(storage: Storage) -> None:
    storage.put("empty", b"")
    with storage.open_input("empty") as file:
        assert file.read() == b""


def test_any_range_of_an_open_file_is_read(storage: Storage) -> None:
    chosen = random.Random(20261123)  # noqa: S311  a fixed seed
    data = chosen.randbytes(3 << 20)
    storage.put("large", data)
    with storage.open_input("large") as file:
        assert file.size() == len(data)
        for at in (0, 1 << 20, len(data) - 5, *(chosen.randrange(len(data)) for _ in range(40))):
            for length in (1, 64, 1 << 20, (1 << 20) + 1):
                assert file.read_at(length, at) == data[at : at + length]
        file.seek(-3, os.SEEK_END)
        file.seek(1, os.SEEK_CUR)
        assert (file.read(), file.tell()) == (data[-2:], len(data))


def test_a_small_file_of_a_store_is_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = ObjectStorage("memory:///", store=MemoryStore())
    written = pa.table({name: [f"{name}-{row}" for row in range(9)] for name in "abcdef"})
    with pa.BufferOutputStream() as out:
        pq.write_table(written, out, row_group_size=2)
    storage.put("f", out.getvalue().to_pybytes())
    asked: list[tuple[int, int]] = []
    get_range = obstore.get_range

    def counted(store: Any, path: str, *, start: int, end: int) -> Any:
        asked.append((start, end))
        return get_range(store, path, start=start, end=end)

    monkeypatch.setattr(obstore, "get_range", counted)
    with storage.open_input("f") as source:
        assert pq.read_table(source).equals(written)
    assert asked == [(0, out.getvalue().size)]


def test_a_missing_file_is_file_not_found_everywhere(storage: Storage) -> None:
    for ask in (
        lambda: storage.get("no"),
        lambda: storage.get_range("no", 0, 1),
        lambda: storage.head("no"),
        lambda: storage.open_input("no"),
        lambda: storage.get("no/deeper"),
    ):
        with pytest.raises(FileNotFoundError):
            ask()


def test_what_is_no_regular_file_is_not_found(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    storage = LocalStorage(tmp_path)
    for path in ("pipe", "directory", "/dev/zero"):
        for ask in (storage.get, storage.open_input, storage.head):
            with pytest.raises(FileNotFoundError):
                ask(path)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"whole")
    held: list[int] = []

    def replaced(descriptor: int | str) -> os.stat_result:
        """Put a pipe, which has a writer so that nothing waits, where a file was looked at."""
        found: os.stat_result = look(descriptor)
        if not held and S_ISREG(found.st_mode):
            (tmp_path / "f").unlink()
            os.mkfifo(tmp_path / "f")
            held.append(os.open(tmp_path / "f", os.O_RDWR))
        return found

    storage = LocalStorage(tmp_path)
    for name in ("stat", "fstat"):
        look = getattr(os, name)
        with monkeypatch.context() as patch:
            patch.setattr(os, name, replaced)
            with suppress(FileNotFoundError), storage.open_input("f") as file:
                assert file.size() == len(b"whole")
    assert held
    os.close(held[0])


def test_a_file_that_would_have_to_be_waited_for_is_empty(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/proc/kmsg")
    with suppress(PermissionError, FileNotFoundError):  # not everybody may read it
        assert isinstance(LocalStorage(tmp_path).get("x"), bytes)


def test_a_file_beyond_the_limit_is_not_read_as_a_whole(storage: Storage) -> None:
    storage.put("a", b"12345")
    with within_limits(Limits(log_file=4), "test"), pytest.raises(FileTooLarge) as caught:
        storage.get("a")
    assert (caught.value.path, caught.value.limit, caught.value.allowed) == ("a", "log_file", 4)


def test_a_hint_beyond_measure_is_ignored(log: Any) -> None:
    log.commit(log.protocol(), log.metadata(), log.add("f"))
    (log.directory / "_last_checkpoint").write_bytes(b" " * (1 << 24) + b'{"version":0}')
    assert read_hint(LocalStorage(log.root)) is None
    assert log.paths() == ["f"]


def test_a_listing_is_sorted_flat_and_starts_after_a_name(storage: Storage) -> None:
    for name in ("b", "a", "c", "deeper/d"):
        storage.put(f"{LOG}/{name}", b"x")
    storage.put(f"{LOG}-other/e", b"x")
    assert [entry.path for entry in storage.list_from(LOG)] == [f"{LOG}/{n}" for n in "abc"]
    assert [entry.name for entry in storage.list_from(LOG, "a")] == ["b", "c"]
    assert storage.list_from("nowhere") == []


def test_put_if_absent_keeps_what_is_there(storage: Storage) -> None:
    storage.put_if_absent(f"{LOG}/1", b"first")
    with pytest.raises(FileExistsError):
        storage.put_if_absent(f"{LOG}/1", b"second")
    assert storage.get(f"{LOG}/1") == b"first"
    assert [entry.name for entry in storage.list_from(LOG)] == ["1"]


def test_a_put_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(PlaceRefused, match="taken"):
        LocalStorage(tmp_path).put("taken", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_of_racing_writers_one_wins_and_its_content_stands_whole(storage: Storage) -> None:
    barrier = threading.Barrier(8)
    won: list[int] = []

    def write(number: int) -> None:
        barrier.wait()
        try:
            storage.put_if_absent(f"{LOG}/commit", bytes([number]) * 100_000)
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.get(f"{LOG}/commit") == bytes(won) * 100_000


def test_a_deleted_file_is_gone(storage: Storage) -> None:
    storage.put("f", b"x")
    storage.delete("f")
    with pytest.raises(FileNotFoundError):
        storage.head("f")


@pytest.mark.parametrize("name", ["plain", "with space", "100%", "a%20b", "c#d", "e?f", "ü"])
def test_a_root_with_special_characters_is_opened_by_path_and_by_url(
    tmp_path: Path, name: str
) -> None:
    root = tmp_path / name
    root.mkdir()
    (root / "f").write_bytes(b"x")
    for location in (str(root), root, root.as_uri()):
        assert open_storage(location).get("f") == b"x"


def test_absolute_paths_and_file_urls_leave_the_root(tmp_path: Path) -> None:
    other = tmp_path / "else where#1"
    other.write_bytes(b"x")
    storage = LocalStorage(tmp_path / "table")
    for path in (str(other), f"file://{other}", f"file:{other}", f"file://localhost{other}"):
        assert storage.get(path) == b"x"
    with pytest.raises(PlaceRefused):
        storage.get("s3://bucket/f")


def test_a_table_in_an_object_store_is_read(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"))
    log.checkpoint(1, log.add("f"), log.add("g"))
    log.hint(version=1, size=4)
    log.commit(log.remove("f"))
    store = MemoryStore()
    storage = ObjectStorage("memory:///", store=store)
    for file in log.directory.iterdir():
        storage.put(f"{LOG}/{file.name}", file.read_bytes())
    table = Table(storage)
    assert table.snapshot().adds()["path"].to_pylist() == ["g"]
    assert table.snapshot().segment.checkpoint is not None
    assert [item.version for item in table.history()] == [2, 1, 0]
    name = f"{LOG}/{1:020d}.checkpoint.parquet"
    with storage.open_input(name) as file:
        assert pq.read_metadata(file).num_rows == 4


def test_a_commit_file_is_readable_by_others(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.put_if_absent("f", b"x")
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert (tmp_path / "f").stat().st_mode == plain.stat().st_mode
