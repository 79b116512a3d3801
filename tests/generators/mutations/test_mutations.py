"""Mutations: each changes its table, names real requirements, and can be repeated."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from conformance.requirements.registry import load_registry
from generators.mutations import (
    BASES,
    MUTATIONS,
    Base,
    Mutation,
    by_id,
    checkpoints,
    commits,
    data_files,
    vectors,
)
from generators.mutations.catalog import mutation_of, read_mutations

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


def entry(**fields: object) -> Mutation:
    given: Any = {
        "id": "a",
        "title": "t",
        "requirements": "LOG-001",
        "table": "plain",
        "change": {"commit": 1, "delete": True},
        **fields,
    }
    return mutation_of("delta-log-entries", given.pop("expect", "refused"), **given)


def test_an_entry_says_what_differs_from_the_rule() -> None:
    assert (entry().noticed_by, entry().kind) == ("both", "invalid_table")
    survived = entry(expect="same_rows")
    assert (survived.noticed_by, survived.tolerated) == ("nobody", ())
    tolerated = entry(expect="same_rows", reason="r")
    assert (tolerated.noticed_by, tolerated.tolerated) == ("audit", ("refused",))
    assert entry(expect="same_rows", noticed_by="audit").noticed_by == "audit"


def test_contradictions_in_an_entry_are_refused() -> None:
    with pytest.raises(ValueError, match="names no requirement"):
        entry(requirements="")
    with pytest.raises(ValueError, match="needs a reason"):
        entry(expect="contested")
    with pytest.raises(ValueError, match="longer than 70"):
        entry(title="t" * 71)
    with pytest.raises(ValueError, match="spelled in the entry"):
        entry(change=None)
    with pytest.raises(ValueError, match="spelled in the entry"):
        entry(id="log-utf16")
    with pytest.raises(ValueError, match="no place and edit"):
        entry(change={"commit": 1})
    with pytest.raises(ValueError, match="no place and edit"):
        entry(change={"commit": 1, "log": "*", "delete": True})
    with pytest.raises(TypeError, match="titles"):
        entry(titles="t")


def test_two_mutations_have_two_ids(tmp_path: Path) -> None:
    for chapter in ("protocol-evolution", "table-features"):
        (tmp_path / f"{chapter}.yaml").write_text(
            "{table: plain, refused: [{id: a, title: t, requirements: TF-001,"
            " change: {commit: 1, delete: true}}]}"
        )
    with pytest.raises(ValueError, match="two mutations"):
        read_mutations(tmp_path)


def test_every_function_of_a_mutation_is_used() -> None:
    found = {**commits.CHANGES, **checkpoints.CHANGES, **data_files.CHANGES, **vectors.CHANGES}
    assert found.keys() <= {each.id for each in MUTATIONS}


def test_a_change_of_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for change in ({"log": "*.crc", "delete": True}, {"commit": 1, "action": "cdc", "set": {}}):
        with pytest.raises(LookupError):
            entry(change=change).build(tmp_path / str(len(change)))
