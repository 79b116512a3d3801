"""Two writers on one version: who commits second is rebased, or refused with the reason."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import (
    CommitConflict,
    ConcurrentAppend,
    ConcurrentDelete,
    ConcurrentDomainChange,
    ConcurrentMetadataChange,
    ConcurrentProtocolChange,
    ConcurrentTransaction,
    DeltaError,
    StorageFailed,
)
from reference_impl.storage import LocalStorage

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string())])


def rows(*numbers: int, part: str = "a") -> pa.Table:
    return pa.table({"id": list(numbers), "part": [part] * len(numbers)}, schema=SCHEMA)


class Racing(LocalStorage):
    """A storage on which another writer commits just before this one does."""

    def __init__(self, root: Path, race: Callable[[Table], Any]) -> None:
        super().__init__(root)
        self.race: Callable[[Table], Any] | None = race

    def put_if_absent(self, path: str, data: bytes) -> None:
        race, self.race = self.race, None
        if race is not None:
            race(Table(self.location))
        super().put_if_absent(path, data)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table(tmp_path / "table")
    made.create(SCHEMA, partition_columns=["part"], features=["domainMetadata"])
    made.append(rows(1, 2))
    made.append(rows(3, part="b"))
    return made


def racing(table: Table, race: Callable[[Table], Any]) -> Table:
    return Table(Racing(Path(table.storage.location), race))


Change = Callable[[Table], Any]


@pytest.mark.parametrize(
    ("loser", "winner", "left"),
    [
        (lambda t: t.append(rows(4)), lambda t: t.append(rows(5)), [1, 2, 3, 4, 5]),
        (lambda t: t.append(rows(4)), lambda t: t.delete("id = 1"), [2, 3, 4]),
        (lambda t: t.append(rows(4)), lambda t: t.overwrite(rows(9)), [4, 9]),
        (lambda t: t.delete("part = 'a'"), lambda t: t.delete("part = 'b'"), []),
        (lambda t: t.delete("part = 'a'"), lambda t: t.append(rows(7, part="c")), [3, 7]),
        (lambda t: t.delete("id = 1"), lambda t: t.append(rows(70)), [2, 3, 70]),
        (lambda t: t.set_transaction("a", 1), lambda t: t.set_transaction("b", 1), [1, 2, 3]),
        (lambda t: t.set_domain("a", "1"), lambda t: t.set_domain("b", "1"), [1, 2, 3]),
    ],
)
def test_changes_that_do_not_meet_both_stand(
    table: Table, clean: Callable[[], None], loser: Change, winner: Change, left: list[int]
) -> None:
    assert loser(racing(table, winner)) == 4
    assert sorted(read_table(table.storage.location)["id"].to_pylist()) == left
    clean()


@pytest.mark.parametrize(
    ("loser", "winner", "error"),
    [
        (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 2"), ConcurrentDelete),
        (lambda t: t.delete("id = 1"), lambda t: t.overwrite(rows(9)), ConcurrentDelete),
        (lambda t: t.delete("id >= 1"), lambda t: t.append(rows(8)), ConcurrentAppend),
        (lambda t: t.delete(), lambda t: t.append(rows(8)), ConcurrentAppend),
        (lambda t: t.update({"id": 0}), lambda t: t.append(rows(8)), ConcurrentAppend),
        (
            lambda t: t.append(rows(4)),
            lambda t: t.set_properties({"a": "b"}),
            ConcurrentMetadataChange,
        ),
        (
            lambda t: t.append(rows(4)),
            lambda t: t.set_properties({}, features=["vacuumProtocolCheck"]),
            ConcurrentProtocolChange,
        ),
        (
            lambda t: t.set_transaction("a", 2),
            lambda t: t.set_transaction("a", 1),
            ConcurrentTransaction,
        ),
        (
            lambda t: t.set_domain("a", "2"),
            lambda t: t.set_domain("a", "1"),
            ConcurrentDomainChange,
        ),
    ],
)
def test_concurrent_changes_are_distinguished(
    table: Table,
    clean: Callable[[], None],
    loser: Change,
    winner: Change,
    error: type[CommitConflict],
) -> None:
    with pytest.raises(error) as caught:
        loser(racing(table, winner))
    assert caught.value.kind == "conflict"
    assert table.latest_version() == 3
    clean()


def test_a_table_that_another_writer_created_is_a_conflict(tmp_path: Path) -> None:
    late = Table(Racing(tmp_path / "t", lambda t: t.create(SCHEMA)))
    with pytest.raises(CommitConflict):
        late.create(SCHEMA)


class Deaf(LocalStorage):
    """A storage that commits and does not say so."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        super().put_if_absent(path, data)
        if path.endswith(".json"):
            raise TimeoutError(path)


def test_a_commit_whose_answer_is_lost_is_made_once(table: Table) -> None:
    deaf = Table(Deaf(Path(table.storage.location)))
    assert deaf.append(rows(4)) == 3
    assert sorted(read_table(table.storage.location)["id"].to_pylist()) == [1, 2, 3, 4]


class Broken(LocalStorage):
    """A storage that fails to commit."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        raise PermissionError(f"{path}: {len(data)} bytes")


def test_a_commit_that_fails_leaves_the_table_as_it_was(table: Table) -> None:
    broken = Table(Broken(Path(table.storage.location)))
    with pytest.raises(StorageFailed):
        broken.append(rows(4))
    assert table.append(rows(5)) == 3


class Bare(LocalStorage):
    """A storage that takes commits and nothing that only helps."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        if path.endswith(".crc"):
            raise PermissionError(path)
        super().put_if_absent(path, data)


def test_a_version_stands_without_its_checksum(table: Table, clean: Callable[[], None]) -> None:
    bare = Table(Bare(Path(table.storage.location)))
    assert bare.append(rows(4)) == 3
    assert table.append(rows(5)) == 4
    clean()


def test_many_writers_lose_nothing(table: Table, clean: Callable[[], None]) -> None:
    versions: list[int] = []

    def work(start: int) -> None:
        mine = Table(table.storage.location)
        versions.extend(mine.append(rows(start + at)) for at in range(5))

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(versions) == list(range(3, 23))
    found = sorted(read_table(table.storage.location)["id"].to_pylist())
    assert found == [1, 2, 3, *(100 * n + at for n in range(1, 5) for at in range(5))]
    clean()


def test_a_name_that_a_folder_has_is_given_up_soon(table: Table, tmp_path: Path) -> None:
    taken = tmp_path / "table/_delta_log" / f"{table.latest_version() + 1:020d}.json"
    taken.mkdir()
    with pytest.raises(CommitConflict, match="not a commit file"):
        table.append(rows(3))
    assert read_table(tmp_path / "table").num_rows == 3


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_writer_does_not_pass_over_a_pipe_in_the_place_of_a_commit(
    table: Table, tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "table/_delta_log" / f"{table.latest_version() + 1:020d}.json"
    put = LocalStorage.put_if_absent

    def late(storage: LocalStorage, path: str, data: bytes) -> None:
        if path.endswith(taken.name) and not taken.exists():
            os.mkfifo(taken)
        put(storage, path, data)

    if when == "before":
        os.mkfifo(taken)
    else:
        monkeypatch.setattr(LocalStorage, "put_if_absent", late)
    with pytest.raises(DeltaError, match=taken.name):
        table.append(rows(3))
    assert stat.S_ISFIFO(taken.stat().st_mode)


def test_a_checkpoint_stands_where_its_hint_cannot_be_written(table: Table, tmp_path: Path) -> None:
    (tmp_path / "table/_delta_log/_last_checkpoint").mkdir()
    table.checkpoint()
    assert list((tmp_path / "table/_delta_log").glob("*.checkpoint.parquet"))
    assert read_table(tmp_path / "table").num_rows == 3
