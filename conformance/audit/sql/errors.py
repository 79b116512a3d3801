"""Why an expression says nothing about rows."""

from __future__ import annotations


class Uncertain(Exception):  # noqa: N818  it is no fault of the table
    """What an expression means, or gives for these rows, is not certain."""


class Malformed(ValueError):  # noqa: N818  as above
    """The text is no SQL, as far as this audit knows."""


class Incomplete(Malformed):
    """The text is no SQL of any dialect: a bracket or an operand is missing."""


class NoColumn(LookupError):  # noqa: N818  as above
    """An expression names a column that the table does not have."""
