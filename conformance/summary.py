"""The summary that a person acts on: failures by hazard, then by requirement.

Serves every section: each failure is printed with the clause in our words, what was expected,
what was seen, the case id and the command that repeats it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.outcomes import ALTERED, HAZARDS, Hazard, Outcome
from conformance.registry import Registry
from conformance.terminal import printable

__all__ = ["counts_line", "reproduce_command", "summary_lines"]

Record = Mapping[str, Any]
_SHOWN: Final = 10
"""Failures printed in full per requirement; the results file has the rest."""

_WIDTH: Final = 200


def counts_line(records: Iterable[Record]) -> str:
    """Give one line of counts by outcome, known failures apart."""
    counts = Counter(str(record["outcome"]) for record in records if not _known(record))
    known = sum(1 for record in records if _known(record))
    parts = [f"{counts[o]} {o}" for o in Outcome if counts[o]]
    return (
        ", ".join([*parts, *([f"{known} known failure{'s' * (known > 1)}"] if known else [])])
        or "nothing"
    )


def _known(record: Record) -> bool:
    return bool(record["standing"] == "known")


def _requirement(record: Record) -> str:
    return str(record["requirement"] or record["requirements"][0])


def _finding(record: Record) -> str:
    """Name what failed: a requirement, or what an adapter does to any table."""
    return ALTERED if record["message"].startswith(ALTERED) else _requirement(record)


def summary_lines(
    records: Sequence[Record], registry: Registry, reproduce: Callable[[str], str]
) -> Iterator[str]:
    """Write the summary of a run.

    Args:
        records: every judged item.
        registry: gives each requirement's section and statement.
        reproduce: gives the command that repeats one item.

    Yields:
        Lines without ends, in which nothing steers a terminal.

    """
    yield from map(printable, _lines(records, registry, reproduce))


def _lines(
    records: Sequence[Record], registry: Registry, reproduce: Callable[[str], str]
) -> Iterator[str]:
    news = [record for record in records if not _known(record)]
    for hazard in HAZARDS:
        failures = [record for record in news if record["hazard"] == hazard]
        if failures:
            yield from _hazard_lines(hazard, failures, registry, reproduce)
    errors = [record for record in news if record["outcome"] == Outcome.ERROR]
    if errors:
        yield f"NO VERDICT ({len(errors)}): the adapter or the kit broke"
        for record in errors[:_SHOWN]:
            yield f"  {record['id']}: {_line(record['message'])}"
            yield from (f"      {line}" for line in record["details"][-5:])
            yield f"      repeat: {reproduce(record['id'])}"
        yield from _rest(errors)
    yield from _open_lines(records)
    blocked = Counter(
        record["message"].removeprefix("blocked by ").partition(":")[0]
        for record in records
        if record["outcome"] == Outcome.BLOCKED
    )
    for root, count in blocked.most_common(_SHOWN):
        yield f"BLOCKED: {count} specs by {root}"


def _hazard_lines(
    hazard: Hazard,
    failures: Sequence[Record],
    registry: Registry,
    reproduce: Callable[[str], str],
) -> Iterator[str]:
    yield f"{hazard.upper()} ({len(failures)})"
    groups: dict[str, list[Record]] = {}
    for record in sorted(failures, key=lambda r: (_finding(r), r["id"])):
        groups.setdefault(_finding(record), []).append(record)
    for finding, group in groups.items():
        yield f"  {finding}" if finding == ALTERED else f"  {finding}  {_clause(finding, registry)}"
        for record in group[:_SHOWN]:
            yield f"    {record['id']}: {record['title']}"
            yield f"      expected: {_line(record['expected'])}"
            yield f"      actual:   {_line(record['actual'])}"
            yield from (f"        {_line(line)}" for line in record["details"][:4])
            yield f"      repeat:   {reproduce(record['id'])}"
        yield from _rest(group)


def _rest(group: Sequence[Record]) -> Iterator[str]:
    if len(group) > _SHOWN:
        yield f"    … and {len(group) - _SHOWN} more, see the results file"


def _clause(requirement: str, registry: Registry) -> str:
    if requirement not in registry:
        return "(not in the registry)"
    row = registry[requirement]
    return f"{row.section} ({row.level}): {row.statement}"


def _open_lines(records: Sequence[Record]) -> Iterator[str]:
    seen = [record for record in records if record["outcome"] == Outcome.OPEN]
    if seen:
        yield f"CONTESTED ({len(seen)}): the text is open; what was seen"
        yield from (f"  {record['id']}: {record['seen']}" for record in seen)


def _line(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def reproduce_command(impl: str, options: Sequence[str], identity: str) -> str:
    """Give the command that repeats one item."""
    return shlex.join(["pytest", f"--impl={impl}", *options, f"--case={identity}"])
