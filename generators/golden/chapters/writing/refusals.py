"""Cases of writing: refusals that hold for every operation, and on top of every checkpoint.

Serves "Append-only Tables", "CHECK Constraints", "Column Invariants", "Generated Columns", "Schema
Serialization Format", "Table Features", "Protocol Evolution" and "Catalog-managed tables". A rule
stands in the metadata, so that a checkpoint of it, a vector or another operation changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.materialise.log.protocols import Protocol
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import Struct, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import CheckpointKind, SetComment

APPEND_ONLY: Final = Chapter("append-only-tables")
CHECKS: Final = Chapter("check-constraints", since="2025")
INVARIANTS: Final = Chapter("column-invariants")
GENERATED: Final = Chapter("generated-columns", since="2025")
SCHEMA: Final = Chapter("schema-serialization-format")
FEATURES: Final = Chapter("table-features", since="2025")
PROTOCOL: Final = Chapter("protocol-evolution")
FIRST: Final = Chapter("iceberg-compatibility-v1", since="2025")
SECOND: Final = Chapter("iceberg-compatibility-v2", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
CATALOG: Final = Chapter("catalog-managed-tables", since="upstream")

_Step: TypeAlias = Callable[[Recipe], Recipe]
"""Takes the next step of a recipe."""

_FIRST: Final = compare("id", "=", 1, "long")


def _appending(**row: Any) -> _Step:
    return lambda recipe: recipe.append([row])


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of a table, rows that obey it, and a step that breaks it."""

    chapter: Chapter
    row: str
    requirements: str
    breach: str
    broken: _Step
    schema: Struct = PAIR
    rows: tuple[dict[str, Any], ...] = tuple(pairs(1, 2))
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    def start(self, *more: str) -> Recipe:
        """Return a table that has the rule and rows, and supports further features."""
        return Recipe(self.schema, (), self.properties, (*self.features, *more)).append(self.rows)


def _ruled(key: str, value: str) -> Struct:
    return struct(of.field("x", "long"), of.field("y", "long", metadata={key: value}))


_CHECKED: Final = _Rule(
    CHECKS,
    "CHK-006",
    "CHK-006 CHK-005",
    "A row that breaks a constraint",
    _appending(id=0, name="x"),
    properties={"delta.constraints.positive": "id > 0"},
    features=("checkConstraints",),
)
_GENERATED: Final = _Rule(
    GENERATED,
    "GEN-004",
    "GEN-004",
    "A value that is not generated",
    _appending(x=2, y=5),
    _ruled("delta.generationExpression", "x * 2"),
    ({"x": 1, "y": 2},),
    features=("generatedColumns",),
)

_RULES: Final = (
    _Rule(
        APPEND_ONLY,
        "APP-002",
        "APP-002",
        "A delete from an append-only table",
        lambda recipe: recipe.delete(_FIRST),
        properties={"delta.appendOnly": "true"},
    ),
    _CHECKED,
    _Rule(
        INVARIANTS,
        "INV-005",
        "INV-005 INV-007",
        "A row that breaks an invariant",
        _appending(x=2, y=3),
        _ruled("delta.invariants", '{"expression":{"expression":"y > 3"}}'),
        ({"x": 1, "y": 4},),
        features=("invariants",),
    ),
    _GENERATED,
    _Rule(
        SCHEMA,
        "SCH-025",
        "SCH-025",
        "A null where there is none",
        _appending(id=None, name="x"),
        struct(of.field("id", "long", nullable=False), of.field("name", "string")),
    ),
)


def _after_checkpoint(rule: _Rule, kind: CheckpointKind | None, case: CaseWriter) -> None:
    """Give a table with a checkpoint of its rule, and break the rule."""
    recipe = rule.start(*(("v2Checkpoint",) if kind == "v2-json" else ()))
    recipe.checkpoint(kind, int(kind == "v2-json")).given()
    rule.broken(recipe)
    recipe.publish(case, refusal=Refusal("constraint", "commit", rule.row))


_KINDS: Final[tuple[tuple[str, CheckpointKind | None, str], ...]] = (
    ("checkpoint", None, "a checkpoint"),
    ("v2-checkpoint", "v2-json", "a V2 checkpoint"),
)
for _rule in _RULES:
    for _slug, _kind, _named in _KINDS:
        _rule.chapter.define(
            f"write-refused-after-{_slug}",
            f"{_rule.breach} is refused after {_named}",
            _rule.requirements,
            partial(_after_checkpoint, _rule, _kind),
        )


_HOLDER: Final = struct(of.field("id", "long"), of.field("s", struct(a="long")))

_PLACED: Final[tuple[tuple[str, _Rule, tuple[str, ...]], ...]] = (
    (
        "write-broken-one-of-three",
        replace(
            _CHECKED,
            breach="A row that breaks one constraint of three",
            properties={
                "delta.constraints.a": "id < 100",
                "delta.constraints.b": "id > 0",
                "delta.constraints.c": "name is not null",
            },
        ),
        (),
    ),
    (
        "write-broken-within",
        replace(
            _CHECKED,
            breach="A field of a struct that breaks a constraint",
            broken=_appending(id=2, s={"a": 0}),
            schema=_HOLDER,
            rows=({"id": 1, "s": {"a": 1}},),
            properties={"delta.constraints.positive": "s.a > 0"},
        ),
        (),
    ),
    (
        "write-broken-default",
        replace(
            _CHECKED,
            breach="A default that breaks a constraint",
            broken=lambda recipe: recipe.append_refused([{"x": 2}]),
            schema=_ruled("CURRENT_DEFAULT", "0"),
            rows=({"x": 1, "y": 1},),
            properties={"delta.constraints.positive": "y > 0"},
            features=("checkConstraints", "allowColumnDefaults"),
        ),
        (),
    ),
    (
        "write-broken-generated",
        replace(
            _CHECKED,
            breach="A generated value that breaks a constraint",
            broken=lambda recipe: recipe.append_refused([{"x": -2}]),
            schema=_ruled("delta.generationExpression", "x * 2"),
            rows=({"x": 1, "y": 2},),
            properties={"delta.constraints.positive": "y > 0"},
            features=("checkConstraints", "generatedColumns"),
        ),
        (),
    ),
    (
        "write-broken-partition",
        replace(_CHECKED, breach="A partition that breaks a constraint"),
        ("id",),
    ),
    (
        "write-other-value-partition",
        replace(_GENERATED, breach="A partition value that is not generated"),
        ("y",),
    ),
    (
        "write-other-value-replace",
        replace(
            _GENERATED,
            breach="A replacement with a value that is not generated",
            broken=lambda recipe: recipe.replace(recipe.schema, (), [{"x": 2, "y": 5}]),
        ),
        (),
    ),
    (
        "write-other-value-update",
        replace(
            _GENERATED,
            breach="An update to a value that is not generated",
            broken=lambda recipe: recipe.update({"y": 5}, compare("x", "=", 1, "long")),
        ),
        (),
    ),
)
"""Case, rule and partition columns: rules of other places than a column of a file."""


def _placed(rule: _Rule, partitions: tuple[str, ...], case: CaseWriter) -> None:
    """Break a rule of a table that has rows which obey it."""
    recipe = Recipe(rule.schema, partitions, rule.properties, rule.features).append(rule.rows)
    rule.broken(recipe).publish(case, refusal=Refusal("constraint", "commit", rule.row))


for _slug, _rule, _partitions in _PLACED:
    _rule.chapter.define(
        _slug,
        f"{_rule.breach} is refused",
        _rule.requirements,
        partial(_placed, _rule, _partitions),
    )


_LOCKED: Final = {"delta.appendOnly": "true", "delta.enableDeletionVectors": "true"}
_CHANGES: Final[Mapping[str, _Step]] = {
    "delete": lambda recipe: recipe.delete(_FIRST),
    "update": lambda recipe: recipe.update({"name": "x"}, _FIRST),
    "merge": lambda recipe: recipe.merge(pairs(2, 3), SAME_ID, *UPSERT),
    "overwrite": lambda recipe: recipe.overwrite(pairs(9), _FIRST),
}


def _locked(change: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), _LOCKED, ("appendOnly", "deletionVectors")).append(pairs(1, 2, 3))
    _CHANGES[change](recipe)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


for _change in _CHANGES:
    APPEND_ONLY.define(
        f"write-{_change}-vectors",
        f"An append-only table with vectors has {_change} refused",
        "APP-002",
        partial(_locked, _change),
    )


_SOURCED: Final = struct(
    of.field("id", "long"), *_ruled("delta.generationExpression", "x * 2").fields
)


def _by_constant(recipe: Recipe) -> Recipe:
    return recipe.update({"x": 7}, _FIRST, {"y": Computed(literal("long", 14))})


def _by_value(recipe: Recipe) -> Recipe:
    more = node("+", column("x"), literal("long", 5))
    twice = Computed(node("*", more, literal("long", 2)))
    return recipe.update({"x": Computed(more)}, None, {"y": twice})


def _by_merge(recipe: Recipe) -> Recipe:
    source = [{"id": 1, "x": 7}, {"id": 5, "x": 8}]
    stored = [{**row, "y": row["x"] * 2} for row in source]
    return recipe.merge(source, SAME_ID, *UPSERT, stored=stored)


def _source_changed(change: _Step, case: CaseWriter, *, recorded: bool = False) -> None:
    recipe = Recipe(_SOURCED, features=("generatedColumns",))
    if recorded:
        features = ("generatedColumns", "changeDataFeed")
        recipe = Recipe(_SOURCED, ("y",), {"delta.enableChangeDataFeed": "true"}, features)
    recipe.append([{"id": n, "x": n, "y": 2 * n} for n in (1, 2)])
    change(recipe).publish(
        case,
        contested=[
            ("generated", "the value is generated again", None),
            (
                "refused",
                "what is there would not be what the expression gives",
                Refusal("constraint", "commit", "GEN-004"),
            ),
        ],
    )


_SOURCES: Final[tuple[tuple[str, str, _Step], ...]] = (
    ("update", "An update", _by_constant),
    ("computed-update", "A computed update", _by_value),
    ("merge", "A merge", _by_merge),
)
for _slug, _phrase, _step in _SOURCES:
    GENERATED.define(
        f"write-source-{_slug}",
        f"{_phrase} of its source leaves no stale generated value",
        "GEN-004 GEN-005",
        partial(_source_changed, _step),
    )
    GENERATED.define(
        f"write-source-partition-{_slug}",
        f"{_phrase} of its source moves a row to its partition",
        "GEN-004 GEN-005 CDC-012",
        partial(_source_changed, _step, recorded=True),
    )


_STRICT_PART: Final = struct(of.field("id", "long"), of.field("part", "string", nullable=False))


def _null_partition(change: _Step, case: CaseWriter) -> None:
    recipe = Recipe(_STRICT_PART, ("part",)).append([{"id": 1, "part": "a"}])
    change(recipe).publish(case, refusal=Refusal("constraint", "commit", "SCH-025"))


for _slug, _phrase, _broken in (
    ("", "A null", _appending(id=2, part=None)),
    ("-update", "An update to a null", lambda recipe: recipe.update({"part": None})),
    (
        "-merge",
        "A merge that brings a null",
        lambda recipe: recipe.merge([{"id": 2, "part": None}], SAME_ID, *UPSERT),
    ),
    ("-overwrite", "An overwrite with a null", lambda r: r.overwrite([{"id": 2, "part": None}])),
):
    SCHEMA.define(
        f"write-null-refused-partition{_slug}",
        f"{_phrase} in a strict partition column is refused",
        "SCH-025",
        partial(_null_partition, _broken),
    )


_MAPPED: Final = {"delta.columnMapping.mode": "name"}
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}


def _with(kind: str | of.DataType) -> Struct:
    return struct(*PAIR.fields, of.field("c", kind))


def _for_iceberg(version: int, *more: str) -> Recipe:
    properties = {**_MAPPED, f"delta.enableIcebergCompatV{version}": "true"}
    features = ("columnMapping", f"icebergCompatV{version}", *more)
    return Recipe(PAIR, (), properties, features).append(pairs(1, 2))


def _not_for_iceberg(step: _Step, row: str, more: tuple[str, ...], case: CaseWriter) -> None:
    recipe = step(_for_iceberg(1 if row.startswith("ICE1") else 2, *more))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", row))


def _column_of(kind: of.DataType) -> _Step:
    return lambda recipe: recipe.add_existing_column_refused(of.field("c", kind))


_ARRAY: Final = of.array("long")
_MAP: Final = of.map_of("string", "long")
_VARIANT: Final = ("variantType",)

for _slug, _title, _row, _step, _listed in (
    ("array", "An array is not added", "ICE1-010", _column_of(_ARRAY), ()),
    ("map", "A map is not added", "ICE1-010", _column_of(_MAP), ()),
    (
        "array-within",
        "A struct with an array in it is not added",
        "ICE1-010",
        _column_of(struct(of.field("a", _ARRAY))),
        (),
    ),
    (
        "replace",
        "A table is not replaced by one with an array",
        "ICE1-010",
        lambda recipe: recipe.replace(_with(_ARRAY), (), []),
        (),
    ),
    (
        "variant",
        "A variant is not added",
        "ICE2-018",
        _column_of(of.Primitive("variant")),
        _VARIANT,
    ),
    (
        "vectors",
        "Vectors are not supported from later on",
        "ICE1-006",
        lambda recipe: recipe.keep("enable_feature", feature="deletionVectors"),
        (),
    ),
    (
        "vectors",
        "Vectors are not enabled later",
        "ICE2-014",
        lambda recipe: recipe.set_properties_refused(_VECTORS),
        ("deletionVectors",),
    ),
):
    (FIRST if _row.startswith("ICE1") else SECOND).define(
        f"write-refused-later-{_slug}",
        _title,
        _row,
        partial(_not_for_iceberg, _step, _row, _listed),
    )


@FIRST.case("write-later-vectors-unlisted", "ICE1-006")
def _unlisted_vectors(case: CaseWriter) -> None:
    """The property of vectors brings no support for them."""
    _for_iceberg(1).set_properties(_VECTORS).append(pairs(3)).publish(
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


_HIDDEN: Final = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
}


def _onto_hidden(step: _Step, case: CaseWriter) -> None:
    features = ("rowTracking", "domainMetadata", "columnMapping")
    recipe = Recipe(PAIR, (), {**_HIDDEN, **_MAPPED}, features).append(pairs(1, 2)).given()
    step(recipe).publish(case, refusal=Refusal("invalid_table", "commit", "RT-043"))


for _slug, _phrase, _step in (
    (
        "rename-to-row-ids",
        "A column is not renamed to",
        lambda recipe: recipe.rename_column("name", "_row_id"),
    ),
    (
        "rename-to-versions",
        "A column is not renamed to",
        lambda recipe: recipe.rename_column("name", "_version"),
    ),
    (
        "replace-by-row-ids",
        "A table is not replaced by one with",
        lambda recipe: recipe.replace(
            struct(of.field("id", "long"), of.field("_row_id", "long")), (), []
        ),
    ),
):
    TRACKING.define(
        f"write-{_slug}",
        f"{_phrase} the name of a hidden column",
        "RT-043",
        partial(_onto_hidden, _step),
    )


def _adding(recipe: Recipe) -> Recipe:
    return recipe.add_column(of.field("later", "string"))


_OPERATIONS: Final[Mapping[str, _Step]] = {
    "append": lambda recipe: recipe.append(pairs(9)),
    "overwrite": lambda recipe: recipe.overwrite(pairs(9)),
    "delete": lambda recipe: recipe.delete(_FIRST),
    "update": lambda recipe: recipe.update({"name": "x"}, _FIRST),
    "merge": lambda recipe: recipe.merge(pairs(2, 9), SAME_ID, *UPSERT),
    "optimize": lambda recipe: recipe.keep("optimize"),
    "restore": lambda recipe: recipe.restore(1),
    "replace": lambda recipe: recipe.replace(struct(of.field("n", "long")), (), [{"n": 7}]),
    "set-txn": lambda recipe: recipe.set_transaction("app", 1),
    "set-properties": lambda recipe: recipe.set_properties({"team": "b"}),
    "unset-properties": lambda recipe: recipe.unset_properties("purpose"),
    "add-columns": _adding,
    "reorder-columns": lambda recipe: recipe.reorder_columns("name", "id"),
    "set-nullable": lambda recipe: recipe.set_nullable("id", nullable=True),
    "set-comment": lambda recipe: recipe.do(SetComment("name", "of a person")),
    "set-default": lambda r: r.keep("set_default", column="name", expression="'none'"),
    "set-domain": lambda recipe: recipe.set_domain("mine", "{}"),
    "add-constraint": lambda r: r.keep("add_constraint", name="positive", expression="id > 0"),
    "drop-constraint": lambda recipe: recipe.keep("drop_constraint", name="small"),
    "enable-feature": lambda recipe: recipe.keep("enable_feature", feature="appendOnly"),
    "drop-feature": lambda recipe: recipe.keep("drop_feature", feature="changeDataFeed"),
    "cluster-by": lambda recipe: recipe.keep("cluster_by", columns=["name"]),
    "rename-column": lambda recipe: recipe.rename_column("name", "label"),
    "drop-column": lambda recipe: recipe.drop_column("name"),
}
"""Each operation that makes a version of a table that is there, by the end of a case's name."""

_MAPPING_ALONE: Final = ("rename-column", "drop-column")
_OF_VERSIONS: Final = (
    "overwrite", "delete", "update", "merge", "optimize", "restore", "replace", "set-txn",
    "set-properties", "unset-properties", "add-columns", "reorder-columns", "set-nullable",
    "set-comment", "enable-feature",
)  # fmt: skip
"""Operations that need no feature: what a version beyond 7 supports, nobody knows."""

_LISTED: Final = (
    "allowColumnDefaults", "changeDataFeed", "checkConstraints", "clustering", "domainMetadata",
)  # fmt: skip
_UNKNOWN: Final = "fromAnotherWorld"
_FITTING: Final = {"purpose": "a", "delta.constraints.small": "id < 100"}


def _not_to_write(
    protocol: Protocol, properties: Mapping[str, str], operation: str, row: str, case: CaseWriter
) -> None:
    schema = struct(of.field("id", "long", nullable=operation != "set-nullable"), PAIR["name"])
    recipe = Recipe(schema, (), properties, protocol=protocol).append(pairs(1, 2))
    recipe.append(pairs(3)).given()
    _OPERATIONS[operation](recipe)
    recipe.publish(case, refusal=Refusal("unsupported", "commit", row))


for _operation in _OPERATIONS:
    # An append is asked for by `write-unknown-feature`.
    if _operation == "append":
        continue
    _mapped = _operation in _MAPPING_ALONE
    FEATURES.define(
        f"write-unknown-feature-{_operation}",
        f"An unknown writer feature has {_operation} refused",
        "TF-002 TF-003 TF-015",
        partial(
            _not_to_write,
            Protocol(2, 7, None, ("columnMapping", _UNKNOWN))
            if _mapped
            else Protocol(1, 7, None, (*_LISTED, _UNKNOWN)),
            {"delta.columnMapping.mode": "name"} if _mapped else _FITTING,
            _operation,
            "TF-003",
        ),
    )
for _operation in _OF_VERSIONS:
    PROTOCOL.define(
        f"write-unknown-version-{_operation}",
        f"An unknown writer version has {_operation} refused",
        "PROTO-006",
        partial(_not_to_write, Protocol(1, 8), {"purpose": "a"}, _operation, "PROTO-006"),
    )


_MANAGED: Final = ("catalogManaged", "inCommitTimestamp", *_LISTED)
_ELSEWHERE: Final = ("append", "delete", "optimize", "drop-feature", *_MAPPING_ALONE)
"""Operations that other cases ask of a managed table, or that are refused for other reasons."""


def _past_the_catalog(operation: str, case: CaseWriter) -> None:
    properties = {**_FITTING, "delta.enableInCommitTimestamps": "true"}
    schema = struct(of.field("id", "long", nullable=operation != "set-nullable"), PAIR["name"])
    recipe = Recipe(schema, (), properties, _MANAGED).append(pairs(1, 2)).append(pairs(3)).given()
    _OPERATIONS[operation](recipe)
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "CAT-011"), managed=True)


for _operation in _OPERATIONS:
    # Nobody says which versions there are to be restored.
    if _operation in (*_ELSEWHERE, "restore"):
        continue
    CATALOG.define(
        f"write-{_operation}",
        f"Without its catalog a table has {_operation} refused",
        "CAT-011 CAT-016",
        partial(_past_the_catalog, _operation),
    )
