"""What an audit finds, as text, as JSON and as SARIF 2.1.0.

What a table says in paths and messages is untrusted, and escaped wherever it is shown.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, TextIO
from urllib.parse import quote

from conformance.audit.findings import SEVERITIES, Finding
from conformance.base.home import kit_version
from conformance.base.terminal import emit, one_line
from conformance.requirements.registry import load_registry
from reference_impl.shown import shown_location

Report = tuple[str, Sequence[Finding]]
"""A table, as it was named, and what was found in it. Secrets of its URL are not shown."""

_MAX_SHOWN_PLACES: Final = 10
"""Places of one requirement that the text form shows; the others have more."""

_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_LINE: Final = re.compile(r"(.*):([0-9]{1,9})", re.DOTALL)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Count findings by severity, each as often as it was found."""
    counted: Counter[str] = Counter()
    for finding in findings:
        counted[finding.severity] += finding.count
    return {severity: counted[severity] for severity in SEVERITIES}


def _json(reports: Sequence[Report], out: TextIO) -> None:
    documents = [
        {
            "table": shown_location(table),
            "counts": counts(findings),
            "findings": [asdict(finding) for finding in findings],
        }
        for table, findings in reports
    ]
    # Escapes whatever is not ASCII: a path may have no other spelling.
    json.dump(documents[0] if len(documents) == 1 else documents, out, indent=2)
    out.write("\n")


def _text(reports: Sequence[Report], out: TextIO) -> None:
    for table, findings in reports:
        _table(table, findings, out)


def _table(table: str, findings: Sequence[Finding], out: TextIO) -> None:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.requirement), []).append(finding)
    for (severity, requirement), members in groups.items():
        row = load_registry()[requirement]
        emit(out, f"{severity}: {requirement} ({row.section}): {row.statement}\n")
        left = _MAX_SHOWN_PLACES
        for member in members:
            places = (member.places or (member.place,))[:left]
            left -= len(places)
            for line in _lines(member, places):
                emit(out, f"  {line}\n")
        found = sum(member.count for member in members)
        if found > _MAX_SHOWN_PLACES - left:
            emit(out, f"  … and {found - _MAX_SHOWN_PLACES + left} more\n")
    text = ", ".join(f"{count} {severity}" for severity, count in counts(findings).items())
    emit(out, f"{one_line(shown_location(table))}: {text}\n")


def _lines(finding: Finding, places: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one finding: at its place, or above its places."""
    hint = f" ({finding.hint})" if finding.hint else ""
    text = f"{finding.message}{hint}"
    if len(finding.places) < 2:
        yield from (one_line(f"{place}: {text}") for place in places)
    elif places:
        yield one_line(f"{text}: at {finding.count} places")
        yield from (f"  {one_line(place)}" for place in places)


def _sarif(reports: Sequence[Report], out: TextIO) -> None:
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [_run(table, findings) for table, findings in reports],
    }
    json.dump(log, out, indent=2)
    out.write("\n")


def _run(table: str, findings: Sequence[Finding]) -> dict[str, Any]:
    rules = sorted({finding.requirement for finding in findings})
    rows = [load_registry()[rule] for rule in rules]
    driver = {
        "name": "delta-tck audit",
        "semanticVersion": kit_version(),
        "rules": [
            {
                "id": row.id,
                "shortDescription": {"text": row.section},
                "fullDescription": {"text": row.statement},
            }
            for row in rows
        ],
    }
    return {
        "tool": {"driver": driver},
        "properties": {"table": one_line(shown_location(table))},
        "results": [_result(finding, rules.index(finding.requirement)) for finding in findings],
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    hint = f" ({finding.hint})" if finding.hint else ""
    return {
        "ruleId": finding.requirement,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": one_line(f"{finding.message}{hint}")},
        "locations": [_location(place) for place in finding.places or (finding.place,)],
        "occurrenceCount": finding.count,
    }


def _location(place: str) -> dict[str, Any]:
    """Return a place by its file, with the line where it names one."""
    named = _LINE.fullmatch(place) if place.startswith("_delta_log/") else None
    file = named[1] if named else place
    uri = quote(file.encode(errors="surrogatepass"), safe="/:#")
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if named and int(named[2]) > 0:
        physical["region"] = {"startLine": int(named[2])}
    return {"physicalLocation": physical}


FORMS: Final[Mapping[str, Callable[[Sequence[Report], TextIO], None]]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
}
"""Each form by its name; takes the reports of one or more tables, and where to write."""
