"""Try an adapter before it is judged: it comes up, answers, refuses, and survives a refusal.

Serves the section "Adapter messages" of ``docs/formats.md``. What fails here makes every verdict
worthless, so it is told apart from any verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from conformance.adapter import (
    READ_OPERATIONS,
    WRITE_OPERATIONS,
    Adapter,
    Description,
    Ok,
    Refused,
    Scan,
)
from conformance.cases import Case, Expected
from conformance.compare import compare_rows
from conformance.corpus import Corpus
from conformance.faults import KitError
from conformance.tables import TableStore

__all__ = ["Step", "smoke"]

_T = TypeVar("_T")


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
    """Try an adapter on the plainest table of a corpus.

    Args:
        adapter: who is tried; not closed.
        corpus: where the plainest table is.

    Yields:
        A step at a time, so that a hang is seen where it is. Nothing follows a step that makes the
        rest meaningless.

    """
    description = yield from _attempt("it comes up and says who it is", adapter.describe)
    if description is None:
        return
    yield Step("it comes up and says who it is")
    yield Step("its claims are words of the contract", _claims_fault(description))
    if "scan" not in description.claims.operations:
        yield Step("it claims scan", "an implementation that reads no rows cannot be judged")
        return
    case, expected = _plainest(corpus)
    store = TableStore()
    try:
        table = store.table(case)
        yield from _scans(adapter, table, expected)
        altered = store.alterations(case)
        yield Step("it leaves the table as it was", ", ".join(altered) or None)
    finally:
        store.close()


def _scans(adapter: Adapter, table: Path, expected: Expected) -> Iterator[Step]:
    missing = Scan(str(table.parent / "there-is-no-table-here"))
    for title in ("it reads a plain table", "it reads after a refusal"):
        answer = yield from _attempt("it answers a scan", lambda: adapter.run(Scan(str(table))))
        match answer:
            case Ok(pa.Table() as rows):
                found = compare_rows(expected.rows(), rows)
                yield Step(title, None if found is None else found.summary)
            case Refused(_, _, message):
                yield Step(title, f"refused: {message}")
            case None:
                return
            case _:
                yield Step(title, f"answered {type(answer).__name__}, not rows")
        answer = yield from _attempt("it answers for no table", lambda: adapter.run(missing))
        if answer is not None:
            refused = isinstance(answer, Refused)
            yield Step("it refuses no table", None if refused else "it answered")


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
    unknown = description.claims.operations - READ_OPERATIONS - WRITE_OPERATIONS
    if unknown:
        return f"unknown operations {', '.join(sorted(unknown))}"
    strange = [name for name in description.claims.capabilities if "." not in name]
    return f"capabilities are <operation>.<ability>: {', '.join(strange)}" if strange else None


def _plainest(corpus: Corpus) -> tuple[Case, Expected]:
    """Choose the smallest table without features that has rows."""
    found = [
        (sum(1 for _ in case.table.rglob("*")), case.id, case, spec.expectation)
        for case in corpus.cases
        if not case.features and case.root is None
        for spec in case.specs
        if spec.type == "read"
        and not spec.parameters
        and isinstance(spec.expectation, Expected)
        and spec.expectation.document["rowCount"] > 0
    ]
    _, _, case, expected = min(found, key=lambda entry: entry[:2])
    return case, expected
