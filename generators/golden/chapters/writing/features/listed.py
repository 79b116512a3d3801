"""Cases of writing: features that are listed, enabled and unknown."""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.starts import MAPPED, broken_rule
from generators.materialise.log.protocols import Protocol

FEATURES: Final = Chapter("table-features", since="2025")
PROTOCOL: Final = Chapter("protocol-evolution")


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
    recipe.run("enable_feature", feature="appendOnly").append(pairs(2))
    recipe.run("enable_feature", feature="vacuumProtocolCheck").append(pairs(3)).publish(case)


@FEATURES.case("write-upgrade", "TF-012 TF-008 TF-015", features=("deletionVectors",))
def _upgrade(case: CaseWriter) -> None:
    """An upgrade lists what versions of before may have used."""
    properties = {"delta.constraints.positive": "id > 0", "delta.enableChangeDataFeed": "true"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 4)).append(pairs(1, 2)).given()
    recipe.set_properties({"delta.enableChangeDataFeed": "false"})
    recipe.run("enable_feature", feature="deletionVectors").append(pairs(3))
    recipe.append(pairs(-4)).publish(case, refusal=broken_rule("CHK-006"))


@FEATURES.case("write-upgrade-locked", "TF-012 APP-001", features=("deletionVectors",))
def _upgrade_locked(case: CaseWriter) -> None:
    """An upgrade lists appendOnly of a table that was append-only."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}, protocol=Protocol(1, 2))
    recipe.append(pairs(1, 2)).given().set_properties({"delta.appendOnly": "false"})
    recipe.run("enable_feature", feature="deletionVectors").append(pairs(3)).publish(case)


@FEATURES.case(
    "write-upgrade-mapped", "TF-012 TF-018 TF-008", features=("columnMapping", "deletionVectors")
)
def _upgrade_mapped(case: CaseWriter) -> None:
    """An upgrade lists the mapping of columns for readers and for writers."""
    recipe = Recipe(PAIR, (), MAPPED, protocol=Protocol(2, 5)).append(pairs(1, 2)).given()
    recipe.run("enable_feature", feature="deletionVectors").append(pairs(3)).publish(case)


def _unknown(protocol: Protocol, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, protocol=protocol).append(pairs(1)).given().append(pairs(2))
    requirement = "PROTO-006" if protocol.writer > 7 else "TF-003"
    recipe.publish(case, refusal=Refusal("unsupported", "commit", requirement))


FEATURES.define(
    "write-unknown-feature",
    "A table with an unknown writer feature is not written",
    "TF-002 TF-003 TF-015",
    partial(_unknown, Protocol(1, 7, None, ("appendOnly", "fromAnotherWorld"))),
)

PROTOCOL.define(
    "write-unknown-version",
    "A table with an unknown writer version is not written",
    "PROTO-006 TF-002",
    partial(_unknown, Protocol(1, 8)),
)


@FEATURES.case("write-inactive-feature", "TF-021 APP-005")
def _inactive(case: CaseWriter) -> None:
    """A feature that is supported and not active restricts nothing."""
    recipe = Recipe(PAIR, features=("appendOnly", "changeDataFeed")).append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).update({"name": "x"}).publish(case)
