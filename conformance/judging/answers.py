"""What an adapter in the same process answers, as plain data.

See "Adapter messages" of ``docs/formats.md``. From another process only JSON and rows arrive. In
this one an answer is an object of the adapter's own, which may say of itself that it equals
anything; so it is copied to built-in types before it is compared, as far as it has their form.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from conformance.adapter import Answer, Ok, Refused
from conformance.base.faults import AdapterError


def plain_answer(answer: object) -> Answer:
    """Return an answer of built-in types alone: what a JSON document holds, or a table of rows.

    Raises:
        AdapterError: it is no answer, or holds something else.
    """
    match answer:
        case Ok(payload) if type(answer) is Ok:
            return Ok(payload if type(payload) is pa.Table else _plain(payload))
        case Refused(kind, stage, message) if type(answer) is Refused:
            return Refused(_plain(kind), _plain(stage), _plain(message))
    raise AdapterError("garbage", f"answered {type(answer).__name__}")


def _plain(value: Any) -> Any:
    match value:
        case None | True | False:
            return value
        case str():
            return str.__str__(value)
        case float():
            return float.__float__(value)
        case Mapping():
            return {_plain(key): _plain(inner) for key, inner in value.items()}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(inner) for inner in value]
    number: Any = value
    with suppress(TypeError):
        return int.__int__(operator.index(number))  # integers of numpy are none of Python's
    raise AdapterError("garbage", f"answered {type(value).__name__}, which JSON does not have")
