"""Make one results file out of those of the parts of a run: ``delta-tck merge``.

The merged file has the header, the records and the status that one run of the whole selection
gives; its records come in the order of their ids. Where a part is missing, or is itself partial,
the merged run is partial. A part that is missing is no success, nor is a whole of which less was
judged than is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from conformance.base.commands import NOT_ALONE
from conformance.base.options import add_options, value_of
from conformance.base.status import Status
from conformance.base.terminal import printable, say
from conformance.report.baseline import Baseline, load_baseline
from conformance.report.output import refuse_inputs
from conformance.report.results import Results, ResultsError, read_results, write_results
from conformance.report.share import Record, share_of
from conformance.run.run import status_of_run
from conformance.run.selection import NARROWING

_MAX_NAMED: Final = 100
"""Parts that are missing and named."""


def merge(parts: Mapping[str, Results]) -> Results:
    """Return the results of a run out of those of its parts.

    Args:
        parts: name of each file, and what it holds.

    Returns:
        the merged results, whose footer has ``partial`` and ``status`` alone.

    Raises:
        ResultsError: they are of no parts, or of parts of different runs, or lack cases and say
            that they are complete.
    """
    (first, one), *_ = parts.items()
    header, shard = _whole(first, one)
    numbers: dict[int, str] = {}
    records: dict[str, Record] = {}
    partial: list[str] = []
    statuses = []
    for name, part in parts.items():
        other, its = _whole(name, part)
        for key in sorted(header.keys() | other.keys()):
            if header.get(key) != other.get(key):
                raise ResultsError(f"{first} and {name} are parts of different runs: {key} differs")
        if its["of"] != shard["of"]:
            raise ResultsError(f"{first} is one of {shard['of']} parts, and {name} of {its['of']}")
        if its["number"] in numbers:
            twice = numbers[its["number"]]
            raise ResultsError(f"{twice} and {name} are both part {its['number']}")
        numbers[its["number"]] = name
        _add(records, name, part)
        partial += [f"part {its['number']}: {reason}" for reason in part.partial]
        statuses.append(Status(part.footer["status"]))
    absent = (str(each) for each in range(1, shard["of"] + 1) if each not in numbers)
    missing = ", ".join(islice(absent, _MAX_NAMED))
    if missing:
        more = f" and {left} more" if (left := shard["of"] - len(numbers) - _MAX_NAMED) > 0 else ""
        partial.append(f"of {shard['of']} parts there is no part {missing}{more}")
    lacking = _lacking(header["selected"], len(records))
    if lacking:
        if not partial:
            selected = f"{header['selected']} cases were selected"
            raise ResultsError(
                f"{selected}, and parts that say they are complete have {len(records)}"
            )
        partial.append(f"{lacking} selected case{'s have' if lacking > 1 else ' has'} no record")
    ordered = {name: records[name] for name in sorted(records)}
    status = _status([*ordered.values()], statuses, header["selection"].get("strict"))
    if status is Status.OK and missing:
        status = Status.INTERRUPTED
    return Results(header, ordered, {"partial": partial, "status": status})


def shortfalls(
    merged: Results, least: float | None = None, baseline: Baseline | None = None
) -> list[str]:
    """Return where less was judged than is asked for, which no part knows by itself.

    Args:
        merged: the results of the whole run.
        least: percent of the selected cases that have to be judged, ``None`` for any share.
        baseline: what a run that leaves out no case has to judge at least.
    """
    header, records = merged.header, merged.records.values()
    share = share_of(records, header["selected"])
    found = []
    if least is not None and share.percent < least:
        found.append(f"{share}, and --min-judged asks for {least:g} %")
    narrowed = any(header["selection"].get(name) for name in NARROWING)
    if baseline is not None and not (merged.partial or narrowed):
        found += baseline.shortfalls(records, header["selected"], header["revision"])
    return found


def _whole(name: str, part: Results) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the header of the whole run, and which part of it there is."""
    header = {key: value for key, value in part.header.items() if key not in ("line", "format")}
    shard = header.pop("shard", None)
    if shard is None:
        raise ResultsError(f"{name} is of a whole run, and no part of one")
    return {**header, "selected": shard["selected"]}, shard


def _add(records: dict[str, Record], name: str, part: Results) -> None:
    """Add the records of a part; a verdict takes the place of no other."""
    if twice := records.keys() & part.records.keys():
        first = printable(min(twice))
        raise ResultsError(f"{name} has {first}, which another part has as well")
    records |= part.records


def _lacking(selected: int, count: int) -> int:
    if count > selected:
        raise ResultsError(f"{selected} cases were selected, and the parts have {count}")
    return selected - count


def _status(records: Sequence[Record], parts: Sequence[Status], strict: str | None) -> Status:
    """Return the status of the whole; what a part alone knows, as of its baseline, it reported."""
    status = status_of_run(records, (), 0, (), strict)
    if status is not Status.OK:
        return status
    # A part may be empty, or claim nothing of what it was asked, and the whole does not.
    own = (Status.OK, Status.EMPTY_SELECTION, Status.NOTHING_JUDGED)
    return next((each for each in parts if each not in own), status)


def run_merge_cli(arguments: Sequence[str]) -> int:
    """Merge results files of parts; returns the status of the whole run.

    Raises:
        ResultsError: they are no results files of the parts of one run.
        OutputError: the file cannot be written.
    """
    parser = argparse.ArgumentParser(
        prog="delta-tck merge",
        description="Make one results file out of those of --tck-shard=K/N. "
        "Ends with the status of the whole run.",
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    add_options(parser, "--tck-min-judged")
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="hold the whole to what this baseline asks to be judged, which no part is held to",
    )
    options = parser.parse_args(list(arguments))
    baseline = load_baseline(options.baseline) if options.baseline else None
    read = [*options.results, *([options.baseline] if options.baseline else [])]
    refuse_inputs(options.output, "results", read)
    parts = {str(path): read_results(path) for path in options.results}
    merged = merge(parts)
    below = shortfalls(merged, value_of(options, "--tck-min-judged"), baseline)
    if below and merged.footer["status"] == Status.OK:
        merged = replace(merged, footer={**merged.footer, "status": Status.TOO_FEW_JUDGED})
    write_results(merged, options.output)
    share = share_of(merged.records.values(), merged.header["selected"])
    say(f"{options.output}: {len(merged.records)} of {merged.header['selected']} cases; {share}")
    for line in below:
        say(f"TOO FEW: {line}")
    for reason in merged.partial:
        say(f"PARTIAL: {reason}")
    return Status(merged.footer["status"])


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
