"""Measure work in processes of its own: wall and CPU time in seconds, peak memory in bytes.

Pieces of work that are compared take turns, so that whatever else the machine does meets all of
them, and every figure is the median of its runs. What counts is the ratio of two figures of one
comparison: absolute times say nothing about the code. On a machine that others use as well,
the ratio of CPU times (user and system, all threads) is the steadier one.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_PROGRAM = """
import json, resource, sys, time

def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

setup, work = sys.argv[1:3]
scope = {}
exec(setup, scope)
spent, start = cpu(), time.perf_counter()
exec(work, scope)
seconds, spent = time.perf_counter() - start, cpu() - spent
scale = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale]))
"""

_PACKAGES = ("delta-tck", "deltalake", "duckdb", "numpy", "polars", "pyarrow", "pyroaring")


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work: Python that is timed, after Python that is not."""

    setup: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """What a piece of work took.

    Attributes:
        seconds: of wall time.
        cpu: seconds of processor time, user and system, of all threads.
        peak: bytes of memory, files that are mapped into it included.
    """

    seconds: float
    cpu: float
    peak: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a benchmark: our figure beside a peer's, and the bar of their ratio."""

    work: str
    peer: str
    ours: Figure
    theirs: Figure
    bar: float

    @property
    def ratio(self) -> float:
        """Our wall time divided by the peer's."""
        return self.ours.seconds / self.theirs.seconds

    @property
    def cpu_ratio(self) -> float:
        """Our processor time divided by the peer's."""
        return self.ours.cpu / self.theirs.cpu


@dataclass(frozen=True, slots=True)
class Limit:
    """One line of a benchmark that is no ratio: a number, its unit and its bar."""

    work: str
    number: float
    unit: str
    bar: float


def compare(works: Sequence[Work], *, runs: int) -> list[Figure]:
    """Run pieces of work by turns in fresh processes, and give the medians of each.

    Raises:
        RuntimeError: a piece of work failed; the message holds what it printed.
    """
    found: list[list[list[float]]] = [[] for _ in works]
    for _ in range(runs):
        for figures, work in zip(found, works, strict=True):
            figures.append(_run(work))
    medians = [
        [statistics.median(column) for column in zip(*runs_, strict=True)] for runs_ in found
    ]
    return [Figure(seconds, cpu, int(peak)) for seconds, cpu, peak in medians]


def _run(work: Work) -> list[float]:
    done = subprocess.run(  # noqa: S603  our own interpreter on our own text
        [sys.executable, "-c", _PROGRAM, work.setup, work.text],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    figures: list[float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def machine() -> dict[str, object]:
    """Return machine, versions and load under which the figures were taken."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpu": _processor(),
        "cpu_count": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def render(rows: Sequence[Row | Limit]) -> str:
    """Lay the rows out as two Markdown tables."""
    ratios = [
        "| Work | Beside | Bar | Wall | CPU | Ours, s | s CPU | MiB | Theirs, s | s CPU | MiB |",
        "|--|--|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    limits = ["| Work | Bar | Found | Unit |", "|--|--:|--:|--|"]
    for row in rows:
        if isinstance(row, Limit):
            limits.append(f"| {row.work} | {row.bar:g} | {row.number:g} | {row.unit} |")
            continue
        figures = " | ".join(
            f"{figure.seconds:.3f} | {figure.cpu:.3f} | {figure.peak >> 20}"
            for figure in (row.ours, row.theirs)
        )
        ratios.append(
            f"| {row.work} | {row.peer} | {row.bar:g} "
            f"| {row.ratio:.2f} | {row.cpu_ratio:.2f} | {figures} |"
        )
    return "\n".join([*ratios, "", *limits])


def save(path: Path, rows: Sequence[Row | Limit], scale: Mapping[str, int]) -> None:
    """Write the rows, the scale and the machine as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": machine(),
        "scale": dict(scale),
        "limits": [asdict(row) for row in rows if isinstance(row, Limit)],
        "rows": [
            asdict(row) | {"ratio": row.ratio, "cpu_ratio": row.cpu_ratio}
            for row in rows
            if isinstance(row, Row)
        ],
    }
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
