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
)
