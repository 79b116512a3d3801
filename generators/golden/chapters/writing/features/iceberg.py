"""Cases of writing: tables that Iceberg can read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS
from generators.golden.chapters.files.types import utc
from generators.golden.chapters.writing.starts import (
    KEYED,
    MAPPED,
    Step,
    beside_id,
    compatible,
    keyed,
)
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import Struct, array, field, map_of, struct
from schemas.features import asking

FIRST: Final = Chapter("iceberg-compatibility-v1", since="2025")
SECOND: Final = Chapter("iceberg-compatibility-v2", since="2025")


def _replaced(
    version: int, requirement: str, more: dict[str, str], of: str, case: CaseWriter
) -> None:
    recipe = Recipe.active(
        KEYED, *compatible(version), partition_columns=("part",), properties=more
    ).append(keyed(1, 2))
    recipe.replace(struct(id="long", day=of), ["day"], [])
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", requirement))


_OTHERS: Final[tuple[tuple[str, dict[str, str], str], ...]] = (
    ("", {}, "string"),
    ("-typed", {}, "date"),
    ("-by-id", {"delta.columnMapping.mode": "id"}, "long"),
)

for _chapter, _version, _id in ((FIRST, 1, "ICE1-011"), (SECOND, 2, "ICE2-019")):
    for _name, _extra, _of in _OTHERS:
        _chapter.define(
            f"write-replace-partitions{_name}",
            "A table is not replaced by one with partition columns of other names",
            _id,
            partial(_replaced, _version, _id, _extra, _of),
        )


def _replaced_one(
    version: int, requirement: str, held: list[str], names: list[str], case: CaseWriter
) -> None:
    schema = struct(id="long", part="string", day="date")
    recipe = Recipe.active(schema, *compatible(version), partition_columns=tuple(held))
    recipe.append([{"id": n, "part": "ab"[n], "day": date(2024, 1, n + 1)} for n in (0, 1)])
    columns = dict(zip(names, ("string", "date"), strict=False))
    recipe.replace(struct(id="long", **columns), names, [])
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", requirement))


_KEPT_NAME: Final = "The {} partition column keeps its name when a table is replaced"
_BOTH: Final = ["part", "day"]
_REPARTITIONED: Final = (
    ("first", _BOTH, ["other", "day"], _KEPT_NAME.format("first")),
    ("second", _BOTH, ["part", "other"], _KEPT_NAME.format("second")),
    ("more", ["part"], _BOTH, "A replaced table gets no further partition column"),
    ("fewer", _BOTH, ["part"], "A replaced table loses no partition column"),
)

for _chapter, _version, _id in ((FIRST, 1, "ICE1-011"), (SECOND, 2, "ICE2-019")):
    for _which, _held, _names, _title in _REPARTITIONED:
        _chapter.define(
            f"write-replace-partitions-{_which}",
            _title,
            _id,
            partial(_replaced_one, _version, _id, _held, _names),
        )


def _replaced_alike(version: int, case: CaseWriter) -> None:
    recipe = Recipe.active(KEYED, *compatible(version), partition_columns=("part",)).append(
        keyed(1, 2)
    )
    other = struct(part="integer", n="double")
    recipe.replace(other, ["part"], [{"part": 1, "n": 0.5}, {"part": None, "n": None}])
    recipe.append([{"part": 2, "n": 1.5}]).publish(case)


for _chapter, _version, _id in ((FIRST, 1, "ICE1-012"), (SECOND, 2, "ICE2-020")):
    _chapter.define(
        "write-replace-alike",
        "A table is replaced by one with a partition column of the same name",
        _id,
        partial(_replaced_alike, _version),
    )


_EVENTS: Final = struct(part="string", id="long", at="timestamp", day="date")


def _event(number: int) -> dict[str, Any]:
    moment = utc(2024, 1, 1, 0, 0, 0, number)
    return {"part": "ab"[number % 2], "id": number, "at": moment, "day": date(2024, 1, number)}


def _compatible(version: int, case: CaseWriter, mode: str = "name") -> None:
    properties = {"delta.columnMapping.mode": mode}
    recipe = Recipe.active(
        _EVENTS, *compatible(version), partition_columns=("part",), properties=properties
    )
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.update({"id": 100}, compare("id", "=", 2, "long"))
    recipe.delete(compare("id", "=", 5, "long")).append([_event(9)]).run("optimize").publish(case)


FIRST.define(
    "write-changes",
    "Files have the partition values and count their rows",
    "ICE1-007 ICE1-008 ICE1-009",
    partial(_compatible, 1),
)

FIRST.define(
    "write-changes-by-id",
    "Files have the partition values where columns are found by ids",
    "ICE1-008 ICE1-007 ICE1-009",
    partial(_compatible, 1, mode="id"),
)

SECOND.define(
    "write-changes",
    "Files have the partition values and count their rows",
    "ICE2-015 ICE2-016",
    partial(_compatible, 2),
)


def _merged(version: int, case: CaseWriter) -> None:
    recipe = Recipe.active(_EVENTS, *compatible(version), partition_columns=("part",))
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.merge([_event(number) for number in (2, 8)], SAME_ID, *UPSERT)
    recipe.overwrite([_event(9)], compare("part", "=", "b", "string"))
    recipe.append([_event(10)]).restore(1).publish(case)


for _chapter, _version, _ids in (
    (FIRST, 1, "ICE1-007 ICE1-008 ICE1-009"),
    (SECOND, 2, "ICE2-015 ICE2-016 ICE2-017"),
):
    _chapter.define(
        "write-merge",
        "What a merge and an overwrite write has the partition values",
        _ids,
        partial(_merged, _version),
    )


def _restored(version: int, case: CaseWriter) -> None:
    recipe = Recipe.active(KEYED, *compatible(version), partition_columns=("part",)).append(
        keyed(1, 2)
    )
    recipe.unset_properties(f"delta.enableIcebergCompatV{version}").append(keyed(3))
    recipe.restore(1).append(keyed(4)).publish(case)


for _chapter, _version, _ids in (
    (FIRST, 1, "ICE1-005 ICE1-007 ICE1-009"),
    (SECOND, 2, "ICE2-005 ICE2-015 ICE2-016"),
):
    _chapter.define(
        "write-restore-enabled",
        "A restore to a version that was compatible makes a compatible one",
        _ids,
        partial(_restored, _version),
    )


@FIRST.case("write-enable-later", "ICE1-007 ICE1-005")
def _enable_later(case: CaseWriter) -> None:
    """Files that are there have the partition values once it is enabled."""
    recipe = Recipe.active(_EVENTS, "columnMapping", partition_columns=("part",))
    recipe.append([_event(number) for number in range(1, 5)])
    recipe.run("enable_feature", feature="icebergCompatV1")
    recipe.set_properties({"delta.enableIcebergCompatV1": "true"}).append([_event(7)]).publish(case)


@SECOND.case("write-enable-later", "ICE2-005 ICE2-015 ICE2-016")
def _enable_second_later(case: CaseWriter) -> None:
    """Files that are there are read as before once it is enabled."""
    recipe = Recipe.active(_EVENTS, "columnMapping", "deletionVectors", partition_columns=("part",))
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"})
    recipe.run("enable_feature", feature="icebergCompatV2")
    recipe.set_properties({"delta.enableIcebergCompatV2": "true"}).append([_event(7)])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


_BESIDE: Final = {
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableIcebergCompatV1": "icebergCompatV1",
}
"""Features that exclude Iceberg compatibility while they are active, by their properties."""


def _excluded(
    version: int, schema: Struct, more: dict[str, str], requirement: str, case: CaseWriter
) -> None:
    asked = {f"delta.enableIcebergCompatV{version}": "true", **more}
    refused = Refusal("invalid_table", "commit", requirement)
    if more:
        # Of a feature that is not listed the property binds no writer.
        names = (f"icebergCompatV{version}", *(f for p, f in _BESIDE.items() if p in more))
        recipe = Recipe(schema, (), {"team": "tables"}, ("columnMapping", *names)).append([])
        if requirement == "ICE1-010":
            recipe.set_properties(asked).publish(
                case,
                contested=[
                    ("refused", "the table cannot be converted to Iceberg", refused),
                    ("carried-out", "what the text blocks is to add such columns", None),
                ],
            )
            return
        recipe.set_properties_refused(asked).publish(case, refusal=refused)
        return
    recipe = Recipe(schema, properties={"team": "tables"}).append([])
    recipe.set_properties(asked).publish(
        case,
        contested=[
            ("refused", "the feature needs column mapping", refused),
            ("inert", "a property alone, of a feature that is not listed, binds nobody", None),
        ],
    )


_EXCLUDED: Final[tuple[tuple[str, str, Struct, Mapping[str, str], str], ...]] = (
    ("unmapped", "It is not enabled without column mapping", PAIR, {}, "ICE1-005"),
    ("vectors", "It is not enabled with vectors", PAIR, WITH_VECTORS, "ICE1-006"),
    ("array", "It is enabled over an array or not", beside_id(array("long")), {}, "ICE1-010"),
    ("map", "It is enabled over a map or not", beside_id(map_of("string", "long")), {}, "ICE1-010"),
    ("unmapped", "It is not enabled without column mapping", PAIR, {}, "ICE2-005"),
    ("vectors", "It is not enabled with active vectors", PAIR, WITH_VECTORS, "ICE2-014"),
    ("first", "It is not enabled beside the first version", PAIR, asking(["icebergCompatV1"]),
     "ICE2-013"),
)  # fmt: skip
"""Name, title, schema, further properties, requirement."""

for _name, _title, _schema, _more, _id in _EXCLUDED:
    _properties = {**({} if _name == "unmapped" else MAPPED), **_more}
    (FIRST if _id.startswith("ICE1") else SECOND).define(
        f"write-refused-{_name}",
        _title,
        _id,
        partial(_excluded, 1 if _id.startswith("ICE1") else 2, _schema, _properties, _id),
        features=("columnMapping",),
    )


@SECOND.case("write-nested", "ICE2-006 ICE2-007 ICE2-008 ICE2-021 ICE2-022", since="upstream")
def _nested(case: CaseWriter) -> None:
    """Elements, keys and values have ids of their own."""
    schema = struct(
        id="long", l=array(array("integer")), m=map_of("integer", struct(s=array("string")))
    )
    recipe = Recipe.active(schema, *compatible(2))
    recipe.append([{"id": 1, "l": [[1, None], []], "m": {7: {"s": ["x"]}}}])
    recipe.add_column(field("later", array("long"))).append(
        [{"id": 2, "l": None, "m": None, "later": [1]}]
    )
    recipe.publish(case)


@SECOND.case("write-nested-ids", "ICE2-007 ICE2-006 ICE2-012", since="2025")
def _nested_ids(case: CaseWriter) -> None:
    """Ids inside of columns are those of no column and of no other part."""
    schema = struct(id="long", l=array("integer"), n="long")
    recipe = Recipe.active(schema, *compatible(2))
    recipe.append([{"id": 1, "l": [1, None], "n": 2}])
    recipe.add_column(field("m", map_of("string", array("long"))))
    recipe.append([{"id": 2, "l": None, "n": None, "m": {"k": [1]}}])
    recipe.update({"n": 3}, compare("id", "=", 2, "long")).run("optimize")
    recipe.merge([{"id": 1, "l": [7], "n": 1, "m": None}], SAME_ID, *UPSERT).publish(case)


@SECOND.case("write-nested-replaced", "ICE2-006 ICE2-007 ICE2-008 ICE2-012 ICE2-017")
def _nested_replaced(case: CaseWriter) -> None:
    """Inner ids and timestamps are right in columns that a replace brings."""
    schema = struct(id="long", s=struct(at="timestamp", l=array("timestamp")), n="long")
    recipe = Recipe.active(schema, *compatible(2))

    def row(number: int) -> dict[str, Any]:
        moment = utc(2024, 1, 1, 0, 0, 0, number)
        return {"id": number, "s": {"at": moment, "l": [moment, None]}, "n": number}

    recipe.append([row(1), row(2), row(3)]).update({"n": 5}, compare("id", "=", 2, "long"))
    recipe.delete(compare("id", "=", 1, "long")).append([row(4)]).run("optimize")
    recipe.merge([row(4), row(6)], SAME_ID, *UPSERT)
    recipe.overwrite([row(7)], compare("id", ">", 5, "long"))
    other = struct(
        id="long", m=map_of("string", array(array("timestamp"))), s=struct(t=array("long"))
    )
    inner = {"m": {"k": [[utc(2024, 1, 1)], None]}, "s": {"t": [7]}}
    recipe.replace(other, (), [{"id": 8, **inner}]).append([{"id": 9, "m": None, "s": None}])
    recipe.overwrite([{"id": 10, **inner}]).publish(case)


def _with(kind: str | of.DataType) -> Struct:
    return struct(*PAIR.fields, of.field("c", kind))


def _for_iceberg(version: int, *more: str) -> Recipe:
    recipe = Recipe(PAIR, (), asking(compatible(version)), (*compatible(version), *more))
    return recipe.append(pairs(1, 2))


def _not_for_iceberg(step: Step, row: str, more: tuple[str, ...], case: CaseWriter) -> None:
    recipe = step(_for_iceberg(1 if row.startswith("ICE1") else 2, *more))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", row))


def _column_of(kind: of.DataType) -> Step:
    return lambda recipe: recipe.add_existing_column_refused(of.field("c", kind))


_ARRAY: Final = of.array("long")

_MAP: Final = of.map_of("string", "long")

_NOT_ADDED: Final[tuple[tuple[str, str, str, Step, tuple[str, ...]], ...]] = (
    ("array", "An array is not added", "ICE1-010", _column_of(_ARRAY), ()),
    ("map", "A map is not added", "ICE1-010", _column_of(_MAP), ()),
    ("array-within", "A struct with an array in it is not added", "ICE1-010",
     _column_of(struct(of.field("a", _ARRAY))), ()),
    ("replace", "A table is not replaced by one with an array", "ICE1-010",
     lambda recipe: recipe.replace(_with(_ARRAY), (), []), ()),
    ("variant", "A variant is not added", "ICE2-018", _column_of(of.Primitive("variant")),
     ("variantType",)),
    ("vectors", "Vectors are not supported from later on", "ICE1-006",
     lambda recipe: recipe.run("enable_feature", feature="deletionVectors"), ()),
    ("vectors", "Vectors are not enabled later", "ICE2-014",
     lambda recipe: recipe.set_properties_refused(WITH_VECTORS), ("deletionVectors",)),
)  # fmt: skip
"""Name, title, requirement, step, further features."""

for _slug, _title, _row, _step, _listed in _NOT_ADDED:
    (FIRST if _row.startswith("ICE1") else SECOND).define(
        f"write-refused-later-{_slug}",
        _title,
        _row,
        partial(_not_for_iceberg, _step, _row, _listed),
    )


@FIRST.case("write-later-vectors-unlisted", "ICE1-006")
def _unlisted_vectors(case: CaseWriter) -> None:
    """The property of vectors brings no support for them."""
    _for_iceberg(1).set_properties(WITH_VECTORS).append(pairs(3)).publish(
        case,
        contested=[
            (
                "refused",
                "the property would have vectors written",
                Refusal("invalid_table", "commit", "ICE1-006", of=("set_properties", "append")),
            ),
            ("inert", "a property alone, of a feature that is not listed, binds nobody", None),
        ],
    )
