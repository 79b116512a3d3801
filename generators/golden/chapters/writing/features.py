"""Cases of writing under table features: recipes whose log and files the features govern."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in, is_null
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Struct, array, field, map_of, struct
from generators.oracle.filters import column, node
from generators.oracle.model import Row

VECTORS: Final = Chapter("deletion-vectors", since="2025")
FEED: Final = Chapter("change-data-files", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")
CHECKS: Final = Chapter("check-constraints", since="2025")
INVARIANTS: Final = Chapter("column-invariants")
GENERATED: Final = Chapter("generated-columns", since="2025")
PROTOCOL: Final = Chapter("protocol-evolution")
FEATURES: Final = Chapter("table-features", since="2025")
STRUCTS: Final = Chapter("checkpoint-schema")
NULLS: Final = Chapter("schema-serialization-format")
APPEND_ONLY: Final = Chapter("append-only-tables")

_KEYED: Final = struct(id="long", part="string")
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_FEED: Final = {"delta.enableChangeDataFeed": "true"}
_CLOCK: Final = {"delta.enableInCommitTimestamps": "true"}
_TRACKING: Final = {"delta.enableRowTracking": "true"}


def _listed(name: str) -> tuple[str, ...]:
    return (name,)


def _keyed(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "part": "ab"[number % 2]} for number in numbers]


_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "delta.enableDeletionVectors": ("deletionVectors",),
    "delta.enableChangeDataFeed": ("changeDataFeed",),
    "delta.enableInCommitTimestamps": ("inCommitTimestamp",),
    "delta.enableRowTracking": ("rowTracking", "domainMetadata"),
    "delta.columnMapping.mode": ("columnMapping",),
}
"""Property to the features that it needs: asked for by name, because not every writer adds them."""


def _every_change(properties: Mapping[str, str], case: CaseWriter) -> None:
    """Append, delete twice from one file, update, overwrite a part, checkpoint, append."""
    features = tuple(name for key in properties for name in _NEEDED[key])
    recipe = Recipe(_KEYED, ("part",), properties, features).append(_keyed(*range(10)))
    recipe.delete(compare("id", "=", 2, "long")).delete(is_in("id", [4, 5], "long"))
    recipe.append(_keyed(20, 21)).update({"id": 100}, compare("id", "=", 6, "long"))
    recipe.overwrite([{"id": 50, "part": "b"}], compare("part", "=", "b", "string"))
    recipe.checkpoint().append(_keyed(30)).delete(compare("id", "=", 8, "long")).publish(case)


@VECTORS.case("write-not-enabled", "DV-002")
def _vectors_not_enabled(case: CaseWriter) -> None:
    """No vector is written where they are supported and not enabled."""
    recipe = Recipe(PAIR, (), {}, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(is_in("id", [1, 3], "long")).update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.set_properties(_VECTORS).delete(compare("id", "=", 4, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"})
    recipe.delete(compare("id", "=", 5, "long")).append(pairs(7)).publish(case)


@VECTORS.case("write-not-null-after-delete", "DVDESC-020 SCH-025 DVD-017")
def _not_null_after_delete(case: CaseWriter) -> None:
    """A column may have no nulls once the rows with nulls are deleted."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",))
    recipe.append([{"id": n, "name": None if n == 2 else f"n{n}"} for n in range(4)])
    recipe.delete(compare("id", "=", 2, "long")).set_nullable("name", nullable=False)
    recipe.append([{"id": 9, "name": "n9"}]).update({"name": "x"}, compare("id", "=", 3, "long"))
    recipe.delete(compare("id", "=", 0, "long")).keep("optimize").checkpoint().publish(case)


@VECTORS.case("write-bounds-of-deleted", "STAT-012 STAT-002 STAT-005 DVD-017")
def _bounds_of_deleted(case: CaseWriter) -> None:
    """Bounds are loose once vectors delete rows, and tight after optimize."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(2, 9, 10, 100))
    recipe.append(pairs(3, 20, 7)).delete(is_in("id", [2, 100], "long"))
    recipe.update({"name": "x"}, compare("id", "=", 3, "long"))
    recipe.merge(pairs(20, 11), SAME_ID, *UPSERT).keep("optimize").append(pairs(5)).publish(case)


@FEED.case("write-feed-unlisted", "CDC-013")
def _feed_unlisted(case: CaseWriter) -> None:
    """At writer version 7 the property alone has no change files written."""
    protocol = Protocol(1, 7, None, ("appendOnly",))
    recipe = Recipe(PAIR, (), _FEED, protocol=protocol).append(pairs(1, 2, 3)).given()
    recipe.update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.delete(compare("id", "=", 2, "long"))
    refused = Refusal("unsupported", "commit", "CDC-013", of=("update", "delete"))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the property is that of a feature that is not listed", None),
            ("refused", "no clause has a writer change rows", refused),
        ],
    )


for _chapter, _name, _title, _properties, _ids in (
    (
        VECTORS,
        "write-changes",
        "Every change is carried out on a table with vectors",
        _VECTORS,
        "DV-002 DVDESC-022 DVD-017 DVD-018 DVD-019 REM-014 DATA-005",
    ),
    (
        FEED,
        "write-changes",
        "Every change is carried out on a table with a change feed",
        _FEED,
        "CDC-012 CDC-013 CDFF-004 CDFF-005",
    ),
    (
        FEED,
        "write-changes-with-vectors",
        "A change feed goes together with vectors",
        {**_FEED, **_VECTORS},
        "CDC-012 CDC-013 CDFF-004 DVD-019",
    ),
    (
        CLOCK,
        "write-changes",
        "Every commit carries a time later than the one before",
        _CLOCK,
        "ICT-005 ICT-002 ICT-006 ICT-008 ICT-009",
    ),
    (
        TRACKING,
        "write-changes",
        "Every change is carried out on a table with row tracking",
        _TRACKING,
        "RT-002 RT-028 RT-029 RT-032 RT-036 RT-037 RT-039 RT-040 RT-042 RT-047",
    ),
    (
        TRACKING,
        "write-changes-with-vectors",
        "Row tracking goes together with vectors",
        {**_TRACKING, **_VECTORS},
        "RT-002 RT-028 RT-029 RT-030 RT-031 RT-039",
    ),
    (
        MAPPING,
        "write-changes-by-name",
        "Every change is carried out on a table mapped by name",
        {"delta.columnMapping.mode": "name"},
        "CM-007 CM-013 CM-015 CM-016 CM-017 CM-018 CM-019",
    ),
    (
        MAPPING,
        "write-changes-by-id",
        "Every change is carried out on a table mapped by id",
        {"delta.columnMapping.mode": "id"},
        "CM-007 CM-013 CM-015 CM-016 CM-017 CM-018 CM-019",
    ),
):
    _chapter.define(_name, _title, _ids, partial(_every_change, _properties))


_NESTED: Final = struct(
    field("id", "long"),
    field("a b,;{}()\n\t=", struct(field("x y", "integer"))),
    field("l", array(struct(z="string"))),
    field("m", map_of("string", struct(w="long"))),
)


@MAPPING.case("write-odd-nested-names", "CM-001 CM-009 CM-013 CM-018 CM-019")
def _odd_nested(case: CaseWriter) -> None:
    """Mapped columns have any name, nested ones too."""
    name = _NESTED.fields[1].name
    rows: list[dict[str, Any]] = [
        {"id": 1, name: {"x y": 7}, "l": [{"z": "a"}, None], "m": {"k": {"w": 1}}},
        {"id": 2, name: None, "l": [], "m": None},
    ]
    properties = {"delta.columnMapping.mode": "name"}
    recipe = Recipe(_NESTED, (), properties, _listed("columnMapping")).append(rows)
    recipe.delete(compare("id", "=", 1, "long")).append(rows[:1]).publish(case)


_BROKEN: Final = Refusal("constraint", "commit", "CHK-006")
_POSITIVE: Final = {"delta.constraints.positive": "id > 0"}


@CHECKS.case("write-fitting", "CHK-005 CHK-006")
def _fitting(case: CaseWriter) -> None:
    """Rows that obey a constraint are written."""
    recipe = (
        Recipe(PAIR, (), _POSITIVE, _listed("checkConstraints"))
        .append(pairs(1, 2))
        .append(pairs(3))
    )
    recipe.update({"id": 9}, compare("id", "=", 1, "long")).publish(case)


def _broken_by(rows: list[dict[str, Any]], case: CaseWriter) -> None:
    recipe = (
        Recipe(PAIR, (), _POSITIVE, _listed("checkConstraints")).append(pairs(1, 2)).append(rows)
    )
    recipe.publish(case, refusal=_BROKEN)


for _name, _title, _rows in (
    ("false", "A row for which a constraint is false is refused", pairs(3, 0)),
    ("null", "A row for which a constraint is null is refused", [{"id": None, "name": "x"}]),
):
    CHECKS.define(f"write-{_name}", _title, "CHK-005 CHK-006", partial(_broken_by, _rows))


_ADDED: Final[dict[str, Any]] = {"name": "positive", "expression": "id > 0"}


@CHECKS.case("write-add", "CHK-007 CHK-009 CHK-005")
def _add_constraint(case: CaseWriter) -> None:
    """A constraint that every row obeys is added, held to, and dropped."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("add_constraint", **_ADDED)
    recipe.append(pairs(3)).keep("drop_constraint", name="positive").append(pairs(-1))
    recipe.publish(case)


@CHECKS.case("write-add-broken-between", "CHK-009 CHK-010")
def _add_broken_between(case: CaseWriter) -> None:
    """A constraint that rows of one file among others break is not added."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3, -1)).append(pairs(4))
    recipe.keep("add_constraint", **_ADDED)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-010"))


@CHECKS.case("write-add-after-vectors", "CHK-009 CHK-005", features=("deletionVectors",))
def _add_after_vectors(case: CaseWriter) -> None:
    """Rows that a vector deleted do not keep a constraint from being added."""
    vectors = {"delta.enableDeletionVectors": "true"}
    recipe = Recipe(PAIR, (), vectors, ("deletionVectors",)).append(pairs(1, -2, 3))
    recipe.delete(compare("id", "<", 0, "long")).keep("add_constraint", **_ADDED)
    recipe.append(pairs(4)).publish(case)


@CHECKS.case("write-drop-one", "CHK-002 CHK-005 CHK-006")
def _drop_one(case: CaseWriter) -> None:
    """A constraint holds on where another one is dropped."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("add_constraint", **_ADDED)
    recipe.keep("add_constraint", name="small", expression="id < 100").append(pairs(3))
    recipe.keep("drop_constraint", name="positive").append(pairs(-1)).append(pairs(200))
    recipe.publish(case, refusal=_BROKEN)


@CHECKS.case("write-add-then-break", "CHK-005 CHK-006")
def _add_then_break(case: CaseWriter) -> None:
    """A row that breaks a constraint that was added is refused."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("add_constraint", **_ADDED)
    recipe.append(pairs(-3)).publish(case, refusal=_BROKEN)


@CHECKS.case("write-add-of-no-column", "CHK-004")
def _of_no_column(case: CaseWriter) -> None:
    """A constraint of a column that there is not is not added."""
    recipe = Recipe(PAIR).append(pairs(1, 2))
    recipe.keep("add_constraint", name="positive", expression="nowhere > 0")
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-004"))


def _ruled_column(change: Callable[[Recipe], Recipe], case: CaseWriter) -> None:
    properties = {"delta.columnMapping.mode": "name", "delta.constraints.told": "name <> 'x'"}
    recipe = Recipe(PAIR, (), properties, ("columnMapping", "checkConstraints"))
    recipe = change(recipe.append(pairs(1, 2)).given())
    recipe.publish(
        case,
        contested=[
            (
                "refused",
                "text: the columns of a constraint exist, so that one is in the way",
                Refusal("constraint", "commit", "CHK-004"),
            ),
            ("carried-out", "text: the constraint may follow its column, or go with it", None),
        ],
    )


for _name, _change in (
    ("rename", lambda recipe: recipe.rename_column("name", "label")),
    ("drop", lambda recipe: recipe.drop_column("name")),
):
    CHECKS.define(
        f"write-{_name}-ruled",
        f"A {_name} of a column leaves no constraint of it, or is refused",
        "CHK-004",
        partial(_ruled_column, _change),
        features=("columnMapping",),
    )


def _not_added(rows: list[dict[str, Any]], requirement: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR).append(rows).keep("add_constraint", **_ADDED)
    recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))


for _name, _title, _rows, _id in (
    ("false", "A constraint that a row breaks is not added", pairs(1, -2), "CHK-009"),
    (
        "null",
        "A constraint that is null for a row is not added",
        [{"id": None, "name": "x"}],
        "CHK-010",
    ),
):
    CHECKS.define(f"write-add-{_name}", _title, "CHK-009 CHK-010", partial(_not_added, _rows, _id))


def _not_added_to(recipe: Callable[[], Recipe], expression: str, case: CaseWriter) -> None:
    made = recipe().keep("add_constraint", name="rule", expression=expression)
    made.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))


_PARTED: Final = struct(id="long", part="string")

for _name, _title, _table, _expression in (
    (
        "beside",
        "A constraint that a row of a later file breaks is not added",
        lambda: Recipe(PAIR).append(pairs(1)).append(pairs(-2)).append(pairs(3)),
        "id > 0",
    ),
    (
        "checkpointed",
        "A constraint that a row behind a checkpoint breaks is not added",
        lambda: Recipe(PAIR).append(pairs(-2)).checkpoint().append(pairs(3)),
        "id > 0",
    ),
    (
        "partition",
        "A constraint that a partition value breaks is not added",
        lambda: Recipe(_PARTED, ("part",)).append([{"id": n, "part": "ab"[n]} for n in (0, 1)]),
        "part <> 'b'",
    ),
    (
        "renamed",
        "A constraint that a row of a renamed column breaks is not added",
        lambda: (
            Recipe(PAIR, (), {"delta.columnMapping.mode": "name"}, ("columnMapping",))
            .append(pairs(1, -2))
            .rename_column("id", "number")
        ),
        "number > 0",
    ),
):
    CHECKS.define(
        f"write-add-broken-{_name}",
        _title,
        "CHK-009 CHK-010",
        partial(_not_added_to, _table, _expression),
        features=("columnMapping",) if _name == "renamed" else (),
    )


@CHECKS.case("write-broken-update", "CHK-005 CHK-006")
def _broken_update(case: CaseWriter) -> None:
    """An update to a row that breaks is refused."""
    recipe = (
        Recipe(PAIR, (), _POSITIVE, _listed("checkConstraints"))
        .append(pairs(1, 2))
        .update({"id": -1})
    )
    recipe.publish(case, refusal=_BROKEN)


@CHECKS.case("write-broken-overwrite", "CHK-005 CHK-006")
def _broken_overwrite(case: CaseWriter) -> None:
    """An overwrite with a row that breaks is refused."""
    recipe = (
        Recipe(PAIR, (), _POSITIVE, _listed("checkConstraints"))
        .append(pairs(1, 2))
        .overwrite(pairs(-1))
    )
    recipe.publish(case, refusal=_BROKEN)


def _ruled(key: str, value: str) -> Struct:
    return struct(field("x", "long"), field("y", "long", metadata={key: value}))


_INVARIANT: Final = '{"expression":{"expression":"y > 3"}}'


@INVARIANTS.case("write-fitting", "INV-005 INV-007")
def _invariant_fitting(case: CaseWriter) -> None:
    """Rows that obey an invariant are written."""
    recipe = Recipe(_ruled("delta.invariants", _INVARIANT), features=_listed("invariants"))
    recipe.append([{"x": 1, "y": 4}]).publish(case)


def _invariant_broken(value: int | None, case: CaseWriter) -> None:
    recipe = Recipe(_ruled("delta.invariants", _INVARIANT), features=_listed("invariants"))
    recipe.append([{"x": 1, "y": 4}]).append([{"x": 2, "y": value}])
    # The row of what breaks it comes first.
    recipe.publish(case, refusal=Refusal("constraint", "commit", case.info.requirements[0]))


for _name, _title, _value, _ids in (
    ("false", "A row for which an invariant is false is refused", 3, "INV-005 INV-007"),
    ("null", "A row for which an invariant is null is refused", None, "INV-006 INV-007"),
):
    INVARIANTS.define(f"write-{_name}", _title, _ids, partial(_invariant_broken, _value))


_DOUBLED: Final = _ruled("delta.generationExpression", "x * 2")


@GENERATED.case("write-fitting", "GEN-004 GEN-005")
def _generated_fitting(case: CaseWriter) -> None:
    """Values that the expression gives are written."""
    recipe = Recipe(_DOUBLED, features=_listed("generatedColumns"))
    recipe.append([{"x": 1, "y": 2}, {"x": None, "y": None}]).publish(case)


@GENERATED.case("write-null-results", "GEN-005 GEN-004")
def _generated_nulls(case: CaseWriter) -> None:
    """A null that the expression gives is written by every operation."""
    recipe = Recipe(_DOUBLED, features=_listed("generatedColumns"))
    recipe.append([{"x": 1, "y": 2}, {"x": None, "y": None}])
    recipe.overwrite([{"x": None, "y": None}, {"x": 3, "y": 6}])
    recipe.append([{"x": None, "y": None}]).publish(case)


@GENERATED.case("write-null-results-of-changes", "GEN-005 GEN-004")
def _generated_null_changes(case: CaseWriter) -> None:
    """An update and a merge write a null that the expression gives."""
    recipe = Recipe(_DOUBLED.with_fields(field("id", "long")), features=_listed("generatedColumns"))
    recipe.append([{"x": n, "y": 2 * n, "id": n} for n in range(4)])
    recipe.update({"x": None, "y": None}, compare("id", "=", 1, "long"))
    rows = [{"x": None, "y": None, "id": n} for n in (2, 7)]
    recipe.merge(rows, SAME_ID, *UPSERT).publish(case)


def _generated_broken(x: int | None, y: int | None, case: CaseWriter) -> None:
    recipe = Recipe(_DOUBLED, features=_listed("generatedColumns")).append([{"x": 1, "y": 2}])
    recipe.append([{"x": 3, "y": 6}, {"x": x, "y": y}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", "GEN-004"))


for _slug, _given, _what in (
    ("write-other-value", (2, 5), "A value that the expression does not give"),
    ("write-other-value-null", (2, None), "A null that the expression does not give"),
    ("write-other-value-unknown", (None, 5), "A value where the expression gives null"),
):
    GENERATED.define(_slug, f"{_what} is refused", "GEN-004", partial(_generated_broken, *_given))


_STRICT: Final = struct(field("id", "long", nullable=False), field("name", "string"))


def _refused_by(
    operation: str, start: Callable[[], Recipe], row: Row, broken: str, case: CaseWriter
) -> None:
    """Write a row that breaks a rule, by an operation that is no append."""
    recipe = start().append(_FITTING[broken])
    key = recipe.schema.names[0]
    match operation:
        case "update":
            changed = {name: value for name, value in row.items() if name != "name"}
            recipe.update(changed)
        case "merge":
            on = node("=", column("target", key), column("source", key))
            recipe.merge([row], on, *UPSERT)
        case _:
            recipe.overwrite([row])
    recipe.publish(case, refusal=Refusal("constraint", "commit", broken))


_FITTING: Final[Mapping[str, list[dict[str, Any]]]] = {
    "SCH-025": pairs(1, 2),
    "INV-005": [{"x": 1, "y": 4}],
    "INV-006": [{"x": 1, "y": 4}],
    "GEN-004": [{"x": 1, "y": 2}],
}
"""Row of the registry to rows that obey the rule."""

for _operation, _phrase in (
    ("update", "An update to"), ("merge", "A merge that brings"), ("overwrite", "An overwrite with")
):  # fmt: skip
    NULLS.define(
        f"write-null-refused-{_operation}",
        f"{_phrase} a null where there is none is refused",
        "SCH-025",
        partial(
            _refused_by, _operation, partial(Recipe, _STRICT), {"id": None, "name": "x"}, "SCH-025"
        ),
    )
    for _slug, _value, _what, _id in (
        ("broken", 3, "a value that breaks an invariant", "INV-005"),
        ("null", None, "a null for which an invariant is null", "INV-006"),
    ):
        INVARIANTS.define(
            f"write-{_slug}-{_operation}",
            f"{_phrase} {_what} is refused",
            f"{_id} INV-007",
            partial(
                _refused_by,
                _operation,
                partial(
                    Recipe, _ruled("delta.invariants", _INVARIANT), features=_listed("invariants")
                ),
                {"x": 2, "y": _value},
                _id,
            ),
        )
    # An update may compute the column again, whatever value it is given.
    if _operation != "update":
        GENERATED.define(
            f"write-other-value-{_operation}",
            f"{_phrase} a value that is not generated is refused",
            "GEN-004",
            partial(
                _refused_by,
                _operation,
                partial(Recipe, _DOUBLED, features=_listed("generatedColumns")),
                {"x": 2, "y": 5},
                "GEN-004",
            ),
        )


@APPEND_ONLY.case("write-restore", "APP-002")
def _restored(case: CaseWriter) -> None:
    """An append-only table refuses a restore to fewer rows."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}).append(pairs(1)).append(pairs(2))
    recipe.restore(1).publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


@APPEND_ONLY.case("write-replace", "APP-002")
def _replaced(case: CaseWriter) -> None:
    """An append-only table with rows is not replaced."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.replace(struct(n="long"), (), [{"n": 7}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


def _unknown(protocol: Protocol, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, protocol=protocol).append(pairs(1)).given().append(pairs(2))
    requirement = "PROTO-006" if protocol.writer > 7 else "TF-003"
    recipe.publish(case, refusal=Refusal("unsupported", "commit", requirement))


FEATURES.define(
    "write-unknown-feature",
    "A table with an unknown writer feature is not written",
    "TF-002 TF-003 TF-015",
    partial(_unknown, Protocol(1, 7, None, ("appendOnly", "fromAnotherWorld"))),
)
PROTOCOL.define(
    "write-unknown-version",
    "A table with an unknown writer version is not written",
    "PROTO-006",
    partial(_unknown, Protocol(1, 8)),
)


@FEATURES.case("write-inactive-feature", "TF-021 APP-005")
def _inactive(case: CaseWriter) -> None:
    """A feature that is supported and not active restricts nothing."""
    recipe = Recipe(PAIR, features=("appendOnly", "changeDataFeed")).append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).update({"name": "x"}).publish(case)


@STRUCTS.case("write-parsed-statistics", "CKC-015 CKC-018 CKC-020 CKC-021")
def _parsed(case: CaseWriter) -> None:
    """A checkpoint has statistics as structs where they are asked for."""
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    recipe = Recipe(_KEYED, ("part",), properties).append(_keyed(1, 2, 3))
    recipe.append([{"id": None, "part": None}]).checkpoint().delete(is_null("id"))
    recipe.checkpoint().publish(case)


@STRUCTS.case("write-parsed-vectors", "CKC-021 CKSCH-004 STAT-003", since="2025")
def _parsed_vectors(case: CaseWriter) -> None:
    """A checkpoint says in structs that the bounds of a file are wide."""
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    recipe = Recipe(PAIR, (), properties, ("deletionVectors",)).append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 1, "long")).checkpoint().append(pairs(5))
    recipe.publish(case)
