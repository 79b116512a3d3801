"""Which requirement a wrong answer breaks, where it shows that it is not the judged one.

Covers every reading section. A question is held to one requirement of those that its table touches;
what differs may be the matter of another: a partition column of a mapped table that is null says
nothing of its deletion vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from conformance.audit import AuditError
from conformance.audit.grammar.uris import decode_path
from conformance.audit.read.log import open_log
from conformance.base.untrusted import DocumentError, parse_json
from conformance.golden.cases import Case, Expected, Spec
from conformance.golden.commits import commits_in
from conformance.judging.compare import (
    Difference,
    Rows,
    WrongColumns,
    compare_snapshot,
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

_NEWEST_ACTION: Final[Mapping[str, tuple[str, str]]] = {
    "protocol": ("REC-012", "REC-002"),
    "metadata": ("REC-013", "REC-003"),
}
"""Part of a snapshot to two requirements: the newest action counts, and there is one action."""
_ACTIONS: Final[Mapping[str, str]] = {"protocol": "protocol", "metadata": "metaData"}
"""Part of a snapshot to the action that it is of."""
_REPLACED_METADATA: Final = "META-002"
"""The requirement that metadata replaces all of the older one."""
_SNAPSHOT_REQUIREMENTS: Final = frozenset(
    name for names in _NEWEST_ACTION.values() for name in names
)

_MAPPING_REQUIREMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("CM-025", "CM-026"),
    "name": ("CM-029", "CM-030"),
}
"""Mode of column mapping to the requirement that finds data columns, and that of partition
values."""
_ALL_MAPPING_REQUIREMENTS: Final = frozenset(
    name for names in _MAPPING_REQUIREMENTS.values() for name in names
)

_VALUE_REQUIREMENTS: Final = (
    "CM-*", "DATA-003", "DFT-*", "META-*", "PART-*", "PQ-*", "RVER-001", "SCH-*", "SHRED-*",
    "TW-*", "VAR*", "VOID-*",
)  # fmt: skip
"""Requirements on the values of columns."""
_PARTITION_VALUE_REQUIREMENTS: Final = ("CM-02[346]", "CM-030", "DATA-003", "PART-*", "TW-*")
"""Those of them on the values of partition columns."""
_PARTITIONS_ALONE: Final = ("DATA-003", "PART-*")
"""Those of them on no other values."""
_SUPPORT_REQUIREMENTS: Final = ("TF-002", "VPC-003")
"""Requirements on what a reader has to support: whatever it reads then keeps them."""
_ROW_REQUIREMENTS: Final = ("DV*", "RT-*")
"""Requirements on which rows there are: wrong values in other columns of them break none."""
_NULL_REQUIREMENTS: Final = ("CM-028", "CM-031", "DFT-004")
"""Requirements on what is null; no other one distinguishes null from an empty array."""
_DELETED_ROWS: Final = "DVDESC-020"
"""The requirement that no read returns deleted rows: an answer with rows missing keeps it."""
_ROW_QUESTIONS: Final = ("read", "aggregate")
"""Questions whose answers are rows, or made of them."""
_PROTOCOL_REQUIREMENTS: Final = ("PROTO-00[89]", "PROTO-010", "RVER-*", "TF-002", "VPC-003")
"""Requirements on which tables can be read, whatever their rows: refusals break them."""
_DEFAULT_REQUIREMENT: Final = "DFT-004"
_MISSING_COLUMN_REQUIREMENTS: Final[Mapping[str, str]] = {"id": "CM-028", "name": "CM-031"}
"""Mode of column mapping to the requirement that columns which files lack are null: a refusal
fills in no default."""
_FORBIDDEN_CONTENT: Final = frozenset(
    {"DVD-021", "DVDESC-020", "REC-006", "REC-007", "REC-008", "REM-002", "RT-017"}
)
"""Requirements on what no answer contains: a refusal keeps them."""
_SIBLING_REQUIREMENTS: Final[Mapping[frozenset[str], Mapping[str, str]]] = {
    frozenset({"_row_id"}): {"RT-025": "RT-023", "RT-026": "RT-024"},
    frozenset({"_row_commit_version"}): {"RT-023": "RT-025", "RT-024": "RT-026"},
}
"""The only wrong column to a map from requirements on its sibling to the same ones on it."""
_ROW_ID: Final = "_row_id"
_ROW_ID_REQUIREMENTS: Final = ("RT-023", "RT-024")
"""The requirements on row ids that are stored in files, and on those that follow from positions."""
_TRACKING_REQUIREMENTS: Final = tuple(
    each for pairs in _SIBLING_REQUIREMENTS.values() for each in pairs.values()
)
_TRACKING_COLUMN_REQUIREMENTS: Final[Mapping[frozenset[str], str]] = {
    frozenset({"_row_id"}): "RT-024",
    frozenset({"_row_commit_version"}): "RT-026",
    frozenset({"_row_id", "_row_commit_version"}): "RT-024",
}
"""The only wrong columns to the requirement on them, where the judged one is on which rows a
deletion vector leaves."""
_VECTOR_REQUIREMENTS: Final = ("DVDESC-020", "DV-004")
_NEWEST_METADATA: Final = "REC-013"
_LIVE_FILE_REQUIREMENTS: Final = (
    "FA-003", "REC-00[68]", "REC-01[018]", "REC-02[01]", "REM-*", "SNAP-00[37]",
)  # fmt: skip
"""Requirements on which files are live: none is on which columns there are."""
_STRAY_FILES: Final = "SNAP-003"
"""The requirement that files which no commit adds are no part of the table."""
_NEWEST_FILES: Final = "REC-018"
"""The requirement on which files are live, and on what is said of them."""
_HIDDEN_COLUMNS: Final = "RT-017"
"""The requirement that reads leave out materialized columns of row tracking."""
_COLUMN_QUESTIONS: Final = ("read", "row_ids", "changes")
"""Questions whose answers could contain such columns."""
_CHANGE_COLUMNS: Final = ("_change_type", "_commit_version")
"""Columns of a change feed that say how a row changed, and when."""
_CHANGE_REQUIREMENTS: Final = ("CDC-003", "CDC-004")
"""The requirements on changes in change data files, and on changes by adds and removes."""
_FEATURE_COLUMNS: Final = frozenset(
    {"_row_id", "_row_commit_version", "_change_type", "_commit_version", "_commit_timestamp"}
)
"""Columns that a feature adds to answers: requirements of the feature are on them."""


def instead_of(spec: Spec, case: Case) -> tuple[str, ...]:
    """Return the requirements that a difference may show instead of the judged one."""
    version = _version(spec)
    if spec.type == "snapshot":
        found = [_newest_action(case.table, version, part) for part in _NEWEST_ACTION]
        found += [_REPLACED_METADATA] if _NEWEST_ACTION["metadata"][0] in found else []
        return (*found, *_refused(case, spec, found))
    if spec.type == "files":
        judged = judged_of(spec, case)
        seen = {judged.in_revision(revision) or "" for revision in SELECTIONS}
        others = any(matches(each, (_STRAY_FILES, *_SUPPORT_REQUIREMENTS)) for each in seen)
        return (_NEWEST_FILES,) if others else ()
    if spec.type not in ("read", "row_ids", "changes", "aggregate"):
        return ()
    found = [ROWS_READ, *(_TRACKING_REQUIREMENTS if spec.type == "row_ids" else ())]
    found += _possible_by_files(case, spec, version)
    if spec.type in _COLUMN_QUESTIONS and _hidden(case.table):
        found.append(_HIDDEN_COLUMNS)
    found += _refused(case, spec, found)
    mapping = _mapping(case, version)
    if mapping is not None:
        data, partition = _MAPPING_REQUIREMENTS[mapping.mode]
        found += [data, *([partition] if mapping.partitions else [])]
    return tuple(found)


def _refused(case: Case, spec: Spec, known: Sequence[str]) -> list[str]:
    """Return what refusals may show, in any revision, beside what is known."""
    found = {requirement_refused(spec, case, revision) for revision in SELECTIONS}
    return sorted(each for each in found.difference(known) if each is not None)


def requirement_refused(spec: Spec, case: Case, revision: str) -> str | None:
    """Return the requirement that a wrong refusal breaks; ``None`` where it is the judged one.

    A snapshot that is refused says nothing of its parts: where its case names what may be the
    reason, that is broken, as by a refusal to list the files. Where rows are judged, a refusal
    breaks what the case names of protocols.
    """
    judged = judged_of(spec, case)
    requirement = judged.in_revision(revision)

    def unshown(name: str) -> bool:
        return name in _FORBIDDEN_CONTENT or judged.unshown(name)

    if spec.type == "snapshot":
        if judged.own is not None or judged.timed or requirement in judged.named:
            return None
        files = replace(judged, question="files", unshown=unshown, _found={}).in_revision(revision)
        return files if files in judged.named else None
    if spec.type in _ROW_QUESTIONS and requirement == judged.own == ROWS_READ:
        named = tuple(name for name in judged.named if matches(name, _PROTOCOL_REQUIREMENTS))
        return replace(judged, own=None, named=named, _found={}).in_revision(revision)
    if spec.type in _ROW_QUESTIONS and requirement == _DEFAULT_REQUIREMENT:
        mapping = _mapping(case, _version(spec))
        return ROWS_READ if mapping is None else _MISSING_COLUMN_REQUIREMENTS[mapping.mode]
    if spec.type not in _ROW_QUESTIONS or requirement not in _FORBIDDEN_CONTENT:
        return None
    return replace(judged, own=None, unshown=unshown, _found={}).in_revision(revision)


def requirement_shown(  # noqa: PLR0913  all that it depends on
    case: Case,
    spec: Spec,
    difference: Difference,
    *,
    judged: str | None,
    expected: Expected,
    actual: Any,
) -> str | None:
    """Return the requirement that a difference shows; ``None`` where it is the judged one.

    Args:
        case: the table.
        spec: the question.
        difference: the difference.
        judged: the requirement that the question is held to.
        expected: the answer that has to be given.
        actual: the payload of the one that was.
    """
    if spec.type == "snapshot":
        return _shown_by_snapshot(case, spec, difference, judged, expected.document, actual)
    if spec.type == "files":
        return _shown_by_files(case, judged, expected.document, actual)
    if judged is None or not isinstance(actual, pa.Table) or expected.source is None:
        return None
    if load_registry()[judged].level == "SHOULD":
        return None  # what is advised alone fails by nothing else
    wrong = _WrongRows(case, spec, judged, expected.rows(), actual)
    if spec.type in _COLUMN_QUESTIONS and _shows_hidden(wrong):
        return _HIDDEN_COLUMNS
    return _shown_by_rows(wrong)


@dataclass(frozen=True, slots=True)
class _WrongRows:
    """An answer of rows that is wrong.

    Attributes:
        case: the table.
        spec: the question.
        judged: the requirement that the question is held to.
        expected: the rows that have to be given.
        actual: the rows that were.
    """

    case: Case
    spec: Spec
    judged: str
    expected: pa.Table
    actual: pa.Table

    @property
    def version(self) -> int | None:
        """The version that is asked for; ``None`` for the latest."""
        return _version(self.spec)

    @property
    def is_timed(self) -> bool:
        """Whether a time is asked for, so that the version is unknown."""
        return "timestamp" in self.spec.parameters


def _shown_by_snapshot(  # noqa: PLR0913, PLR0917  as of :func:`requirement_shown`
    case: Case,
    spec: Spec,
    difference: Difference,
    judged: str | None,
    expected: Mapping[str, Any],
    actual: Any,
) -> str | None:
    part = difference.summary.partition(".")[0].partition(" ")[0]
    others = {*_SNAPSHOT_REQUIREMENTS, *_SUPPORT_REQUIREMENTS}
    others |= {_REPLACED_METADATA} if part == "protocol" else set()
    if part not in _NEWEST_ACTION or judged not in others:
        return None
    newest, single = _NEWEST_ACTION[part]
    requirement = _newest_action(case.table, _version(spec), part)
    if requirement == _NEWEST_ACTION["metadata"][0] and _has_more_properties(expected, actual):
        return _REPLACED_METADATA
    if judged not in (newest, single):
        return requirement
    if spec.requirement is not None or judged != single:
        return None  # the case says which of both it is about
    return newest if _is_replaced(case, spec, part, actual) else None


def _shown_by_files(
    case: Case, judged: str | None, expected: Mapping[str, Any], actual: Any
) -> str | None:
    """Return the requirement on live files, unless some file is of the table by no commit."""
    if judged in _SUPPORT_REQUIREMENTS:
        return _NEWEST_FILES
    if judged != _STRAY_FILES or not isinstance(actual, Sequence):
        return None
    right, seen = (
        {str(each.get("path")) for each in files if isinstance(each, Mapping)}
        for files in (expected["files"], actual)
    )
    return _NEWEST_FILES if seen <= right | _added(case.table) else None


@lru_cache(maxsize=64)
def _added(table: Path) -> frozenset[str]:
    """Return the paths of the files that commits add."""
    found = set()
    for content in commits_in(table).values():
        for line in (content or b"").splitlines():
            with suppress(DocumentError, ValueError, LookupError, TypeError, AttributeError):
                found.add(decode_path(parse_json(line)["add"]["path"]))
    return frozenset(found)


def _is_replaced(case: Case, spec: Spec, part: str, actual: Any) -> bool:
    """Return whether a part of a snapshot is what an older action says, which a newer replaced."""
    version = _version(spec)
    contents = commits_in(case.table).items()
    for content in (held for at, held in contents if held and (version is None or at <= version)):
        for line in content.splitlines():
            with suppress(DocumentError, LookupError, TypeError):
                said = {part: parse_json(line)[_ACTIONS[part]]}
                if compare_snapshot(said, actual) is None:
                    return True
    return False


def _has_more_properties(expected: Mapping[str, Any], actual: Any) -> bool:
    """Return whether metadata has the right properties, and some that its newest action lacks."""
    try:
        properties, others = (each["metadata"]["configuration"] for each in (expected, actual))
        return bool(properties.items() < others.items())
    except (KeyError, TypeError, AttributeError):
        return False


def _shown_by_rows(wrong: _WrongRows) -> str | None:
    judged, expected, actual = wrong.judged, wrong.expected, wrong.actual
    strays = judged == _STRAY_FILES and _count_of(actual, wrong) > _count_of(expected, wrong)
    if matches(judged, _SUPPORT_REQUIREMENTS) or (judged == _STRAY_FILES and not strays):
        return ROWS_READ
    empty = judged not in _NULL_REQUIREMENTS and equal_with_empty_as_null(expected, actual)
    if empty or (judged == _DELETED_ROWS and _has_fewer_rows(wrong)):
        return ROWS_READ
    if wrong.spec.type == "aggregate":
        miscounted = _count_of(actual, wrong) != _count_of(expected, wrong)
        return ROWS_READ if miscounted and matches(judged, _VALUE_REQUIREMENTS) else None
    changed = _shown_by_changes(wrong)
    if changed is not None:
        return changed
    columns = wrong_columns(expected, actual)
    if _has_older_columns(wrong):
        return _NEWEST_METADATA
    return _shown_by_live_rows(wrong) if columns is None else _shown_by_columns(wrong, columns)


def _shown_by_changes(wrong: _WrongRows) -> str | None:
    """Return the requirement on which rows changed, where a version has other changes.

    No requirement on values is on which rows changed.
    """
    if wrong.spec.type != "changes" or not matches(wrong.judged, _VALUE_REQUIREMENTS):
        return None
    expected, actual = wrong.expected, wrong.actual
    if not {*_CHANGE_COLUMNS} <= {*actual.column_names} & {*expected.column_names}:
        return None
    right, seen = (counted_rows(table, _CHANGE_COLUMNS) for table in (expected, actual))
    versions = {version for _, version in (right - seen) + (seen - right)}
    if not versions:
        return None
    commits = commits_in(wrong.case.table)
    recorded = any(b'"cdc"' in (commits.get(version) or b"") for version in versions)
    return _CHANGE_REQUIREMENTS[not recorded]


def _shown_by_columns(wrong: _WrongRows, columns: WrongColumns) -> str | None:
    """Return the requirement that wrong columns show, where the rows are right else."""
    judged, names = wrong.judged, columns.columns
    by_vectors = columns.keyed and judged in _VECTOR_REQUIREMENTS
    if by_vectors and names in _TRACKING_COLUMN_REQUIREMENTS:
        return _TRACKING_COLUMN_REQUIREMENTS[names]
    sibling = _SIBLING_REQUIREMENTS.get(names, {}).get(judged)
    if names == {_ROW_ID} and judged in _TRACKING_REQUIREMENTS:
        return _shown_by_row_ids(wrong) or sibling
    if names & _FEATURE_COLUMNS:
        return sibling
    mapping = _mapping(wrong.case, wrong.version)
    if mapping is not None:
        of_partitions = names <= mapping.partitions
        requirement = _MAPPING_REQUIREMENTS[mapping.mode][of_partitions]
        own = matches(
            judged, _PARTITION_VALUE_REQUIREMENTS if of_partitions else _VALUE_REQUIREMENTS
        )
        others = _ALL_MAPPING_REQUIREMENTS - {requirement}
        if judged in others or (columns.misnamed and not own):
            return requirement
    of_rows = columns.keyed and matches(judged, _ROW_REQUIREMENTS)
    # What a filter finds follows from the values that it looks at.
    of_others = matches(judged, _PARTITIONS_ALONE) and "filter" not in wrong.spec.parameters
    return ROWS_READ if of_rows or (of_others and not names & _partitions(wrong)) else None


def _partitions(wrong: _WrongRows) -> frozenset[str]:
    """Return the partition columns; all columns where commits do not say which they are."""
    found = frozenset(wrong.expected.column_names)
    if wrong.is_timed:
        return found
    for at, content in commits_in(wrong.case.table).items():
        for line in (content or b"").splitlines():
            if (wrong.version is None or at <= wrong.version) and _METADATA.search(line):
                with suppress(DocumentError, LookupError, TypeError):
                    found = frozenset(parse_json(line)["metaData"]["partitionColumns"])
    return found


def _possible_by_files(case: Case, spec: Spec, version: int | None) -> Iterator[str]:
    """Return what the files of a version may show in place of the judged requirement."""
    if spec.type == "changes":
        judged = judged_of(spec, case)
        found = (judged.in_revision(revision) for revision in SELECTIONS)
        if any(each is not None and matches(each, _VALUE_REQUIREMENTS) for each in found):
            yield from _CHANGE_REQUIREMENTS
    if spec.type in ("read", "row_ids") and "deletionVectors" in case.features:
        yield _DELETED_ROWS
    if spec.type == "read" and any(older_columns(case.table, version)):
        yield _NEWEST_METADATA


def _shown_by_live_rows(wrong: _WrongRows) -> str | None:
    """Return the requirement that missing or additional rows show, where all others are right.

    They break no requirement on values; but a filter looks at values.
    """
    tracked = wrong.judged.startswith("RT-")
    found = differing_rows(wrong.expected, wrong.actual)
    on_values = tracked or matches(wrong.judged, _VALUE_REQUIREMENTS)
    if wrong.spec.type == "changes" or found is None or not on_values:
        return None
    lacking, more = found
    if more and _are_deleted(wrong, more):
        return _DELETED_ROWS
    alone = bool(lacking) is not bool(more)
    return ROWS_READ if alone and (tracked or "filter" not in wrong.spec.parameters) else None


def _are_deleted(wrong: _WrongRows, rows: Rows) -> bool:
    """Return whether deletion vectors of a version mark all of some rows."""
    if wrong.is_timed or "deletionVectors" not in wrong.case.features:
        return False
    names = wrong.expected.column_names
    marked = marked_rows(wrong.case.table, wrong.version)
    known = [name for name in names if name not in _FEATURE_COLUMNS]
    if marked is None or not {*known} <= {*marked.column_names}:
        return False
    held = counted_rows(marked, known)
    for row in rows.elements():
        held[tuple(row[names.index(name)] for name in known)] -= 1
    return min(held.values()) >= 0


def _shown_by_row_ids(wrong: _WrongRows) -> str | None:
    """Return which requirement on row ids is broken; ``None`` where both are, or it is unknown."""
    fresh = None if wrong.is_timed else fresh_ids(wrong.case.table, wrong.version)
    found = differing_rows(wrong.expected, wrong.actual)
    if fresh is None or found is None:
        return None
    at = wrong.expected.column_names.index(_ROW_ID)
    by_position = {any(row[at] in ids for ids in fresh) for row in found[0]}
    return _ROW_ID_REQUIREMENTS[by_position.pop()] if len(by_position) == 1 else None


def _has_older_columns(wrong: _WrongRows) -> bool:
    """Return whether the columns of a read are those of older metadata."""
    plain = wrong.spec.type == "read" and wrong.spec.parameters.keys() <= {"version"}
    if not plain or not matches(wrong.judged, _LIVE_FILE_REQUIREMENTS):
        return False
    names = wrong.actual.column_names
    others = sorted(names) != sorted(wrong.expected.column_names)
    return others and names in older_columns(wrong.case.table, wrong.version)


def _shows_hidden(wrong: _WrongRows) -> bool:
    """Return whether an answer has columns of row tracking, and no other one, beside its own."""
    extra = set(wrong.actual.column_names).difference(wrong.expected.column_names)
    return bool(extra) and extra <= _hidden(wrong.case.table)


@lru_cache(maxsize=2048)
def _hidden(table: Path) -> frozenset[str]:
    """Return the names that commits of a table give to materialized columns of row tracking."""
    found = (MATERIALIZED.findall(content or b"") for content in commits_in(table).values())
    return frozenset(name.decode() for names in found for name in names)


def _has_fewer_rows(wrong: _WrongRows) -> bool:
    """Return whether an answer has fewer rows than it has to."""
    return 0 <= _count_of(wrong.actual, wrong) < _count_of(wrong.expected, wrong)


def _count_of(rows: pa.Table, wrong: _WrongRows) -> int:
    """Return how many rows an answer gives or counts; -1 where it does not say."""
    if wrong.spec.type != "aggregate":
        return int(rows.num_rows)
    counted = rows.num_rows == 1 and "count" in rows.column_names
    count = rows.column("count")[0].as_py() if counted else None
    return count if isinstance(count, int) else -1


def _version(spec: Spec) -> int | None:
    return spec.parameters.get("end" if spec.type == "changes" else "version")


def _newest_action(table: Path, version: int | None, part: str) -> str:
    newest, single = _NEWEST_ACTION[part]
    return newest if shows(table, version, "", newest) else single


@dataclass(frozen=True, slots=True)
class _Mapping:
    mode: str
    partitions: frozenset[str]


_METADATA: Final = re.compile(rb'"metaData"')


def _mapping(case: Case, version: int | None) -> _Mapping | None:
    """Return how columns of a version are mapped; ``None`` where they are not, or it is unknown."""
    if "columnMapping" not in case.features:
        return None
    said = [
        each for at, each in _mappings_by_version(case.table) if version is None or at <= version
    ]
    return said[-1] if said else None


@lru_cache(maxsize=2048)
def _mappings_by_version(table: Path) -> tuple[tuple[int, _Mapping | None], ...]:
    """Return the column mapping of each metaData of the log, with its version."""
    commits = commits_in(table)
    found = [] if 0 in commits else _mapping_of_checkpoint(table)
    for version, content in commits.items():
        if content is None:
            return ()
        try:
            lines = [line for line in content.splitlines() if _METADATA.search(line)]
            found += [(version, _mapping_of(parse_json(line)["metaData"])) for line in lines]
        except (DocumentError, KeyError, TypeError, AttributeError):
            return ()
    return tuple(found)


def _mapping_of_checkpoint(table: Path) -> list[tuple[int, _Mapping | None]]:
    """Return the column mapping of the first checkpoint, where earlier commits are gone."""
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
    return _Mapping(str(mode), names) if mode in _MAPPING_REQUIREMENTS else None
