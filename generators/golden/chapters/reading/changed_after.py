"""Cases of state that changes after the summary that a reader starts from.

Covers "Action Reconciliation", "Checkpoints" and "Log Compaction Files". A checkpoint or a log
compaction holds the protocol, metadata, transactions, domains and files of its version. Commits
after it replace all of them, so that a reader whose summary beats newer commits is found out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import files_spec, publish
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import LAYOUTS, SUMMARIES, Summarise, checkpoint
from generators.golden.cases.table import (
    EPOCH,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    remove,
    txn,
    writer_protocol,
)
from generators.golden.chapters.files.deletion_vectors import (
    WITH_VECTORS,
    numbered,
    store,
    vector_table,
    with_vector,
)
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.oracle.delta_schema import field

AFTER: Final = Chapter("action-reconciliation", since="2025")
ORDERED: Final = Chapter("delta-log-entries", since="2025")

_SUMMARY: Final = 2
"""The version that the summary is of."""

_WRITERS = ("appendOnly", "changeDataFeed", "domainMetadata")

_CHECKPOINTED: Final = "REC-018 REC-012 REC-013 REC-004 REC-014 TXN-005 CKPT-005"
_COMPACTED: Final = "REC-018 REC-012 REC-013 REC-004 REC-014 TXN-005 COMP-011 COMP-012"
_SUMMED: Final = "REC-018 REC-013 REC-012 REC-004 REC-005 REC-014 TXN-005 CRC-002"

_SHAPES: Final[dict[str, tuple[str, Summarise]]] = {
    **{
        name: (_COMPACTED if name == "compaction" else _CHECKPOINTED, write)
        for name, write in SUMMARIES.items()
    },
    "checksum": (_SUMMED, GoldenTable.checksum),
    "all": (_CHECKPOINTED, LAYOUTS["all"].write),
    "compaction-of-the-changes": (_COMPACTED, lambda table, _: table.compact_log(_SUMMARY, 6)),
}


def _changed(case: CaseWriter, summarise: Summarise, *, parts: bool) -> None:
    # A table with V2 checkpoints has none of several parts.
    more = () if parts else ("v2Checkpoint",)
    readers = ("deletionVectors", *more)
    table = GoldenTable.of(
        case,
        PAIR,
        name="before",
        protocol=feature_protocol(readers, _WRITERS),
        properties={**WITH_VECTORS, "app.kept": "1", "app.changed": "1", "app.unset": "1"},
    )
    files = [table.file([{"id": 10 * n + m, "name": f"n{m}"} for m in (0, 1, 2)]) for n in range(4)]
    table.create(
        *(add(file) for file in files),
        txn("down", 9),
        txn("up", 1),
        domain("app.changed", "before"),
        domain("app.removed", "before"),
    )
    table.commit(table.metadata(description="before"), operation="SET TBLPROPERTIES")
    table.commit(
        add(table.file([{"id": 90, "name": "kept"}])),
        txn("kept", 5),
        txn("fallen", 8),
        domain("app.kept", "before"),
    )
    table.commit(
        txn("down", 3),
        txn("fallen", 4),
        txn("up", 2),
        txn("late", 2**53 + 1),
        domain("app.changed", "after"),
        domain("app.removed", "before", removed=True),
        domain("app.late", "after"),
        operation="STREAMING UPDATE",
    )
    (descriptor,) = store(table, [0, 2])
    table.commit(
        remove(files[0]),
        remove(files[1]),
        add(files[1], deletionVector=descriptor),
        add(files[2], dataChange=False, tags={"app.tag": "after"}, modificationTime=1),
        operation="DELETE",
    )
    table.name = None
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.properties = {**WITH_VECTORS, "app.kept": "1", "app.changed": "2"}
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.protocol = feature_protocol(readers, (*_WRITERS, "checkConstraints"))
    table.commit(
        table.protocol_action(),
        add(table.file([{"id": 91, "name": "new", "extra": 0.5}])),
        operation="UPGRADE PROTOCOL",
    )
    summarise(table, _SUMMARY)
    case.judged |= {"txn-down": "TXN-005", "txn-fallen": "TXN-005"}
    if summarise is GoldenTable.checksum:
        case.judged["domain-app-changed"] = "REC-005"
    publish(case, table, versions=range(_SUMMARY, table.version + 1))
    files_spec(case, table, _SUMMARY)
    for version in (None, _SUMMARY):
        for app in ("down", "fallen", "up", "kept", "late"):
            known = table.states[table.version if version is None else version].transactions
            txn_spec(case, app, known[app]["version"] if app in known else None, version)
        for name in ("app.changed", "app.removed", "app.kept", "app.late"):
            held = table.states[table.version if version is None else version].domains.get(name)
            live = held is not None and not held["removed"]
            domain_spec(case, name, held["configuration"] if held and live else None, version)


for _name, (_requirements, _summarise) in _SHAPES.items():
    AFTER.define(
        f"changed-after-{_name}",
        "The newest state counts, in a summary or after it",
        _requirements,
        partial(_changed, summarise=_summarise, parts=_name == "multi-part"),
    )


def _summed_up(case: CaseWriter, summarise: Summarise, *, parts: bool) -> None:
    readers = ("deletionVectors", *(() if parts else ("v2Checkpoint",)))
    table = GoldenTable.of(
        case,
        PAIR,
        protocol=feature_protocol(readers, ("clustering", "domainMetadata", "rowTracking")),
        properties=WITH_VECTORS,
    )
    files = [table.file([{"id": 2 * n + m, "name": "a"} for m in (0, 1)]) for n in range(4)]
    tracked: list[dict[str, Any]] = [
        {"baseRowId": 2 * n, "defaultRowCommitVersion": 1} for n in range(4)
    ]
    (vector,) = store(table, [1])
    said: list[dict[str, Any]] = [
        {"tags": {"app.tag": "kept"}},
        {"clusteringProvider": "app"},
        {"deletionVector": vector},
        {},
    ]
    table.create(domain("delta.clustering", '{"clusteringColumns":[["id"]]}'))
    table.commit(
        *(add(file, **more, **ids) for file, more, ids in zip(files, said, tracked, strict=True)),
        domain("delta.rowTracking", '{"rowIdHighWaterMark":7}'),
    )
    ids = {"baseRowId": 8, "defaultRowCommitVersion": 2}
    table.commit(
        add(table.file([{"id": 9, "name": "b"}]), **ids),
        domain("delta.rowTracking", '{"rowIdHighWaterMark":8}'),
    )
    summarise(table, _SUMMARY)
    case.judged["files-latest"] = "REC-018"
    publish(case, table)


for _name, _summarise in {**SUMMARIES, "v2-json": checkpoint("v2-json")}.items():
    AFTER.define(
        f"fields-of-files-in-{_name}",
        "All that a summary says of a file is known of it",
        "REC-018 COMP-011" if _name == "compaction" else "REC-018 CKPT-005",
        partial(_summed_up, summarise=_summarise, parts=_name == "multi-part"),
    )


def _lowered(case: CaseWriter, summarise: Summarise) -> None:
    table = GoldenTable.created(
        case,
        PAIR,
        [{"id": 1, "name": "a"}],
        protocol=feature_protocol(["deletionVectors"], ["appendOnly", "domainMetadata"]),
    )
    table.append([{"id": 2, "name": "b"}])
    table.append([{"id": 3, "name": "c"}])
    table.protocol = writer_protocol(["appendOnly"])
    table.commit(table.protocol_action(), operation="DROP FEATURE")
    table.protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    table.commit(table.protocol_action(), operation="DROP FEATURE")
    table.append([{"id": 4, "name": "d"}])
    summarise(table, _SUMMARY)
    publish(case, table)


LOWERED: Final = Chapter("action-reconciliation", since="upstream")

_LOWERED_AFTER: Final[dict[str, Summarise]] = {
    "commits": lambda _table, _version: None,
    "checkpoint": SUMMARIES["classic"],
}

for _name, _summarise in _LOWERED_AFTER.items():
    LOWERED.define(
        f"protocol-lowered-after-{_name}",
        "A protocol that lists less than before is in force as it stands",
        "REC-012 REC-002",
        partial(_lowered, summarise=_summarise),
    )


@ORDERED.case("actions-in-any-order", "FA-015 FA-013")
def _any_order(case: CaseWriter) -> None:
    """Adds before removes, and all else after them, mean the same."""
    last: Any = {"commitInfo": {"timestamp": EPOCH, "operation": "WRITE"}}
    table = vector_table(case, protocol=feature_protocol(["deletionVectors"], ["domainMetadata"]))
    file = table.file(numbered(6))
    table.commit(
        add(file), domain("app", "0"), txn("app", 0), table.metadata(), table.protocol_action()
    )
    first, second = store(table, [1], [1, 3])
    table.commit(
        *reversed(with_vector(file, first)),
        txn("app", 1),
        domain("app", "1"),
        last,
        with_info=False,
    )
    table.commit(*with_vector(file, second, first), domain("app", "2"), txn("app", 2))
    again = reversed(with_vector(file, first, second))
    table.commit(*again, txn("app", 3), domain("app", "3"), last, with_info=False)
    case.judged = dict.fromkeys(("read-latest", "read-v1", "txn-app", "domain-app"), "FA-015")
    publish(case, table)
    txn_spec(case, "app", 3)
    domain_spec(case, "app", "3")


@ORDERED.case("commit-info-amid", "FA-015 CINFO-003")
def _info_amid(case: CaseWriter) -> None:
    """What stands after commitInfo counts as what stands before it."""
    info: Any = {"commitInfo": {"timestamp": EPOCH, "operation": "WRITE"}}
    table = GoldenTable.of(case, PAIR, protocol=feature_protocol([], ["domainMetadata"]))
    first, second, third = (table.file([{"id": n, "name": f"n{n}"}]) for n in range(3))
    begun: Any = (table.metadata(), add(first), txn("app", 0), domain("app", "0"))
    table.commit(table.protocol_action(), info, *begun, with_info=False)
    table.commit(add(second), info, remove(first), txn("app", 1), with_info=False)
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.commit(
        txn("app", 2), info, table.metadata(), add(third), domain("app", "2"), with_info=False
    )
    slugs = ("read-latest", "read-v0", "read-v1", "files-latest", "txn-app", "domain-app")
    case.judged = dict.fromkeys(slugs, "FA-015")
    publish(case, table)
    txn_spec(case, "app", 2)
    domain_spec(case, "app", "2")
