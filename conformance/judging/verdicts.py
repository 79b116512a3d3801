"""The verdict on one answer: what is expected, what is claimed and what was answered.

Serves every section of the protocol. An answer is right, wrong, refused for a feature that is not
claimed, or one of several that the text supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from conformance.adapter import Answer, Claims, Ok, Refused
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Case, Contested, Expected, ExpectedError, Spec
from conformance.judging.claims import unclaimed_features, unclaimed_needs
from conformance.judging.compare import Difference, compare_rows
from conformance.judging.messages import LONGEST, count_rows, describe_expected, describe_refusal
from conformance.judging.shown import (
    instead_of,
    judged_of_spec,
    requirement_refused,
    requirement_shown,
)
from conformance.judging.versions import rows_of_versions
from conformance.questions import QUESTIONS

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
    match spec.expectation:
        case Contested() as contested:
            return _of_contested(case, spec, contested, answer, unclaimed, revision=revision)
        case Expected() as expected:
            return _of_answer(case, spec, expected, answer, unclaimed, revision=revision)
        case ExpectedError() as error:
            return _of_refusal(spec, error, answer, unclaimed)


def _of_answer(  # noqa: PLR0913  all that a verdict depends on
    case: Case,
    spec: Spec,
    expected: Expected,
    answer: Answer,
    unclaimed: list[str],
    *,
    revision: str,
) -> Verdict:
    match answer:
        case Refused():
            wanted = describe_expected(spec.type, expected)
            broken = requirement_refused(spec, case, revision)
            return _wrongly_refused("a valid table", wanted, answer, unclaimed, broken)
        case Ok(payload):
            found = _difference(spec, expected, payload, revision)
            if found is None:
                names = ", ".join(unclaimed)
                note = f"answered right without claiming {names}" if unclaimed else ""
                return Verdict(Outcome.PASS, note)
            shown = _shown(case, spec, expected, payload, found, revision=revision)
            verdict = _wrong(spec, expected, found, unclaimed, shown)
            return replace(verdict, foreign_rows=_has_foreign_rows(case, spec, expected, payload))


def _shown(  # noqa: PLR0913  all that a requirement depends on
    case: Case,
    spec: Spec,
    expected: Expected,
    payload: Any,
    found: Difference,
    *,
    revision: str,
) -> str | None:
    """Return the requirement that a difference shows to be broken; ``None`` for the judged one."""
    # Tables that are made for one item have no versions that show less.
    judged = judged_of_spec(spec, case if case.specs else None).in_revision(revision)
    return _advised(spec, expected, payload) or requirement_shown(
        case, spec, found, judged=judged, wanted=expected, given=payload
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


_OF_CHANGES: Final[Mapping[str, str]] = {
    "_commit_timestamp": "CDC-015",
    "_commit_version": "CDC-014",
}
"""Columns that a change reader should add, to the SHOULD that says so."""


def named_instead(spec: Spec, case: Case) -> tuple[str, ...]:
    """Return the requirements that a verdict on a spec may name in place of the judged one."""
    advised = _OF_CHANGES.values() if spec.type == "changes" else ()
    return (*advised, *instead_of(spec, case))


def _unsupported(unclaimed: list[str], message: str) -> Verdict:
    words = f"refused, not claiming {', '.join(unclaimed)}: {message}"
    return Verdict(Outcome.UNSUPPORTED, words, unclaimed=tuple(unclaimed))


def _wrongly_refused(
    what: str, wanted: str, answer: Refused, unclaimed: list[str], broken: str | None
) -> Verdict:
    """Judge a refusal where an answer is due: wrong, unless the table needs what is unclaimed."""
    if unclaimed:
        return _unsupported(unclaimed, answer.message)
    return Verdict(
        Outcome.FAIL,
        f"refused {what}: {answer.message}",
        Hazard.WRONG_REFUSAL,
        wanted,
        describe_refusal(answer.kind, answer.stage, answer.message),
        broken,
    )


def _advised(spec: Spec, expected: Expected, payload: Any) -> str | None:
    """Name the column that a change reader should add, where an answer is right in all else."""
    if spec.type != "changes" or not isinstance(payload, pa.Table):
        return None
    wanted = expected.rows()
    for name, requirement in _OF_CHANGES.items():
        wanted, payload = (
            each.drop_columns([n for n in each.column_names if n == name])
            for each in (wanted, payload)
        )
        if compare_rows(wanted, payload) is None:
            return requirement
    return None


def _wrong(
    spec: Spec, expected: Expected, found: Difference, unclaimed: list[str], shown: str | None
) -> Verdict:
    hazard = spec.hazard or QUESTIONS[spec.type].hazard
    wanted = describe_expected(spec.type, expected)
    requirement = shown
    if unclaimed:
        # Answering at all was the mistake, and the worst one.
        hazard = Hazard.SILENT_WRONG_DATA
        wanted = f"a refusal, since {', '.join(unclaimed)} is not claimed; or {wanted}"
        requirement = "TF-001"
    return Verdict(
        Outcome.FAIL,
        found.summary,
        hazard,
        wanted,
        found.summary,
        requirement,
        details=found.details,
    )


def _of_refusal(spec: Spec, error: ExpectedError, answer: Answer, unclaimed: list[str]) -> Verdict:
    wanted = f"a refusal ({error.kind}) no later than {error.stage}"
    match answer:
        case Ok(payload):
            return Verdict(
                Outcome.FAIL,
                f"answered where a refusal ({error.kind}) is due",
                spec.hazard or _HAZARD_OF_KIND.get(error.kind, Hazard.ACCEPTED_INVALID_TABLE),
                wanted,
                f"an answer: {_brief(payload)}",
            )
        case Refused("unsupported", _, message) if unclaimed and error.kind != "unsupported":
            return _unsupported(unclaimed, message)
        case Refused(_, _, message):
            # No clause names kinds of refusal.
            return Verdict(Outcome.PASS, f"refused: {message}")


def _difference(spec: Spec, expected: Expected, payload: Any, revision: str) -> Difference | None:
    """Check an answer against the expected one, and a snapshot against the version asked for."""
    found = QUESTIONS[spec.type].compare(expected, payload)
    if found is not None and found.reason == "types" and revision in _ZONELESS:
        found = compare_rows(expected.rows(), payload, zoneless=True)
    asked = spec.parameters.get("version")
    if found is None and spec.type == "snapshot" and asked is not None:
        given = payload.get("version")
        if given is not None and (given != asked or isinstance(given, bool)):
            return Difference("document", f"version is {given!r}, expected {asked}")
    return found


def _of_contested(  # noqa: PLR0913  all that a verdict depends on
    case: Case,
    spec: Spec,
    contested: Contested,
    answer: Answer,
    unclaimed: list[str],
    *,
    revision: str,
) -> Verdict:
    """Name the reading of the text that an answer follows; one that follows none fails."""
    if unclaimed and isinstance(answer, Refused) and answer.kind == "unsupported":
        return _unsupported(unclaimed, answer.message)
    unlike: list[tuple[Expected, Difference]] = []
    for accepted in contested.accepted:
        match accepted.answer, answer:
            case ExpectedError(), Refused():
                # Whether to refuse is contested; no reading says in which words.
                seen = True
            case Expected() as expected, Ok(payload):
                difference = _difference(spec, expected, payload, revision)
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
            what = "what every reading of the text gives"
            broken = requirement_refused(spec, case, revision)
            return _wrongly_refused(what, wanted, answer, unclaimed, broken)
        case Ok(payload):
            found = unlike[0][1] if unlike else None
            summary = found.summary if found else "answered where every reading refuses"
            shown = (
                _shown(case, spec, expected, payload, difference, revision=revision)
                for expected, difference in unlike
            )
            return Verdict(
                Outcome.FAIL,
                f"as no reading of the text has it: {summary}",
                spec.hazard or QUESTIONS[spec.type].hazard,
                wanted,
                summary,
                next(filter(None, shown), None),
                details=found.details if found else (),
            )


def _brief(payload: Any) -> str:
    rows = getattr(payload, "num_rows", None)
    return count_rows(rows) if rows is not None else repr(payload)[:LONGEST]
