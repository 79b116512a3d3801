"""Audit the logs of large tables, beside the reader's own opening of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.logs import build
from benchmarks.measure import Limit, Row, Work, compare

_BAR = 5.0
_MEBIBYTES = 1228


def rows(root: Path, files: int, runs: int) -> Iterator[Row | Limit]:
    """Measure the audit of logs of ``files`` files, data files aside, built below ``root``."""
    for shape in ("classic", "sidecars", "commits"):
        table = str(build(root, shape, files))
        audit, opening = compare(
            [
                Work("from conformance.audit import audit", f"audit({table!r}, data=False)"),
                Work("from reference_impl import Table", f"Table({table!r}).snapshot().adds()"),
            ],
            runs=runs,
        )
        name = f"audit the log of {files} files, {shape}"
        yield Row(name, "our adds", audit, opening, _BAR)
        yield Limit(name, audit.peak >> 20, "MiB at most", _MEBIBYTES)
