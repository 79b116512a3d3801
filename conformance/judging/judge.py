"""The judge: ask one spec of one adapter and say how it ended.

Adapters execute and never judge; verdicts are taken here from the spec, the claims and the answer,
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.adapter import Adapter, Answer, Claims, Ok, Request
from conformance.base.faults import AdapterError
from conformance.base.limits import InProcessLimit
from conformance.base.outcomes import ALTERED, Hazard, Outcome, Verdict
from conformance.golden.cases import Case, Contested, Expected, ExpectedError, Spec
from conformance.judging.answers import plain_answer
from conformance.judging.claims import lacking
from conformance.judging.messages import alike, blocked_by, stable
from conformance.judging.recipes.judge import replay_recipe
from conformance.judging.recipes.replay import AdapterFaultError
from conformance.judging.tables import TableStore
from conformance.judging.verdicts import verdict_on
from conformance.judging.witness import Witness
from conformance.questions import QUESTIONS
from conformance.requirements.levels import ROWS_WRITTEN
from generators.placeholders import expand


@dataclass(slots=True)
class Judge:
    """Judge the specs of a corpus for one adapter.

    Args:
        adapter: who is judged.
        claims: what it says that it implements.
        store: where tables are copied to.
        limit: seconds that an adapter in this process has for a request.
        roots: ids of the specs that may block others, ``None`` for all: those that the run shows,
            and whose failure counts.
        witness: reads what recipes leave, too.
        revision: the protocol revision, whose clauses alone an audit goes by.
    """

    adapter: Adapter
    claims: Claims
    store: TableStore
    limit: InProcessLimit = field(default_factory=InProcessLimit)
    roots: Collection[str] | None = None
    witness: Witness | None = None
    revision: str = "upstream"
    _of_prerequisites: dict[str, Verdict] = field(default_factory=dict)
    _current: Case | None = None

    def judge(self, case: Case, spec: Spec) -> Verdict:
        """Ask one spec; never raises for what the adapter does."""
        if self._current is not None and self._current.id != case.id:
            self.store.release(self._current)
        self._current = case
        root = self._prerequisite(case)
        if root is None or root.id == spec.id:
            return self._remembered(case, spec) if root else self.judge_once(case, spec)
        known = self._of_prerequisites.get(root.id)
        if known is not None and known.message.startswith("time limit"):
            return _blocked(root, known)
        verdict = self.judge_once(case, spec)
        if _is_root_cause(verdict) and self._is_cause(case, root, verdict):
            return _blocked(root, verdict)
        return verdict

    def _is_cause(self, case: Case, root: Spec, verdict: Verdict) -> bool:
        """Return whether a root fails alike, and the plainest question of all, even if not asked.

        What a whole run does not block, a part of it does not either.
        """
        plainest = self._prerequisite(case, asked=False) or root
        return all(_same_cause(self._remembered(case, x), verdict) for x in (root, plainest))

    @contextmanager
    def alone(self, case: Case) -> Iterator[None]:
        """Ask about a table that was made for one item, and remove it afterwards."""
        self.store.adopt(case)
        try:
            yield
        finally:
            self.store.release(case)

    def _prerequisite(self, case: Case, *, asked: bool = True) -> Spec | None:
        """Choose the plainest question of a case: its failure explains like failures of others.

        Args:
            case: the table.
            asked: out of those that the run asks.
        """
        plain = [
            spec
            for spec in case.specs
            if spec.type in ("snapshot", "read")
            and isinstance(spec.expectation, Expected)
            and (not asked or self.roots is None or spec.id in self.roots)
            and not lacking(spec, self.claims)
        ]
        return min(plain, key=lambda s: (len(s.parameters), s.type != "read", s.id), default=None)

    def _remembered(self, case: Case, spec: Spec) -> Verdict:
        if spec.id not in self._of_prerequisites:
            self._of_prerequisites[spec.id] = self.judge_once(case, spec)
        return self._of_prerequisites[spec.id]

    def judge_once(self, case: Case, spec: Spec) -> Verdict:
        """Ask one spec, whatever other specs of the case do."""
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
        if isinstance(answer, Ok):
            question, given = QUESTIONS[spec.type], self.claims.capabilities
            answer = Ok(question.completed(answer.payload, given))
        try:
            placed = _placed(case, spec, table)
            verdict = verdict_on(case, placed, answer, self.claims, self.revision)
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
    return verdict.outcome is Outcome.ERROR or verdict.hazard is Hazard.WRONG_REFUSAL


def _same_cause(root: Verdict, verdict: Verdict) -> bool:
    same = root.outcome is verdict.outcome and alike(root.message) == alike(verdict.message)
    return same and _is_root_cause(root)


def _blocked(root: Spec, verdict: Verdict) -> Verdict:
    return Verdict(Outcome.BLOCKED, blocked_by(root.id, verdict.message))


def _without_place(verdict: Verdict, table: Path) -> Verdict:
    return replace(
        verdict,
        message=stable(verdict.message, table),
        expected=stable(verdict.expected, table),
        actual=stable(verdict.actual, table),
    )
