"""Cases are found in the corpus and in sources, with the requirements that they name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny import READ, SNAPSHOT_SPEC, write_case

from conformance.base.home import PACKAGE
from conformance.golden.cases import Case
from conformance.golden.corpus import load_corpus
from conformance.requirements.citations import (
    Citation,
    CitationError,
    cited_in_cases,
    cited_in_mutations,
    cited_in_project,
    cited_in_source,
    cited_in_steps,
)
from conformance.run.selection import found_in_tables


def corpus_of(folder: Path, specs: dict[str, dict[str, Any]]) -> tuple[Case, ...]:
    """Write a corpus of one case, which names a row of its own, and load it."""
    write_case(folder, "toys/ball", specs, requirements=["TOY-001"])
    return load_corpus(folder).cases


def test_a_spec_is_cited_with_its_own_ids_and_those_of_its_case(tmp_path: Path) -> None:
    specs = {
        "read": {**READ, "requirements": ["TOY-002"]},
        "snapshot": {**SNAPSHOT_SPEC, "requirements": ["TOY-001"]},
    }
    assert list(cited_in_cases(corpus_of(tmp_path, specs))) == [
        Citation("toys/ball/read", ("TOY-002", "TOY-001"), "golden"),
        Citation("toys/ball/snapshot", ("TOY-001",), "golden"),
    ]


def test_a_spec_that_writes_is_a_recipe(tmp_path: Path) -> None:
    (case,) = corpus_of(tmp_path, {"roll": SNAPSHOT_SPEC})
    (spec,) = case.specs
    recipe = replace(spec, type="write", parameters={"judged": {"0": "TOY-003"}})
    (found,) = cited_in_cases([replace(case, specs=(recipe,))])
    assert found.kind == "recipe"
    assert [each.own for each in found.judged] == [None, "TOY-003"]


def test_sources_are_read_without_being_run(tmp_path: Path) -> None:
    (tmp_path / "balls.py").write_text(
        "raise SystemExit\n"
        "@requirement('TOY-001')\n"
        "def test_a_ball_rolls():\n"
        "    '''TOY-009 in prose is not a citation.'''\n"
        "    requirement = 'TOY-002 TOY-003'\n"
        "    yield from findings('toys/ball', 'TOY-001')\n"
        "class Ball:\n"
        "    def rolls(self): return 'TOY-004', 'TOY-004'\n"
        "CHECKS = {'TOY-005': print}\n"
        "check('TOY-006')(print)\n"
    )
    assert list(cited_in_source(tmp_path)) == [
        Citation("balls:test_a_ball_rolls", ("TOY-002", "TOY-003", "TOY-001"), "audit"),
        Citation("balls:Ball", ("TOY-004",), "audit"),
        Citation("balls:CHECKS", ("TOY-005",), "audit"),
        Citation("balls:line 10", ("TOY-006",), "audit"),
    ]


MUTATIONS = """
table: plain
refused:
  - {id: ball-is-square, title: the ball is square, requirements: TOY-001 TOY-002}
contested:
  - {id: no-ball, title: there is no ball, requirements: TOY-003, reason: who knows, open: true}
"""


def test_mutations_are_cited_by_their_entries(tmp_path: Path) -> None:
    (tmp_path / "toys.yaml").write_text(MUTATIONS)
    assert list(cited_in_mutations(tmp_path)) == [
        Citation("ball-is-square", ("TOY-001", "TOY-002"), "mutation"),
        Citation("no-ball", ("TOY-003",), "mutation"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("TOY-003", "the toys", "requirements"),
        (", reason: who knows", ", title: again", "has 'title' twice"),
        ("reason:", "reasons:", "cannot have 'reasons'"),
        ("contested:", "contest:", "cannot have 'contest'"),
    ],
)
def test_an_entry_of_another_shape_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "toys.yaml").write_text(MUTATIONS.replace(old, new))
    with pytest.raises(CitationError, match=message):
        list(cited_in_mutations(tmp_path))


def test_a_module_that_is_not_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "balls.py").write_text("def :\n")
    with pytest.raises(CitationError, match=r"balls\.py: is not Python"):
        list(cited_in_source(tmp_path))


def test_a_project_is_its_corpus_and_its_packages(tmp_path: Path) -> None:
    cases = corpus_of(tmp_path / "corpus", {"read": READ})
    (tmp_path / "generators/mutations/chapters").mkdir(parents=True)
    (tmp_path / "generators/mutations/chapters/toys.yaml").write_text(
        "{table: plain, refused: [{id: a-toy, title: a toy, requirements: TOY-001}]}"
    )
    (tmp_path / "conformance/audit").mkdir(parents=True)
    (tmp_path / "conformance/audit/toys.py").write_text("AUDIT = 'TOY-001'\n")
    kinds = [found.kind for found in cited_in_project(tmp_path, cases)]
    assert kinds == ["golden", "mutation", "audit"]


def test_the_modules_that_look_at_steps_of_recipes_name_rows() -> None:
    named = {name for each in cited_in_steps(PACKAGE) for name in each.requirements}
    assert {"CRC-037", "CKPT-N-007", "DVD-002", "RT-047", "TF-012"} <= named
    assert named - {"SNAP-007"} <= found_in_tables()
