"""Cases of writing: every operation holds rows to rules of nulls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.recipes import UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import (
    DOUBLED,
    INVARIANT,
    STRICT_PAIR,
    refused_or_generated,
    ruled,
)
from generators.oracle.filters import column, node
from generators.oracle.model import Row

INVARIANTS: Final = Chapter("column-invariants")
GENERATED: Final = Chapter("generated-columns", since="2025")
SCHEMA: Final = Chapter("schema-serialization-format")

_FITTING: Final[Mapping[str, list[dict[str, Any]]]] = {
    "SCH-025": pairs(1, 2),
    "INV-005": [{"x": 1, "y": 4}],
    "INV-006": [{"x": 1, "y": 4}],
    "GEN-004": [{"x": 1, "y": 2}],
}
"""Row of the registry to rows that obey the rule."""


def _refused_by(  # noqa: PLR0913  one argument per part of the case
    operation: str,
    start: Callable[[], Recipe],
    row: Row,
    broken: str,
    case: CaseWriter,
    *,
    stored: Row | None = None,
) -> None:
    """Write a row that breaks a rule, by an operation that is no append.

    ``stored`` is the row that a table may make of it, in place of refusing it.
    """
    recipe = start().append(_FITTING[broken])
    key = recipe.schema.names[0]
    match operation:
        case "update":
            changed = {name: value for name, value in row.items() if name != "name"}
            recipe.update(changed)
        case "merge":
            on = node("=", column("target", key), column("source", key))
            recipe.merge([row], on, *UPSERT, stored=[stored] if stored else None)
        case _:
            recipe.overwrite([row], stored=[stored] if stored else None)
    if stored:
        recipe.publish(case, contested=refused_or_generated())
        return
    recipe.publish(case, refusal=Refusal("constraint", "commit", broken))


for _operation, _phrase in (
    ("update", "An update to"), ("merge", "A merge that brings"), ("overwrite", "An overwrite with")
):  # fmt: skip
    SCHEMA.define(
        f"write-null-refused-{_operation}",
        f"{_phrase} a null where there is none is refused",
        "SCH-025",
        partial(
            _refused_by,
            _operation,
            partial(Recipe, STRICT_PAIR),
            {"id": None, "name": "x"},
            "SCH-025",
        ),
    )
    for _slug, _value, _what, _id in (
        ("broken", 3, "a value that breaks an invariant", "INV-005"),
        ("null", None, "a null for which an invariant is null", "INV-006"),
    ):
        INVARIANTS.define(
            f"write-{_slug}-{_operation}",
            f"{_phrase} {_what} is refused",
            f"{_id} INV-007",
            partial(
                _refused_by,
                _operation,
                partial(Recipe, ruled("delta.invariants", INVARIANT), features=("invariants",)),
                {"x": 2, "y": _value},
                _id,
            ),
        )
    # An update may compute the column again, whatever value it is given.
    if _operation != "update":
        GENERATED.define(
            f"write-other-value-{_operation}",
            f"{_phrase} a value that is not generated does not store it",
            "GEN-004",
            partial(
                _refused_by,
                _operation,
                partial(Recipe, DOUBLED, features=("generatedColumns",)),
                {"x": 2, "y": 5},
                "GEN-004",
                stored={"x": 2, "y": 4},
            ),
        )
