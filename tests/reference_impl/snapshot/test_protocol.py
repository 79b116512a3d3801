"""Protocol actions: which are valid, and which tables this implementation reads."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.errors import (
    InvalidAction,
    InvalidMetadata,
    InvalidProtocol,
    InvalidSchema,
    UnsupportedError,
    UnsupportedFeatures,
    UnsupportedFormat,
    UnsupportedProtocolVersion,
)
from reference_impl.model.features import active, supported
from schemas.features import FEATURES, find


@pytest.mark.parametrize(
    "versions",
    [
        (1, 1),
        (1, 2),
        (1, 6),
        (2, 5),
        (1, 7, None, []),
        (1, 7, None, ["appendOnly", "invariants"]),
        (1, 7, None, ["unheardOf"]),
        (2, 7, None, ["columnMapping"]),
        (3, 7, [], []),
        (3, 7, ["columnMapping"], ["columnMapping"]),
        (3, 7, ["timestampNtz"], ["timestampNtz", "unheardOf"]),
        (3, 7, ["vacuumProtocolCheck"], ["vacuumProtocolCheck", "rowTracking", "domainMetadata"]),
    ],
    ids=str,
)
def test_a_readable_protocol_is_read(log: Any, versions: tuple[Any, ...]) -> None:
    log.commit(log.protocol(*versions), log.metadata(), log.add("f"))
    assert log.paths() == ["f"]


@pytest.mark.parametrize("versions", [(1, 2, [], []), (2, 5, [], []), (2, 7, [], [])], ids=str)
def test_an_empty_list_where_a_version_has_none_is_read_as_absent(
    log: Any, versions: tuple[Any, ...]
) -> None:
    log.commit(log.protocol(*versions), log.metadata(), log.add("f"))
    protocol = log.snapshot().protocol
    assert log.paths() == ["f"]
    assert protocol.reader_features is None
    assert protocol.writer_features == (() if versions[1] == 7 else None)


@pytest.mark.parametrize(
    ("versions", "requirement"),
    [
        ((3, 7, None, []), "PROTO-003"),
        ((2, 7, ["columnMapping"], ["columnMapping"]), "PROTO-003"),
        ((1, 2, ["columnMapping"], None), "PROTO-003"),
        ((3, 7, [], None), "PROTO-004"),
        ((1, 6, None, ["appendOnly"]), "PROTO-004"),
        ((3, 6, [], None), "RVER-003"),
        ((3, 7, ["deletionVectors"], []), "TF-020"),
        ((1, 7, None, ["deletionVectors"]), "TF-018"),
        ((2, 7, None, ["v2Checkpoint"]), "TF-018"),
        ((1, 7, None, ["columnMapping"]), "TF-018"),
        ((0, 2), "PROTO-001"),
        ((1, -1), "PROTO-001"),
    ],
    ids=str,
)
def test_a_protocol_that_contradicts_itself_is_refused(
    log: Any, versions: tuple[Any, ...], requirement: str
) -> None:
    log.commit(log.protocol(*versions), log.metadata())
    with pytest.raises(InvalidProtocol) as caught:
        log.snapshot()
    assert caught.value.requirement == requirement


@pytest.mark.parametrize("version", [4, 99, 2**40])
def test_a_newer_reader_version_is_unsupported(log: Any, version: int) -> None:
    log.commit(log.protocol(version, 7, ["x"], ["x"]), log.metadata())
    with pytest.raises(UnsupportedProtocolVersion, match="newer client"):
        log.snapshot()


def test_a_newer_writer_version_is_read(log: Any) -> None:
    log.commit(log.protocol(1, 99), log.metadata(), log.add("f"))
    assert log.paths() == ["f"]


def test_all_unsupported_features_are_named_at_once(log: Any) -> None:
    names = ["zeta", "columnMapping", "DeletionVectors", "alpha"]
    log.commit(log.protocol(3, 7, names, names), log.metadata())
    with pytest.raises(UnsupportedFeatures) as caught:
        log.snapshot()
    assert caught.value.features == ("DeletionVectors", "alpha", "zeta")
    assert all(name in str(caught.value) for name in caught.value.features)


@pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned-preview"])
def test_a_catalog_managed_table_is_refused_with_the_reason(log: Any, name: str) -> None:
    log.commit(
        log.protocol(3, 7, [name], [name, "inCommitTimestamp"]),
        log.metadata({"delta.enableInCommitTimestamps": "true"}),
    )
    with pytest.raises(UnsupportedFeatures, match="hand in the commits that it ratified"):
        log.snapshot()


def test_the_refusal_comes_before_the_schema_is_looked_at(log: Any) -> None:
    log.commit(log.protocol(3, 7, ["novelty"], ["novelty"]), log.metadata(schemaString="{"))
    with pytest.raises(UnsupportedError):
        log.snapshot()


def test_a_table_readable_at_an_older_version_is_read_there(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.protocol(3, 7, ["novelty"], ["novelty"]))
    assert log.paths(0) == ["f"]
    with pytest.raises(UnsupportedFeatures):
        log.snapshot(1)


def test_another_data_format_is_unsupported(log: Any) -> None:
    log.commit(log.protocol(), log.metadata(format={"provider": "orc", "options": {}}))
    with pytest.raises(UnsupportedFormat, match="orc"):
        log.snapshot()


@pytest.mark.parametrize(
    "field", ["id", "format", "schemaString", "partitionColumns", "configuration"]
)
def test_metadata_without_a_required_field_is_refused(log: Any, field: str) -> None:
    log.commit(log.protocol(), log.metadata(**{field: ...}))
    with pytest.raises(InvalidAction, match=f"metaData.{field} is missing"):
        log.snapshot()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "parquet"),
        ("format", {"options": {}}),
        ("format", {"provider": 1}),
        ("partitionColumns", "a"),
        ("partitionColumns", [1]),
        ("configuration", []),
        ("configuration", {"a": 1}),
        ("createdTime", "now"),
        ("name", 1),
    ],
)
def test_metadata_with_a_field_of_a_wrong_type_is_refused(log: Any, field: str, value: Any) -> None:
    log.commit(log.protocol(), log.metadata(**{field: value}))
    with pytest.raises(InvalidAction):
        log.snapshot()


@pytest.mark.parametrize("text", ["", "{", "null", '"long"', '{"type":"struct"}'])
def test_a_schema_string_that_is_no_schema_is_refused(log: Any, text: str) -> None:
    log.commit(log.protocol(), log.metadata(schemaString=text))
    with pytest.raises(InvalidSchema):
        log.snapshot()


@pytest.mark.parametrize("columns", [["b"], ["a", "a"]])
def test_partition_columns_are_distinct_columns_of_the_schema(log: Any, columns: Any) -> None:
    log.commit(log.protocol(), log.metadata(partitionColumns=columns))
    with pytest.raises(InvalidMetadata):
        log.snapshot()


def test_optional_metadata_may_be_absent_or_null(log: Any) -> None:
    log.commit(log.protocol(), log.metadata({"a": None}, name=None, format={"provider": "parquet"}))
    metadata = log.snapshot().metadata
    assert (metadata.name, metadata.configuration, metadata.format.options) == (None, {}, {})


def test_legacy_versions_imply_their_features(log: Any) -> None:
    expected = {
        (1, 1): set(),
        (1, 2): {"appendOnly", "invariants"},
        (1, 4): {"appendOnly", "invariants", "checkConstraints", "changeDataFeed"}
        | {"generatedColumns"},
        (2, 5): {"appendOnly", "invariants", "checkConstraints", "changeDataFeed"}
        | {"generatedColumns", "columnMapping"},
    }
    for version, (versions, names) in enumerate(expected.items()):
        log.commit(log.protocol(*versions), log.metadata(), version=version)
        assert supported(log.snapshot().protocol) == names


def test_a_feature_is_active_only_when_supported_and_switched_on(log: Any) -> None:
    states = [
        ((1, 1), "true", False),
        ((1, 2), "false", False),
        ((1, 2), "true", True),
        ((1, 7, None, ["appendOnly"]), "true", True),
        ((1, 7, None, []), "true", False),
    ]
    for versions, value, expected in states:
        log.commit(log.protocol(*versions), log.metadata({"delta.appendOnly": value}))
        snapshot = log.snapshot()
        assert active(snapshot.protocol, snapshot.metadata, "appendOnly") is expected


def test_both_spellings_of_in_commit_timestamps_are_one_feature() -> None:
    assert find("inCommitTimestamps") is find("inCommitTimestamp") is FEATURES["inCommitTimestamp"]
    assert find("InCommitTimestamp") is None
