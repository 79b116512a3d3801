"""Logs of little but line ends: as many findings as lines, in time and memory of one file."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import schemas
from conformance.audit import audit
from reference_impl import LimitExceeded, Limits, Table, read_table
from reference_impl.errors import MalformedCommit

ROWS = pa.table({"id": pa.array([1], pa.int64())})
ACTION = '{"txn":{"appId":"a","version":1}}\n'


def _table(root: Path, content: str) -> str:
    table = Table(root)
    table.create(ROWS.schema)
    table.append(ROWS)
    (root / "_delta_log" / f"{2:020d}.json").write_text('{"commitInfo":{}}\n' + content)
    return str(root)


def _blank(root: str) -> list[tuple[str, int]]:
    found = [each for each in audit(root) if "blank" in each.message]
    return sorted((place.rpartition(":")[2], each.count) for each in found for place in each.places)


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n", "\t \r\n"], ids=ascii)
def test_a_gap_is_reported_where_it_begins_with_all_its_lines(tmp_path: Path, blank: str) -> None:
    few = _table(tmp_path / "few", blank * 3 + ACTION + blank * 2)
    many = _table(tmp_path / "many", blank * 30_000 + ACTION + blank * 20_000)
    assert _blank(few) == [("2", 5), ("6", 5)]
    assert _blank(many) == [("2", 50_000), ("30003", 50_000)]
    assert read_table(many).equals(ROWS)


def test_gaps_that_are_too_many_are_counted(tmp_path: Path) -> None:
    root = _table(tmp_path, "{}\n\n\n" * 10_000)
    (found,) = (each for each in audit(root) if "blank" in each.message)
    assert found.count == 20_000
    assert found.places[:2] == (f"{_name(2)}:3", f"{_name(2)}:6")


def _name(version: int) -> str:
    return f"_delta_log/{version:020d}.json"


@pytest.mark.parametrize("ask", [read_table, audit])
def test_millions_of_blank_lines_take_no_memory_each(tmp_path: Path, ask: Any) -> None:
    root = _table(tmp_path, "\n" * 20_000_000)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ask(root)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 200_000


@pytest.mark.parametrize("ask", [read_table, audit])
def test_a_commit_of_holes_is_held_once_and_is_no_json(tmp_path: Path, ask: Any) -> None:
    root = _table(tmp_path, "")
    with Path(root, _name(1)).open("wb") as file:
        file.truncate(400 << 20)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        found = "; ".join(each.message for each in ask(root))
    except MalformedCommit as error:
        found = error.message
    assert "is not JSON: it holds a NUL" in found
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 500_000


def test_lines_beyond_the_memory_limit_are_not_taken_apart(tmp_path: Path) -> None:
    root = _table(tmp_path, "{}\n" * 50_000)
    found = [each.limit for each in audit(root, limits=Limits(memory=1 << 24))]
    assert "memory" in found


def test_lines_without_end_end_with_the_time(tmp_path: Path) -> None:
    root = _table(tmp_path, "{}\n" * 300_000)
    with pytest.raises(LimitExceeded, match="seconds"):
        read_table(root, limits=Limits(seconds=0.02))


def test_a_line_that_comes_often_is_checked_against_its_schema_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    errors = schemas.errors

    def counted(name: str, document: Any) -> Any:
        asked.append(document)
        return errors(name, document)

    monkeypatch.setattr(schemas, "errors", counted)
    root = _table(tmp_path, '{"later":1}\n' * 5_000 + ACTION.replace("1", "true") * 2)
    found = audit(root)
    assert asked.count({"later": 1}) == 1
    assert sum(each.count for each in found if "version" in each.message) >= 2
