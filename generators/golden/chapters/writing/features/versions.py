"""Cases of writing: writer versions of the time before lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.golden.chapters.writing.starts import (
    KEYED,
    MAPPED,
    broken_rule,
    ids,
    keyed,
    numbered,
    refused_or_generated,
)
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal

VERSIONS: Final = Chapter("version-requirements")


def _legacy(
    protocol: Protocol, case: CaseWriter, *, properties: dict[str, str], requirement: str
) -> None:
    recipe = Recipe(PAIR, (), properties, protocol=protocol).append(pairs(1, 2)).given()
    if "delta.appendOnly" in properties:
        recipe.delete(compare("id", "=", 1, "long"))
    else:
        recipe.append(pairs(-1))
    recipe.publish(case, refusal=broken_rule(requirement))


def _changed(rule: str, version: int, operation: str, case: CaseWriter, *, row: str) -> None:
    recipe = Recipe(PAIR, (), _RULES[rule], protocol=Protocol(1, version)).append(pairs(1, 2))
    recipe.given()
    number = 1 if rule == "append-only" else -1  # an id that the constraint does not let in
    match operation:
        case "update":
            recipe.update({"id": number}, compare("id", "=", 2, "long"))
        case "merge":
            recipe.merge([{"id": number, "name": "x"}], SAME_ID, *UPSERT)
        case _:
            recipe.overwrite(pairs(number))
    recipe.publish(case, refusal=broken_rule(row))


def _invariant(protocol: Protocol, case: CaseWriter, *, requirement: str) -> None:
    rule = {"delta.invariants": '{"expression":{"expression":"id > 0"}}'}
    schema = struct(field("id", "long", metadata=rule), field("name", "string"))
    recipe = Recipe(schema, protocol=protocol).append(pairs(1, 2)).given()
    recipe.append(pairs(-1)).publish(case, refusal=broken_rule(requirement))


_RULES: Final = {
    "append-only": {"delta.appendOnly": "true"},
    "constraint": {"delta.constraints.c": "id > 0"},
}


for _rule, _version, _what, _id, _ids in (
    ("invariant", 2, "holds rows to invariants", "WVER-001", "WVER-001 INV-005"),
    ("invariant", 6, "has the duty of version 2 about rows", "WVER-007", "WVER-007"),
    ("constraint", 3, "holds rows to constraints", "WVER-002", "CHK-011 WVER-002"),
    ("append-only", 4, "has the duties of version 2", "WVER-001", "WVER-001 WVER-007"),
    ("append-only", 6, "has the duties of version 2", "WVER-007", "WVER-007"),
    ("constraint", 6, "has the duties of version 3", "WVER-007", "WVER-007"),
):
    VERSIONS.define(
        f"write-{_rule}-{_version}",
        f"Writer version {_version} {_what}",
        _ids,
        partial(_invariant, Protocol(1, _version), requirement=_id)
        if _rule == "invariant"
        else partial(_legacy, Protocol(1, _version), properties=_RULES[_rule], requirement=_id),
    )


for _rule, _version, _operation, _id in (
    ("constraint", 3, "overwrite", "WVER-002"),
    ("constraint", 3, "merge", "WVER-002"),
    ("constraint", 4, "overwrite", "WVER-007"),
    ("constraint", 5, "update", "WVER-007"),
    ("constraint", 6, "merge", "WVER-007"),
    ("append-only", 3, "merge", "WVER-007"),
    ("append-only", 4, "overwrite", "WVER-007"),
    ("append-only", 5, "update", "WVER-007"),
):
    VERSIONS.define(
        f"write-{_rule}-{_version}-{_operation}",
        f"{_rule.capitalize()} at writer version {_version} holds for {_operation}",
        f"{_id} CHK-011" if _id == "WVER-002" else _id,
        partial(_changed, _rule, _version, _operation, row=_id),
    )


for _rule, _feature, _row, _builder in (
    ("invariant", "invariants", "INV-005", _invariant),
    (
        "constraint",
        "checkConstraints",
        "CHK-006",
        partial(_legacy, properties=_RULES["constraint"]),
    ),
):
    VERSIONS.define(
        f"write-{_rule}-7",
        f"At writer version 7 a listed {_rule} binds, at any reader version",
        f"WVER-006 {_row}",
        partial(_builder, Protocol(1, 7, None, (_feature,)), requirement=_row),
        since="2025",
    )


@VERSIONS.case("write-null-constraint-3", "WVER-002 CHK-011")
def _null_constraint_3(case: CaseWriter) -> None:
    """Writer version 3 refuses an update that makes a constraint null."""
    properties = {"delta.constraints.Positive": "id > 0"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 3)).append(pairs(1, 2)).given()
    recipe.update({"id": None}, compare("id", "=", 2, "long"))
    recipe.publish(case, refusal=broken_rule("WVER-002"))


def _feed(version: int, case: CaseWriter) -> None:
    properties = {"delta.enableChangeDataFeed": "true"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, version))
    recipe.append(pairs(1, 2, 3)).given().delete(compare("id", "=", 2, "long"))
    recipe.update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.merge([{"id": 3, "name": "y"}, *pairs(4)], SAME_ID, *UPSERT).publish(case)


for _version in (4, 5, 6):
    VERSIONS.define(
        f"write-feed-{_version}",
        f"Writer version {_version} records changes",
        "CDC-011 WVER-003" if _version == 4 else "CDC-011 WVER-007",
        partial(_feed, _version),
        since="2025",
    )


@VERSIONS.case("write-feed-overwritten", "CDC-011 WVER-007", since="2025")
def _feed_overwritten(case: CaseWriter) -> None:
    """Writer version 6 records what an overwrite takes out of files."""
    properties = {"delta.enableChangeDataFeed": "true"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 6)).append(pairs(1, 2, 3)).given()
    recipe.overwrite(pairs(4, 5), compare("id", ">=", 2, "long"))
    recipe.overwrite(pairs(6), compare("id", ">=", 5, "long")).publish(case)


_INVARIANTS: Final = 2
"""The writer version that brings invariants."""


def _kept_by_version(
    version: int,
    properties: Mapping[str, str],
    metadata: Mapping[str, Any],
    row: str,
    case: CaseWriter,
) -> None:
    schema = struct(
        field("id", "long", metadata=metadata if version == _INVARIANTS else {}),
        field("x", "long", metadata={} if version == _INVARIANTS else metadata),
    )
    recipe = Recipe(schema, (), properties, protocol=Protocol(1, version))
    recipe.append([{"id": 1, "x": 2}]).given().add_column(field("n", "long"))
    recipe.set_properties({"team": "a"}).append([{"id": 2, "x": 4, "n": 1}])
    broken = {"id": -1, "x": 5, "n": 1}
    if "delta.generationExpression" in metadata:
        recipe.append([broken], [{**broken, "x": -2}])
        recipe.publish(case, contested=refused_or_generated(row))
        return
    recipe.append([broken]).publish(case, refusal=Refusal("constraint", "commit", row))


for _version, _properties, _metadata, _row in (
    (2, {}, {"delta.invariants": '{"expression":{"expression":"id > 0"}}'}, "WVER-001"),
    (3, {"delta.constraints.c": "id > 0"}, {}, "WVER-002"),
    (4, {}, {"delta.generationExpression": "id * 2"}, "WVER-003"),
):
    VERSIONS.define(
        f"write-kept-{_version}",
        f"What version {_version} holds rows to stays when a table is altered",
        _row,
        partial(_kept_by_version, _version, _properties, _metadata, _row),
    )


@VERSIONS.case("write-identity-6", "WVER-005 IDN-012")
def _identity_6(case: CaseWriter) -> None:
    """Writer version 6 gives values to identity columns."""
    schema = numbered(1, 2, highWaterMark=3)
    recipe = Recipe(schema, protocol=Protocol(1, 6)).append([{"k": 1, "id": 1}, {"k": 3, "id": 2}])
    recipe.given().append_numbered("k", *ids(3)).publish(case)


@VERSIONS.case("write-identity-6-changed", "WVER-005 IDN-012 IDN-016")
def _identity_6_changed(case: CaseWriter) -> None:
    """Writer version 6 gives values to rows of a merge and an overwrite."""
    schema = numbered(1, 2, highWaterMark=3)
    recipe = Recipe(schema, protocol=Protocol(1, 6)).append([{"k": 1, "id": 1}, {"k": 3, "id": 2}])
    recipe.given().merge_numbered("k", ids(3, 4), SAME_ID, *UPSERT)
    recipe.overwrite_numbered("k", ids(5, 6), compare("id", ">", 3, "long"))
    recipe.append_numbered("k", *ids(7, 8)).overwrite_numbered("k", ids(9, 10)).publish(case)


def _generated(version: int, row: str, case: CaseWriter) -> None:
    metadata = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", metadata=metadata))
    recipe = Recipe(schema, protocol=Protocol(1, version)).append([{"x": 1, "y": 2}]).given()
    recipe.append([{"x": 2, "y": 4}]).append([{"x": 3, "y": 5}], [{"x": 3, "y": 6}])
    recipe.publish(case, contested=refused_or_generated(row))


for _version, _row in ((4, "WVER-003"), (6, "WVER-007")):
    VERSIONS.define(
        f"write-generated-{_version}",
        f"Writer version {_version} stores no value that is not as generated",
        _row if _version == 4 else f"{_row} WVER-003 GEN-004",
        partial(_generated, _version, _row),
    )


_DOUBLED: Final = struct(
    field("id", "long"),
    field("x", "long"),
    field("y", "long", metadata={"delta.generationExpression": "x * 2"}),
)


def _doubled(row: str) -> Recipe:
    recipe = Recipe(_DOUBLED, protocol=Protocol(1, 4 if row == "WVER-003" else 6))
    return recipe.append([{"id": n, "x": n, "y": 2 * n} for n in range(1, 4)]).given()


def _generated_again(row: str, case: CaseWriter) -> None:
    fourteen = {"y": Computed(literal("long", 14))}
    refused = "what is there would not be what the expression gives"
    _doubled(row).update({"x": 7}, compare("id", "=", 1, "long"), fourteen).publish(
        case,
        contested=[
            ("generated", "the value is generated again", None),
            ("refused", refused, Refusal("constraint", "commit", row)),
        ],
    )


_AGAIN: Final = {"y": Computed(node("*", column("x"), literal("long", 2)))}
_OTHER: Final = [{"id": 9, "x": 1, "y": 3}]
_GENERATED: Final = [{"id": 9, "x": 1, "y": 2}]


def _generated_otherwise(row: str, step: Callable[[Recipe], Recipe], case: CaseWriter) -> None:
    step(_doubled(row)).publish(case, contested=refused_or_generated(row))


for _version, _row in ((4, "WVER-003"), (6, "WVER-007")):
    _named = _row if _version == 4 else f"{_row} WVER-003"
    VERSIONS.define(
        f"write-generated-again-{_version}",
        f"Writer version {_version} leaves no generated value of what was before",
        f"{_named} GEN-004",
        partial(_generated_again, _row),
    )
    for _name, _step in (
        (
            "update",
            lambda recipe: recipe.update({"y": 9}, compare("id", "=", 3, "long"), _AGAIN),
        ),
        ("merge", lambda recipe: recipe.merge(_OTHER, SAME_ID, *UPSERT, stored=_GENERATED)),
        ("overwrite", lambda recipe: recipe.overwrite(_OTHER, stored=_GENERATED)),
    ):
        VERSIONS.define(
            f"write-generated-{_name}-{_version}",
            f"Writer version {_version} holds the {_name} to generated values",
            f"{_named} GEN-004",
            partial(_generated_otherwise, _row, _step),
        )


def _mapped(version: int, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), MAPPED, protocol=Protocol(2, version)).append(pairs(1)).given()
    recipe.append(pairs(2)).rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.add_column(field("n", "long")).append([{"id": 4, "label": "d", "n": 4}])
    recipe.drop_column("label").append([{"id": 5, "n": 5}]).publish(case)


for _version, _rows in ((5, "WVER-004 CM-013"), (6, "WVER-007 WVER-004 CM-013")):
    VERSIONS.define(
        f"write-mapped-{_version}",
        f"Writer version {_version} maps columns",
        _rows,
        partial(_mapped, _version),
    )


def _mapped_parts(version: int, case: CaseWriter) -> None:
    schema = struct(id="long", s=struct(a="long"), part="string")
    rows = [{"id": n, "s": {"a": n}, "part": "ab"[n % 2]} for n in range(1, 7)]
    recipe = Recipe(schema, ("part",), MAPPED, protocol=Protocol(2, version)).append(rows[:4])
    recipe.given().append(rows[4:]).rename_column("part", "label")
    recipe.append([{"id": 7, "s": {"a": 7}, "label": "c"}])
    recipe.update({"id": 8}, compare("id", "=", 1, "long"))
    recipe.delete(compare("id", "=", 3, "long")).checkpoint().publish(case)


for _version, _rows in ((5, "WVER-004 CM-016"), (6, "WVER-007 WVER-004 CM-016")):
    VERSIONS.define(
        f"write-mapped-partitions-{_version}",
        f"Writer version {_version} maps partition columns and nested fields",
        _rows,
        partial(_mapped_parts, _version),
    )


def _statistics(version: int, case: CaseWriter) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    recipe = Recipe(KEYED, ("part",), properties, protocol=Protocol(1, version))
    recipe.append(keyed(1, 2, 3)).given().append(keyed(4)).checkpoint()
    recipe.delete(compare("id", "=", 2, "long")).append(keyed(5)).checkpoint().publish(case)


for _version in (3, 4, 5, 6):
    VERSIONS.define(
        f"write-statistics-{_version}",
        f"Writer version {_version} writes the statistics that checkpoints are asked for",
        f"{'WVER-002' if _version == 3 else 'WVER-007 WVER-002'} CKC-018 CKC-021",
        partial(_statistics, _version),
    )


@VERSIONS.case("write-append-only-7", "WVER-006 APP-002", since="2025")
def _unlisted(case: CaseWriter) -> None:
    """At writer version 7 a property alone binds nobody."""
    properties = {"delta.appendOnly": "true"}
    protocol = Protocol(1, 7, None, ("domainMetadata",))
    recipe = Recipe(PAIR, (), properties, protocol=protocol).append(pairs(1, 2)).given()
    recipe.delete(compare("id", "=", 1, "long")).append(pairs(3))
    refused = Refusal("constraint", "commit", "WVER-006", of=("delete",))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the property is that of a feature that is not listed", None),
            ("refused", "no clause has a writer delete rows", refused),
        ],
    )
