"""Checks of the partition values and statistics that file actions carry.

Covers "Partition Value Serialization", "Per-file Statistics" and "Column Mapping".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import schemas
from conformance.audit.checks.commits import line_findings
from conformance.audit.findings import Findings, Severity, check, finding, unchecked
from conformance.audit.grammar.partition_text import TEXT_REQUIREMENTS, fault_of, padded
from conformance.audit.grammar.types import BITS, decimal_of
from conformance.audit.read.layout import Column, Layout
from conformance.audit.read.raw import Document, Line, mapping_in, parse_json, parse_object
from conformance.audit.read.state import counted, is_empty, row_count
from conformance.audit.screens import broken_statistics, by_partition_values
from conformance.audit.subjects import Step, VersionView

VALUELESS: Final = ("WCON-002", "ADD-005")
"""What a live file without a value for a partition column breaks."""


def statistics_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Parse the statistics of a file action; ``None`` when it has none that are an object."""
    return parse_object(body.get("stats"), exact=True)


def _partition_values(step: Step) -> Findings:
    for line in step.of("add", "cdc", "remove"):
        values = line.body.get("partitionValues")
        if step.new.schema is None:
            continue
        if not isinstance(values, dict):
            if line.action == "add" and step.new.partition_columns:
                message = "add has no value for any partition column"
                yield finding("WCON-002", line.place, message)
            continue
        # A remove may belong to a metadata that the same commit replaces.
        layouts = (step.new, step.old) if line.action == "remove" else (step.new,)
        fitting = [x for x in layouts if set(values) == set(x.partition_columns)]
        if fitting:
            yield from min(
                (list(typed_values(line, values, layout)) for layout in fitting), key=len
            )
        elif line.action != "remove" or values:
            yield from _keys(line, values, step.new, gone=_is_gone(step, line))


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


def _is_gone(step: Step, line: Line) -> bool:
    """Return whether a remove is of a file that was removed before, with values of that time."""
    key = line.key
    return line.action == "remove" and step.before.known and key not in step.before.adds


def _keys(line: Line, values: Mapping[str, Any], layout: Layout, *, gone: bool = False) -> Findings:
    wanted = set(layout.partition_columns)
    by_name = ("CM-016",) if wanted and layout.mode != "none" else ()
    for name in sorted(wanted - set(values)):
        message = f"{line.action} has no value for partition column {name}"
        # The clause speaks of the files in the table, and a removed one has left it.
        for requirement in ("CDC-007",) if line.action == "cdc" else VALUELESS:
            yield finding(requirement, line.place, message, sure=line.action != "remove")
    for name in sorted(set(values) - wanted):
        logical = layout.by_path.get((name,))
        mapped = logical is not None and logical.physical[-1] in wanted
        message = f"{line.action} has a value for {name}, which is no partition column"
        if mapped:
            message = f"{line.action} keys a partition value by {name}, not by its physical name"
        requirement = "CDC-007" if line.action == "cdc" else "ADD-005"
        for each in ("CM-016",) if mapped else (requirement, *by_name):
            yield finding(each, line.place, message, sure=not gone)


def typed_values(line: Line, values: Mapping[str, Any], layout: Layout) -> Findings:
    """Report partition values of an action that are not of the types of their columns."""
    for name, column in layout.partition_columns.items():
        yield from _typed_value(line.place, line.action, values.get(name), name, column)


def _typed_value(
    place: str, what: str | None, text: Any, name: str, column: Column | None
) -> Findings:
    if column is None or not isinstance(text, str) or not isinstance(column.type, str):
        return
    fault = fault_of(text, column.type)
    # A file that is older than a change of the type keeps its text.
    if fault is not None and all(fault_of(text, each) for _, each, _ in column.type_changes):
        requirement = TEXT_REQUIREMENTS.get(column.type, "PART-004")
        message = f"{what}: {text[:80]!r} of partition column {name} {fault}"
        # Which form a writer takes is free, not whether it is one of them.
        free = fault_of(padded(text, column.type), column.type) is None
        yield finding(requirement, place, message, severity="warning" if free else "error")


@check(
    "add", "ADD-010 DVDESC-010", *schemas.requirements("table/statistics"), screen=broken_statistics
)
def valid_statistics(step: Step) -> Findings:
    """Report statistics that are not JSON, or not in the statistics format."""
    documents = []
    for line in step.of("add"):
        text = line.body.get("stats")
        if not isinstance(text, str):
            continue
        parsed = parse_json(text, exact=True)
        yield from unread_statistics(line.place, parsed)
        if parsed.fault is not None or parsed.value is None:
            continue
        documents.append((parsed.value, line.place))
        if isinstance(parsed.value, dict):
            yield from _row_counts(line, parsed.value)
    yield from line_findings("table/statistics", documents, "STAT-007", "stats")


def unread_statistics(place: str, parsed: Document) -> Findings:
    """Report statistics that are not JSON, and as odd the text ``null``, which says nothing."""
    if parsed.limit is not None:
        yield unchecked("ADD-010", place, parsed.limit)
    elif parsed.fault is not None:
        message = f"stats is not JSON: {parsed.fault}"
        yield finding("ADD-010", place, message, severity="error")
    elif parsed.value is None:
        yield finding("STAT-007", place, "stats is the text null", sure=False)


def _row_counts(line: Line, stats: Mapping[str, Any]) -> Findings:
    count = counted(stats)
    vector = line.body.get("deletionVector")
    deleted = vector.get("cardinality") if isinstance(vector, dict) else None
    if count is not None and type(deleted) is int and deleted > count:
        message = f"a deletion vector of {deleted} rows on a file of {count}"
        yield finding("DVDESC-010", line.place, message)


@check("commit", "ICE1-009 ICE2-016")
def compatible_files_are_counted(step: Step) -> Findings:
    """Report files without row counts where Iceberg compatibility wants them."""
    for feature, requirement in (("icebergCompatV1", "ICE1-009"), ("icebergCompatV2", "ICE2-016")):
        if not step.new.active(feature):
            continue
        for line in step.of("add"):
            if row_count(line.body) is None:
                message = f"{feature} is active: the file has no numRecords"
                yield finding(requirement, line.place, message)
    # Version 2 says "all new", and version 1 only "all": it may not mean those that are there.
    if step.new.active("icebergCompatV1") and not step.old.active("icebergCompatV1"):
        for key, body in step.staying():
            if row_count(body) is None:
                message = f"icebergCompatV1 is active: {key[0]} stays, and has no numRecords"
                yield finding("ICE1-009", step.place, message, severity="warning")


@check("commit", *VALUELESS, "PART-004", *TEXT_REQUIREMENTS.values())
def partitions_stay(step: Step) -> Findings:
    """Report live files whose values do not go with partition columns, or types, that change."""
    old, new = step.old.partition_columns, step.new.partition_columns
    if step.new.schema is None or step.before.metadata is None:
        return
    types = {name: column and column.type for name, column in old.items()}
    other = {n: c for n, c in new.items() if n in old and (c and c.type) != types[n]}
    if old.keys() == new.keys() and not other:
        return
    for key, body in step.staying():
        values = body.get("partitionValues")
        if isinstance(values, dict):
            for name in sorted(new.keys() - values.keys()):
                message = f"{key[0]} stays, and has no value for the partition column {name}"
                yield finding("WCON-002", step.place, message)
            for name in sorted(values.keys() - new.keys()):
                message = f"{key[0]} stays, and has a value for {name}, no partition column now"
                yield finding("ADD-005", step.place, message)
            for name, column in other.items():
                stays = f"{key[0]} stays"
                yield from _typed_value(step.place, stays, values.get(name), name, column)


_BOUNDS: Final = ("minValues", "maxValues")
_KINDS: Final = (*_BOUNDS, "nullCount")
_TEXTS: Final = frozenset({"string", "binary", "date", "timestamp", "timestamp_ntz", "variant"})
_NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity", "inf", "-inf", "nan"})


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of a tree of values by column, nulls left out, with their paths."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            yield from leaves(child, (*path, str(key)))
    elif node is not None:
        yield path, node


@check("add", "CM-017 STAT-007", screen=broken_statistics)
def statistics_name_columns(step: Step) -> Findings:
    """Report statistics of columns that the schema does not have, or shaped otherwise."""
    columns = step.new.by_physical
    if not columns:
        return
    for line in step.of("add"):
        stats = statistics_of(line.body) or {}
        unknown: dict[tuple[str, ...], None] = {}
        older = _may_be_of_older_columns(step, line, stats)
        for kind in _KINDS:
            for path, _ in leaves(stats.get(kind)):
                if path and path not in unknown:
                    unknown.update(dict.fromkeys([path] if path not in columns else []))
                    dropped = path in step.before.paths or older
                    yield from _named(step.new, line, path, dropped=dropped)
        if unknown and step.new.mode != "none" and _describes_no_column(step, line, stats):
            message = f"stats are keyed by {next(iter(unknown))[0]}, and by no physical name"
            yield finding("CM-017", line.place, message, "use the physical names")


def _may_be_of_older_columns(step: Step, line: Line, stats: Mapping[str, Any]) -> bool:
    """Return whether statistics may be of dropped columns, whose names others have now.

    A file keeps its statistics when it is added again. Where the log does not have every schema,
    an older file may have some whose columns are not known any more.
    """
    key = line.key
    older = step.from_checkpoint or (key is not None and key[0] in step.before.seen)
    if step.before.whole or not older:
        return False
    columns = step.new.by_physical
    return any(path in columns for kind in _KINDS for path, _ in leaves(stats.get(kind)))


def logical_statistics(
    place: str, stats: Any, logged: Mapping[str, Any] | None, layout: Layout
) -> Findings:
    """Report statistics that a summary keys by logical names, unlike those of the log."""
    paths, former = (
        dict.fromkeys(path for kind in _KINDS for path, _ in leaves(mapping_in(each, kind)))
        for each in (stats, logged)
    )
    for path in paths:
        known = path in layout.by_physical or path in former
        if path and not known and _has_logical_step(path, layout):
            message = f"stats of {'.'.join(path)} are keyed by its logical name"
            yield finding("CM-017", place, message, "use the physical name")


def _describes_no_column(step: Step, line: Line, stats: Mapping[str, Any]) -> bool:
    """Return whether a new file has statistics, and none of a column that there is or was."""
    key = line.key
    if key is None or not step.before.known or key[0] in step.before.seen:
        return False
    names = {name for kind in _KINDS if isinstance(stats.get(kind), dict) for name in stats[kind]}
    held = {column.physical[0] for column in (*step.new.columns, *step.old.columns)}
    logical = {column.path[0] for column in step.new.columns}
    return not names & (held | logical)


def _named(layout: Layout, line: Line, path: tuple[str, ...], *, dropped: bool) -> Findings:
    name, column = ".".join(path), layout.by_physical.get(path)
    flat = tuple(name.split("."))
    if column is not None:
        nested = column.type.get("type") if isinstance(column.type, Mapping) else None
        if nested == "struct" and column.reachable:
            message = f"stats of the struct {name} do not go down to its fields"
            yield finding("STAT-007", line.place, message)
    elif not dropped and _has_logical_step(path, layout):
        message = f"stats of {name} are keyed by its logical name"
        yield finding("CM-017", line.place, message, "use the physical name")
    elif flat in layout.by_physical or _below_a_leaf(path, layout):
        message = f"stats of {name} do not have the nesting of the schema"
        yield finding("STAT-007", line.place, message, "nest objects as the schema nests structs")
    else:
        message = f"stats of {name}, which is no column of the schema"
        # With column mapping a column can be dropped and its statistics stay.
        severity: Severity = "warning" if layout.mode == "none" else "info"
        yield finding("STAT-007", line.place, message, severity=severity)


def _has_logical_step(path: tuple[str, ...], layout: Layout) -> bool:
    """Return whether a path leads to a column where some steps are its logical names."""
    at: tuple[str, ...] = ()
    for name in path:
        step = (*at, name)
        at = step if step in layout.by_physical else layout.aliases.get(step, step)
    return at in layout.by_physical


def _below_a_leaf(path: tuple[str, ...], layout: Layout) -> bool:
    above = (layout.by_physical.get(path[:depth]) for depth in range(len(path)))
    return any(column is not None and isinstance(column.type, str) for column in above)


@check("add", "STAT-012 VAR-010", screen=broken_statistics)
def bounds_have_types(step: Step) -> Findings:
    """Report bounds that are of another kind than their columns."""
    for line in step.of("add"):
        stats = statistics_of(line.body) or {}
        for kind in _BOUNDS:
            for path, value in leaves(stats.get(kind)):
                column = step.new.by_physical.get(path)
                declared = column.type if column else None
                if isinstance(declared, str) and not _fits(value, declared):
                    message = (
                        f"{kind} of {'.'.join(path)} is {value!r}, no value of type {declared}"
                    )
                    requirement = "VAR-010" if declared == "variant" else "STAT-012"
                    # How JSON has a decimal is said nowhere, and a text keeps all of its digits.
                    written = decimal_of(declared) is not None and is_decimal(value)
                    yield finding(requirement, line.place, message, sure=not written)


def is_decimal(value: Any) -> bool:
    """Return whether a value is text that spells a decimal."""
    return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None


_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?")


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


@check("add", "STAT-008 STAT-009 STAT-010", screen=broken_statistics)
def partition_statistics(step: Step) -> Findings:
    """Report counts of nulls of partition columns that do not go with the partition value."""
    for line in step.of("add"):
        values, stats = line.body.get("partitionValues"), statistics_of(line.body) or {}
        counts, rows = stats.get("nullCount"), stats.get("numRecords")
        if not isinstance(values, dict) or not isinstance(counts, dict) or type(rows) is not int:
            continue
        tight = stats.get("tightBounds") is not False
        for name, column in step.new.partition_columns.items():
            stated, text = counts.get(name), values.get(name)
            if column is None or type(stated) is not int or text == "":
                continue
            right = rows if text is None else 0
            # Wide counts say something of none and of all rows alone.
            if stated == right or not (tight or stated in (0, rows)):
                continue
            requirement = "STAT-008" if tight else "STAT-009" if stated else "STAT-010"
            message = f"nullCount of partition column {name} is {stated}, and not {right}"
            yield finding(requirement, line.place, message)


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
        for name, column in () if is_empty(body) else required.items():
            text = values.get(name) if isinstance(values, dict) else None
            # Whether empty text is null is contested for texts.
            if text is None or (text == "" and column.type not in ("string", "binary")):
                message = f"partition column {column.name} is not nullable, and its value is null"
                yield finding("SCH-025", path, message)
