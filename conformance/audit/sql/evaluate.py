"""Evaluate an expression over rows, in the logic of three values (section CHECK Constraints).

Every node of the tree must be in :data:`_MEANINGS`, with no part but those named there: what it
gives there is the same in every version and mode of Spark. Anything else is uncertain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at
from sqlglot import exp

from conformance.audit.sql.errors import Uncertain
from conformance.audit.sql.text import absent, name_of, tree_of, used
from conformance.audit.sql.values import Value, as_type, common, equal, nothing, number
from reference_impl.limits import budget, exceeded

_Args: TypeAlias = list[Value]
_ASCII: Final = "letters beyond ASCII differ between versions"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over the columns of a table.

    Attributes:
        columns: top-level columns that it uses, as the schema writes them.
        names: what it names, parts of a path each, as it spells them.
    """

    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    _tree: exp.Expression

    @classmethod
    def of(cls, text: str, columns: Iterable[str]) -> Expression:
        """Parse an expression over the columns of a schema.

        Args:
            text: in SQL.
            columns: their names; for many expressions a mapping to them from lower case.

        Raises:
            Malformed: the text is no SQL.
            NoColumn: it names a column that there is not.
            Uncertain: it uses something whose meaning is not certain.
        """
        tree = tree_of(text)
        if not isinstance(columns, Mapping):
            columns = {name.lower(): name for name in columns}
        try:
            for node in _nodes(tree):
                _known(node)
        except Uncertain:
            # Whatever a function gives, what it is called with are columns.
            absent(tree, columns)
            raise
        names = dict.fromkeys(filter(None, map(name_of, _nodes(tree))))
        return cls(used(tree, columns), tuple(names), tree)

    @property
    def of_days(self) -> bool:
        """Whether it takes a day, or a part of its date, from a column and does nothing else."""
        return all(name_of(node) or _is_of_days(node) for node in _nodes(self._tree))

    def evaluate(self, rows: pa.Table) -> pa.Array:
        """Evaluate over rows, one value a row.

        Raises:
            Uncertain: what it gives for these rows is not certain.
            LimitExceeded: it takes more time or memory than the limits allow.
        """
        held = {name.lower(): rows.column(name).combine_chunks() for name in rows.column_names}
        until = time.monotonic() + budget().limits.sql_seconds
        done: list[Value] = []
        size = 0
        open_ = [(self._tree, False)]
        while open_:
            if time.monotonic() > until:
                raise exceeded("sql_seconds", "an SQL expression is not done")
            node, ready = open_.pop()
            parts = _parts(node)
            if parts and not ready:
                open_.append((node, True))
                open_ += [(part, False) for part in reversed(parts)]
                continue
            args = done[len(done) - len(parts) :]
            del done[len(done) - len(parts) :]
            size -= sum(map(_size, args))
            try:
                done.append(_value(node, args, held, rows.num_rows))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
                raise Uncertain(str(error)[:200]) from None
            size += _size(done[-1])
            if size > budget().limits.sql_memory:
                raise exceeded("sql_memory", f"the parts of an SQL expression take {size} bytes")
        [value] = done
        return pa.repeat(value, rows.num_rows) if isinstance(value, pa.Scalar) else value


def _is_of_days(node: exp.Expression) -> bool:
    if isinstance(node, exp.Cast):
        return bool(node.args["to"].this.name == "DATE")
    return isinstance(node, _DAY_EXPRESSIONS)


_DAY_EXPRESSIONS: Final = (
    exp.Paren,
    exp.TsOrDsToDate,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.DayOfMonth,
)


def _size(value: Value) -> int:
    return 0 if isinstance(value, pa.Scalar) else int(value.nbytes)


def _nodes(tree: exp.Expression) -> Iterator[exp.Expression]:
    open_ = [tree]
    while open_:
        node = open_.pop()
        yield node
        open_ += _parts(node)


def _known(node: exp.Expression) -> None:
    if name_of(node):
        return
    allowed = _MEANINGS.get(type(node))
    foreign = allowed is None or any(
        bool(value) and key not in (*allowed[0], *_IGNORED) for key, value in node.args.items()
    )
    if foreign:
        name = f": {node.name[:100]}" if node.name else ""
        raise Uncertain(f"it uses {type(node).__name__}{name}")


_IGNORED: Final = frozenset({"safe", "coalesce", "ignore_nulls", "is_string", "negate", "to"})
"""Facts about a node that are looked at where they matter."""


def _parts(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a node, in the order in which its meaning takes them."""
    if name_of(node):
        return []
    if isinstance(node, exp.Case):
        whens = [part for each in node.args["ifs"] for part in (each.this, each.args["true"])]
        outer = [node.this] if node.this is not None else []
        rest = node.args.get("default")
        return [*outer, *whens, *([rest] if rest is not None else [])]
    keys = _MEANINGS.get(type(node), ((), None))[0]
    found: list[exp.Expression] = []
    for key in keys:
        value = node.args.get(key)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return [each for each in found if isinstance(each, exp.Expression)]


def _value(node: exp.Expression, args: _Args, held: Mapping[str, pa.Array], count: int) -> Value:
    parts = name_of(node)
    if parts:
        return _field(held[parts[0].lower()], parts[1:])
    _room(args, count)
    meaning = _MEANINGS[type(node)][1]
    return meaning(node, args)


def _field(values: Value, parts: tuple[str, ...]) -> Value:
    for name in parts:
        fields = list(values.type) if at.is_struct(values.type) else []
        found = [i for i, each in enumerate(fields) if each.name.lower() == name.lower()]
        if len(found) != 1:
            raise Uncertain(f"{name} is not one field of a struct")
        values = pc.struct_field(values, found)
    return values


def _room(args: _Args, count: int) -> None:
    """Refuse to put more text together at once than the limits allow."""
    size = 0
    for value in args:
        if at.is_string(value.type):
            alone = isinstance(value, pa.Scalar)
            size += count * len((value.as_py() or "").encode()) if alone else value.nbytes
    if size > budget().limits.sql_memory:
        raise exceeded("sql_memory", f"an SQL expression builds {size} bytes of text at once")


def same_as(held: Value, values: Value) -> pa.Array:
    """Return for each row whether a generated column has what its expression gives; never null.

    Raises:
        Uncertain: a value is not exactly one of the column's type.
    """
    try:
        return _same(None, [held, as_type(values, held.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Uncertain(str(error)[:200]) from None


def _logic(value: Value) -> Value:
    if nothing(value):
        return as_type(value, pa.bool_())
    if not at.is_boolean(value.type):
        raise Uncertain(f"{value.type} is no condition")
    return value


def _compared(how: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    return lambda _, args: how(*common(*args))


def _less(one: Value, other: Value) -> Value:
    if nothing(one):
        return pa.scalar(None, pa.bool_())
    if at.is_nested(one.type):
        raise Uncertain(f"values of type {one.type} are not compared")
    below = pc.less(one, other)
    if at.is_floating(one.type):
        # A NaN is above every number.
        below = pc.or_(below, pc.and_(pc.invert(pc.is_nan(one)), pc.is_nan(other)))
    return below


def _same(_: Any, args: _Args) -> Value:
    one, other = common(*args)
    if nothing(one):
        return pa.scalar(value=True)
    both = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(pc.fill_null(equal(one, other), fill_value=False), both)


def _among(_: Any, args: _Args) -> Value:
    first, *choices = args
    found: Value = pa.scalar(value=False)
    for choice in choices:
        found = pc.or_kleene(found, equal(*common(first, choice)))
    return found


def _between(_: Any, args: _Args) -> Value:
    value, low, high = args
    above = pc.invert(_less(*common(value, low)))
    return pc.and_kleene(above, pc.invert(_less(*common(high, value))))


def _is(node: exp.Expression, args: _Args) -> Value:
    if isinstance(node.expression, exp.Null):
        return pc.is_null(args[0])
    if not isinstance(node.expression, exp.Boolean):
        raise Uncertain("IS with another word")
    return _same(node, [_logic(args[0]), args[1]])


def _like(node: exp.Expression, args: _Args) -> Value:
    if not isinstance(node.expression, exp.Literal) or not at.is_string(args[0].type):
        raise Uncertain("a pattern that is no literal")
    found = pc.match_like(args[0], args[1].as_py())
    return pc.invert(found) if node.args.get("negate") else found


_ARITHMETIC_KERNELS: Final[Mapping[type[exp.Expression], str]] = {
    exp.Add: "add_checked",
    exp.Sub: "subtract_checked",
    exp.Mul: "multiply_checked",
}


def _numbers(args: _Args) -> _Args:
    types = [value.type for value in args if not nothing(value)]
    if not all(at.is_integer(of) or at.is_decimal(of) or at.is_floating(of) for of in types):
        raise Uncertain("arithmetic of other values than numbers")
    single = [at.is_float32(of) for of in types]
    if any(single) and not all(single):
        raise Uncertain("modes differ in what float and another number give")
    if any(map(at.is_floating, types)) or all(map(at.is_integer, types)):
        return common(*args)
    return [as_type(v, common(v, pa.scalar(None, pa.decimal128(1, 0)))[0].type) for v in args]


def _arithmetic(node: exp.Expression, args: _Args) -> Value:
    one, other = _numbers(args)
    if nothing(one):
        raise Uncertain("arithmetic of nulls alone")
    name = _ARITHMETIC_KERNELS[type(node)]
    return pc.call_function(name.removesuffix("_checked") if at.is_floating(one.type) else name,
                            [one, other])  # fmt: skip


def _mod(_: Any, args: _Args) -> Value:
    one, other = _numbers(args)
    if not at.is_integer(one.type):
        raise Uncertain("the rest of a division of fractions")
    return pc.subtract(one, pc.multiply(pc.divide_checked(one, other), other))


def _of_number(name: str) -> Callable[..., Value]:
    return lambda _, args: pc.call_function(name, _numbers(args))


def _if(_: Any, args: _Args) -> Value:
    condition, *choices = args
    yes, no = common(*choices, *([pa.scalar(None)] if len(choices) == 1 else []))
    return pc.if_else(pc.fill_null(_logic(condition), fill_value=False), yes, no)


def _case(node: exp.Expression, args: _Args) -> Value:
    operand = args.pop(0) if node.this is not None else None
    otherwise = args.pop() if len(args) % 2 else pa.scalar(None)
    results = common(*args[1::2], otherwise)
    found = results.pop()
    for when, then in reversed(list(zip(args[::2], results, strict=True))):
        holds = _logic(when) if operand is None else equal(*common(operand, when))
        found = pc.if_else(pc.fill_null(holds, fill_value=False), then, found)
    return found


def _nullif(_: Any, args: _Args) -> Value:
    same = pc.fill_null(equal(*common(*args)), fill_value=False)
    return pc.if_else(same, pa.scalar(None, args[0].type), args[0])


def _extreme(name: str) -> Callable[..., Value]:
    def meaning(_: Any, args: _Args) -> Value:
        values = common(*args)
        if at.is_floating(values[0].type) or at.is_nested(values[0].type):
            raise Uncertain("the greatest or least of such values")
        return pc.call_function(name, values)

    return meaning


def _texts(args: _Args) -> _Args:
    if not all(at.is_string(value.type) for value in args):
        raise Uncertain("how another value is spelled differs between versions")
    return args


def _ascii(name: str) -> Callable[..., Value]:
    def meaning(_: Any, args: _Args) -> Value:
        [value] = _texts(args)
        plain = pc.string_is_ascii(value)
        if (plain if isinstance(plain, pa.Scalar) else pc.all(plain)).as_py() is False:
            raise Uncertain(_ASCII)
        return pc.call_function(name, [value])

    return meaning


def _concat(_: Any, args: _Args) -> Value:
    return pc.binary_join_element_wise(*_texts(args), "", null_handling="emit_null")


def _substring(node: exp.Expression, args: _Args) -> Value:
    bounds = [node.args.get("start"), node.args.get("length")]
    numbers = [args[at_] for at_, each in enumerate(bounds, 1) if isinstance(each, exp.Literal)]
    wanted = [each for each in bounds if each is not None]
    if len(numbers) != len(wanted) or not all(at.is_integer(each.type) for each in numbers):
        raise Uncertain("a part of text whose bounds are computed")
    start, *length = (each.as_py() for each in numbers)
    if start < 1:
        raise Uncertain("a part of text before its start")
    stop = start - 1 + length[0] if length else None
    return pc.utf8_slice_codeunits(_texts(args[:1])[0], start - 1, stop)


def _starts(node: exp.Expression, args: _Args) -> Value:
    if not isinstance(node.expression, exp.Literal):
        raise Uncertain("a beginning that is no literal")
    text, beginning = _texts(args)
    return pc.starts_with(text, beginning.as_py())


_TARGETS: Final = {
    "BIGINT": pa.int64(), "INT": pa.int32(), "SMALLINT": pa.int16(), "TINYINT": pa.int8(),
    "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "TEXT": pa.string(),
    "TIMESTAMPNTZ": pa.timestamp("us"),
}  # fmt: skip


def _cast(node: exp.Expression, args: _Args) -> Value:
    name, sizes = node.args["to"].this.name, [int(p.name) for p in node.args["to"].expressions]
    if name == "DECIMAL" and len(sizes) <= 2:
        precision, scale = (*(sizes or [10]), 0)[:2]
        return as_type(args[0], pa.decimal128(precision, scale))
    if name not in _TARGETS or sizes:
        raise Uncertain(f"a cast to {name}")
    return as_type(args[0], _TARGETS[name])


def _literal(node: exp.Expression, _: _Args) -> Value:
    return pa.scalar(node.name, pa.string()) if node.args["is_string"] else number(node.name)


def _date(_: Any, args: _Args) -> Value:
    return as_type(args[0], pa.date32())


def _part(name: str) -> Callable[..., Value]:
    return lambda node, args: pc.call_function(name, [_date(node, args)]).cast(pa.int32())


_ONE: Final = ("this",)
_TWO: Final = ("this", "expression")
_LIST: Final = ("this", "expressions")
_MEANINGS: Final[Mapping[type[exp.Expression], tuple[tuple[str, ...], Callable[..., Value]]]] = {
    exp.Paren: (_ONE, lambda _, args: args[0]),
    exp.Literal: (_ONE, _literal),
    exp.Null: ((), lambda *_: pa.scalar(None)),
    exp.Boolean: (_ONE, lambda node, _: pa.scalar(bool(node.this))),
    exp.And: (_TWO, lambda _, args: pc.and_kleene(*map(_logic, args))),
    exp.Or: (_TWO, lambda _, args: pc.or_kleene(*map(_logic, args))),
    exp.Not: (_ONE, lambda _, args: pc.invert(_logic(args[0]))),
    exp.EQ: (_TWO, _compared(equal)),
    exp.NEQ: (_TWO, _compared(lambda one, other: pc.invert(equal(one, other)))),
    exp.LT: (_TWO, _compared(_less)),
    exp.GT: (_TWO, _compared(lambda one, other: _less(other, one))),
    exp.LTE: (_TWO, _compared(lambda one, other: pc.invert(_less(other, one)))),
    exp.GTE: (_TWO, _compared(lambda one, other: pc.invert(_less(one, other)))),
    exp.NullSafeEQ: (_TWO, _same),
    exp.NullSafeNEQ: (_TWO, lambda node, args: pc.invert(_same(node, args))),
    exp.Is: (_TWO, _is),
    exp.In: (_LIST, _among),
    exp.Between: (("this", "low", "high"), _between),
    exp.Like: (_TWO, _like),
    exp.Add: (_TWO, _arithmetic),
    exp.Sub: (_TWO, _arithmetic),
    exp.Mul: (_TWO, _arithmetic),
    exp.Mod: (_TWO, _mod),
    exp.Neg: (_ONE, _of_number("negate_checked")),
    exp.Abs: (_ONE, _of_number("abs_checked")),
    exp.If: (("this", "true", "false"), _if),
    exp.Case: (("this", "ifs", "default"), _case),
    exp.Coalesce: (_LIST, lambda _, args: pc.coalesce(*common(*args))),
    exp.Nullif: (_TWO, _nullif),
    exp.Greatest: (_LIST, _extreme("max_element_wise")),
    exp.Least: (_LIST, _extreme("min_element_wise")),
    exp.Upper: (_ONE, _ascii("ascii_upper")),
    exp.Lower: (_ONE, _ascii("ascii_lower")),
    exp.Length: (_ONE, lambda _, args: pc.utf8_length(*_texts(args))),
    exp.Concat: (("expressions",), _concat),
    exp.DPipe: (_TWO, _concat),
    exp.Substring: (("this", "start", "length"), _substring),
    exp.StartsWith: (_TWO, _starts),
    exp.Cast: (_ONE, _cast),
    exp.TryCast: (_ONE, _cast),
    exp.TsOrDsToDate: (_ONE, _date),
    exp.Year: (_ONE, _part("year")),
    exp.Month: (_ONE, _part("month")),
    exp.Day: (_ONE, _part("day")),
    exp.DayOfMonth: (_ONE, _part("day")),
}
"""What each node means, with its operands by name."""
