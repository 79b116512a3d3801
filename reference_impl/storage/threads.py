"""Work on threads whose results keep their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from reference_impl.limits import budget

_T = TypeVar("_T")
_R = TypeVar("_R")

MAX_THREADS: Final = min(os.cpu_count() or 1, 8)
"""Threads beyond which reading does not get any faster."""

_AHEAD: Final = 4
"""Items that are worked on ahead per thread: results wait in memory for their turn."""


def in_order(work: Callable[[_T], _R], items: Iterable[_T], threads: int) -> Iterator[_R]:
    """Do work on threads and return the results in the order of the items.

    The first error ends it: what has not begun is dropped. One thread is the caller's own.

    Raises:
        LimitExceeded: the time of the operation is up.
    """
    if threads <= 1:
        for item in items:
            budget().check_time()
            yield work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_R]] = deque()
        try:
            for item in items:
                budget().check_time()
                waiting.append(pool.submit(copy_context().run, work, item))
                if len(waiting) > threads * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
