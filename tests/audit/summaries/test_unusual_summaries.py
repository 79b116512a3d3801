"""Summaries that say the same as the log in other words, or as the text lets them, are no error."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Table

_NAME: Final = ".checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
_V2: Final = "r:v2Checkpoint"
_DAY: Final = 86_400_000


def _summary(lake: Any, *actions: Mapping[str, Any]) -> None:
    """Write a V2 checkpoint of the latest version in JSON."""
    mark = {"checkpointMetadata": {"version": lake.version}}
    lake.write(f"{lake.version:020d}{_NAME}", lake.lines((mark, *actions)))


def _respelled(lake: Any) -> None:
    """Give values of partitions and statistics in other texts."""
    of = {"d": "decimal(5,2)", "t": "timestamp"}
    fields = [lake.field(name, of.get(name, "double")) for name in ("x", *of)]
    table = lake.protocol(_V2), lake.metadata(*fields, partition=of)
    rows = pa.table({"x": [1.0, 2.5]})
    stats = {"numRecords": 2, "minValues": {"x": 1.0}, "maxValues": {"x": 2.5}}
    values = {"d": "1.50", "t": "2024-01-01T00:00:00Z"}
    added = lake.file("a", rows, partitionValues=values, stats=json.dumps(stats))
    lake.commit(*table, added)
    changed = {
        "partitionValues": {"d": "1.5", "t": "2024-01-01T00:00:00.000000Z"},
        "stats": json.dumps(stats | {"minValues": {"x": 1}}),
    }
    _summary(lake, *table, {"add": added["add"] | changed})


def _moments(lake: Any) -> None:
    """Keep what the text of a bound cuts off in its typed copy."""
    struct = {"checkpoint__writeStatsAsStruct": "true"}
    table = lake.protocol(_V2), lake.metadata(lake.field("t", "timestamp"), **struct)
    moment = "2024-01-01T00:00:00.123456Z"
    bounds = {kind: {"t": moment[:23] + "Z"} for kind in ("minValues", "maxValues")}
    stats = {"numRecords": 1, **bounds, "nullCount": {"t": 0}}
    rows = pa.table({"t": pa.array([1_704_067_200_123_456], pa.timestamp("us", "UTC"))})
    added = lake.file("a", rows, stats=json.dumps(stats))
    lake.commit(*table, added)
    parsed = stats | {kind: {"t": moment} for kind in bounds}
    _summary(lake, *table, {"add": added["add"] | {"stats_parsed": parsed}})


def _listed_once(lake: Any) -> None:
    """List a feature once that the log repeats."""
    twice, once = lake.protocol(_V2, "appendOnly", "appendOnly"), lake.protocol("appendOnly", _V2)
    lake.commit(twice, lake.metadata())
    _summary(lake, once, lake.metadata())


def _typed_in_json(lake: Any) -> None:
    """Leave the columns of typed copies out where there are no columns."""
    struct = {"checkpoint__writeStatsAsStruct": "true"}
    fields = lake.field("id"), lake.field("p", "string")
    table = lake.protocol(_V2), lake.metadata(*fields, partition=["p"], **struct)
    added = lake.file("a", pa.table({"id": [1]}), partitionValues={"p": "x"})
    lake.commit(*table, added)
    _summary(lake, *table, added)


def _expired(lake: Any, *, classic: bool) -> None:
    """Keep an expired tombstone beside a checkpoint that is without, or after one."""
    table = lake.protocol(_V2), lake.metadata()
    added, gone = lake.file("a"), lake.remove("b")
    lake.commit(*table, added, lake.file("b"))
    lake.commit(gone)
    mark = {"checkpointMetadata": {"version": lake.version}}
    lake.checkpoint([mark, *table, added])
    if not classic:
        lake.commit({"commitInfo": {}})
        for version in (0, 1):
            (lake.log / f"{version:020d}.json").unlink()
    _summary(lake, *table, added, gone)


def _old_hint(lake: Any, gone: int) -> None:
    """Leave a hint that names a checkpoint which a cleanup took, with the commits below one."""
    lake.basic()
    lake.checkpoint(lake.rows())
    lake.write("_last_checkpoint", json.dumps({"version": 1, "size": 5}))
    for version in range(gone):
        (lake.log / f"{version:020d}.json").unlink()


def _nothing_compacted(lake: Any) -> None:
    """Compact commits that have no action which is reconciled."""
    lake.basic()
    for _ in range(2):
        lake.commit({"commitInfo": {}})
    lake.write(f"{3:020d}.{4:020d}.compacted.json", "")


def _expired_within(lake: Any, *, before: bool = False, cut: bool = False) -> None:
    """Leave an expired tombstone out of a compaction, of a file that its range added."""
    kept, gone = lake.file("a"), lake.file("b")
    start = [lake.protocol(_V2), lake.metadata(), lake.file("c"), *([gone] if before else ())]
    lake.commit(*start)
    lake.commit(kept, gone)
    lake.commit(lake.remove("b"))
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines([kept]))
    if cut:
        lake.checkpoint(
            [{"checkpointMetadata": {"version": 0}}, *start], f"{0:020d}.checkpoint.parquet"
        )
        (lake.log / f"{0:020d}.json").unlink()


def _narrow(lake: Any, of: str) -> None:
    """Keep a narrow whole number in a typed copy that does not say how narrow it is."""
    table = lake.protocol(), lake.metadata(lake.field("id"), lake.field("p", of), partition=["p"])
    added = lake.file("a", pa.table({"id": [1]}), partitionValues={"p": "1"})
    lake.commit(*table, added)
    path = lake.checkpoint([*table, added])
    held = pq.read_table(path)
    add = held["add"].combine_chunks()
    typed = pa.array([{"p": 1}] * len(held), pa.struct([("p", pa.int32())]))
    parts = dict(zip(add.type.names, add.flatten(), strict=True))
    parts["partitionValues_parsed"] = typed
    wider = pa.StructArray.from_arrays([*parts.values()], [*parts], mask=add.is_null())
    pq.write_table(held.set_column(held.schema.get_field_index("add"), "add", wider), path)


def _ended_within(lake: Any, *, before: bool = False) -> None:
    """Leave the removal of a domain out of a compaction, whose range set it."""
    kept, domain = lake.file("a"), {"domain": "mine", "configuration": "1", "removed": False}
    start = {"domainMetadata": domain} if before else {"commitInfo": {}}
    lake.commit(lake.protocol("domainMetadata"), lake.metadata(), start)
    lake.commit({"domainMetadata": domain}, kept)
    lake.commit({"domainMetadata": {**domain, "removed": True}})
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines([kept]))


def _hinted(lake: Any, change: Callable[[dict[str, Any]], Any]) -> None:
    """Write a checkpoint and a hint that is changed."""
    lake.basic()
    Table(str(lake.root)).checkpoint()
    path = lake.log / "_last_checkpoint"
    hint = json.loads(path.read_text())
    change(hint)
    path.write_text(json.dumps(hint))


def _without_checksum(hint: dict[str, Any], **changes: Any) -> None:
    del hint["checksum"]
    hint |= changes


def _retained(lake: Any, interval: str) -> None:
    """Leave a tombstone out by a retention that has another form."""
    table = lake.protocol(_V2), lake.metadata(deletedFileRetentionDuration=interval)
    lake.commit(*table, lake.file("a"))
    lake.commit(lake.remove("a", deletionTimestamp=int(time.time() * 1000) - _DAY))
    _summary(lake, *table)


def _without_a_number(lake: Any, *, cut: bool) -> None:
    """Keep a bound by type for which JSON has no number."""
    table = lake.protocol(reader=1, writer=3), lake.metadata(lake.field("x", "double"))
    stats = {"numRecords": 1, "nullCount": {"x": 0}}
    nan = float("nan")
    added = lake.file("a", pa.table({"x": [nan]}), stats=json.dumps(stats))
    lake.commit(*table, added)
    parsed = stats | {"minValues": {"x": nan}, "maxValues": {"x": nan}}
    rows = [{"metaData": table[1]["metaData"]}, {"protocol": table[0]["protocol"]}, added]
    path = lake.checkpoint(rows)
    held = pq.read_table(path)
    bodies = [row and row | {"stats_parsed": parsed} for row in held["add"].to_pylist()]
    bounds = pa.struct({"x": pa.float64()})
    of = pa.struct(
        {"numRecords": pa.int64(), "minValues": bounds, "maxValues": bounds}
        | {"nullCount": pa.struct({"x": pa.int64()})}
    )
    fields = [f.with_type(of) if f.name == "stats_parsed" else f for f in held["add"].type]
    at = held.schema.get_field_index("add")
    pq.write_table(held.set_column(at, "add", pa.array(bodies, pa.struct(fields))), path)
    if cut:
        (lake.log / f"{0:020d}.json").unlink()


def _null_options(lake: Any) -> None:
    """Have null for the empty map of the options."""
    table = lake.protocol(_V2), lake.metadata()
    lake.commit(*table)
    body = table[1]["metaData"]
    _summary(lake, table[0], {"metaData": {**body, "format": {**body["format"], "options": None}}})


UNUSUAL: dict[str, Callable[[Any], None]] = {
    "a hint of one part": lambda x: _hinted(x, lambda hint: _without_checksum(hint, parts=1)),
    "a hint with a schema in another form": lambda x: _hinted(
        x, lambda hint: _without_checksum(hint, checkpointSchema={"columns": ["add"]})
    ),
    "a hint whose checksum is in capitals": lambda x: _hinted(
        x, lambda hint: hint.update(checksum=hint["checksum"].upper())
    ),
    "a retention in quotes": lambda x: _retained(x, "interval '1' hour"),
    "a retention in microseconds": lambda x: _retained(x, "interval 3600000000 microseconds"),
    "typed bounds of NaN": lambda x: _without_a_number(x, cut=False),
    "typed bounds of NaN without the log": lambda x: _without_a_number(x, cut=True),
    "options that a checkpoint has as null": _null_options,
    "values in other texts": _respelled,
    "a typed bound with microseconds": _moments,
    "a feature that is listed once": _listed_once,
    "a checkpoint in JSON without typed copies": _typed_in_json,
    "an expired tombstone that one of two checkpoints has": lambda x: _expired(x, classic=True),
    "an expired tombstone that an older checkpoint lacks": lambda x: _expired(x, classic=False),
    "a hint that names a checkpoint which is gone": lambda x: _old_hint(x, 2),
    "a hint whose checkpoint a cleanup took before its commit": lambda x: _old_hint(x, 1),
    "a compaction of nothing": _nothing_compacted,
    "a typed byte of 32 bits": lambda x: _narrow(x, "byte"),
    "a typed short of 32 bits": lambda x: _narrow(x, "short"),
    "a compaction without an expired tombstone of its range": _expired_within,
    "the same in a log that a cleanup cut": lambda x: _expired_within(x, cut=True),
    "a compaction without a domain that began and ended in its range": _ended_within,
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_no_error(name: str, lake: Any) -> None:
    UNUSUAL[name](lake)
    assert [each for each in lake.audit() if each.severity == "error"] == []


def test_a_young_tombstone_of_no_file_is_an_error_in_a_cleaned_log(lake: Any) -> None:
    table, added = (lake.protocol(_V2), lake.metadata()), lake.file("a")
    lake.commit(*table, added)
    lake.checkpoint([{"checkpointMetadata": {"version": 0}}, *table, added])
    lake.commit({"commitInfo": {}})
    (lake.log / f"{0:020d}.json").unlink()
    now = int(time.time() * 1000)
    _summary(lake, *table, added, lake.remove("b", deletionTimestamp=now - _DAY))
    assert ("CKPT-006", "error") in {(each.requirement, each.severity) for each in lake.audit()}


def test_a_compaction_of_nothing_is_an_error_where_there_was_something(lake: Any) -> None:
    lake.basic()
    lake.write(f"{1:020d}.{2:020d}.compacted.json", "")
    assert ("COMP-005", "error") in {(each.requirement, each.severity) for each in lake.audit()}


@pytest.mark.parametrize(
    ("leave", "broken"), [(_expired_within, "COMP-006"), (_ended_within, "DOM-014")]
)
def test_what_is_older_than_a_compaction_is_gone_by_it_alone(
    lake: Any, leave: Callable[..., None], broken: str
) -> None:
    leave(lake, before=True)
    assert (broken, "error") in {(each.requirement, each.severity) for each in lake.audit()}


@pytest.mark.parametrize("text", ["noon", "2024-13-01 00:00:00", "99999-01-01 00:00:00"])
def test_a_text_that_is_no_moment_differs_from_a_moment_without_zone(lake: Any, text: str) -> None:
    table = (
        lake.protocol(_V2),
        lake.metadata(lake.field("id"), lake.field("t", "timestamp"), partition=["t"]),
    )
    values = {"t": "2024-01-01 00:00:00"}
    added = lake.file("a", pa.table({"id": [1]}), partitionValues=values)
    lake.commit(*table, added)
    _summary(lake, *table, {"add": added["add"] | {"partitionValues": {"t": text}}})
    assert ("CKPT-005", "error") in {(each.requirement, each.severity) for each in lake.audit()}
