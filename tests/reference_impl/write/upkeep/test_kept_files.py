"""No operation deletes or replaces a file that this table or another one needs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import ConstraintViolation, InvalidTableError, PlaceRefused
from reference_impl.storage.local import LocalStorage

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
MANIFESTS = "_symlink_format_manifest"
DAYS = 30 * 86_400


def _table(root: Path) -> Path:
    table = Table(root)
    table.create(ROWS.schema)
    table.append(ROWS)
    return root


def _move(root: Path, name: str) -> Path:
    """Give the data file of a table another name, as another writer may have chosen it."""
    (data,) = root.glob("*.parquet")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    data.rename(root / name)
    commit = root / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text().replace(data.name, name))
    return root / name


def _age(root: Path) -> None:
    for path in root.rglob("*"):
        moment = path.stat().st_mtime - DAYS
        os.utime(path, (moment, moment))


@pytest.mark.parametrize("name", ["a.parquet", "x/manifest", "p=1/manifest"])
def test_a_data_file_beside_manifests_stays(tmp_path: Path, name: str) -> None:
    root = _table(tmp_path / "t")
    _move(root, f"{MANIFESTS}/{name}")
    Table(root).generate_manifest()
    assert read_table(root) == ROWS


def test_a_data_file_with_the_name_of_a_manifest_is_not_replaced(tmp_path: Path) -> None:
    root = _table(tmp_path / "t")
    _move(root, f"{MANIFESTS}/manifest")
    with pytest.raises(PlaceRefused, match="manifest"):
        Table(root).generate_manifest()
    assert read_table(root) == ROWS


def test_a_removed_file_beside_manifests_stays_for_as_long_as_it_was_promised(
    tmp_path: Path,
) -> None:
    root = _table(tmp_path / "t")
    _move(root, f"{MANIFESTS}/p=1/manifest")
    Table(root).delete()
    Table(root).generate_manifest()
    assert read_table(root, version=1) == ROWS


def test_what_is_no_manifest_is_left_in_the_folder(tmp_path: Path) -> None:
    root = _table(tmp_path / "t")
    note = root / MANIFESTS / "notes.txt"
    note.parent.mkdir()
    note.write_text("precious")
    Table(root).generate_manifest()
    assert note.read_text() == "precious"


@pytest.mark.parametrize("linked", [False, True], ids=["log", "symlink"])
@pytest.mark.parametrize("folder", ["inner", "a/b", "p=1", "p=1/q=2"])
def test_a_table_below_a_table_keeps_its_files(tmp_path: Path, folder: str, linked: bool) -> None:
    outer = _table(tmp_path / "t")
    inner = _table(outer / folder)
    if linked:
        (inner / "_delta_log").rename(tmp_path / "log")
        (inner / "_delta_log").symlink_to(tmp_path / "log")
    orphan = outer / "orphan.parquet"
    orphan.write_bytes(b"x")
    _age(outer)
    assert Table(outer).vacuum() == [orphan.name]
    assert read_table(inner) == ROWS


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_a_table_in_a_folder_of_a_table_leaves_the_files_of_that(
    tmp_path: Path, linked: bool, removed: bool
) -> None:
    outer = _table(tmp_path / "t")
    theirs = _move(outer, "p=1/theirs.parquet")
    inner = _table(theirs.parent)
    orphan = inner / "orphan.parquet"
    orphan.write_bytes(b"left by a crash")
    if removed:
        Table(outer).delete()
    for path in inner.rglob("*"):
        os.utime(path, (1, 1))
    if linked:
        (tmp_path / "link").symlink_to(inner)
        inner = tmp_path / "link"
    assert Table(inner).vacuum(retention=0, unsafe=True) == ["orphan.parquet"]
    assert theirs.exists()
    (outer / "_delta_log" / f"{1:020d}.json").write_text("{")
    orphan.write_bytes(b"left by a crash")
    os.utime(orphan, (1, 1))
    with pytest.raises(InvalidTableError):
        Table(inner).vacuum(retention=0, unsafe=True)
    assert orphan.exists()


@pytest.mark.parametrize("linked", [False, True])
def test_no_file_of_another_table_is_converted(tmp_path: Path, linked: bool) -> None:
    inner = _table(tmp_path / "t" / "p=1")
    if linked:
        (inner / "_delta_log").rename(tmp_path / "log")
        (inner / "_delta_log").symlink_to(tmp_path / "log")
    with pytest.raises(ConstraintViolation, match="another table"):
        Table(tmp_path / "t").convert()
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_no_file_is_converted_that_a_table_above_names(tmp_path: Path) -> None:
    outer = _table(tmp_path / "t")
    inner = _move(outer, "p=1/theirs.parquet").parent
    with pytest.raises(ConstraintViolation, match="another table"):
        Table(inner).convert()
    Table(outer / "other").create(ROWS.schema)  # beside them there may be a table


def test_a_log_that_is_a_symlink_makes_no_other_table_of_its_own(tmp_path: Path) -> None:
    root = _table(tmp_path / "t")
    (root / "_delta_log").rename(tmp_path / "log")
    (root / "_delta_log").symlink_to(tmp_path / "log")
    orphan = root / "orphan.parquet"
    orphan.write_bytes(b"x")
    _age(root)
    assert Table(root).vacuum() == [orphan.name]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_file_that_another_writer_adds_during_a_vacuum_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checkpoint: bool
) -> None:
    root = _table(tmp_path / "t")
    Table(root).delete()
    removed = root / "_delta_log" / f"{2:020d}.json"
    lines = [json.loads(line) for line in removed.read_text().splitlines()]
    for line in lines:
        if "remove" in line:
            line["remove"]["deletionTimestamp"] -= DAYS * 1000
    removed.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    _age(root)
    walk = LocalStorage.walk

    def slow(self: LocalStorage, *arguments: Any) -> Iterator[Any]:
        found = list(walk(self, *arguments))
        Table(root).restore(1)
        if checkpoint:
            Table(root).checkpoint()
        return iter(found)

    monkeypatch.setattr(LocalStorage, "walk", slow)
    assert Table(root).vacuum() == []
    assert read_table(root) == ROWS
