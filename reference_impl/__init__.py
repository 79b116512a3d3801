"""Reference implementation of the Delta transaction-log protocol."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reference_impl.errors import DeltaError, LimitExceeded
    from reference_impl.expressions.sql import Sql
    from reference_impl.limits import Limits
    from reference_impl.log.ratified import InlineCommit, RatifiedCommits, StagedCommit
    from reference_impl.read import read_table
    from reference_impl.snapshot.snapshot import Snapshot
    from reference_impl.table import Table
    from reference_impl.write.rows.clauses import When

logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "DeltaError", "InlineCommit", "LimitExceeded", "Limits", "RatifiedCommits", "Snapshot", "Sql",
    "StagedCommit", "Table", "When", "read_table",
]  # fmt: skip

_HOMES: Final = {
    "DeltaError": "errors",
    "InlineCommit": "log.ratified",
    "LimitExceeded": "errors",
    "Limits": "limits",
    "RatifiedCommits": "log.ratified",
    "Snapshot": "snapshot.snapshot",
    "Sql": "expressions.sql",
    "StagedCommit": "log.ratified",
    "Table": "table",
    "When": "write.rows.clauses",
    "read_table": "read",
}
"""Where each public name is defined: a module is loaded when a name of it is used first."""


def __getattr__(name: str) -> Any:
    """Load a public name.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Name what is public."""
    return sorted(__all__)
