"""Spark tables about changed rows: deletion vectors, merges, the change feed, row tracking."""

from __future__ import annotations

from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.spark.definition import spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import Struct, field, struct

_SCHEMA = struct(id="long", name="string")
_CREATE = "CREATE TABLE {table} (id BIGINT, name STRING) USING delta TBLPROPERTIES "


def _rows(*pairs: tuple[int, str | None]) -> list[dict[str, Any]]:
    return [{"id": number, "name": name} for number, name in pairs]


_FIRST = _rows((1, "a"), (2, "b"), (3, "c"), (4, None), (5, "e"))


@spark_case(
    "deletion-vectors/spark-delete-update-merge", "DVDESC-020 DVDESC-016", ("deletionVectors",)
)
def _vectors(_case: CaseWriter, table: SparkTable) -> None:
    """Rows that Spark's deletion vectors mark never come back."""
    table.run(_CREATE + "('delta.enableDeletionVectors' = 'true')", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    left = _rows((1, "a"), (3, "c"), (4, None), (5, "e"))
    table.run("DELETE FROM {table} WHERE id = 2", _SCHEMA, left)
    left = _rows((1, "a"), (3, "z"), (4, None), (5, "e"))
    table.run("UPDATE {table} SET name = 'z' WHERE id = 3", _SCHEMA, left)
    merged = _rows((1, "m"), (3, "z"), (4, None), (5, "e"), (6, "new"))
    table.run(
        "MERGE INTO {table} t USING (SELECT * FROM VALUES (1L, 'm'), (6L, 'new') AS v(id, name)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        _SCHEMA,
        merged,
    )
    table.run("DELETE FROM {table} WHERE name IS NULL", _SCHEMA, merged[:2] + merged[3:])
    table.publish()


_CHANGED = Struct((*_SCHEMA, field("_change_type", "string"), field("_commit_version", "long")))


def _change(kind: str, version: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "_change_type": kind, "_commit_version": version} for row in rows]


@spark_case("change-data-files/spark-feed", "CDC-003 CDC-004 CDC-014")
def _feed(case: CaseWriter, table: SparkTable) -> None:
    """Spark's change files and inferred changes give each change once."""
    table.run(_CREATE + "('delta.enableChangeDataFeed' = 'true')", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    after = _rows((1, "a"), (2, "B"), (3, "c"), (4, None), (5, "e"))
    table.run("UPDATE {table} SET name = 'B' WHERE id = 2", _SCHEMA, after)
    table.run("DELETE FROM {table} WHERE id >= 4", _SCHEMA, after[:3])
    table.run("DELETE FROM {table}", _SCHEMA, [])
    table.publish()
    changes = (
        _change("insert", 1, _FIRST)
        + _change("update_preimage", 2, _rows((2, "b")))
        + _change("update_postimage", 2, _rows((2, "B")))
        + _change("delete", 3, after[3:])
        + _change("delete", 4, after[:3])
    )
    for slug, start, end in (("all", 0, 4), ("update", 2, 2), ("deletes", 3, 4)):
        kept = [row for row in changes if start <= row["_commit_version"] <= end]
        case.row_spec(
            "changes",
            f"changes-{slug}",
            _CHANGED,
            kept,
            title=f"The changes of versions {start} to {end} are those made",
            parameters={"start": start, "end": end},
        )


_TRACKED = Struct((*_SCHEMA, field("_row_id", "long"), field("_row_commit_version", "long")))


@spark_case("row-tracking/spark-update-delete", "RT-023 RT-024 RT-025 RT-026")
def _tracking(case: CaseWriter, table: SparkTable) -> None:
    """Spark's row ids survive an update and a delete."""
    table.run(_CREATE + "('delta.enableRowTracking' = 'true')", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    after = _rows((1, "a"), (2, "B"), (3, "c"), (4, None), (5, "e"))
    table.run("UPDATE {table} SET name = 'B' WHERE id = 2", _SCHEMA, after)
    table.run("DELETE FROM {table} WHERE id = 1", _SCHEMA, after[1:])
    table.publish(requirements=["RT-017"])
    # One file of five rows got ids 0 to 4; an update keeps the id and moves the commit version.
    for version, rows, updated in ((1, _FIRST, 1), (2, after, 2), (3, after[1:], 2)):
        tracked = [
            {
                **row,
                "_row_id": row["id"] - 1,
                "_row_commit_version": 1 if row["id"] != 2 else updated,
            }
            for row in rows
        ]
        case.row_spec(
            "row_ids",
            f"row-ids-v{version}",
            _TRACKED,
            tracked,
            title=f"The row ids of version {version} survive updates",
            parameters={},
            version=version,
        )


@spark_case("action-reconciliation/spark-restore-optimize", "REC-006 REC-018")
def _restored(_case: CaseWriter, table: SparkTable) -> None:
    """Files that Spark removes and adds again are live once."""
    table.run(_CREATE + "('delta.appendOnly' = 'false')", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    table.run("DELETE FROM {table} WHERE id > 2", _SCHEMA, _FIRST[:2])
    table.run("RESTORE TABLE {table} TO VERSION AS OF 1", _SCHEMA, _FIRST)
    more = _rows((6, "f"))
    table.append(_SCHEMA, more, _FIRST + more)
    table.run("OPTIMIZE {table}", _SCHEMA, _FIRST + more)
    table.publish()


TABLES = (_vectors, _feed, _tracking, _restored)
