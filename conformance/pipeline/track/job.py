"""``delta-tck pipeline track STORE COMMAND``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa

from conformance.base.faults import SelectionError
from conformance.base.status import Status
from conformance.base.terminal import say
from conformance.base.untrusted import DocumentError
from conformance.pipeline.session import add_spark_options, is_submitted, spark_options
from conformance.pipeline.track import questions
from conformance.pipeline.track.asking import Ask, here, on_spark
from conformance.pipeline.track.forms import FORMS, Answer
from conformance.pipeline.track.sides import side_of
from conformance.pipeline.track.store import Store
from conformance.report.difference import Difference
from conformance.report.output import writing
from conformance.requirements.clauses import read_protocol
from conformance.requirements.drift import find_drift
from conformance.requirements.registry import REVISIONS, load_registry

_Answering: TypeAlias = Callable[[Ask, argparse.Namespace], tuple[Answer, int]]


def run_track_job(arguments: Sequence[str]) -> int:
    """Run the job; returns 1 where regressions are named, and 0 otherwise.

    Raises:
        KitError: a store, a results file or a run that is named is not available.

    """
    options = _parser().parse_args(list(arguments))
    store = Store(options.store)
    if options.command == "ingest":
        return _ingest(store, options)
    far = options.master is not None or is_submitted()
    asking = on_spark(store, spark_options(options)) if far else here(store)
    with asking as ask:
        answer, status = _ANSWERS[options.command][1](ask, options)
    lines = FORMS[options.format](answer)
    if options.output is None:
        for line in lines:
            say(line)
        return status
    text = "".join(f"{line}\n" for line in lines)
    with writing(options.output, "the answer") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck pipeline track", description="Keep results of many runs, and ask them."
    )
    parser.add_argument("store", metavar="STORE", help="folder or URL of the store's tables")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    ingest = commands.add_parser("ingest", help="take results files in; again changes nothing")
    ingest.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    ingest.add_argument("--label", help="distinguishes runs that are otherwise the same, as builds")
    ingest.add_argument("--dry-run", action="store_true", help="say what is new, and write nothing")
    for name, (words, _) in _ANSWERS.items():
        command = commands.add_parser(name, help=words, description=words)
        command.add_argument("--format", choices=FORMS, default="text", help="(default: text)")
        command.add_argument("--output", type=Path, metavar="FILE", help="in place of the terminal")
        add_spark_options(command)
        if name == "regressions":
            side = "a run's id or label, or NAME==VERSION[/REVISION]"
            command.add_argument("before", help=side)
            command.add_argument("after", help=side)
        if name == "touched":
            command.add_argument("text", type=Path, help="the new text of the protocol")
            command.add_argument("--revision", choices=REVISIONS, default="2025")
    return parser


def _ingest(store: Store, options: argparse.Namespace) -> int:
    for place, path in enumerate(options.results, 1):
        if options.dry_run:
            run, new = store.known(path, options.label)
        else:
            run, new = store.ingest(path, options.label)
        words = "new" if new else "known"
        say(f"[{place}/{len(options.results)}] {run} {words}: {path}")
    return Status.OK


def _listed(title: str, question: str) -> _Answering:
    """Answer with the rows of one question under a title."""
    return lambda ask, _options: ({title: ask(question).to_pylist()}, Status.OK)


def _regressions(ask: Ask, options: argparse.Namespace) -> tuple[Answer, int]:
    before, after = side_of(ask, options.before), side_of(ask, options.after)
    difference = Difference(before.results, after.results, across=True)
    changes: dict[str, list[Mapping[str, str]]] = {}
    for change in difference.changes:
        row = asdict(change)
        changes.setdefault(str(row.pop("kind")), []).append(row)
    flaky = sorted({*before.flaky, *after.flaky})
    answer: Answer = {
        "Regressions": [{"regression": each} for each in difference.regressions],
        **{f"Cases: {kind}": changes[kind] for kind in sorted(changes) if kind != "regression"},
        "Flaky, and not compared": [{"case_id": case} for case in flaky],
        "Remarks": [{"remark": each} for each in difference.remarks],
    }
    return answer, Status.NONCONFORMANT if difference.regressions else Status.OK


def _touched(ask: Ask, options: argparse.Namespace) -> tuple[Answer, int]:
    try:
        text = read_protocol(options.text)
    except DocumentError as error:
        raise SelectionError(str(error)) from error
    drift = find_drift(text, load_registry(), revision=options.revision)
    if not drift.kept:
        raise SelectionError(f"{options.text} holds no sentence of {options.revision}")
    gone = [each.requirement for each in drift.drifted]
    named = pa.table({"requirement": pa.array([row.id for row in gone], pa.string())})
    rows = [{"requirement": row.id, "section": row.section, "said": row.statement} for row in gone]
    cases = ask(questions.TOUCHED, named=named).to_pylist()
    return {"Requirements whose sentence is gone": rows, "Their cases": cases}, Status.OK


_ANSWERS: Final[Mapping[str, tuple[str, _Answering]]] = {
    "runs": ("list the runs", _listed("Runs", questions.RUNS)),
    "regressions": ("what is worse in one run, release or revision than in another", _regressions),
    "releases": (
        "last good and first bad release of each case that was ever bad",
        _listed("Cases that were ever bad", questions.RELEASES),
    ),
    "flaky": (
        "cases that runs of one release judge differently",
        _listed("Flaky cases", questions.FLAKY),
    ),
    "touched": (
        "cases that a new text of the protocol touches, and how releases do at them",
        _touched,
    ),
}
"""What the store can be asked: its help, and what answers it."""
