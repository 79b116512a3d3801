"""The judge: ask one spec of one adapter and say how it ended.

Serves every section of the protocol. Adapters execute and never judge; verdicts are taken here
from the spec, the claims and the answer, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from conformance.adapter import Adapter, Answer, Claims, Ok, Refused, Request
from conformance.base.faults import AdapterError
from conformance.base.limits import InProcessLimit
from conformance.base.outcomes import ALTERED, Hazard, Outcome, Verdict
from conformance.golden.cases import Case, Contested, Expected, ExpectedError, Spec
from conformance.judging.answers import plain_answer
from conformance.judging.claims import lacking, unclaimed_features
from conformance.judging.compare import Difference, compare_rows
from conformance.judging.messages import (
    LONGEST,
    alike,
    count_rows,
    describe_expected,
    describe_refusal,
    stable,
)
from conformance.judging.recipes.judge import replay_recipe
from conformance.judging.recipes.replay import AdapterFaultError
from conformance.judging.tables import TableStore
from conformance.judging.witness import Witness
from conformance.questions import QUESTIONS
from conformance.requirements.levels import ROWS_WRITTEN
from generators.placeholders import expand

_HAZARD_OF_KIND: Final[Mapping[str, Hazard]] = {
    "unsupported": Hazard.SILENT_WRONG_DATA,
    "not_found": Hazard.SILENT_WRONG_DATA,
    "constraint": Hazard.CORRUPTING_WRITE,
    "conflict": Hazard.CORRUPTING_WRITE,
}
_ROOT_CAUSES: Final = frozenset({Hazard.WRONG_REFUSAL})


@dataclass(slots=True)
class Judge:
    """Judge the specs of a corpus for one adapter.

    Args:
        adapter: who is judged.
        claims: what it says that it implements.
        store: where tables are copied to.
        limit: seconds that an adapter in this process has for a request.
        selected: ids of the specs of this run, ``None`` for all: a spec is blocked only by
            one that the run shows.
        witness: reads what recipes leave, too.
        revision: the protocol revision, whose clauses alone an audit goes by.

    """

    adapter: Adapter
    claims: Claims
    store: TableStore
    limit: InProcessLimit = field(default_factory=InProcessLimit)
    selected: Collection[str] | None = None
    witness: Witness | None = None
    revision: str = "upstream"
    _roots: dict[str, Verdict] = field(default_factory=dict)
    _current: Case | None = None

    def judge(self, case: Case, spec: Spec) -> Verdict:
        """Ask one spec; never raises for what the adapter does."""
        if self._current is not None and self._current.id != case.id:
            self.store.release(self._current)
        self._current = case
        root = self._prerequisite(case)
        if root is None or root.id == spec.id:
            return self._root(case, spec) if root else self._judge(case, spec)
        known = self._roots.get(root.id)
        if known is not None and known.message.startswith("time limit"):
            return _blocked(root, known)
        verdict = self._judge(case, spec)
        if _is_root_cause(verdict) and _same_cause(self._root(case, root), verdict):
            return _blocked(root, verdict)
        return verdict

    @contextmanager
    def alone(self, case: Case) -> Iterator[None]:
        """Ask about a table that was made for one item, and remove it afterwards."""
        self.store.adopt(case)
        try:
            yield
        finally:
            self.store.release(case)

    def judge_once(self, case: Case, spec: Spec) -> Verdict:
        """Ask one spec, whatever other specs of the case do."""
        return self._judge(case, spec)

    def _prerequisite(self, case: Case) -> Spec | None:
        """Choose the plainest question of a case: its failure explains like failures of others."""
        plain = [
            spec
            for spec in case.specs
            if spec.type in ("snapshot", "read")
            and isinstance(spec.expectation, Expected)
            and (self.selected is None or spec.id in self.selected)
            and not lacking(spec, self.claims)
        ]
        return min(plain, key=lambda s: (len(s.parameters), s.type != "read", s.id), default=None)

    def _root(self, case: Case, spec: Spec) -> Verdict:
        if spec.id not in self._roots:
            self._roots[spec.id] = self._judge(case, spec)
        return self._roots[spec.id]

    def _judge(self, case: Case, spec: Spec) -> Verdict:
        missing = lacking(spec, self.claims)
        if missing:
            message = f"{missing} is not claimed, so not asked"
            return Verdict(Outcome.UNSUPPORTED, message, unclaimed=(missing,))
        if spec.type == "write":
            return self._replay(case, spec)
        table = self.store.table(case)
        answer, fault = self._run(QUESTIONS[spec.type].build(table, spec.parameters))
        altered = self.store.alterations(case)
        if altered:
            message = f"{ALTERED}: {', '.join(altered[:3])}"
            return Verdict(
                Outcome.FAIL,
                message,
                Hazard.CORRUPTING_WRITE,
                "the table is left as it was",
                message,
                ROWS_WRITTEN,
                details=tuple(altered),
            )
        if fault is not None or answer is None:
            return _error(fault, table)
        try:
            verdict = self._decide(case, _placed(case, spec, table), answer)
        except AdapterError as error:
            return _error(error, table)
        return _without_place(verdict, table)

    def _replay(self, case: Case, spec: Spec) -> Verdict:
        table = self.store.written(case if "given" in spec.parameters else None)
        try:
            verdict = replay_recipe(self._run, self.claims, spec, table, self.revision)
        except AdapterFaultError as error:
            return _error(error.fault, table)
        return _without_place(self._witnessed(verdict, table), table)

    def _witnessed(self, verdict: Verdict, table: Path) -> Verdict:
        """Add what the witness says of a table that is right; it decides nothing."""
        if self.witness is None or verdict.outcome is not Outcome.PASS:
            return verdict
        difference = self.witness.disagreement(table)
        if difference is None:
            return verdict
        if not difference:
            return replace(verdict, message=f"{self.witness.name} reads the same")
        return Verdict(Outcome.OPEN, f"{self.witness.name} {difference}", seen="witness")

    def _run(self, request: Request) -> tuple[Answer | None, BaseException | None]:
        try:
            with self.limit:
                return plain_answer(self.adapter.run(request)), None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  whatever an adapter raises is its fault
            return None, error

    def _decide(self, case: Case, spec: Spec, answer: Answer) -> Verdict:
        unclaimed = unclaimed_features(case, self.claims)
        match spec.expectation:
            case Contested() as contested:
                return _decide_contested(spec, contested, answer, unclaimed)
            case Expected() as expected:
                verdict = _decide_answer(spec, expected, answer, unclaimed)
                if verdict.outcome is Outcome.FAIL and isinstance(answer, Ok):
                    return replace(verdict, astray=_is_astray(case, spec, expected, answer.payload))
                return verdict
            case ExpectedError() as error:
                return _decide_refusal(spec, error, answer, unclaimed)


def _placed(case: Case, spec: Spec, table: Path) -> Spec:
    """Return a spec whose answer says where the table lies, in a case that leaves that open."""
    if not case.placeholders:
        return spec

    def place(answer: Expected | ExpectedError) -> Expected | ExpectedError:
        if isinstance(answer, ExpectedError):
            return answer
        return replace(answer, document=expand(answer.document, table))

    match spec.expectation:
        case Contested(accepted):
            answers = tuple(replace(each, answer=place(each.answer)) for each in accepted)
            return replace(spec, expectation=Contested(answers))
        case answer:
            return replace(spec, expectation=place(answer))


def _decide_answer(spec: Spec, expected: Expected, answer: Answer, unclaimed: list[str]) -> Verdict:
    names = ", ".join(unclaimed)
    match answer:
        case Refused():
            wanted = describe_expected(spec.type, expected)
            return _wrongly_refused("a valid table", wanted, answer, unclaimed)
        case Ok(payload):
            found = _difference(spec, expected, payload)
            if found is None:
                note = f"answered right without claiming {names}" if unclaimed else ""
                return Verdict(Outcome.PASS, note)
            return _wrong(spec, expected, found, unclaimed, _advised(spec, expected, payload))


def _is_astray(case: Case, spec: Spec, expected: Expected, payload: Any) -> bool:
    """Return whether a read without a filter gives rows that the table never had.

    Those of a version by its number are counted, as a column may be filled in other ways than one
    should; those of a time are the rows of some version, where the case has them all.
    """
    given = spec.parameters
    if spec.type != "read" or "filter" in given or not isinstance(payload, pa.Table):
        return False
    if "timestamp" not in given:
        return bool(payload.num_rows != expected.rows().num_rows)
    versions = {
        each.parameters["version"]: each.expectation
        for each in case.specs
        if each.type == "read" and each.parameters.keys() == {"version"}
    }
    whole = sorted(versions) == list(range(len(list(case.table.glob("_delta_log/*.json")))))
    return whole and not any(
        isinstance(answer, Expected) and compare_rows(answer.rows(), payload) is None
        for answer in versions.values()
    )


_NEWEST: Final[Mapping[str, str]] = {"protocol": "REC-012", "metadata": "REC-013"}
"""Part of a snapshot to the row that says which action it is of."""

_OF_CHANGES: Final[Mapping[str, str]] = {
    "_commit_timestamp": "CDC-015",
    "_commit_version": "CDC-014",
}
"""Columns that a change reader should add, to the SHOULD that says so."""


def named_instead(spec: Spec) -> tuple[str, ...]:
    """Return the rows that a verdict on a spec may name in place of the judged one."""
    if spec.type == "changes":
        return tuple(_OF_CHANGES.values())
    parts = _NEWEST.values()
    if spec.type == "snapshot" and (spec.requirement is None or spec.requirement in parts):
        return tuple(name for name in parts if name in spec.requirements)
    return ()


def _unsupported(unclaimed: list[str], message: str) -> Verdict:
    words = f"refused, not claiming {', '.join(unclaimed)}: {message}"
    return Verdict(Outcome.UNSUPPORTED, words, unclaimed=tuple(unclaimed))


def _wrongly_refused(what: str, wanted: str, answer: Refused, unclaimed: list[str]) -> Verdict:
    """Judge a refusal where an answer is due: wrong, unless the table needs what is unclaimed."""
    if unclaimed:
        return _unsupported(unclaimed, answer.message)
    return Verdict(
        Outcome.FAIL,
        f"refused {what}: {answer.message}",
        Hazard.WRONG_REFUSAL,
        wanted,
        describe_refusal(answer.kind, answer.stage, answer.message),
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
    spec: Spec, expected: Expected, found: Difference, unclaimed: list[str], advised: str | None
) -> Verdict:
    hazard = spec.hazard or QUESTIONS[spec.type].endangers
    wanted = describe_expected(spec.type, expected)
    requirement = advised
    if unclaimed:
        # Answering at all was the mistake, and the worst one.
        hazard = Hazard.SILENT_WRONG_DATA
        wanted = f"a refusal, since {', '.join(unclaimed)} is not claimed; or {wanted}"
        requirement = "TF-001"
    elif spec.type == "snapshot":
        # A spec that names a row of its own, as one of what metadata holds, is judged by that.
        newest = _NEWEST.get(found.summary.partition(".")[0].partition(" ")[0])
        requirement = newest if newest in named_instead(spec) else None
    return Verdict(
        Outcome.FAIL,
        found.summary,
        hazard,
        wanted,
        found.summary,
        requirement,
        details=found.details,
    )


def _decide_refusal(
    spec: Spec, error: ExpectedError, answer: Answer, unclaimed: list[str]
) -> Verdict:
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


def _difference(spec: Spec, expected: Expected, payload: Any) -> Difference | None:
    """Hold an answer against the expected one, and a snapshot against the version asked for."""
    found = QUESTIONS[spec.type].compare(expected, payload)
    asked = spec.parameters.get("version")
    if found is None and spec.type == "snapshot" and asked is not None:
        given = payload.get("version")
        if given is not None and (given != asked or isinstance(given, bool)):
            return Difference("document", f"version is {given!r}, expected {asked}")
    return found


def _decide_contested(
    spec: Spec, contested: Contested, answer: Answer, unclaimed: list[str]
) -> Verdict:
    """Name the reading of the text that an answer follows; one that follows none fails."""
    if unclaimed and isinstance(answer, Refused) and answer.kind == "unsupported":
        return _unsupported(unclaimed, answer.message)
    found: Difference | None = None
    for accepted in contested.accepted:
        match accepted.answer, answer:
            case ExpectedError(), Refused():
                # Whether to refuse is contested; no reading says in which words.
                seen = True
            case Expected() as expected, Ok(payload):
                difference = _difference(spec, expected, payload)
                seen, found = difference is None, found or difference
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
            return _wrongly_refused(what, wanted, answer, unclaimed)
        case Ok(payload):
            summary = found.summary if found else "answered where every reading refuses"
            readings = [a.answer for a in contested.accepted if isinstance(a.answer, Expected)]
            advised = (_advised(spec, each, payload) for each in readings)
            return Verdict(
                Outcome.FAIL,
                f"as no reading of the text has it: {summary}",
                spec.hazard or QUESTIONS[spec.type].endangers,
                wanted,
                summary,
                next(filter(None, advised), None),
                details=found.details if found else (),
            )


def _error(fault: BaseException | None, table: Path) -> Verdict:
    reason = fault if isinstance(fault, AdapterError) else None
    message = str(reason) if reason else f"raised: {type(fault).__name__}: {fault}"
    details = tuple(reason.details.splitlines()[-40:]) if reason else ()
    return Verdict(
        Outcome.ERROR,
        stable(message, table),
        actual=stable(message, table),
        details=details,
        fault=reason.kind if reason else "raised",
    )


def _is_root_cause(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.ERROR or verdict.hazard in _ROOT_CAUSES


def _same_cause(root: Verdict, verdict: Verdict) -> bool:
    same = root.outcome is verdict.outcome and alike(root.message) == alike(verdict.message)
    return same and _is_root_cause(root)


def _blocked(root: Spec, verdict: Verdict) -> Verdict:
    return Verdict(Outcome.BLOCKED, f"blocked by {root.id}: {verdict.message}")


def _without_place(verdict: Verdict, table: Path) -> Verdict:
    return replace(
        verdict,
        message=stable(verdict.message, table),
        expected=stable(verdict.expected, table),
        actual=stable(verdict.actual, table),
    )


def _brief(payload: Any) -> str:
    rows = getattr(payload, "num_rows", None)
    return count_rows(rows) if rows is not None else repr(payload)[:LONGEST]
