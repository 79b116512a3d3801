"""Vacuum, metadata cleanup and log compaction: what is removed is not needed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import ConstraintViolation, InvalidMetadata, VersionNotFound
from reference_impl.write.checkpoints.write import Style

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string())])
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.deletedFileRetentionDuration": "interval 1 hour",
}
DAY = 86_400


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "part": ["ab"[n % 2] for n in numbers]}, schema=SCHEMA)


def root(table: Table) -> Path:
    return Path(table.storage.location)


def age(table: Table, seconds: int) -> None:
    """Make every file of the table, and every tombstone in its log, older."""
    moment = time.time() - seconds
    for path in root(table).rglob("*"):
        if path.is_file():
            if path.suffix == ".json":
                lines = [json.loads(line) for line in path.read_text().splitlines()]
                for line in lines:
                    if "remove" in line:
                        line["remove"]["deletionTimestamp"] -= seconds * 1000
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            os.utime(path, (moment, moment))


def data(table: Table) -> set[str]:
    return {
        path.relative_to(root(table)).as_posix()
        for path in root(table).rglob("*")
        if path.is_file() and "_delta_log" not in path.parts
    }


@pytest.fixture
def old(table: Table) -> Table:
    table.create(SCHEMA, partition_columns=["part"], properties=PROPERTIES)
    table.append(rows(1, 2, 3, 4))
    table.delete("id = 1")
    table.delete("id = 3")
    table.update({"id": 20}, "id = 2")
    (root(table) / "part=a" / "orphan.parquet").write_bytes(b"left by a crash")
    (root(table) / "_mine").mkdir()
    (root(table) / "_mine" / "note.txt").write_bytes(b"not the table's")
    age(table, 2 * 3600)
    return table


def test_only_what_no_version_needs_goes(old: Table, clean: Callable[[], None]) -> None:
    before = data(old)
    planned = old.vacuum(dry_run=True)
    assert data(old) == before
    assert old.vacuum() == planned
    assert before - data(old) == set(planned)
    assert "part=a/orphan.parquet" in planned
    assert "_mine/note.txt" in data(old)
    assert any(path.startswith("_change_data/") for path in planned)
    assert any(path.endswith(".bin") for path in planned)
    found = sorted(read_table(old.storage.location)["id"].to_pylist())
    assert found == [4, 20]
    clean()


def test_young_files_and_fresh_tombstones_stay(old: Table) -> None:
    old.delete("id = 4")
    young = root(old) / "part=a" / "young.parquet"
    young.write_bytes(b"a commit may be on its way")
    gone = old.vacuum()
    assert "part=a/young.parquet" not in gone
    before = sorted(read_table(old.storage.location, version=4)["id"].to_pylist())
    assert before == [4, 20]


def test_a_removal_without_a_time_stays_with_its_file(table: Table) -> None:
    table.create(SCHEMA, properties=PROPERTIES)
    table.append(rows(1))
    version = table.overwrite(rows(2))
    age(table, 365 * DAY)
    commit = root(table) / "_delta_log" / f"{version:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        line.get("remove", {}).pop("deletionTimestamp", None)
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table.checkpoint()
    assert table.snapshot().tombstones().num_rows == 1
    assert table.vacuum() == []


def test_a_retention_below_the_promise_is_refused(old: Table) -> None:
    with pytest.raises(ConstraintViolation):
        old.vacuum(retention=0)
    assert old.vacuum(retention=0, unsafe=True, dry_run=True)


def test_a_retention_of_any_length_is_taken(old: Table) -> None:
    assert old.vacuum(retention=10**30) == []


def test_a_retention_that_is_no_interval_is_refused(table: Table) -> None:
    name = "delta.deletedFileRetentionDuration"
    with pytest.raises(InvalidMetadata):
        table.create(SCHEMA, properties={name: "a while"})
    table.create(SCHEMA, properties={name: "interval 1 days"})
    commit = root(table) / "_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text().replace("interval 1 days", "a while"))
    with pytest.raises(InvalidMetadata):
        table.vacuum()


@pytest.fixture
def long(table: Table) -> Table:
    table.create(SCHEMA)
    for number in range(6):
        table.append(rows(number))
        if number in (1, 3):
            table.checkpoint()
    log = root(table) / "_delta_log"
    for path in log.iterdir():
        version = int(path.name[:20]) if path.name[0].isdecimal() else 0
        moment = time.time() - (40 if version < 4 else 1) * DAY
        os.utime(path, (moment, moment))
    return table


def test_expired_log_files_go_and_every_promised_version_stays(
    long: Table, clean: Callable[[], None]
) -> None:
    long.compact_log(0, 1)
    gone = long.clean_log()
    names = sorted(path.name for path in (root(long) / "_delta_log").iterdir())
    assert f"{1:020d}.json" not in names
    assert f"{2:020d}.json" in names
    assert f"{2:020d}.checkpoint.parquet" in names
    assert any(path.endswith("compacted.json") for path in gone)
    for version in range(2, 7):
        assert read_table(long.storage.location, version=version).num_rows == version
    with pytest.raises(VersionNotFound):
        read_table(long.storage.location, version=1)
    assert long.clean_log() == []
    clean()


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _spoil_pages(path: Path) -> None:
    """Spoil the paths of a Parquet file, whose footer stays."""
    data = bytearray(path.read_bytes())
    groups = pq.ParquetFile(path).metadata
    for number in range(groups.num_columns):
        column = groups.row_group(0).column(number)
        if column.path_in_schema == "add.path":
            start = column.dictionary_page_offset or column.data_page_offset
            for at in range(start, start + column.total_compressed_size):
                data[at] ^= 0xFF
    path.write_bytes(data)


def _file_actions(path: Path) -> int:
    adds = pq.read_table(path, columns=["add"]).column("add")
    return len(adds) - int(adds.null_count)


def _become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [_cut, _spoil_pages, _become_folder, Path.unlink])
@pytest.mark.parametrize(
    "style", [Style(), Style(parts=2), Style("v2", "json", 2), Style("v2", "parquet", 1)]
)
def test_no_commit_goes_for_a_checkpoint_that_is_not_whole(
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], None],
    style: Style,
) -> None:
    if spoil is _spoil_pages:  # of a checkpoint so large that not every column is read at once
        monkeypatch.setattr("reference_impl.log.checkpoints.reader._FEW_ROWS", 1)
    table.create(SCHEMA, features=["v2Checkpoint"] if style.spec == "v2" else [])
    for number in range(4):
        table.append(rows(number))
        if number == 1:
            table.checkpoint()
    table.checkpoint(style)
    log = root(table) / "_delta_log"
    found = sorted((log / "_sidecars").glob("*")) or sorted(log.glob(f"{4:020d}.checkpoint*"))
    if spoil is _spoil_pages:  # a part of no file actions reads as before
        found = [path for path in found if _file_actions(path)]
    spoil(found[-1])
    table.append(rows(9))
    age(table, 40 * DAY)
    with suppress(DeltaError):  # it may give up, and then deletes nothing
        table.clean_log()
    for version in (2, 4, 5):
        assert read_table(table.storage.location, version=version).num_rows == version


def test_without_a_checkpoint_nothing_goes(table: Table) -> None:
    table.create(SCHEMA)
    table.append(rows(1))
    age(table, 90 * DAY)
    assert table.clean_log() == []


def test_a_compaction_stands_for_its_commits(old: Table, clean: Callable[[], None]) -> None:
    old.set_transaction("app", 7)
    old.compact_log(1, 5)
    before = read_table(old.storage.location).sort_by("id")
    for version in range(2, 5):
        commit = root(old) / "_delta_log" / f"{version:020d}.json"
        commit.rename(commit.with_suffix(".kept"))
        commit.write_bytes(b"not read\n")
    snapshot = old.snapshot()
    assert read_table(old.storage.location).sort_by("id") == before
    assert snapshot.txns["app"].version == 7
    for version in range(2, 5):
        commit = root(old) / "_delta_log" / f"{version:020d}.kept"
        commit.rename(commit.with_suffix(".json"))
    clean()


def test_commits_that_come_to_nothing_get_no_compaction(
    old: Table, clean: Callable[[], None]
) -> None:
    first = old.unset_properties(["a"])
    last = old.unset_properties(["b"])
    old.compact_log(first, last)
    assert list((root(old) / "_delta_log").glob("*.compacted.json")) == []
    old.compact_log(first - 1, last)
    assert len(list((root(old) / "_delta_log").glob("*.compacted.json"))) == 1
    clean()


@pytest.mark.parametrize(
    ("start", "end"),
    [(3, 3), (4, 2), (0, 99), (-1, 1), (0, 2**63), (1, 10**30), (99, 100), (2**63, 2**64)],
)
def test_impossible_compactions_are_refused(old: Table, start: int, end: int) -> None:
    with pytest.raises(VersionNotFound):
        old.compact_log(start, end)


@pytest.mark.parametrize("prefix", ["a\0b", "\ud800", "a\0b/", "\ud800/", "x" * 300 + "/"])
def test_a_vector_that_no_file_can_be_named_costs_no_file(table: Table, prefix: str) -> None:
    table.create(
        SCHEMA, properties=PROPERTIES | {"delta.deletedFileRetentionDuration": "interval 0 hours"}
    )
    table.append(rows(1, 2, 3))
    before = data(table)
    (add,) = table.snapshot().adds().slice(0, 1).to_pylist(maps_as_pydicts="strict")
    name = prefix + "0" * 20
    vector = {"storageType": "u", "pathOrInlineDv": name, "offset": 1, "sizeInBytes": 34}
    body = {key: value for key, value in add.items() if value is not None}
    body["deletionVector"] = vector | {"cardinality": 1}
    line = json.dumps({"add": body})
    (root(table) / "_delta_log" / f"{2:020d}.json").write_text(line)
    age(table, 60)
    with suppress(DeltaError):
        table.vacuum()
    assert data(table) == before
    assert audit(str(root(table)))
