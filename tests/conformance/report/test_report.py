"""Results files become a page, and two of them a difference."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Claims
from conformance.base.outcomes import MEANINGS, Outcome
from conformance.report import run_diff_cli, run_report_cli
from conformance.report.results import ResultsWriter
from conformance.run.run import status_of_run


def _record(identity: str, outcome: str, **fields: Any) -> dict[str, Any]:
    return {
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
        "fault": None,
        "unclaimed": [],
        "standing": "new",
        "stale": None,
        "intermittent": False,
        **fields,
    }


CLAIMS = Claims(operations=frozenset({"scan", "snapshot"})).as_document()


def _file(
    path: Path,
    records: Sequence[dict[str, Any]],
    *,
    name: str = "mine",
    partial: Sequence[str] = (),
    **header: Any,
) -> Path:
    stamp = {
        "kit_version": "0.1.0",
        "corpus_digest": "d",
        "revision": "upstream",
        "impl": name,
        "adapter": {"name": name, "adapter_version": "1", "engine_version": "1.2"},
        "claims": CLAIMS,
        "selection": {},
        "cases": len(records) + len(partial),
        "selected": len(records) + len(partial),
    }
    with ResultsWriter(path) as writer:
        writer.begin({**stamp, **header})
        for record in records:
            writer.add(record)
        writer.close(status_of_run(records, (), 0, (), None), partial)
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
    assert "<td class='cell h0'>1/3 of 4 <small>1 unsupported</small>" in text
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


def _diff(tmp_path: Path, before: Any, after: Any, *options: str) -> int:
    files = [
        found if isinstance(found, Path) else _file(tmp_path / str(number), found)
        for number, found in enumerate((before, after))
    ]
    return run_diff_cli([*map(str, files), *options])


def test_what_an_intermittent_case_does_is_no_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = _record("log/a/read", "pass", intermittent=True)
    wrong = {**_failure("log/a/read", "cosmetic"), "intermittent": True}
    for one, other in ((right, wrong), (wrong, right)):
        assert _diff(tmp_path, [one], [other]) == 0
        assert "intermittent: log/a/read" in capsys.readouterr().out
    unlisted = {**wrong, "intermittent": False}
    refused = {**right, "outcome": "unsupported", "intermittent": False}
    for other in (unlisted, refused):
        assert _diff(tmp_path, [right], [other]) == 1


@pytest.mark.parametrize("listed", [True, False])
def test_what_an_intermittent_failure_blocks_is_no_regression(
    listed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = [_record("log/a/read", "pass"), _record("log/a/scan", "pass")]
    right = [_record("log/a/open", "pass", intermittent=listed), *rest]
    wrong = [
        {**_failure("log/a/open", "cosmetic"), "intermittent": listed},
        rest[0],
        _record("log/a/scan", "blocked", message="blocked by log/a/open: rows differ"),
    ]
    assert _diff(tmp_path, right, wrong) == (not listed)
    out = capsys.readouterr().out
    assert ("intermittent: log/a/scan" in out) is listed
    assert ("fewer judged" in out) is False
    assert _diff(tmp_path, wrong, right) == 0
    later = [wrong[0], rest[0], _failure("log/a/scan", "cosmetic")]
    assert _diff(tmp_path, wrong, later) == 0
    assert _diff(tmp_path, right, later) == 1, "an answer of its own is not chance"


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
    second = _file(tmp_path / "second", after, corpus_digest="e")
    assert _diff(tmp_path, before, second) == 1
    out = capsys.readouterr().out
    for line in (
        "regression: log/broke/read",
        "fixed: log/mended/read",
        "changed: log/other/read",
        "gone: log/gone/read",
        "added: log/added/read",
        "corpus: d, then e",
        "1 regression, 1 gone, 1 changed, 1 fixed, 1 added",
        "; 1 regression\n",
    ):
        assert line in out
    assert "log/same/read" not in out


FAILED = ("fail", "error")
ANSWERED = ("pass", "open")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((good, bad) for good in ANSWERED for bad in (*FAILED, "unsupported", "blocked")),
        *((good, "advice") for good in ANSWERED),
        *(("unsupported", bad) for bad in (*FAILED, "blocked")),
        *(("advice", bad) for bad in (*FAILED, "unsupported", "blocked")),
    ],
)
def test_a_case_that_is_worse_off_is_a_regression(
    tmp_path: Path, before: str, after: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(outcome: str) -> list[dict[str, Any]]:
        hazard = "cosmetic" if outcome == "fail" else None
        return [_record("log/a/read", outcome, hazard=hazard)]

    assert _diff(tmp_path, judged(before), judged(after)) == 1
    assert "regression: log/a/read" in capsys.readouterr().out
    _diff(tmp_path, judged(after), judged(before))
    back = capsys.readouterr().out
    assert "regression: log/a/read" not in back
    # What is no longer judged is not mended.
    assert ("fixed" in back) is (before != "unsupported")


def test_a_failure_that_does_more_harm_is_a_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused, wrong = (
        [_failure("log/a/read", hazard)] for hazard in ("wrong refusal", "silent wrong data")
    )
    assert _diff(tmp_path, refused, wrong) == 1
    assert "regression: log/a/read" in capsys.readouterr().out
    assert _diff(tmp_path, wrong, refused) == 0
    assert "changed: log/a/read" in capsys.readouterr().out


def test_every_outcome_has_a_rank() -> None:
    assert set(MEANINGS) == set(Outcome)


def test_a_case_that_is_missing_is_a_regression(tmp_path: Path) -> None:
    both = [_record("log/a/read", "pass"), _record("log/b/read", "pass")]
    second = _file(tmp_path / "second", both[:1], cases=2)
    assert _diff(tmp_path, both, second) == 1


def test_fewer_claims_are_a_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = [_record("log/a/read", "pass")]
    claims = {**CLAIMS, "operations": ["scan"]}
    second = _file(tmp_path / "second", record, claims=claims)
    assert _diff(tmp_path, record, second) == 1
    assert "claimed no longer: operations: snapshot" in capsys.readouterr().out


def test_a_case_that_a_partial_run_lacks_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [_record("log/a/read", "pass"), _record("log/b/read", "pass")]
    second = _file(tmp_path / "second", both[:1], partial=["-k a"], cases=2)
    assert _diff(tmp_path, both, second) == 3
    out = capsys.readouterr().out
    assert "unknown: log/b/read" in out
    assert "the second run is partial: -k a" in out


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"selection": {"cases": ["log/a"]}}, "has another selection"),
        ({"shard": {"number": 1, "of": 2, "selected": 2}}, "is part 1 of 2"),
    ],
)
def test_a_case_that_a_run_did_not_select_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], choice: dict[str, Any], words: str
) -> None:
    both = [_record("log/a/read", "pass"), _record("log/b/read", "pass")]
    second = _file(tmp_path / "second", both[:1], cases=2, **choice)
    for files in ((both, second), (second, both)):
        assert _diff(tmp_path, *files) == 3
        out = capsys.readouterr().out
        assert "unknown: log/b/read" in out
        assert f"run {words}, and lacks cases of the other: 1" in out
    assert _diff(tmp_path, second, _file(tmp_path / "third", both[:1], cases=2, **choice)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("written at 2026-01-02T03:04:05.678Z", "written at 2026-02-02T03:04:05Z"),
        ("modificationTime 1767323045678", "modificationTime 1767323099999"),
        ("no file /tmp/delta-tck-a/1/table/x", "no file /tmp/delta-tck-b/2/table/x"),
        ("no file ...tck-run-mubvcgum/22/table/x", "no file ...tck-run-yrjhn7ri/22/table/x"),
        ("no file ...bvcgum/22/part%23one/x", "no file ...jhn7ri/22/part%23one/x"),
        ("JoinError::Panic(Id(21), of the reader)", "JoinError::Panic(Id(16), of the reader)"),
        (
            "part-0-9c5b94b1-35ad-49bb-b118-8e8fc24abf80.parquet",
            "part-0-1b4e28ba-2fa1-11d2-883f-0016d3cca427.parquet",
        ),
        # Which of two files is met first.
        (
            "no part-00000-9c5b94b1-35ad-49bb-b118-8e8fc24abf80.c000.snappy.parquet",
            "no part-00003-1b4e28ba-2fa1-11d2-883f-0016d3cca427.c000.snappy.parquet",
        ),
        ("should have 4 parts, but it has 2", "should have 4 parts, but it has 1"),
        ("Failed to parse value '-9.-9' as 'decimal'", "Failed to parse value '0.-5' as 'decimal'"),
        ("no /one/v/lib/python3.11/site-packages/x", "no /venv/lib/python3.12/site-packages/x"),
        (
            "broken Stack Trace: /one/v/site-packages/e.so(f+0x1) [<address>] /on",
            "broken Stack Trace: /home/me/a/site-packages/e.so(f+0x1) [<address>] /home/m",
        ),
    ],
)
def test_what_differs_by_the_run_alone_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: str, other: str
) -> None:
    files = [[_failure("log/a/read", "cosmetic", message)] for message in (one, other)]
    assert _diff(tmp_path, *files) == 0
    refused = [[_record("log/a/read", "pass", message=message)] for message in (one, "else")]
    assert _diff(tmp_path, *refused) == 0
    assert "changed" not in capsys.readouterr().out


def test_another_message_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [[_failure("log/a/read", "cosmetic", message)] for message in ("2 rows", "3 rows")]
    assert _diff(tmp_path, *files) == 0
    assert "changed: log/a/read" in capsys.readouterr().out


def test_a_difference_is_had_as_json_and_as_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [_record("log/a/read", "pass")]
    after = [_failure("log/a/read", "cosmetic", "a | b <i>")]
    assert _diff(tmp_path, before, after, "--format=json") == 1
    document = json.loads(capsys.readouterr().out)
    assert [change["kind"] for change in document["changes"]] == ["regression"]
    assert document["judged"]["after"] == {"judged": 1, "of": 1}
    assert _diff(tmp_path, before, after, "--format=markdown") == 1
    out = capsys.readouterr().out
    cell = "<code>fail: a &#124; b &#60;i&#62;</code>"
    assert f"| regression | `log/a/read` | `pass` | {cell} |" in out


@pytest.mark.parametrize(
    "said",
    ["![x](http://e/?q)", "[a](b)", "a` ![x](y) `b", "</code><img src=x>", "@all #1", "&lt;b&gt;"],
)
def test_nothing_in_a_file_means_anything_to_markdown(
    tmp_path: Path, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _file(tmp_path / "before", [_record(said, "pass")], name=said)
    after = _file(tmp_path / "after", [_failure(said, "cosmetic", said)], name=said)
    assert run_diff_cli([str(before), str(after), "--format=markdown"]) == 1
    out = capsys.readouterr().out
    shown = re.findall("<code>(.*?)</code>", out)
    assert len(shown) == 3
    assert not re.search(r"[]!@`#<>()[]", "".join(shown).replace("&#", ""))
    assert [unescape(each).removeprefix("fail: ") for each in shown] == [said] * 3
    assert "<" not in re.sub("<code>.*?</code>", "", out)


def _edited(line: int, old: str, new: str) -> Callable[[list[str]], list[str]]:
    def edit(lines: list[str]) -> list[str]:
        assert old in lines[line]
        lines[line] = lines[line].replace(old, new)
        return lines

    return edit


EDITS: dict[str, Callable[[list[str]], list[str]]] = {
    "a record less": lambda lines: [lines[0], *lines[2:]],
    "a record twice": lambda lines: [*lines[:2], *lines[1:]],
    "no footer": lambda lines: lines[:-1],
    "a footer of a smaller run": _edited(-1, '"records": 2', '"records": 1'),
    "an outcome that is none": _edited(1, '"pass"', '"passed"'),
    "another outcome": _edited(1, '"outcome": "pass"', '"outcome": "open"'),
    "another message": _edited(2, "rows differ", "rows agree"),
    "another status": _edited(-1, '"status": 1', '"status": 0'),
    "other claims": _edited(0, '"scan"', '"history"'),
    "a partial run made whole": _edited(-1, '"partial": ["-x"]', '"partial": []'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_is_not_as_it_was_written_is_refused(
    tmp_path: Path, edit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [_record("log/a/read", "pass"), _failure("log/b/read", "cosmetic")]
    path = _file(tmp_path / "a", records, partial=["-x"])
    page = tmp_path / "page.html"
    assert run_report_cli([str(path), "--output", str(page)]) == 0
    assert "Partial run: -x" in page.read_text()
    page.unlink()
    lines = EDITS[edit](path.read_text().splitlines(keepends=True))
    path.write_text("".join(lines))
    assert run_report_cli([str(path), "--output", str(page)]) == 2
    assert not page.exists()
    assert run_diff_cli([str(path), str(path)]) == 2
    assert str(path) in capsys.readouterr().err


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


def test_names_in_results_do_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "a/\x1b[2J\u202e\ud800\nregressed: none"
    before = _file(tmp_path / "before", [_record(odd, "pass")], name=odd)
    after = _file(tmp_path / "after", [_record(odd, "fail", message=odd)], name=odd)
    for form in ("text", "markdown", "json"):
        run_diff_cli([str(before), str(after), f"--format={form}"])
        said = "".join(capsys.readouterr())
        assert said
        assert not {"\x1b", "\u202e", "\ud800"} & set(said)
        assert "\nregressed: none" not in said
