"""Pytest plugin of the kit: ``pytest --impl=NAME`` judges an implementation.

Every pytest run on a machine with the kit loads this module, so it imports nothing but pytest and
the standard library, and a run without ``--impl`` is as it would be without the kit. All options
but ``--impl`` begin with ``--tck-``, so that those of other plugins and of a project's own
``conftest.py`` keep their names.

With ``--impl`` the kit's packages are imported from beside this module, from whatever folder
pytest runs; a package of the same name that is found first is named, and ends the run.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

PACKAGES: Final = ("schemas", "reference_impl", "generators", "conformance")
"""The kit's packages, which have to be the ones beside this module in a run that judges."""

IMPLEMENTATIONS: Final = ("ours", "deltalake", "duckdb", "polars", "chdb", "spark")
"""Names that ``--impl`` takes; each is a module of ``conformance.adapters``."""

_MAX_NUMBER: Final = 1e9
"""Seconds or GiB of a limit: more than any machine has, and accepted by every system."""

_HOME: Final = Path(__file__).resolve().parent

STATUS: Final = pytest.StashKey[int]()
"""Where a session that judges keeps the status with which it came to its end."""

_ENDS: Final = (SystemExit, pytest.exit.Exception)
"""What a module raises to end the run that imports it."""

_NOTHING_RAN: Final = 10
"""The status of an empty selection, ``EMPTY_SELECTION`` of ``conformance.base.status``."""


def _number(what: str, allows: Callable[[float], bool]) -> Callable[[str], float]:
    """Return what reads a number, or raises an ArgumentTypeError where it is not allowed."""

    def read(text: str) -> float:
        try:
            value = float(text) if _in_plain_digits(text) else math.nan
        except ValueError:
            value = math.nan
        if not allows(value):
            raise ArgumentTypeError(f"{text[:80]!r} is not {what}")
        return value

    return read


seconds = _number("a number of seconds above 0, up to 1e9", lambda value: 0 < value <= _MAX_NUMBER)
gibibytes = _number("a number of GiB above 0, up to 1e9", lambda value: 0 < value <= _MAX_NUMBER)
percent = _number("a percentage from 0 to 100", lambda value: 0 <= value <= 100)


def whole(text: str) -> int:
    """Read a whole number.

    Raises:
        ArgumentTypeError: the text is no whole number.
    """
    try:
        if _in_plain_digits(text):
            return int(text)
    except ValueError:
        pass
    raise ArgumentTypeError(f"{text[:80]!r} is not a whole number")


def _in_plain_digits(text: str) -> bool:
    """Return whether Python reads a number as everybody does: not `1_0`, nor in other digits."""
    return text.isascii() and "_" not in text


def shard(text: str) -> tuple[int, int]:
    """Read which part, from 1, of how many.

    Raises:
        ArgumentTypeError: it is not K/N with K from 1 to N.
    """
    number, slash, of = text.partition("/")
    try:
        known = slash and text.isascii() and number.isdecimal() and of.isdecimal()
        if known and 0 < int(number) <= int(of):
            return int(number), int(of)
    except ValueError:  # more digits than Python converts
        pass
    raise ArgumentTypeError(f"{text[:80]!r} is not K/N with K from 1 to N")


def _repeatable(metavar: str, help_: str) -> dict[str, Any]:
    return {
        "action": "append",
        "default": [],
        "metavar": metavar,
        "help": f"{help_}; may be repeated",
    }


OPTIONS: Final[Mapping[str, dict[str, Any]]] = {
    "--impl": {
        "metavar": "NAME",
        "help": f"judge this implementation: {', '.join(IMPLEMENTATIONS)}, "
        "python:package.module:factory or cmd:<command line>",
    },
    "--tck-revision": {
        "choices": ("2021", "2025", "upstream"),
        "default": "upstream",
        "help": "revision of the protocol to judge by (default: upstream)",
    },
    "--tck-baseline": {
        "metavar": "FILE",
        "help": "YAML file of known failures; a stale entry fails the run",
    },
    "--tck-write-baseline": {
        "metavar": "FILE",
        "help": "merge the failures of this run into a baseline; cases that were not asked keep "
        "their entries",
    },
    "--tck-min-judged": {
        "type": percent,
        "metavar": "PERCENT",
        "help": "fail when a smaller share of the selected cases is judged",
    },
    "--tck-strict": {
        "choices": ("should",),
        "metavar": "LEVEL",
        "help": "should: breaches of a SHOULD fail as well",
    },
    "--tck-results": {"metavar": "FILE", "help": "write a line of JSON per case, stamped"},
    "--tck-corpus": {"metavar": "FOLDER", "help": "golden tables to use instead of those shipped"},
    "--tck-requirement": _repeatable("ID", "only cases of this requirement"),
    "--tck-feature": _repeatable("NAME", "only cases of this table feature"),
    "--tck-chapter": _repeatable("SLUG", "only cases of this chapter"),
    "--tck-case": _repeatable("ID", "only this case or spec, * stands for any text"),
    "--tck-shard": {
        "type": shard,
        "metavar": "K/N",
        "help": "only the K-th of N parts of the selection; delta-tck merge makes one file of the "
        "results of all",
    },
    "--tck-time-limit": {
        "type": seconds,
        "default": 60.0,
        "metavar": "SECONDS",
        "help": "for one request to the adapter (default: 60)",
    },
    "--tck-start-limit": {
        "type": seconds,
        "default": 180.0,
        "metavar": "SECONDS",
        "help": "for the adapter to come up (default: 180)",
    },
    "--tck-memory-limit": {
        "type": gibibytes,
        "default": 4.0,
        "metavar": "GIB",
        "help": "for all processes of the adapter together, in GiB (default: 4)",
    },
    "--tck-disk-limit": {
        "type": gibibytes,
        "default": 4.0,
        "metavar": "GIB",
        "help": "for temporary files of the adapter and the table it is asked about, in GiB "
        "(default: 4)",
    },
    "--tck-isolation": {
        "choices": ("auto", "process", "none"),
        "default": "auto",
        "help": "process: run the adapter in a process of its own; none: in this one, for a "
        "debugger; auto: in its own, but for the reference implementation (default: auto)",
    },
    "--tck-witness": {
        "metavar": "NAME",
        "help": "let this implementation, too, read what write recipes leave; where it reads "
        "otherwise the recipe is open, and no failure",
    },
    "--tck-generate": {
        "choices": ("gate", "explore"),
        "default": "gate",
        "help": "gate: the same histories everywhere; explore: ten times as many of "
        "--tck-seed (default: gate)",
    },
    "--tck-seed": {
        "type": whole,
        "metavar": "NUMBER",
        "help": "what --tck-generate=explore draws from (default: a new one, printed in ids)",
    },
    "--tck-bundles": {
        "metavar": "FOLDER",
        "help": "keep a bundle of each new failure on a drawn history here, to be replayed "
        "(default with --tck-generate=explore: delta-tck-bundles)",
    },
}
"""Name of each option and what the parser is given about it."""


def destination(name: str) -> str:
    """Give the name under which pytest keeps an option."""
    return "delta_tck_" + name.removeprefix("--").removeprefix("tck-").replace("-", "_")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, and leave the assertions of other packages as they are."""
    group = parser.getgroup("delta-tck", "conformance of a Delta Lake implementation")
    for name, details in OPTIONS.items():
        group.addoption(name, dest=destination(name), **details)
    # Pytest rewrites the assertions of every module of a plugin's distribution, found by name: a
    # project's own `schemas` would be rewritten for the kit's. The kit asks for none of it.
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.difference_update([name for name in marked if name.partition(".")[0] in PACKAGES])
    pluginmanager.register(_Supervisor(), _Supervisor.NAME)
    if any(word.partition("=")[0] == "--impl" for word in sys.argv[1:]):
        _load_named_plugins(pluginmanager)


def _load_named_plugins(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let no module of ``PYTEST_PLUGINS`` end a run as if it had succeeded.

    Pytest loads them next, where nothing of the kit stands around.

    Raises:
        pytest.UsageError: one ends it.
    """
    try:
        pluginmanager.consider_env()
    except (Exception, SystemExit) as error:
        end = error.__cause__ or error  # pytest 9.2 says which plugin raised
        if not isinstance(end, _ENDS):
            raise
        names = os.environ.get("PYTEST_PLUGINS")
        message = f"delta-tck: a module of PYTEST_PLUGINS={names} ended the run: exit({end})"
        raise pytest.UsageError(message) from end


class _Supervisor:
    """Run the session in a child process where the adapter is not in a process of its own."""

    NAME: Final = "delta-tck-supervisor"

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        """Give the status of the child, or leave the session to pytest."""
        config.pluginmanager.unregister(name=self.NAME)
        if not _endangered(config):
            return None
        lifetime = _kit("workers.lifetime")
        if not lifetime.can_supervise():
            return None
        prompts = any(config.getoption(name, default=False) for name in ("usepdb", "trace"))
        status: int = lifetime.supervised(lambda: _status_of(config), watched=not prompts)
        config.stash[STATUS] = status
        return status


def _status_of(config: pytest.Config) -> int:
    """Run the session; a path that does not exist is said as pytest says it."""
    try:
        return int(config.hook.pytest_cmdline_main(config=config))
    except pytest.UsageError as error:
        sys.stderr.writelines(f"ERROR: {each}\n" for each in error.args)
        return int(pytest.ExitCode.USAGE_ERROR)


def _endangered(config: pytest.Config) -> bool:
    if hasattr(config, "workerinput"):
        return False  # the main process notices that a test process of xdist ends
    if config.getoption("collectonly", default=False):
        return False
    isolation = config.getoption(destination("--tck-isolation"))
    names = [config.getoption(destination(name)) for name in ("--impl", "--tck-witness")]
    return bool(names[0]) and any(name and runs_here(name, isolation) for name in names)


def runs_here(name: str, isolation: str) -> bool:
    """Return whether an implementation runs in the process of the run.

    Args:
        name: the value of ``--impl``.
        isolation: the value of ``--tck-isolation``.
    """
    here = isolation == "none" or (isolation == "auto" and name == "ours")
    return here and not name.startswith("cmd:")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Let no ``conftest.py`` end a run that judges as if it had succeeded.

    Raises:
        pytest.UsageError: one ends it.
    """
    try:
        yield
    except SystemExit as end:
        if not getattr(early_config.known_args_namespace, destination("--impl"), None):
            raise
        raise pytest.UsageError(f"delta-tck: a conftest.py ended the run: exit({end})") from end
    # What is registered last stands around the rest.
    early_config.pluginmanager.register(_Outermost(), _Outermost.NAME)


class _Outermost:
    """Give the status of a run that judges, whatever a ``conftest.py`` makes of it."""

    NAME: Final = "delta-tck-status"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Refuse options without ``--impl``, and make no success of a run that did not judge."""
        if not config.getoption(destination("--impl")):
            _refuse_idle_options(config)
            return (yield)
        of_xdist = hasattr(config, "workerinput")
        if not of_xdist and not config.pluginmanager.has_plugin("terminal"):
            raise pytest.UsageError("-p no:terminal leaves no place for the verdicts: leave it out")
        status = yield
        asks = any(config.getoption(name, default=False) for name in ("help", "version"))
        if status or asks or of_xdist:
            return status
        # As where a `conftest.py` ends the session before it begins.
        ended = config.stash.get(STATUS, None)
        if ended is None:
            sys.stderr.write("delta-tck: the run ended before anything was judged\n")
        return _NOTHING_RAN if ended is None else ended


def options_set(config: pytest.Config) -> list[str]:
    """Return the names of the kit's options that the command, a file or a variable sets."""
    return [
        name
        for name, details in OPTIONS.items()
        if config.getoption(destination(name)) != details.get("default")
    ]


def _refuse_idle_options(config: pytest.Config) -> None:
    given = options_set(config)
    given += [
        word
        for argument in config.invocation_params.args
        if (word := str(argument).partition("=")[0]) in OPTIONS and word not in given
    ]
    if given:
        raise pytest.UsageError(f"{', '.join(given)}: judges nothing without --impl=NAME")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a judging session when an implementation is named."""
    if config.getoption(destination("--impl")):
        _kit("plugin.session").start(config)


def _kit(name: str) -> Any:
    """Import a module of the kit from beside this one.

    Raises:
        pytest.UsageError: another package has the name of one of the kit's.
    """
    for package in PACKAGES:
        module = sys.modules.get(package) or _imported(package)
        if module is None or not _is_of_the_kit(module):
            where = _place(module)
            raise pytest.UsageError(
                f"delta-tck: the package {package!r} of {where} is found in place of the kit's, of "
                f"{_HOME}. Run `pytest` or `delta-tck run` from another folder, without "
                f"`python -m pytest`, PYTHONPATH or a conftest.py that put {where} first"
            )
    return importlib.import_module(f"conformance.{name}")


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _is_of_the_kit(module: ModuleType) -> bool:
    folders = map(Path, getattr(module, "__path__", ()))
    return _HOME / module.__name__ in map(Path.resolve, folders)


def _place(module: ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    folders = [*getattr(module, "__path__", ()), *([file] if file else [])]
    return str(Path(folders[0]).resolve().parent) if folders else "another place"
