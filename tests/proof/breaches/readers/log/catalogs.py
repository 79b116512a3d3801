"""Wrong readers of catalog-managed tables: ratified, staged and published commits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from breaches.model import How, reader
from breaches.seams import asking, viewing, where_asked
from breaches.views import log_of
from conformance.adapter import Aggregate, Changes, DomainMetadata, Files, Scan, Snapshot, Txn

_KINDS = (Aggregate, Changes, DomainMetadata, Files, Snapshot, Txn)


def _published(request: Any) -> int:
    names = (path.stem for path in log_of(Path(request.table)).glob("*.json"))
    return max(int(name) for name in names if name.isdigit())


def _with_ratified(kind: type, change: Callable[[Any], Any]) -> How:
    """Answer requests of a kind by another answer of the catalog."""

    def changed(request: Any) -> Any:
        if request.ratified is None:
            return request
        return replace(request, ratified=change(request))

    return where_asked(lambda request: isinstance(request, kind), asking(changed))


def _asks_for(part: str, request: Any) -> bool:
    return isinstance(request, Scan) and bool(getattr(request, part))


def _to_the_end(request: Any) -> dict[str, Any]:
    latest = max(request.ratified["latest"], _published(request))
    return {**request.ratified, "latest": latest}


def _as_published(request: Any) -> dict[str, Any]:
    return {"latest": _published(request), "commits": []}


def _version(commit: Mapping[str, Any]) -> int:
    return int(commit["staged"][:20] if "staged" in commit else commit["version"])


def _of_the_answer_alone(request: Any) -> dict[str, Any]:
    """Take the last commit that the catalog gives for the latest version."""
    latest = max(map(_version, request.ratified["commits"]), default=0)
    return {**request.ratified, "latest": latest}


def _published_first(request: Any) -> dict[str, Any]:
    log = log_of(Path(request.table))
    commits = [
        each
        for each in request.ratified["commits"]
        if not (log / f"{_version(each):020}.json").exists()
    ]
    return {**request.ratified, "commits": commits}


def _staged_for_ratified(root: Path, _fresh: frozenset[str]) -> None:
    """Take what lies in the folder of staged commits for versions, where nothing else is."""
    log = log_of(root)
    for path in sorted(log.glob("_staged_commits/*.json")):
        published = log / f"{path.name[:20]}.json"
        if not published.exists():
            shutil.copy2(path, published)


def _staged_by_version(pick: Callable[[list[str]], str], request: Any) -> dict[str, Any]:
    """Find staged commits by their versions, and one of several by its name."""
    folder = log_of(Path(request.table)) / "_staged_commits"
    commits = [dict(each) for each in request.ratified["commits"]]
    for each in commits:
        if "staged" in each:
            each["staged"] = pick([p.name for p in folder.glob(f"{_version(each):020}.*.json")])
    return {**request.ratified, "commits": commits}


def _without_inline(name: str) -> Callable[[Any], Any]:
    """Overlook an action, or a field of adds, in commits that the catalog keeps inline."""

    def kept(action: Any) -> Any:
        found = {key: body for key, body in action.items() if key != name}
        if "add" in found:
            found["add"] = {key: held for key, held in found["add"].items() if key != name}
        return found

    def changed(request: Any) -> dict[str, Any]:
        commits = []
        for commit in request.ratified["commits"]:
            found = dict(commit)
            if "content" in found:
                actions = [json.loads(line) for line in found["content"].splitlines()]
                # Without its vector, a file is the one that the same commit removes.
                same = {a["add"]["path"] for a in actions if name in a.get("add", ())}
                actions = [a for a in actions if a.get("remove", {}).get("path") not in same]
                found["content"] = "".join(json.dumps(kept(one)) + "\n" for one in actions)
            commits.append(found)
        return {**request.ratified, "commits": commits}

    return changed


ROWS = (
    *(
        reader(
            f"reads-the-{called}-staged-commit-of-a-version",
            "CAT-004",
            _with_ratified(Scan, partial(_staged_by_version, pick)),
            "catalog-managed-tables/published-staged-inline/*",
        )
        for called, pick in (("first", min), ("last", max))
    ),
    *(
        reader(
            f"overlooks-inline-{name.lower()}",
            row,
            _with_ratified(kind, _without_inline(name)),
            "catalog-managed-tables/crossed-staged/*",
        )
        for name, row, kind in (
            ("deletionVector", "DVDESC-020", Scan),
            ("domainMetadata", "REC-014", DomainMetadata),
            ("txn", "TXN-005", Txn),
        )
    ),
    *(
        reader(
            f"goes-beyond-the-ratified-for-{kind.__name__.lower()}",
            "CAT-010",
            _with_ratified(kind, _to_the_end),
            "catalog-managed-tables/*",
        )
        for kind in _KINDS
    ),
    *(
        reader(
            f"{slug}-for-{kind.__name__.lower()}",
            row,
            _with_ratified(kind, change),
            f"catalog-managed-tables/{case}/*",
        )
        for slug, row, case, change in (
            ("asks-the-catalog-alone", "CAT-008", "all-published", _of_the_answer_alone),
            ("asks-the-log-first", "CAT-009", "catalog-before-published", _published_first),
        )
        for kind in (Scan, Files)
    ),
    reader("takes-staged-commits-for-ratified", "CAT-004", viewing(_staged_for_ratified)),
    *(
        reader(
            f"asks-published-commits-for-{kind.__name__.lower()}",
            "CAT-007",
            _with_ratified(kind, _as_published),
            f"catalog-managed-tables/{case}/*",
        )
        for kind, case in (
            (DomainMetadata, "crossed-staged"),
            (Txn, "crossed-staged"),
            (Changes, "changes"),
        )
    ),
    *(
        reader(
            f"asks-published-commits-for-scans-by-{part.replace('_', '-')}",
            "CAT-007",
            where_asked(partial(_asks_for, part), _with_ratified(Scan, _as_published)),
            "catalog-managed-tables/parts-of-rows/*",
        )
        for part in ("filter", "columns", "row_ids")
    ),
)
