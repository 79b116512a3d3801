"""Faults: what is wrong with a run or an adapter, never with a table.

A step and its fault: loading the corpus raises :class:`CorpusError`; selecting raises
:class:`SelectionError`; resolving ``--impl`` raises :class:`ResolveError`; reading a baseline
raises :class:`BaselineError`; asking an adapter raises :class:`AdapterError`, which costs one case,
or :class:`AdapterStartError`, which ends the run when no answer has come yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

FaultKind: TypeAlias = Literal[
    "start", "crash", "time limit", "memory limit", "disk limit", "garbage", "wrong id", "raised"
]
"""How an adapter failed to answer.

``start``: it did not come up. ``crash``: its process ended. ``time limit``, ``memory limit``,
``disk limit``: it was stopped for taking more. ``garbage``: what it wrote is no answer.
``wrong id``: it answered another request. ``raised``: it said itself that it broke.
"""


class KitError(Exception):
    """Root of everything that makes a run unusable or costs a case its verdict."""


class CorpusError(KitError):
    """The corpus is missing or a file in it is malformed.

    Attributes:
        path: the file or folder.
        place: line or JSON pointer inside the file, empty for the whole of it.
    """

    def __init__(self, path: Path, message: str, place: str = "") -> None:
        """Say which file is wrong, where, and how."""
        self.path = path
        self.place = place
        super().__init__(f"{path}{':' if place else ''}{place}: {message}")


class SelectionError(KitError):
    """An option names something that does not exist."""


class EmptySelectionError(SelectionError):
    """The options exclude every case."""


class ResolveError(KitError):
    """``--impl`` names no adapter that is available."""


class UnusableError(KitError):
    """What a command was given, or is to leave, cannot be used."""


class BaselineError(UnusableError):
    """A baseline file is malformed."""


class OutputError(UnusableError):
    """A file that the options name cannot be written."""


class AdapterError(KitError):
    """The adapter gave no answer to a request.

    Attributes:
        kind: how it failed.
        details: what the adapter left on standard error, or its traceback.
    """

    def __init__(self, kind: FaultKind, message: str, details: str = "") -> None:
        """Keep the kind apart from the words."""
        self.kind = kind
        self.details = details
        super().__init__(f"{kind}: {message}")


class AdapterStartError(AdapterError):
    """The adapter did not come up or did not say who it is."""

    def __init__(self, message: str, details: str = "") -> None:
        """Give the message the kind ``start``."""
        super().__init__("start", message, details)
