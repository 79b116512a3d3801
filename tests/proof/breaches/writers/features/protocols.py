"""Wrong writers of protocols: versions and lists of features, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    CHECKPOINT,
    COMMIT,
    columns,
    dropping,
    each,
    fields,
    nulls,
    parquet,
    properties,
    schema,
    setting,
    unlisted,
    within_columns,
    without,
)
from breaches.model import LINEAR, writer
from breaches.seams import after_step, afterwards, carrying_out, during, leaving
from breaches.views import partition_values


def _no_vectors(root: Path) -> None:
    for path in root.glob("*.bin"):
        path.unlink()


def _one_for_another(body: dict[str, Any]) -> dict[str, Any]:
    listed = body.get("writerFeatures") or []
    kept = [name for name in listed if name != "checkConstraints" or "changeDataFeed" not in listed]
    return {**body, "writerFeatures": kept} if listed else body


def _renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns([f"x{name}" for name in table.column_names])


def _listing_for_readers_alone(_body: dict[str, Any]) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 6, "readerFeatures": []}


def _losing(key: str) -> Callable[[Any], object]:
    return lambda column: column["metadata"].pop(key, None)


def _last_unmapped(tree: Any) -> None:
    tree["fields"][-1]["metadata"] = {}


def _by_another_name(values: dict[str, Any], _path: str) -> dict[str, Any]:
    return {f"x{name}": value for name, value in values.items()}


def _by_zero(field: Any) -> None:
    if "delta.identity.step" in field["metadata"]:
        field["metadata"]["delta.identity.step"] = 0


ROWS = (
    writer(
        "carries-out-proto-006",
        "PROTO-006",
        carrying_out(),
        "protocol-evolution/write-unknown-version*",
    ),
    writer("carries-out-tf-003", "TF-003", carrying_out(), "table-features/write-unknown-feature*"),
    writer(
        "carries-out-tf-016",
        "TF-016",
        carrying_out(),
        "table-features/write-drop-domainmetadata-needed*",
    ),
    writer(
        "carries-out-vpc-002",
        "VPC-002",
        carrying_out(),
        "vacuum-protocol-check/write-unknown-feature*",
    ),
    writer(
        "carries-out-wver-007",
        "WVER-007",
        carrying_out(),
        "version-requirements/write-constraint-6*",
    ),
    writer(
        "carries-out-wver-002",
        "WVER-002",
        carrying_out(),
        "version-requirements/write-constraint-3*",
    ),
    writer(
        "carries-out-wver-001",
        "WVER-001",
        carrying_out(),
        "version-requirements/write-append-only-4*",
    ),
    writer(
        "feeds-version-4-nothing",
        "WVER-003",
        leaving(without("cdc", where=COMMIT)),
        "version-requirements/write-feed-4*",
    ),
    writer(
        "leaves-the-reader-version-out",
        "PROTO-001",
        leaving(dropping("protocol", "minReaderVersion", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-the-writer-version-out",
        "PROTO-002",
        leaving(dropping("protocol", "minWriterVersion", where=COMMIT)),
        LINEAR,
    ),
    writer(
        "leaves-reader-features-out",
        "PROTO-003",
        leaving(dropping("protocol", "readerFeatures", where=COMMIT)),
        "table-features/write-created-for-readers*",
    ),
    writer(
        "leaves-writer-features-out",
        "PROTO-004",
        leaving(dropping("protocol", "writerFeatures", where=COMMIT)),
        "table-features/write-created-for-writers*",
    ),
    writer(
        "creates-with-one-list",
        "TF-008",
        leaving(dropping("protocol", "readerFeatures", where=COMMIT)),
        "table-features/write-created-for-readers*",
    ),
    writer(
        "creates-with-reader-list",
        "TF-007",
        leaving(setting("protocol", "readerFeatures", [], COMMIT)),
        "table-features/write-created-for-writers*",
    ),
    writer(
        "creates-on-3-and-6",
        "TF-009",
        leaving(each("protocol", _listing_for_readers_alone, COMMIT)),
        LINEAR,
    ),
    writer(
        "writes-3-without-7",
        "RVER-003",
        leaving(each("protocol", _listing_for_readers_alone, COMMIT)),
        LINEAR,
    ),
    writer(
        "lists-for-readers-alone",
        "TF-020",
        leaving(unlisted("deletionVectors", "writerFeatures")),
        "table-features/write-created-for-readers*",
    ),
    writer(
        "loses-features-when-it-upgrades",
        "TF-012",
        leaving(unlisted("changeDataFeed")),
        "table-features/write-upgrade*",
    ),
    writer(
        "forgets-the-feed-at-later-versions",
        "WVER-007",
        leaving(without("cdc", where=COMMIT)),
        "version-requirements/write-feed-*",
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
    writer(
        "counts-by-zero-at-6",
        "WVER-005",
        leaving(fields(_by_zero)),
        "version-requirements/write-identity-6*",
    ),
    writer(
        "knows-no-invariants-at-2",
        "WVER-001",
        carrying_out(),
        "version-requirements/write-invariant-2/*",
    ),
    writer(
        "appends-by-the-protocol-of-a-checkpoint",
        "TF-003",
        carrying_out(),
        "table-features/write-unknown-feature-later/*",
    ),
    writer(
        "vacuums-by-the-protocol-of-a-checkpoint",
        "VPC-002",
        carrying_out(),
        "vacuum-protocol-check/write-unknown-feature-later/*",
    ),
    writer(
        "vacuums-vectors-before-it-refuses",
        "VPC-002",
        afterwards(_no_vectors),
        "vacuum-protocol-check/write-unknown-feature-vectors/*",
    ),
    writer(
        "forgets-constraints-when-it-upgrades",
        "TF-012",
        leaving(unlisted("checkConstraints")),
        "table-features/write-upgrade*",
    ),
    writer(
        "stores-columns-by-other-names-at-5",
        "WVER-004",
        leaving(parquet(_renamed)),
        "version-requirements/write-mapped-5*",
    ),
    writer(
        "stores-columns-by-other-names-at-6",
        "WVER-007",
        leaving(parquet(_renamed)),
        "version-requirements/write-mapped-6*",
    ),
    writer(
        "enables-one-feature-for-another",
        "TF-016",
        leaving(each("protocol", _one_for_another, COMMIT)),
        "table-features/write-enable-several*",
    ),
    *(
        writer(
            f"leaves-{rule}-to-version-2",
            "WVER-007",
            carrying_out(),
            f"version-requirements/write-{rule}-6/*",
        )
        for rule in ("invariant", "append-only")
    ),
    writer(
        "comments-at-unknown-versions",
        "PROTO-006",
        carrying_out(),
        "*/write-unknown-version-set-comment/*",
    ),
    writer(
        "upgrades-unknown-versions",
        "PROTO-006",
        carrying_out(),
        "*/write-unknown-version-enable-feature/*",
    ),
    writer(
        "upgrades-without-the-mapping-of-readers",
        "TF-012",
        during("enable_feature", unlisted("columnMapping", "readerFeatures", where=COMMIT)),
        "*/write-upgrade-mapped/*",
    ),
    writer(
        "restores-files-without-vectors",
        "SNAP-008",
        during("restore", dropping("add", "deletionVector", where=COMMIT)),
        "table-features/write-moves-course/*",
    ),
    writer(
        "enables-one-feature-and-disables-another",
        "TF-016",
        during("enable_feature", unlisted("inCommitTimestamp", where=COMMIT)),
        "table-features/write-settings-course/*",
    ),
    *(
        writer(
            f"brings-a-feature-by-{operation.replace('_', '-')}-in-the-place-of-another",
            "TF-016",
            during(operation, unlisted("appendOnly", where=COMMIT)),
            "table-features/write-enable-by-property/*",
        )
        for operation in ("set_properties", "add_constraint")
    ),
    writer(
        "clusters-and-drops-a-feature-out-of-use",
        "TF-016",
        during("cluster_by", unlisted("invariants", where=COMMIT)),
        "clustered-table/write-cluster-vectors/*",
    ),
    writer(
        "converts-with-one-list-of-features",
        "TF-008",
        during("convert", dropping("protocol", "writerFeatures", where=COMMIT)),
        "deletion-vectors/write-convert/*",
    ),
    writer(
        "adds-unmapped-columns-at-5",
        "WVER-004",
        during("add_columns", schema(_last_unmapped)),
        "version-requirements/write-mapped-5/*",
    ),
    *(
        writer(
            f"forgets-{slug}-at-{version}",
            breaks,
            during("add_columns", fields(_losing(key))),
            f"version-requirements/write-kept-{version}/*",
        )
        for slug, version, breaks, key in (
            ("invariants", 2, "WVER-001", "delta.invariants"),
            ("expressions", 4, "WVER-003", "delta.generationExpression"),
        )
    ),
    writer(
        "forgets-constraints-at-3",
        "WVER-002",
        during("set_properties", properties(lambda found: found.pop("delta.constraints.c", None))),
        "version-requirements/write-kept-3/*",
    ),
    writer(
        "forgets-marks-at-6",
        "WVER-005",
        leaving(fields(_losing("delta.identity.highWaterMark"))),
        "version-requirements/write-identity-6/*",
    ),
    writer(
        "renames-columns-at-writer-version-8",
        "PROTO-006",
        carrying_out(),
        "protocol-evolution/write-unknown-version-rename-column/*",
    ),
    *(
        writer(
            f"knows-no-identity-in-{operation}s-at-6",
            "WVER-005",
            during(operation, parquet(columns(lambda of: of.name == "k", nulls))),
            "version-requirements/write-identity-6-changed/*",
        )
        for operation in ("merge", "overwrite")
    ),
    writer(
        "feeds-no-overwrite-on-old-versions",
        "CDC-011",
        during("overwrite", without("cdc", where=COMMIT)),
        "version-requirements/write-feed-overwritten/*",
    ),
    *(
        writer(
            f"{slug}-at-{version}",
            breaks,
            how,
            f"version-requirements/write-mapped-partitions-{version}/*",
        )
        for version, breaks in ((5, "WVER-004"), (6, "WVER-007"))
        for slug, how in (
            (
                "removes-by-other-partition-names",
                leaving(partition_values(_by_another_name, "remove", COMMIT)),
            ),
            (
                "numbers-no-nested-fields",
                leaving(within_columns(lambda of: of.remove_metadata())),
            ),
        )
    ),
    *(
        writer(
            f"checkpoints-without-{slug}-at-{version}",
            "WVER-002" if version == 3 else "WVER-007",
            leaving(dropping("add", field, where=CHECKPOINT)),
            f"version-requirements/write-statistics-{version}/*",
        )
        for version in (3, 4, 5, 6)
        for slug, field in (
            ("statistics-as-text", "stats"),
            ("statistics-as-structs", "stats_parsed"),
            ("typed-values", "partitionValues_parsed"),
        )
    ),
)
