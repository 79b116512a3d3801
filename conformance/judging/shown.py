"""Which requirement a wrong answer breaks, where it shows that it is not the judged one.

Serves every reading section. A question is held to one requirement of those that its table touches;
what differs may be the matter of another: a partition column of a mapped table that is null says
nothing of its deletion vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from conformance.audit import AuditError
from conformance.audit.read.log import open_log
from conformance.base.untrusted import DocumentError, parse_json
from conformance.golden.cases import Case, Expected, Spec
from conformance.golden.commits import commits_in
from conformance.judging.compare import (
    Difference,
    Rows,
    WrongColumns,
    counted_rows,
    differing_rows,
    equal_with_empty_as_null,
    wrong_columns,
)
from conformance.judging.live import fresh_ids, marked_rows, older_columns
from conformance.requirements.judged import MATERIALIZED, judged_of, matches, shows
from conformance.requirements.levels import ROWS_READ
from conformance.requirements.registry import SELECTIONS, load_registry
from reference_impl.storage import LocalStorage

_NEWEST: Final[Mapping[str, tuple[str, str]]] = {
    "protocol": ("REC-012", "REC-002"),
    "metadata": ("REC-013", "REC-003"),
}
"""Part of a snapshot to the requirement on which of several actions it is of, and that it is of
one."""
_REPLACED: Final = "META-002"
"""The requirement that nothing of older metadata is left."""
_PARTS: Final = frozenset(name for names in _NEWEST.values() for name in names)

_MAPPED: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("CM-025", "CM-026"),
    "name": ("CM-029", "CM-030"),
}
"""Mode of column mapping to the requirement that finds data columns, and that of partition
values."""
_BY_NAME: Final = frozenset(name for names in _MAPPED.values() for name in names)

_OF_VALUES: Final = (
    "CM-*", "DFT-*", "META-*", "PART-*", "PQ-*", "RVER-001", "SCH-*", "SHRED-*", "TW-*", "VAR*",
    "VOID-*",
)  # fmt: skip
"""Requirements that say themselves which values a column has."""
_OF_PARTITIONS: Final = ("CM-02[346]", "CM-030", "PART-*", "TW-*")
"""Those that say it of partition columns."""
_OF_ROWS: Final = ("DV*", "RT-*")
"""Requirements of which nothing is broken where the right rows come with wrong values in other
columns."""
_OF_NULLS: Final = ("CM-028", "CM-031", "DFT-004")
"""Requirements that say what is null; no other one is about null beside an empty array."""
_OF_DELETED: Final = "DVDESC-020"
"""The requirement of deleted rows: who gives too few returns none of them."""
_READS: Final = ("read", "aggregate")
"""Questions that are answered by rows alone."""
_FORBIDDING: Final = frozenset(
    {"DVD-021", "DVDESC-020", "REC-006", "REC-007", "REC-008", "REM-002", "RT-017"}
)
"""Requirements that say what no answer holds: who refuses gives nothing that they forbid."""
_OF_TRACKING: Final[Mapping[frozenset[str], Mapping[str, str]]] = {
    frozenset({"_row_id"}): {"RT-025": "RT-023", "RT-026": "RT-024"},
    frozenset({"_row_commit_version"}): {"RT-023": "RT-025", "RT-024": "RT-026"},
}
"""Column that alone is wrong: of requirements about its sibling, those that say the same of it."""
_ID: Final = "_row_id"
_IDS: Final = ("RT-023", "RT-024")
"""The requirements on ids that files keep, and on those that rows have by their position."""
_TRACKED: Final = tuple(row for pairs in _OF_TRACKING.values() for row in pairs.values())
_OF_IDS: Final[Mapping[frozenset[str], str]] = {
    frozenset({"_row_id"}): "RT-024",
    frozenset({"_row_commit_version"}): "RT-026",
    frozenset({"_row_id", "_row_commit_version"}): "RT-024",
}
"""Columns that alone are wrong of the right rows: what says it, where the judged requirement says
which rows a vector leaves."""
_LEFT_BY_VECTORS: Final = ("DVDESC-020", "DV-004")
_NEWEST_COLUMNS: Final = "REC-013"
_OF_FILES: Final = (
    "FA-003", "REC-00[68]", "REC-01[018]", "REC-02[01]", "REM-*", "SNAP-00[37]",
)  # fmt: skip
"""Requirements on which files are live, which say nothing of the columns that there are."""
_HIDDEN: Final = "RT-017"
"""The requirement on columns of row tracking that no read shows."""
_SHOWING: Final = ("read", "row_ids", "changes")
"""Questions whose answers could show such columns."""
_OF_CHANGES: Final = ("_change_type", "_commit_version")
"""Columns of changes that say which rows changed, and when."""
_CHANGED: Final = ("CDC-003", "CDC-004")
"""The requirements on changes that change files hold, and on those of adds and removes."""
_OF_FEATURES: Final = frozenset(
    {"_row_id", "_row_commit_version", "_change_type", "_commit_version", "_commit_timestamp"}
)
"""Columns that a feature adds, which are the matter of its requirements."""


def instead_of(spec: Spec, case: Case) -> tuple[str, ...]:
    """Return what a difference may show in place of the judged requirement, in any revision."""
    version = _version(spec)
    if spec.type == "snapshot":
        rows = [_newest(case.table, version, part) for part in _NEWEST]
        return (*rows, _REPLACED) if _NEWEST["metadata"][0] in rows else tuple(rows)
    if spec.type not in ("read", "row_ids", "changes", "aggregate"):
        return ()
    rows = [ROWS_READ, *(_TRACKED if spec.type == "row_ids" else ())]
    rows += _shown_by_files(case, spec, version)
    if spec.type in _SHOWING and _hidden(case.table):
        rows.append(_HIDDEN)
    refused = {requirement_refused(spec, case, revision) for revision in SELECTIONS}
    rows += sorted(row for row in refused - {*rows} if row is not None)
    mapping = _mapping(case, version)
    if mapping is not None:
        data, partition = _MAPPED[mapping.mode]
        rows += [data, *([partition] if mapping.partitions else [])]
    return tuple(rows)


def requirement_refused(spec: Spec, case: Case, revision: str) -> str | None:
    """Return the requirement that a wrong refusal breaks; ``None`` where it is the judged one."""
    judged = judged_of(spec, case)
    if spec.type not in _READS or judged.in_revision(revision) not in _FORBIDDING:
        return None

    def unshown(name: str) -> bool:
        return name in _FORBIDDING or judged.unshown(name)

    return replace(judged, own=None, unshown=unshown, _found={}).in_revision(revision)


def requirement_shown(  # noqa: PLR0913  all that it depends on
    case: Case,
    spec: Spec,
    found: Difference,
    *,
    judged: str | None,
    wanted: Expected,
    given: Any,
) -> str | None:
    """Return the requirement that a difference shows; ``None`` where it is the judged one.

    Args:
        case: the table.
        spec: the question.
        found: the difference.
        judged: the requirement that the question is held to.
        wanted: the answer that has to be given.
        given: the payload of the one that was.
    """
    if spec.type == "snapshot":
        return _of_snapshot(case, spec, found, judged, wanted.document, given)
    if judged is None or not isinstance(given, pa.Table) or wanted.source is None:
        return None
    if load_registry()[judged].level == "SHOULD":
        return None  # what is advised alone fails by nothing else
    if spec.type in _SHOWING and _shows_hidden(case.table, wanted.rows(), given):
        return _HIDDEN
    return _of_rows(case, spec, judged, wanted.rows(), given)


def _of_snapshot(  # noqa: PLR0913, PLR0917  as of :func:`requirement_shown`
    case: Case,
    spec: Spec,
    found: Difference,
    judged: str | None,
    wanted: Mapping[str, Any],
    given: Any,
) -> str | None:
    part = found.summary.partition(".")[0].partition(" ")[0]
    if part not in _NEWEST or judged not in _PARTS:
        return None
    row = _newest(case.table, _version(spec), part)
    if row == _NEWEST["metadata"][0] and _has_more_properties(wanted, given):
        return _REPLACED
    return row if judged not in _NEWEST[part] else None


def _has_more_properties(wanted: Mapping[str, Any], given: Any) -> bool:
    """Return whether metadata has the right properties, and some that its newest action lacks."""
    try:
        properties, others = (each["metadata"]["configuration"] for each in (wanted, given))
        return bool(properties.items() < others.items())
    except (KeyError, TypeError, AttributeError):
        return False


def _of_rows(case: Case, spec: Spec, judged: str, wanted: pa.Table, given: pa.Table) -> str | None:
    empty = judged not in _OF_NULLS and equal_with_empty_as_null(wanted, given)
    if empty or (judged == _OF_DELETED and _fewer(spec, wanted, given)):
        return ROWS_READ
    if spec.type == "aggregate":
        return None
    changed = _of_changes(case, spec, judged, wanted, given)
    if changed is not None:
        return changed
    wrong = wrong_columns(wanted, given)
    if _has_older_columns(case, spec, judged, wanted, given):
        return _NEWEST_COLUMNS
    if wrong is None:
        return _of_live(case, spec, judged, wanted, given)
    return _of_columns(case, spec, judged, wrong, wanted, given)


def _of_changes(
    case: Case, spec: Spec, judged: str, wanted: pa.Table, given: pa.Table
) -> str | None:
    """Return what changes show that are others than those of a version, whatever their values.

    Nothing that is said of values says which rows changed.
    """
    if spec.type != "changes" or not matches(judged, _OF_VALUES):
        return None
    if not {*_OF_CHANGES} <= {*given.column_names} & {*wanted.column_names}:
        return None
    right, seen = (counted_rows(table, _OF_CHANGES) for table in (wanted, given))
    versions = {version for _, version in (right - seen) + (seen - right)}
    if not versions:
        return None
    recorded = any(b'"cdc"' in (commits_in(case.table).get(v) or b"") for v in versions)
    return _CHANGED[not recorded]


def _of_columns(  # noqa: PLR0913, PLR0917  as of :func:`requirement_shown`
    case: Case, spec: Spec, judged: str, wrong: WrongColumns, wanted: pa.Table, given: pa.Table
) -> str | None:
    """Return what columns show that alone are wrong."""
    if wrong.keyed and judged in _LEFT_BY_VECTORS and wrong.columns in _OF_IDS:
        return _OF_IDS[wrong.columns]
    if wrong.columns == {_ID} and judged in _TRACKED:
        return _of_ids(case, spec, wanted, given) or _OF_TRACKING[wrong.columns].get(judged)
    if wrong.columns & _OF_FEATURES:
        return _OF_TRACKING.get(wrong.columns, {}).get(judged)
    mapping = _mapping(case, _version(spec))
    if mapping is not None:
        of_partitions = wrong.columns <= mapping.partitions
        row = _MAPPED[mapping.mode][of_partitions]
        own = matches(judged, _OF_PARTITIONS if of_partitions else _OF_VALUES)
        if judged in _BY_NAME - {row} or (wrong.misnamed and not own):
            return row
    return ROWS_READ if wrong.keyed and matches(judged, _OF_ROWS) else None


def _shown_by_files(case: Case, spec: Spec, version: int | None) -> Iterator[str]:
    """Return what the files of a version may show in place of the judged requirement."""
    if spec.type == "changes":
        judged = judged_of(spec, case)
        found = (judged.in_revision(revision) for revision in SELECTIONS)
        if any(row is not None and matches(row, _OF_VALUES) for row in found):
            yield from _CHANGED
    if spec.type in ("read", "row_ids") and "deletionVectors" in case.features:
        yield _OF_DELETED
    if spec.type == "read" and any(older_columns(case.table, version)):
        yield _NEWEST_COLUMNS


def _of_live(case: Case, spec: Spec, judged: str, wanted: pa.Table, given: pa.Table) -> str | None:
    """Return what is shown by rows that are right, but that some lack or are too many.

    Nothing that is said of values is broken by them; but a filter goes by values.
    """
    tracked = judged.startswith("RT-")
    found = differing_rows(wanted, given)
    if spec.type == "changes" or found is None or not (tracked or matches(judged, _OF_VALUES)):
        return None
    lacking, more = found
    if more and _are_marked(case, spec, wanted.column_names, more):
        return _OF_DELETED
    alone = bool(lacking) is not bool(more)
    return ROWS_READ if alone and (tracked or "filter" not in spec.parameters) else None


def _are_marked(case: Case, spec: Spec, names: list[str], rows: Rows) -> bool:
    """Return whether the vectors of a version mark all of some rows."""
    if "timestamp" in spec.parameters or "deletionVectors" not in case.features:
        return False
    marked = marked_rows(case.table, _version(spec))
    known = [name for name in names if name not in _OF_FEATURES]
    if marked is None or not {*known} <= {*marked.column_names}:
        return False
    held = counted_rows(marked, known)
    for row in rows.elements():
        held[tuple(row[names.index(name)] for name in known)] -= 1
    return min(held.values()) >= 0


def _of_ids(case: Case, spec: Spec, wanted: pa.Table, given: pa.Table) -> str | None:
    """Return which requirement on ids is broken: ``None`` where both are, or nobody knows."""
    fresh = fresh_ids(case.table, _version(spec)) if "timestamp" not in spec.parameters else None
    found = differing_rows(wanted, given)
    if fresh is None or found is None:
        return None
    at = wanted.column_names.index(_ID)
    by_position = {any(row[at] in ids for ids in fresh) for row in found[0]}
    return _IDS[by_position.pop()] if len(by_position) == 1 else None


def _has_older_columns(
    case: Case, spec: Spec, judged: str, wanted: pa.Table, given: pa.Table
) -> bool:
    """Return whether the columns of a read are those of older metadata."""
    if (
        spec.type != "read"
        or spec.parameters.keys() - {"version"}
        or not matches(judged, _OF_FILES)
    ):
        return False
    names = given.column_names
    others = sorted(names) != sorted(wanted.column_names)
    return others and names in older_columns(case.table, _version(spec))


def _shows_hidden(table: Path, wanted: pa.Table, given: pa.Table) -> bool:
    """Return whether an answer has columns of row tracking, and no other one, beside its own."""
    extra = set(given.column_names).difference(wanted.column_names)
    return bool(extra) and extra <= _hidden(table)


@lru_cache(maxsize=2048)
def _hidden(table: Path) -> frozenset[str]:
    """Return the names that commits of a table give to materialized columns of row tracking."""
    found = (MATERIALIZED.findall(content or b"") for content in commits_in(table).values())
    return frozenset(name.decode() for names in found for name in names)


def _fewer(spec: Spec, wanted: pa.Table, given: pa.Table) -> bool:
    """Return whether an answer has no row too many, and lacks one."""
    if spec.type != "aggregate":
        return bool(given.num_rows < wanted.num_rows)
    if given.num_rows != 1 or "count" not in given.column_names:
        return False
    count = given.column("count")[0].as_py()
    return isinstance(count, int) and bool(count < wanted.column("count")[0].as_py())


def _version(spec: Spec) -> int | None:
    return spec.parameters.get("end" if spec.type == "changes" else "version")


def _newest(table: Path, version: int | None, part: str) -> str:
    again, one = _NEWEST[part]
    return again if shows(table, version, "", again) else one


@dataclass(frozen=True, slots=True)
class _Mapping:
    mode: str
    partitions: frozenset[str]


_METADATA: Final = re.compile(rb'"metaData"')


def _mapping(case: Case, version: int | None) -> _Mapping | None:
    """Return how columns of a version are mapped; ``None`` where they are not, or nobody says."""
    if "columnMapping" not in case.features:
        return None
    said = [each for at, each in _said(case.table) if version is None or at <= version]
    return said[-1] if said else None


@lru_cache(maxsize=2048)
def _said(table: Path) -> tuple[tuple[int, _Mapping | None], ...]:
    """Return what the log of a table says of mapping, each with its version."""
    commits = commits_in(table)
    found = [] if 0 in commits else _said_first(table)
    for version, content in commits.items():
        if content is None:
            return ()
        try:
            lines = [line for line in content.splitlines() if _METADATA.search(line)]
            found += [(version, _mapping_of(parse_json(line)["metaData"])) for line in lines]
        except (DocumentError, KeyError, TypeError, AttributeError):
            return ()
    return tuple(found)


def _said_first(table: Path) -> list[tuple[int, _Mapping | None]]:
    """Return what the first checkpoint says, where earlier commits are gone."""
    try:
        held = open_log(LocalStorage(table)).checkpoints[:1]
    except AuditError:
        return []
    return [
        (each.version, _mapping_of(line.body)) for each in held for line in each.top.of("metaData")
    ]


def _mapping_of(metadata: Mapping[str, Any]) -> _Mapping | None:
    mode = (metadata.get("configuration") or {}).get("delta.columnMapping.mode")
    names = frozenset(map(str, metadata.get("partitionColumns") or ()))
    return _Mapping(str(mode), names) if mode in _MAPPED else None
