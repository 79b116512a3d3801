"""Decode JSON objects of the log into values, by one table of fields per class.

Implements "Actions". A class lists its wire fields in its dataclass fields, so that the spelling of
the protocol appears once, next to the Python name. Unknown fields are ignored; null means absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from reference_impl.errors import DeltaError, InvalidAction
from reference_impl.model.ranges import INT64

_T = TypeVar("_T")
_E = TypeVar("_E", bound=DeltaError)
Decoder = Callable[[object], Any]
"""Return the value of a JSON value, or raise :class:`TypeError` saying what was expected."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where in the log an action was read.

    Attributes:
        path: the log file, relative to the table root.
        version: the version whose state the action is part of.
    """

    path: str
    version: int

    def error(
        self,
        kind: type[_E],
        message: str,
        *,
        action: str | None = None,
        requirement: str | None = None,
    ) -> _E:
        """Return an error about what was read here."""
        return kind(
            message, path=self.path, version=self.version, action=action, requirement=requirement
        )


def json_text(document: Any) -> str:
    """Return a document as JSON without white space, its strings not escaped beyond need."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def wire(name: str, decoder: Decoder, requirement: str = "") -> Any:
    """Declare a dataclass field with its wire name; ``requirement`` makes it required."""
    metadata = {"wire": name, "decoder": decoder, "requirement": requirement}
    return field(metadata=metadata) if requirement else field(default=None, metadata=metadata)


def decode(cls: type[_T], action: str, value: object, place: LogPlace) -> _T:
    """Decode a JSON object as an instance of a class whose fields are declared by :func:`wire`.

    Raises:
        InvalidAction: a required field is missing, or a field has a wrong type or range.
    """
    # Obeys PROTO-009.
    if not isinstance(value, Mapping):
        message = f"{action} is {_kind(value)}, not an object"
        raise place.error(InvalidAction, message, action=action)
    arguments: dict[str, Any] = {}
    for spec in fields(cls):  # type: ignore[arg-type]  # a dataclass always
        name, requirement = spec.metadata["wire"], spec.metadata["requirement"] or None
        found = value.get(name)
        if found is None:
            if requirement is not None:
                message = f"{action}.{name} is missing"
                raise place.error(InvalidAction, message, action=action, requirement=requirement)
            continue
        try:
            arguments[spec.name] = spec.metadata["decoder"](found)
        except TypeError as error:
            message = f"{action}.{name} is not {error}"
            raise place.error(
                InvalidAction, message, action=action, requirement=requirement
            ) from None
    return cls(**arguments)


def encode(value: Any) -> dict[str, Any]:
    """Return the JSON object of a value, in wire form, without absent fields."""
    out: dict[str, Any] = {}
    for spec in fields(value):
        name, found = spec.metadata["wire"], getattr(value, spec.name)
        if found is None:
            continue
        if isinstance(found, tuple):
            out[name] = list(found)
        elif isinstance(found, Mapping):
            out[name] = dict(found)
        else:
            out[name] = encode(found) if hasattr(found, "__dataclass_fields__") else found
    return out


def _of(kind: type[_T], what: str) -> Callable[[object], _T]:
    """Return the decoder of values of a type."""

    def decoded(value: object) -> _T:
        if not isinstance(value, kind):
            raise TypeError(what)
        return value

    return decoded


string = _of(str, "a string")
boolean = _of(bool, "a boolean")


def int64(value: object) -> int:
    """Decode a signed 64-bit integer.

    Raises:
        TypeError: it is of another type, or out of range.
    """
    if value not in INT64:
        raise TypeError("a 64-bit integer")
    return cast("int", value)


def string_list(value: object) -> tuple[str, ...]:
    """Decode an array of strings.

    Raises:
        TypeError: it is of another type.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise TypeError("an array of strings")
    return tuple(value)


def string_map(value: object) -> dict[str, str]:
    """Decode a map from string to string; a key with a null value counts as absent.

    Some writers keep a null where a property was unset.

    Raises:
        TypeError: it is of another type.
    """
    if not isinstance(value, Mapping) or not all(
        isinstance(k, str) and isinstance(v, str | None) for k, v in value.items()
    ):
        raise TypeError("a map from string to string")
    return {key: item for key, item in value.items() if item is not None}


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
