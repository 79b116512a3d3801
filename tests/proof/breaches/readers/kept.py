"""Wrong readers of what is said again, or is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from breaches.edits import COMMIT, Lines, each, matching
from breaches.model import reader
from breaches.seams import refusing, viewing
from breaches.views import bodies, replaying


def _twice_decoded(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": quote(unquote(unquote(body["path"])))}


def _merged(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep of an earlier add what the later one leaves out."""
    found = []
    for action in actions:
        if "add" in action:
            body = action["add"]
            old = kept.get(body["path"], {})
            tags = {**(old.get("tags") or {}), **(body.get("tags") or {})}
            kept[body["path"]] = {**old, **body, "tags": tags}
            found.append({"add": kept[body["path"]]})
        else:
            found.append(action)
    return found


def _by_this_commit(root: Path, fresh: frozenset[str]) -> None:
    """Take the version of the commit for that of the rows."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)

        def change(body: dict[str, Any], version: int = version) -> dict[str, Any]:
            known = "defaultRowCommitVersion" in body
            return {**body, "defaultRowCommitVersion": version} if known else body

        each("add", change, name.replace(".", r"\."))(root, fresh)


ROWS = (
    reader(
        "decodes-paths-of-changes-twice", "CDC-006", "actions", viewing(each("cdc", _twice_decoded))
    ),
    reader("merges-adds-of-a-file", "FA-003", "actions", viewing(replaying(_merged))),
    reader("dates-rows-by-the-last-commit", "RT-026", "actions", viewing(_by_this_commit)),
    reader(
        "refuses-unknown-domains-that-are-gone",
        "PROTO-010",
        "actions",
        refusing(
            lambda root: any(
                body.get("removed") and not body["domain"].startswith("delta.")
                for body in bodies(root, "domainMetadata")
            )
        ),
    ),
)
