"""Cases of nested fields that are easily taken for others, or whose structs are taken for null.

Covers "Per-file Statistics" and "Column Mapping". A reader that knows a nested field by its last
name alone skips files by the bounds of another column; one that finds a field missing from a file
may lose the struct around it, in arrays and maps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import all_of, compare, is_not_null, is_null, negate
from generators.golden.cases.publish import filtered, projected, publish
from generators.golden.cases.table import GoldenTable, add
from generators.golden.chapters.tables.column_mapping import mapped_table
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import (
    Struct,
    array,
    assign_column_mapping,
    field,
    map_of,
    map_structs,
    struct,
)

STATISTICS: Final = Chapter("per-file-statistics")
ROWS: Final = Chapter("action-reconciliation")
MAPPING: Final = Chapter("column-mapping")

_MISSING: Final = {"name": "CM-031", "id": "CM-028"}
"""Mode to what says that a column which a file lacks is null."""

_BY_NAME: Final = {"name": "CM-030", "id": "CM-026"}
"""Mode to what says by which names statistics are found."""

_HIGHEST: Final = "delta.columnMapping.maxColumnId"

_NAMESAKES: Final = struct(
    field("x", "long"),
    field("s", struct(field("x", "long"), field("t", struct(field("x", "long"))))),
    field("t", struct(field("x", "long"))),
)
"""Four leaves of one name and type."""

_PROBES: Final = {
    "top": compare("x", "=", 10, "long"),
    "nested": compare("s.x", "=", 110, "long"),
    "nested-above": compare("s.x", ">", 110, "long"),
    "nested-not": negate(compare("s.x", "<=", 110, "long")),
    "deep": compare("s.t.x", "=", 1010, "long"),
    "deep-below": compare("s.t.x", "<", 1010, "long"),
    "other": compare("t.x", "=", -110, "long"),
    "null": is_null("s.x"),
    "not-null": is_not_null("t.x"),
    "both": all_of(compare("x", "<", 20, "long"), compare("s.x", ">=", 101, "long")),
}


def _table(case: CaseWriter, schema: Struct, mode: str) -> GoldenTable:
    return GoldenTable.of(case, schema) if mode == "none" else mapped_table(case, schema, mode=mode)


def _namesakes(case: CaseWriter, mode: str) -> None:
    table = _table(case, _NAMESAKES, mode)
    table.create()
    for start in (0, 10, 20):
        rows = [
            {"x": n, "s": {"x": 100 + n, "t": {"x": 1000 + n}}, "t": {"x": -100 - n}}
            for n in (start, start + 1)
        ]
        table.append(rows)
    # Each leaf is all null in a file where the others are not.
    absent: list[dict[str, Any]] = [
        {"x": None, "s": {"x": 130, "t": {"x": 1030}}, "t": {"x": -130}},
        {"x": 40, "s": {"x": None, "t": {"x": 1040}}, "t": {"x": -140}},
        {"x": 50, "s": {"x": 150, "t": {"x": None}}, "t": {"x": None}},
    ]
    for row in absent:
        table.append([row])
    at = table.version - 2
    table.checkpoint(version=at, style=CheckpointStyle(stats_parsed=True), hint=False)
    publish(case, table, versions=[], log_info={"lastCheckpointVersion": at})
    for slug, probe in _PROBES.items():
        title = "A field is skipped by bounds of its own, and by no namesake's"
        own: dict[str, Any] = {} if mode == "none" else {"requirement": _BY_NAME[mode]}
        filtered(case, table, f"filter-{slug}", probe, title, **own)


def _within(inner: Struct) -> Struct:
    """Return a schema that holds a struct in every way."""
    return struct(
        field("id", "long"),
        field("s", inner),
        field("l", array(inner)),
        field("m", map_of("string", inner)),
        field(
            "deep",
            struct(field("ll", array(array(inner))), field("lm", array(map_of("string", inner)))),
        ),
    )


_ONE: Final = {"a": 1}
_OLD: Final[list[dict[str, Any]]] = [
    {
        "id": 1,
        "s": _ONE,
        "l": [_ONE, {"a": 2}],
        "m": {"k": _ONE, "n": {"a": 3}},
        "deep": {"ll": [[_ONE], [], [{"a": 4}, _ONE]], "lm": [{"k": _ONE}, {}]},
    },
    {
        "id": 2,
        "s": {"a": None},
        "l": [None, {"a": None}, _ONE],
        "m": {"k": None, "n": {"a": None}},
        "deep": {"ll": [[], [None, {"a": None}]], "lm": [{}, {"k": None, "n": {"a": None}}]},
    },
    {"id": 3, "s": {"a": 6}, "l": [], "m": {}, "deep": {"ll": [], "lm": []}},
]
"""Rows from before a field was added: structs with a value, without one, and null."""


def _added(case: CaseWriter, mode: str) -> None:
    table = _table(case, _within(struct(field("a", "integer"))), mode)
    table.create(add(table.file(_OLD)))
    table.schema = _grown(table.schema)
    if mode != "none":
        highest = int(table.properties[_HIGHEST])
        table.schema, highest = assign_column_mapping(table.schema, case.info.id, start=highest + 1)
        table.properties[_HIGHEST] = str(highest)
    table.commit(table.metadata(), operation="ADD COLUMNS")
    two = {"a": 5, "b": "new"}
    row = {
        "id": 5,
        "s": two,
        "l": [two, {"a": None, "b": None}],
        "m": {"k": two},
        "deep": {"ll": [[two]], "lm": [{"k": two}]},
    }
    table.append([row])
    publish(case, table)
    for name in ("l", "m", "deep"):
        title = "Structs of older files stay, and the field is null"
        projected(case, table, f"project-{name}", [name], title)
    filtered(case, table, "filter-null", is_null("s.b"), "The field is null in older rows")
    filtered(
        case, table, "filter-value", compare("s.a", "=", 6, "integer"),
        "A field beside it is found", requirement="SNAP-007",
    )  # fmt: skip


def _grown(of: Struct) -> Struct:
    """Return a schema with one more field in each struct that has the first one."""
    fields = [replace(each, type=map_structs(each.type, _grown)) for each in of]
    return struct(*fields, *([field("b", "string")] if fields[0].name == "a" else []))


def _in_depth(case: CaseWriter, mode: str) -> None:
    pair = struct(field("a", "long"), field("b", "long"))
    schema = struct(field("id", "long"), field("m", map_of(pair, pair)))
    table = _table(case, schema.with_fields(field("l", array(array(pair)))), mode)
    one, two = ({"a": n, "b": 10 * n} for n in (1, 2))
    old = {"id": 1, "m": [(one, two), (two, one)], "l": [[one], [two, one]]}
    table.create(add(table.file([old, {"id": 2, "m": [], "l": []}, {"id": 3}])))
    table.schema = _turned(table.schema)
    table.commit(table.metadata(), operation="RENAME COLUMN")
    table.append([{"id": 4, "m": [({"a": 7, "b": 8}, {"a": None, "b": 9})], "l": [[{"a": 8}]]}])
    by = "CM-025" if mode == "id" else "CM-029"
    case.judged |= dict.fromkeys(("read-latest", "read-v0", "read-v1"), by)
    publish(case, table)


def _turned(of: Struct) -> Struct:
    """Return a schema in which the display names of two fields are exchanged."""
    names = {"a": "b", "b": "a"}
    inside = [replace(each, type=map_structs(each.type, _turned)) for each in of]
    return struct(*(replace(each, name=names.get(each.name, each.name)) for each in inside))


for _mode in ("none", "name", "id"):
    _slug = "" if _mode == "none" else f"-{_mode}"
    (STATISTICS if _mode == "none" else MAPPING).define(
        f"nested-namesakes{_slug}",
        "Nested fields have bounds of their own beside namesakes at the top",
        "STAT-007 STAT-006 SNAP-007" + ("" if _mode == "none" else f" {_BY_NAME[_mode]}"),
        partial(_namesakes, mode=_mode),
    )
    (ROWS if _mode == "none" else MAPPING).define(
        f"nested-field-added{_slug}",
        "A field added to structs in arrays and maps is null in older files",
        f"{_MISSING[_mode]} SNAP-007" if _mode != "none" else "SNAP-007 META-002",
        partial(_added, mode=_mode),
    )
    if _mode != "none":
        MAPPING.define(
            f"structs-in-depth-{_mode}",
            "Structs in keys and in lists of lists are mapped as others are",
            "CM-025 CM-026" if _mode == "id" else "CM-029 CM-030",
            partial(_in_depth, mode=_mode),
        )
