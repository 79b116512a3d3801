"""Wrong writers of Iceberg compatibility."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    COMMIT,
    dropping,
    fields,
    parquet,
    schema,
    setting_property,
    struct_fields,
    uncounted,
    within_columns,
    without_statistic,
)
from breaches.model import writer
from breaches.seams import carrying_out, during, leaving
from breaches.views import bodies


def _without_partitions(root: Path, fresh: frozenset[str]) -> None:
    """Leave the columns of partition values out of files."""
    gone = {name for body in bodies(root, "add") for name in body["partitionValues"]}

    def change(table: pa.Table) -> pa.Table:
        return table.drop_columns([n for n in table.column_names if n in gone])

    parquet(change)(root, fresh)


ICE1 = "iceberg-compatibility-v1/write-changes*"


ICE2 = "iceberg-compatibility-v2/write-changes*"


def _null_partitions(root: Path, fresh: frozenset[str]) -> None:
    names = {name for body in bodies(root, "add") for name in body["partitionValues"]}

    def change(table: pa.Table) -> pa.Table:
        for at, field in enumerate(table.schema):
            if field.name in names:
                table = table.set_column(at, field, pa.nulls(len(table), field.type))
        return table

    parquet(change)(root, fresh)


_REPLACED = "iceberg-compatibility-v2/write-nested-replaced/*"

_NESTED_IDS = "delta.columnMapping.nested.ids"


def _without_nested_ids(field: Any) -> None:
    field["metadata"].pop(_NESTED_IDS, None)


def _ids_at_the_top(tree: Any) -> None:
    """Keep the ids of what is in a column with the column, though a field is nearer."""
    for top in tree["fields"]:
        for field in struct_fields(top["type"]):
            found = field["metadata"].pop(_NESTED_IDS, {})
            if found:
                top["metadata"].setdefault(_NESTED_IDS, {}).update(found)


ROWS = (
    writer(
        "leaves-partitions-out-of-files-1",
        "ICE1-007",
        leaving(_without_partitions),
        ICE1,
    ),
    writer(
        "leaves-partitions-out-of-files-2",
        "ICE2-015",
        leaving(_without_partitions),
        ICE2,
    ),
    writer(
        "puts-partitions-first",
        "ICE1-008",
        leaving(parquet(lambda t: t.select(list(reversed(t.column_names))))),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-1",
        "ICE1-009",
        leaving(uncounted()),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-2",
        "ICE2-016",
        leaving(uncounted()),
        ICE2,
    ),
    *(
        writer(
            f"restores-iceberg-{version}-unmapped",
            f"ICE{version}-005",
            during("restore", setting_property("delta.columnMapping.mode", "none")),
            f"iceberg-compatibility-v{version}/write-restore-enabled/*",
        )
        for version in (1, 2)
    ),
    writer(
        "unmaps-iceberg-1",
        "ICE1-005",
        leaving(setting_property("delta.columnMapping.mode", "none")),
        ICE1,
    ),
    writer(
        "unmaps-iceberg-2",
        "ICE2-005",
        leaving(setting_property("delta.columnMapping.mode", "none")),
        ICE2,
    ),
    writer(
        "mixes-iceberg-1-and-vectors",
        "ICE1-006",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-2-and-vectors",
        "ICE2-014",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-1-and-2",
        "ICE2-013",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-first*",
    ),
    writer(
        "takes-arrays-under-iceberg-1",
        "ICE1-010",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-later-array*",
    ),
    writer(
        "repartitions-under-iceberg-1",
        "ICE1-011",
        carrying_out(),
        "iceberg-compatibility-v1/write-replace-part*",
    ),
    writer(
        "repartitions-under-iceberg-2",
        "ICE2-019",
        carrying_out(),
        "iceberg-compatibility-v2/write-replace-part*",
    ),
    writer(
        "stores-instants-as-int96",
        "ICE2-017",
        leaving(parquet(lambda t: t, use_deprecated_int96_timestamps=True)),
        "iceberg-compatibility-v2/write-*",
    ),
    writer(
        "merges-without-partitions-1",
        "ICE1-007",
        during("merge", _without_partitions),
        "iceberg-compatibility-v1/write-merge*",
    ),
    writer(
        "overwrites-without-partitions-2",
        "ICE2-015",
        during("overwrite", _without_partitions),
        "iceberg-compatibility-v2/write-merge*",
    ),
    writer(
        "merges-uncounted-1",
        "ICE1-009",
        during("merge", dropping("add", "stats", where=COMMIT)),
        "iceberg-compatibility-v1/write-merge*",
    ),
    writer(
        "overwrites-uncounted-2",
        "ICE2-016",
        during("overwrite", dropping("add", "stats", where=COMMIT)),
        "iceberg-compatibility-v2/write-merge*",
    ),
    writer(
        "restores-without-counts-under-iceberg",
        "ICE2-016",
        during("restore", without_statistic("numRecords")),
        "iceberg-compatibility-v2/write-merge/*",
    ),
    writer(
        "stores-nulls-for-partitions",
        "ICE2-015",
        leaving(_null_partitions),
        "iceberg-compatibility-v2/write-changes*",
    ),
    writer(
        "optimizes-partitions-out-of-files",
        "ICE1-007",
        during("optimize", parquet(lambda rows: rows.drop_columns(rows.column_names[-1:]))),
        "iceberg-compatibility-v1/write-moves-course/*",
    ),
    writer(
        "updates-partitions-out-of-files",
        "ICE2-015",
        during("update", parquet(lambda rows: rows.drop_columns(rows.column_names[-1:]))),
        "iceberg-compatibility-v2/write-changes-course/*",
    ),
    *(
        writer(
            f"numbers-no-elements-in-{operation}s",
            "ICE2-012",
            during(operation, within_columns(lambda field: field.remove_metadata())),
            "iceberg-compatibility-v2/write-nested-ids/*",
        )
        for operation in ("update", "merge")
    ),
    *(
        writer(
            f"repartitions-by-another-{which}-column-{version}",
            row,
            carrying_out(),
            f"iceberg-compatibility-v{version}/write-replace-partitions-{which}/*",
        )
        for version, row in ((1, "ICE1-011"), (2, "ICE2-019"))
        for which in ("first", "second")
    ),
    *(
        writer(
            f"repartitions-by-{which}-columns-{version}",
            row,
            carrying_out(),
            f"iceberg-compatibility-v{version}/write-replace-partitions-{which}/*",
        )
        for version, row in ((1, "ICE1-011"), (2, "ICE2-019"))
        for which in ("more", "fewer")
    ),
    *(
        writer(
            f"replaces-with-elements-without-{what}",
            row,
            during("replace", how),
            _REPLACED,
        )
        for what, row, how in (
            ("ids", "ICE2-006", fields(_without_nested_ids, COMMIT)),
            ("stored-ids", "ICE2-012", within_columns(lambda field: field.remove_metadata())),
        )
    ),
    writer(
        "keeps-nested-ids-at-the-top",
        "ICE2-008",
        during("replace", schema(_ids_at_the_top, COMMIT)),
        _REPLACED,
    ),
    writer(
        "stores-nested-instants-as-int96",
        "ICE2-017",
        leaving(parquet(lambda t: t, use_deprecated_int96_timestamps=True)),
        _REPLACED,
    ),
)
