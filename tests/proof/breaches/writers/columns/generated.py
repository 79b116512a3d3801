"""Wrong writers of generated and identity columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import COMMIT, Edit, each, fields, parquet
from breaches.model import How, writer
from breaches.seams import asking, doing_nothing, during, leaving
from conformance.adapter import Request, Write


def _zeros(rows: pa.Table) -> pa.Table:
    """Write zero where the generated column is null."""
    at = rows.schema.get_field_index("y")
    return rows.set_column(at, "y", pc.fill_null(rows["y"], 0))


def _not_generated_again(rows: pa.Table) -> pa.Table:
    if "y" not in rows.column_names:
        return rows
    at = rows.schema.get_field_index("y")
    kept = [2 if value == 14 else value for value in rows.column(at).to_pylist()]
    return rows.set_column(at, rows.field(at), pa.array(kept, rows.field(at).type))


def _storing(x: int | None, y: int | None, *more: Edit) -> How:
    """Store a value of the generated column that its expression does not give.

    Args:
        x: the value of its source in the row.
        y: what is stored.
        more: what is done to the files of the step beside it.
    """
    fitting = None if x is None else 2 * x

    def given(rows: pa.Table, was: int | None, now: int | None) -> pa.Table:
        if not {"x", "y"} <= {*rows.column_names}:
            return rows
        pairs = zip(rows["x"].to_pylist(), rows["y"].to_pylist(), strict=True)
        found = [now if held == x and value == was else value for held, value in pairs]
        at = rows.schema.get_field_index("y")
        return rows.set_column(at, rows.field(at), pa.array(found, rows.field(at).type))

    def asked(request: Request) -> Request:
        if not isinstance(request, Write):
            return request
        arguments = dict(request.arguments)
        if "y" in arguments.get("set", {}):
            arguments["set"] = {"y": {"literal": str(fitting), "type": "long"}}
        held = request.rows
        rows = None if held is None else given(held, y, fitting)
        return replace(request, arguments=arguments, rows=rows)

    edits = leaving(parquet(lambda rows: given(rows, fitting, y)), *more)
    return lambda ask: asking(asked)(edits(ask))


def _of_partition(add: dict[str, Any]) -> dict[str, Any]:
    return {**add, "partitionValues": {"y": "5"}} if add["partitionValues"]["y"] == "4" else add


ROWS = (
    writer(
        "carries-out-gen-004", "GEN-004", _storing(2, 5), "generated-columns/write-other-value/*"
    ),
    writer(
        "counts-identities-by-zero",
        "IDN-004",
        leaving(
            fields(
                lambda field: (
                    field["metadata"].update({"delta.identity.step": 0})
                    if "delta.identity.step" in field["metadata"]
                    else None
                )
            )
        ),
        "identity-columns/write-down*",
    ),
    writer(
        "fills-nulls-of-generated-columns",
        "GEN-005",
        doing_nothing("append"),
        "generated-columns/write-generated*",
    ),
    writer(
        "replaces-with-values-that-are-not-generated",
        "GEN-004",
        _storing(2, 5),
        "*/write-other-value-replace/*",
    ),
    writer(
        "updates-to-values-that-are-not-generated",
        "GEN-004",
        _storing(1, 5),
        "*/write-other-value-update/*",
    ),
    writer(
        "takes-null-for-every-generated-value",
        "GEN-004",
        _storing(2, None),
        "*/write-other-value-null/*",
    ),
    writer(
        "takes-every-value-where-null-is-generated",
        "GEN-004",
        _storing(None, 5),
        "*/write-other-value-unknown/*",
    ),
    writer(
        "gives-generated-partitions-other-values",
        "GEN-004",
        _storing(2, 5, each("add", _of_partition, COMMIT)),
        "generated-columns/write-other-value-partition/*",
    ),
    *(
        writer(
            f"generates-zeros-in-{operation}s",
            "GEN-005",
            during(operation, parquet(_zeros)),
            "generated-columns/write-null-results-of-changes/*",
        )
        for operation in ("update", "merge")
    ),
    *(
        writer(
            f"generates-not-again-at-{version}",
            row,
            leaving(parquet(_not_generated_again)),
            f"version-requirements/write-generated-again-{version}/*",
        )
        for version, row in ((4, "WVER-003"), (6, "WVER-007"))
    ),
    writer(
        "takes-any-value-for-generated-at-4",
        "WVER-003",
        _storing(3, 5),
        "version-requirements/write-generated-4/*",
    ),
    *(
        writer(
            f"{operation}s-past-generated-values-at-{version}",
            row,
            _storing(x, y),
            f"version-requirements/write-generated-{operation}-{version}/*",
        )
        for version, row in ((4, "WVER-003"), (6, "WVER-007"))
        for operation, x, y in (("update", 3, 9), ("merge", 1, 3), ("overwrite", 1, 3))
    ),
)
