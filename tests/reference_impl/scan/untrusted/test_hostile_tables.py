"""Tables that lie: rows or typed errors of a bounded length, and no file that is named is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import AuditError, audit
from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import StorageFailed
from reference_impl.expressions.sql import Sql

Json = dict[str, Any]
LONG_AGO = 1_600_000_000
ID: Json = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
NAMES = ("a.parquet", "b.parquet")


def table(folder: Path, field: Json, rows: pa.Array, **changes: Any) -> Path:
    """Write a table of two equal files; ``changes`` are to its actions, by their names."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for name in NAMES:
        pq.write_table(
            pa.table({"id": pa.array(range(len(rows)), pa.int64()), "m": rows}), folder / name
        )
        os.utime(folder / name, (LONG_AGO, LONG_AGO))
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2, **changes.get("protocol", {})}
    schema = json.dumps({"type": "struct", "fields": [ID, field]})
    metadata = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": {},
        **changes.get("metaData", {}),
    }
    adds = [
        {
            "path": name,
            "partitionValues": {},
            "size": (folder / name).stat().st_size,
            "modificationTime": 1,
            "dataChange": True,
        }
        for name in NAMES
    ]
    adds[0] |= changes.get("add", {})
    actions = [{"protocol": protocol}, {"metaData": metadata}, *({"add": each} for each in adds)]
    (log / f"{0:020}.json").write_text("".join(f"{json.dumps(each)}\n" for each in actions))
    return folder


def of_maps(key: Any, value: Any = "integer") -> Json:
    kind = {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    return {**ID, "name": "m", "type": kind}


NAN = float("nan")
REPEATED: dict[str, tuple[Json, pa.Array]] = {
    "texts": (
        of_maps("string"),
        pa.array(
            [[("a", 1), ("a", 2), ("b", 3)], [("x", 1)], None, []], pa.map_("string", "int32")
        ),
    ),
    "numbers": (
        of_maps("integer", "string"),
        pa.array([[(1, "a"), (1, "a")], [(2, None), (2, "x")]], pa.map_("int32", "string")),
    ),
    "NaN and zeros": (
        of_maps("double"),
        pa.array([[(NAN, 1), (NAN, 2)], [(0.0, 1), (-0.0, 2)]], pa.map_("float64", "int32")),
    ),
    "structs": (
        of_maps({"type": "struct", "fields": [{**ID, "name": "k"}]}),
        pa.array([[({"k": 1}, 1), ({"k": 1}, 2)]], pa.map_(pa.struct({"k": "int64"}), "int32")),
    ),
    "maps in maps": (
        of_maps("string", of_maps("string")["type"]),
        pa.array(
            [[("a", [("z", 1), ("z", 2)]), ("a", [("z", 3)])]],
            pa.map_("string", pa.map_("string", "int32")),
        ),
    ),
}


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("name", REPEATED)
def test_a_map_that_repeats_a_key_is_read_and_kept(tmp_path: Path, name: str, vectors: str) -> None:
    field, rows = REPEATED[name]
    both = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": both,
        "writerFeatures": both,
    }
    properties = {"configuration": {"delta.enableDeletionVectors": vectors}}
    place = str(table(tmp_path / "t", field, rows, protocol=protocol, metaData=properties))
    stored = pq.read_table(Path(place, "a.parquet")).column("m").to_pylist()

    def maps(filter_: str | None = None) -> list[str]:
        return sorted(map(repr, read_table(place, filter=filter_).column("m").to_pylist()))

    assert maps() == sorted(map(repr, 2 * stored))
    assert maps("id = 0") == sorted(map(repr, 2 * stored[:1]))
    Table(place).update({"id": Sql("id + 10")}, "id = 0")
    assert maps() == sorted(map(repr, 2 * stored))
    Table(place).optimize()
    Table(place).checkpoint()
    assert maps() == sorted(map(repr, 2 * stored))
    Table(place).delete("id = 10")
    assert maps() == sorted(map(repr, 2 * stored[1:]))
    assert not [each for each in audit(place) if each.severity == "error"]


def stats(text: str) -> Json:
    return {"add": {"stats": text}}


def properties(**given: Any) -> Json:
    return {"metaData": {"configuration": given}}


def expecting(expression: str) -> Json:
    return properties(**{"delta.constraints.x": expression})


def vector(**given: Any) -> Json:
    both = ["deletionVectors"]
    where = {"storageType": "p", "pathOrInlineDv": "b.parquet", "offset": 1, "sizeInBytes": 100}
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": both,
            "writerFeatures": both,
        },
        "add": {"deletionVector": {**where, "cardinality": 1, **given}},
    }


HOSTILE: dict[str, Json] = {
    "a count that is text": stats('{"numRecords": "3"}'),
    "a count below zero": stats('{"numRecords": -1}'),
    "a count beyond long": stats('{"numRecords": 9223372036854775808}'),
    "a count that is no whole number": stats('{"numRecords": 1e308}'),
    "bounds in a list": stats('{"numRecords": 3, "minValues": [1], "maxValues": [2]}'),
    "bounds of another type": stats('{"numRecords": 3, "minValues": {"id": "x"}}'),
    "statistics without end": stats('{"a":' * 2000 + "1" + "}" * 2000),
    "statistics twice": stats('{"numRecords": 3, "numRecords": 9}'),
    "half of a pair": stats('{"numRecords": 3, "minValues": {"m": "\\ud800"}}'),
    "a path without end": {"add": {"path": "x/" * 50_000}},
    "a path to the log": {"add": {"path": f"_delta_log/{0:020}.json"}},
    "a path to a folder": {"add": {"path": "."}},
    "a path of NUL": {"add": {"path": "a%00.parquet"}},
    "a path of overlong UTF-8": {"add": {"path": "%c0%ae%c0%ae/a.parquet"}},
    "a path to memory": {"add": {"path": "/proc/self/mem"}},
    "a size of nothing": {"add": {"size": 0}},
    "a size below zero": {"add": {"size": -1}},
    "a size beyond all": {"add": {"size": 2**63 - 1}},
    "a time beyond all": {"add": {"modificationTime": 2**63 - 1}},
    "a value of no column": {"add": {"partitionValues": {"x": "1"}}},
    "a vector that is data": vector(),
    "a vector below zero": vector(sizeInBytes=-1),
    "a vector beyond the file": vector(offset=2**62),
    "a vector of a device": vector(pathOrInlineDv="/dev/zero", sizeInBytes=2**31 - 1),
    "a vector of no kind": vector(storageType="x"),
    "features without end": {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [f"feature{number}" for number in range(20_000)],
            "writerFeatures": [f"feature{number}" for number in range(20_000)],
        }
    },
    "features that are numbers": {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [1],
            "writerFeatures": [1],
        }
    },
    "versions beyond all": {"protocol": {"minReaderVersion": 2**31, "minWriterVersion": 2**63}},
    "a schema in parentheses": {
        "metaData": {"schemaString": '{"type":"struct","fields":' + "[" * 5000}
    },
    "SQL that reads a file": expecting("read_csv('/etc/passwd') IS NOT NULL"),
    "SQL that goes on": expecting("id > 0; DROP TABLE x"),
    "SQL that fills memory": expecting("length(repeat(repeat('x', 100000), 100000)) > 0"),
    "a retention below zero": properties(
        **{"delta.deletedFileRetentionDuration": "interval -1 days"}
    ),
    "a retention without end": properties(
        **{"delta.deletedFileRetentionDuration": f"interval {'9' * 400} days"}
    ),
}
ASKED: dict[str, Callable[[str], object]] = {
    "read": read_table,
    "filter": lambda place: read_table(place, filter="id > 1"),
    "audit": audit,
    "append": lambda place: Table(place).append(
        pa.table({"id": pa.array([9], pa.int64()), "m": [1]})
    ),
    "vacuum": lambda place: Table(place).vacuum(),
    "clean": lambda place: Table(place).clean_log(),
    "checkpoint": lambda place: Table(place).checkpoint(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_gives_rows_or_typed_errors_and_loses_nothing(
    tmp_path: Path, name: str
) -> None:
    field = {**ID, "name": "m"}
    place = table(tmp_path / "t", field, pa.array([1, 2, 3], pa.int64()), **HOSTILE[name])
    path = HOSTILE[name].get("add", {}).get("path")
    named = {"b.parquet", f"_delta_log/{0:020}.json", *(() if path else ("a.parquet",))}
    outside, long = {*tmp_path.iterdir()}, []
    for asked in ASKED.values():
        try:
            asked(str(place))
        except (DeltaError, AuditError, StorageFailed) as error:
            long += [error] if len(str(error)) > 25_000 else []
    assert long == []
    assert {each for each in named if not (place / each).is_file()} == set()
    assert {*tmp_path.iterdir()} == outside
