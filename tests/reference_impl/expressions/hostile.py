"""Texts that a hostile table could carry as SQL, and a program that evaluates them all.

Run as a program it writes one JSON object: name of a text to what came of it, ``value`` or the name
of the error. It runs apart from the tests, so that a hang is one of the program and ends with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from reference_impl.errors import DeltaError
from reference_impl.expressions.sql import conjuncts, parse_expression
from reference_impl.filters import parse_predicate
from reference_impl.types.arrow import from_arrow

ROWS: Final = pa.table(
    {
        "a": pa.array([1, None], pa.int64()),
        "s": ["a" * 200, "b"],
        "b": [True, False],
        "f": [1.5, -1.5],
        "n": pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())])),
    }
)
NESTED: Final = (
    "DATE(", "INT(", "BIGINT(", "TIMESTAMP(", "DECIMAL(", "STRING(", "BINARY(", "(", "abs(",
    "concat(", "coalesce(a, ", "a IN (", "greatest(1, ", "nullif(a, ", "if(b, 1, ", "upper(",
    "length(", "substring(", "to_date(", "startswith(s, ", "mod(a, ", "isnull(", "(1 + ",
    "MAP(", "STRUCT(", "ARRAY(", "hash(", "f(",
)  # fmt: skip
"""What opens a bracket."""

REPEATED: Final = (
    "CAST(", "TRY_CAST(", "NOT ", "!", "- ", "-", "+ ", "~", "CASE ", "CASE WHEN ", "ELSE ",
    "CASE a WHEN 1 THEN ", "INTERVAL ", "INTERVAL '1' DAY ", "DATE ", "STRUCT<", "ARRAY<", "MAP<",
    "ARRAY<ARRAY<", "DECIMAL(1,", "SELECT ", "SELECT (", "WITH x AS (", "EXISTS (", "x -> ",
    "(x, y) -> ", "a.", "a::int::", "a::", "::", "[", "a[", "{", "<", ">", "=", ".", ",", ";", "\\",
    "'", '"', "`", "/*", "/**/", "--", "--\n", "/*+ ", "a BETWEEN ", "a LIKE ", "a IS ",
    "a IS NOT ",
    "a AND ", "a OR ", "a + ", "a = ", "a <=> ", "a || ", "a / ", "'x' ", "r'x' ", "X'61' ", "1e",
    "1.", "9", "1L ", "\0", "\ud800", "\u202e", "é", "\U0001f600", " ", "\n", "@", "$", "?", ":a ",
    "OVER (", "DISTINCT ", "LATERAL ", "PIVOT (", "VALUES (", "IN ", "THEN ", "AS ", "COLLATE x ",
)  # fmt: skip
"""What grammars repeat, or a parser backtracks over."""


def _nested(template: str, depth: int) -> str:
    text = "a"
    for _ in range(depth):
        text = template.format(text)
    return text


COPIED: Final = {
    "BETWEEN of a BETWEEN": "if({} BETWEEN 1 AND 2, 1, 2)",
    "CASE of a CASE": "CASE {} WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE 3 END",
    "nullif of a nullif": "nullif({}, 1)",
    "mod by a mod": "mod(7, {})",
    "% by a %": "(7 % {})",
}
"""What the database takes apart into several that have the operand again."""

SINGLE: Final = {
    **{f"5 x {name}": _nested(text, 5) for name, text in COPIED.items()},
    **{f"30 x {name}": _nested(text, 30) for name, text in COPIED.items()},
    "MAP(1)": "MAP(1)",
    "like of many wildcards": "NOT s LIKE '%a_%a_%a_%a_%b'",
    "like of hundreds of wildcards": "s LIKE '" + "%a_" * 400 + "b'",
    "like beyond the wildcards": "s LIKE '" + "%a_" * 2_000 + "b'",
    "like that ends escaped": "s LIKE 'a\\\\'",
    "like with an illegal escape": "s LIKE 'a\\\\b'",
    "like with a long escape": "s LIKE 'a' ESCAPE 'ab'",
    "like of an expression": "s LIKE concat('%', s)",
    "concat of 800": "concat(" + ",".join(["s"] * 800) + ")",
    "joined 20000 times": " || ".join(["s"] * 20_000),
    "concat of 20000": "concat(" + ",".join(["s"] * 20_000) + ")",
    "coalesce of 20000": "coalesce(" + ",".join(["a"] * 20_000) + ")",
    "casts of text in concat": "INT(concat(" * 30 + "s" + "))" * 30,
    "and of 5000": " AND ".join(["a = 1"] * 5_000),
    "or of 5000": " OR ".join(["a = 1"] * 5_000),
    "sum of 400": " + ".join(["a"] * 400),
    "sum of 5000": " + ".join(["a"] * 5_000),
    "list of 20000": "a IN (" + ",".join(["1"] * 20_000) + ")",
    "whens of 2000": "CASE" + " WHEN a = 1 THEN 1" * 2_000 + " END",
    "too long": "a" * 100_001,
    "too many tokens": "+" * 50_001,
    "a number of 90000 digits": "9" * 90_000,
    "an exponent of 20 digits": "a < 1e99999999999999999999",
    "a fraction of 90000 digits": "." + "9" * 90_000,
    "digits and a letter": "9" * 90_000 + "x",
    "a decimal of 99 digits": "CAST(a AS DECIMAL(99,0))",
    "a decimal of many sizes": "CAST(a AS DECIMAL(1,1,1))",
    "a decimal of a huge size": "CAST(a AS DECIMAL(" + "9" * 10_000 + "))",
    "an open string": "s = 'x",
    "an open string of escapes": "s = '" + "\\'" * 40_000,
    "an open name": "`a",
    "an open comment": "a /* x",
    "an escape of a lone surrogate": "s = '\\ud800'",
    "an escape beyond Unicode": "s = '\\UFFFFFFFF'",
    "a NUL": "s = '\\0'",
    "a second statement": "a = 1; DROP TABLE x",
    "no text": "",
    "white space": " \n\t",
    "a comment alone": "-- x",
    "an empty list": "a IN ()",
    "an empty call": "concat()",
    "an empty bracket": "()",
    "a star": "count(*)",
    "a substring of a huge length": "substring(s, 1, 99999999999999999999)",
    "a substring of a huge start": "substring(s, 99999999999999999999)",
    "a setting": "SET threads = 4",
    "a file": "(SELECT * FROM read_csv('/etc/passwd'))",
    "a file by name": "a IN (SELECT x FROM '/etc/passwd')",
    "a function of settings": "current_setting('threads')",
    "a function of the environment": "getenv('HOME')",
    "a sleep": "sleep_ms(100000)",
    "an error": "raise_error('x')",
    "a range": "range(1000000000)",
    "a repetition": "repeat(s, 1000000000)",
    "a quoted name of DuckDB": "`a\") FROM read_csv('x') --`",
    "a string of DuckDB": "s = '\\' OR 1=1 --'",
    "a dollar quote": "$$x$$",
    "the name of the relation": "rows_.a = 1",
    "a division by zero": "a % 0 = 1",
    "an overflow": "a + 9223372036854775807",
    "a field of no struct": "a.b.c = 1",
    "a field that is not there": "n.y = 1",
}


def texts() -> Iterator[tuple[str, str]]:
    """Return the name of every text, and the text."""
    for part in NESTED:
        for count in (30, 5_000):
            yield f"{count} x {part!r}, closed", part * count + "a" + ")" * count
            yield f"{count} x {part!r}", part * count
    for part in REPEATED:
        for count in (1, 40, 20_000 // len(part)):
            yield f"{count} x {part!r}", part * count
    yield from SINGLE.items()


def outcome(text: str) -> str:
    """Return what comes of a text: ``value``, or the name of its typed error."""
    schema = from_arrow(ROWS.schema)
    for read in (parse_predicate, conjuncts):
        try:
            read(text)
        except DeltaError:
            continue
    try:
        parse_expression(text, schema).evaluate(ROWS)
    except DeltaError as error:
        return type(error).__name__
    return "value"


if __name__ == "__main__":
    json.dump({name: outcome(text) for name, text in texts()}, sys.stdout)
