"""The adapter of the reference implementation carries out every operation that it claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import schemas
from conformance.adapter import READ_OPERATIONS, WRITE_OPERATIONS, Ok, Refused, Write
from conformance.adapters import ours
from reference_impl import Table, read_table

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "name", "type": "string", "nullable": True, "metadata": {}},
    ],
}
PROPERTIES = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
ONE = {"op": "=", "args": [{"column": ["id"]}, {"literal": 1, "type": "integer"}]}
MORE = {"type": "struct", "fields": [{**SCHEMA["fields"][0], "name": "x"}]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "append": {},
    "overwrite": {},
    "delete": {"filter": ONE},
    "update": {"set": {"name": {"literal": "z", "type": "string"}}, "filter": ONE},
    "merge": {
        "on": {
            "op": "=",
            "args": [{"column": ["target", "id"]}, {"column": ["source", "id"]}],
        },
        "when": [
            {"match": "matched", "action": "update"},
            {"match": "not_matched", "action": "insert"},
        ],
    },
    "cluster_by": {"columns": ["id"]},
    "unset_properties": {"names": ["delta.enableTypeWidening"]},
    "reorder_columns": {"columns": ["name", "id"]},
    "set_nullable": {"column": "id", "nullable": False},
    "set_comment": {"column": "name", "comment": "of a person"},
    "set_default": {"column": "name", "expression": "'x'"},
    "drop_feature": {"feature": "invariants"},
    "optimize": {},
    "replace": {"schema": MORE},
    "restore": {"version": 0},
    "vacuum": {},
    "checkpoint": {},
    "compact_log": {"start": 0, "end": 1},
    "cleanup": {},
    "set_properties": {"properties": {"a": "b"}},
    "add_columns": {"schema": MORE},
    "rename_column": {"column": "name", "name": "label"},
    "drop_column": {"column": "name"},
    "change_type": {"column": "id", "type": "long"},
    "add_constraint": {"name": "c", "expression": "id > 0"},
    "drop_constraint": {"name": "d"},
    "set_txn": {"app_id": "a", "txn_version": 1},
    "set_domain_metadata": {"domain": "mine", "configuration": "{}"},
    "enable_feature": {"feature": "vacuumProtocolCheck"},
}


STEPS = "recipe-step.schema.json"
FRESH = {"create", "convert", "generate_manifest"}
"""What goes on another table: one that is not there, or one whose files speak for themselves."""


def rows(*numbers: int) -> pa.Table:
    schema = pa.schema([("id", pa.int32()), ("name", pa.string())])
    return pa.table({"id": list(numbers), "name": ["n"] * len(numbers)}, schema=schema)


@pytest.fixture
def table(tmp_path: Path) -> str:
    made = Table(tmp_path / "table")
    made.create(SCHEMA, properties=PROPERTIES, features=["domainMetadata"], rows=rows(1, 2))
    made.append(rows(3))
    made.add_constraint("d", "1 = 1")
    return made.storage.location


@pytest.mark.parametrize("operation", sorted(WRITE_OPERATIONS - FRESH))
def test_every_operation_is_carried_out(table: str, operation: str) -> None:
    brings = rows(1, 9) if operation in ("append", "overwrite", "merge") else None
    answer = ours.create().run(Write(table, operation, ARGUMENTS[operation], brings))
    assert isinstance(answer, Ok)
    assert answer.payload == {"version": Table(table).latest_version()}
    assert bool(read_table(table).num_rows) == (operation != "replace")


def test_files_are_converted_and_listed_in_a_manifest(tmp_path: Path) -> None:
    root = tmp_path / "table"
    root.mkdir()
    pq.write_table(rows(1, 2), root / "x.parquet")
    for operation, arguments in (("convert", {"schema": SCHEMA}), ("generate_manifest", {})):
        answer = ours.create().run(Write(str(root), operation, arguments))
        assert answer == Ok({"version": 0})
    assert read_table(root).num_rows == 2
    [line] = (root / "_symlink_format_manifest" / "manifest").read_text().splitlines()
    assert line.endswith("/x.parquet")


def test_the_contract_has_the_operations_of_recipes_and_ours_claims_them_all() -> None:
    steps = json.loads(Path(schemas.__file__).with_name("kit").joinpath(STEPS).read_bytes())
    assert set(steps["properties"]["operation"]["enum"]) == WRITE_OPERATIONS
    assert ours.create().describe().claims.operations == WRITE_OPERATIONS | READ_OPERATIONS


@pytest.mark.parametrize("operation", sorted(WRITE_OPERATIONS))
def test_every_operation_may_stand_in_a_request(operation: str) -> None:
    request = {"id": 1, "request": "write", "table": "/t", "operation": operation, "arguments": {}}
    assert schemas.errors("kit/adapter-request", request) == []


def test_an_unknown_operation_is_refused(table: str) -> None:
    answer = ours.create().run(Write(table, "teleport"))
    assert isinstance(answer, Refused)
