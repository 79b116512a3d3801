"""Operations on columns."""

from __future__ import annotations

from typing import Any

from draws import DEFAULTS, EXTRAS, FEATURES, NAMES, WIDER, named
from hypothesis import strategies as st
from objections import (
    GENERATED,
    is_mapped,
    is_on,
    named_in_rule,
)

from generators.oracle.delta_schema import Array, DataType, Decimal, Field, Primitive, Struct
from generators.oracle.operations import (
    AddColumn,
    DropColumn,
    RenameColumn,
    ReorderColumns,
    SetComment,
    SetDefault,
    SetNullable,
    SetProperties,
    WidenColumn,
)
from rules.operation import only_if, operation
from rules.rows import RowRules

_CORE = frozenset(name for names in NAMES.values() for name in names)
_FIELDS = ("a", "b", "c", "d d")


def _spelled(of: DataType) -> str:
    return str(Field("_", of).to_json()["type"])


class ColumnRules(RowRules):
    """Add, rename, drop, reorder, widen; nullability and defaults; columns that cluster."""

    def ready(self, name: str, data: st.DataObject) -> bool:
        """Return whether a feature is on, after it was perhaps switched on."""
        key, value = next(iter(FEATURES[name].items()))
        if self.oracle.properties.get(key, "none") in ("none", "false") and data.draw(
            st.booleans()
        ):
            wanted = {key: value}
            self.attempt(lambda: self.table.set_properties(wanted), SetProperties(wanted))
        return self.oracle.properties.get(key, "none") not in ("none", "false")

    def loose(self) -> list[str]:
        """Return the columns that may go: those that not every table has."""
        return [name for name in self.schema.names if name not in _CORE]

    def _taken(self, name: str, names: tuple[str, ...], old: str = "") -> str | None:
        held = {each.lower() for each in names if each != old}
        return f"{name!r} is taken" if name.lower() in held else None

    @operation(2, name=st.sampled_from(sorted(EXTRAS)))
    def add_column(self, name: str) -> None:
        column = Field(name, EXTRAS[name])
        self.attempt(
            lambda: self.table.add_columns(Struct((column,)).to_json()),
            AddColumn(column),
            objection=self._taken(name, self.schema.names),
        )

    @operation(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        if not self.ready("mapping", data):
            return
        old = data.draw(st.sampled_from([n for n in self.schema.names if n != "id"]))
        pools = [names for names in NAMES.values() if old in names]
        new = data.draw(st.sampled_from(sorted(pools[0] if pools else ("x", "y", "w", "z z"))))
        if new == old:
            return
        moved = tuple((new, *path[1:]) if path[0] == old else path for path in self.clustered)
        self.attempt(
            lambda: self.table.rename_column(old, new),
            RenameColumn(old, new),
            objection=self._changed(old) or self._taken(new, self.schema.names, old),
            clustered=moved,
        )
        if old in self.marks and new in self.schema.names:
            self.marks[new] = self.marks[old]

    def _changed(self, name: str) -> str | None:
        """Object to a change of a column that files or rules know by its name."""
        if not is_mapped(self.oracle.properties):
            return "columns are not mapped"
        return named_in_rule(self.oracle, self.rules, name)

    @only_if(lambda self: self.loose())
    @operation(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.loose()))
        objection = self._changed(name)
        if name in self.oracle.partition_columns:
            objection = "it partitions the table"
        if any(path[0] == name for path in self.clustered):
            objection = "it clusters the table"
        self.attempt(lambda: self.table.drop_column(name), DropColumn(name), objection=objection)

    @operation(data=st.data())
    def reorder_columns(self, data: st.DataObject) -> None:
        names = data.draw(st.permutations(list(self.schema.names)))
        self.attempt(lambda: self.table.reorder_columns(names), ReorderColumns(tuple(names)))

    def structs(self) -> list[tuple[tuple[str, ...], Struct]]:
        """Return the structs inside columns, and the paths that lead to them."""
        found: list[tuple[tuple[str, ...], Struct]] = []
        for each in self.schema:
            match each.type:
                case Struct() as of:
                    found.append(((each.name,), of))
                case Array(Struct() as of):
                    found.append(((each.name, "element"), of))
                case _:
                    continue
        return found

    @only_if(lambda self: self.structs())
    @operation(data=st.data(), action=st.sampled_from(("add", "drop", "widen")))
    def change_field(self, data: st.DataObject, action: str) -> None:
        """Change a field of a struct."""
        parent, of = data.draw(st.sampled_from(self.structs()))
        new = data.draw(st.sampled_from(_FIELDS))
        old = data.draw(st.sampled_from(of.names))
        path = (*parent, old)
        if action == "add":
            # No file holds void in an array, so that no row could be written any more.
            kinds = ("byte", "string", "timestamp_ntz", "void")[: 4 if len(parent) == 1 else 3]
            kind = data.draw(st.sampled_from(kinds))
            column = Field(new, Primitive(kind))
            self.attempt(
                lambda: self.table.add_columns(Struct((column,)).to_json(), parent),
                AddColumn(column, parent),
                objection=self._taken(new, of.names),
            )
        elif action == "drop":
            left = [each for each in of if each.name != old and each.type != Primitive("void")]
            objection = self._changed(parent[0]) or (None if left else "it is the only one")
            if path in self.clustered:
                objection = "it clusters the table"
            self.attempt(
                lambda: self.table.drop_column(path),
                DropColumn(old, parent),
                objection=objection,
            )
        elif action == "widen":
            self._widen(data, of[old], parent)

    @only_if(lambda self: self.structs())
    @operation(2, data=st.data())
    def rename_field(self, data: st.DataObject) -> None:
        if not self.ready("mapping", data):
            return
        parent, of = data.draw(st.sampled_from(self.structs()))
        old = data.draw(st.sampled_from(of.names))
        new = data.draw(st.sampled_from([each for each in _FIELDS if each != old]))
        path = (*parent, old)
        done = self.attempt(
            lambda: self.table.rename_column(path, new),
            RenameColumn(old, new, parent),
            objection=self._changed(parent[0]) or self._taken(new, of.names, old),
            clustered=tuple((*parent, new) if p == path else p for p in self.clustered),
        )
        self.tally["field in a struct, renamed"] += done

    @operation(2, data=st.data())
    def change_type(self, data: st.DataObject) -> None:
        able = [each.name for each in self.schema if _spelled(each.type) in WIDER]
        names = able or list(self.schema.names)
        self.ready("widening", data)
        self._widen(data, self.schema[data.draw(st.sampled_from(names))], ())

    def _widen(self, data: st.DataObject, of: Field, parent: tuple[str, ...]) -> None:
        able = WIDER.get(_spelled(of.type), ())
        wrong = (Primitive("byte"), Decimal(3, 3))
        wider = data.draw(st.sampled_from((*able, *able, *able, *wrong)))
        if wider == of.type:
            return
        on = is_on(self.oracle.properties, "typeWidening") or of.type == Primitive("void")
        objection = None if on else "type widening is off"
        if wider not in able and of.type != Primitive("void"):
            objection = "no widening"
        path = (*parent, of.name)
        self.attempt(
            lambda: self.table.change_type(path, _spelled(wider)),
            WidenColumn(of.name, wider, parent),
            objection=objection or named_in_rule(self.oracle, self.rules, path[0]),
        )

    @operation(data=st.data(), nullable=st.booleans())
    def set_nullable(self, data: st.DataObject, nullable: bool) -> None:
        able = [
            each.name
            for each in self.schema
            if each.type != Primitive("void") and "delta.identity.start" not in each.metadata
        ]
        name = data.draw(st.sampled_from(able))
        self.attempt(
            lambda: self.table.set_nullable(name, nullable=nullable), SetNullable(name, nullable)
        )

    @operation(data=st.data())
    def set_comment(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(list(self.schema.names)))
        comment = data.draw(st.sampled_from(("", "of two words", 'a "quote"')))
        self.attempt(lambda: self.table.set_comment(name, comment), SetComment(name, comment))

    @operation(data=st.data())
    def set_default(self, data: st.DataObject) -> None:
        able = [
            each
            for each in self.schema
            if _spelled(each.type) in DEFAULTS
            and not {GENERATED, "delta.identity.start"} & set(each.metadata)
        ]
        of = data.draw(st.sampled_from(able))
        texts: list[Any] = [text for text, _ in DEFAULTS[_spelled(of.type)]]
        text = data.draw(st.sampled_from((*texts, None)))
        self.attempt(lambda: self.table.set_default(of.name, text), SetDefault(of.name, text))

    @operation(data=st.data())
    def cluster_by(self, data: st.DataObject) -> None:
        able = [(named(self.schema, role).name,) for role in ("id", "part", "n")]
        able += [(n,) for n in ("x", "at", "cost", "local") if n in self.schema.names]
        able += [
            (each.name, inner.name)
            for each in self.schema
            if isinstance(each.type, Struct)
            for inner in each.type
            if inner.type in (Primitive("byte"), Primitive("string"))
        ]
        paths = data.draw(st.lists(st.sampled_from(able), unique=True, max_size=2))
        self.attempt(
            lambda: self.table.cluster_by(paths),
            lambda _: None,
            objection="the table is partitioned" if self.oracle.partition_columns else None,
            clustered=tuple(paths),
        )
