"""Cases of writing: the SQL of constraints and generated columns, as the standard of SQL has it.

Values are given with the rows: a writer that evaluates the expression otherwise refuses them, and
one that does not evaluate it takes the row that breaks it. No clause says which functions there
are, or that a value is cast to the type of its column: what engines of Delta lack, such as MOD or
an escape of LIKE, or BETWEEN and NULLIF in generated columns, is not asked for, and the rest is
asked of writers that claim it.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.recipes import Recipe
from generators.golden.chapters.writing.starts import refused_or_generated
from generators.oracle.delta_schema import Field, field, struct

GENERATED: Final = Chapter("generated-columns", since="2025")
CHECKS: Final = Chapter("check-constraints", since="2025")

_GENERATES: Final = ("create.sql",)

_CHECKS: Final = ("add_constraint.sql",)

_T, _F, _N = True, False, None

_GIVEN: Final = (
    field("a", "long"), field("b", "long"), field("s", "string"), field("d", "date"),
    field("t", "boolean"),
)  # fmt: skip

_ROWS: Final[tuple[dict[str, Any], ...]] = (
    {"a": 1, "b": 1, "s": "a%b", "d": dt.date(2024, 2, 29), "t": True},
    {"a": 1, "b": 2, "s": "aXb", "d": dt.date(2023, 12, 31), "t": False},
    {"a": -3, "b": 2, "s": "Ab", "d": dt.date(2024, 1, 1), "t": True},
    {"a": None, "b": 2, "s": None, "d": None, "t": None},
)

_LOGIC: Final = (
    ("a = b", [_T, _F, _F, _N]),
    ("a <> b", [_F, _T, _T, _N]),
    ("a < b", [_F, _T, _T, _N]),
    ("a <= b", [_T, _T, _T, _N]),
    ("b > a", [_F, _T, _T, _N]),
    ("a >= b", [_T, _F, _F, _N]),
    ("a = 1 AND b = 2", [_F, _T, _F, _N]),
    ("a = 1 AND b = 3", [_F, _F, _F, _F]),
    ("a = 1 OR b = 2", [_T, _T, _T, _T]),
    ("a = 1 OR b = 1", [_T, _T, _F, _N]),
    ("a = 1 OR a = -3 AND b = 3", [_T, _T, _F, _N]),
    ("(a = 1 OR a = -3) AND b = 2", [_F, _T, _T, _N]),
    ("NOT a = 1", [_F, _F, _T, _N]),
    ("NOT a = 1 AND b = 2", [_F, _F, _T, _N]),
    ("t", [_T, _F, _T, _N]),
    ("t AND TRUE", [_T, _F, _T, _N]),
    ("t OR FALSE", [_T, _F, _T, _N]),
    ("a IN (1, 2)", [_T, _T, _F, _N]),
    ("a NOT IN (1, 2)", [_F, _F, _T, _N]),
    ("a IN (1, NULL)", [_T, _T, _N, _N]),
    ("a IS NULL", [_F, _F, _F, _T]),
    ("a IS NOT NULL", [_T, _T, _T, _F]),
    ("a IS DISTINCT FROM b", [_F, _T, _T, _T]),
    ("a IS NOT DISTINCT FROM b", [_T, _F, _F, _F]),
    ("t IS TRUE", [_T, _F, _T, _F]),
    ("t IS NOT TRUE", [_F, _T, _F, _T]),
    ("t IS FALSE", [_F, _T, _F, _F]),
    ("t IS NOT FALSE", [_T, _F, _T, _T]),
    ("s LIKE 'a%'", [_T, _T, _F, _N]),
    ("s LIKE '_b'", [_F, _F, _T, _N]),
    ("s NOT LIKE '%X%'", [_T, _F, _T, _N]),
    ("s = 'a%b'", [_T, _F, _F, _N]),
    ("s < 'a'", [_F, _F, _T, _N]),
    ("d >= DATE '2024-01-01'", [_T, _F, _T, _N]),
    ("d = CAST('2024-02-29' AS DATE)", [_T, _F, _F, _N]),
)

_NUMBERS: Final = (
    ("a + b", [2, 3, -1, _N]),
    ("a - b", [0, -1, -5, _N]),
    ("a * b", [1, 2, -6, _N]),
    ("a - b - 1", [-1, -2, -6, _N]),
    ("a + b * 10", [11, 21, 17, _N]),
    ("(a + b) * 10", [20, 30, -10, _N]),
    ("-a", [-1, -1, 3, _N]),
    ("+a", [1, 1, -3, _N]),
    ("ABS(a)", [1, 1, 3, _N]),
    ("(a + 10) % 3", [2, 2, 1, _N]),
    ("CAST(CHAR_LENGTH(s) AS BIGINT)", [3, 3, 2, _N]),
    ("COALESCE(a, b)", [1, 1, -3, 2]),
    ("COALESCE(a, NULL, 7)", [1, 1, -3, 7]),
    ("CAST(CASE WHEN a > 0 THEN 10 WHEN a < 0 THEN 20 ELSE 30 END AS BIGINT)", [10, 10, 20, 30]),
    ("CASE WHEN a > 0 THEN b END", [1, 2, _N, _N]),
    ("CAST(CASE b WHEN 1 THEN 100 WHEN 2 THEN 200 END AS BIGINT)", [100, 200, 200, 200]),
    ("CASE a WHEN 1 THEN b ELSE 0 END", [1, 2, 0, 0]),
    ("CAST(CASE WHEN t THEN CASE WHEN a = 1 THEN 1 ELSE 2 END ELSE 3 END AS BIGINT)", [1, 3, 2, 3]),
    ("CAST('12' AS BIGINT) + a", [13, 13, 9, _N]),
    ("CAST(CAST(a AS INTEGER) AS BIGINT)", [1, 1, -3, _N]),
    ("CAST(CAST(a AS SMALLINT) AS BIGINT)", [1, 1, -3, _N]),
    ("CAST(CAST(a AS DOUBLE) AS BIGINT)", [1, 1, -3, _N]),
    ("CAST(CAST(a AS DECIMAL(10, 0)) AS BIGINT)", [1, 1, -3, _N]),
)

_TEXTS: Final = (
    ("UPPER(s)", ["A%B", "AXB", "AB", _N]),
    ("LOWER(s)", ["a%b", "axb", "ab", _N]),
    ("SUBSTRING(s, 2, 1)", ["%", "X", "b", _N]),
    ("SUBSTRING(s FROM 2 FOR 1)", ["%", "X", "b", _N]),
    ("SUBSTRING(s FROM 2)", ["%b", "Xb", "b", _N]),
    ("s || '-' || UPPER(s)", ["a%b-A%B", "aXb-AXB", "Ab-AB", _N]),
    ("COALESCE(s, 'none')", ["a%b", "aXb", "Ab", "none"]),
    ("CASE WHEN a = 1 THEN 'one' ELSE s END", ["one", "one", "Ab", _N]),
    ("CASE s WHEN 'Ab' THEN UPPER(s) ELSE LOWER('NO') END", ["no", "no", "AB", "no"]),
    ("CAST(NULL AS STRING)", [_N, _N, _N, _N]),
    ("s", ["a%b", "aXb", "Ab", _N]),
)

_EXACT: Final = (
    (
        "CAST(a * 1.5 AS DECIMAL(10, 2))",
        [Decimal(value) for value in ("1.50", "1.50", "-4.50")] + [_N],
    ),
    (
        "CAST(a + 0.25 AS DECIMAL(10, 2))",
        [Decimal(value) for value in ("1.25", "1.25", "-2.75")] + [_N],
    ),
    (
        "CAST(CAST('2.50' AS DECIMAL(5, 2)) - a AS DECIMAL(10, 2))",
        [Decimal(value) for value in ("1.50", "1.50", "5.50")] + [_N],
    ),
)

_BOUNDS: Final = (
    ("-9223372036854775808", [-(2**63)] * 4),
    ("9223372036854775807", [2**63 - 1] * 4),
    ("-2147483649 + a", [-(2**31), -(2**31), -(2**31) - 4, _N]),
)

_FLOATS: Final = (
    ("1.5E0 * a", [1.5, 1.5, -4.5, _N]),
    ("25E-2 + a", [1.25, 1.25, -2.75, _N]),
    ("CAST(a AS DOUBLE) - 5E-1", [0.5, 0.5, -3.5, _N]),
    ("CAST('-1.25' AS DOUBLE)", [-1.25] * 4),
)

_SPELLED: Final = (
    ("`a` = `b`", [_T, _F, _F, _N]),
    ("a = b and t", [_T, _F, _F, _N]),
    ("a = b -- as in b\nAND t", [_T, _F, _F, _N]),
    ("/* a = 7 */ a < b OR /* b */ t", [_T, _T, _T, _N]),
    ("s <> 'two\nlines'", [_T, _T, _T, _N]),
    ("a * 15e-1 < 0.0", [_F, _F, _T, _N]),
    ("((a)) in (1,2)", [_T, _T, _F, _N]),
)

_FIELDS: Final = (
    ("st.x + 1", [2, 2, -2, _N]),
    ("st.deep.y", [5, _N, 7, _N]),
    ("st.x + st.deep.y * 2", [11, _N, 11, _N]),
    ("COALESCE(st.deep.y, a)", [5, 1, 7, _N]),
)

_SETS: Final = (
    ("logic", "logic of three values", "boolean", _LOGIC),
    ("numbers", "arithmetic, CASE and casts", "long", _NUMBERS),
    ("texts", "text", "string", _TEXTS),
    ("exact", "decimals", "decimal(10,2)", _EXACT),
    ("spelled", "any spelling", "boolean", _SPELLED),
    ("bounds", "the least and greatest long", "long", _BOUNDS),
    ("floats", "doubles", "double", _FLOATS),
    ("fields", "fields of structs", "long", _FIELDS),
)

_NESTED: Final = struct(x="long", deep=struct(y="long"))

_STRUCTS: Final[tuple[dict[str, Any] | None, ...]] = (
    {"x": 1, "deep": {"y": 5}},
    {"x": 1, "deep": None},
    {"x": -3, "deep": {"y": 7}},
    None,
)


def _generated(kind: str, expressions: Any, broken: int | None, case: CaseWriter) -> None:
    """Write values that expressions give; after them one of a number that gives another."""
    columns = [
        field(f"g{at}", kind, metadata={"delta.generationExpression": expression})
        for at, (expression, _) in enumerate(expressions)
    ]
    rows = [
        {**row, **{f"g{at}": values[number] for at, (_, values) in enumerate(expressions)}}
        for number, row in enumerate(_ROWS)
    ]
    given: tuple[Field, ...] = _GIVEN
    if expressions is _FIELDS:
        given = (*_GIVEN, field("st", _NESTED))
        rows = [{**row, "st": value} for row, value in zip(rows, _STRUCTS, strict=True)]
    recipe = Recipe(struct(*given, *columns), features=("generatedColumns",)).append(rows[:1])
    if broken is None:
        recipe.append(rows[1:]).publish(case, needs=_GENERATES)
        return
    name = f"g{broken}"
    recipe.append([{**rows[1], name: not rows[1][name]}], [rows[1]])
    recipe.publish(case, contested=refused_or_generated(), needs=_GENERATES)


for _name, _what, _kind, _expressions in _SETS:
    GENERATED.define(
        f"write-sql-{_name}",
        f"Generated values are what SQL gives for {_what}",
        "GEN-004 GEN-005",
        partial(_generated, _kind, _expressions, None),
    )


GENERATED.define(
    "write-sql-broken",
    "A value that SQL does not give is not stored",
    "GEN-004",
    partial(_generated, "boolean", _LOGIC, len(_LOGIC) - 1),
)


_RULE: Final = "a IN (1, -3) AND (s LIKE 'a%' OR NOT t IS FALSE) AND b BETWEEN 1 AND 2"


def _checked(row: dict[str, Any] | None, case: CaseWriter) -> None:
    recipe = Recipe(struct(*_GIVEN), features=("checkConstraints",)).append(list(_ROWS[:1]))
    recipe.run("add_constraint", name="rule", expression=_RULE).append(list(_ROWS[1:3]))
    if row is None:
        recipe.publish(case, needs=_CHECKS)
        return
    refusal = Refusal("constraint", "commit", "CHK-006")
    recipe.append([row]).publish(case, refusal=refusal, needs=_CHECKS)


CHECKS.define(
    "write-sql-obeyed",
    "Rows that obey a constraint of several parts are written",
    "CHK-005",
    partial(_checked, None),
    since="2025",
)

for _name, _change in (
    ("list", {"a": 2}),
    ("range", {"b": 3}),
    ("choice", {"s": "Xa", "t": False}),
    ("null", {"a": None}),
):
    CHECKS.define(
        f"write-sql-broken-{_name}",
        "A row that breaks one part of a constraint is refused",
        "CHK-006",
        partial(_checked, {**_ROWS[0], **_change}),
        since="2025",
    )
