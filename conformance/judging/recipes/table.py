"""Judge the table that the steps of a recipe leave: its rows, its versions, its log and files.

See the section "Write recipes" of ``docs/formats.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from conformance.audit import Finding, audit
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Spec
from conformance.judging.compare import Difference, compare_rows
from conformance.judging.recipes.checks import Fault
from conformance.judging.recipes.files import (
    Seen,
    copy_rank,
    hinted_version,
    overwritten_file,
    path_in_table,
    read_commits,
    requirement_of_file,
)
from conformance.judging.recipes.identity import identity_values
from conformance.judging.recipes.replay import Replay
from conformance.judging.recipes.state import check_state
from conformance.judging.recipes.traces import MATERIALISED, wrong_data_change
from conformance.requirements.levels import ROWS_WRITTEN
from conformance.requirements.registry import load_registry
from generators.file_digests import digests
from reference_impl import DeltaError, Snapshot, Table, read_table
from reference_impl.errors import NotFoundError
from reference_impl.scan.scan import scan

AUDITED: Final = "the audit finds"
"""How the message of a verdict begins that the audit took."""

UNREADABLE: Final = "the table cannot be read"
"""What the message of a verdict says whose requirement is that of a reader's error."""

_MAX_SHOWN: Final = 10

_DELETED: Final[Mapping[str, str]] = {"DVFILE-001": "DVD-003", "DATA-001": "FA-008"}
"""What a version lacks that could be read once, to what forbids to delete that."""


def check_step(replayed: Replay, name: str, step: Mapping[str, Any]) -> Verdict | None:
    """Judge what a step left: a verdict ends the recipe, advice is kept for its end."""
    before, replayed.files = replayed.files, digests(replayed.table)
    rows = replayed.rows
    cleans = step["operation"] == "cleanup"
    over = overwritten_file(replayed.table, before, replayed.files, cleans=cleans)
    lost = check_deletions(replayed, name, step) if "kept" in step else None
    if over is not None or lost is not None:
        return lost if over is None else _broken(name, over)
    try:
        named, fault = identity_values(step, replayed.table, replayed.watch.former)
    except DeltaError as error:
        return _unreadable(name, error)
    identity = None if fault is None else _broken(name, fault)
    if identity is not None and not is_advice(identity):
        return identity
    # Rows that cannot be read, or are wrong, are no matter of advice.
    if verdict := _read_after(replayed, name, replayed.advance(named)):
        return verdict
    traces = _traced(replayed, name, step, rows)
    for found in (identity, traces, check_deletions(replayed, name, step)):
        if found is not None and not is_advice(found):
            return found
        replayed.advice = replayed.advice or found
    return None


def _read_after(replayed: Replay, name: str, rows: pa.Table | None) -> Verdict | None:
    try:
        now = replayed.watch.look()
        replayed.rows = scan(now)
    except DeltaError as error:
        return _unreadable(name, error)
    found = None if rows is None else compare_rows(rows, replayed.rows)
    replayed.seen.append(Seen(now.version, rows, replayed.files))
    replayed.done.append(now.version)
    if found is None or rows is None:
        return None
    verdict = wrong_rows(name, found)
    return replace(verdict, details=(*verdict.details, *_misspelled(now, rows, replayed.rows)))


_TEXT_FORMS: Final[Mapping[str, str]] = {
    "string": "PART-003",
    "date": "PART-005",
    "timestamp": "PART-006",
    "timestamp_ntz": "PART-011",
    "boolean": "PART-013",
    "binary": "PART-014",
}
"""Type to the requirement of its text as a partition value; numbers have PART-004."""

_INSTANT: Final = re.compile(r"[+-]?\d{4,}-\d\d-\d\dT.*Z")
"""A timestamp in the form of PART-008, which is another than that of PART-006."""


def _misspelled(now: Snapshot, rows: pa.Table, seen: pa.Table) -> Iterator[str]:
    """Name the partition columns whose values are others, where nothing else is."""
    names = [n for n in now.metadata.partition_columns if n in rows.column_names]
    if set(seen.column_names) != set(rows.column_names):
        return
    if compare_rows(rows.drop_columns(names), seen.drop_columns(names)) is not None:
        return
    types = {field.name: str(field.type) for field in now.schema.fields}
    for name in names:
        if compare_rows(rows.select([name]), seen.select([name])) is not None:
            row = _TEXT_FORMS.get(types.get(name, ""), "PART-004")
            if row == "PART-006" and _has_instants(now):
                row = "PART-008"
            yield f"{row} is what gives the text of the values of {name}, which are others"


def _has_instants(now: Snapshot) -> bool:
    """Return whether partition values of a version are instants in UTC."""
    held = now.adds().column("partitionValues").to_pylist(maps_as_pydicts="strict")
    return any(_INSTANT.fullmatch(text) for values in held for text in values.values() if text)


def _traced(
    replayed: Replay, name: str, step: Mapping[str, Any], rows: pa.Table | None
) -> Verdict | None:
    oracle = replayed.oracle.versions[-1] if replayed.history else None
    watch = replayed.watch
    assert watch.now is not None
    faults = [
        replayed.traces.after(watch.former, watch.now, oracle, step["operation"]),
        watch.after(step),
    ]
    if watch.former is not None and replayed.rows is not None:
        versions = range(watch.former.version + 1, watch.now.version + 1)
        with suppress(DeltaError):  # what cannot be read is reported where it is read
            held = (scan(watch.former) if rows is None else rows, replayed.rows)
            faults.append(wrong_data_change(replayed.table, versions, held))
    found = [_broken(name, fault) for fault in faults if fault is not None]
    found.sort(key=is_advice)
    if not found:
        return None
    kept = MATERIALISED.get(found[0].requirement or "")
    if kept is None:
        return found[0]
    return replace(found[0], details=(f"{kept} is what keeps it: {found[0].message}",))


def check_requested(replayed: Replay, number: int) -> Verdict | None:
    """Look for what the steps asked for beside rows, as soon as the last of them is done."""
    assert replayed.watch.now is not None
    steps = replayed.steps[: number + 1]
    oracle = replayed.oracle if replayed.history else None
    return check_state(replayed.watch.now, replayed.before, steps, oracle)


def reread_versions(replayed: Replay) -> Verdict | None:
    """Read the versions again that were the latest once, wherever that could find more."""
    now, hint = digests(replayed.table), hinted_version(replayed.table)
    for seen in replayed.seen:
        if seen.rows is None or seen.is_unchanged(now, hint):
            continue
        place = f"version {seen.version}, read again at the end"
        try:
            found = compare_rows(seen.rows, read_table(replayed.table, version=seen.version))
        except DeltaError as error:
            verdict = _unreadable(place, error)
            lost = _DELETED.get(error.requirement or "")
            if lost is None:
                return verdict
            # It could be read once: a file that it needs was deleted since.
            missing = path_in_table(replayed.table, error.path or "")
            if lost == "FA-008" and _is_live(replayed, missing):
                lost = ROWS_WRITTEN
            return replace(verdict, message=f"{place}: {error}", requirement=lost)
        if found is not None:
            return wrong_rows(place, found)
    return None


def _is_live(replayed: Replay, place: str) -> bool:
    """Return whether the table is read from a file: none but a tombstone has a time to expire."""
    now = replayed.watch.now or replayed.watch.former
    live = [] if now is None else now.adds().column("path").to_pylist()
    return place in (path_in_table(replayed.table, path) for path in live)


def check_deletions(replayed: Replay, name: str, step: Mapping[str, Any]) -> Verdict | None:
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
        if (folder / path).exists() and requirement_of_file(path, folder, lost=False, vectors=False)
    ]
    if not lost and not left:
        return None
    wrong = f"{lost[0]} is gone" if lost else f"{left[0]} is still there"
    now = replayed.watch.now or replayed.watch.former
    row = ROWS_WRITTEN if lost and _is_live(replayed, lost[0]) else None
    vectors = now is not None and now.adds().column("deletionVector").null_count < len(now.adds())
    return Verdict(
        Outcome.FAIL,
        f"{name}: {wrong}",
        Hazard.CORRUPTING_WRITE if lost else Hazard.COSMETIC,
        "the files that versions need, and no others",
        wrong,
        row or requirement_of_file((lost or left)[0], folder, lost=bool(lost), vectors=vectors),
        details=tuple([f"gone: {path}" for path in lost] + [f"left: {path}" for path in left]),
    )


_WRITER_WARNINGS: Final = frozenset({"RT-050", "RT-052", "WCON-001"})
"""What the audit warns of in a table of any age; the text asks it of who writes the files."""


def _binds_writer(finding: Finding) -> bool:
    return finding.severity == "warning" and finding.requirement in _WRITER_WARNINGS


def audit_table(replayed: Replay) -> Verdict | None:
    """Check log and files against the clauses that bind writers."""
    rows = load_registry()
    bound = audit(str(replayed.table), revision=replayed.revision)
    found = [x for x in bound if x.severity == "error" or _binds_writer(x)] or [
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
    found.sort(key=lambda each: (rows[each.requirement].level != "MUST", copy_rank(each.place)))
    ids = sorted({each.requirement for each in found})
    return Verdict(
        Outcome.FAIL,
        f"{AUDITED} {', '.join(ids)}",
        Hazard.CORRUPTING_WRITE,
        "a log and files that break no clause",
        f"{found[0].requirement}: {found[0].message}",
        found[0].requirement,
        details=tuple(
            f"{each.requirement} {each.place}: {each.message}" for each in found[:_MAX_SHOWN]
        ),
    )


def check_advice(replayed: Replay, spec: Spec) -> Verdict | None:
    """Look for what clauses advise that a recipe is about: checksums, files without row ids."""
    log, versions = replayed.table / LOG_DIR, range(max(replayed.done, default=-1) + 1)
    if "CRC-036" in spec.requirements:
        for version in versions:
            if not (log / f"{version:020}.crc").exists():
                return _broken("the table", ("CRC-036", f"version {version} has no checksum"))
    if "RT-008" in spec.requirements:
        for commit in read_commits(replayed.table, versions):
            if any(line.body.get("baseRowId") is not None for line in commit.of("add")):
                return _broken("the table", ("RT-008", "tracking is suspended: a file has row ids"))
    return None


def is_advice(verdict: Verdict) -> bool:
    """Return whether a SHOULD is not followed, and no more."""
    rows = load_registry()
    broken = verdict.requirement
    return broken is not None and broken in rows and rows[broken].level == "SHOULD"


def latest_version(table: Path) -> int | None:
    """Return the latest version; ``None`` where there is no table."""
    try:
        return Table(table).latest_version()
    except NotFoundError:
        return None


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


def wrong_rows(place: str, difference: Difference) -> Verdict:
    """Fail a writer for rows that are not those of the oracle."""
    return Verdict(
        Outcome.FAIL,
        f"{place}: {difference.summary}",
        Hazard.CORRUPTING_WRITE,
        "the rows of the oracle",
        difference.summary,
        ROWS_WRITTEN,
        details=difference.details,
    )


def _unreadable(place: str, error: DeltaError) -> Verdict:
    """Fail a writer for a table that cannot be read, by the clause that its files break."""
    rows, broken = load_registry(), error.requirement
    binds = broken in rows and rows[broken].level == "MUST" and rows[broken].role != "reader"
    return Verdict(
        Outcome.FAIL,
        f"{place}: {UNREADABLE}: {error}",
        Hazard.CORRUPTING_WRITE,
        "a table that can be read",
        str(error),
        broken if binds else ROWS_WRITTEN,
    )
