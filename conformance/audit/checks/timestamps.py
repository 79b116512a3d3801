"""Checks of in-commit timestamps (section In-Commit Timestamps)."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from conformance.audit.columnar.rows import Mask
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.types import LONG_END
from conformance.audit.read.layout import Layout
from conformance.audit.subjects import Step

_PROPERTY: Final = "delta.enableInCommitTimestamps"
_VERSION: Final = "delta.inCommitTimestampEnablementVersion"
_TIMESTAMP: Final = "delta.inCommitTimestampEnablementTimestamp"


def _enabled(layout: Layout) -> bool:
    return layout.active("inCommitTimestamp")


def _stamp(step: Step) -> int | None:
    info = step.commit_info
    value = info.body.get("inCommitTimestamp") if info else None
    return value if type(value) is int and -LONG_END <= value < LONG_END else None


@check("commit", "ICT-005 ICT-006 ICT-007")
def every_commit_has_one(step: Step) -> Findings:
    """Report commits without a first commitInfo that holds the timestamp."""
    if not _enabled(step.new):
        return
    if step.commit_info is None:
        yield finding("ICT-005", step.place, "in-commit timestamps are on: commitInfo is missing")
        return
    if step.commit.content.first is not step.commit_info:
        message = "in-commit timestamps are on: commitInfo is not the first action"
        yield finding("ICT-006", step.commit_info.place, message)
    if _stamp(step) is None:
        message = "in-commit timestamps are on: commitInfo has no inCommitTimestamp that is a long"
        yield finding("ICT-007", step.commit_info.place, message)


@check("commit", "ICT-007")
def in_commit_timestamps_are_milliseconds(step: Step) -> Findings:
    """Report timestamps that are those of their commit in another unit."""
    info, stamp = step.commit_info, _stamp(step)
    time = info.body.get("timestamp") if info else None
    if not _enabled(step.new) or stamp is None or type(time) is not int:
        return
    if not _MIN_TIME <= time < _TIME_END:
        return  # provenance information is free, its unit is its own
    if stamp == (step.before.timestamp or 0) + 1:
        return  # it follows one that is wrong already
    unit = _unit(stamp, time)
    if unit:
        message = f"inCommitTimestamp {stamp} is in {unit}, and not in milliseconds"
        yield finding("ICT-007", step.place, message)


def _unit(stamp: int, time: int) -> str | None:
    """Return the unit in which a number is a time in milliseconds, where that is another one."""
    for unit, value in (
        ("seconds", stamp * 1000),
        ("microseconds", stamp // 1000),
        ("nanoseconds", stamp // 1_000_000),
    ):
        if abs(value - time) <= _MAX_COMMIT_MILLIS:
            return unit
    return None


_MIN_TIME: Final = 1_000_000_000_000
"""A time in 2001, which no table is older than."""

_TIME_END: Final = 100_000_000_000_000
"""A time in 5138, which no table is of: a larger number is in another unit."""

_MAX_COMMIT_MILLIS: Final = 3_600_000
"""Milliseconds by which a commit may take longer than the provenance information says."""

_FILE_TIMES: Final = (
    ("add", "modificationTime", "ADD-007"),
    ("remove", "deletionTimestamp", "REM-003"),
)
"""Times of file actions, with the requirement that says their unit."""


def _odd_times(step: Step) -> Mask:
    """Return a mask of the rows with an implausible modification or deletion time."""
    rows = step.rows
    found = np.zeros(len(rows), np.bool_)
    for _, name, _ in _FILE_TIMES:
        times = rows.columns[name].fill_null(_MIN_TIME).to_numpy()
        found |= (times < _MIN_TIME) | (times >= _TIME_END)
    return found


@check("commit", "ADD-007 REM-003", screen=_odd_times)
def files_are_dated_in_milliseconds(step: Step) -> Findings:
    """Report times of files that are those of their commit in another unit."""
    time = step.commit_info.body.get("timestamp") if step.commit_info else None
    if type(time) is not int or not _MIN_TIME <= time < _TIME_END:
        return
    for action, name, requirement in _FILE_TIMES:
        for line in step.of(action):
            stamp = line.body.get(name)
            unit = _unit(stamp, time) if type(stamp) is int else None
            if unit:
                message = f"{name} {stamp} is in {unit}, and not in milliseconds"
                yield finding(requirement, line.place, message, severity="error")


@check("commit", "ICT-009")
def in_commit_timestamps_rise(step: Step) -> Findings:
    """Report timestamps that do not rise strictly."""
    stamp, before = _stamp(step), step.before.timestamp
    if not (_enabled(step.new) and _enabled(step.old)) or stamp is None:
        return
    if before is None:
        yield from _rise_above_the_first(step, stamp)
    elif stamp <= before:
        message = f"inCommitTimestamp {stamp} does not rise above {before} of the version before"
        yield finding("ICT-009", step.place, message)


def _rise_above_the_first(step: Step, stamp: int) -> Findings:
    """Compare a timestamp with that of the enabling commit, where the commit before it is gone."""
    version, recorded = (step.old.properties.get(key, "") for key in (_VERSION, _TIMESTAMP))
    if not (_NUMBER.fullmatch(version) and _NUMBER.fullmatch(recorded)):
        return
    # Every commit since then is at least a millisecond later than the one before it.
    passed = step.version - 1 - int(version)
    if passed >= 0 and stamp <= int(recorded) + passed:
        message = (
            f"inCommitTimestamp {stamp} of version {step.version} does not rise above {recorded}, "
            f"that of version {version}"
        )
        yield finding("ICT-009", step.place, message)


_NUMBER: Final = re.compile("[0-9]{1,19}")


@check("commit", "ICT-010 ICT-011")
def enablement_is_recorded(step: Step) -> Findings:
    """Report a table that does not say, or says wrongly, when it turned timestamps on."""
    if not step.sets_metadata or not _enabled(step.new) or not step.before.known:
        return
    since, stamp, known = step.version, _stamp(step), True
    if _enabled(step.old) and step.before.stamped is not None:
        since, stamp, known = step.before.stamped
    if not known:
        return  # the commit that did it is gone
    version, recorded = (step.new.properties.get(key) for key in (_VERSION, _TIMESTAMP))
    needed = since > 0
    if version != str(since) and (needed or version is not None):
        message = f"{_VERSION} is {version}, but timestamps begin with version {since}"
        yield finding("ICT-010", step.place, message)
    if stamp is not None and recorded != str(stamp) and (needed or recorded is not None):
        message = f"{_TIMESTAMP} is {recorded}, but inCommitTimestamp of {since} is {stamp}"
        yield finding("ICT-011", step.place, message)


@check("commit", "ICT-001 ICT-003 ICT-004")
def enablement_enables(step: Step) -> Findings:
    """Report a commit that records that it turns timestamps on, and does not do so.

    A property without its feature is without effect; one that is recorded to have one is not.
    """
    # Of another version the record may be left of when they were on.
    if not step.sets_metadata or step.new.properties.get(_VERSION) != str(step.version):
        return
    recorded = f"{_VERSION} is {step.version}, this version"
    for lacking, requirement, message in (
        (not step.new.is_true(_PROPERTY), "ICT-004", f"{_PROPERTY} is not true"),
        ("inCommitTimestamp" not in step.new.features, "ICT-003", "the feature is not supported"),
        (step.new.writer < _WRITER, "ICT-001", f"the writer version is {step.new.writer}"),
    ):
        if lacking:
            yield finding(requirement, step.place, f"{recorded}, and {message}")


_WRITER: Final = 7
"""The writer version of features, of which in-commit timestamps are one."""


@check("definition", "ICT-010 ICT-011")
def enablement_is_whole(step: Step) -> Findings:
    """Report a checkpoint with one property of the enablement of in-commit timestamps alone.

    Or whose enablement version is after its own. The commits before it are gone.
    """
    if step.before.known or not step.sets_metadata or not _enabled(step.new):
        return
    version, recorded = (step.new.properties.get(key) for key in (_VERSION, _TIMESTAMP))
    if version is None and recorded is not None:
        yield finding("ICT-010", step.place, f"{_TIMESTAMP} is set, and {_VERSION} is not")
    if recorded is None and version is not None:
        yield finding("ICT-011", step.place, f"{_VERSION} is set, and {_TIMESTAMP} is not")
    if version is not None and version.isdecimal() and int(version[:20]) > step.version:
        message = f"{_VERSION} is {version}, which is after version {step.version}"
        yield finding("ICT-010", step.place, message)
