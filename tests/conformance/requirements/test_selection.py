"""Rows are found by id, chapter, section, feature, level and revision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.requirements.registry import Registry, load_registry


@pytest.fixture
def registry(
    write_registry: Callable[..., Path], make_row: Callable[..., dict[str, Any]]
) -> Registry:
    return load_registry(
        write_registry(
            make_row(id="TOY-001", revisions=["2021"], section="Dolls"),
            make_row(id="TOY-002", revisions=["2021", "2025"], superseded_by="TOY-004"),
            make_row(id="TOY-003", revisions=["dv-design"], feature="deletionVectors"),
            make_row(id="TOY-004", revisions=["upstream"], level="MAY"),
            make_row(id="TOY-005", revisions=["2025"], retired="No toy was ever like that."),
        )
    )


@pytest.mark.parametrize(
    ("revision", "ids"),
    [
        ("2021", ["TOY-001", "TOY-002"]),
        ("2025", ["TOY-002", "TOY-003"]),
        ("upstream", ["TOY-003", "TOY-004"]),
    ],
)
def test_a_revision_selects_what_binds_under_it(
    registry: Registry, revision: str, ids: list[str]
) -> None:
    assert [row.id for row in registry.for_revision(revision)] == ids
    assert [row.id for row in registry if row.holds_in(revision)] == ids


def test_a_chapter_has_a_title(registry: Registry) -> None:
    assert {row.chapter for row in registry} == {"toys"}
    assert registry.title("toys") == "Toys"


def test_the_design_note_of_deletion_vectors_belongs_to_2025(registry: Registry) -> None:
    assert registry["TOY-003"].holds_in("2025")
    assert not registry["TOY-003"].holds_in("2021")


@pytest.mark.parametrize(
    ("look", "complaint"),
    [
        (lambda registry: registry.for_revision("2024"), "'2024' is not a revision"),
        (lambda registry: registry["TOY-001"].holds_in("dv-design"), "is not a revision"),
    ],
)
def test_what_does_not_exist_cannot_be_selected(
    registry: Registry, look: Callable[[Registry], object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        look(registry)
