"""An audit of a damaged table gives findings and never an exception."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import BOMBS

from conformance.audit import AuditError, audit
from conformance.audit.findings import SEVERITIES
from generators.materialise.data.legacy_parquet import edit_footer
from generators.materialise.data.thrift import Record

JUNK = (None, 0, -1, 2**70, 1.5, True, "", "%", "\x00", [], {}, [None], {"path": {}}, "9" * 30)
JUNK += (10**400, 1e300, "\ud800")


def _table(lake: Any) -> Path:
    """Build a table with every kind of log file."""
    lake.commit(
        {"commitInfo": {"inCommitTimestamp": 1}},
        lake.protocol("r:deletionVectors", "r:columnMapping", "rowTracking", "domainMetadata"),
        lake.metadata(
            lake.column("id", 1),
            lake.column("p", 2, "date"),
            partition=["p"],
            columnMapping__mode="name",
            columnMapping__maxColumnId="2",
            enableDeletionVectors="true",
        ),
        lake.file(
            "a.parquet",
            partitionValues={"c-2": "2020-01-01"},
            deletionVector=lake.vector([0]),
            baseRowId=0,
            defaultRowCommitVersion=0,
            stats='{"numRecords":2,"minValues":{"c-1":1},"nullCount":{"c-1":0}}',
        ),
        {
            "domainMetadata": {
                "domain": "delta.rowTracking",
                "configuration": "{}",
                "removed": False,
            }
        },
    )
    lake.commit(lake.remove("a.parquet"), {"txn": {"appId": "a", "version": 1}})
    actions = [
        json.loads(line)
        for version in range(2)
        for line in (lake.log / f"{version:020d}.json").read_text().splitlines()
    ]
    lake.write(f"{0:020d}.{1:020d}.compacted.json", lake.lines(actions))
    lake.checkpoint([a for a in actions if "protocol" in a or "metaData" in a])
    checksum = {"tableSizeBytes": 0, "numFiles": 0, "fileSizeHistogram": {}, "allFiles": actions}
    lake.write(f"{1:020d}.crc", json.dumps(checksum))
    lake.write("_last_checkpoint", '{"version":1,"size":2,"checksum":"x"}')
    return Path(lake.root)


def _holes(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node if isinstance(node, list) else ())
    )
    for key, child in items:
        found += _holes(child, (*path, key))
    return found


def _with(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = _with(node[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("version", [0, 1])
def test_junk_in_any_field_of_a_commit_is_survived(version: int, lake: Any) -> None:
    root = _table(lake)
    path = lake.log / f"{version:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    chooser = random.Random(version)  # noqa: S311  a fixed choice, not a secret
    for number, line in enumerate(lines):
        for hole in _holes(line):
            changed = _with(line, hole, chooser.choice(JUNK))
            path.write_text(lake.lines([*lines[:number], changed, *lines[number + 1 :]]))
            assert isinstance(audit(str(root), data=number % 4 == 3), list)


def test_junk_in_any_field_of_a_commit_with_changes_is_survived(lake: Any) -> None:
    """Change files are read beside data files: each is opened by what its action says."""
    lake.commit(lake.protocol(), lake.metadata(enableChangeDataFeed="true"))
    lake.commit(lake.file("a.parquet"))
    rows = pa.table({"id": [1, 2], "name": ["a", None], "_change_type": ["insert"] * 2})
    body = lake.file("_change_data/c.parquet", rows)["add"]
    lake.commit(lake.remove("a.parquet"), lake.file("b.parquet"), {"cdc": body})
    path = lake.log / f"{2:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        [(action, fields)] = line.items()
        for name in fields:
            for junk in JUNK:
                changed = {action: {**fields, name: junk}}
                path.write_text(lake.lines([*lines[:number], changed, *lines[number + 1 :]]))
                assert isinstance(audit(str(lake.root)), list)


@pytest.mark.parametrize("name", ["_last_checkpoint", f"{1:020d}.crc"])
def test_junk_in_any_field_of_a_summary_is_survived(name: str, lake: Any) -> None:
    root = _table(lake)
    path = lake.log / name
    document = json.loads(path.read_text())
    chooser = random.Random(name)  # noqa: S311  as above
    for hole in _holes(document):
        path.write_text(json.dumps(_with(document, hole, chooser.choice(JUNK))))
        assert audit(str(root), data=False)


def test_cut_and_flipped_bytes_are_survived(lake: Any, tmp_path: Path) -> None:
    root = _table(lake)
    chooser = random.Random(7)  # noqa: S311  as above
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for number, path in enumerate(files):
        for attempt in range(3):
            copy = tmp_path / f"copy-{number}-{attempt}"
            shutil.copytree(root, copy)
            data = bytearray(path.read_bytes())
            at = chooser.randrange(len(data))
            data[at:] = b"" if attempt == 0 else bytes([data[at] ^ 0x55]) + data[at + 1 :]
            (copy / path.relative_to(root)).write_bytes(data)
            assert isinstance(audit(str(copy)), list)


def test_a_place_without_a_log_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no commit and no checkpoint"):
        audit(str(tmp_path))
    with pytest.raises(AuditError, match=r"_delta_log, which is empty or not there$"):
        audit(str(tmp_path / "missing"))


def test_the_log_in_place_of_its_table_is_said(lake: Any) -> None:
    lake.basic()
    with pytest.raises(AuditError, match=r"; name the folder that it lies in$"):
        audit(f"{lake.root}/_delta_log/")


def test_findings_come_gravest_first(lake: Any) -> None:
    shared = lake.file("_change_data/c.parquet")
    lake.basic().commit(shared, {"cdc": shared["add"]}, lake.file("d.parquet", size=1))
    lake.commit(lake.file("e.parquet", pa.table({"id": [1], "own": [1]})))
    found = [finding.severity for finding in lake.audit()]
    assert found == sorted(found, key=SEVERITIES.index)
    assert {*found} == {*SEVERITIES}


def test_an_audit_changes_nothing(lake: Any) -> None:
    root = _table(lake)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    audit(str(root))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("rows", "found"), [(0, {"STAT-001"}), (1, {"STAT-001"}), (2**40, {"STAT-001", "META-012"})]
)
def test_a_footer_that_lies_about_its_rows_is_found_out(
    rows: int, found: set[str], lake: Any
) -> None:
    stats = json.dumps({"numRecords": 2, "nullCount": {"id": 0}})
    lake.basic().commit(lake.file("counted.parquet", stats=stats))

    def lie(footer: Record) -> None:
        for record in (footer, *footer.get(4).values):
            record.set(3, 6, rows)

    edit_footer(lake.root / "counted.parquet", lie)
    assert found <= {each.requirement for each in lake.audit()}


def test_a_checkpoint_beyond_the_limits_is_neither_read_nor_at_fault(tmp_path: Path) -> None:
    bomb = next(each for each in BOMBS if each.id == "checkpoint-of-one-long-path")
    bomb.build(tmp_path / "table")
    found = [each for each in audit(str(tmp_path / "table")) if each.limit]
    assert [(each.requirement, each.severity) for each in found] == [("CKPT-005", "warning")]
    assert found[0].limit == "checkpoint"


@pytest.mark.parametrize("twice", ["add", "metaData", "protocol", "remove"])
def test_a_checkpoint_with_a_column_twice_is_survived(twice: str, lake: Any) -> None:
    root = _table(lake)
    (path,) = lake.log.glob("*.checkpoint.parquet")
    held = pq.read_table(path)
    column = held.column(twice) if twice in held.column_names else pa.nulls(held.num_rows)
    pq.write_table(held.append_column(twice, column).append_column(twice, column), path)
    assert audit(str(root))


def test_a_great_many_repeated_keys_are_reported(lake: Any) -> None:
    keys = ",".join(f'"k{number // 2}":1' for number in range(40_000))
    lake.basic().write("_last_checkpoint", f'{{"version":2,"size":1,{keys}}}')
    assert sum("k19999" in found.message for found in lake.audit()) == 1


@pytest.mark.parametrize("twice", ["add", "add/path", "metaData/format/provider"])
def test_a_checkpoint_with_two_fields_of_one_name_is_reported(lake: Any, twice: str) -> None:
    lake.basic()
    path = lake.checkpoint(lake.rows())
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_batches([_twice(table.to_batches()[0], twice.split("/"))]), path)
    found = [each for each in lake.audit() if each.severity == "error"]
    assert any("two fields" in each.message for each in found)


def _twice(batch: Any, names: list[str]) -> Any:
    """Repeat a field of rows, or of a struct in them."""
    fields = batch.schema if isinstance(batch, pa.RecordBatch) else batch.type
    held = [*fields]
    columns = batch.columns if isinstance(batch, pa.RecordBatch) else batch.flatten()
    at = [each.name for each in held].index(names[0])
    if names[1:]:
        columns[at] = _twice(columns[at], names[1:])
        held[at] = pa.field(names[0], columns[at].type)
    else:
        held.append(held[at])
        columns.append(columns[at])
    if isinstance(batch, pa.RecordBatch):
        return pa.record_batch(columns, schema=pa.schema(held))
    return pa.StructArray.from_arrays(columns, fields=held, mask=batch.is_null())
