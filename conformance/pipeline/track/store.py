"""A store of results: what comes in, exactly once, and what its tables hold.

See ``docs/pipeline.md``. A run is known by the digest of its results file and by the label
that it is given; to store it again, at the same time or after a crash, changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.base.outcomes import MEANINGS, Hazard, Outcome, Verdict
from conformance.pipeline.store import StoredTable, columns
from conformance.replay.shrink import way_words
from conformance.report.results import Results, read_results

RUNS: Final = columns(
    "run_id implementation engine_version release_key adapter_version revision label kit_version "
    "corpus_digest cases:int64 selected:int64 judged:int64 records:int64 partial:texts "
    "status:int32 header"
)
"""A row for each results file; the last to be written, so that a run is whole or not there."""

RESULTS: Final = columns(
    "run_id case_id outcome hazard requirement requirements:texts source chapter features:texts "
    "message seen fault standing intermittent:bool"
)
"""A row for each case of each run."""

FINDINGS: Final = columns(
    "run_id case_id requirement hazard way title expected actual details:texts"
)
"""A row for each case that failed, ended in an error or goes against advice, with what was seen."""

TABLES: Final = {"runs": RUNS, "results": RESULTS, "findings": FINDINGS}
"""Name of each table, and its columns."""

_ORDER: Final = ("results", "findings", "runs")
"""The run's own row comes last: without it, nothing else of the run counts."""


def run_id_of(results: Results, label: str | None) -> str:
    """Return the name of a run: hexadecimal, the same whenever it is the same run."""
    named = f"{results.footer['digest']}\n{label or ''}"
    return hashlib.sha256(named.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Store:
    """The tables ``runs``, ``results`` and ``findings`` below one folder.

    Attributes:
        location: a path or a URL.
    """

    location: str

    def table(self, name: str) -> StoredTable:
        """Return one of the tables."""
        return StoredTable(f"{self.location.rstrip('/')}/{name}", TABLES[name])

    def ingest(self, path: Path, label: str | None) -> tuple[str, bool]:
        """Take a results file in; returns the id of its run, and whether it is new.

        Args:
            path: the results file.
            label: distinguishes runs that are else the same, as builds of a server.

        Raises:
            ResultsError: it is no results file.
            StoreError: a table cannot be written.
        """
        results = read_results(path)
        run = run_id_of(results, label)
        rows = {
            "runs": [_run(run, results, label)],
            "results": list(_results(run, results)),
            "findings": list(_findings(run, results)),
        }
        new = [self.table(name).add(rows[name], run) for name in _ORDER]
        return run, new[-1]

    def known(self, path: Path, label: str | None) -> tuple[str, bool]:
        """Return the id that the run of a results file has, and whether it would be new.

        Raises:
            ResultsError: it is no results file.
        """
        run = run_id_of(read_results(path), label)
        return run, run not in self.table("runs").progress()

    def tables(self) -> dict[str, pa.Table]:
        """Return all rows of all tables, of whole runs only."""
        found = {name: self.table(name).read() for name in TABLES}
        whole = found["runs"].column("run_id").combine_chunks()
        for name in ("results", "findings"):
            known = pc.is_in(found[name].column("run_id"), value_set=whole)
            found[name] = found[name].filter(known)
        return found


def _run(run: str, results: Results, label: str | None) -> dict[str, Any]:
    header, footer = dict(results.header), results.footer
    who = header["adapter"]
    return {
        "run_id": run,
        "implementation": who["name"],
        "engine_version": who["engine_version"],
        "release_key": release_key(who["engine_version"]),
        "adapter_version": who["adapter_version"],
        "label": label,
        "revision": header["revision"],
        "kit_version": header["kit_version"],
        "corpus_digest": header["corpus_digest"],
        "cases": header["cases"],
        "selected": header["selected"],
        "judged": footer["judged"],
        "records": footer["records"],
        "partial": footer["partial"],
        "status": footer["status"],
        "header": json.dumps(header, sort_keys=True),
    }


def _results(run: str, results: Results) -> Iterator[dict[str, Any]]:
    known = set(TABLES["results"].names)
    for case, record in results.records.items():
        yield {"run_id": run, "case_id": case, **{k: v for k, v in record.items() if k in known}}


def _findings(run: str, results: Results) -> Iterator[dict[str, Any]]:
    known = set(TABLES["findings"].names)
    for case, record in results.records.items():
        meaning = MEANINGS[Outcome(record["outcome"])]
        if meaning.fails or meaning.strict:
            found = {key: value for key, value in record.items() if key in known}
            yield {**found, "run_id": run, "case_id": case, "way": _way(record)}


def _way(record: Mapping[str, Any]) -> str:
    """Return what failures of one kind have in common."""
    hazard = record["hazard"]
    return way_words(
        Verdict(
            Outcome(record["outcome"]),
            record["message"],
            hazard=Hazard(hazard) if hazard else None,
            requirement=record["requirement"],
        )
    )


_PART: Final = re.compile(r"[0-9]+|[a-z]+")
_PRERELEASE_PARTS: Final = frozenset(
    {"a", "alpha", "b", "beta", "c", "dev", "m", "nightly", "pre", "preview", "rc", "snapshot"}
)


def release_key(version: str) -> str:
    """Return a text for a version whose order among texts is the order of releases.

    No order of versions fits all engines; this one reads numbers as numbers and puts what comes
    before a release (``1.2.0-rc1``) before it.
    """
    parts = _PART.findall(version.lower())
    return ".".join([*(_part(part) for part in parts), "1"])


def _part(part: str) -> str:
    if part.isdecimal():
        return f"2{part.lstrip('0'):0>12}"  # of any length: a version is untrusted
    return f"{0 if part in _PRERELEASE_PARTS else 3}{part}"
