"""Checks of live files against what the log says of them.

Covers "Data Files", "Deletion Vectors", "Per-file Statistics" and "Consistency Between Table
Metadata and Data Files".
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from conformance.audit.findings import Findings, Severity, check, finding, not_followed, unchecked
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.grammar.roaring import Rows
from conformance.audit.grammar.uris import is_absolute, lenient_path
from conformance.audit.grammar.vectors import VECTOR_REQUIREMENTS, is_there
from conformance.audit.read.arrow import limits_of_arrow
from conformance.audit.read.contents import is_parquet
from conformance.audit.read.layout import fields_of
from conformance.audit.read.state import Body, Key, counted
from conformance.audit.screens import removes_of_live_files
from conformance.audit.stored.changes import ChangeView
from conformance.audit.stored.data_file import LiveFile, stored_as_int96
from conformance.audit.stored.features import not_shredded, of_iceberg, partitions_of_iceberg
from conformance.audit.stored.places import (
    SchemaPlace,
    field_id,
    forbidden_nulls,
    lacking,
    other_field_ids,
    partition_places,
    places_of,
)
from conformance.audit.stored.row_ids import RowIds
from conformance.audit.stored.rules import Rules
from conformance.audit.stored.statistics.columns import (
    describes,
    wrong_counts_of_absent,
    wrong_statistics,
)
from conformance.audit.stored.types import type_mismatches
from conformance.audit.stored.variants import holds_variants, malformed_variants
from conformance.audit.stored.vectors import kept_elsewhere, read_vector, vector_files
from conformance.audit.subjects import LiveFiles, RepeatedFiles, VersionView
from reference_impl.errors import LimitExceeded, PlaceRefused
from reference_impl.limits import budget, out_of_memory
from reference_impl.parquet.opening import open_parquet


@dataclass(frozen=True)
class _LiveFile(LiveFile):
    """A live file with the rules for its rows; with ids of all rows of the version, or none."""

    ids: RowIds | None
    rules: Rules


@check(
    "files",
    "REC-021 ADD-002 DATA-001 SNAP-004 ADD-006 META-012 STAT-001 DVFMT-001 WCON-001",
    "CM-013 CM-015 WCON-005 TW-006 TW-009 VOID-001 PQ-003 PQ-004 PQ-008 PQ-009 PQ-013",
    "SCH-031 SCH-035",
    "STAT-009 STAT-010 ICE1-008 CHK-005 INV-005 INV-006 GEN-004",
    "IDN-008 IDN-009 IDN-012 IDN-013 RT-029 RT-037 RT-048 RT-050 RT-052",
    "SCH-015 SCH-019 STAT-008 STAT-012",
    "STAT-013 SCH-025 ICE1-007 ICE2-012 ICE2-015 ICE2-017 SHRED-002 VAR-003 DVFILE-001 DVDESC-012",
    "VAR-010 VAR-011 VAR-012",
    "DVDESC-022 STAT-002 DVD-004",
    *VECTOR_REQUIREMENTS,
)
def live_files(view: VersionView) -> Findings:
    """Check every live file against its add action."""
    seen: dict[str, Key] = {}
    changes: set[str] | None = None
    kept: dict[str, str] | None = None
    row_ids, rules = RowIds(view), Rules(view.layout)
    place = f"{LOG_DIR}, version {view.state.version}"
    yield from (each for each in rules.begin(place) if each.severity == "info")
    for key, body in sorted(view.state.adds.items(), key=lambda item: str(item[0])):
        budget().check_time()
        path = key[0]
        if path in seen:
            message = f"the path is live twice, with deletion vectors {seen[path][1]} and {key[1]}"
            yield finding("REC-021", path, message)
        seen[path] = key
        if hidden := _hidden(path):
            changes = _change_files(view) if changes is None else changes
            message = "the data file is in a directory whose name begins with an underscore"
            severity: Severity | None = None
            # Directories are named after partition columns by default, whatever their names, which
            # are escaped there and may have been others.
            if view.layout.partitions and all("=" in part for part in hidden):
                severity = "warning"
            # A file that is that of changes as well has its place there.
            if path in changes:
                severity = "info"
            yield finding("DATA-001", path, message, severity=severity)
        vector, broken = read_vector(view, body, path)
        yield from broken
        if any(fault.requirement == "DVD-003" for fault in broken):
            kept = vector_files(view.storage) if kept is None else kept
            yield from kept_elsewhere(body, kept)
        yield from _file(view, path, body, vector, (row_ids, rules))
    yield from row_ids.duplicates()
    yield from rules.duplicates(place)


def _hidden(path: str) -> list[str]:
    """Return the directories of a path below the table root that begin with an underscore."""
    return [] if is_absolute(path) else [d for d in path.split("/")[:-1] if d.startswith("_")]


def _change_files(view: VersionView) -> set[str]:
    """Return the decoded paths of all change files of the log."""
    keys = (line.key for commit in view.log.commits.values() for line in commit.content.of("cdc"))
    return {key[0] for key in keys if key is not None}


_LIVE_FILES_ONLY: Final = frozenset(
    {
        "IDN-012", "REC-021", "RT-029", "RT-037", "RT-048", "RT-050", "RT-052", "DATA-001",
        "SNAP-004", "DVD-004",
    }
)  # fmt: skip
"""What is not looked for in files that are live no longer."""


@check(
    "change",
    *(each for each in live_files.requirements if each not in _LIVE_FILES_ONLY),
    screen=lambda view: removes_of_live_files(view.step),
)
def removed_files(view: ChangeView) -> Findings:
    """Compare each remove with the add of its file; a file that is deleted already passes."""
    step = view.step
    version = LiveFiles(view.storage, step.before, step.old)
    rules: Rules | None = None
    for line in step.of("remove") if step.before.known else ():
        budget().check_time()
        key = line.key
        body = step.before.adds.get(key) if key else None
        if key is None or body is None:
            continue
        if not is_there(view.storage, key[0]):
            continue  # vacuum may have taken it, and its vector
        vector, broken = read_vector(version, body, key[0])
        if any(fault.requirement == "DVD-003" for fault in broken):
            continue  # of a vector that a newer one replaced, vacuum may have taken the file alone
        yield from broken
        if rules is None:
            rules = Rules(step.old)
            # What is wrong with the rules themselves is reported where they were set.
            deque(rules.begin(step.place), maxlen=0)
        if not broken:
            yield from _file(version, key[0], body, vector, (None, rules))


@check("repeated", *removed_files.requirements)
def repeated_files(view: RepeatedFiles) -> Findings:
    """Compare what a summary says of files otherwise than its version with the files."""
    rules = Rules(view.layout)
    deque(rules.begin(view.place), maxlen=0)
    for path, body in view.bodies:
        budget().check_time()
        if not is_there(view.storage, path):
            continue  # vacuum may have taken it
        vector, found = read_vector(view, body, path)
        if any(fault.requirement == "DVD-003" for fault in found):
            continue  # vacuum may have taken it as well
        if not found:
            found = list(_file(view, path, body, vector, (None, rules)))
        yield from (replace(each, place=f"{view.place}: {path}") for each in found)


def _file(
    view: LiveFiles, path: str, body: Body, vector: Rows | None, whole: tuple[RowIds | None, Rules]
) -> Findings:
    try:
        size = view.storage.head(path).size
    except PlaceRefused as error:
        yield not_followed(error, path)
        return
    except (OSError, ValueError):
        message = "the file is live in the latest version and does not exist"
        yield finding("SNAP-004", path, message, "restore the file or remove it from the table")
        if isinstance(body.get("deletionVector"), dict):
            message = "the file is gone, which is live with a deletion vector"
            yield finding("DVD-004", path, message)
        yield from _misspelled(view, body, path)
        return
    if type(body.get("size")) is int and body["size"] != size:
        yield finding("ADD-006", path, f"the file has {size} bytes, add.size says {body['size']}")
    if view.layout.provider != "parquet":
        # Others are legal for legacy tables, and nothing that this audit can open.
        if is_parquet(view.storage, path):
            message = f"format.provider is {view.layout.provider}, and the file is Parquet"
            yield finding("META-012", path, message)
        return
    try:
        with limits_of_arrow(), view.storage.open_input(path) as source:
            file = open_parquet(source)
            yield from _contents(_LiveFile(path, body, source, file, vector, view, *whole))
    except MemoryError as error:  # Arrow's is one as well
        yield unchecked("META-012", path, out_of_memory(error, path))
    except LimitExceeded as error:
        yield unchecked("META-012", path, error)
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        message = f"the file cannot be read as Parquet: {str(error)[:200]}"
        yield finding("META-012", path, message)


def _misspelled(view: LiveFiles, body: Body, path: str) -> Findings:
    """Report a path that would name a file if it were escaped once more, or once less."""
    written = body.get("path", path)  # a body beyond a limit has nothing
    if written != path and is_there(view.storage, written):
        message = f"{written} is the name of the file as it is, without escapes"
        yield finding("ADD-004", path, message, "write % as %25")
    elif (once_more := lenient_path(path)) != path and is_there(view.storage, once_more):
        message = f"{written} is the name of the file, escaped twice"
        yield finding("ADD-004", path, message, "escape each character once")


def _contents(opened: _LiveFile) -> Findings:
    rows = opened.file.metadata.num_rows
    count = counted(opened.stats)
    if count is not None and count != rows:
        message = f"the file has {rows} rows, numRecords says {count}"
        # With a vector the count has clauses of its own, which bind.
        marked = isinstance(opened.body.get("deletionVector"), dict)
        for requirement in ("STAT-002", "DVDESC-022") if marked else ("STAT-001",):
            yield finding(requirement, opened.path, message, "queries that count or skip go wrong")
    if opened.deleted is not None and opened.deleted.native:
        message = "the deletion vector has the older native layout, not the portable one"
        yield finding("DVFMT-008", opened.path, message, severity="warning")
    if opened.deleted is not None and (opened.deleted.maximum or 0) >= max(rows, 1):
        message = f"the deletion vector marks row {opened.deleted.maximum} of a file of {rows}"
        yield finding("DVFMT-001", opened.path, message)
    yield from _columns(opened)
    if opened.ids is not None:
        yield from opened.ids.add(opened)
    for requirement, message in of_iceberg(opened.file, opened.view.layout):
        # The file may be older than what asks for it.
        yield finding(requirement, opened.path, message, sure=opened.follows("icebergCompatV2"))
    if "variantShredding" not in opened.view.layout.features or opened.precedes("variantShredding"):
        for requirement, message in not_shredded(opened.schema, opened.view.layout):
            yield finding(requirement, opened.path, message)


def _columns(opened: _LiveFile) -> Findings:
    layout, schema = opened.view.layout, opened.schema
    if layout.schema is None:
        return
    wanted, once = layout.top_names, opened.view.state.names
    # Files keep them when row tracking is dropped.
    hidden = {"_change_type", *opened.view.state.hidden}
    extra = [n for n in schema.names if n not in wanted and n not in hidden]
    if extra and layout.mode != "none" and not set(schema.names) & (wanted | (once or set())):
        message = f"no column of the file has a physical name of the schema: {', '.join(extra[:5])}"
        # Columns that were dropped: in a schema that the log lacks, or that a clone came from.
        sure = once is not None and not is_absolute(opened.path)
        yield finding("CM-013", opened.path, message, sure=sure)
    elif extra:
        message = f"the file has columns that the schema lacks: {', '.join(extra[:5])}"
        # With column mapping a column can be dropped without rewriting its files.
        strange = once is not None and not once.issuperset(extra) and not is_absolute(opened.path)
        severity: Severity = "warning" if layout.mode == "none" or strange else "info"
        yield finding("WCON-001", opened.path, message, "readers ignore them", severity=severity)
    yield from partitions_of_iceberg(opened)
    yield from _schema_columns(opened)


def _schema_columns(opened: _LiveFile) -> Findings:
    """Judge each column of the schema by its types, its ids and what it holds."""
    layout, schema = opened.view.layout, opened.schema
    places = places_of(layout, schema)
    numbered = any(field_id(field) is not None for field in schema)
    if layout.mode == "id" and not numbered:
        message = "the file has no field ids, and its columns would be found by nothing else"
        # What was written before columns were mapped was to have none.
        yield finding("CM-015", opened.path, message, sure=opened.follows("columnMapping"))
        return
    int96 = stored_as_int96(opened.file)
    named = Counter(schema.names)
    for place in places:
        yield from _field_ids(opened, place)
        yield from _missing_required(opened, place)
        twins = named[place.key] if layout.mode != "id" else 0
        if twins > 1:
            message = f"the file has {twins} columns called {place.key}"
            yield finding("WCON-005", opened.path, message)
        if place.stored is None or named[place.stored.name] != 1:
            yield from wrong_counts_of_absent(opened, place)
            continue
        of_old, widened = place.stored.name in int96, opened.view.state.widened
        wrong = list(type_mismatches(place, layout, widened, int96=of_old))
        for requirement, message, severity in wrong:
            yield finding(requirement, opened.path, message, severity=severity)
        yield from _extra_fields(opened, place)
        typed = not any(severity is None for _, _, severity in wrong)
        yield from _column(opened, place, typed=typed)
    yield from _partition_types(opened, int96)
    yield from opened.rules.judge(opened, places, opened.follows)


def _column(opened: _LiveFile, place: SchemaPlace, *, typed: bool) -> Findings:
    """Judge what a column holds, where it has its type by what the log says of it, too."""
    compared = place.forbids_nulls or (typed and describes(opened.stats, place))
    encoded = typed and holds_variants(place)
    if place.stored is None or not (compared or encoded):
        return
    values = opened.read(place.stored.name)
    if compared:
        for requirement, message in forbidden_nulls(place, opened.live(values)):
            # No sentence says what the flag of a map is for.
            yield finding(requirement, opened.path, message, sure=requirement != "SCH-035")
        if typed:
            yield from wrong_statistics(opened, place, values)
    if encoded:
        yield from malformed_variants(opened, place, values)


def _extra_fields(opened: _LiveFile, column: SchemaPlace) -> Findings:
    """Report fields of structs that the schema lacks; dropped ones stay under column mapping."""
    for place in column.walk() if opened.view.layout.mode == "none" else ():
        known = {str(each["name"]) for each in fields_of(place.declared)}
        for child in place.stored_fields if known else ():
            if child.name not in known:
                message = (
                    f"the file has the field {child.name} in {place.name}, the schema lacks it"
                )
                hint = "readers ignore it"
                yield finding("WCON-001", opened.path, message, hint, severity="warning")


def _partition_types(opened: _LiveFile, int96: Collection[str]) -> Findings:
    """Report partition columns that a file has as well, of another type."""
    for place in partition_places(opened.view.layout, opened.schema):
        if place.stored is not None and opened.schema.names.count(place.stored.name) == 1:
            of_old = place.stored.name in int96
            widened = opened.view.state.widened
            for requirement, message, severity in type_mismatches(
                place, opened.view.layout, widened, int96=of_old
            ):
                yield finding(requirement, opened.path, f"partition {message}", severity=severity)


def _missing_required(opened: _LiveFile, column: SchemaPlace) -> Findings:
    """Report a column that must not be null and is not in the file, so that it is all null."""
    if not any(place.required and place.stored is None for place in column.walk()):
        return
    found: dict[SchemaPlace, None] = {}
    if column.stored is None:
        found |= {column: None} if opened.live_rows else {}
    elif opened.schema.names.count(column.stored.name) == 1:
        for chunk in opened.live(opened.read(column.stored.name)).chunks:
            found |= dict.fromkeys(lacking(column, chunk))
    for place in found:
        message = f"column {place.name} is not nullable, and the file lacks it"
        yield finding(place.forbids, opened.path, message)


def _field_ids(opened: _LiveFile, column: SchemaPlace) -> Findings:
    """Report field ids that are not those of column mapping, at any depth."""
    mode = opened.view.layout.mode
    # A table that was mapped by name later on keeps the files that it had, whose ids say nothing.
    older = mode == "name" and not opened.follows("columnMapping")
    severity: Severity | None = "info" if older else None
    for place in column.walk():
        if place.misnamed is not None:
            yield from _misnamed_column(opened, place, place.misnamed)
    for place, given in other_field_ids(column, mode):
        message = f"column {place.name} has id {place.column_id}, the file gives it {given}"
        yield finding("CM-015", opened.path, message, severity=severity)


def _misnamed_column(opened: _LiveFile, place: SchemaPlace, misnamed: pa.Field) -> Findings:
    """Report a column that is under its logical name, or that its id does not lead to."""
    layout, given = opened.view.layout, field_id(misnamed)
    found = place.stored
    if layout.mode == "id" and found is not None and found is misnamed:
        beside = (c for c in layout.columns if c.path[:-1] == place.path[:-1])
        if misnamed.name in {column.physical[-1] for column in beside}:
            message = f"column {place.name} has id {given}, which the file gives to {misnamed.name}"
            yield finding("CM-015", opened.path, message)
    if misnamed.name == place.key:
        message = f"column {place.name} has id {place.column_id}, the file gives it {given}"
        if given == place.column_id:
            message = f"column {place.name} has id {given}, which the file gives to another as well"
        here = any(column.field_id == given for column in layout.columns)
        if given is None or here or given > (layout.max_column_id or 0):  # else it was dropped
            yield finding("CM-015", opened.path, message)
        return
    # A file that is older may have it from a column that was dropped, or from none.
    named = given == place.column_id and misnamed.name == place.path[-1]
    if named or (given in {None, place.column_id} and opened.follows("columnMapping")):
        message = f"the file has column {place.name} under the name {misnamed.name}"
        yield finding("CM-013", opened.path, message)
