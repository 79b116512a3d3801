"""Wrong writers that keep a promise in one operation, and not in the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from breaches.edits import (
    CHANGES,
    COMMIT,
    COMPACTION,
    DATA,
    each,
    fields,
    parquet,
    properties,
    statistics,
    without,
)
from breaches.model import Ask, Breach, How, writer
from breaches.seams import Edit, carrying_out, during, leaving
from breaches.views import bodies
from conformance.adapter import Answer, Refused, Request, Write

_PROVENANCE: Final = "delta.inCommitTimestampEnablement"


def _unprovenanced(found: dict[str, str]) -> None:
    for name in [*found]:
        if name.startswith(_PROVENANCE):
            del found[name]


def _since(operation: str, edit: Edit) -> How:
    """Go wrong in what an operation leaves, and all steps after it."""

    def how(ask: Ask) -> Ask:
        seen: list[bool] = []
        inner = leaving(lambda root, fresh: edit(root, fresh) if seen else None)(ask)

        def run(request: Request) -> Answer:
            if isinstance(request, Write) and request.operation == operation:
                seen.append(True)
            return inner(request)

        return run

    return how


def _losing(key: str, operation: str, breaks: str, slug: str, case: str) -> Breach:
    """Lose a key of column metadata from an operation on."""
    lost = fields(lambda field: field["metadata"].pop(key, None) and None, COMMIT)
    return writer(slug, breaks, "actions", _since(operation, lost), case)


def _numberless(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def _dead_rows_checked(ask: Ask) -> Ask:
    """Refuse a constraint for rows that a vector deleted."""

    def run(request: Request) -> Answer:
        adding = isinstance(request, Write) and request.operation == "add_constraint"
        if adding and any(b.get("deletionVector") for b in bodies(Path(request.table), "add")):
            return Refused("constraint", "commit", "a row breaks the constraint")
        return ask(request)

    return run


def _defaulted(table: pa.Table) -> pa.Table:
    at = table.column_names.index("name")
    return table.set_column(at, table.field(at), table.column("name").fill_null("none"))


def _rounded(found: Any) -> None:
    for kind in ("minValues", "maxValues"):
        bounds = found.get(kind, {})
        found[kind] = {k: int(float(v)) if type(v) is int else v for k, v in bounds.items()}


def _timeless_lost(body: dict[str, Any]) -> dict[str, Any] | None:
    return body if body.get("deletionTimestamp") is not None else None


def _spelled_twice(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": body["path"].replace("%", "%25")}


ROWS = (
    writer(
        "compacts-without-removes-of-no-time",
        "COMP-007",
        "actions",
        leaving(each("remove", _timeless_lost, COMPACTION)),
        "*/write-compaction-given/*",
    ),
    writer(
        "forgets-since-when-in-an-alter",
        "ICT-010",
        "actions",
        during("add_columns", properties(_unprovenanced, COMMIT)),
        "*/write-enabled-then-altered/*",
    ),
    writer(
        "numbers-no-columns-of-changes",
        "CM-015",
        "files",
        leaving(parquet(_numberless, CHANGES)),
        "*/write-mapped-by-name/*",
    ),
    writer(
        "removes-by-another-spelling",
        "SNAP-008",
        "actions",
        leaving(each("remove", _spelled_twice, COMMIT), sums=True),
        "*/write-odd-changes/*",
    ),
    writer(
        "feeds-no-changes-of-overwrites",
        "CDC-012",
        "actions",
        during("overwrite", without("cdc", where=COMMIT)),
        "*/write-overwrite-where/*",
    ),
    _losing("delta.typeChanges", "rename_column", "TW-009", "renames-away-a-record", "type-w*"),
    _losing("delta.typeChanges", "set_nullable", "TW-009", "loosens-away-a-record", "type-w*"),
    _losing("delta.typeChanges", "set_default", "TW-009", "defaults-away-a-record", "type-w*"),
    _losing(
        "delta.generationExpression",
        "set_nullable",
        "SCH-037",
        "loosens-away-an-expression",
        "generated-columns/write-kept-by-nullable/*",
    ),
    writer(
        "merges-rows-that-break",
        "CHK-006",
        "answers",
        carrying_out(),
        "*/write-broken-merge-match*",
    ),
    writer(
        "checks-one-file-for-a-constraint",
        "CHK-010",
        "answers",
        carrying_out(),
        "*/write-add-broken-between/*",
    ),
    writer(
        "checks-deleted-rows-for-a-constraint",
        "CHK-009",
        "answers",
        _dead_rows_checked,
        "*/write-add-after-vectors/*",
    ),
    writer(
        "updates-nulls-to-the-default",
        "DFT-006",
        "files",
        during("update", parquet(_defaulted, DATA)),
        "*/write-update-null/*",
    ),
    writer(
        "rounds-bounds-of-longs",
        "STAT-012",
        "actions",
        leaving(statistics(_rounded, COMMIT)),
        "*/write-exact-statistics/*",
    ),
)
