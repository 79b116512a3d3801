"""Tables with a change feed, their change files, and questions about what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, MINUTE, GoldenTable, legacy_protocol
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.oracle.delta_schema import Struct, field

FEED = {"delta.enableChangeDataFeed": "true"}
_Change = tuple[str, int, Mapping[str, Any]]


def feed_table(case: CaseWriter, schema: Struct = PAIR, **options: Any) -> GoldenTable:
    """Start a table with the change feed on."""
    options = {"protocol": legacy_protocol(1, 4), "properties": FEED, **options}
    return GoldenTable.of(case, schema, **options)


def _change_schema(schema: Struct) -> Struct:
    return schema.with_fields(
        field("_change_type", "string"),
        field("_commit_version", "long"),
        field("_commit_timestamp", "timestamp"),
    )


def _instant(version: int) -> datetime:
    """Return when a version was committed."""
    return datetime.fromtimestamp((EPOCH + MINUTE * version) // 1000, UTC)


def _between(changes: Sequence[_Change], start: int, end: int | None) -> list[dict[str, Any]]:
    """Return the rows of a feed from a version to another, both included."""
    return [
        {**row, "_change_type": kind, "_commit_version": v, "_commit_timestamp": _instant(v)}
        for kind, v, row in changes
        if v >= start and (end is None or v <= end)
    ]


def _range(start: int, end: int | None) -> dict[str, Any]:
    return {"start": start} | ({} if end is None else {"end": end})


def ask_changes(  # noqa: PLR0913, PLR0917  a sentence: what, called what, from, to, gives what
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    start: int,
    end: int | None,
    changes: Sequence[_Change],
    title: str,
    **options: Any,
) -> None:
    """Write a changes spec; ``changes`` are (kind, version, row)."""
    schema, rows = _change_schema(table.schema), _between(changes, start, end)
    asked = _range(start, end)
    case.row_spec("changes", slug, schema, rows, title=title, parameters=asked, **options)


def _contest(  # noqa: PLR0913, PLR0917  as above
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    start: int,
    end: int | None,
    accepted: Sequence[Accepted],
    title: str,
) -> None:
    schema, asked = _change_schema(table.schema), _range(start, end)
    case.contest("changes", slug, accepted, title=title, schema=schema, parameters=asked)


def either_changes(  # noqa: PLR0913, PLR0917  as above
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    start: int,
    end: int | None,
    answers: Sequence[tuple[str, str, Sequence[_Change]]],
    title: str,
) -> None:
    """Write a changes spec that each of the answers meets, and no other."""
    accepted = [
        Accepted(name, source, rows=_between(changes, start, end))
        for name, source, changes in answers
    ]
    _contest(case, table, slug, start, end, accepted, title)


def each_row(kind: str, version: int, rows: Sequence[Mapping[str, Any]]) -> list[_Change]:
    """Return a change of one kind and version for each row."""
    return [(kind, version, row) for row in rows]


def change_file(
    table: GoldenTable,
    rows: Sequence[Mapping[str, Any]],
    kinds: Sequence[str],
    *,
    partition: Mapping[str, Any] | None = None,
    prefix: str = "_change_data/cdc",
) -> dict[str, Any]:
    """Write a change data file, whose path begins so, and return its ``cdc`` action."""
    layout = FileLayout(extra=(ExtraColumn("_change_type", pa.array(kinds)),))
    path = f"{prefix}-{table.unique_name('cdc')}.snappy.parquet"
    file = table.file(rows, path=path, layout=layout, partition=partition, statistics=False)
    body = {
        "path": file.path,
        "partitionValues": dict(file.body["partitionValues"]),
        "size": file.body["size"],
        "dataChange": False,
    }
    return {"cdc": body}


def contest_changes(  # noqa: PLR0913, PLR0917  a sentence: what, from, which answers, why
    case: CaseWriter,
    table: GoldenTable,
    start: int,
    changes: Sequence[_Change],
    sources: tuple[str, str],
    title: str,
    *,
    slug: str | None = None,
    end: int | None = None,
) -> None:
    """Write a changes spec that rows answer, or a refusal; ``sources`` speak for each."""
    given, refused = sources
    accepted = [
        Accepted("given", given, rows=_between(changes, start, end)),
        Accepted("refused", refused, refusal=Refusal("unsupported", "plan", "CDC-004")),
    ]
    _contest(case, table, slug or f"changes-from-{start}", start, end, accepted, title)
