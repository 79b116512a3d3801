"""Run an adapter in a process of its own, within limits, and restart it when it breaks.

Serves the section "Adapter messages" of ``docs/formats.md``. Whatever the process does (crash,
hang, write garbage, answer another request, never start) costs the one request under way.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

from conformance.adapter import Answer, Description, Request, Write
from conformance.faults import AdapterError, AdapterStartError
from conformance.wire import (
    WireError,
    decode_answer,
    decode_description,
    encode_line,
    encode_request,
    parse_line,
    returns_rows,
    write_rows,
)

__all__ = ["ProcessAdapter"]

_LONGEST_LINE: Final = 256 * 1024 * 1024
"""Bytes; rows travel in files, so a longer line is no answer."""

_SHOWN_STDERR: Final = 8 * 1024
_CLOSE_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 2.0


class _Process:
    """One life of the adapter's process: lines in, lines out, standard error kept."""

    def __init__(self, command: Sequence[str], stderr: IO[bytes]) -> None:
        self._stderr = stderr
        self._popen = subprocess.Popen(  # noqa: S603  the command line is the user's own
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        assert self._popen.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while line := self._popen.stdout.readline(_LONGEST_LINE):
                self._lines.put(line)
        self._lines.put(None)

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Send a line and wait for one.

        Raises:
            AdapterError: the process died or did not answer within the limit.

        """
        assert self._popen.stdin is not None
        late = threading.Event()

        def expire() -> None:
            late.set()
            self.kill()

        # Killing also ends a write that blocks because the process does not read.
        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(OSError):
                self._popen.stdin.write(line)
                self._popen.stdin.flush()
            answer = self._lines.get(timeout=seconds + _GRACE_SECONDS)
        except queue.Empty:
            # A descendant that left the process group still holds the stream open.
            late.set()
            answer = None
        finally:
            timer.cancel()
        if answer is not None:
            return answer
        if late.is_set():
            raise AdapterError("time limit", f"no answer within {seconds:g} s", self.stderr())
        raise AdapterError("crash", f"the adapter ended with {self._end()}", self.stderr())

    def _end(self) -> str:
        try:
            code = self._popen.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "its standard output closed"
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def stderr(self) -> str:
        """Give the end of what the process wrote to standard error."""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - _SHOWN_STDERR))
        return self._stderr.read().decode("utf-8", "replace")

    def kill(self) -> None:
        """End the process and everything it started."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        else:
            self._popen.kill()

    def close(self, seconds: float) -> None:
        """Ask the process to end, then make it."""
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):
            self._popen.stdin.write(encode_line({"id": -1, "request": "close"}))
            self._popen.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        self.discard()

    def discard(self) -> None:
        """Kill and reap."""
        self.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class ProcessAdapter:
    """An adapter behind a command line; satisfies :class:`conformance.adapter.Adapter`.

    Args:
        command: program and arguments.
        time_limit: seconds for one request.
        start_limit: seconds to come up and say who it is.

    """

    def __init__(
        self, command: Sequence[str], *, time_limit: float = 60.0, start_limit: float = 180.0
    ) -> None:
        self._command = tuple(command)
        self._time_limit = time_limit
        self._start_limit = start_limit
        self._folder = tempfile.TemporaryDirectory(prefix="delta-tck-")
        self._stderr: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115  closed in close()
        self._process: _Process | None = None
        self._description: Description | None = None
        self._next_id = 0

    def describe(self) -> Description:
        """Start the process when it is not running, and say who answers.

        Raises:
            AdapterStartError: it does not come up.

        """
        if self._process is None or self._description is None:
            self._start()
        assert self._description is not None
        return self._description

    def run(self, request: Request) -> Answer:
        """Ask one request; after a fault the next request meets a fresh process.

        Raises:
            AdapterError: no answer came.

        """
        if self._process is None:
            self._start()
        folder = Path(self._folder.name)
        rows_to = folder / f"answer-{self._next_id}.arrow" if returns_rows(request) else None
        rows = None
        if isinstance(request, Write) and request.rows is not None:
            rows = folder / f"rows-{self._next_id}.arrow"
            write_rows(request.rows, rows)
        try:
            document = encode_request(request, self._next_id, rows_to, rows)
            answer = self._ask(document, self._time_limit)
            if "error" in answer:
                # An engine that raised may be poisoned: whatever it says next proves nothing.
                self._drop()
                raise _reported(answer["error"])
            try:
                return decode_answer(answer, rows=rows_to is not None)
            except WireError as error:
                raise AdapterError("garbage", str(error)) from error
        finally:
            for path in (rows_to, rows):
                if path is not None:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close(_CLOSE_SECONDS)
            self._process = None
        self._stderr.close()
        self._folder.cleanup()

    def _start(self) -> None:
        self._stderr.seek(0)
        self._stderr.truncate()
        try:
            self._process = _Process(self._command, self._stderr)
        except OSError as error:
            raise AdapterStartError(f"{self._command[0]!r} cannot be run: {error}") from error
        try:
            answer = self._ask({"id": self._next_id, "request": "describe"}, self._start_limit)
            if "error" in answer:
                raise _reported(answer["error"])
            self._description = decode_description(answer.get("ok"))
        except (AdapterError, WireError) as error:
            self._drop()
            details = error.details if isinstance(error, AdapterError) else ""
            raise AdapterStartError(str(error), details) from error

    def _ask(self, document: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Exchange one message; a process that breaks the protocol is not asked again."""
        assert self._process is not None
        self._next_id += 1
        try:
            answer = parse_line(self._process.exchange(encode_line(document), seconds))
            _check_id(document["id"], answer.get("id"))
        except WireError as error:
            details = self._process.stderr()
            self._drop()
            raise AdapterError("garbage", str(error), details) from error
        except AdapterError:
            self._drop()
            raise
        return answer

    def _drop(self) -> None:
        if self._process is not None:
            self._process.discard()
            self._process = None


def _check_id(asked: int, answered: Any) -> None:
    if answered != asked or isinstance(answered, bool):
        raise AdapterError("wrong id", f"asked {asked}, answered {answered!r}")


def _reported(error: Any) -> AdapterError:
    """Turn the ``error`` of an answer into the fault that it reports."""
    if not isinstance(error, dict):
        return AdapterError("raised", str(error))
    message = f"{error.get('type', 'error')}: {error.get('message', '')}"
    return AdapterError("raised", message, str(error.get("traceback", "")))
