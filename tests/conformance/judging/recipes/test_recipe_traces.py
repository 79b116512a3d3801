"""Row ids and feeds that a writer leaves are followed: wrong ones are caught."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from recipe_runs import (
    APPEND,
    CREATE,
    DELETE,
    SCHEMA,
    judged,
)

from conformance.adapter import Answer, Ok, Write
from conformance.adapters import ours
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Expected, Spec
from conformance.judging.recipes.state import check_state
from generators.materialise.data.arrow_rows import arrow_table
from reference_impl import Sql, Table

TRACKED = {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"}
UPDATE = {
    "operation": "update",
    "set": {"part": {"literal": "z", "type": "string"}},
    "filter": DELETE["filter"],
}
UPDATED: list[dict[str, Any]] = [{"id": 1, "part": "z"}, {"id": 2, "part": None}]


def traced(*steps: dict[str, Any]) -> Spec:
    create = {**CREATE, "properties": TRACKED, "partition_columns": []}
    rows = partial(arrow_table, SCHEMA, UPDATED)
    wanted = Expected({"versions": 3}, rows)
    return Spec(
        "c/s/w", "write", "t", ("RT-050",), {"operations": [create, APPEND, *steps]}, wanted
    )


def _new_ids(request: Write) -> Answer | None:
    """Update by deleting and inserting: the rows are right, and others."""
    if request.operation != "update":
        return None
    table = Table(request.table)
    table.overwrite(pa.table({"id": [1, 2], "part": ["z", None]}))
    return Ok({"version": table.latest_version()})


def _no_feed(request: Write) -> Answer | None:
    """Leave the cdc actions of an update out, so that a row that stays is reported as changed."""
    if request.operation != "update":
        return None
    version = ours.create().run(request)
    path = Path(request.table) / "_delta_log" / f"{2:020d}.json"
    lines = [line for line in path.read_text().splitlines() if '{"cdc"' not in line]
    path.write_text("".join(f"{line}\n" for line in lines))
    return version


def _touched(request: Write) -> Answer | None:
    """Rewrite what stays as well, under the commit that moved it."""
    if request.operation != "optimize":
        return None
    table = Table(request.table)
    table.update({"part": Sql("part")})
    return Ok({"version": table.latest_version()})


def _silent(request: Write) -> Answer | None:
    """Restore, and say that no row came or went."""
    if request.operation != "restore":
        return None
    answer = ours.create().run(request)
    path = Path(request.table) / "_delta_log" / f"{3:020d}.json"
    path.write_text(path.read_text().replace('"dataChange":true', '"dataChange":false'))
    return answer


def _logged(request: Write) -> Answer | None:
    """Log the start and the end of a vacuum, each in a commit of its own."""
    if request.operation != "vacuum":
        return None
    for kind in ("VACUUM START", "VACUUM END"):
        version = Table(request.table).latest_version() + 1
        path = Path(request.table) / "_delta_log" / f"{version:020d}.json"
        path.write_text(json.dumps({"commitInfo": {"operation": kind, "timestamp": 1}}) + "\n")
    return Ok({"version": version})


def test_a_vacuum_may_log_itself_and_changes_nothing(tmp_path: Path) -> None:
    spec = traced(UPDATE, {"operation": "vacuum"}, {"operation": "optimize"})
    assert judged(tmp_path, spec, _logged) == Verdict(Outcome.PASS)


def test_traces_of_an_honest_writer_are_right(tmp_path: Path) -> None:
    verdict = judged(tmp_path, traced(UPDATE, {"operation": "optimize"}))
    assert verdict == Verdict(Outcome.PASS)


_BACK = tuple({"operation": "restore", "to_step": step} for step in (1, 2))


def test_a_restore_may_report_rows_that_go_and_come_again(tmp_path: Path) -> None:
    assert judged(tmp_path, traced(UPDATE, *_BACK)) == Verdict(Outcome.PASS)


def test_a_restore_that_reports_no_row_is_caught(tmp_path: Path) -> None:
    verdict = judged(tmp_path, traced(UPDATE, *_BACK), _silent)
    assert verdict.message.startswith("step 3 (restore): the change feed")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (_new_ids, r"step 2 \(update\): the change feed|step 2 \(update\): row .* had id"),
        (_no_feed, r"step 2 \(update\): the change feed"),
        (_touched, r"step 3 \(optimize\): the change feed"),
    ],
)
def test_a_writer_that_leaves_wrong_traces_is_caught(
    tmp_path: Path, lie: Callable[[Write], Answer | None], message: str
) -> None:
    verdict = judged(tmp_path, traced(UPDATE, {"operation": "optimize"}), lie)
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.CORRUPTING_WRITE)
    assert re.search(message, verdict.message), verdict.message


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (_new_ids, r"row .* had id \d and has \d"),
        (_touched, r"row .* did not change, and its commit version did"),
    ],
)
def test_rows_are_followed_where_no_feed_has_them(
    tmp_path: Path, lie: Callable[[Write], Answer | None], message: str
) -> None:
    spec = traced(UPDATE, {"operation": "optimize"})
    steps = spec.parameters["operations"]
    steps[0] = {**steps[0], "properties": {"delta.enableRowTracking": "true"}}
    verdict = judged(tmp_path, spec, lie)
    assert re.search(message, verdict.message), verdict.message


def _unsummed(request: Write) -> Answer | None:
    """Delete, and leave no checksum."""
    if request.operation != "delete":
        return None
    answer = ours.create().run(request)
    (Path(request.table) / "_delta_log" / f"{2:020d}.crc").unlink()
    return answer


def _deaf(request: Write) -> Answer | None:
    """Append as if no property were set."""
    if request.operation != "append":
        return None
    table = Table(request.table)
    held = table.snapshot().metadata.configuration
    names = [name for name in _PROPERTIES if name in held]
    table.unset_properties(names)
    ours.create().run(request)
    table.set_properties({name: held[name] for name in names})
    return Ok({"version": table.latest_version()})


_PROPERTIES = {"delta.parquet.compression.codec": "gzip", "delta.rowTrackingSuspended": "true"}


@pytest.mark.parametrize(
    ("requirement", "lie"), [("CRC-036", _unsummed), ("PROP-001", _deaf), ("RT-008", _deaf)]
)
def test_what_clauses_advise_is_looked_for(
    tmp_path: Path, requirement: str, lie: Callable[[Write], Answer | None]
) -> None:
    properties = {**_PROPERTIES} if requirement != "CRC-036" else {}
    if requirement == "RT-008":
        del properties["delta.parquet.compression.codec"]
    create = {**CREATE, "partition_columns": [], "properties": properties}
    create["features"] = ["rowTracking", "domainMetadata"]
    wanted = Expected({"versions": 3}, partial(arrow_table, SCHEMA, [UPDATED[1]]))
    steps = {"operations": [create, APPEND, DELETE]}
    spec = Spec("c/s/w", "write", "t", (requirement,), steps, wanted)
    assert judged(tmp_path / "honest", spec).outcome is Outcome.PASS
    assert judged(tmp_path / "lying", spec, lie).requirement == requirement


def test_a_feature_that_a_restore_brings_back_need_not_be_gone(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.create(pa.schema([("id", pa.int64())]), features=["appendOnly"])
    dropped = {"operation": "drop_feature", "feature": "appendOnly"}
    restored = {"operation": "restore", "version": 0}
    wrong = check_state(Table(tmp_path).snapshot(), (), (restored, dropped), None)
    assert wrong is not None
    assert "feature appendOnly is still supported" in wrong.message
    assert check_state(Table(tmp_path).snapshot(), (), (dropped, restored), None) is None


def test_a_mode_that_is_asked_for_needs_its_feature(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    Table(tmp_path).create(pa.schema([("id", pa.int64())]))
    path = tmp_path / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 2}
        if "metaData" in line:
            line["metaData"]["configuration"] = properties
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = check_state(
        Table(tmp_path).snapshot(), (), ({"operation": "create", "properties": properties},), None
    )
    assert found is not None
    assert found.requirement == "CM-011"
