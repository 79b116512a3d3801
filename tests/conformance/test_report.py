"""Results files become a page, and two of them a difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.report import run_diff_cli, run_report_cli


def _record(identity: str, outcome: str, **fields: Any) -> dict[str, Any]:
    return {
        "line": "result",
        "id": identity,
        "outcome": outcome,
        "hazard": None,
        "message": "",
        "requirement": None,
        "requirements": ["REC-001"],
        "source": "golden",
        "chapter": identity.split("/", maxsplit=1)[0],
        "title": "A title",
        "features": [],
        "expected": "",
        "actual": "",
        "details": [],
        "seen": None,
        "standing": "new",
        **fields,
    }


def _file(
    path: Path, records: Sequence[dict[str, Any]], *, name: str = "mine", digest: str = "d"
) -> Path:
    header = {
        "line": "header",
        "format": 1,
        "kit_version": "0.1.0",
        "corpus_digest": digest,
        "revision": "upstream",
        "adapter": {"name": name, "engine_version": "1.2"},
    }
    footer = {"line": "footer", "counts": {}, "complete": True, "status": 0}
    lines = [json.dumps(line) for line in (header, *records, footer)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _failure(identity: str, hazard: str, message: str = "rows differ") -> dict[str, Any]:
    return _record(identity, "fail", hazard=hazard, message=message, expected="1 row", actual="2")


def test_the_page_counts_chapters_and_colours_the_worst_hazard(tmp_path: Path) -> None:
    first = _file(
        tmp_path / "a.jsonl",
        [
            _record("log/one/read", "pass"),
            _failure("log/two/read", "cosmetic"),
            _failure("log/three/read", "silent wrong data"),
            _record("log/four/read", "unsupported"),
        ],
    )
    second = _file(tmp_path / "b.jsonl", [_record("types/one/read", "pass")], name="theirs")
    page = tmp_path / "page.html"
    assert run_report_cli([str(first), str(second), "--output", str(page)]) == 0
    text = page.read_text()
    assert "<td class='cell h0'>1/3 <small>1 unsupported</small>" in text
    assert "<td class='cell clean'>1/1" in text
    assert "<small>not run</small>" in text
    assert text.index("log/three/read") < text.index("log/two/read")
    assert "<h2>theirs 1.2</h2><p>Nothing failed." in text


def test_what_engines_say_is_escaped(tmp_path: Path) -> None:
    hostile = _failure("log/one/read", "cosmetic", "<script>alert(1)</script>")
    path = _file(tmp_path / "a.jsonl", [hostile])
    page = tmp_path / "page.html"
    assert run_report_cli([str(path), "--output", str(page)]) == 0
    assert "<script>" not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()


def test_a_run_that_did_not_end_has_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path / "a.jsonl", [_record("log/one/read", "pass")])
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    assert run_report_cli([str(path), "--output", str(tmp_path / "page.html")]) == 2
    assert "did not end" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_the_difference_names_each_changed_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [
        _record("log/same/read", "pass"),
        _record("log/broke/read", "pass"),
        _failure("log/mended/read", "cosmetic"),
        _failure("log/other/read", "cosmetic", "one way"),
        _record("log/gone/read", "pass"),
    ]
    after = [
        _record("log/same/read", "pass"),
        _failure("log/broke/read", "silent wrong data"),
        _record("log/mended/read", "pass"),
        _failure("log/other/read", "cosmetic", "another way"),
        _record("log/added/read", "pass"),
    ]
    old, new = _file(tmp_path / "a", before), _file(tmp_path / "b", after, digest="e")
    assert run_diff_cli([str(old), str(new)]) == 1
    out = capsys.readouterr().out
    for line in (
        "regression: log/broke/read",
        "fixed: log/mended/read",
        "changed: log/other/read",
        "gone: log/gone/read",
        "added: log/added/read",
        "different corpora",
        "5 changes, 1 regressions",
    ):
        assert line in out
    assert "log/same/read" not in out


def test_no_regression_is_success(tmp_path: Path) -> None:
    old = _file(tmp_path / "a", [_failure("log/mended/read", "cosmetic")])
    new = _file(tmp_path / "b", [_record("log/mended/read", "pass")])
    assert run_diff_cli([str(old), str(new)]) == 0


def test_runs_of_two_implementations_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _file(tmp_path / "a", [_record("log/one/read", "pass")])
    new = _file(tmp_path / "b", [_record("log/one/read", "pass")], name="theirs")
    assert run_diff_cli([str(old), str(new)]) == 2
    assert "implementation" in capsys.readouterr().err
