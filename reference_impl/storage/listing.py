"""Listings of an object store, which need not end.

A server can say for ever that there is more, with files or without. The client asks on inside of
one call, where nothing of ours can look: so each wait has a limit, and the call is cancelled then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, Final, TypeVar

import obstore

from reference_impl.limits import budget, exceeded

_T = TypeVar("_T")
_Wait = Callable[[Callable[[], Awaitable[_T]], float], _T]

_AT_ONCE: Final = 1000
"""Files of one page of a listing."""

_MAX_SECONDS: Final = 10.0
"""Seconds for a listing that a store returns as a whole, of unknown size."""


def listed(store: Any, prefix: str | None = None, offset: str | None = None) -> Iterator[Any]:
    """List every file below a prefix, those below its folders too.

    Args:
        store: an obstore store.
        prefix: what their keys begin with, a folder.
        offset: only keys after it.

    Raises:
        LimitExceeded: there are too many files, or too long a wait for the next ones.
    """
    with _waiting() as wait:
        stream = obstore.list(store, prefix, offset=offset, chunk_size=_AT_ONCE)
        files = 0
        while True:
            try:
                found = wait(stream.__anext__, budget().limits.listing_seconds)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise exceeded("listing_seconds", "the store lists nothing more") from None
            files += len(found)
            _check(files)
            yield from found


def directly_in(store: Any, prefix: str | None) -> Iterator[Any]:
    """List the files directly in a folder; those of its folders may come as well.

    Raises:
        LimitExceeded: as of :func:`listed`.
    """
    with _waiting() as wait:
        try:
            # Spares walking the folders below.
            found = wait(lambda: obstore.list_with_delimiter_async(store, prefix), _MAX_SECONDS)
        except TimeoutError:
            found = None
    if found is None:
        yield from listed(store, prefix)
    else:
        _check(len(found["objects"]))
        yield from found["objects"]


def _check(files: int) -> None:
    budget().check_time()
    if files > budget().limits.listing:
        raise exceeded("listing", f"the store lists {files} files and more")


@contextmanager
def _waiting() -> Iterator[_Wait[Any]]:
    """Yield a function that awaits what another returns, for some seconds.

    The loop has a thread of its own: the caller may be in a loop.
    """

    async def within(ask: Callable[[], Awaitable[_T]], seconds: float) -> _T:
        async with asyncio.timeout(seconds):
            return await ask()

    with closing(asyncio.new_event_loop()) as loop, ThreadPoolExecutor(1) as thread:

        def run(ask: Callable[[], Awaitable[_T]], seconds: float) -> _T:
            return thread.submit(loop.run_until_complete, within(ask, seconds)).result()

        def cancel() -> None:
            for task in asyncio.all_tasks(loop):
                task.cancel()

        try:
            yield run
        finally:
            loop.call_soon_threadsafe(cancel)
