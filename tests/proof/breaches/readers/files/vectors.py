"""Wrong readers of deletion vectors: descriptors, files, the rows that they mark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    VECTOR,
    Action,
    Lines,
    dropping,
    each,
    lines,
    matching,
    only_when,
    renaming,
    struct_fields,
)
from breaches.model import reader
from breaches.readers.questions import by_files
from breaches.seams import Edit, asking, for_changes, refusing, viewing
from breaches.views import BATCH, bodies, by_path_alone, groups_of, log_actions, vectors
from conformance.adapter import Scan


def _same_offset(add: Any, remove: Any) -> bool:
    one, other = add.get("deletionVector") or {}, remove.get("deletionVector") or {}
    return bool(one) and one.get("pathOrInlineDv") == other.get("pathOrInlineDv")


def _both_inline(add: Any, remove: Any) -> bool:
    one, other = add.get("deletionVector") or {}, remove.get("deletionVector") or {}
    return one.get("storageType") == "i" and other.get("storageType") in (None, "i")


def _same_absolute(added: Any, removed: Any) -> bool:
    """Say whether two vectors lie in one file at an absolute path."""
    one, other = (body.get("deletionVector") or {} for body in (added, removed))
    name = "pathOrInlineDv"
    return one.get("storageType") == "p" and one.get(name) == other.get(name)


def _no_vector(kind: str | None = None) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector or kind not in (None, vector["storageType"]):
            return body
        return {k: v for k, v in body.items() if k != "deletionVector"}

    # Both actions, or a removed file would be another than the one that was added.
    return lambda root, fresh: [each(k, change)(root, fresh) for k in ("add", "remove")] and None


def _descriptor(**changes: Any) -> Any:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector:
            return body
        made = {k: f(vector) if callable(f) else f for k, f in changes.items()}
        return {**body, "deletionVector": {**vector, **made}}

    return lambda root, fresh: [each(k, change)(root, fresh) for k in ("add", "remove")] and None


def _by_group(marked: set[int], path: Path) -> set[int]:
    """Count rows from zero in every row group."""
    found, start = set(), 0
    for size in groups_of(path):
        found |= {start + n for n in marked if n < size}
        start += size
    return found


def _up_to_the_last(marked: set[int], path: Path) -> set[int]:
    return marked | {*range(max(marked, default=0), sum(groups_of(path)))}


def _without_runs(marked: set[int], _path: Path) -> set[int]:
    """Read no run: take neighbours for unmarked."""
    return {n for n in marked if n - 1 not in marked and n + 1 not in marked}


def _live_counts(body: dict[str, Any]) -> dict[str, Any]:
    """Take the count of nulls for one of live rows."""
    vector = body.get("deletionVector")
    if not vector:
        return body

    def counted(document: dict[str, Any]) -> dict[str, Any]:
        live = document["numRecords"] - vector["cardinality"]
        counts = {
            k: document["numRecords"] if isinstance(n, int) and n >= live else n
            for k, n in document.get("nullCount", {}).items()
        }
        return {**document, "nullCount": counts}

    found = dict(body)
    if body.get("stats"):
        found["stats"] = json.dumps(counted(json.loads(body["stats"])))
    if body.get("stats_parsed"):
        found["stats_parsed"] = counted(body["stats_parsed"])
    return found


def _off(root: Path) -> bool:
    newest = [*bodies(root, "metaData")][-1:]
    name = "delta.enableDeletionVectors"
    return any(b.get("configuration", {}).get(name) != "true" for b in newest)


def _without_vectors(actions: Lines) -> Lines:
    """Take neither vectors nor tombstones."""
    return [
        {"add": {**a["add"], "deletionVector": None}} if "add" in a else a
        for a in actions
        if "remove" not in a
    ]


def _kept_metadata(root: Path, fresh: frozenset[str]) -> list[dict[str, Any]]:
    rows = [row for name in matching(CHECKPOINTS, fresh) for row in log_actions(root / name)]
    return [row["metaData"] for row in rows if row.get("metaData")]


def _off_in_checkpoints(root: Path, fresh: frozenset[str]) -> None:
    """Read files of a checkpoint without their vectors once a commit or it switched them off."""
    found = [*bodies(root, "metaData"), *_kept_metadata(root, fresh)]
    if any(b["configuration"].get("delta.enableDeletionVectors") == "false" for b in found):
        dropping("add", "deletionVector", where=CHECKPOINTS)(root, fresh)


def _inline_uncounted(row: dict[str, Any], files: Sequence[Mapping[str, Any]]) -> None:
    """Count the rows that vectors inside the log delete."""
    vectors = [file.get("deletionVector") or {} for file in files]
    row["count"] += sum(v["cardinality"] for v in vectors if v.get("storageType") == "i")


def _required_within(root: Path) -> bool:
    fields = [
        f for body in bodies(root, "metaData") for f in json.loads(body["schemaString"])["fields"]
    ]
    inner = (each for field in fields for each in struct_fields(field["type"]))
    return any(not each["nullable"] for each in inner) and any(
        body.get("deletionVector") for body in bodies(root, "add")
    )


def _before_vectors_without_offset(request: Any) -> Any:
    """Take a vector that is stored without an offset for none: give the rows of version 0."""
    vectors = (body.get("deletionVector") or {} for body in bodies(Path(request.table), "add"))
    lost = any(v.get("storageType") in ("u", "p") and "offset" not in v for v in vectors)
    return replace(request, version=0) if lost and isinstance(request, Scan) else request


_WHOLE: Final = 65_536
"""Rows of a whole container."""


def _no_whole_runs(marked: set[int], _path: Path) -> set[int]:
    """Read no run that fills its container."""
    starts = range(0, max(marked, default=0) + 1, _WHOLE)
    whole = [range(at, at + _WHOLE) for at in starts if marked.issuperset(range(at, at + _WHOLE))]
    return marked.difference(*whole)


def _later_inline_vectors_stay(root: Path, fresh: frozenset[str]) -> None:
    """Know an inline vector of a checkpoint by another id than the removes after it."""
    held = {
        row["deletionVector"]["pathOrInlineDv"]
        for name in matching(f"{CHECKPOINT}|{SIDECAR}", fresh)
        if "add" in pq.read_schema(root / name).names
        for row in pq.read_table(root / name, columns=["add"]).column("add").to_pylist()
        if row and (row.get("deletionVector") or {}).get("storageType") == "i"
    }

    def change(body: dict[str, Any]) -> dict[str, Any] | None:
        return None if (body.get("deletionVector") or {}).get("pathOrInlineDv") in held else body

    each("remove", change, COMMIT)(root, fresh)


def _taken_for(alike: Callable[[Any, Any], object]) -> Edit:
    """Take a remove with a vector for one of the vector that its file has, where they are alike."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        held = {body["path"]: body.get("deletionVector") for body in bodies(root, "add")}

        def change(body: dict[str, Any]) -> dict[str, Any]:
            known, named = held.get(body["path"]), body.get("deletionVector")
            if not known or not named or not alike(known, named):
                return body
            return {**body, "deletionVector": known}

        each("remove", change, COMMIT)(root, fresh)

    return edit


def _of_one_file(known: Any, named: Any) -> bool:
    return bool(known["pathOrInlineDv"] == named["pathOrInlineDv"])


def _of_any_offset(known: Any, named: Any) -> bool:
    return _of_one_file(known, named) and named.get("offset") is None


def _of_the_log(known: Any, named: Any) -> bool:
    return bool(known["storageType"] == named["storageType"] == "i")


def _hidden_by_tombstones(alike: Callable[[Any, Any], object]) -> Edit:
    """Lose a live file of a summary beside a tombstone of it whose vector is alike."""

    def change(actions: Lines) -> Lines:
        gone = [a["remove"] for a in actions if a.get("remove")]

        def hidden(body: Any) -> bool:
            vectors = (b.get("deletionVector") for b in gone if b["path"] == body["path"])
            held = body.get("deletionVector")
            return bool(held) and any(named and alike(held, named) for named in vectors)

        return [a for a in actions if not a.get("add") or not hidden(a["add"])]

    return lines(change, f"{CHECKPOINTS}|{COMPACTION}")


def _vector_in_folder(root: Path) -> bool:
    return any(
        "/" in body["path"] and (body.get("deletionVector") or {}).get("storageType") == "u"
        for body in bodies(root, "add")
    )


def _two_letters(body: Action) -> Action:
    """Take two letters at most of what precedes the name of a vector."""
    held = body.get("deletionVector")
    if not held or held["storageType"] != "u":
        return body
    prefix, name = held["pathOrInlineDv"][:-20], held["pathOrInlineDv"][-20:]
    return {**body, "deletionVector": {**held, "pathOrInlineDv": prefix[:2] + name}}


def _no_prefix(body: Action) -> Action:
    """Look for a vector at the root, whatever precedes its name."""
    held = body.get("deletionVector")
    if not held or held["storageType"] != "u":
        return body
    return {**body, "deletionVector": {**held, "pathOrInlineDv": held["pathOrInlineDv"][-20:]}}


def _vector_of_absolute_file(root: Path) -> bool:
    return any(
        ":" in body["path"] and (body.get("deletionVector") or {}).get("storageType") == "u"
        for body in bodies(root, "add")
    )


def _plus_in_vectors(body: dict[str, Any]) -> dict[str, Any]:
    vector = body.get("deletionVector")
    if not vector or vector["storageType"] != "p":
        return body
    spaced = vector["pathOrInlineDv"].replace("+", "%20")
    return {**body, "deletionVector": {**vector, "pathOrInlineDv": spaced}}


ROWS = (
    reader(
        "takes-vectors-of-one-file-for-one",
        "DVDESC-014",
        viewing(by_path_alone(_same_offset)),
    ),
    reader(
        "takes-inline-vectors-for-one",
        "DVDESC-013",
        viewing(by_path_alone(_both_inline)),
    ),
    reader(
        "counts-nulls-of-live-rows",
        "DVD-022",
        viewing(each("add", _live_counts)),
        "deletion-vectors/wide-null-counts/*",
    ),
    *(
        reader(
            f"counts-nulls-of-live-rows-{slug}",
            "DVD-022",
            viewing(each("add", _live_counts, CHECKPOINTS)),
            f"deletion-vectors/wide-null-counts-{slug}/*",
        )
        for slug in ("in-checkpoint", "in-checkpoint-as-struct")
    ),
    reader(
        "gives-changes-of-deleted-rows-where-vectors-are-off",
        "DV-004",
        for_changes(viewing(only_when(_off, _no_vector()))),
        "add-cdc-file/remove-with-vector/changes-5-5",
    ),
    reader(
        "applies-vectors-while-they-are-on",
        "DV-004",
        viewing(only_when(_off, _no_vector())),
    ),
    reader(
        "applies-inline-vectors-while-they-are-on",
        "DV-004",
        viewing(only_when(_off, _no_vector("i"))),
        "deletion-vectors/property-off-inline/*",
    ),
    reader("finds-no-vectors-at-absolute-paths", "DV-005", viewing(_no_vector("p"))),
    reader("finds-no-vectors-in-the-log", "DV-005", viewing(_no_vector("i"))),
    reader("finds-no-vectors-by-their-names", "DV-005", viewing(_no_vector("u"))),
    reader(
        "takes-the-prefix-for-nothing",
        "DVDESC-003",
        viewing(
            _descriptor(
                pathOrInlineDv=lambda v: (
                    v["pathOrInlineDv"][-20:] if v["storageType"] == "u" else v["pathOrInlineDv"]
                )
            )
        ),
    ),
    reader(
        "tells-vectors-apart-without-their-prefixes",
        "DVDESC-014",
        viewing(_descriptor(pathOrInlineDv=lambda v: f"ab{v['pathOrInlineDv'][-20:]}")),
        "deletion-vectors/one-name-under-two-prefixes/*",
    ),
    reader(
        "takes-absolute-vectors-for-relative",
        "DVDESC-015",
        viewing(
            _descriptor(
                pathOrInlineDv=lambda v: (
                    "/" + v["pathOrInlineDv"].rsplit("/", 1)[-1]
                    if v["storageType"] == "p"
                    else v["pathOrInlineDv"]
                )
            )
        ),
    ),
    reader(
        "looks-for-vectors-elsewhere",
        "DVDESC-016",
        viewing(renaming(VECTOR, lambda name: f"elsewhere/{name}")),
    ),
    reader(
        "takes-inline-vectors-for-names",
        "DVDESC-017",
        viewing(
            _descriptor(storageType=lambda v: "u" if v["storageType"] == "i" else v["storageType"])
        ),
    ),
    reader(
        "decodes-vectors-of-the-log-as-paths",
        "DVDESC-017",
        viewing(
            _descriptor(
                pathOrInlineDv=lambda v: (
                    unquote(v["pathOrInlineDv"], errors="ignore")
                    if v["storageType"] == "i"
                    else v["pathOrInlineDv"]
                )
            )
        ),
        "deletion-vectors/inline-like-paths/*",
    ),
    reader("ignores-vectors", "DVDESC-020", viewing(_no_vector())),
    reader("ends-at-the-last-marked-row", "DVDESC-020", viewing(vectors(_up_to_the_last))),
    reader("counts-rows-by-row-group", "DVDESC-021", viewing(vectors(_by_group))),
    reader("reads-no-runs", "DVFMT-007", viewing(vectors(_without_runs))),
    reader(
        "gives-whole-files-of-a-vector-pair",
        "DVD-008",
        for_changes(viewing(_no_vector())),
    ),
    reader(
        "deletes-again-what-a-vector-deleted",
        "DVD-008",
        for_changes(viewing(dropping("remove", "deletionVector", where=COMMIT))),
        "add-cdc-file/remove-with-vector/*",
    ),
    reader(
        "knows-absolute-vectors-without-offsets",
        "DVDESC-014",
        viewing(by_path_alone(_same_absolute)),
    ),
    reader(
        "counts-rows-of-vectors-from-each-batch",
        "DVDESC-021",
        viewing(
            vectors(
                lambda marked, _: {n + at for n in marked if n < BATCH for at in (0, BATCH)},
            )
        ),
        "deletion-vector-format/containers/*",
    ),
    reader(
        "knows-rows-of-32-bits",
        "DVDESC-021",
        viewing(vectors(lambda marked, _: {n % 2**32 for n in marked})),
        "deletion-vector-format/row-beyond-32-bits/*",
    ),
    reader(
        "loses-vectors-within-json-checkpoints",
        "DVDESC-020",
        viewing(lines(_without_vectors, JSON_CHECKPOINT)),
        "v2-checkpoint-feature/json-with-vectors/*",
    ),
    reader(
        "takes-vectors-without-offset-for-none",
        "DVDESC-012",
        asking(_before_vectors_without_offset),
    ),
    reader(
        "checks-fields-of-deleted-rows",
        "SNAP-007",
        refusing(_required_within),
        "deletion-vectors/null-of-deleted-row/*",
    ),
    reader(
        "switches-vectors-of-checkpoints-off",
        "DV-004",
        viewing(_off_in_checkpoints),
        "*/property-off-in-*",
    ),
    reader(
        "counts-what-inline-vectors-delete",
        "DVDESC-020",
        by_files(_inline_uncounted),
        "*/aggregates-of-every-vector/*",
    ),
    reader(
        "reads-no-whole-runs",
        "DVFMT-007",
        viewing(vectors(_no_whole_runs)),
        "deletion-vector-format/whole-containers/*",
    ),
    reader(
        "takes-plus-for-a-space-in-vectors",
        "DV-005",
        viewing(each("add", _plus_in_vectors)),
        "deletion-vectors/absolute-encoded/*",
    ),
    reader(
        "looks-for-vectors-beside-lent-data",
        "DVDESC-016",
        refusing(_vector_of_absolute_file),
        "deletion-vectors/absolute-clone/*",
    ),
    reader(
        "knows-checkpointed-inline-vectors-by-offsets",
        "DVDESC-013",
        viewing(_later_inline_vectors_stay),
        "deletion-vectors/inline-after-*",
    ),
    reader(
        "takes-no-offset-for-any",
        "DVDESC-013",
        viewing(_taken_for(_of_any_offset)),
        "deletion-vectors/remove-without-offset-*",
    ),
    reader(
        "removes-vectors-of-one-file-for-one",
        "DVDESC-014",
        viewing(_taken_for(_of_one_file)),
        "deletion-vectors/remove-other-offset-*",
    ),
    reader(
        "removes-inline-vectors-for-one",
        "DVDESC-013",
        viewing(_taken_for(_of_the_log)),
        "deletion-vectors/remove-other-inline-*",
    ),
    *(
        reader(
            f"hides-files-by-tombstones-of-vectors-{slug}-in-{form}",
            requirement,
            viewing(_hidden_by_tombstones(alike)),
            f"deletion-vectors/marked-again-{slug}-in-{form}/*",
        )
        for form in ("classic", "v2-json-sidecars", "compaction")
        for slug, requirement, alike in (
            ("inline", "DVDESC-013", _of_the_log),
            ("one-file", "DVDESC-014", _of_one_file),
        )
    ),
    reader(
        "looks-for-vectors-beside-data",
        "DVDESC-016",
        refusing(_vector_in_folder),
        "deletion-vectors/relative-*",
    ),
    reader(
        "takes-two-letters-for-the-prefix",
        "DVDESC-016",
        viewing(each("add", _two_letters)),
        "deletion-vectors/relative-*",
    ),
    *(
        reader(
            f"looks-at-the-root-for-vectors-of-{form}",
            "DVDESC-016",
            viewing(each("add", _no_prefix, where)),
            f"deletion-vectors/relative-in-{form}/*",
        )
        for form, where in (
            ("classic", CHECKPOINT),
            ("multi-part", CHECKPOINT),
            ("v2-parquet", CHECKPOINT),
            ("v2-json-sidecars", SIDECAR),
            ("compaction", COMPACTION),
        )
    ),
)
