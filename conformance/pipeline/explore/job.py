"""``delta-tck pipeline explore``: waves of units, each committed once.

A job is its implementations, its first seed and its kit. Its units are numbered, and every table
says up to which unit it has them, in the commit that added them: a wave that was under way when
the driver was killed is done again, and what of it is there already is not written twice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.base.faults import OutputError
from conformance.base.home import kit_version
from conformance.base.status import Status
from conformance.base.terminal import warn
from conformance.pipeline.explore.unit import COUNTS, unpack
from conformance.pipeline.session import spark_options
from conformance.pipeline.spread import Spread, add_judging_options, count, hours, spread_over
from conformance.pipeline.store import StoredTable, columns
from conformance.workers.resolve import resolve
from generators.histories.groups import GROUPS, Kind
from generators.materialise.layouts import LAYOUTS

_JOB: Final = "job_id unit:int64 implementation engine_version seed:int64 group:int32"

TABLES: Final = {
    "failures": columns(
        f"{_JOB} defect case_id outcome hazard requirement way message count:int64"
    ),
    "units": columns(f"{_JOB} tables:int64 passed:int64 failed:int64 errors:int64 seconds:double"),
}
"""Name of each table, and its columns; ``units`` is written last and says how far the job is."""

_WORK: Final = "conformance.pipeline.explore.unit:explore_unit"
_WAVE: Final = 32
"""Units of a wave for each slot: some minutes of work, which a killed driver loses at most."""

_SECONDS: Final[Mapping[str, float]] = {"read": 0.07, "write": 0.3}
"""CPU time of one judged table, about, where nothing was measured yet."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is explored.

    Attributes:
        implementations: as for a run.
        first: the first seed.
        seeds: how many; more of them go on with the same job.
        kinds: of histories: ``read``, ``write`` or both.
    """

    implementations: tuple[str, ...]
    first: int
    seeds: int
    kinds: tuple[Kind, ...] = ("read", "write")

    @property
    def groups(self) -> list[int]:
        """The places of the groups of histories that are drawn."""
        return [place for place, group in enumerate(GROUPS) if group.kind in self.kinds]

    @property
    def id(self) -> str:
        """The name of the job; the same however many seeds are asked for."""
        named = [kit_version(), self.implementations, self.first, self.groups]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        """How many units there are."""
        return self.seeds * len(self.groups) * len(self.implementations)

    def unit(self, number: int) -> dict[str, Any]:
        """Return a unit by its number, from 0."""
        rest, implementation = divmod(number, len(self.implementations))
        seed, place = divmod(rest, len(self.groups))
        return {
            "unit": number,
            "implementation": self.implementations[implementation],
            "seed": self.first + seed,
            "group": self.groups[place],
        }

    def tables(self, units: int) -> dict[str, int]:
        """Count the tables that some units judge, by the kind of their histories."""
        found: dict[str, int] = {}
        for kind in self.kinds:
            share = sum(GROUPS[place].kind == kind for place in self.groups) / len(self.groups)
            each = COUNTS[kind] * (len(LAYOUTS) if kind == "read" else 1)
            found[kind] = round(units * share * each)
        return found


def run_explore_job(arguments: Sequence[str]) -> int:
    """Run the job; returns 1 where a defect is known at its end, and 0 otherwise.

    Raises:
        KitError: Spark, an implementation or the output is not available.
    """
    options = _parser().parse_args(list(arguments))
    kinds: tuple[Kind, ...] = ("read", "write") if options.kind == "both" else (options.kind,)
    job = Job(tuple(options.impl), options.first_seed, options.seeds, kinds)
    for name in job.implementations:
        resolve(name, isolation="process").close()
    kept = ExploreStore(options.output, job)
    done = kept.done
    _plan(job, done)
    if options.dry_run:
        return Status.OK
    if done < job.size:
        with spread_over("explore", spark_options(options), options.workers) as spread:
            for line in explore(job, kept, spread, options.wave):
                warn(line)
    defects = kept.defects()
    for row in defects.values():
        where = f"bundles/{row['defect']}"
        warn(f"{row['implementation']} {row['defect']}: {row['way']} ({row['case_id']}, {where})")
    warn(f"{len(defects)} defects; {kept.done} of {job.size} units are done")
    return Status.NONCONFORMANT if defects else Status.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck pipeline explore",
        description="Judge implementations by new histories. "
        "The same command goes on where it was stopped.",
    )
    add_judging_options(parser)
    parser.add_argument("--seeds", type=count, required=True, help="how many seeds")
    parser.add_argument("--first-seed", type=int, default=0, help="(default: 0)")
    parser.add_argument("--kind", choices=("read", "write", "both"), default="both")
    parser.add_argument("--wave", type=count, metavar="UNITS", help="units between two commits")
    return parser


def _plan(job: Job, done: int) -> None:
    tables = job.tables(job.size - done)
    seconds = sum(_SECONDS[kind] * count for kind, count in tables.items())
    counts = ", ".join(f"{count} to {kind}" for kind, count in tables.items())
    warn(f"job {job.id}: {job.size - done} of {job.size} units to do; tables: {counts}")
    warn(f"about {hours(seconds)} of one core")


@dataclass(frozen=True, slots=True)
class ExploreStore:
    """What a job has kept.

    Attributes:
        folder: holds the tables and the bundles.
        job: whose they are.
    """

    folder: Path
    job: Job

    def table(self, name: str) -> StoredTable:
        """Return one of the tables."""
        return StoredTable(str(self.folder / name), TABLES[name])

    @property
    def done(self) -> int:
        """How many units are done."""
        return self.table("units").progress().get(self.job.id, -1) + 1

    def defects(self) -> dict[str, Mapping[str, Any]]:
        """Return the first failure of each defect, by name."""
        rows = self.table("failures").read().to_pylist()
        found: dict[str, Mapping[str, Any]] = {}
        for row in sorted(rows, key=lambda each: int(each["unit"])):
            if row["job_id"] == self.job.id:
                found.setdefault(row["defect"], row)
        return found

    def keep(self, wave: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Keep the answers of some units, given in their order; again changes nothing.

        Raises:
            OutputError: a bundle cannot be written.
            StoreError: a table cannot be written.
        """
        known = self.defects()
        failures, units = [], []
        for unit, answer in wave:
            about = {"job_id": self.job.id, **unit, "engine_version": answer["engine_version"]}
            outcomes = answer["outcomes"]
            units.append(
                {
                    **about,
                    "tables": sum(outcomes.values()),
                    "passed": outcomes.get("pass", 0),
                    "failed": outcomes.get("fail", 0),
                    "errors": outcomes.get("error", 0),
                    "seconds": answer["seconds"],
                }
            )
            failures += [{**about, **failure} for failure in answer["failures"]]
            for defect, packed in answer["bundles"].items():
                if packed and defect not in known:
                    known[defect] = {}
                    self._unpack(packed, self.folder / "bundles" / defect)
        last = wave[-1][0]["unit"]
        for name, rows in (("failures", failures), ("units", units)):
            self.table(name).add(rows, self.job.id, last, "unit")

    @staticmethod
    def _unpack(packed: str, folder: Path) -> None:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            unpack(packed, folder)
        except (OSError, tarfile.TarError) as error:
            raise OutputError(f"the bundle {folder} cannot be written: {error}") from error


def explore(job: Job, kept: ExploreStore, spread: Spread, wave: int | None = None) -> Iterator[str]:
    """Do what is left of a job, wave by wave; returns a line for each.

    Args:
        job: what is explored.
        kept: what is there already.
        spread: where work goes.
        wave: units of a wave; some for each slot by default.

    Raises:
        KitError: the work cannot be done or kept.
    """
    size = wave or spread.slots * _WAVE
    begun, first = time.monotonic(), kept.done
    done, tables = first, 0
    while done < job.size:
        units = [job.unit(number) for number in range(done, min(done + size, job.size))]
        known = sorted(kept.defects())
        # What takes longest begins first, so that no slot waits for another at the end.
        order = sorted(range(len(units)), key=lambda n: GROUPS[units[n]["group"]].kind)
        answered = spread.run(_WORK, [{**units[place], "known": known} for place in order])
        answers = dict(zip(order, answered, strict=True))
        kept.keep([(units[place], answers[place]) for place in range(len(units))])
        done += len(units)
        left = (time.monotonic() - begun) / (done - first) * (job.size - done)
        tables += sum(sum(answer["outcomes"].values()) for answer in answered)
        defects = len(kept.defects())
        yield (
            f"{done} of {job.size} units; {tables} tables judged; {defects} defects; "
            f"{hours(left)} left"
        )
