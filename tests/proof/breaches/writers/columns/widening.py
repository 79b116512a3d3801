"""Wrong writers of type widening and of timestamps without zone."""

from __future__ import annotations

from typing import Any

from breaches.edits import COMMIT, fields, properties, unlisted
from breaches.model import writer
from breaches.seams import carrying_out, during, leaving
from breaches.writers.columns.schema import losing


def _recorded_again(field: Any) -> None:
    if field["name"] == "x":
        record = {"fromType": "integer", "toType": "long"}
        field["metadata"]["delta.typeChanges"] = [record]


def _without_places(field: Any) -> None:
    for record in field.get("metadata", {}).get("delta.typeChanges", ()):
        record.pop("fieldPath", None)


ROWS = (
    writer("carries-out-tw-002", "TW-002", carrying_out(), "type-widening/write-not-enabled*"),
    writer("carries-out-tw-003", "TW-003", carrying_out(), "type-widening/write-refused-narrower*"),
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
        "drops-type-widening-but-for-structs",
        "TW-011",
        during("drop_feature", fields(_recorded_again, COMMIT)),
        "type-widening/write-drop-feature/*",
    ),
    writer(
        "forgets-where-a-type-was-widened",
        "TW-008",
        leaving(fields(_without_places, COMMIT)),
        "type-widening/write-nested-record*",
    ),
    writer(
        "leaves-widening-on",
        "TW-011",
        during(
            "drop_feature",
            properties(lambda kept: kept.update({"delta.enableTypeWidening": "true"}), COMMIT),
        ),
        "type-widening/write-drop-feature/*",
    ),
    losing("delta.typeChanges", "rename_column", "TW-009", "renames-away-a-record", "type-w*"),
    losing("delta.typeChanges", "set_nullable", "TW-009", "loosens-away-a-record", "type-w*"),
    losing("delta.typeChanges", "set_default", "TW-009", "defaults-away-a-record", "type-w*"),
    writer(
        "forgets-records-when-a-column-comes",
        "TW-009",
        during(
            "add_columns",
            fields(lambda field: field["metadata"].pop("delta.typeChanges", None) and None, COMMIT),
        ),
        "type-widening/write-columns-course/*",
    ),
)
