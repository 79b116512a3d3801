"""The command line of the audit: ``delta-tck audit TABLE``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, TextIO

from conformance.audit.engine import CHECKS, audit
from conformance.audit.findings import SEVERITIES, Finding
from conformance.audit.log import AuditError
from conformance.registry import load_registry
from reference_impl.places import OUTSIDE, SAME_STORE

__all__ = ["CLEAN", "NONCONFORMING", "UNUSABLE", "run_audit_cli"]

CLEAN: Final = 0
"""No finding of severity ``error``."""

NONCONFORMING: Final = 1
"""At least one finding of severity ``error``."""

UNUSABLE: Final = 2
"""Nothing was audited: bad arguments, or no table at the location."""

_SHOWN: Final = 10
"""Findings of one requirement that the text form shows; JSON has them all."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck audit",
        description="Check a Delta table against the protocol.",
        epilog="exit status: 0 no errors, 1 errors found, 2 nothing audited",
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="path or URL of the table root")
    parser.add_argument("--checks", action="store_true", help="list what is checked and stop")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output form")
    parser.add_argument(
        "--no-data", action="store_true", help="check the log alone, without opening data files"
    )
    parser.add_argument(
        "--outside",
        choices=OUTSIDE,
        default=SAME_STORE,
        help="which files outside of the table root are looked at (default: %(default)s)",
    )
    return parser


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counted = Counter(finding.severity for finding in findings)
    return {severity: counted[severity] for severity in SEVERITIES}


def _write_json(table: str, findings: Sequence[Finding], out: TextIO) -> None:
    document = {
        "table": table,
        "counts": _counts(findings),
        "findings": [asdict(finding) for finding in findings],
    }
    json.dump(document, out, indent=2, ensure_ascii=False)
    out.write("\n")


def _write_text(table: str, findings: Sequence[Finding], out: TextIO) -> None:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.requirement), []).append(finding)
    registry = load_registry()
    for (severity, requirement), members in groups.items():
        row = registry[requirement]
        out.write(f"{severity}: {requirement} ({row.section}): {row.statement}\n")
        for member in members[:_SHOWN]:
            hint = f" ({member.hint})" if member.hint else ""
            out.write(f"  {member.place}: {member.message}{hint}\n")
        if len(members) > _SHOWN:
            out.write(f"  … and {len(members) - _SHOWN} more\n")
    told = ", ".join(f"{count} {severity}" for severity, count in _counts(findings).items())
    out.write(f"{table}: {told}\n")


def _write_checks(out: TextIO) -> None:
    for check in CHECKS:
        summary = (check.run.__doc__ or "").partition("\n")[0]
        out.write(f"{summary}\n  {', '.join(check.requirements)}\n")


def run_audit_cli(argv: Sequence[str]) -> int:
    """Audit the table that the arguments name and print what is found.

    Args:
        argv: arguments after ``delta-tck audit``.

    Returns:
        :data:`CLEAN`, :data:`NONCONFORMING` or :data:`UNUSABLE`.

    """
    try:
        options = _parser().parse_args(argv)
    except SystemExit as leaving:
        return UNUSABLE if leaving.code else CLEAN
    if options.checks:
        _write_checks(sys.stdout)
        return CLEAN
    if options.table is None:
        sys.stderr.write("delta-tck audit: TABLE is missing; see --help\n")
        return UNUSABLE
    try:
        findings = audit(options.table, data=not options.no_data, outside=options.outside)
    except AuditError as error:
        sys.stderr.write(f"delta-tck audit: {error}\n")
        return UNUSABLE
    write = _write_json if options.format == "json" else _write_text
    write(options.table, findings, sys.stdout)
    failed = any(finding.severity == "error" for finding in findings)
    return NONCONFORMING if failed else CLEAN
