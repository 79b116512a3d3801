"""Kinds of tables that courses of operations are taken over: one for each feature that they meet.

See "Write recipes" of ``docs/formats.md``. Each has a column ``id`` of type long and a column
``name`` of type string; a row follows from its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

from generators.golden.cases.recipes import PAIR, Recipe
from generators.golden.chapters.files.types import PRIMITIVES
from generators.oracle.delta_schema import (
    Array,
    DataType,
    Field,
    Map,
    Primitive,
    Struct,
    array,
    map_of,
    struct,
)
from generators.oracle.delta_schema import field as column
from schemas.features import asking

_VARIANT: Final = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x2a"}
_VALUES: Final[Mapping[str, Callable[[int], Any]]] = {
    "long": lambda n: n,
    "string": lambda n: f"n{n}",
    "byte": lambda n: n % 100,
    "short": lambda n: n % 100,
    "integer": lambda n: n % 100,
    "double": lambda n: n / 2,
    "boolean": lambda n: n % 2 == 0,
    "date": lambda n: date(2024, 1, 1 + n % 28),
    "timestamp_ntz": lambda n: datetime(2024, 2, 29, 12, n % 2),  # noqa: DTZ001  it has no zone
    "variant": lambda _: dict(_VARIANT),
}

_TYPED: Final = {
    f"of_{each.slug.replace('-', '_')}": each for each in PRIMITIVES if each.type != "binary"
}
"""Columns of every type that partitions have too, but binary, which many engines fail."""


def _value(kind: DataType, number: int) -> Any:
    match kind:
        case Struct():
            return {each.name: _value(each.type, number + 1) for each in kind}
        case Array(element):
            return [_value(element, number), None, _value(element, number + 1)]
        case Map(key, value):
            return {_value(key, number): _value(value, number)}
        case Primitive(name):
            return _VALUES[name](number)
    raise TypeError(f"no value of {kind}")


def _within_row(each: Field, number: int) -> Any:
    """Return a value of a column: some are null, beside those that every row has."""
    rule = each.metadata.get("delta.generationExpression")
    if each.name == "id":
        return number
    if rule is not None:
        return number * 2
    if each.name == "part":
        return ("a b", "b", None)[number % 3]
    if each.name in _TYPED:
        # An empty text is null in a partition.
        held = [value for value in _TYPED[each.name].values if value != ""]
        return (*held, None)[number % (len(held) + 1)]
    return _value(each.type, number) if number % 5 != 4 or not each.nullable else None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table.

    Attributes:
        chapter: of the cases.
        slug: what the names of its cases end with, where the chapter has several kinds.
        title: the kind in words.
        courses: names of the courses that it is taken through, those that it says most in.
        requirements: ids that its cases touch.
        schema: its columns.
        partitions: columns that it is partitioned by.
        properties: properties that it is created with.
        features: features that it is created with.
        clustering: columns that it is clustered by.
        numbered: the identity column, whose values writers give.
        rule: an expression that every row obeys, as a constraint.
        since: oldest revision of the protocol that knows it.
    """

    chapter: str
    slug: str
    title: str
    courses: str
    requirements: str
    schema: Struct = PAIR
    partitions: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    clustering: tuple[str, ...] = ()
    numbered: str = ""
    rule: str = ""
    since: str = "2025"

    @property
    def mapped(self) -> bool:
        """Whether columns have names of their own in files."""
        return "columnMapping" in self.features

    def recipe(self) -> Recipe:
        """Start a recipe with the table, empty."""
        clustering = self.clustering
        recipe = Recipe(
            self.schema, self.partitions, self.properties, self.features, None, clustering
        )
        if self.rule:
            recipe.run("add_constraint", name="low", expression=self.rule)
        return recipe

    def rows(self, recipe: Recipe, *numbers: int) -> list[dict[str, Any]]:
        """Return rows as a writer is given them, by the schema of now."""
        return [
            {e.name: _within_row(e, n) for e in recipe.now if e.name != self.numbered}
            for n in numbers
        ]

    def append(self, recipe: Recipe, *numbers: int) -> Recipe:
        """Append rows."""
        rows = self.rows(recipe, *numbers)
        if self.numbered:
            return recipe.append_numbered(self.numbered, *rows)
        return recipe.append(rows)

    def overwrite(self, recipe: Recipe, *numbers: int, where: Any = None) -> Recipe:
        """Replace the rows of a filter."""
        rows = self.rows(recipe, *numbers)
        if self.numbered:
            return recipe.overwrite_numbered(self.numbered, rows, where)
        return recipe.overwrite(rows, where)


def _nested() -> Struct:
    inner = struct(a="integer", b=array("string"))
    return PAIR.with_fields(
        column("s", struct(x="long", y=inner)),
        column("l", array(struct(e="long"))),
        column("m", map_of("string", struct(v="double"))),
    )


_PARTS: Final = PAIR.with_fields(column("part", "string"))
_FOLLOWED: Final = "timestampNtz changeDataFeed rowTracking domainMetadata"
"""Features of a table of every type with a change feed and row ids."""
_ALL_TYPES: Final = PAIR.with_fields(*(column(n, each.type) for n, each in _TYPED.items()))
_IDENTITY: Final = {
    "delta.identity.start": 5,
    "delta.identity.step": 3,
    "delta.identity.allowExplicitInsert": False,
}
_INVARIANT: Final = '{"expression":{"expression":"id > -1000"}}'
_RULED: Final = struct(
    column("id", "long", metadata={"delta.invariants": _INVARIANT}),
    column("name", "string", nullable=False),
)
_GENERATED: Final = PAIR.with_fields(
    column("twice", "long", metadata={"delta.generationExpression": "id * 2"})
)

_DEFAULTED: Final = PAIR.with_fields(column("d", "string", metadata={"CURRENT_DEFAULT": "'none'"}))
_NUMBERED: Final = PAIR.with_fields(column("number", "long", metadata=_IDENTITY))
_MANY_RULES: Final = struct(
    *(each for each in _RULED.without("name")),
    column("name", "string"),
    _GENERATED["twice"],
    _DEFAULTED["d"],
    column("t", "timestamp_ntz"),
    *_nested().without("id", "name"),
)
"""Columns with an invariant, an expression and a default, and some that are nested."""
_TO_WIDEN: Final = _nested().with_fields(
    column("v", "byte"), column("w", "variant"), column("t", "timestamp_ntz")
)
_MANY: Final = (
    "deletionVectors rowTracking domainMetadata changeDataFeed inCommitTimestamp columnMapping"
)
"""Features that any table may have."""
_BY_ID: Final = {"delta.columnMapping.mode": "id"}
_STRUCTS: Final = {"delta.checkpoint.writeStatsAsStruct": "true"}
_LOW: Final = "id > -1000"
_FOR_ICEBERG: Final = _PARTS.with_fields(
    column("l", array("long")), column("m", map_of("string", "long"))
)


def _kind(  # noqa: PLR0913, PLR0917  what a kind is made of
    chapter: str,
    title: str,
    courses: str,
    requirements: str,
    features: str = "",
    schema: Struct = PAIR,
    *,
    parts: Iterable[str] = (),
    also: Mapping[str, str] | None = None,
    **rest: Any,
) -> Kind:
    """Return a kind of table with the features, and the properties that ask for them.

    Args:
        chapter: of the cases; a slug may follow, after a blank.
        title: as in :class:`Kind`, like ``courses``, ``requirements`` and ``schema``.
        courses: likewise.
        requirements: likewise.
        features: their names, separated by blanks.
        schema: likewise.
        parts: columns that it is partitioned by.
        also: further properties, and other values.
        rest: other fields of :class:`Kind`.
    """
    chapter, _, slug = chapter.partition(" ")
    listed = tuple(features.split())
    return Kind(
        chapter, slug, title, courses, requirements, schema, tuple(parts),
        {**asking(listed), **(also or {})}, listed, **rest,
    )  # fmt: skip


_PARTED: Final = ("part",)
KINDS: Final[tuple[Kind, ...]] = (
    _kind("add-file-and-remove-file", "a table with partitions", "changes moves emptied cut",
          "ADD-004 REM-002", schema=_PARTS, parts=_PARTED, since="2021"),
    _kind("deletion-vectors", "a table with vectors", "moves cut", "DVD-017 DVDESC-020",
          "deletionVectors", _PARTS, parts=_PARTED),
    _kind("column-mapping -by-name", "a table mapped by name", "columns states cut",
          "CM-013 CM-017", "columnMapping", _PARTS, parts=_PARTED),
    _kind("column-mapping -by-id", "a table mapped by id", "changes columns",
          "CM-013 CM-015", "columnMapping", _nested(), also=_BY_ID),
    _kind("row-tracking", "a table with row tracking", "changes moves cut",
          "RT-029 RT-036", "rowTracking domainMetadata"),
    _kind("change-data-files", "a table with a change feed", "emptied cut",
          "CDC-012 CDC-001", "changeDataFeed", _PARTS, parts=_PARTED),
    _kind("identity-columns", "a table with an identity column", "moves columns",
          "IDN-014 IDN-016", "identityColumns", _NUMBERED, numbered="number"),
    _kind("identity-columns -with-features", "an identity column beside many features", "whole",
          "IDN-014 CM-001", f"{_MANY} identityColumns allowColumnDefaults",
          _PARTS.with_fields(_NUMBERED["number"], _DEFAULTED["d"]),
          parts=_PARTED, also=_STRUCTS, numbered="number"),
    _kind("generated-columns", "a table with a generated column", "moves",
          "GEN-004 GEN-005", "generatedColumns", _GENERATED),
    _kind("check-constraints", "a table with a constraint", "moves",
          "CHK-006 CHK-002", "checkConstraints", rule=_LOW),
    _kind("column-invariants", "a table with an invariant", "columns",
          "INV-005 SCH-025", "invariants", _RULED, since="2021"),
    _kind("in-commit-timestamps", "a table with in-commit times", "moves cut",
          "ICT-002 ICT-008", "inCommitTimestamp"),
    _kind("clustered-table", "a clustered table", "changes moves columns",
          "CLUS-006 CLUS-009", clustering=("name",)),
    _kind("v2-checkpoint-feature", "a table with V2 checkpoints", "states",
          "CKPT-005 CKC-004", "v2Checkpoint deletionVectors"),
    _kind("type-widening", "a table with a type to widen", "columns", "TW-009 TW-012",
          "typeWidening", PAIR.with_fields(column("v", "byte")), since="upstream"),
    _kind("type-widening -with-features", "a type to widen beside many features", "whole",
          "TW-009 VAR-003", f"{_MANY} typeWidening variantType timestampNtz", _TO_WIDEN,
          also=_BY_ID, since="upstream"),
    _kind("iceberg-compatibility-v1", "a table with Iceberg compatibility V1", "moves",
          "ICE1-007", "columnMapping icebergCompatV1", _PARTS, parts=_PARTED),
    _kind("iceberg-compatibility-v2", "a table with Iceberg compatibility V2", "changes",
          "ICE2-015 ICE2-016", "columnMapping icebergCompatV2", _FOR_ICEBERG, parts=_PARTED),
    _kind("iceberg-compatibility-v2 -with-features", "a table for Iceberg with many features",
          "whole", "ICE2-015 ICE2-012", "columnMapping icebergCompatV2 rowTracking domainMetadata "
          "changeDataFeed inCommitTimestamp checkConstraints", _FOR_ICEBERG, parts=_PARTED,
          rule=_LOW),
    _kind("variant-type", "a table with variants", "columns", "VAR-003",
          "variantType", PAIR.with_fields(column("v", "variant")), since="upstream"),
    _kind("timestamp-ntz", "a table with zoneless partitions", "moves", "NTZ-001 PART-011",
          "timestampNtz", PAIR.with_fields(column("t", "timestamp_ntz")), parts=("t",)),
    _kind("timestamp-ntz -of-every-type", "a table of every type", "changes moves",
          "CDC-012 RT-036", _FOLLOWED, _ALL_TYPES),
    _kind("timestamp-ntz -parted-by-every-type", "a table partitioned by every type", "changes",
          "CDC-012 ADD-004", _FOLLOWED, _ALL_TYPES, parts=_TYPED),
    _kind("default-columns", "a table with a default", "columns", "DFT-006 SCH-037",
          "allowColumnDefaults", _DEFAULTED),
    _kind("schema-serialization-format", "a table with nested columns", "states",
          "SCH-037 STAT-012", schema=_nested(), since="2021"),
    _kind("table-features", "a table with many features",
          "changes moves states columns settings emptied compactions cut", "TF-003 TF-016",
          f"{_MANY} v2Checkpoint", _PARTS, parts=_PARTED),
    _kind("table-features -of-rules", "a table of many rules", "whole", "TF-015 CM-013",
          f"{_MANY} invariants generatedColumns allowColumnDefaults checkConstraints timestampNtz",
          _MANY_RULES, also=_STRUCTS, clustering=("name",), rule=_LOW),
)  # fmt: skip
"""Kinds of tables, one for a feature or several that meet."""
