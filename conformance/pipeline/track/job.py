"""``delta-tck pipeline track STORE COMMAND``.

A side of a comparison is named by the first characters of a run's id, by its label, or as
``NAME==VERSION`` with ``/REVISION`` where a release was judged by several. Where runs of a side
disagree on a case, the case is flaky and stands on no side: what is left differs between the sides
alone. What engines and tables say in messages is printed and escaped as untrusted text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import duckdb
import pyarrow as pa

from conformance.base.faults import SelectionError
from conformance.base.status import Status
from conformance.base.terminal import printable, say, shortened
from conformance.base.untrusted import DocumentError
from conformance.pipeline.session import (
    SparkOptions,
    add_spark_options,
    is_submitted,
    spark_options,
    spark_session,
)
from conformance.pipeline.track import questions
from conformance.pipeline.track.store import TABLES, Store
from conformance.report.difference import Difference
from conformance.report.output import writing
from conformance.report.page import STYLE, escaped
from conformance.report.results import Results
from conformance.requirements.clauses import read_protocol
from conformance.requirements.drift import find_drift
from conformance.requirements.registry import REVISIONS, load_registry


class Ask(Protocol):
    """Runs a question over the views; keywords give further views as Arrow tables."""

    def __call__(self, question: str, **more: pa.Table) -> pa.Table:
        """Return the rows of the answer."""
        ...


@contextmanager
def in_process(store: Store) -> Iterator[Ask]:
    """Yield what runs questions over the tables of a store, by DuckDB in this process.

    Raises:
        StoreError: a table cannot be read.
    """
    with duckdb.connect(":memory:") as database:
        for name, rows in store.tables().items():
            database.register(name, rows)

        def ask(question: str, **more: pa.Table) -> pa.Table:
            for name, rows in more.items():
                database.register(name, rows)
            return database.sql(question).to_arrow_table()

        yield ask


@contextmanager
def on_spark(store: Store, options: SparkOptions) -> Iterator[Ask]:
    """Ask Spark, for stores that are larger than this machine.

    Raises:
        SparkMissingError: Spark is not available.
    """
    with spark_session("track", options) as session:
        for name in TABLES:
            frame = session.read.format("delta").load(store.table(name).location)
            frame.createOrReplaceTempView(name)

        def ask(question: str, **more: pa.Table) -> pa.Table:
            for name, rows in more.items():
                session.createDataFrame(rows).createOrReplaceTempView(name)
            return session.sql(question).toArrow()

        yield ask


Answer = Mapping[str, Sequence[Mapping[str, Any]]]
"""Title of each table of an answer, and its rows; all rows of a table have the same columns."""

_WIDEST: Final = 72


def _text(answer: Answer) -> Iterator[str]:
    for title, rows in answer.items():
        yield f"{title}: {len(rows)}"
        if rows:
            cells = [[name.replace("_", " ") for name in rows[0]]]
            cells += [[_short(value) for value in row.values()] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                yield ("  " + "  ".join(padded)).rstrip()


def _short(value: Any) -> str:
    return shortened("-" if value is None else printable(str(value)), _WIDEST)


def _json(answer: Answer) -> Iterator[str]:
    yield json.dumps({title: list(rows) for title, rows in answer.items()}, indent=1)


def _html(answer: Answer) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield "<meta name=viewport content='width=device-width'>"
    yield f"<title>Delta protocol conformance</title><style>{STYLE}</style>"
    yield "<h1>Delta protocol conformance</h1>"
    for title, rows in answer.items():
        yield f"<h2>{escaped(title)}: {len(rows)}</h2>"
        if rows:
            names = (escaped(name.replace("_", " ")) for name in rows[0])
            yield f"<table><tr>{''.join(f'<th>{name}' for name in names)}"
            for row in rows:
                values = ("" if value is None else escaped(str(value)) for value in row.values())
                yield f"<tr>{''.join(f'<td>{value}' for value in values)}"
            yield "</table>"
    yield "</html>"


FORMS: Final[Mapping[str, Callable[[Answer], Iterator[str]]]] = {
    "text": _text,
    "json": _json,
    "html": _html,
}
"""How an answer is given."""

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
    asking = on_spark(store, spark_options(options)) if far else in_process(store)
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

_MIN_PREFIX_CHARACTERS: Final = 4
"""Characters of the beginning of a run id that name the run."""

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
    if name == run["label"] or (
        len(name) >= _MIN_PREFIX_CHARACTERS and run["run_id"].startswith(name)
    ):
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
        before = found.setdefault(row["case_id"], {**row, "id": row["case_id"]})
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
