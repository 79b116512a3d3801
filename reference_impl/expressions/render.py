"""Spark SQL expressions as DuckDB's, node by node: what is not on the list is refused.

Implements "CHECK Constraints", "Column Invariants", "Generated Columns" and "Default Columns". What
is on the list means the same in both, or is written so that it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from reference_impl.errors import InvalidFilter, UnsupportedExpression
from reference_impl.expressions.limits import MAX_COPIES, MAX_WILDCARDS, check
from reference_impl.expressions.tree import Node, fold
from reference_impl.types.model import (
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Decimal,
    Struct,
)

Family: TypeAlias = Literal["decimal", "float", "double", "text", "time", "other"] | None
"""Families of types, as far as they matter to what an expression means."""


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """The column, or the field in it, that a name stands for.

    Attributes:
        relation: the relation that has the column.
        column: its name, as the schema writes it.
        fields: names of nested fields, from the outermost to the innermost.
        type: of the column.
    """

    relation: str
    column: str
    fields: tuple[str, ...]
    type: DataType


Find: TypeAlias = Callable[[tuple[str, ...]], ColumnReference]


@dataclass(frozen=True, slots=True)
class Rendered:
    """An expression for DuckDB.

    Attributes:
        sql: its text.
        family: of its type.
        weight: nodes of the tree that the database makes of it.
    """

    sql: str
    family: Family = None
    weight: int = 1


_FLOATING: Final = frozenset({"float", "double"})
_INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_CASTS: Final[Mapping[str, tuple[str, Family]]] = {
    "DATE": ("DATE", None),
    "BIGINT": ("BIGINT", None),
    "INT": ("INTEGER", None),
    "SMALLINT": ("SMALLINT", None),
    "TINYINT": ("TINYINT", None),
    "DOUBLE": ("DOUBLE", "double"),
    "FLOAT": ("REAL", "float"),
    "BOOLEAN": ("BOOLEAN", None),
    "DECIMAL": ("DECIMAL({},{})", "decimal"),
}
"""Targets of casts that mean the same in both; a cast to text formats numbers differently."""

_LITERAL_CASTS: Final[Mapping[str, tuple[str, Family]]] = {
    "TIMESTAMP": ("TIMESTAMPTZ", "time"),
    "TIMESTAMP_NTZ": ("TIMESTAMP", "time"),
    "STRING": ("VARCHAR", "text"),
}
"""Targets for text and null alone: how another value is written, and in which time zone it is
meant, differs."""

_FAMILIES: Final[Mapping[DataType, Family]] = {
    FLOAT: "float",
    DOUBLE: "double",
    **dict.fromkeys((TIMESTAMP, TIMESTAMP_NTZ), "time"),
    STRING: "text",
}
_OPERATORS: Final = {
    sign: f"({{}} {sign} {{}})" for sign in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")
} | {
    "<=>": "({} IS NOT DISTINCT FROM {})",
    # Null where the divisor is zero, which versions of DuckDB take for null, NaN or an error.
    "%": "({} % nullif({}, 0))",
}
_ARITHMETIC: Final = frozenset({"+", "-", "*", "%"})
_WIDTHS: Final = 38
_FUNCTION_TEMPLATES: Final[Mapping[str, tuple[str, Family]]] = {
    "ABS": ("abs({})", None),
    "LENGTH": ("length({})", "other"),
    "YEAR": ("year({})", "other"),
    "MONTH": ("month({})", "other"),
    "DAY": ("day({})", "other"),
    "STARTSWITH": ("starts_with({})", "other"),
    "NULLIF": ("nullif({})", None),
    "MOD": (_OPERATORS["%"].replace("{}", "{1}", 1).replace("{}", "{2}"), None),
    "GREATEST": ("greatest({})", None),
    "LEAST": ("least({})", None),
    "COALESCE": ("coalesce({})", None),
    "IFNULL": ("coalesce({})", None),
    "TO_DATE": ("CAST({} AS DATE)", "other"),
    "ISNULL": ("({} IS NULL)", "other"),
    "ISNOTNULL": ("({} IS NOT NULL)", "other"),
}
"""Functions by a template of their arguments, and the family; that of the arguments if ``None``."""


def quoted(name: str) -> str:
    """Quote an identifier for DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def render(root: Node, text: str, find: Find) -> str:
    """Spell a tree for DuckDB; messages quote ``text``, which it was parsed from.

    Raises:
        UnsupportedExpression: a node is not on the list.
        UnknownColumn: a name leads nowhere.
        InvalidFilter: a pattern or literal is malformed.
        LimitExceeded: a pattern has too many wildcards, or operands are copied too often.
    """

    def make(at: Node, args: list[Rendered]) -> Rendered:
        if at.kind == "column":
            return _column(find(at.value))
        weight = _weight(at, args)
        check("sql_copies", weight, MAX_COPIES)
        maker = _MAKERS.get(at.kind)
        made = None if maker is None else maker(at, args)
        if made is None:
            raise UnsupportedExpression(
                f"an expression uses {text[at.start : at.end][:100]!r}, which is not evaluated",
                hint="comparisons, logic, plain arithmetic, CASE and a few functions are",
            )
        return replace(made, weight=weight)

    return fold(root, make).sql


def _weight(at: Node, args: list[Rendered]) -> int:
    """Return about how many nodes the database binds for one.

    It takes BETWEEN and a CASE of an operand apart into comparisons, and ``nullif``, which ``%``
    needs as well, into a CASE: each has the operand again.
    """
    weight = 1 + sum(arg.weight for arg in args)
    match at.kind, at.value:
        case "between", _:
            return weight + 4 * args[0].weight
        case "case", (True, _):
            return weight + len(args) // 2 * args[0].weight
        case "call", "NULLIF" | "UPPER" | "LOWER":
            return weight + args[0].weight
        case ("op", "%") | ("call", "MOD"):
            return weight + args[1].weight
    return weight


def _column(place: ColumnReference) -> Rendered:
    sql = f"{quoted(place.relation)}.{quoted(place.column)}"
    for name in place.fields:
        sql = f"({sql}).{quoted(name)}"
    return Rendered(sql, _family(place))


def _family(place: ColumnReference) -> Family:
    of: DataType | None = place.type
    for name in place.fields:
        fields = of.fields if isinstance(of, Struct) else ()
        of = next((f.type for f in fields if f.name.lower() == name.lower()), None)
    return "decimal" if isinstance(of, Decimal) else _FAMILIES.get(of or Struct(()))


def _string(value: str) -> str:
    """Spell text; DuckDB ends a statement at a NUL character."""
    parts = ("'" + part.replace("'", "''") + "'" for part in value.split("\0"))
    return "(" + " || chr(0) || ".join(parts) + ")"


def _alike(args: list[Rendered]) -> list[Rendered]:
    """Make doubles of floats and decimals beside each other, as Spark does.

    DuckDB makes floats of decimals beside floats, and rounds doubles of long decimals twice.
    """
    found = {arg.family for arg in args}
    if "decimal" not in found or not found & _FLOATING:
        return args
    return [_double(arg) for arg in args]


def _double(arg: Rendered) -> Rendered:
    if arg.family not in {"float", "decimal"}:
        return arg
    return Rendered(f"CAST({_exact(arg)} AS DOUBLE)", "double")


def _exact(arg: Rendered) -> str:
    """Spell a value for a cast to a floating type: a decimal as text, which is rounded once."""
    return f"CAST({arg.sql} AS VARCHAR)" if arg.family == "decimal" else arg.sql


def _joint(args: list[Rendered]) -> Family:
    """Return the family of a value that is one of several, or computed from them."""
    found = {arg.family for arg in args}
    order: tuple[Family, ...] = ("double", "float", "decimal", "time", "text")
    return next((family for family in order if family in found), None)


def _number(at: Node, _: list[Rendered]) -> Rendered:
    written = str(at.value)
    if "E" in written:
        return Rendered(written, "double")
    if "." in written:
        whole, _dot, fraction = written.partition(".")
        return Rendered(f"{whole or '0'}.{fraction}", "decimal")
    return Rendered(written)


def _negative(at: Node, args: list[Rendered]) -> Rendered:
    if at.args[0].kind == "number" and at.args[0].value == str(2**63):
        return Rendered(f"CAST('-{2**63}' AS BIGINT)")
    return Rendered(f"(- {args[0].sql})", args[0].family)


def _operation(at: Node, args: list[Rendered]) -> Rendered | None:
    template = _OPERATORS.get(at.value)
    if template is None:
        return None
    args = _alike(args)
    family = _joint(args) if at.value in _ARITHMETIC else None
    return Rendered(template.format(args[0].sql, args[1].sql), family)


def _joined(at: Node, args: list[Rendered]) -> Rendered:
    return Rendered("(" + f" {at.kind.upper()} ".join(arg.sql for arg in args) + ")")


def _like(at: Node, args: list[Rendered]) -> Rendered | None:
    pattern = at.args[1]
    if pattern.kind != "string":
        return None
    regex = _string(like_regex(pattern.value, at.value))
    return Rendered(f"regexp_full_match({args[0].sql}, {regex})")


def _case(at: Node, args: list[Rendered]) -> Rendered:
    operand, otherwise = at.value
    choices = args[operand : len(args) - otherwise]
    given = _alike(choices[1::2] + args[len(args) - otherwise :])
    asked = args[:operand] + choices[::2]
    if operand:
        asked = _alike(asked)
    head = " ".join(["CASE", *(arg.sql for arg in asked[:operand])])
    tail = f" ELSE {given[-1].sql} END" if otherwise else " END"
    whens = zip(asked[operand:], given, strict=False)
    sql = head + "".join(f" WHEN {when.sql} THEN {then.sql}" for when, then in whens) + tail
    return Rendered(sql, _joint(given))


def _cast(at: Node, args: list[Rendered]) -> Rendered | None:
    target, sizes, lenient = at.value
    of_literal = at.args[0].kind in {"string", "null"}
    found = _CASTS.get(target) or (_LITERAL_CASTS.get(target) if of_literal else None)
    if found is None:
        return None
    name, family = found
    if target == "DECIMAL":
        # Without sizes Spark means (10,0), DuckDB (18,3).
        precision, scale = (*(sizes or (10,)), 0)[:2]
        if not 0 < precision <= _WIDTHS or scale > precision:
            raise InvalidFilter(f"there is no type decimal({precision},{scale})")
        name = name.format(precision, scale)
    value = _whole(args[0]) if target in _INTEGERS else args[0].sql
    if family in _FLOATING:
        value = _exact(args[0])
    return Rendered(f"{'TRY_' * lenient}CAST({value} AS {name})", family)


def _whole(value: Rendered) -> str:
    """Spell a value for a cast to an integer."""
    if value.family == "decimal" or value.family in _FLOATING:
        # Spark cuts off what DuckDB rounds.
        return f"trunc({value.sql})"
    if value.family == "text":
        # Spark reads whole numbers alone, where DuckDB rounds fractions as well.
        return f"regexp_replace({value.sql}, '[^-+0-9\\s]', 'x', 'g')"
    return value.sql


def _call(at: Node, args: list[Rendered]) -> Rendered | None:
    match at.value:
        case "CONCAT":
            return _concatenated(args)
        case "IF":
            yes, no = _alike(args[1:])
            sql = f"CASE WHEN {args[0].sql} THEN {yes.sql} ELSE {no.sql} END"
            return Rendered(sql, _joint([yes, no]))
        case "SUBSTRING":
            return _substring(at, args)
        case "UPPER" | "LOWER":
            return _other_case(at.value, args[0].sql)
        case "NULLIF" if _alike(args) is not args:
            # It gives a float, which it compares as a double.
            return None
    args = _alike(args)
    template, family = _FUNCTION_TEMPLATES[at.value]
    listed = ", ".join(arg.sql for arg in args)
    return Rendered(template.format(listed, *(arg.sql for arg in args)), family or _joint(args))


def _substring(at: Node, args: list[Rendered]) -> Rendered | None:
    bounds = at.args[1:]
    if not all(each.kind == "number" and each.value.isdecimal() for each in bounds):
        # From a negative length Spark makes no text, DuckDB text on the other side.
        return None
    if not int(bounds[0].value):
        return None
    return Rendered(f"substring({', '.join(arg.sql for arg in args)})", "text")


def _other_case(name: str, text: str) -> Rendered:
    """Spell text in capitals or small letters; beyond ASCII, Spark has more letters for one."""
    plain = f"coalesce(regexp_full_match({text}, '[\\x00-\\x7F]*'), true)"
    refused = f"error('{name} of letters beyond ASCII')"
    return Rendered(f"CASE WHEN {plain} THEN {name.lower()}({text}) ELSE {refused} END", "text")


def _concatenated(args: list[Rendered]) -> Rendered | None:
    """Join text in pairs, so that neither nesting nor copying grows with their number."""
    if any(arg.family in {"decimal", "float", "double", "time"} for arg in args):
        # How these are written differs.
        return None
    parts = [arg.sql for arg in args]
    if len(parts) == 1:
        return args[0]
    while len(parts) > 1:
        pairs = [f"({a} || {b})" for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + (parts[-1:] if len(parts) % 2 else [])
    return Rendered(parts[0], "text")


def _plain(template: str) -> Callable[[Node, list[Rendered]], Rendered]:
    return lambda _, args: Rendered(template.format(*(arg.sql for arg in _alike(args))))


def _in(_: Node, args: list[Rendered]) -> Rendered:
    first, *choices = (arg.sql for arg in _alike(args))
    return Rendered(f"({first} IN ({', '.join(choices)}))")


def _row(_: Node, args: list[Rendered]) -> Rendered:
    # A row is compared with others, field by field.
    doubles = (_double(arg).sql if arg.family == "float" else arg.sql for arg in args)
    return Rendered("row(" + ", ".join(doubles) + ")")


_MAKERS: Final[Mapping[str, Callable[[Node, list[Rendered]], Rendered | None]]] = {
    "string": lambda at, _: Rendered(_string(at.value), "text"),
    "number": _number,
    "boolean": lambda at, _: Rendered("TRUE" if at.value else "FALSE"),
    "null": lambda _, __: Rendered("NULL"),
    "field": lambda at, args: Rendered(f"({args[0].sql}).{quoted(at.value)}"),
    "op": _operation,
    "and": _joined,
    "or": _joined,
    "not": _plain("(NOT {})"),
    "neg": _negative,
    "is_null": _plain("({} IS NULL)"),
    "in": _in,
    "between": _plain("({} BETWEEN {} AND {})"),
    "row": _row,
    "like": _like,
    "case": _case,
    "cast": _cast,
    "call": _call,
}


def like_regex(pattern: str, escape: str) -> str:
    """Return a regular expression in RE2 syntax that fully matches what a pattern matches.

    Spark's LIKE: ``%`` is any text, ``_`` any one character (a code point, newlines as well), and
    the escape character, a backslash by default, precedes ``%``, ``_`` or itself.

    Raises:
        InvalidFilter: the escape character precedes another character, or is last.
        LimitExceeded: the pattern has too many wildcards.
    """
    wildcards = pattern.count("%") + pattern.count("_")
    check("sql_like_wildcards", wildcards, MAX_WILDCARDS)
    parts = ["(?s)"]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(_escaped(next(characters, ""), pattern, escape))
        elif character == "%":
            parts.append(".*")
        else:
            parts.append("." if character == "_" else _literal(character))
    return "".join(parts)


def _escaped(character: str, pattern: str, escape: str) -> str:
    if character not in {"%", "_", escape}:
        raise InvalidFilter(
            f"the pattern {pattern[:100]!r} has an escape character before {character!r}"
            if character
            else f"the pattern {pattern[:100]!r} ends escaped",
            hint="escape only %, _ and the escape character itself",
        )
    return _literal(character)


def _literal(character: str) -> str:
    plain = character.isascii() and character.isalnum()
    return character if plain else f"\\x{{{ord(character):x}}}"
