"""The example adapter in Java, run as any other program: through ``cmd:``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter, Ok, Refused, Scan, Snapshot
from conformance.workers.resolve import resolve

PROGRAM = Path(__file__).parents[3] / "docs" / "examples" / "SnapshotReader.java"
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": "é\n", "type": "long", "nullable": True, "metadata": {}}],
    }
)
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {
    "metaData": {
        "id": "1",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": SCHEMA,
        "partitionColumns": [],
        "configuration": {"delta.appendOnly": "true"},
        "createdTime": 9007199254740993,
    }
}


@pytest.fixture(scope="module")
def program() -> Iterator[Adapter]:
    adapter = resolve(f"cmd:java {PROGRAM}")
    yield adapter
    adapter.close()


def table(root: Path, *commits: list[Any]) -> str:
    log = root / "_delta_log"
    log.mkdir()
    for version, actions in enumerate(commits):
        text = "\n".join(json.dumps(action) for action in actions)
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")
    return str(root)


def test_it_describes_itself(program: Adapter) -> None:
    described = program.describe()
    assert described.name == "snapshot-reader"
    assert described.claims.operations == {"snapshot"}
    assert described.claims.reader_version == 1


def test_it_reads_every_version_of_a_table(program: Adapter, tmp_path: Path) -> None:
    renamed = {"metaData": {**METADATA["metaData"], "name": "later"}}
    path = table(tmp_path, [PROTOCOL, METADATA], [{"unknown": {"deep": [1, None]}}, renamed])
    answers = [program.run(Snapshot(path, version)) for version in (0, None)]
    assert answers == [
        Ok({"version": 0, "protocol": PROTOCOL["protocol"], "metadata": METADATA["metaData"]}),
        Ok({"version": 1, "protocol": PROTOCOL["protocol"], "metadata": renamed["metaData"]}),
    ]


@pytest.mark.parametrize(
    ("commits", "version", "kind"),
    [
        ([[PROTOCOL]], None, "invalid_table"),
        ([[METADATA]], None, "invalid_table"),
        ([[PROTOCOL, METADATA, [1]]], None, "invalid_table"),
        ([[PROTOCOL, METADATA, {"add": {"path": 1}}]], None, "invalid_table"),
        ([[PROTOCOL, METADATA]], 5, "not_found"),
        (
            [[{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}, METADATA]],
            None,
            "unsupported",
        ),
    ],
)
def test_it_refuses_and_says_why(
    program: Adapter, tmp_path: Path, commits: list[Any], version: int | None, kind: str
) -> None:
    answer = program.run(Snapshot(table(tmp_path, *commits), version))
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.stage) == (kind, "load")


def test_it_refuses_what_it_does_not_claim(program: Adapter, tmp_path: Path) -> None:
    answer = program.run(Scan(table(tmp_path, [PROTOCOL, METADATA])))
    assert isinstance(answer, Refused)
    assert answer.kind == "unsupported"
