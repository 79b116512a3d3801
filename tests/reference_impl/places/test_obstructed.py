"""What stands where a file or a folder is to be written: refused, and nothing is lost or left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import PlaceRefused
from reference_impl.write.checkpoints.write import Style

OBSTACLES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "file": lambda path: path.write_bytes(b"not a folder"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing inside": lambda path: path.symlink_to("nowhere"),
    "device": lambda path: path.symlink_to("/dev/zero"),
}
PROPERTIES = {"delta.enableChangeDataFeed": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def _table(root: Path) -> Table:
    table = Table(root)
    table.create(SCHEMA, partition_columns=["p"], properties=PROPERTIES, features=["v2Checkpoint"])
    table.append(pa.table({"id": [1, 2], "p": ["a", "a"]}))
    return table


WRITES: dict[str, Callable[[Table], object]] = {
    "p=b": lambda table: table.append(pa.table({"id": [3], "p": ["b"]})),
    "_change_data": lambda table: table.update({"id": 7}, "id = 1"),
    "_symlink_format_manifest": lambda table: table.generate_manifest(),
    "_delta_log/_sidecars": lambda table: table.checkpoint(Style("v2", "json", sidecars=1)),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("folder", WRITES)
def test_what_has_the_name_of_a_folder_is_a_typed_refusal(
    tmp_path: Path, folder: str, obstacle: str
) -> None:
    table = _table(tmp_path / "t")
    OBSTACLES[obstacle](tmp_path / "t" / folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PlaceRefused):
        WRITES[folder](table)
    assert sorted(tmp_path.rglob("*")) == before
    assert read_table(tmp_path / "t")["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("place", ["t", "t/_delta_log"])
def test_no_table_is_made_where_something_else_is(
    tmp_path: Path, place: str, obstacle: str
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    OBSTACLES[obstacle](tmp_path / place)
    with pytest.raises(DeltaError):
        Table(tmp_path / "t").create(SCHEMA)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("full", [False, True])
def test_a_folder_with_the_name_of_a_checkpoint_is_a_typed_refusal(
    tmp_path: Path, full: Any
) -> None:
    table = _table(tmp_path / "t")
    folder = tmp_path / "t" / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    folder.mkdir()
    if full:
        (folder / "x").touch()
    with pytest.raises(PlaceRefused):
        table.checkpoint()
    assert not list(tmp_path.rglob(".staged*"))


@pytest.mark.parametrize("prefix", ["/x", "file:/x", "s3://b", "FILE:///x"])
def test_a_vector_whose_prefix_makes_its_path_absolute_is_neither_read_nor_vacuumed(
    world: Any, prefix: str
) -> None:
    name = world.root / prefix.lstrip("/") / "deletion_vector.bin"
    name.parent.mkdir(parents=True)
    name.write_bytes(b"whose is it?")
    for commit in (world.root / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for vector in (line.get("add", {}).get("deletionVector") for line in lines):
            if vector is not None:
                vector["pathOrInlineDv"] = prefix + vector["pathOrInlineDv"][-20:]
        commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    world.age()
    for ask in (read_table, lambda root: Table(root).vacuum(retention=0, unsafe=True)):
        with pytest.raises(DeltaError):
            ask(world.root)
    assert name.exists()
