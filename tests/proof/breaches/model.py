"""A breach: one requirement broken by an implementation that is right in all else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from conformance.adapter import Answer, Request

Ask: TypeAlias = Callable[[Request], Answer]
"""Puts a request to an implementation."""

How: TypeAlias = Callable[[Ask], Ask]
"""Makes a right implementation wrong; there is a new wrapper for each item that is judged."""

Kind: TypeAlias = Literal["reader", "writer"]

LINEAR = "delta-log-entries/write-linear*"
NESTED = "data-files/write-nested*"
"""Recipes of a plain table, and of one with nested columns, for what is wrong in any."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A row of the table.

    Attributes:
        id: slug, unique over all rows.
        breaks: the requirement.
        kind: who is wrong.
        how: makes it wrong.
        case: pattern of the items that are tried, where it is known which one shows it.
    """

    id: str
    breaks: str
    kind: Kind
    how: How
    case: str = "*"


def reader(slug: str, breaks: str, how: How, case: str = "*") -> Breach:
    """Make a wrong reader."""
    return Breach(slug, breaks, "reader", how, case)


def writer(slug: str, breaks: str, how: How, case: str = "*") -> Breach:
    """Make a wrong writer."""
    return Breach(slug, breaks, "writer", how, case)
