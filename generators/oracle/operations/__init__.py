"""Operations on a table as values, and what they do to its rows.

Covers "Delta Table Specification". A history is a sequence of operations that begins with
:class:`Create`. :func:`replay` gives the oracle of a history without touching a disk: it is the
other opinion on what the materialiser's file-by-file bookkeeping makes of the same history.
Each class has an entry in :data:`OPERATIONS`: its step, and what the kit asks of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from generators.oracle.filters import evaluate
from generators.oracle.model import Oracle, Row
from generators.oracle.operations.arguments import Context, Step, Tree, input_rows
from generators.oracle.operations.entry import OPERATIONS, Entry, NoRowChange, Operation
from generators.oracle.operations.merging import MergeClause
from generators.oracle.operations.rows import (
    Append,
    Create,
    Delete,
    Merge,
    Overwrite,
    Replace,
    Update,
)
from generators.oracle.operations.schema_changes import (
    AddColumn,
    DropColumn,
    RenameColumn,
    ReorderColumns,
    SetComment,
    SetDefault,
    SetNullable,
    WidenColumn,
    widened_field,
)
from generators.oracle.operations.settings import (
    Checkpoint,
    CheckpointKind,
    Compact,
    Restore,
    SetDomain,
    SetProperties,
    SetTransaction,
    UnsetProperties,
)

__all__ = [
    "OPERATIONS", "AddColumn", "Append", "Checkpoint", "CheckpointKind", "Compact", "Context",
    "Create", "Delete", "DropColumn", "Entry", "History", "Merge", "MergeClause", "NoRowChange",
    "Operation", "Overwrite", "RenameColumn", "ReorderColumns", "Replace", "Restore", "SetComment",
    "SetDefault", "SetDomain", "SetNullable", "SetProperties", "SetTransaction", "Step", "Tree",
    "UnsetProperties", "Update", "WidenColumn", "filtered", "input_rows", "replay", "widened_field",
]  # fmt: skip

History: TypeAlias = Sequence[Operation]


def replay(history: History) -> Oracle:
    """Return the oracle of a history.

    Raises:
        ValueError: the history does not begin with :class:`Create`, or an operation does not fit.
    """
    first, *_rest = history
    if not isinstance(first, Create):
        raise ValueError("a history begins with Create")  # noqa: TRY004  the order is wrong, not the type
    oracle = Oracle(first.schema, first.partition_columns)
    for each in history:
        carry_out(oracle, each)
    return oracle


def carry_out(oracle: Oracle, operation: Operation) -> None:
    """Let an oracle do one operation more; a :class:`Create` is done to a fresh one."""
    operation.apply(oracle)
    if operation.commits:
        oracle.commit()


def filtered(rows: Sequence[Row], where: Tree) -> list[Row]:
    """Return the rows for which a filter is true."""
    return [row for row in rows if evaluate(where, row) is True]
