"""Results of many runs, kept once, and what they say together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline.track.store import Store, release_key

Write = Callable[..., Path]
Asked = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Return what runs the job and reads its JSON."""

    def run(*arguments: str, status: int = Status.OK) -> Any:
        given = ["pipeline", "track", str(tmp_path / "store"), *arguments]
        form = [] if arguments[0] == "ingest" else ["--format=json"]
        assert main([*given, *form]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if form and status in (0, 1) else said.out + said.err

    return run


def case(name: str) -> str:
    return f"chapter/{name}/read-latest"


def test_a_run_that_is_ingested_twice_is_there_once(
    results: Write, ask: Asked, tmp_path: Path
) -> None:
    path = results({"one": "pass", "two": "fail"})
    assert "new" in ask("ingest", str(path), "--dry-run")
    assert not (tmp_path / "store").exists()
    assert "new" in ask("ingest", str(path))
    assert "known" in ask("ingest", str(path))
    tables = Store(str(tmp_path / "store")).tables()
    assert {name: rows.num_rows for name, rows in tables.items()} == {
        "runs": 1,
        "results": 2,
        "findings": 1,
    }
    assert tables["findings"].to_pylist()[0]["way"] == (
        "silent wrong data: REC-001: rows: # missing of #"
    )


def test_a_label_distinguishes_equal_runs(results: Write, ask: Asked) -> None:
    path = str(results({"one": "pass"}))
    ask("ingest", path, "--label=1")
    ask("ingest", path, "--label=2")
    assert [run["label"] for run in ask("runs")["Runs"]] == ["1", "2"]


def test_an_ingest_that_was_killed_goes_on(results: Write, ask: Asked, tmp_path: Path) -> None:
    path = results({"one": "pass", "two": "fail"})
    store = Store(str(tmp_path / "store"))
    run, _ = store.known(path, None)
    # Killed after the first table: its rows are there, and the run is not.
    store.table("results").add([{"run_id": run, "case_id": "x", "outcome": "pass"}], run)
    assert ask("runs") == {"Runs": []}
    assert store.tables()["results"].num_rows == 0
    assert "new" in ask("ingest", str(path))
    assert store.tables()["results"].num_rows == 1


def test_what_is_no_results_file_is_refused(ask: Asked, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n")
    assert "does not begin with a header" in ask("ingest", str(path), status=Status.USAGE)


def test_regressions_between_two_releases_are_named(results: Write, ask: Asked) -> None:
    before = results({"one": "pass", "two": "fail", "three": "pass"}, "1.9.0")
    after = results({"one": "fail", "two": "pass", "three": "pass"}, "1.10.0")
    ask("ingest", str(before), str(after))
    found = ask("regressions", "mine==1.9.0", "mine==1.10.0", status=1)
    assert [each["regression"] for each in found["Regressions"]] == [
        f"{case('one')}: pass -> fail: rows: 1 missing of 2"
    ]
    assert [each["id"] for each in found["Cases: fixed"]] == [case("two")]
    assert {"remark": "engine version: 1.9.0, then 1.10.0"} in found["Remarks"]
    assert not ask("regressions", "mine==1.9.0", "mine==1.9.0")["Regressions"]


def test_a_case_that_comes_and_goes_is_no_regression(results: Write, ask: Asked) -> None:
    for number, outcome in enumerate(("pass", "fail")):
        ask("ingest", str(results({"one": outcome, "two": "pass"}, "2.0")), f"--label={number}")
    ask("ingest", str(results({"one": "pass", "two": "pass"}, "1.0")))
    found = ask("regressions", "mine==1.0", "mine==2.0")
    assert found["Regressions"] == []
    assert found["Flaky, and not compared"] == [{"case_id": case("one")}]
    (flaky,) = ask("flaky")["Flaky cases"]
    assert (flaky["case_id"], flaky["runs"], flaky["bad"]) == (case("one"), 2, 1)


def test_revisions_of_one_release_are_compared(results: Write, ask: Asked) -> None:
    ask("ingest", str(results({"one": "pass"}, revision="2021")))
    ask("ingest", str(results({"one": "fail"}, revision="2025")))
    found = ask("regressions", "mine==1.0/2021", "mine==1.0/2025", status=1)
    assert len(found["Regressions"]) == 1
    assert "several revisions" in ask("regressions", "mine==1.0", "mine==1.0", status=11)
    assert "no run" in ask("regressions", "mine==7", "mine==1.0", status=11)


def test_releases_name_the_last_good_and_the_first_bad(results: Write, ask: Asked) -> None:
    said = {
        "1.2.0": ("pass", "fail", "fail", "unsupported"),
        "1.9.0": ("fail", "pass", "fail", "pass"),
        "1.10.0-rc1": ("pass", "fail", "fail", "unsupported"),
        "1.10.0": ("fail", "fail", "pass", "fail"),
    }
    for release, outcomes in reversed(said.items()):
        cases = dict(zip(("one", "two", "three", "four"), outcomes, strict=True))
        ask("ingest", str(results({**cases, "good": "pass"}, release)))
    found = {
        row["case_id"]: (row["last_good"], row["first_bad"], row["last_bad"], row["fixed_in"])
        for row in ask("releases")["Cases that were ever bad"]
    }
    assert found == {
        case("one"): ("1.10.0-rc1", "1.10.0", "1.10.0", None),
        case("two"): ("1.9.0", "1.10.0-rc1", "1.10.0", None),
        case("three"): (None, "1.2.0", "1.10.0-rc1", "1.10.0"),
        case("four"): ("1.9.0", "1.10.0", "1.10.0", None),
    }


def test_implementations_are_kept_apart(results: Write, ask: Asked) -> None:
    ask("ingest", str(results({"one": "pass"}, "1.0", name="mine")))
    ask("ingest", str(results({"one": "fail"}, "2.0", name="yours")))
    (found,) = ask("releases")["Cases that were ever bad"]
    assert (found["implementation"], found["last_good"]) == ("yours", None)


def test_a_new_text_of_the_protocol_names_its_cases(
    results: Write, ask: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("ingest", str(results({"one": "pass", "two": "fail"}, "1.0")))
    ask("ingest", str(results({"one": "fail"}, "1.1")))
    text = tmp_path / "PROTOCOL.md"
    text.write_text("no word of it")
    assert "holds no sentence" in ask("touched", str(text), status=11)
    gone = ["REC-001"]
    monkeypatch.setattr("conformance.pipeline.track.job.find_drift", drifted(gone))
    found = ask("touched", str(text))
    assert [row["requirement"] for row in found["Requirements whose sentence is gone"]] == gone
    assert [(row["case_id"], row["engine_version"]) for row in found["Their cases"]] == [
        (case("one"), "1.1"),
        (case("two"), "1.0"),
    ]


def drifted(names: list[str]) -> Callable[..., Any]:
    """Return a drift in which some requirements have lost their sentence."""
    from conformance.requirements.drift import Drift, Drifted  # noqa: PLC0415  beside its one use
    from conformance.requirements.registry import load_registry  # noqa: PLC0415  as above

    rows = tuple(Drifted(row, ()) for row in load_registry() if row.id in names)
    return lambda *_, **__: Drift("2025", rows, 1, ())


@pytest.mark.parametrize(
    "ordered",
    [
        ("1.2.0", "1.9.0", "1.10.0-alpha", "1.10.0-rc1", "1.10.0-rc2", "1.10.0", "1.10.0.1"),
        ("4.0.0 (Spark 4.0.0)", "4.0.0 (Spark 4.0.1)", "4.1.0 (Spark 4.0.0)"),
        ("2.0.dev1", "2.0", "2.0.1"),
    ],
)
def test_releases_sort_as_they_came(ordered: tuple[str, ...]) -> None:
    assert sorted(ordered, key=release_key) == list(ordered)


def test_pages_and_tables_say_what_engines_say_as_text(
    results: Write, ask: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask("ingest", str(results({"one": "fail"}, "<b>1\x1b[31m")))
    store, page = str(tmp_path / "store"), tmp_path / "page.html"
    assert main(["pipeline", "track", store, "releases", "--format=html", f"--output={page}"]) == 0
    assert "&lt;b&gt;1" in page.read_text()
    assert "<b>1" not in page.read_text()
    assert main(["pipeline", "track", store, "releases"]) == 0
    assert "\x1b" not in capsys.readouterr().out
