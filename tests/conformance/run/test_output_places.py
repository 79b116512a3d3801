"""What a run leaves is written over no golden table, and not among the files of Git."""

from __future__ import annotations

import pytest
from kit_runs import Kit, make_kit

from conformance.base.status import Status

pytest_plugins = ["pytester"]
PLACES = (
    "corpus/table-features/one/case.json",
    "corpus/table-features/one/delta/answers.json",
    "corpus/new",
    "corpus",
    "linked/new",
    "git/.git/config",
    "git/.git/hooks/pre-commit",
)


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    kit = make_kit(pytester, monkeypatch)
    kit.case("one")
    (kit.folder / "linked").symlink_to(kit.corpus)
    (kit.folder / "git" / ".git").mkdir(parents=True)
    (kit.folder / "git" / ".git" / "config").write_text("[core]")
    return kit


@pytest.mark.parametrize("option", ["results", "write-baseline", "bundles"])
@pytest.mark.parametrize("place", PLACES)
def test_an_output_among_what_is_not_its_own_is_refused(kit: Kit, option: str, place: str) -> None:
    def files() -> dict[str, bytes]:
        roots = (kit.corpus, kit.folder / "git")
        found = (each for root in roots for each in root.rglob("*") if each.is_file())
        return {str(each): each.read_bytes() for each in found}

    before = files()
    assert kit(f"--tck-{option}={place}") is Status.USAGE
    assert "cannot be written to" in kit.output
    assert files() == before


def test_a_name_with_a_nul_is_refused(kit: Kit) -> None:
    assert kit("--tck-results=a\0b") is Status.USAGE
    assert "INTERNALERROR" not in kit.output


def test_a_file_that_holds_no_results_is_not_replaced_by_them(kit: Kit) -> None:
    kit.results.write_text("class Reader {}")
    assert kit(f"--tck-results={kit.results}") is Status.USAGE
    assert "what is there is no results file, and is not replaced" in kit.output
    assert kit.results.read_text() == "class Reader {}"


@pytest.mark.parametrize("begin", ["", '{"line": "hea', '{"line": "header", "format": 1}\n'])
def test_results_replace_what_is_left_of_others(kit: Kit, begin: str) -> None:
    kit.results.write_text(begin)
    assert kit(f"--tck-results={kit.results}") is Status.OK
    assert kit.read().footer["status"] == Status.OK


def test_results_that_a_report_of_pytest_replaces_are_missed(kit: Kit) -> None:
    same = (f"--tck-results={kit.results}", f"--junitxml={kit.results}")
    assert kit("-pjunitxml", *same) is Status.USAGE
    assert "something else was written there; exit status 4" in kit.output
