"""Cases of writing: recipes that an implementation replays, judged by what it leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import all_of, any_of, compare, is_in, is_null, negate
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.files.types import local, utc
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

FILES: Final = Chapter("add-file-and-remove-file")
LOG: Final = Chapter("delta-log-entries")
DATA: Final = Chapter("data-files")
CHECKPOINTS: Final = Chapter("checkpoints")
VALUES: Final = Chapter("partition-value-serialization")
STATISTICS: Final = Chapter("per-file-statistics")
APPEND_ONLY: Final = Chapter("append-only-tables")
SCHEMA: Final = Chapter("schema-serialization-format")
TRANSACTIONS: Final = Chapter("transaction-identifiers")
METADATA: Final = Chapter("change-metadata")

_KEYED: Final = struct(id="long", part="string")


@LOG.case("write-linear", "LOG-003 WNEW-001 DATA-004 DATA-006 CRC-001 CRC-039")
def _linear(case: CaseWriter) -> None:
    """Create and appends leave one new version each."""
    recipe = Recipe(PAIR)
    for number in range(4):
        recipe.append(pairs(number, number + 10))
    recipe.publish(case)


@LOG.case("write-past-ten", "LOG-003 WNEW-001 CKPT-005 CRC-001 CRC-037 CRC-039")
def _past_ten(case: CaseWriter) -> None:
    """Twelve appends are all there."""
    recipe = Recipe(PAIR)
    for number in range(12):
        recipe.append(pairs(number))
    recipe.publish(case)


@LOG.case("write-create-with-rows", "LOG-003 META-014 DATA-004")
def _create_with_rows(case: CaseWriter) -> None:
    """A table is created with its first rows."""
    Recipe(PAIR, rows=pairs(1, 2, 3)).publish(case)


@LOG.case("write-empty-append", "LOG-003 WNEW-001")
def _empty_append(case: CaseWriter) -> None:
    """Appending no rows changes no rows."""
    Recipe(PAIR).append(pairs(1)).append([]).append(pairs(2)).publish(case)


@FILES.case("write-delete-some", "DATA-004 DATA-005 FA-005 FA-021")
def _delete_some(case: CaseWriter) -> None:
    """A delete keeps the other rows of its files."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4, 5, 6))
    recipe.delete(is_in("id", [2, 6], "long")).append(pairs(7)).publish(case)


@FILES.case("write-delete-all", "DATA-005 FA-005 FA-021")
def _delete_all(case: CaseWriter) -> None:
    """A delete without a filter leaves no rows."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).delete()
    recipe.append(pairs(9)).publish(case)


@FILES.case("write-delete-unknown", "DATA-005 FA-021")
def _delete_unknown(case: CaseWriter) -> None:
    """Rows for which a filter is null are kept."""
    rows: list[dict[str, Any]] = [
        {"id": None, "name": "x"},
        {"id": 1, "name": None},
        {"id": 2, "name": "y"},
    ]
    recipe = Recipe(PAIR).append(rows).delete(compare("id", "<>", 1, "long"))
    recipe.delete(negate(is_null("name"))).publish(case)


@FILES.case("write-delete-combined", "DATA-005 FA-021")
def _delete_combined(case: CaseWriter) -> None:
    """A delete follows AND, OR and NOT."""
    low, high = compare("id", "<", 3, "long"), compare("id", ">=", 8, "long")
    named = compare("name", "=", "n4", "string")
    recipe = Recipe(PAIR).append(pairs(*range(5))).append(pairs(*range(5, 10)))
    recipe.delete(any_of(all_of(low, negate(compare("id", "=", 0, "long"))), high, named))
    recipe.publish(case)


@FILES.case("write-overwrite", "DATA-004 DATA-005 FA-021")
def _overwrite(case: CaseWriter) -> None:
    """An overwrite leaves only the new rows."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).overwrite(pairs(3)).overwrite([])
    recipe.append(pairs(4)).publish(case)


@FILES.case("write-overwrite-filter", "DATA-005 FA-021")
def _overwrite_filter(case: CaseWriter) -> None:
    """An overwrite by filter keeps the other rows."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(6)]
    recipe = Recipe(_KEYED, ("part",)).append(rows)
    recipe.overwrite([{"id": 100, "part": "a"}], compare("part", "=", "a", "string")).publish(case)


@FILES.case("write-update", "DATA-004 DATA-005 FA-021")
def _update(case: CaseWriter) -> None:
    """An update changes the rows of its filter only."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "changed"}, compare("id", "<=", 2, "long"))
    recipe.update({"name": None}, compare("id", "=", 4, "long")).publish(case)


@FILES.case("write-update-partition", "DATA-004 FA-021 ADD-004")
def _update_partition(case: CaseWriter) -> None:
    """An update moves rows between partitions."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(4)]
    recipe = Recipe(_KEYED, ("part",)).append(rows)
    recipe.update({"part": "c"}, compare("id", "=", 1, "long"))
    recipe.update({"part": None}, compare("part", "=", "a", "string")).publish(case)


_ODD: Final[Mapping[str, str]] = {
    "percent": "100%",
    "escape": "a%20b",
    "space": "two words",
    "slash": "a/b",
    "equals": "k=v",
    "colon": "12:30",
    "unicode": "\u00e9\u6f22\U0001f600",
    "plus": "a+b",
    "hash": "#1?x",
    "quotes": 'it\'s "so"',
    "dots": "..",
    "null-word": "null",
    "outer-spaces": " x ",
    "number": "007",
    "backslash": "a\\b",
    "decomposed": "e\u0301",
}


def _odd_value(value: str, case: CaseWriter) -> None:
    rows = [{"id": 1, "part": value}, {"id": 2, "part": "plain"}, {"id": 3, "part": value}]
    Recipe(_KEYED, ("part",)).append(rows).delete(compare("id", "=", 3, "long")).publish(case)


for _name, _value in _ODD.items():
    FILES.define(
        f"write-odd-value-{_name}",
        "A partition value of special characters is written and read back",
        "ADD-004 DATA-002 PART-003",
        partial(_odd_value, _value),
    )


@FILES.case("write-odd-changes", "ADD-004 CDC-006 CDFF-001", since="2025")
def _odd_changes(case: CaseWriter) -> None:
    """Change files of an odd partition are found by their paths."""
    rows = [{"id": 1, "part": "a b%#"}, {"id": 2, "part": "plain"}, {"id": 3, "part": "a b%#"}]
    recipe = Recipe(_KEYED, ("part",), {"delta.enableChangeDataFeed": "true"}).append(rows)
    recipe.update({"id": 9}, compare("id", "=", 3, "long")).publish(case)


@FILES.case("write-odd-columns", "ADD-004 DATA-002")
def _odd_columns(case: CaseWriter) -> None:
    """Column names with special characters partition a table."""
    schema = struct(field("id", "long"), field("p\u00e9#:%20", "string"))
    name = schema.fields[1].name
    recipe = Recipe(schema, (name,)).append([{"id": 1, name: "x"}, {"id": 2, name: None}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


_TYPES: Final[Mapping[str, tuple[str, tuple[Any, ...], str]]] = {
    "string": ("string", ("a", "B", "\u00e9"), "PART-003"),
    "boolean": ("boolean", (True, False), "PART-013"),
    "byte": ("byte", (-128, 127), "PART-004"),
    "short": ("short", (-(2**15), 2**15 - 1), "PART-004"),
    "integer": ("integer", (-(2**31), 2**31 - 1), "PART-004"),
    "long": ("long", (-(2**63), 2**53 + 1, 2**63 - 1), "PART-004"),
    "float": ("float", (-1.5, 0.25), "PART-004"),
    "double": ("double", (-1.5, 0.1, 1.0e300), "PART-004"),
    "special-float": ("float", (math.inf, -math.inf, math.nan, 2.0**100), "PART-004"),
    "special-double": ("double", (math.inf, -math.inf, math.nan, 1.0e-300), "PART-004"),
    "decimal": ("decimal(10,2)", (Decimal("-0.05"), Decimal("99999999.99")), "PART-004"),
    "date": ("date", (date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)), "PART-005"),
    "timestamp": (
        "timestamp",
        (utc(1969, 12, 31, 23, 59, 59, 999999), utc(2024, 2, 29, 12, 30)),
        "PART-008 PART-010",
    ),
    "timestamp-ntz": (
        "timestamp_ntz",
        (local(1969, 12, 31, 23, 59, 59, 999999), local(2024, 2, 29, 12, 30)),
        "PART-011",
    ),
    "binary": ("binary", (b"\x00\x01", b"abc"), "PART-014"),
}


def _partitioned_by(spelled: str, values: tuple[Any, ...], case: CaseWriter) -> None:
    schema = struct(id="long", part=spelled)
    rows = [{"id": number, "part": value} for number, value in enumerate((*values, None))]
    features = ("timestampNtz",) if spelled == "timestamp_ntz" else ()
    recipe = Recipe(schema, ("part",), features=features).append(rows).append(rows[:1])
    recipe.delete(compare("id", "=", len(values) - 1, "long")).publish(case)


for _name, (_spelled, _values, _requirements) in _TYPES.items():
    VALUES.define(
        f"write-{_name}",
        f"A table partitioned by {_spelled} is written and read back",
        f"{_requirements} PART-001 DATA-004",
        partial(_partitioned_by, _spelled, _values),
    )


@VALUES.case("write-empty-string", "PART-002 PART-001")
def _empty_string(case: CaseWriter) -> None:
    """An empty string partition value becomes null."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "part": ""},
        {"id": 2, "part": None},
        {"id": 3, "part": " "},
    ]
    Recipe(_KEYED, ("part",)).append(rows).publish(case)


@VALUES.case("write-two-columns", "PART-001 PART-004 DATA-004")
def _two_columns(case: CaseWriter) -> None:
    """Two partition columns with nulls in each."""
    schema = struct(id="long", a="string", b="integer")
    rows: list[dict[str, Any]] = [
        {"id": 4 * number + at, "a": a, "b": b}
        for number, a in enumerate(("x", None))
        for at, b in enumerate((1, None))
    ]
    recipe = Recipe(schema, ("b", "a")).append(rows).append(rows)
    recipe.delete(all_of(is_null("a"), compare("b", "=", 1, "integer"))).publish(case)


_EVERY: Final = struct(
    id="long",
    string="string",
    boolean="boolean",
    byte="byte",
    short="short",
    integer="integer",
    float="float",
    double="double",
    small="decimal(5,2)",
    large="decimal(38,10)",
    binary="binary",
    date="date",
    timestamp="timestamp",
)


def _every(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "string": f"text {number}",
        "boolean": number % 2 == 0,
        "byte": -128 + number,
        "short": 2**15 - 1 - number,
        "integer": -(2**31) + number,
        "float": number / 4,
        "double": 0.1 * number,
        "small": Decimal(number) / 100,
        "large": Decimal("1234567890123456789012345678.0123456789") - number,
        "binary": bytes([0, number, 255]),
        "date": date(1970, 1, 1 + number),
        "timestamp": utc(1969, 12, 31, 23, 59, 59, 999999 - number),
    }


@DATA.case("write-every-type", "DATA-004 STAT-012 PQ-001")
def _every_type(case: CaseWriter) -> None:
    """Rows of every primitive type are written."""
    empty: dict[str, Any] = dict.fromkeys(_EVERY.names) | {"id": 99}
    recipe = Recipe(_EVERY).append([_every(number) for number in range(5)]).append([empty])
    recipe.delete(compare("id", "=", 3, "long")).publish(case)


_NESTED: Final[Struct] = struct(
    id="long",
    s=struct(a="integer", inner=struct(b="string")),
    l=array("string"),
    m=map_of("string", "long"),
    deep=array(struct(k="string", v=array("integer"))),
)


@DATA.case("write-nested", "DATA-004 PQ-015 PQ-016 PQ-017")
def _nested(case: CaseWriter) -> None:
    """Nested rows with nulls at every level are written."""
    rows: list[dict[str, Any]] = [
        {
            "id": 1,
            "s": {"a": 1, "inner": {"b": "x"}},
            "l": ["a", None, ""],
            "m": {"k": 1, "z": None},
            "deep": [{"k": "a", "v": [1, None]}, None, {"k": None, "v": None}],
        },
        {"id": 2, "s": None, "l": None, "m": None, "deep": None},
        {"id": 3, "s": {"a": None, "inner": None}, "l": [], "m": {}, "deep": []},
    ]
    recipe = Recipe(_NESTED).append(rows).append(rows[1:])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@DATA.case("write-nested-times", "SCH-015")
def _nested_times(case: CaseWriter) -> None:
    """Timestamps within structs, lists and maps are instants."""
    inner = (("s", struct(t="timestamp")), ("l", array("timestamp")))
    fields = (*inner, ("m", map_of("string", "timestamp")))
    recipe = Recipe(struct(field("id", "long"), *(field(name, of) for name, of in fields)))
    at = utc(2024, 3, 1, 12)
    recipe.append([{"id": 1, "s": {"t": at}, "l": [at, None], "m": {"k": at}}]).publish(case)


_TEXTS: Final = ("a" * 40, "\u00e9" * 33, "\U0001f600" * 33, "\U0010ffff" * 33, "z" * 32, "")


@STATISTICS.case("write-long-strings", "STAT-012 STAT-013")
def _long_strings(case: CaseWriter) -> None:
    """Bounds of long strings still bound them."""
    recipe = Recipe(PAIR)
    for number, text in enumerate(_TEXTS):
        recipe.append([{"id": number, "name": text}, {"id": number, "name": None}])
    recipe.delete(compare("name", "=", _TEXTS[1], "string")).publish(case)


_CUT: Final = (
    "ab" * 20,
    "az" + "a" * 38,
    "\ud7ff" * 33,
    "a" * 31 + "\U0010ffff" * 5,
    "x" * 31 + "yz",
    "ca" * 20,
)


@STATISTICS.case("write-cut-strings", "STAT-012")
def _cut_strings(case: CaseWriter) -> None:
    """Bounds of strings that are cut hold whatever stands there."""
    recipe = Recipe(PAIR)
    for number, text in enumerate(_CUT):
        recipe.append([{"id": number, "name": text}, {"id": number, "name": text[:32]}])
    recipe.delete(compare("name", "=", _CUT[0], "string")).publish(case)


@STATISTICS.case("write-odd-numbers", "STAT-012")
def _odd_numbers(case: CaseWriter) -> None:
    """NaN, infinities and zeros keep bounds sound."""
    values = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, None)
    recipe = Recipe(struct(id="long", f="float", d="double"))
    for number, value in enumerate(values):
        single = 0.0 if value == 5e-324 else value
        recipe.append([{"id": number, "f": single, "d": value}, {"id": number, "f": 1.0, "d": 1.0}])
    recipe.publish(case)


@STATISTICS.case("write-instants", "STAT-012")
def _instants(case: CaseWriter) -> None:
    """Bounds of instants hold below the millisecond."""
    moments = (utc(1969, 12, 31, 23, 59, 59, 999999), utc(2024, 2, 29, 0, 0, 0, 1))
    recipe = Recipe(struct(id="long", t="timestamp"))
    for number, moment in enumerate(moments):
        recipe.append([{"id": number, "t": moment}])
    recipe.delete(compare("t", "=", moments[0], "timestamp")).publish(case)


@STATISTICS.case("write-nulls", "STAT-008 STAT-012")
def _nulls(case: CaseWriter) -> None:
    """Columns of nothing but nulls are counted."""
    rows = [{"id": number, "name": None} for number in range(3)]
    Recipe(PAIR).append(rows).delete(compare("id", "=", 1, "long")).publish(case)


_KEPT: Final = {"delta.deletedFileRetentionDuration": "interval 7 days"}
"""How long removed files stay is the user's to say; a checkpoint has their tombstones as long."""


@CHECKPOINTS.case(
    "write-checkpoint",
    "CKPT-001 CKPT-005 CKPT-006 CKPT-007 CKPT-031 CKC-002 CKC-003 CKC-004 CKC-005 CKC-012",
)
def _checkpoint(case: CaseWriter) -> None:
    """A checkpoint holds the state and no more."""
    recipe = Recipe(_KEYED, ("part",), _KEPT).append(
        [{"id": 1, "part": "a"}, {"id": 2, "part": None}]
    )
    recipe.append([{"id": 3, "part": "b/c"}]).delete(compare("id", "=", 1, "long")).checkpoint()
    recipe.append([{"id": 4, "part": "a"}]).publish(case)


@CHECKPOINTS.case("write-checkpoint-empty", "CKPT-001 CKPT-005 CKC-002 CKC-003")
def _checkpoint_empty(case: CaseWriter) -> None:
    """A table without files is checkpointed."""
    Recipe(PAIR).checkpoint().append(pairs(1)).publish(case)


@CHECKPOINTS.case("write-checkpoint-nested", "CKPT-005 CKC-004 CKC-018")
def _checkpoint_types(case: CaseWriter) -> None:
    """Statistics of every type survive a checkpoint."""
    recipe = Recipe(_EVERY).append([_every(number) for number in range(3)]).checkpoint()
    recipe.delete(compare("id", "=", 1, "long")).checkpoint().publish(case)


@TRANSACTIONS.case("write-progress", "TXN-004 CKC-006 REC-004")
def _progress(case: CaseWriter) -> None:
    """Progress of applications survives a checkpoint."""
    recipe = Recipe(PAIR).set_transaction("app", 1).append(pairs(1)).set_transaction("other", 7)
    recipe.set_transaction("app", 2).checkpoint().append(pairs(2)).publish(case)


@TRANSACTIONS.case("write-with-rows", "TXN-004 TXN-002")
def _progress_with_rows(case: CaseWriter) -> None:
    """Progress, however large its number, is committed with its rows."""
    recipe = Recipe(PAIR).append_once(pairs(1), "app", 1).append(pairs(2))
    recipe.append_once(pairs(3), "other", 2**53 + 1).append_once(pairs(4), "app", 2**31)
    recipe.publish(case)


@TRANSACTIONS.case("write-with-partitions", "TXN-004")
def _progress_with_partitions(case: CaseWriter) -> None:
    """Progress is committed together with the rows of every partition."""
    rows = [{"id": number, "part": "abc"[number]} for number in range(3)]
    recipe = Recipe(_KEYED, ("part",)).append_once(rows, "app", 1)
    recipe.append_once(rows[:2], "app", 2).publish(case)


@METADATA.case("write-properties", "META-011 LOG-003")
def _properties(case: CaseWriter) -> None:
    """Properties are set beside those that are set."""
    recipe = Recipe(PAIR, properties={"team": "a"}).append(pairs(1))
    recipe.set_properties({"purpose": "b"}).append(pairs(2)).publish(case)


_REFUSED: Final = Refusal("constraint", "commit", "APP-002")


@APPEND_ONLY.case("write-append", "APP-002 WVER-001")
def _append_only(case: CaseWriter) -> None:
    """An append-only table takes appends."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"})
    recipe.append(pairs(1)).append(pairs(2)).publish(case)


@APPEND_ONLY.case("write-delete", "APP-002 WVER-001")
def _append_only_delete(case: CaseWriter) -> None:
    """An append-only table refuses deletes."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-overwrite", "APP-002 WVER-001")
def _append_only_overwrite(case: CaseWriter) -> None:
    """An append-only table refuses overwrites."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"}).append(pairs(1))
    recipe.overwrite(pairs(2)).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-update", "APP-002 WVER-001")
def _append_only_update(case: CaseWriter) -> None:
    """An append-only table refuses updates."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"}).append(pairs(1))
    recipe.update({"name": "x"}).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-after-unlocking", "APP-004 APP-002")
def _append_only_unlocked(case: CaseWriter) -> None:
    """Deletes, updates and overwrites go on once appendOnly is false."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.set_properties({"delta.appendOnly": "false"})
    recipe.delete(compare("id", "=", 1, "long"))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long")).overwrite(pairs(3)).publish(case)


@APPEND_ONLY.case("write-after-unsetting", "APP-004 APP-002")
def _append_only_unset(case: CaseWriter) -> None:
    """Deletes, merges and overwrites go on once appendOnly is unset."""
    recipe = Recipe(PAIR, properties={"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.unset_properties("delta.appendOnly").delete(compare("id", "=", 1, "long"))
    recipe.merge([{"id": 2, "name": "x"}, *pairs(3)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(4)).publish(case)


_STRICT: Final = struct(field("id", "long", nullable=False), field("name", "string"))


@SCHEMA.case("write-not-null", "SCH-025")
def _not_null(case: CaseWriter) -> None:
    """Rows without nulls go into a column that has none."""
    Recipe(_STRICT).append(pairs(1, 2)).publish(case)


_WITHIN: Final = struct(
    id="long",
    s=struct(field("a", "long", nullable=False), field("b", "long")),
    l=array("long", contains_null=False),
    m=map_of("string", "long", value_contains_null=False),
)
_FULL: Final[dict[str, Any]] = {"id": 1, "s": {"a": 1, "b": None}, "l": [1, 2], "m": {"k": 1}}
_NONE: Final[dict[str, Any]] = {"id": 2, "s": {"a": 2, "b": None}, "l": None, "m": None}
"""Null in place of what has none inside, but for the struct: no clause has a writer take that."""


@SCHEMA.case("write-not-null-within", "SCH-025 SCH-031 SCH-035")
def _not_null_within(case: CaseWriter) -> None:
    """Rows without nulls go into structs, arrays and maps that have none."""
    recipe = Recipe(_WITHIN).append([_FULL, _NONE, {**_FULL, "id": 3, "l": [], "m": {}}])
    recipe.append([{**_NONE, "id": 4}]).delete(compare("id", "=", 4, "long")).publish(case)


def _null_within(name: str, value: Any, requirement: str, case: CaseWriter) -> None:
    recipe = Recipe(_WITHIN).append([_FULL]).append([_NONE, {**_FULL, "id": 3, name: value}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))


_NULLS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("s", {"a": None, "b": 1}, "SCH-025"),
    ("l", [1, None], "SCH-031"),
)
"""Of null values of maps no sentence speaks."""
for _place, _nulls, _id in _NULLS:
    SCHEMA.define(
        f"write-null-within-{_place}",
        "A null is refused within a column that has none",
        _id,
        partial(_null_within, _place, _nulls, _id),
    )


@SCHEMA.case("write-null-refused", "SCH-025")
def _null_refused(case: CaseWriter) -> None:
    """A null in a column that has none is refused."""
    recipe = Recipe(_STRICT).append(pairs(1)).append([{"id": None, "name": "x"}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", "SCH-025"))


@LOG.case("write-append-given", "LOG-003 WNEW-001 DATA-004")
def _append_given(case: CaseWriter) -> None:
    """An append goes on top of another writer's log."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.append(pairs(4)).append(pairs(5, 6)).publish(case)


@LOG.case("write-append-checkpointed", "LOG-003 WNEW-001 DATA-004")
def _append_checkpointed(case: CaseWriter) -> None:
    """An append goes on top of a checkpoint."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).delete(compare("id", "=", 1, "long")).checkpoint()
    recipe.given().append(pairs(4)).publish(case)


@FILES.case("write-append-partitions", "ADD-004 DATA-004 PART-003")
def _append_partitions(case: CaseWriter) -> None:
    """An append to a partitioned table says each value."""
    recipe = Recipe(_KEYED, ("part",)).append([{"id": 1, "part": "a"}]).given()
    values = ("b c", None, '<d>|`e}^[f]&"g"')
    recipe.append([{"id": n, "part": value} for n, value in enumerate(values, 2)]).publish(case)


@FILES.case("write-delete-given", "DATA-005 FA-005 FA-021")
def _delete_given(case: CaseWriter) -> None:
    """A delete goes on top of another writer's files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.delete(is_in("id", [2, 3], "long")).publish(case)


@DATA.case("write-append-types", "DATA-004 STAT-012")
def _append_types(case: CaseWriter) -> None:
    """An append of every type fits another writer's files."""
    recipe = Recipe(_EVERY).append([_every(1)]).given()
    recipe.append([_every(2), _every(3)]).publish(case)


@CHECKPOINTS.case(
    "write-checkpoint-given",
    "CKPT-001 CKPT-005 CKPT-006 CKPT-007 CKC-002 CKC-003 CKC-004 CKC-005 CKC-012",
)
def _checkpoint_given(case: CaseWriter) -> None:
    """Another writer's log is checkpointed."""
    recipe = Recipe(_KEYED, ("part",)).append([{"id": 1, "part": "a"}, {"id": 2, "part": None}])
    recipe.delete(compare("id", "=", 1, "long")).set_transaction("app", 3).given()
    recipe.checkpoint().publish(case)
