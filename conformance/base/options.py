"""The kit's options outside of pytest: for guides, ``delta-tck run`` and tests.

The table itself is in ``delta_tck_pytest``, which every pytest run on the machine loads.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from delta_tck_pytest import (
    IMPLEMENTATIONS,
    OPTIONS,
    PACKAGES,
    STATUS,
    destination,
    gibibytes,
    options_set,
    runs_here,
    seconds,
)

__all__ = [
    "IMPLEMENTATIONS", "LIMITS", "OPTIONS", "PACKAGES", "STATUS", "add_options", "destination",
    "gibibytes", "long_names", "options_help", "options_set", "runs_here", "seconds", "short_name",
    "value_of",
]  # fmt: skip

LIMITS: Final = ("--tck-time-limit", "--tck-start-limit", "--tck-memory-limit", "--tck-disk-limit")
"""Options that bound what an adapter may take."""

_PREFIX: Final = "--tck-"


def short_name(name: str) -> str:
    """Return the name that an option has for ``delta-tck run``."""
    return f"--{name.removeprefix(_PREFIX)}" if name.startswith(_PREFIX) else name


_FULL_NAMES: Final = {short_name(name): name for name in OPTIONS}


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Give the parser of a command options of a run, under their short names."""
    for name in names:
        parser.add_argument(short_name(name), dest=destination(name), **OPTIONS[name])


def value_of(options: argparse.Namespace, name: str) -> Any:
    """Return what a command was given for an option of a run."""
    return getattr(options, destination(name))


def long_names(arguments: Sequence[str]) -> list[str]:
    """Turn the short names among arguments of ``delta-tck run`` into those of pytest."""
    found = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        found.append(f"{_FULL_NAMES.get(name, name)}{equals}{value}")
    return found


def options_help() -> list[str]:
    """Return a line for each option of ``delta-tck run``, and one for pytest's own."""
    lines = []
    for name, details in OPTIONS.items():
        value = details.get("metavar") or "|".join(details.get("choices", ()))
        lines.append(f"  {short_name(name)}={value}\n      {details['help']}")
    return [*lines, "  all other options are pytest's own, as -x, -k or -v"]
