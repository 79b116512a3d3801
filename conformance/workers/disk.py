"""What an adapter's processes put on disk, as far as it can be found.

A program may write anywhere that its user may. What is looked at is the folder that its temporary
files go to and the table that it was asked about, which is where engines write.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_BLOCK: Final = 512
"""Bytes of a block of ``stat``, whatever the file system's own are."""

_LEAST: Final = 4096
"""Bytes that any file or folder counts, so that many empty ones are noticed too."""


def used(folders: Iterable[Path], most: int) -> int:
    """Count the bytes that everything below some folders takes on disk.

    Args:
        folders: where to begin; no symlink below them is followed.
        most: bytes from which on nobody asks how many more there are.

    """
    total = 0
    pending = [str(folder) for folder in folders]
    while pending and total <= most:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    total += max(facts.st_blocks * _BLOCK, _LEAST)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                if total > most:
                    break
    return total
