"""What is named where a step leaves a state wrong: by the audit of what it wrote, if it copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from recipe_runs import APPEND, CREATE, SCHEMA, judged, recipe

from conformance.adapter import Answer, Ok, Write
from conformance.base.outcomes import Outcome
from conformance.golden.cases import Expected
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.operations import OPERATIONS
from reference_impl import Table
from reference_impl.write.checkpoints import write
from reference_impl.write.upkeep import compaction

_PROGRESS = {"operation": "set_txn", "app_id": "stream", "txn_version": 7}
_RENAMED: dict[str, Any] = {"operation": "set_properties", "properties": {"owner": "you"}}
_CHECKPOINT = {"operation": "checkpoint"}
_COMPACTION = {"operation": "compact_log", "start": 0, "end": 2}


def _without_progress(actions: dict[str, Any]) -> dict[str, Any]:
    return {**actions, "txn": []}


def _without_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if "txn" not in line]


def _left(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: _without_progress(right(*given))


def _given(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda lines: right(_without_lines(lines))


@pytest.mark.parametrize(
    ("step", "place", "name", "wrong", "broken"),
    [
        (_CHECKPOINT, write, "_small_actions", _left, "CKC-006"),
        (_COMPACTION, compaction, "_encoded", _given, "COMP-004"),
    ],
    ids=["checkpoint", "compaction"],
)
def test_what_a_copy_loses_is_named_by_the_audit(  # noqa: PLR0913, PLR0917  a writer, and its row
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: dict[str, Any],
    place: Any,
    name: str,
    wrong: Callable[..., Any],
    broken: str,
) -> None:
    steps: list[dict[str, Any]] = [CREATE, _PROGRESS, _RENAMED, step]
    spec = recipe(*steps, expectation=Expected({"versions": 3}, partial(arrow_table, SCHEMA, [])))
    # The recipe says of the step what it is about, which is not what is lost.
    spec = replace(spec, parameters={**spec.parameters, "judged": {"3": "WNEW-001"}})
    assert judged(tmp_path / "right", spec).outcome is Outcome.PASS
    monkeypatch.setattr(place, name, wrong(getattr(place, name)))
    verdict = judged(tmp_path / "wrong", spec)
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, broken)
    assert "as it was asked for" in verdict.message


@pytest.mark.parametrize(
    ("said", "broken"),
    [({}, "SNAP-008"), ({"1": "WNEW-001"}, "WNEW-001")],
    ids=["by-itself", "said"],
)
def test_wrong_rows_are_named_by_what_the_recipe_says_of_the_step(
    tmp_path: Path, said: dict[str, str], broken: str
) -> None:
    spec = recipe(CREATE, APPEND)
    spec = replace(spec, parameters={**spec.parameters, "judged": said})

    def lose_a_row(request: Write) -> Answer | None:
        if request.operation != "append" or request.rows is None:
            return None
        return Ok({"version": Table(request.table).append(request.rows.slice(1))})

    assert judged(tmp_path, spec, lose_a_row).requirement == broken


def test_a_state_that_no_copy_changed_is_named_by_its_step(tmp_path: Path) -> None:
    def forget(request: Write) -> Answer | None:
        if request.operation != "set_properties":
            return None
        return Ok({"version": Table(request.table).set_properties({"other": "you"})})

    own = OPERATIONS["set_properties"].judges
    verdict = judged(tmp_path, recipe(CREATE, _RENAMED), forget)
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, own)
