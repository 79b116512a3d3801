"""Messages between the kit and an adapter in another process: JSON documents, one per line.

See the section "Adapter messages" of ``docs/formats.md``. Requests and answers become plain
documents and back; transport is :mod:`conformance.workers.process`, the other end
:mod:`conformance.workers.worker`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_args

import pyarrow as pa

from conformance.adapter import (
    REQUESTS,
    Aggregate,
    Answer,
    Changes,
    Claims,
    Description,
    Kind,
    Ok,
    Refused,
    Request,
    Scan,
    Stage,
    Write,
    operation_of,
)
from conformance.base.terminal import meant, printable
from conformance.base.untrusted import MIB, DocumentError, count_values, parse_json
from conformance.workers.rows_file import RowsError, read_rows, write_rows

MAX_LINE_BYTES: Final = 32 * MIB
"""Bytes; rows travel in files, so a longer line is no answer."""

_MAX_VALUES: Final = 2_000_000
"""Values in a line: small ones take far more memory than bytes, and all are looked at."""

_TEXTS: Final = ("name", "engine_version", "adapter_version", "claims")
_NUMBERS: Final = ("reader_version", "writer_version")
_SETS: Final = ("reader_features", "writer_features", "operations", "capabilities")


class WireError(ValueError):
    """A line is not the message that it has to be."""


def returns_rows(request: Request) -> bool:
    """Return whether the answer to a request is a table of rows."""
    return isinstance(request, Scan | Aggregate | Changes)


def parse_line(line: bytes) -> dict[str, Any]:
    """Read one line as a JSON object.

    Raises:
        WireError: it is something else.
    """
    if len(line) > MAX_LINE_BYTES:
        raise WireError(f"a line of more than {MAX_LINE_BYTES} bytes")
    if count_values(line) > _MAX_VALUES:
        raise WireError(f"a line of more than {_MAX_VALUES} values")
    try:
        document = parse_json(line)
    except DocumentError as error:
        raise WireError(f"not JSON: {printable(str(error))}: {line[:200]!r}") from error
    if not isinstance(document, dict):
        raise WireError(f"not a JSON object: {line[:200]!r}")
    return document


def encode_line(document: Mapping[str, Any]) -> bytes:
    """Write a document as one line."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def encode_request(
    request: Request, identity: int, rows_to: Path | None, rows: Path | None
) -> dict[str, Any]:
    """Write a request as a document.

    Args:
        request: what to ask.
        identity: the id that the answer echoes.
        rows_to: where rows of the answer go, for requests that return rows.
        rows: where the rows of a write request are, when it brings any.
    """
    document: dict[str, Any] = {"id": identity, "request": operation_of(type(request))}
    for item in fields(request):
        if item.name != "rows":
            value = getattr(request, item.name)
            document[item.name] = list(value) if item.name == "columns" and value else value
    if rows_to is not None:
        document["rows_to"] = str(rows_to)
    if rows is not None:
        document["rows"] = str(rows)
    return document


def decode_request(document: Mapping[str, Any]) -> Request:
    """Read a request from a document; rows of a write are loaded.

    Raises:
        WireError: the request is not known or lacks a field.
    """
    kind = REQUESTS.get(str(document.get("request")))
    if kind is None:
        raise WireError(f"request {document.get('request')!r} is not known")
    arguments = {f.name: document[f.name] for f in fields(kind) if f.name in document}
    if kind is Write and arguments.get("rows") is not None:
        arguments["rows"] = read_rows(Path(arguments["rows"]))
    try:
        return kind(**arguments)
    except TypeError as error:
        raise WireError(f"request {document['request']!r} lacks a field: {error}") from error


def encode_answer(answer: Answer, rows_to: Path | None) -> dict[str, Any]:
    """Write an answer as a document; rows go to ``rows_to``.

    Raises:
        WireError: the payload cannot travel.
    """
    match answer:
        case Refused(kind, stage, message):
            return {"refused": {"kind": kind, "stage": stage, "message": printable(message)}}
        case Ok(pa.Table() as table):
            if rows_to is None:
                raise WireError("rows were answered where none were asked for")
            write_rows(table, rows_to)
            return {"ok": {"rows": str(rows_to)}}
        case Ok(payload):
            return {"ok": payload}


def decode_answer(document: Mapping[str, Any], rows_to: Path | None) -> Answer:
    """Read an answer from a document.

    Args:
        document: a parsed line with ``ok`` or ``refused``.
        rows_to: the file that the rows were asked into, ``None`` for an answer without rows.

    Raises:
        WireError: the document is no answer.
    """
    if document.keys() & {"ok", "refused", "error"} not in ({"ok"}, {"refused"}):
        rule = "an answer has either ok or refused or error, and leaves out the others, null or not"
        raise WireError(f"{rule}: {sorted(document)}")
    if "refused" in document:
        return _refusal(document["refused"])
    payload = document["ok"]
    if rows_to is None:
        return Ok(payload)
    if not isinstance(payload, Mapping) or not isinstance(payload.get("rows"), str):
        raise WireError(f"rows are answered as {{'rows': path}}, not {payload!r:.200}")
    if payload["rows"] != str(rows_to):
        raise WireError(f"rows were asked into {rows_to}, and are said to be elsewhere")
    try:
        return Ok(read_rows(rows_to))
    except RowsError as error:
        raise WireError(str(error)) from error


def _refusal(document: Any) -> Refused:
    if not isinstance(document, Mapping) or not isinstance(document.get("message"), str):
        raise WireError(f"a refusal is an object with a message, not {document!r:.200}")
    kind, stage = document.get("kind"), document.get("stage")
    if kind not in (None, *get_args(Kind)):
        raise WireError(f"refusal kind {kind!r} is not known")
    if stage not in (None, *get_args(Stage)):
        raise WireError(f"refusal stage {stage!r} is not known")
    return Refused(kind, stage, document["message"])


def encode_description(description: Description) -> dict[str, Any]:
    """Write who an adapter is as a document."""
    return {**description.stamp, "claims": description.claims.as_document()}


def decode_description(document: Any) -> Description:
    """Read who an adapter is.

    Every field has to be there and to have its type: what is read leniently claims less than its
    author meant, and less is then judged.

    Raises:
        WireError: a field is missing, unknown or of another type.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("claims"), Mapping):
        raise WireError(f"a description is an object with claims, not {document!r:.200}")
    claims = document["claims"]
    _check_fields("the description", document, _TEXTS, ("name", "engine_version", "claims"))
    _check_fields("claims", claims, (*_NUMBERS, *_SETS), (*_NUMBERS, *_SETS[:3]))
    texts = {name: document[name] for name in _TEXTS if name in document and name != "claims"}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise WireError(f"{name} is text, not {value!r:.200}")
    numbers = {name: claims[name] for name in _NUMBERS}
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise WireError(f"{name} is a whole number, not {number!r:.200}")
    sets = {name: claims.get(name, []) for name in _SETS}
    for name, words in sets.items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise WireError(f"{name} is an array of texts, not {words!r:.200}")
    found: dict[str, Any] = {name: frozenset(words) for name, words in sets.items()}
    return Description(**texts, claims=Claims(**numbers, **found))


def _check_fields(
    what: str, document: Mapping[str, Any], known: Sequence[str], required: Sequence[str]
) -> None:
    missing = [name for name in required if name not in document]
    if missing:
        raise WireError(f"{what} lacks {', '.join(missing)}")
    for name in sorted(map(str, document.keys() - set(known))):
        raise WireError(f"{what} cannot have {name!r}{meant(name, known, 1)}")
