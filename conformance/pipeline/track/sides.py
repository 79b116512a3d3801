"""Two sides of a comparison out of a store: a run, a release, or a release by one revision.

A side is named by the first characters of a run's id, by its label, or as ``NAME==VERSION`` with
``/REVISION`` where a release was judged by several. Where runs of a side disagree on a case, the
case is flaky and stands on no side: what is left differs between the sides alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from conformance.base.faults import SelectionError
from conformance.pipeline.track.asking import Ask
from conformance.report.results import Results

_SHORTEST: Final = 4
_COLUMNS: Final = "r.run_id, r.case_id, r.outcome, r.hazard, r.seen, r.intermittent, r.message"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        results: of all its runs together, less the flaky cases.
        flaky: cases on which its runs disagree.

    """

    results: Results
    flaky: tuple[str, ...]


def side_of(ask: Ask, name: str) -> Side:
    """Find the runs that a name means, and put their results together.

    Raises:
        SelectionError: the name means no run, or runs of more than one implementation or
            revision.

    """
    runs = [
        run for run in ask("SELECT * FROM runs ORDER BY run_id").to_pylist() if _is_named(run, name)
    ]
    if not runs:
        raise SelectionError(f"the store has no run {name!r}; `runs` lists those that it has")
    for what in ("implementation", "revision"):
        values = sorted({run[what] for run in runs})
        if len(values) > 1:
            raise SelectionError(f"{name!r} means runs of several {what}s: {', '.join(values)}")
    records = ask(
        f"SELECT {_COLUMNS} FROM results r JOIN chosen c ON c.run_id = r.run_id",  # noqa: S608  fixed
        chosen=pa.table({"run_id": [run["run_id"] for run in runs]}),
    ).to_pylist()
    return _together(runs, records)


def _is_named(run: Mapping[str, Any], name: str) -> bool:
    if name == run["label"] or (len(name) >= _SHORTEST and run["run_id"].startswith(name)):
        return True
    implementation, equals, release = name.partition("==")
    version, slash, revision = release.partition("/")
    return (
        bool(equals)
        and implementation == run["implementation"]
        and version == run["engine_version"]
        and (not slash or revision == run["revision"])
    )


def _together(runs: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> Side:
    found: dict[str, Mapping[str, Any]] = {}
    flaky: set[str] = set()
    for row in sorted(rows, key=lambda each: (each["case_id"], each["run_id"])):
        record = {**row, "id": row["case_id"]}
        before = found.setdefault(row["case_id"], record)
        if any(before[key] != row[key] for key in ("outcome", "hazard", "seen")):
            flaky.add(row["case_id"])
    headers = [json.loads(run["header"]) for run in runs]
    # The run that selected most says what was asked; only a whole one makes the side whole.
    most = max(range(len(runs)), key=lambda place: runs[place]["selected"])
    partial = [] if any(not run["partial"] for run in runs) else list(runs[most]["partial"])
    for case in flaky:
        del found[case]
    if flaky:
        partial.append(f"{len(flaky)} cases are flaky")
    return Side(Results(headers[most], found, {"partial": partial}), tuple(sorted(flaky)))
