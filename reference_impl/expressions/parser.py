"""Parse Spark SQL expressions, by the precedence of Spark's grammar.

Every token is visited once, so that time is linear in the text; recursion is bounded. What the
grammar has and this parser does not read is refused as unsupported, never ignored.
"""

from __future__ import annotations

from typing import Final

from reference_impl.errors import DeltaError, InvalidFilter, LimitExceeded, UnsupportedExpression
from reference_impl.expressions.functions import CASTS, FUNCTIONS, TYPES
from reference_impl.expressions.limits import MAX_DEPTH, check
from reference_impl.expressions.tokens import Token, tokenize
from reference_impl.expressions.tree import Node, node

_OR, _AND, _NOT, _PREDICATE, _COMPARED, _ADDED, _MULTIPLIED, _SIGNED = range(1, 9)
"""How tightly operators bind."""

_BINARY: Final = {
    **dict.fromkeys(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"), _COMPARED),
    **dict.fromkeys(("+", "-", "||"), _ADDED),
    **dict.fromkeys(("*", "%"), _MULTIPLIED),
}
_OPERATOR_ALIASES: Final = {"==": "=", "!=": "<>"}
_NO_COLUMNS: Final = frozenset(
    {"AND", "BETWEEN", "CASE", "ELSE", "IN", "IS", "LIKE", "NOT", "OR", "THEN", "WHEN"}
)
_QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES", "EXISTS"})
_PREFIXES: Final = frozenset({"INTERVAL", "R", "N", "U"})
_UNSUPPORTED_WORDS: Final = frozenset(
    {"AS", "AT", "COLLATE", "DIV", "FILTER", "ILIKE", "OVER", "REGEXP", "RLIKE"}
)
"""Words that may follow an expression in Spark's grammar, and are not read."""

_UNSUPPORTED_SIGNS: Final = frozenset({"[", ":", "->", "?", "@", "{", "$", "~", "&", "|", "^", "/"})
_SUFFIXES: Final = {
    "L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "D": "DOUBLE", "F": "FLOAT", "BD": "DECIMAL",
}  # fmt: skip
_DIGITS: Final = 38


def parse(text: str) -> Node:
    """Parse the text of an expression.

    Raises:
        InvalidFilter: the text is not SQL.
        UnsupportedExpression: it uses SQL that is not read here.
        LimitExceeded: it exceeds a limit on its length, its tokens or its nesting.
    """
    try:
        return _Parser(text).whole()
    except RecursionError:
        # The caller has used up the stack that the bounds leave room for.
        raise LimitExceeded(
            "an SQL expression needs more stack than there is", limit="sql_nesting", allowed=0
        ) from None


class _Parser:
    """One pass over the tokens of an expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        """Parse all of the text."""
        found = self._expression(_OR)
        if self._token.text == ";":
            self._next()
        if self._token.kind != "end":
            raise self._unexpected()
        return found

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _sign(self, *signs: str) -> bool:
        """Consume the next token if it is one of these signs."""
        found = self._token.kind == "sign" and self._token.text in signs
        self._at += found
        return found

    def _word(self, word: str) -> bool:
        """Consume the next token if it is this word."""
        found = self._token.upper == word
        self._at += found
        return found

    def _expect(self, what: str) -> None:
        if not (self._word(what) if what.isalpha() else self._sign(what)):
            raise self._unexpected(what)

    def _unexpected(self, wanted: str = "an operator or the end") -> DeltaError:
        token = self._token
        rest = self._text[token.start : token.start + 100]
        if token.upper in _UNSUPPORTED_WORDS | _QUERIES or (
            token.kind == "sign" and token.text in _UNSUPPORTED_SIGNS
        ):
            return self._not_evaluated(token.start)
        found = repr(rest[:40]) if rest else "the end"
        return InvalidFilter(f"the expression is not SQL: {wanted} is expected, not {found}")

    def _not_evaluated(self, start: int, end: int | None = None) -> UnsupportedExpression:
        rest = self._text[start:end][:100]
        return UnsupportedExpression(f"an expression uses {rest!r}, which is not evaluated")

    def _concatenated(self, first: Node, second: Node) -> Node:
        """Parse the rest of a chain of ``||``, which is one call however long it is."""
        found = [first, second]
        while self._sign("||"):
            found.append(self._expression(_MULTIPLIED))
        return self._made("call", "CONCAT", *found, start=first.start)

    def _made(self, kind: str, value: object, *args: Node, start: int) -> Node:
        return node(kind, value, args, start, self._tokens[self._at - 1].end)

    def _expression(self, least: int) -> Node:
        """Parse an operand and the operators after it that bind at least so tightly."""
        self._depth += 1
        check("sql_nesting", self._depth, MAX_DEPTH)
        found = self._operand(least)
        while (tightness := self._tightness()) >= least:
            if tightness in {_OR, _AND}:
                found = self._joined(found, tightness)
            elif tightness == _PREDICATE:
                found = self._predicate(found)
                # A predicate is no operand of an operator that binds as tightly or more.
                if self._tightness() >= _PREDICATE:
                    raise self._unexpected()
            else:
                sign = self._next().text
                right = self._expression(tightness + 1)
                if sign == "||":
                    found = self._concatenated(found, right)
                    continue
                found = self._made(
                    "op", _OPERATOR_ALIASES.get(sign, sign), found, right, start=found.start
                )
        self._depth -= 1
        return found

    def _tightness(self) -> int:
        token = self._token
        if token.kind == "sign":
            return _BINARY.get(token.text, 0)
        match token.upper:
            case "OR":
                return _OR
            case "AND":
                return _AND
            case "IS" | "IN" | "BETWEEN" | "LIKE" | "NOT":
                return _PREDICATE
            case _:
                return 0

    def _joined(self, first: Node, tightness: int) -> Node:
        """Parse all that one AND, or one OR, joins."""
        word = "AND" if tightness == _AND else "OR"
        parts = [first]
        while self._word(word):
            parts.append(self._expression(tightness + 1))
        return self._made(word.lower(), None, *parts, start=first.start)

    def _predicate(self, value: Node) -> Node:
        if self._word("IS"):
            negated = self._word("NOT")
            found = self._is(value)
        else:
            negated = self._word("NOT")
            if self._word("BETWEEN"):
                low = self._expression(_COMPARED)
                self._expect("AND")
                high = self._expression(_COMPARED)
                found = self._made("between", None, value, low, high, start=value.start)
            elif self._word("IN"):
                found = self._in(value)
            elif self._word("LIKE"):
                found = self._like(value)
            else:
                raise self._unexpected("a predicate")
        return self._made("not", None, found, start=value.start) if negated else found

    def _is(self, value: Node) -> Node:
        if self._word("NULL") or self._word("UNKNOWN"):
            return self._made("is_null", None, value, start=value.start)
        if self._word("DISTINCT"):
            self._expect("FROM")
            other = self._expression(_COMPARED)
            same = self._made("op", "<=>", value, other, start=value.start)
            return self._made("not", None, same, start=value.start)
        start = self._token.start
        if self._token.upper not in {"TRUE", "FALSE"}:
            raise self._unexpected("NULL, TRUE or FALSE")
        truth = self._made("boolean", self._next().upper == "TRUE", start=start)
        return self._made("op", "<=>", value, truth, start=value.start)

    def _in(self, value: Node) -> Node:
        self._expect("(")
        if self._token.upper in _QUERIES:
            raise self._unexpected()
        choices = self._listed()
        return self._made("in", None, value, *choices, start=value.start)

    def _like(self, value: Node) -> Node:
        if self._token.upper in {"ANY", "ALL", "SOME"}:
            raise self._not_evaluated(value.start, self._token.end)
        pattern = self._expression(_COMPARED)
        return self._made("like", self._escape(), value, pattern, start=value.start)

    def _escape(self) -> str:
        if not self._word("ESCAPE"):
            return "\\"
        escape = self._next().text
        if self._tokens[self._at - 1].kind != "string" or len(escape) != 1:
            raise InvalidFilter("the escape of LIKE is a string of one character")
        return escape

    def _listed(self) -> list[Node]:
        """Parse the items in brackets, after the opening one."""
        found = [self._expression(_OR)]
        while self._sign(","):
            found.append(self._expression(_OR))
        self._expect(")")
        return found

    def _operand(self, least: int) -> Node:
        token = self._token
        if token.upper == "NOT" or (token.kind == "sign" and token.text == "!"):
            if least > _NOT:
                raise self._unexpected("a value")
            self._next()
            part = self._expression(_NOT)
            return self._made("not", None, part, start=token.start)
        if self._sign("-"):
            part = self._expression(_SIGNED)
            return self._made("neg", None, part, start=token.start)
        if self._sign("+"):
            return self._expression(_SIGNED)
        return self._postfixed(self._primary())

    def _postfixed(self, operand: Node) -> Node:
        """Parse what follows a value: the name of a field, or a cast by two colons."""
        while self._token.kind == "sign" and self._token.text in {".", "::"}:
            if self._sign("::"):
                operand = self._made("cast", (*self._type(), False), operand, start=operand.start)
            else:
                self._next()
                operand = self._made("field", self._part(), operand, start=operand.start)
        return operand

    def _primary(self) -> Node:
        token = self._token
        match token.kind:
            case "string":
                return self._string()
            case "number":
                return self._number()
            case "name":
                return self._column()
            case "word":
                return self._from_word()
            case "sign" if token.text == "(":
                return self._bracketed()
            case _:
                raise self._unexpected("a value")

    def _string(self) -> Node:
        """Parse a string; several in a row are one."""
        start, parts = self._token.start, []
        while self._token.kind == "string":
            parts.append(self._next().text)
        return self._made("string", "".join(parts), start=start)

    def _number(self) -> Node:
        token = self._next()
        text = token.text.upper()
        bare = text.rstrip("LSYDFB")
        found = self._made("number", bare, start=token.start)
        digits = bare.replace(".", "").lstrip("0")
        if "E" not in bare and len(digits) > _DIGITS:
            raise UnsupportedExpression(f"the literal {text[:60]} is no decimal of 38 digits")
        target = _SUFFIXES.get(text[len(bare) :])
        if target is None:
            return found
        return self._made("cast", _with_suffix(target, bare), found, start=token.start)

    def _column(self) -> Node:
        start = self._token.start
        parts = [self._part()]
        while self._sign("."):
            check("sql_nesting", len(parts), MAX_DEPTH)
            parts.append(self._part())
        return self._made("column", tuple(parts), start=start)

    def _part(self) -> str:
        if self._token.kind not in {"word", "name"}:
            raise self._unexpected("a name")
        return self._next().text

    def _bracketed(self) -> Node:
        start = self._next().start
        if self._token.upper in _QUERIES:
            raise self._unexpected()
        parts = self._listed()
        if len(parts) > 1:
            return self._made("row", None, *parts, start=start)
        [part] = parts
        return Node(part.kind, part.value, part.args, start, self._tokens[self._at - 1].end,
                    part.height)  # fmt: skip

    def _from_word(self) -> Node:
        token, after = self._token, self._tokens[self._at + 1]
        word = token.upper
        called = after.kind == "sign" and after.text == "("
        if word in {"TRUE", "FALSE"}:
            self._next()
            return self._made("boolean", word == "TRUE", start=token.start)
        if word == "NULL":
            self._next()
            return self._made("null", None, start=token.start)
        if word == "CASE":
            return self._case()
        if word in _QUERIES or (after.kind == "string" and word in _PREFIXES):
            raise self._not_evaluated(token.start)
        if after.kind == "string" and word == "X" and after.start == token.end:
            return self._binary()
        if after.kind == "string" and word in TYPES:
            return self._typed_string()
        if word in _NO_COLUMNS:
            raise self._unexpected("a value")
        return self._call() if called else self._column()

    def _binary(self) -> Node:
        start = self._next().start
        digits = self._next().text
        if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise InvalidFilter("a binary literal is of hexadecimal digits")
        return self._made("binary", digits, start=start)

    def _typed_string(self) -> Node:
        start = self._token.start
        target = self._type()
        value = self._string()
        return self._made("cast", (*target, False), value, start=start)

    def _case(self) -> Node:
        start = self._next().start
        parts: list[Node] = []
        operand = self._token.upper != "WHEN"
        if operand:
            parts.append(self._expression(_OR))
        self._expect("WHEN")
        while True:
            parts.append(self._expression(_OR))
            self._expect("THEN")
            parts.append(self._expression(_OR))
            if not self._word("WHEN"):
                break
        otherwise = self._word("ELSE")
        if otherwise:
            parts.append(self._expression(_OR))
        self._expect("END")
        return self._made("case", (operand, otherwise), *parts, start=start)

    def _type(self) -> tuple[str, tuple[int, ...]]:
        """Parse the name of a type, and the numbers in brackets after it."""
        token = self._next()
        name = TYPES.get(token.upper)
        if name is None:
            raise UnsupportedExpression(f"an expression casts to {token.text[:60]!r}")
        sizes: list[int] = []
        if self._sign("("):
            while True:
                size = self._next()
                if size.kind != "number" or not size.text.isdecimal() or len(size.text) > 2:
                    raise InvalidFilter(f"the size of a {name} is a number of up to two digits")
                sizes.append(int(size.text))
                if not self._sign(","):
                    break
            self._expect(")")
        if len(sizes) > 2 or (sizes and name not in {"DECIMAL", "VARCHAR", "CHAR"}):
            raise InvalidFilter(f"the type {name} has no {len(sizes)} sizes")
        return name, tuple(sizes)

    def _call(self) -> Node:
        token = self._next()
        word = token.upper
        self._expect("(")
        if word in {"CAST", "TRY_CAST"}:
            value = self._expression(_OR)
            self._expect("AS")
            target = self._type()
            self._expect(")")
            return self._made("cast", (*target, word == "TRY_CAST"), value, start=token.start)
        target_type = CASTS.get(word)
        function = FUNCTIONS.get(word)
        if target_type is None and function is None:
            raise UnsupportedExpression(
                f"an expression uses the function {token.text[:100]!r}, which is not evaluated",
                hint="comparisons, logic, plain arithmetic, CASE and a few functions are",
            )
        args = self._arguments(word)
        if target_type is not None:
            if len(args) != 1:
                raise InvalidFilter(f"{word} takes one argument, not {len(args)}")
            return self._made("cast", (target_type, (), False), *args, start=token.start)
        assert function is not None
        if not function.least <= len(args) <= function.most:
            raise InvalidFilter(f"{word} does not take {len(args)} arguments")
        return self._made("call", function.name, *args, start=token.start)

    def _arguments(self, word: str) -> list[Node]:
        if self._sign(")"):
            return []
        first = self._expression(_OR)
        if not (word in {"SUBSTRING", "SUBSTR"} and self._word("FROM")):
            if self._sign(")"):
                return [first]
            self._expect(",")
            return [first, *self._listed()]
        args = [first, self._expression(_OR)]
        if self._word("FOR"):
            args.append(self._expression(_OR))
        self._expect(")")
        return args


def _with_suffix(target: str, bare: str) -> tuple[str, tuple[int, ...], bool]:
    """Return the cast that the suffix of a number stands for."""
    if target != "DECIMAL":
        return target, (), False
    if "E" in bare:
        raise UnsupportedExpression(f"the literal {bare[:60]} is not evaluated")
    scale = len(bare.partition(".")[2])
    digits = bare.replace(".", "").lstrip("0")
    return target, (max(len(digits), scale, 1), scale), False
