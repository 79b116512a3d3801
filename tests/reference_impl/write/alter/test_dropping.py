"""A feature is dropped once nothing of it is left, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Sql, Table, read_table
from reference_impl.errors import ConstraintViolation, UnsupportedFeatures
from reference_impl.model.features import supported

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": ["a", "b", None]})
KEPT = "delta.deletedFileRetentionDuration"
PROPERTIES = {
    "appendOnly": {"delta.appendOnly": "true"},
    "changeDataFeed": {"delta.enableChangeDataFeed": "true"},
    "columnMapping": {},
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "rowTracking": {"delta.enableRowTracking": "true"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "v2Checkpoint": {"delta.checkpointPolicy": "v2"},
    "allowColumnDefaults": {},
    "checkConstraints": {},
    "domainMetadata": {},
    "generatedColumns": {},
    "identityColumns": {},
    "invariants": {},
    "timestampNtz": {},
    "vacuumProtocolCheck": {},
}


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(read_table(table.storage.location).to_pylist(), key=lambda row: row["id"])


def features(table: Table) -> set[str]:
    return set(supported(table.snapshot().protocol))


@pytest.fixture
def clean(table: Table) -> Callable[[], None]:
    """Check the table against the audit, which always warns of a feature that is gone."""

    def check() -> None:
        faults = {f.requirement for f in audit(table.storage.location) if f.severity != "info"}
        assert faults <= {"TF-016"}

    return check


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_feature_is_enabled_and_dropped_again(
    table: Table, clean: Callable[[], None], name: str
) -> None:
    table.create(ROWS.schema, features=[name], properties={KEPT: "interval 0 seconds"}, rows=ROWS)
    table.set_properties(PROPERTIES[name])
    assert name in features(table)
    table.append(ROWS.slice(0, 0))
    if name == "v2Checkpoint":
        table.checkpoint()
        table.set_properties({"delta.checkpointPolicy": "classic"})
    before = rows(table)
    version = table.drop_feature(name)
    assert table.latest_version() == version
    assert name not in features(table)
    protocol = table.snapshot().protocol
    assert protocol.min_reader_version == 1
    assert not set(PROPERTIES[name]) & set(table.snapshot().metadata.configuration)
    assert rows(table) == before
    clean()
    table.append(ROWS)
    assert len(rows(table)) == 6
    clean()


def test_the_other_features_stay(table: Table, clean: Callable[[], None]) -> None:
    table.create(ROWS.schema, features=["deletionVectors", "v2Checkpoint", "appendOnly"], rows=ROWS)
    table.drop_feature("appendOnly")
    assert features(table) == {"deletionVectors", "v2Checkpoint", "invariants"}
    table.drop_feature("v2Checkpoint")
    protocol = table.snapshot().protocol
    assert protocol.reader_features == ("deletionVectors",)
    assert protocol.min_reader_version == 3
    clean()


def test_vectors_are_purged_before_they_are_dropped(
    table: Table, clean: Callable[[], None]
) -> None:
    properties = {"delta.enableDeletionVectors": "true", KEPT: "interval 1 week"}
    table.create(ROWS.schema, properties=properties, rows=ROWS)
    table.delete("id = 2")
    with pytest.raises(ConstraintViolation, match="1 files have deletion vectors"):
        table.drop_feature("deletionVectors")
    table.optimize(purge_only=True)
    with pytest.raises(ConstraintViolation, match="1 files have deletion vectors") as refused:
        table.drop_feature("deletionVectors")
    assert "expired" in str(refused.value)
    table.set_properties({KEPT: "interval 0 seconds"})
    version = table.drop_feature("deletionVectors")
    name = f"_delta_log/{version - 1:020d}.checkpoint.parquet"
    assert name in {entry.path for entry in table.storage.list_from("_delta_log")}
    assert [row["id"] for row in rows(table)] == [1, 3]
    clean()


def test_row_ids_go_with_row_tracking(
    table: Table, clean: Callable[[], None], actions: Callable[..., list[dict[str, Any]]]
) -> None:
    table.create(ROWS.schema, properties={"delta.enableRowTracking": "true"}, rows=ROWS)
    table.append(ROWS)
    table.update({"id": Sql("id + 10")}, "id = 1")
    with pytest.raises(ConstraintViolation, match="rowTracking needs it"):
        table.drop_feature("domainMetadata")
    version = table.drop_feature("rowTracking")
    assert table.snapshot().domain_metadata == {}
    table.append(ROWS)
    assert all("baseRowId" not in add for add in actions(version, "add"))
    assert all(add["dataChange"] is False for add in actions(version, "add"))
    table.drop_feature("domainMetadata")
    clean()
    table.set_properties({"delta.enableRowTracking": "true"})
    ids = read_table(table.storage.location, row_ids=True).column("_row_id").to_pylist()
    assert sorted(ids) == list(range(9))
    clean()


def test_files_are_rewritten_where_types_were_widened(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(ROWS.schema, properties={"delta.enableTypeWidening": "true"}, rows=ROWS)
    table.change_type("id", "long")
    table.append(ROWS)
    before = rows(table)
    table.drop_feature("typeWidening")
    assert "typeChanges" not in table.snapshot().metadata.schema_string
    assert rows(table) == before
    clean()


def test_mapping_is_dropped_where_files_know_columns_by_their_names(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(ROWS.schema, rows=ROWS)
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.append(ROWS)
    table.drop_feature("columnMapping")
    assert "columnMapping" not in table.snapshot().metadata.schema_string
    assert len(rows(table)) == 6
    clean()


def _renamed(table: Table) -> None:
    table.create(ROWS.schema, rows=ROWS)
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.rename_column("name", "label")


def _shrunk(table: Table) -> None:
    table.create(ROWS.schema, rows=ROWS)
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.drop_column("name")


def _constrained(table: Table) -> None:
    table.create(ROWS.schema, rows=ROWS)
    table.add_constraint("c", "id > 0")


def _with_metadata(key: str, value: Any) -> Callable[[Table], None]:
    def make(table: Table) -> None:
        field = {"name": "id", "type": "long", "nullable": True, "metadata": {key: value}}
        other = {"name": "n", "type": "long", "nullable": True, "metadata": {}}
        table.create({"type": "struct", "fields": [field, other]})

    return make


def _ntz(table: Table) -> None:
    table.create(pa.schema([("t", pa.timestamp("us"))]))


def _domain(table: Table) -> None:
    table.create(ROWS.schema, features=["domainMetadata"])
    table.set_domain("mine", "{}")


def _v2(table: Table) -> None:
    table.create(ROWS.schema, properties={"delta.checkpointPolicy": "v2"})


IN_THE_WAY: dict[str, tuple[Callable[[Table], object], str]] = {
    "renamed": (_renamed, "columnMapping"),
    "dropped": (_shrunk, "columnMapping"),
    "mapped from the start": (
        lambda t: t.create(ROWS.schema, properties={"delta.columnMapping.mode": "id"}),
        "columnMapping",
    ),
    "constraint": (_constrained, "checkConstraints"),
    "generated": (_with_metadata("delta.generationExpression", "n + 1"), "generatedColumns"),
    "default": (_with_metadata("CURRENT_DEFAULT", "1"), "allowColumnDefaults"),
    "invariant": (
        _with_metadata("delta.invariants", '{"expression":{"expression":"id > 3"}}'),
        "invariants",
    ),
    "type": (_ntz, "timestampNtz"),
    "domain": (_domain, "domainMetadata"),
    "policy": (_v2, "v2Checkpoint"),
}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_people_put_in_stands_in_the_way(table: Table, name: str) -> None:
    make, feature = IN_THE_WAY[name]
    make(table)
    before = table.latest_version()
    with pytest.raises(ConstraintViolation, match=feature):
        table.drop_feature(feature)
    assert table.latest_version() == before
    assert feature in features(table)


@pytest.mark.parametrize("name", ["deletionVectors", "fromAnotherWorld", "catalogManaged"])
def test_a_feature_that_is_not_there_is_not_dropped(table: Table, name: str) -> None:
    table.create(ROWS.schema)
    with pytest.raises(UnsupportedFeatures, match=name):
        table.drop_feature(name)
    assert table.latest_version() == 0
