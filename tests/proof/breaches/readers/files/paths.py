"""Wrong readers of paths: of adds, removes and change files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from breaches.edits import COMMIT, COMPACTION, each, only_when, removed_paths, setting
from breaches.model import reader
from breaches.seams import for_changes, viewing
from breaches.views import having


def _undecoded(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": body["path"].replace("%", "%25")}


def _relative(body: dict[str, Any]) -> dict[str, Any]:
    path = body["path"]
    absolute = path.startswith("/") or re.match(r"[a-z][a-z0-9+]*:", path)
    return {**body, "path": path.rsplit("/", 1)[-1]} if absolute else body


def _bare_name(body: dict[str, Any]) -> dict[str, Any]:
    """Look below the table for a path that begins with a slash."""
    path = body["path"]
    return {**body, "path": path.rsplit("/", 1)[-1]} if path.startswith("/") else body


def _as_written(path: str) -> str:
    """Spell a path so that it is, once decoded, what it was as written."""
    return path.replace("%", "%25")


def _folders_twice(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{unquote(folder)}{slash}{name}"


def _undecoded_names(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{_as_written(name)}"


def _moved_along(root: Path, fresh: frozenset[str]) -> None:
    """Let absolute paths of files of the table name those of its copy."""

    def moved(body: dict[str, Any]) -> dict[str, Any]:
        _, within, rest = body["path"].rpartition(f"/{root.name}/")
        return {**body, "path": f"file://{root}/{rest}"} if within else body

    for kind in ("add", "remove", "cdc"):
        each(kind, moved)(root, fresh)


def _below(path: str) -> str:
    return path.removeprefix("file:///")


def _twice_decoded(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": quote(unquote(unquote(body["path"])))}


def _by_bytes(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": quote(unquote(body["path"], encoding="latin-1"))}


def _upper_alone(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": re.sub("%(?=[0-9]?[a-f]|[0-9A-F][a-f])", "%25", body["path"])}


ROWS = (
    reader("takes-every-path-for-relative", "ADD-002", viewing(each("add", _relative))),
    reader(
        "takes-paths-without-a-scheme-for-names",
        "ADD-002",
        viewing(each("add", _bare_name)),
        "add-file-and-remove-file/absolute-path-outside/*",
    ),
    reader(
        "takes-paths-of-compactions-for-relative",
        "ADD-002",
        viewing(each("add", _relative, COMPACTION)),
        "log-compaction-files/absolute-paths/*",
    ),
    reader("never-decodes-paths", "ADD-003", viewing(each("add", _undecoded))),
    reader("never-decodes-paths-of-changes", "CDC-006", viewing(each("cdc", _undecoded))),
    reader(
        "decodes-removed-paths-twice",
        "REM-002",
        viewing(setting("remove", "path", unquote, COMMIT)),
    ),
    *(
        reader(f"compares-removed-paths-as-written-{slug}", "REM-002", viewing(edit))
        for slug, edit in (
            (
                "after-checkpoints",
                only_when(having("*.checkpoint*"), removed_paths(_as_written, COMMIT)),
            ),
            (
                "after-sidecars",
                only_when(having("_sidecars/*"), removed_paths(_as_written, COMMIT)),
            ),
            ("in-compactions", removed_paths(_as_written, COMPACTION)),
            ("with-vectors", removed_paths(_as_written, wanted=lambda b: b.get("deletionVector"))),
            (
                "where-absolute",
                removed_paths(_as_written, wanted=lambda b: b["path"][:5] == "file:"),
            ),
        )
    ),
    reader(
        "decodes-folders-of-removed-paths-twice",
        "REM-002",
        viewing(removed_paths(_folders_twice)),
        "*/*odd-paths*",
    ),
    reader(
        "infers-deletes-of-paths-as-written",
        "REM-002",
        for_changes(viewing(removed_paths(_as_written))),
        "add-cdc-file/inferred-odd-paths/*",
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
    reader("decodes-removed-paths-by-bytes", "REM-002", viewing(each("remove", _by_bytes))),
    reader("decodes-paths-of-changes-by-bytes", "CDC-006", viewing(each("cdc", _by_bytes))),
    reader("knows-no-lower-case-escapes", "ADD-003", viewing(each("add", _upper_alone))),
    reader("decodes-paths-of-changes-twice", "CDC-006", viewing(each("cdc", _twice_decoded))),
)
