"""Bounds on SQL: of the text, before anything recursive reads it, and of its evaluation.

Serves "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns": the
text of a rule comes from the table, which is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from reference_impl.errors import LimitExceeded

__all__ = [
    "MAX_DEPTH",
    "MAX_HEIGHT",
    "MAX_TEXT",
    "MAX_TOKENS",
    "MAX_WILDCARDS",
    "SqlLimits",
    "check",
    "current_limits",
    "sql_limits",
]

MAX_TEXT: Final = 100_000
"""Characters of an expression."""

MAX_TOKENS: Final = 50_000
MAX_DEPTH: Final = 64
"""Nesting of brackets, CASE, casts and signs; what the parser recurses into."""

MAX_HEIGHT: Final = 500
"""Operators in a chain such as ``a + b + c``; AND and OR count once however long they are."""

MAX_WILDCARDS: Final = 1_000
"""``%`` and ``_`` of a LIKE pattern: time is text times pattern."""


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Bounds on one evaluation.

    Attributes:
        seconds: wall-clock time that an expression may take.
        memory_bytes: memory that the database may take for joins and sorts, and that text built
            by an expression may take at once.
        result_bytes: size of a result; a result up to 16 times the size of the rows that it is
            computed from is always let pass.

    """

    seconds: float = 60.0
    memory_bytes: int = 1 << 30
    result_bytes: int = 1 << 30


_DEFAULT: Final = SqlLimits()
_CURRENT: ContextVar[SqlLimits] = ContextVar("sql_limits", default=_DEFAULT)


def current_limits() -> SqlLimits:
    """Give the bounds in force."""
    return _CURRENT.get()


@contextmanager
def sql_limits(limits: SqlLimits) -> Iterator[None]:
    """Evaluate expressions under other bounds inside of a ``with`` block."""
    token = _CURRENT.set(limits)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check(limit: str, found: int, allowed: int) -> None:
    """Refuse what exceeds a bound on the text of an expression.

    Raises:
        LimitExceeded: it does.

    """
    if found > allowed:
        raise LimitExceeded(
            f"an SQL expression exceeds the limit {limit} of {allowed}",
            limit=limit,
            allowed=allowed,
            hint="split the expression; it may be valid, and is not evaluated here",
        )
