"""What an audit finds does not depend on the columns that it looks at first."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from audit_faults import planted
from corpus import PARTS, tables

from conformance.audit import AuditError, audit, checker
from conformance.audit.read import raw

FAULTS = {name: plant for name, _, plant in planted()}


def _found(table: Path, monkeypatch: pytest.MonkeyPatch, *, screens: bool) -> Any:
    """Audit a log by columns and screens, however small it is, or line by line."""
    with monkeypatch.context() as patch:
        patch.setattr(raw, "COLUMNAR", screens)
        patch.setattr(checker, "SCREENS", screens)
        try:
            return sorted(map(astuple, audit(str(table), data=False)))
        except AuditError as error:
            return str(error)


@pytest.mark.parametrize(("chapter", "part"), PARTS)
def test_screens_change_nothing_on_golden_tables(
    chapter: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in tables(chapter, part):
        by_line = _found(table, monkeypatch, screens=False)
        assert _found(table, monkeypatch, screens=True) == by_line, table


@pytest.mark.parametrize("name", FAULTS)
def test_screens_hide_no_planted_fault(
    name: str, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[name](lake)
    by_line = _found(lake.root, monkeypatch, screens=False)
    assert _found(lake.root, monkeypatch, screens=True) == by_line


def test_a_check_is_spared_the_plain_rows_of_a_large_commit(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    adds = [lake.file("a.parquet")["add"] | {"path": f"{at}.parquet"} for at in range(200)]
    adds[100]["path"] = "a b.parquet"
    lake.commit(*({"add": add} for add in adds))
    read: list[int] = []
    parse = raw.parse_json
    monkeypatch.setattr(
        raw, "parse_json", lambda text, **how: (read.append(1), parse(text, **how))[1]
    )
    assert [each.requirement for each in audit(str(lake.root), data=False)] == ["ADD-004"]
    # The first commit, and of the second a line for its partition values beside the wrong one.
    assert len(read) < 10


def test_lines_of_all_shapes_keep_their_order_and_their_texts() -> None:
    add = {"path": "a", "partitionValues": {"p": None}, "size": 1, "modificationTime": 2}
    kinds: list[dict[str, Any]] = [
        {"add": add | {"dataChange": True}},
        {"add": add | {"dataChange": True, "stats": '{"numRecords":1}', "tags": {"a": "b"}}},
        {"remove": {"path": "b%20c", "dataChange": False}},
        {"remove": {"path": "b", "dataChange": True, "extendedFileMetadata": True}},
        {"add": add | {"dataChange": True, "size": -1}},
        {"add": add | {"dataChange": True, "partitionValues": {"p": "\1"}}},
        {"add": add | {"dataChange": True, "path": "%zz"}},
        {"txn": {"appId": "a", "version": 1}},
    ]
    texts = [json.dumps(kinds[n % len(kinds)]).encode() for n in range(1500 * len(kinds))]
    found = raw.json_lines("f", enumerate(texts))
    assert [(line.place, json.dumps(line.document).encode()) for line in found.every()] == [
        (f"f:{n + 1}", text) for n, text in enumerate(texts)
    ]
    assert int((~found.rows.irregular).sum()) == 3 * 1500


def test_large_replays_agree_with_a_checkpoint_but_for_what_is_planted(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    adds = [lake.file("a.parquet")["add"] | {"path": f"{at}.parquet"} for at in range(200)]
    lake.commit(*({"add": add} for add in adds))
    lake.commit(*(lake.remove(f"{at}.parquet") for at in range(50)))
    rows = [lake.protocol(), lake.metadata(), *({"add": dict(add)} for add in adds[50:])]
    rows += [lake.remove(f"{at}.parquet") for at in range(50)]
    lake.checkpoint(rows)
    assert lake.audit(data=False) == []
    rows[10]["add"]["size"] += 1
    del rows[20]
    lake.checkpoint(rows)
    found = {(each.requirement, each.message.partition(":")[0]) for each in lake.audit(data=False)}
    assert found == {
        ("CKPT-005", "58.parquet"),
        ("ADD-006", "58.parquet"),
        ("CKC-004", "the checkpoint lacks the live file 68.parquet"),
    }
