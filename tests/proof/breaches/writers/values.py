"""Wrong writers of partition values, statistics and schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from breaches.edits import (
    CHANGES,
    COMMIT,
    columns,
    dropping,
    each,
    fields,
    nulls,
    parquet,
    schema,
    setting,
    statistics,
    types,
    unlisted,
)
from breaches.model import Breach, writer
from breaches.seams import leaving
from breaches.writers.features import after_step, doing_nothing
from breaches.writers.rules import LINEAR, NESTED, PARTS, _bounds, _partition

_LOSSES: Final[tuple[tuple[str, Callable[[Any], object], Callable[[Any], Any]], ...]] = (
    ("nan", pa.types.is_floating, lambda value: None if value != value else value),  # noqa: PLR0124
    ("fractions", pa.types.is_timestamp, lambda value: value.replace(microsecond=0)),
    ("signs", pa.types.is_int64, lambda value: max(value, -value - 1)),
    ("spaces", pa.types.is_string, str.strip),
    ("false", pa.types.is_boolean, lambda _: True),
    ("days", pa.types.is_date, lambda value: value.replace(day=1)),
)
"""What change files lose of the values of a type."""


def _unsigned(body: dict[str, Any]) -> dict[str, Any]:
    """Lose the signs of partition values."""
    values = body["partitionValues"].items()
    return {**body, "partitionValues": {name: text and text.lstrip("-") for name, text in values}}


def _each_value(
    wanted: Callable[[Any], object], change: Callable[[Any], Any]
) -> Callable[[pa.Table], pa.Table]:
    """Change each value of the columns of a type."""

    def changed(held: pa.ChunkedArray[Any]) -> pa.Array[Any]:
        return pa.array([v if v is None else change(v) for v in held.to_pylist()], held.type)

    return columns(lambda of: wanted(of.type), changed)


def _lost_in_changes() -> Iterator[Breach]:
    for slug, wanted, change in _LOSSES:
        yield writer(
            f"loses-{slug}-in-change-files",
            "CDC-012",
            leaving(parquet(_each_value(wanted, change), CHANGES)),
            "timestamp-ntz/write-changes-course-of-every-type/*",
        )
    yield writer(
        "loses-signs-of-partitions-of-change-files",
        "CDC-012",
        leaving(each("cdc", _unsigned, COMMIT)),
        "timestamp-ntz/write-changes-course-parted-by-every-type/*",
    )


ROWS = (
    *_lost_in_changes(),
    writer(
        "records-no-widening",
        "TW-006",
        leaving(fields(lambda f: f["metadata"].pop("delta.typeChanges", None))),
        "type-widening/write-widen/*",
    ),
    writer(
        "lists-no-timestamps-without-zone",
        "NTZ-002",
        leaving(unlisted("timestampNtz")),
        "timestamp-ntz/write-data*",
    ),
    writer(
        "lists-timestamps-without-zone-on-demand-alone",
        "NTZ-002",
        leaving(unlisted("timestampNtz")),
        "timestamp-ntz/write-*-unlisted/*",
    ),
    writer(
        "keeps-numbers-for-partition-values",
        "PART-001",
        leaving(_partition(lambda v: int(v) if re.fullmatch(r"-?\d+", v) else v)),
        f"{PARTS}integer*",
    ),
    writer(
        "rounds-partition-instants-up",
        "PART-008",
        leaving(_partition(lambda v: v.replace("1969-12-31T23:59:59", "1970-01-01T00:00:00"))),
        f"{PARTS}timestamp/*",
    ),
    writer(
        "pads-partition-texts",
        "PART-003",
        leaving(_partition(lambda v: f"{v} ")),
        f"{PARTS}string*",
    ),
    writer(
        "trims-partition-texts",
        "PART-003",
        leaving(_partition(str.strip)),
        "add-file-and-remove-file/write-odd-value-outer-spaces/*",
    ),
    writer(
        "leaves-paths-of-changes-unescaped",
        "ADD-004",
        leaving(setting("cdc", "path", unquote, COMMIT)),
        "add-file-and-remove-file/write-odd-changes/*",
    ),
    writer(
        "keeps-numbers-in-hexadecimal",
        "PART-004",
        leaving(_partition(lambda v: f"0x{v}")),
        f"{PARTS}integer*",
    ),
    writer(
        "keeps-dates-with-slashes",
        "PART-005",
        leaving(_partition(lambda v: v.replace("-", "/"))),
        f"{PARTS}date*",
    ),
    writer(
        "keeps-instants-otherwise",
        "PART-011",
        leaving(_partition(lambda v: v.replace(" ", "T"))),
        f"{PARTS}timestamp-ntz*",
    ),
    writer(
        "keeps-booleans-in-capitals",
        "PART-013",
        leaving(_partition(str.upper)),
        f"{PARTS}boolean*",
    ),
    writer(
        "keeps-bytes-otherwise",
        "PART-014",
        leaving(_partition(lambda v: v.encode().hex())),
        f"{PARTS}binary*",
    ),
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
        "calls-structs-otherwise",
        "SCH-021",
        leaving(schema(lambda t: t.update(type="record"))),
        LINEAR,
    ),
    writer(
        "leaves-fields-out",
        "SCH-022",
        leaving(schema(lambda t: t.pop("fields") and None)),
        LINEAR,
    ),
    writer(
        "leaves-names-out",
        "SCH-023",
        leaving(fields(lambda f: f.pop("name", None))),
        LINEAR,
    ),
    writer(
        "leaves-types-out",
        "SCH-024",
        leaving(fields(lambda f: f.pop("type", None))),
        LINEAR,
    ),
    writer(
        "leaves-nullable-out",
        "SCH-025",
        leaving(fields(lambda f: f.pop("nullable", None))),
        LINEAR,
    ),
    writer(
        "leaves-metadata-out",
        "SCH-026",
        leaving(fields(lambda f: f.pop("metadata", None))),
        LINEAR,
    ),
    writer(
        "leaves-elementType-out",
        "SCH-030",
        leaving(types("array", lambda t: t.pop("elementType"))),
        NESTED,
    ),
    writer(
        "leaves-containsNull-out",
        "SCH-031",
        leaving(types("array", lambda t: t.pop("containsNull"))),
        NESTED,
    ),
    writer(
        "leaves-keyType-out",
        "SCH-033",
        leaving(types("map", lambda t: t.pop("keyType"))),
        NESTED,
    ),
    writer(
        "leaves-valueType-out",
        "SCH-034",
        leaving(types("map", lambda t: t.pop("valueType"))),
        NESTED,
    ),
    writer(
        "keeps-instants-without-zone",
        "SCH-015",
        leaving(
            parquet(
                lambda t: t.cast(
                    pa.schema(
                        [
                            f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
                            for f in t.schema
                        ]
                    )
                )
            )
        ),
        "data-files/write-append-types*",
    ),
    writer(
        "keeps-zoneless-instants-with-zone",
        "SCH-019",
        leaving(
            parquet(
                lambda t: t.cast(
                    pa.schema(
                        [
                            f.with_type(pa.timestamp("us", "UTC"))
                            if pa.types.is_timestamp(f.type)
                            else f
                            for f in t.schema
                        ]
                    )
                )
            )
        ),
        "timestamp-ntz/write-data*",
    ),
    writer(
        "loses-what-is-said-of-columns",
        "SCH-037",
        after_step(2, leaving(fields(lambda f: f.update(metadata={})))),
        "schema-serialization-format/write-*",
    ),
    writer(
        "fills-nulls-of-generated-columns",
        "GEN-005",
        doing_nothing("append"),
        "generated-columns/write-generated*",
    ),
    writer(
        "checkpoints-no-reader-features",
        "CKSCH-008",
        leaving(dropping("protocol", "readerFeatures", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "checkpoints/write-everything*",
    ),
    writer(
        "checkpoints-no-writer-features",
        "CKSCH-009",
        leaving(dropping("protocol", "writerFeatures", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "checkpoints/write-everything*",
    ),
    writer(
        "knows-no-identity-at-6",
        "WVER-005",
        leaving(parquet(columns(lambda of: of.name == "k", nulls))),
        "version-requirements/write-identity-6*",
    ),
    writer(
        "maps-nothing-at-5",
        "WVER-004",
        after_step(
            1, leaving(parquet(lambda t: t.rename_columns([f"x{n}" for n in t.column_names])))
        ),
        "column-mapping/write-turn-on-legacy*",
    ),
)
