"""Run an adapter in a process of its own, within limits, and restart it when it breaks.

See the section "Adapter messages" of ``docs/formats.md``. Whatever the process does (crash,
hang, write garbage, answer another request, never start) costs the one request under way.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from conformance.adapter import Answer, Description, Request, Write
from conformance.base.faults import AdapterError, AdapterStartError, FaultKind
from conformance.base.scratch import Scratch
from conformance.base.terminal import printable
from conformance.workers.process_tree import MARK, ProcessTree, disk_used
from conformance.workers.rows_file import write_rows
from conformance.workers.wire import (
    MAX_LINE_BYTES,
    WireError,
    decode_answer,
    decode_description,
    encode_line,
    encode_request,
    parse_line,
    returns_rows,
)

DEFAULT_MEMORY_BYTES: Final = 4 * 1024**3
"""Bytes that the processes of an adapter may hold by default."""

DEFAULT_DISK_BYTES: Final = 4 * 1024**3
"""Bytes that they may put on disk by default."""

_TEMPORARY: Final = "temporary"
_TEMPORARY_NAMES: Final = ("TMPDIR", "TEMP", "TMP")
"""Variables that say where temporary files go."""

_LAUNCH: Final = str(Path(__file__).with_name("launch.py"))
_SHOWN_STDERR: Final = 8 * 1024
_WITHOUT_TRACES: Final = {"RUST_BACKTRACE": "0", "RUST_LIB_BACKTRACE": "0"}
"""Engines in Rust put a stack trace into their messages where the environment of a run says so."""

_SHOWN_ERROR: Final = 2000
"""Characters of what an adapter says of its own failure."""

_CLOSE_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.25
"""Between two measurements of the memory."""

_LOOKS: Final = 4
"""Measurements between two searches for processes that were started since."""

_FILLED: Final = 0.75
"""Share of a limit that a process may hold when it is asked to write."""

_UNREAD: Final = 4
"""Lines that wait to be read; an adapter that writes more has to wait."""


class _Process:
    """One life of the adapter's process: lines in, lines out, the end of standard error kept.

    Reading waits in threads of its own, which own the streams: a descendant that no signal could
    find and end may hold them open for ever.
    """

    def __init__(
        self, command: Sequence[str], memory_limit: int, disk_limit: int, temporary: Path
    ) -> None:
        mark = secrets.token_hex(16)
        self._popen = subprocess.Popen(  # noqa: S603  the command line is the user's own
            [sys.executable, "-I", "-S", _LAUNCH, str(os.getpid()), str(disk_limit), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={
                **os.environ,
                **dict.fromkeys(_TEMPORARY_NAMES, str(temporary)),
                **_WITHOUT_TRACES,
                MARK: mark,
            },
        )
        assert self._popen.stdin is not None
        os.set_blocking(self._popen.stdin.fileno(), False)
        self._tree = ProcessTree(self._popen.pid, mark)
        self._memory_limit, self._disk_limit = memory_limit, disk_limit
        self.written: tuple[Path, ...] = (temporary,)
        self._lines: queue.Queue[bytes | None] = queue.Queue(_UNREAD)
        self._stderr = bytearray()
        self._ended = threading.Event()
        self._stopped: FaultKind | None = None
        self._deadline: float | None = None
        self._drain = self._thread(self._keep_stderr)
        self._thread(self._pump)
        self._thread(self._watch)

    @staticmethod
    def _thread(target: Any) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        return thread

    def _pump(self) -> None:
        """Cut what comes into lines."""
        assert self._popen.stdout is not None
        pending = bytearray()
        with contextlib.suppress(OSError, ValueError), self._popen.stdout as stream:
            while chunk := stream.read(2**16):
                first, *rest = chunk.split(b"\n")
                pending += first
                for begun in rest:
                    self._deliver(bytes(pending))
                    pending = bytearray(begun)
                if len(pending) > MAX_LINE_BYTES:
                    break
        if pending:
            self._deliver(bytes(pending))
        self._deliver(None)

    def _deliver(self, line: bytes | None) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=_LOOK_SECONDS)
                return

    def _keep_stderr(self) -> None:
        """Read all of standard error, so that the adapter never waits, and keep its end."""
        assert self._popen.stderr is not None
        with contextlib.suppress(OSError, ValueError), self._popen.stderr as stream:
            while chunk := stream.read(2**16):
                self._stderr += chunk
                del self._stderr[:-_SHOWN_STDERR]

    def _watch(self) -> None:
        """End the process when it takes too long or too much."""
        looks = 0
        while not self._ended.wait(_LOOK_SECONDS):
            if looks % _LOOKS == 0:
                self._tree.look()
                if disk_used(self.written, self._disk_limit) > self._disk_limit:
                    self._stop("disk limit")
            looks += 1
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self._stop("time limit")
            elif self._holds_over(self._memory_limit):
                self._stop("memory limit")

    def _holds_over(self, most: float) -> bool:
        """Return whether its processes hold more bytes of memory; the exact count takes longer."""
        return self._tree.memory() > most < self._tree.exact_memory()

    def is_filled(self) -> bool:
        """Return whether it holds so much between two requests that the next may reach a limit."""
        disk = disk_used(self.written[:1], self._disk_limit)
        return disk > self._disk_limit * _FILLED or self._holds_over(self._memory_limit * _FILLED)

    def _stop(self, kind: FaultKind) -> None:
        if self._stopped is None:
            self._stopped = kind
        self._tree.kill()
        with contextlib.suppress(queue.Full):
            # What could not be ended may still hold the stream open.
            self._lines.put_nowait(None)

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Send a line and wait for one.

        Raises:
            AdapterError: the process died, wrote an unexpected line, did not answer within the
                limit, or took more memory or disk than it may.
        """
        if not self._lines.empty() and self._lines.queue[0] is not None:
            raise AdapterError("garbage", "wrote a line without a request", self.stderr())
        self._deadline = time.monotonic() + seconds
        try:
            self._send(line)
            answer = self._lines.get(timeout=seconds + _GRACE_SECONDS)
        except queue.Empty:
            self._stop("time limit")
            answer = None
        finally:
            self._deadline = None
        if answer is not None:
            return answer
        if self._stopped == "memory limit":
            most = f"{self._memory_limit / 1024**3:g} GiB"
            raise AdapterError("memory limit", f"held more than {most}", self.stderr())
        if self._stopped == "disk limit":
            most = f"{self._disk_limit / 1024**3:g} GiB"
            raise AdapterError("disk limit", f"wrote more than {most}", self.stderr())
        if self._stopped == "time limit":
            raise AdapterError("time limit", f"no answer within {seconds:g} s", self.stderr())
        raise AdapterError("crash", f"the adapter ended with {self._end()}", self.stderr())

    def _send(self, line: bytes) -> None:
        """Write a line for as long as there is time; the program may not read."""
        assert self._popen.stdin is not None
        rest = memoryview(line)
        with contextlib.suppress(OSError):
            while rest and self._stopped is None:
                try:
                    rest = rest[os.write(self._popen.stdin.fileno(), rest) :]
                except BlockingIOError:
                    time.sleep(0.01)

    def _end(self) -> str:
        try:
            code = self._popen.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "its standard output closed"
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def stderr(self) -> str:
        """Return the end of what the process wrote to standard error."""
        if self._popen.poll() is not None:
            self._drain.join(_GRACE_SECONDS)
        return printable(bytes(self._stderr).decode("utf-8", "replace"))

    def close(self, seconds: float) -> None:
        """Ask the process to end, then make it."""
        assert self._popen.stdin is not None
        self._tree.look()
        with contextlib.suppress(OSError):
            self._popen.stdin.write(encode_line({"id": -1, "request": "close"}))
            self._popen.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        self.discard()

    def discard(self) -> None:
        """Kill and reap."""
        self._ended.set()
        self._tree.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_GRACE_SECONDS)
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):
            self._popen.stdin.close()


class ProcessAdapter:
    """An adapter behind a command line; satisfies :class:`conformance.adapter.Adapter`.

    Args:
        command: program and arguments.
        time_limit: seconds for one request.
        start_limit: seconds to come up and say who it is.
        memory_limit: bytes that its processes may hold, pages of mapped files aside.
        disk_limit: bytes that they may put into their temporary folder and the table asked about,
            and bytes of any one file.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        time_limit: float = 60.0,
        start_limit: float = 180.0,
        memory_limit: int = DEFAULT_MEMORY_BYTES,
        disk_limit: int = DEFAULT_DISK_BYTES,
    ) -> None:
        self._command = tuple(command)
        self._time_limit = time_limit
        self._start_limit = start_limit
        self._memory_limit, self._disk_limit = memory_limit, disk_limit
        self._scratch = Scratch()
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
        # What earlier requests left in memory and on disk is no fault of this one. A read is asked
        # again; a write cannot be, and begins with room.
        if isinstance(request, Write) and self._process is not None and self._process.is_filled():
            self._drop()
        served = self._process is not None
        try:
            return self._ask_once(request)
        except AdapterError as error:
            taken = error.kind in ("memory limit", "disk limit")
            if not taken or not served or isinstance(request, Write):
                raise
        return self._ask_once(request)

    def _ask_once(self, request: Request) -> Answer:
        if self._scratch.lost:  # the adapter removed it, or put something else in its place
            self._drop()
            self._scratch.close()
            self._scratch = Scratch()
        if self._process is None:
            self._start()
        assert self._process is not None
        folder = self._scratch.path
        self._process.written = (folder, Path(request.table))
        rows_to = folder / f"answer-{self._next_id}.arrow" if returns_rows(request) else None
        rows = None
        if isinstance(request, Write) and request.rows is not None:
            rows = folder / f"rows-{self._next_id}.arrow"
            write_rows(request.rows, rows)
        try:
            document = encode_request(request, self._next_id, rows_to, rows)
            answer = self._ask(document, self._time_limit)
            if "error" in answer and not answer.keys() & {"ok", "refused"}:
                # An engine that raised may be poisoned: whatever it says next proves nothing,
                # unless the adapter says that it has made a new one.
                if answer.get("fresh") is not True:
                    self._drop()
                raise _reported(answer["error"])
            try:
                return decode_answer(answer, rows_to)
            except WireError as error:
                self._drop()
                raise AdapterError("garbage", str(error)) from error
        finally:
            for path in (rows_to, rows):
                if path is not None:
                    self._scratch.remove(path.name)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close(_CLOSE_SECONDS)
            self._process = None
        self._scratch.close()

    def _start(self) -> None:
        temporary = self._scratch.path / _TEMPORARY
        self._scratch.clear()
        temporary.mkdir()
        try:
            self._process = _Process(self._command, self._memory_limit, self._disk_limit, temporary)
        except (OSError, ValueError) as error:  # the latter for a NUL in an argument
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
            self._scratch.clear()


def _check_id(asked: int, answered: Any) -> None:
    if answered == asked and not isinstance(answered, bool):
        return
    said = repr(answered)
    if type(answered) is int:
        # How many were asked before depends on the cases that a run selects.
        said = f"the request {abs(answered - asked)} {'before' if answered < asked else 'after'} it"
    raise AdapterError("wrong id", f"answered {said}")


def _reported(error: Any) -> AdapterError:
    """Turn the ``error`` of an answer into the fault that it reports."""
    if not isinstance(error, dict):
        return AdapterError("raised", printable(f"{error!s:.{_SHOWN_ERROR}}"))
    message = f"{error.get('type', 'error')}: {error.get('message', '')}"
    trace = str(error.get("traceback", ""))
    return AdapterError(
        "raised", printable(message[:_SHOWN_ERROR]), printable(trace[-_SHOWN_STDERR:])
    )
