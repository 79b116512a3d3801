"""Run the benchmarks: ``python -m benchmarks [--root DIR] [--files N] [--scan-files N] ...``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import opening, scanning
from benchmarks.measure import Limit, Row, machine, render, save

_RESULTS = Path(__file__).parent / "results"


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--root", type=Path, help="where tables are built, and kept")
    parser.add_argument("--files", type=int, default=1_000_000, help="live files to open")
    parser.add_argument("--scan-files", type=int, default=100, help="data files to scan")
    parser.add_argument("--scan-rows", type=int, default=200_000, help="rows per data file")
    parser.add_argument("--runs", type=int, default=5, help="runs of each piece of work")
    parser.add_argument("--only", choices=["opening", "scanning"], help="one group alone")
    parser.add_argument("--json", type=Path, default=_RESULTS / "latest.json")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure, print a table of ratios and write it as JSON; no ratio gates anything."""
    options = _arguments(argv)
    with tempfile.TemporaryDirectory() as scratch:
        root = options.root or Path(scratch)
        root.mkdir(parents=True, exist_ok=True)
        rows: list[Row | Limit] = []
        if options.only != "scanning":
            rows += opening.rows(root, options.files, options.runs)
        if options.only != "opening":
            rows += scanning.rows(root, options.scan_files, options.scan_rows, options.runs)
    print(render(rows))
    print(machine())
    scale = {
        "files": options.files,
        "scan_files": options.scan_files,
        "scan_rows": options.scan_rows,
        "runs": options.runs,
    }
    save(options.json, rows, scale)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
