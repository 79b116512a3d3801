"""Histories on disk: every operation as the commit that a writer would make of it.

Covers "Delta Log Entries". The row-level meaning of the operations is in
:mod:`generators.oracle.operations`; here they become files and actions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from generators.materialise.builder import TableBuilder
from generators.materialise.data.data_files import FileLayout
from generators.oracle.filters import predicate_of
from generators.oracle.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    DropColumn,
    History,
    Merge,
    NoRowChange,
    Operation,
    Overwrite,
    RenameColumn,
    Restore,
    SetDefault,
    SetDomain,
    SetProperties,
    SetTransaction,
    UnsetProperties,
    Update,
    WidenColumn,
)

_RECIPE_OPERATIONS = (
    Create, Append, Overwrite, Delete, SetProperties, SetTransaction, SetDomain, RenameColumn,
    AddColumn, DropColumn, WidenColumn, Compact, Checkpoint,
)  # fmt: skip


def can_write(operation: Operation) -> bool:
    """Return whether published recipes lay an operation out in a commit of its own."""
    if isinstance(operation, Update):
        return not operation.computed
    return isinstance(operation, _RECIPE_OPERATIONS)


def apply_operation(  # noqa: C901, PLR0912  one branch per operation
    builder: TableBuilder, operation: Operation
) -> None:
    """Do one operation with a builder.

    Raises:
        ValueError: it is a second ``Create``, or rows do not fit.
    """
    match operation:
        case Create(rows=rows):
            if builder.version >= 0:
                raise ValueError("the table is already there")
            builder.create(rows)
        case Append(rows, rows_per_file):
            builder.append(rows, rows_per_file=rows_per_file)
        case Overwrite(rows, where):
            builder.overwrite(rows, predicate_of(where))
        case Delete(where, None):
            builder.delete(predicate_of(where))
        case Delete(where, "inline" | "file" as storage):
            builder.delete_rows(predicate_of(where), storage)
        case Update():
            builder.edit(operation.plan(builder.oracle), operation="UPDATE")
        case Merge():
            builder.edit(*operation.plan(builder.oracle))
        case Restore(version):
            builder.restore(version)
        case SetProperties(properties):
            builder.set_properties(properties)
        case SetTransaction(application, version):
            builder.set_transaction(application, version)
        case SetDomain(domain, None):
            former = builder.oracle.domains.get(domain, "")
            builder.set_domain(domain, former, removed=True)
        case SetDomain(domain, str() as configuration):
            builder.set_domain(domain, configuration)
        case UnsetProperties(names):
            for name in names:
                builder.properties.pop(name, None)
            builder.change_table()
        case RenameColumn(old, new, parent):
            wanted = operation.change(builder.schema)
            builder.change_table(schema=wanted, renamed={old: new}, parent=parent)
        case SetDefault():
            wanted = operation.change(builder.schema)
            builder.change_table(schema=wanted, features=("allowColumnDefaults",))
        case NoRowChange(version):
            if version:
                builder.commit([])
        case Compact():
            builder.compact()
        case Checkpoint(kind, sidecars):
            builder.checkpoint(kind, sidecars=sidecars)
        case _:
            builder.change_table(schema=operation.change(builder.schema))


def write_history(
    root: Path,
    history: History,
    *,
    features: tuple[str, ...] = (),
    layout: FileLayout | None = None,
    seed: str = "history",
    **options: Any,
) -> TableBuilder:
    """Write the table of a history below ``root`` and return its builder.

    Args:
        root: the table root, not there yet.
        history: the operations, :class:`~generators.oracle.operations.Create` first.
        features: table features to list beyond those of the history.
        layout: the layout of data files.
        seed: fixes every identifier.
        options: further options of :class:`~generators.materialise.builder.TableBuilder`.

    Raises:
        ValueError: the first operation is another one.
    """
    first = history[0]
    if not isinstance(first, Create):
        raise ValueError("a history begins with Create")  # noqa: TRY004  the order is wrong
    builder = TableBuilder(
        root,
        first.schema,
        partition_columns=first.partition_columns,
        properties=first.properties,
        features=(*first.features, *features),
        layout=layout,
        seed=seed,
        **options,
    )
    for operation in history:
        apply_operation(builder, operation)
    return builder
