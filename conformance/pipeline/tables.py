"""The job ``tables``: the golden tables that Spark writes, and its word on the whole corpus.

See ``docs/pipeline.md``. ``write`` builds the tables that Spark writes and that the corpus
lacks. ``read`` asks Spark every question about rows and records in the case's provenance whether it
agrees: it is a witness, and changes no expectation. A case whose record is of this Spark and of
these very bytes is not asked again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.adapter import Adapter
from conformance.base.faults import EmptySelectionError
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.base.status import Status
from conformance.base.terminal import warn
from conformance.golden.cases import Case, Contested
from conformance.golden.corpus import load_corpus
from conformance.judging.claims import lacking
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.pipeline.session import SparkMissingError, check_spark
from conformance.pipeline.spread import count
from generators.golden.build import CORPUS, build_corpus, write_manifest
from generators.golden.cases.canonical import question_digest
from generators.golden.cases.case import document_text

_STEPS: Final = ("write", "read")
_NOTE: Final = 240
"""Characters of a note."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What an engine says of one case.

    Attributes:
        verdict: ``agrees`` when every answer is the expected one, refusals included;
            ``refuses`` when a read that the corpus answers is refused; ``disagrees`` when
            an answer differs or a read that has to be refused is answered.
        note: the first spec that is not agreed on, and why; empty when the engine agrees.
    """

    verdict: str
    note: str = ""


def cross_check(adapter: Adapter, case: Case) -> CrossCheck | None:
    """Ask an engine every question about the rows of a case.

    Returns:
        The gravest of what it says; ``None`` where the case has no question that it claims.
    """
    claims = adapter.describe().claims
    store = TableStore()
    try:
        judge = Judge(adapter, claims, store)
        found = [
            _said(spec.id, judge.judge_once(case, spec))
            for spec in case.specs
            if spec.type == "read"
            and not isinstance(spec.expectation, Contested)
            and not lacking(spec, claims)
        ]
    finally:
        store.close()
    return max(found, key=lambda each: _GRAVITY.index(each.verdict), default=None)


_GRAVITY: Final = ("agrees", "refuses", "disagrees")


def _said(name: str, verdict: Verdict) -> CrossCheck:
    if verdict.outcome is Outcome.PASS:
        return CrossCheck("agrees")
    differs = verdict.outcome is Outcome.FAIL and verdict.hazard is not Hazard.WRONG_REFUSAL
    note = " ".join(f"{name.rpartition('/')[2]}: {verdict.message}".split())[:_NOTE]
    return CrossCheck("disagrees" if differs else "refuses", note)


def recorded(case: Path, identity: dict[str, str]) -> bool:
    """Return whether a case has a record of this engine and of these bytes."""
    records = _document(case)["provenance"]["cross_checked"]
    return any(identity.items() <= each.items() for each in records)


def record(case: Path, identity: dict[str, str], check: CrossCheck) -> None:
    """Write what an engine says into a case, in place of what it said before.

    Args:
        case: its folder.
        identity: ``engine``, ``engine_version`` and the ``digest`` of what was read.
        check: what it says.
    """
    document = _document(case)
    provenance = document["provenance"]
    said = {"verdict": check.verdict} | ({"note": check.note} if check.note else {})
    others = [e for e in provenance["cross_checked"] if e["engine"] != identity["engine"]]
    provenance["cross_checked"] = [*others, identity | said]
    (case / "case.json").write_text(document_text(document), encoding="utf-8")


def _document(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((case / "case.json").read_text(encoding="utf-8"))
    return found


def run_tables_job(arguments: Sequence[str]) -> int:
    """Run the job; returns 0.

    Raises:
        KitError: no case is named so, or Java, a Python package, Delta's JARs or the corpus is not
            available.
    """
    parser = _parser()
    options = parser.parse_args(list(arguments))
    if {*options.steps} - {*_STEPS}:
        parser.error(f"the steps are {' and '.join(_STEPS)}")
    check_spark()
    try:
        _run(options)
    except FileNotFoundError as error:
        raise SparkMissingError(str(error)) from error
    return Status.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck pipeline tables",
        description="Let Spark write the golden tables that are its own, and read the corpus back.",
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="write, read; both by default")
    parser.add_argument("--only", action="append", default=[], metavar="CHAPTER[/CASE]")
    parser.add_argument("--force", action="store_true", help="do again what is done already")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the corpus folder")
    parser.add_argument("--master", help="Spark's (default: that of spark-submit, or two threads)")
    parser.add_argument("--at-once", type=count, default=2, metavar="CASES", help="(default: 2)")
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do")
    return parser


def _run(options: argparse.Namespace) -> None:
    # Not without the extra.
    from conformance.adapters.spark.adapter import adapter_of  # noqa: PLC0415
    from generators.golden.spark.session import spark_session, tool_versions  # noqa: PLC0415
    from generators.golden.spark.tables import CASES  # noqa: PLC0415

    steps, corpus = options.steps or _STEPS, options.corpus
    version = ", ".join(f"{name} {number}" for name, number in sorted(tool_versions().items()))

    def identity(case: str) -> dict[str, str]:
        digest = question_digest(corpus / case)
        return {"engine": "spark", "engine_version": version, "digest": digest}

    def unread(cases: Sequence[Case]) -> list[Case]:
        return [
            case
            for case in cases
            if "read" in steps
            and (options.force or not recorded(corpus / case.id, identity(case.id)))
        ]

    own = [each for each in CASES if _chosen(each.id, options.only)]
    cases = _cases(corpus, options.only)
    if not own and not cases:
        raise EmptySelectionError(f"no case is named {', '.join(options.only)}")
    missing = [
        each
        for each in own
        if "write" in steps and (options.force or not (corpus / each.id).exists())
    ]
    waiting = unread(cases)
    warn(f"{len(missing)} tables to write, {len(waiting)} of {len(cases)} cases to read")
    if options.dry_run or not (missing or waiting):
        return
    with (
        tempfile.TemporaryDirectory() as scratch,
        spark_session(Path(scratch), options.master) as session,
    ):

        def write(definition: Any) -> str:
            # A table is written under settings that are the session's.
            build_corpus([definition.bind(session.newSession())], corpus, force=True)
            return f"write {definition.id}"

        def read(case: Case) -> str:
            check = cross_check(adapter_of(session.newSession()), case)
            if check is None:
                return f"read {case.id}"
            record(corpus / case.id, identity(case.id), check)
            return f"read {case.id}: {check.verdict} {check.note}".rstrip()

        with ThreadPoolExecutor(options.at_once) as pool:
            for line in pool.map(write, missing):
                warn(line)
            left = unread(_cases(corpus, options.only)) if missing else waiting
            for line in pool.map(read, left):
                warn(line)
    write_manifest(corpus)


def _cases(corpus: Path, only: Sequence[str]) -> list[Case]:
    if not any(corpus.glob("*/*/case.json")):
        return []
    return [case for case in load_corpus(corpus, validate=False).cases if _chosen(case.id, only)]


def _chosen(case: str, only: Sequence[str]) -> bool:
    return not only or any(name in (case, case.partition("/")[0]) for name in only)
