"""Checks of statistics against the schema and the partition values, without the data file.

Serves "Per-file Statistics" and "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from conformance.audit.checks.values import statistics_of
from conformance.audit.findings import Findings, Severity, check, finding
from conformance.audit.grammar.types import BITS, decimal_of
from conformance.audit.read.layout import Column, Layout
from conformance.audit.read.raw import Line
from conformance.audit.read.state import file_key
from conformance.audit.screens import broken_statistics
from conformance.audit.subjects import Step, VersionView

_BOUNDS: Final = ("minValues", "maxValues")
_KINDS: Final = (*_BOUNDS, "nullCount")
_TEXTS: Final = frozenset({"string", "binary", "date", "timestamp", "timestamp_ntz", "variant"})
_NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity", "inf", "-inf", "nan"})


def _leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _leaves(child, (*path, key))
    else:
        yield path, node


@check("add", "CM-017 STAT-007", screen=broken_statistics)
def statistics_name_columns(step: Step) -> Findings:
    """Report statistics of columns that the schema does not have, or shaped otherwise."""
    columns = {column.physical: column for column in step.new.columns}
    logical = {column.path for column in step.new.columns}
    if not columns:
        return
    for line in step.of("add"):
        stats = statistics_of(line.body) or {}
        unknown: dict[tuple[str, ...], None] = {}
        for kind in _KINDS:
            for path, value in _leaves(stats.get(kind)):
                if path and value is not None and path not in unknown:
                    unknown.update(dict.fromkeys([path] if path not in columns else []))
                    yield from _named(step.new, line, path, columns, logical)
        if unknown and step.new.mode != "none" and _strange(step, line, stats, columns):
            message = f"stats are keyed by {next(iter(unknown))[0]}, and by no physical name"
            yield finding("CM-017", line.place, message, "use the physical names")


def _strange(
    step: Step, line: Line, stats: Mapping[str, Any], columns: Mapping[tuple[str, ...], Column]
) -> bool:
    """Return whether a new file has statistics, and none of a column that there is or was."""
    key = file_key(line.body)
    if key is None or not step.before.known or key[0] in step.before.seen:
        return False
    names = {name for kind in _KINDS if isinstance(stats.get(kind), dict) for name in stats[kind]}
    held = {path[0] for path in columns} | {column.physical[0] for column in step.old.columns}
    logical = {column.path[0] for column in step.new.columns}
    return not names & (held | logical)


def _named(
    layout: Layout,
    line: Line,
    path: tuple[str, ...],
    columns: Mapping[tuple[str, ...], Column],
    logical: set[tuple[str, ...]],
) -> Findings:
    name, column = ".".join(path), columns.get(path)
    flat = tuple(name.split("."))
    if column is not None:
        nested = column.type.get("type") if isinstance(column.type, Mapping) else None
        if nested == "struct" and column.reachable:
            message = f"stats of the struct {name} do not go down to its fields"
            yield finding("STAT-007", line.place, message)
    elif path in logical:
        message = f"stats of {name} are keyed by its logical name"
        yield finding("CM-017", line.place, message, "use the physical name")
    elif flat in columns or _below_a_leaf(columns, path):
        message = f"stats of {name} do not have the nesting of the schema"
        yield finding("STAT-007", line.place, message, "nest objects as the schema nests structs")
    else:
        message = f"stats of {name}, which is no column of the schema"
        # With column mapping a column can be dropped and its statistics stay.
        severity: Severity = "warning" if layout.mode == "none" else "info"
        yield finding("STAT-007", line.place, message, severity=severity)


def _below_a_leaf(columns: Mapping[tuple[str, ...], Column], path: tuple[str, ...]) -> bool:
    above = (columns.get(path[:depth]) for depth in range(len(path)))
    return any(column is not None and isinstance(column.type, str) for column in above)


@check("add", "STAT-012 VAR-010", screen=broken_statistics)
def bounds_have_types(step: Step) -> Findings:
    """Report bounds that are of another kind than their columns."""
    types = {column.physical: column for column in step.new.columns}
    for line in step.of("add"):
        stats = statistics_of(line.body) or {}
        for kind in _BOUNDS:
            for path, value in _leaves(stats.get(kind)):
                column = types.get(path)
                declared = column.type if column else None
                if isinstance(declared, str) and value is not None and not _fits(value, declared):
                    message = (
                        f"{kind} of {'.'.join(path)} is {value!r}, no value of type {declared}"
                    )
                    requirement = "VAR-010" if declared == "variant" else "STAT-012"
                    yield finding(requirement, line.place, message)


def _fits(value: Any, declared: str) -> bool:
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if declared in BITS:
        return number and value == int(value)
    if declared in ("float", "double"):
        return number or (isinstance(value, str) and value in _NOT_FINITE)
    if declared in _TEXTS:
        return isinstance(value, str)
    if declared == "boolean":
        return isinstance(value, bool)
    return number if decimal_of(declared) else True


@check("add", "STAT-008", screen=broken_statistics)
def partition_statistics(step: Step) -> Findings:
    """Report counts of nulls of partition columns that do not go with the partition value."""
    for line in step.of("add"):
        values, stats = line.body.get("partitionValues"), statistics_of(line.body) or {}
        counts, rows = stats.get("nullCount"), stats.get("numRecords")
        if not isinstance(values, dict) or not isinstance(counts, dict) or type(rows) is not int:
            continue
        for name, column in step.new.partition_columns.items():
            stated, text = counts.get(name), values.get(name)
            if column is None or type(stated) is not int or text == "":
                continue
            right = rows if text is None else 0
            if stated != right:
                message = f"nullCount of partition column {name} is {stated}, and not {right}"
                yield finding("STAT-008", line.place, message)


@check("version", "SCH-025")
def required_partitions(view: VersionView) -> Findings:
    """Report null values of partition columns that must not be null."""
    required = {
        name: column
        for name, column in view.layout.partition_columns.items()
        if column is not None and not column.nullable
    }
    for (path, _), body in view.state.adds.items() if required else ():
        values = body.get("partitionValues")
        for name, column in required.items():
            text = values.get(name) if isinstance(values, dict) else None
            # Whether empty text is null is contested for texts.
            if text is None or (text == "" and column.type not in ("string", "binary")):
                message = f"partition column {column.name} is not nullable, and its value is null"
                yield finding("SCH-025", path, message)
