"""A storage that goes wrong at a step of one's choice.

Covers "Delta Log Entries" (a commit is there as a whole or not at all) and whatever else a writer
promises of a storage that fails, hangs, answers late, or of a machine that dies under it. Every
call of the storage protocol is one step; steps are counted from 1 in the order of the calls.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Final, TypeVar

from reference_impl.places import Locator
from reference_impl.storage import Entry, Identity, Storage

_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

WRITES: Final = frozenset({"put", "put_if_absent", "delete"})
"""Steps that change what is stored."""


class Fault(StrEnum):
    """What happens at a step."""

    FAIL = "fails"
    """The step is not done, and the storage says so: :class:`OSError`."""
    TIMEOUT = "times out"
    """The step is not done, and its outcome is unknown: :class:`TimeoutError`."""
    LATE = "answers late"
    """The step is done, and its answer is lost, whatever it is: :class:`TimeoutError`."""
    KILL = "is killed before"
    """The process dies before the step: it gets ``SIGKILL``."""
    KILL_LATE = "is killed after"
    """The process dies after the step."""


class FaultyStorage:
    """Another storage, with a fault at one step.

    Attributes:
        taken: name and path of every step so far, as ``("put", "part-0.parquet")``.
    """

    def __init__(
        self,
        inner: Storage,
        step: int = 0,
        fault: Fault = Fault.FAIL,
        *,
        lasting: bool = False,
        error: Exception | None = None,
    ) -> None:
        """Wrap a storage.

        Args:
            inner: where steps are carried out.
            step: number of the step that goes wrong; 0 for none, which counts.
            fault: what happens there.
            lasting: whether every later step goes wrong as well, but is never done.
            error: what is raised, where it is not what the fault says.
        """
        self.taken: list[tuple[str, str]] = []
        self._inner = inner
        self._step = step
        self._fault = fault
        self._lasting = lasting
        self._error = error

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""
        return self._inner.location

    def _do(self, name: str, path: str, call: Callable[[], _T]) -> _T:
        self.taken.append((name, path))
        number = len(self.taken)
        if self._lasting and self._step and number > self._step:
            raise self._error or TimeoutError(f"{name} {path}: the storage is still gone")
        if number != self._step:
            return call()
        message = f"step {number}, {name} {path}, {self._fault}"
        match self._fault:
            case Fault.FAIL:
                raise self._error or OSError(errno.EIO, message)
            case Fault.TIMEOUT:
                raise self._error or TimeoutError(message)
            case Fault.LATE:
                _without_answer(call)
                raise self._error or TimeoutError(message)
            case Fault.KILL:
                _die()
            case Fault.KILL_LATE:
                _without_answer(call)
                _die()
        raise AssertionError("a process outlives its end")

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files right in a directory."""
        return self._do("list", directory, lambda: self._inner.list_from(directory, start_after))

    def walk(self, linked: Callable[[str], None] | None = None) -> Iterator[Entry]:
        """List every file below the root."""
        return self._do("walk", "", lambda: self._inner.walk(linked))

    def head(self, path: str) -> Entry:
        """Describe a file."""
        return self._do("head", path, lambda: self._inner.head(path))

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        return self._do("get", path, lambda: self._inner.get(path))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read a part of a file."""
        return self._do("get", path, lambda: self._inner.get_range(path, start, length))

    def open_input(self, path: str) -> Any:
        """Open a file for random access by pyarrow."""
        return self._do("open", path, lambda: self._inner.open_input(path))

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole."""
        self._do("put", path, lambda: self._inner.put(path, data))

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file atomically."""
        self._do("put_if_absent", path, lambda: self._inner.put_if_absent(path, data))

    def delete(self, path: str) -> None:
        """Delete a file."""
        self._do("delete", path, lambda: self._inner.delete(path))

    def locator(self) -> Locator:
        """Return what resolves paths; no step, since nothing is asked of what may fail."""
        return self._inner.locator()

    def holds(self, path: str) -> bool:
        """Return whether a path leads to a place below the root; no step either."""
        return self._inner.holds(path)

    def above(self, name: str) -> Iterator[tuple[Storage, str]]:
        """Return the tables above; no step either."""
        return self._inner.above(name)

    def identify(self, path: str) -> Identity | None:
        """Return the identity of a file."""
        return self._do("identify", path, lambda: self._inner.identify(path))


def _without_answer(call: Callable[[], object]) -> None:
    """Do a step whose answer is lost, an error too."""
    try:
        call()
    except Exception:  # noqa: BLE001  the caller gave up on it
        _log.debug("a step whose answer is lost failed", exc_info=True)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
