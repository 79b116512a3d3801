"""The command ``delta-tck run``: ``pytest`` with the kit's options under shorter names.

The session is a child process, which begins before pytest loads a plugin: what ends it, in
whatever way, has not reported a status, and makes no success.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from conformance.base.commands import NOT_ALONE
from conformance.base.options import IMPLEMENTATIONS, long_names, options_help
from conformance.base.status import Status
from conformance.base.terminal import say, warn
from conformance.workers.lifetime import can_supervise, supervised

_PLAIN_ASSERTIONS: Final = "--assert=plain"
"""Items of the kit hold no assertion that pytest has to explain; to look for modules with some it
would go through the names of all golden tables, as files of a plugin."""


def run_judging_cli(arguments: Sequence[str]) -> int:
    """Judge an implementation; returns the status of the run."""
    if any(argument in ("-h", "--help") for argument in arguments):
        say("usage: delta-tck run --impl=NAME …\n")
        say("\n".join(options_help()))
        return Status.OK
    given = long_names(arguments)
    if not any(argument.partition("=")[0] == "--impl" for argument in given):
        warn(f"delta-tck run needs --impl: {', '.join(IMPLEMENTATIONS)}, python:… or cmd:…")
        return Status.USAGE
    if not can_supervise():
        return _session(given)
    # An adapter in this process is watched by the session itself, which knows its options.
    return supervised(lambda: _session(given), watched=False)


def _session(arguments: Sequence[str]) -> int:
    try:
        return int(pytest.main([*arguments, _PLAIN_ASSERTIONS]))
    except (SystemExit, pytest.exit.Exception) as end:
        warn(f"delta-tck: a plugin of pytest ended the run before it began: exit({end})")
        return Status.USAGE


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
