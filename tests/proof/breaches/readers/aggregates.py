"""Wrong readers of counts and extremes, which believe what the log says of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from breaches.model import Ask, How, reader
from conformance.adapter import Aggregate, Answer, Files, Ok, Request

Stats: TypeAlias = Sequence[Mapping[str, Any]]
"""The statistics of all live files."""


def by_files(change: Callable[[dict[str, Any], Sequence[Mapping[str, Any]]], None]) -> How:
    """Change a right answer, its one row as a dict, by the live files."""

    def how(ask: Ask) -> Ask:
        def run(request: Request) -> Answer:
            answer = ask(request)
            if not isinstance(request, Aggregate) or not isinstance(answer, Ok):
                return answer
            files = ask(Files(request.table, request.version))
            if not isinstance(files, Ok):
                return answer
            right: pa.Table = answer.payload
            row = right.to_pylist()[0]
            change(row, files.payload)
            columns = {
                field.name: pa.array([row[field.name]]).cast(field.type) for field in right.schema
            }
            return Ok(pa.table(columns))

        return run

    return how


def _believing(change: Callable[[dict[str, Any], Stats], None]) -> How:
    """Change a right answer by the statistics of the live files."""
    return by_files(lambda row, files: change(row, [each.get("stats") or {} for each in files]))


def _counted(row: dict[str, Any], files: Stats) -> None:
    """Count the records of the files, where each says how many it has."""
    if files and all("numRecords" in stats for stats in files):
        row["count"] = sum(stats["numRecords"] for stats in files)


def _known(row: dict[str, Any], files: Stats) -> None:
    """Count the records that are said to be there."""
    row["count"] = sum(stats.get("numRecords", 0) for stats in files)


def _bounded(row: dict[str, Any], files: Stats) -> None:
    """Take bounds for extremes, where each file has them."""
    for kind, function, of in (("minValues", "min", min), ("maxValues", "max", max)):
        for name, right in row.items():
            column = name.removeprefix(f"{function}(").removesuffix(")")
            bounds = [stats.get(kind, {}).get(column) for stats in files]
            same = all(isinstance(bound, type(right)) for bound in bounds)
            if name.startswith(function) and bounds and same and right is not None:
                row[name] = of(bounds)


def _to_milliseconds(row: dict[str, Any], _: Stats) -> None:
    for name, value in row.items():
        if hasattr(value, "microsecond"):
            row[name] = value.replace(microsecond=value.microsecond // 1000 * 1000)


def _as_texts(row: dict[str, Any], _: Stats) -> None:
    """Order numbers as texts, so that 9 is above 10."""
    low, high = row.get("min(p)"), row.get("max(p)")
    if isinstance(low, int) and isinstance(high, int):
        row["min(p)"], row["max(p)"] = sorted((low, high), key=str)


def _nulls_left_out(row: dict[str, Any], files: Stats) -> None:
    """Count what is not null."""
    for stats in files:
        row["count"] -= max(stats.get("nullCount", {}).values(), default=0)


def _bounds(slug: str, breaks: str, case: str) -> Any:
    return reader(slug, breaks, "answers", _believing(_bounded), case)


ROWS = (
    reader(
        "counts-the-records-of-files-with-vectors",
        "DVDESC-020",
        "answers",
        _believing(_counted),
        "deletion-vectors/aggregates*",
    ),
    reader(
        "counts-what-is-said-to-be-there", "SNAP-007", "answers", _believing(_known), "*/aggregate*"
    ),
    reader("counts-no-nulls", "SNAP-007", "answers", _believing(_nulls_left_out), "*/aggregate*"),
    reader("orders-numbers-as-texts", "SNAP-007", "answers", _believing(_as_texts), "*/aggregate*"),
    reader(
        "cuts-extremes-to-milliseconds",
        "SNAP-007",
        "answers",
        _believing(_to_milliseconds),
        "*/aggregates-of-cut-times/*",
    ),
    _bounds("takes-wide-bounds-for-extremes", "DVD-021", "*/aggregates-of-wide-bounds/*"),
    _bounds("takes-bounds-of-deleted-rows-for-extremes", "DVD-021", "deletion-vectors/aggregates*"),
    _bounds("takes-cut-bounds-for-extremes", "SNAP-007", "*/aggregates-of-cut-texts/*"),
)
