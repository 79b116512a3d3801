"""Wrong readers of checkpoints, sidecars and the hint to the last checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    deleting,
    each,
    lines,
    matching,
    only_when,
    read_lines,
    renaming,
    rewrite,
    setting,
    without,
)
from breaches.model import How, reader
from breaches.seams import asking, refusing, viewing
from breaches.views import checkpoints_of, log_actions, log_of, replaying


def _files_first(root: Path) -> bool:
    """Say whether a classic checkpoint begins with a file."""
    return any(
        {"add", "remove"} & {kind for kind, body in log_actions(path)[0].items() if body}
        for path in log_of(root).glob("*.checkpoint.parquet")
    )


def _nothing_comes_back(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Leave out what comes back, after an earlier commit removed it, without a change of data."""
    gone = kept.setdefault("gone", set())
    found = [
        a
        for a in actions
        if "add" not in a or a["add"].get("dataChange") or a["add"]["path"] not in gone
    ]
    gone.update(a["remove"]["path"] for a in actions if "remove" in a)
    return found


def _one_later(pattern: str) -> How:
    """Start from a checkpoint one version beyond what is asked for."""

    def changed(request: Any) -> Any:
        version = getattr(request, "version", None)
        if version is None:
            return request
        name = f"{version + 1:020d}.checkpoint.{pattern}"
        later = any(log_of(Path(request.table)).glob(name))
        return replace(request, version=version + 1) if later else request

    return asking(changed)


def _quiet_removes_stay(root: Path, fresh: frozenset[str]) -> None:
    """Keep files of a checkpoint that later commits remove without a change of data."""
    whole = max((int(path.name[:20]) for path in log_of(root).glob("*.checkpoint.*")), default=None)
    late = {n for n in fresh if n.endswith(".json") and Path(n).stem.isdigit()}
    late = {n for n in late if whole is not None and int(Path(n).stem) > whole}
    each("remove", lambda body: body if body.get("dataChange") else None, COMMIT)(
        root, frozenset(late)
    )


def _no_files_within(actions: Lines) -> Lines:
    """Take no file action that a V2 checkpoint holds itself."""
    within = any("checkpointMetadata" in action for action in actions)
    return [a for a in actions if not (within and {"add", "remove"} & a.keys())]


def _tagged(root: Path) -> bool:
    checkpoints = log_of(root).glob("*.checkpoint.*.json")
    metadata = (a.get("checkpointMetadata", {}) for path in checkpoints for a in read_lines(path))
    return any(body.get("tags") for body in metadata)


def _from_newer(pattern: str) -> Callable[[Any], Any]:
    """Start from the first checkpoint after the version that is asked for, if it is called so."""

    def ask(request: Any) -> Any:
        version = getattr(request, "version", None)
        if version is None:
            return request
        newer = [
            v
            for v, names in checkpoints_of(request.table).items()
            if v > version and any(re.search(pattern, name) for name in names)
        ]
        return replace(request, version=min(newer)) if newer else request

    return ask


def _complete_parts(root: Path, _fresh: frozenset[str]) -> None:
    """Take a missing part for an empty one."""
    parts: dict[tuple[str, str], set[str]] = {}
    for path in log_of(root).glob("*.checkpoint.*.*.parquet"):
        version, _, number, count, _ = path.name.split(".")
        if number.isdigit() and count.isdigit():
            parts.setdefault((version, count), set()).add(number)
    for (version, count), there in parts.items():
        name = f"{version}.checkpoint.{{}}.{count}.parquet"
        held = pq.read_table(log_of(root) / name.format(min(there)))
        for at in range(1, int(count) + 1):
            text = f"{at:010}"
            if text not in there:
                pq.write_table(held.slice(0, 0), log_of(root) / name.format(text))


def _first_sidecar(actions: Lines) -> Lines:
    seen: list[Any] = []
    return [a for a in actions if "sidecar" not in a or (not seen and not seen.append(1))]  # type: ignore[func-returns-value]


def _trusting_the_hint(request: Any) -> Any:
    hint = log_of(Path(request.table)) / "_last_checkpoint"
    if getattr(request, "version", 0) is None and getattr(request, "timestamp", None) is None:
        try:
            return replace(request, version=int(json.loads(hint.read_bytes())["version"]))
        except (OSError, ValueError, KeyError, TypeError):
            return request
    return request


def _hint_of_another(differ: Callable[[Any, Path], bool]) -> Callable[[Path], bool]:
    """Say whether a hint and the classic checkpoint that it names differ in something."""

    def found(root: Path) -> bool:
        try:
            hint = json.loads((log_of(root) / "_last_checkpoint").read_bytes())
            return differ(hint, log_of(root) / f"{hint['version']:020}.checkpoint.parquet")
        except (OSError, ValueError, KeyError, TypeError):
            return False

    return found


def _other_bytes(hint: Any, path: Path) -> bool:
    return bool(hint["sizeInBytes"] != path.stat().st_size)


def _other_size(hint: Any, path: Path) -> bool:
    return bool(hint["size"] != pq.read_metadata(path).num_rows)


def _other_columns(hint: Any, path: Path) -> bool:
    of = next(each["type"] for each in hint["checkpointSchema"]["fields"] if each["name"] == "add")
    held = pq.read_schema(path).field("add").type
    return {each["name"] for each in of["fields"]} != {each.name for each in held}


def _no_hint(root: Path) -> bool:
    return not (log_of(root) / "_last_checkpoint").exists()


def _parts_without_hint(root: Path, fresh: frozenset[str]) -> None:
    if not (log_of(root) / "_last_checkpoint").exists():
        deleting(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet")(root, fresh)


_CLASSIC = r"_delta_log/\d{20}\.checkpoint\.parquet"


def _checkpoints(root: Path) -> Iterator[Lines]:
    for place in log_of(root).glob("*.checkpoint.*.json"):
        yield read_lines(place)


def _sidecar_in_folder(root: Path) -> bool:
    return any("/" in a["sidecar"]["path"] for c in _checkpoints(root) for a in c if "sidecar" in a)


def _first_groups(root: Path, fresh: frozenset[str]) -> None:
    for name in matching(SIDECAR, fresh):
        sink = pa.BufferOutputStream()
        pq.write_table(pq.ParquetFile(root / name).read_row_group(0), sink)
        rewrite(root / name, sink.getvalue().to_pybytes())


def _sidecars_of_classic_names_in_the_log(root: Path, fresh: frozenset[str]) -> None:
    """Find no sidecar by a bare name that a V2 checkpoint of the classic name gives."""
    for name in matching(_CLASSIC, fresh):
        table = pq.read_table(root / name, partitioning=None)
        if "sidecar" in table.column_names:
            for body in table.column("sidecar").drop_null().to_pylist():
                (log_of(root) / "_sidecars" / body["path"]).unlink()


ROWS = (
    reader("starts-from-a-newer-checkpoint", "CKPT-004", asking(_from_newer(""))),
    *(
        reader(f"starts-from-{what}", "CKPT-004", asking(_from_newer(pattern)))
        for what, pattern in (
            ("newer-parts", r"checkpoint\.[0-9]+\."),
            ("a-newer-v2-checkpoint", r"checkpoint\.[0-9a-f]{8}-"),
        )
    ),
    reader("takes-missing-parts-for-empty", "CKPT-030", viewing(_complete_parts)),
    reader(
        "takes-parts-that-the-hint-names-for-whole",
        "CKPT-030",
        viewing(
            only_when(lambda root: (log_of(root) / "_last_checkpoint").exists(), _complete_parts)
        ),
    ),
    reader(
        "takes-no-dataChange-for-no-change",
        "CKC-027",
        viewing(
            each("add", lambda b: b if b.get("dataChange") else None),
            each("remove", lambda b: b if b.get("dataChange") else None),
        ),
    ),
    reader(
        "keeps-files-removed-without-a-change",
        "CKC-027",
        viewing(each("remove", lambda b: b if b.get("dataChange") else None, COMMIT)),
    ),
    *(
        reader(slug, "CKPT-N-001", refusing(_hint_of_another(differ)), "checkpoints/racing-*")
        for slug, differ in (
            ("refuses-the-hint-of-a-race", _other_bytes),
            ("refuses-a-hint-of-more-actions", _other_size),
            ("refuses-a-hint-of-other-columns", _other_columns),
        )
    ),
    reader(
        "pads-names-of-checkpoints",
        "SNAP-007",
        viewing(
            renaming(
                r"_delta_log/\d{1,19}\.checkpoint\.parquet",
                lambda name: f"_delta_log/{Path(name).name:0>39}",
            )
        ),
        "checkpoints/foreign-names/*",
    ),
    reader("leaves-sidecars-out", "SIDE-005", viewing(without("sidecar"))),
    reader(
        "reads-one-sidecar-alone",
        "SIDE-005",
        viewing(lines(_first_sidecar, CHECKPOINTS)),
    ),
    reader(
        "reads-nothing-but-sidecars",
        "SIDE-005",
        viewing(without("txn", "domainMetadata", where=CHECKPOINT)),
    ),
    reader("takes-the-hint-for-the-end", "LAST-003", asking(_trusting_the_hint)),
    reader(
        "finds-no-checkpoint-without-hint",
        "LAST-004",
        viewing(only_when(_no_hint, deleting(f"{CHECKPOINT}|_delta_log/.*checkpoint.*json"))),
    ),
    reader(
        "asks-for-the-hint",
        "LAST-004",
        refusing(lambda root: _no_hint(root) and log_of(root).is_dir()),
    ),
    reader(
        "looks-for-sidecars-elsewhere",
        "SCA-004",
        viewing(renaming(SIDECAR, lambda name: name.replace("_sidecars/", ""))),
    ),
    reader(
        "starts-from-parts-one-version-later",
        "CKPT-004",
        _one_later("??????????.*.parquet"),
        "checkpoints/newer-parts-than-asked/*",
    ),
    reader(
        "starts-from-v2-one-version-later",
        "CKPT-004",
        _one_later("????????-*"),
        "v2-checkpoint-feature/newer-than-asked/*",
    ),
    reader(
        "leaves-quiet-removes-out-of-compactions",
        "CKC-027",
        viewing(each("remove", lambda b: b if b.get("dataChange") else None, COMPACTION)),
    ),
    reader("keeps-rearranged-files", "CKC-027", viewing(_quiet_removes_stay)),
    reader(
        "brings-nothing-back-without-a-change",
        "CKC-027",
        viewing(replaying(_nothing_comes_back)),
        "checkpoints/rearranged-back-*",
    ),
    *(
        reader(
            f"leaves-files-that-change-data-out-of-{name}",
            "CKC-027",
            viewing(each("add", lambda b: None if b.get("dataChange") else b, where)),
            f"checkpoints/data-change-either-way-{case}/*",
        )
        for name, where, case in (
            ("parts", CHECKPOINT, "multi-part"),
            ("sidecars", SIDECAR, "v2-json-sidecars"),
            ("json", JSON_CHECKPOINT, "v2-json"),
        )
    ),
    reader(
        "wants-files-last-in-checkpoints",
        "REC-013",
        refusing(_files_first),
        "checkpoint-schema/rows-in-reverse/*",
    ),
    *(
        reader(
            f"reads-no-files-within-{name}-checkpoints",
            "SNAP-007",
            viewing(lines(_no_files_within, where)),
            f"v2-checkpoint-feature/{case}-embedded/*",
        )
        for name, where, case in (
            ("v2", CHECKPOINT, "parquet"),
            ("json", JSON_CHECKPOINT, "json"),
            ("classic-v2", CHECKPOINT, "classic-name"),
        )
    ),
    reader("goes-by-tags-of-checkpoints", "CKM-009", refusing(_tagged)),
    reader(
        "finds-no-parts-without-hint",
        "LAST-004",
        viewing(_parts_without_hint),
        "last-checkpoint-file/absent-before-parts/*",
    ),
    reader(
        "takes-plus-for-a-space-in-sidecars",
        "SCA-004",
        viewing(setting("sidecar", "path", lambda p: p.replace("+", "%20"), where=JSON_CHECKPOINT)),
        "sidecar-files/*",
    ),
    reader(
        "decodes-sidecars-twice",
        "SCA-004",
        viewing(setting("sidecar", "path", unquote, where=JSON_CHECKPOINT)),
        "sidecar-files/*",
    ),
    reader(
        "wants-checkpoint-metadata-first",
        "SIDE-005",
        refusing(lambda root: any("checkpointMetadata" not in c[0] for c in _checkpoints(root))),
        "v2-checkpoint-feature/lines-in-reverse/*",
    ),
    reader(
        "takes-sidecars-for-names",
        "SIDE-005",
        refusing(_sidecar_in_folder),
        "v2-checkpoint-feature/absolute-sidecars/*",
    ),
    reader(
        "reads-first-groups-of-sidecars",
        "SIDE-005",
        viewing(_first_groups),
        "v2-checkpoint-feature/sidecars-of-small-row-groups/*",
    ),
    reader(
        "looks-in-the-log-for-sidecars-of-classic-names",
        "SCA-004",
        viewing(_sidecars_of_classic_names_in_the_log),
        "v2-checkpoint-feature/classic-*",
    ),
)
