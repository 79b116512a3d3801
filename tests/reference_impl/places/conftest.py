"""A table with a file of each kind, to be named in whatever spelling a test likes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

from reference_impl import Table
from reference_impl.write.checkpoints.write import Style

sys.path.insert(0, str(Path(__file__).parent))  # for the spellings

PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.checkpointPolicy": "v2",
}
LOG = "_delta_log"
NAMES = {
    "data": "part-0.parquet",
    "vector": "vectors.bin",
    "change": "_change_data/change-0.parquet",
    "sidecar": f"{LOG}/_sidecars/sidecar-0.parquet",
}


def _rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _made(root: Path) -> None:
    """Make a table of rows 1 to 4 in one file, of which a vector deletes row 1."""
    table = Table(root)
    table.create(pa.schema([("id", pa.int64())]), properties=PROPERTIES, features=["v2Checkpoint"])
    table.append(pa.table({"id": [1, 2, 3, 4]}))
    table.delete("id = 1")
    found = {
        "data": next(p for p in root.glob("*.parquet")),
        "vector": next(root.rglob("*.bin")),
        "change": next((root / "_change_data").iterdir()),
    }
    for kind, path in found.items():
        path.rename(root / NAMES[kind])


def _spell(root: Path, paths: Mapping[str, str]) -> None:
    """Name each kind of file as given in every action."""

    def change(line: dict[str, Any]) -> None:
        for name, body in line.items():
            if name in ("add", "remove"):
                body["path"] = paths["data"]
                vector = body.get("deletionVector")
                if vector is not None:
                    vector.update(storageType="p", pathOrInlineDv=paths["vector"])
            elif name == "cdc":
                body["path"] = paths["change"]

    for commit in sorted((root / LOG).glob("*.json")):
        _rewritten(commit, change)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "t"
    _made(root)
    return root


class World:
    """A table, a symlink to its parent folder, and a folder outside of it.

    Attributes:
        root: the table root, its symlinks resolved.
        linked: the same by a symlink.
        outside: a folder beside it.
        names: what a file of each kind is called at first.
    """

    names = NAMES

    def __init__(self, base: Path, made: Path) -> None:
        home = base / "home of é"
        home.mkdir()
        self.root = home / "t"
        shutil.copytree(made, self.root)
        (base / "link").symlink_to(home)
        self.linked = base / "link" / "t"
        self.outside = base / "outside"
        self.outside.mkdir()
        (self.outside / "precious.parquet").write_bytes(b"not the table's")

    def name(self, **spelled: str) -> None:
        """Name files as given, by kind; others by their absolute path, as vectors have to be."""
        paths = {kind: quote(name) for kind, name in NAMES.items()}
        paths["vector"] = quote(str(self.root / NAMES["vector"]))
        _spell(self.root, paths | spelled)

    def checkpoint(self, sidecar: str) -> None:
        """Write a checkpoint whose sidecar is named as given, and forget the commits before."""
        Table(self.root).checkpoint(Style("v2", "json", sidecars=1))
        (held,) = (self.root / LOG / "_sidecars").iterdir()
        held.rename(self.root / NAMES["sidecar"])

        def change(line: dict[str, Any]) -> None:
            if "sidecar" in line:
                line["sidecar"]["path"] = sidecar

        (top,) = (self.root / LOG).glob("*.checkpoint.*.json")
        _rewritten(top, change)

    def fill(self, template: str, name: str) -> str:
        """Fill in the places that a spelling names."""
        return (
            template.replace("{root}", quote(str(self.root)))
            .replace("{link}", quote(str(self.linked)))
            .replace("{name}", name)
        )

    def age(self) -> None:
        """Make every file older than any retention."""
        moment = time.time() - 400 * 86_400
        for path in self.root.rglob("*"):
            os.utime(path, (moment, moment), follow_symlinks=False)

    def litter(self) -> Path:
        """Leave a file that nothing names."""
        orphan = self.root / "orphan.parquet"
        orphan.write_bytes(b"left by a crash")
        return orphan

    def content(self, folder: Path | None = None) -> dict[str, bytes]:
        """Return every file of the table with its bytes, or of another folder."""
        folder = folder or self.root
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def world(tmp_path: Path, made: Path) -> World:
    return World(tmp_path, made)
