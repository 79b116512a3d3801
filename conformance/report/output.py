"""Open the files that a command leaves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from conformance.base.faults import OutputError


def refuse_inputs(path: Path, what: str, inputs: Iterable[Path | None]) -> None:
    """Refuse to write where something lies that the same command reads, by whatever name.

    Raises:
        OutputError: the output is one of the inputs.
    """
    for given in inputs:
        with suppress(OSError, ValueError, RuntimeError):  # what is not there is not lost
            if given is not None and (path.resolve() == given.resolve() or path.samefile(given)):
                raise OutputError(f"{what} cannot be written to {path}: {given} is read there")


def refuse_places(path: Path, what: str, corpus: Path) -> None:
    """Refuse to write among the golden tables, or into what Git keeps for itself.

    Raises:
        OutputError: the output lies there.
    """
    with suppress(OSError, RuntimeError):  # what leads nowhere cannot be written either
        place = path.resolve()
        if corpus.resolve() in (place, *place.parents):
            raise OutputError(f"{what} cannot be written to {path}: the golden tables lie there")
        if ".git" in place.parts:
            raise OutputError(f"{what} cannot be written to {path}: Git keeps its own files there")


@contextmanager
def written_to(path: Path, what: str) -> Iterator[None]:
    """Raise :class:`OutputError` where a file cannot be written; ``what`` is in its message."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{what} cannot be written to {path}: {error.strerror}") from error


@contextmanager
def writing(path: Path, what: str) -> Iterator[IO[bytes]]:
    """Open a file as :func:`open_output` does, to be written whole.

    Raises:
        OutputError: it cannot be opened or written.
    """
    with written_to(path, what), open_output(path, what) as file:
        yield file


def open_output(path: Path, what: str) -> IO[bytes]:
    """Open a file and replace what it holds; a pipe without a reader is not waited for.

    Args:
        path: the file; folders above it are made.
        what: what it is going to hold, for the message.

    Raises:
        OutputError: it cannot be written.
    """
    with written_to(path, what):
        path.parent.mkdir(parents=True, exist_ok=True)
        wait = getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | wait, 0o666)
        os.set_blocking(descriptor, True)
        return open(descriptor, "wb")  # noqa: PTH123  of a descriptor, not a path
