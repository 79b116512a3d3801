r"""LIKE patterns as regular expressions that are matched in linear time.

Spark's LIKE: ``%`` is any text, ``_`` any one character (a code point, newlines as well), and the
escape character, a backslash by default, precedes ``%``, ``_`` or itself.
"""

from __future__ import annotations

from reference_impl.errors import InvalidFilter
from reference_impl.expressions.limits import MAX_WILDCARDS, check


def like_regex(pattern: str, escape: str) -> str:
    """Return a regular expression in RE2 syntax that fully matches what a pattern matches.

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
            escaped = next(characters, "")
            if escaped not in {"%", "_", escape}:
                raise InvalidFilter(
                    f"the pattern {pattern[:100]!r} has an escape character before {escaped!r}"
                    if escaped
                    else f"the pattern {pattern[:100]!r} ends escaped",
                    hint="escape only %, _ and the escape character itself",
                )
            parts.append(_literal(escaped))
        elif character == "%":
            # Two in a row mean the same as one.
            parts += [".*"] if parts[-1] != ".*" else []
        else:
            parts.append("." if character == "_" else _literal(character))
    return "".join(parts)


def _literal(character: str) -> str:
    plain = character.isascii() and character.isalnum()
    return character if plain else f"\\x{{{ord(character):x}}}"
