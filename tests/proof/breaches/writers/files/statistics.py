"""Wrong writers of per-file statistics."""

from __future__ import annotations

from typing import Any

from breaches.edits import COMMIT, statistics, without_statistic
from breaches.model import LINEAR, NESTED, writer
from breaches.seams import during, leaving


def _rounded(found: Any) -> None:
    for kind in ("minValues", "maxValues"):
        bounds = found.get(kind, {})
        found[kind] = {k: int(float(v)) if type(v) is int else v for k, v in bounds.items()}


def _bounds(name: str, change: Any) -> Any:
    def changed(found: Any) -> None:
        found[name] = {
            k: change(v) if isinstance(v, int) else v for k, v in found.get(name, {}).items()
        }

    return statistics(changed)


def _as_texts(found: Any) -> Any:
    """Take the bounds of numbers that texts order otherwise for each other."""
    low, high = found["minValues"], found["maxValues"]
    for name in low.keys() & high.keys():
        low[name], high[name] = sorted((low[name], high[name]), key=str)


ROWS = (
    writer(
        "counts-too-few-rows",
        "STAT-001",
        leaving(statistics(lambda s: s.update(numRecords=s["numRecords"] - 1))),
        LINEAR,
    ),
    writer(
        "raises-lower-bounds",
        "STAT-012",
        leaving(_bounds("minValues", lambda v: v + 1)),
        "data-files/write-append-types*",
    ),
    writer(
        "lowers-upper-bounds",
        "STAT-012",
        leaving(_bounds("maxValues", lambda v: v - 1)),
        "data-files/write-append-types*",
    ),
    writer(
        "raises-wide-bounds",
        "STAT-013",
        leaving(_bounds("minValues", lambda v: v + 1000)),
        "deletion-vectors/write-changes*",
    ),
    writer(
        "flattens-statistics",
        "STAT-007",
        leaving(statistics(lambda s: s.update(minValues=[1]))),
        NESTED,
    ),
    writer(
        "orders-bounds-as-texts",
        "STAT-012",
        during("optimize", statistics(_as_texts, COMMIT)),
        "deletion-vectors/write-bounds-of-deleted/*",
    ),
    writer(
        "backfills-row-ids-under-loose-bounds",
        "STAT-012",
        during("set_properties", without_statistic("tightBounds")),
        "row-tracking/write-enable-with-vectors/*",
    ),
    writer(
        "rounds-bounds-of-longs",
        "STAT-012",
        leaving(statistics(_rounded, COMMIT)),
        "*/write-exact-statistics/*",
    ),
)
