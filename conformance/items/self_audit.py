"""Judge the audit of the kit itself: by mutations that it must notice, and by checksums.

Serves the chapters that the mutations name, and "Version Checksum File". The audit judges the
tables of others, so a run of the reference implementation also judges the audit.
"""

from __future__ import annotations

from pathlib import Path

from conformance.audit import AuditError, audit
from conformance.audit.grammar.log_files import checksum_name
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Case, Expected, Spec
from conformance.judging.judge import Judge
from generators.mutations import Mutation


def _serious(table: Path) -> list[tuple[str, str, str]]:
    """Return requirement, place and message of what is more than information."""
    return [
        (finding.requirement, finding.place, finding.message.replace(str(table), "<table>"))
        for finding in audit(str(table))
        if finding.severity != "info"
    ]


def judge_mutation(mutation: Mutation, judge: Judge) -> Verdict:
    """Take the verdict about a mutation that the audit must notice, by a requirement of its own.

    A finding about something else is luck: it may be gone with the next change of the audit.
    """
    with judge.store.fresh(None) as root:
        mutation.build(root)
        try:
            # The base is clean, so whatever is found is of the change.
            found = _serious(root)
        except AuditError as error:
            message = f"no table to audit: {error}".replace(str(root), "<table>")
            return Verdict(Outcome.PASS, message)
    own = next((f for f in found if f[0] in mutation.requirements), None)
    if own is not None:
        return Verdict(Outcome.PASS, f"found {own[0]}: {own[2]}")
    others = ", ".join(sorted({requirement for requirement, _, _ in found}))
    message = f"the audit finds {others} alone" if found else "the audit finds nothing"
    wanted = f"a finding of {' or '.join(mutation.requirements)}"
    return Verdict(Outcome.FAIL, message, Hazard.ACCEPTED_INVALID_TABLE, wanted, message)


def judge_checksum(case: Case, spec: Spec, judge: Judge) -> Verdict:
    """Take the verdict about a ``checksum`` spec: the audit says whether the file is right."""
    assert isinstance(spec.expectation, Expected)
    name = checksum_name(spec.parameters["version"])
    found = [f for f in _serious(judge.store.table(case)) if f[1].rpartition("/")[2] == name]
    if bool(spec.expectation.document["valid"]) is not bool(found):
        return Verdict(Outcome.PASS, found[0][2] if found else "")
    message = f"found {found[0][0]}: {found[0][2]}" if found else "the audit finds nothing"
    wanted = "a finding about the checksum" if not found else "a valid checksum"
    return Verdict(Outcome.FAIL, message, Hazard.ACCEPTED_INVALID_TABLE, wanted, message)
