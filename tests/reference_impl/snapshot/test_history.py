"""Commit times, in-commit timestamps and travel by timestamp."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from reference_impl.errors import InvalidAction, InvalidMetadata, TimestampNotFound

FEATURE = "inCommitTimestamp"


def _info(timestamp: int | None = None, operation: str = "WRITE") -> dict[str, Any]:
    body: dict[str, Any] = {"operation": operation}
    if timestamp is not None:
        body["inCommitTimestamp"] = timestamp
    return {"commitInfo": body}


def _enabled(log: Any, name: str = FEATURE, **properties: Any) -> list[Any]:
    names = {f"delta.{key}": str(value) for key, value in properties.items()}
    return [
        log.protocol(1, 7, None, [name]),
        log.metadata({"delta.enableInCommitTimestamps": "true"} | names),
    ]


def _at(log: Any, timestamp: Any) -> int:
    version: int = log.table.snapshot(timestamp=timestamp).version
    return version


def test_without_in_commit_timestamps_the_file_time_counts(log: Any) -> None:
    log.commit(_info(operation="CREATE TABLE"), log.protocol(), log.metadata(), mtime=1000)
    log.commit(_info(7), mtime=2000)
    log.commit(mtime=3000)
    history = [(item.version, item.timestamp, item.operation) for item in log.table.history()]
    assert history == [(2, 3000, None), (1, 2000, "WRITE"), (0, 1000, "CREATE TABLE")]
    assert [log.snapshot(version).timestamp for version in range(3)] == [1000, 2000, 3000]
    assert [_at(log, moment) for moment in (1000, 1999, 2000, 2500, 9999)] == [0, 0, 1, 1, 2]
    with pytest.raises(TimestampNotFound):
        _at(log, 999)


def test_history_may_be_limited(log: Any) -> None:
    log.start()
    log.commit()
    log.commit()
    assert [item.version for item in log.table.history(limit=2)] == [2, 1]


def test_times_may_be_text_or_datetimes(log: Any) -> None:
    log.commit(log.protocol(), log.metadata(), mtime=1_600_000_000_000)
    log.commit(mtime=1_600_000_001_000)
    moment = datetime(2020, 9, 13, 12, 26, 40, 999_999, tzinfo=UTC)
    plus_two = timezone(timedelta(hours=2))
    for asked in (
        moment,
        moment.replace(tzinfo=None),
        moment.astimezone(plus_two),
        "2020-09-13 12:26:40.999",
        "2020-09-13T12:26:40.999Z",
    ):
        assert _at(log, asked) == 0
    assert _at(log, "2020-09-13 12:26:41.000") == 1


def test_a_version_and_a_timestamp_exclude_each_other(log: Any) -> None:
    log.start()
    with pytest.raises(ValueError, match="not both"):
        log.table.snapshot(version=0, timestamp=0)


def test_where_file_times_go_back_a_commit_counts_as_later_than_the_one_before(log: Any) -> None:
    log.commit(log.protocol(), log.metadata(), mtime=5000)
    log.commit(mtime=1000)
    log.commit(mtime=6000)
    assert [_at(log, moment) for moment in (5000, 5001, 6000)] == [0, 1, 2]
    with pytest.raises(TimestampNotFound):
        _at(log, 4999)


@pytest.mark.parametrize("name", [FEATURE, "inCommitTimestamps"])
def test_in_commit_timestamps_count_from_the_start(log: Any, name: str) -> None:
    log.commit(_info(100), *_enabled(log, name), mtime=9_000_000)
    log.commit(_info(200), mtime=5)
    log.commit(_info(300), mtime=1)
    assert [item.timestamp for item in log.table.history()] == [300, 200, 100]
    assert log.snapshot(1).timestamp == 200
    assert [_at(log, moment) for moment in (100, 199, 200, 300, 10**12)] == [0, 0, 1, 2, 2]
    with pytest.raises(TimestampNotFound):
        _at(log, 99)


def test_the_property_alone_does_not_enable_them(log: Any) -> None:
    log.start(**{"delta.enableInCommitTimestamps": "true"})
    log.commit(_info(5), mtime=7000)
    assert log.snapshot().timestamp == 7000


def test_enabled_in_mid_life_file_times_count_before(log: Any) -> None:
    log.commit(log.protocol(), log.metadata(), mtime=1000)
    log.commit(mtime=50_000)
    log.commit(
        _info(2000),
        *_enabled(
            log,
            inCommitTimestampEnablementVersion=2,
            inCommitTimestampEnablementTimestamp=2000,
        ),
        mtime=1,
    )
    log.commit(_info(3000), mtime=2)
    times = [item.timestamp for item in log.table.history()]
    assert times == [3000, 2000, 50_000, 1000]
    # From the enabling time on only versions from the enabling version on are considered, and
    # before it only earlier ones, whatever their file times.
    assert [_at(log, moment) for moment in (1000, 1999, 2000, 2999, 3000)] == [0, 0, 2, 2, 3]


def test_no_version_is_given_that_is_later_than_what_is_asked_for(log: Any) -> None:
    # A clone has the properties of its source, which was enabled before the clone was made.
    enabled = _enabled(
        log, inCommitTimestampEnablementVersion=1, inCommitTimestampEnablementTimestamp=500
    )
    log.commit(_info(1000), *enabled, mtime=1000)
    log.commit(_info(2000), mtime=2000)
    log.commit(_info(3000), mtime=3000)
    for early in (500, 1000, 1999):
        with pytest.raises(TimestampNotFound):
            _at(log, early)
    assert [_at(log, moment) for moment in (2000, 2999, 3000)] == [1, 1, 2]


def test_a_commit_without_its_in_commit_timestamp_is_refused(log: Any) -> None:
    log.commit(_info(100), *_enabled(log))
    log.commit(_info())
    snapshot = log.snapshot()
    with pytest.raises(InvalidAction) as caught:
        snapshot.timestamp  # noqa: B018  the property raises
    assert (caught.value.version, caught.value.action) == (1, "commitInfo")
    with pytest.raises(InvalidAction):
        log.table.history()


def test_an_enablement_version_that_is_no_number_is_refused(log: Any) -> None:
    log.commit(_info(100), *_enabled(log, inCommitTimestampEnablementVersion="two"))
    with pytest.raises(InvalidMetadata, match="inCommitTimestampEnablementVersion"):
        log.table.history()


def test_history_covers_what_cleanup_left(log: Any) -> None:
    log.start()
    log.commit(mtime=1000)
    log.commit(mtime=2000)
    log.checkpoint(1)
    log.hint(version=1, size=2)
    (log.directory / f"{0:020d}.json").unlink()
    assert [item.version for item in log.table.history()] == [2, 1]
    assert _at(log, 1500) == 1
