"""Freedoms of how files are laid out, named and referred to, and of when nothing is done.

They are of the kind of ``freedoms.py``: right by the text, and unlike the reference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
from breaches.edits import (
    CHECKPOINT,
    CHECKSUM,
    COMPACTION,
    HINT,
    JSON_CHECKPOINT,
    SIDECAR,
    deleting,
    document,
    each,
    lines,
    matching,
    parquet,
    renaming,
    schema,
)
from breaches.edits import statistics as statistics_of
from breaches.model import How
from breaches.seams import Edit, doing_nothing, leaving, rows, viewing
from freedoms import Actions, Change, Freedom, bodies, committing

from generators.materialise.data.deletion_vectors import z85_encode
from reference_impl.deletion_vectors.descriptor import decode_z85

_DATA: Final = (
    "data-files/write-append-types/write",
    "data-files/write-nested/write",
    "column-mapping/write-changes-by-id/write",
    "change-data-files/write-changes/write",
    "row-tracking/write-changes/write",
)
_SUMMARIES: Final = (
    "checkpoints/write-checkpoint/write",
    "checkpoints/write-everything/write",
    "checkpoints/write-v2-parquet-sidecars/write",
    "checkpoints/write-v2-json-sidecars/write",
)
_VECTORS: Final = (
    "deletion-vectors/write-changes/write",
    "deletion-vectors/write-merge/write",
    "change-data-files/write-changes-with-vectors/write",
    "row-tracking/write-changes-with-vectors/write",
)
_TRACKED: Final = ("row-tracking/write-changes/write",)
_CHANGED: Final = (
    "column-mapping/write-changes-by-name/write",
    "add-file-and-remove-file/write-append-partitions/write",
    "row-tracking/write-merge/write",
)


def _same(held: Any) -> Any:
    return held


def _reformatted_schema(checksum: dict[str, Any]) -> None:
    """Write the schema of a checksum file with its keys in another order, and spaced."""
    metadata = checksum["metadata"]
    tree = json.loads(metadata["schemaString"])
    metadata["schemaString"] = json.dumps(tree, sort_keys=True, indent=1)


def _columns_turned(table: pa.Table) -> pa.Table:
    return table.select(list(reversed(table.column_names)))


def _without(prefix: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.select([n for n in table.column_names if not n.startswith(prefix)])


def new_files(change: Callable[[dict[str, Any], Path, str], dict[str, Any]]) -> Change:
    """Change files that no earlier commit names, with what the commit says of them."""

    def changed(actions: Actions, root: Path) -> Actions:
        logs = sorted((root / "_delta_log").glob("*.json"))
        named = "".join(path.read_text() for path in logs)

        def one(kind: str, body: Any) -> Any:
            if kind not in ("add", "cdc") or json.dumps(body["path"]) in named:
                return body
            return change(body, root, kind)

        return [{k: one(k, v) for k, v in each.items()} for each in actions]

    return changed


def _written(change: Callable[[pa.Table], pa.Table] = _same, **options: Any) -> How:
    """Write data files and change data files in another form of Parquet."""

    def again(body: dict[str, Any], root: Path, _kind: str) -> dict[str, Any]:
        path = root / unquote(body["path"])
        table = change(pq.ParquetFile(path).read())
        pq.write_table(table, path, **options)
        return {**body, "size": path.stat().st_size}

    return committing(new_files(again))


def _counts_alone(body: dict[str, Any], _root: Path) -> dict[str, Any]:
    if not body.get("stats"):
        return body
    counts = {"numRecords": json.loads(body["stats"])["numRecords"], "vendor": [1]}
    return {**body, "stats": json.dumps(counts)}


def _moved(body: dict[str, Any], root: Path, kind: str) -> dict[str, Any]:
    """Put a new data file into a folder of all, under a name without meaning."""
    if kind != "add":
        return body
    path = root / unquote(body["path"])
    target = root / "any where" / f"{path.stem.replace('.', '')}.data"
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    return {**body, "path": quote(target.relative_to(root).as_posix())}


def _absolute(body: dict[str, Any], root: Path) -> dict[str, Any]:
    if "://" in body["path"]:
        return body
    return {**body, "path": f"{root.resolve().as_uri()}/{body['path']}"}


def _mark_with_gap(body: dict[str, Any], _root: Path) -> dict[str, Any]:
    """Reserve more row ids than are given."""
    if body.get("domain") != "delta.rowTracking":
        return body
    mark = json.loads(body["configuration"])["rowIdHighWaterMark"] + 1000
    return {**body, "configuration": json.dumps({"rowIdHighWaterMark": mark})}


def _described(body: dict[str, Any], _root: Path) -> dict[str, Any]:
    schema = json.loads(body["schemaString"])
    turned = {key: schema[key] for key in reversed(schema)}
    return {**body, "createdTime": 0, "schemaString": json.dumps(turned, indent=2)}


def _whole_seconds(body: dict[str, Any], _root: Path) -> dict[str, Any]:
    """Leave fractions out that are nothing, and write those that are left out."""

    def spelled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.0+Z", value):
            return value[:19] + "Z"
        if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.0+", value):
            return value[:19]
        return value + ".000000" if re.fullmatch(r"[\d-]{10} [\d:]{8}", value) else value

    values = body.get("partitionValues")
    if values is None:
        return body
    return {**body, "partitionValues": {k: spelled(v) for k, v in values.items()}}


def _vectors(change: Callable[[dict[str, Any], Path], dict[str, Any]]) -> Change:
    def changed(body: dict[str, Any], root: Path) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector or vector["storageType"] != "u":
            return body
        return {**body, "deletionVector": change(vector, root)}

    return bodies("add", changed)


def _file_of(vector: dict[str, Any]) -> str:
    text = vector["pathOrInlineDv"]
    digits = decode_z85(text[-20:]).hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    folder = f"{text[:-20]}/" if text[:-20] else ""
    return f"{folder}deletion_vector_{'-'.join(parts)}.bin"


def _inline(vector: dict[str, Any], root: Path) -> dict[str, Any]:
    size = vector["sizeInBytes"]
    start = vector.get("offset", 1) + 4
    data = (root / _file_of(vector)).read_bytes()[start : start + size]
    kept = {k: v for k, v in vector.items() if k != "offset"}
    padded = data + b"\0" * (-len(data) % 4)
    return {**kept, "storageType": "i", "pathOrInlineDv": z85_encode(padded)}


def _by_absolute_path(vector: dict[str, Any], root: Path) -> dict[str, Any]:
    path = f"{root.resolve().as_uri()}/{_file_of(vector)}"
    return {**vector, "storageType": "p", "pathOrInlineDv": path}


def _sidecar(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/of-files.{name}" if folder else f"of-files.{name}"


def _sidecars_renamed() -> tuple[Edit, Edit]:
    named = each(
        "sidecar",
        lambda body: {**body, "path": _sidecar(body["path"])},
        f"{CHECKPOINT}|{JSON_CHECKPOINT}",
    )
    return named, renaming(SIDECAR, _sidecar)


def _prepared(root: Path, fresh: frozenset[str]) -> None:
    """Have checkpoints and checksums of a second before their commits, and their names since."""
    for name in matching(f"{CHECKPOINT}|{CHECKSUM}", fresh):
        commit = root / f"{name.partition('.')[0]}.json"
        before = commit.stat().st_mtime_ns - 1_000_000_000
        os.utime(root / name, ns=(before, before))


def _bare_hint(found: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in found.items() if k in ("version", "size", "parts")}


def _turned(found: pa.Table) -> pa.Table:
    return found.take(pa.array(reversed(range(found.num_rows)), pa.int64()))


def _w(slug: str, source: str, how: How, cases: tuple[str, ...]) -> Freedom:
    return Freedom(slug, source, "writer", how, cases)


_SEVERAL: Final = "Parquet files store the data of the table; the text says nothing of their form"

FREEDOMS_OF_FILES = (
    _w("row-groups-of-one-row", _SEVERAL, _written(row_group_size=1), _DATA),
    _w("zstd", _SEVERAL, _written(compression="zstd"), _DATA),
    _w("not-compressed", _SEVERAL, _written(compression="none"), _DATA),
    _w("second-data-pages", _SEVERAL, _written(data_page_version="2.0"), _DATA),
    _w("no-dictionaries", _SEVERAL, _written(use_dictionary=False, write_statistics=False), _DATA),
    _w(
        "int96",
        "timestamp: int96 or int64",
        _written(use_deprecated_int96_timestamps=True),
        _DATA[:1],
    ),
    _w(
        "columns-in-other-order",
        "columns are found by name, or by id",
        _written(_columns_turned),
        (*_DATA[:3], "row-tracking/write-changes/write"),
    ),
    _w(
        "counts-alone",
        "can optionally contain statistics",
        committing(bodies("add", _counts_alone)),
        _VECTORS,
    ),
    _w(
        "names-without-meaning",
        "this directory format is not required",
        committing(new_files(_moved)),
        (*_CHANGED, *_VECTORS[:1]),
    ),
    _w("absolute-paths", "or an absolute path", committing(bodies("add cdc", _absolute)), _CHANGED),
    _w(
        "row-ids-with-gaps",
        "equal to or greater than the highest fresh row id",
        committing(bodies("domainMetadata", _mark_with_gap)),
        ("row-tracking/write-changes/write", "row-tracking/write-restore-then-append/write"),
    ),
    _w(
        "schemas-in-other-order",
        "a schema is JSON",
        committing(bodies("metaData", _described)),
        ("column-mapping/write-columns/write", "change-metadata/write-properties/write"),
    ),
    _w(
        "progress-of-long-ago",
        "lastUpdated is optional",
        committing(bodies("txn", lambda body, _: {**body, "lastUpdated": 0})),
        ("transaction-identifiers/write-*/write",),
    ),
    _w(
        "times-without-fractions",
        "hour, minute and second, or with microseconds",
        committing(bodies("add remove cdc", _whole_seconds)),
        (
            "partition-value-serialization/write-timestamp/write",
            "partition-value-serialization/write-timestamp-ntz/write",
        ),
    ),
    _w("vectors-inline", "storageType i", committing(_vectors(_inline)), _VECTORS),
    _w("vectors-by-path", "storageType p", committing(_vectors(_by_absolute_path)), _VECTORS),
    _w(
        "checkpoints-backwards",
        "each row corresponds to a single action",
        leaving(lines(lambda held: held[::-1], f"{CHECKPOINT}|{JSON_CHECKPOINT}")),
        _SUMMARIES,
    ),
    _w(
        "reformats-schemas",
        "schemaString: the serialized schema, in JSON",
        leaving(
            schema(_same, f"{CHECKPOINT}|{JSON_CHECKPOINT}|{COMPACTION}"),
            document(CHECKSUM, _reformatted_schema),
            sums=True,
        ),
        (
            *_SUMMARIES,
            "log-compaction-files/write-compaction-of-everything/write",
            "version-checksum-file/write-each/write",
        ),
    ),
    _w(
        "prepares-summaries-beside",
        "only after successfully writing the log entry: what is renamed then may be of before",
        leaving(_prepared, sums=True),
        ("delta-log-entries/write-past-ten/write",),
    ),
    _w(
        "checkpoints-of-small-groups",
        _SEVERAL,
        leaving(parquet(_same, CHECKPOINT, row_group_size=1, compression="gzip")),
        _SUMMARIES[:2],
    ),
    _w("no-hint", "can help to reduce the cost", leaving(deleting(HINT)), _SUMMARIES),
    _w("bare-hint", "this field is optional", leaving(document(HINT, _bare_hint)), _SUMMARIES),
    _w("sidecars-of-other-names", "unique names", leaving(*_sidecars_renamed()), _SUMMARIES[2:]),
    _w(
        "compactions-backwards",
        "each row represents an action",
        leaving(lines(lambda held: held[::-1], COMPACTION)),
        (
            "log-compaction-files/write-compaction-removes/write",
            "log-compaction-files/write-compaction-of-everything/write",
        ),
    ),
    _w(
        "optimizes-nothing",
        "only rearranges existing data: nobody has to",
        doing_nothing("optimize"),
        (
            "row-tracking/write-merge-with-feed/write",
            "row-tracking/write-restore-then-append/write",
        ),
    ),
    *(
        replace(_w(slug, "should preserve", how, _TRACKED), advised=True)
        for slug, how in (
            ("preserves-no-row-ids", _written(_without("_row-id-col"))),
            ("preserves-no-commit-versions", _written(_without("_row-commit-version-col"))),
        )
    ),
    Freedom(
        "skips-no-file",
        "statistics can be used for eliminating files",
        "reader",
        viewing(statistics_of(lambda _: {})),
        ("per-file-statistics/spread-of-decimal/*", "column-mapping/id-mode/filter-*"),
    ),
    Freedom(
        "changes-in-other-order",
        "changes are rows of a version",
        "reader",
        rows(_turned),
        ("change-data-files/files-win/changes-all", "change-data-files/spark-feed/changes-all"),
    ),
)
"""All of them."""
