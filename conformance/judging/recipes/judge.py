"""Replay write recipes: steps in, a table out, and what the table is worth.

See the section "Write recipes" of ``docs/formats.md``. A recipe is judged by what it leaves,
never by how the engine says it went: after every step, and once more by time travel when all
are done, the reference implementation reads the rows that the oracle demands; the properties and
the partitioning that were asked for are in force; and the audit finds nothing in log and files
that a clause forbids. How many versions an engine takes for a step is its own affair.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from conformance.adapter import Claims, Ok, Refused
from conformance.audit import AuditError
from conformance.audit.read.log import open_log
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Accepted, Contested, Expected, ExpectedError, Spec
from conformance.judging.claims import unclaimed_needs
from conformance.judging.compare import compare_rows
from conformance.judging.messages import describe_refusal
from conformance.judging.recipes.files import read_commits
from conformance.judging.recipes.identity import without_identities
from conformance.judging.recipes.replay import Ask, Replay, reading_recipe
from conformance.judging.recipes.table import (
    AUDITED,
    UNREADABLE,
    audit_table,
    check_advice,
    check_deletions,
    check_requested,
    check_step,
    is_advice,
    latest_version,
    reread_versions,
    wrong_rows,
)
from conformance.judging.recipes.traces import Traces
from conformance.requirements.general import general_requirements
from conformance.requirements.levels import ROWS_WRITTEN
from conformance.requirements.registry import load_registry
from generators.oracle.delta_schema import from_json
from reference_impl import DeltaError, Table
from reference_impl.storage import LocalStorage

_GENERAL_REQUIREMENTS: Final = frozenset({ROWS_WRITTEN, "CDC-012", "RT-029", "RT-047"})
"""What says that rows, changes or ids are wrong, and not what the step was about."""

_COPYING: Final = frozenset({"checkpoint", "compact_log"})
"""Operations that commit nothing, and write what is read in the place of commits."""

_STATE_REQUIREMENTS: Final = frozenset({None, "META-009", "TF-016"})
"""What says that the table is not as it was asked for, or supports less than before."""

_UNCHANGED: Final = {"CHK-006": "CHK-006", "CHK-009": "CHK-010", "CHK-010": "CHK-010"}
"""What a refusal obeys to what says that the table stays as it was then, where a clause does."""

_FOLLOWING: Final = ("CRC-", "CDC-001 ", "CDC-012 ")
"""Findings about the checksum and the changes of what was meant: both follow from wrong rows."""


def replay_recipe(
    run: Ask, claims: Claims, spec: Spec, table: Path, revision: str = "upstream"
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
        with reading_recipe("the table to convert"):
            shutil.rmtree(table / "_delta_log")
    said, needs = spec.parameters.get("judged", {}), unclaimed_needs(spec, claims)
    replayed = Replay(
        run, claims, table, steps, before, revision=revision, said=said, unclaimed_needs=needs
    )
    if converts:
        replayed.traces = Traces(table)
    elif "given" in spec.parameters and not before:
        with reading_recipe("the table that is given"):
            replayed.given = from_json(json.loads(_schema_string(table)))
    match spec.expectation:
        case ExpectedError() as error:
            verdict = _refused(replayed, spec, error)
        case Expected() as expected:
            found = _run_whole(replayed, expected)
            if found is not None and is_advice(found):
                # The step shows the cause, and the audit what follows from it.
                found = replayed.advice or found
            verdict = (
                found or replayed.advice or check_advice(replayed, spec) or Verdict(Outcome.PASS)
            )
        case Contested(accepted):
            verdict = _contested(replayed, accepted, _carried_out(replayed, accepted))
    return _explained(replayed, verdict)


def _explained(replayed: Replay, verdict: Verdict) -> Verdict:
    """Add what the audit finds in a table that failed before it was audited.

    Rows that are wrong, or cannot be read, are what a clause that was broken leads to: it is the
    one that is named, unless the audit finds what stopped the reader as well. What says in general
    what that clause says is named after it.
    """
    if verdict.outcome is not Outcome.FAIL:
        return verdict
    found = None
    with suppress(AuditError):
        found = None if verdict.message.startswith(AUDITED) else audit_table(replayed)
    if found is not None:
        details = [*verdict.details, *found.details]
        # The audit does not find what the reader says, and finds another clause broken.
        unread = (
            UNREADABLE in verdict.message
            and str(verdict.requirement) not in found.message
            and load_registry()[str(found.requirement)].level == "MUST"
        )
        broken = verdict.requirement
        follows = all(detail.startswith(_FOLLOWING) for detail in found.details)
        if (broken == ROWS_WRITTEN or unread) and not is_advice(found) and not follows:
            if broken != ROWS_WRITTEN:
                details.append(f"{broken} {verdict.message}")
            broken = found.requirement
        verdict = replace(verdict, requirement=broken, details=tuple(details))
    named = (verdict.requirement, *(detail.partition(" ")[0] for detail in verdict.details))
    general = general_requirements(
        filter(None, named),
        _writer_version(replayed),
        load_registry(),
        replayed.revision,
        verdict.message,
    )
    more = dict.fromkeys(f"{row} in general: {part} is broken" for row, part in general)
    return replace(verdict, details=(*verdict.details, *more))


def _writer_version(replayed: Replay) -> int | None:
    with suppress(DeltaError):
        return Table(replayed.table).snapshot().protocol.min_writer_version
    # What a clause was broken by may keep the snapshot from being loaded.
    held = None
    with suppress(DeltaError):
        versions = range((latest_version(replayed.table) or 0) + 1)
        for commit in read_commits(replayed.table, versions):
            for _, line in commit.small:
                if line.action == "protocol":
                    held = line.body.get("minWriterVersion")
    return held if type(held) is int else None


def _run_whole(replayed: Replay, expected: Expected) -> Verdict | None:
    """Take all steps, and check what they leave against the rows and the clauses."""
    verdict = _run_steps(replayed, replayed.steps)
    if verdict is not None:
        return verdict
    assert replayed.rows is not None
    rows = (expected.rows(), replayed.rows)
    found = compare_rows(*(without_identities(each, replayed.steps) for each in rows))
    return audit_table(replayed) if found is None else wrong_rows("the last version", found)


def _carried_out(replayed: Replay, accepted: Sequence[Accepted]) -> Verdict | None:
    """Take the steps of what is contested; without a verdict they are carried out, and well."""
    carried = next((each.answer for each in accepted if isinstance(each.answer, Expected)), None)
    if carried is None or carried.source is None:
        return _run_steps(replayed, replayed.steps)
    return _run_whole(replayed, carried)


def _schema_string(table: Path) -> str:
    """Return the schema of a table that is given; no catalog is asked."""
    commits = open_log(LocalStorage(table)).commits.values()
    found = [line.body for commit in commits for line in commit.content.of("metaData")]
    return (
        str(found[-1]["schemaString"]) if found else Table(table).snapshot().metadata.schema_string
    )


def _contested(replayed: Replay, accepted: Sequence[Accepted], verdict: Verdict | None) -> Verdict:
    """Name the accepted outcome that was seen: carried out, or refused at a contested step."""
    at, last = replayed.refused, len(replayed.steps) - 1
    for each in accepted:
        if not isinstance(each.answer, ExpectedError):
            if verdict is None:
                return _seen(each)
        elif at is not None and at in (each.steps or (last,)):
            former = replayed.watch.former
            before = None if former is None else former.version
            return _left(replayed, at, before, each.answer.requirement) or _seen(each)
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


def _seen(accepted: Accepted) -> Verdict:
    return Verdict(Outcome.OPEN, f"contested: {accepted.name}", seen=accepted.name)


def _run_steps(replayed: Replay, steps: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Take steps that have to succeed; a verdict ends the recipe."""
    for number, step in enumerate(steps):
        name = f"step {number} ({step['operation']})"
        replayed.watch.before()
        answer = replayed.ask(step)
        if isinstance(answer, Refused):
            replayed.refused = number
        match answer:
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
                    replayed.judged(number, refused=True),
                )
            case Ok():
                if verdict := check_step(replayed, name, step) or check_requested(replayed, number):
                    return replace(verdict, requirement=_named(replayed, number, verdict))
    return reread_versions(replayed)


def _named(replayed: Replay, number: int, verdict: Verdict) -> str | None:
    """Return what a step broke: where the verdict does not say, what the step is about.

    What it wrote in the place of commits is what changed a state that it was to leave alone.
    """
    named = verdict.requirement
    if replayed.steps[number]["operation"] in _COPYING and named in _STATE_REQUIREMENTS:
        found = audit_table(replayed)
        if found is not None and not is_advice(found):
            return found.requirement
    if named is None or (named in _GENERAL_REQUIREMENTS and str(number) in replayed.said):
        return replayed.judged(number)
    return named


def _refused(replayed: Replay, spec: Spec, error: ExpectedError) -> Verdict:
    """Take every step but the last, which has to be refused and to leave no trace."""
    *before, last = replayed.steps
    # What nothing was done to, is as it was given.
    verdict = _run_steps(replayed, before) if before else None
    latest = None if verdict is not None else latest_version(replayed.table)
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
    left = _left(replayed, len(before), latest, error.requirement)
    return left or _as_claimed(replayed, last, answer, error.kind, wanted)


def _left(
    replayed: Replay, number: int, latest: int | None, requirement: str | None
) -> Verdict | None:
    """Find what a step that was refused left behind.

    Args:
        replayed: the steps so far.
        number: of the step.
        latest: the version before it; ``None`` where there was none.
        requirement: what the refusal obeys.
    """
    if latest is None:
        return None
    step = replayed.steps[number]
    name = f"step {number} ({step['operation']})"
    verdict = check_deletions(replayed, name, step)
    if verdict is not None:
        # What a step has to check comes before what it deletes.
        verdict = replace(verdict, requirement=requirement)
    elif (verdict := reread_versions(replayed)) is not None:
        named = _UNCHANGED.get(requirement or "", verdict.requirement)
        verdict = replace(verdict, requirement=named)
    if verdict is not None and verdict.requirement is None:
        verdict = replace(verdict, requirement=replayed.judged(number))
    now = latest_version(replayed.table)
    if verdict is None and now != latest:
        message = f"{name} is refused and version {now} is there nevertheless"
        wanted = "nothing is committed"
        return Verdict(Outcome.FAIL, message, Hazard.CORRUPTING_WRITE, wanted, message)
    return verdict or audit_table(replayed)


def _as_claimed(
    replayed: Replay, last: Mapping[str, Any], answer: Refused, kind: str, wanted: str
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
