"""Wrong writers of deletion vectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from breaches.edits import (
    COMMIT,
    VECTOR,
    Lines,
    content,
    dropping,
    each,
    lines,
    matching,
    uncounted,
    without,
)
from breaches.model import Ask, How, writer
from breaches.seams import (
    Edit,
    after_step,
    afterwards,
    by_request,
    doing_nothing,
    during,
    leaving,
    where_asked,
    writing,
)
from breaches.views import bodies, commits_of, log_of, rows_of, vectors
from conformance.adapter import Answer, Refused, Request, Write
from generators.materialise.data.deletion_vectors import (
    decode_uuid_name,
    inline_descriptor,
    vector_file_name,
)


def _vector(**changes: Any) -> Edit:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        vector = body.get("deletionVector")
        if not vector:
            return body
        made = {k: f(vector) if callable(f) else f for k, f in changes.items()}
        kept = {k: v for k, v in {**vector, **made}.items() if v is not ...}
        return {**body, "deletionVector": kept}

    return each("add", change, COMMIT)


def _flipped(at: int) -> Any:
    def change(data: bytes) -> bytes:
        where = at if at >= 0 else len(data) + at
        return data[:where] + bytes([data[where] ^ 0x55]) + data[where + 1 :]

    return change


def _forgetting(removes: Lines) -> Lines:
    """Leave out the remove of a file that is added again with another vector."""
    added = {a["add"]["path"] for a in removes if "add" in a}
    return [a for a in removes if "remove" not in a or a["remove"]["path"] not in added]


def last_only(root: Path, fresh: frozenset[str]) -> None:
    """Keep of a vector what the latest deletion marked."""
    older: dict[str, set[int]] = {}
    names = matching(COMMIT, fresh)
    for number, actions in sorted(commits_of(root).items()):
        name = f"_delta_log/{number:020}.json"
        for action in actions:
            body = action.get("remove")
            if body and body.get("deletionVector"):
                older[body["path"]] = rows_of(root, body["deletionVector"])
        if name in names:

            def change(marked: set[int], path: Path) -> set[int]:
                known = older.get(path.name, older.get(str(path.relative_to(root)), set()))
                return marked - known or marked

            vectors(change, name.replace(".", r"\."))(root, frozenset({name}))


def _no_vectors(root: Path) -> None:
    for path in root.rglob("*.bin"):
        path.unlink()


def _no_files_with_vectors(root: Path) -> None:
    for body in bodies(root, "add"):
        if body.get("deletionVector"):
            (root / body["path"]).unlink(missing_ok=True)


VECTORS = "deletion-vectors/write-changes*"


@by_request
def _stays_upgraded(ask: Ask, request: Request) -> Answer:
    """Refuse every restore of a table that was made without vectors."""
    if isinstance(request, Write) and request.operation == "restore":
        first = next(bodies(Path(request.table), "protocol"))
        if "deletionVectors" not in first.get("readerFeatures", ()):
            return Refused("unsupported", "load", "refused by a wrong implementation")
    return ask(request)


def _gone_too_early(root: Path, fresh: frozenset[str]) -> None:
    """Delete the vector files that commits name."""
    for name in matching(COMMIT, fresh):
        for line in (root / name).read_text().splitlines():
            if "deletionVector" in json.loads(line).get("add", {}):
                for path in root.glob("*.bin"):
                    path.unlink()


def _without_tombstones(root: Path) -> None:
    """Delete the vector files that no live file has."""
    live: dict[tuple[str, str], Any] = {}
    for _, actions in sorted(commits_of(root).items()):
        for kind in ("remove", "add"):
            for body in (action[kind] for action in actions if kind in action):
                vector = body.get("deletionVector")
                key = body["path"], json.dumps(vector)
                live.pop(key, None)
                if kind == "add" and vector and vector["storageType"] == "u":
                    prefix, number = decode_uuid_name(vector["pathOrInlineDv"])
                    live[key] = root / vector_file_name(number, prefix)
    for path in root.rglob("*.bin"):
        if path not in live.values():
            path.unlink()


def _no_replaced_vectors(root: Path) -> None:
    """Delete the vector files of tombstones, however young."""
    for body in bodies(root, "remove"):
        vector = body.get("deletionVector")
        if vector and vector["storageType"] == "u":
            _, name = decode_uuid_name(vector["pathOrInlineDv"])
            (root / vector_file_name(name)).unlink(missing_ok=True)


def _without_folders(root: Path) -> None:
    """Delete vector files in folders, whose names no vector has as its own."""
    for path in root.glob("ab/*.bin"):
        path.unlink()


def _tombstones(root: Path) -> set[str]:
    """Return the paths of tombstones in the checkpoints of a table."""
    held = [pq.read_table(path)["remove"].to_pylist() for path in log_of(root).glob("*.parquet")]
    return {row["path"] for rows in held for row in rows if row is not None}


def _escaped(root: Path) -> set[str]:
    """Return the paths of tombstones that are escaped."""
    return {body["path"] for body in bodies(root, "remove") if "%" in body["path"]}


def _vacuumed(paths: Callable[[Path], set[str]]) -> How:
    """Delete what tombstones name in a vacuum, live or not."""

    def gone(root: Path) -> None:
        for path in paths(root):
            (root / unquote(path)).unlink(missing_ok=True)

    return where_asked(writing("vacuum"), afterwards(gone))


def _unlisting_vectors(actions: Lines) -> Lines:
    """Take deletion vectors out of the lists of the protocol."""
    lists = {"readerFeatures": [], "writerFeatures": ["appendOnly"]}
    return [*actions, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **lists}}]


def _first_row_marked(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "deletionVector": inline_descriptor([0])}


ROWS = (
    writer(
        "describes-vectors-by-another-letter",
        "DVDESC-001",
        leaving(_vector(storageType="x")),
        VECTORS,
    ),
    writer(
        "cuts-names-of-vectors",
        "DVDESC-002",
        leaving(_vector(pathOrInlineDv=lambda v: v["pathOrInlineDv"][-19:])),
        VECTORS,
    ),
    writer(
        "tells-wrong-sizes-of-vectors",
        "DVDESC-009",
        leaving(_vector(sizeInBytes=lambda v: v["sizeInBytes"] + 1)),
        VECTORS,
    ),
    writer(
        "miscounts-vectors",
        "DVDESC-010",
        leaving(_vector(cardinality=lambda v: v["cardinality"] + 1)),
        VECTORS,
    ),
    writer(
        "leaves-row-counts-out",
        "DVDESC-022",
        leaving(uncounted()),
        VECTORS,
    ),
    writer(
        "writes-vectors-of-another-version",
        "DVSTO-003",
        leaving(content(VECTOR, lambda b: b"\x02" + b[1:])),
        VECTORS,
    ),
    writer(
        "writes-wrong-sizes-of-vectors",
        "DVSTO-005",
        leaving(content(VECTOR, _flipped(4))),
        VECTORS,
    ),
    writer("writes-wrong-crc", "DVSTO-007", leaving(content(VECTOR, _flipped(-1))), VECTORS),
    writer(
        "forgets-earlier-vectors",
        "DVD-017",
        leaving(last_only),
        "deletion-vectors*/write-*",
    ),
    writer(
        "keeps-the-file-with-its-old-vector",
        "DVD-018",
        after_step(3, leaving(lines(_forgetting, COMMIT))),
        VECTORS,
    ),
    writer(
        "removes-without-vectors",
        "REM-014",
        leaving(dropping("remove", "deletionVector", where=COMMIT)),
        VECTORS,
    ),
    writer(
        "replaces-without-vectors",
        "REM-014",
        during("replace", dropping("remove", "deletionVector", where=COMMIT)),
        "deletion-vectors/write-replaced/*",
    ),
    writer(
        "purges-nothing",
        "DVD-005",
        doing_nothing("optimize"),
        "deletion-vectors-design/write-purge*",
    ),
    writer(
        "restores-without-vectors",
        "DVD-013",
        after_step(8, leaving(dropping("add", "deletionVector", where=COMMIT))),
        "deletion-vectors-design/write-restore-across-upgrade*",
    ),
    writer(
        "refuses-to-restore-across-upgrades",
        "DVD-013",
        _stays_upgraded,
        "deletion-vectors-design/write-restore-across-upgrade*",
    ),
    writer(
        "restores-protocols",
        "DVD-014",
        after_step(
            5,
            leaving(
                lines(
                    lambda a: [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, *a],
                    COMMIT,
                )
            ),
        ),
        "deletion-vectors-design/write-restore-before*",
    ),
    writer(
        "vacuums-every-vector",
        "DVD-003",
        afterwards(_no_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    writer(
        "vacuums-files-behind-vectors",
        "DVD-004",
        afterwards(_no_files_with_vectors),
        "deletion-vectors-design/write-vacuum*",
    ),
    *(
        writer(
            f"counts-not-{name}",
            "DVDESC-022",
            leaving(dropping("add", "stats", where=COMMIT)),
            f"deletion-vectors-design/write-{case}/*",
        )
        for name, case in (("without-bounds", "without-bounds"), ("anew", "uncounted"))
    ),
    writer(
        "keeps-files-that-it-optimizes",
        "DVD-005",
        during("optimize", without("remove", where=COMMIT)),
        "deletion-vectors-design/write-purge/*",
    ),
    writer(
        "deletes-vectors-of-tombstones",
        "DVD-003",
        afterwards(_without_tombstones),
        "deletion-vectors/write-changes*",
    ),
    writer(
        "vacuums-what-tables-with-vectors-need",
        "DVD-001",
        leaving(_gone_too_early),
        "deletion-vectors-design/write-*",
    ),
    writer(
        "forgets-earlier-vectors-in-merges",
        "DVD-017",
        during("merge", last_only),
        "deletion-vectors/write-merge-after-*",
    ),
    writer(
        "vacuums-vectors-of-young-tombstones",
        "DVD-003",
        afterwards(_no_replaced_vectors),
        "deletion-vectors-design/write-vacuum-retained-vectors/*",
    ),
    writer(
        "vacuums-vectors-in-folders",
        "DVD-003",
        afterwards(_without_folders),
        "deletion-vectors-design/write-vacuum-folders/*",
    ),
    *(
        writer(
            f"vacuums-{slug}-behind-vectors",
            "DVD-004",
            _vacuumed(paths),
            "deletion-vectors-design/write-vacuum-partitioned-vectors/*",
        )
        for slug, paths in (("checkpointed-files", _tombstones), ("escaped-files", _escaped))
    ),
    writer(
        "restores-lists-without-vectors",
        "DVD-014",
        during("restore", lines(_unlisting_vectors, COMMIT)),
        "deletion-vectors-design/write-restore-inline/*",
    ),
    *(
        writer(
            f"writes-vectors-that-are-off-in-{operation}",
            "DV-002",
            during(operation, each("add", _first_row_marked, COMMIT)),
            f"deletion-vectors/write-not-enabled{rest}/*",
        )
        for operation, rest in (
            ("append", ""),
            ("delete", ""),
            ("update", ""),
            ("merge", "-merged"),
            ("overwrite", "-merged"),
            ("optimize", "-rearranged"),
        )
    ),
)
