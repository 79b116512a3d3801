"""What many files cost an audit: look-ups and reads that do not grow with the square of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from conformance.audit import audit
from conformance.audit.columnar.keys import FileIndex, _Dictionary
from conformance.audit.stored import places
from conformance.audit.stored.places import field_id
from conformance.audit.summaries.checksums import _binned
from reference_impl import Table
from reference_impl.write.checkpoints.write import Style

TEXTS = ["", "a", "b", "\u00e9", "\uffff", "\U0001f600", *(f"part={n}/x" for n in range(300))]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Keep the numbers of the bodies that each read of an index asks for."""
    asked: list[list[int]] = []
    bodies = FileIndex.bodies

    def counted(index: FileIndex, numbers: Any) -> Any:
        asked.append([*numbers])
        return bodies(index, numbers)

    monkeypatch.setattr(FileIndex, "bodies", counted)
    return asked


def test_texts_are_found_without_a_scan_of_all_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = []
    index = pc.index

    def counted(*given: Any) -> Any:
        scans.append(given)
        return index(*given)

    monkeypatch.setattr(pc, "index", counted)
    texts = np.random.default_rng(12).permutation(np.array(TEXTS, object)).tolist()
    held = _Dictionary(pa.array(texts, pa.large_string()))
    assert [held.code(text) for text in texts] == list(range(len(texts)))
    assert [held.code(text) for text in ("zz", "\0", "part=", "\U0010ffff")] == [-1] * 4
    assert len(scans) < 50


def test_unlike_files_are_read_many_at_a_time(tmp_path: Path, reads: list[list[int]]) -> None:
    table = Table(tmp_path / "t")
    table.create(pa.schema([("id", pa.int64())]), features=["v2Checkpoint"])
    log = tmp_path / "t" / "_delta_log"
    add: dict[str, Any] = {"partitionValues": {}, "size": 1, "modificationTime": 1}
    lines = [{"add": {**add, "path": f"x{n}", "dataChange": True, "odd": n}} for n in range(500)]
    (log / f"{1:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table.checkpoint(Style())
    audit(str(tmp_path / "t"), data=False)
    assert sum(map(len, reads)) > 500
    assert len(reads) < 50


def test_files_are_read_once_for_all_checksums(tmp_path: Path, reads: list[list[int]]) -> None:
    table = Table(tmp_path / "t")
    table.create(pa.schema([("id", pa.int64())]))
    log = tmp_path / "t" / "_delta_log"
    add = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    for version in range(1, 60):
        body = {**add, "path": f"x{version}"}
        (log / f"{version:020d}.json").write_text(json.dumps({"add": body}) + "\n")
        stated = {"tableSizeBytes": version, "numFiles": version, "numDeletedRecordsOpt": 0}
        (log / f"{version:020d}.crc").write_text(json.dumps(stated))
    found = {each.requirement for each in audit(str(tmp_path / "t"), data=False)}
    assert not found & {"CRC-007", "CRC-008", "CRC-019", "CRC-020"}
    assert sum(map(len, reads)) < 600


def test_bins_are_exact() -> None:
    numbers = np.array([-(2**63), -1, 0, 5, 5, 2**63 - 1, 2**63 - 1], np.int64)
    assert _binned([-(2**70), 0, 5, 2**62, 2**63], numbers) == [
        (2, -(2**63) - 1),
        (1, 0),
        (2, 10),
        (2, 2**64 - 2),
        (0, 0),
    ]
    assert _binned([2**64], numbers[:0]) == [(0, 0)]


def test_columns_are_found_without_a_look_at_all_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({f"c{n}": pa.array([n], pa.int64()) for n in range(300)})
    table = Table(tmp_path / "t")
    table.create(rows.schema, properties={"delta.columnMapping.mode": "id"})
    table.append(rows)
    looks = []

    def counted(field: pa.Field) -> int | None:
        looks.append(field.name)
        return field_id(field)

    monkeypatch.setattr(places, "field_id", counted)
    assert audit(str(tmp_path / "t")) == []
    assert 300 <= len(looks) < 3_000


@pytest.mark.parametrize("nested", ["long", "struct"])
def test_fields_of_a_struct_are_not_taken_out_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: str
) -> None:
    """Each costs as much as the struct has fields: many thousand cost the square of them."""
    taken = []
    struct_field = pc.struct_field

    def counted(*given: Any) -> Any:
        taken.append(given)
        return struct_field(*given)

    monkeypatch.setattr(pc, "struct_field", counted)
    leaf = pa.int64() if nested == "long" else pa.struct([("x", pa.int64())])
    wide = pa.struct([pa.field(f"c{n}", leaf, nullable=n % 2 == 0) for n in range(100)])
    value = 1 if nested == "long" else {"x": 1}
    rows = pa.table({"s": pa.array([{f"c{n}": value for n in range(100)}, None], wide)})
    table = Table(tmp_path / "t")
    table.create(rows.schema, properties={"delta.dataSkippingNumIndexedCols": "-1"})
    table.append(rows)
    log = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    actions = map(json.loads, log.read_text().splitlines())
    stats = next(json.loads(each["add"]["stats"]) for each in actions if "add" in each)
    assert len(stats["nullCount"]["s"]) == 100
    assert [str(found) for found in audit(str(tmp_path / "t"))] == []
    assert len(taken) < 20


def test_adds_of_small_commits_are_not_read_again_for_each_checkpoint(
    tmp_path: Path, reads: list[list[int]]
) -> None:
    table = Table(tmp_path / "t")
    table.create(pa.schema([("id", pa.int64())]))
    log = tmp_path / "t" / "_delta_log"
    add = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    for version in range(1, 31):
        body = {**add, "path": f"x{version}", "stats": '{"numRecords":1}'}
        (log / f"{version:020d}.json").write_text(json.dumps({"add": body}) + "\n")
        table.checkpoint(Style())
    assert [str(found) for found in audit(str(tmp_path / "t"), data=False)] == []
    assert sum(map(len, reads)) < 60


def test_vectors_of_one_path_are_not_looked_through_for_each_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken table may have any number of vectors of one path live at once."""
    table = Table(tmp_path / "t")
    table.create(
        pa.schema([("id", pa.int64())]), properties={"delta.enableDeletionVectors": "true"}
    )
    log = tmp_path / "t" / "_delta_log"
    vectors = [
        {
            "storageType": "p",
            "pathOrInlineDv": f"/v/{number}",
            "offset": 1,
            "sizeInBytes": 1,
            "cardinality": 1,
        }
        for number in range(900)
    ]
    body = {"path": "x", "partitionValues": {}, "size": 1, "dataChange": True}
    adds = [
        {"add": {**body, "modificationTime": 1, "deletionVector": vector}} for vector in vectors
    ]
    removes = [
        {"remove": {**body, "deletionTimestamp": 1, "deletionVector": vector}}
        for vector in vectors[600:]
    ]
    for version, lines in enumerate((adds[:300], adds[300:600], removes), 1):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (log / f"{version:020d}.json").write_text(text)
    asked = []
    right = FileIndex.key

    def counted(index: FileIndex, code: int) -> Any:
        asked.append(code)
        return right(index, code)

    monkeypatch.setattr(FileIndex, "key", counted)
    found = audit(str(tmp_path / "t"), data=False)
    assert {"FA-019", "DVD-018", "REM-014"} <= {each.requirement for each in found}
    assert len(asked) < 20_000
    assert max(len(each.message) for each in found) < 2_000
