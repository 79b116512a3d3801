"""Limits on the memory and time of one operation on a table.

Implements every section of the protocol: a table is untrusted input, and the text bounds neither
the size of a file nor the depth of a schema. What is beyond a limit may be valid all the same, so
that :class:`~reference_impl.errors.LimitExceeded` says so and never that the table is malformed.

An operation begins at an entry point, such as a method of ``Table``. What it calls, on any
thread, finds its :class:`Budget` by :func:`budget`.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from inspect import isfunction
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from reference_impl.errors import CommitOutcomeUnknown, LimitExceeded, StorageFailed

_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)

_MEBI: Final = 1 << 20
_CGROUPS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container has."""


@functools.cache
def _half_of_memory() -> int:
    """Return half of the memory of the machine, or of the container, in bytes."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in _CGROUPS:
        path = Path(name)
        text = path.read_text(encoding="ascii").strip() if path.is_file() else ""
        if text.isdecimal():
            sizes.append(int(text))
    return min(sizes) // 2


def _option(default: Any, unit: str, meaning: str, shown: str = "") -> Any:
    metadata = {"unit": unit, "meaning": meaning, "shown": shown}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one operation may take; every field has a unit and a meaning, which the guide lists."""

    memory: int = _option(
        _half_of_memory,
        "bytes",
        "the rows that a scan gives or a write keeps, and what is decoded on the way to them",
        "half of the memory of the machine or container",
    )
    seconds: float | None = _option(
        None,
        "seconds",
        "one operation; checked between files, row groups and versions",
        "none; `delta-tck audit` has 3600",
    )
    log_file: int = _option(
        1024 * _MEBI, "bytes", "one file of the log that is not Parquet: a commit, a checksum"
    )
    hint: int = _option(16 * _MEBI, "bytes", "`_last_checkpoint`; a longer one is ignored")
    nesting: int = _option(
        100, "levels", "types in the table schema: each struct, array and map is a level"
    )
    number: int = _option(
        1000, "characters", "a number in JSON, in a partition value or in a property"
    )
    statistics: int = _option(
        16 * _MEBI, "bytes", "the statistics of one file; longer ones count as unknown"
    )
    footer: int = _option(16 * _MEBI, "bytes", "the footer of a Parquet file")
    footer_items: int = _option(100_000, "items", "a list in that footer: columns, row groups")
    batch: int = _option(128 * _MEBI, "bytes", "rows that are decoded at a time; one row at least")
    pages: int = _option(
        512 * _MEBI,
        "bytes",
        "pages of a data file that are decompressed at once, or 8 times their size",
    )
    data_file: int = _option(
        384 * _MEBI, "bytes", "a data file, decompressed; larger ones by `data_file_growth`"
    )
    data_file_growth: int = _option(100, "times its size", "a large data file, decompressed")
    checkpoint: int = _option(
        64 * _MEBI, "bytes", "a checkpoint file, decompressed; larger ones by `checkpoint_growth`"
    )
    checkpoint_growth: int = _option(
        200, "times its size", "what a large checkpoint decompresses to"
    )
    vector: int = _option(256 * _MEBI, "bytes", "one serialized deletion vector")
    vector_buckets: int = _option(
        4096, "buckets", "one deletion vector; each covers 4,294,967,296 rows of its data file"
    )
    vector_containers: int = _option(
        1 << 18, "containers", "one deletion vector; each covers 65,536 rows of its data file"
    )
    sql_seconds: float = _option(60.0, "seconds", "the evaluation of one SQL expression")
    sql_memory: int = _option(
        1024 * _MEBI,
        "bytes",
        "joins and sorts of SQL, such as of a merge, and texts that it builds",
    )
    sql_result: int = _option(
        1024 * _MEBI, "bytes", "a result of SQL, or 16 times the rows that it is computed from"
    )
    listing: int = _option(
        5_000_000, "files", "one listing of an object store: its log, or of a vacuum all files"
    )
    listing_seconds: float = _option(
        300.0, "seconds", "the wait for the next files of such a listing"
    )
    checkpoints: int = _option(
        100, "files", "damaged checkpoints and compactions in whose place others are read"
    )
    compacted: int = _option(
        2_000_000, "commits", "commits of all compactions together that an audit replays"
    )


DEFAULT_LIMITS: Final = Limits()


def describe() -> list[tuple[str, str, str, str]]:
    """Return name, default, unit and meaning of every limit, for the guide."""
    rows = []
    for one in fields(Limits):
        facts = one.metadata
        default = facts["shown"] or f"{one.default:,}"
        rows.append((one.name, default, facts["unit"], facts["meaning"]))
    return rows


class Account:
    """Memory that is held for a while, counted over all threads."""

    def __init__(self, limits: Limits) -> None:
        """Start at zero bytes."""
        self._limits = limits
        self._held = 0
        self._lock = threading.Lock()

    def take(self, size: int, what: str) -> None:
        """Count bytes as held.

        Raises:
            LimitExceeded: they are more than is left.
        """
        with self._lock:
            self._held += size
            held = self._held
        if held > self._limits.memory:
            raise exceeded("memory", f"{what} takes {held} bytes and more")

    def free(self, size: int) -> None:
        """Release counted bytes."""
        with self._lock:
            self._held -= size

    @contextmanager
    def reserve(self, size: int, what: str) -> Iterator[None]:
        """Count bytes as held for as long as the block runs."""
        try:
            self.take(size, what)
            yield
        finally:
            self.free(size)

    @contextmanager
    def holding(self) -> Iterator[Callable[[int, str], None]]:
        """Yield a function that counts bytes as held until the block ends."""
        sizes: list[int] = []

        def hold(size: int, what: str) -> None:
            sizes.append(size)
            self.take(size, what)

        try:
            yield hold
        finally:
            self.free(sum(sizes))


class Budget:
    """The limits of one operation, the memory that it holds, and when its time is up."""

    def __init__(self, limits: Limits) -> None:
        """Begin the operation."""
        self.limits = limits
        self.account = Account(limits)
        self._until = None if limits.seconds is None else time.monotonic() + limits.seconds

    def check_time(self) -> None:
        """Check the time limit.

        Raises:
            LimitExceeded: the time is up.
        """
        if self._until is not None and time.monotonic() > self._until:
            raise exceeded("seconds", "the operation is not done")


_CURRENT: Final[ContextVar[Budget | None]] = ContextVar("budget", default=None)
_DEFAULT_BUDGET: Final = Budget(DEFAULT_LIMITS)


def budget() -> Budget:
    """Return the budget of the operation that runs; the default limits outside of one."""
    return _CURRENT.get() or _DEFAULT_BUDGET


def exceeded(
    name: str, found: str, *, error: type[LimitExceeded] = LimitExceeded, path: str | None = None
) -> LimitExceeded:
    """Return the error for an exceeded limit, a field of :class:`Limits`; ``found`` is a clause."""
    limit = getattr(budget().limits, name)
    unit = next(one.metadata["unit"] for one in fields(Limits) if one.name == name)
    return error(
        f"{found}: the limit {name!r} is {limit} {unit}",
        limit=name,
        allowed=limit,
        path=path,
        hint=f"the table may be valid: raise it by limits=Limits({name}=...)",
    )


def out_of_memory(error: MemoryError, path: str | None = None) -> LimitExceeded:
    """Return the error for memory that the system refused."""
    reason = f" ({str(error)[:100]})" if str(error) else ""
    return exceeded("memory", f"the system has no memory left{reason}", path=path)


@contextmanager
def within_limits(limits: Limits, operation: str) -> Iterator[Budget]:
    """Run an operation under limits; the limits of an outer operation take precedence.

    Raises:
        LimitExceeded: the system has no memory left, or something is nested too deep.
        StorageFailed: the storage failed.
    """
    outer = _CURRENT.get()
    if outer is not None:
        yield outer
        return
    made = Budget(limits)
    token = _CURRENT.set(made)
    try:
        yield made
    except MemoryError as error:  # Arrow's is one as well
        raise out_of_memory(error) from error
    except RecursionError as error:
        raise exceeded("nesting", "something is nested deeper than can be followed") from error
    except (StorageFailed, CommitOutcomeUnknown):
        raise
    except OSError as error:
        raise StorageFailed(operation, error) from error
    finally:
        _CURRENT.reset(token)


def limited(cls: _C) -> _C:
    """Make each public method and property of a class an operation under ``self.limits``."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isfunction(value):
            setattr(cls, name, _operation(value))
        elif isinstance(value, property) and value.fget is not None:
            setattr(cls, name, property(_operation(value.fget), doc=value.__doc__))
    return cls


def _operation(method: Callable[..., _T]) -> Callable[..., _T]:
    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **options: Any) -> _T:
        with within_limits(self.limits, method.__name__):
            return method(self, *arguments, **options)

    return cast("Callable[..., _T]", run)
