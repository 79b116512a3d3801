"""Operations on rows: append, overwrite, delete.

Serves "Add File and Remove File" and the writer requirements of every feature about rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.filters import Node, bind_filter, evaluate
from reference_impl.snapshot import Snapshot
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import Struct
from reference_impl.write.changes import Changes
from reference_impl.write.incoming import prepare
from reference_impl.write.live_files import LiveFiles
from reference_impl.write.rules import Rules, rules_of
from reference_impl.write.transaction import Transaction

__all__ = ["Filter", "append", "bound", "delete", "overwrite", "update"]

Filter = Mapping[str, Any] | str | None
"""A filter tree, a Spark SQL predicate, or ``None`` for all rows."""


def bound(given: Filter, transaction: Transaction) -> Node | None:
    """Bind a filter to the schema of the version that is read."""
    if given is None:
        return None
    return bind_filter(given, transaction.read_target.schema)


def append(snapshot: Snapshot, rows: pa.Table) -> int:
    """Add rows, and give the version."""
    transaction = Transaction(snapshot.storage, snapshot, "WRITE", {"mode": "Append"})
    changes = Changes(transaction)
    changes.insert(prepare(transaction, rows))
    changes.finish()
    return transaction.commit()


def delete(snapshot: Snapshot, given: Filter = None) -> int:
    """Delete the rows for which a filter is true, and give the version.

    Where no row is deleted nothing is committed.
    """
    transaction = Transaction(snapshot.storage, snapshot, "DELETE", {"predicate": told(given)})
    changes = Changes(transaction)
    _delete_rows(transaction, changes, bound(given, transaction))
    if transaction.is_empty:
        return int(snapshot.version)
    changes.finish()
    return transaction.commit()


def overwrite(snapshot: Snapshot, rows: pa.Table, given: Filter = None) -> int:
    """Replace the rows for which a filter is true, all by default, and give the version.

    Raises:
        ConstraintViolation: a row that comes in does not match the filter.

    """
    parameters = {"mode": "Overwrite"} | ({} if given is None else {"predicate": told(given)})
    transaction = Transaction(snapshot.storage, snapshot, "WRITE", parameters)
    condition = bound(given, transaction)
    fresh = prepare(transaction, rows)
    if condition is not None:
        refuse_outside(fresh, condition)
    changes = Changes(transaction)
    _delete_rows(transaction, changes, condition)
    changes.insert(fresh)
    changes.finish()
    return transaction.commit()


def refuse_outside(rows: pa.Table, condition: Node) -> None:
    """Refuse rows for which a condition is not true: they would land beside what is replaced."""
    if not all(evaluate(condition, rows).fill_null(False).to_pylist()):  # noqa: FBT003  a value
        raise ConstraintViolation(
            "a row does not match the filter of the rows that are replaced",
            hint="append it, or widen the filter",
            requirement="SCH-001",
        )


def update(snapshot: Snapshot, values: Mapping[str, Any], given: Filter = None) -> int:
    """Set columns of the rows for which a filter is true, and give the version.

    Where no row is updated nothing is committed.

    Args:
        snapshot: the latest version.
        values: column to the value that it gets, as Arrow takes it for the column's type.
        given: which rows; all by default.

    Raises:
        SchemaMismatch: there is no such column, or a value does not fit its type.

    """
    transaction = Transaction(snapshot.storage, snapshot, "UPDATE", {"predicate": told(given)})
    condition = bound(given, transaction)
    changes = Changes(transaction)
    files = LiveFiles(snapshot, transaction.read_target)
    candidates = files.candidates(condition)
    transaction.read(condition, candidates)
    target = transaction.target
    scalars = _scalars(values, target.schema)
    _refuse_identities(rules_of(target), scalars)
    # What is generated follows from the other columns, unless it is set.
    kept = [n for n in target.schema.names if n in scalars or n not in rules_of(target).generated]
    for file in files.open(candidates):
        chosen = file.matching(condition)
        if chosen.any():
            rows = _assigned(file.take(chosen).select(kept), scalars)
            changes.update(file, chosen, prepare(transaction, rows, stored=True))
    if transaction.is_empty:
        return int(snapshot.version)
    changes.finish()
    return transaction.commit()


def _refuse_identities(rules: Rules, values: Mapping[str, Any]) -> None:
    for name in values:
        if name in rules.identities:
            raise ConstraintViolation(
                f"column {name} is an identity column, which is not updated",
                requirement="IDN-011",
            )


def _scalars(values: Mapping[str, Any], schema: Struct) -> dict[str, pa.Scalar]:
    folded = {f.name.lower(): f for f in schema.fields}
    found: dict[str, pa.Scalar] = {}
    for name, value in values.items():
        column = folded.get(name.lower())
        if column is None:
            raise SchemaMismatch(f"the table has no column {name!r} to set")
        try:
            found[column.name] = pa.scalar(value, arrow_type(column.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SchemaMismatch(
                f"the value for column {column.name} is no {column.type}: {str(error)[:200]}"
            ) from None
    return found


def _assigned(rows: pa.Table, values: Mapping[str, pa.Scalar]) -> pa.Table:
    for name, value in values.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, pa.field(name, value.type), pa.repeat(value, rows.num_rows))
    return rows


def told(given: Filter) -> str:
    """Spell a filter for the history."""
    return "[]" if given is None else str([given if isinstance(given, str) else str(dict(given))])


def _delete_rows(transaction: Transaction, changes: Changes, condition: Node | None) -> None:
    assert transaction.base is not None
    files = LiveFiles(transaction.base, transaction.read_target)
    candidates = files.candidates(condition)
    transaction.read(condition, candidates)
    if condition is None and not transaction.target.active("changeDataFeed"):
        # Nothing of a file has to be looked at when all of it goes.
        transaction.remove(candidates)
        return
    for file in files.open(candidates):
        chosen = file.matching(condition)
        if chosen.any() or (condition is None and not file.live.any()):
            changes.delete(file, chosen)
