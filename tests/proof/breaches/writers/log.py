"""Wrong writers of the log: commits, checkpoints, sidecars, compactions, checksums."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    CHECKSUM,
    COMMIT,
    COMPACTION,
    DATA,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    doubling,
    dropping,
    each,
    lines,
    matching,
    parquet,
    renaming,
    rewrite,
    setting,
    without,
)
from breaches.model import writer
from breaches.seams import Edit, leaving
from breaches.views import commits_of, log_of


def _one_less(kind: str, where: str = COMMIT) -> Edit:
    """Lose the last action of a kind."""

    def change(actions: Lines) -> Lines:
        at = [n for n, action in enumerate(actions) if kind in action]
        return [a for n, a in enumerate(actions) if not at or n != at[-1]]

    return lines(change, where)


def _moved(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": f"_hidden/{body['path']}"}


def _shifted(root: Path, fresh: frozenset[str]) -> None:
    """Leave a version out after the first."""
    for name in reversed(matching(COMMIT, fresh)):
        version = int(Path(name).stem)
        if version:
            (root / name).rename(log_of(root) / f"{version + 1:020}.json")


def _onto_the_last(root: Path, fresh: frozenset[str]) -> None:
    """Write a commit over the one before it."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)
        if version > 1:
            (root / name).rename(log_of(root) / f"{version - 1:020}.json")


def _touching(pattern: str, change: Any) -> Edit:
    """Write a file again that an earlier step wrote."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        old = sorted(
            name
            for path in root.rglob("*")
            if path.is_file() and (name := str(path.relative_to(root))) not in fresh
        )
        found = matching(pattern, old)
        if found and any(re.fullmatch(COMMIT, name) for name in fresh):
            rewrite(root / found[0], change((root / found[0]).read_bytes()))

    return edit


def _names_again(root: Path, fresh: frozenset[str]) -> None:
    """Call every new data file by the name of its number in the commit."""
    renamed: dict[str, str] = {}
    for name in matching(DATA, fresh):
        target = f"part-{len(renamed)}.parquet"
        renamed[name] = target
        (root / target).write_bytes((root / name).read_bytes())
        (root / name).unlink()

    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "path": renamed.get(body["path"], body["path"])}

    each("add", change, COMMIT)(root, fresh)


def _with_a_column(table: pa.Table) -> pa.Table:
    return table.append_column("loaded_by", pa.array(["x"] * table.num_rows))


def _spread(root: Path, fresh: frozenset[str]) -> None:
    for name in matching(COMMIT, fresh):
        found = [json.loads(line) for line in (root / name).read_text().splitlines()]
        rewrite(root / name, "".join(json.dumps(a, indent=1) + "\n" for a in found).encode())


def _dead(root: Path) -> Lines:
    gone = [b for found in commits_of(root).values() for b in found if "remove" in b]
    paths = {a["remove"]["path"] for a in gone}
    return [
        a
        for found in commits_of(root).values()
        for a in found
        if "add" in a and a["add"]["path"] in paths and not a["add"].get("deletionVector")
    ]


def _with_dead_files(root: Path, fresh: frozenset[str]) -> None:
    dead = _dead(root)
    lines(lambda found: [*found, *dead] if found else found, CHECKPOINTS)(root, fresh)


def _adding_to(where: str, *actions: dict[str, Any]) -> Edit:
    return lines(lambda found: [*found, *actions], where)


def _column(name: str, rows: Any) -> Edit:
    """Add a column to checkpoints in Parquet, with one row of its own."""

    def change(table: pa.Table) -> pa.Table:
        kind = pa.array([rows]).type
        table = table.append_column(name, pa.nulls(len(table), kind))
        return pa.Table.from_pylist(
            [*table.to_pylist(maps_as_pydicts=None), {name: rows}], table.schema
        )

    return parquet(change, CHECKPOINT)


def _field(of: str, name: str, value: Any) -> Edit:
    """Add a field to the struct column of an action in checkpoints."""

    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(of)
        if at < 0:
            return table
        column = table.column(at).combine_chunks()
        kind = pa.array([value]).type
        inner = [column.field(n) for n in range(column.type.num_fields)]
        names = [column.type.field(n).name for n in range(column.type.num_fields)]
        if name in names:
            return table
        made = pa.array([value] * len(column), kind)
        struct = pa.StructArray.from_arrays(
            [*inner, made],
            fields=[*column.type, pa.field(name, kind)],
            mask=column.is_null(),
        )
        return table.set_column(at, of, struct)

    return parquet(change, CHECKPOINT)


def _no_field(of: str, name: str) -> Edit:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(of)
        if at < 0 or table.schema.field(at).type.get_field_index(name) < 0:
            return table
        column = table.column(at).combine_chunks()
        kept = [f for f in column.type if f.name != name]
        struct = pa.StructArray.from_arrays(
            [column.field(f.name) for f in kept], fields=kept, mask=column.is_null()
        )
        return table.set_column(at, of, struct)

    return parquet(change, f"{CHECKPOINT}|{SIDECAR}")


def _name(old: str, new: str) -> Edit:
    return renaming(old, lambda name: re.sub(old, new, name))


def _swapped(root: Path, fresh: frozenset[str]) -> None:
    """Replace a part of a checkpoint by the content of another."""
    parts = matching(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet", fresh)
    if len(parts) > 1:
        one, other = (root / parts[0]).read_bytes(), (root / parts[1]).read_bytes()
        rewrite(root / parts[0], other)
        rewrite(root / parts[1], one)


def _swapped_again(root: Path, fresh: frozenset[str]) -> None:
    """Do the same at every other attempt at the version."""
    marker = root.parent / "swapped"
    if matching(r".*\.checkpoint\..*", fresh):
        if marker.exists():
            _swapped(root, fresh)
        marker.touch()


def _moved_again(root: Path, fresh: frozenset[str]) -> None:
    """Put the transactions of the first part into the last one at every other attempt."""
    parts = matching(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet", fresh)
    marker = root.parent / "moved"
    if len(parts) > 1 and marker.exists():
        first, last = (pq.ParquetFile(root / parts[at]).read() for at in (0, -1))
        filled = pc.is_valid(first["txn"])
        moved = first.filter(filled).select(["txn"])
        both = pa.concat_tables([last, moved], promote_options="default")
        for name, table in ((parts[0], first.filter(pc.invert(filled))), (parts[-1], both)):
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink)
            rewrite(root / name, sink.getvalue().to_pybytes())
    if parts:
        marker.touch()


def _merged_rows(actions: Lines) -> Lines:
    """Keep two actions in a row."""
    if len(actions) < 2:
        return actions
    one, other, *rest = sorted(actions, key=lambda a: next(iter(a)))
    at = next((n for n, a in enumerate(rest) if not a.keys() & one.keys()), None)
    if not one.keys() & other.keys():
        return [{**one, **other}, *rest]
    return actions if at is None else [{**one, **rest[at]}, other, *rest[:at], *rest[at + 1 :]]


def _old_txns(actions: Lines) -> Lines:
    return [
        *actions,
        *(
            {"txn": {**a["txn"], "version": max(0, a["txn"]["version"] - 1)}}
            for a in actions
            if "txn" in a
        ),
    ]


def _added_too(root: Path, fresh: frozenset[str]) -> None:
    """Keep the add of a file that was removed within the range."""
    dead = _dead(root)
    lines(lambda found: [*found, *dead], COMPACTION)(root, fresh)


def _split(actions: Lines) -> Lines:
    adds = [a for a in actions if "sidecar" in a]
    if not adds:
        return actions
    body = {
        "path": "part-embedded.parquet",
        "partitionValues": {},
        "size": 1,
        "modificationTime": 0,
        "dataChange": False,
    }
    return [*actions, {"add": body}]


_GONE = {"domainMetadata": {"domain": "gone", "configuration": "", "removed": True}}
_PARTS = r"(_delta_log/\d{20}\.checkpoint)\.(\d{10})\.(\d{10})\.parquet"
_CLASSIC = r"(_delta_log/)(\d{20})\.checkpoint\.parquet"
_UUID = r"(_delta_log/)(\d{20})\.checkpoint\.([0-9a-f-]{36})\.(json|parquet)"

ROWS = (
    writer("loses-a-file", "SNAP-008", leaving(_one_less("add"))),
    writer(
        "writes-to-hidden-folders",
        "DATA-001",
        leaving(
            renaming(DATA, lambda name: f"_hidden/{name}"),
            each("add", _moved),
            each("remove", _moved),
        ),
    ),
    writer("gives-names-again", "DATA-004", leaving(_names_again)),
    writer("writes-data-files-again", "DATA-005", leaving(_touching(DATA, lambda b: b + b"x"))),
    writer("leaves-versions-out", "LOG-003", leaving(_shifted)),
    writer("overwrites-commits", "WNEW-001", leaving(_onto_the_last)),
    writer("writes-commits-again", "WNEW-001", leaving(_touching(COMMIT, lambda b: b + b"\n"))),
    writer(
        "writes-columns-of-its-own",
        "WCON-001",
        leaving(parquet(_with_a_column, DATA)),
        "data-files/*",
    ),
    writer("alters-commits", "CRC-001", leaving(_touching(COMMIT, lambda b: b + b"\n"))),
    writer(
        "alters-checksums",
        "CRC-039",
        leaving(_touching(CHECKSUM, lambda b: b + b" "), sums=True),
    ),
    writer("spreads-actions-over-lines", "LOG-004", leaving(_spread)),
    writer(
        "names-commits-without-zeros",
        "LOG-002",
        leaving(_name(r"_delta_log/0*(\d+)\.json", r"_delta_log/\1.json")),
    ),
    writer("adds-a-file-twice", "WLOG-001", leaving(doubling("add"))),
    writer("removes-a-file-twice", "WLOG-001", leaving(doubling("remove"))),
    writer("writes-metadata-twice", "WLOG-002", leaving(doubling("metaData"))),
    writer("writes-protocols-twice", "WLOG-003", leaving(doubling("protocol"))),
    writer("writes-txns-twice", "WLOG-004", leaving(doubling("txn"))),
    writer("keeps-dead-files-in-checkpoints", "CKPT-006", leaving(_with_dead_files)),
    writer(
        "checkpoints-no-tombstones",
        "CKC-005",
        leaving(without("remove", where=CHECKPOINTS)),
    ),
    writer(
        "forgets-tombstones-at-checkpoints",
        "CKPT-007",
        leaving(without("remove", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-half-the-files",
        "CKC-004",
        leaving(_one_less("add", CHECKPOINTS)),
    ),
    writer(
        "checkpoints-not-what-was-replayed",
        "CKPT-005",
        leaving(setting("add", "modificationTime", 1, CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-protocol",
        "CKC-002",
        leaving(without("protocol", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-metadata",
        "CKC-003",
        leaving(without("metaData", where=CHECKPOINTS)),
    ),
    writer("checkpoints-no-txns", "CKC-006", leaving(without("txn", where=CHECKPOINTS))),
    writer(
        "checkpoints-no-domains",
        "CKC-007",
        leaving(without("domainMetadata", where=CHECKPOINTS)),
    ),
    writer(
        "checkpoints-removed-domains",
        "CKC-008",
        leaving(_adding_to(f"{CHECKPOINT}|{JSON_CHECKPOINT}", _GONE)),
        "*domain*",
    ),
    writer(
        "marks-version-1-checkpoints",
        "CKPT-V1-002",
        leaving(_column("checkpointMetadata", {"version": 1})),
    ),
    writer(
        "puts-sidecars-into-version-1",
        "CKPT-V1-001",
        leaving(_column("sidecar", {"path": "a.parquet", "sizeInBytes": 1, "modificationTime": 1})),
    ),
    writer(
        "checkpoints-commitInfo",
        "CKC-012",
        leaving(_column("commitInfo", {"operation": "WRITE"})),
    ),
    writer(
        "checkpoints-changes",
        "CKC-014",
        leaving(_column("cdc", {"path": "a.parquet", "size": 1, "dataChange": False})),
    ),
    writer(
        "keeps-two-actions-in-a-row",
        "CKC-001",
        leaving(lines(_merged_rows, CHECKPOINTS)),
    ),
    writer(
        "checkpoints-no-typed-values",
        "CKC-015",
        leaving(_no_field("add", "partitionValues_parsed")),
    ),
    writer(
        "checkpoints-no-typed-statistics",
        "CKC-021",
        leaving(_no_field("add", "stats_parsed")),
    ),
    writer(
        "checkpoints-no-statistics",
        "CKC-018",
        leaving(dropping("add", "stats", where=CHECKPOINTS)),
    ),
    writer(
        "keeps-statistics-of-removes",
        "CKC-024",
        leaving(_field("remove", "stats", '{"numRecords":1}')),
    ),
    writer(
        "keeps-tags-of-removes",
        "CKC-025",
        leaving(_field("remove", "tags", [("a", "b")])),
    ),
    writer(
        "names-v2-by-no-uuid",
        "CKPT-013",
        leaving(_name(_UUID, r"\1\2.checkpoint.0-1.\4")),
        "checkpoints/*",
    ),
    writer(
        "names-v2-without-zeros",
        "CKPT-014",
        leaving(
            _name(
                r"(_delta_log/)0*(\d+)\.checkpoint\.([0-9a-f-]{36})\.(json|parquet)",
                r"\1\2.checkpoint.\3.\4",
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-version-1-by-uuid",
        "CKPT-015",
        leaving(without("checkpointMetadata", where=CHECKPOINTS)),
    ),
    writer(
        "names-checkpoints-otherwise",
        "CKPT-018",
        leaving(_name(_CLASSIC, r"\1\2.checkpoint.parq")),
        "checkpoints/*",
    ),
    writer(
        "names-checkpoints-without-zeros",
        "CKPT-019",
        leaving(_name(r"(_delta_log/)0*(\d+)\.checkpoint\.parquet", r"\1\2.checkpoint.parquet")),
        "checkpoints/*",
    ),
    writer(
        "counts-parts-from-zero",
        "CKPT-021",
        leaving(
            renaming(
                _PARTS,
                lambda n: re.sub(
                    r"\.(\d{10})\.(\d{10})\.", lambda m: f".{int(m[1]) - 1:010}.{m[2]}.", n
                ),
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-parts-without-zeros-of-versions",
        "CKPT-022",
        leaving(
            _name(
                r"(_delta_log/)0*(\d+)\.checkpoint\.(\d{10})\.(\d{10})\.parquet",
                r"\1\2.checkpoint.\3.\4.parquet",
            )
        ),
        "checkpoints/*",
    ),
    writer(
        "names-parts-in-few-digits",
        "CKPT-023",
        leaving(
            renaming(_PARTS, lambda n: re.sub(r"\.0*(\d+)\.0*(\d+)\.parquet", r".\1.\2.parquet", n))
        ),
        "checkpoints/*",
    ),
    writer(
        "writes-one-part",
        "CKPT-024",
        leaving(_name(_CLASSIC, r"\1\2.checkpoint.0000000001.0000000001.parquet")),
        "checkpoints/*",
    ),
    writer(
        "checkpoints-before-the-commit",
        "CKPT-031",
        leaving(
            renaming(_CLASSIC, lambda n: re.sub(r"\d{20}", lambda m: f"{int(m[0]) + 5:020}", n))
        ),
        "checkpoints/*",
    ),
    writer(
        "marks-no-second-kind",
        "CKPT-V2-002",
        leaving(without("checkpointMetadata", where=CHECKPOINTS)),
    ),
    writer(
        "embeds-some-files",
        "CKPT-V2-004",
        leaving(lines(_split, JSON_CHECKPOINT)),
        "checkpoints/*",
    ),
)
