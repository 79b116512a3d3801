"""Coverage is computed both ways, and a gap is either listed with a reason or a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny import READ, write_case

from conformance.requirements.citations import Citation, Kind
from conformance.requirements.coverage import (
    Coverage,
    Tally,
    measure,
    render_markdown,
    render_text,
    run_coverage_cli,
)
from conformance.requirements.gaps import Gap, GapList, faults_of, read_gaps, render_gaps
from conformance.requirements.registry import Registry, RegistryError, load_registry

CITATIONS = [
    Citation("toys/ball/read", ("TOY-001",), "golden"),
    Citation("ball-is-square", ("TOY-001", "TOY-004"), "mutation"),
    Citation("audit:balls", ("TOY-002",), "audit"),
]


@pytest.fixture
def registry(
    write_registry: Callable[..., Path], make_row: Callable[..., dict[str, Any]]
) -> Registry:
    return load_registry(
        write_registry(
            make_row(id="TOY-001"),
            make_row(id="TOY-002", role="writer"),
            make_row(id="TOY-003"),
            make_row(id="TOY-004", level="MAY"),
            make_row(id="TOY-005", level="SHOULD", revisions=["upstream"]),
            make_row(id="TOY-006", retired="Overruled."),
            make_row(id="TOY-007", role="writer", level="MAY"),
        )
    )


def measured(registry: Registry, *extra: Citation, revision: str | None = None) -> Coverage:
    return measure(registry, [*CITATIONS, *extra], revision)


def test_a_must_without_a_case_is_found(registry: Registry) -> None:
    coverage = measured(registry)
    assert [row.id for row in coverage.uncovered()] == ["TOY-003"]
    assert [row.id for row in coverage.uncovered("SHOULD")] == ["TOY-005"]
    assert [row.id for row in coverage.uncovered("MAY")] == ["TOY-007"]
    assert coverage.faults == []


def test_a_case_without_a_requirement_is_found(registry: Registry) -> None:
    coverage = measured(
        registry,
        Citation("toys/box/read", ("TOY-010",), "golden"),
        Citation("toys/car/read", (), "golden"),
        Citation("toys/kite/read", ("TOY-006",), "golden"),
    )
    assert coverage.faults == [
        "toys/car/read names no requirement",
        "toys/box/read names TOY-010, which no requirement has as its id",
        "toys/kite/read names TOY-006, which is retired",
    ]


def test_what_only_an_audit_covers_is_counted_apart(registry: Registry) -> None:
    assert measured(registry).tally("MUST") == Tally(3, 2, 1)


@pytest.mark.parametrize(
    ("name", "kind", "judges"),
    [
        ("TOY-003", "golden", True),
        ("TOY-003", "audit", False),
        ("TOY-003", "recipe", False),
        ("TOY-007", "golden", False),
        ("TOY-007", "recipe", True),
        ("TOY-007", "audit", True),
        ("TOY-007", "mutation", True),
    ],
)
def test_a_case_covers_only_whom_it_can_judge(
    registry: Registry, name: str, kind: Kind, *, judges: bool
) -> None:
    coverage = measure(registry, [Citation("toys/case/spec", (name,), kind)])
    assert (name in coverage.cited) is judges
    assert (name in coverage.named_only) is not judges
    assert coverage.faults == []


def test_cases_of_a_requirement_are_listed_by_kind(registry: Registry) -> None:
    coverage = measured(registry)
    assert coverage.cases_of("TOY-001") == ("toys/ball/read", "ball-is-square")
    assert coverage.cases_of("TOY-003") == ()


def test_a_revision_counts_only_what_binds_under_it(registry: Registry) -> None:
    assert len(measured(registry, revision="2025").requirements) == 5
    assert len(measured(registry, revision="upstream").requirements) == 6
    assert measured(registry, revision="2021").requirements == ()
    with pytest.raises(ValueError, match="is not a revision"):
        measured(registry, revision="1999")


def test_the_tables_show_the_figures(registry: Registry) -> None:
    coverage = replace(measured(registry), proved=frozenset({"TOY-001"}))
    text = render_text(coverage, registry).splitlines()
    assert text[0] == (
        "2 of 3 MUST requirements are cited by what judges them, 1 of them by an audit check "
        "alone, and 1 are proved by a wrong implementation or a planted fault; 0 more "
        "are named by cases that judge another one "
        "(1 golden, 0 recipe, 1 mutation, 1 audit)."
    )
    assert text[4].split() == ["Toys", "2/3", "0/1", "1/2", "1", "1"]
    assert render_markdown(coverage, registry).splitlines()[4:] == [
        "| Toys | 2/3 | 0/1 | 1/2 |  | 1 | 1 |",
        "| All | 2/3 | 0/1 | 1/2 |  | 1 | 1 |",
    ]


def gaps(*ids: str, count: int | None = None) -> GapList:
    return GapList(len(ids) if count is None else count, (Gap("It is hard.", ids),))


@pytest.mark.parametrize(
    ("listed", "faults"),
    [
        (gaps("TOY-003"), []),
        (gaps(), ["TOY-003 has no case and is not listed"]),
        (gaps("TOY-003", "TOY-001"), ["TOY-001 is listed and needs no exception: it has a case"]),
        (
            gaps("TOY-003", "TOY-005"),
            ["TOY-005 is listed and needs no exception: its level is SHOULD"],
        ),
        (gaps("TOY-003", "TOY-006"), ["TOY-006 is listed and needs no exception: it is retired"]),
        (gaps("TOY-003", "TOY-010"), ["TOY-010 is listed and no requirement has that id"]),
        (gaps("TOY-003", "TOY-003"), ["TOY-003 is listed twice"]),
        (gaps("TOY-003", count=0), ["the list has 1 entries and says 0"]),
        (gaps("TOY-003", count=2), ["the list has 1 entries and says 2"]),
    ],
)
def test_the_list_of_exceptions_holds_exactly_the_gaps(
    registry: Registry, listed: GapList, faults: list[str]
) -> None:
    uncovered = [row.id for row in measured(registry).uncovered()]
    assert faults_of(listed, registry, uncovered) == faults


def test_the_list_of_exceptions_survives_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "exceptions.yaml"
    whole = GapList(
        3, (Gap("word " * 40 + "end.", ("TOY-001", "TOY-002")), Gap("B.", ("TOY-003",)))
    )
    path.write_text(render_gaps(whole))
    assert read_gaps(path) == whole
    path.write_text(render_gaps(whole.without({"TOY-001", "TOY-002"})))
    assert read_gaps(path) == GapList(1, (Gap("B.", ("TOY-003",)),))
    path.write_text(render_gaps(whole.without(set(whole.requirements))))
    assert read_gaps(path) == GapList(0, ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("count: many\nexceptions: []\n", r"yaml:1: count must be a whole number"),
        ("count: 1\n", "lacks exceptions"),
        ("count: 1\nexceptions:\n  - reason: A.\n", "lacks requirements"),
        ("count: 0\nexceptions:\n  - reason: A.\n    requirements: []\n", "requirements is empty"),
        ("count: 1\nexceptions:\n  - reason: A.\n    requirements: [x]\n", "does not match"),
    ],
)
def test_a_bad_list_of_exceptions_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "exceptions.yaml"
    path.write_text(text)
    with pytest.raises(RegistryError, match=complaint):
        read_gaps(path)


def project(folder: Path, *ids: str) -> list[str]:
    """Write a project of one case and return the arguments that point at it."""
    named = {"requirements": list(ids)}
    write_case(folder / "corpus", "toys/ball", {"read": {**READ, **named}}, **named)
    return ["--project", str(folder), "--corpus", str(folder / "corpus")]


def write_every_gap(path: Path) -> list[str]:
    ids = [row.id for row in load_registry() if row.level == "MUST" and row.retired is None]
    path.write_text(render_gaps(GapList(len(ids), (Gap("Nothing is judged.", tuple(ids)),))))
    return ids


def test_the_command_passes_only_when_the_list_is_true(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "exceptions.yaml"
    ids = write_every_gap(path)
    arguments = [*project(tmp_path, "REC-001"), "--exceptions", str(path)]
    assert run_coverage_cli(arguments) == 1
    assert capsys.readouterr().err == "REC-001 is listed and needs no exception: it has a case\n"
    assert run_coverage_cli([*arguments, "--prune"]) == 0
    assert read_gaps(path).count == len(ids) - 1
    assert run_coverage_cli([*arguments, "--list", "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "| Action Reconciliation | 1/" in out
    assert "\nREC-002  reader  " in out
    assert "\nREC-001  " not in out


def test_the_command_fails_on_an_unknown_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "exceptions.yaml"
    write_every_gap(path)
    assert run_coverage_cli([*project(tmp_path, "REC-999"), "--exceptions", str(path)]) == 1
    assert "toys/ball/read names REC-999" in capsys.readouterr().err


@pytest.mark.parametrize("revision", ["2021", "2025", "upstream"])
def test_the_gate_is_the_same_under_every_revision(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "exceptions.yaml"
    write_every_gap(path)
    arguments = [*project(tmp_path, "REC-010"), "--exceptions", str(path), "--revision", revision]
    assert run_coverage_cli(arguments) == 1


def test_a_project_without_cases_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--project", str(tmp_path), "--corpus", str(tmp_path)]
    assert run_coverage_cli(arguments) == 2
    assert "no <chapter>/<case>/case.json below it" in capsys.readouterr().err


def test_a_missing_list_of_exceptions_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*project(tmp_path, "REC-001"), "--exceptions", str(tmp_path / "none.yaml")]
    assert run_coverage_cli(arguments) == 2
    assert "none.yaml:1: cannot be read" in capsys.readouterr().err
