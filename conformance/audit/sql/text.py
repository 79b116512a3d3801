"""From the text of an expression to its tree (sections CHECK Constraints, Generated Columns).

The text is untrusted: its length and nesting are bounded before anything recursive reads it. Where
sqlglot reads a text by another precedence than Spark's grammar, the expression is uncertain.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from conformance.audit.sql.errors import Incomplete, Malformed, NoColumn, Uncertain

_MAX_CHARACTERS: Final = 100_000
"""Characters of an expression."""

_MAX_DEPTH: Final = 64
"""Brackets, CASE and prefix operators that are open at once."""

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})
_PREFIXES: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_COMPARISONS: Final = frozenset({
    TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.EQ, TokenType.NEQ,
    TokenType.NULLSAFE_EQ,
})  # fmt: skip
_PREDICATES: Final = _COMPARISONS | {
    TokenType.IS, TokenType.IN, TokenType.BETWEEN, TokenType.LIKE,
}  # fmt: skip
_PARTING: Final = frozenset({
    TokenType.AND, TokenType.OR, TokenType.COMMA, TokenType.WHEN, TokenType.THEN, TokenType.ELSE,
    TokenType.SEMICOLON,
})  # fmt: skip
"""Tokens between which a single predicate has one meaning for every parser."""

_INFIX: Final = _COMPARISONS | {
    TokenType.AND, TokenType.OR, TokenType.COMMA, TokenType.SLASH, TokenType.LIKE,
    TokenType.BETWEEN,
}  # fmt: skip
"""Tokens that no expression of any dialect begins or ends with."""

_PAIRS: Final = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}

_WITHOUT_BRACKETS: Final = frozenset({
    "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER", "USER", "SESSION_USER",
    "LOCALTIMESTAMP", "LOCALTIME",
})  # fmt: skip
"""Functions of Spark that are called by their name alone."""

_UNITS: Final = frozenset({
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
    "MILLISECOND", "MICROSECOND", "NANOSECOND",
})  # fmt: skip
"""What functions of time are called with, beside columns."""


def tree_of(text: str) -> exp.Expression:
    """Parse an expression.

    Raises:
        Malformed: the text is no SQL; Incomplete where no dialect has it.
        Uncertain: it is too long or too deep, or means different things to different parsers.
    """
    if len(text) > _MAX_CHARACTERS:
        raise Uncertain(f"it has {len(text)} characters")
    if "\\" in text:
        raise Uncertain("what a backslash escapes depends on settings")
    dialect = Spark()
    try:
        tokens = dialect.tokenize(text)
        _bound(tokens)
        _finished(tokens)
        _one_predicate_each(tokens)
        found = dialect.parser().parse_into(exp.Condition, tokens, text)
    except SqlglotError as error:
        raise Malformed(str(error)[:200]) from None
    except RecursionError:
        raise Uncertain("it needs more stack than there is") from None
    [tree, *more] = found
    if more or not isinstance(tree, exp.Expression):
        raise Malformed("it is not one expression")
    _joined_alike(tree)
    return tree


def _bound(tokens: Sequence[Token]) -> None:
    depth = prefixes = 0
    for at, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if depth + prefixes > _MAX_DEPTH:
            raise Uncertain("it is nested too deeply")
        if kind is TokenType.NOT and token.text == "!":
            raise Uncertain("how tightly ! binds differs between parsers")
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if after is None:
            continue
        if kind is after.token_type is TokenType.STRING and token.end + 1 == after.start:
            raise Uncertain("what a doubled quote means differs between versions of Spark")
        apart = token.end + 1 < after.start
        if kind in _COMPARISONS and after.token_type in _COMPARISONS and apart:
            raise Malformed(f"{after.text} follows {token.text}")


def _finished(tokens: Sequence[Token]) -> None:
    """Refuse brackets that are not closed, and operators without an operand on one side."""
    if not tokens:
        raise Incomplete("it says nothing")
    open_: list[TokenType] = []
    for token in tokens:
        if token.token_type in _PAIRS:
            open_.append(_PAIRS[token.token_type])
        elif token.token_type in _PAIRS.values() and (not open_ or open_.pop() != token.token_type):
            raise Incomplete(f"nothing opens the {token.text} that it has")
    if open_:
        raise Incomplete(f"{len(open_)} brackets are not closed")
    ends = (tokens[0], tokens[-1]) if tokens else ()
    lone = next((each.text for each in ends if each.token_type in _INFIX), None)
    if lone is not None:
        raise Incomplete(f"an operand of {lone} is missing")


def _one_predicate_each(tokens: Sequence[Token]) -> None:
    """Refuse predicates beside each other, which Spark and sqlglot may bind otherwise."""
    found: list[list[TokenType]] = [[]]
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            found.append([])
        elif kind in _CLOSING and len(found) > 1:
            found.pop()
        elif kind is TokenType.AND and found[-1] == [TokenType.BETWEEN]:
            found[-1].append(kind)
        elif kind in _PARTING:
            found[-1].clear()
        elif kind in _PREDICATES:
            found[-1].append(kind)
            if len(found[-1]) > 1:
                raise Uncertain("predicates stand beside each other without brackets")


def _joined_alike(tree: exp.Expression) -> None:
    """Refuse ``||`` beside arithmetic, which binds tighter for some."""
    for node in tree.find_all(exp.DPipe):
        near = (node.parent, node.this, node.expression)
        if any(isinstance(each, (exp.Add, exp.Sub, exp.Mul, exp.Mod)) for each in near):
            raise Uncertain("operators stand beside each other without brackets")


def name_of(node: exp.Expression) -> tuple[str, ...]:
    """Return the parts of a name, from the column inward; empty where the node is no name."""
    fields: list[str] = []
    while isinstance(node, exp.Dot):
        fields.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return ()
    return (*(part.name for part in node.parts), *reversed(fields))


def used(tree: exp.Expression, folded: Mapping[str, str]) -> tuple[str, ...]:
    """Return the top-level columns that an expression names, as the schema writes them.

    Args:
        tree: the expression.
        folded: name in lower case to name, of every column.

    Raises:
        NoColumn: one is in no table.
        Uncertain: a name may be something else than a column.
    """
    found: dict[str, None] = {}
    for node in tree.find_all(exp.Column):
        parts = name_of(node)
        known = folded.get(parts[0].lower()) if parts else None
        if known is not None:
            found[known] = None
        elif not parts or parts[0].upper() in _WITHOUT_BRACKETS or _holds(folded, parts):
            raise Uncertain(f"it names {'.'.join(parts)[:100]}")
        else:
            raise _no_column(parts)
    return tuple(found)


def _holds(folded: Container[str], parts: Sequence[str]) -> bool:
    """Return whether a part is a column: what is before it may be the name of the table."""
    return any(part.lower() in folded for part in parts)


def _no_column(parts: Sequence[str]) -> NoColumn:
    name = ".".join(parts)[:100]
    return NoColumn(f"an expression names column {name!r}, which the table has not")


_OTHER_NAMES: Final = (exp.Query, exp.Window, exp.Kwarg, exp.Alias)
"""What may give names of its own, beside lambdas."""


def absent(tree: exp.Expression, folded: Container[str]) -> None:
    """Look for columns that there are not among what functions of any name are called with.

    Args:
        tree: the expression.
        folded: the name of every column, in lower case.

    Raises:
        NoColumn: one is in no table.
    """
    bound = {each.name.lower() for fun in tree.find_all(exp.Lambda) for each in fun.expressions}
    for node in tree.find_all(exp.Column):
        parts = name_of(node)
        plain = isinstance(node.parent, exp.Func | exp.Binary | exp.Bracket) or node.parent is None
        if not parts or not plain or tree.find(*_OTHER_NAMES):
            continue
        if parts[0].lower() in bound or parts[0].upper() in _UNITS | _WITHOUT_BRACKETS:
            continue
        if not _holds(folded, parts):
            raise _no_column(parts)
