"""Cases of log compaction files."""

from __future__ import annotations

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import ask_changes, change_file, each_row, feed_table
from generators.golden.cases.publish import aggregated, describe, publish, publish_timed
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import (
    GoldenTable,
    add,
    domain,
    feature_protocol,
    pairs,
    remove,
    txn,
    writer_protocol,
)
from generators.golden.chapters.files.deletion_vectors import store, vector_table, with_vector
from generators.golden.chapters.log.checkpoints import grown
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.materialise.log.files import LOG_DIRECTORY, compaction_name, json_text
from generators.oracle.delta_schema import field

COMPACTION = Chapter("log-compaction-files")


@COMPACTION.case("one-range", "COMP-001 COMP-002 COMP-004 COMP-005 COMP-011 COMP-012", since="2025")
def _one_range(case: CaseWriter) -> None:
    """A compaction stands in for the commits of its range."""
    table = grown(case, 8)
    table.compact_log(2, 5)
    publish(case, table)


@COMPACTION.case("overlapping", "COMP-010 COMP-011 COMP-012", since="2025")
def _overlapping(case: CaseWriter) -> None:
    """Overlapping compactions give the same answer."""
    table = grown(case, 10)
    for start, end in ((0, 4), (2, 6), (5, 9)):
        table.compact_log(start, end)
    publish(case, table, versions=[3, 4, 5, 6, 8, 9])


@COMPACTION.case("with-checkpoint", "COMP-011 COMP-012 CKPT-003", since="2025")
def _with_checkpoint(case: CaseWriter) -> None:
    """A compaction after or across a checkpoint agrees."""
    table = grown(case, 9)
    table.checkpoint(version=4)
    table.compact_log(2, 6)
    table.compact_log(5, 8)
    publish(case, table, log_info={"lastCheckpointVersion": 4})


@COMPACTION.case("every-action", "COMP-004 COMP-011 COMP-012 DV-003")
def _every_action(case: CaseWriter) -> None:
    """A compaction stands in for every kind of action of its range."""
    protocol = feature_protocol(["deletionVectors"], ["domainMetadata"])
    properties = {"delta.enableDeletionVectors": "true"}
    table = GoldenTable.of(case, PAIR, protocol=protocol, properties=properties)
    file = table.create_with([{"id": n, "name": "x"} for n in range(4)])
    table.commit(remove(file), add(file, deletionVector=store(table, [1, 2])[0]))
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.properties["later"] = "1"
    table.commit(table.metadata(), txn("app", 4), domain("app.d", "held"))
    table.append([{"id": 9, "name": "y", "extra": 0.5}])
    table.compact_log(1, 2)
    slugs = ("files-latest", "read-latest", "snapshot-latest", "txn-app", "domain-app-d")
    case.judged = dict.fromkeys(slugs, "COMP-012")
    publish(case, table, versions=[2])
    txn_spec(case, "app", 4, title="The transaction of the range is known")
    domain_spec(case, "app.d", "held", title="The domain of the range is set")


@COMPACTION.case("vector-changed-inside", "COMP-006 COMP-011 COMP-012 REC-018 DV-003")
def _vector_changed_inside(case: CaseWriter) -> None:
    """A compaction tells of one file under each vector that it had."""
    table = vector_table(case)
    file, other = (table.file([{"id": n + s, "name": "x"} for n in range(4)]) for s in (0, 10))
    table.create(add(file), add(other))
    one, two, three = store(table, [1], [1, 2], [1, 2, 3])
    table.commit(*with_vector(file, one), operation="DELETE")
    table.commit(*with_vector(file, two, one), operation="DELETE")
    table.commit(*with_vector(file, three, two), operation="DELETE")
    table.compact_log(1, 3)
    table.commit(*with_vector(other, store(table, [0])[0]), operation="DELETE")
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v3"), "COMP-012")
    publish(case, table, versions=[2, 3, 4])


@COMPACTION.case("in-a-long-log", "COMP-011 COMP-012 REC-018 DV-003")
def _in_a_long_log(case: CaseWriter) -> None:
    """What follows a compaction counts commit by commit, in their order."""
    table = vector_table(case)
    marked, back, brief, late, last = (
        table.file([{"id": 10 * part + n, "name": f"n{n}"} for n in range(4)]) for part in range(5)
    )
    table.create(add(marked), add(back))
    table.commit(add(brief), txn("app", 1))
    table.commit(remove(back), txn("app", 2))
    table.compact_log(1, 2)
    one, two = store(table, [1], [1, 2])
    table.commit(*with_vector(marked, one))
    table.commit(add(back), txn("app", 4))
    table.commit(*with_vector(marked, two, one))
    table.commit(remove(brief))
    # A commit of more than some kilobytes.
    table.commit(add(late, tags={"note": "n" * 20_000}))
    table.commit(*with_vector(back, store(table, [0, 3])[0]), txn("app", 8))
    table.commit(remove(late))
    table.commit(add(last))
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "COMP-012")
    publish(case, table, versions=[8, 9])
    txn_spec(case, "app", 8, title="The last transaction is that of the commits")


@COMPACTION.case("rearranged-inside", "COMP-012 CKC-027 REC-018", since="2025")
def _rearranged(case: CaseWriter) -> None:
    """Removes in a compaction count without a change of data."""
    table = grown(case, 2)
    old = [file for file, _ in table.live(1)]
    rows = table.rows(1)
    table.commit(
        *(remove(file, dataChange=False) for file in old),
        add(table.file(rows), dataChange=False),
        operation="OPTIMIZE",
    )
    table.append([{"id": 90, "name": "late"}])
    table.compact_log(2, 3)
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "CKC-027")
    publish(case, table, versions=[2, 3])


@COMPACTION.case(
    "changes-inside", "COMP-001 COMP-012 CDC-003 CDC-004 CDC-014 CDC-015 CDC-017", since="2025"
)
def _changes_inside(case: CaseWriter) -> None:
    """A compaction does not stand in for the changes of its commits."""
    table = feed_table(case)
    first, brief, last = (table.file(pairs(start)) for start in (0, 10, 20))
    table.create(add(first))
    table.commit(add(brief))
    table.commit(remove(brief), operation="DELETE")
    table.commit(remove(first), add(last))
    old, kept = last.rows
    new = {**old, "name": "updated"}
    recorded = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(remove(last), add(table.file([new, kept])), recorded, operation="UPDATE")
    table.compact_log(1, 4)
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, first.rows),
        *each_row("insert", 1, brief.rows),
        *each_row("delete", 2, brief.rows),
        *each_row("delete", 3, first.rows),
        *each_row("insert", 3, last.rows),
        ("update_preimage", 4, old),
        ("update_postimage", 4, new),
    ]
    for slug, start, end in (("all", 0, None), ("1-3", 1, 3), ("2-2", 2, 2), ("4-4", 4, 4)):
        case.judged[f"changes-{slug}"] = "CDC-003" if start == 4 else "CDC-004"
        title = "Each version of the range has its own changes"
        ask_changes(case, table, f"changes-{slug}", start, end, changes, title)


@COMPACTION.case("remove-without-timestamp", "COMP-007 COMP-012 REM-003", since="2025")
def _bare_remove(case: CaseWriter) -> None:
    """A bare remove stays in a compaction."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": "x"}]) for n in range(3)]
    table.create(*(add(file) for file in files))
    table.commit({"remove": {"path": files[0].path, "dataChange": True}})
    table.commit(remove(files[1]), add(table.file([{"id": 9, "name": "y"}])))
    table.compact_log(1, 2)
    publish(case, table)


@COMPACTION.case("added-and-removed-inside", "COMP-006 COMP-008 COMP-009 COMP-012", since="2025")
def _inside(case: CaseWriter) -> None:
    """A file born and removed in the range is gone."""
    table = GoldenTable.of(case, PAIR)
    table.create(add(table.file([{"id": 1, "name": "stays"}])), txn("app", 1))
    brief = table.file([{"id": 2, "name": "brief"}])
    table.commit(add(brief), txn("app", 2))
    table.commit(remove(brief), txn("app", 3))
    table.append([{"id": 3, "name": "last"}])
    table.compact_log(1, 2)
    publish(case, table)
    txn_spec(case, "app", 3, title="The last transaction of the range is known")


@COMPACTION.case("added-again-after-checkpoint", "REC-006 COMP-012 FA-003 REC-018", since="2025")
def _added_again(case: CaseWriter) -> None:
    """A file of a checkpoint that a compaction adds again is there once."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*(add(file, tags={"round": "1"}) for file in files))
    table.checkpoint(version=0)
    table.commit(add(files[0], dataChange=False, tags={"round": "2"}))
    table.commit(add(files[1], dataChange=False, stats=...))
    table.append([{"id": 9, "name": "last"}])
    table.compact_log(1, 2)
    case.judged = dict.fromkeys(("read-latest", "read-v2", "count"), "REC-006")
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 0})
    aggregated(case, table, "count", ["id"], "Files that were added again count once")


@COMPACTION.case("domain-removed-inside", "COMP-004 COMP-012 REC-015", since="2025")
def _domain_removed(case: CaseWriter) -> None:
    """A domain removed in the range stays removed."""
    table = GoldenTable.of(case, PAIR, protocol=writer_protocol(["domainMetadata"]))
    table.create(domain("app.d", "1"), add(table.file([{"id": 1, "name": "a"}])))
    table.checkpoint(version=0, hint=False)
    table.commit(domain("app.d", "1", removed=True))
    table.append([{"id": 2, "name": "b"}])
    table.compact_log(1, 2)
    publish(case, table, log_info={"lastCheckpointVersion": 0})
    domain_spec(case, "app.d", None, title="The domain is not set")


@COMPACTION.case("empty-file", "COMP-011", since="2025")
def _empty_compaction(case: CaseWriter) -> None:
    """A compaction of zero bytes is passed over, taken or refused."""
    table = grown(case, 6)
    (table.root / LOG_DIRECTORY / compaction_name(1, 4)).write_bytes(b"")
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "COMP-004")
    case.contest_read(
        "The commits are read, or the empty file is taken or reported",
        PAIR,
        Accepted("commits", "compactions may be ignored", rows=table.rows()),
        # What is in a compaction is the duty of who writes it (COMP-004); no clause has a
        # reader compare it with the commits.
        Accepted("taken", "it stands in place of its commits", rows=[{"id": 5, "name": "n5"}]),
        Accepted("refused", "a compaction that holds nothing is broken", refusal=refusal),
    )


@COMPACTION.case("start-equals-end", "COMP-013 COMP-011", since="upstream")
def _single(case: CaseWriter) -> None:
    """A compaction of one version is passed over, taken or refused."""
    table = grown(case, 6)
    stray = {"id": 99, "name": "stray"}
    path = table.root / LOG_DIRECTORY / compaction_name(3, 3)
    path.write_text(json_text(add(table.file([stray]))) + "\n", encoding="utf-8")
    describe(case, table)
    # Commit 3 adds the row 3 and removes the row 1.
    taken = [row for row in table.rows(2) + table.rows() if row["id"] != 3]
    taken = [*({row["id"]: row for row in taken}.values()), stray]
    refusal = Refusal("invalid_table", "load", "COMP-013")
    case.contest_read(
        "The commits are read, or the file stands in for one of them",
        PAIR,
        Accepted("commits", "it is no compaction", rows=table.rows()),
        Accepted("refused", "the name gives no range of commits", refusal=refusal),
        Accepted("taken", "Spark: it stands in for the commit of its version", rows=taken),
    )
