"""Bounds on the text of SQL, checked before anything recursive reads it.

Implements "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns": the
text of a rule comes from the table, which is untrusted. What its evaluation may take is among the
options of :class:`~reference_impl.limits.Limits`.
"""

from __future__ import annotations

from typing import Final

from reference_impl.errors import LimitExceeded

MAX_TEXT: Final = 100_000
"""Characters of an expression."""

MAX_TOKENS: Final = 50_000
MAX_DEPTH: Final = 64
"""Nesting of brackets, CASE, casts and signs; what the parser recurses into."""

MAX_HEIGHT: Final = 500
"""Operators in a chain such as ``a + b + c``; AND and OR count once however long they are."""

MAX_COPIES: Final = 100_000
"""Nodes of the tree that the database binds: it copies an operand of BETWEEN, CASE and nullif, so
that what nests in there grows by the power of its depth, and no interrupt ends that."""

MAX_WILDCARDS: Final = 1_000
"""``%`` and ``_`` of a LIKE pattern: time is text times pattern."""


def check(limit: str, found: int, allowed: int) -> None:
    """Refuse what exceeds a bound on the text of an expression.

    Args:
        limit: the name of the bound, for the message.
        found: how many there are: characters, tokens, levels or wildcards.
        allowed: how many there may be.

    Raises:
        LimitExceeded: there are more than allowed.
    """
    if found > allowed:
        raise LimitExceeded(
            f"an SQL expression exceeds the limit {limit} of {allowed}",
            limit=limit,
            allowed=allowed,
            hint="split the expression; it may be valid, and is not evaluated here",
        )
