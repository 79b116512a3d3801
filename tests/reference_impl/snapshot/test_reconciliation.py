"""Action reconciliation: which actions stand at a version."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.errors import DuplicateAction


def test_the_newest_reference_to_a_file_wins(log: Any) -> None:
    log.start(log.add("f", size=1), log.add("g"))
    log.commit(log.remove("f"))
    log.commit(log.add("f", size=3))
    assert [log.paths(version) for version in range(3)] == [["f", "g"], ["g"], ["f", "g"]]
    assert [log.dead(version) for version in range(3)] == [[], ["f"], []]
    assert sorted(log.snapshot().adds()["size"].to_pylist()) == [1, 3]


def test_a_later_add_replaces_the_former_entirely(log: Any) -> None:
    log.start(log.add("f", stats='{"numRecords":1}', tags={"k": "v"}))
    log.commit(log.add("f", dataChange=False))
    row = log.snapshot().adds().to_pylist()[0]
    assert (row["stats"], row["tags"], row["dataChange"]) == (None, None, False)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_remove_matches_an_add_spelt_with_other_escapes(log: Any, checkpointed: bool) -> None:
    log.start(log.add("p=a%20b/f"), log.add("p=a%2520b/f"))
    if checkpointed:
        log.checkpoint(0, log.add("p=a%20b/f"), log.add("p=a%2520b/f"))
    log.commit(log.remove("p=a b/f"))
    assert log.paths() == ["p=a%2520b/f"]


def test_the_spelling_in_the_log_is_kept(log: Any) -> None:
    log.start(log.add("a%20b"), log.add("c%3Ad"))
    assert log.paths() == ["a%20b", "c%3Ad"]


def test_a_relative_and_an_absolute_path_are_two_files(log: Any) -> None:
    absolute = (log.root / "f").as_uri()
    log.start(log.add("f"), log.add(absolute))
    log.commit(log.remove("f"))
    assert log.paths() == [absolute]


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_new_vector_makes_a_new_logical_file(log: Any, checkpointed: bool) -> None:
    first, second = log.vector("v", 1), log.vector("v", 40)
    log.commit(
        log.protocol(3, 7, ["deletionVectors"], ["deletionVectors"]),
        log.metadata(),
        log.add("f", deletionVector=first),
        log.add("g"),
    )
    if checkpointed:
        log.parquet(
            f"{0:020d}.checkpoint.parquet",
            log.protocol(3, 7, ["deletionVectors"], ["deletionVectors"]),
            log.metadata(),
            log.add("f", deletionVector=first),
            log.add("g"),
        )
    log.commit(log.remove("f", deletionVector=first), log.add("f", deletionVector=second))
    log.commit(log.remove("f"))
    snapshot = log.snapshot()
    live = {row["path"]: row["deletionVector"] for row in snapshot.adds().to_pylist()}
    assert live["f"]["offset"] == 40
    assert live["g"] is None
    dead = [row["deletionVector"] for row in snapshot.tombstones().to_pylist()]
    assert [vector and vector["offset"] for vector in dead] in ([1, None], [None, 1])


def test_a_missing_offset_is_another_id_than_offset_zero(log: Any) -> None:
    log.commit(
        log.protocol(3, 7, ["deletionVectors"], ["deletionVectors"]),
        log.metadata(),
        log.add("f", deletionVector=log.vector("v", None)),
    )
    log.commit(log.remove("f", deletionVector=log.vector("v", 0)))
    assert log.paths() == ["f"]
    log.commit(log.remove("f", deletionVector=log.vector("v", None)))
    assert log.paths() == []


def test_one_data_file_is_not_live_under_two_vectors(log: Any) -> None:
    log.commit(
        log.protocol(3, 7, ["deletionVectors"], ["deletionVectors"]),
        log.metadata(),
        log.add("f"),
    )
    log.commit(log.add("f", deletionVector=log.vector("v")))
    with pytest.raises(DuplicateAction) as caught:
        log.snapshot().adds()
    assert caught.value.requirement == "REC-021"


def test_actions_of_a_commit_stand_whatever_their_order(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"), log.remove("f"), log.metadata(name="late"))
    log.commit(log.remove("g"), log.add("h"))
    assert log.paths() == ["h"]
    assert log.snapshot().metadata.name == "late"


def test_provenance_may_come_twice(log: Any) -> None:
    log.start(log.add("f"))
    log.commit({"commitInfo": {"a": 1}}, log.add("g"), {"commitInfo": {"a": 2}})
    assert log.paths() == ["f", "g"]


@pytest.mark.parametrize(
    ("kind", "first", "second", "requirement"),
    [
        ("add", {}, {}, "FA-012"),
        ("remove", {}, {}, "FA-012"),
        ("add", {}, {"deletionVector": ...}, "FA-012"),
    ],
)
def test_a_commit_has_one_action_of_a_kind_per_path(
    log: Any, kind: str, first: dict[str, Any], second: dict[str, Any], requirement: str
) -> None:
    make = getattr(log, kind)
    second = {key: log.vector("v") for key in second}
    log.start()
    log.commit(log.add("other"))
    log.commit(make("f%20", **first), make("f ", **second))
    assert log.paths(1) == ["other"]
    with pytest.raises(DuplicateAction) as caught:
        log.snapshot().adds()
    error = caught.value
    assert (error.version, error.action, error.requirement) == (2, kind, requirement)


def test_a_commit_does_not_add_and_remove_one_logical_file(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("f"), log.remove("f"))
    with pytest.raises(DuplicateAction) as caught:
        log.snapshot().adds()
    assert caught.value.requirement == "WLOG-001"


def test_the_same_path_in_two_commits_is_no_duplicate(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("f"))
    assert log.paths() == ["f"]


def test_a_cdc_action_may_name_an_added_path(log: Any) -> None:
    cdc = {"cdc": {"path": "f", "partitionValues": {}, "size": 1, "dataChange": False}}
    log.start(log.add("f"), cdc)
    assert log.paths() == ["f"]


def test_the_latest_txn_of_an_application_wins_even_when_lower(log: Any) -> None:
    log.start({"txn": {"appId": "x", "version": 7}}, {"txn": {"appId": "y", "version": 1}})
    log.commit({"txn": {"appId": "x", "version": 3, "lastUpdated": 5}})
    txns = log.snapshot().txns
    assert {app: (txn.version, txn.last_updated) for app, txn in txns.items()} == {
        "x": (3, 5),
        "y": (1, None),
    }


def test_a_removed_domain_is_gone_until_it_is_set_again(log: Any) -> None:
    def domain(configuration: str, removed: bool) -> dict[str, Any]:
        body = {"domain": "mine", "configuration": configuration, "removed": removed}
        return {"domainMetadata": body}

    log.start(domain("1", removed=False))
    log.commit(domain("1", removed=True))
    log.commit(domain("2", removed=False))
    seen = [log.snapshot(version).domain_metadata for version in range(3)]
    assert [item["mine"].configuration if item else None for item in seen] == ["1", None, "2"]


def test_metadata_and_protocol_are_replaced_and_not_merged(log: Any) -> None:
    log.start(a="1")
    log.commit(log.metadata({"b": "2"}), log.protocol(1, 1))
    snapshot = log.snapshot()
    assert snapshot.metadata.configuration == {"b": "2"}
    assert snapshot.protocol.min_writer_version == 1


@pytest.mark.parametrize(
    "action",
    [
        lambda log: log.protocol(),
        lambda log: log.metadata(),
        lambda _: {"txn": {"appId": "x", "version": 1}},
        lambda _: {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}},
    ],
    ids=["protocol", "metaData", "txn", "domainMetadata"],
)
def test_a_commit_has_one_small_action_per_key(log: Any, action: Any) -> None:
    log.start()
    log.commit(action(log), action(log))
    with pytest.raises(DuplicateAction):
        log.snapshot()


def test_txns_of_two_applications_share_a_commit(log: Any) -> None:
    log.start({"txn": {"appId": "x", "version": 1}}, {"txn": {"appId": "y", "version": 1}})
    assert set(log.snapshot().txns) == {"x", "y"}


@pytest.mark.parametrize(
    ("actions", "requirement"),
    [
        (lambda log: [log.add("f"), log.add("f", size=2)], "REC-006"),
        (lambda log: [log.remove("f"), log.remove("f")], "REC-007"),
        (lambda log: [log.add("f"), log.remove("f")], "REC-008"),
    ],
)
def test_a_checkpoint_has_one_action_per_logical_file(
    log: Any, actions: Any, requirement: str
) -> None:
    log.start()
    log.checkpoint(0, *actions(log))
    with pytest.raises(DuplicateAction) as caught:
        log.snapshot().adds()
    assert caught.value.requirement == requirement
