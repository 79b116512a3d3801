"""Large checkpoints, of which no more is read than needed, give what small ones give."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from reference_impl.errors import InvalidAction
from reference_impl.log.checkpoints import bounds as checkpoint_bounds
from reference_impl.log.checkpoints import reader as checkpoints

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
ROWS = 2_500
"""More than are read at once whatever they hold."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_bounds, "BATCH_ROWS", 400)
    monkeypatch.setattr(checkpoints, "BATCH_ROWS", 400)


def _adds(log: Any, count: int = ROWS) -> list[dict[str, Any]]:
    return [
        log.add(f"p={number % 7}%20/part-{number:05}", size=number, stats='{"numRecords":1}')
        for number in range(count)
    ]


@pytest.mark.parametrize("where", [0, 1, ROWS // 2, ROWS], ids=["first", "second", "amid", "last"])
def test_small_actions_are_found_wherever_they_stand(log: Any, where: int) -> None:
    log.commit(log.protocol(), log.metadata())
    small = [
        log.protocol(2, 5),
        log.metadata({"delta.appendOnly": "true"}),
        {"txn": {"appId": "x", "version": 4}},
        {"domainMetadata": {"domain": "d", "configuration": "c", "removed": False}},
    ]
    adds = _adds(log)
    log.parquet(f"{0:020d}.checkpoint.parquet", *adds[:where], *small, *adds[where:])
    snapshot = log.snapshot()
    assert snapshot.protocol.min_writer_version == 5
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true"}
    assert snapshot.txns["x"].version == 4
    assert snapshot.domain_metadata["d"].configuration == "c"
    assert snapshot.adds().num_rows == ROWS


def test_small_actions_may_be_far_apart(log: Any) -> None:
    log.commit(log.protocol(), log.metadata())
    adds = _adds(log)
    txns = [{"txn": {"appId": f"a{number}", "version": number}} for number in range(3)]
    rows = [log.protocol(), txns[0], *adds[:1000], log.metadata(), *adds[1000:], txns[1], txns[2]]
    log.parquet(f"{0:020d}.checkpoint.parquet", *rows)
    assert {name: txn.version for name, txn in log.snapshot().txns.items()} == {
        f"a{number}": number for number in range(3)
    }


def test_an_action_without_its_required_column_is_not_passed_over(log: Any) -> None:
    columns = {**log.types, "txn": pa.struct({"version": pa.int64()})}
    rows = [log.protocol(), log.metadata(), *_adds(log), {"txn": {"version": 1}}]
    log.parquet(f"{0:020d}.checkpoint.parquet", *rows, columns=columns)
    with pytest.raises(InvalidAction, match=r"txn.appId is missing"):
        log.snapshot()


def _write(log: Any, style: str, *more: dict[str, Any]) -> None:
    """Commit files and write a checkpoint of them, with more actions at its end."""
    v2 = log.protocol(3, 7, ["v2Checkpoint"], ["v2Checkpoint"])
    head = [v2 if style in ("sidecars", "json") else log.protocol(), log.metadata()]
    identity = {"checkpointMetadata": {"version": 1}}
    adds, removes = _adds(log), [log.remove(f"gone-{number}") for number in range(1_200)]
    log.commit(*head)
    log.commit(*adds, *removes)
    files = [*removes[:600], *adds, *removes[600:], *more]
    pieces = [files[:1100], files[1100:2300], files[2300:]]
    match style:
        case "classic":
            log.parquet(f"{1:020d}.checkpoint.parquet", *head, *files)
        case "parts":
            for part, piece in enumerate(pieces, 1):
                name = f"{1:020d}.checkpoint.{part:010d}.{len(pieces):010d}.parquet"
                log.parquet(name, *(head if part == 1 else []), *piece)
        case "sidecars":
            sidecars = []
            for number, piece in enumerate(pieces):
                size = log.parquet(f"_sidecars/{number}.parquet", *piece)
                body = {"path": f"{number}.parquet", "sizeInBytes": size, "modificationTime": 1}
                sidecars.append({"sidecar": body})
            log.parquet(f"{1:020d}.checkpoint.{UUID}.parquet", identity, *head, *sidecars)
        case "json":
            log.raw(f"{1:020d}.checkpoint.{UUID}.json", log.lines(identity, *head, *files))


@pytest.mark.parametrize("style", ["classic", "parts", "sidecars", "json"])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_style_gives_what_the_commits_give(
    log: Any, style: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_THREADS", threads)
    monkeypatch.setattr(checkpoints, "_SMALL_SIDECARS", 0)
    _write(log, style)
    log.commit(log.remove("p=0 /part-00007"), log.add("gone-3"), log.add("new"))
    snapshot = log.snapshot()
    assert snapshot.segment.checkpoint is not None
    rows = sorted(snapshot.adds().to_pylist(), key=lambda row: str(row["path"]))
    dead = log.dead()
    for path in log.directory.glob("*.checkpoint.*"):
        path.unlink()
    plain = log.snapshot()
    assert plain.segment.checkpoint is None
    assert rows == sorted(plain.adds().to_pylist(), key=lambda row: str(row["path"]))
    assert dead == log.dead()
    assert len(rows) == ROWS + 1
    assert len(dead) == 1_200


@pytest.mark.parametrize("style", ["classic", "parts", "sidecars", "json"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_bad_action_far_back_in_a_checkpoint_is_met(
    log: Any, style: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_THREADS", threads)
    monkeypatch.setattr(checkpoints, "_SMALL_SIDECARS", 0)
    _write(log, style, log.add("f", size=None))
    for version in range(2):
        (log.directory / f"{version:020d}.json").unlink()
    with pytest.raises(InvalidAction, match=r"add.size is missing"):
        log.paths()


def test_a_line_of_a_json_checkpoint_with_two_actions_is_refused(log: Any) -> None:
    _write(log, "json")
    (path,) = log.directory.glob("*.checkpoint.*.json")
    two = {**log.add("x"), **log.remove("y")}
    path.write_bytes(path.read_bytes() + json.dumps(two).encode())
    assert log.snapshot().adds().num_rows == ROWS, "the commits stand in"


@pytest.mark.parametrize("json_until", [0, 1, 399, 400, 401, 1_700, ROWS])
def test_parsed_statistics_fill_in_from_where_json_ends(
    log: Any, json_until: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = pa.struct({"numRecords": pa.int64()})
    add = pa.struct([*log.types["add"], pa.field("stats_parsed", parsed)])
    adds = [
        log.add(
            f"part-{number}",
            stats=f'{{"numRecords":{number}}}' if number < json_until else None,
            stats_parsed={"numRecords": number if number >= json_until else -1},
        )
        for number in range(ROWS)
    ]
    log.commit(log.protocol(), log.metadata())
    rows = [log.protocol(), *adds[:5], log.metadata(), *adds[5:]]
    log.parquet(f"{0:020d}.checkpoint.parquet", *rows, columns={**log.types, "add": add})
    read: list[str] = []
    reading = checkpoints.CheckpointReader._parquet

    def parquet(reader: Any, path: str, columns: Any) -> Any:
        read.extend(columns)
        return reading(reader, path, columns)

    monkeypatch.setattr(checkpoints.CheckpointReader, "_parquet", parquet)
    found = log.snapshot().adds()
    assert found["path"].to_pylist() == [f"part-{number}" for number in range(ROWS)]
    assert found["stats"].to_pylist() == [f'{{"numRecords":{number}}}' for number in range(ROWS)]
    assert ("add.stats_parsed" in read) == (json_until < ROWS)
