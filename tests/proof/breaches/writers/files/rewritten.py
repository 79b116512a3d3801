"""Wrong writers that lose or double rows as they rewrite, move or delete files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from breaches.edits import COMMIT, Lines, each, lines, without_last
from breaches.model import Ask, How, writer
from breaches.seams import afterwards, asking, by_request, during, leaving, where_asked, writing
from breaches.views import bodies, commits_of
from conformance.adapter import Answer, Ok, Request, Write
from reference_impl import read_table


def _no_removed_files(root: Path) -> None:
    for body in bodies(root, "remove"):
        (root / body["path"]).unlink(missing_ok=True)


def _spelled_twice(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": body["path"].replace("%", "%25")}


_FILTERS: Final = ("filter", "predicate")


def _unfiltered(operation: str) -> How:
    """Take whole files by their bounds, in which a null has no part."""

    def whole(request: Any) -> Any:
        kept = {k: v for k, v in request.arguments.items() if k not in _FILTERS}
        return replace(request, arguments=kept)

    return where_asked(writing(operation), asking(whole))


def _without_changes(root: Path) -> None:
    for path in (root / "_change_data").rglob("*.parquet"):
        path.unlink()


def _no_escaped_files(root: Path) -> None:
    """Delete data files whose names the log does not have letter by letter."""
    named = {body["path"] for body in bodies(root, "add")}
    for path in [*root.glob("*.parquet"), *root.glob("*=*/*.parquet")]:
        if path.relative_to(root).as_posix() not in named:
            path.unlink()


def _doing_nothing(operation: str, when: Callable[[Write], object]) -> How:
    """Take an operation for done, where there seems to be nothing to do."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        if isinstance(request, Write) and request.operation == operation and when(request):
            return Ok({"version": max(commits_of(Path(request.table)))})
        return ask(request)

    return run


def _brings_nothing(request: Write) -> bool:
    return request.rows is not None and not len(request.rows)


def _has_no_rows(request: Write) -> bool:
    return not read_table(request.table).num_rows


def _first_removed(found: Lines) -> Lines:
    """Forget the first file that is to be removed."""
    first = next((a for a in found if "remove" in a), None)
    return [a for a in found if a is not first]


def _one_partition(found: Lines) -> Lines:
    """Put the rows of null with those of another partition."""
    values = [a["add"]["partitionValues"] for a in found if "add" in a]
    held = next((v for v in values if None not in v.values()), None)
    for value in values:
        if held is not None and None in value.values():
            value.update(held)
    return found


ROWS = (
    writer("loses-a-file", "SNAP-008", leaving(without_last("add"))),
    writer(
        "vacuums-before-tombstones-expire",
        "FA-008",
        afterwards(_no_removed_files),
        "add-file-and-remove-file/write-vacuum-long-retention/*",
    ),
    writer(
        "deletes-unknown-rows-with-their-file",
        "SNAP-008",
        _unfiltered("delete"),
        "*/write-unknown-beside/*",
    ),
    writer(
        "updates-unknown-rows-with-their-file",
        "SNAP-008",
        _unfiltered("update"),
        "*/write-unknown-beside/*",
    ),
    writer(
        "vacuums-young-changes",
        "FA-008",
        where_asked(writing("vacuum"), afterwards(_without_changes)),
        "change-data-files/write-vacuum/*",
    ),
    writer(
        "removes-by-another-spelling",
        "SNAP-008",
        leaving(each("remove", _spelled_twice, COMMIT), sums=True),
        "*/write-odd-changes/*",
    ),
    writer(
        "vacuums-by-encoded-paths",
        "SNAP-008",
        afterwards(_no_escaped_files),
        "add-file-and-remove-file/write-vacuum-encoded-paths/*",
    ),
    writer(
        "optimizes-null-partitions-away",
        "ADD-009",
        during("optimize", lines(_one_partition, COMMIT)),
        "add-file-and-remove-file/write-moves-course/*",
    ),
    writer(
        "updates-null-partitions-away",
        "SNAP-008",
        during("update", lines(_one_partition, COMMIT)),
        "add-file-and-remove-file/write-changes-course/*",
    ),
    writer(
        "deletes-all-files-but-one",
        "SNAP-008",
        during("delete", lines(_first_removed, COMMIT)),
        "add-file-and-remove-file/write-emptied-course/*",
    ),
    writer(
        "restores-beside-what-is-there",
        "SNAP-008",
        during("restore", lines(_first_removed, COMMIT)),
        "deletion-vectors/write-moves-course/*",
    ),
    writer(
        "optimizes-beside-what-is-there",
        "ADD-009",
        during("optimize", lines(_first_removed, COMMIT)),
        "deletion-vectors/write-moves-course/*",
    ),
    *(
        writer(slug, "SNAP-008", _doing_nothing(operation, when), f"{case}/*")
        for slug, operation, when, case in (
            (
                "replaces-rows-by-none-by-nothing",
                "overwrite",
                _brings_nothing,
                "add-file-and-remove-file/write-emptied-course",
            ),
            (
                "merges-nothing-into-no-rows",
                "merge",
                _has_no_rows,
                "add-file-and-remove-file/write-emptied-course",
            ),
        )
    ),
)
