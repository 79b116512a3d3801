"""Checks of the files of a checkpoint as tables: are they Parquet, is each action a struct.

Covers "Checkpoint Schema", "Sidecar Files" and "Checkpoint Naming Scheme".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from typing import Final

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.findings import Findings, Severity, check, finding
from conformance.audit.grammar.types import BITS, decimal_of, widens
from conformance.audit.read.contents import is_parquet
from conformance.audit.read.layout import Layout
from conformance.audit.read.log import Checkpoint, sidecar_path
from conformance.audit.read.raw import ACTIONS
from conformance.audit.stored.types import UNANNOTATED, type_name
from conformance.audit.summaries.checkpoints import CheckpointView
from reference_impl.errors import DeltaError

_NO_PARQUET: Final = {"classic_checkpoint": "CKC-026", "multipart_checkpoint": "CKPT-N-002"}
"""What a checkpoint that is not Parquet breaks, by its kind."""

_FILE_ACTIONS: Final = frozenset({"add", "remove"})


def _sidecars(subject: CheckpointView) -> Iterable[str]:
    """Return the path of each sidecar once, however it is written."""
    found: dict[str, None] = {}
    for path in subject.checkpoint.sidecars:
        with suppress(ValueError, DeltaError):  # reported as unreadable
            found[sidecar_path(subject.view.storage, path)] = None
    return found


@check("checkpoint", "CKC-026 CKPT-N-002 SIDE-001", whole=True)
def are_parquet(subject: CheckpointView) -> Findings:
    """Report checkpoints and sidecars that are no Parquet at all."""
    requirement = _NO_PARQUET.get(subject.checkpoint.kind)
    files = [(entry.path, requirement) for entry in subject.checkpoint.entries]
    for path, broken in (*files, *((path, "SIDE-001") for path in _sidecars(subject))):
        if broken is not None and is_parquet(subject.view.storage, path) is False:
            yield finding(broken, path, "the file is not Parquet")


@check("checkpoint", "CKC-001 CKC-010 SIDE-003", whole=True)
def actions_are_structs(subject: CheckpointView) -> Findings:
    """Report action columns that are no structs, and rows of Parquet or JSON without an action."""
    unknown = False
    for path, requirement, schema in _tables(subject):
        for field in schema:
            if field.name not in ACTIONS:
                unknown = True
                action = field.name.replace("_", ".").partition(".")[0]
                if action in ACTIONS and action not in schema.names:
                    message = f"the column {field.name} is a field of {action}, which is no column"
                    yield finding(requirement, path, message)
            elif not at.is_struct(field.type):
                message = f"the column {field.name} is {field.type}, and not a struct"
                yield finding(requirement, path, message)
        if not {*ACTIONS}.intersection(schema.names):
            yield finding(requirement, path, "the file has no column of an action")
    if not unknown:
        yield from _without_action(subject)


def _tables(subject: CheckpointView) -> Iterator[tuple[str, str, pa.Schema]]:
    """Yield each Parquet file, what its columns break, and the columns."""
    files = [(entry.path, "CKC-010") for entry in subject.checkpoint.entries]
    for path, requirement in (*files, *((path, "SIDE-003") for path in _sidecars(subject))):
        schema = subject.checkpoint.schema(path)
        if schema is not None:
            yield path, requirement, schema


def _without_action(subject: CheckpointView) -> Findings:
    checkpoint = subject.checkpoint
    read = [([entry.path for entry in checkpoint.entries], checkpoint.top, _whole_rows(subject))]
    for path, lines in checkpoint.sidecars.items():
        with suppress(ValueError, DeltaError):  # reported as unreadable
            read.append(([sidecar_path(subject.view.storage, path)], lines, _FILE_ACTIONS))
    for paths, lines, wanted in read:
        for _, line in lines.small:  # a row of a file action has that
            held = line.document if isinstance(line.document, dict) else {}
            if not any(value is not None for value in held.values()):
                # It may stand for one whose column the file leaves out.
                sure = all(wanted <= _action_columns(checkpoint, path) for path in paths)
                yield finding("CKC-001", line.place, "the row holds no action", sure=sure)


def _whole_rows(subject: CheckpointView) -> frozenset[str]:
    """Return the actions that a row of the checkpoint itself may be."""
    checkpoint, features = subject.checkpoint, subject.view.layout.features
    found = {"protocol", "metaData", "txn"}
    found |= {"domainMetadata"} if "domainMetadata" in features else set()
    if any(checkpoint.top.of("checkpointMetadata")):
        found |= {"checkpointMetadata", "sidecar"}
    return frozenset(found if checkpoint.sidecars else found | _FILE_ACTIONS)


def _action_columns(checkpoint: Checkpoint, path: str) -> frozenset[str]:
    """Return the actions of a file that have a column, which in JSON is every one."""
    schema = checkpoint.schema(path)
    names = ACTIONS if path.endswith(".json") else schema.names if schema else ()
    return frozenset(ACTIONS).intersection(names)


_NUMBERS: Final[Mapping[str, Mapping[str, str]]] = {
    "protocol": {"minReaderVersion": "PROTO-001", "minWriterVersion": "PROTO-002"},
    "metaData": {"createdTime": "META-010"},
    "txn": {"version": "TXN-002", "lastUpdated": "TXN-003"},
    "add": {
        "size": "ADD-006",
        "modificationTime": "ADD-007",
        "baseRowId": "ADD-013",
        "defaultRowCommitVersion": "ADD-014",
    },
    "remove": {
        "deletionTimestamp": "REM-003",
        "size": "REM-010",
        "baseRowId": "REM-015",
        "defaultRowCommitVersion": "REM-016",
    },
    "checkpointMetadata": {"version": "CKM-002"},
    "sidecar": {"sizeInBytes": "SCA-005", "modificationTime": "SCA-006"},
}
"""Fields of actions that are whole numbers, and the requirement that says so."""


@check("checkpoint", *(row for rows in _NUMBERS.values() for row in rows.values()), whole=True)
def whole_numbers(subject: CheckpointView) -> Findings:
    """Report fields of actions that are stored as fractions, whatever their values are."""
    for path, _, schema in _tables(subject):
        actions = pa.struct(list(schema))
        for action, fields in _NUMBERS.items():
            for name, requirement in fields.items():
                stored = _field(_field(actions, action), name)
                if stored is None:
                    continue
                if at.is_floating(stored) or at.is_decimal(stored):
                    message = f"{action}.{name} is stored as {stored}, and no whole number"
                    held = any(
                        x.body.get(name) is not None for x in subject.checkpoint.all.of(action)
                    )
                    # Where it is null in every row, no action has the field.
                    severity: Severity = "error" if held else "warning"
                    yield finding(requirement, path, message, severity=severity)
                elif at.is_integer(stored) and stored != pa.int64() and action != "protocol":
                    message = f"{action}.{name} is stored as {stored}, and is a long"
                    yield finding(requirement, path, message, severity="warning")


@check("checkpoint", "CKC-016 CKC-021", whole=True)
def typed_copies(subject: CheckpointView) -> Findings:
    """Report typed copies in adds whose types are not those of the columns."""
    for path, _, schema in _tables(subject):
        adds = _field(pa.struct(list(schema)), "add")
        yield from _values(subject.view.layout, path, _field(adds, "partitionValues_parsed"))
        yield from _bounds(subject.view.layout, path, _field(adds, "stats_parsed"))


def _values(layout: Layout, path: str, parsed: pa.DataType | None) -> Findings:
    """Report ``partitionValues_parsed`` whose fields are not the partition columns."""
    if parsed is None or not at.is_struct(parsed):
        return
    for name, column in layout.partition_columns.items():
        stored, declared = _field(parsed, name), column.type if column else None
        if stored is None:
            if name not in _logical(layout, parsed):
                message = f"partitionValues_parsed has no field {name}"
                yield finding("CKC-016", path, message)
        elif isinstance(declared, str) and not _fits(stored, declared):
            message = f"partitionValues_parsed.{name} is {stored}, the column is {declared}"
            # As in a data file, the values are those of the type, though its width is not said.
            narrow = declared in _NARROW_TYPES and (type_name(stored), declared) in UNANNOTATED
            yield finding("CKC-016", path, message, sure=not narrow)
    known = {*layout.partition_columns, *layout.partitions}  # by another name, it is reported
    for other in (field.name for field in parsed if layout.partitions and field.name not in known):
        message = f"partitionValues_parsed has a field {other}, which is no partition column"
        # A client passes over a field that it does not know.
        yield finding("CKC-016", path, message, severity="warning")


_NARROW_TYPES: Final = frozenset({"byte", "short"})
"""Types whose width an annotation of Parquet gives alone."""


def _bounds(layout: Layout, path: str, parsed: pa.DataType | None) -> Findings:
    """Report fields of ``stats_parsed`` that are stored as another kind of value."""
    # In their original format they are written where the table asks for it.
    asked = layout.writer >= _ASKING and layout.is_true("delta.checkpoint.writeStatsAsStruct")
    for name, stored, declared in _statistics(layout, parsed):
        if stored is None or at.is_null(stored):
            continue  # a column without any value has no type of its own
        if not _is_kind(type_name(stored), declared) or _is_other_time(stored, declared):
            message = f"stats_parsed.{name} is {stored}, not {declared}"
            yield finding("CKC-021", path, message, sure=asked)


def _statistics(
    layout: Layout, parsed: pa.DataType | None
) -> Iterator[tuple[str, pa.DataType | None, str]]:
    """Yield name, stored type and declared type of each statistic, as far as it has one."""
    yield "numRecords", _field(parsed, "numRecords"), "long"
    for column in layout.columns:
        if not isinstance(column.type, str):
            continue
        for kind in ("minValues", "maxValues", "nullCount"):
            stored = reduce(_field, column.physical, _field(parsed, kind))
            declared = "long" if kind == "nullCount" else column.type
            yield f"{kind}.{column.name}", stored, declared


_ASKING: Final = 3
"""The writer version that brings the properties of statistics in checkpoints."""


def _is_kind(stored: str, declared: str) -> bool:
    """Return whether a stored type holds values of the kind of a column, whatever its width."""
    kind = _kind(declared)
    return kind is None or kind == _kind(stored) or widens(stored, declared)


def _kind(name: str) -> str | None:
    return "decimal" if decimal_of(name) is not None else _KINDS.get(name)


_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys((*BITS, "uint8", "uint16", "uint32", "uint64"), "whole number"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "time"),
    "boolean": "boolean",
    "date": "date",
    "string": "text",
}
"""Kinds of values, by type; binary values and variants have no form of their own."""


def _logical(layout: Layout, parsed: pa.DataType) -> set[str]:
    """Return the physical names of columns that a struct has by their logical names."""
    held = {field.name for field in parsed}
    return {
        name for name, column in layout.partition_columns.items() if column and column.name in held
    }


def _field(of: pa.DataType | None, name: str) -> pa.DataType | None:
    """Return the type of the one field of a name; ``None`` where there is none, or several."""
    if of is None or not at.is_struct(of):
        return None
    index = of.get_field_index(name)
    return of.field(index).type if index >= 0 else None


def _fits(stored: pa.DataType, declared: str) -> bool:
    name, sized = type_name(stored), decimal_of(declared)
    wanted = declared if sized is None else f"decimal({sized[0]},{sized[1]})"
    if {name, declared} == {"timestamp", "timestamp_ntz"}:
        return not _is_other_time(stored, declared)
    return name == wanted or declared in ("variant", "binary")


def _is_other_time(stored: pa.DataType, declared: str) -> bool:
    """Return whether an instant is stored as a local time, or a local time as an instant."""
    return {type_name(stored), declared} == {"timestamp", "timestamp_ntz"} and stored != _INT96


_INT96: Final = pa.timestamp("ns")
"""What Arrow makes of int96, which has no zone."""


@check("checkpoint", "SIDE-003")
def one_column_each(subject: CheckpointView) -> Findings:
    """Report rows of sidecars that add and remove at once."""
    for lines in subject.checkpoint.sidecars.values():
        for line in lines.every(lines.rows.irregular):  # a plain row has one action
            held = line.document if isinstance(line.document, dict) else {}
            if all(held.get(name) is not None for name in _FILE_ACTIONS):
                yield finding("SIDE-003", line.place, "a row of a sidecar adds and removes")
