"""Cases of tables that a later commit redefines, and of state that comes back as it was.

Covers "Add File and Remove File", "Action Reconciliation" and "Checkpoints". Readers should not
assume an order of the actions in a commit: one that takes what a table is when it meets the first
file goes by the definition before. The latest action wins: one that passes over an action which it
has seen before goes by what was in between. Files that are rearranged after a checkpoint replace
those of the checkpoint, though no data changes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import publish
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import (
    GoldenTable,
    add,
    domain,
    feature_protocol,
    remove,
    txn,
    writer_protocol,
)
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS, store, with_vector
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.oracle.delta_schema import field, struct

REDEFINED: Final = Chapter("delta-log-entries", since="2025")
RETURNED: Final = Chapter("action-reconciliation", since="2025")
REARRANGED: Final = Chapter("checkpoints", since="2025")


@REDEFINED.case("redefined-after-files", "FA-015 REC-012 REC-013")
def _redefined(case: CaseWriter) -> None:
    """Metadata and protocol of later commits hold for the files above them."""
    table = GoldenTable.of(case, struct(id="long", name="string"))
    old = table.file([{"id": 1, "name": "a"}])
    table.create(add(old))
    table.schema = table.schema.with_fields(field("extra", "double"))
    new = table.file([{"id": n, "name": "b", "extra": n / 2} for n in (2, 3, 4)])
    table.commit(add(new), remove(old), table.metadata(), operation="REPLACE TABLE")
    table.protocol = feature_protocol(["deletionVectors"])
    table.properties = dict(WITH_VECTORS)
    (vector,) = store(table, [1])
    table.commit(
        *with_vector(new, vector), table.metadata(), table.protocol_action(), operation="DELETE"
    )
    case.judged = {
        "read-v0": "SNAP-007", "snapshot-v0": "REC-003", "snapshot-v1": "REC-013",
        "snapshot-latest": "FA-015", "files-latest": "REC-018",
    }  # fmt: skip
    publish(case, table)


def _returned(case: CaseWriter, summary: str | None) -> None:
    table = GoldenTable.of(
        case, struct(id="long", name="string"), protocol=writer_protocol(["domainMetadata"])
    )
    former, first = table.schema, table.file([{"id": 1, "name": "a"}])
    kept = (add(first), txn("app", 1), domain("app", "a"))
    table.create(*kept)
    table.schema = former.with_fields(field("extra", "double"))
    second = table.file([{"id": 2, "name": "b", "extra": 0.5}])
    table.commit(table.metadata(), remove(first), add(second), txn("app", 2), domain("app", "b"))
    table.schema = former
    table.commit(table.metadata(), remove(second), *kept, operation="RESTORE")
    table.append([{"id": 3, "name": "c"}])
    if summary is not None:
        SUMMARIES[summary](table, 2)
    case.judged |= {"txn-app": "TXN-005", "domain-app": "REC-014", "snapshot-latest": "REC-013"}
    publish(case, table)
    txn_spec(case, "app", 1)
    domain_spec(case, "app", "a")


for _summary in (None, "compaction"):
    RETURNED.define(
        f"state-returns-in-{_summary or 'commits'}",
        "What comes back as it was is in force again",
        "REC-018 REC-013 REC-014 TXN-005" + (" COMP-012" if _summary else ""),
        partial(_returned, summary=_summary),
    )


def _rearranged(case: CaseWriter, summary: str) -> None:
    more = ["v2Checkpoint"] if summary.startswith("v2") else []
    table = GoldenTable.of(case, struct(id="long", name="string"), protocol=feature_protocol(more))
    old = [table.file([{"id": n, "name": "a"}]) for n in (1, 2)]
    table.create(add(old[0]))
    table.commit(add(old[1]))
    SUMMARIES[summary](table, 1)
    whole = table.file([row for file in old for row in file.rows])
    table.commit(
        *(remove(file, dataChange=False) for file in old),
        add(whole, dataChange=False),
        operation="OPTIMIZE",
    )
    table.append([{"id": 3, "name": "late"}])
    case.judged |= {"files-latest": "REC-018", "read-latest": "CKC-027", "read-v2": "REC-018"}
    publish(case, table)


for _summary in ("classic", "v2-json-sidecars"):
    REARRANGED.define(
        f"rearranged-after-{_summary}",
        "Files that are rearranged after a checkpoint replace its files",
        "CKC-027 REC-018",
        partial(_rearranged, summary=_summary),
    )
