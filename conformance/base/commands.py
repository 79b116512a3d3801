"""Commands as data: what each does, and the function that does it.

A function is imported when it is asked for, so that one command's needs are no other's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from conformance.base.faults import KitError
from conformance.base.status import Status, status_of_error
from conformance.base.terminal import meant, say, warn

Commands: TypeAlias = Mapping[str, tuple[str, str]]
"""Name of each command: what it does, and its ``module:function`` below ``conformance``, which gets
its arguments and gives an exit status."""

NOT_ALONE: Final = "this module is no command by itself: run delta-tck, or python -m conformance"
"""Why a module of a command refuses to run as a script: it would do nothing, and end with 0."""


def function_of(name: str) -> Callable[..., Any]:
    """Import ``package.module:function``."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def run_command(program: str, commands: Commands, arguments: Sequence[str]) -> int:
    """Run the command that the arguments begin with; returns its exit status."""
    given = arguments[0] if arguments else ""
    try:
        if given not in commands:
            asked = given in ("-h", "--help")
            if given and not asked:
                near = meant(given, commands)
                warn(f"{program}: there is no command {given!r}{near}")
            (say if asked else warn)(_usage(program, commands))
            return Status.OK if asked else Status.USAGE
        return int(function_of(f"conformance.{commands[given][1]}")(list(arguments[1:])))
    except KitError as error:
        warn(f"{program}: {error}")
        return status_of_error(error)


def _usage(program: str, commands: Commands) -> str:
    width = max(map(len, commands))
    lines = [f"  {name:<{width}}  {help_}" for name, (help_, _) in commands.items()]
    return "\n".join([f"usage: {program} COMMAND …", "", "commands:", *lines])
