"""The command line of the audit: ``delta-tck audit TABLE``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from typing import Final, TextIO

from conformance.audit.checker import CHECKS
from conformance.audit.engine import audit
from conformance.audit.forms import FORMS
from conformance.audit.read.log import AuditError
from conformance.base.faults import OutputError
from conformance.base.terminal import emit, warn
from conformance.requirements.registry import SELECTIONS
from reference_impl.errors import LimitExceeded
from reference_impl.limits import DEFAULT_LIMITS, Limits
from reference_impl.places import OUTSIDE, SAME_STORE

CLEAN: Final = 0
"""No finding of severity ``error``."""

NONCONFORMING: Final = 1
"""At least one finding of severity ``error``."""

UNUSABLE: Final = 2
"""Nothing was audited: bad arguments, or no table at the location."""

BROKEN: Final = 3
"""The audit itself failed."""

LIMITED: Final = 4
"""No finding of severity ``error``, but a limit kept something from being checked."""

_DIGITS: Final = 18
"""More than any limit has."""

_STATUSES: Final = (
    "0 no errors, 1 errors found, 2 nothing audited, 3 the audit failed, "
    "4 no errors, but a limit kept something from being checked"
)

_SECONDS: Final = 3600
"""How long an audit takes at most by default: a table must not hold up who checks it."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck audit",
        description="Check a Delta table against the protocol.",
        epilog=f"exit status: {_STATUSES}",
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="path or URL of the table root")
    parser.add_argument("--checks", action="store_true", help="list what is checked and stop")
    add_audit_options(parser, "stop after so long; 0 for never")
    parser.add_argument(
        "--memory", type=_mebibytes, metavar="MIB", help="for what is decoded of one data file"
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        type=_limit,
        metavar="NAME=NUMBER",
        help="another limit, by its name in docs/limits.md; may be repeated",
    )
    return parser


def add_audit_options(parser: argparse.ArgumentParser, time_limit: str) -> None:
    """Give a parser the options of every audit; a limit on time means what the words say."""
    parser.add_argument("--format", choices=FORMS, default="text", help="output form")
    parser.add_argument(
        "--no-data", action="store_true", help="check the log alone, without opening data files"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=_SECONDS,
        metavar="SECONDS",
        help=f"{time_limit} (default: {_SECONDS})",
    )
    parser.add_argument(
        "--revision",
        choices=tuple(SELECTIONS),
        help="report what breaks this text of the protocol (default: any of them)",
    )
    parser.add_argument(
        "--outside",
        choices=OUTSIDE,
        default=SAME_STORE,
        help="which files outside of the table root are looked at (default: %(default)s)",
    )


def _mebibytes(text: str) -> int:
    return _count(text) << 20


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < _DIGITS):
        raise argparse.ArgumentTypeError(f"{text[:_DIGITS]!r} is no whole number")
    return int(text)


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if name == "seconds" or not hasattr(DEFAULT_LIMITS, name):
        raise argparse.ArgumentTypeError(f"there is no limit {name!r}")
    return name, _count(number)


def _limits(options: argparse.Namespace) -> Limits:
    given: dict[str, int] = dict(options.limit)
    if options.memory is not None:
        given["memory"] = options.memory
    return Limits(seconds=options.time_limit or None, **given)


def _write_checks(out: TextIO) -> None:
    for check in CHECKS:
        summary = (check.run.__doc__ or "").partition("\n")[0]
        emit(out, f"{summary}\n  {', '.join(check.requirements)}\n")


def run_audit_cli(argv: Sequence[str]) -> int:
    """Audit the table that the arguments name and print what is found.

    Returns:
        :data:`CLEAN`, :data:`NONCONFORMING`, :data:`UNUSABLE`, :data:`BROKEN` or
        :data:`LIMITED`.
    """
    try:
        options = _parser().parse_args(argv)
    except SystemExit as leaving:
        return UNUSABLE if leaving.code else CLEAN
    if options.checks:
        _write_checks(sys.stdout)
        return CLEAN
    if options.table is None:
        warn("delta-tck audit: TABLE is missing; see --help")
        return UNUSABLE
    try:
        return _audit(options)
    except AuditError as error:
        status, message = UNUSABLE, str(error)
    except OutputError as error:
        status, message = BROKEN, str(error)
    except LimitExceeded as error:
        status, message = LIMITED, str(error)
    except Exception:  # noqa: BLE001  a status of its own: a fault of the audit is no finding
        status, message = BROKEN, traceback.format_exc()
    warn(f"delta-tck audit: {message}")
    return status


def _audit(options: argparse.Namespace) -> int:
    findings = audit(
        options.table,
        data=not options.no_data,
        limits=_limits(options),
        outside=options.outside,
        revision=options.revision,
    )
    FORMS[options.format]([(options.table, findings)], sys.stdout)
    if any(finding.severity == "error" for finding in findings):
        return NONCONFORMING
    return LIMITED if any(finding.limit for finding in findings) else CLEAN


if __name__ == "__main__":
    raise SystemExit(run_audit_cli(sys.argv[1:]))
