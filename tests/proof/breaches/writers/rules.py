"""Wrong writers of actions and rules: fields, rows, protocols, statistics, partition values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from breaches.edits import (
    CHANGES,
    COMMIT,
    Action,
    Lines,
    doubling,
    dropping,
    each,
    fields,
    lines,
    parquet,
    renaming,
    setting,
    statistics,
    unlisted,
    without,
)
from breaches.model import Ask, How, writer
from breaches.seams import asking, by_request, carrying_out, during, leaving
from breaches.writers.features import after_step, doing_nothing
from conformance.adapter import Answer, Request, Write
from reference_impl import Table


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


@by_request
def _in_two_commits(ask: Ask, request: Request) -> Answer:
    """Record the progress in a commit of its own, before that of its rows."""
    if isinstance(request, Write) and "txn" in request.arguments:
        arguments = {**request.arguments}
        ask(Write(request.table, "set_txn", arguments.pop("txn")))
        request = replace(request, arguments=arguments)
    return ask(request)


_OWN = {"domain": "delta.myEngine.stats", "configuration": "{}", "removed": False}
_GONE = {"domain": "theirs", "configuration": "", "removed": True}


def _adding_domain(body: Action, when: Callable[[Lines], bool]) -> Any:
    """Write a domain into the commits of which something holds."""
    domain = {"domainMetadata": body}
    return leaving(lines(lambda found: [*found, domain] if when(found) else found, COMMIT))


def _partition(change: Any) -> Any:
    def changed(body: dict[str, Any]) -> dict[str, Any]:
        values = body.get("partitionValues") or {}
        return {
            **body,
            "partitionValues": {k: v if v is None else change(v) for k, v in values.items()},
        }

    return each("add", changed, COMMIT)


def _bounds(name: str, change: Any) -> Any:
    def changed(found: Any) -> None:
        found[name] = {
            k: change(v) if isinstance(v, int) else v for k, v in found.get(name, {}).items()
        }

    return statistics(changed)


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


def _listing_for_readers_alone(_body: dict[str, Any]) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 6, "readerFeatures": []}


LINEAR = "delta-log-entries/write-linear*"
DELETED = "add-file-and-remove-file/write-delete-all*"
FEED = "change-data-files/write-changes/*"
PARTS = "partition-value-serialization/write-"
NESTED = "data-files/write-nested*"

_CARRIED = {
    "APP-002": "append-only-tables/write-delete*",
    "CHK-006": "check-constraints/write-false*",
    "CHK-009": "check-constraints/write-add-false*",
    "CHK-010": "check-constraints/write-add-null*",
    "DFT-008": "default-columns/write-add-with-default*",
    "DOM-015": "domain-metadata/write-system-set*",
    "DOM-016": "domain-metadata/write-system-remove*",
    "GEN-004": "generated-columns/write-other-value*",
    "INV-005": "column-invariants/write-false*",
    "INV-006": "column-invariants/write-null*",
    "PROTO-006": "protocol-evolution/write-unknown-version*",
    "SCH-025": "schema-serialization-format/write-null-refused*",
    "SCH-028": "schema-serialization-format/write-add-taken-name*",
    "TF-003": "table-features/write-unknown-feature*",
    "TF-016": "table-features/write-drop-domainmetadata-needed*",
    "VPC-002": "vacuum-protocol-check/write-unknown-feature*",
    "WVER-007": "version-requirements/write-constraint-6*",
    "WVER-002": "version-requirements/write-constraint-3*",
    "WVER-001": "version-requirements/write-append-only-4*",
    "TW-002": "type-widening/write-not-enabled*",
    "TW-003": "type-widening/write-refused-narrower*",
    "CAT-011": "catalog-managed-tables/write-append*",
    "CAT-016": "catalog-managed-tables/write-delete*",
    "CAT-019": "catalog-managed-tables/write-cleanup*",
    "CAT-020": "catalog-managed-tables/write-vacuum*",
    "CAT-021": "catalog-managed-tables/write-optimize*",
    "DFT-010": "default-columns/write-variant-default*",
}
"""What has to be refused: the row that it breaks, and the recipe."""

ROWS = (
    *(
        writer(f"carries-out-{row.lower()}", row, carrying_out(), case)
        for row, case in _CARRIED.items()
    ),
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
    *(
        writer(
            f"leaves-{name}-of-adds-out",
            row,
            leaving(dropping("add", name, where=COMMIT)),
            LINEAR,
        )
        for row, name in (
            ("ADD-001", "path"),
            ("ADD-005", "partitionValues"),
            ("ADD-006", "size"),
            ("ADD-007", "modificationTime"),
            ("ADD-008", "dataChange"),
        )
    ),
    *(
        writer(
            f"leaves-{name}-of-removes-out",
            row,
            leaving(dropping("remove", name, where=COMMIT)),
            DELETED,
        )
        for row, name in (("REM-001", "path"), ("REM-004", "dataChange"), ("REM-007", "size"))
    ),
    writer(
        "tells-wrong-sizes",
        "ADD-006",
        leaving(setting("add", "size", 3, COMMIT)),
        LINEAR,
    ),
    writer(
        "changes-rows-as-a-move",
        "ADD-009",
        leaving(setting("add", "dataChange", value=False, where=COMMIT)),
        LINEAR,
    ),
    writer(
        "removes-rows-as-a-move",
        "REM-005",
        leaving(setting("remove", "dataChange", value=False, where=COMMIT)),
        DELETED,
    ),
    writer(
        "updates-rows-as-a-move",
        "ADD-009",
        leaving(
            lines(
                lambda found: (
                    [{"add": {**a["add"], "dataChange": False}} if "add" in a else a for a in found]
                    if any("remove" in a for a in found)
                    else None
                ),
                COMMIT,
            )
        ),
        "add-file-and-remove-file/write-update*",
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
        "adds-a-file-twice-in-a-commit",
        "FA-012",
        leaving(doubling("add", lambda b: {**b, "modificationTime": 5})),
        LINEAR,
    ),
    writer(
        "leaves-partition-values-out",
        "WCON-002",
        leaving(setting("add", "partitionValues", {}, COMMIT)),
        f"{PARTS}string*",
    ),
    writer("leaves-change-files-out", "CDC-012", leaving(without("cdc", where=COMMIT)), FEED),
    writer(
        "feeds-on-old-versions-nothing",
        "CDC-011",
        after_step(1, leaving(without("cdc", where=COMMIT))),
        "version-requirements/write-feed-4*",
    ),
    *(
        writer(
            f"feeds-no-{name}-on-old-versions",
            "CDC-011",
            during(name, without("cdc", where=COMMIT)),
            "version-requirements/write-feed-[56]*",
        )
        for name in ("delete", "update", "merge")
    ),
    writer(
        "feeds-version-4-nothing",
        "WVER-003",
        leaving(without("cdc", where=COMMIT)),
        "version-requirements/write-feed-4*",
    ),
    writer(
        "keeps-change-files-elsewhere",
        "CDFF-001",
        leaving(
            renaming(CHANGES, lambda n: n.replace("_change_data", "changes")),
            each("cdc", lambda b: {**b, "path": b["path"].replace("_change_data", "changes")}),
        ),
        FEED,
    ),
    writer(
        "tells-no-kind-of-change",
        "CDFF-007",
        leaving(parquet(lambda t: t.drop_columns(["_change_type"]), CHANGES)),
        FEED,
    ),
    writer(
        "tells-other-kinds-of-changes",
        "CDFF-008",
        leaving(
            parquet(
                lambda t: t.set_column(
                    t.column_names.index("_change_type"),
                    "_change_type",
                    pa.array(["update"] * len(t)),
                ),
                CHANGES,
            )
        ),
        FEED,
    ),
    writer(
        "tells-wrong-sizes-of-changes",
        "CDC-008",
        leaving(setting("cdc", "size", 3, COMMIT)),
        FEED,
    ),
    writer(
        "leaves-values-of-changes-out",
        "CDC-007",
        leaving(dropping("cdc", "partitionValues", where=COMMIT)),
        FEED,
    ),
    writer(
        "drops-domains-when-altering",
        "DOM-014",
        _adding_domain(
            _GONE,
            lambda found: (
                any("metaData" in a for a in found) and not any("add" in a for a in found)
            ),
        ),
        "domain-metadata/write-kept-when-altered*",
    ),
    writer(
        "commits-txn-before-its-rows",
        "TXN-004",
        _in_two_commits,
        "transaction-identifiers/write-with-rows*",
    ),
    writer(
        "forgets-txn-of-rows",
        "TXN-004",
        leaving(without("txn")),
        "transaction-identifiers/write-with-rows*",
    ),
    writer(
        "forgets-txn",
        "TXN-004",
        leaving(without("txn")),
        "transaction-identifiers/write-progress*",
    ),
    writer(
        "names-no-application",
        "TXN-001",
        leaving(dropping("txn", "appId", where=COMMIT)),
        "transaction-identifiers/write-progress*",
    ),
    writer(
        "tells-versions-of-txn-as-text",
        "TXN-002",
        leaving(setting("txn", "version", str, COMMIT)),
        "transaction-identifiers/write-progress*",
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
        "keeps-a-domain-of-its-own",
        "DOM-007",
        _adding_domain(_OWN, lambda found: any("add" in a for a in found)),
        "domain-metadata/write-kept-when-rearranged*",
    ),
    writer(
        "drops-domains-when-rearranging",
        "DOM-014",
        _adding_domain(_GONE, lambda found: {"add", "remove"} <= {key for a in found for key in a}),
        "domain-metadata/write-kept-when-rearranged*",
    ),
    writer(
        "drops-domains-when-overwriting",
        "DOM-014",
        _adding_domain(_GONE, lambda found: {"add", "remove"} <= {key for a in found for key in a}),
        "domain-metadata/write-kept-when-overwritten*",
    ),
    writer(
        "removes-domains-of-systems-it-does-not-know",
        "DOM-016",
        _adding_domain(
            {**_OWN, "domain": "delta.fromAnotherWorld", "removed": True},
            lambda found: any("add" in a for a in found),
        ),
        "domain-metadata/write-kept-*",
    ),
    writer(
        "names-no-domain",
        "DOM-001",
        leaving(dropping("domainMetadata", "domain", where=COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "configures-domains-by-objects",
        "DOM-002",
        leaving(setting("domainMetadata", "configuration", {"a": 1}, COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "tells-removed-as-text",
        "DOM-003",
        leaving(setting("domainMetadata", "removed", "false", COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "loses-domains",
        "DOM-001",
        leaving(without("domainMetadata")),
        "domain-metadata/write-domains*",
    ),
    writer(
        "loses-unknown-domains-at-checkpoints",
        "DOM-014",
        leaving(without("domainMetadata", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "domain-metadata/write-unknown-kept*",
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
    writer(
        "keeps-the-lock",
        "APP-004",
        doing_nothing("delete"),
        "append-only-tables/write-after-unlocking*",
    ),
    *(
        writer(
            f"keeps-the-lock-of-{operation}",
            "APP-004",
            doing_nothing(operation),
            "append-only-tables/write-after-un*",
        )
        for operation in ("update", "merge", "overwrite")
    ),
    writer(
        "forgets-the-feed-at-later-versions",
        "WVER-007",
        leaving(without("cdc", where=COMMIT)),
        "version-requirements/write-feed-*",
    ),
)
