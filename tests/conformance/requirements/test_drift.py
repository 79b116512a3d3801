"""A new text names the requirements whose sentence it lost, and their cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import READ, write_case

from conformance.requirements.clauses import digest
from conformance.requirements.drift import find_change, find_drift, render_drift, run_drift_cli
from conformance.requirements.registry import Registry, load_registry

OLD = """
# Toys

A ball must be round. A box can stand anywhere in the `toy_room`.

| Toy | Meaning |
|--|--|
| doll | Sits on a shelf, never on the floor |
"""


@pytest.fixture
def registry(
    write_registry: Callable[..., Path], make_row: Callable[..., dict[str, Any]]
) -> Registry:
    def pin(sentence: str) -> dict[str, str]:
        return {"2025": digest(sentence)}

    return load_registry(
        write_registry(
            make_row(id="TOY-001", clause_digest=pin("A ball must be round.")),
            make_row(id="TOY-002", clause_digest=pin("A box can stand anywhere in the toy_room.")),
            make_row(id="TOY-003", clause_digest=pin("doll sits on a shelf, never on the floor")),
            make_row(id="TOY-004"),
            make_row(id="TOY-005", revisions=["2021"]),
            make_row(id="TOY-006", retired="Overruled.", clause_digest=pin("A car is red.")),
        )
    )


def test_the_same_text_has_no_drift(registry: Registry) -> None:
    drift = find_drift(OLD, registry)
    assert drift.drifted == ()
    assert drift.kept == 3
    assert [row.id for row in drift.unpinned] == ["TOY-004"]


def test_another_rendering_has_no_drift(registry: Registry) -> None:
    plain = (
        "Toys\n\nA ball must be round.\nA box can stand\nanywhere in the toy_room.\n\n"
        "doll Sits on a shelf, never on the floor\n"
    )
    assert find_drift(plain, registry).drifted == ()


@pytest.mark.parametrize(
    ("old", "new", "id_"),
    [
        ("must be round", "should be round", "TOY-001"),
        ("can stand anywhere", "can lie anywhere", "TOY-002"),
        ("never on the floor", "rarely on the floor", "TOY-003"),
        ("A ball must be round. ", "", "TOY-001"),
    ],
)
def test_a_planted_change_is_named_with_its_cases(
    registry: Registry, old: str, new: str, id_: str
) -> None:
    cases = {id_: ["toys/one/read", "toys/two/read"], "TOY-004": ["toys/other/read"]}
    drift = find_drift(OLD.replace(old, new), registry, cases)
    assert [item.requirement.id for item in drift.drifted] == [id_]
    assert drift.drifted[0].cases == ("toys/one/read", "toys/two/read")
    report = render_drift(drift)
    assert report.startswith(
        "1 requirements of 2025 have lost their sentence and 2 have kept it; 2 cases and"
    )
    assert "  - toys/two/read\n" in report
    assert "toys/other" not in report


def test_what_is_added_beside_a_sentence_is_no_drift(registry: Registry) -> None:
    assert find_drift(OLD.replace("A box", "A car is red. A box"), registry).drifted == ()


def test_a_text_that_does_not_exist_cannot_be_compared_by(registry: Registry) -> None:
    with pytest.raises(ValueError, match="'2024' is not one of"):
        find_drift(OLD, registry, revision="2024")


def project(folder: Path) -> list[str]:
    """Write a project of one case and return the arguments that point at it."""
    named = {"requirements": ["REC-003"]}
    write_case(folder / "corpus", "toys/one", {"read": {**READ, **named}}, **named)
    return ["--project", str(folder), "--corpus", str(folder / "corpus")]


def test_a_text_that_is_not_the_protocol_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "README.md"
    text.write_text("# Something else\n")
    arguments = [str(text), *project(tmp_path)]
    assert run_drift_cli(arguments) == 2
    assert "is it the protocol?" in capsys.readouterr().err


def test_a_missing_text_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_drift_cli([str(tmp_path / "none.md")]) == 2
    assert "none.md" in capsys.readouterr().err


def test_a_text_that_kept_one_sentence_reports_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "PROTOCOL.md"
    # A clause of three words that the shipped registry pins.
    text.write_text("* A single `protocol` action\n")
    arguments = [str(text), *project(tmp_path)]
    assert run_drift_cli(arguments) == 1
    out = capsys.readouterr().out
    assert "1 cases and" in out
    assert "toys/one/read" in out
    assert "REC-002" not in out


def test_between_two_texts_what_is_gone_and_what_is_new_is_named(registry: Registry) -> None:
    new = OLD.replace("A ball must be round.", "A ball must be red. A car must have wheels.")
    drift = find_change(OLD, new.replace("# Toys", "# Toys\nMore toys."), registry)
    assert [item.requirement.id for item in drift.drifted] == ["TOY-001"]
    assert drift.kept == 2
    assert drift.added == ("A ball must be red.", "A car must have wheels.")
    assert "new: A car must have wheels.\n" in render_drift(drift)


def test_a_row_that_the_old_text_does_not_hold_has_not_drifted(registry: Registry) -> None:
    old = OLD.replace("A ball must be round. ", "")
    assert find_change(old, old, registry).drifted == ()
    assert find_change(old, old, registry).kept == 2


def test_two_texts_are_compared_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("* A single `protocol` action\n* A single `metaData` action\n")
    new.write_text("* A single `protocol` action\n* A metaData action is required\n")
    rest = project(tmp_path)
    assert run_drift_cli([str(old), str(new), *rest]) == 1
    out = capsys.readouterr().out
    assert "REC-003" in out
    assert "new: A metaData action is required" in out
    assert run_drift_cli([str(old), str(old), *rest]) == 0
    assert run_drift_cli([str(old), str(old), str(new), *rest]) == 2
