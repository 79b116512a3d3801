"""The registry is read strictly, and every complaint names file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.requirements.registry import (
    Accepted,
    RegistryError,
    UnknownRequirementError,
    load_registry,
)

MakeRow = Callable[..., dict[str, Any]]
WriteRegistry = Callable[..., Path]


def test_a_row_is_read_whole(write_registry: WriteRegistry, make_row: MakeRow) -> None:
    contested = [{"name": "shelf", "source": "text"}, {"name": "box", "source": "most shops"}]
    folder = write_registry(
        make_row(
            revisions=["2021", "2025"],
            clause_digest={"2025": "5:0123456789abcdef"},
            contested=contested,
            ruling="On the shelf.",
            notice=["audit", "reader"],
        )
    )
    row = load_registry(folder)["TOY-001"]
    assert (row.chapter, row.section, row.role, row.level) == ("toys", "Toys", "reader", "MUST")
    assert row.revisions == ("2021", "2025")
    assert dict(row.clause_digest) == {"2025": "5:0123456789abcdef"}
    assert row.contested == (Accepted("shelf", "text"), Accepted("box", "most shops"))
    assert row.notice == ("audit", "reader")
    assert row.place == f"{folder / 'toys.yaml'}:4"


@pytest.mark.parametrize(
    ("role", "notice"), [("reader", ("reader",)), ("writer", ("audit",)), ("file", ("audit",))]
)
def test_who_notices_follows_the_role(
    write_registry: WriteRegistry, make_row: MakeRow, role: str, notice: tuple[str, ...]
) -> None:
    assert load_registry(write_registry(make_row(role=role)))["TOY-001"].notice == notice


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"id": "toy-1"}, "id 'toy-1' does not match"),
        ({"role": "king"}, "role 'king' is not one of"),
        ({"level": "must"}, "level 'must' is not one of"),
        ({"feature": "teleport"}, "feature 'teleport' is not one of"),
        ({"revisions": ["1999"]}, "'1999' is not one of"),
        ({"revisions": []}, "revisions is empty"),
        ({"revisions": "2025"}, "revisions must be a list"),
        ({"revisions": ["2025", "2025"]}, "revisions repeats itself"),
        ({"revisions": ["2025", "2021"]}, "revisions out of order"),
        ({"statement": None}, "lacks statement"),
        ({"statement": ""}, "statement must be text"),
        ({"statement": ["a"]}, "statement must be text"),
        ({"colour": "red"}, "cannot have 'colour'"),
        ({"clause_digest": {"2021": "5:0123456789abcdef"}}, "a digest for '2021'"),
        ({"clause_digest": {"2025": "beef"}}, "does not match"),
        ({"notice": ["nobody"]}, "'nobody' is not one of"),
        ({"contested": [{"name": "a", "source": "text"}], "ruling": "A."}, "between one outcome"),
        (
            {"contested": [{"name": "a", "source": "x"}, {"name": "b", "source": "y"}]},
            "has no ruling",
        ),
        ({"superseded_by": "TOY-002"}, "cannot be superseded by TOY-002"),
        ({"superseded_by": "TOY-001"}, "cannot be superseded by TOY-001"),
    ],
)
def test_a_bad_row_is_refused(
    write_registry: WriteRegistry, make_row: MakeRow, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(RegistryError, match=complaint) as caught:
        load_registry(write_registry(make_row(**changes)))
    file, _, line = caught.value.place.rpartition(":")
    assert Path(file).name == "toys.yaml"
    assert int(line) > 3


@pytest.mark.parametrize("nothing", ["null", "~", ""])
def test_a_null_is_no_text(write_registry: WriteRegistry, make_row: MakeRow, nothing: str) -> None:
    folder = write_registry(make_row(section="Games"))
    path = folder / "toys.yaml"
    path.write_text(path.read_text().replace("section: Games", f"section: {nothing}"))
    with pytest.raises(RegistryError, match=r"toys\.yaml:5: section must be text"):
        load_registry(folder)


def test_an_id_stands_once(write_registry: WriteRegistry, make_row: MakeRow) -> None:
    folder = write_registry(make_row(), make_row())
    with pytest.raises(RegistryError, match=r"toys\.yaml:12: id TOY-001 is taken by .*:4"):
        load_registry(folder)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("chapter: toys\nchapter: toys\n", r"toys\.yaml:2: a chapter has 'chapter' twice"),
        ("chapter: games\ntitle: T\nrequirements: [a]\n", r":1: chapter 'games' stands in"),
        ("chapter: [\n", r"toys\.yaml:2: is not YAML"),
        ("", r"toys\.yaml:1: a chapter is empty"),
        ("- a\n", r"toys\.yaml:1: a chapter must be a mapping"),
        ("chapter: &x toys\ntitle: *x\nrequirements: []\n", r":2: aliases are not allowed"),
        ("chapter: toys\n---\nchapter: toys\n", r"is not YAML"),
    ],
)
def test_a_bad_file_is_refused(
    write_registry: WriteRegistry, make_row: MakeRow, text: str, complaint: str
) -> None:
    folder = write_registry(make_row())
    (folder / "toys.yaml").write_text(text)
    with pytest.raises(RegistryError, match=complaint):
        load_registry(folder)


@pytest.mark.parametrize(
    ("listed", "complaint"),
    [
        ("- toys\n- toys\n", r"chapters\.yaml:2: chapter toys is listed twice"),
        ("- toys\n- games\n", r"chapters\.yaml:2: chapter games has no file"),
        ("- Toys\n", r"does not match"),
        ("[]\n", r"the list of chapters is empty"),
    ],
)
def test_the_list_of_chapters_is_checked_against_the_files(
    write_registry: WriteRegistry, make_row: MakeRow, listed: str, complaint: str
) -> None:
    folder = write_registry(make_row())
    (folder / "chapters.yaml").write_text(listed)
    with pytest.raises(RegistryError, match=complaint):
        load_registry(folder)


def test_a_chapter_without_a_line_is_refused(
    write_registry: WriteRegistry, make_row: MakeRow
) -> None:
    folder = write_registry(make_row())
    (folder / "games.yaml").write_text("chapter: games\n")
    with pytest.raises(RegistryError, match="chapters without a line: games"):
        load_registry(folder)


def test_a_folder_without_a_registry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"chapters\.yaml:1: cannot be read"):
        load_registry(tmp_path)


def test_an_unknown_id_gets_a_hint(write_registry: WriteRegistry, make_row: MakeRow) -> None:
    registry = load_registry(write_registry(make_row()))
    with pytest.raises(UnknownRequirementError, match="did you mean 'TOY-001'"):
        registry["TOY-010"]
    with pytest.raises(KeyError):
        registry["nothing like it"]
