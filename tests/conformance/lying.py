"""Adapters that lie to a run: the reference implementation with its process or answers altered."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.adapter import Answer, Description, Ok, Refused, Request, Scan
from conformance.adapters import ours

Lie = Callable[[Callable[[Request], Answer], Request, int], Answer]
"""Gets the honest adapter, the request, and how many there were before."""


class Lying:
    """Answers right but for one lie."""

    def __init__(self, lie: Lie) -> None:
        self.truth = ours.create()
        self.lie = lie
        self.asked = 0

    def describe(self) -> Description:
        return self.truth.describe()

    def run(self, request: Request) -> Answer:
        self.asked += 1
        return self.lie(self.truth.run, request, self.asked - 1)

    def close(self) -> None:
        self.truth.close()


def _shape(honest: Any, request: Request, _: int) -> Answer:
    """Give as many rows, of the right types, with nothing in them."""
    answer = honest(request)
    if isinstance(answer, Ok) and isinstance(answer.payload, pa.Table):
        table = answer.payload
        nulls = [pa.nulls(table.num_rows, each.type) for each in table.schema]
        return Ok(pa.table(nulls, schema=table.schema))
    return answer  # type: ignore[no-any-return]


def _echo(_honest: Any, request: Request, _: int) -> Answer:
    """Say what the request says, and look at no table."""
    if isinstance(request, Scan):
        return Ok(pa.table({name: [None] for name in request.columns or ["id"]}))
    return Ok({each.name: getattr(request, each.name) for each in fields(request)})


def _cached() -> Lie:
    """Give what was answered to the first request of its kind."""
    kept: dict[type, Answer] = {}
    return lambda honest, request, _: kept.setdefault(type(request), honest(request))


def _by_version() -> Lie:
    """Give what was answered for this version, whatever the table."""
    kept: dict[Any, Answer] = {}
    return lambda honest, request, _: kept.setdefault(
        (type(request), getattr(request, "version", None)), honest(request)
    )


def _other_version(honest: Any, request: Request, _: int) -> Answer:
    return honest(replace(request, version=None)) if isinstance(request, Scan) else honest(request)


def _late(honest: Any, request: Request, asked: int) -> Answer:
    if asked >= 3:
        time.sleep(600)
    return honest(request)  # type: ignore[no-any-return]


def _gone(honest: Any, request: Request, asked: int) -> Answer:
    if asked >= 3:
        os._exit(0)
    return honest(request)  # type: ignore[no-any-return]


def _left(honest: Any, request: Request, asked: int) -> Answer:
    if asked >= 3:
        sys.exit(0)
    return honest(request)  # type: ignore[no-any-return]


def _chatty(honest: Any, request: Request, _: int) -> Answer:
    """Print what looks like an answer, and other things."""
    os.write(1, b'{"id": 0, "ok": {}}\nloading...\n')
    return honest(request)  # type: ignore[no-any-return]


def _printed(_honest: Any, _request: Request, _: int) -> Answer:
    """Print what looks like an answer, and give none."""
    os.write(1, b'{"id": 0, "ok": {"rows": []}}\n')
    raise RuntimeError("the answer is printed")


def _refuse(kind: Any) -> Lie:
    return lambda *_: Refused(kind, "load", "not today")


def _raise(*_: Any) -> Answer:
    raise RuntimeError("not today")


def _tired(honest: Any, request: Request, asked: int) -> Answer:
    return honest(request) if asked < 3 else Refused("unsupported", "load", "enough")


def _nothing(*_: Any) -> Answer:
    return Ok(None)


def _no_rows(honest: Any, request: Request, _: int) -> Answer:
    return Ok(pa.table({})) if isinstance(request, Scan) else honest(request)


def _gone_astray(honest: Any, request: Request, asked: int) -> Answer:
    return honest(request) if asked < 3 else Refused("not_found", "load", "no table there")


def _lazy(honest: Any, request: Request, _: int) -> Answer:
    """Give rows one by one, and raise after the last."""
    answer = honest(request)
    if not isinstance(request, Scan) or not isinstance(answer, Ok):
        return answer  # type: ignore[no-any-return]

    def batches() -> Iterator[pa.RecordBatch]:
        yield from answer.payload.to_batches()
        raise RuntimeError("the rest is gone")

    return Ok(pa.RecordBatchReader.from_batches(answer.payload.schema, batches()))


def _texts(honest: Any, request: Request, _: int) -> Answer:
    """Give every value as its text."""
    answer = honest(request)
    if isinstance(answer, Ok) and isinstance(answer.payload, pa.Table):
        return Ok(
            pa.table({n: answer.payload[n].cast("string") for n in answer.payload.column_names})
        )
    return answer  # type: ignore[no-any-return]


def _half(honest: Any, request: Request, _: int) -> Answer:
    answer = honest(request)
    if isinstance(answer, Ok) and isinstance(answer.payload, pa.Table):
        return Ok(answer.payload.slice(0, answer.payload.num_rows // 2))
    return answer  # type: ignore[no-any-return]


def _restoring(honest: Any, request: Request, _: int) -> Answer:
    """Write to a file of the table, and leave it with the bytes and the times that it had."""
    file = next(Path(request.table).rglob("*.json"))
    content, facts = file.read_bytes(), file.stat()
    file.write_bytes(b"{}")
    file.write_bytes(content)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return honest(request)  # type: ignore[no-any-return]


def _exchanged(honest: Any, request: Request, _: int) -> Answer:
    """Put a copy in the place of the table."""
    table = Path(request.table)
    table.rename(table.with_name("kept"))
    shutil.copytree(table.with_name("kept"), table)
    return honest(request)  # type: ignore[no-any-return]


def _posing(honest: Any, request: Request, asked: int) -> Answer:
    """Print what a results file has, and give rows of nothing."""
    record = {"line": "result", "id": "a/b/c", "outcome": "pass"}
    os.write(1, f"{json.dumps(record)}\n".encode())
    return _shape(honest, request, asked)


LIES: dict[str, Callable[[], Lie]] = {
    "right-shape": lambda: _shape,
    "echo": lambda: _echo,
    "cached": _cached,
    "cached-by-version": _by_version,
    "other-version": lambda: _other_version,
    "late": lambda: _late,
    "gone": lambda: _gone,
    "left": lambda: _left,
    "printed": lambda: _printed,
    "unsupported": lambda: _refuse("unsupported"),
    "invalid": lambda: _refuse("invalid_table"),
    "untold": lambda: _refuse(None),
    "raising": lambda: _raise,
    "tired": lambda: _tired,
    "gone-astray": lambda: _gone_astray,
    "lazy": lambda: _lazy,
    "texts": lambda: _texts,
    "half": lambda: _half,
    "restoring": lambda: _restoring,
    "exchanged": lambda: _exchanged,
    "posing": lambda: _posing,
    "nothing": lambda: _nothing,
    "no-rows": lambda: _no_rows,
}

TRUTHS: dict[str, Callable[[], Lie]] = {
    "plain": lambda: lambda honest, request, _: honest(request),
    "chatty": lambda: _chatty,
}
"""What is right in every answer, whatever it prints."""


def create() -> Lying:
    """Give the adapter with the lie of ``DELTA_TCK_LIE``."""
    return Lying({**LIES, **TRUTHS}[os.environ["DELTA_TCK_LIE"]]())
