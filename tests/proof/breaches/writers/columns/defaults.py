"""Wrong writers of default values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import DATA, parquet
from breaches.model import How, writer
from breaches.seams import (
    Edit,
    asking,
    carrying_out,
    during,
    leaving,
    where_asked,
    writing,
)
from breaches.views import bodies, spelled_values
from conformance.adapter import Write
from reference_impl import Table

_DEFAULTS = "default-columns/write-"


def _without_column(name: str) -> Edit:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(name)
        kept = [value if value == 5 else None for value in rows.column(at).to_pylist()]
        return rows.set_column(at, rows.field(at), pa.array(kept, rows.field(at).type))

    return parquet(change)


def _unmapped(root: Path, fresh: frozenset[str]) -> None:
    """Leave the default of the second column out, whatever files call it."""
    column = json.loads(next(bodies(root, "metaData"))["schemaString"])["fields"][1]
    name = column["metadata"]["delta.columnMapping.physicalName"]
    _without_column(name)(root, fresh)


def _first_default(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("name")
    kept = ["first" if value == "second" else value for value in rows.column(at).to_pylist()]
    return rows.set_column(at, rows.field(at), pa.array(kept, rows.field(at).type))


def _nameless(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("name")
    return rows.set_column(at, rows.field(at), pa.nulls(rows.num_rows, rows.field(at).type))


def _defaulted(name: str) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        return table.set_column(at, table.field(at), table.column(name).fill_null("none"))

    return changed


def _bringing(change: Any) -> How:
    """Change the rows that a step brings."""

    def changed(request: Any) -> Any:
        if isinstance(request, Write) and request.rows is not None:
            return replace(request, rows=change(request.rows))
        return request

    return asking(changed)


def _without_nulls_columns(table: pa.Table) -> pa.Table:
    """Take a column of nulls for one that was not given."""
    return table.drop_columns(
        [n for n in table.column_names if table.column(n).null_count == len(table)]
    )


def _nulls_for_the_rest(request: Any) -> Any:
    """Bring nulls for the columns that rows lack."""
    if not isinstance(request, Write) or request.rows is None or request.operation != "append":
        return request
    rows = request.rows
    for column in Table(request.table).snapshot().schema.fields:
        if column.name not in rows.column_names:
            kind = pa.string() if str(column.type) == "string" else pa.int64()
            rows = rows.append_column(column.name, pa.nulls(len(rows), kind))
    return replace(request, rows=rows)


ROWS = (
    writer(
        "carries-out-dft-008", "DFT-008", carrying_out(), "default-columns/write-add-with-default*"
    ),
    writer(
        "ignores-defaults",
        "DFT-005",
        asking(_nulls_for_the_rest),
        "default-columns/write-default*",
    ),
    writer(
        "takes-null-for-no-value",
        "DFT-006",
        _bringing(_without_nulls_columns),
        "default-columns/write-default*",
    ),
    *(
        writer(f"defaults-not-{name}", "DFT-005", leaving(edit), f"{_DEFAULTS}{case}/*")
        for name, case, edit in (
            ("by-expressions", "default-expression", _without_column("n")),
            ("where-mapped", "default-mapped", _unmapped),
            ("by-the-last-value", "set-default-again", parquet(_first_default)),
            (
                "partitions",
                "default-partition",
                spelled_values(lambda v: "a" if v == "none" else v),
            ),
        )
    ),
    writer(
        "leaves-defaults-out-of-merges",
        "DFT-005",
        during("merge", parquet(_nameless)),
        "default-columns/write-merge-with-default*",
    ),
    writer(
        "updates-nulls-to-the-default",
        "DFT-006",
        during("update", parquet(_defaulted("name"), DATA)),
        "*/write-update-null/*",
    ),
    writer(
        "defaults-the-null-of-one-row",
        "DFT-006",
        during("append", parquet(_defaulted("d"), DATA)),
        "default-columns/write-columns-course/*",
    ),
    *(
        writer(
            f"defaults-nulls-in-{operation}",
            "DFT-006",
            where_asked(writing(operation), _bringing(_without_nulls_columns)),
            "default-columns/write-overwrite-null/*",
        )
        for operation in ("overwrite", "replace")
    ),
)
