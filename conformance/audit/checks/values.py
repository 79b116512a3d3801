"""Checks of the partition values and statistics that file actions carry.

Serves "Partition Value Serialization", "Per-file Statistics" and "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import schemas
from conformance.audit.checks.commits import line_findings
from conformance.audit.findings import Findings, Severity, check, finding, unchecked
from conformance.audit.grammar.partition_text import TEXT_REQUIREMENTS, fault_of
from conformance.audit.read.layout import Layout
from conformance.audit.read.raw import Line, parse_json, parse_object
from conformance.audit.read.state import dv_id, file_key
from conformance.audit.screens import broken_statistics, by_partition_values
from conformance.audit.subjects import Step

VALUELESS: Final = ("WCON-002", "ADD-005")
"""What a live file without a value for a partition column breaks."""


def statistics_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Parse the statistics of a file action; ``None`` when it has none that are an object."""
    return parse_object(body.get("stats"), exact=True)


def _partition_values(step: Step) -> Findings:
    for line in step.of("add", "cdc", "remove"):
        values = line.body.get("partitionValues")
        if not isinstance(values, dict) or step.new.schema is None:
            continue
        # A remove may belong to a metadata that the same commit replaces.
        layouts = (step.new, step.old) if line.action == "remove" else (step.new,)
        fitting = [x for x in layouts if set(values) == set(x.partition_columns)]
        if fitting:
            yield from min((list(_typed(line, values, layout)) for layout in fitting), key=len)
        elif line.action != "remove" or values:
            yield from _keys(line, values, step.new)


@check(
    "add",
    *VALUELESS,
    "CDC-007 CM-016 PART-004",
    *TEXT_REQUIREMENTS.values(),
    screen=by_partition_values(_partition_values),
)
def partition_values(step: Step) -> Findings:
    """Report partition values that are missing, excess or not of their column's type."""
    return _partition_values(step)


def _keys(line: Line, values: Mapping[str, Any], layout: Layout) -> Findings:
    wanted = set(layout.partition_columns)
    by_name = ("CM-016",) if wanted and layout.mode != "none" else ()
    for name in sorted(wanted - set(values)):
        message = f"{line.action} has no value for partition column {name}"
        # The clause speaks of the files in the table, and a removed one has left it.
        severity: Severity | None = "warning" if line.action == "remove" else None
        for requirement in ("CDC-007",) if line.action == "cdc" else VALUELESS:
            yield finding(requirement, line.place, message, severity=severity)
    for name in sorted(set(values) - wanted):
        logical = layout.by_path.get((name,))
        mapped = logical is not None and logical.physical[-1] in wanted
        message = f"{line.action} has a value for {name}, which is no partition column"
        if mapped:
            message = f"{line.action} keys a partition value by {name}, not by its physical name"
        requirement = "CDC-007" if line.action == "cdc" else "ADD-005"
        for each in ("CM-016",) if mapped else (requirement, *by_name):
            yield finding(each, line.place, message)


def _typed(line: Line, values: Mapping[str, Any], layout: Layout) -> Findings:
    for name, column in layout.partition_columns.items():
        text = values.get(name)
        if column is None or not isinstance(text, str) or not isinstance(column.type, str):
            continue
        fault = fault_of(text, column.type)
        # A file that is older than a change of the type keeps its text.
        if fault is not None and all(fault_of(text, each) for _, each, _ in column.type_changes):
            requirement = TEXT_REQUIREMENTS.get(column.type, "PART-004")
            message = f"{line.action}: {text[:80]!r} of partition column {name} {fault}"
            # Which form a writer takes is free, not whether it is one of them.
            yield finding(requirement, line.place, message, severity="error")


@check(
    "add",
    "ADD-010 STAT-002 DVDESC-010",
    *schemas.requirements("table/statistics"),
    screen=broken_statistics,
)
def valid_statistics(step: Step) -> Findings:
    """Report statistics that are not JSON, or not in the statistics format."""
    documents = []
    for line in step.of("add"):
        text = line.body.get("stats")
        if not isinstance(text, str):
            continue
        parsed = parse_json(text, exact=True)
        if parsed.limit is not None:
            yield unchecked("ADD-010", line.place, parsed.limit)
            continue
        if parsed.fault is not None:
            message = f"stats is not JSON: {parsed.fault}"
            yield finding("ADD-010", line.place, message, severity="error")
            continue
        documents.append((parsed.value, line.place))
        if isinstance(parsed.value, dict):
            yield from _row_counts(line, parsed.value)
    yield from line_findings("table/statistics", documents, "STAT-007", "stats")


def _row_counts(line: Line, stats: Mapping[str, Any]) -> Findings:
    counted = type(stats.get("numRecords")) is int
    if dv_id(line.body) is not None and not counted:
        message = "a file with a deletion vector has no numRecords in its stats"
        yield finding("STAT-002", line.place, message)
    vector = line.body.get("deletionVector")
    deleted = vector.get("cardinality") if isinstance(vector, dict) else None
    if counted and type(deleted) is int and deleted > stats["numRecords"]:
        message = f"a deletion vector of {deleted} rows on a file of {stats['numRecords']}"
        yield finding("DVDESC-010", line.place, message)


@check("commit", "ICE1-009 ICE2-016")
def compatible_files_are_counted(step: Step) -> Findings:
    """Report files without row counts where Iceberg compatibility wants them."""
    for feature, requirement in (("icebergCompatV1", "ICE1-009"), ("icebergCompatV2", "ICE2-016")):
        if not step.new.active(feature):
            continue
        for line in step.of("add"):
            if type((statistics_of(line.body) or {}).get("numRecords")) is not int:
                message = f"{feature} is active: the file has no numRecords"
                yield finding(requirement, line.place, message)


@check("commit", *VALUELESS)
def partitions_stay(step: Step) -> Findings:
    """Report live files whose partition values do not go with partition columns that change."""
    old, new = step.old.partition_columns.keys(), step.new.partition_columns.keys()
    if old == new or step.new.schema is None or step.before.metadata is None:
        return
    here = {file_key(line.body) for line in step.of("add", "remove")}
    for key, body in step.before.adds.items():
        values = body.get("partitionValues")
        if key not in here and isinstance(values, dict):
            for name in sorted(new - values.keys()):
                message = f"{key[0]} stays, and has no value for the partition column {name}"
                yield finding("WCON-002", step.place, message)
            for name in sorted(values.keys() - new):
                message = f"{key[0]} stays, and has a value for {name}, no partition column now"
                yield finding("ADD-005", step.place, message)
