"""Checks of live files against what the log says of them.

Serves "Data Files", "Deletion Vectors", "Per-file Statistics" and "Consistency Between Table
Metadata and Data Files".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.audit.bounds import Judged, wrong_statistics
from conformance.audit.file_features import not_shredded, of_iceberg
from conformance.audit.findings import Check, Finding, Findings, Severity, finding, unchecked
from conformance.audit.parquet_types import unfit
from conformance.audit.state import Body, Key
from conformance.audit.subjects import VersionView
from conformance.audit.transitions import row_count
from conformance.audit.values import statistics_of
from reference_impl.deletion_vectors import MAGIC, Bitmap, VectorStore
from reference_impl.errors import DeletionVectorNotFound, DeltaError, LimitExceeded
from reference_impl.limits import budget, out_of_memory
from reference_impl.parquet_bounds import open_parquet
from reference_impl.storage import is_absolute

__all__ = ["FILE_CHECKS"]

_MAGIC: Final = MAGIC.to_bytes(4, "little")

_VECTOR_REQUIREMENTS: Final = (
    "DVD-003", "DVDESC-001", "DVDESC-002", "DVDESC-003", "DVDESC-004", "DVDESC-007",
    "DVDESC-008", "DVDESC-009", "DVDESC-010", "DVDESC-011", "DVFMT-002", "DVFMT-004",
    "DVFMT-005", "DVFMT-006", "DVFMT-008", "DVFMT-011", "DVSTO-003", "DVSTO-005", "DVSTO-006",
    "DVSTO-007",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Opened:
    path: str
    body: Body
    view: VersionView
    source: pa.NativeFile
    file: pq.ParquetFile
    vector: Bitmap | None


def live_files(view: VersionView) -> Findings:
    """Hold every live file against its add action."""
    vectors = VectorStore(view.storage)
    seen: dict[str, Key] = {}
    for key, body in sorted(view.state.adds.items(), key=lambda item: str(item[0])):
        budget().check_time()
        path = key[0]
        if path in seen:
            message = f"the path is live twice, with deletion vectors {seen[path][1]} and {key[1]}"
            yield finding("REC-021", path, message)
        seen[path] = key
        if not is_absolute(path) and any(part.startswith("_") for part in path.split("/")[:-1]):
            message = "the data file is in a directory whose name begins with an underscore"
            yield finding("DATA-001", path, message, severity=_change_data(path))
        vector, broken = _vector(vectors, body, path)
        yield from broken
        yield from _file(view, path, body, vector)


def _change_data(path: str) -> Any:
    """Go easy on a data file among the change files: a cdc action may name it as well."""
    return "info" if path.startswith("_change_data/") else None


def _vector(store: VectorStore, body: Body, path: str) -> tuple[Bitmap | None, list[Finding]]:
    descriptor = body.get("deletionVector")
    if not isinstance(descriptor, dict):
        return None, []
    try:
        vector = store.load(descriptor, path)
    except DeletionVectorNotFound as error:
        message = f"the deletion vector of {path} does not exist"
        return None, [finding("DVD-003", error.path or path, message)]
    except LimitExceeded as error:
        return None, [unchecked("DVFMT-002", path, error)]
    except (DeltaError, OSError, ValueError, OverflowError) as error:
        requirement = getattr(error, "requirement", "DVFMT-002")
        requirement = requirement if requirement in _VECTOR_REQUIREMENTS else "DVFMT-002"
        message = f"deletion vector: {getattr(error, 'message', error)}"
        return None, [finding(requirement, path, message)]
    return vector, []


def _file(view: VersionView, path: str, body: Body, vector: Bitmap | None) -> Findings:
    try:
        size = view.storage.head(path).size
    except (OSError, ValueError):
        message = "the file is live in the latest version and does not exist"
        yield finding("SNAP-004", path, message, "restore the file or remove it from the table")
        return
    if type(body.get("size")) is int and body["size"] != size:
        yield finding("ADD-006", path, f"the file has {size} bytes, add.size says {body['size']}")
    if view.layout.provider != "parquet":
        return  # legal for legacy tables, and nothing that this audit can open
    try:
        with view.storage.open_input(path) as source:
            # Nanoseconds, the default for int96, do not reach far.
            file = open_parquet(source, coerce_int96_timestamp_unit="us")
            yield from _contents(_Opened(path, body, view, source, file, vector))
    except MemoryError as error:  # Arrow's is one as well
        yield unchecked("META-012", path, out_of_memory(error, path))
    except LimitExceeded as error:
        yield unchecked("META-012", path, error)
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        message = f"the file cannot be read as Parquet: {str(error)[:200]}"
        yield finding("META-012", path, message)


def _contents(opened: _Opened) -> Findings:
    rows = opened.file.metadata.num_rows
    count = row_count(opened.body)
    if count is not None and count != rows:
        message = f"the file has {rows} rows, numRecords says {count}"
        yield finding("STAT-001", opened.path, message, "queries that count or skip go wrong")
    if opened.vector is not None and bytes(opened.vector.data[:4]) != _MAGIC:
        message = "the deletion vector has the older native layout, not the portable one"
        yield finding("DVFMT-008", opened.path, message, severity="warning")
    if opened.vector is not None and (opened.vector.maximum or 0) >= max(rows, 1):
        message = f"the deletion vector marks row {opened.vector.maximum} of a file of {rows}"
        yield finding("DVFMT-001", opened.path, message)
    yield from _columns(opened)
    for requirement, message in of_iceberg(opened.file, opened.view.layout):
        # The file may be older than what asks for it.
        yield finding(requirement, opened.path, message, severity="warning")
    if "variantShredding" not in opened.view.layout.features:
        for requirement, message in not_shredded(opened.file, opened.view.layout):
            yield finding(requirement, opened.path, message)
    yield from wrong_statistics(
        Judged(
            opened.path,
            opened.source,
            opened.file,
            opened.view.layout,
            statistics_of(opened.body) or {},
            opened.vector,
        )
    )


def _columns(opened: _Opened) -> Findings:
    layout, schema = opened.view.layout, opened.file.schema_arrow
    if layout.schema is None:
        return
    wanted = {c.physical[0]: c for c in layout.columns if len(c.path) == 1}
    hidden = {
        "_change_type",
        layout.properties.get("delta.rowTracking.materializedRowIdColumnName"),
        layout.properties.get("delta.rowTracking.materializedRowCommitVersionColumnName"),
    }
    extra = [n for n in schema.names if n not in wanted and n not in hidden]
    if extra and layout.mode == "name" and not set(schema.names) & set(wanted):
        message = f"no column of the file has a physical name of the schema: {', '.join(extra[:5])}"
        yield finding("CM-013", opened.path, message)
    elif extra:
        message = f"the file has columns that the schema lacks: {', '.join(extra[:5])}"
        # With column mapping a column can be dropped without rewriting its files.
        severity: Severity = "warning" if layout.mode == "none" else "info"
        yield finding("WCON-001", opened.path, message, "readers ignore them", severity=severity)
    yield from _types(opened, wanted)
    yield from _partitions(opened)


def _partitions(opened: _Opened) -> Iterator[Finding]:
    """Report partition columns that a file lacks though Iceberg compatibility wants them in it."""
    layout, names = opened.view.layout, set(opened.file.schema_arrow.names)
    if layout.mode == "id":
        return
    for version, requirement, severity in _MATERIALISED:
        if not layout.active(f"icebergCompatV{version}", f"delta.enableIcebergCompatV{version}"):
            continue
        for physical in layout.partition_columns.keys() - names:
            message = f"the file lacks the partition column {physical}"
            yield finding(requirement, opened.path, message, severity=severity)


def _types(opened: _Opened, wanted: dict[str, Any]) -> Iterator[Finding]:
    layout, schema = opened.view.layout, opened.file.schema_arrow
    stored_columns = map(opened.file.schema.column, range(len(opened.file.schema)))
    int96 = {column.path for column in stored_columns if column.physical_type == "INT96"}
    numbered = any(b"PARQUET:field_id" in (field.metadata or {}) for field in schema)
    if layout.mode == "id" and not numbered:
        message = "the file has no field ids, and its columns would be found by nothing else"
        yield finding("CM-015", opened.path, message)
    for field in schema:
        column = wanted.get(field.name)
        if column is None or layout.mode == "id":
            continue
        for requirement, message in unfit(column, field.type, int96=field.name in int96):
            yield finding(requirement, opened.path, message)
        stored = (field.metadata or {}).get(b"PARQUET:field_id")
        mapped = layout.mode != "none" and column.field_id is not None
        if mapped and (stored is None or int(stored) != column.field_id):
            given = "no field id" if stored is None else f"field id {int(stored)}"
            message = f"column {column.name} has id {column.field_id}, the file gives it {given}"
            # A table that was mapped by name later on keeps the files that it had.
            older = layout.mode == "name" and not numbered
            severity: Severity | None = "info" if older else None
            yield finding("CM-015", opened.path, message, severity=severity)


_MATERIALISED: Final[tuple[tuple[int, str, Severity | None], ...]] = (
    (1, "ICE1-007", None),
    (2, "ICE2-015", "warning"),  # it may be older than what asks for it
)
"""Versions of Iceberg compatibility, and what they have against a file without partitions."""


FILE_CHECKS: Final = (
    Check(
        live_files,
        (
            "REC-021",
            "DATA-001",
            "SNAP-004",
            "ADD-006",
            "META-012",
            "STAT-001",
            "DVFMT-001",
            "WCON-001",
            "CM-013",
            "CM-015",
            "WCON-005",
            "SCH-015",
            "SCH-019",
            "STAT-008",
            "STAT-012",
            "STAT-013",
            "SCH-025",
            "ICE1-007",
            "ICE2-012",
            "ICE2-015",
            "ICE2-017",
            "SHRED-002",
            "VAR-003",
            *_VECTOR_REQUIREMENTS,
        ),
    ),
)
"""Checks of the files of the latest version."""
