"""Checks of the partition values and statistics that file actions carry.

Serves "Partition Value Serialization", "Per-file Statistics" and "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import schemas
from conformance.audit.checks.commits import line_findings
from conformance.audit.findings import Check, Findings, Severity, finding, unchecked
from conformance.audit.grammar.partition_text import TEXT_REQUIREMENTS, fault_of
from conformance.audit.read.layout import Layout
from conformance.audit.read.raw import Line, parse_json
from conformance.audit.read.state import dv_id
from conformance.audit.screens import broken_statistics, by_partition_values
from conformance.audit.subjects import Step

__all__ = ["ADD_CHECKS", "VALUE_CHECKS", "statistics_of"]


def statistics_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Parse the statistics of a file action; ``None`` when it has none that are an object."""
    text = body.get("stats")
    value = parse_json(text, exact=True).value if isinstance(text, str) else None
    return value if isinstance(value, dict) else None


def partition_values(step: Step) -> Findings:
    """Report partition values that are missing, excess or not of their column's type."""
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


def _keys(line: Line, values: Mapping[str, Any], layout: Layout) -> Findings:
    wanted = set(layout.partition_columns)
    for name in sorted(wanted - set(values)):
        message = f"{line.action} has no value for partition column {name}"
        # The clause speaks of the files in the table, and a removed one has left it.
        severity: Severity | None = "warning" if line.action == "remove" else None
        yield finding("WCON-002", line.place, message, severity=severity)
    for name in sorted(set(values) - wanted):
        logical = layout.by_path.get((name,))
        mapped = logical is not None and logical.physical[-1] in wanted
        message = f"{line.action} has a value for {name}, which is no partition column"
        if mapped:
            message = f"{line.action} keys a partition value by {name}, not by its physical name"
        yield finding("CM-016" if mapped else "ADD-005", line.place, message)


def _typed(line: Line, values: Mapping[str, Any], layout: Layout) -> Findings:
    for name, column in layout.partition_columns.items():
        text = values.get(name)
        if column is None or not isinstance(text, str) or not isinstance(column.type, str):
            continue
        fault = fault_of(text, column.type)
        # A file that is older than a change of the type keeps its text.
        if fault is not None and all(fault_of(text, former) for former in column.former):
            requirement = TEXT_REQUIREMENTS.get(column.type, "PART-004")
            message = f"{line.action}: {text[:80]!r} of partition column {name} {fault}"
            # Which form a writer takes is free, not whether it is one of them.
            yield finding(requirement, line.place, message, severity="error")


def valid_statistics(step: Step) -> Findings:
    """Report statistics that are no JSON, or not of the shape of statistics."""
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


def compatible_files_are_counted(step: Step) -> Findings:
    """Report files without row counts where Iceberg compatibility wants them."""
    for name, feature, requirement in (
        ("delta.enableIcebergCompatV1", "icebergCompatV1", "ICE1-009"),
        ("delta.enableIcebergCompatV2", "icebergCompatV2", "ICE2-016"),
    ):
        if not step.new.active(feature, name):
            continue
        for line in step.of("add"):
            if type((statistics_of(line.body) or {}).get("numRecords")) is not int:
                message = f"{feature} is active: the file has no numRecords"
                yield finding(requirement, line.place, message)


ADD_CHECKS: Final = (
    Check(
        partition_values,
        ("WCON-002", "ADD-005", "CM-016", "PART-004", *TEXT_REQUIREMENTS.values()),
        by_partition_values(partition_values),
    ),
    Check(
        valid_statistics,
        ("ADD-010", "STAT-002", "DVDESC-010", *schemas.requirements("table/statistics")),
        broken_statistics,
    ),
)
"""Checks of one action, in a commit or in a checkpoint whose commits are gone."""

VALUE_CHECKS: Final = (
    *ADD_CHECKS,
    Check(compatible_files_are_counted, ("ICE1-009", "ICE2-016")),
)
"""Checks of what file actions say about their files, commit by commit."""
