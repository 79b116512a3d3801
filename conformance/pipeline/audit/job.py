"""``delta-tck pipeline audit TABLE…``."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from conformance.audit import AuditError, audit
from conformance.audit.cli import CLEAN, LIMITED, NONCONFORMING, UNUSABLE, add_audit_options
from conformance.audit.findings import Finding
from conformance.audit.forms import FORMS
from conformance.audit.read.log import list_log
from conformance.base.faults import SelectionError
from conformance.base.limits import cores
from conformance.base.terminal import warn
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import on_spark
from conformance.pipeline.audit.places import tables_of
from conformance.pipeline.audit.split import Size, size_of
from conformance.pipeline.audit.store import AuditStore, TableAudit
from conformance.pipeline.session import SparkOptions, add_spark_options, spark_options
from conformance.pipeline.spread import NO_MASTER, Run, Spread, in_this_process, spread_over
from conformance.report.output import refuse_inputs, writing
from reference_impl.errors import DeltaError
from reference_impl.limits import Limits

_SIZE = "conformance.pipeline.audit.job:size_unit"
_AUDIT = "conformance.pipeline.audit.job:audit_unit"


def sizes_of(run: Run, asked: Options, tables: Sequence[str]) -> list[Size]:
    """Return the sizes of the logs of tables; nothing where there is none."""
    return [Size(**answer) for answer in run(_SIZE, _units(asked, tables))]


def outcomes_of(run: Run, asked: Options, tables: Sequence[str]) -> list[TableAudit]:
    """Audit tables, each by one process."""
    return [
        TableAudit(
            table,
            [Finding(**{**each, "places": tuple(each["places"])}) for each in answer["findings"]],
            answer["fault"],
        )
        for table, answer in zip(tables, run(_AUDIT, _units(asked, tables)), strict=True)
    ]


def _units(asked: Options, tables: Sequence[str]) -> list[dict[str, Any]]:
    options = asdict(asked)
    return [{"table": table, "options": options} for table in tables]


def _options(unit: Mapping[str, Any]) -> Options:
    given = unit["options"]
    return Options(**{**given, "limits": Limits(**given["limits"])})


def size_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the :class:`~conformance.pipeline.audit.split.Size` of a table's log."""
    try:
        storage = _options(unit).storage(unit["table"])
        return asdict(size_of(storage, list_log(storage)))
    except (AuditError, DeltaError):
        return asdict(Size())


def audit_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Audit the unit's table; returns its ``findings``, or the ``fault`` that keeps from it."""
    asked = _options(unit)
    try:
        found = audit(
            unit["table"],
            data=asked.data,
            limits=asked.limits,
            outside=asked.outside,
            revision=asked.revision,
        )
    except (AuditError, DeltaError) as error:
        return {"findings": [], "fault": str(error)}
    return {"findings": [asdict(each) for each in found], "fault": ""}


_MIN_LARGE_ACTIONS: Final = 1_000_000
"""File actions from which on a table is audited in buckets; whole, they take a gigabyte."""

_TOGETHER: Final = 16
"""Tables for each slot that are one part of the work: what is lost when the driver dies."""

_STATUSES: Final = {
    "unusable": UNUSABLE, "nonconforming": NONCONFORMING, "limited": LIMITED, "clean": CLEAN,
}  # fmt: skip


def run_audit_job(arguments: Sequence[str]) -> int:
    """Audit tables, and return the gravest of their exit statuses, those of ``delta-tck audit``.

    Raises:
        KitError: the tables, Spark or the store is not available.
    """
    options = _parser().parse_args(list(arguments))
    if options.output is not None:
        refuse_inputs(options.output, "the report", options.tables_from)
    tables = tables_of(options.tables, options.tables_from, options.below)
    if not tables:
        raise SelectionError("no table is named; see --help")
    asked = Options(
        data=not options.no_data,
        limits=Limits(seconds=options.time_limit or None),
        outside=options.outside,
        revision=options.revision,
    )
    run = options.run or _name(tables, options)
    kept = AuditStore(options.store, run) if options.store else None
    parts = kept.planned(tables) if kept else []
    with _spread(options, tables, dry=options.dry_run) as spread:
        if not parts:
            sizes = sizes_of(spread.run, asked, tables)
            parts = _parts(list(zip(tables, sizes, strict=True)), options, spread.slots)
        _say_plan(parts, options, spread.slots)
        if options.dry_run:
            return CLEAN
        if kept:
            kept.plan(parts)
        outcomes = _audit(parts, kept, spread, asked, options)
    _report(sorted(kept.outcomes(), key=lambda each: each.table) if kept else outcomes, options)
    found = [_STATUSES[each.status] for each in (kept.outcomes() if kept else outcomes)]
    return next(s for s in (UNUSABLE, NONCONFORMING, LIMITED, CLEAN) if s in found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck pipeline audit",
        description="Audit one table of any size, or a fleet.",
        epilog="exit status: the gravest of the tables', see delta-tck audit --help",
    )
    parser.add_argument("tables", metavar="TABLE", nargs="*", help="a path, a URL or a pattern")
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument(
        "--tables-from", metavar="FILE", type=Path, help="one table a line", **several
    )
    parser.add_argument("--below", metavar="FOLDER", help="every table below it", **several)
    parser.add_argument("--store", help="folder or URL of Delta tables that keep the findings")
    parser.add_argument("--run", help="name of the run in the store (default: of its arguments)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="in place of the terminal")
    add_audit_options(parser, "for one task; 0 for no limit")
    parser.add_argument(
        "--large", type=int, default=_MIN_LARGE_ACTIONS, metavar="ACTIONS",
        help="of files, by the size of the log, from which on a table is split into buckets "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--buckets", type=int, help="how many (default: by the size of the log)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    add_spark_options(parser)
    return parser


def _name(tables: Sequence[str], options: argparse.Namespace) -> str:
    """Name a run by what it was asked for, so that the same command goes on with it."""
    asked = [*tables, not options.no_data, options.revision, options.outside]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


@contextmanager
def _spread(options: argparse.Namespace, tables: Sequence[str], *, dry: bool) -> Iterator[Spread]:
    """Hold who audits: for a few tables this process, without Spark, for a plan as well."""
    if (dry or options.master == NO_MASTER) and len(tables) < _TOGETHER:
        yield Spread(cores(), in_this_process)
        return
    with spread_over("audit", SparkOptions(NO_MASTER) if dry else spark_options(options)) as spread:
        yield spread


def _audit_large(table: str, spread: Spread, asked: Options, buckets: int | None) -> TableAudit:
    """Audit one large table on all executors, or in this process without Spark."""
    if spread.session is None:
        return outcomes_of(in_this_process, asked, [table])[0]
    try:
        return TableAudit(table, on_spark(spread.session, table, asked, buckets))
    except (AuditError, DeltaError) as error:
        return TableAudit(table, fault=str(error))


def _parts(
    sized: Sequence[tuple[str, Size]], options: argparse.Namespace, slots: int
) -> list[list[tuple[str, Size]]]:
    """Return the parts of the work: each large table alone, small ones in batches."""
    large = [each for each in sized if each[1].actions >= options.large]
    small = [each for each in sized if each[1].actions < options.large]
    step = _TOGETHER * slots
    return [
        *([each] for each in large),
        *(small[start : start + step] for start in range(0, len(small), step)),
    ]


_SPEED: Final = 20_000
"""File actions that one core gets through in a second, about."""


def _say_plan(
    parts: Sequence[Sequence[tuple[str, Size]]], options: argparse.Namespace, slots: int
) -> None:
    sized = [each for part in parts for each in part]
    total = sum(size.bytes for _, size in sized)
    large = sum(size.actions >= options.large for _, size in sized)
    seconds = sum(size.actions for _, size in sized) / _SPEED / slots
    more = "" if options.no_data else ", and the time that its data files take to be read"
    warn(
        f"{len(sized)} tables with {total / 2**20:.1f} MiB of log, {large} of them in buckets: "
        f"{len(parts)} parts on {slots} slots, about {seconds:.0f} s{more}"
    )


def _audit(
    parts: Sequence[Sequence[tuple[str, Size]]],
    kept: AuditStore | None,
    spread: Spread,
    asked: Options,
    options: argparse.Namespace,
) -> list[TableAudit]:
    done = kept.done() if kept else 0
    if done:
        warn(f"{done} parts are done already")
    found: list[TableAudit] = []
    for number, part in enumerate(parts):
        if number < done:
            continue
        start = time.monotonic()
        if len(part) == 1 and part[0][1].actions >= options.large:
            outcomes = [_audit_large(part[0][0], spread, asked, options.buckets)]
        else:
            outcomes = outcomes_of(spread.run, asked, [table for table, _ in part])
        if kept:
            kept.add(number, outcomes)
        else:
            found += outcomes
        errors = sum(each.status == "nonconforming" for each in outcomes)
        took = time.monotonic() - start
        warn(f"[{number + 1}/{len(parts)}] {len(part)} tables, {errors} with errors, {took:.0f} s")
    return found


def _report(outcomes: Sequence[TableAudit], options: argparse.Namespace) -> None:
    for each in outcomes:
        if each.fault:
            warn(f"delta-tck pipeline audit: {each.fault}")
    reports = [(each.table, each.findings) for each in outcomes if not each.fault]
    if options.output is None:
        FORMS[options.format](reports, sys.stdout)
        return
    with (
        writing(options.output, "the report") as file,
        TextIOWrapper(file, encoding="utf-8", errors="backslashreplace") as out,
    ):
        FORMS[options.format](reports, out)
