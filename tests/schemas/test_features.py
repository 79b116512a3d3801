"""The list of table features is that of the text, and every other list is held to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import schemas
from conformance.audit.checks import protocols
from conformance.requirements.registry import SELECTIONS, load_registry
from schemas.features import FEATURES, find

BOTH = [each.name for each in FEATURES.values() if each.kind == "reader_writer"]
PROTOCOL = schemas.load("action/protocol")["allOf"]

# "Valid Feature Names in Table Features", in the order of the text of 2025.
WRITERS_ONLY = (
    "appendOnly", "invariants", "checkConstraints", "generatedColumns", "allowColumnDefaults",
    "changeDataFeed", "identityColumns", "rowTracking", "domainMetadata", "icebergCompatV1",
    "icebergCompatV2", "clustering",
)  # fmt: skip
READERS_AND_WRITERS = (
    "columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck",
)  # fmt: skip
NEWER = {
    "icebergCompatV3": "writer", "inCommitTimestamp": "writer", "typeWidening": "reader_writer",
    "variantType": "reader_writer", "variantShredding": "reader_writer",
    "catalogManaged": "reader_writer", "checkpointProtection": "writer",
    "materializePartitionColumns": "writer",
}  # fmt: skip

# "Writer Version Requirements" and "Reader Version Requirements": the version that brings it.
BROUGHT_TO_WRITERS = {
    2: {"appendOnly", "invariants"},
    3: {"checkConstraints"},
    4: {"changeDataFeed", "generatedColumns"},
    5: {"columnMapping"},
    6: {"identityColumns"},
}
BROUGHT_TO_READERS = {2: {"columnMapping"}}

# "Table Features" that the section of a feature demands beside it.
REQUIRED = {
    "rowTracking": {"domainMetadata"},
    "clustering": {"domainMetadata"},
    "icebergCompatV1": {"columnMapping"},
    "icebergCompatV2": {"columnMapping"},
    "icebergCompatV3": {"columnMapping", "rowTracking"},
    "variantShredding": {"variantType"},
    "catalogManaged": {"inCommitTimestamp"},
}


def test_the_names_and_kinds_are_those_of_the_text() -> None:
    text = dict.fromkeys(WRITERS_ONLY, "writer")
    text |= dict.fromkeys(READERS_AND_WRITERS, "reader_writer")
    assert {each.name: each.kind for each in FEATURES.values()} == text | NEWER
    assert all(name == each.name for name, each in FEATURES.items())


def test_the_versions_that_bring_a_feature_are_those_of_the_text() -> None:
    writers = {name: version for version, names in BROUGHT_TO_WRITERS.items() for name in names}
    readers = {name: version for version, names in BROUGHT_TO_READERS.items() for name in names}
    assert {n: f.legacy_writer for n, f in FEATURES.items() if f.legacy_writer} == writers
    assert {n: f.legacy_reader for n, f in FEATURES.items() if f.legacy_reader} == readers


def test_the_features_beside_a_feature_are_those_of_the_text() -> None:
    assert {n: set(f.requires) for n, f in FEATURES.items() if f.requires} == REQUIRED


def test_a_spelling_belongs_to_one_feature_and_its_letter_case_counts() -> None:
    spellings = [s for each in FEATURES.values() for s in (each.name, *each.aliases)]
    assert len(spellings) == len(set(spellings))
    assert all(find(s) is FEATURES[each.name] for each in FEATURES.values() for s in each.aliases)
    assert find("AppendOnly") is None


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
    both = {name for name, _ in protocols._READER_WRITER_FEATURES}
    assert both == {name for name in BOTH if not FEATURES[name].legacy_reader}
    assert all(FEATURES[name].kind == "writer" for name, _ in protocols._WRITER_FEATURES)
    assert all(other in FEATURES[name].requires for name, other, _ in protocols._COMPANIONS)
