"""Checkpoints of every kind, and what becomes of a table when one is damaged."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from reference_impl.errors import (
    CheckpointFileNotFound,
    DuplicateAction,
    InvalidAction,
    InvalidCheckpoint,
    InvalidTableError,
    LimitExceeded,
)
from reference_impl.storage import LocalStorage

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


def _forget(log: Any, *versions: int) -> None:
    for version in versions:
        (log.directory / f"{version:020d}.json").unlink()


def _v2(log: Any) -> tuple[Any, Any]:
    return log.protocol(3, 7, ["v2Checkpoint"], ["v2Checkpoint"]), log.metadata()


def _identity(version: int) -> dict[str, Any]:
    return {"checkpointMetadata": {"version": version}}


def test_a_classic_checkpoint_stands_for_the_commits_before_it(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"))
    log.checkpoint(
        1,
        log.add("f", stats='{"numRecords":1}', partitionValues={"p": None}),
        log.add("g"),
        log.remove("old"),
        {"txn": {"appId": "x", "version": 4}},
        {"domainMetadata": {"domain": "d", "configuration": "c", "removed": False}},
    )
    log.commit(log.remove("g"), log.add("h"))
    _forget(log, 0, 1)
    snapshot = log.snapshot()
    assert log.paths() == ["f", "h"]
    assert log.dead() == ["g", "old"]
    assert snapshot.txns["x"].version == 4
    assert snapshot.domain_metadata["d"].configuration == "c"
    row = next(row for row in snapshot.adds().to_pylist() if row["path"] == "f")
    assert (row["stats"], row["partitionValues"]) == ('{"numRecords":1}', [("p", None)])
    assert log.paths(1) == ["f", "g"]


def test_a_checkpoint_newer_than_the_version_is_not_used(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.remove("f"))
    log.checkpoint(1)
    assert log.paths(0) == ["f"]


def test_absent_columns_count_as_null(log: Any) -> None:
    log.start()
    columns = {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string()}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": pa.map_(pa.string(), pa.string()),
            }
        ),
    }
    log.parquet(f"{0:020d}.checkpoint.parquet", log.protocol(), log.metadata(), columns=columns)
    _forget(log, 0)
    assert (log.paths(), log.dead()) == ([], [])


def test_wide_strings_and_narrow_integers_are_read(log: Any) -> None:
    log.start()
    text = pa.large_string()
    columns = {
        "add": pa.struct(
            {
                "path": text,
                "partitionValues": pa.map_(text, text),
                "size": pa.int32(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
                "novelty": pa.int64(),
            }
        ),
        "protocol": pa.struct({"minReaderVersion": pa.int64(), "minWriterVersion": pa.int64()}),
    }
    kinds = {kind: columns.get(kind) for kind in columns}
    types = log.types | kinds
    log.parquet(
        f"{0:020d}.checkpoint.parquet",
        log.protocol(),
        log.metadata(),
        log.add("f", partitionValues={"p": "1", "q": None}),
        columns=types,
    )
    _forget(log, 0)
    row = log.snapshot().adds().to_pylist()[0]
    assert row["partitionValues"] == [("p", "1"), ("q", None)]
    assert log.snapshot().adds().schema.field("size").type == pa.int64()


def test_statistics_held_only_as_a_struct_are_given_as_text(log: Any) -> None:
    log.start()
    values = pa.struct(
        {
            "i": pa.int64(),
            "d": pa.date32(),
            "t": pa.timestamp("us", "UTC"),
            "n": pa.timestamp("us"),
            "m": pa.decimal128(5, 2),
            "b": pa.binary(),
            "absent": pa.string(),
        }
    )
    parsed = pa.struct(
        {"numRecords": pa.int64(), "minValues": values, "nullCount": pa.struct({"i": pa.int64()})}
    )
    add = pa.struct([*log.types["add"], pa.field("stats_parsed", parsed)])
    moment = datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    smallest = {
        "i": 1,
        "d": date(2020, 1, 2),
        "t": moment,
        "n": moment.replace(tzinfo=None),
        "m": Decimal("1.50"),
        "b": b"\x00",
        "absent": None,
    }
    log.parquet(
        f"{0:020d}.checkpoint.parquet",
        log.protocol(),
        log.metadata(),
        log.add("f", stats_parsed={"numRecords": 2, "minValues": smallest, "nullCount": {"i": 0}}),
        log.add("g", stats='{"numRecords":9}', stats_parsed={"numRecords": 1}),
        log.add("h"),
        columns=log.types | {"add": add},
    )
    _forget(log, 0)
    table = log.snapshot().adds()
    stats = dict(zip(table["path"].to_pylist(), table["stats"].to_pylist(), strict=True))
    assert stats == {
        "f": '{"numRecords":2,"minValues":{"i":1,"d":"2020-01-02",'
        '"t":"2020-01-02T03:04:05.678901Z","n":"2020-01-02T03:04:05.678901","m":1.50},'
        '"nullCount":{"i":0}}',
        "g": '{"numRecords":9}',
        "h": None,
    }


def test_all_parts_of_a_checkpoint_are_read(log: Any) -> None:
    log.start()
    log.parquet(f"{0:020d}.checkpoint.{1:010d}.{3:010d}.parquet", log.add("f"))
    log.parquet(f"{0:020d}.checkpoint.{2:010d}.{3:010d}.parquet", log.protocol(), log.add("g"))
    log.parquet(f"{0:020d}.checkpoint.{3:010d}.{3:010d}.parquet", log.metadata())
    _forget(log, 0)
    assert log.paths() == ["f", "g"]


def test_an_incomplete_multi_part_checkpoint_is_ignored(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"))
    log.parquet(f"{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet", log.add("wrong"))
    log.parquet(f"{1:020d}.checkpoint.{2:010d}.{3:010d}.parquet", log.add("wrong"))
    assert log.paths() == ["f", "g"]


@pytest.mark.parametrize("encoding", ["json", "parquet"])
@pytest.mark.parametrize("sidecars", [0, 2])
def test_a_v2_checkpoint_is_read(log: Any, encoding: str, sidecars: int) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    files = [log.add("f"), log.add("g"), log.remove("old")]
    rows = [_identity(0), protocol, metadata, {"txn": {"appId": "x", "version": 1}}]
    if sidecars:
        for number, part in enumerate((files[:1], files[1:])):
            name = f"side car {number}.parquet"
            size = log.parquet(f"_sidecars/{name}", *part)
            body = {"path": f"side%20car%20{number}.parquet", "sizeInBytes": size}
            rows.append({"sidecar": body | {"modificationTime": 1}})
    else:
        rows += files
    name = f"{0:020d}.checkpoint.{UUID}.{encoding}"
    if encoding == "json":
        log.raw(name, log.lines(*rows))
    else:
        log.parquet(name, *rows)
    log.commit(log.remove("f"))
    _forget(log, 0)
    assert log.paths() == ["g"]
    assert log.paths(0) == ["f", "g"]
    assert log.dead() == ["f", "old"]
    assert log.snapshot().txns["x"].version == 1


def test_a_sidecar_may_be_named_by_an_absolute_path(log: Any) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    size = log.parquet("_sidecars/s.parquet", log.add("f"))
    uri = (log.directory / "_sidecars/s.parquet").as_uri()
    sidecar = {"sidecar": {"path": uri, "sizeInBytes": size, "modificationTime": 1}}
    rows = [_identity(0), protocol, metadata, sidecar]
    log.raw(f"{0:020d}.checkpoint.{UUID}.json", log.lines(*rows))
    _forget(log, 0)
    assert log.paths() == ["f"]


def test_a_sidecar_that_is_named_often_is_not_read_as_often(
    log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    size = log.parquet("_sidecars/s.parquet", log.add("f"))
    uri = (log.directory / "_sidecars/s.parquet").as_uri()
    named = [
        {"sidecar": {"path": path, "sizeInBytes": size, "modificationTime": 1}}
        for path in ("s.parquet", "%73.parquet", uri)
    ]
    rows = [_identity(0), protocol, metadata, *named * 500]
    log.raw(f"{0:020d}.checkpoint.{UUID}.json", log.lines(*rows))
    _forget(log, 0)
    opened: list[str] = []
    opens = LocalStorage.open_input
    monkeypatch.setattr(
        LocalStorage, "open_input", lambda self, path: opened.append(path) or opens(self, path)
    )
    with pytest.raises(DuplicateAction):
        log.paths()
    assert 0 < len(opened) < 10
    opened.clear()
    audit(str(log.directory.parent), data=False)
    assert 0 < len(opened) < 10


def test_an_empty_sidecar_that_is_named_20000_times_costs_no_more_than_one(
    log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata, log.add("f"))
    size = log.parquet("_sidecars/s.parquet", log.add("f"))
    pq.write_table(
        pq.read_table(log.directory / "_sidecars/s.parquet").slice(1),
        log.directory / "_sidecars/s.parquet",
    )
    sidecar = {"sidecar": {"path": "s.parquet", "sizeInBytes": size, "modificationTime": 1}}
    rows = [_identity(0), protocol, metadata, log.add("f"), *[sidecar] * 20_000]
    log.raw(f"{0:020d}.checkpoint.{UUID}.json", log.lines(*rows))
    _forget(log, 0)
    asked: list[str] = []

    def counted(name: str) -> Any:
        real = getattr(LocalStorage, name)
        return lambda self, path, *more: asked.append(path) or real(self, path, *more)

    for name in ("open_input", "head", "get_range"):
        monkeypatch.setattr(LocalStorage, name, counted(name))
    assert log.paths() == ["f"]
    audit(str(log.directory.parent), data=False)
    assert 0 < len([path for path in asked if "_sidecars" in path]) < 10


def test_a_classic_name_may_hold_v2_content(log: Any) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    size = log.parquet("_sidecars/s.parquet", log.add("f"))
    sidecar = {"sidecar": {"path": "s.parquet", "sizeInBytes": size, "modificationTime": 1}}
    log.parquet(f"{0:020d}.checkpoint.parquet", _identity(0), protocol, metadata, sidecar)
    _forget(log, 0)
    assert log.paths() == ["f"]


@pytest.mark.parametrize(
    ("name", "rows", "requirement"),
    [
        (f"{0:020d}.checkpoint.parquet", ["metaData"], "CKC-002"),
        (f"{0:020d}.checkpoint.parquet", ["protocol"], "CKC-003"),
        (f"{0:020d}.checkpoint.parquet", ["protocol", "protocol", "metaData"], "CKC-002"),
        (f"{0:020d}.checkpoint.parquet", ["protocol", "metaData", "sidecar"], "CKPT-V1-001"),
        (f"{0:020d}.checkpoint.{UUID}.parquet", ["protocol", "metaData"], "CKPT-015"),
        (f"{0:020d}.checkpoint.{UUID}.parquet", ["protocol", "metaData", "other"], "CKM-003"),
        (
            f"{0:020d}.checkpoint.{UUID}.parquet",
            ["protocol", "metaData", "identity", "identity"],
            "CKPT-V2-002",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_checkpoint_with_the_wrong_actions_is_refused(
    log: Any, name: str, rows: list[str], requirement: str
) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    actions = {
        "protocol": protocol,
        "metaData": metadata,
        "identity": _identity(0),
        "other": _identity(3),
        "sidecar": {"sidecar": {"path": "s", "sizeInBytes": 1, "modificationTime": 1}},
    }
    log.parquet(name, *(actions[row] for row in rows))
    # With the commit there, the table can be loaded without the checkpoint.
    assert log.paths() == []
    _forget(log, 0)
    with pytest.raises(InvalidCheckpoint) as caught:
        log.snapshot()
    assert caught.value.requirement == requirement


def test_v2_actions_in_several_parts_are_refused(log: Any) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata)
    log.parquet(f"{0:020d}.checkpoint.{1:010d}.{2:010d}.parquet", protocol, _identity(0))
    log.parquet(f"{0:020d}.checkpoint.{2:010d}.{2:010d}.parquet", metadata)
    _forget(log, 0)
    with pytest.raises(InvalidCheckpoint) as caught:
        log.snapshot()
    assert caught.value.requirement == "CKPT-026"


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1"])
def test_a_damaged_checkpoint_is_passed_over_where_the_log_allows(log: Any, damage: bytes) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"))
    log.checkpoint(0, log.add("f"))
    log.raw(f"{1:020d}.checkpoint.parquet", damage)
    log.hint(version=1, size=2)
    assert log.paths() == ["f", "g"]
    _forget(log, 0, 1)
    with pytest.raises(InvalidTableError):
        log.snapshot(1)


def test_a_checkpoint_that_grows_out_of_proportion_is_refused(log: Any) -> None:
    log.start()
    path = log.directory / f"{0:020d}.checkpoint.parquet"
    huge = pa.array(["x" * 1_000_000] * 80)
    pq.write_table(pa.table({"novelty": huge}), path, compression="zstd", use_dictionary=False)
    _forget(log, 0)
    with pytest.raises(LimitExceeded, match="bytes claim 80 rows"):
        log.snapshot()
    columns = {"protocol": log.types["protocol"]}
    rows = pa.table({kind: pa.nulls(500_000, of) for kind, of in columns.items()})
    pq.write_table(rows, path)
    with pytest.raises(LimitExceeded, match="bytes claim 500000 rows"):
        log.snapshot()


def test_a_long_string_that_many_rows_share_is_refused_before_it_fills_memory(log: Any) -> None:
    log.start()
    shared = log.add("f", stats="x" * 1_000_000)
    log.checkpoint(0, *({"add": shared["add"] | {"path": f"f{row}"}} for row in range(200)))
    assert (log.directory / f"{0:020d}.checkpoint.parquet").stat().st_size < 200_000
    _forget(log, 0)
    with pytest.raises(LimitExceeded, match="decompress to more than"):
        log.snapshot().adds()


@pytest.mark.parametrize("action", ["add", "txn"])
def test_text_that_is_no_utf_8_is_refused(log: Any, action: str) -> None:
    log.start()
    text = pa.array(["f"]).cast(pa.binary())
    broken = pa.StringArray.from_buffers(1, text.buffers()[1], pa.py_buffer(b"\xff"))
    whole = {"add": log.add("f"), "txn": {"txn": {"appId": "f", "version": 1}}}[action]
    log.checkpoint(0, whole)
    path = log.directory / f"{0:020d}.checkpoint.parquet"
    table = pq.read_table(path)
    chunk = table[action].combine_chunks()
    name = {"add": "path", "txn": "appId"}[action]
    fields = {field.name: chunk.field(field.name) for field in chunk.type}
    fields[name] = pa.concat_arrays([pa.nulls(2, pa.string()), broken])
    damaged = pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=chunk.is_null())
    pq.write_table(table.set_column(table.column_names.index(action), action, damaged), path)
    _forget(log, 0)
    with pytest.raises(InvalidTableError, match="cannot be read"):
        log.snapshot().adds()


def test_two_columns_of_one_name_are_refused(log: Any) -> None:
    log.start()
    path = log.directory / f"{0:020d}.checkpoint.parquet"
    rows = [log.protocol()["protocol"], None]
    column = pa.array(rows, log.types["protocol"])
    pq.write_table(pa.table([column, column], ["protocol", "protocol"]), path)
    assert log.paths() == []
    _forget(log, 0)
    with pytest.raises(InvalidCheckpoint, match="two columns 'protocol'"):
        log.snapshot()


TWICE = [("p", "1"), ("q", "2"), ("p", "3")]
"""Pairs of a map; Parquet's definition of its type MAP has the last value of a key count."""


@pytest.mark.parametrize("before", [0, 1, 3], ids=["alone", "after one", "after others"])
@pytest.mark.parametrize("after", [0, 2], ids=["last", "before others"])
def test_the_last_value_of_a_key_that_a_map_repeats_counts(
    log: Any, before: int, after: int
) -> None:
    log.start()
    others = [log.add(f"f{n}", partitionValues={"p": "1"}) for n in range(before + after)]
    odd = log.add("f", partitionValues=TWICE)
    log.checkpoint(0, *others[:before], odd, *others[before:])
    _forget(log, 0)
    adds = log.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    found = {add["path"]: add["partitionValues"] for add in adds}
    assert found.pop("f") == {"p": "3", "q": "2"}
    assert list(found.values()) == [{"p": "1"}] * len(others)


def test_every_map_may_repeat_its_key(log: Any) -> None:
    log.start()
    log.checkpoint(
        0, *(log.add(f"f{n}", partitionValues=[("p", "1"), ("p", str(n))]) for n in (4, 5))
    )
    _forget(log, 0)
    adds = log.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert {add["path"]: add["partitionValues"] for add in adds} == {
        "f4": {"p": "4"},
        "f5": {"p": "5"},
    }


def test_a_key_is_repeated_among_many(log: Any) -> None:
    log.start()
    many = [(f"k{n % 97}", str(n)) for n in range(100)]
    log.checkpoint(0, log.add("f", partitionValues=many), log.add("g", partitionValues={"k": "1"}))
    _forget(log, 0)
    adds = log.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert [add["partitionValues"] for add in adds] == [dict(many), {"k": "1"}]


def test_the_last_value_of_a_property_that_is_repeated_counts(log: Any) -> None:
    log.start()
    twice = [("delta.appendOnly", "true"), ("own", "1"), ("delta.appendOnly", "false")]
    metadata = log.metadata()
    metadata["metaData"]["configuration"] = twice
    metadata["metaData"]["format"]["options"] = [("a", "1"), ("a", "2")]
    log.parquet(f"{0:020d}.checkpoint.parquet", log.protocol(), metadata)
    _forget(log, 0)
    found = log.snapshot().metadata
    assert found.configuration == {"delta.appendOnly": "false", "own": "1"}


def test_keys_that_maps_share_are_no_repetition(log: Any) -> None:
    log.start()
    values = [{"p": "1", "q": "2"}, {"q": "2", "p": "1"}, {"p": "1"}, {}]
    log.checkpoint(0, *(log.add(f"f{i}", partitionValues=v) for i, v in enumerate(values)))
    _forget(log, 0)
    assert log.paths() == ["f0", "f1", "f2", "f3"]


def test_a_missing_sidecar_is_not_found_unless_the_log_does_without(log: Any) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata, log.add("f"))
    sidecar = {"sidecar": {"path": "gone.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    rows = [_identity(0), protocol, metadata, sidecar]
    log.raw(f"{0:020d}.checkpoint.{UUID}.json", log.lines(*rows))
    assert log.paths() == ["f"]
    _forget(log, 0)
    with pytest.raises(CheckpointFileNotFound, match="gone"):
        log.snapshot().adds()


@pytest.mark.parametrize("field", ["path", "partitionValues", "size", "dataChange"])
def test_an_add_without_a_required_field_is_refused(log: Any, field: str) -> None:
    log.start()
    log.checkpoint(0, log.add("good"), log.add("bad", **{field: ...}))
    _forget(log, 0)
    with pytest.raises(InvalidAction, match=f"add.{field} is missing"):
        log.snapshot().adds()


def test_a_column_of_a_wrong_type_is_refused(log: Any) -> None:
    log.start()
    fields = {field.name: field.type for field in log.types["add"]}
    add = pa.struct(fields | {"size": pa.string()})
    log.parquet(
        f"{0:020d}.checkpoint.parquet",
        log.protocol(),
        log.metadata(),
        log.add("f", size="1"),
        columns=log.types | {"add": add},
    )
    _forget(log, 0)
    with pytest.raises(InvalidAction, match=r"add\.size is not an integer"):
        log.snapshot().adds()


def test_an_empty_descriptor_is_no_vector(log: Any) -> None:
    log.start()
    nulls = dict.fromkeys(("storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"))
    blank = {"storageType": "", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}
    log.checkpoint(
        0,
        log.add("f", deletionVector=nulls),
        log.add("g", deletionVector=blank),
        log.add("h", deletionVector=log.vector("v")),
        log.add("i"),
    )
    _forget(log, 0)
    log.commit(log.remove("f"))
    table = log.snapshot().adds()
    vectors = dict(zip(table["path"].to_pylist(), table["deletionVector"].to_pylist(), strict=True))
    assert {path: vector is None for path, vector in vectors.items()} == {
        "g": True,
        "h": False,
        "i": True,
    }


def test_a_vector_without_a_required_field_is_refused(log: Any) -> None:
    log.start()
    log.checkpoint(0, log.add("f", deletionVector=log.vector("v") | {"cardinality": None}))
    _forget(log, 0)
    with pytest.raises(InvalidAction, match="cardinality is missing"):
        log.snapshot().adds()


def test_a_descriptor_of_a_cardinality_alone_does_not_bring_deleted_rows_back(log: Any) -> None:
    log.start()
    alone = dict.fromkeys(log.vector("v")) | {"cardinality": 2}
    log.checkpoint(0, log.add("f", deletionVector=alone))
    _forget(log, 0)
    with pytest.raises(InvalidAction, match="storageType is missing"):
        log.snapshot().adds()


def test_several_checkpoints_of_one_version_agree(log: Any) -> None:
    protocol, metadata = _v2(log)
    log.commit(protocol, metadata, log.add("f"))
    rows = [_identity(0), protocol, metadata, log.add("f")]
    log.parquet(f"{0:020d}.checkpoint.{UUID}.parquet", *rows)
    log.raw(f"{0:020d}.checkpoint.{UUID.replace('3', '4')}.json", log.lines(*rows))
    log.parquet(f"{0:020d}.checkpoint.parquet", *rows)
    _forget(log, 0)
    while True:
        assert log.paths() == ["f"]
        checkpoint = log.snapshot().segment.checkpoint
        (log.directory / checkpoint.files[0].name).unlink()
        if not list(log.directory.glob("*.checkpoint.*")):
            break
