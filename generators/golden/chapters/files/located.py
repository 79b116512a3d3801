"""Cases of absolute paths: their logs say where the table lies, by placeholders."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import ask_changes, change_file, each_row, feed_table
from generators.golden.cases.filters import is_in
from generators.golden.cases.publish import (
    describe,
    file_entries,
    publish,
    publish_cut,
    publish_timed,
    read_spec,
    snapshot_spec,
)
from generators.golden.cases.recipes import PAIR, Recipe
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    pairs,
    remove,
)
from generators.golden.chapters.files.deletion_vectors import (
    numbered,
    store,
    vector_table,
    with_vector,
)
from generators.golden.chapters.writing.given import old_files
from generators.materialise.data.deletion_vectors import (
    StoredVector,
    decode_uuid_name,
    vector_file_name,
    write_vector_file,
)
from generators.materialise.log.checkpoints import write_v2
from generators.materialise.log.files import SIDECAR_DIRECTORY, read_commit, write_commit
from generators.oracle.delta_schema import field
from generators.placeholders import BESIDE, BESIDE_PLACEHOLDER, TABLE_PLACEHOLDER

ACTIONS = Chapter("add-file-and-remove-file", located=True)
VECTORS = Chapter("deletion-vectors", since="2025", located=True)
CHECKPOINTS = Chapter("v2-checkpoint-feature", since="2025", located=True)
COMPACTIONS = Chapter("log-compaction-files", since="2025", located=True)
FEED = Chapter("add-cdc-file", since="2025", located=True)

_PARTITIONED = PAIR.with_fields(field("p", "string"))
_URI: Final = f"file://{TABLE_PLACEHOLDER}"
_OUTSIDE: Final = f"file://{BESIDE_PLACEHOLDER}"


def _table(case: CaseWriter, **options: Any) -> GoldenTable:
    return GoldenTable.of(case, options.pop("schema", PAIR), **options)


def _spelt(table: GoldenTable, file: DataFile, path: str) -> DataFile:
    """Return a file under another spelling of its path, known to the ledger."""
    return table.register(replace(file, body={**file.body, "path": path}))


def _within(table: GoldenTable, file: DataFile, prefix: str = _URI) -> DataFile:
    return _spelt(table, file, f"{prefix}/{file.path}")


def _moved_out(case: CaseWriter, path: str) -> None:
    """Move a file from the table to the folder beside it."""
    target = case.directory / BESIDE / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(case.delta / path, target)


# Data files.

_SPELLINGS: Final[Mapping[str, tuple[str, str]]] = {
    "absolute-uri": ("A file is found by an absolute URI", _URI),
    "absolute-uri-one-slash": (
        "A file is found by a URI without authority",
        f"file:{TABLE_PLACEHOLDER}",
    ),
    "absolute-path": ("A file is found by an absolute path", TABLE_PLACEHOLDER),
}


def _spelling(case: CaseWriter, prefix: str) -> None:
    table = _table(case)
    first, second = table.file(numbered(3)), table.file(numbered(3, 10))
    table.create(add(_within(table, first, prefix)), add(second))
    table.commit(add(_within(table, table.file(numbered(2, 20)), prefix)))
    publish(case, table)


for _name, (_title, _prefix) in _SPELLINGS.items():
    ACTIONS.define(_name, _title, "ADD-002", partial(_spelling, prefix=_prefix))


@ACTIONS.case("absolute-encoded", "ADD-001 ADD-002")
def _encoded(case: CaseWriter) -> None:
    """An absolute URI is decoded like a relative one."""
    table = _table(case)
    names = ("with space.parquet", "p=100%25/plus+and#.parquet", "größe/é.parquet")
    files = [table.file(numbered(2, 10 * n), path=name) for n, name in enumerate(names)]
    table.create(*(add(_within(table, file)) for file in files))
    publish(case, table)


@ACTIONS.case("absolute-root-encoded", "ADD-001 ADD-002", root="a table, größer")
def _root(case: CaseWriter) -> None:
    """A table root with odd characters is encoded in absolute paths."""
    table = _table(case)
    table.create(add(_within(table, table.file(numbered(3)))), add(table.file(numbered(3, 10))))
    publish(case, table)


def _outside(case: CaseWriter, prefix: str) -> None:
    table = _table(case, schema=_PARTITIONED, partition_columns=["p"])
    lent = []
    for value, start in (("a b", 0), (None, 10)):
        file = table.file(
            numbered(3, start), partition={"p": value}, path=f"source/{start}.parquet"
        )
        _moved_out(case, file.path)
        lent.append(_within(table, file, prefix))
    table.create(*(add(file) for file in lent))
    own = table.file(numbered(2, 20), partition={"p": "own"})
    table.commit(remove(lent[0]), add(own))
    publish(case, table)


for _name, _title, _prefix in (
    ("absolute-outside", "A file may lie outside of the table, as in a shallow clone", _OUTSIDE),
    ("absolute-path-outside", "A file outside of the table may have no scheme", BESIDE_PLACEHOLDER),
):
    ACTIONS.define(_name, _title, "ADD-002", partial(_outside, prefix=_prefix))


@ACTIONS.case("absolute-removed", "ADD-002 REM-002")
def _removed(case: CaseWriter) -> None:
    """A remove in the same absolute spelling removes the file."""
    table = _table(case)
    kept, gone = (_within(table, table.file(numbered(3, n))) for n in (0, 10))
    table.create(add(kept), add(gone))
    table.commit(remove(gone))
    publish(case, table)


@ACTIONS.case("absolute-removed-odd", "REM-002 ADD-002 ADD-003")
def _removed_odd(case: CaseWriter) -> None:
    """An absolute path is decoded in a remove as in an add."""
    table = _table(case)
    paths = ("a%20b.parquet", "é c.parquet", "a b.parquet", "Ã© c.parquet")
    files = [
        _within(table, table.file(numbered(2, 10 * n), path=path)) for n, path in enumerate(paths)
    ]
    table.create(*map(add, files))
    table.commit(*map(remove, files[:2]), operation="DELETE")
    publish(case, table)


@ACTIONS.case("absolute-removed-encoded", "REM-002 ADD-002 ADD-003")
def _removed_encoded(case: CaseWriter) -> None:
    """Absolute spellings that agree after decoding may be one path or two."""
    table = _table(case)
    kept, gone = (
        _within(table, table.file(numbered(3, n), path=f"f {n}.parquet")) for n in (0, 10)
    )
    table.create(add(kept), add(gone))
    table.commit(remove(gone))
    # The ledger compares as text, so that the other spelling comes in behind its back.
    _respell(case, 1, gone.path, gone.path.replace("/f%20", "/%66%20"))
    describe(case, table)
    read_spec(case, table, 0)
    case.contest_read(
        "The remove cancels the add that it decodes to, or nothing",
        PAIR,
        Accepted("decoded", "paths are compared after decoding, as Spark does", rows=table.rows()),
        Accepted(
            "as-written", "paths are compared as written, as the kernels do", rows=table.rows(0)
        ),
    )


def _respell(case: CaseWriter, version: int, old: str, new: str) -> None:
    path = case.delta / "_delta_log" / f"{version:020d}.json"
    text = path.read_text(encoding="utf-8")
    if old not in text or old == new:
        raise ValueError(f"{old} is not to be spelt {new} in {path.name}")
    path.write_text(text.replace(old, new), encoding="utf-8")


@ACTIONS.case("absolute-removed-relative", "REM-002 ADD-002")
def _removed_relative(case: CaseWriter) -> None:
    """An absolute and a relative spelling of one file are contested."""
    table = _table(case)
    file = table.file(numbered(3))
    table.create(add(_within(table, file)), add(table.file(numbered(2, 10))))
    table.commit(remove(file))
    kept = table.rows()
    unified = [row for row in kept if row["id"] >= 10]
    describe(case, table)
    _contest(case, kept, unified, "The remove hits another path, or the file")


@ACTIONS.case("absolute-added-twice", "ADD-002 REM-002")
def _added_twice(case: CaseWriter) -> None:
    """One file added in both spellings is contested."""
    table = _table(case)
    table.commit(add(_within(table, table.create_with(numbered(3)))))
    describe(case, table)
    _contest(case, table.rows(), table.rows(0), "The rows are there twice or once")


def _contest(
    case: CaseWriter,
    apart: Sequence[Mapping[str, Any]],
    unified: Sequence[Mapping[str, Any]],
    title: str,
) -> None:
    case.contest_read(
        title,
        PAIR,
        Accepted("kept-apart", "a path is compared as written after one decoding", rows=apart),
        Accepted("unified", "Spark: both spellings are the same path", rows=unified),
    )


@ACTIONS.case("write-vacuum-absolute", "ADD-002 FA-008")
def _vacuum(case: CaseWriter) -> None:
    """A vacuum keeps live files that the log names by absolute paths."""
    recipe = Recipe(PAIR).append(numbered(3)).append(numbered(3, 10)).append(numbered(2, 20))
    recipe.append(numbered(2, 30)).given()
    recipe.run("vacuum", kept=old_files(case)).append(numbered(2, 40))
    recipe.publish(case)
    # The log as it is laid out, but for how it spells its paths.
    prefixes = (f"{_URI}/", f"file:{TABLE_PLACEHOLDER}/", f"{TABLE_PLACEHOLDER}/")
    for version, prefix in enumerate(prefixes, 1):
        _respell(case, version, '"add":{"path":"', f'"add":{{"path":"{prefix}')


# Deletion vectors.


def _vectors(
    case: CaseWriter, table: GoldenTable, name: str, *rows: Sequence[int], prefix: str = _URI
) -> list[dict[str, Any]]:
    """Store vectors in a file of that name; returns descriptors with its absolute path."""
    identity = uuid.UUID(table.unique_name("vector"))
    stored = [StoredVector(each) for each in rows]
    path = f"{prefix}/{quote(name, safe='/+')}"
    descriptors = write_vector_file(table.root, identity, stored, absolute=path)
    target = case.delta / name
    target.parent.mkdir(parents=True, exist_ok=True)
    (case.delta / vector_file_name(identity)).rename(target)
    if prefix == _OUTSIDE:
        _moved_out(case, name)
    return [
        table.register_vector(each, deleted)
        for each, deleted in zip(descriptors, rows, strict=True)
    ]


_VECTOR_PLACES: Final[Mapping[str, tuple[str, str, str]]] = {
    "absolute-uri": ("A vector is found by an absolute URI", "vectors.bin", _URI),
    "absolute-path": (
        "A vector is found by an absolute path without scheme, or refused",
        "vectors.bin",
        TABLE_PLACEHOLDER,
    ),
    "absolute-encoded": (
        "The absolute path of a vector is decoded like that of a file",
        "of the table/50%25 +1#.bin",
        _URI,
    ),
    "absolute-outside": ("A vector may lie outside of the table", "lent/vectors.bin", _OUTSIDE),
}


def _vector_case(case: CaseWriter, name: str, prefix: str) -> None:
    table = vector_table(case)
    first, second = table.file(numbered(10)), table.file(numbered(10, 100))
    table.create(add(first), add(second))
    vectors = _vectors(case, table, name, [1, 3, 8], [5], [1, 3, 4, 8], prefix=prefix)
    table.commit(
        *with_vector(first, vectors[0]), *with_vector(second, vectors[1]), operation="DELETE"
    )
    table.commit(*with_vector(first, vectors[2], vectors[0]), operation="DELETE")
    if prefix != TABLE_PLACEHOLDER:
        case.judged["read-latest"] = "DV-005"
        publish(case, table)
        return
    describe(case, table)
    read_spec(case, table, 0)
    snapshot_spec(case, table, 0)
    title = "A path without scheme is one of the table's store, or refused"
    refused = Accepted(
        "refused",
        "the examples of absolute paths have a scheme, and no sentence says which store one "
        "without it is in",
        refusal=Refusal("invalid_table", "read", "DVDESC-006"),
    )

    def answered(**answer: Any) -> list[Accepted]:
        return [Accepted("read", "a URI may be an absolute path alone", **answer), refused]

    for slug, version in (("latest", None), ("v1", 1), ("v2", 2)):
        state = table.states[table.version if version is None else version]
        read = answered(rows=table.rows(version))
        case.contest_read(title, table.schema, *read, slug=f"read-{slug}", version=version)
        document = {"protocol": state.protocol, "metadata": state.metadata}
        loaded = answered(expected=document)
        case.contest("snapshot", f"snapshot-{slug}", loaded, title=title, version=version)
    live = answered(expected={"files": file_entries(table)})
    case.contest("files", "files-latest", live, title=title)


for _name, (_title, _file, _prefix) in _VECTOR_PLACES.items():
    VECTORS.define(
        _name,
        _title,
        "DVDESC-015 DV-005 DVDESC-006",
        partial(_vector_case, name=_file, prefix=_prefix),
    )


@VECTORS.case("vectors-of-one-absolute-file", "DVDESC-014 DVDESC-015 REC-010")
def _of_one_absolute_file(case: CaseWriter) -> None:
    """Two vectors in one file at an absolute path are two vectors."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    one, other = _vectors(case, table, "vectors.bin", [1, 2], [1, 2, 5])
    table.commit(*with_vector(file, one), operation="DELETE")
    table.commit(*with_vector(file, other, one), operation="DELETE")
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v2"), "DVDESC-014")
    publish(case, table)


@VECTORS.case("absolute-clone", "ADD-002 DVDESC-006 DVDESC-016")
def _clone(case: CaseWriter) -> None:
    """Files and vectors of another table are read, as in a shallow clone."""
    table = vector_table(case)
    file = table.file(numbered(10), path="source/part-0.parquet")
    _moved_out(case, file.path)
    lent = _within(table, file, _OUTSIDE)
    (vector,) = _vectors(case, table, "source/deletion_vector.bin", [1, 8], prefix=_OUTSIDE)
    table.create(add(lent, deletionVector=vector), operation="CLONE")
    # A relative path leads from the table, wherever the file is.
    (relative,) = store(table, [1, 2, 8])
    table.commit(*with_vector(lent, relative, vector), operation="DELETE")
    (own,) = _vectors(case, table, "own.bin", [1, 2, 5, 8])
    table.commit(*with_vector(lent, own, relative), operation="DELETE")
    case.judged["read-v1"] = "DVDESC-016"
    publish(case, table)


@VECTORS.case("write-vacuum-absolute", "DVDESC-015 DVD-003")
def _vacuum_vectors(case: CaseWriter) -> None:
    """A vacuum keeps the vectors that the log names by absolute paths."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(numbered(6))
    recipe.append(numbered(3, 10)).delete_by_vectors(is_in("id", [2, 4], "long")).given()
    recipe.run("vacuum", kept=old_files(case)).append(numbered(2, 40))
    recipe.publish(case)
    lines = read_commit(case.delta, 3)
    [vector] = [each["add"]["deletionVector"] for each in lines if "add" in each]
    _, identity = decode_uuid_name(vector["pathOrInlineDv"])
    vector |= {"storageType": "p", "pathOrInlineDv": f"{_URI}/{vector_file_name(identity)}"}
    write_commit(case.delta, 3, lines)


# Checkpoints.


@CHECKPOINTS.case("absolute-paths", "ADD-002 REM-002")
def _checkpoint(case: CaseWriter) -> None:
    """A checkpoint in JSON holds absolute paths as the commits do."""
    table = _table(case, protocol=feature_protocol(["v2Checkpoint"]))
    kept, gone, later = (_within(table, table.file(numbered(3, n))) for n in (0, 10, 20))
    table.create(add(kept), add(gone), add(later))
    table.commit(remove(gone))
    identity = table.unique_name("checkpoint")
    write_v2(case.delta, 1, table.states[1], identity=identity, extension="json")
    table.commit(remove(later), add(table.file(numbered(2, 30))))
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@COMPACTIONS.case("absolute-paths", "ADD-002 REM-002")
def _compaction(case: CaseWriter) -> None:
    """A compaction holds absolute paths as the commits do."""
    table = _table(case)
    kept, gone, later = (_within(table, table.file(numbered(3, n))) for n in (0, 10, 20))
    table.create(add(kept), add(gone), add(later))
    table.commit(remove(gone))
    table.compact_log(0, 1)
    table.commit(remove(later), add(table.file(numbered(2, 30))))
    publish(case, table)


@CHECKPOINTS.case("absolute-sidecars", "SCA-002 SCA-003 SIDE-005")
def _sidecars(case: CaseWriter) -> None:
    """A sidecar may be named by its absolute path."""
    table = _table(case, protocol=feature_protocol(["v2Checkpoint"]))
    table.create(*(add(table.file(numbered(3, 10 * n))) for n in range(3)))
    table.append(numbered(2, 30))
    [path, *_] = table.checkpoint("v2-json", 1, sidecars=2, hint=False).files
    name = '"sidecar":{"path":"'
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(name, f"{name}{_URI}/{SIDECAR_DIRECTORY}/"), encoding="utf-8")
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v1"), "SIDE-005")
    publish_cut(case, table, 1)


# Change files.


@FEED.case("absolute-paths", "CDC-006 ADD-002 REM-002")
def _changes(case: CaseWriter) -> None:
    """Change files, and files that are changes, are found by absolute URIs."""
    table = feed_table(case)
    first, second = (
        _within(table, table.file(pairs(10 * n), path=f"of table/50%25+{n}.parquet"))
        for n in range(2)
    )
    table.create(add(first), add(second))
    table.commit(remove(second), operation="DELETE")
    kept = table.file(first.rows[:1])
    recorded = [
        change_file(table, rows, [kind] * len(rows), prefix=f"_change_data/{kind}s of/cdc+50%25")
        for kind, rows in (("delete", first.rows), ("insert", kept.rows))
    ]
    for each in recorded:
        each["cdc"]["path"] = f"{_URI}/{each['cdc']['path']}"
    table.commit(remove(first), add(kept), *recorded, operation="UPDATE")
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, [*first.rows, *second.rows]),
        *each_row("delete", 1, second.rows),
        *each_row("delete", 2, first.rows),
        *each_row("insert", 2, kept.rows),
    ]
    for slug, version, judged in (
        ("added", 0, "ADD-002"), ("removed", 1, "REM-002"), ("listed", 2, "CDC-006"),
    ):  # fmt: skip
        title = "Absolute paths lead to changes as relative ones do"
        ask_changes(case, table, slug, version, version, changes, title, requirement=judged)
