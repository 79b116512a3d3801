"""Recipes are judged by what they leave: writers that lie in one way each are caught."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recipe_runs import (
    APPEND,
    CLAIMS,
    CREATE,
    DELETE,
    LEFT,
    ONE,
    REFUSED,
    SCHEMA,
    judged,
    recipe,
)

from conformance.adapter import Answer, Claims, Ok, Refused, Request, Write
from conformance.adapters.ours import create
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Accepted, Contested, Expected, Spec
from conformance.judging.recipes.judge import replay_recipe
from conformance.judging.recipes.needs import unclaimed_operations
from conformance.judging.recipes.replay import AdapterFaultError
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import field, struct
from reference_impl import Snapshot, Table
from reference_impl.write.rows.rules import Identity


def test_what_an_honest_writer_leaves_passes(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE))
    assert verdict == Verdict(Outcome.PASS)


def test_a_create_that_is_refused_breaks_no_row_of_version_0(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND), lambda _: Refused(None, None, "no"))
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, "SNAP-008")


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


def _write_over_a_removed_file(request: Write) -> Answer | None:
    """Delete, and use the name of a file again that the version before needs."""
    if request.operation != "delete":
        return None
    version = Table(request.table).delete("id = 1")
    removed = Table(request.table).snapshot().tombstones()["path"][0].as_py()
    path = Path(request.table) / unquote(removed)
    rows = pq.read_table(path)
    ids = pa.array([900 + number for number in range(rows.num_rows)], pa.int64())
    pq.write_table(rows.set_column(rows.schema.get_field_index("id"), "id", ids), path)
    return Ok({"version": version})


def _lead_to_an_old_version_wrongly(request: Write) -> Answer | None:
    """Delete, and leave a checkpoint of the version before with what is there now."""
    if request.operation != "delete":
        return None
    table = Table(request.table)
    version = table.delete("id = 1")
    table.checkpoint()
    log = Path(request.table) / "_delta_log"
    content = (log / f"{version:020d}.checkpoint.parquet").read_bytes()
    (log / f"{version - 1:020d}.checkpoint.parquet").write_bytes(content)
    return Ok({"version": version})


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
        (_rewrite_history, "1.json was written again"),
        (_write_over_a_removed_file, "is written over"),
        (_lead_to_an_old_version_wrongly, "version 1, read again at the end: rows"),
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


def _escape_twice(request: Write) -> Answer | None:
    if request.operation != "append":
        return None
    version = Table(request.table).append(request.rows)
    path = Path(request.table) / "_delta_log" / f"{version:020d}.json"
    path.write_text(path.read_text().replace('"path":"p', '"path":"%2570'))
    return Ok({"version": version})


def test_the_clause_that_stops_a_reader_is_named(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND), _escape_twice)
    assert "the table cannot be read" in verdict.message
    assert verdict.requirement == "ADD-004"


def test_the_step_that_shows_advice_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Identity, "following", lambda self: self.start)
    metadata = {"delta.identity.start": 1, "delta.identity.step": 1}
    schema = struct(field("k", "long", metadata=metadata), field("id", "long"))
    create = {"operation": "create", "schema": schema.to_json(), "features": ["identityColumns"]}
    numbered = {"operation": "append", "columns": ["id"], "identity": "k"}
    steps = [{**numbered, "rows": [{"id": number} for number in ids]} for ids in ("12", "3")]
    rows = [{"k": number, "id": number} for number in (1, 2, 3)]
    left = Expected({"versions": 3}, partial(arrow_table, schema, rows))
    verdict = judged(tmp_path, recipe(create, *steps, expectation=left))
    assert verdict.requirement == "IDN-012"
    assert any(detail.startswith("IDN-016") for detail in verdict.details)


def _declare_no_change(request: Write) -> Answer | None:
    if request.operation != "append":
        return None
    version = Table(request.table).append(request.rows)
    path = Path(request.table) / "_delta_log" / f"{version:020d}.json"
    committed = path.stat().st_mtime_ns
    path.write_text(path.read_text().replace('"dataChange":true', '"dataChange":false'))
    os.utime(path, ns=(committed, committed))
    return Ok({"version": version})


def test_rows_that_no_action_declares_are_found(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND), _declare_no_change)
    assert verdict.outcome is Outcome.FAIL
    assert "every add has dataChange false" in verdict.message


def _not_yet(_: Request) -> Answer:
    return Refused("unsupported", "commit", "not yet")


PLAIN = replace(CLAIMS, writer_features=frozenset({"appendOnly", "invariants"}))
NTZ = struct(field("id", "long"), field("at", "timestamp_ntz"))


@pytest.mark.parametrize(
    ("step", "claims", "missing"),
    [
        (CREATE, CLAIMS, None),
        (CREATE, PLAIN, None),
        ({**CREATE, "features": ["clustering"]}, CLAIMS, None),
        ({**CREATE, "features": ["clustering"]}, PLAIN, "clustering"),
        ({**CREATE, "features": ["clustering"]}, PLAIN, "domainMetadata"),
        ({**CREATE, "properties": {"delta.enableRowTracking": "true"}}, PLAIN, "rowTracking"),
        ({**CREATE, "properties": {"delta.columnMapping.mode": "id"}}, PLAIN, "columnMapping"),
        ({**CREATE, "properties": {"delta.columnMapping.mode": "none"}}, PLAIN, None),
        ({**CREATE, "schema": NTZ.to_json()}, PLAIN, "timestampNtz"),
        ({**CREATE, "schema": NTZ.to_json()}, CLAIMS, None),
    ],
)
def test_only_what_is_not_claimed_may_be_refused_as_unsupported(
    tmp_path: Path, step: dict[str, Any], claims: Claims, missing: str | None
) -> None:
    verdict = judged(tmp_path, recipe(step), _not_yet, claims)
    if missing is None:
        assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.WRONG_REFUSAL)
    else:
        assert verdict.outcome is Outcome.UNSUPPORTED
        assert missing in verdict.unclaimed


def test_a_table_that_asks_for_more_than_is_claimed_may_be_refused(tmp_path: Path) -> None:
    mapped = {**CREATE, "properties": {"delta.columnMapping.mode": "name"}}

    def lie(request: Write) -> Answer | None:
        return _not_yet(request) if request.operation == "append" else None

    verdict = judged(tmp_path, recipe(mapped, APPEND), lie, PLAIN)
    assert (verdict.outcome, verdict.unclaimed) == (Outcome.UNSUPPORTED, ("columnMapping",))
    older = replace(PLAIN, writer_version=1)
    verdict = judged(tmp_path / "b", recipe(CREATE, APPEND), lie, older)
    assert verdict.unclaimed[0] == "writer version 2"


def test_a_step_that_is_refused_otherwise_is_a_wrong_refusal(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE), lambda _: Refused("constraint", "commit", "no"))
    assert verdict.hazard is Hazard.WRONG_REFUSAL


OPEN = Contested(
    (
        Accepted("done", "one reading", Expected({}, partial(arrow_table, SCHEMA, LEFT))),
        Accepted("refused", "another", REFUSED),
    )
)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (None, "done"),
        (Refused("unsupported", "commit", "no"), "refused"),
        (Refused("constraint", "commit", "no"), "refused"),
    ],
)
def test_of_what_is_contested_it_is_reported_what_was_seen(
    tmp_path: Path, answer: Answer | None, seen: str
) -> None:
    def lie(request: Write) -> Answer | None:
        return answer if request.operation == "delete" else None

    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE, expectation=OPEN), lie)
    assert (verdict.outcome, verdict.seen) == (Outcome.OPEN, seen)


@pytest.mark.parametrize("operation", ["create", "append"])
def test_of_what_is_contested_no_other_step_may_be_refused(tmp_path: Path, operation: str) -> None:
    def lie(request: Write) -> Answer | None:
        return Refused("constraint", "commit", "no") if request.operation == operation else None

    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE, expectation=OPEN), lie)
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.WRONG_REFUSAL)
    done, refused = OPEN.accepted
    other = Contested((done, replace(refused, steps=(0, 1))))
    verdict = judged(tmp_path / "b", recipe(CREATE, APPEND, DELETE, expectation=other), lie)
    assert (verdict.outcome, verdict.seen) == (Outcome.OPEN, "refused")


def test_of_what_is_contested_a_refusal_leaves_nothing(tmp_path: Path) -> None:
    writer = create()

    def lie(request: Write) -> Answer | None:
        if request.operation != "delete":
            return None
        writer.run(request)
        return Refused("constraint", "commit", "no")

    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE, expectation=OPEN), lie)
    assert verdict.outcome is Outcome.FAIL
    assert "refused and" in verdict.message


def test_what_no_reading_of_the_text_has_fails(tmp_path: Path) -> None:
    verdict = judged(tmp_path, recipe(CREATE, APPEND, DELETE, expectation=OPEN), _do_nothing)
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.CORRUPTING_WRITE)


def _purge_nothing(request: Write) -> Answer | None:
    return Ok({"version": 2}) if request.operation == "optimize" else None


def test_a_purge_that_leaves_vectors_is_caught(tmp_path: Path) -> None:
    vectors = {**CREATE, "partition_columns": [], "properties": _VECTORS}
    purge = {"operation": "optimize", "purge": True}
    assert judged(tmp_path / "a", recipe(vectors, APPEND, DELETE, purge)).outcome is Outcome.PASS
    verdict = judged(tmp_path / "b", recipe(vectors, APPEND, DELETE, purge), _purge_nothing)
    assert "a deletion vector still" in verdict.message


_VECTORS = {"delta.enableDeletionVectors": "true"}


def test_files_that_have_to_go_and_to_stay_are_looked_for(tmp_path: Path) -> None:
    vector = "deletion_vector_6b0a7c2e-95b9-4b0e-9e0f-3f0d2f0c7a11.bin"
    vacuum = {"operation": "vacuum", "gone": ["x.parquet", vector], "kept": ["_delta_log"]}
    assert judged(tmp_path / "a", recipe(CREATE, APPEND, DELETE, vacuum)).outcome is Outcome.PASS

    def keep(request: Write) -> Answer | None:
        if request.operation != "vacuum":
            return None
        (Path(request.table) / "x.parquet").touch()
        (Path(request.table) / vector).touch()
        return Ok({"version": 2})

    verdict = judged(tmp_path / "b", recipe(CREATE, APPEND, DELETE, vacuum), keep)
    assert verdict.message.endswith(f"{vector} is still there")
    lazily = {**vacuum, "gone": ["x.parquet"]}
    verdict = judged(tmp_path / "d", recipe(CREATE, APPEND, DELETE, lazily), keep)
    assert verdict.outcome is Outcome.PASS
    lost = {**vacuum, "gone": [], "kept": ["y.parquet"]}
    verdict = judged(tmp_path / "c", recipe(CREATE, APPEND, DELETE, lost))
    assert verdict.message.endswith("y.parquet is gone")


def test_every_step_is_taken_and_compared(tmp_path: Path) -> None:
    """One recipe of what no other test here does; the oracle follows each step."""
    schema = struct(field("id", "long"), field("n", "integer", metadata={"comment": "count"}))
    on = {"op": "=", "args": [{"column": ["target", "id"]}, {"column": ["source", "id"]}]}
    more = {"op": "+", "args": [{"column": ["target", "n"]}, {"column": ["source", "n"]}]}
    steps: list[dict[str, Any]] = [
        {
            "operation": "create",
            "schema": schema.to_json(),
            "properties": {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"},
            "features": ["domainMetadata"],
        },
        {"operation": "append", "rows": [{"id": "1", "n": 1}, {"id": "2", "n": 2}]},
        {
            "operation": "merge",
            "rows": [{"id": "2", "n": 5}, {"id": "3", "n": 3}],
            "on": on,
            "when": [
                {"match": "matched", "action": "update", "set": {"n": more}},
                {"match": "not_matched", "action": "insert"},
            ],
        },
        {"operation": "change_type", "column": "n", "type": "long"},
        {"operation": "rename_column", "column": "n", "name": "m"},
        {"operation": "reorder_columns", "columns": ["m", "id"]},
        {"operation": "append", "columns": ["id"], "rows": [{"id": "4"}]},
        {"operation": "set_domain_metadata", "domain": "d", "configuration": "{}"},
        {"operation": "set_domain_metadata", "domain": "gone", "configuration": "{}"},
        {"operation": "set_domain_metadata", "domain": "gone", "configuration": None},
        {"operation": "add_constraint", "name": "c", "expression": "id > 0"},
        {"operation": "unset_properties", "names": ["delta.enableTypeWidening"]},
        {"operation": "restore", "to_step": 2},
    ]
    left: list[dict[str, Any]] = [{"id": 1, "n": 1}, {"id": 2, "n": 7}, {"id": 3, "n": 3}]
    rows = partial(arrow_table, schema, left)
    restored = [step for step in steps if step["operation"] != "change_type"]
    spec = Spec("c/s/w", "write", "t", ("LOG-003",), {"operations": restored}, Expected({}, rows))
    assert judged(tmp_path / "a", spec) == Verdict(Outcome.PASS)
    steps.pop()
    left[:] = [{"m": 1, "id": 1}, {"m": 7, "id": 2}, {"m": 3, "id": 3}, {"m": None, "id": 4}]
    rows = partial(arrow_table, struct(field("m", "long"), field("id", "long")), left)
    spec = Spec("c/s/w", "write", "t", ("LOG-003",), {"operations": steps}, Expected({}, rows))
    assert judged(tmp_path / "b", spec) == Verdict(Outcome.PASS)
    for name, message in {
        "set_domain_metadata": "domain d is None",
        "add_constraint": "constraint c is not there",
        "unset_properties": "delta.enableTypeWidening is still 'true'",
    }.items():
        lie = partial(_skip, name)
        verdict = judged(tmp_path / name, spec, lie)
        assert message in verdict.message


def _skip(operation: str, request: Write) -> Answer | None:
    """Say that an operation is done, and do nothing."""
    if request.operation != operation:
        return None
    return Ok({"version": Table(request.table).latest_version()})


def _forget_comments(request: Write) -> Answer | None:
    if request.operation != "create":
        return None
    schema = json.loads(json.dumps(request.arguments["schema"]))
    for each in schema["fields"]:
        each["metadata"] = {}
    return Ok({"version": Table(request.table).create(schema)})


def test_what_is_said_of_columns_is_kept(tmp_path: Path) -> None:
    schema = struct(field("id", "long", metadata={"comment": "count"}))
    steps = [{"operation": "create", "schema": schema.to_json()}]
    wanted = Expected({}, partial(arrow_table, schema, []))
    spec = Spec("c/s/w", "write", "t", ("SCH-037",), {"operations": steps}, wanted)
    assert judged(tmp_path / "a", spec) == Verdict(Outcome.PASS)
    assert "lost its 'comment'" in judged(tmp_path / "b", spec, _forget_comments).message


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


def test_no_clause_names_kinds_of_refusal(tmp_path: Path) -> None:
    def lie(request: Write) -> Answer | None:
        return Refused("conflict", "commit", "no") if request.operation == "delete" else None

    verdict = judged(tmp_path, recipe(LOCKED, APPEND, DELETE, expectation=REFUSED), lie)
    assert verdict.outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("claims", "outcome"),
    [
        (CLAIMS, Outcome.FAIL),
        (replace(CLAIMS, writer_features=frozenset({"invariants"})), Outcome.UNSUPPORTED),
    ],
)
def test_a_refusal_for_lack_of_support_is_unsupported_where_support_is_not_claimed(
    tmp_path: Path, claims: Claims, outcome: Outcome
) -> None:
    def lie(request: Write) -> Answer | None:
        return Refused("unsupported", "commit", "no") if request.operation == "delete" else None

    verdict = judged(tmp_path, recipe(LOCKED, APPEND, DELETE, expectation=REFUSED), lie, claims)
    assert verdict.outcome is outcome


def test_a_fault_of_the_adapter_is_the_judges_to_report(tmp_path: Path) -> None:
    fault = RuntimeError("gone")
    with pytest.raises(AdapterFaultError) as caught:
        replay_recipe(lambda _: (None, fault), CLAIMS, recipe(CREATE), tmp_path / "table")
    assert caught.value.fault is fault


def test_operations_that_are_not_claimed_are_named() -> None:
    claims = Claims(operations=frozenset({"create", "append"}))
    assert unclaimed_operations(recipe(CREATE, APPEND, DELETE), claims) == ["delete"]


def test_each_step_loads_as_many_versions_as_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int | None] = []
    load = Snapshot.__init__

    def counted(snapshot: Snapshot, *given: Any, **named: Any) -> None:
        load(snapshot, *given, **named)
        loaded.append(snapshot.version)

    monkeypatch.setattr(Snapshot, "__init__", counted)

    def loads(appends: int) -> int:
        loaded.clear()
        rows = partial(arrow_table, SCHEMA, [{"id": 1, "part": "a"}] * appends)
        steps = [CREATE, *[{**APPEND, "rows": [ONE]}] * appends]
        expectation = Expected({"versions": len(steps)}, rows)
        verdict = judged(tmp_path / str(appends), recipe(*steps, expectation=expectation))
        assert verdict == Verdict(Outcome.PASS)
        return len(loaded)

    few, more, most = map(loads, (2, 4, 6))
    assert most - more == more - few
    # The writer loads one, the judge one after the step and one by time travel.
    assert more - few <= 2 * 3


@pytest.mark.parametrize(
    ("said", "judges"), [({}, "SNAP-008"), ({"1": "CM-012"}, "CM-012")], ids=["by-itself", "said"]
)
def test_a_step_that_is_refused_breaks_no_row_of_what_it_would_write(
    tmp_path: Path, said: dict[str, str], judges: str
) -> None:
    step = {"operation": "set_properties", "properties": {"owner": "you"}}
    spec = recipe(CREATE, step)
    spec = replace(spec, parameters={**spec.parameters, "judged": said})

    def refusing(request: Write) -> Answer | None:
        asked = request.operation == "set_properties"
        return Refused("invalid_table", "commit", "no") if asked else None

    verdict = judged(tmp_path, spec, refusing)
    assert (verdict.hazard, verdict.requirement) == (Hazard.WRONG_REFUSAL, judges)
