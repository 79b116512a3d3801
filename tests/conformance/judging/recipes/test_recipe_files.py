"""A version is read again unless all that it could be read from is as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.judging.recipes.files import Seen, hinted_version
from generators.file_digests import digests

LOG = "_delta_log"
FIRST, SECOND, THIRD = (f"{LOG}/{number:020d}" for number in range(3))
THEN = (f"{FIRST}.json", f"{SECOND}.json", "part=a/f.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in THEN:
        _write(tmp_path, name)
    return tmp_path


def _write(table: Path, name: str, content: str = "as it was") -> None:
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def _seen(table: Path) -> Seen:
    return Seen(1, None, digests(table))


def test_a_version_that_was_never_read_does_not_stand(table: Path) -> None:
    assert not Seen(1, None).is_unchanged(digests(table))


@pytest.mark.parametrize("name", THEN)
def test_a_file_that_changed_or_went_asks_for_another_reading(table: Path, name: str) -> None:
    seen = _seen(table)
    assert seen.is_unchanged(digests(table))
    _write(table, name, "as it is")
    assert not seen.is_unchanged(digests(table))
    (table / name).unlink()
    assert not seen.is_unchanged(digests(table))


@pytest.mark.parametrize(
    "name",
    [
        f"{SECOND}.checkpoint.parquet",
        f"{FIRST}.checkpoint.parquet",
        f"{SECOND}.checkpoint.0000000001.0000000002.parquet",
        f"{SECOND}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        f"{FIRST}.{1:020d}.compacted.json",
        f"{LOG}/_last_checkpoint",
        f"{LOG}/what-nobody-knows",
    ],
)
def test_another_way_to_the_version_asks_for_another_reading(table: Path, name: str) -> None:
    seen = _seen(table)
    _write(table, name)
    assert not seen.is_unchanged(digests(table))


@pytest.mark.parametrize(
    "name",
    [
        f"{THIRD}.json",
        f"{THIRD}.checkpoint.parquet",
        f"{SECOND}.crc",
        "part=a/g.parquet",
        f"{LOG}/_sidecars/s.parquet",
    ],
)
def test_what_came_later_changes_nothing_of_a_version(table: Path, name: str) -> None:
    seen = _seen(table)
    _write(table, name)
    assert seen.is_unchanged(digests(table))


@pytest.mark.parametrize(
    ("hint", "changes"),
    [('{"version": 2}', False), ('{"version": 1}', True), ("{}", True), ("none", True)],
)
def test_a_hint_of_a_later_version_leads_to_no_earlier_one(
    table: Path, hint: str, changes: bool
) -> None:
    _write(table, f"{LOG}/_last_checkpoint", '{"version": 0}')
    seen = _seen(table)
    _write(table, f"{LOG}/_last_checkpoint", hint)
    assert seen.is_unchanged(digests(table), hinted_version(table)) is not changes


@pytest.mark.parametrize("kind", ["pipe", "dangling link", "link to a device", "circle"])
def test_what_is_no_regular_file_is_digested_without_waiting(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd"
    match kind:
        case "pipe":
            os.mkfifo(odd)
        case "dangling link":
            odd.symlink_to(tmp_path / "nowhere")
        case "link to a device":
            odd.symlink_to("/dev/zero")
        case _:
            odd.symlink_to(odd)
    (tmp_path / "plain").write_bytes(b"x")
    assert digests(tmp_path).keys() == {"odd", "plain"}
