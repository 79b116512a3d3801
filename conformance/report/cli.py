"""The commands ``delta-tck report`` and ``delta-tck diff``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.faults import KitError
from conformance.report.difference import changes_between
from conformance.report.page import render_page
from conformance.report.tally import column_of
from conformance.results import read_results
from conformance.untrusted import printable

__all__ = ["run_diff_cli", "run_report_cli"]

_UNUSABLE = 2


def run_report_cli(argv: Sequence[str]) -> int:
    """Write one page over some results files; gives 0, or 2 when a file is not usable."""
    parser = argparse.ArgumentParser(
        prog="delta-tck report", description="Draw results files as one page of HTML."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE")
    options = parser.parse_args(argv)
    try:
        columns = [column_of(read_results(path)) for path in options.results]
    except KitError as error:
        sys.stderr.write(printable(f"{error}\n"))
        return _UNUSABLE
    options.output.write_text(render_page(columns), encoding="utf-8")
    sys.stdout.write(f"{options.output}\n")
    return 0


def run_diff_cli(argv: Sequence[str]) -> int:
    """Name what changed between two runs.

    Gives 0 without regressions, 1 with some, 2 when the files cannot be compared.
    """
    parser = argparse.ArgumentParser(
        prog="delta-tck diff", description="Name the cases that two runs judge differently."
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(argv)
    try:
        before, after = read_results(options.before), read_results(options.after)
        changes = list(changes_between(before, after))
    except KitError as error:
        sys.stderr.write(printable(f"{error}\n"))
        return _UNUSABLE
    if before.header.get("corpus_digest") != after.header.get("corpus_digest"):
        sys.stdout.write("the runs used different corpora; added and gone cases are the kit's\n")
    for change in changes:
        sys.stdout.write(printable(f"{change.kind}: {change.id}\n"))
        words = f"  before: {change.before or '-'}\n  after:  {change.after or '-'}\n"
        sys.stdout.write(printable(words))
    regressions = sum(change.kind == "regression" for change in changes)
    sys.stdout.write(f"{len(changes)} changes, {regressions} regressions\n")
    return 1 if regressions else 0
