"""Cases of data files and their paths: what the log says counts, not what a directory suggests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import (
    aggregated,
    describe,
    earlier_spec,
    files_spec,
    filtered,
    projected,
    publish,
    snapshot_spec,
)
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import DataFile, GoldenTable, add, remove
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, json_text
from generators.oracle.delta_schema import struct

FILES = Chapter("data-files")
ACTIONS = Chapter("add-file-and-remove-file")

_PATHS = (
    "plain.parquet", "with space.parquet", "percent%41.parquet", "double%2520.parquet",
    "plus+plus.parquet", "hash#tag.parquet", "\u00e9t\u00e9.parquet", "a=b&c.parquet",
    "(paren)[brack].parquet", "sub/dir/deep.parquet", "sub dir/100%.parquet", "at@semi;.parquet",
    "comma,tilde~.parquet", "\U0001f33c.parquet", "single'quote.parquet",
)  # fmt: skip


@ACTIONS.case("paths-odd-characters", "ADD-003 ADD-004 REM-002")
def _odd_paths(case: CaseWriter) -> None:
    """Paths are URIs that are decoded exactly once."""
    table = GoldenTable.created(case, PAIR)
    files = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(_PATHS)]
    table.commit(*(add(file) for file in files))
    table.commit(*(remove(file) for file in files[::2]))
    publish(case, table)


@ACTIONS.case("paths-removed", "REM-002 ADD-003")
def _removed_paths(case: CaseWriter) -> None:
    """Paths of adds and removes are decoded alike, each once."""
    table = GoldenTable.created(case, PAIR)
    # What the first two decode to is what the last two are written like.
    paths = ("a b.parquet", "c%20d.parquet", "a%20b.parquet", "c d.parquet")
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.commit(*(add(file) for file in files))
    table.commit(*(remove(file) for file in files[:2]))
    case.judged["read-v2"] = "REM-002"
    publish(case, table)


@ACTIONS.case("paths-removed-letters", "REM-002 ADD-003")
def _removed_letters(case: CaseWriter) -> None:
    """Escapes of a path are bytes of UTF-8, in removes too."""
    table = GoldenTable.created(case, PAIR)
    names = ("é.parquet", "Ã©.parquet", "日 本.parquet")
    files = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(names)]
    table.commit(*(add(file) for file in files))
    table.commit(remove(files[0]), remove(files[2]))
    publish(case, table)


@ACTIONS.case("paths-in-lower-case-escapes", "ADD-003")
def _lower_escapes(case: CaseWriter) -> None:
    """The letters of an escape are of either case."""
    table = GoldenTable.of(case, PAIR)
    file = table.create_with([{"id": 1, "name": "a"}], path="é+%.parquet")
    commit = case.delta / LOG_DIRECTORY / commit_name(0)
    commit.write_text(commit.read_text("utf-8").replace(file.path, file.path.lower()), "utf-8")
    publish(case, table, files=False)


@ACTIONS.case("paths-odd-checkpoint", "ADD-003 REM-002 CKPT-005")
def _odd_paths_checkpoint(case: CaseWriter) -> None:
    """Odd paths mean the same in a checkpoint."""
    table = GoldenTable.created(case, PAIR)
    files = [table.file([{"id": n, "name": name}], path=name) for n, name in enumerate(_PATHS)]
    table.commit(*(add(file) for file in files))
    table.checkpoint(version=1, hint=False)
    table.commit(*(remove(file) for file in files[1::2]))
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@ACTIONS.case("paths-encoded-differently", "REM-002 ADD-003 REC-008")
def _two_encodings(case: CaseWriter) -> None:
    """Two encodings of one path may name one file or two."""
    table = GoldenTable.created(case, PAIR)
    kept = table.file([{"id": 1, "name": "kept"}], path="kept.parquet")
    gone = table.file([{"id": 2, "name": "gone"}], path="g(o)ne file.parquet")
    table.commit(add(kept), add(gone))
    table.commit(remove(gone, path="g%28o%29ne%20file.parquet"))
    describe(case, table)
    survivors = [{"id": 1, "name": "kept"}]
    both = [*survivors, {"id": 2, "name": "gone"}]
    case.read("read-v1", PAIR, both, title="Before the remove both rows are there", version=1)
    case.contest_read(
        "The remove cancels the add that it decodes to, or nothing",
        PAIR,
        Accepted("decoded", "paths are compared after decoding, as Spark does", rows=survivors),
        Accepted("as-written", "paths are compared as written, as the kernels do", rows=both),
    )


@ACTIONS.case("remove-absolute-elsewhere", "ADD-002 REM-002")
def _absolute_remove(case: CaseWriter) -> None:
    """A remove of a file elsewhere cancels nothing."""
    table = GoldenTable.created(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}], path="same-name.parquet")
    table.commit(add(file))
    table.commit(remove(file, path="file:///elsewhere/same-name.parquet"))
    publish(case, table, files=False)


@FILES.case("names-like-hidden", "SNAP-007 DATA-001")
def _like_hidden(case: CaseWriter) -> None:
    """Files are read whose names, or whose folders after a dot, look hidden."""
    table = GoldenTable.created(case, PAIR)
    paths = ("_file.parquet", ".file.parquet", "sub/_4.parquet", "sub/.5.parquet", ".sub/6.parquet")
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.commit(*(add(file) for file in files))
    table.append([{"id": 9, "name": "plain"}])
    publish(case, table)


@FILES.case("misleading-directories", "DATA-002 DATA-003")
def _misleading(case: CaseWriter) -> None:
    """Partition values come from the log, not from names."""
    table = GoldenTable.created(case, struct(id="long", p="string"), partition_columns=["p"])
    paths = {"a": "p=b/1.parquet", "b": "p=a/2.parquet", "c": "3.parquet", "d": "q=d/p=z/4.parquet"}
    for number, (value, path) in enumerate(paths.items()):
        table.append([{"id": number}], partition={"p": value}, path=path)
    table.append([{"id": 9}], path="p=notnull/5.parquet")
    publish(case, table)
    for value in ("a", "z", "notnull"):
        kept = compare("p", "=", value, "string")
        filtered(case, table, f"filter-{value}", kept, "A filter goes by the value in the log")
    filtered(case, table, "filter-null", is_null("p"), "So does a test for null")


@FILES.case("orphans-invisible", "SNAP-003 DATA-001")
def _orphans(case: CaseWriter) -> None:
    """Files that no commit names are no part of the table."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    table.create(add(table.file([{"id": 1}], partition={"p": "x"})))
    table.file([{"id": 2}], partition={"p": "x"})
    table.file([{"id": 3}], partition={"p": "y"}, path="orphan.parquet")
    table.file([{"id": 4}], partition={"p": "y"}, path="plain/folder/orphan.parquet")
    publish(case, table)


@FILES.case("orphans-alone", "SNAP-003")
def _orphans_alone(case: CaseWriter) -> None:
    """A table without live files is empty, whatever lies in its directory."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    table.create()
    file = table.file([{"id": 1}], partition={"p": "x"})
    table.commit(add(file))
    table.commit(remove(file), operation="DELETE")
    table.file([{"id": 2}], partition={"p": "x"})
    table.file([{"id": 3}], partition={"p": "y"}, path="orphan.parquet")
    table.file([{"id": 4}], partition={"p": "y"}, path="plain/folder/orphan.parquet")
    publish(case, table)
    aggregated(case, table, "aggregate", ["id"], "Nothing is there to be counted")


@FILES.case("partition-column-in-file", "DATA-003 ADD-005")
def _stored_partition(case: CaseWriter) -> None:
    """A partition column stored in the file does not count."""
    table = GoldenTable.created(case, struct(id="long", p="string"), partition_columns=["p"])
    table.append([{"id": 1}], partition={"p": "x"}, layout=FileLayout(partitions_inside=True))
    table.append([{"id": 2}], partition={"p": "y"})
    publish(case, table)


@FILES.case("partition-column-in-file-differs", "DATA-003 ADD-005 WCON-001")
def _other_partition(case: CaseWriter) -> None:
    """What a file holds under the name of a partition column does not count."""
    schema = struct(id="long", p="string")
    table = GoldenTable.created(case, schema, partition_columns=["p"])
    for number, value in enumerate(("x", None)):
        inside = ExtraColumn("p", pa.array(["in the file"]))
        layout = FileLayout(extra=(inside,))
        table.append([{"id": number}], partition={"p": value}, layout=layout)
    publish(case, table)
    for slug, probe in (
        ("value", compare("p", "=", "x", "string")),
        ("other", compare("p", "=", "in the file", "string")),
        ("null", is_null("p")),
    ):
        title = "A filter goes by the value of the log"
        filtered(case, table, f"filter-{slug}", probe, title, requirement="DATA-003")


@FILES.case("missing-columns", "WCON-003 WCON-004")
def _missing(case: CaseWriter) -> None:
    """Columns that a file lacks read as null."""
    schema = struct(id="long", a="string", s=struct(x="integer", y="integer"))
    table = GoldenTable.created(case, schema)
    full: list[dict[str, Any]] = [
        {"id": 1, "a": "x", "s": {"x": 1, "y": 2}},
        {"id": 2, "a": None, "s": {"x": 3, "y": 4}},
    ]
    table.append(full)
    table.append([{"id": 3}], layout=FileLayout(omit=frozenset({"a", "s"})))
    table.append([{"id": 4, "a": "y"}], layout=FileLayout(omit=frozenset({"s"})))
    lacking = ("read-latest", "read-v2", "read-v3", "filter-null", "filter-equal")
    case.judged = dict.fromkeys((*lacking, "project-missing"), "WCON-004")
    publish(case, table)
    filtered(case, table, "filter-null", is_null("a"), "A missing column is null to a filter")
    kept = compare("a", "=", "y", "string")
    filtered(case, table, "filter-equal", kept, "A value is found beside files that lack it")
    projected(case, table, "project-missing", ["a"], "A missing column is read alone")


@FILES.case("no-columns-in-file", "WCON-004")
def _no_columns(case: CaseWriter) -> None:
    """A file of no known column still has its rows."""
    table = GoldenTable.of(case, struct(id="long", new="string"))
    table.create(
        add(table.file([{"id": 1}, {"id": 2}], layout=FileLayout(omit=frozenset({"new"}))))
    )
    publish(case, table)
    projected(case, table, "project-new", ["new"], "Reading only the new column gives all rows")


@FILES.case("data-file-missing", "SNAP-007 ADD-001")
def _file_missing(case: CaseWriter) -> None:
    """A live file that is not on disk fails the read."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}])
    lost = table.file([{"id": 2, "name": "b"}])
    table.commit(add(lost))
    (case.delta / lost.path).unlink()
    describe(case, table)
    refusal = Refusal("not_found", "read", "SNAP-007", code="FAILED_READ_FILE.DBR_FILE_NOT_EXIST")
    case.refuse("read", "read-latest", refusal, title="The read fails rather than lose rows")
    case.read("read-v0", PAIR, table.rows(0), title="The version before it reads", version=0)
    snapshot_spec(case, table, None)


@FILES.case("data-file-truncated", "SNAP-007 ADD-006")
def _file_truncated(case: CaseWriter) -> None:
    """A data file that is cut short fails the read."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}])
    cut = table.file([{"id": 2, "name": "b"}])
    table.commit(add(cut))
    place = case.delta / cut.path
    place.write_bytes(place.read_bytes()[:100])
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "SNAP-007")
    case.refuse("read", "read-latest", refusal, title="The read fails rather than lose rows")
    case.read("read-v0", PAIR, table.rows(0), title="The version before it reads", version=0)


@FILES.case("empty-data-file", "STAT-001")
def _no_rows(case: CaseWriter) -> None:
    """A data file without rows adds none."""
    publish(case, GoldenTable.created(case, PAIR, [], [{"id": 1, "name": "a"}]))


@ACTIONS.case("re-add-replaces", "FA-003 FA-020")
def _re_add(case: CaseWriter) -> None:
    """A later add of a file replaces what is known of it."""
    table = GoldenTable.of(case, PAIR)
    file = table.create_with([{"id": 1, "name": "a"}], statistics=False, tags={"round": "1"})
    again = add(
        file,
        tags={"round": "2"},
        dataChange=False,
        modificationTime=file.body["modificationTime"] + 1,
    )
    table.commit(again)
    publish(case, table)


@ACTIONS.case("modified-before-1970", "ADD-007 REC-018")
def _modified_before_1970(case: CaseWriter) -> None:
    """Files may have times before 1970, and times that go back."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": number, "name": "a"}]) for number in range(4)]
    times = (-1, 0, -(10**12), 1)
    table.create(*(add(file, modificationTime=at) for file, at in zip(files, times, strict=True)))
    table.checkpoint()
    table.commit(add(files[3], modificationTime=-2, dataChange=False))
    case.judged = dict.fromkeys(("files-latest", "files-v0"), "REC-018")
    publish(case, table)
    files_spec(case, table, 0)


@ACTIONS.case("re-add-with-less", "FA-003 FA-020")
def _re_add_with_less(case: CaseWriter) -> None:
    """What a later add of a file leaves out is known no more."""
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}], statistics=False)
    table.create(add(file, tags={"round": "1", "first": "yes"}, clusteringProvider="a"))
    table.commit(add(file, tags={"round": "2"}, dataChange=False, clusteringProvider="a"))
    table.commit(add(file, dataChange=False))
    publish(case, table)


@ACTIONS.case("re-add-to-another-partition", "FA-003")
def _re_add_elsewhere(case: CaseWriter) -> None:
    """A later add of a file replaces its partition values too."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    # No folder has the name of the former value, by which some readers go.
    file, other = (
        table.file([{"id": n}], partition={"p": "x"}, path=f"{n}.parquet") for n in (1, 2)
    )
    table.create(add(file), add(other))
    rows = tuple({**row, "p": "y"} for row in file.rows)
    moved = DataFile({**file.body, "partitionValues": {"p": "y"}}, rows, file.schema)
    table.commit(add(table.register(moved)))
    publish(case, table, versions=[1])
    case.judged["filter"] = "FA-003"
    title = "A filter on the former value finds the other file alone"
    filtered(case, table, "filter", compare("p", "=", "x", "string"), title)


def _re_add_repairs(case: CaseWriter, *, checkpoint: bool) -> None:
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}, {"id": 7, "name": "b"}])
    wrong = json.loads(file.body["stats"])
    wrong |= {"numRecords": 1, "maxValues": {"id": 1, "name": "a"}}
    table.create(add(file, stats=json.dumps(wrong)))
    if checkpoint:
        table.checkpoint(version=0)
    table.commit(add(file, dataChange=False))
    case.judged = dict.fromkeys(("filter", "extremes"), "FA-003")
    describe(case, table)
    title = "Bounds that were replaced leave nothing out"
    filtered(case, table, "filter", compare("id", "=", 7, "long"), title)
    aggregated(case, table, "extremes", ["id"], "What was replaced counts nothing")


for _name, _checkpoint in (("statistics", False), ("checkpoint", True)):
    ACTIONS.define(
        f"re-add-repairs-{_name}",
        "Statistics are those of the newest add, whatever an earlier one had",
        "FA-003",
        partial(_re_add_repairs, checkpoint=_checkpoint),
    )


@ACTIONS.case("re-add-after-checkpoint", "FA-003 FA-020")
def _re_add_after_checkpoint(case: CaseWriter) -> None:
    """What a checkpoint knows of a file is replaced by a later add."""
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}], statistics=False)
    table.create(add(file, tags={"round": "1", "first": "yes"}))
    table.checkpoint(version=0, hint=False)
    table.commit(add(file, tags={"round": "2"}, dataChange=False))
    publish(case, table, log_info={"lastCheckpointVersion": 0})


@ACTIONS.case("remove-then-add-again", "REC-018 FA-003")
def _add_again(case: CaseWriter) -> None:
    """A removed file that is added again is live."""
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}])
    other = table.file([{"id": 2, "name": "b"}])
    table.create(add(file), add(other))
    table.commit(remove(file))
    table.commit(add(file))
    table.checkpoint(version=2, hint=False)
    table.commit(remove(other))
    publish(case, table, log_info={"lastCheckpointVersion": 2})


@ACTIONS.case("remove-bare", "REM-003 REM-006 REM-009")
def _bare_remove(case: CaseWriter) -> None:
    """A remove needs no more than path and dataChange."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    files = [table.file([{"id": n}], partition={"p": "x"}) for n in range(3)]
    table.create(*(add(file) for file in files))
    table.commit({"remove": {"path": files[0].path, "dataChange": True}})
    bare = {"path": files[1].path, "deletionTimestamp": None, "dataChange": True}
    table.commit({"remove": {**bare, "extendedFileMetadata": None, "partitionValues": None}})
    publish(case, table)


@ACTIONS.case("remove-unknown-file", "REC-011 FA-007")
def _remove_unknown(case: CaseWriter) -> None:
    """A remove of a file never added changes nothing."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}])
    ghost = {"path": "never-added.parquet", "deletionTimestamp": 1, "dataChange": True}
    table.commit({"remove": ghost})
    publish(case, table)


@ACTIONS.case("remove-other-case", "REC-006 REM-002 FA-007")
def _remove_other_case(case: CaseWriter) -> None:
    """Paths that differ in case name different files."""
    table = GoldenTable.of(case, PAIR)
    file = table.create_with([{"id": 1, "name": "a"}])
    # The other spelling is no file on disk: a checkout on any file system holds the table.
    other = {"path": file.path.upper(), "deletionTimestamp": 1, "dataChange": True}
    table.commit({"remove": other})
    publish(case, table)


@ACTIONS.case("null-optional-fields", "ADD-010 ADD-011 ADD-012 ADD-013")
def _null_fields(case: CaseWriter) -> None:
    """Optional fields that are null count as absent."""
    table = GoldenTable.of(case, PAIR)
    nothing = dict.fromkeys(
        ("stats", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    )
    table.create(add(table.file([{"id": 1, "name": "a"}]), **nothing, clusteringProvider=None))
    table.append([{"id": 2, "name": None}], tags={"k": None, "l": "v"})
    publish(case, table, files=False)


@ACTIONS.case("data-change-false", "ADD-008 CKC-027 FA-017")
def _no_change(case: CaseWriter) -> None:
    """Files with dataChange false are read like others."""
    table = GoldenTable.of(case, PAIR)
    parts = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*(add(part) for part in parts))
    whole = table.file([{"id": n, "name": f"n{n}"} for n in range(3)])
    table.commit(
        add(whole, dataChange=False),
        *(remove(part, dataChange=False) for part in parts),
        operation="OPTIMIZE",
    )
    publish(case, table)


@dataclass(frozen=True, slots=True)
class _Missing:
    """A required field that an action lacks, and why a reader may read on all the same."""

    action: str
    field: str
    requirement: str
    lenient: str = ""


_MISSING = (
    _Missing("add", "path", "ADD-001"),
    _Missing("remove", "path", "REM-001"),
    _Missing("add", "size", "ADD-006", "the size changes no row"),
    _Missing("add", "modificationTime", "ADD-007", "the time changes no row"),
    _Missing("add", "dataChange", "ADD-008", "the flag changes no row"),
    _Missing("remove", "dataChange", "REM-004", "the flag changes no row"),
    _Missing("add", "partitionValues", "ADD-005", "the table has no partition columns"),
)


def _field_missing(case: CaseWriter, missing: _Missing) -> None:
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}])
    table.create(add(file), add(table.file([{"id": 2, "name": "b"}])))
    whole = (add if missing.action == "add" else remove)(
        table.file([{"id": 3, "name": "c"}]) if missing.action == "add" else file
    )
    describe(case, table)
    if missing.field == "path":
        # As text, so that the ledger does not try to understand it.
        table.commit(json_text(_lacking(whole, missing)))
    else:
        table.commit(_lacking(whole, missing))
    title = f"{missing.action} without {missing.field} is refused"
    # A reader that skips an action without a path applies a part of the commit.
    judged = missing.requirement if missing.lenient else "LOG-006"
    refusal = Refusal("invalid_table", "read", judged)
    if missing.lenient:
        refused = Accepted("refused", "the field is required", refusal=refusal)
        read = Accepted("read", missing.lenient, rows=table.rows())
        case.contest_read(f"{title} or read", PAIR, refused, read)
    else:
        case.refuse("read", "read-latest", refusal, title=title)
    earlier_spec(case, table, 0)


def _lacking(action: Mapping[str, Any], missing: _Missing) -> dict[str, Any]:
    body = {key: value for key, value in action[missing.action].items() if key != missing.field}
    return {missing.action: body}


for _each in _MISSING:
    ACTIONS.define(
        f"{_each.action}-without-{_each.field.lower()}",
        f"{_each.action} without {_each.field} breaks its clause",
        [_each.requirement],
        partial(_field_missing, missing=_each),
    )


@FILES.case("table-root-odd-name", "SNAP-006", root="a b%20c+d\u00e9")
def _odd_root(case: CaseWriter) -> None:
    """A table below a root of odd characters reads."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    table.create(add(table.file([{"id": 1}], partition={"p": "x y"})))
    table.append([{"id": 2}], partition={"p": "%20"})
    table.checkpoint(version=1, hint=False)
    table.append([{"id": 3}], partition={"p": "z"})
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@FILES.case("table-root-hash", "SNAP-006", root="part#one")
def _hash_root(case: CaseWriter) -> None:
    """A table below a root with a hash sign reads."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}])
    table.append([{"id": 2, "name": "b"}])
    publish(case, table)


@FILES.case("table-root-equals", "SNAP-006 DATA-003", root="p=fake")
def _equals_root(case: CaseWriter) -> None:
    """A root that looks like a partition is no partition."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    table.create(add(table.file([{"id": 1}], partition={"p": "real"}, path="one.parquet")))
    publish(case, table)
