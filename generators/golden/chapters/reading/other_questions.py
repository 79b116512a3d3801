"""Cases of rules that hold for every question, and not for a plain read alone.

Covers the sections whose rules are asked about. A reader has a path of its own through filters,
projections, aggregates, change feeds and checkpoints, and each of them has to keep the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import ask_changes, each_row
from generators.golden.cases.filters import (
    Filter,
    all_of,
    any_of,
    compare,
    is_in,
    is_not_null,
    is_null,
    negate,
    starts_with,
)
from generators.golden.cases.publish import aggregated, commit_times, filtered, projected, publish
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    remove,
    txn,
)
from generators.golden.chapters.files.deletion_vectors import (
    inline,
    numbered,
    store,
    vector_table,
    with_vector,
)
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.golden.chapters.tables.column_mapping import mapped_table, unmapped
from generators.golden.chapters.tables.row_tracking import Tracked
from generators.materialise.log.files import drop_commits
from generators.oracle.delta_schema import array, map_of, struct

FEATURES: Final = Chapter("table-features", since="2025")
MAPPING: Final = Chapter("column-mapping")
TRANSACTIONS: Final = Chapter("transaction-identifiers")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
VECTORS: Final = Chapter("deletion-vectors", since="2025")

_UNKNOWN: Final = "somethingNobodyKnows"


def _pairs(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}"} for n in numbers]


def _unknown_writer_feature(case: CaseWriter, form: str) -> None:
    readers = ["v2Checkpoint"] if form == "v2-json-sidecars" else []
    table = GoldenTable.created(case, PAIR, _pairs(1))
    table.protocol = feature_protocol(
        readers, [_UNKNOWN, "changeDataFeed", "domainMetadata", "appendOnly"]
    )
    table.properties["delta.enableChangeDataFeed"] = "true"
    table.commit(table.protocol_action(), table.metadata(), operation="UPGRADE PROTOCOL")
    table.commit(txn("app", 7), domain("mine", "{}"))
    if form != "commits":
        SUMMARIES[form](table, table.version)
        if form != "compaction":
            drop_commits(table.root, table.version)
    first = table.version
    new = _pairs(2)
    table.append(new)
    commit_times(case, table)
    case.judged |= dict.fromkeys(("txn-app", "domain-mine", "changes", "aggregate"), "TF-002")
    whole = form in ("commits", "compaction")
    if form == "compaction":
        case.judged["snapshot-latest"] = "REC-012"
    publish(case, table, versions=range(first) if whole else [first])
    txn_spec(case, "app", 7)
    domain_spec(case, "mine", "{}")
    ask_changes(
        case,
        table,
        "changes",
        first + 1,
        first + 1,
        each_row("insert", first + 1, new),
        "Changes are read as well",
    )
    aggregated(case, table, "aggregate", ["id"], "So are counts")


for _form in ("commits", "classic", "v2-json-sidecars", "compaction"):
    FEATURES.define(
        f"unknown-writer-feature-in-{_form}",
        "Whatever is asked, a feature of writers alone stops no reader",
        "TF-002 REC-012" if _form == "compaction" else "TF-002",
        partial(_unknown_writer_feature, form=_form),
    )


def _unknown_writer_version(case: CaseWriter, form: str) -> None:
    table = GoldenTable.created(case, PAIR, _pairs(1))
    table.protocol = legacy_protocol(1, 8)
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.append(_pairs(2))
    if form != "commits":
        SUMMARIES[form](table, table.version)
    if form == "classic":
        drop_commits(table.root, table.version)
    first = table.version
    table.append(_pairs(3))
    publish(case, table, versions=[first] if form == "classic" else None)


for _form in ("commits", "classic", "compaction"):
    FEATURES.define(
        f"unknown-writer-version-in-{_form}",
        "A version of writers alone stops no reader",
        "TF-002",
        partial(_unknown_writer_version, form=_form),
    )


@FEATURES.case("unknown-writer-feature-beside-vectors", "TF-002")
def _unknown_beside_vectors(case: CaseWriter) -> None:
    """A feature of writers alone stops no reader beside features of readers."""
    protocol = feature_protocol(["deletionVectors"], [_UNKNOWN, "appendOnly"])
    table = vector_table(case, PAIR, protocol=protocol)
    file = table.file(_pairs(1, 2, 3))
    table.create(add(file, deletionVector=store(table, [1])[0]))
    publish(case, table)


@MAPPING.case("mode-none-nested-annotations", "CM-024 CM-023")
def _nested_annotations(case: CaseWriter) -> None:
    """Annotations of nested columns mean nothing in mode none."""
    inner = struct(a="string", b="long")
    plain = struct(id="long", s=inner, l=array(inner), m=map_of("string", inner), p="string")
    table = mapped_table(case, plain, mode="none", partition_columns=("p",))
    value = {"a": "x", "b": 1}
    rows = [{"id": 1, "s": value, "l": [value, None], "m": {"k": value}}]
    file = table.file(rows, written_as=plain, partition={"p": "in p"})
    table.create(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)
    title = "A partition column is found by its name"
    filtered(case, table, "filter-p", compare("p", "=", "in p", "string"), title)
    projected(case, table, "project-nested", ["s", "m"], "Nested columns are found by name")


@MAPPING.case("mode-left-out", "META-002 CM-024 CM-029 CM-023")
def _mode_left_out(case: CaseWriter) -> None:
    """Metadata without the mode ends the mapping that older metadata had."""
    table = mapped_table(case)
    first = table.file(_pairs(1, 2))
    table.create(add(first))
    del table.properties["delta.columnMapping.mode"]
    plain = table.file(_pairs(1, 2, 3), written_as=unmapped(table.schema))
    again = table.register(DataFile(plain.body, plain.rows, table.schema))
    table.commit(table.metadata(), remove(first), add(again))
    case.judged |= {"read-latest": "META-002", "read-v0": "CM-029"}
    publish(case, table, versions=[0])
    case.judged |= {"project-name": "CM-024", "filter-name": "CM-023"}
    projected(case, table, "project-name", ["name"], "A column alone is found by its name")
    title = "The mode of before says nothing"
    filtered(case, table, "filter-name", compare("name", "=", "n1", "string"), title)


@TRANSACTIONS.case("times-go-back", "TXN-005 REC-004")
def _times_go_back(case: CaseWriter) -> None:
    """The newest entry wins, whatever its time of update is."""
    table = GoldenTable.of(case, PAIR)
    late = 1_700_000_000_000
    table.create(txn("back", 1, lastUpdated=late), txn("bare", 1, lastUpdated=late))
    table.commit(txn("back", 2, lastUpdated=late - 1000), txn("bare", 2))
    table.checkpoint(version=1, hint=False)
    drop_commits(table.root, 1)
    table.commit(txn("back", 3, lastUpdated=1), add(table.file(_pairs(1))))
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 1})
    case.judged |= dict.fromkeys(("txn-back", "txn-bare", "txn-back-v1"), "REC-004")
    for app, version, at in (("back", 3, None), ("bare", 2, None), ("back", 2, 1)):
        txn_spec(case, app, version, at)


@DOMAINS.case("names-alike", "REC-005 REC-014 DOM-012")
def _domains_alike(case: CaseWriter) -> None:
    """Domains whose names differ by case or by blanks are different ones."""
    table = GoldenTable.of(case, PAIR, protocol=feature_protocol(writers=["domainMetadata"]))
    table.create(domain("mine", "lower"), domain("Mine", "upper"), domain(" mine ", " blanks\n"))
    table.commit(domain("Mine", "newer"), add(table.file(_pairs(1))))
    publish(case, table)
    case.judged |= {"lower": "REC-014", "upper": "REC-014", "blanks": "DOM-012"}
    case.spec(
        "domain_metadata",
        "lower",
        title="The one has its own configuration",
        expected={"configuration": "lower"},
        parameters={"domain": "mine"},
    )
    case.spec(
        "domain_metadata",
        "upper",
        title="The other has the one that was set last",
        expected={"configuration": "newer"},
        parameters={"domain": "Mine"},
    )
    case.spec(
        "domain_metadata",
        "blanks",
        title="One with blanks around has its own, blanks and all",
        expected={"configuration": " blanks\n"},
        parameters={"domain": " mine "},
    )
    case.judged["domain-mine"] = "REC-005"
    domain_spec(case, "MINE", None, title="A third is not set, and has nothing of theirs")


@TRACKING.case("supported-not-enabled-in-checkpoint", "RT-003 RT-001")
def _supported_in_checkpoint(case: CaseWriter) -> None:
    """Files without ids are read from a checkpoint as well."""
    tracked = Tracked(case, properties={}, protocol=legacy_protocol(1, 2))
    table = tracked.table
    table.create(add(table.file(_pairs(0, 1))))
    table.protocol = feature_protocol(writers=["rowTracking", "domainMetadata"])
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.commit(add(tracked.file(_pairs(10, 11))), tracked.mark())
    table.checkpoint(version=2, hint=False)
    drop_commits(table.root, 2)
    table.commit(add(tracked.file(_pairs(20))), tracked.mark())
    case.judged |= {"read-latest": "RT-003", "read-v2": "RT-003"}
    publish(case, table, versions=[2, 3], log_info={"lastCheckpointVersion": 2})


@VECTORS.case("life-goes-on-after-checkpoint", "REC-009 REC-010 ADD-012")
def _life_goes_on(case: CaseWriter) -> None:
    """A tombstone of a checkpoint hides no later vector of its path."""
    table = vector_table(case)
    file = table.create_with(numbered(8))
    first, second, third = store(table, [1], [1, 3], [1, 3, 5])
    table.commit(*with_vector(file, first))
    table.commit(*with_vector(file, second, first))
    table.checkpoint(version=2, hint=False)
    drop_commits(table.root, 2)
    table.commit(*with_vector(file, third, second))
    case.judged |= {"read-latest": "REC-010", "files-latest": "REC-009"}
    publish(case, table, versions=[2, 3], log_info={"lastCheckpointVersion": 2})


def _vectors(case: CaseWriter, form: str) -> GoldenTable:
    """Begin a table whose checkpoint is to be of a form."""
    more = ["v2Checkpoint"] if form.startswith("v2") else []
    return vector_table(case, protocol=feature_protocol(["deletionVectors", *more]))


def _property_off(case: CaseWriter, form: str) -> None:
    table = _vectors(case, form)
    file = table.file(numbered(6))
    table.create(add(file), add(table.file(numbered(2, 20))))
    table.commit(*with_vector(file, store(table, [0, 1])[0]))
    table.properties = {"delta.enableDeletionVectors": "false"}
    table.commit(table.metadata())
    SUMMARIES[form](table, table.version)
    drop_commits(table.root, table.version)
    table.commit(add(table.file(numbered(2, 30))))
    case.judged |= dict.fromkeys(("read-latest", "read-v2", "aggregate"), "DV-004")
    publish(case, table, versions=[2, 3], log_info={"lastCheckpointVersion": 2})
    aggregated(case, table, "aggregate", ["id"], "Counts leave the deleted rows out as well")


def _removed_beside(case: CaseWriter, form: str) -> None:
    table = _vectors(case, form)
    marked, gone, again = (table.file(numbered(4, n)) for n in (0, 10, 20))
    table.create(add(marked), add(gone), add(again))
    table.commit(*with_vector(marked, store(table, [0, 3])[0]))
    SUMMARIES[form](table, 1)
    drop_commits(table.root, 1)
    table.commit(remove(gone), operation="DELETE")
    table.commit(*with_vector(again, store(table, [1])[0]), operation="DELETE")
    case.judged |= dict.fromkeys(("read-latest", "read-v2", "files-latest"), "REC-018")
    publish(case, table, versions=[1, 2, 3], log_info={"lastCheckpointVersion": 1})


def _bare_remove(case: CaseWriter, form: str) -> None:
    table = _vectors(case, form)
    file = table.file(numbered(6))
    (vector,) = store(table, [2])
    table.create(add(file, deletionVector=vector), add(table.file(numbered(2, 20))))
    SUMMARIES[form](table, 0)
    table.commit(remove(file))
    case.judged |= dict.fromkeys(("read-latest", "files-latest"), "REC-010")
    publish(case, table, log_info={"lastCheckpointVersion": 0})


def _other_vector(case: CaseWriter, form: str, other: str, requirement: str) -> None:
    table = _vectors(case, form)
    file = table.file(numbered(6))
    if other == "other-inline":
        vector, named = inline(table, [2]), inline(table, [3])
    else:
        vector, named = store(table, [2], [3])
    if other == "without-offset":
        named = {name: value for name, value in vector.items() if name != "offset"}
    table.create(add(file, deletionVector=vector), add(table.file(numbered(2, 20))))
    SUMMARIES[form](table, 0)
    table.commit(remove(file, deletionVector=named), operation="DELETE")
    case.judged |= dict.fromkeys(("read-latest", "files-latest"), requirement)
    publish(case, table, log_info={"lastCheckpointVersion": 0})


def _marked_again(case: CaseWriter, form: str, requirement: str) -> None:
    table = _vectors(case, form)
    file, other = table.file(numbered(6)), table.file(numbered(2, 20))
    if requirement == "DVDESC-013":
        first, second, third = (inline(table, rows) for rows in ([1], [1, 3], [0]))
    else:
        first, second, third = store(table, [1], [1, 3], [0])
    table.create(add(file), add(other))
    table.commit(*with_vector(file, first), operation="DELETE")
    marked = *with_vector(file, second, first), *with_vector(other, third)
    table.commit(*marked, operation="DELETE")
    SUMMARIES[form](table, 2)
    summed = form != "compaction"
    if summed:
        drop_commits(table.root, 2)
    table.commit(add(table.file(numbered(2, 30))))
    case.judged |= dict.fromkeys(("read-latest", "read-v2", "files-latest"), requirement)
    info = {"lastCheckpointVersion": 2} if summed else {}
    publish(case, table, versions=[2, 3], log_info=info)


def _null_removes(case: CaseWriter, form: str) -> None:
    table = _vectors(case, form)
    null, absent, kept = (table.file(numbered(2, n)) for n in (0, 10, 20))
    table.create(add(null, deletionVector=None), add(absent), add(kept))
    summed = form != "compaction"
    if summed:
        SUMMARIES[form](table, 0)
    table.commit(remove(null), operation="DELETE")
    table.commit(remove(absent, deletionVector=None), operation="DELETE")
    if not summed:
        SUMMARIES[form](table, 2)
    case.judged |= dict.fromkeys(("read-latest", "read-v2"), "REM-013")
    publish(case, table, files=False, log_info={"lastCheckpointVersion": 0} if summed else {})


for _form in ("classic", "v2-json-sidecars", "compaction"):
    for _slug, _requirement in (("inline", "DVDESC-013"), ("one-file", "DVDESC-014")):
        VECTORS.define(
            f"marked-again-{_slug}-in-{_form}",
            "A file is live beside the tombstones of its former vectors",
            f"{_requirement} REC-010 REC-018",
            partial(_marked_again, form=_form, requirement=_requirement),
        )

for _form, _how in (
    ("after-classic", "classic"),
    ("after-v2-json-sidecars", "v2-json-sidecars"),
    ("in-compaction", "compaction"),
):
    VECTORS.define(
        f"null-and-absent-{_form}",
        "A remove without vector takes a file away however it says so",
        "REM-013 ADD-012",
        partial(_null_removes, form=_how),
    )


def _inline_after(case: CaseWriter, form: str) -> None:
    table = _vectors(case, form)
    gone, marked = (table.file(numbered(4, n)) for n in (0, 10))
    one, two, three = (inline(table, rows) for rows in ([1], [0], [0, 2]))
    table.create(add(gone, deletionVector=one), add(marked, deletionVector=two))
    SUMMARIES[form](table, 0)
    table.commit(remove(gone, deletionVector=one), operation="DELETE")
    table.commit(*with_vector(marked, three, two), operation="DELETE")
    case.judged |= dict.fromkeys(("read-latest", "files-latest", "read-v1"), "DVDESC-013")
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 0})


for _form in ("classic", "v2-json-sidecars"):
    VECTORS.define(
        f"inline-after-{_form}",
        "Vectors inside a checkpoint are those that later removes name",
        "DVDESC-013 REC-018 REM-014",
        partial(_inline_after, form=_form),
    )
    VECTORS.define(
        f"remove-without-vector-after-{_form}",
        "A remove of the bare file leaves a checkpoint's with a vector",
        "REC-010 FA-002 REM-014",
        partial(_bare_remove, form=_form),
    )
    for _other, _title, _requirement in (
        ("without-offset", "A vector without offset is another one", "DVDESC-013"),
        ("other-offset", "A vector at another offset of one file is another one", "DVDESC-014"),
        ("other-inline", "Another vector inside the log is another one", "DVDESC-013"),
    ):
        VECTORS.define(
            f"remove-{_other}-after-{_form}",
            _title,
            f"{_requirement} FA-002 REM-014",
            partial(_other_vector, form=_form, other=_other, requirement=_requirement),
        )
    VECTORS.define(
        f"property-off-in-{_form}",
        "Vectors of a checkpoint count when the property is off",
        "DV-004",
        partial(_property_off, form=_form),
    )
    VECTORS.define(
        f"removed-beside-vectors-in-{_form}",
        "A file without vector is removed from among files with one",
        "REC-018 REC-011 ADD-012",
        partial(_removed_beside, form=_form),
    )


ROWS: Final = Chapter("action-reconciliation")

_COLUMNS: Final = struct(id="long", n="integer", s=struct(a="integer", t="string"), p="string")

_PROBES: Final[Mapping[str, tuple[Filter, Sequence[str]]]] = {
    "equal": (compare("n", "=", 3, "integer"), ["id"]),
    "in": (is_in("n", [1, 4, 9], "integer"), ["id", "p"]),
    "null": (is_null("n"), ["id"]),
    "not-null": (is_not_null("n"), ["p"]),
    "nested": (compare("s.a", ">", 2, "integer"), ["n"]),
    "prefix": (starts_with("s.t", "t4"), ["id"]),
    "partition": (compare("p", "=", "x", "string"), ["id", "s"]),
    "partition-in": (is_in("p", ["y", "z"], "string"), ["n"]),
    "partition-null": (is_null("p"), ["s"]),
    "not": (negate(is_in("n", [0, 1, 2], "integer")), ["id"]),
    **{
        f"not-{word}": (negate(compare("n", operator, 3, "integer")), ["id"])
        for word, operator in (
            ("equal", "="),
            ("other", "<>"),
            ("less", "<"),
            ("at-most", "<="),
            ("more", ">"),
            ("at-least", ">="),
        )
    },
    "and": (all_of(is_in("p", ["x", "y"], "string"), compare("n", "<", 4, "integer")), ["s"]),
    "or": (any_of(is_null("n"), compare("s.t", "=", "t1", "string")), ["id"]),
}
"""What is asked for, and the columns that the answer has; none is in the filter."""


@ROWS.case("filtered-by-columns-left-out", "SNAP-007")
def _left_out(case: CaseWriter) -> None:
    """A filter looks at columns that are not asked for."""
    table = GoldenTable.created(case, _COLUMNS, partition_columns=("p",))
    for start, p in ((0, "x"), (2, "y"), (4, None)):
        rows = [
            {"id": 10 + n, "n": n or None, "s": {"a": n, "t": f"t{n}"}}
            for n in range(start, start + 2)
        ]
        table.append(rows, partition={"p": p})
    publish(case, table, versions=[])
    for slug, (probe, columns) in _PROBES.items():
        title = "Its columns are read for the filter alone"
        filtered(case, table, f"filter-{slug}", probe, title, columns=columns)
