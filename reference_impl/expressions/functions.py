"""Functions and types of Spark SQL that mean the same here, by every name that Spark gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_UNLIMITED: Final = 50_000
"""More arguments than an expression can have tokens: no limit."""


@dataclass(frozen=True, slots=True)
class Function:
    """A SQL function that expressions may call.

    Attributes:
        name: its name in expression trees.
        least: the fewest arguments that it takes.
        most: the most arguments that it takes.
    """

    name: str
    least: int
    most: int


def _function(least: int, most: int, *names: str) -> dict[str, Function]:
    return dict.fromkeys(names, Function(names[0], least, most))


FUNCTIONS: Final[Mapping[str, Function]] = {
    **_function(1, 1, "ABS"),
    **_function(1, 1, "UPPER", "UCASE"),
    **_function(1, 1, "LOWER", "LCASE"),
    **_function(1, 1, "LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"),
    **_function(1, _UNLIMITED, "CONCAT"),
    **_function(1, 1, "YEAR"),
    **_function(1, 1, "MONTH"),
    **_function(1, 1, "DAY", "DAYOFMONTH"),
    **_function(2, 2, "STARTSWITH"),
    **_function(2, 2, "NULLIF"),
    **_function(1, _UNLIMITED, "GREATEST"),
    **_function(1, _UNLIMITED, "LEAST"),
    **_function(1, _UNLIMITED, "COALESCE"),
    **_function(2, 2, "IFNULL", "NVL"),
    **_function(2, 3, "SUBSTRING", "SUBSTR"),
    **_function(3, 3, "IF", "IIF"),
    **_function(2, 2, "MOD"),
    **_function(1, 1, "TO_DATE"),
    **_function(1, 1, "ISNULL"),
    **_function(1, 1, "ISNOTNULL"),
}

TYPES: Final[Mapping[str, str]] = {
    "BIGINT": "BIGINT", "LONG": "BIGINT", "INT": "INT", "INTEGER": "INT", "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT", "TINYINT": "TINYINT", "BYTE": "TINYINT", "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT", "REAL": "FLOAT", "BOOLEAN": "BOOLEAN", "DECIMAL": "DECIMAL",
    "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "DATE": "DATE", "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "STRING": "STRING",
    "VARCHAR": "VARCHAR", "CHAR": "VARCHAR", "CHARACTER": "VARCHAR", "BINARY": "BINARY",
}  # fmt: skip
"""Names of types, each to the one that trees use."""

CASTS: Final[Mapping[str, str]] = {
    name: name
    for name in (
        "BIGINT", "INT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "DECIMAL", "DATE",
        "TIMESTAMP", "STRING", "BINARY",
    )
}  # fmt: skip
"""Functions that are casts."""
