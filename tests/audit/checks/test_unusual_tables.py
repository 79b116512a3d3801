"""What the text allows, and few writers do, gives no error."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import drop_commits
from generators.oracle.delta_schema import field, struct
from reference_impl import Table

FEED = {"enableChangeDataFeed": "true"}
NOTHING = pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())})
STRUCT = {
    "type": "struct",
    "fields": [{"name": n, "type": "long", "nullable": True, "metadata": {}} for n in "pq"],
}
MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def _vendor_in_vector(lake: Any) -> None:
    vector = {**lake.vector([0]), "maxRowIndex": 0}
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    lake.commit(lake.file("a.parquet", deletionVector=vector))
    Table(str(lake.root)).checkpoint()


def _vendor_in_format(lake: Any) -> None:
    metadata = lake.metadata()
    metadata["metaData"]["format"]["vendor"] = 1
    lake.commit(lake.protocol(), metadata)
    Table(str(lake.root)).checkpoint()


def _change(
    lake: Any, rows: dict[str, Any], values: dict[str, str] | None = None
) -> dict[str, Any]:
    table = pa.table({**rows, "_change_type": ["delete"] * len(next(iter(rows.values())))})
    added = lake.file("_change_data/c.parquet", table, partitionValues=values or {})["add"]
    kept = ("path", "partitionValues", "size")
    return {"cdc": {**{name: added[name] for name in kept}, "dataChange": False}}


def _deleted(lake: Any, of: Any, held: pa.Array, changed: pa.Array) -> None:
    """Delete a file of one row, whose change file spells the row in another way."""
    lake.commit(lake.protocol(writer=4), lake.metadata(lake.field("v", of), **FEED))
    lake.commit(lake.file("a.parquet", pa.table({"v": held})))
    lake.commit(lake.remove("a.parquet"), _change(lake, {"v": changed}))


def _maps(lake: Any) -> None:
    of = pa.map_(pa.string(), pa.int64())
    held, turned = ([("x", 1), ("y", 2)], [("y", 2), ("x", 1)])
    _deleted(lake, MAP, pa.array([held], of), pa.array([turned], of))


def _structs(lake: Any) -> None:
    held, turned = (pa.struct([(n, pa.int64()) for n in names]) for names in ("pq", "qp"))
    row = {"p": 1, "q": 2}
    _deleted(lake, STRUCT, pa.array([row], held), pa.array([row], turned))


def _numbers(lake: Any) -> None:
    fields = lake.field("id"), lake.field("d", "decimal(5,2)")
    lake.commit(lake.protocol(writer=4), lake.metadata(*fields, partition=["d"], **FEED))
    rows = pa.table({"id": [1]})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"d": "1.50"}))
    lake.commit(lake.remove("a.parquet"), _change(lake, {"id": [1]}, {"d": "1.5"}))


def _changes_alone(lake: Any) -> None:
    lake.commit(lake.protocol(writer=4), lake.metadata(lake.field("id"), **FEED))
    table = pa.table({"id": [1, 1], "_change_type": ["update_preimage", "update_postimage"]})
    added = lake.file("_change_data/c.parquet", table)["add"]
    body = {name: added[name] for name in ("path", "partitionValues", "size")}
    lake.commit({"cdc": {**body, "dataChange": False}})


def _ids_before_mapping(lake: Any) -> None:
    lake.commit(lake.protocol(reader=2, writer=5), lake.metadata(lake.field("c-1")))
    added = lake.file("a.parquet")
    numbered = pa.schema([pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "17"})])
    pq.write_table(pa.table([[1]], schema=numbered), lake.root / "a.parquet")
    added["add"]["size"] = (lake.root / "a.parquet").stat().st_size
    added["add"]["stats"] = json.dumps({"numRecords": 1})
    lake.commit(added)
    mapped = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    lake.commit(lake.metadata(lake.column("x", 1), **mapped))


def _empty_goes(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", NOTHING, stats=...))
    lake.commit(lake.remove("a.parquet", dataChange=False))


def _empty_comes(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", NOTHING, stats=..., dataChange=False))


def _empty_of_append_only(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(appendOnly="true"))
    lake.commit(lake.file("a.parquet", NOTHING))
    lake.commit(lake.remove("a.parquet"))


def _folded_names(lake: Any) -> None:
    names = ("straße", "strasse")
    lake.commit(lake.protocol(), lake.metadata(*map(lake.field, names)))


def _defaults(lake: Any, *, later: bool) -> None:
    """Replace a table by one whose new column has a default, or give a column one later on."""
    new = lake.field("new")
    ruled = lake.field("new", CURRENT_DEFAULT="1")
    lake.commit(lake.protocol("allowColumnDefaults"), lake.metadata())
    lake.commit(lake.file("a.parquet"))
    if later:
        lake.commit(lake.metadata(lake.field("id"), lake.field("name", "string"), new))
        lake.commit(lake.metadata(lake.field("id"), lake.field("name", "string"), ruled))
    else:
        lake.commit(lake.metadata(ruled), lake.remove("a.parquet"))


def _day_of_a_session(lake: Any) -> None:
    """Generate the day of an instant in the zone of a session, west of UTC."""
    day = lake.field("d", "date", **{"delta.generationExpression": "CAST(t AS DATE)"})
    lake.commit(lake.protocol("generatedColumns"), lake.metadata(lake.field("t", "timestamp"), day))
    moment = datetime(2024, 1, 1, 2, 30, tzinfo=UTC)
    moments = pa.array([moment], pa.timestamp("us", "UTC"))
    lake.commit(lake.file("a.parquet", pa.table({"t": moments, "d": [date(2023, 12, 31)]})))


def _shredded_once(lake: Any) -> None:
    """Turn shredding off over a file that is shredded."""
    parts = pa.struct({"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.int64()})
    held = lake.field("v", "variant")
    lake.commit(
        lake.protocol("r:variantType", "r:variantShredding"),
        lake.metadata(held, enableVariantShredding="true"),
    )
    lake.commit(lake.file("a.parquet", pa.table({"v": pa.nulls(2, parts)})))
    lake.commit(lake.metadata(held, enableVariantShredding="false"))


MILLISECONDS = 1_700_000_000_000


def _microseconds_of_provenance(lake: Any) -> None:
    """Give the time in another unit, where the text leaves provenance to the writer."""
    info = {"inCommitTimestamp": MILLISECONDS, "timestamp": MILLISECONDS * 1000}
    metadata = lake.metadata(enableInCommitTimestamps="true")
    lake.commit({"commitInfo": info}, lake.protocol("inCommitTimestamp"), metadata)


def _replaced_by_a_clone(lake: Any) -> None:
    """Replace a mapped table by one that is older than its mapping, with its ids."""
    mapped = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "9"}
    lake.commit(lake.protocol(reader=2, writer=5), lake.metadata(lake.column("id", 1), **mapped))
    numbered = pa.schema([pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    lake.commit(lake.file("a.parquet", pa.table([[1]], schema=numbered)))
    others = (
        lake.field(
            name,
            **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name},
        )
        for number, name in ((1, "y"), (2, "z"))
    )
    lake.commit(lake.metadata(*others, **mapped), lake.remove("a.parquet"))


def _renamed_checkpoint(lake: Any, name: str, *, cleaned: bool = False) -> None:
    """Leave a checkpoint in the log as another tool would; ``cleaned``: beside a newer one."""
    lake.basic()
    Table(str(lake.root)).checkpoint()
    old = next(lake.log.glob("*.checkpoint.parquet"))
    (lake.log / "_last_checkpoint").unlink()
    old.rename(lake.log / name)
    if cleaned:
        lake.commit(lake.file("c.parquet"))
        Table(str(lake.root)).checkpoint()
        for version in range(3):
            (lake.log / f"{version:020d}.json").unlink()


def _rearranged(lake: Any, of: Any, held: pa.Array, kept: pa.Array) -> None:
    """Write the row of a file again, in another form."""
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", of)))
    lake.commit(lake.file("a.parquet", pa.table({"v": held})))
    added = lake.file("b.parquet", pa.table({"v": kept}), dataChange=False)
    lake.commit(lake.remove("a.parquet", dataChange=False), added)


def _moments(lake: Any) -> None:
    held, kept = (
        pa.array([{"p": datetime(2024, 1, 1, tzinfo=UTC)}], pa.struct([("p", pa.timestamp(*of))]))
        for of in (("us", "UTC"), ("ms", "+00:00"))
    )
    within = {**STRUCT["fields"][0], "type": "timestamp"}  # type: ignore[dict-item]
    _rearranged(lake, {"type": "struct", "fields": [within]}, held, kept)


def _ruled_later(lake: Any, **metadata: str) -> None:
    """Give a column a rule that older rows do not fulfil, and then remove them."""
    lake.commit(lake.protocol(writer=4), lake.metadata(lake.field("id"), lake.field("g")))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1], "g": [1]})))
    lake.commit(lake.file("b.parquet", pa.table({"id": [1], "g": [1]})))
    lake.commit(lake.metadata(lake.field("id"), lake.field("g", **metadata)))
    lake.commit(lake.remove("a.parquet"))


def _ruled_before_a_cleanup(lake: Any) -> None:
    """Clean up the log of a table whose rows are older than an invariant."""
    rule = {"delta.invariants": json.dumps({"expression": {"expression": "id > 1"}})}
    lake.commit(lake.protocol(), lake.metadata(lake.field("id")))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]})))
    lake.commit(lake.metadata(lake.field("id", **rule)))
    Table(str(lake.root)).checkpoint()
    lake.commit(lake.file("b.parquet", pa.table({"id": [2]})))
    for version in range(3):
        (lake.log / f"{version:020d}.json").unlink()


def _of_no_type(lake: Any, action: str, *path: str, of: pa.DataType) -> None:
    """Store what no row of a checkpoint has as a column of a type of its own."""
    properties = {"checkpoint__writeStatsAsStruct": "true"}
    lake.commit(lake.protocol(writer=3), lake.metadata(lake.field("id"), **properties))
    lake.commit(lake.file("a.parquet", pa.table({"id": pa.array([None], pa.int64())})))
    Table(str(lake.root)).checkpoint()
    file = next(lake.log.glob("*.checkpoint.parquet"))
    table = pq.read_table(file)
    position = table.schema.get_field_index(action)
    changed = _without_values(table.column(action).combine_chunks(), path, of)
    pq.write_table(table.set_column(position, action, changed), file)
    (lake.log / "_last_checkpoint").unlink()


def _without_values(values: Any, path: tuple[str, ...], of: pa.DataType) -> pa.Array:
    if not path:
        return pa.nulls(len(values), of)
    inner = {name: values.field(name) for name in values.type.names}
    nothing = pa.nulls(len(values), pa.struct([]))
    inner[path[0]] = _without_values(inner.get(path[0], nothing), path[1:], of)
    return pa.StructArray.from_arrays([*inner.values()], [*inner], mask=values.is_null())


def _of_another_type(lake: Any, *types: Any) -> None:
    """Give a column another type, of which no file has a value."""
    fields = ([lake.field("id"), lake.field("x", of)] for of in types)
    lake.commit(lake.protocol(), lake.metadata(*next(fields)))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]})))
    lake.commit(lake.metadata(*next(fields)))


def _no_longer_clustered(lake: Any) -> None:
    """Empty the columns that a table is clustered by, and then drop the feature."""
    columns = (json.dumps({"clusteringColumns": names}) for names in ([["id"]], []))
    domains = [
        {"domainMetadata": {"domain": "delta.clustering", "configuration": of, "removed": False}}
        for of in columns
    ]
    features = lake.protocol("clustering", "domainMetadata")
    lake.commit(features, lake.metadata(), domains[0])
    lake.commit(domains[1])
    lake.commit(lake.protocol("domainMetadata"))


def _bytes_of_a_partition(lake: Any) -> None:
    """Rearrange a file whose partition has its bytes as characters to one with escapes."""
    fields = lake.field("id"), lake.field("b", "binary")
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["b"]))
    rows = pa.table({"id": [1]})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"b": "\u0001"}))
    escaped = {"partitionValues": {"b": r"\u0001"}, "dataChange": False}
    lake.commit(lake.remove("a.parquet", dataChange=False), lake.file("b.parquet", rows, **escaped))


def _changed_beside(lake: Any, *beside: str) -> None:
    """Delete a row, and restate a file of other rows or remove one that is gone beside it."""
    lake.commit(lake.protocol(writer=4), lake.metadata(lake.field("v"), **FEED))
    rows = pa.table({"v": [1, 2]})
    stays = lake.file("stays.parquet", pa.table({"v": [7]}), stats=...)
    lake.commit(lake.file("a.parquet", rows), lake.file("gone.parquet", rows), stays)
    lake.commit(lake.remove("gone.parquet"))
    stays["add"]["stats"] = json.dumps({"numRecords": 1})
    others = {"restated": stays, "removed": lake.remove("gone.parquet")}
    lake.commit(
        lake.remove("a.parquet"),
        lake.file("b.parquet", pa.table({"v": [2]})),
        _change(lake, {"v": [1]}),
        *(others[each] for each in beside),
    )


def _changed_without_a_column(lake: Any) -> None:
    """Delete a row that is older than a column, which its change file lacks."""
    lake.commit(lake.protocol(writer=4), lake.metadata(lake.field("v"), **FEED))
    lake.commit(lake.file("a.parquet", pa.table({"v": [1]})))
    lake.commit(lake.metadata(lake.field("v"), lake.field("w"), **FEED))
    lake.commit(lake.remove("a.parquet"), _change(lake, {"v": [1]}))


def _old_vector(lake: Any, *, clone: bool) -> None:
    """Bring a vector back that a cleaned log has no more, or one of another table."""
    features = lake.protocol("r:deletionVectors")
    added = lake.file("a.parquet", deletionVector=lake.vector([0]))
    if clone:
        added["add"]["path"] = f"file://{lake.root}/a.parquet"
        lake.commit(features, lake.metadata(), added)
        return
    lake.commit(features, lake.metadata())
    lake.checkpoint([features, lake.metadata()])
    (lake.log / f"{0:020d}.json").unlink()
    lake.commit(added)


def _by_ids_later(lake: Any) -> None:
    """Have columns found by ids over a file that is older, and has none."""
    lake.commit(lake.protocol(reader=2, writer=5), lake.metadata(lake.field("c-1")))
    lake.commit(lake.file("a.parquet", pa.table({"c-1": [1]})))
    mapped = {"columnMapping__mode": "id", "columnMapping__maxColumnId": "1"}
    lake.commit(lake.metadata(lake.column("x", 1), **mapped))


def _mapped_no_longer(lake: Any) -> None:
    """Write files again under the names that columns have, as the mapping goes."""
    mapped = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    lake.commit(lake.protocol("r:columnMapping"), lake.metadata(lake.column("id", 1), **mapped))
    stored = pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    lake.commit(lake.file("a.parquet", pa.table([pa.array([1])], pa.schema([stored]))))
    new = lake.file("b.parquet", pa.table({"id": [1]}), dataChange=False)
    gone = lake.remove("a.parquet", dataChange=False)
    lake.commit(lake.metadata(lake.field("id")), gone, new)


def _ordered_by_sixteen_bits(lake: Any) -> None:
    """Give bounds of texts in the order of UTF-16."""
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", "string")))
    low, high = "\U0001f600", "\ufffd"
    stats = {"numRecords": 2, "minValues": {"v": low}, "maxValues": {"v": high}}
    lake.commit(lake.file("a.parquet", pa.table({"v": [low, high]}), stats=json.dumps(stats)))


def _partitioned_later(lake: Any) -> None:
    """Replace a table without partitions that is compatible with Iceberg by one that has some."""
    mapped = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    mapped["enableIcebergCompatV2"] = "true"
    lake.commit(
        lake.protocol("r:columnMapping", "icebergCompatV2"),
        lake.metadata(lake.column("id", 1), **mapped),
    )
    lake.commit(lake.metadata(lake.column("id", 1), partition=["id"], **mapped))


def _clustered_by_dots(lake: Any) -> None:
    """Name a nested clustering column by one text."""
    columns = json.dumps({"clusteringColumns": ["s.p"]})
    domain = {"domain": "delta.clustering", "configuration": columns, "removed": False}
    lake.commit(
        lake.protocol("clustering", "domainMetadata"),
        lake.metadata(lake.field("s", STRUCT)),
        {"domainMetadata": domain},
    )
    counted = {"numRecords": 1, "nullCount": {"s": {"p": 1}}}
    of = pa.struct([(n, pa.int64()) for n in "pq"])
    rows = pa.table({"s": pa.array([{"p": None, "q": 1}], of)})
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps(counted)))


def _free_provenance(lake: Any) -> None:
    """Store in provenance what the fields of features are called, where they are not on."""
    info = {"commitInfo": {"inCommitTimestamp": "noon", "txnId": 7}}
    lake.commit(info, lake.protocol(), lake.metadata())


def _decimals_as_texts(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", "decimal(5,2)")))
    bounds = {"minValues": {"v": "1.50"}, "maxValues": {"v": "2.0"}}
    rows = pa.table({"v": pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(5, 2))})
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps({"numRecords": 2, **bounds})))


def _parquet_in_capitals(lake: Any) -> None:
    metadata = lake.metadata()
    metadata["metaData"]["format"]["provider"] = "PARQUET"
    lake.commit(lake.protocol(), metadata, lake.file("a.parquet"))


def _copied_statistics(lake: Any, logged: str, held: str | None) -> None:
    """Have a checkpoint with the statistics of a file in another text."""
    protocol, metadata = lake.protocol(reader=1, writer=3), lake.metadata()
    [add] = lake.file("a.parquet", pa.table({"id": [1]})).values()
    lake.commit(protocol, metadata, {"add": {**add, "stats": logged}})
    lake.checkpoint([protocol, metadata, {"add": {**add, "stats": held}}])


def _ruled_by_a_lambda(lake: Any) -> None:
    rule = {"constraints__all": "forall(array(id), X -> x < id + 1)"}
    lake.commit(lake.protocol(reader=1, writer=3), lake.metadata(**rule))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]})))


def _required_later(lake: Any) -> None:
    """Require a column that a file lacks, all of whose rows a vector deletes."""
    features = lake.protocol("r:deletionVectors", "invariants")
    old = lake.metadata(lake.field("id"), enableDeletionVectors="true")
    rows, vector = pa.table({"id": [1, 2]}), lake.vector([0, 1])
    lake.commit(features, old, lake.file("a.parquet", rows))
    lake.commit(lake.remove("a.parquet"), lake.file("a.parquet", rows, deletionVector=vector))
    required = lake.field("n", nullable=False)
    lake.commit(lake.metadata(lake.field("id"), required, enableDeletionVectors="true"))


def _required_within(lake: Any, of: Any, stored: pa.DataType, values: list[Any]) -> None:
    """Require a field of structs that a file lacks, and has none of."""
    lake.commit(lake.protocol(), lake.metadata(lake.field("s", of)))
    lake.commit(lake.file("a.parquet", pa.table({"s": pa.array(values, stored)})))


def _required_partition(lake: Any) -> None:
    """Keep a file of no rows in a partition of null, which is required."""
    required = lake.field("p", "string", nullable=False)
    lake.commit(lake.protocol(), lake.metadata(lake.field("id"), required, partition=["p"]))
    rows = pa.table({"id": pa.array([], pa.int64())})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": None}))


def _removed_from_append_only(lake: Any) -> None:
    """Remove a file from an append-only table that it does not have."""
    lake.commit(lake.protocol(), lake.metadata(appendOnly="true"), lake.file("a.parquet"))
    lake.commit(lake.remove("b.parquet"))


def _mapped_without_columns(lake: Any) -> None:
    mapped = {"columnMapping__mode": "name"}
    metadata = lake.metadata(**mapped)
    metadata["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": []})
    lake.commit(lake.protocol("r:columnMapping"), metadata)


_REQUIRING = {
    "type": "struct",
    "fields": [{"name": n, "type": "long", "nullable": n == "p", "metadata": {}} for n in "pq"],
}
_ELEMENTS = {"type": "array", "elementType": _REQUIRING, "containsNull": True}
_LESS = pa.struct([("p", pa.int64())])

_COUNTED = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'

UNUSUAL: dict[str, Callable[[Any], None]] = {
    "statistics of a checkpoint in another order": lambda x: _copied_statistics(
        x, _COUNTED, json.dumps(dict(reversed(json.loads(_COUNTED).items())), indent=1)
    ),
    "statistics of nothing that a checkpoint leaves out": lambda x: _copied_statistics(
        x, "{}", None
    ),
    "statistics of nothing that a checkpoint has as they are": lambda x: _copied_statistics(
        x, '{"minValues":{}}', '{"minValues":{}}'
    ),
    "statistics of nothing that a checkpoint has as no text": lambda x: _copied_statistics(
        x, "{}", ""
    ),
    "a count that is null and that a checkpoint leaves out": lambda x: _copied_statistics(
        x, '{"numRecords":null}', None
    ),
    "a constraint with a variable in letters of another case": _ruled_by_a_lambda,
    "a vector with a field of a vendor": _vendor_in_vector,
    "a format with a field of a vendor": _vendor_in_format,
    "a change file with another order of a map's entries": _maps,
    "a change file with another order of a struct's fields": _structs,
    "a change file with another text of a number": _numbers,
    "an update that changes no value": _changes_alone,
    "files from before the mapping with ids of their own": _ids_before_mapping,
    "a file without rows that goes": _empty_goes,
    "a file without rows that comes": _empty_comes,
    "a file without rows that leaves an append-only table": _empty_of_append_only,
    "names that are alike by folding, and not in lower case": _folded_names,
    "a table that is replaced by one with a default": lambda x: _defaults(x, later=False),
    "a default that comes after its column": lambda x: _defaults(x, later=True),
    "a generated day in the zone of a session": _day_of_a_session,
    "a shredded file that is older than the property": _shredded_once,
    "a feature that is dropped of a table that is clustered no longer": _no_longer_clustered,
    "bytes of a partition that are rearranged to escapes": _bytes_of_a_partition,
    "another type of a column that no file has": lambda x: _of_another_type(x, "integer", "string"),
    "another type of elements that no file has": lambda x: _of_another_type(
        x,
        *(
            {"type": "array", "elementType": of, "containsNull": True}
            for of in ("integer", "string")
        ),
    ),
    "provenance with a time in microseconds": _microseconds_of_provenance,
    "a mapped table that a clone of an older one replaces": _replaced_by_a_clone,
    "a checkpoint that is being copied": lambda x: _renamed_checkpoint(
        x, f"{2:020d}.checkpoint.parquet._COPYING_"
    ),
    "a copy of a checkpoint": lambda x: _renamed_checkpoint(
        x, f"Copy of {2:020d}.checkpoint.parquet"
    ),
    "a file of another tool that a cleanup leaves": lambda x: _renamed_checkpoint(
        x, f"{2:020d}.checkpoint.first.parquet", cleaned=True
    ),
    "a minus zero that is rearranged to zero": lambda x: _rearranged(
        x, "double", pa.array([-0.0]), pa.array([0.0])
    ),
    "a point in time that is rearranged in another unit": _moments,
    "an invariant that is younger than rows": lambda x: _ruled_later(
        x, **{"delta.invariants": json.dumps({"expression": {"expression": "g > 1"}})}
    ),
    "an invariant that is younger than rows, in a log that begins later": _ruled_before_a_cleanup,
    "a generated column that is younger than rows": lambda x: _ruled_later(
        x, **{"delta.generationExpression": "id + 1"}
    ),
    "a file that is restated beside changes": lambda x: _changed_beside(x, "restated"),
    "a file that is gone and removed beside changes": lambda x: _changed_beside(x, "removed"),
    "a change file without a column of nulls": _changed_without_a_column,
    "a vector that a cleaned log has no more": lambda x: _old_vector(x, clone=False),
    "a vector of a table that was cloned": lambda x: _old_vector(x, clone=True),
    "files without ids from before the mapping by ids": _by_ids_later,
    "files that are written again as the column mapping goes": _mapped_no_longer,
    "bounds of texts in the order of UTF-16": _ordered_by_sixteen_bits,
    "a table of Iceberg's that is partitioned later": _partitioned_later,
    "a nested clustering column that is named by one text": _clustered_by_dots,
    "provenance that is called as the fields of features": _free_provenance,
    "bounds of decimals as texts": _decimals_as_texts,
    "a format that is called Parquet in capitals": _parquet_in_capitals,
    "a bound of no type": lambda x: _of_no_type(
        x, "add", "stats_parsed", "minValues", "id", of=pa.null()
    ),
    "a file without a required column, of which no row is left": _required_later,
    "a file without a required field, where all structs are null": lambda x: _required_within(
        x, _REQUIRING, _LESS, [None, None]
    ),
    "a file without a required field, where no array has a struct": lambda x: _required_within(
        x, _ELEMENTS, pa.list_(_LESS), [[], None, [None]]
    ),
    "a file without rows in a partition of null that is required": _required_partition,
    "a removal of what an append-only table does not have": _removed_from_append_only,
    "a table without columns that is mapped": _mapped_without_columns,
    "row ids that no row has, stored as doubles": lambda x: _of_no_type(
        x, "add", "baseRowId", of=pa.float64()
    ),
}


def test_a_file_that_the_log_forgot_may_be_restored(tmp_path: Path) -> None:
    properties = {"delta.enableRowTracking": "true"}
    table = TableBuilder(tmp_path, struct(field("id", "long")), properties=properties)
    table.create()
    table.append([{"id": 1}])
    table.overwrite([{"id": 2}])
    path = table.checkpoint(hint=False).files[0]
    drop_commits(tmp_path, table.version + 1)
    held = pq.read_table(path)
    # The tombstone has expired, and the file is still there.
    pq.write_table(held.filter(pc.is_null(held["remove"])), path, store_schema=False)
    table.append([{"id": 3}])
    table.restore(1)
    found = {(each.requirement, each.severity) for each in audit(str(tmp_path))}
    assert found == {("RT-039", "warning"), ("RT-040", "warning")}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_no_error(name: str, lake: Any) -> None:
    UNUSUAL[name](lake)
    assert [each for each in lake.audit() if each.severity == "error"] == []


@pytest.mark.parametrize("value", [{"p": 1}, {"p": None}])
def test_a_required_field_that_a_file_lacks_is_an_error_in_any_struct(
    lake: Any, value: Any
) -> None:
    _required_within(lake, _REQUIRING, _LESS, [None, value])
    assert ("SCH-025", "error") in {(each.requirement, each.severity) for each in lake.audit()}
