"""Assign fresh row ids to the files of a commit (section Row Tracking, writer requirements)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from reference_impl.errors import InvalidMetadata, InvalidTableError
from reference_impl.model.actions import DomainMetadata
from reference_impl.model.column_mapping import Mode, physical_name
from reference_impl.model.ranges import INT64
from reference_impl.model.wire import json_text
from reference_impl.scan.row_tracking import COMMIT_VERSION_PROPERTY, ROW_ID_PROPERTY
from reference_impl.types.model import Struct
from reference_impl.untrusted import load_json
from reference_impl.write.statistics import num_records_of

ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
ROW_TRACKING_SUSPENDED: Final = "delta.rowTrackingSuspended"
"""Property under which writers assign no row ids, though the feature is supported."""

_KEYS: Final = ("rowIdHighWaterMark", "highWaterMark")
"""The key that engines write, and the one of the text of 2025."""

_NO_ROW_IDS: Final = -1
"""The high-water mark of a table without row ids."""


def materialized_columns(
    configuration: Mapping[str, str], schema: Struct, mode: Mode
) -> tuple[str, str]:
    """Return the names of the columns that keep row ids and commit versions in data files.

    Raises:
        InvalidMetadata: row tracking is enabled and a name is missing, the other's, or that of
            a column of the table.
    """
    # Obeys RT-015 RT-016 RT-021.
    names = (configuration.get(ROW_ID_PROPERTY), configuration.get(COMMIT_VERSION_PROPERTY))
    if not (names[0] and names[1]):
        raise _refused("a materialized column has no name", "RT-042")
    columns = {f.name.lower() for f in schema.fields}
    physical = {physical_name(f, mode).lower() for f in schema.fields}
    for name, other_columns, requirement in (
        (names[1], {names[0].lower()}, "RT-042"),
        *((name, columns, "RT-043") for name in names),
        *((name, physical, "RT-044") for name in names),
    ):
        if str(name).lower() in other_columns:
            raise _refused(f"{str(name)[:80]!r} names another column as well", requirement)
    return names[0], names[1]


def _refused(message: str, requirement: str) -> InvalidMetadata:
    return InvalidMetadata(
        f"row tracking is enabled, and {message}", stage="commit", requirement=requirement
    )


def high_water_mark(domains: Mapping[str, DomainMetadata]) -> int:
    """Return the highest row id that was ever assigned; -1 where none was.

    Raises:
        InvalidTableError: the domain of row tracking does not have it.
    """
    # Obeys RT-032 RT-037.
    held = domains.get(ROW_TRACKING_DOMAIN)
    if held is None:
        return _NO_ROW_IDS
    try:
        document = load_json(held.configuration)
    except ValueError:
        document = None
    if isinstance(document, Mapping):
        for key in _KEYS:
            mark: Any = document.get(key)
            if mark in INT64 and mark >= _NO_ROW_IDS:
                return int(mark)
    raise InvalidTableError(
        f"the domain {ROW_TRACKING_DOMAIN} has no high-water mark",
        action="domainMetadata",
        stage="commit",
        requirement="RT-006",
    )


def assign_row_ids(
    adds: Sequence[dict[str, Any]], domains: Mapping[str, DomainMetadata], version: int
) -> tuple[list[dict[str, Any]], DomainMetadata | None]:
    """Assign fresh row ids to files without; return the files, and the domain with the new mark.

    A file that has its ids already keeps them.

    Args:
        adds: bodies of add actions with ``numRecords``.
        domains: the metadata domains so far.
        version: the version that they are committed in.

    Raises:
        RangeExhausted: the ids that are left do not suffice.
    """
    # Obeys RT-002 RT-013 RT-028 RT-029 RT-036 RT-039 RT-040 RT-033 RT-034 RT-035.
    start = mark = high_water_mark(domains)
    out = []
    for body in adds:
        fresh = dict(body)
        if fresh.get("baseRowId") is None:
            fresh["baseRowId"] = mark + 1
            mark += cast("int", num_records_of(fresh["stats"]))
        if fresh.get("defaultRowCommitVersion") is None:
            fresh["defaultRowCommitVersion"] = version
        out.append(fresh)
    if mark == start:
        return out, None
    INT64.require(
        mark, "the high-water mark of row ids", action="domainMetadata", requirement="RT-024"
    )
    return out, DomainMetadata(ROW_TRACKING_DOMAIN, json_text({_KEYS[0]: mark}), removed=False)
