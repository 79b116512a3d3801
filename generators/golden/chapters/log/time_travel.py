"""Cases of commit timestamps: history, travel by time, in-commit timestamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, publish, publish_cut, publish_timed
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    writer_protocol,
)
from generators.materialise.log.files import LOG_DIRECTORY, commit_name

PROVENANCE = Chapter("commit-provenance-information")
TIMESTAMPS = Chapter("in-commit-timestamps", since="2025")

_PROTOCOL = writer_protocol(["inCommitTimestamp"])


def _text(milliseconds: int) -> str:
    """Return the spelling of an instant in a spec's ``timestamp``."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def travel(case: CaseWriter, table: GoldenTable, slug: str, instant: int, version: int) -> None:
    """Write that the newest version not after an instant is ``version``."""
    case.read(
        f"at-{slug}",
        table.schema_at(version),
        table.rows(version),
        title=f"That instant belongs to version {version}",
        timestamp=_text(instant),
    )


def _between(case: CaseWriter, table: GoldenTable, version: int, instant: int) -> None:
    """Write what an instant after a version and before the next one belongs to.

    The text says which versions an instant may choose from, not that a table has a future: after
    the newest version some readers give that version and some refuse.
    """
    slug = f"v{version}-later"
    if version != table.version:
        travel(case, table, slug, instant, version)
        return
    refusal = Refusal("not_found", "load", "SNAP-002", code="DELTA_TIMESTAMP_GREATER_THAN_COMMIT")
    case.contest_read(
        "The newest version, or nothing, is read after its time",
        table.schema_at(version),
        Accepted("newest", "the newest version not after the instant", rows=table.rows()),
        Accepted("refused", "the table has no version of that time yet", refusal=refusal),
        slug=f"at-{slug}",
        timestamp=_text(instant),
    )


def _history(
    case: CaseWriter, table: GoldenTable, times: Mapping[int, int], limit: int | None = None
) -> None:
    commits = [
        {
            "version": version,
            "timestamp": times[version],
            "operation": (table.infos[version] or {}).get("operation"),
        }
        for version in reversed(table.versions)
    ]
    case.spec(
        "history",
        "history-all" if limit is None else f"history-{limit}",
        title="The commits are listed newest first",
        expected={"commits": commits[:limit]},
        parameters={} if limit is None else {"limit": limit},
    )


def _plain(case: CaseWriter, versions: int, **options: Any) -> GoldenTable:
    table = GoldenTable.of(case, PAIR, **options)
    for number in range(versions):
        action = add(table.file([{"id": number, "name": f"v{number}"}]))
        if number == 0:
            table.create(action)
        else:
            table.commit(action, operation=("WRITE", "MERGE", "OPTIMIZE")[number % 3])
    return table


@PROVENANCE.case("file-times", "CINFO-001 CINFO-003 ICT-015")
def _file_times(case: CaseWriter) -> None:
    """Without in-commit timestamps file times date the commits."""
    table = _plain(case, 4)
    publish_timed(case, table)
    for version in table.versions:
        at = EPOCH + MINUTE * version
        travel(case, table, f"v{version}", at, version)
        _between(case, table, version, at + MINUTE - 1)
    times = {version: EPOCH + MINUTE * version for version in table.versions}
    _history(case, table, times)
    _history(case, table, times, 2)
    refusal = Refusal(
        "not_found", "load", "ICT-015", code="DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"
    )
    before = _text(EPOCH - 1)
    case.contest_read(
        "There was no table before version 0",
        PAIR,
        Accepted("refused", "Spark: there was no table before version 0", refusal=refusal),
        Accepted("first", "the first version is the nearest one", rows=table.rows(0)),
        slug="at-before",
        timestamp=before,
    )


@PROVENANCE.case("file-times-beside-commit-info", "CINFO-001 CINFO-003 ICT-015")
def _other_clocks(case: CaseWriter) -> None:
    """File times date the commits, whatever their writers say of the time."""
    table = GoldenTable.of(case, PAIR)
    table.create(info={"timestamp": EPOCH + 50 * MINUTE})
    for number, clock in enumerate((7, 90, 0), 1):
        file = table.file([{"id": number, "name": f"v{number}"}])
        table.commit(add(file), info={"timestamp": EPOCH + clock * MINUTE})
    publish_timed(case, table)
    for version in table.versions:
        case.judged[f"at-v{version}"] = "ICT-015"
        travel(case, table, f"v{version}", EPOCH + MINUTE * version, version)
    _history(case, table, {version: EPOCH + MINUTE * version for version in table.versions})


def stamped(
    case: CaseWriter,
    stamps: Mapping[int, int | None],
    *,
    properties: Mapping[str, str],
    enabled_at: int = 0,
    readers: Sequence[str] = (),
) -> GoldenTable:
    """Return a table whose commits have these in-commit timestamps, in milliseconds.

    They are enabled from version ``enabled_at`` on.
    """
    feature = enabled_at == 0
    protocol = feature_protocol(readers, ["inCommitTimestamp"]) if readers else _PROTOCOL
    table = GoldenTable.of(
        case,
        PAIR,
        protocol=protocol if feature else legacy_protocol(1, 2),
        properties=properties if feature else {},
    )
    for version, stamp in stamps.items():
        info = {} if stamp is None else {"inCommitTimestamp": stamp}
        actions = [add(table.file([{"id": version, "name": f"v{version}"}]))]
        if version == 0:
            table.create(*actions, info=info)
            continue
        if version == enabled_at:
            table.protocol = dict(protocol)
            table.properties = dict(properties)
            actions = [table.protocol_action(), table.metadata(), *actions]
        table.commit(*actions, info=info)
    return table


_ENABLED = {"delta.enableInCommitTimestamps": "true"}


@TIMESTAMPS.case("file-times-contradict", "ICT-004 ICT-007 ICT-009 ICT-013")
def _contradict(case: CaseWriter) -> None:
    """In-commit timestamps count, file times do not."""
    stamps: dict[int, int | None] = {v: EPOCH + 10 * MINUTE * v for v in range(4)}
    table = stamped(case, stamps, properties=_ENABLED)
    for version in table.versions:
        # File times run backwards.
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", EPOCH + MINUTE * (100 - version))
    publish(case, table)
    for version in table.versions:
        at = EPOCH + 10 * MINUTE * version
        travel(case, table, f"v{version}", at, version)
        _between(case, table, version, at + 10 * MINUTE - 1)
    _history(case, table, {v: EPOCH + 10 * MINUTE * v for v in table.versions})


@TIMESTAMPS.case("enabled-in-mid-life", "ICT-010 ICT-011 ICT-014 ICT-015 ICT-016 ICT-017")
def _mid_life(case: CaseWriter) -> None:
    """Before enablement file times count, after it the stamps."""
    enabled = EPOCH + 100 * MINUTE
    properties = {
        **_ENABLED,
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(enabled),
    }
    stamps = {0: None, 1: None, 2: enabled, 3: enabled + MINUTE, 4: enabled + 2 * MINUTE}
    table = stamped(case, stamps, properties=properties, enabled_at=2)
    for version in table.versions:
        # The file times of stamped commits are far in the past.
        time = EPOCH + MINUTE * version if version < 2 else EPOCH - 50 * MINUTE + version
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", time)
    publish(case, table)
    times = {0: EPOCH, 1: EPOCH + MINUTE}
    times |= {version: stamp for version, stamp in stamps.items() if stamp is not None}
    for version, time in times.items():
        case.judged[f"at-v{version}"] = "ICT-017" if version < 2 else "ICT-016"
        travel(case, table, f"v{version}", time, version)
    case.judged["at-just-before"] = "ICT-017"
    travel(case, table, "just-before", enabled - 1, 1)
    _history(case, table, times)


@TIMESTAMPS.case("enabled-in-a-source", "ICT-016")
def _in_a_source(case: CaseWriter) -> None:
    """A clone says when its source enabled them, before any commit."""
    properties = {
        **_ENABLED,
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(EPOCH - 100 * MINUTE),
    }
    stamps: dict[int, int | None] = {v: EPOCH + 10 * MINUTE * v for v in range(4)}
    table = stamped(case, stamps, properties=properties)
    for version in table.versions:
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", EPOCH + 10 * MINUTE * version)
    publish(case, table)
    refusal = Refusal(
        "not_found", "load", "ICT-016", code="DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"
    )
    for version in table.versions:
        at = EPOCH + 10 * MINUTE * version + MINUTE
        case.judged[f"at-v{version}-later"] = "ICT-016"
        if version >= 2:
            _between(case, table, version, at)
            continue
        case.contest_read(
            "That instant is before every version that is considered",
            PAIR,
            Accepted("refused", "Spark: only versions from 2 on are considered", refusal=refusal),
            Accepted("own", "every commit has a timestamp of its own", rows=table.rows(version)),
            slug=f"at-v{version}-later",
            timestamp=_text(at),
        )


@TIMESTAMPS.case("small-values", "ICT-007 ICT-013")
def _small(case: CaseWriter) -> None:
    """A timestamp of a few milliseconds is a timestamp."""
    table = stamped(case, {0: 1, 1: 2, 2: 2**31 + 5}, properties=_ENABLED)
    publish(case, table)
    travel(case, table, "v0", 1, 0)
    travel(case, table, "v1", 2**31 + 4, 1)
    travel(case, table, "v2", 2**31 + 5, 2)
    _history(case, table, {0: 1, 1: 2, 2: 2**31 + 5})


@TIMESTAMPS.case("property-off", "ICT-004 ICT-015")
def _off(case: CaseWriter) -> None:
    """Stamps without the property do not count."""
    stamps: dict[int, int | None] = {0: 5, 1: 6, 2: 7}
    table = stamped(case, stamps, properties={"delta.enableInCommitTimestamps": "false"})
    publish_timed(case, table)
    for version in table.versions:
        travel(case, table, f"v{version}", EPOCH + MINUTE * version, version)
    _history(case, table, {v: EPOCH + MINUTE * v for v in table.versions})


@TIMESTAMPS.case("after-checkpoint", "ICT-013 REC-023")
def _after_checkpoint(case: CaseWriter) -> None:
    """Stamps are found behind a checkpoint."""
    stamps: dict[int, int | None] = {v: EPOCH + 10 * MINUTE * v for v in range(6)}
    table = stamped(case, stamps, properties=_ENABLED)
    table.checkpoint(version=3, hint=False)
    publish_cut(case, table, 3)
    for version in (3, 4, 5):
        travel(case, table, f"v{version}", EPOCH + 10 * MINUTE * version, version)


@TIMESTAMPS.case("inside-a-compaction", "ICT-013 COMP-001 COMP-012 REC-023")
def _compacted(case: CaseWriter) -> None:
    """A compaction has no stamps: times belong to the commits."""
    table = stamped(case, {v: EPOCH + 10 * MINUTE * v for v in range(6)}, properties=_ENABLED)
    table.compact_log(1, 4)
    publish(case, table, versions=[2, 4, 5])
    for version in (1, 2, 3, 4):
        case.judged[f"at-v{version}"] = "ICT-013"
        travel(case, table, f"v{version}", EPOCH + 10 * MINUTE * version, version)
    case.judged["history-all"] = "ICT-013"
    _history(case, table, {v: EPOCH + 10 * MINUTE * v for v in table.versions})


@TIMESTAMPS.case("before-the-hint", "ICT-013 CKPT-004 LAST-003")
def _before_the_hint(case: CaseWriter) -> None:
    """A time before the hinted checkpoint is answered without it."""
    # Every clock says the same: file times, stamps and the times of commitInfo.
    table = stamped(case, {v: EPOCH + MINUTE * v for v in range(6)}, properties=_ENABLED)
    table.checkpoint(version=4)
    publish_timed(case, table, versions=[1, 4, 5], log_info={"lastCheckpointVersion": 4})
    for version in (1, 3, 4):
        slug = f"v{version}-later"
        case.judged[f"at-{slug}"] = "ICT-013"
        travel(case, table, slug, EPOCH + MINUTE * version + MINUTE // 2, version)


@TIMESTAMPS.case("plural-name", "ICT-002 ICT-003 TF-002")
def _plural(case: CaseWriter) -> None:
    """The plural of the feature's name is read or refused."""
    protocol = {**_PROTOCOL, "writerFeatures": ["inCommitTimestamps"]}
    table = GoldenTable.of(case, PAIR, protocol=protocol, properties=_ENABLED)
    table.create(add(table.file([{"id": 1, "name": "a"}])), info={"inCommitTimestamp": EPOCH + 7})
    describe(case, table)
    refusal = Refusal("unsupported", "load", "ICT-002")
    case.contest_read(
        "The table is read or refused",
        PAIR,
        Accepted("read", "2025 spells the name in the plural", rows=table.rows()),
        Accepted("refused", "upstream and every engine spell it in the singular", refusal=refusal),
    )
