"""Adapters that answer truthfully but for one kind of lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from conformance.adapter import Answer, Description, Ok, Refused, Request, Scan, Snapshot
from conformance.adapters.ours import create


class Liar:
    """The reference implementation, with its answers bent."""

    def __init__(self, bend: Callable[[Request, Answer], Answer]) -> None:
        self.truth = create()
        self.bend = bend

    def describe(self) -> Description:
        return self.truth.describe()

    def run(self, request: Request) -> Answer:
        return self.bend(request, self.truth.run(request))

    def close(self) -> None:
        self.truth.close()


def _rows(lie: Callable[[pa.Table], pa.Table]) -> Callable[[Request, Answer], Answer]:
    def bend(_request: Request, answer: Answer) -> Answer:
        match answer:
            case Ok(pa.Table() as table):
                return Ok(lie(table))
            case _:
                return answer

    return bend


def _each_column(
    test: Callable[[pa.DataType], bool], lie: Callable[[pa.Array], pa.Array]
) -> Callable[[Request, Answer], Answer]:
    def bend(table: pa.Table) -> pa.Table:
        for index, item in enumerate(table.schema):
            if test(item.type):
                table = table.set_column(index, item.name, lie(table.column(index)))
        return table

    return _rows(bend)


def _one_later(column: pa.Array) -> pa.Array:
    later = pc.add(column.cast(pa.int64()), 1)
    return later.cast(column.type)


def _swallow(request: Request, answer: Answer) -> Answer:
    if isinstance(request, Scan) and isinstance(answer, Refused):
        return Ok(pa.table({}))
    return answer


def _one_version_on(request: Request, answer: Answer) -> Answer:
    if isinstance(request, Snapshot) and isinstance(answer, Ok):
        return Ok({**answer.payload, "version": answer.payload["version"] + 1})
    return answer


def _previous() -> Callable[[Request, Answer], Answer]:
    last: list[Answer] = []

    def bend(_request: Request, answer: Answer) -> Answer:
        last.append(answer)
        return last[-2] if len(last) > 1 else answer

    return bend


LIES: dict[str, Callable[[], Callable[[Request, Answer], Answer]]] = {
    "a-row-too-many": lambda: _rows(lambda t: pa.concat_tables([t, t.slice(0, 1)])),
    "a-row-too-few": lambda: _rows(lambda t: t.slice(1)),
    "a-value-off-by-one-microsecond": lambda: _each_column(pa.types.is_timestamp, _one_later),
    "a-partition-value-as-text": lambda: _each_column(
        pa.types.is_integer, lambda c: c.cast(pa.string())
    ),
    "a-null-for-an-empty-string": lambda: _each_column(
        pa.types.is_string,
        lambda c: pc.if_else(pc.equal(c, ""), pa.scalar(None, pa.string()), c),
    ),
    "an-empty-string-for-a-null": lambda: _each_column(
        pa.types.is_string, lambda c: pc.fill_null(c, "")
    ),
    "a-column-left-out": lambda: _rows(lambda t: t.select(t.column_names[:-1])),
    "a-swallowed-error": lambda: _swallow,
    "an-answer-to-another-request": _previous,
    "a-snapshot-of-another-version": lambda: _one_version_on,
}


def liar(name: str) -> Any:
    """Return the adapter with one kind of lie."""
    return Liar(LIES[name]())
