"""A directory with whatever names in it becomes a table of its own files, or is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spellings import NAMES, ROOTS, SIDECARS, SPELLINGS, opened

from reference_impl import Table, read_table
from reference_impl.errors import DeltaError, PlaceRefused, SchemaMismatch

_MORE = [
    "a b.parquet", "a%20b.parquet", "%2e%2e.parquet", "%2Fetc.parquet", "c:.parquet", "s3:.parquet",
    "x\n.parquet", "x\r\ny.parquet", "x\t.parquet", "\x1b[2J.parquet", "\u202e.parquet",
    "日本.parquet", "'quoted\".parquet", "a=b.parquet", "*.parquet", "[x].parquet", "~.parquet",
    "-rf.parquet", "$HOME.parquet", "{root}.parquet", "x;y.parquet", "x&y.parquet", "x|y.parquet",
    "\\\\host\\x.parquet", "C:\\x.parquet", "a" * 200 + ".parquet", "%.parquet", "%zz.parquet",
    "%00.parquet", "%ff.parquet", "CON.parquet", "x.PARQUET.parquet", "x .parquet",
    "\u00a0.parquet",
]  # fmt: skip
_FILES = [
    name for name in [*NAMES, *_MORE] if not name.startswith(".") and name.endswith("parquet")
]
_FOLDERS = [
    "p=a b", "p=a%20b", "p=..", "p=%2e%2e", "p=.", "p=~", "p=a%2Fb", "p=c:", "p=s3:", "p=file:",
    "p=é", "p=%C3%A9", "p=#", "p=?", "p=%", "p=%25", "p=\n", "p=\x1b", "p=*", "p=a=b", "p=日",
]  # fmt: skip
_REFUSED = ["p=%ff", "p=%C3", "%ff=a", "p", "=a", "p=a/p=b", "file:", "s3:", "p=\udcff"]


@pytest.fixture
def bare(world: Any) -> Any:
    """Return the world without its table, and a file outside that is not to be read."""
    for path in world.root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (world.root / "_delta_log").mkdir()  # a spelling of the root climbs out of it
    pq.write_table(pa.table({"id": [666]}), world.outside / "precious.parquet")
    return world


def _put(root: Path, path: str) -> Path:
    target = Path(f"{root}/{path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        pq.write_table(pa.table({"id": [7]}), file)
    return target


def _holds(world: Any, location: str, file: Path) -> None:
    """Convert, and check the table against vacuum, clean-up and rewriting."""
    table = Table(location)
    assert table.convert() == 0
    orphan = world.litter()
    assert read_table(location)["id"].to_pylist() == [7]
    world.age()
    table.vacuum(retention=0, unsafe=True)
    assert not orphan.exists()
    assert file.exists()
    assert read_table(location)["id"].to_pylist() == [7]
    table.optimize()
    table.append(table.snapshot() and read_table(location))
    assert read_table(location)["id"].to_pylist() == [7, 7]


@pytest.mark.parametrize("name", _FILES)
def test_a_file_of_any_name_is_converted(
    bare: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ROOTS[_FILES.index(name) % len(ROOTS)]
    _holds(bare, opened(bare, how, monkeypatch), _put(bare.root, name))


@pytest.mark.parametrize("folder", _FOLDERS)
def test_a_folder_of_any_value_is_converted(
    bare: Any, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ROOTS[_FOLDERS.index(folder) % len(ROOTS)]
    location = opened(bare, how, monkeypatch)
    _holds(bare, location, _put(bare.root, f"{folder}/x.parquet"))
    value = unquote(folder.partition("=")[2])
    assert set(read_table(location)["p"].to_pylist()) == {value}


@pytest.mark.parametrize("how", ROOTS)
def test_a_root_of_any_spelling_is_converted(
    bare: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _holds(bare, opened(bare, how, monkeypatch), _put(bare.root, "p=a b/x y.parquet"))


@pytest.mark.parametrize("folder", _REFUSED)
def test_a_folder_that_does_not_say_its_value_is_refused(bare: Any, folder: str) -> None:
    _put(bare.root, f"{folder}/x.parquet")
    with pytest.raises(SchemaMismatch):
        Table(bare.root).convert()
    assert not list((bare.root / "_delta_log").iterdir())


@pytest.mark.parametrize(
    "spelling", [s for s in {**SPELLINGS, **SIDECARS} if ".." not in unquote(s) and "/" in s]
)
def test_folders_that_spell_another_place_lead_nowhere_else(bare: Any, spelling: str) -> None:
    named = bare.fill(spelling, "x.parquet").replace(str(bare.root), str(bare.outside))
    _put(bare.outside, "x.parquet")
    held = bare.content(bare.outside)
    _put(bare.root, named)
    try:
        Table(bare.root).convert()
        found = read_table(bare.root)["id"].to_pylist()
    except DeltaError:
        found = [7]
    assert found == [7]
    assert bare.content(bare.outside) == held


@pytest.mark.parametrize("name", [b"\xff.parquet", b"p=\xff/x.parquet", b"\xed\xa0\x80.parquet"])
def test_a_name_that_is_no_text_is_refused(bare: Any, name: bytes) -> None:
    _put(bare.root, os.fsdecode(name))
    with pytest.raises(SchemaMismatch, match="UTF-8"):
        Table(bare.root).convert(pa.schema([("id", pa.int64())]))


@pytest.mark.parametrize("name", ["linked", "p=linked"])
def test_a_folder_that_is_a_link_is_not_left_out_unsaid(bare: Any, name: str) -> None:
    _put(bare.root, "p=a/x.parquet")
    (bare.root / name).symlink_to(bare.outside)
    with pytest.raises(SchemaMismatch, match="symlink"):
        Table(bare.root).convert()
    (bare.root / name).rename(bare.root / ".hidden")
    Table(bare.root).convert()
    assert read_table(bare.root)["id"].to_pylist() == [7]


def test_a_file_that_is_a_link_is_read_as_the_policy_says(bare: Any) -> None:
    (bare.root / "x.parquet").symlink_to(bare.outside / "precious.parquet")
    with pytest.raises(PlaceRefused):
        Table(bare.root, outside="refuse").convert()
    assert not list((bare.root / "_delta_log").iterdir())
    Table(bare.root).convert()
    Table(bare.root).vacuum(retention=0, unsafe=True)
    assert (bare.outside / "precious.parquet").exists()
