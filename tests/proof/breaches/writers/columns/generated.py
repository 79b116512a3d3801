"""Wrong writers of generated and identity columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import fields, parquet
from breaches.model import writer
from breaches.seams import carrying_out, doing_nothing, during, leaving


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


ROWS = (
    writer(
        "carries-out-gen-004", "GEN-004", carrying_out(), "generated-columns/write-other-value*"
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
        carrying_out(),
        "*/write-other-value-replace/*",
    ),
    writer(
        "updates-to-values-that-are-not-generated",
        "GEN-004",
        carrying_out(),
        "*/write-other-value-update/*",
    ),
    writer(
        "takes-null-for-every-generated-value",
        "GEN-004",
        carrying_out(),
        "*/write-other-value-null/*",
    ),
    writer(
        "takes-every-value-where-null-is-generated",
        "GEN-004",
        carrying_out(),
        "*/write-other-value-unknown/*",
    ),
    writer(
        "gives-generated-partitions-other-values",
        "GEN-004",
        carrying_out(),
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
    *(
        writer(
            f"{operation}s-past-generated-values-at-{version}",
            row,
            carrying_out(),
            f"version-requirements/write-generated-{operation}-{version}/*",
        )
        for version, row in ((4, "WVER-003"), (6, "WVER-007"))
        for operation in ("update", "merge", "overwrite")
    ),
)
