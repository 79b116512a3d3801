"""Right implementations that are unlike the reference: each uses a freedom that the text gives.

They are made like the wrong ones of ``breaches/``, at public seams, and none of them may fail:
where one does, an expectation is not what the text demands. A writer differs in what it commits,
before the commit is there, so that what it does later builds on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from breaches.edits import (
    CHECKPOINTS,
    CHECKSUM,
    COMMIT,
    COMPACTION,
    DATA,
    HINT,
    deleting,
    matching,
    setting,
)
from breaches.edits import each as editing
from breaches.model import Ask, How
from breaches.seams import afterwards, by_request, for_changes, refusing, rows, viewing, where_asked

from conformance.adapter import Answer, Ok, Refused, Request, Scan, Write
from reference_impl import Table
from reference_impl.storage import LocalStorage

Actions: TypeAlias = list[dict[str, Any]]
Change: TypeAlias = Callable[[Actions, Path], Actions]
"""Gives the actions that are committed in place of some; gets the root of the table, too."""

_COMMIT = re.compile(r"_delta_log/\d{20}\.json")


@dataclass(frozen=True, slots=True)
class Freedom:
    """Something that the text leaves to the implementation.

    Attributes:
        id: slug, unique.
        source: the words of the text that it follows from.
        kind: who uses it.
        how: makes the implementation that does.
        cases: patterns of the items that it is tried on.
        advised: a SHOULD speaks against it, so that advice is due.
    """

    id: str
    source: str
    kind: Literal["reader", "writer"]
    how: How
    cases: tuple[str, ...]
    advised: bool = False


def _spelled(actions: Actions) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in actions)


def committing(*changes: Change, spelled: Callable[[Actions], bytes] = _spelled) -> How:
    """Write as the reference does, and change what each commit is made of.

    No checksum file stays: those of the reference record what it meant.
    """

    def how(ask: Ask) -> Ask:
        right = LocalStorage.put_if_absent

        def put(self: LocalStorage, path: str, data: bytes) -> None:
            if _COMMIT.fullmatch(path):
                actions = [json.loads(line) for line in data.splitlines()]
                for change in changes:
                    actions = change(actions, Path(self.location))
                data = spelled(actions)
            right(self, path, data)

        def run(request: Request) -> Answer:
            if not isinstance(request, Write):
                return ask(request)
            before = {*Path(request.table).rglob("*.crc")}
            with patch.object(LocalStorage, "put_if_absent", put):
                try:
                    return ask(request)
                finally:
                    for path in {*Path(request.table).rglob("*.crc")} - before:
                        path.unlink()

        return run

    return how


def bodies(kinds: str, change: Callable[[Any, Path], Any]) -> Change:
    """Change the body of each action of some kinds; the root of the table is at hand."""
    wanted = kinds.split()

    def changed(actions: Actions, root: Path) -> Actions:
        return [
            {k: change(v, root) if k in wanted else v for k, v in each.items()} for each in actions
        ]

    return changed


def _unknown(actions: Actions, _root: Path) -> Actions:
    more = {"vendorExtra": {"a": [1, None]}}
    known = [{k: {**v, **more} for k, v in each.items()} for each in actions]
    return [*known, {"vendorNote": {"a": 1}}]


def _backwards(actions: Actions, _root: Path) -> Actions:
    first = [each for each in actions if "commitInfo" in each]
    return first + [each for each in reversed(actions) if "commitInfo" not in each]


def _fields_backwards(actions: Actions, _root: Path) -> Actions:
    return [{k: {n: v[n] for n in reversed(v)} for k, v in each.items()} for each in actions]


_OPTIONAL = {
    "add": ("tags", "deletionVector", "baseRowId", "clusteringProvider"),
    "remove": ("tags", "stats", "deletionVector", "size", "extendedFileMetadata"),
    "metaData": ("name", "description", "createdTime"),
    "txn": ("lastUpdated",),
}


def _nulls(actions: Actions, _root: Path) -> Actions:
    return [
        {k: {**dict.fromkeys(_OPTIONAL.get(k, ())), **v} for k, v in each.items()}
        for each in actions
    ]


def _dropping(kind: str, *names: str) -> Change:
    return bodies(kind, lambda body, _: {k: v for k, v in body.items() if k not in names})


def _drops_feature(asked: Request) -> bool:
    return isinstance(asked, Write) and asked.operation == "drop_feature"


def _without_info(actions: Actions, _root: Path) -> Actions:
    return [each for each in actions if "commitInfo" not in each]


def _with_progress(actions: Actions, _root: Path) -> Actions:
    return [*actions, {"txn": {"appId": "vendor-writer", "version": 7}}]


def _statistics(change: Callable[[Any], Any]) -> Change:
    def changed(body: dict[str, Any], _root: Path) -> dict[str, Any]:
        found = change(json.loads(body["stats"])) if body.get("stats") else None
        rest = {k: v for k, v in body.items() if k != "stats"}
        return rest if found is None else {**rest, "stats": json.dumps(found)}

    return bodies("add", changed)


def _wide(stats: dict[str, Any]) -> dict[str, Any]:
    """Cut the bounds of texts to a letter, and say that bounds are wide."""

    def lower(value: Any) -> Any:
        return value[:1] if isinstance(value, str) else value

    def upper(value: Any) -> Any:
        return value[:1] + "\U0010ffff" if isinstance(value, str) and len(value) > 1 else value

    ends = {"minValues": lower, "maxValues": upper}
    cut = {k: {c: ends[k](v) for c, v in stats[k].items()} for k in ends if k in stats}
    return {**stats, **cut, "tightBounds": False, "vendorSketch": {"x": "y"}}


def _empty_values(body: Any, _root: Path) -> Any:
    values = body.get("partitionValues")
    empty = {k: "" if v is None else v for k, v in (values or {}).items()}
    return body if values is None else {**body, "partitionValues": empty}


def _spaced(actions: Actions) -> bytes:
    lines = [json.dumps(each, separators=(" , ", " : "), ensure_ascii=False) for each in actions]
    return "\r\n".join(f" {line}\t" for line in lines).encode()


def _more(actions: Callable[[Any], Actions]) -> How:
    """Commit once more after each step that commits."""

    def commit(root: Path) -> None:
        snapshot = Table(root).snapshot()
        name = f"{snapshot.version + 1:020}.json"
        (root / "_delta_log" / name).write_bytes(_spelled(actions(snapshot)))

    return afterwards(commit)


def _latest_add_again(snapshot: Any) -> Actions:
    """Add a file again, as what rearranges a table does, without the progress of an application."""
    adds = snapshot.adds().to_pylist(maps_as_pydicts="strict")
    again = [{k: v for k, v in add.items() if v is not None} for add in adds[-1:]]
    return [{"commitInfo": {}}, *({"add": {**add, "dataChange": False}} for add in again)]


def _asking_first(*words: str) -> How:
    """Refuse what needs a feature that was not asked for."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        if isinstance(request, Write) and not request.arguments.get("features"):
            asked = json.dumps(request.arguments.get("schema"))
            if any(word in asked for word in words):
                return Refused("invalid_table", "commit", "the feature is not listed")
        return ask(request)

    return run


@by_request
def _any_default(ask: Ask, request: Request) -> Answer:
    """Set the default of a column of any type."""
    answer = ask(request)
    if not (isinstance(answer, Refused) and isinstance(request, Write)):
        return answer
    if request.operation != "set_default":
        return answer
    log, snapshot = Path(request.table) / "_delta_log", Table(request.table).snapshot()
    metadata = snapshot.metadata.to_wire()
    schema = json.loads(metadata["schemaString"])
    for column in schema["fields"]:
        if column["name"] == request.arguments["column"]:
            column["metadata"]["CURRENT_DEFAULT"] = request.arguments["expression"]
    changed = {"metaData": {**metadata, "schemaString": json.dumps(schema)}}
    version = snapshot.version + 1
    (log / f"{version:020}.json").write_bytes(_spelled([{"commitInfo": {}}, changed]))
    return Ok({"version": version})


def _files_there(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _put_back(_root: Path, files: dict[Path, bytes] | None = None) -> None:
    """Delete nothing."""
    for path, data in (files or {}).items():
        if not path.exists():
            path.write_bytes(data)


def _from_the_start(root: Path, fresh: frozenset[str]) -> None:
    commits = matching(_COMMIT.pattern, fresh)
    if len(commits) == int(max(commits)[-25:-5]) + 1:
        deleting(f"{CHECKPOINTS}|{HINT}")(root, fresh)


def _stored_as(kind: str) -> Callable[[Path], bool]:
    def found(root: Path) -> bool:
        names = matching(DATA, (str(path.relative_to(root)) for path in root.rglob("*.parquet")))
        files = [pq.ParquetFile(root / name).schema for name in names]
        return any(kind == f.column(n).physical_type for f in files for n in range(len(f)))

    return found


def _turned(found: pa.Table) -> pa.Table:
    return found.take(pa.array(reversed(range(found.num_rows)), pa.int64()))


_WRITES = (
    "change-metadata/write-properties/write",
    "checkpoints/write-checkpoint/write",
    "data-files/write-append-types/write",
)
_READS = (
    "checkpoints/multi-part/read-latest",
    "log-compaction-files/one-range/read-latest",
    "v2-checkpoint-feature/classic-name-sidecars-hint/read-latest",
)


def _serialized(body: dict[str, Any]) -> dict[str, Any]:
    """Serialize a schema that is not."""
    schema = body["schemaString"]
    return body if isinstance(schema, str) else {**body, "schemaString": json.dumps(schema)}


def _writer(slug: str, source: str, *changes: Change, cases: tuple[str, ...] = _WRITES) -> Freedom:
    return Freedom(slug, source, "writer", committing(*changes), cases)


def _with_progress_of_then(actions: Actions, root: Path) -> Actions:
    """Bring the versions of applications back with what a restore restores."""
    info = next(each["commitInfo"] for each in actions if "commitInfo" in each)
    if info["operation"] != "RESTORE":
        return actions
    then = Table(root).snapshot(int(info["operationParameters"]["version"]))
    return [*actions, *({"txn": txn.to_wire()} for txn in then.txns.values())]


def _reader(slug: str, source: str, how: How, cases: tuple[str, ...] = _READS) -> Freedom:
    return Freedom(slug, source, "reader", how, cases)


FREEDOMS = (
    _writer("unknown-fields", "unrecognized actions and fields are never required", _unknown),
    _writer("actions-backwards", "actions are not guaranteed to be applied in order", _backwards),
    _writer("fields-backwards", "each action is one JSON document", _fields_backwards),
    _writer("nulls-for-optional-fields", "optional: null or absent in JSON", _nulls),
    _writer(
        "bare-removes",
        "of a remove, path and dataChange are required",
        _dropping("remove", "partitionValues", "size", "stats", "tags", "extendedFileMetadata"),
    ),
    _writer("no-commit-info", "can optionally contain provenance information", _without_info),
    _writer(
        "commit-info-of-its-own",
        "free to store any valid JSON via the commitInfo action",
        bodies("commitInfo", lambda *_: {"operation": {"deep": [1]}, "timestamp": "today"}),
    ),
    _writer("progress-of-its-own", "applications record their progress", _with_progress),
    _writer(
        "restores-progress",
        "a version may decrease, which represents a rollback of an earlier transaction",
        _with_progress_of_then,
        cases=("*/write-states-course*/write",),
    ),
    _writer(
        "tags-of-its-own",
        "tags: a map with metadata about this file",
        bodies("add", lambda body, _: {**body, "tags": {"vendor": "", "at": "1"}}),
    ),
    _writer("no-statistics", "can optionally contain statistics", _statistics(lambda _: None)),
    _writer(
        "wide-statistics",
        "less than or equal to all values",
        _statistics(_wide),
        # Bounds of dates and times are texts that cannot be cut.
        cases=_WRITES[:2],
    ),
    _writer(
        "empty-text-for-null",
        "an empty string for any type translates to null",
        bodies("add remove cdc", _empty_values),
        cases=(*_WRITES, "add-file-and-remove-file/write-append-partitions/write"),
    ),
    _reader(
        "gives-rows-that-move-as-changes",
        "readers may skip files whose dataChange is false",
        for_changes(
            viewing(
                *(setting(k, "dataChange", value=True, where=COMMIT) for k in ("add", "remove"))
            )
        ),
        ("add-cdc-file/crossed-*", "add-cdc-file/rearrangement/*"),
    ),
    _reader(
        "takes-schemas-that-are-objects",
        "schemaString: schema of the table; no sentence has readers refuse one that can be told",
        viewing(editing("metaData", _serialized)),
        ("mutations/metadata-schema-is-object/read",),
    ),
    Freedom(
        "white-space",
        "new-line delimited JSON, in which white space between tokens means nothing",
        "writer",
        committing(spelled=_spaced),
        _WRITES,
    ),
    Freedom(
        "a-commit-more",
        "how many versions an operation takes is said nowhere",
        "writer",
        _more(lambda s: [{"metaData": s.metadata.to_wire()}, {"protocol": s.protocol.to_wire()}]),
        _WRITES,
    ),
    Freedom(
        "rearranges-after-each-step",
        "dataChange: when combined with other actions only rearranges existing data",
        "writer",
        _more(_latest_add_again),
        ("transaction-identifiers/write-with-*",),
    ),
    Freedom(
        "checkpoints-always",
        "can be created at any time, for any committed version",
        "writer",
        afterwards(lambda root: Table(root).checkpoint()),
        _WRITES,
    ),
    Freedom(
        "asks-for-features-first",
        "writers are allowed to add support of a feature, and not bound to",
        "writer",
        _asking_first("timestamp_ntz", '"variant"'),
        ("timestamp-ntz/write-*-unlisted/write", "variant-type/write-unasked/write"),
    ),
    Freedom(
        "defaults-of-variants",
        "a Variant column is allowed to have a default column value",
        "writer",
        _any_default,
        ("default-columns/write-variant-default/write",),
    ),
    Freedom(
        "drops-no-feature",
        "clients must not remove the feature from the protocol action, in the text of 2025",
        "writer",
        where_asked(_drops_feature, refusing(Path.exists)),
        (
            "domain-metadata/write-kept-when-*/write",
            "in-commit-timestamps/write-enabled-then-*/write",
            "table-features/write-drop-feature/write",
        ),
    ),
    Freedom(
        "vacuums-nothing",
        "physical deletion can happen lazily",
        "writer",
        afterwards(_put_back, _files_there),
        (
            "add-file-and-remove-file/write-vacuum/write",
            "deletion-vectors-design/write-vacuum/write",
        ),
    ),
    Freedom(
        "vacuums-no-vectors",
        "physical deletion can happen lazily; the design note has vacuum find vectors that may go",
        "writer",
        afterwards(_put_back, _files_there),
        ("deletion-vectors-design/write-vacuum-old-vectors/write",),
        advised=True,
    ),
    _reader(
        "no-summaries",
        "hint, checksum and compaction can be used, and need not be",
        viewing(deleting(f"{HINT}|{CHECKSUM}|{COMPACTION}")),
    ),
    _reader("from-version-0", "replaying in ascending order", viewing(_from_the_start)),
    _reader("rows-in-other-order", "a table is a set of files", rows(_turned)),
    replace(
        _reader(
            "no-int96",
            "it is recommended that the reader supports the types of the table",
            where_asked(lambda asked: isinstance(asked, Scan), refusing(_stored_as("INT96"))),
            ("parquet-type-mappings/timestamp-int96*/read-latest",),
        ),
        advised=True,
    ),
    _reader(
        "utf-8-alone",
        "the text names no encoding",
        refusing(lambda root: any(b"\0" in p.read_bytes() for p in root.rglob("*2.json"))),
        ("mutations/log-utf16/read",),
    ),
)
"""All that are tried."""
