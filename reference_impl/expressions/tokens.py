"""Tokens of Spark SQL expressions, read in one linear pass that bounds them.

The pass is over before anything recursive starts. No pattern backtracks: the repetitions are
possessive.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from reference_impl.errors import InvalidFilter, UnsupportedExpression
from reference_impl.expressions.limits import MAX_DEPTH, MAX_TEXT, MAX_TOKENS, check

Kind: TypeAlias = Literal["word", "name", "string", "number", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the text of an expression.

    Attributes:
        kind: ``word`` for a keyword or bare identifier, ``name`` for a quoted identifier.
        text: the word itself, the unquoted name, the value of a string, or the sign.
        start: where it starts in the text.
        end: where it ends.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """Return a bare word in upper case; the empty text for every other kind."""
        return self.text.upper() if self.kind == "word" else ""


_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s++|--[^\r\n]*+|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)
  | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?:BD|[LSYDF])?+(?!\w))
  | (?P<word>\w++)
  | (?P<string>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")
  | (?P<name>`(?:[^`]|``)*+`)
  | (?P<sign><=>|<>|<=|>=|==|!=|\|\||::|->|[-+*/%=<>!()\[\],.~&|^?:@{}$;])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))", re.DOTALL
)
_ESCAPES: Final = {
    "0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_",
}  # fmt: skip


def tokenize(text: str) -> list[Token]:
    """Split the text of an expression into tokens; the last one is of kind ``end``.

    Raises:
        InvalidFilter: a character has no place in SQL, or a quote or comment is not closed.
        UnsupportedExpression: what a string says depends on the version of Spark.
        LimitExceeded: the text is too long, has too many tokens or is nested too deeply.
    """
    check("sql_text", len(text), MAX_TEXT)
    tokens: list[Token] = []
    at, depth = 0, 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise InvalidFilter(f"the expression is not SQL at {text[at : at + 40]!r}")
        at = found.end()
        if found.lastgroup == "space":
            continue
        token = _token(found)
        last = tokens[-1] if tokens else token
        if token.kind == last.kind == "string" and last.end == token.start:
            raise UnsupportedExpression(
                "what a doubled quote in a string means differs between versions of Spark",
                hint="escape the quote with a backslash",
            )
        tokens.append(token)
        check("sql_tokens", len(tokens), MAX_TOKENS)
        depth += _deeper(token)
        check("sql_nesting", depth, MAX_DEPTH)
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


def _deeper(token: Token) -> int:
    return {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0


def _token(match: re.Match[str]) -> Token:
    kind, text = cast("Kind", match.lastgroup), match.group()
    if kind == "string":
        text = _unescaped(text[1:-1])
    elif kind == "name":
        text = _encodable(text[1:-1].replace("``", "`"))
    return Token(kind, text, match.start(), match.end())


def _unescaped(text: str) -> str:
    return _encodable(_ESCAPE.sub(_character, text))


def _character(match: re.Match[str]) -> str:
    short, long, octal, other = match.groups()
    if other is not None:
        return _ESCAPES.get(other, str(other))
    code = int(octal, 8) if octal else int(short or long, 16)
    if code > sys.maxunicode:
        raise InvalidFilter(f"a string escapes code point {code:#x}, which there is not")
    return chr(code)


def _encodable(text: str) -> str:
    """Join surrogate pairs, and refuse a surrogate that is not paired."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InvalidFilter("a string or name of the expression is not Unicode") from None
