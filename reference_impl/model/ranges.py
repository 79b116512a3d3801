"""The ranges of the protocol's numbers.

Implements "Actions" and every number of the log: versions, row ids, high-water marks, times and
sizes are signed 64-bit integers; column ids and part counts are 32-bit ones. Python's integers
are unbounded, so that a writer must check what it commits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from reference_impl.errors import RangeExhausted

_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from one to another.

    Attributes:
        least: the smallest integer.
        most: the greatest integer.
    """

    least: int
    most: int

    def __contains__(self, value: object) -> bool:
        """Return whether a value is an integer (no truth value) of the range."""
        return type(value) is int and self.least <= value <= self.most

    def parse(self, text: object) -> int | None:
        """Parse decimal digits, as properties have numbers; ``None`` for anything else.

        Work is bounded however long the text is.
        """
        if not isinstance(text, str) or _DIGITS.fullmatch(text) is None:
            return None
        value = int(text)
        return value if value in self else None

    def require(
        self, value: int, what: str, *, action: str | None = None, requirement: str | None = None
    ) -> int:
        """Return a number back that is about to be committed.

        Raises:
            RangeExhausted: it is out of range.
        """
        if value not in self:
            raise RangeExhausted(
                f"{what} would be {_shown(value)}, which is no "
                f"{self.most.bit_length() + 1}-bit integer",
                action=action,
                requirement=requirement,
                hint="nothing was committed; the numbers of this table are exhausted",
            )
        return value


def _shown(value: object) -> str:
    # A number of thousands of digits has no decimal text in Python.
    return hex(value)[:40] if type(value) is int and value.bit_length() > 128 else repr(value)[:40]


INT31: Final = Range(0, 2**31 - 1)
INT64: Final = Range(-(2**63), 2**63 - 1)
