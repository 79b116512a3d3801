"""Cases of change feeds whose commits carry their own times.

Covers "Add CDC File" and "In-Commit Timestamps". File times say something else, so that a feed
that takes them for the time of a commit is found out.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED
from generators.golden.cases.publish import publish, publish_timed
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, MINUTE, GoldenTable, add, remove, writer_protocol
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.oracle.delta_schema import field

ACTIONS: Final = Chapter("add-cdc-file", since="2025")

_FEED = ["changeDataFeed"]
_STAMPED: Final = writer_protocol([*_FEED, "inCommitTimestamp"])


def _instant(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _ask(case: CaseWriter, table: GoldenTable, changes: list[tuple[str, int, Any, int]]) -> None:
    schema = table.schema.with_fields(
        field("_change_type", "string"),
        field("_commit_version", "long"),
        field("_commit_timestamp", "timestamp"),
    )
    rows = [
        {**row, "_change_type": kind, "_commit_version": v, "_commit_timestamp": _instant(time)}
        for kind, v, row, time in changes
    ]
    title = "Each change has the time of its commit"
    case.row_spec("changes", "changes-all", schema, rows, title=title, parameters={"start": 0})


@ACTIONS.case("in-commit-times", "CDC-015 CDC-016 ICT-004")
def _stamped(case: CaseWriter) -> None:
    """The feed gives the in-commit timestamps, not the file times."""
    table = GoldenTable.of(
        case, PAIR, protocol=_STAMPED, properties={**FEED, "delta.enableInCommitTimestamps": "true"}
    )
    stamps = [EPOCH + 10 * MINUTE * version + 7 for version in range(3)]
    first, second = (table.file([{"id": n, "name": f"n{n}"}]) for n in (1, 2))
    table.create(add(first), info={"inCommitTimestamp": stamps[0]})
    table.commit(add(second), info={"inCommitTimestamp": stamps[1]})
    table.commit(remove(first), operation="DELETE", info={"inCommitTimestamp": stamps[2]})
    for version in table.versions:
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", EPOCH + MINUTE * (100 - version))
    publish(case, table)
    changes = [
        ("insert", 0, first.rows[0], stamps[0]),
        ("insert", 1, second.rows[0], stamps[1]),
        ("delete", 2, first.rows[0], stamps[2]),
    ]
    _ask(case, table, changes)


@ACTIONS.case("in-commit-times-from-mid-life", "CDC-015 CDC-016 CDC-017 ICT-015")
def _mid_life(case: CaseWriter) -> None:
    """The feed gives file times up to enablement and stamps from there."""
    table = GoldenTable.of(case, PAIR, protocol=writer_protocol(_FEED), properties=FEED)
    enabled = EPOCH + 100 * MINUTE
    times = [EPOCH, EPOCH + MINUTE, enabled, enabled + MINUTE]
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(len(times))]
    table.create(add(files[0]))
    table.commit(add(files[1]))
    table.protocol = dict(_STAMPED)
    table.properties |= {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(enabled),
    }
    actions = [table.protocol_action(), table.metadata(), add(files[2])]
    table.commit(*actions, info={"inCommitTimestamp": times[2]})
    table.commit(add(files[3]), info={"inCommitTimestamp": times[3]})
    for version in table.versions:
        time = times[version] if version < 2 else EPOCH - 50 * MINUTE + version
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", time)
    publish(case, table)
    _ask(case, table, [("insert", v, files[v].rows[0], time) for v, time in enumerate(times)])


@ACTIONS.case("file-times-beside-commit-info", "CDC-015 CDC-017 CINFO-003")
def _other_clocks(case: CaseWriter) -> None:
    """The feed gives file times, whatever the writers say of the time."""
    table = GoldenTable.of(case, PAIR, protocol=writer_protocol(_FEED), properties=FEED)
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(add(files[0]), info={"timestamp": EPOCH + 50 * MINUTE})
    table.commit(add(files[1]), info={"timestamp": 7})
    table.commit(add(files[2]), with_info=False)
    publish_timed(case, table)
    _ask(
        case,
        table,
        [("insert", v, file.rows[0], EPOCH + MINUTE * v) for v, file in enumerate(files)],
    )
