"""The commands ``delta-tck report`` and ``delta-tck diff``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

from conformance.base.faults import KitError
from conformance.base.terminal import one_line, say, warn
from conformance.report.difference import Difference
from conformance.report.forms import FORMS
from conformance.report.output import refuse_inputs, writing
from conformance.report.page import render_page
from conformance.report.results import read_results
from conformance.report.tally import column_of


class DiffStatus(IntEnum):
    """How a comparison ended."""

    NO_REGRESSION = 0
    REGRESSION = 1
    UNUSABLE = 2
    PARTIAL = 3


def run_report_cli(argv: Sequence[str]) -> int:
    """Write one page over some results files; returns 0, or 2 when a file is not usable."""
    parser = argparse.ArgumentParser(
        prog="delta-tck report", description="Draw results files as one page of HTML."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE")
    options = parser.parse_args(argv)
    try:
        refuse_inputs(options.output, "the page", options.results)
        columns = [column_of(read_results(path)) for path in options.results]
        text = render_page(columns)
        content = text.encode("utf-8", "backslashreplace")
        with writing(options.output, "the page") as file:
            file.write(content)
    except KitError as error:
        warn(str(error))
        return DiffStatus.UNUSABLE
    say(str(options.output))
    return 0


def run_diff_cli(argv: Sequence[str]) -> int:
    """Name what changed between two runs; returns a :class:`DiffStatus`."""
    parser = argparse.ArgumentParser(
        prog="delta-tck diff",
        description="Name the cases that two runs judge differently. "
        "Ends with 0 without regressions, 1 with some, 2 when the files cannot be compared, and 3 "
        "when none is seen but a run is partial or lacks cases that the other selected.",
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--format", choices=FORMS, default="text", help="(default: text)")
    options = parser.parse_args(argv)
    try:
        difference = Difference(read_results(options.before), read_results(options.after))
    except KitError as error:
        warn(str(error))
        return DiffStatus.UNUSABLE
    for line in FORMS[options.format](difference):
        say(line if options.format == "json" else one_line(line))
    if difference.regressions:
        return DiffStatus.REGRESSION
    return DiffStatus.PARTIAL if difference.partial else DiffStatus.NO_REGRESSION
