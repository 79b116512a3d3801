"""Mutations: each changes its table, names real requirements, and can be repeated."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from conformance.requirements.registry import load_registry
from generators.mutations import BASES, MUTATIONS, Base, Mutation, by_id
from generators.mutations.bases import PLAIN
from generators.mutations.mutation import Chapter, unique

REGISTRY = load_registry()


def digest(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.id)
def test_a_mutation_changes_its_base_and_nothing_of_the_expected_rows(
    tmp_path: Path, mutation: Mutation
) -> None:
    base = mutation.base.build(tmp_path / "base")
    changed = mutation.build(tmp_path / "changed")
    assert digest(tmp_path / "base") != digest(tmp_path / "changed")
    assert changed.rows() == base.rows()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.id)
def test_a_mutation_names_requirements_of_the_registry(mutation: Mutation) -> None:
    assert mutation.chapter in REGISTRY.chapters
    assert all(requirement in REGISTRY for requirement in mutation.requirements)


def test_there_are_mutations_of_many_chapters_and_of_every_kind() -> None:
    assert len(MUTATIONS) >= 200
    assert len({each.chapter for each in MUTATIONS}) >= 15
    assert {each.expect for each in MUTATIONS} == {"refused", "same_rows", "contested"}
    assert {each.noticed_by for each in MUTATIONS} == {"reader", "audit", "both", "nobody"}


def test_titles_state_what_is_and_not_what_should_be() -> None:
    for each in MUTATIONS:
        assert "should" not in each.title
        assert not each.title.endswith(".")


@pytest.mark.parametrize("base", BASES, ids=lambda each: each.name)
def test_base_tables_are_small_and_alike_every_time(tmp_path: Path, base: Base) -> None:
    builder = base.build(tmp_path / "a")
    assert 0 < len(builder.rows()) <= 20
    assert set(base.features) == set(builder.protocol.reader_features or ())
    base.build(tmp_path / "b")
    first, second = digest(tmp_path / "a"), digest(tmp_path / "b")
    assert first == second


def test_a_mutation_is_found_by_its_id() -> None:
    assert by_id(MUTATIONS[0].id) is MUTATIONS[0]
    with pytest.raises(KeyError):
        by_id("no-such-mutation")


CHAPTER = Chapter("delta-log-entries")


def nothing(_root: Path, _builder: object) -> None:
    return


def test_contradictions_in_a_description_are_refused() -> None:
    with pytest.raises(ValueError, match="names no requirement"):
        CHAPTER.refused("a", "t", "", nothing, base=PLAIN)
    with pytest.raises(ValueError, match="needs a reason"):
        CHAPTER.survived("a", "t", "LOG-001", nothing, base=PLAIN, tolerated=("refused",))
    one = CHAPTER.refused("a", "t", "LOG-001", nothing, base=PLAIN)
    with pytest.raises(ValueError, match="two mutations"):
        unique([one, one])
    long = CHAPTER.refused("b", "t" * 71, "LOG-001", nothing, base=PLAIN)
    with pytest.raises(ValueError, match="longer than 70"):
        unique([long])
