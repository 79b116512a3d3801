"""An adapter in this process, which must not end it unseen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from conformance.adapter import Adapter, Answer, Description, Request
from conformance.faults import AdapterError

__all__ = ["InProcess"]


class InProcess:
    """Pass requests on, and make an adapter that ends the process a fault of the request.

    ``os._exit`` would end the run with a status of the adapter's choice and without a summary.
    Native code that ends the process is beyond reach here; adapters of engines have a process of
    their own.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def describe(self) -> Description:
        """Say who answers."""
        with _alive():
            return self._adapter.describe()

    def run(self, request: Request) -> Answer:
        """Execute one request.

        Raises:
            AdapterError: the adapter tried to end the process.

        """
        with _alive():
            return self._adapter.run(request)

    def close(self) -> None:
        """Release the adapter."""
        with _alive():
            self._adapter.close()


@contextmanager
def _alive() -> Iterator[None]:
    leave, owner = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != owner:
            leave(status)  # a child that the adapter made may end
        raise AdapterError("crash", f"the adapter ended the process with status {status}")

    os._exit = refuse
    try:
        yield
    except SystemExit as error:
        raise AdapterError("crash", f"the adapter left by SystemExit: {error}") from error
    finally:
        os._exit = leave
