"""Schemas as compiled validators, to let valid documents pass quickly.

A general validator spends milliseconds on each action of a log, nearly all of it on documents
that are valid. ``jsonschema_rs`` answers in microseconds, and only whether a document is valid;
the validator of ``jsonschema`` is then asked for the errors of the few that are not.
"""

from __future__ import annotations

import functools
from typing import Any

import jsonschema_rs

from schemas.catalog import contents, names, urn
from schemas.keywords import EXTENSIONS


def _extension(keyword: str) -> type:
    errors = EXTENSIONS[keyword]

    class Extension:
        """The keyword as ``jsonschema_rs`` wants it: a class, made once for each place of it."""

        def __init__(self, _parent: Any, wanted: Any, _path: Any) -> None:
            self._wanted = wanted

        def validate(self, instance: Any) -> None:
            """Raise for the first error of an instance."""
            for message, *_ in errors(self._wanted, instance):
                raise ValueError(message)

    return Extension


_OWN = {keyword: _extension(keyword) for keyword in EXTENSIONS if keyword.startswith("x-")}


@functools.cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(urn(name), contents(name)) for name in names(shared=True)])


@functools.cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        contents(name), registry=_registry(), keywords=_OWN, offline=True
    )


def is_valid(name: str, document: Any) -> bool:
    """Return whether a document is valid; false also where only the general validator knows.

    The caller sees to it that the stack is large enough for the levels of the document.
    """
    try:
        return bool(_validator(name).is_valid(document))
    except ValueError:  # a number or a key that is not of JSON
        return False
