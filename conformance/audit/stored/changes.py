"""Change data files against the commit that names them (section Change Data Files)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conformance.audit.checks.commits import among_changes
from conformance.audit.columnar.rows import Mask, Rows
from conformance.audit.findings import Findings, check, finding, not_followed, unchecked
from conformance.audit.grammar.uris import decode_path, is_absolute
from conformance.audit.read.arrow import limits_of_arrow, schema_of
from conformance.audit.read.raw import Line
from conformance.audit.screens import beside_change_files
from conformance.audit.stored.change_rows import differing_changes, read_row_changes
from conformance.audit.stored.data_file import read_columns, stored_as_int96
from conformance.audit.stored.places import field_id, other_field_ids, places_of
from conformance.audit.stored.rearranged import changed_rows, read_moved
from conformance.audit.stored.statistics.columns import plain
from conformance.audit.stored.types import type_mismatches, type_name
from conformance.audit.subjects import Step
from reference_impl.errors import DeltaError, LimitExceeded, PlaceRefused
from reference_impl.limits import out_of_memory
from reference_impl.parquet.opening import open_parquet
from reference_impl.storage import Storage

_FOLDER: Final = "_change_data"
_NAME: Final = "_change_type"
_KINDS: Final = frozenset({"insert", "update_preimage", "update_postimage", "delete"})


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A commit, and where its files are."""

    step: Step
    storage: Storage

    @property
    def rows(self) -> Rows:
        """The commit's file actions as columns, for screens."""
        return self.step.rows

    def only(self, shown: Mask) -> ChangeView:
        """Return the view with some of the commit's file actions."""
        return replace(self, step=self.step.only(shown))


@check(
    "change",
    "ADD-002 CDC-008 CM-013 CM-015 CDFF-007 CDFF-008 META-012 WCON-001 WCON-005 TW-006 TW-009",
    "PQ-003 PQ-004 PQ-008 PQ-009 PQ-013 SCH-015 SCH-019 VAR-003 VOID-001",
)
def change_files(view: ChangeView) -> Findings:
    """Report change data files that do not say what changed; those that are gone pass."""
    for line in view.step.of("cdc"):
        path = line.body.get("path")
        if not isinstance(path, str) or not path:
            continue
        try:
            decoded = decode_path(path)
            with limits_of_arrow(), view.storage.open_input(decoded) as source:
                size, stated = view.storage.head(decoded).size, line.body.get("size")
                if type(stated) is int and stated != size:
                    message = f"the change data file {path} has {size} bytes, size says {stated}"
                    yield finding("CDC-008", line.place, message)
                file = open_parquet(source)
                yield from _kinds_of_change(file, source, line.place, path)
                yield from _columns(file, view.step, line, path)
        except FileNotFoundError:
            continue  # vacuum may have taken it
        except MemoryError as error:  # Arrow's is one as well
            yield unchecked("CDFF-007", line.place, out_of_memory(error, path))
        except LimitExceeded as error:
            yield unchecked("CDFF-007", line.place, error)
        except PlaceRefused as error:
            yield not_followed(error, line.place)
        except (OSError, ValueError, DeltaError, pa.ArrowException) as error:
            message = f"the change data file {path} cannot be read: {str(error)[:200]}"
            yield finding("CDFF-007", line.place, message)
            if isinstance(error, pa.ArrowInvalid):  # it is not Parquet, or damaged
                yield finding("META-012", line.place, message)


def _kinds_of_change(file: pq.ParquetFile, source: Any, place: str, path: str) -> Findings:
    schema = schema_of(file)
    if schema.names.count(_NAME) != 1:
        yield finding("CDFF-007", place, f"the change data file {path} has not one column {_NAME}")
        return
    held = type_name(schema.field(_NAME).type)
    if held != "string":
        message = f"the change data file {path} has {_NAME} of type {held}, and not string"
        yield finding("CDFF-007", place, message)
        return
    values = plain(read_columns(file, source, [_NAME]).column(_NAME))
    for kind in sorted(map(str, set(pc.unique(values).to_pylist()) - _KINDS)):
        message = f"the change data file {path} has the {_NAME} {kind}"
        yield finding("CDFF-008", place, message)


def _columns(file: pq.ParquetFile, step: Step, line: Line, path: str) -> Findings:
    """Check the columns against the schema of the commit."""
    layout, schema = step.new, schema_of(file)
    if layout.schema is None:
        return
    places, int96 = places_of(layout, schema), stored_as_int96(file)
    known = {place.stored.name for place in places if place.stored is not None}
    for place in places:
        if place.misnamed is not None and field_id(place.misnamed) in {None, place.column_id}:
            message = f"the change data file {path} has column {place.name} by its logical name"
            yield finding("CM-013", line.place, message)
        elif place.stored is None and place.declared != "void":
            message = f"the change data file {path} lacks the column {place.name}"
            # A data file may lack one that is null throughout, and may be a change file as well.
            yield finding("CDFF-007", line.place, message, sure=place.required)
        for part, given in other_field_ids(place, layout.mode):
            message = f"column {part.name} has id {part.column_id}, {path} gives it {given}"
            yield finding("CM-015", line.place, message)
        of_old = place.stored is not None and place.stored.name in int96
        wrong = type_mismatches(place, layout, step.before.widened, int96=of_old)
        for requirement, message, severity in wrong:
            text = f"the change data file {path}: {message}"
            yield finding(requirement, line.place, text, severity=severity)
    properties = layout.properties.items()
    hidden = {value for name, value in properties if name.startswith("delta.rowTracking.")}
    extra = [n for n in schema.names if n not in known | hidden | {_NAME}]
    extra = [n for n in extra if n not in layout.partition_columns]
    if extra:
        message = f"the change data file {path} has columns of its own: {', '.join(extra[:5])}"
        yield finding("WCON-001", line.place, message, "readers ignore them", severity="info")


@check("change", "CDFF-001", screen=lambda view: beside_change_files(view.step))
def change_files_at_the_root(view: ChangeView) -> Findings:
    """Report change files that a whole path leads to, in another folder of the table."""
    added = view.step.paths("add")
    for line in view.step.of("cdc"):
        key = line.key
        if key is None or key[0] in added or not is_absolute(key[0]):
            continue
        if not among_changes(key[0]):
            continue  # reported of the log alone
        try:
            where = view.storage.locator()(key[0])
        except (PlaceRefused, DeltaError, OSError, ValueError):
            continue  # it is outside, or its place is unknown
        if where is not None and not where.startswith(f"{_FOLDER}/"):
            message = f"the change data file {where} is not under {_FOLDER} at the root"
            yield finding("CDFF-001", line.place, message)


@check("change", "CDC-001 CDC-007 CDC-012 CDFF-009", whole=True)
def changes_are_those_of_the_data(view: ChangeView) -> Findings:
    """Report change files that have other rows than the data files of their commit."""
    yield from differing_changes(view.step.place, read_row_changes(view.step, view.storage))


@check("change", "ADD-009 REM-005 FA-017 RT-049 RT-051", whole=True)
def rearrangements_keep_values(view: ChangeView) -> Findings:
    """Report rows that come or go with files that are not to change data, as the files show."""
    yield from changed_rows(read_moved(view.step, view.storage))
