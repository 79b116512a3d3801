"""Cases of writing: mapped columns keep their ids and physical names."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.starts import DESCRIBED, MAPPED, STRICT, broken_rule
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import array, field, map_of, struct

MAPPING: Final = Chapter("column-mapping", since="2025")


@MAPPING.case("write-null-refused-renamed", "SCH-025")
def _null_refused_renamed(case: CaseWriter) -> None:
    """Columns are renamed and dropped, and a null is refused as before."""
    recipe = Recipe.active(struct(*STRICT, field("gone", "long")), "columnMapping")
    recipe.append([{"id": 1, "name": "a", "gone": 1}]).rename_column("name", "label")
    recipe.drop_column("gone").append([{"id": None, "label": "y"}])
    recipe.publish(case, refusal=broken_rule("SCH-025"))


@MAPPING.case("write-columns", "CM-013 CM-014 CM-018 CM-019 CM-022 SCH-037")
def _columns(case: CaseWriter) -> None:
    """Mapped columns are renamed, dropped and added without rewriting."""
    recipe = Recipe.active(DESCRIBED, "columnMapping").append(pairs(1, 2))
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
        "CM-019 CM-002 CM-014 CM-020 CM-022",
        partial(_nested_columns, _mode),
    )


@MAPPING.case("write-columns-kept", "META-011 SCH-037")
def _columns_kept(case: CaseWriter) -> None:
    """A change of columns leaves the properties of the table alone."""
    recipe = Recipe.active(
        DESCRIBED,
        "columnMapping",
        properties={"team": "a", "delta.dataSkippingNumIndexedCols": "2"},
    ).append(pairs(1, 2))
    recipe.add_column(field("extra", "long")).rename_column("name", "label")
    recipe.drop_column("extra").append([{"id": 3, "label": "c"}]).publish(case)


@MAPPING.case("write-rename-partition", "CM-014 CM-016")
def _rename_partition(case: CaseWriter) -> None:
    """A partition column that is renamed keeps its values."""
    recipe = Recipe.active(
        struct(id="long", part="string"), "columnMapping", partition_columns=("part",)
    )
    recipe.append([{"id": 1, "part": "a"}, {"id": 2, "part": None}]).rename_column("part", "p")
    recipe.append([{"id": 3, "p": "b"}]).delete(compare("p", "=", "a", "string")).publish(case)


@MAPPING.case("write-turn-on", "CM-011 CM-012 CM-013 CM-014")
def _turn_on(case: CaseWriter) -> None:
    """Mapping that is turned on later reads the files of before."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).run("enable_feature", feature="columnMapping")
    recipe.set_properties(MAPPED).append(pairs(3)).rename_column("name", "label")
    recipe.append([{"id": 4, "label": "x"}]).publish(case)


@MAPPING.case("write-turn-on-added", "CM-012 CM-013 CM-014")
def _turn_on_added(case: CaseWriter) -> None:
    """A column that was added before mapping is turned on keeps its values."""
    recipe = Recipe(PAIR).append(pairs(1)).add_column(field("later", "long"))
    recipe.append([{"id": 2, "name": "b", "later": 7}])
    recipe.run("enable_feature", feature="columnMapping").set_properties(MAPPED)
    recipe.append([{"id": 3, "name": "c", "later": 8}]).publish(case)


@MAPPING.case("write-turn-on-legacy", "CM-010 WVER-004")
def _turn_on_legacy(case: CaseWriter) -> None:
    """Mapping is turned on at writer version 5 by its property."""
    recipe = Recipe(PAIR, protocol=Protocol(2, 5)).append(pairs(1, 2)).given()
    recipe.set_properties(MAPPED).append(pairs(3)).publish(case)


@MAPPING.case("write-own-ids", "CM-021")
def _own_ids(case: CaseWriter) -> None:
    """Nobody sets the highest column id."""
    recipe = Recipe.active(PAIR, "columnMapping").append(pairs(1))
    recipe.set_properties({"delta.columnMapping.maxColumnId": "77"})
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "CM-021"))


@MAPPING.case("write-own-ids-turned-on", "CM-021")
def _own_ids_turned_on(case: CaseWriter) -> None:
    """Nobody sets the highest column id with the mode."""
    recipe = Recipe(PAIR).append(pairs(1)).run("enable_feature", feature="columnMapping")
    recipe.set_properties_refused({**MAPPED, "delta.columnMapping.maxColumnId": "77"})
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "CM-021"))


@MAPPING.case("write-drop-all-data", "CM-013 SCH-037 DATA-004")
def _drop_all_data(case: CaseWriter) -> None:
    """Rows stay when the last data column is dropped, or it is kept."""
    recipe = Recipe.active(PAIR, "columnMapping", partition_columns=("name",)).append(pairs(1, 2))
    recipe.drop_column("id").add_column(field("id", "string"))
    recipe.append([{"name": "x", "id": "again"}]).checkpoint()
    refused = Refusal("invalid_table", "commit", "STAT-001", of=("drop_column",))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "a column is dropped without a change of files", None),
            ("refused", "no clause asks for tables of partition columns alone", refused),
        ],
    )


@MAPPING.case("write-partitions-alone", "STAT-001")
def _partitions_alone(case: CaseWriter) -> None:
    """Rows that have partition columns alone are kept, or refused."""
    recipe = Recipe.active(PAIR, "columnMapping", partition_columns=("name",)).append(pairs(1, 2))
    recipe.drop_column("id").given().append([{"name": "x"}, {"name": "x"}])
    refused = Refusal("invalid_table", "commit", "STAT-001")
    recipe.publish(
        case,
        contested=[
            ("refused", "a Parquet file without columns has no rows", refused),
            ("kept", "a file may have partition columns inside, which readers ignore", None),
        ],
    )


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


@MAPPING.case("write-name-again", "CM-014 CM-019 CM-020 CM-022")
def _name_again(case: CaseWriter) -> None:
    """A column of a name that was dropped is another column."""
    recipe = Recipe.active(PAIR, "columnMapping").append(pairs(1, 2))
    recipe.add_column(field("x", "long")).append([{"id": 3, "name": "c", "x": 5}])
    recipe.drop_column("x").add_column(field("x", "long"))
    recipe.append([{"id": 4, "name": "d", "x": 6}]).run("optimize").publish(case)


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
    recipe = Recipe.active(_NESTED, "columnMapping").append(rows)
    recipe.delete(compare("id", "=", 1, "long")).append(rows[:1]).publish(case)


@MAPPING.case("write-restore-then-add", "CM-022 CM-004")
def _column_ids(case: CaseWriter) -> None:
    """The id of a column that a restore takes back is given to no other."""
    recipe = Recipe.active(PAIR, "columnMapping").append(pairs(1))
    recipe.add_column(field("first", "string")).append([{**pairs(2)[0], "first": "x"}])
    recipe.restore(1).add_column(field("second", "string"))
    recipe.append([{**pairs(3)[0], "second": "y"}]).drop_column("second")
    recipe.add_column(field("third", "long")).append([{**pairs(4)[0], "third": 4}]).publish(case)
