"""The table of features says what the tables of the text say, and the registry as well."""

from __future__ import annotations

import re

import pytest

from conformance.requirements.registry import load_registry
from schemas.features import FEATURES, find

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


@pytest.mark.parametrize(
    ("requirement", "names"), [("FEAT-001", WRITERS_ONLY), ("FEAT-002", READERS_AND_WRITERS)]
)
def test_the_registry_lists_the_same_names(requirement: str, names: tuple[str, ...]) -> None:
    statement = load_registry()[requirement].statement
    listed = re.split(r",\s+|\s+and\s+", statement.rpartition(" are ")[2].rstrip("."))
    assert set(listed) == set(names)


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
