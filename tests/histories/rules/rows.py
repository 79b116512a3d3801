"""Operations on rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from beside import SideBySide
from completion import completed, identities, inserted, updated
from draws import (
    NUMBERS,
    PARTS,
    ROWS,
    SEEDS,
    DrawnRow,
    clauses,
    named,
    number,
    ons,
    trees,
    value_of,
)
from hypothesis import strategies as st
from objections import generations

from conformance.adapters.sql.text import SPARK, render
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Field, Struct
from generators.oracle.filters import column, evaluate, node
from generators.oracle.literals import literal
from generators.oracle.operations import Append, Delete, Merge, MergeClause, Overwrite, Tree, Update
from reference_impl import Sql, When
from rules.operation import only_if, operation

_SIDES = frozenset({"target", "source"})


def _arithmetic(tree: Tree) -> bool:
    return tree.get("op") in ("+", "-", "*") or any(map(_arithmetic, tree.get("args", ())))


class RowRules(SideBySide):
    """Append, overwrite, delete, update, merge."""

    def bring(
        self, drawn: list[DrawnRow], omit: Iterable[str] = ()
    ) -> tuple[list[dict[str, Any]], pa.Table]:
        """Return rows in the columns that a user gives, as they are and as Arrow."""
        roles = {named(self.schema, role).name: at for at, role in enumerate(("id", "part", "n"))}
        made = {*generations(self.schema), *identities(self.schema), *omit}
        given = [
            {
                each.name: row[roles[each.name]]
                if each.name in roles
                else value_of(each.type, row[3])
                for each in self.schema
                if each.name not in made
            }
            for row in drawn
        ]
        columns = [Field(f.name, f.type) for f in self.schema if f.name not in made]
        return given, arrow_table(Struct(tuple(columns)), given)

    def omitted(self, data: st.DataObject) -> tuple[str, ...]:
        """Draw columns that rows leave out."""
        able = sorted(set(self.schema.names) - {named(self.schema, "id").name})
        if data.draw(st.integers(0, 2)):
            return ()
        return tuple(sorted(data.draw(st.sets(st.sampled_from(able), max_size=3))))

    def landed(self, given: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        """Return rows as the table completes them."""
        return completed(self.schema, self.rules, given, self.oracle.partition_columns)

    def chosen(self, data: st.DataObject) -> tuple[Tree | None, Any]:
        """Draw a filter: as a tree, and as the writer is wanted."""
        tree = data.draw(trees(self.schema))
        if tree is not None and (_arithmetic(tree) or data.draw(st.booleans())):
            return tree, render(tree, SPARK)
        return tree, tree

    @operation(4, rows=ROWS, data=st.data())
    def append(self, rows: list[DrawnRow], data: st.DataObject) -> None:
        given, table = self.bring(rows, self.omitted(data))
        self.attempt(lambda: self.table.append(table), Append(self.landed(given)))

    @only_if(lambda self: generations(self.schema))
    @operation(2, rows=ROWS, off=st.sampled_from((0, 0, 1)))
    def append_generated(self, rows: list[DrawnRow], off: int) -> None:
        """Give a value to a generated column, right or wrong."""
        made = sorted(generations(self.schema))
        given, _ = self.bring(rows)
        full = [
            {**row, **{name: whole[name] for name in made}}
            for row, whole in zip(given, self.landed(given), strict=True)
        ]
        if off and full[0][made[0]] is not None:
            full[0][made[0]] += off
        columns = [Field(f.name, f.type) for f in self.schema if f.name in full[0]]
        table = arrow_table(Struct(tuple(columns)), full)
        self.attempt(lambda: self.table.append(table), Append(self.landed(full)))

    @only_if(lambda self: identities(self.schema))
    @operation(1, rows=ROWS, first=st.integers(-30, 30))
    def append_identity(self, rows: list[DrawnRow], first: int) -> None:
        """Give a value to an identity column, whether that is allowed or not."""
        for name in identities(self.schema):
            given, _ = self.bring(rows)
            full = [{**row, name: first + at} for at, row in enumerate(given)]
            columns = [Field(f.name, f.type) for f in self.schema if f.name in full[0]]
            table = arrow_table(Struct(tuple(columns)), full)
            allowed = self.schema[name].metadata["delta.identity.allowExplicitInsert"]
            self.attempt(
                lambda table=table: self.table.append(table),  # type: ignore[misc]
                Append(self.landed(full)),
                objection=None if allowed else "identity values are not given",
            )

    @operation(2, data=st.data())
    def delete(self, data: st.DataObject) -> None:
        tree, wanted = self.chosen(data)
        self.attempt(lambda: self.table.delete(wanted), Delete(tree), free=self._is_bare())

    def _is_bare(self) -> bool:
        """Return whether files may be there that hold no row any more."""
        return self.oracle.properties.get("delta.appendOnly") == "true"

    @operation(4, data=st.data(), value=NUMBERS, part=PARTS, seed=SEEDS)
    def update(self, data: st.DataObject, value: Any, part: Any, seed: int | None) -> None:
        tree, wanted = self.chosen(data)
        ids, parts, numbers = (named(self.schema, role).name for role in ("id", "part", "n"))
        ways: dict[str, dict[str, Any]] = {
            "number": {numbers: value},
            "part": {parts: part},
            "both": {numbers: value, parts: part},
            "next": {numbers: node("+", column(numbers), number(self.schema[numbers], 1))},
            "move": {ids: node("+", column(ids), literal("long", 1)), parts: part},
            "swap": {numbers: value, ids: column(ids)},
        }
        for each in self.schema:
            if each.name not in (ids, parts, numbers):
                ways[f"= {each.name}"] = {each.name: value_of(each.type, seed)}
        values = ways[data.draw(st.sampled_from(sorted(ways)))]
        computed = {n: v for n, v in values.items() if isinstance(v, dict) and _is_tree(v)}
        constant = {n: v for n, v in values.items() if n not in computed}
        assigned = {n: self._literal(n, v) for n, v in constant.items()} | computed
        made = updated(self.schema, self.rules, assigned)
        made = {name: each for name, each in made.items() if name not in constant}
        identity = sorted(set(values) & set(identities(self.schema)))
        self.attempt(
            lambda: self.table.update(
                {**constant, **{n: Sql(render(t, SPARK)) for n, t in computed.items()}}, wanted
            ),
            Update(constant, tree, made),
            objection=f"{identity} are not updated" if identity else None,
            free=self._is_bare(),
        )

    def _literal(self, name: str, value: Any) -> Tree:
        """Return a value as a tree; of a column that no expression looks at any tree does."""
        of = self.schema[name]
        if name == named(self.schema, "n").name:
            return number(of, value)
        return literal("string", value if isinstance(value, str) else None)

    @operation(3, rows=ROWS, data=st.data())
    def overwrite(self, rows: list[DrawnRow], data: st.DataObject) -> None:
        given, table = self.bring(rows, self.omitted(data))
        landed = self.landed(given)
        tree, wanted = (None, None) if data.draw(st.booleans()) else self.chosen(data)
        stray = tree is not None and any(evaluate(tree, row) is not True for row in landed)
        self.attempt(
            lambda: self.table.overwrite(table, wanted),
            Overwrite(landed, tree),
            objection="a row does not match the filter" if stray else None,
            free=self._is_bare(),
        )

    @operation(6, rows=ROWS, data=st.data())
    def merge(self, rows: list[DrawnRow], data: st.DataObject) -> None:
        self._merged(rows, data)

    def _merged(self, rows: list[DrawnRow], data: st.DataObject) -> None:
        given, table = self.bring(rows, self.omitted(data))
        on = data.draw(ons(self.schema))
        drawn = data.draw(clauses(self.schema))
        known = set(table.column_names)
        looked = [on, *(condition for _, _, condition, _ in drawn if condition)]
        looked += [tree for *_, values in drawn for tree in (values or {}).values()]
        if any(name not in known for tree in looked for name in _of_source(tree)):
            return
        whens, model = [], []
        for match, action, condition, values in drawn:
            whens.append(
                When(
                    match,  # type: ignore[arg-type]
                    action,  # type: ignore[arg-type]
                    None if condition is None else render(condition, SPARK, _SIDES),
                    None
                    if values is None
                    else {name: Sql(render(tree, SPARK, _SIDES)) for name, tree in values.items()},
                )
            )
            wanted = values
            if values is None and action != "delete":
                wanted = {name: column("source", name) for name in table.column_names}
            if wanted is not None:
                wanted = (
                    inserted(self.schema, self.rules, wanted)
                    if action == "insert"
                    else updated(self.schema, self.rules, wanted, ("target",))
                )
            model.append(MergeClause(match, action, condition, wanted))  # type: ignore[arg-type]
        done = self.attempt(
            lambda: self.table.merge(table, render(on, SPARK, _SIDES), whens),
            Merge(tuple(given), on, tuple(model)),
            free=self._is_bare(),
        )
        if done:
            self.tally.update(
                f"clause {when.match} {when.action}{' on condition' if when.condition else ''}"
                for when in whens
            )

    @operation(3, rows=st.one_of(st.just([]), ROWS), data=st.data())
    def merge_few(self, rows: list[DrawnRow], data: st.DataObject) -> None:
        """Merge no or few rows: of all operations this one goes the most ways."""
        self._merged(rows[:1], data)


def _is_tree(value: dict[str, Any]) -> bool:
    return bool({"op", "column"} & set(value))


def _of_source(tree: Tree) -> Iterable[str]:
    if "column" in tree:
        return [tree["column"][1]] if tree["column"][0] == "source" else []
    return [name for each in tree.get("args", ()) for name in _of_source(each)]
