"""Cases of writing: recipes that change columns, properties, constraints and features."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import ID_KEY, array, field, map_of, struct
from generators.oracle.operations import SetComment, SetDefault

SCHEMA: Final = Chapter("schema-serialization-format")
METADATA: Final = Chapter("change-metadata")
MAPPING: Final = Chapter("column-mapping", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
DEFAULTS: Final = Chapter("default-columns", since="2025")
GENERATED: Final = Chapter("generated-columns", since="2025")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
FEATURES: Final = Chapter("table-features", since="2025")
VERSIONS: Final = Chapter("version-requirements")
TRACKING: Final = Chapter("row-tracking", since="2025")

_TOLD: Final = struct(
    field("id", "long", metadata={"comment": "the key"}),
    field("name", "string", metadata={"comment": "of a person", "scale": 7}),
)
_MAPPED: Final = {"delta.columnMapping.mode": "name"}


def _constraint(requirement: str) -> Refusal:
    return Refusal("constraint", "commit", requirement)


@SCHEMA.case("write-add-column", "SCH-037 SCH-025")
def _add_column(case: CaseWriter) -> None:
    """Rows of before have null in a column that is added."""
    recipe = Recipe(_TOLD).append(pairs(1, 2))
    recipe.add_column(field("n", "integer", metadata={"comment": "new"}))
    recipe.append([{"id": 3, "name": "x", "n": 3}]).append([{"id": 4, "name": "y", "n": None}])
    recipe.delete(compare("id", "=", 1, "long")).publish(case)


@SCHEMA.case("write-reorder", "SCH-037")
def _reorder(case: CaseWriter) -> None:
    """Columns in another order are the same columns."""
    recipe = Recipe(_TOLD).append(pairs(1, 2)).reorder_columns("name", "id").append(pairs(3))
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@SCHEMA.case("write-comment", "SCH-037")
def _comment(case: CaseWriter) -> None:
    """A comment is set, and other metadata of columns stay."""
    recipe = Recipe(_TOLD).append(pairs(1)).do(SetComment("name", "of a customer"))
    recipe.append(pairs(2)).publish(case)


@SCHEMA.case("write-add-taken-name", "SCH-028", since="upstream")
def _add_taken(case: CaseWriter) -> None:
    """A column whose name is taken is not added."""
    recipe = Recipe(PAIR).append(pairs(1)).add_existing_column_refused(field("NAME", "string"))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "SCH-028"))


@SCHEMA.case("write-nullable", "SCH-025")
def _nullable(case: CaseWriter) -> None:
    """A column that had no nulls may be let have some."""
    strict = struct(field("id", "long", nullable=False), field("name", "string"))
    recipe = Recipe(strict).append(pairs(1))
    recipe.set_nullable("id", nullable=True)
    recipe.append([{"id": None, "name": "x"}]).publish(case)


@SCHEMA.case("write-not-null-refused", "SCH-025")
def _not_null_refused(case: CaseWriter) -> None:
    """A column with nulls is not declared to have none."""
    # A file without nulls comes before the one that has some, and after it.
    recipe = Recipe(PAIR).append(pairs(1)).append([{"id": None, "name": "x"}]).append(pairs(2))
    recipe.set_nullable("id", nullable=False)
    recipe.publish(case, refusal=_constraint("SCH-025"))


_STRICT: Final = struct(
    field("id", "long", nullable=False),
    field("name", "string", metadata={"comment": "of a person"}),
)


@SCHEMA.case("write-null-refused-later", "SCH-025")
def _null_refused_later(case: CaseWriter) -> None:
    """A change of columns lets no null into a column that has none."""
    recipe = Recipe(_STRICT).append(pairs(1)).add_column(field("n", "integer"))
    recipe.do(SetComment("name", "of a customer")).set_properties({"team": "a"})
    recipe.append([{"id": 2, "name": "x", "n": 3}]).append([{"id": None, "name": "y", "n": 4}])
    recipe.publish(case, refusal=_constraint("SCH-025"))


@MAPPING.case("write-null-refused-renamed", "SCH-025")
def _null_refused_renamed(case: CaseWriter) -> None:
    """Columns are renamed and dropped, and a null is refused as before."""
    recipe = Recipe(struct(*_STRICT, field("gone", "long")), (), _MAPPED, ("columnMapping",))
    recipe.append([{"id": 1, "name": "a", "gone": 1}]).rename_column("name", "label")
    recipe.drop_column("gone").append([{"id": None, "label": "y"}])
    recipe.publish(case, refusal=_constraint("SCH-025"))


_INNER: Final = struct(
    id="long",
    s=struct(field("a", "long", metadata={"comment": "inside", "scale": 7})),
    l=array(struct(field("b", "string", metadata={"comment": "within"}))),
)


@SCHEMA.case("write-add-column-beside-nested", "SCH-037")
def _beside_nested(case: CaseWriter) -> None:
    """What is said of columns within others stays when a column is added."""
    row = {"id": 1, "s": {"a": 2}, "l": [{"b": "x"}]}
    recipe = Recipe(_INNER).append([row]).add_column(field("n", "integer"))
    recipe.append([{**row, "id": 2, "n": 3}]).publish(case)


@SCHEMA.case("write-drop-not-null-commented", "SCH-037")
def _drop_not_null_commented(case: CaseWriter) -> None:
    """What is said of a column stays when it may have nulls from now on."""
    held = {"comment": "the key", "scale": 7}
    schema = struct(field("id", "long", nullable=False, metadata=held), *PAIR.fields[1:])
    recipe = Recipe(schema).append(pairs(1)).set_nullable("id", nullable=True)
    recipe.append([{"id": None, "name": "x"}]).publish(case)


@METADATA.case("write-unset", "META-011")
def _unset(case: CaseWriter) -> None:
    """A property that is unset is gone, and others stay."""
    recipe = Recipe(PAIR, (), {"team": "a", "purpose": "b"}).append(pairs(1))
    recipe.unset_properties("team").append(pairs(2)).set_properties({"team": "c"}).publish(case)


@MAPPING.case("write-columns", "CM-013 CM-014 CM-018 CM-019 CM-022 SCH-037")
def _columns(case: CaseWriter) -> None:
    """Mapped columns are renamed, dropped and added without rewriting."""
    recipe = Recipe(_TOLD, (), _MAPPED, ("columnMapping",)).append(pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": "c"}]).drop_column("label")
    recipe.append([{"id": 4}]).add_column(field("label", "string"))
    recipe.append([{"id": 5, "label": "again"}]).delete(compare("id", "=", 1, "long"))
    recipe.checkpoint().publish(case)


def _nested_columns(mode: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), {"delta.columnMapping.mode": mode}, ("columnMapping",))
    inner = struct(field("a", "long"), field("b", struct(field("c", "string"))))
    row: dict[str, Any] = {"s": {"a": 1, "b": {"c": "x"}}}
    recipe.append(pairs(1)).add_column(field("s", inner)).append([{**pairs(2)[0], **row}])
    recipe.add_column(field("l", array(struct(field("a", "integer"), field("d", inner)))))
    recipe.add_column(field("m", map_of("string", struct(field("k", "double")))))
    row |= {"l": [{"a": 2, "d": row["s"]}, None], "m": {"key": {"k": 0.5}}}
    recipe.append([{**pairs(3)[0], **row}]).rename_column("s", "t").publish(case)


for _mode in ("name", "id"):
    MAPPING.define(
        f"write-add-nested-by-{_mode}",
        f"Fields within a column that is added get ids too, in mode {_mode}",
        "CM-019 CM-002 CM-020 CM-022",
        partial(_nested_columns, _mode),
    )


@MAPPING.case("write-columns-kept", "META-011 SCH-037")
def _columns_kept(case: CaseWriter) -> None:
    """A change of columns leaves the properties of the table alone."""
    properties = {**_MAPPED, "team": "a", "delta.dataSkippingNumIndexedCols": "2"}
    recipe = Recipe(_TOLD, (), properties, ("columnMapping",)).append(pairs(1, 2))
    recipe.add_column(field("extra", "long")).rename_column("name", "label")
    recipe.drop_column("extra").append([{"id": 3, "label": "c"}]).publish(case)


@MAPPING.case("write-rename-partition", "CM-014 CM-016")
def _rename_partition(case: CaseWriter) -> None:
    """A partition column that is renamed keeps its values."""
    recipe = Recipe(struct(id="long", part="string"), ("part",), _MAPPED, ("columnMapping",))
    recipe.append([{"id": 1, "part": "a"}, {"id": 2, "part": None}]).rename_column("part", "p")
    recipe.append([{"id": 3, "p": "b"}]).delete(compare("p", "=", "a", "string")).publish(case)


@MAPPING.case("write-turn-on", "CM-011 CM-012 CM-013 CM-014")
def _turn_on(case: CaseWriter) -> None:
    """Mapping that is turned on later reads the files of before."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("enable_feature", feature="columnMapping")
    recipe.set_properties(_MAPPED).append(pairs(3)).rename_column("name", "label")
    recipe.append([{"id": 4, "label": "x"}]).publish(case)


@MAPPING.case("write-turn-on-added", "CM-012 CM-013 CM-014")
def _turn_on_added(case: CaseWriter) -> None:
    """A column that was added before mapping is turned on keeps its values."""
    recipe = Recipe(PAIR).append(pairs(1)).add_column(field("later", "long"))
    recipe.append([{"id": 2, "name": "b", "later": 7}])
    recipe.keep("enable_feature", feature="columnMapping").set_properties(_MAPPED)
    recipe.append([{"id": 3, "name": "c", "later": 8}]).publish(case)


@MAPPING.case("write-turn-on-legacy", "CM-010 WVER-004")
def _turn_on_legacy(case: CaseWriter) -> None:
    """Mapping is turned on at writer version 5, where a column has an id."""
    schema = struct(field("id", "long", metadata={ID_KEY: 5}), *PAIR.fields[1:])
    recipe = Recipe(schema, protocol=Protocol(2, 5)).append(pairs(1, 2)).given()
    recipe.set_properties(_MAPPED).append(pairs(3)).publish(case)


@MAPPING.case("write-own-ids", "CM-021")
def _own_ids(case: CaseWriter) -> None:
    """Nobody sets the highest column id."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1))
    recipe.set_properties({"delta.columnMapping.maxColumnId": "77"})
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "CM-021"))


@MAPPING.case("write-drop-all-data", "CM-013 SCH-037 DATA-004")
def _drop_all_data(case: CaseWriter) -> None:
    """Rows stay when the last data column is dropped and another comes."""
    recipe = Recipe(PAIR, ("name",), _MAPPED, ("columnMapping",)).append(pairs(1, 2))
    recipe.drop_column("id").add_column(field("id", "string"))
    recipe.append([{"name": "x", "id": "again"}]).checkpoint().publish(case)


def _unmapped(operation: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR).append(pairs(1)).given()
    if operation == "rename":
        recipe.rename_column("name", "label")
    else:
        recipe.drop_column("name")
    refused = Refusal("invalid_table", "commit", "CM-008")
    recipe.publish(
        case,
        contested=[
            ("refused", "only with column mapping are files left as they are", refused),
            ("rewritten", "files that are written again have the new columns", None),
        ],
    )


for _name in ("rename", "drop"):
    MAPPING.define(
        f"write-{_name}-unmapped",
        f"A {_name} without column mapping is refused, or files are rewritten",
        "WCON-001 CM-008",
        partial(_unmapped, _name),
    )


_WIDENING: Final = {"delta.enableTypeWidening": "true"}
_NUMBERS: Final = struct(id="long", b="byte", f="float", d="decimal(5,2)")


def _numbers(number: int) -> dict[str, Any]:
    return {"id": number, "b": number, "f": number / 4, "d": number}


@WIDENING.case("write-widen", "TW-009 TW-012 SCH-037")
def _widen(case: CaseWriter) -> None:
    """Values of before are read as the wider type, and those of now written."""
    recipe = Recipe(_NUMBERS, (), _WIDENING, ("typeWidening",))
    recipe.append([_numbers(1), _numbers(2)]).change_type("b", "short").append([_numbers(300)])
    recipe.change_type("b", "integer").change_type("f", "double")
    recipe.change_type("d", "decimal(12,4)").add_column(field("later", "string"))
    recipe.append([{**_numbers(70000), "later": "x"}])
    recipe.delete(compare("id", "=", 2, "long")).checkpoint().publish(case)


@WIDENING.case("write-widen-commented", "SCH-037")
def _widen_commented(case: CaseWriter) -> None:
    """What is said of columns stays when one of them is widened."""
    schema = struct(field("id", "integer", metadata={"comment": "the key"}), *PAIR.fields[1:])
    properties = {**_WIDENING, "delta.constraints.named": "name <> ''"}
    recipe = Recipe(schema, (), properties, ("typeWidening", "checkConstraints")).append(pairs(1))
    recipe.change_type("id", "long").append([{"id": 1 << 40, "name": "x"}]).publish(case)


@WIDENING.case("write-record-kept", "TW-009 SCH-037")
def _record_kept(case: CaseWriter) -> None:
    """The record of a widened column survives whatever else is said of it."""
    schema = struct(*PAIR.fields, field("b", "byte", nullable=False))
    features = ("typeWidening", "allowColumnDefaults")
    recipe = Recipe(schema, (), _WIDENING, features).append([{"id": 1, "name": "n1", "b": 1}])
    recipe.change_type("b", "integer").set_nullable("b", nullable=True)
    recipe.do(SetComment("b", "a number")).do(SetDefault("b", "7"))
    recipe.reorder_columns("b", "id", "name")
    recipe.append([{"id": 2, "name": "n2", "b": 70000}]).publish(case)


@WIDENING.case("write-record-renamed", "TW-009 SCH-037", features=("typeWidening", "columnMapping"))
def _record_renamed(case: CaseWriter) -> None:
    """The record of a widened column survives another name of the column."""
    schema = struct(*PAIR.fields, field("b", "byte", metadata={"comment": "a number"}))
    recipe = Recipe(schema, (), {**_WIDENING, **_MAPPED}, ("typeWidening", "columnMapping"))
    recipe.append([{"id": 1, "name": "n1", "b": 1}]).change_type("b", "short")
    recipe.rename_column("b", "c").append([{"id": 2, "name": "n2", "c": 300}]).publish(case)


@WIDENING.case("write-nested-record", "TW-008 TW-009")
def _nested_record(case: CaseWriter) -> None:
    """The record of a widened element survives changes of other columns."""
    record = {"fromType": "integer", "toType": "long", "fieldPath": "element"}
    widened = field("n", array("long"), metadata={"delta.typeChanges": [record]})
    recipe = Recipe(struct(*PAIR.fields, widened), (), _WIDENING, ("typeWidening",))
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
        recipe = Recipe(_NUMBERS, (), _WIDENING, ("typeWidening",)).append([_numbers(1)])
        recipe.change_type(column, spelled).publish(case, refusal=_constraint("TW-003"))

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
    recipe = Recipe(_NUMBERS.with_fields(within), (), _WIDENING, ("typeWidening",)).append([one])
    recipe.given().change_type("b", "integer").append([two])
    recipe.keep("drop_feature", feature="typeWidening").append([three]).publish(case)


_DEFAULT: Final = struct(
    field("id", "long"), field("name", "string", metadata={"CURRENT_DEFAULT": "'none'"})
)


@DEFAULTS.case("write-default", "DFT-005 DFT-006")
def _default(case: CaseWriter) -> None:
    """A row without a value gets the default, and null stays null."""
    recipe = Recipe(_DEFAULT, features=("allowColumnDefaults",)).append(pairs(1))
    recipe.append([{"id": 2}, {"id": 3}], [{"id": n, "name": "none"} for n in (2, 3)])
    recipe.append([{"id": 4, "name": None}]).publish(case)


@DEFAULTS.case("write-set-default", "DFT-005 DFT-006")
def _set_default(case: CaseWriter) -> None:
    """A default that is set, and unset, holds for rows to come."""
    recipe = Recipe(PAIR, features=("allowColumnDefaults",)).append([{"id": 1}])
    recipe.keep("set_default", column="name", expression="'later'")
    recipe.append([{"id": 2}], [{"id": 2, "name": "later"}])
    recipe.keep("set_default", column="name", expression=None).append([{"id": 3}]).publish(case)


@DEFAULTS.case("write-add-with-default", "DFT-008")
def _add_with_default(case: CaseWriter) -> None:
    """A column is not added together with a default."""
    recipe = Recipe(PAIR, features=("allowColumnDefaults",)).append(pairs(1))
    recipe.add_existing_column_refused(field("n", "integer", metadata={"CURRENT_DEFAULT": "1"}))
    recipe.publish(case, refusal=_constraint("DFT-008"))


@GENERATED.case("write-generated", "GEN-004 GEN-005")
def _generated(case: CaseWriter) -> None:
    """A value that is left out is generated."""
    doubled = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", metadata=doubled))
    recipe = Recipe(schema, features=("generatedColumns",))
    recipe.append([{"x": 1}, {"x": None}], [{"x": 1, "y": 2}, {"x": None, "y": None}])
    recipe.append([{"x": 5, "y": 10}]).publish(case)


@GENERATED.case("write-kept-by-nullable", "SCH-037 GEN-004")
def _generated_nullable(case: CaseWriter) -> None:
    """An expression stays when its column may be null from now on."""
    doubled = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", nullable=False, metadata=doubled))
    recipe = Recipe(schema, features=("generatedColumns",)).append([{"x": 1, "y": 2}])
    recipe.set_nullable("y", nullable=True).do(SetComment("y", "twice x"))
    recipe.append([{"x": None, "y": None}]).publish(case)


@DOMAINS.case("write-domains", "DOM-014 CKC-007 CKC-008")
def _domains(case: CaseWriter) -> None:
    """Domains are set, changed and removed, and survive a checkpoint."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", '{"a":1}')
    recipe.append(pairs(1)).set_domain("other", "text").set_domain("mine", '{"a":2}')
    recipe.set_domain("gone", "x").checkpoint().set_domain("gone", None).append(pairs(2))
    recipe.checkpoint().publish(case)


@DOMAINS.case("write-unknown-kept", "DOM-014 CKC-007")
def _domains_kept(case: CaseWriter) -> None:
    """Domains that a writer does not know are kept."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":[1]}').set_domain("theirs", "").given()
    recipe.append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@DOMAINS.case("write-kept-when-altered", "DOM-014")
def _domains_kept_when_altered(case: CaseWriter) -> None:
    """Domains are kept when the table is altered and changed."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2, 3))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":[1]}').set_domain("theirs", "{}").given()
    recipe.set_properties({"delta.logRetentionDuration": "interval 60 days"})
    recipe.add_column(field("more", "string")).delete(compare("id", "=", 1, "long"))
    recipe.update({"more": "x"}, compare("id", "=", 2, "long")).publish(case)


@DOMAINS.case("write-kept-when-rearranged", "DOM-014 DOM-007")
def _domains_kept_when_rearranged(case: CaseWriter) -> None:
    """Domains are kept when rows are merged, replaced and rearranged."""
    recipe = Recipe(PAIR, features=("domainMetadata", "vacuumProtocolCheck"))
    recipe.append(pairs(1, 2)).append(pairs(3))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.merge([{"id": 3, "name": "merged"}, *pairs(4)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(5), compare("id", ">", 3, "long")).keep("optimize")
    recipe.keep("drop_feature", feature="vacuumProtocolCheck").append(pairs(6)).publish(case)


@DOMAINS.case("write-kept-when-overwritten", "DOM-014")
def _domains_kept_when_overwritten(case: CaseWriter) -> None:
    """Domains are kept when all rows are overwritten or the table replaced."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.overwrite(pairs(5)).append(pairs(6)).replace(PAIR, (), pairs(7)).publish(case)


@DOMAINS.case("write-kept-when-columns-change", "DOM-014", features=("columnMapping",))
def _domains_kept_when_columns_change(case: CaseWriter) -> None:
    """Domains are kept when columns are renamed, ordered and dropped."""
    schema = struct(field("id", "long", nullable=False), field("name", "string"))
    recipe = Recipe(schema, (), _MAPPED, ("columnMapping", "domainMetadata")).append(pairs(1, 2))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}").given()
    recipe.rename_column("name", "label").do(SetComment("label", "of a customer"))
    recipe.set_nullable("id", nullable=True).reorder_columns("label", "id").drop_column("label")
    recipe.append([{"id": 3}]).publish(case)


@DOMAINS.case("write-kept-when-restored", "DOM-014")
def _domains_kept_when_restored(case: CaseWriter) -> None:
    """Domains are kept when a version comes back, or rules come and go."""
    recipe = Recipe(_TOLD, features=("domainMetadata",))
    recipe.set_domain("delta.fromAnotherWorld", '{"x":1}').set_domain("theirs", "{}")
    recipe.append(pairs(1)).append(pairs(2)).given()
    recipe.keep("add_constraint", name="positive", expression="id > 0")
    recipe.keep("drop_constraint", name="positive").restore(3).append(pairs(4)).publish(case)


def _system(domain: str, configuration: str | None, requirement: str, case: CaseWriter) -> None:
    known = domain == "delta.rowTracking"
    recipe = Recipe(PAIR, features=("domainMetadata", *["rowTracking"] * known)).append(pairs(1))
    (recipe if known else recipe.set_domain(domain, '{"x":1}')).given()
    recipe.keep("set_domain_metadata", domain=domain, configuration=configuration)
    recipe.publish(case, refusal=_constraint(requirement))


for _name, _domain, _value, _id in (
    ("set", "delta.fromAnotherWorld", "{}", "DOM-015"),
    ("remove", "delta.fromAnotherWorld", None, "DOM-016"),
    ("remove-known", "delta.rowTracking", None, "DOM-015"),
):
    DOMAINS.define(
        f"write-system-{_name}",
        f"Nobody {'changes' if _value else 'removes'} the domain {_domain} of the system",
        "DOM-015 DOM-016",
        partial(_system, _domain, _value, _id),
    )


def _created_with(features: tuple[str, ...], case: CaseWriter) -> None:
    Recipe(PAIR, features=features).append(pairs(1)).publish(case)


for _name, _title, _listed, _ids in (
    (
        "writers",
        "A table of writer features lists none for readers",
        ("appendOnly", "changeDataFeed"),
        "TF-007 APP-001",
    ),
    (
        "readers",
        "A table of a reader feature has both lists",
        ("deletionVectors", "appendOnly"),
        "TF-008 TF-004",
    ),
):
    FEATURES.define(f"write-created-for-{_name}", _title, _ids, partial(_created_with, _listed))


@FEATURES.case("write-enable", "TF-008 TF-015")
def _enable(case: CaseWriter) -> None:
    """A feature that is enabled is supported beside what was."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}).append(pairs(1))
    recipe.keep("enable_feature", feature="appendOnly").append(pairs(2))
    recipe.keep("enable_feature", feature="vacuumProtocolCheck").append(pairs(3)).publish(case)


def _legacy(
    protocol: Protocol, properties: dict[str, str], requirement: str, case: CaseWriter
) -> None:
    recipe = Recipe(PAIR, (), properties, protocol=protocol).append(pairs(1, 2)).given()
    if "delta.appendOnly" in properties:
        recipe.delete(compare("id", "=", 1, "long"))
    else:
        recipe.append(pairs(-1))
    recipe.publish(case, refusal=_constraint(requirement))


def _invariant(version: int, requirement: str, case: CaseWriter) -> None:
    rule = {"delta.invariants": '{"expression":{"expression":"id > 0"}}'}
    schema = struct(field("id", "long", metadata=rule), field("name", "string"))
    recipe = Recipe(schema, protocol=Protocol(1, version)).append(pairs(1, 2)).given()
    recipe.append(pairs(-1)).publish(case, refusal=_constraint(requirement))


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
        partial(_invariant, _version, _id)
        if _rule == "invariant"
        else partial(_legacy, Protocol(1, _version), _RULES[_rule], _id),
    )


@VERSIONS.case("write-null-constraint-3", "WVER-002 CHK-011")
def _null_constraint_3(case: CaseWriter) -> None:
    """Writer version 3 refuses an update that makes a constraint null."""
    properties = {"delta.constraints.Positive": "id > 0"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 3)).append(pairs(1, 2)).given()
    recipe.update({"id": None}, compare("id", "=", 2, "long"))
    recipe.publish(case, refusal=_constraint("WVER-002"))


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


@TRACKING.case("write-enable", "RT-045 RT-046 RT-013 RT-047 RT-048")
def _enable_tracking(case: CaseWriter) -> None:
    """Rows that are there get ids as row tracking is enabled."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3))
    recipe.keep("enable_feature", feature="rowTracking")
    recipe.set_properties({"delta.enableRowTracking": "true"})
    recipe.append(pairs(4)).update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)
