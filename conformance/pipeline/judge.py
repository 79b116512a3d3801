"""The job ``judge``: implementations by revisions by parts of the corpus, over the executors.

See ``docs/pipeline.md``. A part is judged as ``--tck-shard`` judges it, by the same run with
the same limits, and is kept as the same results file; when all parts of a run are there they are
merged as ``delta-tck merge`` merges them. The job goes on where it was stopped: a part whose file
is there is not judged again.
"""

from __future__ import annotations

import argparse
import atexit
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.base.home import kit_version
from conformance.base.options import LIMITS, OPTIONS, add_options, value_of
from conformance.base.status import Status
from conformance.base.terminal import warn
from conformance.pipeline.session import spark_options
from conformance.pipeline.spread import Spread, add_judging_options, count, hours, spread_over
from conformance.pipeline.track.store import Store
from conformance.report.results import Results, ResultsError, read_results, write_results
from conformance.report.share import share_of
from conformance.requirements.registry import SELECTIONS
from conformance.run.breaker import Breaker
from conformance.run.merge import merge
from conformance.run.run import Run, status_of_run
from conformance.run.selection import Shard
from conformance.run.settings import Settings, settings_of
from conformance.workers.resolve import resolve

_WORK: Final = "conformance.pipeline.judge:judge_unit"
_PASSED_ON: Final = (
    "--tck-requirement",
    "--tck-feature",
    "--tck-chapter",
    "--tck-case",
    "--tck-corpus",
    "--tck-strict",
    "--tck-isolation",
    *LIMITS,
)
"""Options that each run of the job has as it is given them."""

_SECONDS: Final[Mapping[str, float]] = {"ours": 0.06, "spark": 0.8}
_ENGINE_SECONDS: Final = 0.03
"""Time of one case, about."""


def judge_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Judge one part of one run; what an executor does.

    Args:
        unit: ``settings`` of the run, and the ``number`` of the part out of ``of``.

    Returns:
        the ``header``, the ``records``, the ``status`` and why the part is ``partial``.
    """
    run = _run(json.dumps(unit["settings"], sort_keys=True))
    shard = Shard(unit["number"], unit["of"])
    items = shard.of(run.selected)
    breaker, reason = Breaker(), None
    records: list[dict[str, Any]] = []
    for item in items:
        records.append(run.judge_item(item).record)
        reason = breaker.add(records[-1])
        if reason is not None:
            break
    missing = len(items) - len(records)
    partial = [reason, f"{missing} selected cases have no record"] if reason and missing else []
    status = status_of_run(records, run.stale_entries(), 0, (), run.settings.strict)
    return {
        "header": {
            **run.header(),
            "shard": shard.as_document(len(run.selected)),
            "selected": len(items),
        },
        "records": records,
        "partial": partial,
        "status": int(Status.GAVE_UP if reason else status),
    }


_runs: Final[dict[str, Run]] = {}
"""The run that this process judged a part of last, by its settings."""


def _run(document: str) -> Run:
    """Return the whole run that parts are taken of; a process keeps it for its next part."""
    if document not in _runs:
        _close()
        _runs[document] = Run(_settings(json.loads(document)))
    return _runs[document]


@atexit.register
def _close() -> None:
    for run in _runs.values():
        run.close()
    _runs.clear()


def _settings(given: Mapping[str, Any]) -> Settings:
    return settings_of(lambda name: given.get(name, OPTIONS[name].get("default")), Path())


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of one run, and where its results are kept."""

    name: str
    unit: dict[str, Any]
    path: Path

    def kept(self) -> Results | None:
        """Return its results, where they are there and of this kit."""
        try:
            found = read_results(self.path)
        except ResultsError:
            return None
        return None if found.partial or found.header["kit_version"] != kit_version() else found

    def keep(self, answer: Mapping[str, Any]) -> None:
        """Write its results, whole or not at all."""
        unfinished = self.path.with_suffix(".partial")
        records = {record["id"]: record for record in answer["records"]}
        footer = {"status": answer["status"], "partial": answer["partial"]}
        write_results(Results(answer["header"], records, footer), unfinished)
        unfinished.replace(self.path)


def run_judge_job(arguments: Sequence[str]) -> int:
    """Run the job; returns the first status of its runs that is not 0.

    Raises:
        KitError: Spark, an implementation, the corpus or the output is not available.
    """
    options = _parser().parse_args(list(arguments))
    parts = list(_parts(options))
    missing = [part for part in parts if part.kept() is None]
    _plan(parts, missing)
    if options.dry_run:
        return Status.OK
    if missing:
        with spread_over("judge", spark_options(options), options.workers) as spread:
            for line in _judge(missing, spread):
                warn(line)
    return _conclude(parts, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck pipeline judge",
        description="Judge implementations by the corpus, in parts. "
        "The same command goes on where it was stopped. Every executor has to have the corpus.",
    )
    add_judging_options(parser)
    parser.add_argument("--revision", action="append", choices=tuple(SELECTIONS), help="repeatable")
    parser.add_argument("--shards", type=count, default=16, help="parts of a run (default: 16)")
    parser.add_argument("--store", help="store of `pipeline track` that takes the results in")
    parser.add_argument("--label", help="of the runs in that store")
    parser.add_argument("--baseline", action="append", default=[], metavar="IMPL=FILE")
    add_options(parser, *_PASSED_ON)
    return parser


def _parts(options: argparse.Namespace) -> Iterator[_Part]:
    baselines = dict(each.partition("=")[::2] for each in options.baseline)
    passed_on = {name: value_of(options, name) for name in _PASSED_ON}
    passed_on["--tck-corpus"] = _absolute(passed_on["--tck-corpus"])
    for implementation in options.impl:
        resolve(implementation, isolation="process").close()
        for revision in options.revision or ["upstream"]:
            settings = {
                **passed_on,
                "--impl": implementation,
                "--tck-revision": revision,
                "--tck-baseline": _absolute(baselines.get(implementation)),
            }
            asked = json.dumps([settings, options.shards], sort_keys=True)
            name = f"{_plain(implementation)}-{revision}-{_digest(asked)}"
            for number in range(1, options.shards + 1):
                unit = {"settings": settings, "number": number, "of": options.shards}
                path = options.output / "parts" / f"{name}-{number}-of-{options.shards}.jsonl"
                yield _Part(name, unit, path)


def _absolute(path: str | None) -> str | None:
    """Return a path for processes that work in other folders."""
    return os.path.realpath(path) if path else None


def _plain(name: str) -> str:
    return "".join(each if each.isalnum() else "-" for each in name)[:60]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _plan(parts: Sequence[_Part], missing: Sequence[_Part]) -> None:
    """Print what there is to do and what it costs."""
    whole = {part.name: part for part in parts}
    cost = 0.0
    for name, part in whole.items():
        run = Run(_settings(part.unit["settings"]))
        try:
            cases = len(run.selected)
        finally:
            run.close()
        left = sum(each.name == name for each in missing)
        each = _SECONDS.get(part.unit["settings"]["--impl"], _ENGINE_SECONDS)
        cost += cases * left / part.unit["of"] * each
        warn(f"{name}: {cases} cases, {left} of {part.unit['of']} parts to judge")
    warn(f"about {hours(cost)} of one core")


def _judge(parts: Sequence[_Part], spread: Spread) -> Iterator[str]:
    begun, done = time.monotonic(), 0
    size = spread.slots * 2
    for start in range(0, len(parts), size):
        wave = parts[start : start + size]
        answers = spread.run(_WORK, [part.unit for part in wave])
        for part, answer in zip(wave, answers, strict=True):
            part.keep(answer)
        done += len(wave)
        left = (time.monotonic() - begun) / done * (len(parts) - done)
        records = [record for answer in answers for record in answer["records"]]
        yield f"{done} of {len(parts)} parts; {share_of(records)}; {hours(left)} left"


def _conclude(parts: Sequence[_Part], options: argparse.Namespace) -> int:
    """Merge the parts of each run, and take the results in where a store is named."""
    runs: dict[str, dict[str, Results]] = {}
    for part in parts:
        runs.setdefault(part.name, {})[str(part.path)] = read_results(part.path)
    statuses = []
    for name, found in runs.items():
        merged = merge(found)
        path = options.output / f"{name}.jsonl"
        write_results(merged, path)
        statuses.append(int(merged.footer["status"]))
        warn(f"{path}: {share_of(merged.records.values(), merged.header['selected'])}")
        if options.store:
            run, new = Store(options.store).ingest(path, options.label)
            warn(f"{options.store}: {run} {'new' if new else 'known'}")
    return next((status for status in statuses if status), Status.OK)
