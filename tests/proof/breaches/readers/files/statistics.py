"""Wrong readers of per-file statistics."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa

from breaches.edits import statistics
from breaches.model import reader
from breaches.seams import asking, rows, viewing


def _one_for_both(stats: dict[str, Any]) -> None:
    for one, other in (("minValues", "maxValues"), ("maxValues", "minValues")):
        if one not in stats and other in stats:
            stats[one] = stats[other]


def _hollow(table: pa.Table) -> pa.Table:
    """Take a struct of nulls for a null."""
    for at, column in enumerate(table.schema):
        if pa.types.is_struct(column.type):
            held = [
                value if value and any(v is not None for v in value.values()) else None
                for value in table.column(at).to_pylist()
            ]
            table = table.set_column(at, column, pa.chunked_array([held], column.type))
    return table


def _without_offsets(stats: dict[str, Any]) -> None:
    for name in ("minValues", "maxValues"):
        for key, value in stats.get(name, {}).items():
            if isinstance(value, str):
                stats[name][key] = re.sub(r"[+-]\d{2}:\d{2}$", "Z", value)


def _namesakes(stats: dict[str, Any]) -> None:
    """Give nested fields what the statistics have of a column of their name at the top."""

    def changed(node: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
        return {
            key: changed(value, top) if isinstance(value, dict) else top.get(key, value)
            for key, value in node.items()
        }

    for kind in ("minValues", "maxValues", "nullCount"):
        node = stats.get(kind, {})
        top = {key: value for key, value in node.items() if not isinstance(value, dict)}
        stats[kind] = changed(node, top)


def _to_the_wildcard(request: Any) -> Any:
    """Look for what stands before a wildcard of a prefix."""
    tree = getattr(request, "filter", None)
    if not tree or tree["op"] != "starts_with":
        return request
    column, prefix = tree["args"]
    cut = {**prefix, "literal": re.split("[_%]", prefix["literal"])[0]}
    return replace(request, filter={**tree, "args": [column, cut]})


ROWS = (
    reader(
        "finds-wildcards-in-prefixes",
        "SNAP-007",
        asking(_to_the_wildcard),
        "per-file-statistics/prefixes-like-patterns/*",
    ),
    reader(
        "takes-bounds-of-namesakes",
        "SNAP-007",
        viewing(statistics(_namesakes)),
        "per-file-statistics/nested-namesakes/*",
    ),
    reader(
        "takes-one-bound-for-both",
        "SNAP-007",
        viewing(statistics(_one_for_both)),
        "per-file-statistics/one-bound-alone/*",
    ),
    reader(
        "takes-structs-of-nulls-for-nulls",
        "SNAP-007",
        rows(_hollow),
        "per-file-statistics/structs-of-nulls/*",
    ),
    reader(
        "takes-bounds-without-offsets",
        "SNAP-007",
        viewing(statistics(_without_offsets)),
        "per-file-statistics/bounds-*",
    ),
)
