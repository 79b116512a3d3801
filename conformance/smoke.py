"""Try an adapter before it is judged: it comes up, answers, refuses, and survives a refusal.

See the section "Adapter messages" of ``docs/formats.md``. What fails here makes every verdict
worthless, so it is kept apart from any verdict.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from conformance.adapter import (
    FILE_KEYS,
    METADATA_KEYS,
    Adapter,
    Claims,
    Description,
    Ok,
    Refused,
    Request,
)
from conformance.base.commands import NOT_ALONE
from conformance.base.faults import KitError
from conformance.base.options import LIMITS, add_options, value_of
from conformance.base.status import Status
from conformance.base.terminal import say
from conformance.golden.cases import Case, Expected, Spec
from conformance.golden.corpus import Corpus, load_corpus
from conformance.judging.claims import description_faults, lacking
from conformance.judging.tables import TableStore
from conformance.questions import QUESTIONS
from conformance.workers.lifetime import interrupt_on_termination
from conformance.workers.resolve import Limits, resolve

_T = TypeVar("_T")

_TYPES: Final = tuple(
    name for name, each in QUESTIONS.items() if each.request and not each.constants
)
"""Types of questions, the one that says most of an adapter first."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried.

    Attributes:
        title: what has to hold.
        fault: why it does not, ``None`` when it does.
    """

    title: str
    fault: str | None = None


def smoke(adapter: Adapter, corpus: Corpus) -> Iterator[Step]:
    """Try an adapter on the plainest table of a corpus that it claims to read; it stays open.

    Yields:
        A step at a time, so that a hang is seen where it is. Nothing follows a step that makes the
        rest meaningless.
    """
    description = yield from _attempt("it comes up and says who it is", adapter.describe)
    if description is None:
        return
    yield Step("it comes up and says who it is")
    yield Step("its claims are words of the contract", _claims_fault(description))
    if not description.claims.operations:
        return
    if "files" in description.claims.operations:
        given = [key for word, key in FILE_KEYS.items() if word in description.claims.capabilities]
        yield Step(f"its files are compared by {', '.join(['path', *given])}")
    if "snapshot" in description.claims.operations:
        claimed = description.claims.capabilities
        given = [key for word, key in METADATA_KEYS.items() if word in claimed]
        keys = ["schemaString", "partitionColumns", "configuration", *given]
        yield Step(f"its metadata is compared by {', '.join(keys)}")
    found = _plainest(corpus, description.claims)
    if found is None:
        yield Step("it claims no question of this corpus, so it is asked none")
        return
    case, spec = found
    store = TableStore()
    try:
        yield from _asks(adapter, description.claims, spec, store.table(case))
        altered = store.alterations(case)
        yield Step("it leaves the table as it was", ", ".join(altered) or None)
    finally:
        store.close()


def _asks(adapter: Adapter, claims: Claims, spec: Spec, table: Path) -> Iterator[Step]:
    request = QUESTIONS[spec.type].build(table, spec.parameters)
    missing = replace(request, table=str(table.parent / "there-is-no-table-here"))
    for when in ("", " after a refusal"):
        title = f"it answers {spec.type} of a plain table{when}"
        answer = yield from _attempt(title, _running(adapter, request))
        match answer:
            case Ok(payload):
                assert isinstance(spec.expectation, Expected)
                question, given = QUESTIONS[spec.type], claims.capabilities
                found = question.compare(spec.expectation, question.completed(payload, given))
                yield Step(title, None if found is None else found.summary)
            case Refused(_, _, message):
                yield Step(title, f"refused: {message}")
            case None:
                return
            case _:
                yield Step(title, f"answered {type(answer).__name__}, not Ok or Refused")
        answer = yield from _attempt("it answers where no table is", _running(adapter, missing))
        if answer is not None:
            refused = isinstance(answer, Refused)
            yield Step("it refuses a path without a table", None if refused else "it answered")


def _running(adapter: Adapter, request: Request) -> Callable[[], object]:
    return lambda: adapter.run(request)


def _attempt(title: str, action: Callable[[], _T]) -> Generator[Step, None, _T | None]:
    """Try an action; give a step only when it fails."""
    try:
        return action()
    except KitError as error:
        yield Step(title, f"{error}\n{getattr(error, 'details', '')}".rstrip())
    except Exception as error:  # noqa: BLE001  whatever an adapter raises is its fault
        yield Step(title, f"{type(error).__name__}: {error}")
    return None


def _claims_fault(description: Description) -> str | None:
    faults = description_faults(description)
    if not description.claims.operations:
        faults.append("operations: none is claimed, so nothing can be judged")
    return "\n".join(faults) or None


def _plainest(corpus: Corpus, claims: Claims) -> tuple[Case, Spec] | None:
    """Choose a question about the smallest table without features, of a type that is claimed."""
    found = [
        (_TYPES.index(spec.type), sum(1 for _ in case.table.rglob("*")), spec.id, case, spec)
        for case in corpus.cases
        if not case.features and case.root is None and not case.placeholders
        for spec in case.specs
        if spec.type in _TYPES
        and not lacking(spec, claims)
        and not ({"ratified", "filter", "columns", "version", "timestamp"} & {*spec.parameters})
        and isinstance(spec.expectation, Expected)
        and spec.expectation.document.get("rowCount") != 0
    ]
    best = min(found, key=lambda entry: entry[:3], default=None)
    return None if best is None else best[3:]


def run_smoke_cli(arguments: Sequence[str]) -> int:
    """Try an adapter, and say each thing that was tried; returns 0 where all hold.

    Raises:
        KitError: the corpus or the adapter is not available.
    """
    parser = argparse.ArgumentParser(
        prog="delta-tck smoke", description="Try an adapter before it is judged."
    )
    named = parser.add_mutually_exclusive_group(required=True)
    named.add_argument("implementation", nargs="?", metavar="IMPL", help="as for pytest --impl")
    named.add_argument("--impl", help="the same")
    add_options(parser, "--tck-corpus", *LIMITS)
    options = parser.parse_args(arguments)
    interrupt_on_termination()
    folder = value_of(options, "--tck-corpus")
    corpus = load_corpus(Path(folder) if folder else None)
    limits = Limits.of(partial(value_of, options))
    adapter = resolve(options.implementation or options.impl, limits, "process")
    faults = 0
    try:
        for step in smoke(adapter, corpus):
            faults += step.fault is not None
            say(f"{'ok  ' if step.fault is None else 'FAIL'}  {step.title}")
            if step.fault is not None:
                say("      " + step.fault.replace("\n", "\n      "))
    finally:
        adapter.close()
    return Status.ADAPTER if faults else Status.OK


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
