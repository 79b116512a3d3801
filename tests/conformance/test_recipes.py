"""Recipes are judged by what they leave: writers that lie in one way each are caught."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.adapter import Answer, Claims, Ok, Refused, Request, Write
from conformance.adapters import ours
from conformance.cases import Expected, ExpectedError, Spec
from conformance.outcomes import Hazard, Outcome, Verdict
from conformance.recipes import AdapterFaultError, replay_recipe, unclaimed_operations
from generators.delta_schema import field, struct
from generators.materialise.arrow_rows import arrow_table
from reference_impl import Table

SCHEMA = struct(field("id", "long"), field("part", "string"))
CREATE = {
    "operation": "create",
    "schema": SCHEMA.to_json(),
    "partition_columns": ["part"],
    "properties": {"owner": "me"},
}
ONE, TWO = {"id": "1", "part": "a"}, {"id": "2", "part": None}
APPEND = {"operation": "append", "rows": [ONE, TWO]}
DELETE = {
    "operation": "delete",
    "filter": {"op": "=", "args": [{"column": ["id"]}, {"literal": "1", "type": "long"}]},
    "predicate": "id = 1",
}
LEFT = [{"id": 2, "part": None}]
REFUSED = ExpectedError("constraint", "commit", "APP-002")


def recipe(*steps: dict[str, Any], expectation: Any = None) -> Spec:
    rows = partial(arrow_table, SCHEMA, LEFT)
    wanted = expectation or Expected({"versions": len(steps)}, rows)
    return Spec("c/s/w", "write", "t", ("LOG-003",), {"operations": list(steps)}, wanted)


def judged(
    folder: Path, spec: Spec, lie: Callable[[Write], Answer | None] = lambda _: None
) -> Verdict:
    """Replay a recipe with the reference writer, which a lie may replace for a step."""
    writer = ours.create()

    def run(request: Request) -> tuple[Answer | None, BaseException | None]:
        assert isinstance(request, Write)
        return lie(request) or writer.run(request), None

    return replay_recipe(run, spec, folder / "table")


def test_what_an_honest_writer_leaves_passes(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE))
    assert verdict == Verdict(Outcome.PASS)


def _drop_a_row(request: Write) -> Answer | None:
    if request.operation != "append" or request.rows is None:
        return None
    return Ok({"version": Table(request.table).append(request.rows.slice(1))})


def _do_nothing(request: Write) -> Answer | None:
    return Ok({"version": 1}) if request.operation == "delete" else None


def _forget_properties(request: Write) -> Answer | None:
    if request.operation != "create":
        return None
    arguments = request.arguments
    Table(request.table).create(
        arguments["schema"], partition_columns=arguments["partition_columns"]
    )
    return Ok({"version": 0})


def _forget_partitioning(request: Write) -> Answer | None:
    if request.operation != "create":
        return None
    Table(request.table).create(request.arguments["schema"], properties={"owner": "me"})
    return Ok({"version": 0})


def _rewrite_history(request: Write) -> Answer | None:
    """Delete by changing what is already committed: the latest rows are right."""
    if request.operation != "delete":
        return None
    folder = Path(request.table)
    commit = folder / "_delta_log" / f"{1:020d}.json"
    lines = commit.read_text().splitlines()
    kept = [
        line for line in lines if json.loads(line).get("add", {}).get("path", "")[:6] != "part=a"
    ]
    commit.write_text("\n".join(kept) + "\n")
    Table(folder).append(pa.table({"id": pa.array([], pa.int64())}))
    return Ok({"version": 2})


def _leave_a_wrong_checksum(request: Write) -> Answer | None:
    if request.operation != "delete":
        return None
    version = Table(request.table).delete("id = 1")
    path = Path(request.table) / "_delta_log" / f"{version:020d}.crc"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "numFiles": 77}))
    return Ok({"version": version})


def _break_the_log(request: Write) -> Answer | None:
    if request.operation != "delete":
        return None
    (Path(request.table) / "_delta_log" / f"{2:020d}.json").write_text("no JSON\n")
    return Ok({"version": 2})


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (_drop_a_row, r"step 1 \(append\): rows"),
        (_do_nothing, r"step 2 \(delete\): rows"),
        (_forget_properties, "owner is None"),
        (_forget_partitioning, r"partitionColumns is \[\]"),
        (_rewrite_history, "version 1, read again at the end"),
        (_leave_a_wrong_checksum, "the audit finds CRC-008"),
        (_break_the_log, "the table cannot be read"),
    ],
)
def test_a_writer_that_lies_is_caught(
    tmp_path: Path, lie: Callable[[Write], Answer | None], message: str
) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE), lie)
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.CORRUPTING_WRITE)
    assert re.search(message, verdict.message)


def test_a_step_that_is_refused_for_lack_of_support_is_unsupported(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path, recipe(CREATE), lambda _: Refused("unsupported", "commit", "not yet")
    )
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_a_step_that_is_refused_otherwise_is_a_wrong_refusal(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE), lambda _: Refused("constraint", "commit", "no"))
    assert verdict.hazard is Hazard.WRONG_REFUSAL


LOCKED = {**CREATE, "properties": {"delta.appendOnly": "true"}}


def test_a_refusal_that_is_due_passes(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(LOCKED, APPEND, DELETE, expectation=REFUSED))
    assert verdict.outcome is Outcome.PASS


def test_carrying_out_what_is_to_be_refused_corrupts(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE, expectation=REFUSED))
    assert verdict.hazard is Hazard.CORRUPTING_WRITE


def test_a_refusal_that_commits_nevertheless_is_caught(tmp_path: Path) -> None:
    def lie(request: Write) -> Answer | None:
        if request.operation != "delete":
            return None
        Table(request.table).set_properties({"x": "y"})
        return Refused("constraint", "commit", "no")

    verdict = judged(tmp_path, recipe(LOCKED, APPEND, DELETE, expectation=REFUSED), lie)
    assert verdict.hazard is Hazard.CORRUPTING_WRITE


def test_a_refusal_of_another_kind_is_cosmetic(tmp_path: Path) -> None:
    def lie(request: Write) -> Answer | None:
        return Refused("conflict", "commit", "no") if request.operation == "delete" else None

    verdict = judged(tmp_path, recipe(LOCKED, APPEND, DELETE, expectation=REFUSED), lie)
    assert verdict.hazard is Hazard.COSMETIC


def test_a_fault_of_the_adapter_is_the_judges_to_report(tmp_path: Path) -> None:
    fault = RuntimeError("gone")
    with pytest.raises(AdapterFaultError) as caught:
        replay_recipe(lambda _: (None, fault), recipe(CREATE), tmp_path / "table")
    assert caught.value.fault is fault


def test_operations_that_are_not_claimed_are_named() -> None:
    claims = Claims(operations=frozenset({"create", "append"}))
    assert unclaimed_operations(recipe(CREATE, APPEND, DELETE), claims) == ["delete"]
