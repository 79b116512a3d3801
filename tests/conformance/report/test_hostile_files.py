"""Baselines, results and the folder that a run begins in are untrusted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.base.faults import BaselineError, KitError
from conformance.base.terminal import printable
from conformance.base.untrusted import DocumentError, parse_json
from conformance.report import run_diff_cli, run_report_cli
from conformance.report.baseline import _MAX_EXPRESSION_CHARACTERS, _size, load_baseline
from conformance.report.results import ResultsError
from conformance.run.merge import run_merge_cli

NEST = 200_000


def written(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def truncated(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, size)

    return make


def of(content: str | bytes) -> Callable[[Path], None]:
    return lambda path: written(path, content)


def expecting(message: str) -> Callable[[Path], None]:
    return of(f"failures: [{{id: a, requirement: R, message: '{message}', reason: r}}]")


BASELINES: dict[str, Callable[[Path], None]] = {
    "nested lists": of("failures: " + "[" * NEST + "]" * NEST),
    "nested blocks": of("failures:\n  " + "- " * NEST + "x\n"),
    "nested objects": of("failures: " + "{a: " * NEST),
    "an alias bomb": of("failures:\n- &a [x, x]\n- &b [*a, *a]\n- &c [*b, *b]\n"),
    "gigabytes": truncated(2**33),
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "not UTF-8": of(b"failures: [\xff]"),
    "a lone surrogate": of('failures: ["\\ud800"]'),
    "no mapping": of("[]"),
    "a tag that makes objects": of("failures: [!!python/object/apply:os.system [true]]"),
    "merged keys": of("failures: []\n<<: {judged: 5}\n"),
    "a key twice": of("failures: []\nfailures: []\n"),
    "a long key": of("k" * 1_000_000 + ": x\nfailures: []\n"),
    "a share without end": of("judged: " + "9" * 100_000 + "\nfailures: []\n"),
    "a share in other digits": of('judged: "\u0661\u0662"\nfailures: []\n'),
    "a count without end": of("judged: {upstream: {a: " + "9" * 100_000 + "}}\nfailures: []\n"),
    "a count below nothing": of("judged: {upstream: {a: -1}}\nfailures: []\n"),
    "a count of no revision": of("judged: {newest: {a: 1}}\nfailures: []\n"),
    "a chapter twice": of("judged: {upstream: {a: 9, a: 0}}\nfailures: []\n"),
    "counts in a list": of("judged: [upstream]\nfailures: []\n"),
    "a number of claims without end": of(
        "claims: {reader_version: " + "9" * 100_000 + ", writer_version: 1, reader_features: [], "
        "writer_features: [], operations: [], capabilities: []}\nfailures: []\n"
    ),
    "an expression that repeats and repeats": expecting("/" + "a{1000}" * 40 + "/"),
    "an expression of many options": expecting("/" + "(a?){50}" * 2000 + "/"),
    "an expression without end": expecting("/" + "(" * 100_000 + ")" * 100_000 + "/"),
    "an expression that looks ahead": expecting("/(?=a)a/"),
    "two documents": of("---\nfailures: []\n---\nfailures: []\n"),
    "UTF-16": of("failures: []".encode("utf-16")),
    "NUL": of("failures: \0"),
    "a tab as indent": of("failures:\n\t- x\n"),
}


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES)
def test_a_hostile_baseline_is_refused_by_name(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "baseline.yaml"
    make(path)
    with pytest.raises(BaselineError, match=r"baseline\.yaml") as caught:
        load_baseline(path)
    assert len(str(caught.value)) < 2000


def test_expressions_that_take_long_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "baseline.yaml"
    expecting("/a+b/")(path)
    assert load_baseline(path).entries[0].matches("aab")
    monkeypatch.setattr("conformance.report.baseline._EXPRESSION_SECONDS", 0.0)
    with pytest.raises(BaselineError, match="take more than 0 s to compile"):
        load_baseline(path)


def test_a_usual_expression_is_small() -> None:
    for message in (r"/part-[0-9a-f]{8}-[0-9a-f]{4}\.parquet/", r"/\{5000\}/", "/.{0,500}x/"):
        assert _size(message) < _MAX_EXPRESSION_CHARACTERS / 5


RESULTS: dict[str, Callable[[Path], None]] = {
    "nested lists": of("[" * NEST + "]" * NEST),
    "gigabytes": truncated(2**33),
    "a FIFO": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": Path.mkdir,
    "not UTF-8": of(b'{"line": "\xff"}'),
    "a lone surrogate": of('{"line": "\\udc80"}'),
    "a long number": of('{"line": ' + "1" * 5000 + "}"),
    "NaN": of('{"line": NaN}'),
    "a key twice": of('{"line": "header", "line": "header"}'),
    "a list": of("[]\n"),
    "nothing": of(""),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_hostile_results_file_is_refused_by_name(
    tmp_path: Path, make: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    make(path)
    page = tmp_path / "page.html"
    assert run_report_cli([str(path), f"--output={page}"]) == 2
    assert run_diff_cli([str(path), str(path)]) == 2
    with pytest.raises(ResultsError):
        run_merge_cli([str(path), f"--output={page}"])
    assert capsys.readouterr().err.count("results.jsonl") == 2
    assert not page.exists()


@pytest.mark.parametrize(
    "text",
    ["1e999999", "-1e400", "Infinity", "[1, -Infinity]", "0." + "1" * 500, '{"a":"\\udfff"}'],
)
def test_a_value_that_json_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_json(text.encode())


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**200), 1e308, "\U0001f600", "[" * 500, '\\"[{' * 50, {"a": [{}] * 500}, None],
)
def test_a_value_that_json_has_is_read(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode()) == value


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert printable("a\x1b[2J\x9b\ud800\x00\té\n") == "a\\x1b[2J\\x9b\\ud800\\x00\té\n"


def test_every_fault_of_a_document_is_one_of_the_kit() -> None:
    assert issubclass(DocumentError, KitError)
