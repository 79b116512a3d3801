"""The content of a commit file: encoded and validated before it is written.

Implements "Delta Log Entries". An unreadable commit breaks every later version of the table, so
that what callers pass (names, properties, numbers) is checked here for all operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reference_impl.errors import FileTooLarge, InvalidAction, InvalidTableError
from reference_impl.limits import budget, exceeded
from reference_impl.log.commits import parse_commit
from reference_impl.log.names import LOG_DIR, commit_name
from reference_impl.model.wire import LogPlace, json_text


def encode_text(value: Any, action: str) -> str:
    """Return a value as JSON.

    Raises:
        InvalidAction: it has no JSON, or no UTF-8.
    """
    try:
        text = json_text(value)
        text.encode()
    except UnicodeEncodeError:
        raise _refused("a text has a lone surrogate, which UTF-8 cannot hold", action) from None
    except RecursionError:
        raise _refused("a value is nested too deeply", action) from None
    except (TypeError, ValueError) as error:
        raise _refused(f"a value has no JSON: {str(error)[:200]}", action) from None
    return text


def require_text(value: object, what: str, action: str) -> str:
    """Check a text of the caller that is to be committed, and return it.

    Raises:
        InvalidAction: it is no text, or none that UTF-8 can hold.
    """
    if not isinstance(value, str):
        raise _refused(f"{what} is {type(value).__name__}, not text", action)
    encode_text(value, action)
    return value


def encode_commit(lines: Iterable[Mapping[str, Any]], version: int) -> bytes:
    """Return the content of a commit file: one action a line, given in wire form.

    Raises:
        InvalidTableError: an action has a field of a wrong type or range, or is there twice.
        FileTooLarge: no reader of this package would read it.
    """
    encoded = [encode_text(line, next(iter(line))) for line in lines]
    data = "".join(f"{line}\n" for line in encoded).encode()
    path = f"{LOG_DIR}/{commit_name(version)}"
    if len(data) > budget().limits.log_file:
        found = f"the commit would have {len(data)} bytes"
        error = exceeded("log_file", found, error=FileTooLarge, path=path)
        error.version, error.stage, error.hint = version, "commit", "change fewer files at a time"
        raise error
    try:
        parse_commit(data, LogPlace(path, version), files=False)
    except InvalidTableError as error:
        error.stage = "commit"
        raise
    return data


def _refused(message: str, action: str) -> InvalidAction:
    return InvalidAction(message, action=action, stage="commit", hint="nothing was committed")
