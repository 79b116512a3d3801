"""What a hostile writer leaves goes into a bundle as far as it is the table's, and no further."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.pipeline.explore.unit import unpack
from conformance.replay import bundle
from conformance.replay.bundle import Contents, write_bundle
from generators.oracle.delta_schema import field, struct
from generators.oracle.operations import Create

DESCRIPTION = {
    "implementation": {"name": "x", "engine_version": "1"},
    "case": "generated/x/written",
    "kit_version": "1",
    "layout": None,
    "requirements": ["LOG-005"],
    "verdict": {"outcome": "fail", "hazard": None, "requirement": None, "message": "m"},
}


def contents(left: Path) -> Contents:
    return Contents(DESCRIPTION, (Create(struct(field("a", "long"))),), left)


@pytest.fixture
def left(tmp_path: Path) -> Path:
    made = tmp_path / "left"
    (made / "_delta_log").mkdir(parents=True)
    (made / "_delta_log" / "0.json").write_text("{}")
    return made


def test_a_link_brings_no_other_file_into_a_bundle(tmp_path: Path, left: Path) -> None:
    secret = tmp_path / "home" / "secret"
    secret.parent.mkdir()
    secret.write_text("s3cret")
    (left / "a.parquet").symlink_to(secret)
    (left / "folder").symlink_to(secret.parent)
    target = tmp_path / "bundles" / "x"
    write_bundle(target, contents(left))
    kept = {path.name for path in (target / "table").rglob("*")}
    assert kept == {"_delta_log", "0.json"}
    assert not [
        path for path in target.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()
    ]


@pytest.mark.parametrize("what", ["/dev/zero", "/dev/tty", "fifo", "loop"])
def test_what_has_no_end_is_not_kept(tmp_path: Path, left: Path, what: str) -> None:
    path = left / "a.parquet"
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(path if what == "loop" else what)
    write_bundle(tmp_path / "x", contents(left))
    assert not (tmp_path / "x" / "table" / "a.parquet").exists()


def test_a_file_of_holes_is_not_written_out(
    tmp_path: Path, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "_MAX_TABLE_BYTES", 1024 * 1024)
    with (left / "a.parquet").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="more than 1048576 bytes"):
        write_bundle(tmp_path / "x", contents(left))
    assert not (tmp_path / "x").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("made", ["folder", "link"])
def test_a_bundle_replaces_nothing_but_a_bundle(tmp_path: Path, left: Path, made: str) -> None:
    precious = tmp_path / "x" if made == "folder" else tmp_path / "elsewhere"
    precious.mkdir()
    (precious / "precious").write_text("p")
    if made == "link":
        (tmp_path / "x").symlink_to(precious)
    with pytest.raises(FileExistsError, match="no bundle"):
        write_bundle(tmp_path / "x", contents(left))
    with pytest.raises(FileExistsError, match="no bundle"):
        unpack("", tmp_path / "x")
    assert (precious / "precious").read_text() == "p"
