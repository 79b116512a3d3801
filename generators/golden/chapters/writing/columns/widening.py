"""Cases of writing: changes of types are recorded."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.starts import broken_rule, compatible
from generators.oracle.delta_schema import Struct, array, field, struct
from generators.oracle.operations import SetComment, SetDefault

WIDENING: Final = Chapter("type-widening", since="upstream")

_NUMBERS: Final = struct(id="long", b="byte", f="float", d="decimal(5,2)")


def _numbers(number: int) -> dict[str, Any]:
    return {"id": number, "b": number, "f": number / 4, "d": number}


@WIDENING.case("write-widen", "TW-009 TW-012 SCH-037")
def _widen(case: CaseWriter) -> None:
    """Values of before are read as the wider type, and those of now written."""
    recipe = Recipe.active(_NUMBERS, "typeWidening")
    recipe.append([_numbers(1), _numbers(2)]).change_type("b", "short").append([_numbers(300)])
    recipe.change_type("b", "integer").change_type("f", "double")
    recipe.change_type("d", "decimal(12,4)").add_column(field("later", "string"))
    recipe.append([{**_numbers(70000), "later": "x"}])
    recipe.delete(compare("id", "=", 2, "long")).checkpoint().publish(case)


@WIDENING.case("write-widen-commented", "SCH-037")
def _widen_commented(case: CaseWriter) -> None:
    """What is said of columns stays when one of them is widened."""
    schema = struct(field("id", "integer", metadata={"comment": "the key"}), *PAIR.fields[1:])
    recipe = Recipe.active(
        schema,
        "typeWidening",
        "checkConstraints",
        properties={"delta.constraints.named": "name <> ''"},
    ).append(pairs(1))
    recipe.change_type("id", "long").append([{"id": 1 << 40, "name": "x"}]).publish(case)


@WIDENING.case("write-record-kept", "TW-009 SCH-037")
def _record_kept(case: CaseWriter) -> None:
    """The record of a widened column survives whatever else is said of it."""
    schema = struct(*PAIR.fields, field("b", "byte", nullable=False))
    recipe = Recipe.active(schema, "typeWidening", "allowColumnDefaults").append(
        [{"id": 1, "name": "n1", "b": 1}]
    )
    recipe.change_type("b", "integer").set_nullable("b", nullable=True)
    recipe.do(SetComment("b", "a number")).do(SetDefault("b", "7"))
    recipe.reorder_columns("b", "id", "name")
    recipe.append([{"id": 2, "name": "n2", "b": 70000}]).publish(case)


@WIDENING.case("write-record-renamed", "TW-009 SCH-037", features=("typeWidening", "columnMapping"))
def _record_renamed(case: CaseWriter) -> None:
    """The record of a widened column survives another name of the column."""
    schema = struct(*PAIR.fields, field("b", "byte", metadata={"comment": "a number"}))
    recipe = Recipe.active(schema, "typeWidening", "columnMapping")
    recipe.append([{"id": 1, "name": "n1", "b": 1}]).change_type("b", "short")
    recipe.rename_column("b", "c").append([{"id": 2, "name": "n2", "c": 300}]).publish(case)


@WIDENING.case("write-nested-record", "TW-008 TW-009")
def _nested_record(case: CaseWriter) -> None:
    """The record of a widened element survives changes of other columns."""
    record = {"fromType": "integer", "toType": "long", "fieldPath": "element"}
    widened = field("n", array("long"), metadata={"delta.typeChanges": [record]})
    recipe = Recipe.active(struct(*PAIR.fields, widened), "typeWidening")
    recipe.append([{"id": 1, "name": "n1", "n": [1 << 40]}]).given()
    recipe.add_column(field("later", "string")).do(SetComment("name", "what it is called"))
    recipe.append([{"id": 2, "name": "n2", "n": [2], "later": "x"}]).publish(case)


@WIDENING.case("write-not-enabled", "TW-002", features=("typeWidening",))
def _not_enabled(case: CaseWriter) -> None:
    """A type is not widened where widening is off."""
    recipe = Recipe(_NUMBERS).append([_numbers(1)]).change_type("b", "short")
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "TW-002"))


@WIDENING.case("write-supported-alone", "TW-002")
def _supported_alone(case: CaseWriter) -> None:
    """A type is not widened where widening is supported alone."""
    recipe = Recipe(_NUMBERS, (), {}, ("typeWidening",)).append([_numbers(1)])
    recipe.change_type("b", "short")
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "TW-002"))


for _name, _column, _type in (
    ("narrower", "id", "integer"),
    ("other", "b", "string"),
    ("scale", "d", "decimal(5,3)"),
):

    def _unlisted(column: str, spelled: str, case: CaseWriter) -> None:
        recipe = Recipe.active(_NUMBERS, "typeWidening").append([_numbers(1)])
        recipe.change_type(column, spelled).publish(case, refusal=broken_rule("TW-003"))

    WIDENING.define(
        f"write-refused-{_name}",
        f"A change from {_NUMBERS[_column].to_json()['type']} to {_type} is refused",
        "TW-003",
        partial(_unlisted, _column, _type),
    )


@WIDENING.case("write-drop-feature", "TW-011")
def _drop_widening(case: CaseWriter) -> None:
    """Type widening that is dropped leaves no trace."""
    record = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    within = field("s", struct(field("x", "long", metadata=record)))
    one, two, three = ({**_numbers(n), "s": {"x": n}} for n in (1, 500, 600))
    recipe = Recipe.active(_NUMBERS.with_fields(within), "typeWidening").append([one])
    recipe.given().change_type("b", "integer").append([two])
    recipe.run("drop_feature", feature="typeWidening").append([three]).publish(case)


def _widened(schema: Struct, column: str, spelled: str, case: CaseWriter) -> None:
    recipe = Recipe.active(schema, *compatible(2), "typeWidening").append([{"id": 1, "n": 1}])
    recipe.change_type(column, spelled)
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "ICE2-023"))


@WIDENING.case("write-iceberg-allowed", "ICE2-023 TW-003")
def _widened_for_iceberg(case: CaseWriter) -> None:
    """Changes of types that Iceberg knows are carried out."""
    schema = struct(id="long", n="integer", f="float", d="decimal(9,2)")
    recipe = Recipe.active(schema, *compatible(2), "typeWidening")
    recipe.append([{"id": 1, "n": -1, "f": 0.5, "d": Decimal("1.25")}])
    recipe.change_type("n", "long").change_type("f", "double").change_type("d", "decimal(12,2)")
    recipe.append([{"id": 2, "n": 2**40, "f": 0.1, "d": Decimal("-1234567890.25")}])
    recipe.delete(compare("id", "=", 1, "long")).publish(case)


for _name, _from, _to in (("double", "integer", "double"), ("decimal", "integer", "decimal(12,2)")):
    WIDENING.define(
        f"write-iceberg-{_name}",
        f"A change from {_from} to {_name} is refused where Iceberg knows none",
        "ICE2-023 TW-003",
        partial(_widened, struct(id="long", n=_from), "n", _to),
    )


@WIDENING.case("write-widen-twice", "TW-009 TW-012")
def _twice(case: CaseWriter) -> None:
    """Every change of a column's type stays on record."""
    schema = struct(id="long", v="byte")
    recipe = Recipe.active(schema, "typeWidening")
    recipe.append([{"id": 1, "v": 1}]).change_type("v", "short").append([{"id": 2, "v": 300}])
    recipe.change_type("v", "integer").append([{"id": 3, "v": 70_000}])
    recipe.add_column(field("later", "string")).set_properties({"team": "a"})
    recipe.change_type("v", "long").append([{"id": 4, "v": 2**40, "later": "x"}])
    recipe.checkpoint().publish(case)


@WIDENING.case("write-widen-checkpointed", "TW-009 TW-012 CKC-004 CKC-021")
def _widened_twice(case: CaseWriter) -> None:
    """A column of a checkpointed table is widened, its typed bounds, too."""
    schema = struct(field("id", "long"), field("v", "short"))
    recipe = Recipe.active(
        schema,
        "typeWidening",
        "checkConstraints",
        properties={
            "delta.checkpoint.writeStatsAsStruct": "true",
            "delta.checkpoint.writeStatsAsJson": "false",
        },
    )
    recipe.append([{"id": 1, "v": 1}, {"id": 2, "v": 300}]).checkpoint().given()
    recipe.change_type("v", "integer").append([{"id": 3, "v": 70_000}]).checkpoint()
    recipe.change_type("v", "long").append([{"id": 4, "v": 2**40}])
    recipe.delete(compare("id", "=", 1, "long")).checkpoint().publish(case)
