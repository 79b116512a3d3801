"""The files of the repository: those that git tracks, and that are there."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    """Return the names of tracked files that are there and match a pattern, from the root on."""
    listed = subprocess.run(  # noqa: S603  fixed command on the repository itself
        ["git", "ls-files", "-z", "--", *patterns],  # noqa: S607  git is found on PATH by design
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
