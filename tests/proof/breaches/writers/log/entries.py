"""Wrong writers of commits: names, versions, transactions, cleanup."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from breaches.edits import (
    COMMIT,
    Lines,
    doubling,
    dropping,
    matching,
    respelling,
    rewrite,
    rewriting_earlier,
    setting,
    without,
)
from breaches.model import Ask, writer
from breaches.seams import afterwards, by_request, during, leaving, where_asked, writing
from breaches.views import commits_of, log_of
from conformance.adapter import Answer, Request, Write


def _known(root: Path) -> frozenset[int]:
    return frozenset(commits_of(root)) if root.exists() else frozenset()


def _split(root: Path, known: frozenset[int]) -> None:
    """Leave the first file of a commit with progress in a commit of its own before it."""
    found = commits_of(root)
    for version in sorted(found.keys() - known):
        adds: Lines = [action for action in found[version] if "add" in action]
        if len(adds) < 2 or not any("txn" in action for action in found[version]):
            continue
        rest = [action for action in found[version] if action not in adds[:1]]
        info = [action for action in rest if "commitInfo" in action]
        for at, actions in ((version, [*info, adds[0]]), (version + 1, rest)):
            text = "".join(json.dumps(action) + "\n" for action in actions)
            (log_of(root) / f"{at:020}.json").write_text(text)
        for path in log_of(root).glob("*.crc"):
            path.unlink()


@by_request
def _cleaning_the_cutoff(ask: Ask, request: Request) -> Answer:
    """Clean the commit of the checkpoint that stays, too."""
    answer = ask(request)
    if writing("cleanup")(request):
        log = log_of(Path(request.table))
        first = min(log.glob("*.checkpoint*.parquet"))
        (log / f"{first.name[:20]}.json").unlink(missing_ok=True)
    return answer


def _shifted(root: Path, fresh: frozenset[str]) -> None:
    """Leave a version out after the first."""
    for name in reversed(matching(COMMIT, fresh)):
        version = int(Path(name).stem)
        if version:
            (root / name).rename(log_of(root) / f"{version + 1:020}.json")


def _onto_the_last(root: Path, fresh: frozenset[str]) -> None:
    """Write a commit over the one before it."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)
        if version > 1:
            (root / name).rename(log_of(root) / f"{version - 1:020}.json")


def _spread(root: Path, fresh: frozenset[str]) -> None:
    for name in matching(COMMIT, fresh):
        found = [json.loads(line) for line in (root / name).read_text().splitlines()]
        rewrite(root / name, "".join(json.dumps(a, indent=1) + "\n" for a in found).encode())


@by_request
def _in_two_commits(ask: Ask, request: Request) -> Answer:
    """Record the progress in a commit of its own, before that of its rows."""
    if isinstance(request, Write) and "txn" in request.arguments:
        arguments = {**request.arguments}
        ask(Write(request.table, "set_txn", arguments.pop("txn")))
        request = replace(request, arguments=arguments)
    return ask(request)


@by_request
def _removing_before(ask: Ask, request: Request) -> Answer:
    """Remove the rows in a commit of its own, before that of the new rows and the progress."""
    if (
        isinstance(request, Write)
        and request.operation == "overwrite"
        and "txn" in request.arguments
    ):
        chosen = {k: v for k, v in request.arguments.items() if k in ("filter", "predicate")}
        ask(Write(request.table, "delete", chosen))
        arguments = {k: v for k, v in request.arguments.items() if k not in chosen}
        request = replace(request, operation="append", arguments=arguments)
    return ask(request)


ROWS = (
    writer("leaves-versions-out", "LOG-003", leaving(_shifted)),
    writer("overwrites-commits", "WNEW-001", leaving(_onto_the_last)),
    writer(
        "writes-commits-again", "WNEW-001", leaving(rewriting_earlier(COMMIT, lambda b: b + b"\n"))
    ),
    writer("spreads-actions-over-lines", "LOG-004", leaving(_spread)),
    writer(
        "names-commits-without-zeros",
        "LOG-002",
        leaving(respelling(r"_delta_log/0*(\d+)\.json", r"_delta_log/\1.json")),
    ),
    writer("adds-a-file-twice", "WLOG-001", leaving(doubling("add"))),
    writer("removes-a-file-twice", "WLOG-001", leaving(doubling("remove"))),
    writer("writes-metadata-twice", "WLOG-002", leaving(doubling("metaData"))),
    writer("writes-protocols-twice", "WLOG-003", leaving(doubling("protocol"))),
    writer("writes-txns-twice", "WLOG-004", leaving(doubling("txn"))),
    writer(
        "commits-txn-before-its-rows",
        "TXN-004",
        _in_two_commits,
        "transaction-identifiers/write-with-rows*",
    ),
    *(
        writer(
            f"commits-txn-before-its-{operation}",
            "TXN-004",
            where_asked(writing(operation), _in_two_commits),
            "transaction-identifiers/write-with-changes/*",
        )
        for operation in ("delete", "update", "merge")
    ),
    writer(
        "removes-rows-before-their-txn",
        "TXN-004",
        _removing_before,
        "transaction-identifiers/write-with-overwrites/*",
    ),
    writer(
        "forgets-txn-of-rows",
        "TXN-004",
        leaving(without("txn")),
        "transaction-identifiers/write-with-rows*",
    ),
    writer(
        "forgets-txn-of-overwrites",
        "TXN-004",
        during("overwrite", without("txn")),
        "transaction-identifiers/write-with-overwrites/*",
    ),
    writer(
        "forgets-txn",
        "TXN-004",
        leaving(without("txn")),
        "transaction-identifiers/write-progress*",
    ),
    writer(
        "names-no-application",
        "TXN-001",
        leaving(dropping("txn", "appId", where=COMMIT)),
        "transaction-identifiers/write-progress*",
    ),
    writer(
        "tells-versions-of-txn-as-text",
        "TXN-002",
        leaving(setting("txn", "version", str, COMMIT)),
        "transaction-identifiers/write-progress*",
    ),
    writer("cleans-the-commit-of-the-cutoff", "CLEAN-012", _cleaning_the_cutoff),
    writer(
        "commits-rows-before-their-progress",
        "TXN-004",
        afterwards(_split, _known),
        "transaction-identifiers/write-with-partitions/*",
    ),
    writer(
        "keeps-progress-in-32-bits",
        "TXN-004",
        leaving(setting("txn", "version", lambda n: n % 2**31, COMMIT)),
        "transaction-identifiers/write-with-rows/*",
    ),
)
