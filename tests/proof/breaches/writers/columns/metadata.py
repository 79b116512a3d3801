"""Wrong writers of the fields of metadata, and of table properties."""

from __future__ import annotations

from breaches.edits import COMMIT, dropping, properties, setting, without
from breaches.model import LINEAR, writer
from breaches.seams import doing_nothing, during, leaving


def _without_kept(found: dict[str, str]) -> None:
    found.pop("kept", None)


ROWS = (
    writer(
        "creates-without-metadata",
        "META-001",
        leaving(without("metaData", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-the-id-out",
        "META-004",
        leaving(dropping("metaData", "id", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-the-format-out",
        "META-007",
        leaving(dropping("metaData", "format", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-the-schema-out",
        "META-008",
        leaving(dropping("metaData", "schemaString", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-partition-columns-out",
        "META-009",
        leaving(dropping("metaData", "partitionColumns", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-the-configuration-out",
        "META-011",
        leaving(dropping("metaData", "configuration", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "names-another-format",
        "META-012",
        leaving(setting("metaData", "format.provider", 7, COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-options-a-list",
        "META-013",
        leaving(setting("metaData", "format.options", [1], COMMIT)),
        LINEAR,
    ),
    writer(
        "forgets-properties",
        "META-011",
        doing_nothing("set_properties"),
        "change-metadata/write-properties*",
    ),
    writer(
        "creates-without-formats",
        "META-003",
        leaving(dropping("metaData", "format", where=COMMIT)),
        "change-metadata/write-*",
    ),
    writer(
        "unsets-what-nobody-named",
        "META-011",
        during("unset_properties", properties(_without_kept, COMMIT)),
        "table-features/write-settings-course/*",
    ),
    writer(
        "forgets-partitions-with-a-property",
        "META-009",
        during("set_properties", setting("metaData", "partitionColumns", [], COMMIT)),
        "iceberg-compatibility-v1/write-enable-later/*",
    ),
)
