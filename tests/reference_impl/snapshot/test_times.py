"""A time to travel to, in every spelling, means the same to every entry point."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import DeltaError, Table, read_table
from reference_impl.snapshot.history import to_millis

ASK: dict[str, Callable[[Path, Any], object]] = {
    "snapshot": lambda root, time: Table(root).snapshot(timestamp=time),
    "read_table": lambda root, time: read_table(root, timestamp=time),
}
BAD = [
    "x",
    "",
    "2024-13-01",
    "2024-02-30",
    "9" * 5000,
    "\ud800",
    "2024-01-01T25:00",
    1.5,
    True,
    [],
    b"2024",
]


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("time", BAD, ids=lambda t: ascii(t)[:20])
def test_what_is_no_time_is_a_typed_error(tmp_path: Path, ask: str, time: Any) -> None:
    Table(tmp_path).create(pa.schema([("a", pa.int64())]))
    with pytest.raises(DeltaError):
        ASK[ask](tmp_path, time)


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize(
    "time", [0, -(2**63), -(10**400), "1970-01-01", datetime.min.replace(tzinfo=UTC), "0001-01-01"]
)
def test_a_time_before_the_table_is_a_typed_error(tmp_path: Path, ask: str, time: Any) -> None:
    Table(tmp_path).create(pa.schema([("a", pa.int64())]))
    with pytest.raises(DeltaError):
        ASK[ask](tmp_path, time)


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("time", [2**63, 10**400, "9999-12-31", datetime.max.replace(tzinfo=UTC)])
def test_a_time_after_the_table_is_its_latest_version(tmp_path: Path, ask: str, time: Any) -> None:
    Table(tmp_path).create(pa.schema([("a", pa.int64())]))
    ASK[ask](tmp_path, time)


@pytest.mark.parametrize("ask", ASK)
def test_a_version_and_a_time_are_not_asked_for_together(tmp_path: Path, ask: str) -> None:
    Table(tmp_path).create(pa.schema([("a", pa.int64())]))
    asks = {
        "snapshot": lambda: Table(tmp_path).snapshot(0, 0),
        "read_table": lambda: read_table(tmp_path, version=0, timestamp=0),
    }
    with pytest.raises(ValueError, match="not both"):
        asks[ask]()


MOMENT = 1_706_715_010_123


@pytest.mark.parametrize(
    "spelling",
    [
        MOMENT,
        "2024-01-31T15:30:10.123Z",
        "2024-01-31 15:30:10.123",
        "2024-01-31T15:30:10.123999",
        "2024-01-31T16:30:10.123+01:00",
        datetime(2024, 1, 31, 15, 30, 10, 123_999),  # noqa: DTZ001  what a caller may give
        datetime(2024, 1, 31, 15, 30, 10, 123_000, tzinfo=UTC),
        datetime(2024, 1, 31, 16, 30, 10, 123_000, tzinfo=timezone(timedelta(hours=1))),
    ],
    ids=str,
)
def test_every_spelling_of_a_moment_is_the_same_millisecond(spelling: Any) -> None:
    assert to_millis(spelling) == MOMENT
