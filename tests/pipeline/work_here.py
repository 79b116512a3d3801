"""Work and implementations that tests spread over processes, and findings to compare."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.adapter import Adapter, Answer, Description, Ok, Request, Scan
from conformance.audit import AuditError, Finding
from conformance.workers.resolve import load_factory


def compared(findings: Iterable[Finding]) -> list[Any]:
    """Return findings less their order, and that of their places."""
    return sorted(
        (
            x.requirement,
            x.severity,
            x.message,
            x.hint,
            x.limit,
            x.count,
            sorted(x.places or [x.place]),
        )
        for x in findings
    )


def either(work: Callable[[], list[Finding]]) -> list[Any] | str:
    """Return the findings of an audit to compare, or why there is none."""
    try:
        return compared(work())
    except AuditError as error:
        return str(error)


def twice(unit: dict[str, Any]) -> dict[str, Any]:
    return {"number": 2 * unit["number"], "process": os.getpid()}


def dies_once(unit: dict[str, Any]) -> dict[str, Any]:
    """Be killed at the first try of one unit, as an executor is that needs too much memory."""
    mark = Path(unit["mark"])
    if unit["number"] == unit["deadly"] and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return twice(unit)


def always_dies(unit: dict[str, Any]) -> dict[str, Any]:
    del unit
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def raises(unit: dict[str, Any]) -> dict[str, Any]:
    raise ValueError(f"not {unit['number']}")


class _Forgetful:
    """The reference implementation, but it forgets a row of every table."""

    def __init__(self) -> None:
        self.ours: Adapter = load_factory("conformance.adapters.ours:create")()

    def describe(self) -> Description:
        return replace(self.ours.describe(), name="forgetful")

    def run(self, request: Request) -> Answer:
        answer = self.ours.run(request)
        if (
            isinstance(request, Scan)
            and isinstance(answer, Ok)
            and isinstance(answer.payload, pa.Table)
            and answer.payload.num_rows
        ):
            return Ok(answer.payload.slice(1))
        return answer

    def close(self) -> None:
        self.ours.close()


def forgetful() -> _Forgetful:
    return _Forgetful()
