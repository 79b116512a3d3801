"""Replay write recipes: steps in, a table out, and what the table is worth.

Serves the section "Write recipes" of ``docs/formats.md``. A recipe is judged by what it leaves,
never by how the engine says it went: after every step, and once more by time travel when all
are done, the reference implementation reads the rows that the oracle demands; the properties and
the partitioning that were asked for are in force; and the audit finds nothing in log and files
that a clause forbids. How many versions an engine takes for a step is its own affair.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from conformance.adapter import Answer, Claims, Ok, Refused, Request, Write
from conformance.audit import AuditError, audit
from conformance.audit.read.log import open_log
from conformance.base.faults import KitError
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Accepted, Contested, Expected, ExpectedError, Spec
from conformance.golden.file_digests import digests
from conformance.judging.claims import unclaimed_by_writer
from conformance.judging.compare import Difference, compare_rows
from conformance.judging.recipes.checks import Fault, Watch
from conformance.judging.recipes.files import Seen, copied, row_of_file, written_over
from conformance.judging.recipes.identity import numbered, without_identities
from conformance.judging.recipes.needs import features_asked
from conformance.judging.recipes.state import described
from conformance.judging.recipes.steps import arguments_of, operation_of
from conformance.judging.recipes.traces import Traces, misdeclared
from conformance.judging.verify import describe_refusal
from conformance.requirements.judged import judged_step
from conformance.requirements.levels import ROWS_WRITTEN
from conformance.requirements.registry import load_registry
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Field, Struct, from_json
from generators.oracle.model import Oracle, Row
from generators.oracle.operations import OPERATIONS, Create, Operation, replay
from generators.steps import input_rows
from reference_impl import DeltaError, Table, read_table
from reference_impl.errors import NotFoundError
from reference_impl.scan import scan
from reference_impl.storage import LocalStorage

__all__ = ["AdapterFaultError", "Run", "replay_recipe", "unclaimed_operations"]

Run: TypeAlias = Callable[[Request], tuple[Answer | None, BaseException | None]]
"""Asks an adapter: an answer, or the fault that it ended in."""

_PLAIN: Final = frozenset({ROWS_WRITTEN, "CDC-012", "RT-029", "RT-047"})
"""What says that rows, changes or ids are wrong, and not what the step was about."""

_SHOWN: Final = 10

_AUDITED: Final = "the audit finds"
"""How the message of a verdict begins that the audit took."""


class AdapterFaultError(Exception):
    """The adapter ended in a fault; the judge knows what to make of it."""

    def __init__(self, fault: BaseException | None) -> None:
        """Keep the fault."""
        super().__init__(str(fault))
        self.fault = fault


def unclaimed_operations(spec: Spec, claims: Claims) -> list[str]:
    """Name the operations of a recipe that an implementation does not claim."""
    wanted = {step["operation"] for step in spec.parameters["operations"]}
    return sorted(wanted - claims.operations)


@dataclass(slots=True)
class _Replay:
    """One run of a recipe.

    Attributes:
        run: asks the adapter.
        claims: what it claims.
        table: where the table is to be.
        steps: the recipe.
        before: the steps that made the table that is given, for the oracle.
        given: the schema of a table that is given without them.
        revision: the protocol revision.
        said: number of a step to the row that the recipe says it judges.
        traces: what the steps left beside rows.
        watch: looks at the table before a step and after it.
        done: the table's version after each step, as the implementation counts.
        history: the steps so far, for the oracle.
        seen: the version after each step, with the rows that it has to have.
        rows: what the table held when it was last read.
        advice: the first SHOULD that is not followed; the recipe goes on.
        files: digest of every file of the table, as the last step left them.

    """

    run: Run
    claims: Claims
    table: Path
    steps: Sequence[Mapping[str, Any]]
    before: Sequence[Mapping[str, Any]] = ()
    given: Struct | None = None
    revision: str = "upstream"
    said: Mapping[str, str] = field(default_factory=dict)
    traces: Traces = field(init=False)
    watch: Watch = field(init=False)
    done: list[int] = field(default_factory=list)
    history: list[Operation] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    rows: pa.Table | None = None
    advice: Verdict | None = None
    files: Mapping[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Let the oracle take the steps that made the table that is given."""
        self.files = digests(self.table) if self.table.is_dir() else {}
        self.traces = Traces(self.table)
        self.watch = Watch(self.table)
        for step in self.before:
            rows = self.advance(step)
            version = self.oracle.versions[-1].number
            self.seen.append(Seen(version, rows))
            self.done.append(version)
        if self.before:
            # What is given to convert is no table yet; what cannot be read is reported at a step.
            with suppress(DeltaError):
                self.traces.after(None, self.watch.look(), self.oracle.versions[-1], "")

    def ask(self, step: Mapping[str, Any]) -> Answer:
        """Send one step; raises :class:`AdapterFaultError` when it is not answered."""
        arguments = arguments_of(step)
        if "to_step" in step:
            arguments["version"] = self.done[step["to_step"]]
        rows = None
        if "rows" in step:
            rows = _arrow(*input_rows(step, self._schema(step)))
        answer, fault = self.run(Write(str(self.table), step["operation"], arguments, rows))
        if answer is None:
            raise AdapterFaultError(fault)
        return answer

    def advance(self, step: Mapping[str, Any]) -> pa.Table | None:
        """Let the oracle do a step, and give the rows that there have to be.

        On a given table the oracle does not know what was there: the last version alone is
        compared, with the rows of the case.
        """
        if self.given is not None:
            return None
        operation = operation_of(step, self._schema(step), self._version_of)
        if isinstance(operation, Create) and self.history:
            # To convert is to create a table of the rows that are there.
            operation = replace(operation, rows=tuple(self.oracle.rows()))
            self.history, self.seen, self.done = [], [], []
        self.history.append(operation)
        version = self.oracle.versions[-1]
        return arrow_table(version.schema, [row.values for row in version.rows])

    def unclaimed(self, step: Mapping[str, Any]) -> list[str]:
        """Name what a step needs of a writer, or the table as it is, that is not claimed."""
        try:
            protocol = Table(self.table).snapshot().protocol
        except DeltaError:
            protocol = None
        return unclaimed_by_writer(self.claims, protocol, features_asked(step))

    def judged(self, number: int) -> str | None:
        """Give the requirement that a step judges."""
        step = judged_step(self.steps[number]["operation"], self.said.get(str(number)))
        return step.in_revision(self.revision)

    @property
    def oracle(self) -> Oracle:
        """The oracle of the steps so far."""
        return replay(self.history)

    def _version_of(self, step: int) -> int:
        return sum(each.commits for each in self.history[: step + 1]) - 1

    def _schema(self, step: Mapping[str, Any]) -> Struct:
        """Give the schema in force before a step."""
        if OPERATIONS[step["operation"]].defines:
            found = from_json(dict(step["schema"]))
            assert isinstance(found, Struct)
            return found
        if self.given is not None:
            return self.given
        if not self.history:
            raise KitError("a recipe begins with create")
        return self.oracle.schema


def replay_recipe(
    run: Run, claims: Claims, spec: Spec, table: Path, revision: str = "upstream"
) -> Verdict:
    """Replay a recipe and take the verdict.

    Args:
        run: asks the adapter.
        claims: what it claims; every operation of the recipe is among it.
        spec: a spec of type ``write``.
        table: where the table is to be: nothing, or the table that is given.
        revision: the protocol revision, whose clauses alone the audit goes by.

    Raises:
        AdapterFaultError: the adapter did not answer.
        KitError: it is not a recipe.

    """
    steps, before = spec.parameters["operations"], spec.parameters.get("before", ())
    converts = steps[0]["operation"] == "convert"
    if converts:
        # What is given to convert is the table's files without its log.
        shutil.rmtree(table / "_delta_log")
    said = spec.parameters.get("judged", {})
    replayed = _Replay(run, claims, table, steps, before, revision=revision, said=said)
    if converts:
        replayed.traces = Traces(table)
    elif "given" in spec.parameters and not before:
        replayed.given = from_json(json.loads(_schema_string(table)))
    match spec.expectation:
        case ExpectedError() as error:
            verdict = _refused(replayed, spec, error)
        case Expected() as expected:
            verdict = _completed(replayed, expected) or replayed.advice or Verdict(Outcome.PASS)
        case Contested(accepted):
            verdict = _contested(accepted, _carried_out(replayed, accepted))
    return _explained(replayed, verdict)


def _explained(replayed: _Replay, verdict: Verdict) -> Verdict:
    """Add what the audit finds in a table that failed before it was audited.

    Rows that are wrong, or cannot be read, are what a clause that was broken leads to: it is the
    one that is named.
    """
    if verdict.outcome is not Outcome.FAIL or verdict.message.startswith(_AUDITED):
        return verdict
    try:
        found = _audited(replayed)
    except AuditError:
        return verdict
    if found is None:
        return verdict
    cause = verdict.requirement == ROWS_WRITTEN and not _advises(found)
    return replace(
        verdict,
        requirement=found.requirement if cause else verdict.requirement,
        details=(*verdict.details, *found.details),
    )


def _completed(replayed: _Replay, expected: Expected) -> Verdict | None:
    """Take all steps, and hold what they leave against the rows and the clauses."""
    verdict = _followed(replayed, replayed.steps)
    if verdict is not None:
        return verdict
    assert replayed.rows is not None
    rows = (expected.rows(), replayed.rows)
    found = compare_rows(*(without_identities(each, replayed.steps) for each in rows))
    return _audited(replayed) if found is None else _wrong_rows("the last version", found)


def _carried_out(replayed: _Replay, accepted: Sequence[Accepted]) -> Verdict | None:
    """Take the steps of what is contested; without a verdict they are carried out, and well."""
    carried = next((each.answer for each in accepted if isinstance(each.answer, Expected)), None)
    if carried is None or carried.source is None:
        return _followed(replayed, replayed.steps)
    return _completed(replayed, carried)


def _schema_string(table: Path) -> str:
    """Give the schema of a table that is given; no catalog is asked."""
    commits = open_log(LocalStorage(table)).commits.values()
    found = [line.body for commit in commits for line in commit.content.of("metaData")]
    return (
        str(found[-1]["schemaString"]) if found else Table(table).snapshot().metadata.schema_string
    )


def _contested(accepted: Sequence[Accepted], verdict: Verdict | None) -> Verdict:
    """Name the accepted outcome that was seen: carried out, or refused."""
    refused = verdict is not None and (
        verdict.outcome is Outcome.UNSUPPORTED or verdict.hazard is Hazard.WRONG_REFUSAL
    )
    for each in accepted:
        refusal = isinstance(each.answer, ExpectedError)
        if refused if refusal else verdict is None:
            return Verdict(Outcome.OPEN, f"contested: {each.name}", seen=each.name)
    if verdict is not None:
        return verdict
    names = ", ".join(each.name for each in accepted)
    return Verdict(
        Outcome.FAIL,
        "carried out, as no reading of the text has it",
        Hazard.CORRUPTING_WRITE,
        f"one of {names}",
        "carried out",
    )


def _followed(replayed: _Replay, steps: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Take steps that have to succeed; a verdict ends the recipe."""
    for number, step in enumerate(steps):
        name = f"step {number} ({step['operation']})"
        replayed.watch.before()
        match replayed.ask(step):
            case Refused("unsupported", _, message) if missing := replayed.unclaimed(step):
                reason = f"{name} is refused, not claiming {', '.join(missing)}: {message}"
                return Verdict(Outcome.UNSUPPORTED, reason, unclaimed=tuple(missing))
            case Refused(kind, stage, message):
                return Verdict(
                    Outcome.FAIL,
                    f"{name} is refused: {message}",
                    Hazard.WRONG_REFUSAL,
                    "the step is carried out",
                    describe_refusal(kind, stage, message),
                    replayed.judged(number),
                )
            case Ok():
                if verdict := _left_behind(replayed, name, step) or _asked(replayed, number):
                    named = verdict.requirement
                    if named is None or (named in _PLAIN and str(number) in replayed.said):
                        named = replayed.judged(number)
                    return replace(verdict, requirement=named)
    return _travelled(replayed) or described(
        replayed.table, replayed.before, steps, replayed.history
    )


def _asked(replayed: _Replay, number: int) -> Verdict | None:
    """Look for what a step asked for beside rows as soon as it is done."""
    if not OPERATIONS[replayed.steps[number]["operation"]].shows:
        return None
    steps = replayed.steps[: number + 1]
    return described(replayed.table, replayed.before, steps, replayed.history)


def _left_behind(replayed: _Replay, name: str, step: Mapping[str, Any]) -> Verdict | None:
    """Judge what a step left: a verdict ends the recipe, advice is kept for its end."""
    before, replayed.files = replayed.files, digests(replayed.table)
    rows = replayed.rows
    over = written_over(replayed.table, before, replayed.files)
    lost = _cleared(replayed, name, step) if "kept" in step else None
    if over is not None or lost is not None:
        return lost if over is None else _broken(name, over)
    try:
        named, fault = numbered(step, replayed.table, replayed.watch.former)
    except DeltaError as error:
        return _unreadable(name, error)
    identity = None if fault is None else _broken(name, fault)
    if identity is not None and not _advises(identity):
        return identity
    # Rows that cannot be read, or are wrong, are no matter of advice.
    if verdict := _read_after(replayed, name, replayed.advance(named)):
        return verdict
    for found in (identity, _traced(replayed, name, step, rows), _cleared(replayed, name, step)):
        if found is not None and not _advises(found):
            return found
        replayed.advice = replayed.advice or found
    return None


def _advises(verdict: Verdict) -> bool:
    """Return whether a SHOULD is not followed, and no more."""
    rows = load_registry()
    broken = verdict.requirement
    return broken is not None and broken in rows and rows[broken].level == "SHOULD"


def _read_after(replayed: _Replay, name: str, rows: pa.Table | None) -> Verdict | None:
    try:
        now = replayed.watch.look()
        replayed.rows = scan(now)
    except DeltaError as error:
        return _unreadable(name, error)
    found = None if rows is None else compare_rows(rows, replayed.rows)
    replayed.seen.append(Seen(now.version, rows, digests(replayed.table)))
    replayed.done.append(now.version)
    return None if found is None else _wrong_rows(name, found)


def _traced(
    replayed: _Replay, name: str, step: Mapping[str, Any], rows: pa.Table | None
) -> Verdict | None:
    oracle = replayed.oracle.versions[-1] if replayed.history else None
    watch = replayed.watch
    assert watch.now is not None
    fault = replayed.traces.after(watch.former, watch.now, oracle, step["operation"])
    fault = fault or watch.after(step)
    if fault is None and watch.former is not None and replayed.rows is not None:
        versions = range(watch.former.version + 1, watch.now.version + 1)
        with suppress(DeltaError):  # what cannot be read is reported where it is read
            held = (scan(watch.former) if rows is None else rows, replayed.rows)
            fault = misdeclared(replayed.table, versions, held)
    return None if fault is None else _broken(name, fault)


def _broken(name: str, fault: Fault) -> Verdict:
    requirement, message = fault
    return Verdict(
        Outcome.FAIL,
        f"{name}: {message}",
        Hazard.CORRUPTING_WRITE,
        "changes, row ids, log and files as the clauses want them",
        message,
        requirement,
    )


def _travelled(replayed: _Replay) -> Verdict | None:
    """Read the versions again that were the latest once, wherever that could find more."""
    now = digests(replayed.table)
    for seen in replayed.seen:
        if seen.rows is None or seen.stands(now):
            continue
        place = f"version {seen.version}, read again at the end"
        try:
            found = compare_rows(seen.rows, read_table(replayed.table, version=seen.version))
        except DeltaError as error:
            return _unreadable(place, error)
        if found is not None:
            return _wrong_rows(place, found)
    return None


def _cleared(replayed: _Replay, name: str, step: Mapping[str, Any]) -> Verdict | None:
    """Look for files that a step must not delete, and for vectors that it has to.

    Data files may be deleted lazily: one that is left breaks nothing.
    """
    folder = replayed.table
    if "gone" in step:
        # Earlier versions are promised no longer.
        replayed.seen[:-1] = []
    lost = [path for path in step.get("kept", ()) if not (folder / path).exists()]
    left = [
        path
        for path in step.get("gone", ())
        if (folder / path).exists() and row_of_file(path, lost=False, vectors=False)
    ]
    if not lost and not left:
        return None
    wrong = f"{lost[0]} is gone" if lost else f"{left[0]} is still there"
    now = replayed.watch.now or replayed.watch.former
    vectors = now is not None and now.adds().column("deletionVector").null_count < len(now.adds())
    return Verdict(
        Outcome.FAIL,
        f"{name}: {wrong}",
        Hazard.CORRUPTING_WRITE if lost else Hazard.COSMETIC,
        "the files that versions need, and no others",
        wrong,
        row_of_file((lost or left)[0], lost=bool(lost), vectors=vectors),
        details=tuple([f"gone: {path}" for path in lost] + [f"left: {path}" for path in left]),
    )


def _audited(replayed: _Replay) -> Verdict | None:
    """Hold log and files against the clauses that bind writers."""
    rows = load_registry()
    bound = audit(str(replayed.table), revision=replayed.revision)
    found = [each for each in bound if each.severity == "error"] or [
        each
        for each in bound
        if rows[each.requirement].level == "SHOULD"
        and rows[each.requirement].role != "reader"
        and not rows[each.requirement].contested
        and each.severity == "warning"
    ]
    if not found:
        return None
    # What breaks a MUST fails, whatever advice is not followed beside it; and what copies of the
    # state say otherwise follows from what is wrong in a commit or a file.
    found.sort(key=lambda each: (rows[each.requirement].level != "MUST", copied(each.place)))
    ids = sorted({each.requirement for each in found})
    return Verdict(
        Outcome.FAIL,
        f"{_AUDITED} {', '.join(ids)}",
        Hazard.CORRUPTING_WRITE,
        "a log and files that break no clause",
        f"{found[0].requirement}: {found[0].message}",
        found[0].requirement,
        details=tuple(
            f"{each.requirement} {each.place}: {each.message}" for each in found[:_SHOWN]
        ),
    )


def _refused(replayed: _Replay, spec: Spec, error: ExpectedError) -> Verdict:
    """Take every step but the last, which has to be refused and to leave no trace."""
    *before, last = replayed.steps
    # What nothing was done to, is as it was given.
    verdict = _followed(replayed, before) if before else None
    latest = None if verdict is not None else _latest(replayed.table)
    if verdict is not None:
        return verdict
    wanted = f"the last step is refused ({error.kind}) and nothing is committed"
    answer = replayed.ask(last)
    name = f"step {len(before)} ({last['operation']})"
    if isinstance(answer, Ok):
        return Verdict(
            Outcome.FAIL,
            f"{name} is carried out where a refusal ({error.kind}) is due",
            spec.hazard or Hazard.CORRUPTING_WRITE,
            wanted,
            "carried out",
            error.requirement,
        )
    if latest is not None:
        verdict = _travelled(replayed) or _cleared(replayed, name, last)
        now = _latest(replayed.table)
        if verdict is not None and verdict.requirement is None:
            verdict = replace(verdict, requirement=replayed.judged(len(before)))
        if verdict is None and now != latest:
            message = f"{name} is refused and version {now} is there nevertheless"
            return Verdict(Outcome.FAIL, message, Hazard.CORRUPTING_WRITE, wanted, message)
        verdict = verdict or _audited(replayed)
    if verdict is not None:
        return verdict
    return _as_claimed(replayed, last, answer, error.kind, wanted)


def _as_claimed(
    replayed: _Replay, last: Mapping[str, Any], answer: Refused, kind: str, wanted: str
) -> Verdict:
    """Judge a refusal that is due: no clause names its kind, but what is claimed is supported."""
    if answer.kind != "unsupported" or kind == "unsupported":
        return Verdict(Outcome.PASS, f"refused: {answer.message}")
    name = f"step {len(replayed.steps) - 1} ({last['operation']})"
    missing = replayed.unclaimed(last)
    if missing:
        reason = f"{name} is refused, not claiming {', '.join(missing)}: {answer.message}"
        return Verdict(Outcome.UNSUPPORTED, reason, unclaimed=tuple(missing))
    message = f"{name} is refused as unsupported, and claimed: {answer.message}"
    return Verdict(Outcome.FAIL, message, Hazard.COSMETIC, wanted, "refused as unsupported")


def _latest(table: Path) -> int | None:
    """Give the latest version; ``None`` where there is no table."""
    try:
        return Table(table).latest_version()
    except NotFoundError:
        return None


def _wrong_rows(place: str, found: Difference) -> Verdict:
    return Verdict(
        Outcome.FAIL,
        f"{place}: {found.summary}",
        Hazard.CORRUPTING_WRITE,
        "the rows of the oracle",
        found.summary,
        ROWS_WRITTEN,
        details=found.details,
    )


def _unreadable(place: str, error: DeltaError) -> Verdict:
    """Fail a writer for a table that cannot be read, by the clause that its files break."""
    rows, broken = load_registry(), error.requirement
    binds = broken in rows and rows[broken].level == "MUST" and rows[broken].role != "reader"
    return Verdict(
        Outcome.FAIL,
        f"{place}: the table cannot be read: {error}",
        Hazard.CORRUPTING_WRITE,
        "a table that can be read",
        str(error),
        broken if binds else ROWS_WRITTEN,
    )


def _arrow(schema: Struct, rows: Sequence[Row]) -> pa.Table:
    """Give rows as Arrow; columns that must not be null and are, lose their declaration."""
    loose = [
        Field(each.name, each.type, nullable=True)
        if any(row[each.name] is None for row in rows)
        else each
        for each in schema
    ]
    return arrow_table(Struct(tuple(loose)), rows)
