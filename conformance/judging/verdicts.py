"""The verdict on one answer: what is expected, what is claimed and what was answered.

An answer is right, wrong, refused for a feature that is not claimed, or one of several that the
text supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from conformance.adapter import Answer, Claims, Ok, Refused
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Case, Contested, Expected, ExpectedError, Spec
from conformance.judging.broken import instead_of, requirement_refused, requirement_shown
from conformance.judging.claims import unclaimed_features, unclaimed_needs
from conformance.judging.compare import Difference, compare_rows
from conformance.judging.messages import (
    MAX_MESSAGE_CHARACTERS,
    count_rows,
    describe_expected,
    describe_refusal,
)
from conformance.judging.versions import rows_of_versions
from conformance.questions import QUESTIONS
from conformance.requirements.judged import judged_of

_HAZARD_OF_KIND: Final[Mapping[str, Hazard]] = {
    "unsupported": Hazard.SILENT_WRONG_DATA,
    "not_found": Hazard.SILENT_WRONG_DATA,
    "constraint": Hazard.CORRUPTING_WRITE,
    "conflict": Hazard.CORRUPTING_WRITE,
}

_ZONELESS: Final = ("2021",)
"""Revisions whose timestamps have no zone, by SCH-016; an answer may have one."""


def verdict_on(
    case: Case, spec: Spec, answer: Answer, claims: Claims, revision: str = "upstream"
) -> Verdict:
    """Check an answer against what a spec expects.

    Args:
        case: the table that was asked about.
        spec: the question, its expectation as it is for the copy of the table that was asked.
        answer: what the adapter gave.
        claims: what the adapter says that it implements.
        revision: the protocol revision that it is judged by.

    Raises:
        AdapterError: the answer has not the shape of answers to such a question.
    """
    unclaimed = unclaimed_features(case, claims)
    if isinstance(answer, Refused):
        unclaimed += unclaimed_needs(spec, claims)
    asked = _Asked(case, spec, tuple(unclaimed), revision)
    match spec.expectation:
        case Contested() as contested:
            return _of_contested(asked, contested, answer)
        case Expected() as expected:
            return _of_answer(asked, expected, answer)
        case ExpectedError() as error:
            return _of_refusal(asked, error, answer)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a verdict depends on beside the answer.

    Attributes:
        case: the table that was asked about.
        spec: the question.
        unclaimed: what the table needs and the adapter does not claim.
        revision: the protocol revision that is judged by.
    """

    case: Case
    spec: Spec
    unclaimed: tuple[str, ...]
    revision: str


def _of_answer(asked: _Asked, expected: Expected, answer: Answer) -> Verdict:
    case, spec, unclaimed = asked.case, asked.spec, asked.unclaimed
    match answer:
        case Refused():
            wanted = describe_expected(spec.type, expected)
            return _wrongly_refused(asked, "a valid table", wanted, answer)
        case Ok(payload):
            found = _difference(asked, expected, payload)
            if found is None:
                names = ", ".join(unclaimed)
                note = f"answered right without claiming {names}" if unclaimed else ""
                return Verdict(Outcome.PASS, note)
            verdict = _wrong(asked, expected, payload, found)
            return replace(verdict, foreign_rows=_has_foreign_rows(case, spec, expected, payload))


def _shown(asked: _Asked, expected: Expected, payload: Any, difference: Difference) -> str | None:
    """Return the requirement that a difference shows to be broken; ``None`` for the judged one."""
    case, spec = asked.case, asked.spec
    judged = judged_of(spec, case).in_revision(asked.revision)
    return _advised(spec, expected, payload) or requirement_shown(
        case, spec, difference, judged=judged, expected=expected, actual=payload
    )


def _has_foreign_rows(case: Case, spec: Spec, expected: Expected, payload: Any) -> bool:
    """Return whether a read without a filter gives rows that the table never had.

    Those of a version by its number are counted, as a column may be filled in other ways than one
    should; those of a time are the rows of some version, where the case has them all.
    """
    given = spec.parameters
    if spec.type != "read" or "filter" in given or not isinstance(payload, pa.Table):
        return False
    if "timestamp" not in given:
        return bool(payload.num_rows != expected.rows().num_rows)
    versions = rows_of_versions(case)
    return versions is not None and all(
        compare_rows(rows, payload) is not None for rows in versions
    )


_CHANGE_COLUMN_REQUIREMENTS: Final[Mapping[str, str]] = {
    "_commit_timestamp": "CDC-015",
    "_commit_version": "CDC-014",
}
"""Columns that a change reader should add, to the SHOULD that says so."""


def named_instead(spec: Spec, case: Case) -> tuple[str, ...]:
    """Return the requirements that a verdict on a spec may name in place of the judged one."""
    advised = _CHANGE_COLUMN_REQUIREMENTS.values() if spec.type == "changes" else ()
    return (*advised, *instead_of(spec, case))


def _unsupported(asked: _Asked, message: str) -> Verdict:
    words = f"refused, not claiming {', '.join(asked.unclaimed)}: {message}"
    return Verdict(Outcome.UNSUPPORTED, words, unclaimed=asked.unclaimed)


def _wrongly_refused(asked: _Asked, what: str, wanted: str, answer: Refused) -> Verdict:
    """Judge a refusal where an answer is due: wrong, unless the table needs what is unclaimed."""
    if asked.unclaimed:
        return _unsupported(asked, answer.message)
    return Verdict(
        Outcome.FAIL,
        f"refused {what}: {answer.message}",
        Hazard.WRONG_REFUSAL,
        wanted,
        describe_refusal(answer.kind, answer.stage, answer.message),
        requirement_refused(asked.spec, asked.case, asked.revision),
    )


def _advised(spec: Spec, expected: Expected, payload: Any) -> str | None:
    """Name the column that a change reader should add, where an answer is right in all else."""
    if spec.type != "changes" or not isinstance(payload, pa.Table):
        return None
    wanted = expected.rows()
    for name, requirement in _CHANGE_COLUMN_REQUIREMENTS.items():
        wanted, payload = (
            each.drop_columns([n for n in each.column_names if n == name])
            for each in (wanted, payload)
        )
        if compare_rows(wanted, payload) is None:
            return requirement
    return None


def _wrong(asked: _Asked, expected: Expected, payload: Any, difference: Difference) -> Verdict:
    spec, unclaimed = asked.spec, asked.unclaimed
    hazard = spec.hazard or QUESTIONS[spec.type].hazard
    wanted = describe_expected(spec.type, expected)
    requirement = _shown(asked, expected, payload, difference)
    if unclaimed:
        # Answering at all was the mistake, and the worst one.
        hazard = Hazard.SILENT_WRONG_DATA
        wanted = f"a refusal, since {', '.join(unclaimed)} is not claimed; or {wanted}"
        requirement = "TF-001"
    return Verdict(
        Outcome.FAIL,
        difference.summary,
        hazard,
        wanted,
        difference.summary,
        requirement,
        details=difference.details,
    )


def _of_refusal(asked: _Asked, error: ExpectedError, answer: Answer) -> Verdict:
    wanted = f"a refusal ({error.kind}) no later than {error.stage}"
    match answer:
        case Ok(payload):
            return Verdict(
                Outcome.FAIL,
                f"answered where a refusal ({error.kind}) is due",
                asked.spec.hazard or _HAZARD_OF_KIND.get(error.kind, Hazard.ACCEPTED_INVALID_TABLE),
                wanted,
                f"an answer: {_brief(payload)}",
            )
        case Refused("unsupported", _, message) if asked.unclaimed and error.kind != "unsupported":
            return _unsupported(asked, message)
        case Refused(_, _, message):
            # No clause names kinds of refusal.
            return Verdict(Outcome.PASS, f"refused: {message}")


def _difference(asked: _Asked, expected: Expected, payload: Any) -> Difference | None:
    """Check an answer against the expected one, and a snapshot against the version asked for."""
    spec = asked.spec
    found = QUESTIONS[spec.type].compare(expected, payload)
    if found is not None and found.reason == "types" and asked.revision in _ZONELESS:
        found = compare_rows(expected.rows(), payload, zoneless=True)
    version = spec.parameters.get("version")
    if found is None and spec.type == "snapshot" and version is not None:
        given = payload.get("version")
        if given is not None and (given != version or isinstance(given, bool)):
            return Difference("document", f"version is {given!r}, expected {version}")
    return found


def _of_contested(asked: _Asked, contested: Contested, answer: Answer) -> Verdict:
    """Name the reading of the text that an answer follows; one that follows none fails."""
    if asked.unclaimed and isinstance(answer, Refused) and answer.kind == "unsupported":
        return _unsupported(asked, answer.message)
    unlike: list[tuple[Expected, Difference]] = []
    for accepted in contested.accepted:
        match accepted.answer, answer:
            case ExpectedError(), Refused():
                # Whether to refuse is contested; no reading says in which words.
                seen = True
            case Expected() as expected, Ok(payload):
                difference = _difference(asked, expected, payload)
                seen = difference is None
                if difference is not None:
                    unlike.append((expected, difference))
            case _:
                seen = False
        if seen:
            return Verdict(Outcome.OPEN, f"contested: {accepted.name}", seen=accepted.name)
    if contested.open:
        what = f"refused: {answer.message}" if isinstance(answer, Refused) else "another answer"
        return Verdict(Outcome.OPEN, f"contested: outside the list, {what}", seen="other")
    wanted = f"one of {', '.join(accepted.name for accepted in contested.accepted)}"
    match answer:
        case Refused():
            return _wrongly_refused(asked, "what every reading of the text gives", wanted, answer)
        case Ok(payload):
            found = unlike[0][1] if unlike else None
            summary = found.summary if found else "answered where every reading refuses"
            shown = (_shown(asked, expected, payload, each) for expected, each in unlike)
            return Verdict(
                Outcome.FAIL,
                f"as no reading of the text has it: {summary}",
                asked.spec.hazard or QUESTIONS[asked.spec.type].hazard,
                wanted,
                summary,
                next(filter(None, shown), None),
                details=found.details if found else (),
            )


def _brief(payload: Any) -> str:
    rows = getattr(payload, "num_rows", None)
    return count_rows(rows) if rows is not None else repr(payload)[:MAX_MESSAGE_CHARACTERS]
