"""Schemas, rows and properties that recipes of several chapters begin with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeAlias

from generators.golden.cases.case import Refusal
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import Computed, Recipe
from generators.golden.chapters.files.types import utc
from generators.oracle.delta_schema import DataType, Struct, field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal

EVERY: Final = struct(
    id="long",
    string="string",
    boolean="boolean",
    byte="byte",
    short="short",
    integer="integer",
    float="float",
    double="double",
    small="decimal(5,2)",
    large="decimal(38,10)",
    binary="binary",
    date="date",
    timestamp="timestamp",
)


def every(number: int) -> dict[str, Any]:
    """Return a row with a value of every type."""
    return {
        "id": number,
        "string": f"text {number}",
        "boolean": number % 2 == 0,
        "byte": -128 + number,
        "short": 2**15 - 1 - number,
        "integer": -(2**31) + number,
        "float": number / 4,
        "double": 0.1 * number,
        "small": Decimal(number) / 100,
        "large": Decimal("1234567890123456789012345678.0123456789") - number,
        "binary": bytes([0, number, 255]),
        "date": date(1970, 1, 1 + number),
        "timestamp": utc(1969, 12, 31, 23, 59, 59, 999999 - number),
    }


DESCRIBED: Final = struct(
    field("id", "long", metadata={"comment": "the key"}),
    field("name", "string", metadata={"comment": "of a person", "scale": 7}),
)


def broken_rule(requirement: str) -> Refusal:
    """Return the refusal of rows that break a rule of a requirement."""
    return Refusal("constraint", "commit", requirement)


STRICT: Final = struct(
    field("id", "long", nullable=False),
    field("name", "string", metadata={"comment": "of a person"}),
)

MAPPED: Final = {"delta.columnMapping.mode": "name"}


def numbered(start: int, step: int, **more: Any) -> Struct:
    """Return a table whose first column is an identity column."""
    metadata = {"start": start, "step": step, "allowExplicitInsert": False, **more}
    return struct(
        field("k", "long", metadata={f"delta.identity.{n}": v for n, v in metadata.items()}),
        field("id", "long"),
    )


def ids(*numbers: int) -> list[dict[str, Any]]:
    """Return rows of ids alone."""
    return [{"id": number} for number in numbers]


_METADATA: Final = b"\x01\x00\x00"
"""Version 1, a dictionary of no names."""

_VARIANTS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (_METADATA, b"\x00"),  # null
    (_METADATA, b"\x04"),  # true
    (_METADATA, b"\x0c\x2a"),  # the byte 42
    (_METADATA, b"\x15delta"),  # a short string
    (_METADATA, b"\x03\x02\x00\x02\x03\x0c\x01\x00"),  # [1, null]
    (b"\x01\x01\x00\x01k", b"\x02\x01\x00\x00\x01\x04"),  # {"k": true}
)
"""Metadata and value of variants, by the encoding of variants in Parquet."""


def variants(*numbers: int) -> list[dict[str, Any]]:
    """Return rows with variants of every basic type, in turns."""
    found: list[dict[str, Any]] = []
    for number in numbers:
        metadata, value = _VARIANTS[number % len(_VARIANTS)]
        found.append({"id": number, "v": {"metadata": metadata, "value": value}})
    return found


VARIANTS: Final = struct(id="long", v="variant")

KEYED: Final = struct(id="long", part="string")

WITH_TRACKING: Final = {"delta.enableRowTracking": "true"}


def keyed(*numbers: int) -> list[dict[str, Any]]:
    """Return rows in two partitions."""
    return [{"id": number, "part": "ab"[number % 2]} for number in numbers]


def ruled(key: str, value: str) -> Struct:
    """Return two columns, the second of which has a rule in its metadata."""
    return struct(field("x", "long"), field("y", "long", metadata={key: value}))


INVARIANT: Final = '{"expression":{"expression":"y > 3"}}'

DOUBLED: Final = ruled("delta.generationExpression", "x * 2")


def refused_or_generated(row: str = "GEN-004") -> list[tuple[str, str, Refusal | None]]:
    """Return what is accepted where a generated column is given another value.

    The data that is written satisfies the condition, too, where the value is generated all the
    same; the value that was given is not to be stored.
    """
    refused = "the value is not what the expression gives"
    return [
        ("refused", refused, broken_rule(row)),
        ("generated", "what is written is what the expression gives", None),
    ]


STRICT_PAIR: Final = struct(field("id", "long", nullable=False), field("name", "string"))

TRIPLE: Final = struct(id="long", n="integer", name="string")

AHEAD: Final = 4_102_444_800_000
"""2100-01-01, in ms since the epoch: nothing of then expires."""


def triples(*numbers: int) -> list[dict[str, Any]]:
    """Return rows of a number, which every fifth lacks, and a name."""
    return [{"id": n, "n": None if n % 5 == 3 else n * 10, "name": f"n{n}"} for n in numbers]


def plus(name: str, value: int, of: str = "integer") -> Computed:
    """Return a column and a value added up."""
    return Computed(node("+", column(name), literal(of, value)))


CLUSTERING: Final = '{"clusteringColumns":[["id"]]}'


def compatible(version: int) -> tuple[str, ...]:
    """Return the features of a table that is compatible with Iceberg."""
    return ("columnMapping", f"icebergCompatV{version}")


def beside_id(of: str | DataType) -> Struct:
    """Return a column of a type beside an id."""
    return struct(id="long", c=of)


TRACKED: Final = ("rowTracking", "domainMetadata")

Step: TypeAlias = Callable[[Recipe], Recipe]
"""Takes the next step of a recipe."""

FIRST_ROW: Final = compare("id", "=", 1, "long")


def appending(**row: Any) -> Step:
    """Return the step that appends one row."""
    return lambda recipe: recipe.append([row])
