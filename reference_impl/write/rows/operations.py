"""Operations on rows: append, overwrite, delete, update.

Implements "Add File and Remove File" and the writer requirements of every feature about rows. Each
function carries out the method of its name of :class:`~reference_impl.table.Table`, which says
what it raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from reference_impl.errors import ConstraintViolation
from reference_impl.expressions.sql import parse_expression
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.files.live_files import LiveFile
from reference_impl.write.predicates import Filter, Predicate, bind_predicate
from reference_impl.write.rows.assignments import assign, parse_assignments, refuse_identities
from reference_impl.write.rows.changes import Changes
from reference_impl.write.rows.incoming import prepare
from reference_impl.write.rows.rules import rules_of


def _predicate(filter: Filter, transaction: Transaction) -> Predicate | None:
    """Bind a filter to the schema of the version that is read."""
    return bind_predicate(filter, transaction.read_target.schema)


def is_recorded(snapshot: Snapshot, txn: tuple[str, int] | None) -> bool:
    """Return whether a table has recorded the progress of an application already."""
    held = None if txn is None else snapshot.txns.get(txn[0])
    return txn is not None and held is not None and held.version >= txn[1]


def record(transaction: Transaction, txn: tuple[str, int] | None) -> None:
    """Stage the progress of an application, if any, so that it is committed with the rows."""
    # Obeys TXN-004.
    if txn is not None:
        transaction.set_txn(*txn)


def append(snapshot: Snapshot, rows: pa.Table, txn: tuple[str, int] | None = None) -> int:
    """Add rows, and the progress of an application with them, and return the version.

    Nothing is committed where the table has recorded that progress already.
    """
    if is_recorded(snapshot, txn):
        return int(snapshot.version)
    transaction = Transaction(snapshot, "WRITE", {"mode": "Append"})
    record(transaction, txn)
    changes = Changes(transaction)
    changes.insert(prepare(transaction, rows))
    return changes.commit()


def delete(snapshot: Snapshot, filter: Filter, txn: tuple[str, int] | None = None) -> int:
    """Delete the rows for which a filter is true, and return the version.

    Where no row is deleted nothing is committed but the progress of an application.
    """
    if is_recorded(snapshot, txn):
        return int(snapshot.version)
    transaction = Transaction(snapshot, "DELETE", {"predicate": predicate_for_history(filter)})
    record(transaction, txn)
    changes = Changes(transaction)
    _delete_rows(transaction, changes, _predicate(filter, transaction))
    return changes.commit()


def overwrite(
    snapshot: Snapshot, rows: pa.Table, filter: Filter, txn: tuple[str, int] | None
) -> int:
    """Replace the rows for which a filter is true, all by default, and return the version.

    The progress of an application is recorded as :func:`append` does.
    """
    if is_recorded(snapshot, txn):
        return int(snapshot.version)
    transaction = Transaction(
        snapshot, "WRITE", {"mode": "Overwrite", "predicate": predicate_for_history(filter)}
    )
    record(transaction, txn)
    predicate = _predicate(filter, transaction)
    fresh = prepare(transaction, rows)
    if predicate is not None:
        refuse_outside(fresh, predicate)
    changes = Changes(transaction)
    _delete_rows(transaction, changes, predicate)
    changes.insert(fresh)
    return changes.commit()


def refuse_outside(rows: pa.Table, predicate: Predicate) -> None:
    """Refuse rows outside of the predicate of an overwrite.

    Raises:
        ConstraintViolation: a row does not match the predicate.
    """
    if not predicate.holds(rows).all():
        raise ConstraintViolation(
            "a row does not match the filter of the rows that are replaced",
            hint="append it, or widen the filter",
            requirement="SCH-001",
        )


def update(
    snapshot: Snapshot,
    values: Mapping[str, Any],
    filter: Filter,
    txn: tuple[str, int] | None = None,
) -> int:
    """Set columns of the rows for which a filter is true, and return the version.

    Where no row is updated nothing is committed but the progress of an application.
    """
    if is_recorded(snapshot, txn):
        return int(snapshot.version)
    transaction = Transaction(snapshot, "UPDATE", {"predicate": predicate_for_history(filter)})
    record(transaction, txn)
    predicate = _predicate(filter, transaction)
    changes = Changes(transaction)
    schema, rules = transaction.target.schema, rules_of(transaction.target)
    assigned = parse_assignments(values, schema, partial(parse_expression, schema=schema))
    refuse_identities(rules, assigned)
    # Generated columns are recomputed, unless they are set.
    kept = [n for n in schema.names if n in assigned or n not in rules.generated]
    for file in _open(transaction, predicate):
        chosen = file.matching(predicate)
        if chosen.any():
            held = file.take(chosen)
            rows = assign(held.select(kept), assigned, schema, held)
            changes.update(file, chosen, prepare(transaction, rows, stored=True))
    return changes.commit()


def predicate_for_history(filter: Filter) -> str:
    """Format a filter as the ``predicate`` of ``commitInfo``."""
    if filter is None:
        return "[]"
    return str([filter if isinstance(filter, str) else str(dict(filter))])


def _open(transaction: Transaction, predicate: Predicate | None) -> Iterator[LiveFile]:
    return transaction.open_files(None if predicate is None else predicate.node)


def _delete_rows(transaction: Transaction, changes: Changes, predicate: Predicate | None) -> None:
    # Obeys DVD-017.
    if predicate is None and not transaction.target.active("changeDataFeed"):
        # Files that are removed whole need not be read.
        transaction.remove_all()
        return
    for file in _open(transaction, predicate):
        chosen = file.matching(predicate)
        if chosen.any() or (predicate is None and not file.live.any()):
            changes.delete(file, chosen)
