"""Wrong readers of rules that they keep elsewhere: after a summary, with vectors, in folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    EVERYWHERE,
    Lines,
    each,
    lines,
    only_when,
    parquet,
    types,
)
from breaches.model import Ask, reader
from breaches.readers.features import for_changes
from breaches.seams import Edit, by_request, refusing, viewing, where_asked
from breaches.views import (
    bodies,
    commits_of,
    directory_values,
    first_wins,
    log_of,
    partition_values,
    replaying,
)
from conformance.adapter import Answer, Ok, Request, Scan


def _column_metadata(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep what was once said of a column beside what is said of it now."""
    found = []
    for action in actions:
        body = action.get("metaData")
        if body:
            tree = json.loads(body["schemaString"])
            for field in tree["fields"]:
                field["metadata"] = {**kept.get(field["name"], {}), **field["metadata"]}
                kept[field["name"]] = field["metadata"]
            body = {**body, "schemaString": json.dumps(tree)}
        found.append({"metaData": body} if body else action)
    return found


def _as_written(path: str) -> str:
    """Spell a path so that it is, once decoded, what it was as written."""
    return path.replace("%", "%25")


def _folders_twice(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{unquote(folder)}{slash}{name}"


def _removed(
    change: Callable[[str], str],
    where: str = EVERYWHERE,
    wanted: Callable[[Any], object] = lambda _: True,
) -> Edit:
    """Change the paths of removes that are wanted."""
    return each(
        "remove", lambda b: {**b, "path": change(b["path"])} if wanted(b) else b, where=where
    )


def _undecoded_names(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{_as_written(name)}"


def _kept(key: str) -> Edit:
    """Keep a field of metadata where a later action has none."""

    def change(actions: Lines, kept: dict[Any, Any]) -> Lines:
        found: Lines = []
        for action in actions:
            body = action.get("metaData")
            if body is not None:
                kept[key] = body.get(key) or kept.get(key)
            found.append(action if body is None else {"metaData": {**body, key: kept[key]}})
        return found

    return replaying(change)


def _moved_along(root: Path, fresh: frozenset[str]) -> None:
    """Let absolute paths of files of the table name those of its copy."""

    def moved(body: dict[str, Any]) -> dict[str, Any]:
        _, within, rest = body["path"].rpartition(f"/{root.name}/")
        return {**body, "path": f"file://{root}/{rest}"} if within else body

    for kind in ("add", "remove", "cdc"):
        each(kind, moved)(root, fresh)


def _below(path: str) -> str:
    return path.removeprefix("file:///")


def _one_change_file(found: Lines) -> Lines:
    first = next((a for a in found if "cdc" in a), None)
    return [a for a in found if "cdc" not in a or a is first]


def _zeros(values: dict[str, Any], _path: str) -> dict[str, Any]:
    return {k: "0" if v == "" else v for k, v in values.items()}


def _untracked_files(root: Path) -> bool:
    """Return whether files have no row ids though the table says that it does not track rows."""
    off = [b["configuration"].get("delta.enableRowTracking") for b in bodies(root, "metaData")]
    return "false" in off and any("baseRowId" not in b for b in bodies(root, "add"))


def _has(pattern: str) -> Callable[[Path], object]:
    return lambda root: any(log_of(root).glob(pattern))


def _no_ids(table: pa.Table) -> pa.Table:
    return table.drop_columns([n for n in table.column_names if n.startswith("_row-id-col")])


def _narrow_ids(table: pa.Table) -> pa.Table:
    """Read materialised ids as whole numbers of 32 bits."""
    for at, name in enumerate(table.column_names):
        if name.startswith("_row-id-col"):
            held = [n if n is None else n % 2**32 for n in table[name].to_pylist()]
            table = table.set_column(at, name, pa.array(held, pa.int64()))
    return table


def _elsewhere(path: str) -> str:
    return f"{path}.elsewhere"


def _null_is_another(body: dict[str, Any]) -> bool:
    return "deletionVector" in body and body["deletionVector"] is None


def _after_checkpoints(edit: Edit) -> Edit:
    """Edit the commits that come after a checkpoint."""

    def edit_later(root: Path, fresh: frozenset[str]) -> None:
        held = [int(path.name[:20]) for path in log_of(root).glob("*.checkpoint*")]
        later = {f"_delta_log/{n:020}.json" for n in commits_of(root) if held and n > max(held)}
        edit(root, fresh & later)

    return edit_later


@by_request
def _null_versions(ask: Ask, request: Request) -> Answer:
    """Take a null in the column of versions for the version of the row."""
    answer = ask(request)
    if not (isinstance(request, Scan) and request.row_ids and isinstance(answer, Ok)):
        return answer
    # Only rows of files with the column have what they have by way of the add's default.
    moved = viewing(lambda root, fresh: each("add", _later_in(root))(root, fresh))(ask)(request)
    name, rows = "_row_commit_version", answer.payload
    pairs = zip(rows[name].to_pylist(), moved.payload[name].to_pylist(), strict=True)
    own = pa.array([a if a == b else None for a, b in pairs], pa.int64())
    return Ok(rows.set_column(rows.schema.get_field_index(name), name, own))


def _later_in(root: Path) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Add to the default version of files that have a column of versions."""

    def later(body: dict[str, Any]) -> dict[str, Any]:
        names = pq.read_schema(root / unquote(body["path"])).names
        held = any(name.startswith("_row-commit-version-col") for name in names)
        number = body["defaultRowCommitVersion"]
        return {**body, "defaultRowCommitVersion": number + 1000} if held else body

    return later


def _names_no_version(request: Request) -> bool:
    return isinstance(request, Scan) and request.version is None


def _has_vectors(root: Path) -> object:
    return any(body.get("deletionVector") for body in bodies(root, "add"))


ROWS = (
    *(
        reader(f"compares-removed-paths-as-written-{slug}", "REM-002", viewing(edit))
        for slug, edit in (
            ("after-checkpoints", only_when(_has("*.checkpoint*"), _removed(_as_written, COMMIT))),
            ("after-sidecars", only_when(_has("_sidecars/*"), _removed(_as_written, COMMIT))),
            ("in-compactions", _removed(_as_written, COMPACTION)),
            ("with-vectors", _removed(_as_written, wanted=lambda b: b.get("deletionVector"))),
            ("where-absolute", _removed(_as_written, wanted=lambda b: b["path"][:5] == "file:")),
        )
    ),
    reader(
        "decodes-folders-of-removed-paths-twice",
        "REM-002",
        viewing(_removed(_folders_twice)),
        "*/*odd-paths*",
    ),
    reader(
        "infers-deletes-of-paths-as-written",
        "REM-002",
        for_changes(viewing(_removed(_as_written))),
        "add-cdc-file/inferred-odd-paths/*",
    ),
    *(
        reader(f"forgets-materialised-ids-{slug}", "RT-023", how, "row-tracking/*")
        for slug, how in (
            ("after-checkpoints", viewing(only_when(_has("*.checkpoint*"), parquet(_no_ids)))),
            ("in-compactions", viewing(only_when(_has("*.compacted.json"), parquet(_no_ids)))),
            ("under-vectors", viewing(only_when(_has_vectors, parquet(_no_ids)))),
            ("of-the-latest-version", where_asked(_names_no_version, viewing(parquet(_no_ids)))),
            ("beyond-32-bits", viewing(parquet(_narrow_ids))),
        )
    ),
    reader(
        "takes-structs-without-fields-for-empty",
        "SCH-022",
        viewing(types("struct", lambda of: of.setdefault("fields", []))),
        "mutations/schema-no-fields-within/*",
    ),
    reader(
        "decodes-folders-of-changes-alone",
        "CDC-006",
        viewing(each("cdc", lambda b: {**b, "path": _undecoded_names(b["path"])})),
        "add-cdc-file/escaped-names/*",
    ),
    reader(
        "looks-for-absolute-change-files-below-the-table",
        "CDC-006",
        viewing(_moved_along, each("cdc", lambda b: {**b, "path": _below(b["path"])})),
        "add-cdc-file/absolute-paths/*",
    ),
    reader(
        "reads-one-change-file-of-a-version",
        "CDC-003",
        viewing(lines(_one_change_file, COMMIT)),
        "add-cdc-file/several-*",
    ),
    *(
        reader(
            f"infers-values-{slug}-from-directories",
            "DATA-003",
            viewing(partition_values(directory_values, kind, where)),
            "data-files/misleading-*",
        )
        for slug, kind, where in (
            ("of-changes", "cdc", EVERYWHERE),
            ("in-checkpoints", "add", CHECKPOINTS),
            ("in-compactions", "add", COMPACTION),
        )
    ),
    *(
        reader(
            f"reads-empty-texts-of-{name}-as-zero",
            "PART-002",
            viewing(partition_values(_zeros, kind)),
            "partition-value-serialization/empty-string-of-changes/*",
        )
        for name, kind in (("changes", "cdc"), ("removed-files", "remove"))
    ),
    reader(
        "keeps-the-time-of-creation",
        "META-002",
        viewing(each("metaData", lambda body: {"createdTime": 1_700_000_000_000, **body}, COMMIT)),
        "action-reconciliation/metadata-replaced-whole/*",
    ),
    reader(
        "keeps-metadata-of-columns",
        "META-002",
        viewing(replaying(_column_metadata)),
        "action-reconciliation/metadata-replaced-whole/*",
    ),
    reader(
        "keeps-both-of-a-domain",
        "REC-005",
        viewing(first_wins("domainMetadata", lambda body: body["domain"])),
        "action-reconciliation/changed-after-*/domain-*",
    ),
    *(
        reader(f"keeps-{slug}-that-is-gone", "META-002", viewing(_kept(key)), case)
        for slug, key, case in (
            ("a-description", "description", "action-reconciliation/metadata-replaced-whole/*"),
            ("partitioning", "partitionColumns", "change-metadata/missing-field-in-new-schema/*"),
        )
    ),
    reader(
        "counts-on-row-ids-where-turned-off",
        "RT-003",
        refusing(_untracked_files),
        "row-tracking/supported-turned-off/*",
    ),
    *(
        reader(
            f"tells-null-vectors-of-removes-from-absent-{slug}",
            "REM-013",
            viewing(edit),
            "deletion-vectors/null-and-absent-*",
        )
        for slug, edit in (
            ("in-compactions", _removed(_elsewhere, COMPACTION, _null_is_another)),
            (
                "after-checkpoints",
                _after_checkpoints(_removed(_elsewhere, COMMIT, _null_is_another)),
            ),
        )
    ),
    reader(
        "takes-null-versions-as-they-are",
        "RT-026",
        _null_versions,
        "row-tracking/null-versions/*",
    ),
)
