"""Hold an answer against the expected one, by the type of the question.

Serves the section "Case" of ``docs/formats.md``. An answer of another shape than its request
documents is a fault of the adapter, not a statement about the table.
"""

from __future__ import annotations

from typing import Any

from conformance.golden.cases import Expected
from conformance.judging.compare import Difference
from conformance.questions import QUESTIONS

__all__ = ["count_rows", "describe_expected", "describe_refusal", "verify"]


def verify(kind: str, expected: Expected, payload: Any) -> Difference | None:
    """Compare an answer's payload with the expected answer.

    Args:
        kind: the type of the spec.
        expected: what has to be answered.
        payload: what was answered.

    Returns:
        ``None`` when they agree.

    Raises:
        AdapterError: the payload is not of the shape that the request documents.

    """
    compare = QUESTIONS[kind].compare
    assert compare is not None
    return compare(expected, payload)


def count_rows(number: int) -> str:
    """Say how many rows there are."""
    return "1 row" if number == 1 else f"{number} rows"


def describe_refusal(kind: str | None, stage: str | None, message: str) -> str:
    """Say what a refusal was, and what it leaves open."""
    return f"refused ({kind or 'no kind'}, {stage or 'no stage'}): {message}"


def describe_expected(kind: str, expected: Expected) -> str:
    """Say in a few words what has to be answered."""
    if expected.source is not None:
        return count_rows(expected.rows().num_rows)
    return QUESTIONS[kind].called or f"the {kind}"
