"""The SQL text of a spec's predicate says what its filter tree says.

Harnesses that read the workload layout know the text alone; the kit's adapters are given the tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generators.golden.build import CORPUS
from generators.spec_files import spec_files
from reference_impl import read_table

_BEYOND = {"timestamp", "ratified"}
"""What a spec may ask beyond the workload layout: a moment, and commits of a catalog."""

CHAPTERS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())


def _filtered(chapter: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Return the specs of a chapter that have a predicate, one of those that expect the same."""
    seen = set()
    for path in [p for case in sorted((CORPUS / chapter).iterdir()) for p in spec_files(case)]:
        spec = json.loads(path.read_bytes())
        if "predicate" not in spec or "expected" not in spec or _BEYOND & spec.keys():
            continue
        # The layouts of one table are asked the same; those are for the gate to judge.
        expectation = (spec["predicate"], spec["expected"]["rowCount"])
        if expectation not in seen:
            seen.add(expectation)
            yield path, spec


def test_there_are_predicates_to_look_at() -> None:
    assert sum(1 for chapter in CHAPTERS for _ in _filtered(chapter)) >= 500


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_predicate_keeps_the_rows_that_are_expected(chapter: str) -> None:
    wrong = []
    for path, spec in _filtered(chapter):
        asked = {"version": spec.get("version"), "columns": spec.get("columns")}
        rows = read_table(path.parents[1] / "delta", filter=spec["predicate"], **asked)
        if rows.num_rows != spec["expected"]["rowCount"]:
            wrong.append((path.stem, spec["predicate"], rows.num_rows))
    assert wrong == []
