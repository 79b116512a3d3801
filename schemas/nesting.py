"""Work on documents that are nested deeper than Python's stack lets one go by default.

Covers every section of the protocol that gives a document a shape: a schema of forty structs is
legal, and to validate it takes more frames than a thread has.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

MAX_LEVELS: Final = 1000
"""Levels of JSON that are followed: each object and each array is one."""

_FRAMES: Final = 100_000
_STACK: Final = 256 << 20
"""Frames of Python that so many levels take at most, and bytes of stack for them."""

_LOCK: Final = threading.Lock()


class TooDeep(ValueError):  # noqa: N818  it names the limit that is met
    """A document is nested deeper than the limit."""

    def __init__(self) -> None:
        """Name the limit."""
        super().__init__(f"nested deeper than the limit of {MAX_LEVELS} levels")


def levels(document: Any) -> int:
    """Count the levels of a JSON value: 0 for a scalar."""
    found = 0
    row = [document]
    while row := [
        child
        for node in row
        if isinstance(node, dict | list)
        for child in ([*node.values(), None] if isinstance(node, dict) else [*node, None])
    ]:
        found += 1
    return found


def deeply(work: Callable[[Any], _T], document: Any) -> _T:
    """Do recursive work on a document, on a larger stack where the usual one is too small.

    Raises:
        TooDeep: the document has more levels than :data:`MAX_LEVELS`, or no stack is left.
    """
    try:
        return work(document)
    except RecursionError:
        if levels(document) > MAX_LEVELS:
            raise TooDeep from None
    return on_large_stack(lambda: work(document))


def on_large_stack(work: Callable[[], _T]) -> _T:
    """Do work in a thread with a stack for :data:`MAX_LEVELS`.

    Raises:
        TooDeep: the work runs out of stack all the same, or the system has no memory for it.
    """
    done: list[_T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # noqa: BLE001  raised again by the caller's thread
            failed.append(error)

    with _LOCK:
        frames, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
        sys.setrecursionlimit(max(frames, _FRAMES))
        try:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        except RuntimeError:  # the system has no memory for the stack
            raise TooDeep from None
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(frames)
    for error in failed:
        if isinstance(error, RecursionError):
            raise TooDeep from None
        raise error
    return done[0]
