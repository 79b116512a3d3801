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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from generators.golden.build import CORPUS, build_corpus, write_manifest
from generators.golden.cases.canonical import question_digest
from generators.golden.cases.case import document_text
from generators.golden.spark.reading import Word, word_on
from generators.golden.spark.session import spark_session, tool_versions
from generators.golden.spark.tables import RECIPES

__all__ = ["main"]

_ENGINE: Final = "spark"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the steps; gives 0, or 2 when the request names nothing."""
    parser = argparse.ArgumentParser(prog="python -m generators.golden.spark", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="write, read; both by default")
    parser.add_argument("--only", action="append", default=[], metavar="CHAPTER[/CASE]")
    parser.add_argument("--force", action="store_true", help="do again what is done already")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the corpus folder")
    options = parser.parse_args(argv)
    steps = options.steps or ["write", "read"]
    if set(steps) - {"write", "read"}:
        parser.error("the steps are write and read")
    recipes = [each for each in RECIPES if _chosen(each.id, options.only)]
    cases = [each for each in _cases(options.corpus) if _chosen(each, options.only)]
    if not recipes and not cases:
        sys.stderr.write(f"no case is named {', '.join(options.only)}\n")
        return 2
    with tempfile.TemporaryDirectory() as scratch, spark_session(Path(scratch)) as session:
        if "write" in steps:
            missing = [
                each for each in recipes if options.force or not (options.corpus / each.id).exists()
            ]
            for number, recipe in enumerate(missing, 1):
                _say(f"write {number}/{len(missing)} {recipe.id}")
                build_corpus([recipe.bind(session)], options.corpus, force=True)
            cases = [each for each in _cases(options.corpus) if _chosen(each, options.only)]
        if "read" in steps:
            _read_all(session, options.corpus, cases, Path(scratch), force=options.force)
    write_manifest(options.corpus)
    return 0


def _read_all(
    session: SparkSession, corpus: Path, cases: Sequence[str], scratch: Path, *, force: bool
) -> None:
    version = ", ".join(f"{name} {number}" for name, number in sorted(tool_versions().items()))
    verdicts: Counter[str] = Counter()
    for number, case_id in enumerate(cases, 1):
        directory = corpus / case_id
        identity = {
            "engine": _ENGINE,
            "engine_version": version,
            "digest": question_digest(directory),
        }
        record = None if force else _recorded(directory, identity)
        if record is None:
            word = word_on(session, directory, scratch)
            if word is None:
                continue
            record = _record(directory, identity, word)
            _say(f"read {number}/{len(cases)} {case_id}: {word.verdict} {word.note}".rstrip())
        verdicts[record["verdict"]] += 1
    _say(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


def _recorded(directory: Path, identity: dict[str, str]) -> dict[str, Any] | None:
    document = json.loads((directory / "case.json").read_text(encoding="utf-8"))
    for record in document["provenance"]["cross_checked"]:
        if identity.items() <= record.items():
            found: dict[str, Any] = record
            return found
    return None


def _record(directory: Path, identity: dict[str, str], word: Word) -> dict[str, Any]:
    path = directory / "case.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    record = {**identity, "verdict": word.verdict, **({"note": word.note} if word.note else {})}
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
