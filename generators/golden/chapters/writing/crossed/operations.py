"""Cases of writing: every operation is refused by who does not know the table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import FIRST_ROW, MAPPED, Step
from generators.materialise.log.protocols import Protocol
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import struct
from generators.oracle.operations import SetComment

FEATURES: Final = Chapter("table-features", since="2025")
PROTOCOL: Final = Chapter("protocol-evolution")
CATALOG: Final = Chapter("catalog-managed-tables", since="upstream")


def _adding(recipe: Recipe) -> Recipe:
    return recipe.add_column(of.field("later", "string"))


_OPERATIONS: Final[Mapping[str, Step]] = {
    "append": lambda recipe: recipe.append(pairs(9)),
    "overwrite": lambda recipe: recipe.overwrite(pairs(9)),
    "delete": lambda recipe: recipe.delete(FIRST_ROW),
    "update": lambda recipe: recipe.update({"name": "x"}, FIRST_ROW),
    "merge": lambda recipe: recipe.merge(pairs(2, 9), SAME_ID, *UPSERT),
    "optimize": lambda recipe: recipe.run("optimize"),
    "restore": lambda recipe: recipe.restore(1),
    "replace": lambda recipe: recipe.replace(struct(of.field("n", "long")), (), [{"n": 7}]),
    "set-txn": lambda recipe: recipe.set_transaction("app", 1),
    "set-properties": lambda recipe: recipe.set_properties({"team": "b"}),
    "unset-properties": lambda recipe: recipe.unset_properties("purpose"),
    "add-columns": _adding,
    "reorder-columns": lambda recipe: recipe.reorder_columns("name", "id"),
    "set-nullable": lambda recipe: recipe.set_nullable("id", nullable=True),
    "set-comment": lambda recipe: recipe.do(SetComment("name", "of a person")),
    "set-default": lambda r: r.run("set_default", column="name", expression="'none'"),
    "set-domain": lambda recipe: recipe.set_domain("mine", "{}"),
    "add-constraint": lambda r: r.run("add_constraint", name="positive", expression="id > 0"),
    "drop-constraint": lambda recipe: recipe.run("drop_constraint", name="small"),
    "enable-feature": lambda recipe: recipe.run("enable_feature", feature="appendOnly"),
    "drop-feature": lambda recipe: recipe.run("drop_feature", feature="changeDataFeed"),
    "cluster-by": lambda recipe: recipe.run("cluster_by", columns=["name"]),
    "rename-column": lambda recipe: recipe.rename_column("name", "label"),
    "drop-column": lambda recipe: recipe.drop_column("name"),
}
"""Each operation that makes a version of a table that is there, by the end of a case's name."""

_MAPPING_ALONE: Final = ("rename-column", "drop-column")

_OF_VERSIONS: Final = (
    "overwrite", "delete", "update", "merge", "optimize", "restore", "replace", "set-txn",
    "set-properties", "unset-properties", "add-columns", "reorder-columns", "set-nullable",
    "set-comment", "enable-feature", "set-default", "set-domain", "add-constraint",
    "drop-constraint", "drop-feature", "cluster-by", *_MAPPING_ALONE,
)  # fmt: skip
"""Operations of a table of a version beyond 7; what that supports is unknown.

An append is asked for by another case."""

_LISTED: Final = (
    "allowColumnDefaults", "changeDataFeed", "checkConstraints", "clustering", "domainMetadata",
)  # fmt: skip

_OF_VERSION_8: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(_MAPPING_ALONE, MAPPED),
    "drop-constraint": {"purpose": "a", "delta.constraints.small": "id < 100"},
}
"""Properties without which an operation would be refused for another reason."""

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
            MAPPED if _mapped else _FITTING,
            _operation,
            "TF-003",
        ),
    )

for _operation in _OF_VERSIONS:
    PROTOCOL.define(
        f"write-unknown-version-{_operation}",
        f"An unknown writer version has {_operation} refused",
        "PROTO-006 TF-002",
        partial(
            _not_to_write,
            Protocol(2 if _operation in _MAPPING_ALONE else 1, 8),
            _OF_VERSION_8.get(_operation, {"purpose": "a"}),
            _operation,
            "PROTO-006",
        ),
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
    # No clause says which versions can be restored.
    if _operation in (*_ELSEWHERE, "restore"):
        continue
    CATALOG.define(
        f"write-{_operation}",
        f"Without its catalog a table has {_operation} refused",
        "CAT-011 CAT-016",
        partial(_past_the_catalog, _operation),
    )
