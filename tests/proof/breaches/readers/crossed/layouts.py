"""Wrong readers of rules that they keep until features and layouts of the log meet.

Each class of them goes wrong in one layout alone, mostly in what a summary of the log says, so that
only a case with that layout and that feature shows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from breaches.edits import (
    CHECKPOINT,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    columns,
    each,
    fields,
    lines,
    nulls,
    of_type,
    parquet,
    statistics,
    without,
)
from breaches.model import Breach, How, reader
from breaches.seams import Edit, documents, for_changes, refusing, viewing
from breaches.views import bodies, commits_of, log_of
from conformance.adapter import Files
from generators.oracle.delta_schema import ID_KEY, PHYSICAL_NAME_KEY

SUMMARY: Final = {
    "commits": COMMIT,
    "classic": CHECKPOINT,
    "parts": CHECKPOINT,
    "v2-json": f"{SIDECAR}|{JSON_CHECKPOINT}",
    "v2-parquet": f"{SIDECAR}|{CHECKPOINT}",
    "compaction": COMPACTION,
    "all": f"{CHECKPOINT}|{COMPACTION}",
}
"""The files of the log that a reader starts from, or reads instead, in each layout."""

_AT: Final = 3
_CYCLE: Final = {"a": "b", "b": "c", "c": "a"}

Body = dict[str, Any]


def _later(edit: Edit) -> Edit:
    """Edit the commits that no summary stands in for."""

    def edit_later(root: Path, fresh: frozenset[str]) -> None:
        summed = any(log_of(root).glob("*.c[ho]*"))
        later = {f"_delta_log/{n:020}.json" for n in commits_of(root) if not summed or n > _AT}
        edit(root, fresh & later)

    return edit_later


def in_files(change: Callable[[pa.Table], pa.Table], wanted: Callable[[Body], object]) -> Edit:
    """Change the data files that some action of the log wants."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        found = set[str]()

        def look(body: Body) -> Body:
            if wanted(body):
                found.add(unquote(body["path"]))
            return body

        each("add", look)(root, fresh)
        parquet(change)(root, fresh & found)

    return edit


def _rotated(table: pa.Table) -> pa.Table:
    """Find columns under the names that are displayed."""
    names = [_CYCLE.get(name, name) for name in table.column_names]
    fields = [old.with_name(name) for old, name in zip(table.schema, names, strict=True)]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def _renumbered(table: pa.Table) -> pa.Table:
    """Find columns by the ids of others."""
    at = {name: table.schema.field(name).metadata for name in _CYCLE if name in table.column_names}
    fields = [
        old.with_metadata(at[_CYCLE[old.name]]) if old.name in at else old for old in table.schema
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def vector_of(body: Body) -> object:
    return body.get("deletionVector")


def _swapped(values: Mapping[str, Any] | None, one: str, other: str) -> dict[str, Any] | None:
    names = {one: other, other: one}
    return None if values is None else {names.get(k, k): v for k, v in dict(values).items()}


def _by_display_name(body: Body) -> Body:
    """Find partition values under the names that are displayed."""
    return {**body, "partitionValues": _swapped(body["partitionValues"], "p", "q")}


def _bounds_by_display_name(body: Body) -> Body:
    def change(stats: Body) -> Body:
        return {
            name: _swapped(held, "u", "v") if isinstance(held, Mapping) else held
            for name, held in stats.items()
        }

    if body.get("stats"):
        body = {**body, "stats": json.dumps(change(json.loads(body["stats"])))}
    if body.get("stats_parsed"):
        body = {**body, "stats_parsed": change(body["stats_parsed"])}
    return body


def _null_partitions(body: Body) -> Body:
    return {**body, "partitionValues": dict.fromkeys(dict(body["partitionValues"]))}


def _empty_as_text(body: Body) -> Body:
    values = dict(body["partitionValues"])
    return {**body, "partitionValues": {k: "0" if v == "" else v for k, v in values.items()}}


def _without_vector(body: Body) -> Body:
    return {**body, "deletionVector": None}


def vectors_lost(where: str, wanted: Callable[[Body], object] = vector_of) -> Edit:
    """Take files for what they are without their vectors, but those that a remove names later."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        named = {b["path"] for b in bodies(root, "remove") if vector_of(b)}
        whole: set[str] = set()

        def gather(found: Lines) -> None:
            adds = [a["add"] for a in found if a.get("add")]
            whole.update(b["path"] for b in adds if wanted(b) and b["path"] not in named)

        def change(found: Lines) -> Lines:
            return [
                {**a, "add": _without_vector(a["add"])}
                if (a.get("add") or {}).get("path") in whole
                else a
                for a in found
                if (a.get("remove") or {}).get("path") not in whole
            ]

        # The tombstone of a file without its vector may be in another part or sidecar.
        lines(gather, where)(root, fresh)
        lines(change, where)(root, fresh)

    return edit


def _no_removes(found: Lines) -> Lines:
    """Overlook what is removed and does not come back."""
    added = {a["add"]["path"] for a in found if a.get("add")}
    return [a for a in found if not a.get("remove") or a["remove"]["path"] in added]


def _plus(name: str) -> Callable[[Body], Body]:
    def change(body: Body) -> Body:
        held = body.get(name)
        return body if held is None else {**body, name: held + 1000}

    return change


def no_columns(prefix: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns(
        [name for name in table.column_names if name.startswith(prefix)]
    )


def with_column(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Read something where a file lacks a column."""

    def change(table: pa.Table) -> pa.Table:
        held = name in table.column_names
        return table if held else table.append_column(name, pa.array([value] * len(table)))

    return change


def _wrapped_bounds(body: Body) -> Body:
    """Take bounds for numbers of 32 bits."""
    stats = json.loads(body["stats"])
    for side in ("minValues", "maxValues"):
        stats[side] = {
            name: held % 2**32 if isinstance(held, int) else held
            for name, held in stats[side].items()
        }
    return {**body, "stats": json.dumps(stats)}


def _surplus_by_id(root: Path, fresh: frozenset[str]) -> None:
    """Find a column by display name where its id is absent."""
    schema = json.loads([*bodies(root, "metaData")][-1]["schemaString"])
    (number,) = (f["metadata"][ID_KEY] for f in schema["fields"] if f["name"] == "e")

    def change(table: pa.Table) -> pa.Table:
        fields = [
            f.with_metadata({"PARQUET:field_id": str(number)}) if f.name == "e" else f
            for f in table.schema
        ]
        return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))

    parquet(change)(root, fresh)


def _display_name(column: Any) -> None:
    if column["name"] == "e":
        column["metadata"][PHYSICAL_NAME_KEY] = "e"


def _dead_stay_dead(where: str) -> Edit:
    """Keep dead what was dead without vector where the log is summed up."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        held = set[str]()

        def look(body: Body) -> Body:
            if not vector_of(body):
                held.add(body["path"])
            return body

        each("remove", look, where)(root, fresh)
        _later(each("add", lambda b: None if b["path"] in held else b, COMMIT))(root, fresh)

    return edit


def _first_of_the_file(body: Body) -> Body:
    """Read the first vector of a file whatever the offset."""
    vector = body.get("deletionVector")
    if not vector or vector["storageType"] != "u":
        return body
    return {**body, "deletionVector": {**vector, "offset": 1}}


def _another_text(body: Body) -> Body:
    """Compare vectors within the log by more than their text."""
    vector = body.get("deletionVector")
    if not vector or vector["storageType"] != "i":
        return body
    return {**body, "deletionVector": {**vector, "pathOrInlineDv": vector["pathOrInlineDv"][::-1]}}


def _everywhere(how: How) -> Callable[[str], How]:
    """Go wrong in all files of the layout."""
    return lambda _summary: how


def _in_summary(kind: str, change: Callable[[Body], Body]) -> Callable[[str], How]:
    """Change actions of what the log is summed up in."""
    return lambda summary: viewing(each(kind, change, summary))


SUMMED: Final = tuple(name for name in SUMMARY if name != "commits")

_CLASSES: Final[tuple[tuple[str, str, str, Callable[[str], How], tuple[str, ...]], ...]] = (
    *(
        (f"{slug}-in-mode-{mode}", row, f"column-mapping/crossed-{mode}-", how, tuple(SUMMARY))
        for mode, names, values, change in (
            ("name", "CM-029", "CM-030", _rotated),
            ("id", "CM-025", "CM-026", _renumbered),
        )
        for slug, row, how in (
            ("finds-columns-by-display-name-under-vectors", names,
             _everywhere(viewing(in_files(change, vector_of)))),
            ("reads-partition-values-by-display-name", values,
             _in_summary("add", _by_display_name)),
            ("reads-bounds-by-display-name", values, _in_summary("add", _bounds_by_display_name)),
        )
    ),
    *(
        (f"{slug}-in-mode-{mode}", row, f"add-cdc-file/crossed-{mode}-",
         _everywhere(for_changes(viewing(*edits))), tuple(SUMMARY))
        for mode, names, change in (("name", "CM-029", _rotated), ("id", "CM-025", _renumbered))
        for slug, row, edits in (
            ("finds-columns-of-changes-by-display-name", names, (parquet(change),)),
            ("adds-deleted-rows-to-changes", "DVD-008",
             (each("add", _without_vector, COMMIT),)),
            ("overlooks-change-files", "CDC-003", (without("cdc", where=COMMIT),)),
        )
    ),
    ("keeps-metadata", "REC-013", "column-mapping/crossed-name-",
     _everywhere(viewing(_later(without("metaData", where=COMMIT)))), SUMMED),
    ("loses-vectors", "DVDESC-020", "row-tracking/crossed-plain-",
     lambda summary: viewing(vectors_lost(summary)), tuple(SUMMARY)),
    ("loses-removes", "REC-018", "action-reconciliation/crossed-",
     _everywhere(viewing(_later(without("remove", where=COMMIT)))), tuple(SUMMARY)),
    ("keeps-the-dead-dead", "REC-008", "action-reconciliation/crossed-",
     lambda summary: viewing(_dead_stay_dead(summary)), tuple(SUMMARY)),
    ("reads-the-first-vector-of-a-file", "DVDESC-014", "action-reconciliation/crossed-",
     _everywhere(viewing(each("add", _first_of_the_file))), tuple(SUMMARY)),
    ("takes-inline-vectors-for-others", "DVDESC-013", "action-reconciliation/crossed-",
     _everywhere(viewing(_later(each("remove", _another_text, COMMIT)))), tuple(SUMMARY)),
    *(
        (slug, row, f"row-tracking/crossed-{mode}-", how, tuple(SUMMARY))
        for mode, slug, row, how in (
            ("plain", "forgets-ids-under-vectors", "RT-023",
             _everywhere(viewing(in_files(no_columns("_row-id-col"), vector_of)))),
            ("id", "forgets-versions-under-vectors", "RT-025",
             _everywhere(viewing(in_files(no_columns("_row-commit-version-col"), vector_of)))),
            ("id", "moves-base-ids", "RT-024", _in_summary("add", _plus("baseRowId"))),
            ("plain", "moves-default-versions", "RT-026",
             _in_summary("add", _plus("defaultRowCommitVersion"))),
        )
    ),
    ("reads-old-decimals-under-vectors-as-null", "TW-012", "type-widening/crossed-plain-",
     _everywhere(viewing(in_files(columns(of_type(pa.decimal128(6, 2)), nulls), vector_of))),
     tuple(SUMMARY)),
    ("reads-old-partition-values-as-null", "TW-012", "type-widening/crossed-plain-",
     _in_summary("add", _null_partitions), tuple(SUMMARY)),
    ("takes-new-bounds-for-narrow-ones", "TW-012", "type-widening/crossed-plain-",
     _everywhere(viewing(_later(each("add", _wrapped_bounds, COMMIT)))), tuple(SUMMARY)),
    ("fills-defaults-under-vectors", "DFT-004", "default-columns/crossed-plain-",
     _everywhere(viewing(in_files(with_column("d", "preset"), vector_of))), tuple(SUMMARY)),
    ("fills-zeros-under-vectors", "SNAP-007", "default-columns/crossed-plain-",
     _everywhere(viewing(in_files(with_column("e", 0), vector_of))), tuple(SUMMARY)),
    ("falls-back-to-display-names", "CM-031", "default-columns/crossed-name-",
     _everywhere(viewing(fields(_display_name))), tuple(SUMMARY)),
    ("falls-back-to-names", "CM-028", "default-columns/crossed-id-",
     _everywhere(viewing(_surplus_by_id)), tuple(SUMMARY)),
    ("reads-empty-texts", "PART-002", "default-columns/crossed-plain-",
     _in_summary("add", _empty_as_text), tuple(SUMMARY)),
)  # fmt: skip
"""Classes: slug, row, what its cases begin with, how by the files of the summary, layouts."""


def _rows() -> Iterator[Breach]:
    for slug, row, cases, how, layouts in _CLASSES:
        for layout in layouts:
            wrong = how(SUMMARY[layout])
            yield reader(f"{slug}-in-{layout}", row, wrong, f"{cases}{layout}/*")
    for slug, row, edit, cases in (
        ("txns", "TXN-005", without("txn", where=COMPACTION), "changed-after"),
        ("domains", "REC-014", without("domainMetadata", where=COMPACTION), "changed-after"),
        ("removes", "REC-018", lines(_no_removes, COMPACTION), "crossed"),
    ):
        case = f"action-reconciliation/{cases}-all/*"
        name = f"overlooks-{slug}-beside-a-checkpoint"
        yield reader(name, row, viewing(edit), case)


def _colon(root: Path) -> bool:
    return any(":" in unquote(b["path"]) and "://" not in b["path"] for b in bodies(root, "add"))


def _split(stats: dict[str, Any]) -> dict[str, Any]:
    """Follow the dots of a name into structs."""
    for held in stats.values():
        for name in [*held] if isinstance(held, dict) else ():
            place: Any = held
            for part in name.split("."):
                place = place.get(part) if isinstance(place, dict) else None
            held[name] = held[name] if place is None else place
    return stats


def _twice(kind: str, other: str) -> Callable[[Path], bool]:
    """Find a file of which a commit says something that an earlier one rules out, read strictly."""

    def found(root: Path) -> bool:
        known = set[str]()
        for actions in commits_of(root).values():
            now = {a[kind]["path"] for a in actions if kind in a and not vector_of(a[kind])}
            if now & known:
                return True
            known |= {a[other]["path"] for a in actions if other in a and not vector_of(a[other])}
        return False

    return found


def _summed_up(request: Any, payload: Any) -> Any:
    """Answer the files of the newest checksum, whatever commits say after it."""
    sums = sorted(log_of(Path(request.table)).glob("*.crc"))
    if not isinstance(request, Files) or not sums:
        return payload
    known = {body["path"]: body for body in payload}
    held = json.loads(sums[-1].read_text())["allFiles"]
    return [known.get(body["path"], body) for body in held]


ROWS: Final = (
    *_rows(),
    reader("takes-files-of-a-stale-checksum", "REC-018", documents(_summed_up),
           "action-reconciliation/crossed-all/*"),
    reader("takes-colons-for-schemes", "ADD-002", refusing(_colon),
           "add-file-and-remove-file/colons-in-names/*"),
    reader("splits-dotted-names-of-bounds", "SNAP-007", viewing(statistics(_split)),
           "per-file-statistics/dotted-names/*"),
    reader("refuses-a-second-protocol", "REC-012",
           refusing(lambda root: len([*bodies(root, "protocol")]) > 1), "action-reconciliation/*"),
    reader("refuses-files-added-twice", "REC-006", refusing(_twice("add", "add"))),
    reader("refuses-files-that-come-back", "REC-008", refusing(_twice("add", "remove"))),
)  # fmt: skip
