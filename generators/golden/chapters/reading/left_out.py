"""Cases of filters on columns that a read leaves out: they are read for the filter alone.

A reader that projects first, or looks for the columns of a filter among those asked for, drops rows
or keeps too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import (
    Filter,
    all_of,
    any_of,
    compare,
    is_in,
    is_not_null,
    is_null,
    negate,
    starts_with,
)
from generators.golden.cases.publish import filtered, publish
from generators.golden.cases.table import GoldenTable
from generators.oracle.delta_schema import struct

ROWS: Final = Chapter("action-reconciliation")

_COLUMNS: Final = struct(id="long", n="integer", s=struct(a="integer", t="string"), p="string")

_PROBES: Final[Mapping[str, tuple[Filter, Sequence[str]]]] = {
    "equal": (compare("n", "=", 3, "integer"), ["id"]),
    "in": (is_in("n", [1, 4, 9], "integer"), ["id", "p"]),
    "null": (is_null("n"), ["id"]),
    "not-null": (is_not_null("n"), ["p"]),
    "nested": (compare("s.a", ">", 2, "integer"), ["n"]),
    "prefix": (starts_with("s.t", "t4"), ["id"]),
    "partition": (compare("p", "=", "x", "string"), ["id", "s"]),
    "partition-in": (is_in("p", ["y", "z"], "string"), ["n"]),
    "partition-null": (is_null("p"), ["s"]),
    "not": (negate(is_in("n", [0, 1, 2], "integer")), ["id"]),
    **{
        f"not-{word}": (negate(compare("n", operator, 3, "integer")), ["id"])
        for word, operator in (
            ("equal", "="),
            ("other", "<>"),
            ("less", "<"),
            ("at-most", "<="),
            ("more", ">"),
            ("at-least", ">="),
        )
    },
    "and": (all_of(is_in("p", ["x", "y"], "string"), compare("n", "<", 4, "integer")), ["s"]),
    "or": (any_of(is_null("n"), compare("s.t", "=", "t1", "string")), ["id"]),
}
"""What is asked for, and the columns that the answer has; none is in the filter."""


@ROWS.case("filtered-by-columns-left-out", "SNAP-007")
def _left_out(case: CaseWriter) -> None:
    """A filter looks at columns that are not asked for."""
    table = GoldenTable.created(case, _COLUMNS, partition_columns=("p",))
    for start, p in ((0, "x"), (2, "y"), (4, None)):
        rows = [
            {"id": 10 + n, "n": n or None, "s": {"a": n, "t": f"t{n}"}}
            for n in range(start, start + 2)
        ]
        table.append(rows, partition={"p": p})
    publish(case, table, versions=[])
    for slug, (probe, columns) in _PROBES.items():
        title = "Its columns are read for the filter alone"
        filtered(case, table, f"filter-{slug}", probe, title, columns=columns)
