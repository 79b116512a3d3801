"""Symlinks, and file systems that take two spellings for one: what is in doubt stays."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import InvalidAction, PlaceRefused
from reference_impl.places import LocalRoot, Policy
from reference_impl.storage import Identity, LocalStorage

PARTITIONED = pa.schema([("id", pa.int64()), ("p", pa.string())])


def vacuumed(world: Any) -> list[str]:
    """Vacuum the table; what it could read before and what was outside has to stay."""
    orphan = world.litter()
    world.age()
    before, outside = sorted(read_table(world.root)["id"].to_pylist()), world.content(world.outside)
    gone = Table(world.root).vacuum(retention=0, unsafe=True)
    assert not orphan.exists()
    assert sorted(read_table(world.root)["id"].to_pylist()) == before == [2, 3, 4]
    assert world.content(world.outside) == outside
    return gone


def test_the_target_of_a_named_symlink_stays(world: Any) -> None:
    (world.root / "part-0.parquet").rename(world.root / "target.parquet")
    (world.root / "part-0.parquet").symlink_to("target.parquet")
    world.name()
    assert vacuumed(world) == ["_change_data/change-0.parquet", "orphan.parquet"]


def test_a_file_named_through_a_linked_folder_stays(world: Any) -> None:
    (world.root / "held").mkdir()
    (world.root / "part-0.parquet").rename(world.root / "held" / "x.parquet")
    (world.root / "alias").symlink_to("held")
    world.name(data="alias/x.parquet")
    vacuumed(world)


def test_a_file_named_through_a_folder_outside_stays(world: Any) -> None:
    (world.root / "held").mkdir()
    (world.root / "part-0.parquet").rename(world.root / "held" / "x.parquet")
    (world.outside / "back").symlink_to(world.root / "held")
    (world.root / "alias").symlink_to(world.outside)
    world.name(data="alias/back/x.parquet")
    vacuumed(world)


def test_what_lies_in_a_folder_that_a_symlink_leads_to_stays(world: Any) -> None:
    (world.root / "held").mkdir()
    (world.root / "held" / "unknown.parquet").write_bytes(b"of another table")
    (world.root / "alias").symlink_to("held")
    world.name()
    vacuumed(world)
    assert (world.root / "held" / "unknown.parquet").exists()


def test_a_linked_file_outside_of_the_table_stays(world: Any) -> None:
    (world.root / "part-0.parquet").rename(world.outside / "lent.parquet")
    (world.root / "part-0.parquet").symlink_to(world.outside / "lent.parquet")
    (world.root / "unnamed.parquet").symlink_to(world.outside / "precious.parquet")
    world.name()
    assert "unnamed.parquet" in vacuumed(world)


@pytest.mark.parametrize(
    ("listed", "named", "fold"),
    [
        ("PART-0.parquet", "part-0.Parquet", str.casefold),
        ("é.parquet", "e\u0301.parquet", lambda name: unicodedata.normalize("NFC", name)),
    ],
    ids=["case", "Unicode"],
)
def test_a_file_whose_spellings_the_file_system_equates_stays(
    world: Any,
    listed: str,
    named: str,
    fold: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (world.root / "part-0.parquet").rename(world.root / listed)
    world.name(data=named)
    world.litter()
    world.age()
    identify = LocalStorage.identify

    def folded(storage: LocalStorage, path: str) -> Identity | None:
        same = [p.name for p in world.root.iterdir() if fold(p.name) == fold(path)]
        return identify(storage, same[0] if same else path)

    monkeypatch.setattr(LocalStorage, "identify", folded)
    gone = Table(world.root).vacuum(retention=0, unsafe=True)
    assert gone == ["_change_data/change-0.parquet", "orphan.parquet"]


@pytest.mark.parametrize("named", [".", "{root}", "file://{root}/", "folder"])
def test_nothing_is_deleted_where_a_folder_is_named_as_a_file(world: Any, named: str) -> None:
    (world.root / "folder").mkdir()
    world.name(data=world.fill(named, ""))
    orphan = world.litter()
    world.age()
    with pytest.raises(InvalidAction):
        Table(world.root).vacuum(retention=0, unsafe=True)
    assert orphan.exists()


@pytest.fixture
def split(world: Any) -> Any:
    """Return a world with a table of partitions, one of whose folders is a symlink out of it."""
    world.root = world.root.parent / "partitioned"
    table = Table(world.root)
    table.create(
        PARTITIONED,
        partition_columns=["p"],
        properties={"delta.enableChangeDataFeed": "true"},
    )
    table.append(pa.table({"id": [1, 2], "p": ["a", "b"]}))
    return world


def _lead_out(world: Any, folder: str) -> Path:
    target: Path = world.outside / "target"
    inside = world.root / folder
    if inside.exists():
        inside.rename(target)
    else:
        target.mkdir()
    inside.symlink_to(target)
    return target


@pytest.mark.parametrize(
    ("folder", "write"),
    [
        ("p=a", lambda t: t.append(pa.table({"id": [3], "p": ["a"]}))),
        ("p=a", lambda t: t.update({"id": 7}, "p = 'a'")),
        ("_change_data", lambda t: t.update({"id": 7}, "p = 'a'")),
        ("_delta_log", lambda t: t.append(pa.table({"id": [3], "p": ["b"]}))),
        ("_delta_log", lambda t: t.checkpoint()),
        ("_symlink_format_manifest", lambda t: t.generate_manifest()),
    ],
)
def test_nothing_is_written_through_a_linked_folder(split: Any, folder: str, write: Any) -> None:
    target = _lead_out(split, folder)
    before = split.content(target)
    version = Table(split.root).latest_version()
    with pytest.raises(PlaceRefused):
        write(Table(split.root))
    assert split.content(target) == before
    assert Table(split.root).latest_version() == version


def test_nothing_is_deleted_through_a_linked_folder(split: Any) -> None:
    target = _lead_out(split, "p=a")
    (target / "theirs.parquet").write_bytes(b"not the table's")
    split.age()
    before = split.content(target)
    assert Table(split.root).vacuum(retention=0, unsafe=True) == []
    for path in ("p=a/theirs.parquet", str(target / "theirs.parquet"), "../outside/x", "s3://b/x"):
        for change in (
            lambda p: LocalStorage(split.root).delete(p),
            lambda p: LocalStorage(split.root).put(p, b""),
            lambda p: LocalStorage(split.root).put_if_absent(p, b""),
        ):
            with pytest.raises(PlaceRefused):
                change(path)
    assert split.content(target) == before


def test_log_files_are_not_cleaned_through_a_linked_folder(split: Any) -> None:
    table = Table(split.root)
    table.append(pa.table({"id": [3], "p": ["b"]}))
    table.checkpoint()
    split.age()
    target = _lead_out(split, "_delta_log")
    before = split.content(target)
    with pytest.raises(PlaceRefused):
        Table(split.root).clean_log()
    assert split.content(target) == before


def test_a_folder_inside_may_be_a_symlink(split: Any) -> None:
    (split.root / "p=a").rename(split.root / "_moved")
    (split.root / "p=a").symlink_to("_moved")
    table = Table(split.root)
    table.append(pa.table({"id": [3], "p": ["a"]}))
    split.age()
    assert table.vacuum(retention=0, unsafe=True) == []
    assert sorted(read_table(split.root)["id"].to_pylist()) == [1, 2, 3]


def test_optimize_leaves_files_outside_of_the_table_alone(world: Any) -> None:
    lent = world.outside / "lent.parquet"
    (world.root / "part-0.parquet").rename(lent)
    world.name(data=world.fill(f"file://{lent}", ""))
    table = Table(world.root)
    for number in (8, 9):
        table.append(pa.table({"id": [number]}))
    for purge in (True, False):
        table.optimize(purge_only=purge)
    paths = table.snapshot().files()["path"].to_pylist()
    assert f"file://{lent}" in paths
    assert len(paths) == 2
    assert sorted(read_table(world.root)["id"].to_pylist()) == [2, 3, 4, 8, 9]


def test_a_sidecar_that_is_live_as_a_data_file_is_not_cleaned(world: Any) -> None:
    world.name(data="_delta_log/_sidecars/lent.parquet")
    (world.root / "_delta_log" / "_sidecars").mkdir()
    (world.root / "part-0.parquet").rename(world.root / "_delta_log/_sidecars/lent.parquet")
    Table(world.root).checkpoint()
    stray = world.root / "_delta_log" / "_sidecars" / "stray.parquet"
    stray.write_bytes(b"no checkpoint's")
    world.age()
    Table(world.root).clean_log()
    assert not stray.exists()
    assert sorted(read_table(world.root)["id"].to_pylist()) == [2, 3, 4]


def _swapped(world: Any, monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    """Put a symlink to the outside in the place of a folder once a path through it was resolved."""
    folder = world.root / "folder"
    folder.mkdir()
    (folder / "precious.parquet").write_bytes(b"the table's")
    right = getattr(LocalRoot, look)

    def late(root: LocalRoot, path: str) -> Any:
        found = right(root, path)
        if folder.is_dir() and not folder.is_symlink():
            folder.rename(world.root / "held")
            folder.symlink_to(world.outside)
        return found

    monkeypatch.setattr(LocalRoot, look, late)


@pytest.mark.parametrize(
    "read",
    [
        lambda storage, path: storage.get(path),
        lambda storage, path: storage.get_range(path, 0, 3),
        lambda storage, path: storage.open_input(path),
    ],
    ids=["get", "range", "input"],
)
def test_a_folder_that_is_swapped_leads_no_read_out_of_the_root(
    world: Any, read: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _swapped(world, monkeypatch, "follow")
    with pytest.raises(PlaceRefused):
        read(LocalStorage(world.root, policy=Policy("refuse")), "folder/precious.parquet")


def test_a_folder_that_is_swapped_leads_no_deletion_out_of_the_root(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _swapped(world, monkeypatch, "writable_key")
    with pytest.raises(PlaceRefused):
        LocalStorage(world.root).delete("folder/precious.parquet")
    assert (world.outside / "precious.parquet").exists()


@pytest.mark.parametrize("method", ["put", "put_if_absent"])
@pytest.mark.parametrize("name", ["p=a/new", "p=a/deep/new"])
def test_a_folder_that_is_swapped_for_a_symlink_leads_no_write_out(
    split: Any, method: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(split.root)
    look = LocalRoot.writable_key

    def swapping(root: LocalRoot, path: str) -> str:
        address = look(root, path)
        _lead_out(split, "p=a")
        return address

    monkeypatch.setattr(LocalRoot, "writable_key", swapping)
    before = sorted(split.content(split.outside))
    with pytest.raises(PlaceRefused, match="since it was looked at"):
        getattr(storage, method)(name, b"x")
    target = split.outside / "target"
    after = [each for each in target.rglob("*") if "new" in each.name or "deep" in each.name]
    assert after == []
    assert sorted(each for each in split.content(split.outside) if each in before) == before
