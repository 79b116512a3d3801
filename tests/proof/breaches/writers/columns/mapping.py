"""Wrong writers of column mapping: names and ids in the schema and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    CHANGES,
    CHECKPOINTS,
    COMMIT,
    FIELD_ID,
    PHYSICAL_NAME,
    each,
    fields,
    parquet,
    schema,
    setting_property,
    statistics,
    struct_fields,
    unlisted,
)
from breaches.model import writer
from breaches.seams import Edit, after_step, carrying_out, doing_nothing, during, leaving
from breaches.views import bodies, partition_values


def _numbered_again(tree: Any) -> None:
    for number, field in enumerate(struct_fields(tree), 1):
        field["metadata"]["delta.columnMapping.id"] = number


_HIGHEST = "delta.columnMapping.maxColumnId"


def _renamed_columns(change: Any) -> Edit:
    return parquet(lambda t: t.rename_columns([change(n) for n in t.column_names]))


def _no_field_ids(table: pa.Table) -> pa.Table:
    plain = [field.remove_metadata() for field in table.schema]
    return table.cast(pa.schema(plain))


def _mapped(field: Any, change: Any) -> None:
    if PHYSICAL_NAME in field["metadata"]:
        change(field)


def _inner_renamed(tree: Any) -> None:
    """Change the physical names of the fields within columns."""
    for column in tree["fields"]:
        for field in struct_fields(column["type"]):
            field["metadata"][PHYSICAL_NAME] += "-again"


def _same_ids(field: Any) -> None:
    if FIELD_ID in field["metadata"]:
        field["metadata"][FIELD_ID] = 1


def _same_names(field: Any) -> None:
    if PHYSICAL_NAME in field["metadata"]:
        field["metadata"][PHYSICAL_NAME] = "c"


MAPPED = "column-mapping/write-changes-by-*"


COLUMNS = "column-mapping/write-columns*"


def _unnumbered(tree: Any) -> None:
    """Take the ids of fields within columns."""
    for column in tree["fields"]:
        for each_field in struct_fields(column["type"]):
            each_field["metadata"].pop("delta.columnMapping.id", None)


def _by_logical_names(body: dict[str, Any]) -> dict[str, Any]:
    if len(json.loads(body["configuration"])["clusteringColumns"]) < 2:
        return body
    return {**body, "configuration": '{"clusteringColumns":[["id"],["label"]]}'}


def _by_number(found: Any) -> None:
    for name in ("minValues", "maxValues", "nullCount"):
        found[name] = {str(n): value for n, value in enumerate(found.get(name, {}).values())}


def _numberless(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def _with_earlier_name(root: Path, fresh: frozenset[str]) -> None:
    """Give a new column the name in files of the one that was dropped."""
    found = [json.loads(body["schemaString"])["fields"] for body in bodies(root, "metaData")]
    names = [field["metadata"].get(PHYSICAL_NAME) for fields_of in found for field in fields_of]
    now = {field["metadata"].get(PHYSICAL_NAME) for field in found[-1]}
    gone = [name for name in names if name and name not in now]

    def renamed(field: Any) -> None:
        if gone and names.count(field["metadata"].get(PHYSICAL_NAME)) == 1:
            field["metadata"][PHYSICAL_NAME] = gone[-1]

    fields(renamed, COMMIT)(root, fresh)


def _by_logical_name(root: Path, fresh: frozenset[str]) -> None:
    """Write variants by the name that the schema has for them."""
    known = {
        field["metadata"]["delta.columnMapping.physicalName"]: field["name"]
        for body in bodies(root, "metaData")
        for field in json.loads(body["schemaString"])["fields"]
        if field["type"] == "variant"
    }
    parquet(lambda rows: rows.rename_columns([known.get(n, n) for n in rows.column_names]))(
        root, fresh
    )


def _unmapped_numbers(field: dict[str, Any]) -> None:
    """Forget the physical name of an identity column as its mark is written."""
    if "delta.identity.step" in field["metadata"]:
        field["metadata"].pop("delta.columnMapping.physicalName", None)


def _named_as_shown(field: Any) -> None:
    if PHYSICAL_NAME in field["metadata"]:
        field["metadata"][PHYSICAL_NAME] = field["name"]


def _by_shown_names(root: Path, fresh: frozenset[str]) -> None:
    """Key the partition values of checkpoints by the names that people see."""
    shown = {
        field["metadata"].get(PHYSICAL_NAME): field["name"]
        for body in bodies(root, "metaData")
        for field in struct_fields(json.loads(body["schemaString"]))
    }
    partition_values(
        lambda values, _: {shown.get(name, name): text for name, text in values.items()},
        where=CHECKPOINTS,
    )(root, fresh)


ROWS = (
    writer(
        "maps-columns-without-names",
        "CM-001",
        leaving(fields(lambda f: f["metadata"].pop(PHYSICAL_NAME, None))),
        MAPPED,
    ),
    writer(
        "maps-columns-without-ids",
        "CM-002",
        leaving(fields(lambda f: f["metadata"].pop(FIELD_ID, None))),
        MAPPED,
    ),
    writer("gives-physical-names-twice", "CM-003", leaving(fields(_same_names)), MAPPED),
    writer("gives-column-ids-twice", "CM-004", leaving(fields(_same_ids)), MAPPED),
    writer(
        "stores-columns-by-other-names",
        "CM-013",
        leaving(_renamed_columns(lambda n: f"x{n}")),
        MAPPED,
    ),
    writer("stores-no-field-ids", "CM-015", leaving(parquet(_no_field_ids)), MAPPED),
    writer(
        "lowers-the-highest-column-id",
        "CM-020",
        leaving(setting_property(_HIGHEST, "1")),
        MAPPED,
    ),
    writer(
        "changes-physical-names",
        "CM-014",
        after_step(
            2,
            leaving(
                fields(
                    lambda f: _mapped(
                        f, lambda g: g["metadata"].update({PHYSICAL_NAME: f"col-{g['name']}"})
                    )
                )
            ),
        ),
        COLUMNS,
    ),
    writer(
        "names-inner-fields-anew-with-a-new-column",
        "CM-014",
        after_step(3, leaving(schema(_inner_renamed))),
        "column-mapping/write-add-nested-by-id/*",
    ),
    writer(
        "numbers-no-new-columns",
        "CM-019",
        after_step(6, leaving(fields(lambda f: f["metadata"].pop(FIELD_ID, None)))),
        COLUMNS,
    ),
    writer(
        "lets-users-set-the-highest-id",
        "CM-021",
        carrying_out(),
        "column-mapping/write-own-ids*",
    ),
    writer(
        "turns-mapping-on-in-name-alone",
        "CM-010",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on-legacy*",
    ),
    writer(
        "turns-mapping-on-without-mode",
        "CM-012",
        doing_nothing("set_properties"),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "turns-mapping-on-under-new-names",
        "CM-014",
        during(
            "set_properties",
            fields(
                lambda f: _mapped(
                    f, lambda g: g["metadata"].update({PHYSICAL_NAME: f"c-{g['name']}"})
                )
            ),
        ),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "turns-mapping-on-without-the-feature",
        "CM-011",
        leaving(unlisted("columnMapping")),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "numbers-columns-again-when-it-replaces",
        "CM-022",
        during("replace", schema(_numbered_again, COMMIT)),
        "row-tracking/write-replace-mapped/*",
    ),
    writer(
        "turns-mapping-on-for-writers-alone",
        "CM-011",
        leaving(unlisted("columnMapping", "readerFeatures")),
        "column-mapping/write-turn-on/*",
    ),
    writer(
        "keys-statistics-by-no-names",
        "CM-017",
        leaving(statistics(_by_number)),
        "column-mapping/write-changes-by-*",
    ),
    writer(
        "numbers-no-fields-within-new-columns",
        "CM-002",
        during("add_columns", schema(_unnumbered, COMMIT)),
        "column-mapping/write-add-nested-*",
    ),
    writer(
        "clusters-by-logical-names",
        "CM-035",
        leaving(each("domainMetadata", _by_logical_names, COMMIT)),
        "clustered-table/write-mapped/*",
    ),
    writer(
        "numbers-no-columns-of-changes",
        "CM-015",
        leaving(parquet(_numberless, CHANGES)),
        "*/write-mapped-by-name/*",
    ),
    writer(
        "gives-a-new-column-an-old-name",
        "CM-034",
        during("add_columns", _with_earlier_name),
        "column-mapping/write-columns-course-by-name/*",
    ),
    writer(
        "updates-without-ids-of-fields",
        "CM-015",
        during(
            "update",
            parquet(
                lambda rows: rows.cast(
                    pa.schema([field.remove_metadata() for field in rows.schema])
                )
            ),
        ),
        "column-mapping/write-changes-course-by-id/*",
    ),
    writer(
        "unmaps-identity-columns",
        "CM-001",
        during("merge", fields(_unmapped_numbers, COMMIT)),
        "identity-columns/write-whole-course-with-features/*",
    ),
    writer(
        "stores-variants-by-logical-names",
        "CM-013",
        leaving(_by_logical_name),
        "variant-type/write-variants-mapped/*",
    ),
    writer(
        "lets-users-set-the-highest-id-with-the-mode",
        "CM-021",
        carrying_out(),
        "column-mapping/write-own-ids-turned-on/*",
    ),
    writer(
        "creates-columns-under-their-names",
        "CM-018",
        during("create", fields(_named_as_shown, COMMIT)),
        "column-mapping/write-columns/*",
    ),
    writer(
        "checkpoints-values-by-logical-names",
        "CM-016",
        during("checkpoint", _by_shown_names),
        "column-mapping/write-changes-by-id/*",
    ),
)
