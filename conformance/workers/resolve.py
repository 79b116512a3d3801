"""Turn what ``--impl`` says into an adapter.

``--impl`` takes a built-in name, ``python:package.module:factory`` (a callable without arguments
that gives an adapter), or ``cmd:<command line>`` (a program in any language).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from conformance.adapter import Adapter, Description
from conformance.base.faults import AdapterError, AdapterStartError, KitError, ResolveError
from conformance.base.limits import InProcessLimit
from conformance.base.options import IMPLEMENTATIONS, LIMITS, runs_here
from conformance.base.terminal import meant
from conformance.workers.process import DEFAULT_DISK_BYTES, DEFAULT_MEMORY_BYTES, ProcessAdapter

BUILT_IN: Final[Mapping[str, str]] = {
    name: f"conformance.adapters.{name}:create" for name in IMPLEMENTATIONS
}
"""Name of each built-in implementation, and the factory of its adapter."""

Isolation: TypeAlias = Literal["auto", "process", "none"]
"""Where an adapter runs."""

_WORKER: Final = Path(__file__).with_name("serve.py")

_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "deltalake": ("deltalake",),
    "duckdb": ("duckdb", "duckdb_extension_delta"),
    "polars": ("polars", "deltalake"),
    "chdb": ("chdb",),
    "spark": ("pyspark", "delta"),
}
"""Packages that an implementation needs, which the extra of its name installs."""

_NAMED_BY_VARIABLE: Final = {"duckdb_extension_delta": "DELTA_TCK_DUCKDB_EXTENSION"}
"""Packages that are not needed where an environment variable names what they hold."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an adapter may take.

    Attributes:
        request: seconds for one request.
        start: seconds to come up.
        memory: bytes that the processes of an adapter may hold.
        disk: bytes that they may put on disk, where that can be found.
    """

    request: float = 60.0
    start: float = 180.0
    memory: int = DEFAULT_MEMORY_BYTES
    disk: int = DEFAULT_DISK_BYTES

    @classmethod
    def of(cls, value: Callable[[str], Any]) -> Limits:
        """Return what the options of a run say, each given by its name."""
        time, start, memory, disk = map(value, LIMITS)
        return cls(time, start, int(memory * 1024**3), int(disk * 1024**3))


def load_factory(name: str) -> Callable[[], Adapter]:
    """Import the factory of a Python adapter.

    The working directory is the last place where its module is looked for, so that a file in it
    (a ``json.py``) shadows nothing.

    Args:
        name: ``python:package.module:factory``, the prefix being optional.

    Raises:
        ResolveError: the module or the factory is not available.
    """
    module_name, _, attribute = name.removeprefix("python:").partition(":")
    if not module_name or not attribute:
        raise ResolveError(f"{name!r} is not python:package.module:factory")
    place = str(Path.cwd())
    if place not in sys.path:
        sys.path.append(place)
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ResolveError(f"{name!r} cannot be imported: {error}") from error
    if not callable(factory):
        raise ResolveError(f"{name!r} is not callable")
    made: Callable[[], Adapter] = factory
    return made


def resolve(name: str, limits: Limits | None = None, isolation: Isolation = "auto") -> Adapter:
    """Return the adapter that a ``--impl`` value names.

    Args:
        name: the value of ``--impl``.
        limits: how long it may take.
        isolation: ``process`` gives an adapter whose process starts when it is first asked;
            ``none`` makes a Python adapter here; ``auto`` does so for the reference
            implementation alone.

    Raises:
        ResolveError: there is no such adapter.
        AdapterStartError: it is made here, and does not come up.
    """
    limits = limits or Limits()
    here = runs_here(name, isolation)
    if not name.startswith("cmd:"):
        name = _in_python(name)
    if here:
        with starting(InProcessLimit(limits.start)):
            return load_factory(name)()
    return ProcessAdapter(
        _command(name, limits.request),
        time_limit=limits.request,
        start_limit=limits.start,
        memory_limit=limits.memory,
        disk_limit=limits.disk,
    )


def alarm_of(adapter: Adapter, seconds: float) -> InProcessLimit:
    """Return what ends a request to an adapter that runs here; a process of its own is killed."""
    return InProcessLimit(None if isinstance(adapter, ProcessAdapter) else seconds)


def described(adapter: Adapter, limits: Limits) -> Description:
    """Return what an adapter says of itself, the first that it is asked.

    Raises:
        AdapterStartError: it raised, or took too long.
    """
    with starting(alarm_of(adapter, limits.start)):
        return adapter.describe()


def closed(close: Callable[[], None], limit: InProcessLimit) -> str | None:
    """Let an adapter release what it holds.

    Args:
        close: the adapter's own.
        limit: ends it where it runs here and takes too long.

    Returns:
        why it did not, ``None`` when it did.
    """
    try:
        with limit.about("the end of the adapter"), limit:
            close()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever an adapter raises is its fault
        return f"the adapter did not close: {type(error).__name__}: {error}"
    return None


@contextmanager
def starting(limit: InProcessLimit) -> Iterator[None]:
    """Turn whatever an adapter raises at first into one kind of error.

    Args:
        limit: ends what an adapter that runs here does for too long.

    Raises:
        AdapterStartError: the adapter raised, or took too long.
    """
    try:
        with limit.about("the start of the adapter"), limit:
            yield
    except AdapterStartError:
        raise
    except AdapterError as error:
        raise AdapterStartError(str(error), error.details) from error
    except (KitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        details = "".join(traceback.format_exception(error))
        raise AdapterStartError(f"{type(error).__name__}: {error}", details) from error


def _check_packages(name: str) -> None:
    """Say in one line which extra is missing; the engine's own error says it in many."""
    missing = [
        package
        for package in _PACKAGES.get(name, ())
        if os.environ.get(_NAMED_BY_VARIABLE.get(package, "")) is None
        and importlib.util.find_spec(package) is None
    ]
    if missing:
        raise ResolveError(
            f"{name} needs {', '.join(missing)}, which is not installed: "
            f"pip install 'delta-tck[{name}]'"
        )


def _command(name: str, seconds: float) -> list[str]:
    if not name.startswith("cmd:"):
        # Not with -m, which puts the working directory before the standard library.
        return [sys.executable, "-P", str(_WORKER), name, str(seconds)]
    try:
        command = shlex.split(name.removeprefix("cmd:"))
    except ValueError as error:
        raise ResolveError(f"--impl={name!r} is no command line: {error}") from error
    if not command:
        raise ResolveError("cmd: needs a command line, as cmd:./my-adapter --fast")
    return command


def _in_python(name: str) -> str:
    """Return the module and factory of an adapter that is written in Python."""
    _check_packages(name)
    if name in BUILT_IN:
        return f"python:{BUILT_IN[name]}"
    if not name.startswith("python:"):
        known = ", ".join(BUILT_IN)
        raise ResolveError(
            f"--impl={name!r} is neither one of {known} nor python:module:factory "
            f"nor cmd:<command line>{meant(name, BUILT_IN, 1)}"
        )
    return name
