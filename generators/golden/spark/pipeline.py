"""The pipeline in two steps, each of which goes on where it was stopped.

``write`` builds the tables that Spark writes and that the corpus lacks. ``read`` asks Spark for
every case of the corpus at every version and records its word in the case's provenance; a case
whose record is of this Spark and of these very bytes is not asked again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from generators.golden.build import CORPUS, build_corpus, write_manifest
from generators.golden.cases.canonical import question_digest
from generators.golden.cases.case import document_text
from generators.golden.spark.reading import CrossCheck, cross_check
from generators.golden.spark.recipe import Recipe
from generators.golden.spark.session import MASTER, spark_session, tool_versions
from generators.golden.spark.tables import RECIPES

__all__ = ["main"]

_ENGINE: Final = "spark"
_T = TypeVar("_T")
_R = TypeVar("_R")


def main(argv: Sequence[str] | None = None, prog: str = "python -m generators.golden.spark") -> int:
    """Run the steps; returns 0, or 2 when the request names nothing.

    Raises:
        FileNotFoundError: the folder of JARs holds none.

    """
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="write, read; both by default")
    parser.add_argument("--only", action="append", default=[], metavar="CHAPTER[/CASE]")
    parser.add_argument("--force", action="store_true", help="do again what is done already")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the corpus folder")
    parser.add_argument("--master", help=f"Spark's (default: that of spark-submit, or {MASTER})")
    parser.add_argument("--at-once", type=int, default=2, metavar="CASES", help="(default: 2)")
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do")
    options = parser.parse_args(argv)
    steps = options.steps or ["write", "read"]
    if set(steps) - {"write", "read"}:
        parser.error("the steps are write and read")
    corpus = options.corpus
    recipes = [each for each in RECIPES if _chosen(each.id, options.only)]
    cases = [each for each in _cases(corpus) if _chosen(each, options.only)]
    if not recipes and not cases:
        sys.stderr.write(f"no case is named {', '.join(options.only)}\n")
        return 2
    missing = [
        each
        for each in recipes
        if "write" in steps and (options.force or not (corpus / each.id).exists())
    ]
    unread = [
        each
        for each in cases
        if "read" in steps
        and (options.force or not _recorded(corpus / each, _identity(corpus / each)))
    ]
    _say(f"{len(missing)} tables to write, {len(unread)} of {len(cases)} cases to read")
    if options.dry_run or not (missing or unread):
        return 0
    with (
        tempfile.TemporaryDirectory() as scratch,
        spark_session(Path(scratch), options.master) as session,
    ):
        spread = partial(_spread, session, options.at_once)
        spread("write", missing, lambda own, recipe: _write(own, recipe, corpus))
        if "read" in steps:
            written = {each.id for each in missing}
            unread = sorted({*unread, *(each for each in _cases(corpus) if each in written)})
            checks = spread(
                "read", unread, lambda own, case: _read(own, corpus, case, Path(scratch))
            )
            counts = Counter(each.verdict for each in checks if each is not None)
            _say(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    write_manifest(corpus)
    return 0


def _spread(
    session: SparkSession,
    at_once: int,
    step: str,
    items: Sequence[_T],
    work: Callable[[SparkSession, _T], _R],
) -> list[_R]:
    """Do work on threads, each with settings of its own; returns the results in order."""

    def alone(item: _T) -> _R:
        # A table is written under settings that are the session's.
        return work(session.newSession(), item)

    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(alone, item) for item in items]
        found = []
        for number, (item, future) in enumerate(zip(items, waiting, strict=True), 1):
            found.append(future.result())
            said = found[-1] if isinstance(found[-1], CrossCheck) else None
            name = item.id if isinstance(item, Recipe) else str(item)
            note = f": {said.verdict} {said.note}".rstrip() if said else ""
            _say(f"{step} {number}/{len(items)} {name}{note}")
    return found


def _write(session: SparkSession, recipe: Recipe, corpus: Path) -> None:
    build_corpus([recipe.bind(session)], corpus, force=True)


def _read(session: SparkSession, corpus: Path, case_id: str, scratch: Path) -> CrossCheck | None:
    directory = corpus / case_id
    check = cross_check(session, directory, scratch)
    if check is not None:
        _record(directory, _identity(directory), check)
    return check


def _identity(directory: Path) -> dict[str, str]:
    """Say who reads what: this Spark, and these very bytes."""
    version = ", ".join(f"{name} {number}" for name, number in sorted(tool_versions().items()))
    return {"engine": _ENGINE, "engine_version": version, "digest": question_digest(directory)}


def _recorded(directory: Path, identity: dict[str, str]) -> dict[str, Any] | None:
    document = json.loads((directory / "case.json").read_text(encoding="utf-8"))
    for record in document["provenance"]["cross_checked"]:
        if identity.items() <= record.items():
            found: dict[str, Any] = record
            return found
    return None


def _record(directory: Path, identity: dict[str, str], check: CrossCheck) -> dict[str, Any]:
    path = directory / "case.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    record = {**identity, "verdict": check.verdict, **({"note": check.note} if check.note else {})}
    others = [
        each
        for each in document["provenance"]["cross_checked"]
        if each["engine"] != identity["engine"]
    ]
    document["provenance"]["cross_checked"] = [*others, record]
    path.write_text(document_text(document), encoding="utf-8")
    return record


def _cases(corpus: Path) -> list[str]:
    return [
        path.parent.relative_to(corpus).as_posix() for path in sorted(corpus.glob("*/*/case.json"))
    ]


def _chosen(case_id: str, only: Sequence[str]) -> bool:
    return not only or any(name in (case_id, case_id.split("/", maxsplit=1)[0]) for name in only)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
