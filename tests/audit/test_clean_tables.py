"""Tables that break nothing give no findings, whatever forms and features they use."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from reference_impl import Table

CORPUS = Path(__file__).resolve().parents[2] / "golden-tables"
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def _checkpointed(lake: Any) -> None:
    lake.basic()
    rows = lake.rows()
    path = lake.checkpoint(rows)
    numbers = {"size": len(rows), "sizeInBytes": path.stat().st_size, "numOfAddFiles": 1}
    lake.write("_last_checkpoint", json.dumps({"version": 2, **numbers}))


def _cleaned_up(lake: Any) -> None:
    _checkpointed(lake)
    for version in range(3):
        (lake.log / f"{version:020d}.json").unlink()
    lake.commit(lake.file("c.parquet"))


def _only_a_checkpoint(lake: Any) -> None:
    _checkpointed(lake)
    for version in range(3):
        (lake.log / f"{version:020d}.json").unlink()


def _multipart(lake: Any) -> None:
    lake.basic()
    rows = lake.rows()
    # The hash of its path puts this file into the first of two parts.
    moved = [row for row in rows[2:] if row.get("add", {}).get("path") == "a.parquet"]
    first = [*rows[:2], *moved]
    for part, content in ((1, first), (2, [row for row in rows if row not in first])):
        lake.checkpoint(content, f"{2:020d}.checkpoint.{part:010d}.{2:010d}.parquet")
    hint = {"version": 2, "size": len(rows), "parts": 2}
    lake.write("_last_checkpoint", json.dumps(hint))


def _sidecars(lake: Any) -> None:
    protocol, metadata = lake.protocol("r:v2Checkpoint"), lake.metadata()
    lake.commit(protocol, metadata)
    add = lake.file("a.parquet")
    lake.commit(add)
    path = lake.checkpoint([add], "_sidecars/s.parquet")
    body = {"path": "s.parquet", "sizeInBytes": path.stat().st_size, "modificationTime": 0}
    lines = [{"checkpointMetadata": {"version": 1}}, protocol, metadata, {"sidecar": body}]
    lake.write(f"{1:020d}.checkpoint.{UUID}.json", lake.lines(lines))


def _compacted(lake: Any) -> None:
    lake.basic()
    lines = [row for row in lake.rows() if "metaData" not in row and "protocol" not in row]
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines(lines))


def _partitioned(lake: Any) -> None:
    fields = (lake.field("id"), lake.field("p", "date"), lake.field("q", "string"))
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["p", "q"]))
    rows = pa.table({"id": [1]})
    values = ({"p": "2020-01-01", "q": "a b"}, {"p": None, "q": ""})
    for number, value in enumerate(values):
        lake.commit(lake.file(f"p={number}/a.parquet", rows, partitionValues=value))


def _repartitioned(lake: Any) -> None:
    rows = pa.table({"id": [1]})
    lake.commit(lake.protocol(), lake.metadata(lake.field("id"), lake.field("p"), partition=["p"]))
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": "1"}))
    gone = lake.remove("a.parquet", partitionValues={"p": "1"})
    lake.commit(lake.metadata(lake.field("id"), lake.field("p")), gone)


def _deletion_vectors(lake: Any) -> None:
    protocol = lake.protocol("r:deletionVectors")
    lake.commit(protocol, lake.metadata(enableDeletionVectors="true"))
    lake.commit(lake.file("a.parquet"))
    first = lake.vector([0])
    lake.commit(lake.remove("a.parquet"), lake.file("a.parquet", deletionVector=first))
    second = lake.vector([0, 1])
    old = lake.remove("a.parquet", deletionVector=first)
    lake.commit(old, lake.file("a.parquet", deletionVector=second))


def _mapped(lake: Any) -> None:
    stored = pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([1])], schema=pa.schema([stored]))
    mapping = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    fields = (lake.column("id", 1), lake.column("p", 2, "string"))
    metadata = lake.metadata(*fields, partition=["p"], **mapping)
    lake.commit(lake.protocol("r:columnMapping"), metadata)
    stats = {"numRecords": 1, "minValues": {"c-1": 1}, "nullCount": {"c-1": 0}}
    values = {"c-2": "x"}
    lake.commit(lake.file("a.parquet", rows, partitionValues=values, stats=json.dumps(stats)))


def _all_dropped(lake: Any) -> None:
    """Drop the only data column, and with it all that the files hold."""
    _mapped(lake)
    mapping = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    lake.commit(lake.metadata(lake.column("p", 2, "string"), partition=["p"], **mapping))


def _dropped_before_cleanup(lake: Any) -> None:
    _all_dropped(lake)
    lake.checkpoint(lake.rows()[:1] + lake.rows()[2:])
    for version in range(3):
        (lake.log / f"{version:020d}.json").unlink()


def _legacy_mapping(lake: Any) -> None:
    metadata = lake.metadata(
        lake.column("id", 1), columnMapping__mode="name", columnMapping__maxColumnId="1"
    )
    lake.commit(lake.protocol(reader=2, writer=5), metadata)


def _timestamps(lake: Any) -> None:
    lake.commit(lake.protocol("domainMetadata"), lake.metadata())
    enabling = lake.metadata(
        enableInCommitTimestamps="true",
        inCommitTimestampEnablementVersion="1",
        inCommitTimestampEnablementTimestamp="50",
    )
    lake.commit(
        {"commitInfo": {"inCommitTimestamp": 50}},
        lake.protocol("domainMetadata", "inCommitTimestamp"),
        enabling,
    )
    lake.commit({"commitInfo": {"inCommitTimestamp": 51}})


def _row_tracking(lake: Any) -> None:
    metadata = lake.metadata(
        enableRowTracking="true",
        rowTracking__materializedRowIdColumnName="_id",
        rowTracking__materializedRowCommitVersionColumnName="_version",
    )
    lake.commit(lake.protocol("rowTracking", "domainMetadata"), metadata)
    for number, key in enumerate(("rowIdHighWaterMark", "highWaterMark")):
        ids = {"baseRowId": 2 * number, "defaultRowCommitVersion": number + 1}
        mark = {"domain": "delta.rowTracking", "removed": False}
        mark["configuration"] = json.dumps({key: 2 * number + 1})
        lake.commit(lake.file(f"{number}.parquet", **ids), {"domainMetadata": mark})


def _change_data(lake: Any) -> None:
    protocol = lake.protocol("changeDataFeed")
    lake.commit(protocol, lake.metadata(enableChangeDataFeed="true"))
    cdc = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}
    lake.commit(lake.file("a.parquet"), {"cdc": cdc})


def _null_provenance(lake: Any) -> None:
    """Any JSON may be stored as provenance, and null is some."""
    lake.basic().commit({"commitInfo": None}, lake.file("c.parquet"))


def _rearranged(lake: Any) -> None:
    lake.basic()
    lake.commit(
        lake.remove("a.parquet", dataChange=False), lake.file("c.parquet", dataChange=False)
    )
    lake.commit(lake.file("c.parquet", dataChange=False, tags={"a": "b"}))


def _append_only(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(appendOnly="true"))
    lake.commit(lake.file("a.parquet"))
    lake.commit(
        lake.remove("a.parquet", dataChange=False), lake.file("b.parquet", dataChange=False)
    )
    lake.commit(lake.metadata())
    lake.commit(lake.remove("b.parquet"))


def _escaped(lake: Any) -> None:
    lake.basic()
    add = lake.file("d e/ü%.parquet")
    add["add"]["path"] = "d%20e/%C3%BC%25.parquet"
    lake.commit(add)
    absolute = lake.file("f.parquet")
    absolute["add"]["path"] = f"file://{lake.root}/f.parquet"
    lake.commit(absolute)


def _unknown_parts(lake: Any) -> None:
    lake.basic()
    lake.commit({"futureAction": {"x": 1}}, {"add": lake.file("c.parquet")["add"] | {"future": 1}})
    lake.write("README", "foreign")
    lake.write("_staged.tmp", "foreign")


def _widened(lake: Any) -> None:
    changes = [{"fromType": "short", "toType": "long"}]
    metadata = lake.metadata(lake.field("id", "long", **{"delta.typeChanges": changes}))
    lake.commit(lake.protocol("r:typeWidening"), metadata)
    lake.commit(lake.file("a.parquet", pa.table({"id": pa.array([1], pa.int16())})))


def _int96(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(lake.field("t", "timestamp")))
    rows = pa.table({"t": pa.array([0], pa.timestamp("ns"))})
    add = lake.file("a.parquet", rows)
    pq.write_table(rows, lake.root / "a.parquet", use_deprecated_int96_timestamps=True)
    add["add"]["size"] = (lake.root / "a.parquet").stat().st_size
    stats = {"numRecords": 1, "minValues": {"t": "1970-01-01T00:00:00.000Z"}}
    add["add"]["stats"] = json.dumps(stats)
    lake.commit(add)


def _typed_checkpoint(lake: Any, text: str, moment: int, *, int96: bool = False) -> None:
    """Write a checkpoint whose typed copy of a timestamp ``text`` is ``moment``, in µs."""
    fields = (lake.field("id"), lake.field("t", "timestamp"))
    properties = {"checkpoint__writeStatsAsStruct": "true"}
    metadata = lake.metadata(*fields, partition=["t"], **properties)
    rows = pa.table({"id": [1]})
    actions = lake.file("a.parquet", rows, partitionValues={"t": text})
    lake.commit(lake.protocol(), metadata, actions)
    path = lake.checkpoint([lake.protocol(), metadata, actions])
    parsed = pa.struct([("t", pa.timestamp("us", None if int96 else "UTC"))])
    _retype(path, int96=int96, partitionValues_parsed=({"t": moment}, parsed))


def _retype(path: Path, *, int96: bool, **columns: tuple[Any, pa.DataType]) -> None:
    """Give the adds of a checkpoint columns of other types, each with one value."""
    table = pq.read_table(path)
    adds = table["add"].combine_chunks()
    held = {each.name: adds.field(each.name) for each in adds.type}
    for name, (value, of) in columns.items():
        held[name] = pa.array([value if add else None for add in adds.to_pylist()], of)
    typed = pa.StructArray.from_arrays([*held.values()], [*held], mask=adds.is_null())
    table = table.set_column(table.column_names.index("add"), "add", typed)
    pq.write_table(table, path, use_deprecated_int96_timestamps=int96)


def _int96_in_checkpoint(lake: Any) -> None:
    _typed_checkpoint(lake, "1970-01-02 00:00:00", 86_400_000_000, int96=True)


def _writers_zone(lake: Any) -> None:
    """Have partition values in the zone of who wrote them: 5:30 h ahead of UTC."""
    _typed_checkpoint(lake, "1970-01-02 05:30:00", 86_400_000_000)
    rows = pa.table({"id": [1]})
    gone = lake.file("b.parquet", rows, partitionValues={"t": "1970-01-02 00:00:00"})
    lake.commit(gone)
    lake.commit(lake.remove("b.parquet", partitionValues={"t": "1970-01-01T18:30:00Z"}))


def _distant(lake: Any) -> None:
    """Have moments before year 1 and after year 9999, in rows, statistics and checkpoints."""
    _typed_checkpoint(lake, "+10000-01-01T00:00:00Z", 253_402_300_800_000_000)
    low, high = -800_000, 3_000_000
    columns = {"d": pa.array([low, high], pa.date32()), "e": pa.array([high] * 2, pa.date32())}
    fields = lake.field("id"), lake.field("d", "date"), lake.field("e", "date")
    metadata = lake.metadata(*fields, partition=["e"], checkpoint__writeStatsAsStruct="true")
    bounds = {"minValues": {"d": "-0221-09-04"}, "maxValues": {"d": "+10183-09-21"}}
    added = lake.file(
        "b.parquet",
        pa.table({"id": [1, 2], **columns}),
        partitionValues={"e": "+10183-09-21"},
        stats=json.dumps({"numRecords": 2, **bounds, "nullCount": {"d": 0}}),
    )
    lake.commit(metadata, lake.remove("a.parquet"), added)
    path = lake.checkpoint([lake.protocol(), metadata, added])
    days = pa.struct({"d": pa.date32()})
    parsed = {"numRecords": 2, "minValues": {"d": low}, "maxValues": {"d": high}}
    kinds = pa.struct({"numRecords": pa.int64(), "minValues": days, "maxValues": days})
    values = {"e": high}, pa.struct({"e": pa.date32()})
    _retype(path, int96=False, stats_parsed=(parsed, kinds), partitionValues_parsed=values)


def _distant_in_the_file(lake: Any) -> None:
    """Have a partition column of a year beyond 9999 in the data file, as Iceberg needs it."""
    names = (("c-1", pa.int64()), ("c-2", pa.date32()))
    stored = [pa.field(name, of, metadata={"PARQUET:field_id": name[2:]}) for name, of in names]
    rows = pa.table([pa.array([1]), pa.array([3_000_000], pa.date32())], schema=pa.schema(stored))
    mapping = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    fields = (lake.column("id", 1), lake.column("p", 2, "date"))
    metadata = lake.metadata(*fields, partition=["p"], enableIcebergCompatV2="true", **mapping)
    lake.commit(lake.protocol("r:columnMapping", "icebergCompatV2"), metadata)
    values = {"c-2": "+10183-09-21"}
    lake.commit(lake.file("a.parquet", rows, partitionValues=values))


TABLES: dict[str, Callable[[Any], Any]] = {
    "basic": lambda lake: lake.basic(),
    "checkpointed": _checkpointed,
    "cleaned up": _cleaned_up,
    "only a checkpoint": _only_a_checkpoint,
    "multipart": _multipart,
    "sidecars": _sidecars,
    "compacted": _compacted,
    "partitioned": _partitioned,
    "repartitioned": _repartitioned,
    "deletion vectors": _deletion_vectors,
    "mapped": _mapped,
    "legacy mapping": _legacy_mapping,
    "timestamps": _timestamps,
    "row tracking": _row_tracking,
    "change data": _change_data,
    "null provenance": _null_provenance,
    "rearranged": _rearranged,
    "append only": _append_only,
    "escaped": _escaped,
    "unknown parts": _unknown_parts,
    "widened": _widened,
    "int96": _int96,
    "int96 in a checkpoint": _int96_in_checkpoint,
    "partition values in the writer's zone": _writers_zone,
    "moments beyond four digits of years": _distant,
    "such a moment in a column of Iceberg": _distant_in_the_file,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_valid_table_is_clean(name: str, lake: Any) -> None:
    TABLES[name](lake)
    assert lake.audit() == []


def _severities(lake: Any) -> dict[str, str]:
    return {found.requirement: found.severity for found in lake.audit()}


def test_all_columns_of_a_file_may_have_been_dropped(lake: Any) -> None:
    _all_dropped(lake)
    assert _severities(lake) == {"WCON-001": "info"}


def test_what_was_dropped_is_not_known_of_a_log_that_was_cleaned_up(lake: Any) -> None:
    _dropped_before_cleanup(lake)
    assert _severities(lake)["CM-013"] == "warning"


def _with_id(lake: Any, text: str) -> None:
    body = lake.metadata()["metaData"]
    lake.commit(lake.protocol(), {"metaData": body | {"id": text}})


def _dated(lake: Any, text: str, of: str = "timestamp") -> None:
    metadata = lake.metadata(lake.field("id"), lake.field("p", of), partition=["p"])
    rows = pa.table({"id": [1]})
    lake.commit(lake.protocol(), metadata)
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": text}))


def _hinted(lake: Any) -> None:
    _checkpointed(lake)
    text = json.dumps({"type": "struct", "fields": []})
    hint = {"version": 2, "size": len(lake.rows()), "checkpointSchema": text}
    lake.write("_last_checkpoint", json.dumps(hint))


def _timed(lake: Any) -> None:
    """Give a removal without a time one in the checkpoint."""
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet"))
    lake.commit(lake.remove("a.parquet", deletionTimestamp=None))
    lake.checkpoint([lake.protocol(), lake.metadata(), lake.remove("a.parquet")])


def _timeless(lake: Any, *kept: str) -> None:
    """Keep only some removals without a time in the checkpoint."""
    files = ("a.parquet", "b.parquet")
    metadata = lake.metadata(deletedFileRetentionDuration="interval 7 days")
    lake.commit(lake.protocol(), metadata)
    lake.commit(*map(lake.file, files))
    lake.commit(*(lake.remove(name, deletionTimestamp=None) for name in files))
    removes = [lake.remove(name, deletionTimestamp=None) for name in kept]
    lake.checkpoint([lake.protocol(), metadata, *removes])


def _unsupported_clustering(lake: Any) -> None:
    """Have a domain of clustering, in any form, where clustering is not supported."""
    body = {"domain": "delta.clustering", "configuration": "{}", "removed": False}
    lake.commit(lake.protocol("domainMetadata"), lake.metadata(), {"domainMetadata": body})


FREE: dict[str, Callable[[Any], object]] = {
    "a domain of clustering without the feature": _unsupported_clustering,
    "a table id without hyphens": lambda x: _with_id(x, "3f1c0a527a5d4d589a016f2b8f9f2a10"),
    "a timestamp of ISO 8601 without seconds": lambda x: _dated(x, "2024-01-05T10:20Z"),
    "a schema of the checkpoint as text": _hinted,
    "a removal whose time stands in the checkpoint alone": _timed,
    "one of two removals without a time is left out": lambda x: _timeless(x, "a.parquet"),
}
"""Forms that no sentence of the text excludes."""


@pytest.mark.parametrize("name", FREE)
def test_a_form_that_the_text_leaves_free_is_no_finding(name: str, lake: Any) -> None:
    FREE[name](lake)
    assert lake.audit() == []


def test_a_checksum_of_a_version_that_a_catalog_has_is_no_finding(tmp_path: Path) -> None:
    table = tmp_path / "table"
    copytree(CORPUS / "catalog-managed-tables" / "published-staged-inline" / "delta", table)
    (table / "_delta_log" / f"{8:020d}.crc").write_text("{}")
    assert list(audit(str(table))) == []


def _cut_off(lake: Any) -> None:
    """State the greatest string by its first letters, and do not raise them."""
    bounds = {"minValues": {"name": "a" * 32}, "maxValues": {"name": "z" * 32}}
    rows = pa.table({"id": [1, 2], "name": ["a" * 40, "z" * 40]})
    stats = json.dumps({"numRecords": 2, "nullCount": {"name": 0}, **bounds})
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", rows, stats=stats))


def _shorter_retention(lake: Any) -> None:
    """Leave out a tombstone of an hour, where the table does not say how long they stay."""
    now = int(time.time() * 1000)
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet"))
    lake.commit(lake.remove("a.parquet", deletionTimestamp=now - 3_600_000))
    lake.checkpoint([lake.protocol(), lake.metadata()])


def _underscored(lake: Any) -> None:
    """Name a directory after a partition column, as writers do by default."""
    schema = lake.field("id"), lake.field("_p", "string")
    rows = pa.table({"id": [1]})
    lake.commit(lake.protocol(), lake.metadata(*schema, partition=["_p"]))
    lake.commit(lake.file("_p=a/a.parquet", rows, partitionValues={"_p": "a"}))


def _other_transaction(lake: Any) -> None:
    """Name a transaction in the checksum, and something else in provenance, which is free."""
    lake.commit({"commitInfo": {"txnId": "mine"}}, lake.protocol(), lake.metadata())
    numbers = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    lake.write(
        f"{0:020d}.crc",
        json.dumps(
            {**lake.protocol(), "metadata": lake.metadata()["metaData"], **numbers, "txnId": "t"}
        ),
    )


def _null_beside(lake: Any) -> None:
    lake.basic().commit({"txn": None, **lake.file("c.parquet"), "remove": None})


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (_null_beside, {"LOG-004": "warning"}),
        (lambda x: _dated(x, "2024-1-5 1:2:3.5"), {"PART-006": "warning"}),
        (lambda x: _dated(x, "2024-1-5", "date"), {"PART-005": "warning"}),
        (_other_transaction, {"CRC-006": "warning"}),
        (_cut_off, {"STAT-012": "warning"}),
        (_shorter_retention, {"CKC-005": "warning", "CKPT-007": "warning"}),
        (_underscored, {"DATA-001": "warning"}),
    ],
)
def test_what_may_be_a_reading_of_the_text_is_a_warning(
    lake: Any, plant: Callable[[Any], None], expected: dict[str, str]
) -> None:
    plant(lake)
    assert _severities(lake) == expected


def _cases() -> list[Path]:
    return sorted(path.parent for path in CORPUS.glob("*/*/case.json"))


def test_the_corpus_is_there() -> None:
    assert len(_cases()) >= 60


def test_tables_of_other_writers_are_clean() -> None:
    found = {}
    for case in _cases():
        builder = json.loads((case / "case.json").read_text())["provenance"]["builder"]
        if builder != "kit":
            errors = [f for f in audit(str(case / "delta")) if f.severity == "error"]
            if errors:
                found[case.name] = errors
    assert found == {}


def test_a_restore_may_take_a_widening_back(tmp_path: Path) -> None:
    table = Table(tmp_path / "table")
    properties = {"delta.enableTypeWidening": "true"}
    narrow = pa.table({"n": pa.array([1, 2], pa.int32())})
    table.create(narrow.schema, properties=properties, rows=narrow)
    table.change_type(("n",), "long")
    table.append(pa.table({"n": pa.array([2**40], pa.int64())}))
    table.restore(0)
    assert [each for each in audit(str(tmp_path / "table")) if each.severity == "error"] == []
