"""Merge rows into a table: update, delete and insert in one version.

Implements "Add File and Remove File" and the writer requirements of every feature about rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.expressions.sql import Expression, parse_pair
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.arrow import from_arrow
from reference_impl.types.model import Struct
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.files.live_files import LiveFile, Mask
from reference_impl.write.predicates import truth
from reference_impl.write.rows.assignments import assign, refuse_identities
from reference_impl.write.rows.changes import Changes
from reference_impl.write.rows.clauses import (
    SOURCE,
    TARGET,
    Bound,
    Clauses,
    When,
    bind_clauses,
    check_clauses,
)
from reference_impl.write.rows.conform import conform
from reference_impl.write.rows.incoming import prepare
from reference_impl.write.rows.operations import is_recorded, record
from reference_impl.write.rows.rules import rules_of

_Places = npt.NDArray[np.int64]


def merge(
    snapshot: Snapshot,
    source: pa.Table,
    on: str | Sequence[str],
    clauses: Clauses | Sequence[When] | None,
    txn: tuple[str, int] | None = None,
) -> int:
    """Carry out :meth:`~reference_impl.table.Table.merge`."""
    if is_recorded(snapshot, txn):
        return int(snapshot.version)
    predicate = on if isinstance(on, str) else list(on)
    transaction = Transaction(snapshot, "MERGE", {"predicate": predicate})
    record(transaction, txn)
    run = _Merge.of(transaction, source, on, Clauses() if clauses is None else clauses)
    for file in transaction.open_files():
        run.change(file)
    run.insert()
    return run.changes.commit()


@dataclass(slots=True)
class _Merge:
    """The state of a merge.

    Attributes:
        transaction: what it is staged on.
        source: the source rows, in types that the table format has.
        given: the source rows in the table's types, where a clause takes them as they are.
        match: the condition on which rows match.
        bound: the clauses, by what they are for.
        changes: what happened so far.
        seen: which source rows matched.
    """

    transaction: Transaction
    source: pa.Table
    given: pa.Table | None
    match: Expression
    bound: Bound
    changes: Changes
    seen: Mask

    @classmethod
    def of(
        cls,
        transaction: Transaction,
        source: pa.Table,
        on: str | Sequence[str],
        clauses: Clauses | Sequence[When],
    ) -> _Merge:
        """Bind what is asked for to the schemas of both sides."""
        schema = transaction.target.schema
        whens = clauses.whens() if isinstance(clauses, Clauses) else tuple(clauses)
        check_clauses(whens)
        whole = any(w.values is None and w.action != "delete" for w in whens)
        given = conform(source, schema) if whole or not isinstance(on, str) else None
        if isinstance(on, str):
            columns = from_arrow(source.schema)
            source = conform(source, columns)
        else:
            assert given is not None
            source = given
            columns, on = _keys_equal(on, schema, {*given.column_names})
        relations = {TARGET: schema, SOURCE: columns}
        rules = rules_of(transaction.target)
        bound = bind_clauses(whens, schema, columns, rules)
        match = parse_pair(on, relations)
        seen = np.zeros(source.num_rows, np.bool_)
        return cls(transaction, source, given, match, bound, Changes(transaction), seen)

    def change(self, file: LiveFile) -> None:
        """Change the rows of one file."""
        live = np.flatnonzero(file.live)
        left, right = self.match.join(file.take(file.live), self.source)
        at, to = live[np.asarray(left)], np.asarray(right)
        self.seen[to] = True
        alone = np.setdiff1d(live, at)
        parts: list[tuple[_Places, pa.Table]] = []
        gone = np.zeros_like(file.live)
        pairs = {TARGET: file.rows.take(at), SOURCE: self.source.take(to)}
        for clauses, rows, places, fits in (
            (self.bound.matched, pairs, at, to),
            (self.bound.by_source, {TARGET: file.rows.take(alone)}, alone, None),
        ):
            plan = _deciding_clauses(clauses, rows)
            self._refuse_ambiguous(clauses, plan, places)
            for number, clause in enumerate(clauses):
                chosen = np.flatnonzero(plan == number)
                if clause.when.action == "delete":
                    gone[places[chosen]] = True
                elif chosen.size:
                    picked = {name: part.take(chosen) for name, part in rows.items()}
                    source_rows = None if fits is None else fits[chosen]
                    parts.append((places[chosen], self._updated(clause, picked, source_rows)))
        if parts:
            places = np.concatenate([p for p, _ in parts])
            fresh = pa.concat_tables([part for _, part in parts]).take(np.argsort(places))
            hits = np.zeros_like(file.live)
            hits[places] = True
            self.changes.change(file, hits, fresh, gone)
        elif gone.any():
            self.changes.delete(file, gone)

    def insert(self) -> None:
        """Insert what no row of the table matched."""
        fresh = np.flatnonzero(~self.seen)
        rows = {SOURCE: self.source.take(fresh)}
        plan = _deciding_clauses(self.bound.not_matched, rows)
        schema = self.transaction.target.schema
        for number, clause in enumerate(self.bound.not_matched):
            chosen = np.flatnonzero(plan == number)
            if not chosen.size:
                continue
            picked = {SOURCE: rows[SOURCE].take(chosen)}
            if clause.values is None:
                assert self.given is not None
                made = self.given.take(fresh[chosen])
            else:
                empty = pa.table({"": pa.nulls(chosen.size)})
                made = assign(empty, clause.values, schema, picked)
                made = made.drop_columns([""])
            self.changes.insert(prepare(self.transaction, made))

    def _updated(
        self, clause: Any, pairs: dict[str, pa.Table], source_rows: _Places | None
    ) -> pa.Table:
        """Return rows of the table as a clause changes them."""
        target = self.transaction.target
        held, schema, rules = pairs[TARGET], target.schema, rules_of(target)
        given = None
        if clause.values is None:
            assert self.given is not None
            given = self.given.take(source_rows)
        own = {*(clause.values if given is None else given.column_names)}
        names = [n for n in schema.names if n in own or n not in rules.generated]
        if given is None:
            rows = assign(held.select(names), clause.values, schema, pairs)
        else:
            refuse_identities(rules, own, given, held)
            rows = pa.table([(given if n in own else held).column(n) for n in names], names=names)
        return prepare(self.transaction, rows, stored=True)

    def _refuse_ambiguous(self, clauses: Any, plan: _Places, places: _Places) -> None:
        """Refuse a merge in which several source rows change one row; all may delete it."""
        acts = plan < len(clauses)
        if all(clauses[number].when.action == "delete" for number in np.unique(plan[acts])):
            return
        _, counts = np.unique(places[acts], return_counts=True)
        if (counts > 1).any():
            raise ConstraintViolation(
                f"several source rows match one row of the table: {int(counts.max())} do",
                hint="make the source unique, or the condition narrower",
            )


def _deciding_clauses(clauses: Any, rows: dict[str, pa.Table]) -> _Places:
    """Return the index of the first clause that applies to each row; their number for none."""
    length = next(iter(rows.values())).num_rows
    plan = np.full(length, len(clauses))
    for number, clause in enumerate(clauses):
        free = np.flatnonzero(plan == len(clauses))
        if clause.condition is not None:
            picked = {name: part.take(free) for name, part in rows.items()}
            free = free[truth(clause.condition.evaluate(picked), clause.condition.text)]
        plan[free] = number
    return plan


def _keys_equal(keys: Sequence[str], schema: Struct, names: set[str]) -> tuple[Struct, str]:
    """Return the columns of some names, and the condition that keys are equal, in Spark SQL."""
    columns = Struct(tuple(f for f in schema.fields if f.name in names))
    for name in keys:
        if schema.get(name) is None or columns.get(name) is None:
            raise SchemaMismatch(f"key {name!r} is not a column of both the table and the source")
    if not keys:
        raise SchemaMismatch("a merge needs a key")
    quoted = ["`" + name.replace("`", "``") + "`" for name in keys]
    return columns, " AND ".join(f"{TARGET}.{name} = {SOURCE}.{name}" for name in quoted)
