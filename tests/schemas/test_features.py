"""The list of table features is that of the text, and every other list is held to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import schemas
from conformance.audit.checks import protocols
from conformance.requirements.registry import SELECTIONS, load_registry
from schemas.features import FEATURES

BOTH = [each.name for each in FEATURES.values() if each.kind == "reader_writer"]
PROTOCOL = schemas.load("action/protocol")["allOf"]


@pytest.mark.parametrize(
    ("requirement", "kind"), [("FEAT-001", "writer"), ("FEAT-002", "reader_writer")]
)
def test_the_names_of_2025_are_those_of_the_text(requirement: str, kind: str) -> None:
    said = re.findall(r"\w+", load_registry()[requirement].statement.partition(" are ")[2])
    known = {each.name for each in FEATURES.values() if each.since != "upstream"}
    listed = {name for name in known if FEATURES[name].kind == kind}
    # The list of 2025 lacks this name, though a section has the feature: see FEAT-005.
    assert set(said) - {"and"} == listed - {"inCommitTimestamp"}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_as_old_as_its_first_clause(name: str) -> None:
    texts = {text for row in load_registry() if row.feature == name for text in row.revisions}
    assert next(each for each, held in SELECTIONS.items() if held & texts) == FEATURES[name].since


def test_every_required_feature_is_itself_known() -> None:
    assert all(name in FEATURES for each in FEATURES.values() for name in each.requires)
    spellings = [word for each in FEATURES.values() for word in (each.name, *each.aliases)]
    assert len({*spellings}) == len(spellings)


def _rules(rule: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    condition = rule.get("if", {}).get("properties", {}).get("writerFeatures", {})
    return condition.get("contains", {}).get("const"), rule.get("then", {}).get("properties", {})


def test_the_schema_of_protocol_actions_asks_for_both_lists() -> None:
    ruled = {name for name, then in map(_rules, PROTOCOL) if name and "readerFeatures" in then}
    # A legacy version may bring the feature instead.
    assert ruled == {name for name in BOTH if not FEATURES[name].legacy_reader}


def test_the_schema_of_protocol_actions_asks_for_features_that_exist() -> None:
    for name, then in map(_rules, PROTOCOL):
        if name and "writerFeatures" in then:
            wanted = then["writerFeatures"]["contains"]
            words = wanted.get("enum", [wanted.get("const")])
            [required] = {n for n, each in FEATURES.items() if {*words} & {n, *each.aliases}}
            assert required in FEATURES[name].requires


def test_the_audit_holds_features_to_what_they_are() -> None:
    both = {name for name, _ in protocols._OF_BOTH}
    assert both == {name for name in BOTH if not FEATURES[name].legacy_reader}
    assert all(FEATURES[name].kind == "writer" for name, _ in protocols._OF_WRITERS)
    assert all(other in FEATURES[name].requires for name, other, _ in protocols._COMPANIONS)
