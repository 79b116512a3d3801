"""Cases of rules that hold as well after a summary of the log, in each of its forms.

Covers "Checkpoints", "Log Compaction Files" and the sections whose rules are asked about. What is
read from commits alone elsewhere is read from a checkpoint, or beside a compaction, here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter, title_of
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import (
    aggregated,
    describe,
    file_entries,
    filtered,
    publish,
    publish_respelled,
    refuse_unknown,
)
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import SUMMARIES, Summarise, checkpoint
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    remove,
)
from generators.golden.chapters.log.checkpoints import grown
from generators.golden.chapters.log.reconciliation import domain_spec
from generators.golden.chapters.tables.column_mapping import mapped_table
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    SIDECAR_DIRECTORY,
    drop_commits,
    json_text,
)
from generators.oracle.delta_schema import decimal, field, struct

FILES: Final = Chapter("data-files")
VALUES: Final = Chapter("partition-value-serialization")
ACTIONS: Final = Chapter("add-file-and-remove-file")
HINTS: Final = Chapter("last-checkpoint-file")
CHECKPOINTS: Final = Chapter("checkpoints")
ORDER: Final = Chapter("action-reconciliation")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
FEATURES: Final = Chapter("table-features", since="2025")
EVOLUTION: Final = Chapter("protocol-evolution")
METADATA: Final = Chapter("change-metadata")


class _Build(Protocol):
    """Builds a case after a form of a summary."""

    def __call__(self, case: CaseWriter, form: str) -> None:
        """Write the table and the questions."""
        ...


_AFTER: Final = ("classic", "v2-json-sidecars", "compaction")
"""Forms of summaries that a case is asked after."""


def _since(form: str) -> str | None:
    """Return the revision that a form of a summary came with, where no feature says it."""
    return "2025" if form == "compaction" else None


def _after(
    chapter: Chapter, name: str, requirements: str, forms: Sequence[str] = _AFTER
) -> Callable[[_Build], _Build]:
    """Define a case for each form of a summary; their title is the builder's docstring."""

    def decorate(build: _Build) -> _Build:
        for form in forms:
            slug = f"{name}-{form}"
            title = title_of(f"{chapter.slug}/{slug}", build)
            chapter.define(slug, title, requirements, partial(build, form=form), since=_since(form))
        return build

    return decorate


def _protocol(name: str, *writers: str) -> dict[str, Any]:
    """Return the protocol of a table that has a summary of a form."""
    readers = ["v2Checkpoint"] if name.startswith("v2") else []
    if readers or writers:
        return feature_protocol(readers, writers)
    return legacy_protocol(1, 2)


# An empty text is null, whatever the type and wherever it is read from.

_TYPES: Final[dict[str, tuple[Any, Any]]] = {
    "byte": ("byte", 1),
    "short": ("short", 2),
    "long": ("long", 3),
    "float": ("float", 0.5),
    "double": ("double", 0.25),
    "boolean": ("boolean", True),
    "decimal": (decimal(5, 2), Decimal("1.25")),
    "date": ("date", date(2020, 2, 29)),
    "timestamp": ("timestamp", datetime.fromisoformat("2020-02-29T01:02:03+00:00")),
}


def _empty_texts(case: CaseWriter, form: str) -> None:
    columns = struct(field("id", "long"), *(field(f"p_{n}", of) for n, (of, _) in _TYPES.items()))
    names = tuple(f"p_{name}" for name in _TYPES)
    if form == "mapped":
        table = mapped_table(case, columns, partition_columns=names)
    else:
        table = GoldenTable.of(case, columns, partition_columns=names, protocol=_protocol(form))
    table.create()
    physical = [table.schema[name].physical_name for name in names]
    empty = table.file([{"id": 1}], partitionValues=dict.fromkeys(physical, ""))
    full = table.file(
        [{"id": 2}], partition={f"p_{name}": value for name, (_, value) in _TYPES.items()}
    )
    table.commit(add(empty), add(full))
    if form in _AFTER:
        SUMMARIES[form](table, 1)
    table.append([{"id": 3}], partitionValues=dict.fromkeys(physical, ""))
    publish(case, table, files=False)
    for name in ("p_long", "p_boolean", "p_date"):
        filtered(case, table, f"filter-{name[2:]}", is_null(name), "The empty text counts as null")


for _form in ("commits", "mapped", *_AFTER):
    VALUES.define(
        f"empty-string-of-every-type-{_form}",
        "An empty text is null for every type that has no empty value",
        "PART-002",
        partial(_empty_texts, form=_form),
        since="2025",
    )


@_after(FILES, "misleading-directories", "DATA-002 DATA-003")
def _misleading(case: CaseWriter, form: str) -> None:
    """Partition values come from a summary of the log, not from names."""
    schema = struct(id="long", p="string")
    table = GoldenTable.of(case, schema, partition_columns=["p"], protocol=_protocol(form))
    paths = {"a": "p=b/1.parquet", "b": "p=a/2.parquet", None: "p=c/3.parquet"}
    table.create()
    table.commit(
        *(
            add(table.file([{"id": n}], partition={"p": value}, path=path))
            for n, (value, path) in enumerate(paths.items())
        )
    )
    SUMMARIES[form](table, 1)
    if form != "compaction":
        drop_commits(table.root, 2)
    table.append([{"id": 9}], partition={"p": "d"}, path="p=a/4.parquet")
    case.judged["read-latest"] = "DATA-003"
    # The summary alone has version 1 then, and no clause says whether it can be read.
    publish(case, table, files=False, versions=[1, 2] if form == "compaction" else [2])
    for name in ("a", "c"):
        probe = compare("p", "=", name, "string")
        filtered(case, table, f"filter-{name}", probe, "A filter goes by the value in the log")


# Whether a remove finds a file whose path it spells otherwise is read in two ways.


def _lower(case: CaseWriter, name: str, spelled: str) -> None:
    """Write an escaped path in lower case in a file of the log."""
    place = case.delta / LOG_DIRECTORY / name
    text = place.read_text("utf-8")
    if spelled not in text:
        raise ValueError(f"{name} has no {spelled}")
    place.write_text(text.replace(spelled, spelled.lower()), "utf-8")


@_after(ACTIONS, "removed-in-lower-case", "REM-002 ADD-003 REC-006", ("commits", *_AFTER))
def _respelled(case: CaseWriter, form: str) -> None:
    """Escapes in letters of another case may name the file or another."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    paths = ("é a.parquet", "ü+%.parquet", "plain.parquet")
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.create(*map(add, files))
    table.append([{"id": 9, "name": "more"}])
    if form in {"classic", "v2-json-sidecars"}:
        SUMMARIES[form](table, 1)
    table.commit(remove(files[0]), remove(files[1]), operation="DELETE")
    written = [f"{2:020}.json"]
    if form == "compaction":
        SUMMARIES[form](table, 2)
        written += [f"{1:020}.{2:020}.compacted.json"]
    for name in written:
        for file in files[:2]:
            _lower(case, name, file.path)
    publish_respelled(case, table, [("as-written", table.rows(1), file_entries(table, 1))])


@_after(ACTIONS, "removed-odd-paths", "REM-002 ADD-003 REC-006", ("commits", *_AFTER))
def _odd_removed(case: CaseWriter, form: str) -> None:
    """Removes name odd paths, and odd folders, as the adds of their files do."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    # What is removed is written as what stays once it is decoded too often, or by bytes.
    paths = (
        *("a%20b/one.parquet", "é/two words.parquet", "c%20d.parquet", "e f.parquet"),
        *("a b/one.parquet", "Ã©/two words.parquet", "c d.parquet", "e%20f.parquet"),
    )
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.create(*map(add, files))
    table.commit(add(table.file([{"id": 9, "name": "more"}])))
    if form in {"classic", "v2-json-sidecars"}:
        SUMMARIES[form](table, 1)
    table.commit(*map(remove, files[:4]), operation="DELETE")
    if form == "compaction":
        SUMMARIES[form](table, 2)
    publish(case, table)


# Reader version 3 goes by the list, wherever the protocol is read from.


def _refused(
    case: CaseWriter, form: str, protocol: dict[str, Any], refusal: Refusal, title: str
) -> None:
    """Upgrade a table to a protocol that no reader knows, and summarise it."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}])
    table.protocol = protocol
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    SUMMARIES[form](table, 1)
    if form != "compaction":
        drop_commits(table.root, 1)
    table.append([{"id": 2, "name": "b"}])
    describe(case, table)
    refuse_unknown(case, table, refusal, title)


@_after(FEATURES, "unknown-reader-feature-in", "RVER-002 TF-001", ("classic", "v2-json-sidecars"))
def _unknown_feature(case: CaseWriter, form: str) -> None:
    """An unknown reader feature that a checkpoint lists is refused."""
    protocol = feature_protocol(["somethingNobodyKnows", "v2Checkpoint"])
    title = "The feature is unknown, though no commit names it"
    _refused(case, form, protocol, Refusal("unsupported", "load", "TF-001"), title)


for _form in ("classic", "compaction"):
    EVOLUTION.define(
        f"unknown-reader-version-in-{_form}",
        "A reader version that a summary has is refused",
        "PROTO-005 PROTO-007",
        partial(
            _refused,
            form=_form,
            protocol={**feature_protocol(), "minReaderVersion": 4},
            refusal=Refusal(
                "unsupported", "load", "PROTO-005", code="DELTA_INVALID_PROTOCOL_VERSION"
            ),
            title="The version is unknown, though no later commit names it",
        ),
        since="2025",
    )


# What a summary says is gone may come again, and what follows it is in order.


@_after(ORDER, "added-again-after", "REC-008 REC-018")
def _added_again(case: CaseWriter, form: str) -> None:
    """A file that a summary has for removed is live once it is added again."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    gone, kept = (table.file([{"id": n, "name": f"n{n}"}]) for n in range(2))
    table.create(add(gone), add(kept))
    table.commit(remove(gone), operation="DELETE")
    SUMMARIES[form](table, 1)
    table.commit(add(gone), operation="RESTORE")
    case.judged = dict.fromkeys(("read-latest", "files-latest"), "REC-008")
    publish(case, table)


@_after(ORDER, "tombstones-after", "REC-011 SNAP-004", tuple(SUMMARIES))
def _tombstones(case: CaseWriter, form: str) -> None:
    """The tombstones of a summary show in no answer."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    gone = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*map(add, gone), add(table.file([{"id": 7, "name": "kept"}])))
    table.commit(*map(remove, gone[:2]), operation="DELETE")
    table.commit(remove(gone[2]), operation="DELETE")
    SUMMARIES[form](table, 2)
    table.append([{"id": 8, "name": "new"}])
    case.judged = dict.fromkeys(
        ("read-v2", "read-latest", "files-latest", "extremes", "filtered"), "REC-011"
    )
    publish(case, table)
    aggregated(case, table, "extremes", ["id", "name"], "Removed files count for nothing")
    filtered(case, table, "filtered", compare("id", "<", 5, "long"), "Removed files have no rows")


@_after(DOMAINS, "removed-after", "REC-015 REC-016 DOM-012")
def _removed_after(case: CaseWriter, form: str) -> None:
    """A domain that a summary has is gone once it is removed."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form, "domainMetadata"))
    table.create(domain("app.gone", "1"), domain("app.other", "1"))
    table.commit(domain("app.kept", "2"), add(table.file([{"id": 1, "name": "a"}])))
    if form != "compaction":
        SUMMARIES[form](table, 1)
    # The one is removed with what it was, the other with something else.
    table.commit(domain("app.gone", "1", removed=True), domain("app.other", "0", removed=True))
    if form == "compaction":
        SUMMARIES[form](table, 2)
    table.append([{"id": 2, "name": "b"}])
    case.judged = dict.fromkeys(("domain-app-gone", "domain-app-other"), "REC-015")
    case.judged["domain-app-kept"] = "DOM-012"
    publish(case, table, files=False)
    domain_spec(case, "app.gone", None)
    domain_spec(case, "app.other", None)
    domain_spec(case, "app.kept", "2")


@_after(DOMAINS, "removed-otherwise-after", "REC-016 DOM-012")
def _removed_otherwise(case: CaseWriter, form: str) -> None:
    """A domain is gone without a value, a second time, and of the system."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form, "domainMetadata"))
    names = ("app.empty", "app.twice", "delta.fromAnotherWorld")
    table.create(*(domain(name, "1") for name in names), domain("app.kept", "{}"))
    table.commit(domain("app.twice", "1", removed=True), domain("app.kept", ""))
    table.commit(domain("app.twice", "2"), add(table.file([{"id": 1, "name": "a"}])))
    if form != "compaction":
        SUMMARIES[form](table, 2)
    table.commit(
        domain("app.empty", "", removed=True),
        domain("app.twice", "2", removed=True),
        domain("delta.fromAnotherWorld", "1", removed=True),
    )
    if form == "compaction":
        SUMMARIES[form](table, 3)
    table.commit(add(table.file([{"id": 2, "name": "b"}])))
    case.judged = {f"domain-{n.replace('.', '-').lower()}": "REC-016" for n in names}
    case.judged["domain-app-kept"] = "DOM-012"
    publish(case, table, files=False)
    for name in names:
        domain_spec(case, name, None)
    domain_spec(case, "app.kept", "")


@_after(DOMAINS, "set-again-after", "REC-017 REC-014 REC-016 DOM-012")
def _set_again(case: CaseWriter, form: str) -> None:
    """A domain that is gone and set again is there as set last."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form, "domainMetadata"))
    held = {"app.again": '{"x":1,"y":2}', "app.same": '{"s":1}'}
    table.create(*(domain(*each) for each in held.items()), domain("app.kept", '{"k":1}'))
    table.commit(add(table.file([{"id": 1, "name": "a"}])), domain("app.late", "0", removed=True))
    table.commit(*(domain(*each, removed=True) for each in held.items()))
    if form != "compaction":
        SUMMARIES[form](table, 2)
    again = {"app.again": '{"z":3}', "app.same": held["app.same"], "app.late": "[]"}
    table.commit(*(domain(*each) for each in again.items()))
    if form == "compaction":
        SUMMARIES[form](table, 3)
    table.append([{"id": 2, "name": "b"}])
    case.judged = {
        "domain-app-again": "REC-017",
        "domain-app-late": "REC-017",
        "domain-app-same": "REC-017",
        "domain-app-again-v2": "REC-016",
        "domain-app-kept": "DOM-012",
    }
    publish(case, table)
    for name, value in again.items():
        domain_spec(case, name, value)
    domain_spec(case, "app.again", None, 2)
    domain_spec(case, "app.kept", '{"k":1}')


@_after(ORDER, "in-order-after", "REC-001 REC-018 REC-006")
def _in_order(case: CaseWriter, form: str) -> None:
    """Commits after a summary are replayed by version, not by file time."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(4)]
    table.create(add(files[0]))
    table.commit(add(files[1]))
    SUMMARIES[form](table, 1)
    table.commit(remove(files[0]), add(files[2]), operation="WRITE")
    table.commit(add(files[0]), remove(files[2]), operation="RESTORE")
    table.commit(add(files[3]), remove(files[1]), operation="WRITE")
    table.commit(add(files[1]), remove(files[3]), operation="RESTORE")
    for version in table.versions:
        name = f"{LOG_DIRECTORY}/{version:020d}.json"
        case.file_time(name, EPOCH - MINUTE * version)
    case.judged = {"read-latest": "REC-001", "read-v5": "REC-001", "files-latest": "REC-001"}
    publish(case, table)


@_after(CHECKPOINTS, "rearranged-files-in", "CKC-027 REC-018")
def _flagged(case: CaseWriter, form: str) -> None:
    """Files that bring no data are live and dead all the same."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    old = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*map(add, old))
    merged = table.file([*old[0].rows, *old[1].rows], dataChange=False)
    gone = [remove(file, dataChange=False) for file in old[:2]]
    table.commit(add(merged), *gone, operation="OPTIMIZE")
    SUMMARIES[form](table, 1)
    if form != "compaction":
        drop_commits(table.root, 1)
    table.append([{"id": 9, "name": "n9"}])
    slugs = ("read-latest", "files-latest", "count", "filter")
    case.judged = dict.fromkeys(slugs, "CKC-027")
    publish(case, table, versions=[1, 2])
    title = "Whatever is asked, rearranged files count"
    aggregated(case, table, "count", ["id"], title)
    filtered(case, table, "filter", compare("id", "<", 9, "long"), title)


@_after(CHECKPOINTS, "rearranged-back", "CKC-027 REC-018", ("commits", *_AFTER))
def _rearranged_back(case: CaseWriter, form: str) -> None:
    """Files that come back without new data are live again."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    old = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*map(add, old))
    merged = table.file([*old[0].rows, *old[1].rows])
    gone = [remove(file, dataChange=False) for file in old[:2]]
    table.commit(add(merged, dataChange=False), *gone, operation="OPTIMIZE")
    if form != "commits":
        SUMMARIES[form](table, 1)
    again = [add(file, dataChange=False) for file in old[:2]]
    table.commit(*again, remove(merged, dataChange=False), operation="RESTORE")
    case.judged = dict.fromkeys(("read-latest", "files-latest", "count"), "CKC-027")
    publish(case, table, versions=[1])
    aggregated(case, table, "count", ["id"], "Counts are of what is live")


def _either_way(path: Path) -> None:
    """Say of every other file of a checkpoint that it changes data."""
    held = pq.read_table(path)
    rows = held.to_pylist()
    for number, row in enumerate(row for row in rows if row.get("add") is not None):
        row["add"]["dataChange"] = number % 2 == 0
    pq.write_table(pa.Table.from_pylist(rows, held.schema), path, store_schema=False)


@_after(
    CHECKPOINTS,
    "data-change-either-way",
    "CKC-027 CKC-004",
    ("multi-part", "v2-parquet", "v2-json", "v2-json-sidecars"),
)
def _flagged_in(case: CaseWriter, form: str) -> None:
    """dataChange says nothing in any form of checkpoint."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))
    table.create(*(add(table.file([{"id": n, "name": f"n{n}"}])) for n in range(6)))
    table.append([{"id": 6, "name": "n6"}])
    {**SUMMARIES, "v2-json": checkpoint("v2-json", hint=False)}[form](table, 1)
    log = table.root / LOG_DIRECTORY
    for path in log.rglob("*.parquet"):
        _either_way(path)
    for path in log.glob("*.checkpoint.*.json"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for number, body in enumerate(line["add"] for line in lines if "add" in line):
            body["dataChange"] = number % 2 == 0
        for body in (line["sidecar"] for line in lines if "sidecar" in line):
            body["sizeInBytes"] = (table.root / SIDECAR_DIRECTORY / body["path"]).stat().st_size
        path.write_text("".join(f"{json_text(line)}\n" for line in lines), encoding="utf-8")
    drop_commits(table.root, 1)
    table.append([{"id": 9, "name": "n9"}])
    case.judged = dict.fromkeys(("read-latest", "files-latest", "read-v1"), "CKC-027")
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 1})


def _newer(case: CaseWriter, summarise: Summarise, newer: Summarise, **options: Any) -> None:
    table = grown(case, 7, **options)
    summarise(table, 2)
    hint = case.delta / LOG_DIRECTORY / "_last_checkpoint"
    if not hint.is_file():
        raise ValueError("the first checkpoint has no hint")
    text = hint.read_bytes()
    newer(table, 4)
    hint.write_bytes(text)
    # The commits between both are gone, so that the hint alone leads nowhere.
    drop_commits(table.root, 4)
    case.judged = {"read-latest": "LAST-003", "files-latest": "LAST-003"}
    publish(case, table, versions=[4, 5, 6], log_info={"lastCheckpointVersion": 4})


HINTS.define(
    "stale-before-parts",
    "A reader goes beyond a hint to a newer checkpoint of parts",
    "LAST-003 CKPT-021",
    partial(_newer, summarise=SUMMARIES["classic"], newer=SUMMARIES["multi-part"]),
)
HINTS.define(
    "stale-of-v2",
    "A reader goes beyond a hint to a V2 checkpoint",
    "LAST-003",
    partial(
        _newer,
        summarise=SUMMARIES["v2-parquet"],
        newer=SUMMARIES["v2-json-sidecars"],
        protocol=feature_protocol(["v2Checkpoint"]),
    ),
)


_PROPERTIES: Final = {
    "app.cased": "Upper And lower",
    "App.Cased": "ANOTHER KEY",
    "app.blanks": "  two before, one after ",
    "app.empty": "",
    "app.number": "007.50",
    "app.json": '{ "B": 1e2, "a": "\\u0041" }',
    "app.lines": "one\ntwo\r\n\tthree",
    "App \u00c4\u00df.\U0001f600": "\u00c4\u00df \U0001f600 e\u0301",
}
"""Keys and values of the users' own, of which no reader may make another text."""


@_after(METADATA, "texts-as-written", "REC-003 META-011")
def _texts_as_written(case: CaseWriter, form: str) -> None:
    """Properties, the name and the description are given as written."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form), properties=_PROPERTIES)
    metadata = table.metadata(name=" Of TWO\twords ", description='"A" \\ b\n{c: 1} ')
    table.commit(table.protocol_action(), metadata, add(table.file([{"id": 1, "name": "A"}])))
    table.append([{"id": 2, "name": "b"}])
    SUMMARIES[form](table, 1)
    table.append([{"id": 3, "name": " C "}])
    if form == "compaction":
        publish(case, table)
        return
    drop_commits(table.root, 1)
    publish(case, table, versions=[1, 2])


@_after(METADATA, "format-options", "REC-003 META-002 META-013")
def _format_options(case: CaseWriter, form: str) -> None:
    """The options of a format are those of the newest metaData, as written."""
    table = GoldenTable.of(case, PAIR, protocol=_protocol(form))

    def declare(*more: Any, **options: str) -> int:
        said = table.metadata(format={"provider": "parquet", "options": options})
        return table.commit(*more, said, operation="SET TBLPROPERTIES")

    declare(table.protocol_action(), add(table.file([{"id": 1, "name": "a"}])), first="0")
    declare(option=" As Written ", Option="another key", empty="")
    table.append([{"id": 2, "name": "b"}])
    replaced = declare(other="1"), declare()
    case.judged |= dict.fromkeys((f"snapshot-v{n}" for n in replaced), "META-002")
    SUMMARIES[form](table, 2)
    cut = form != "compaction"
    if cut:
        drop_commits(table.root, 2)
    case.judged["snapshot-latest"] = "META-002"
    publish(case, table, versions=range(2 if cut else 0, table.version + 1))
