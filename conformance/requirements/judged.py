"""The one requirement that a case judges, out of those that it names; and that a step judges.

A case names what it touches; what it holds an implementation to is one requirement, which binds the
role that is asked and is in force in the revision: a read never judges a writer. Each step of a
recipe has a requirement of its own, beside that of the recipe. Verdicts follow the level of the
requirement. An older version of a table shows nothing of a feature that came later.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import Final

from conformance.golden.cases import Case, ExpectedError, Spec
from conformance.golden.commits import commits_in
from conformance.questions import AUDITED, QUESTIONS, TIMED, Asked, Question
from conformance.requirements.registry import Registry, Requirement, load_registry
from generators.oracle.operations import OPERATIONS
from reference_impl.errors import DeltaError
from reference_impl.places import decode_path

_FAILING: Final = ("MUST", "SHOULD")
"""Levels that can be broken: MAY allows, and a definition binds by the clauses that use it."""

SUPPORTED: Final = frozenset({"CKC-011", "PQ-001", "PROP-005", "PROP-008"})
"""What readers should support: refusing breaks these requirements, and a wrong answer breaks
more."""

_ADVISED: Final = SUPPORTED | {
    "CDC-019", "CM-006", "DVSTO-008", "ICT-013", "ICT-014", "ICT-015", "ICT-016", "ICT-017",
    "PART-009",
}  # fmt: skip
"""SHOULD requirements of readers that say what the answer is. The others say how readers come to
it, as by which checkpoint; the answer may be right without."""

_REFUSALS: Final = frozenset({"PROTO-005"})
"""Requirements that demand a refusal and nothing else: a refusal that is not due breaks another
one."""

_SINGLE_ACTION_REQUIREMENTS: Final = frozenset({"REC-002", "REC-003"})
"""Requirements that a version has one protocol and one metadata: rows do not show them."""


def _all_shown(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Judged:
    """What an item is held to.

    Attributes:
        question: type of the question.
        named: ids that the item names; the first MUST that can be judged is, else the first SHOULD.
        own: the requirement that is judged where it can be, whatever else is named.
        alone: no other one is judged in its place.
        timed: the version is asked for by a timestamp.
        refusing: a refusal is due.
        unshown: says whether the table does not show a requirement; to look at one takes time.
    """

    question: str
    named: tuple[str, ...]
    own: str | None = None
    alone: bool = False
    timed: bool = False
    refusing: bool = False
    unshown: Callable[[str], bool] = _all_shown
    _found: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def asked(self) -> Asked:
        """Who is asked: a reader, a writer or the audit."""
        return self._question.asked

    @property
    def _question(self) -> Question:
        if self.timed:
            return TIMED
        return AUDITED if self.question == "audit" else QUESTIONS[self.question]

    def in_revision(self, revision: str, registry: Registry | None = None) -> str | None:
        """Return the requirement that is judged under a revision; ``None`` where nothing is."""
        if registry is not None:
            return self._find(revision, registry)
        if revision not in self._found:
            self._found[revision] = self._find(revision, load_registry())
        return self._found[revision]

    def _find(self, revision: str, registry: Registry) -> str | None:
        question = self._question

        def judges(name: str) -> bool:
            own = self.alone and name == self.own
            bare = _REFUSALS | _SINGLE_ACTION_REQUIREMENTS if question.rows else _REFUSALS
            moot = self.asked == "reader" and not self.refusing and name in bare
            return (
                name in registry
                and can_be_judged(
                    registry[name], self.asked, revision, refusing=self.refusing, own=own
                )
                and (own or not (moot or self.unshown(name)))
            )

        if self.own is not None and (self.alone or judges(self.own)):
            return self.own if judges(self.own) else None
        able = sorted(filter(judges, self.named), key=lambda name: registry[name].level != "MUST")
        for patterns in question.shown:
            for name in able:
                if self._shows(name, patterns):
                    return name
        if self.refusing or any(
            self._recommends_later(registry[name], revision)
            for name in self.named
            if name in registry
        ):
            return None
        return next(filter(judges, question.default), None)

    def _shows(self, name: str, patterns: Iterable[str]) -> bool:
        return matches(name, patterns) and not matches(name, self._question.unshown)

    def _recommends_later(self, row: Requirement, revision: str) -> bool:
        """Whether a later text recommends what is shown; one without the clause demands no more."""
        return (
            row.level == "SHOULD"
            and not row.holds_in(revision)
            and can_be_judged(row, self.asked, "upstream")
            and any(self._shows(row.id, patterns) for patterns in self._question.shown)
        )


def judged_of(spec: Spec, case: Case) -> Judged:
    """Return what a spec is held to; a refusal that is due says so itself."""
    due = spec.expectation if isinstance(spec.expectation, ExpectedError) else None
    unshown = _all_shown
    # Tables that are made for one item have no versions that show less.
    if due is None and case.specs and QUESTIONS[spec.type].asked == "reader":
        version = spec.parameters.get("version")
        asked = frozenset((*spec.requirements, *QUESTIONS[spec.type].default))
        unshown = partial(_is_unshown, asked, spec.requirements, case.table, version)
    return Judged(
        spec.type,
        spec.requirements,
        spec.requirement or (due.requirement if due else None),
        alone=spec.requirement is not None,
        timed="timestamp" in spec.parameters,
        refusing=due is not None,
        unshown=unshown,
    )


def _is_unshown(
    asked: frozenset[str], named: tuple[str, ...], table: Path, version: int | None, name: str
) -> bool:
    if name not in asked:
        return False
    if not shown_rows((name,), table, version):
        return True
    if name not in _REFERENCE_REQUIREMENTS or _is_reached(_first_version(table, _REMOVE), version):
        return False
    return name not in named or not _has_path_again(table, version)


def shown_rows(named: tuple[str, ...], table: Path, version: int | None) -> tuple[str, ...]:
    """Return the requirements out of some that a version of a golden table can show.

    Args:
        named: ids that a spec touches.
        table: root of the table.
        version: the version asked for, the latest when ``None``.
    """
    rows = load_registry()
    return tuple(
        name
        for name in named
        if name not in rows or shows(table, version, rows[name].feature, name)
    )


def judged_step(operation: str, said: str | None = None, *, refused: bool = False) -> Judged:
    """Return what a step is held to: what its recipe says, else what its operation judges.

    Operations that judge nothing of their own, and clauses not in force, come to the requirements.
    So does a step that is refused: it leaves nothing that could break what the operation judges.
    """
    return Judged("write", (), said or (None if refused else OPERATIONS[operation].judges))


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name is of one of some patterns, as ``CM-02[346]``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def binds(row: Requirement, asked: Asked, *, refusing: bool = False) -> bool:
    """Return whether a requirement binds who is asked.

    Args:
        row: the requirement.
        asked: a reader, a writer or the audit.
        refusing: whether a refusal is asked for. A requirement of writers binds a reader then, if
            its ruling has readers refuse what breaks it.
    """
    if asked == "audit":
        return True
    if asked == "writer":
        return row.role != "reader"
    return row.role == "reader" or (refusing and "reader" in row.notice and row.ruling is not None)


def can_be_judged(
    row: Requirement, asked: Asked, revision: str, *, refusing: bool = False, own: bool = False
) -> bool:
    """Return whether a requirement can be judged: it binds, can be broken, and is in force.

    A SHOULD of readers that does not always say what the answer is counts only where a case says
    that it judges it, its ``own``.
    """
    if asked == "reader" and row.level == "SHOULD" and not own and row.id not in _ADVISED:
        return False
    breakable = asked == "audit" or row.level in _FAILING
    return breakable and binds(row, asked, refusing=refusing) and row.holds_in(revision)


_FEATURE_MARKS: Final = {
    "catalogManaged": re.compile(rb'"catalog(Managed|Owned-preview)"'),
    "columnMapping": re.compile(rb'"delta\.columnMapping\.mode"'),
    "deletionVectors": re.compile(rb'"deletionVector": ?\{'),
    "rowTracking": re.compile(rb'"rowTracking"'),
    "typeWidening": re.compile(rb"delta\.typeChanges"),
}
"""What commits contain where a table feature has an effect on rows."""
_UNKNOWN_ACTION: Final = re.compile(
    rb'(?m)^\{ ?"(?!(add|cdc|commitInfo|domainMetadata|metaData|protocol|remove|txn)")'
)
_REQUIREMENT_MARKS: Final = {
    "ADD-003": (re.compile(rb'"path": ?"[^"]*%'), 1),
    "CKC-027": (re.compile(rb'"dataChange": ?false'), 1),
    "DFT-004": (re.compile(rb"CURRENT_DEFAULT"), 1),
    "PART-002": (re.compile(rb'""'), 1),
    "PROTO-008": (_UNKNOWN_ACTION, 1),
    "PROTO-009": (re.compile(rb'"(future\w*|novelty)"'), 1),
    "TF-002": (re.compile(rb'"writerFeatures"|"minWriterVersion": ?(?:[89]|[1-9][0-9])'), 1),
    "VPC-003": (re.compile(rb'"vacuumProtocolCheck"'), 1),
}
"""Requirement to what commits contain, and how often, before a version can show it."""
MATERIALIZED: Final = re.compile(
    rb'"delta\.rowTracking\.materialized\w+ColumnName": ?"([^"\\\x80-\xff]+)"'
)
"""Names that metaData gives to columns of row tracking."""
_METADATA: Final = re.compile(rb'"metaData": ?\{')
_PROTOCOL: Final = re.compile(rb'"protocol": ?\{')
_UNTIL_MARK: Final = {"CM-024": re.compile(rb'"delta\.columnMapping\.mode": ?"(name|id)"')}
"""Requirement on tables without a feature to what commits contain once it has an effect."""
_NO_VERSION: Final = (None, math.inf)
"""Results of :func:`_first_version` where commits are gone, or none matches."""
_SHOWN_WITHOUT_MARK: Final = frozenset({"ADD-012", "CAT-004", "PROTO-009", "RT-003"})
"""Requirements that are shown although no commit matches: they are on what is absent, or on what
other files contain as well."""
_REMOVE: Final = re.compile(rb'"remove": ?\{')
_REFERENCE_REQUIREMENTS: Final = frozenset({"REC-018", "REC-020"})
"""Requirements on which of several references to a file counts: they need a remove, or a path that
is added again in a case that names them."""
_TOMBSTONE_REQUIREMENTS: Final = ("REC-007", "REC-008", "REC-010", "REC-011", "REM-")
"""Prefixes of the requirements on tombstones, which no version before the first remove shows."""

_SCHEMA: Final = re.compile(rb'"schemaString": ?"(?:[^"\\]|\\.)*"')
_NAME: Final = re.compile(rb'\\"name\\": ?\\"(.*?[^\\])\\"')
_PHYSICAL: Final = re.compile(rb'\\"delta\.columnMapping\.physicalName\\": ?\\"(.*?[^\\])\\"')
"""Names of columns within a schema string."""
_ADD: Final = re.compile(rb'"add": ?\{')
_CONTENT_REQUIREMENTS: Final = (
    "ADD-00[23]", "CM-006", "CM-02[3-9]", "CM-03[01]", "DATA-003", "DFT-004", "DV*", "PART-*",
    "PQ-*", "PROP-005", "PROP-008", "RVER-001",
)  # fmt: skip
"""Requirements on how data files are read, which no version before the first add shows."""

_FOOTER_END: Final = 8
"""Bytes after the footer of a Parquet file: its size, and a mark."""

_SUMMARY_REQUIREMENTS: Final = {
    "checkpoint": ("CKC-", "CKM-", "SCA-", "SIDE-"),
    "compacted": ("COMP-",),
}
"""Part of the names of checkpoints and compactions to prefixes of requirements on their content."""


def shows(table: Path, version: int | None, feature: str, requirement: str) -> bool:
    """Return whether a version of a table can show how a requirement is obeyed.

    Args:
        table: root of the golden table.
        version: the version asked for; the latest when ``None``, which shows what a case is about.
        feature: the table feature of the requirement; only those with an effect on rows count.
        requirement: the id of the requirement.

    Returns:
        ``True`` also where the commits that would show it are gone.
    """
    if matches(requirement, _CONTENT_REQUIREMENTS) and not _is_reached(
        _first_version(table, _ADD), version
    ):
        return False
    if requirement in _VERSION_CHECKS:
        return _VERSION_CHECKS[requirement](table, version)
    if requirement in _UNTIL_MARK:
        since = _first_version(table, _UNTIL_MARK[requirement])
        return since in _NO_VERSION or (version is not None and version < since)
    summary = next(
        (kind for kind, rows in _SUMMARY_REQUIREMENTS.items() if requirement.startswith(rows)), None
    )
    mark, times = _REQUIREMENT_MARKS.get(requirement, (_FEATURE_MARKS.get(feature), 1))
    if requirement.startswith(_TOMBSTONE_REQUIREMENTS):
        mark = _REMOVE
    elif requirement not in _REQUIREMENT_MARKS and summary is not None:
        # A version before the first says nothing of how they are read.
        return version is None or version >= min(_versions(table, summary), default=0)
    if mark is None:
        return True
    since = _first_version(table, mark, times)
    return requirement in _SHOWN_WITHOUT_MARK if since == math.inf else _is_reached(since, version)


def _is_reached(since: float | None, version: int | None) -> bool:
    """Return whether a version is not older than another; true where that one is unknown."""
    return since is None or since <= (sys.maxsize if version is None else version)


@cache
def _versions(table: Path, summary: str) -> frozenset[int]:
    """Return the first version that each summary of a kind is of: checkpoints or compactions."""
    names = (path.name for path in (table / "_delta_log").glob(f"*.{summary}*"))
    return frozenset(int(name[:20]) for name in names if name[:20].isdecimal())


@cache
def _first_version(table: Path, mark: re.Pattern[bytes], times: int = 1) -> float | None:
    """Return the version by which commits have matched a mark so often; infinite where none has.

    Of commits that are gone one match may be in a checkpoint; ``None`` where that is needed.
    """
    missing, gone = times, False
    commits = commits_in(table)
    for at, (version, content) in enumerate(commits.items()):
        if version > at and not gone:
            missing, gone = missing - 1, True
            if missing <= 0:
                return None if times == 1 else at
        if content is None:
            return None
        missing -= len(mark.findall(content))
        if missing <= 0:
            return None if gone and times == 1 else version
    return math.inf if commits else None


def _is_before_a_checkpoint(table: Path, version: int | None) -> bool:
    """Return whether a checkpoint is newer than the version: a reader may take it by mistake."""
    return version is not None and version < max(_versions(table, "checkpoint"), default=-1)


def _is_newer_than_hint(table: Path, version: int | None) -> bool:
    """Return whether a version is newer than the last checkpoint hint; true where it is unknown."""
    hinted = None
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        hinted = int(json.loads((table / "_delta_log/_last_checkpoint").read_bytes())["version"])
    return version is None or hinted is None or version > hinted


def _has_several_commits(_table: Path, version: int | None) -> bool:
    """Return whether several commits make a version: one alone has no order."""
    return version is None or version > 0


def _has_two(mark: re.Pattern[bytes], table: Path, version: int | None) -> bool:
    """Return whether an action has been committed twice by a version, the latest by default."""
    return _is_reached(_first_version(table, mark, 2), version)


def _has_path_again(table: Path, version: int | None) -> bool:
    return _is_reached(_version_with_path_again(table), version)


def _has_new_column(table: Path, version: int | None) -> bool:
    """Return whether files lack a column that was added later; true where no commit adds one."""
    since = _version_with_new_column(table)
    return since == math.inf or _is_reached(since, version)


def _has_hidden_columns(table: Path, version: int | None) -> bool:
    return _is_reached(_version_with_hidden_columns(table), version)


_VERSION_CHECKS: Final[Mapping[str, Callable[[Path, int | None], bool]]] = {
    "CKPT-004": _is_before_a_checkpoint,
    "CM-028": _has_new_column,
    "CM-031": _has_new_column,
    "FA-003": _has_path_again,
    "LAST-003": _is_newer_than_hint,
    "META-002": partial(_has_two, _METADATA),
    "REC-001": _has_several_commits,
    "REC-006": _has_path_again,
    "REC-012": partial(_has_two, _PROTOCOL),
    "REC-013": partial(_has_two, _METADATA),
    "REC-021": _has_path_again,
    "RT-017": _has_hidden_columns,
}
"""Requirement to whether a version can show it, where one mark in commits does not say so."""


def _first_version_where(table: Path, holds: Callable[[bytes], bool]) -> float | None:
    """Return the version of the first commit with which a condition holds.

    Args:
        table: root of the table.
        holds: is given the content of each commit in turn, and says whether the condition holds.

    Returns:
        Infinite where it never does; ``None`` where a commit is gone before, or cannot be read.
    """
    for at, (version, content) in enumerate(commits_in(table).items()):
        if version > at or content is None:
            return None
        if holds(content):
            return version
    return math.inf


@cache
def _version_with_path_again(table: Path) -> float | None:
    """Return the first version that adds a path again, as :func:`_first_version_where` does."""
    seen: set[str] = set()

    def holds(content: bytes) -> bool:
        added = list(_added(content))
        again = len(seen.union(added)) < len(seen) + len(added)
        seen.update(added)
        return again

    return _first_version_where(table, holds)


def _added(content: bytes) -> Iterator[str]:
    """Return the paths that a commit adds, as they are in the log."""
    for line in content.split(b"\n"):
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            path = json.loads(line)["add"]["path"]
            if isinstance(path, str):
                yield path


@cache
def _version_with_hidden_columns(table: Path) -> float | None:
    """Return the first version that adds a file with materialized columns of row tracking.

    Unknown and absent versions are those of :func:`_first_version_where`.
    """
    hidden: set[bytes] = set()

    def holds(content: bytes) -> bool:
        hidden.update(MATERIALIZED.findall(content))
        footers = map(partial(_footer, table), _added(content) if hidden else ())
        return any(name in footer for footer in footers for name in hidden)

    return _first_version_where(table, holds)


def _footer(table: Path, path: str) -> bytes:
    """Return the footer of a data file, which contains the names of its columns.

    It is not parsed, which takes several times as long; empty where the file cannot be read.
    """
    with suppress(OSError, ValueError, DeltaError), (table / decode_path(path)).open("rb") as file:
        file.seek(-_FOOTER_END, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-_FOOTER_END - size, os.SEEK_END)
        return file.read(size)
    return b""


@cache
def _version_with_new_column(table: Path) -> float | None:
    """Return the first version with a column that files lack, as :func:`_first_version_where`."""
    known: set[bytes] = set()
    files = False

    def holds(content: bytes) -> bool:
        nonlocal files
        for schema in _SCHEMA.findall(content):
            names, physical = (set(each.findall(schema)) for each in (_NAME, _PHYSICAL))
            if files and not (physical or names) <= known:
                return True
            known.update(names, physical)
        files = files or _ADD.search(content) is not None
        return False

    return _first_version_where(table, holds)
