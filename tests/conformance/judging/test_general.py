"""A breach of a part breaks the requirement that says it in general."""

from __future__ import annotations

import pytest

from conformance.requirements.general import general_requirements
from conformance.requirements.registry import load_registry


def _general(broken: list[str], writer: int | None, revision: str = "2025") -> set[str]:
    return {row for row, _ in general_requirements(broken, writer, load_registry(), revision)}


@pytest.mark.parametrize(
    ("part", "row"),
    [
        ("RT-028", "RT-002"),
        ("WLOG-001", "FA-011"),
        ("META-009", "META-003"),
        ("DVD-003", "DVD-001"),
        ("CKC-004", "CKPT-005"),
        ("COMP-006", "COMP-004"),
        ("CRC-008", "CRC-037"),
    ],
)
def test_a_part_names_its_whole(part: str, row: str) -> None:
    assert _general([part], 7) == {row}


def test_a_row_that_is_named_already_is_not_named_again() -> None:
    assert _general(["RT-028", "RT-002"], 7) == set()


@pytest.mark.parametrize(
    ("broken", "writer", "rows"),
    [
        ("CM-013", 5, {"WVER-004"}),
        ("CM-013", 6, {"WVER-004", "WVER-007"}),
        ("CHK-006", 3, {"WVER-002"}),
        ("CKC-018", 3, {"WVER-002"}),
        ("APP-002", 4, {"WVER-001", "WVER-007"}),
        ("CM-013", 7, set()),  # version 7 goes by its list
        ("CM-013", 4, set()),  # no table of version 4 owes it
        ("CM-013", None, set()),
        ("IDN-016", 6, set()),  # advice breaks no version
        ("ADD-001", 6, set()),
    ],
)
def test_a_version_owes_the_features_that_it_brings(
    broken: str, writer: int | None, rows: set[str]
) -> None:
    assert _general([broken], writer) == rows


@pytest.mark.parametrize(
    ("key", "writer", "rows"),
    [
        ("delta.identity.highWaterMark", 6, {"WVER-005"}),
        ("delta.generationExpression", 6, {"WVER-003", "WVER-007"}),
        ("delta.generationExpression", 7, set()),
        ("comment", 6, set()),
    ],
)
def test_a_version_owes_the_metadata_of_columns_that_it_brings(
    key: str, writer: int, rows: set[str]
) -> None:
    message = f"column k lost its {key!r}"
    found = general_requirements(["SCH-037"], writer, load_registry(), "2025", message)
    assert {row for row, _ in found} == rows


def test_what_is_no_row_has_no_whole() -> None:
    assert _general(["no row", "missing: id=3"], 6) == set()


def test_a_row_of_another_text_is_left_out() -> None:
    assert _general(["RT-028"], 7, "2021") == set()
