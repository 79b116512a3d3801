"""The command ``delta-tck run``: ``pytest`` with the kit's options under shorter names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from conformance.base.commands import NOT_ALONE
from conformance.base.options import IMPLEMENTATIONS, long_names, options_help
from conformance.base.status import Status
from conformance.base.terminal import say, warn

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
    return int(pytest.main([*given, _PLAIN_ASSERTIONS]))


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
