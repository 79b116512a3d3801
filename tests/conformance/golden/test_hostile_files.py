"""Any file may lie in a corpus, or be left by a writer, and its digest shows that it changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.judging.recipes.files import overwritten_file
from generators.file_digests import digest_of, digests

FILES: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "memory": lambda path: path.symlink_to("/proc/self/mem"),
    "all memory": lambda path: path.symlink_to("/proc/kcore"),
    "a loop": lambda path: path.symlink_to(path),
    "nothing": lambda path: path.symlink_to("/nothing"),
    "terabytes": lambda path: (path.touch(), os.truncate(path, 2**42))[0],
    "depth": lambda path: path.write_bytes(b'{"a":' * 100_000) and None,
    "another kind": lambda path: (
        path.write_bytes(b'[]\n{"add": 5}\n{"add": {"path": []}}') and None
    ),
    "digits": lambda path: path.write_bytes(b'{"add": ' + b"9" * 5000 + b"}") and None,
    "half of a pair": lambda path: path.write_bytes(b'{"add": {"path": "\\ud800"}}') and None,
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_a_file_of_any_kind_has_a_digest(tmp_path: Path, make: Callable[[Path], None]) -> None:
    commit = tmp_path / "_delta_log" / f"{0:020}.json"
    commit.parent.mkdir()
    before = digests(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"old")
    made = digests(tmp_path)
    make(commit)
    (tmp_path / "x.parquet").write_bytes(b"new")
    after = digests(tmp_path)
    assert after.keys() - before.keys() == {f"_delta_log/{0:020}.json", "x.parquet"}
    assert overwritten_file(tmp_path, made, after) == ("DATA-005", "x.parquet is written over")


def test_a_name_that_is_no_text_has_a_part_in_the_digest(tmp_path: Path) -> None:
    empty = digest_of(tmp_path)
    (tmp_path / os.fsdecode(b"\xff")).touch()
    assert digest_of(tmp_path) != empty
