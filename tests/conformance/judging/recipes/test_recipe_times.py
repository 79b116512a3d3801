"""Times that a step writes are those of the step, in milliseconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.audit.read.raw import Lines, read_lines
from conformance.judging.recipes.times import misdated, misdated_sidecars
from generators.materialise.log.files import json_text
from reference_impl.storage import LocalStorage

DAY = 86_400_000


def _now() -> int:
    return time.time_ns() // 1_000_000


def _lines(table: Path, *actions: dict[str, Any]) -> Lines:
    (table / "commit.json").write_text("".join(json_text(each) + "\n" for each in actions))
    return read_lines(LocalStorage(table), "commit.json")


def _add(stamp: Any) -> dict[str, Any]:
    return {"add": {"path": "a%20b.parquet", "modificationTime": stamp, "dataChange": True}}


def _found(table: Path, action: dict[str, Any], held: dict[str, int]) -> list[str]:
    lines = _lines(table, action).of("add", "remove")
    return [requirement for requirement, _ in misdated(table, lines, held, _now())]


WRONG: dict[str, Callable[[int], int | None]] = {
    "seconds": lambda now: now // 1000,
    "microseconds": lambda now: now * 1000,
    "nothing": lambda _: 0,
    "another zone": lambda now: now + DAY // 24,
    "yesterday": lambda now: now - DAY,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_of_another_time_is_found(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "a b.parquet").touch()
    assert _found(tmp_path, _add(WRONG[wrong](_now())), {}) == ["ADD-007"]


def test_a_file_of_the_step_is_right(tmp_path: Path) -> None:
    (tmp_path / "a b.parquet").touch()
    assert _found(tmp_path, _add(_now()), {}) == []


def test_a_file_that_lay_there_before_has_any_time(tmp_path: Path) -> None:
    (tmp_path / "a b.parquet").touch()
    os.utime(tmp_path / "a b.parquet", (1_000, 1_000))
    assert _found(tmp_path, _add(1_000_000), {}) == []


def test_a_file_with_another_vector_has_its_own_time_or_a_new_one(tmp_path: Path) -> None:
    held = {"a b.parquet": _now() - 9 * DAY}
    assert _found(tmp_path, _add(held["a b.parquet"]), held) == []
    assert _found(tmp_path, _add(_now()), held) == []
    assert _found(tmp_path, _add(_now() // 1000), held) == ["ADD-007"]


@pytest.mark.parametrize("wrong", [*WRONG, None])
def test_a_removal_says_when_it_happened(tmp_path: Path, wrong: str | None) -> None:
    stamp = None if wrong is None else WRONG[wrong](_now())
    body = {"path": "a", "dataChange": True, "deletionTimestamp": stamp}
    assert _found(tmp_path, {"remove": body}, {}) == ["FA-005"]
    assert _found(tmp_path, {"remove": {**body, "deletionTimestamp": _now()}}, {}) == []


@pytest.mark.parametrize("wrong", WRONG)
def test_a_sidecar_of_another_time_is_found(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "s.parquet").touch()
    for time_of, wanted in ((WRONG[wrong](_now()), ["SCA-006"]), (_now(), [])):
        body = {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": time_of}
        lines = _lines(tmp_path, {"sidecar": body}).of("sidecar")
        assert [r for r, _ in misdated_sidecars(tmp_path, lines, _now())] == wanted
