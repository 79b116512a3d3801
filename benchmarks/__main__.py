"""Run the benchmarks: ``python -m benchmarks [--root DIR] [--files N] [--scan-files N] ...``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import auditing, opening, scanning, writing
from benchmarks.measure import Limit, Row, machine, render, save

_RESULTS = Path(__file__).parent / "results"
_GROUPS: dict[str, Callable[[Path, argparse.Namespace], Iterable[Row | Limit]]] = {
    "auditing": lambda root, given: auditing.rows(root, given.files, given.runs),
    "opening": lambda root, given: opening.rows(root, given.files, given.runs),
    "scanning": lambda root, given: scanning.rows(
        root, given.scan_files, given.scan_rows, given.runs
    ),
    "writing": lambda root, given: writing.rows(
        root, given.files, given.write_rows, given.commits, given.runs
    ),
}


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--root", type=Path, help="where tables are built, and kept")
    parser.add_argument("--files", type=int, default=1_000_000, help="live files to open")
    parser.add_argument("--scan-files", type=int, default=100, help="data files to scan")
    parser.add_argument("--scan-rows", type=int, default=200_000, help="rows per data file")
    parser.add_argument("--runs", type=int, default=5, help="runs of each piece of work")
    parser.add_argument("--write-rows", type=int, default=1_000_000, help="rows to append")
    parser.add_argument("--commits", type=int, default=1000, help="small commits in a row")
    parser.add_argument("--only", choices=[*_GROUPS], help="one group alone")
    parser.add_argument("--json", type=Path, default=_RESULTS / "latest.json")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure, print a table of ratios and write it as JSON; no ratio gates anything."""
    options = _arguments(argv)
    with tempfile.TemporaryDirectory() as scratch:
        root = options.root or Path(scratch)
        root.mkdir(parents=True, exist_ok=True)
        rows: list[Row | Limit] = []
        for name, group in _GROUPS.items():
            if options.only in (None, name):
                rows += group(root, options)
    print(render(rows))
    print(machine())
    scale = {
        "files": options.files,
        "scan_files": options.scan_files,
        "scan_rows": options.scan_rows,
        "write_rows": options.write_rows,
        "commits": options.commits,
        "runs": options.runs,
    }
    save(options.json, rows, scale)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
