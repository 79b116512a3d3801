"""The one requirement that a case judges, out of those that it names; and that a step judges.

Serves every section. A case names what it touches; what it holds an implementation to is one row,
which binds whoever is asked and is in force in the revision: a read never judges a writer. Each
step of a recipe has a row of its own, beside that of the recipe. Verdicts follow the level of
the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Final, Literal, TypeAlias

from conformance.requirements.registry import SELECTIONS, Registry, Requirement, load_registry

__all__ = [
    "SUPPORTED",
    "Asked",
    "Judged",
    "binds",
    "judged_by",
    "judged_in",
    "judged_of",
    "judged_step",
]

Asked: TypeAlias = Literal["reader", "writer", "audit"]
"""Who is asked. Whoever writes a file is a writer, checkpoints, vacuum and cleanup included; the
audit of the kit has to find what breaks any row."""

_FAILING: Final = ("MUST", "SHOULD")
"""Levels that can be broken: MAY allows, and a definition binds by the clauses that use it."""

SUPPORTED: Final = frozenset({"CKC-011", "PQ-001", "PROP-005", "PROP-008"})
"""What readers should support: refusing breaks these rows, and a wrong answer breaks more."""

_ADVISED: Final = SUPPORTED | {
    "CDC-019", "CM-006", "DVSTO-008", "ICT-013", "ICT-014", "ICT-015", "ICT-016", "ICT-017",
    "PART-009",
}  # fmt: skip
"""SHOULD rows of readers that say what the answer is. The others say how readers come to it, as
by which checkpoint; whoever does otherwise may still answer right."""

_STATE: Final = (
    "SNAP-00[1-3]", "LOG-*", "CKPT*", "CKC-*", "SIDE-*", "SCA-*", "CKM-*", "COMP-*", "LAST*",
    "PROTO-*", "TF-*", "FEAT-*", "RVER-*", "CAT-*", "CRC-*", "CINFO-*", "META-*", "SCH-*",
    "FA-015", "VPC-*", "REC-001", "CM-005", "CM-023",
)  # fmt: skip
"""What any question about a version shows: how its state is found in the log."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What a question can show.

    Attributes:
        default: the row that an answer is held to where the case names none that it shows; the
            first that is in force.
        shown: patterns of rows that it shows; the first group that has one counts.
        unshown: patterns of rows that it does not show.
        asked: who is asked.

    """

    default: tuple[str, ...]
    shown: tuple[tuple[str, ...], ...] = (("*",),)
    unshown: tuple[str, ...] = ()
    asked: Asked = "reader"


_NO_ROWS: Final = (
    "CDC-00[346]", "CDC-01[4-7]", "CDFF-*", "DVD-008", "RT-02[3-7]", "TXN-*", "DOM-01[23]",
    "REC-00[457]", "REC-009", "REC-01[4-7]", "REC-02[23]", "ICT-*",
)  # fmt: skip
"""Rows of which a read of rows shows nothing."""

_FILES: Final = (
    "REC-00[6-9]", "REC-01[018]", "REC-02[01]", "FA-*", "ADD-*", "REM-*", "DVDESC-01*", "DV-*",
)  # fmt: skip
"""What a question about live files shows beside."""

_TIME: Final = _Question(("ICT-013",), (("ICT-*",),))
_QUESTIONS: Final[Mapping[str, _Question]] = {
    "read": _Question(("SNAP-007",), unshown=_NO_ROWS),
    "snapshot": _Question(("REC-013",), ((*_STATE, "REC-00[23]", "REC-01[239]", "TW-013"),)),
    "files": _Question(("REC-020", "REC-018"), ((*_STATE, *_FILES),)),
    "changes": _Question(("CDC-004",), (("CDC-*", "CDFF-*", "DVD-008"),)),
    "row_ids": _Question(("RT-024",), (("RT-*",),)),
    "history": _TIME,
    "txn": _Question(("TXN-005",), (("TXN-*", "REC-004"), _STATE)),
    "domain_metadata": _Question(("DOM-012",), (("DOM-01[23]", "REC-005", "REC-01[4-7]"), _STATE)),
    "checksum": _Question(("CRC-037",), asked="audit"),
    "audit": _Question((), asked="audit"),
    "write": _Question(("SNAP-008",), asked="writer"),
}


_STEPS: Final[Mapping[str, str]] = {
    "create": "META-001", "convert": "META-001", "replace": "META-003", "optimize": "FA-017",
    "checkpoint": "CKPT-005", "compact_log": "COMP-004", "cleanup": "CKPT-011",
    "vacuum": "FA-008", "set_txn": "TXN-004", "set_domain_metadata": "DOM-001",
    "set_properties": "META-011", "unset_properties": "META-011", "rename_column": "CM-014",
    "change_type": "TW-006", "add_constraint": "CHK-002", "enable_feature": "PROTO-004",
    "cluster_by": "CLUS-006",
}  # fmt: skip
"""What a step of a recipe is held to where the recipe does not say: the clause that the step is
carried out by. Steps that are not here, and clauses that are not in force, come to the rows."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What an item is held to.

    Attributes:
        question: type of the question.
        named: ids that the item names; the first MUST that can be judged is, else the first SHOULD.
        own: the row that is judged where it can be, whatever else is named.
        alone: no other one is judged in its place.
        timed: the version is asked for by a timestamp.
        refusing: a refusal is due.

    """

    question: str
    named: tuple[str, ...]
    own: str | None = None
    alone: bool = False
    timed: bool = False
    refusing: bool = False
    _found: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def asked(self) -> Asked:
        """Say who is asked."""
        return self._question.asked

    @property
    def _question(self) -> _Question:
        return _TIME if self.timed else _QUESTIONS[self.question]

    def in_revision(self, revision: str, registry: Registry | None = None) -> str | None:
        """Give the row that is judged under a revision; ``None`` where nothing is."""
        if registry is not None:
            return self._find(revision, registry)
        if revision not in self._found:
            self._found[revision] = self._find(revision, load_registry())
        return self._found[revision]

    def _find(self, revision: str, registry: Registry) -> str | None:
        question = self._question

        def judges(name: str) -> bool:
            own = self.alone and name == self.own
            return name in registry and judged_by(
                registry[name], self.asked, revision, refusing=self.refusing, own=own
            )

        if self.own is not None and (self.alone or judges(self.own)):
            return self.own if judges(self.own) else None
        able = sorted(filter(judges, self.named), key=lambda name: registry[name].level != "MUST")
        for patterns in question.shown:
            for name in able:
                if _matches(name, patterns) and not _matches(name, question.unshown):
                    return name
        default = () if self.refusing else question.default
        return next(filter(judges, default), None)


def judged_of(  # noqa: PLR0913  what a spec says of it
    question: str,
    named: tuple[str, ...],
    *,
    own: str | None = None,
    due: str | None = None,
    timed: bool = False,
    refusing: bool = False,
) -> Judged:
    """Give what a spec is held to.

    Args:
        question: its type.
        named: ids that it touches.
        own: the one that it says it judges.
        due: the one that a refusal obeys.
        timed: it asks by a timestamp.
        refusing: a refusal is due.

    """
    return Judged(question, named, own or due, own is not None, timed, refusing)


def judged_step(operation: str, said: str | None = None) -> Judged:
    """Give what a step of a recipe is held to.

    Args:
        operation: the step's name.
        said: the row that the recipe says it judges.

    """
    return Judged("write", (), said or _STEPS.get(operation))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def binds(row: Requirement, asked: Asked, *, refusing: bool = False) -> bool:
    """Tell whether a row binds who is asked.

    A row that binds who writes has a reader refuse what breaks it where the registry has a ruling
    that says so.
    """
    if asked == "audit":
        return True
    if asked == "writer":
        return row.role != "reader"
    return row.role == "reader" or (refusing and "reader" in row.notice and row.ruling is not None)


def judged_by(
    row: Requirement, asked: Asked, revision: str, *, refusing: bool = False, own: bool = False
) -> bool:
    """Tell whether a row can be judged: it binds, can be broken, and is in force.

    A SHOULD of readers that does not always say what the answer is counts only where a case says
    that it judges it, its ``own``.
    """
    if asked == "reader" and row.level == "SHOULD" and not own and row.id not in _ADVISED:
        return False
    breakable = asked == "audit" or row.level in _FAILING
    return breakable and binds(row, asked, refusing=refusing) and row.holds_in(revision)


@cache
def judged_in(judged: Judged) -> frozenset[str]:
    """Give the revisions under which something is judged."""
    return frozenset(each for each in SELECTIONS if judged.in_revision(each) is not None)
