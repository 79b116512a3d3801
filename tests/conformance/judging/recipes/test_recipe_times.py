"""Times that a step writes are those of the step, in milliseconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.audit.read.raw import Lines, read_lines
from conformance.judging.recipes.times import misdated, misdated_converted, misdated_sidecars
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


def _found(
    table: Path, action: dict[str, Any], held: dict[str, int], there: tuple[str, ...] = ()
) -> list[str]:
    lines = _lines(table, action).of("add", "remove")
    return [requirement for requirement, _ in misdated(lines, held, there, _now(), table)]


_WRONG: dict[str, Callable[[int], int]] = {
    "seconds": lambda now: now // 1000,
    "microseconds": lambda now: now * 1000,
    "never": lambda _: 0,
    "tomorrow": lambda now: now + DAY,
    "yesterday": lambda now: now - DAY,
}
wrong = pytest.mark.parametrize("wrong", _WRONG.values(), ids=_WRONG)


@wrong
def test_a_file_of_another_time_is_found(tmp_path: Path, wrong: Callable[[int], int]) -> None:
    assert _found(tmp_path, _add(wrong(_now())), {}) == ["ADD-007"]


def test_a_file_of_the_step_is_right(tmp_path: Path) -> None:
    assert _found(tmp_path, _add(_now()), {}) == []


def test_a_file_that_lay_there_before_has_any_time(tmp_path: Path) -> None:
    assert _found(tmp_path, _add(1_000_000), {}, ("a b.parquet",)) == []


def test_a_converted_file_has_its_time_on_disk_or_that_of_the_step(tmp_path: Path) -> None:
    file = tmp_path / "a b.parquet"
    file.touch()
    made = _now() - 9 * DAY
    os.utime(file, (made / 1000, made / 1000))

    def found(stamp: Any, *there: str) -> list[str]:
        lines = _lines(tmp_path, _add(stamp)).of("add")
        return [r for r, _ in misdated_converted(lines, there, _now(), tmp_path)]

    for right in (made, made - DAY // 2, _now(), _now() + DAY // 2):
        assert found(right, "a b.parquet") == []
    for wrong in (made // 1000, _now() // 1000, made * 1000, made - 2 * DAY, None, 0):
        assert found(wrong, "a b.parquet") == ["ADD-007"]
        assert found(wrong) == []


@pytest.mark.parametrize("scheme", ["file://", "file:", ""])
def test_a_file_that_lay_there_is_known_by_its_absolute_path(tmp_path: Path, scheme: str) -> None:
    action = {"add": {**_add(1_000_000)["add"], "path": f"{scheme}{tmp_path}/a%20b.parquet"}}
    assert _found(tmp_path, action, {}, ("a b.parquet",)) == []
    assert _found(tmp_path, action, {}, ("other.parquet",)) == ["ADD-007"]


def test_a_file_with_another_vector_has_its_own_time_or_a_new_one(tmp_path: Path) -> None:
    held = {"a b.parquet": _now() - 9 * DAY}
    there = tuple(held)
    assert _found(tmp_path, _add(held["a b.parquet"]), held, there) == []
    assert _found(tmp_path, _add(_now()), held, there) == []
    assert _found(tmp_path, _add(_now() // 1000), held, there) == ["ADD-007"]


def test_a_removal_says_when_it_happened(tmp_path: Path) -> None:
    body = {"path": "a", "dataChange": True}
    for stamp in (None, *(wrong(_now()) for wrong in _WRONG.values())):
        assert _found(tmp_path, {"remove": {**body, "deletionTimestamp": stamp}}, {}) == ["FA-005"]
    assert _found(tmp_path, {"remove": {**body, "deletionTimestamp": _now()}}, {}) == []


@wrong
def test_a_sidecar_of_another_time_is_found(tmp_path: Path, wrong: Callable[[int], int]) -> None:
    for stamp, there, found in (
        (wrong(_now()), (), ["SCA-006"]),
        (wrong(_now()), ("_delta_log/_sidecars/s.parquet",), []),
        (_now(), (), []),
    ):
        body = {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": stamp}
        lines = _lines(tmp_path, {"sidecar": body}).of("sidecar")
        assert [r for r, _ in misdated_sidecars(lines, there, _now())] == found
