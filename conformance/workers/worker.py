"""The other end of the wire: serve any Python adapter as JSON lines on standard streams.

``python -m conformance.workers.worker python:package.module:factory 60`` is how the kit runs every
adapter that is written in Python, so that a crash, a hang or a poisoned engine costs one case.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO, Final

from conformance.adapter import Adapter
from conformance.base.terminal import printable
from conformance.workers.resolve import load_factory
from conformance.workers.wire import (
    WireError,
    decode_request,
    encode_answer,
    encode_description,
    encode_line,
    parse_line,
)

_log: Final = logging.getLogger(__name__)

_STUCK: Final = 0.9
"""Share of the time for a request after which it says on standard error where it is."""


def serve(adapter: Adapter, requests: BinaryIO, answers: BinaryIO, seconds: float | None) -> None:
    """Answer requests until ``close`` or the end of input.

    Args:
        adapter: who answers; closed at the end.
        requests: lines as the kit writes them.
        answers: where one line per request goes, flushed.
        seconds: after which the kit kills who does not answer; the stacks of all threads are
            written to standard error shortly before.
    """
    try:
        for line in requests:
            document = parse_line(line)
            if document.get("request") == "close":
                break
            if seconds is not None:
                faulthandler.dump_traceback_later(seconds * _STUCK, file=2)
            answer = {"id": document.get("id"), **_answer(adapter, document)}
            faulthandler.cancel_dump_traceback_later()
            try:
                encoded = encode_line(answer)
            except (TypeError, ValueError) as error:
                encoded = encode_line({"id": document.get("id"), **_raised(error)})
            answers.write(encoded)
            answers.flush()
    finally:
        adapter.close()


def _answer(adapter: Adapter, document: dict[str, Any]) -> dict[str, Any]:
    try:
        if document.get("request") == "describe":
            return {"ok": encode_description(adapter.describe())}
        rows_to = document.get("rows_to")
        request = decode_request(document)
        return encode_answer(adapter.run(request), Path(rows_to) if rows_to else None)
    except BaseException as error:  # noqa: BLE001  engines panic past Exception; it is an answer
        return {**_raised(error), **_renewed(adapter, error)}


def _renewed(adapter: Adapter, error: BaseException) -> dict[str, Any]:
    """Reset the adapter where it can, and return the message that says so."""
    renew = getattr(adapter, "renew", None)
    try:
        fresh = renew is not None and renew(error) is True
    except Exception:  # noqa: BLE001  what cannot be reset is restarted
        _log.debug("the adapter cannot be reset", exc_info=True)
        fresh = False
    return {"fresh": True} if fresh else {}


def _raised(error: BaseException) -> dict[str, Any]:
    return {
        "error": {
            "type": type(error).__name__,
            "message": printable(str(error)),
            "traceback": printable("".join(traceback.format_exception(error))),
        }
    }


def main(arguments: list[str] | None = None) -> int:
    """Serve the adapter that the first argument names, within the seconds of the second one.

    Standard output carries messages only: the engine's own prints go to standard error.
    """
    name, seconds = sys.argv[1:] if arguments is None else arguments
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        serve(load_factory(name)(), sys.stdin.buffer, answers, float(seconds))
    except WireError as error:
        print(error, file=sys.stderr)  # noqa: T201  the stream that the kit shows
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
