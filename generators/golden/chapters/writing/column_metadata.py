"""Cases of writing: defaults of columns, and what columns keep as tables are altered.

Serves "Default Columns", "Column Metadata" and "Writer Version Requirements".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Field, array, field, map_of, struct
from generators.oracle.operations import SetComment

DEFAULTS: Final = Chapter("default-columns", since="2025")
SCHEMA: Final = Chapter("schema-serialization-format")
MAPPING: Final = Chapter("column-mapping", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
VERSIONS: Final = Chapter("version-requirements")

_MAPPED: Final = {"delta.columnMapping.mode": "name"}
_PRESET: Final = "allowColumnDefaults"
_SEVEN: Final = field("n", "integer", metadata={"CURRENT_DEFAULT": "7"})


@DEFAULTS.case("write-overwrite-with-default", "DFT-005")
def _overwritten_default(case: CaseWriter) -> None:
    """A row that an overwrite brings without a value gets the default."""
    schema = struct(PAIR["id"], field("name", "string", metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=(_PRESET,)).append(pairs(1, 2))
    stored = [{"id": 1, "name": "none"}]
    recipe.overwrite([{"id": 1}], compare("id", "=", 1, "long"), stored)
    recipe.overwrite([{"id": 1}], None, stored).publish(case)


@DEFAULTS.case("write-default-expression", "DFT-005 DFT-003")
def _computed_default(case: CaseWriter) -> None:
    """A default may be computed."""
    seven = field("n", "integer", metadata={"CURRENT_DEFAULT": "2 * 3 + 1"})
    recipe = Recipe(struct(PAIR["id"], seven), features=(_PRESET,))
    recipe.append([{"id": 1}], [{"id": 1, "n": 7}]).publish(case)


@DEFAULTS.case("write-default-partition", "DFT-005 PART-001")
def _default_partition(case: CaseWriter) -> None:
    """A row without a partition value gets the default of its column."""
    part = field("part", "string", metadata={"CURRENT_DEFAULT": "'none'"})
    recipe = Recipe(struct(PAIR["id"], part), ("part",), features=(_PRESET,))
    recipe.append([{"id": 1, "part": "a"}])
    recipe.append([{"id": 2}], [{"id": 2, "part": "none"}]).publish(case)


@DEFAULTS.case("write-default-mapped", "DFT-005", features=("columnMapping",))
def _default_mapped(case: CaseWriter) -> None:
    """A mapped column has its default."""
    schema = struct(PAIR["id"], _SEVEN)
    recipe = Recipe(schema, (), _MAPPED, ("columnMapping", _PRESET)).append([{"id": 1, "n": 5}])
    recipe.append([{"id": 2}], [{"id": 2, "n": 7}]).publish(case)


@DEFAULTS.case("write-set-default-again", "DFT-005")
def _default_again(case: CaseWriter) -> None:
    """A row gets the default that was set last."""
    recipe = Recipe(PAIR, features=(_PRESET,)).append([{"id": 1}])
    for number, name in ((2, "first"), (3, "second")):
        recipe.keep("set_default", column="name", expression=f"'{name}'")
        recipe.append([{"id": number}], [{"id": number, "name": name}])
    recipe.publish(case)


def _default_kept(
    properties: dict[str, str],
    features: tuple[str, ...],
    change: Callable[[Recipe], Recipe],
    column: Field,
    case: CaseWriter,
) -> None:
    """Alter a column that has a default, and leave its value out."""
    recipe = Recipe(struct(field("id", "long"), column), (), properties, (*features, _PRESET))
    recipe.append([{"id": 1, column.name: 5}])
    name = change(recipe).now.names[1]
    recipe.append([{"id": 2}], [{"id": 2, name: 7}]).publish(case)


for _name, _title, _properties, _features, _column, _change in (
    (
        "rename",
        "A column that is renamed keeps its default",
        _MAPPED,
        ("columnMapping",),
        _SEVEN,
        lambda recipe: recipe.rename_column("n", "m"),
    ),
    (
        "nullable",
        "A column that may have nulls from now on keeps its default",
        {},
        (),
        replace(_SEVEN, nullable=False),
        lambda recipe: recipe.set_nullable("n", nullable=True),
    ),
    (
        "comment",
        "A column that gets a comment keeps its default",
        {},
        (),
        _SEVEN,
        lambda recipe: recipe.do(SetComment("n", "a number")),
    ),
    (
        "widen",
        "A column that gets a wider type keeps its default",
        {"delta.enableTypeWidening": "true"},
        ("typeWidening",),
        _SEVEN,
        lambda recipe: recipe.change_type("n", "long"),
    ),
):
    DEFAULTS.define(
        f"write-kept-by-{_name}",
        _title,
        "SCH-037 DFT-005",
        partial(_default_kept, _properties, _features, _change, _column),
    )


def _within(
    properties: Mapping[str, str],
    features: tuple[str, ...],
    change: Callable[[Recipe], Recipe],
    case: CaseWriter,
) -> None:
    notes: Mapping[str, Any] = {"comment": "within", "scale": 7}
    schema = struct(
        field("id", "long", metadata=notes),
        field("s", struct(field("a", struct(field("b", "long", metadata=notes)), metadata=notes))),
        field("l", array(struct(field("c", "string", metadata=notes)))),
        field("m", map_of("string", struct(field("d", "double", metadata=notes)))),
        field("n", "integer", nullable=False, metadata=notes),
    )
    row = {"id": 1, "s": {"a": {"b": 2}}, "l": [{"c": "x"}], "m": {"k": {"d": 0.5}}, "n": 3}
    change(Recipe(schema, (), properties, features).append([row])).publish(case)


for _chapter, _within_name, _title, _properties, _features, _change in (
    (
        MAPPING,
        "rename",
        "What is said of inner columns stays when others are renamed",
        _MAPPED,
        ("columnMapping",),
        lambda recipe: recipe.rename_column("s", "t").drop_column("n"),
    ),
    (
        SCHEMA,
        "settings",
        "What is said of inner columns stays when others are moved and set",
        {},
        (),
        lambda recipe: (
            recipe.reorder_columns("n", "m", "l", "s", "id")
            .set_nullable("n", nullable=True)
            .do(SetComment("id", "the key"))
            .set_properties({"team": "a"})
        ),
    ),
    (
        WIDENING,
        "widen",
        "What is said of inner columns stays when another is widened",
        {"delta.enableTypeWidening": "true"},
        ("typeWidening",),
        lambda recipe: recipe.change_type("n", "long"),
    ),
):
    _chapter.define(
        f"write-kept-within-by-{_within_name}",
        _title,
        "SCH-037",
        partial(_within, _properties, _features, _change),
    )


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
    recipe.append([{"id": -1, "x": 5, "n": 1}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", row))


_INVARIANTS: Final = 2
"""The writer version that brings invariants."""

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


@SCHEMA.case("write-rename-taken-name", "SCH-028", since="upstream", features=("columnMapping",))
def _rename_taken(case: CaseWriter) -> None:
    """A column is not renamed to a name that is taken."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1))
    recipe.keep("rename_column", column="name", name="ID")
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "SCH-028"))
