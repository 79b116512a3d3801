"""Become an adapter's program, under limits that the program cannot lift.

Run as a script, by its path: ``launch.py PARENT BYTES PROGRAM ARGUMENT...``, where no file that
the program writes may have more bytes: one that writes on without end must not fill the disk. It
imports nothing of the kit, since it runs before any search path is what the adapter needs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

_SET_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of ``prctl``."""

_ADOPT = 36
"""``PR_SET_CHILD_SUBREAPER``: what loses its parent becomes a child of this process."""


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (most, most))


def main() -> None:
    """Set the limits and run the program in the place of this one."""
    parent, largest, program, arguments = *map(int, sys.argv[1:3]), sys.argv[3], sys.argv[3:]
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, largest)
    if sys.platform == "linux":
        # A program that is busy does not see the end of its input.
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        ctypes.CDLL(None).prctl(_ADOPT, 1)
        if os.getppid() != parent:
            sys.exit("the kit ended before the adapter began")
    # Python ignores these; a program expects them to be as usual.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    try:
        os.execvp(program, arguments)  # noqa: S606  the command line is the user's own
    except OSError as error:
        sys.exit(f"{program!r} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main()
