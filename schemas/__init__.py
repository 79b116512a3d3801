"""JSON Schemas of every document of the Delta protocol and of the kit's own files.

The schemas are data, one JSON file each (draft 2020-12), grouped in folders:

``action``
    the actions of the log ("Actions") and the deletion vector descriptor.
``log``
    a line of a commit, a row of a checkpoint, ``_last_checkpoint``, a version checksum.
``table``
    the table schema, per-file statistics, configurations of the system domains.
``kit``
    cases, specs, filter trees, adapter messages, results, requirements, baselines.

``features.json`` lists the table features; :mod:`schemas.features` reads it.

A name is the path without its suffix, as ``action/add``. Rules carry the ids of the requirements
that they enforce, so a :class:`Violation` says not only what is wrong but by which clause.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from schemas.catalog import UnknownSchemaError, load, names, requirements
    from schemas.explained import Rule, Violation, locate, validator
    from schemas.validation import errors, is_valid

__all__ = [
    "Rule", "UnknownSchemaError", "Violation", "errors", "is_valid", "load", "locate", "names",
    "requirements", "validator",
]  # fmt: skip

_CATALOG: Final = dict.fromkeys(("UnknownSchemaError", "load", "names", "requirements"), "catalog")
_HOMES: Final = _CATALOG | dict.fromkeys(("errors", "is_valid"), "validation")
"""Where names are defined; the others are in ``explained``, which takes jsonschema to import."""


def __getattr__(name: str) -> Any:
    """Load a public name, and no more than it needs.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "explained")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
