"""Cases of writing: variants, void and timestamps without a zone."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import Recipe, unasked
from generators.golden.chapters.files.types import local
from generators.golden.chapters.writing.starts import VARIANTS, beside_id, variants
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

VARIANT: Final = Chapter("variant-type", since="upstream")
SHREDDED: Final = Chapter("variant-shredding", since="upstream")
VOID: Final = Chapter("void-type", since="upstream")
ZONELESS: Final = Chapter("timestamp-ntz", since="2025")


@VARIANT.case("write-variants", "VAR-003")
def _write_variants(case: CaseWriter) -> None:
    """Variants are written, and kept through rewrites."""
    recipe = Recipe(VARIANTS, features=("variantType",)).append(variants(*range(6)))
    recipe.append([{"id": 9, "v": None}]).delete(is_in("id", [1, 4], "long"))
    recipe.update({"id": 100}, compare("id", "=", 5, "long")).run("optimize")
    recipe.checkpoint().append(variants(8)).publish(case)


@VARIANT.case("write-variants-mapped", "CM-013 VAR-003")
def _write_mapped(case: CaseWriter) -> None:
    """Files know a variant by the name that mapping gives it."""
    recipe = Recipe.active(VARIANTS, "variantType", "columnMapping").append(variants(2, 5))
    recipe.rename_column("v", "w").update({"id": 9}, compare("id", "=", 2, "long")).publish(case)


@VARIANT.case("write-unasked", "VAR-001")
def _write_unasked(case: CaseWriter) -> None:
    """A table with a variant column lists the feature, asked for or not."""
    Recipe(VARIANTS, rows=variants(2, 3)).publish(case, contested=unasked("VAR-001"))


@VARIANT.case("write-variants-within", "VAR-003")
def _write_within(case: CaseWriter) -> None:
    """Variants are written within an array."""
    values = [each["v"] for each in variants(2, 5)]
    recipe = Recipe(struct(id="long", l=array("variant")), features=("variantType",))
    recipe.append([{"id": 1, "l": [*values, None]}, {"id": 2, "l": None}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@VARIANT.case("write-variants-in-structs", "VAR-003")
def _write_in_structs(case: CaseWriter) -> None:
    """Variants are written within structs and maps."""
    pair = struct(v="variant", n="long")
    schema = struct(id="long", s=struct(p=pair, m=map_of("string", "variant")))
    values = [each["v"] for each in variants(*range(6))]
    recipe = Recipe(schema, features=("variantType",))
    recipe.append(
        [
            {"id": 1, "s": {"p": {"v": values[3], "n": 7}, "m": {"a": values[2], "b": None}}},
            {"id": 2, "s": {"p": None, "m": None}},
            {"id": 3, "s": None},
            {"id": 4, "s": {"p": {"v": None, "n": 8}, "m": {}}},
            {"id": 5, "s": {"p": {"v": values[5], "n": None}, "m": {"c": values[4]}}},
        ]
    )
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


_SHREDDING: Final = ("variantType", "variantShredding")


@SHREDDED.case("write-unshredded", "SHRED-002 VAR-003")
def _unshredded(case: CaseWriter) -> None:
    """Variants are not shredded where the table does not ask for it."""
    recipe = Recipe(VARIANTS, features=_SHREDDING).append(variants(*range(6)))
    recipe.delete(compare("id", "=", 3, "long")).run("optimize").publish(case)


_VOID_COLUMN: Final = struct(id="long", v="void", s=struct(a="long"))


@VOID.case("write-void", "VOID-001")
def _void(case: CaseWriter) -> None:
    """void columns are in no file, and take a type later on."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "v": None, "s": {"a": 1}},
        {"id": 2, "v": None, "s": None},
    ]
    recipe = Recipe(_VOID_COLUMN).append(rows).append([{**rows[1], "id": 3}])
    recipe.delete(compare("id", "=", 2, "long")).change_type("v", "string")
    recipe.append([{"id": 4, "v": "x", "s": None}]).publish(case)


@VOID.case("write-void-within", "VOID-001 VOID-002")
def _void_within(case: CaseWriter) -> None:
    """void fields of structs are in no file."""
    outer = struct(v="void", a="long", deep=struct(v="void", b="string", w="void"))
    inner = {"v": None, "b": "x", "w": None}
    recipe = Recipe(struct(id="long", s=outer, plain=struct(a="long")))
    recipe.append(
        [
            {"id": 1, "s": {"v": None, "a": 1, "deep": inner}, "plain": {"a": 5}},
            {"id": 2, "s": None, "plain": None},
            {"id": 3, "s": {"v": None, "a": None, "deep": None}, "plain": {"a": None}},
        ]
    )
    recipe.append(
        [{"id": 4, "s": {"v": None, "a": 4, "deep": {**inner, "b": None}}, "plain": None}]
    )
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


for _name, _title, _schema, _id in (
    (
        "array",
        "Rows are refused where an array has void in it",
        beside_id(array("void")),
        "VOID-003",
    ),
    (
        "map",
        "Rows are refused where a map has void in it",
        beside_id(map_of("string", "void")),
        "VOID-003",
    ),
    (
        "struct",
        "Rows are refused where a struct has only void fields",
        beside_id(struct(v="void")),
        "VOID-004",
    ),
    ("all", "Rows are refused where every column is void", struct(id="void"), "VOID-005"),
):

    def _no_file(schema: Struct, requirement: str, case: CaseWriter) -> None:
        value = None if requirement == "VOID-005" else 1
        row: dict[str, Any] = dict.fromkeys(schema.names)
        recipe = Recipe(schema).append([row | {"id": value}])
        recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))

    VOID.define(f"write-{_name}", _title, f"{_id} VOID-002", partial(_no_file, _schema, _id))


@ZONELESS.case("write-data", "NTZ-001 NTZ-002")
def _zoneless(case: CaseWriter) -> None:
    """Timestamps without zone are written as they are, within columns, too."""
    of = "timestamp_ntz"
    schema = struct(id="long", t=of, s=struct(t=of), l=array(of), m=map_of("string", of))
    values = (local(1, 1, 2), local(1969, 12, 31, 23, 59, 59, 999999), local(9999, 12, 30), None)
    rows = [{"t": each, "s": {"t": each}, "l": [each], "m": {"k": each}} for each in values]
    recipe = Recipe(schema, (), {}, ("timestampNtz",))
    recipe.append([{"id": n, **row} for n, row in enumerate(rows)])
    recipe.update({"t": local(2024, 2, 29, 12, 0, 0, 1)}, compare("id", "=", 0, "long"))
    recipe.delete(compare("t", "<", local(1970, 1, 1), "timestamp_ntz")).checkpoint().publish(case)


def _unlisted(operation: str, case: CaseWriter) -> None:
    spelled = "timestamp_ntz"
    wanted = field("t", array(spelled) if operation == "add-within" else spelled)
    value = local(2024, 2, 29, 12, 0, 0, 1)
    if operation == "create":
        Recipe(struct(field("id", "long"), wanted), rows=[{"id": 1, "t": value}]).publish(
            case, contested=unasked("NTZ-002")
        )
        return
    recipe = Recipe(struct(id="long")).append([{"id": 1}]).given()
    if operation == "replace":
        recipe.replace(struct(field("id", "long"), wanted), (), [{"id": 2, "t": value}])
    else:
        recipe.add_column(wanted)
    recipe.publish(case, contested=unasked("NTZ-002"))


for _operation, _title in (
    ("create", "A table is created with"),
    ("add", "A table gets"),
    ("add-within", "A table gets a list with"),
    ("replace", "A table is made one with"),
):
    ZONELESS.define(
        f"write-{_operation}-unlisted",
        f"{_title} a column that needs a feature",
        "NTZ-002",
        partial(_unlisted, _operation),
        features=("timestampNtz",),
    )
