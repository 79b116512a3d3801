"""Measure work in a process of its own: wall time in seconds and peak memory in bytes.

Every figure is the minimum over a few runs, and every bar is a ratio of two figures of one
session on one machine, because absolute times tell nothing about the code.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Figure", "Row", "machine", "measure", "render", "save"]

_PROGRAM = """
import json, resource, sys, time
setup, work, peak = sys.argv[1:4]
scope = {}
exec(setup, scope)
start = time.perf_counter()
exec(work, scope)
seconds = time.perf_counter() - start
scale = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale]))
"""

_PACKAGES = ("delta-tck", "deltalake", "duckdb", "polars", "pyarrow", "pyroaring")


@dataclass(frozen=True, slots=True)
class Figure:
    """What one piece of work took: ``seconds`` of wall time, ``peak`` bytes of memory."""

    seconds: float
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
        """Our time divided by the peer's."""
        return self.ours.seconds / self.theirs.seconds


def measure(setup: str, work: str, *, runs: int = 3) -> Figure:
    """Run ``work`` after ``setup`` in ``runs`` fresh processes and keep the best of each figure.

    Raises:
        RuntimeError: the work failed; the message holds what it printed.

    """
    seconds, peaks = [], []
    for _ in range(runs):
        done = subprocess.run(  # noqa: S603  our own interpreter on our own text
            [sys.executable, "-c", _PROGRAM, setup, work, ""],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        second, peak = json.loads(done.stdout.splitlines()[-1])
        seconds.append(second)
        peaks.append(peak)
    return Figure(min(seconds), min(peaks))


def machine() -> dict[str, object]:
    """Say where and with what the figures were taken."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpu_count": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": versions,
    }


def render(rows: Sequence[Row]) -> str:
    """Lay the rows out as a Markdown table."""
    lines = [
        "| Work | Peer | Ours, s | Peer, s | Ratio | Bar | Ours, peak MiB | Peer, peak MiB |",
        "|--|--|--|--|--|--|--|--|",
    ]
    lines += [
        f"| {row.work} | {row.peer} | {row.ours.seconds:.3f} | {row.theirs.seconds:.3f} "
        f"| {row.ratio:.2f} | {row.bar:g} | {row.ours.peak >> 20} | {row.theirs.peak >> 20} |"
        for row in rows
    ]
    return "\n".join(lines)


def save(path: Path, rows: Sequence[Row], scale: Mapping[str, int]) -> None:
    """Write the rows, the scale and the machine as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": machine(),
        "scale": dict(scale),
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
    }
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
