"""Wrong readers of log compactions and version checksums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from breaches.edits import (
    CHECKPOINT,
    COMPACTION,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    dropping,
    lines,
    setting,
    unlisted,
    without,
)
from breaches.model import reader
from breaches.seams import asking, refusing, viewing, where_asked
from breaches.views import commits_of, log_of, replaying, vectors
from conformance.adapter import Aggregate, Scan


def _to_their_end(request: Any) -> Any:
    """Take a compaction whole, that the version which is asked for is within."""
    version = getattr(request, "version", None)
    if version is None:
        return request
    names = [path.name for path in log_of(Path(request.table)).glob("*.compacted.json")]
    ranges = [(int(name[:20]), int(name[21:41])) for name in names]
    ends = [end for start, end in ranges if start <= version < end]
    return replace(request, version=max(ends)) if ends else request


def _lacks_newest_checksum(root: Path) -> bool:
    checksums = sorted(int(p.stem) for p in log_of(root).glob("*.crc"))
    return bool(checksums) and checksums[-1] < max(commits_of(root), default=-1)


def _no_checksum(root: Path) -> bool:
    return log_of(root).is_dir() and not any(log_of(root).glob("*.crc"))


def _lacks_one_checksum(root: Path) -> bool:
    held = {int(path.stem) for path in log_of(root).glob("*.crc")}
    return bool(held) and len(held) <= max(held) - min(held)


_OF_COMPACTIONS = {
    "removes": "remove",
    "adds": "add",
    "txns": "txn",
    "domains": "domainMetadata",
    "metadata": "metaData",
    "protocols": "protocol",
}
"""Actions of compactions, by what rows of the table call them."""

_PARTS: dict[str, Callable[[Any], bool]] = {
    "aggregates": lambda request: isinstance(request, Aggregate),
    "filters": lambda request: isinstance(request, Scan) and request.filter is not None,
    "columns": lambda request: isinstance(request, Scan) and request.columns is not None,
}
"""Requests for less than the rows of a table."""


_FORMS = {
    "compactions": ("compaction", COMPACTION),
    "sidecars": ("v2-json-sidecars", SIDECAR),
    "json-checkpoints": ("v2-json", JSON_CHECKPOINT),
}


def _first_of_file(found: Lines) -> Lines:
    """Take the first vector of its file for one that no other vector was before."""
    marked = {a["remove"]["path"] for a in found if a.get("remove", {}).get("deletionVector")}
    return [
        {"add": {**body, "deletionVector": {**vector, "offset": 1}}}
        if (body := action.get("add", {})).get("path") not in marked
        and (vector := body.get("deletionVector"))
        else action
        for action in found
    ]


def _first_format(found: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep the format that the table began with."""
    return [
        {"metaData": {**body, "format": kept.setdefault("format", body["format"])}}
        if (body := action.get("metaData"))
        else action
        for action in found
    ]


ROWS = (
    reader(
        "takes-vectors-for-the-first-of-their-file-in-compactions",
        "DVDESC-014",
        viewing(lines(_first_of_file, COMPACTION)),
        "deletion-vectors/marked-again-one-file-in-compaction/*",
    ),
    reader(
        "keeps-the-first-format",
        "META-002",
        viewing(replaying(_first_format)),
        "change-metadata/format-options-*",
    ),
    *(
        reader(
            f"loses-options-of-formats-in-{form}",
            "REC-003",
            viewing(setting("metaData", "format.options", {}, where)),
            f"change-metadata/format-options-{form}/*",
        )
        for form, where in (
            ("classic", CHECKPOINT),
            ("v2-json-sidecars", JSON_CHECKPOINT),
            ("compaction", COMPACTION),
        )
    ),
    reader(
        "knows-no-unknown-features-of-writers-in-compactions",
        "REC-012",
        viewing(unlisted("somethingNobodyKnows", where=COMPACTION)),
        "table-features/unknown-writer-feature-in-compaction/*",
    ),
    *(
        reader(
            f"loses-{field}-in-{called}",
            "REC-018",
            viewing(dropping("add", field, where=where)),
            f"action-reconciliation/fields-of-files-in-{form}/*",
        )
        for called, (form, where) in _FORMS.items()
        for field in ("tags", "clusteringProvider", "deletionVector")
    ),
    *(
        reader(
            f"takes-no-{called}-of-compactions",
            "COMP-012",
            viewing(without(action, where=COMPACTION)),
        )
        for called, action in _OF_COMPACTIONS.items()
    ),
    *(
        reader(
            f"takes-no-removes-of-compactions-for-{name}",
            "COMP-012",
            where_asked(wanted, viewing(without("remove", where=COMPACTION))),
            "action-reconciliation/every-question-compaction-of-removals/*",
        )
        for name, wanted in _PARTS.items()
    ),
    reader("takes-compactions-beyond-the-version", "COMP-012", asking(_to_their_end)),
    reader(
        "mistakes-vectors-of-compactions",
        "COMP-012",
        viewing(vectors(lambda _rows, _file: {0}, COMPACTION)),
    ),
    reader("wants-checksums", "CRC-042", refusing(_no_checksum)),
    reader("asks-for-checksums", "CRC-042", refusing(_lacks_newest_checksum)),
    reader("wants-checksums-in-a-row", "CRC-042", refusing(_lacks_one_checksum)),
)
