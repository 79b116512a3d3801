"""Tables that another writer committed anything to, and everything that one may do with them.

A variant changes the actions of one commit, which is planted behind the commits of a table that
this writer made.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from reference_impl import DeltaError, Sql, Table, When
from reference_impl.write.checkpoints.write import Style

Actions = dict[str, Any]
"""The actions of the planted commit: wire name to body, ``domainMetadata`` and ``add`` to lists."""

Variant = Callable[[Actions], None]

SCHEMA: Final = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32())])
DIGITS: Final = "9" * 5000
NUMBERS: Final = (
    "0",
    "-1",
    "2147483647",
    "2147483648",
    str(2**63 - 1),
    str(2**63),
    DIGITS,
    "x",
    "",
)
TEXTS: Final = (*NUMBERS, "true", "id", "part", "name", "v2", "{}", "[" * 200, "\0", "\u00e9`\"'\n")
VALUES: Final = (
    None, True, 0, -1, 2**31, 2**63 - 1, 2**64 - 1, 1.5, "", "x", "9" * 500, [], {}, [[]],
    {"a": {"b": []}}, [1, "x"], {"fromType": "x"}, [{"fromType": "integer"}],
    [{"fromType": 5, "toType": []}], {"n": 1},
)  # fmt: skip
PROPERTIES: Final = (
    "delta.appendOnly",
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.checkpointInterval",
    "delta.checkpointPolicy",
    "delta.columnMapping.maxColumnId",
    "delta.columnMapping.mode",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.deletedFileRetentionDuration",
    "delta.enableChangeDataFeed",
    "delta.enableDeletionVectors",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.inCommitTimestampEnablementVersion",
    "delta.logRetentionDuration",
    "delta.parquet.compression.codec",
    "delta.parquet.format.version",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTrackingSuspended",
    "delta.constraints.c",
)
COLUMN_KEYS: Final = (
    "CURRENT_DEFAULT",
    "comment",
    "delta.columnMapping.id",
    "delta.columnMapping.nested.ids",
    "delta.columnMapping.physicalName",
    "delta.generationExpression",
    "delta.identity.allowExplicitInsert",
    "delta.identity.highWaterMark",
    "delta.identity.start",
    "delta.identity.step",
    "delta.invariants",
    "delta.typeChanges",
)
EXPRESSIONS: Final = (
    "id", "n + 1", "id > 0", "part || 'x'", "1 / 0", "CAST('x' AS INT)", "(", "missing", "NULL",
    "id = part", "", "array(1)", "date '0000-00-00'", "'\ud7ff'", "9" * 400, "id.x", "n.y > 1",
)  # fmt: skip
NAMES: Final = (
    "", "a.b", "`", "\n", "\0", "ID", "_change_type", "_row_id", "_metadata", "x" * 5000, "\u3042",
    "__index_level_0__", "element", " ", "part",
)  # fmt: skip
STATISTICS: Final = (
    "", "{", "[]", "null", "5", '{"numRecords":-1}', '{"numRecords":1e30}', '{"numRecords":"3"}',
    '{"numRecords":9223372036854775807}', '{"numRecords":9223372036854775808}',
    '{"numRecords":3,"minValues":{"id":1e999999999999999999999}}', '{"numRecords":' + DIGITS + "}",
    '{"numRecords":3,"minValues":5,"maxValues":[],"nullCount":"x"}',
    '{"numRecords":3,"nullCount":{"id":{"x":1}}}', '{"a":' + "[" * 800 + "]" * 800 + "}",
    '{"a":' + '{"a":' * 3000 + "1" + "}" * 3001, '{"numRecords":3,"minValues":{"n":"\\ud800"}}',
    '{"numRecords":3,"tightBounds":7}', '{"numRecords":3,"minValues":{"id":NaN}}',
)  # fmt: skip
DOMAINS: Final = (
    "", "{", "[]", "5", "null", '{"rowIdHighWaterMark":-5}',
    '{"rowIdHighWaterMark":' + DIGITS + "}",
    '{"rowIdHighWaterMark":9223372036854775807}', '{"rowIdHighWaterMark":9223372036854775808}',
    '{"rowIdHighWaterMark":"3"}', '{"clusteringColumns":[["id"]]}', '{"clusteringColumns":5}',
    '{"clusteringColumns":[[]]}', '{"clusteringColumns":[[["id"]]]}', '{"clusteringColumns":[5]}',
    '{"clusteringColumns":{"id":1}}', '{"clusteringColumns":["\\ud800"]}', "[" * 3000,
    '{"clusteringColumns":[["id"]],"x":' + "[" * 900 + "]" * 900 + "}",
    '{"clusteringColumns":[["id"]],"x":"\\ud800"}',
)  # fmt: skip


def _configured(name: str, value: str) -> Variant:
    def change(actions: Actions) -> None:
        actions["metaData"]["configuration"][name] = value

    return change


def with_schema(change: Callable[[dict[str, Any]], None]) -> Variant:
    """Change the schema, given as decoded JSON."""

    def planted(actions: Actions) -> None:
        schema = json.loads(actions["metaData"]["schemaString"])
        if schema["fields"]:
            change(schema)
        actions["metaData"]["schemaString"] = json.dumps(schema)

    return planted


def _annotated(column: int, key: str, value: Any) -> Variant:
    return with_schema(lambda schema: schema["fields"][column]["metadata"].update({key: value}))


def _renamed(name: str) -> Variant:
    return with_schema(lambda schema: schema["fields"][2].update(name=name))


def nested(kind: str, depth: int) -> Any:
    """Return a type that is nested so deep."""
    of: Any = "integer"
    for _ in range(depth):
        match kind:
            case "array":
                of = {"type": "array", "elementType": of, "containsNull": True}
            case "map":
                of = {"type": "map", "keyType": "string", "valueType": of}
            case _:
                inner = {"name": "x", "type": of, "nullable": True, "metadata": {}}
                of = {"type": "struct", "fields": [inner]}
    return of


def _deep(kind: str, depth: int) -> Variant:
    def change(schema: dict[str, Any]) -> None:
        column = {"name": "deep", "type": nested(kind, depth), "nullable": True, "metadata": {}}
        schema["fields"].append(column)

    return with_schema(change)


def _typed(of: Any) -> Variant:
    return with_schema(lambda schema: schema["fields"][2].update(type=of))


def _file(name: str, value: Any) -> Variant:
    def change(actions: Actions) -> None:
        for body in actions["add"]:
            body[name] = value

    return change


def _domain(name: str, configuration: str) -> Variant:
    def change(actions: Actions) -> None:
        body = {"domain": name, "configuration": configuration, "removed": False}
        actions["domainMetadata"].append(body)

    return change


def _action(name: str, **fields: Any) -> Variant:
    return lambda actions: actions.setdefault(name, {}).update(fields)


def variants() -> dict[str, Variant]:
    """Return every variant by a name."""
    return {"as it is": lambda _: None, **_of_metadata(), **_of_other_actions()}


def _of_metadata() -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    for name in PROPERTIES:
        values = EXPRESSIONS if "constraints" in name else TEXTS
        found |= {f"{name}={v[:40]!r}": _configured(name, v) for v in values}
    for key in COLUMN_KEYS:
        for column in (0, 2):
            found |= {f"{column} {key}={v!r:.60}": _annotated(column, key, v) for v in VALUES}
            found |= {
                f"{column} {key}: {v[:60]!r}": _annotated(column, key, v) for v in EXPRESSIONS
            }
    found |= {f"name {name[:20]!r}": _renamed(name) for name in NAMES}
    for kind in ("struct", "array", "map"):
        found |= {f"{kind} {depth} deep": _deep(kind, depth) for depth in (20, 45, 70, 98, 101)}
    for of in (
        "void",
        "variant",
        "decimal(38,38)",
        "binary",
        "timestamp_ntz",
        "char(3)",
        "x",
        5,
        {},
    ):
        found[f"type {of!r}"] = _typed(of)
    found["no fields"] = with_schema(lambda schema: schema.update(fields=[]))
    found["nothing nullable"] = with_schema(
        lambda schema: [column.update(nullable=False) for column in schema["fields"]]
    )
    for names in ([], ["n"], ["id", "part", "n"], ["part", "part"], ["x"]):
        found[f"partitioned by {names}"] = _action("metaData", partitionColumns=names)
    found["created at the end"] = _action("metaData", createdTime=2**63 - 1)
    return found


def _of_other_actions() -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    found |= {f"stats {text[:60]!r}": _file("stats", text) for text in STATISTICS}
    for name in ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion"):
        for value in (-1, 0, 2**63 - 1, 2**63 - 2, -(2**63), None):
            found[f"{name} {value}"] = _file(name, value)
    for values in ({}, {"part": "x"}, {"part": None, "y": "z"}, {"n": "x"}):
        found[f"partition values {values}"] = _file("partitionValues", values)
    found["tags"] = _file("tags", {"a": None, "\u00e9": "b"})
    found["clusteringProvider"] = _file("clusteringProvider", "\0")
    for name in ("delta.rowTracking", "delta.clustering", "mine"):
        found |= {f"domain {name} {text[:50]!r}": _domain(name, text) for text in DOMAINS}
    for value in (None, "x", -1, 2**63 - 1, 2**63, 2**64 - 1, 1.5, -(2**63)):
        found[f"in-commit timestamp {value}"] = _action("commitInfo", inCommitTimestamp=value)
        found[f"timestamp {value}"] = _action("commitInfo", timestamp=value)
    found["no features"] = _action("protocol", readerFeatures=[], writerFeatures=[])
    return found


def _table(root: Path, properties: Mapping[str, str], **more: Any) -> Table:
    table = Table(root)
    table.create(
        SCHEMA,
        properties=properties,
        features=["domainMetadata", "checkConstraints", "allowColumnDefaults", *FEATURES],
        **more,
    )
    rows = [{"id": n, "part": "ab"[n % 2], "n": n} for n in range(4)]
    table.append(pa.Table.from_pylist(rows, SCHEMA))
    return table


FEATURES: Final = ("identityColumns", "generatedColumns", "invariants", "typeWidening")

BASES: Final[Mapping[str, Callable[[Path], Table]]] = {
    "tracked": lambda root: _table(
        root,
        {
            "delta.enableRowTracking": "true",
            "delta.enableInCommitTimestamps": "true",
            "delta.enableDeletionVectors": "true",
            "delta.enableChangeDataFeed": "true",
            "delta.checkpointInterval": "1",
        },
        partition_columns=["part"],
    ),
    "mapped": lambda root: _table(
        root,
        {
            "delta.columnMapping.mode": "name",
            "delta.checkpointInterval": "1",
            "delta.feature.v2Checkpoint": "supported",
            "delta.checkpoint.writeStatsAsStruct": "true",
        },
        clustering_columns=["id"],
    ),
    "plain": lambda root: _table(root, {"delta.checkpointInterval": "1"}),
}


def plant(table: Table, variant: Variant) -> None:
    """Commit what a variant makes of the table's own actions."""
    snapshot = table.snapshot()
    rows = snapshot.adds().to_pylist(maps_as_pydicts="strict")
    adds = [{name: value for name, value in row.items() if value is not None} for row in rows]
    actions: Actions = {
        "commitInfo": {"inCommitTimestamp": (snapshot.timestamp or 0) + 1},
        "protocol": snapshot.protocol.to_wire(),
        "metaData": snapshot.metadata.to_wire(),
        "domainMetadata": [],
        "add": adds,
    }
    variant(actions)
    lines = [
        {name: body}
        for name, bodies in actions.items()
        for body in (bodies if isinstance(bodies, list) else [bodies])
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    table.storage.put_if_absent(f"_delta_log/{snapshot.version + 1:020}.json", text.encode())


def _rows(**columns: Any) -> pa.Table:
    fields = [SCHEMA.field(name) for name in columns]
    return pa.table({n: [v] for n, v in columns.items()}, pa.schema(fields))


OPERATIONS: Final[Mapping[str, Callable[[Table], object]]] = {
    "append": lambda t: t.append(_rows(id=9, part="a", n=9)),
    "append a column": lambda t: t.append(_rows(part="a")),
    "overwrite": lambda t: t.overwrite(_rows(id=9, part="a", n=9)),
    "overwrite where": lambda t: t.overwrite(_rows(id=2, part="a", n=9), "id = 2"),
    "delete": lambda t: t.delete("id = 1"),
    "delete all": lambda t: t.delete(),
    "update": lambda t: t.update({"n": Sql("n + 1")}, "id < 3"),
    "merge": lambda t: t.merge(_rows(id=1, part="a", n=9), ["id"]),
    "merge clauses": lambda t: t.merge(
        _rows(id=77, part="a", n=9),
        "target.id = source.id",
        [When("not_matched", "insert", None, {"id": Sql("source.id")})],
    ),
    "optimize": lambda t: t.optimize(),
    "purge": lambda t: t.optimize(purge_only=True),
    "restore": lambda t: t.restore(1),
    "replace": lambda t: t.replace(SCHEMA, rows=_rows(id=1)),
    "set properties": lambda t: t.set_properties({"a": "b"}),
    "track rows": lambda t: t.set_properties({"delta.enableRowTracking": "true"}),
    "map columns": lambda t: t.set_properties({"delta.columnMapping.mode": "name"}),
    "time commits": lambda t: t.set_properties({"delta.enableInCommitTimestamps": "true"}),
    "iceberg": lambda t: t.set_properties({"delta.enableIcebergCompatV2": "true"}),
    "unset properties": lambda t: t.unset_properties(["a"]),
    "add a constraint": lambda t: t.add_constraint("d", "id >= 0"),
    "drop a constraint": lambda t: t.drop_constraint("c"),
    "set a transaction": lambda t: t.set_transaction("app", 7),
    "set a domain": lambda t: t.set_domain("mine", "{}"),
    "remove a domain": lambda t: t.set_domain("mine", None),
    "add columns": lambda t: t.add_columns(pa.schema([("m", pa.list_(pa.int32()))])),
    "rename a column": lambda t: t.rename_column("n", "m"),
    "drop a column": lambda t: t.drop_column("n"),
    "reorder columns": lambda t: t.reorder_columns(["n", "part", "id"]),
    "widen a type": lambda t: t.change_type("n", "long"),
    "forbid nulls": lambda t: t.set_nullable("n", nullable=False),
    "set a default": lambda t: t.set_default("n", "5"),
    "cluster": lambda t: t.cluster_by(["id", "n"]),
    "checkpoint": lambda t: t.checkpoint(),
    "checkpoint in parts": lambda t: t.checkpoint(Style(parts=3)),
    "checkpoint in JSON": lambda t: t.checkpoint(Style("v2", "json", 2)),
    "checkpoint with sidecars": lambda t: t.checkpoint(Style("v2", "parquet", 2)),
    "compact log": lambda t: t.compact_log(0, 2),
    **{
        f"drop {name}": lambda t, name=name: t.drop_feature(name)
        for name in (
            "clustering",
            "columnMapping",
            "deletionVectors",
            "domainMetadata",
            "inCommitTimestamp",
            "rowTracking",
            "typeWidening",
            "v2Checkpoint",
            "checkConstraints",
        )
    },
}


def attack(root: Path, seed: int, count: int) -> Iterator[tuple[str, Exception | None]]:
    """Carry operations out on tables that are changed at random.

    Gives what was done, with the error that it ended in. A table that could be read and cannot
    be any more is an :class:`AssertionError`.
    """
    draw = random.Random(seed)  # noqa: S311  not a secret
    known = variants()
    for base, build in BASES.items():
        build(root / base)
    for number in range(count):
        base, operation = draw.choice(list(BASES)), draw.choice(list(OPERATIONS))
        names = draw.sample(list(known), draw.choices((1, 2, 3), (6, 3, 1))[0])
        place = root / str(number)
        shutil.copytree(root / base, place)
        table = Table(place)
        try:
            plant(table, lambda actions, names=names: [known[name](actions) for name in names])
            yield f"{operation} on {base} with {names}", _carried_out(table, operation)
        finally:
            shutil.rmtree(place)


def _carried_out(table: Table, operation: str) -> Exception | None:
    readable = _readable(table)
    try:
        OPERATIONS[operation](table)
    except Exception as error:  # noqa: BLE001  it is what is asked for
        return error
    assert _readable(table) or not readable, "the table cannot be read any more"
    return None


def _readable(table: Table) -> bool:
    try:
        table.snapshot().adds()
    except DeltaError:
        return False
    return True
