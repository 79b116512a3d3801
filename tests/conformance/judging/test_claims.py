"""Claims are words of the contract, and what they leave out is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conformance.adapter import Claims, Description
from conformance.adapters import ours
from conformance.judging.claims import (
    CAPABILITIES,
    WORDS,
    claims_faults,
    description_faults,
    fewer_claims,
)
from conformance.judging.recipes.needs import capabilities_of, features_asked
from conformance.workers.wire import WireError, decode_description, encode_description

PLAIN = Claims(3, 7, operations=frozenset({"scan", "append"}))


@pytest.mark.parametrize(
    ("name", "word", "nearest"),
    [
        ("operations", "read", None),
        ("operations", "scans", "scan"),
        ("operations", "set_property", "set_properties"),
        ("capabilities", "scan.versions", "scan.version"),
        ("capabilities", "scan", None),
        ("reader_features", "timestampNTZ", "timestampNtz"),
        ("reader_features", "deletionVector", "deletionVectors"),
        ("reader_features", "appendOnly", "of writers alone"),
        ("writer_features", "deletion_vectors", "deletionVectors"),
        ("writer_features", "", None),
    ],
)
def test_an_unknown_word_is_named_with_the_nearest(
    name: str, word: str, nearest: str | None
) -> None:
    (fault,) = claims_faults(replace(PLAIN, **{name: frozenset({word})}))
    assert repr(word) in fault
    assert nearest is None or nearest in fault


def test_every_word_of_the_contract_may_be_claimed() -> None:
    claims = Claims(3, 7, **{name: frozenset(words) for name, words in WORDS.items()})
    assert [*claims_faults(claims)] == []
    assert "scan.filter" in CAPABILITIES


def test_the_reference_implementation_claims_words_of_the_contract() -> None:
    assert [*claims_faults(ours.create().describe().claims)] == []


@pytest.mark.parametrize(
    ("description", "fault"),
    [
        (Description("", "1", PLAIN), "name is empty"),
        (Description("n" * 201, "1", PLAIN), "name has more than 200"),
        (Description("n", "1" * 2**24, PLAIN), "engine_version has more than 200"),
        (Description("n", "1", PLAIN, "x" * 201), "adapter_version has more than 200"),
        (Description("n", "1", replace(PLAIN, reader_version=10**399)), "reader_version: "),
        (Description("n", "1", replace(PLAIN, writer_version=2**63)), "writer_version: "),
    ],
)
def test_what_no_results_file_holds_is_no_description(description: Description, fault: str) -> None:
    """Else the run wrote a file that nothing could read again."""
    (found,) = description_faults(description)
    assert fault in found
    assert len(found) < 300


def test_a_million_claims_are_counted_and_not_named() -> None:
    """Else the nearest word was sought for each, which took an hour."""
    words = frozenset(f"feature{number}" for number in range(1_000_000))
    (fault,) = claims_faults(replace(PLAIN, reader_features=words))
    assert fault == "reader_features: 1000000 are no words of the contract"
    (fault,) = claims_faults(replace(PLAIN, operations=frozenset({"w" * 10_000_000})))
    assert len(fault) < 300


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("claims", "operations"), None),
        (("claims", "reader_features"), None),
        (("claims", "reader_version"), None),
        (("claims", "operations"), "scan"),
        (("claims", "operations"), [1]),
        (("claims", "operations"), {"scan": True}),
        (("claims", "reader_version"), "3"),
        (("claims", "reader_version"), True),
        (("claims", "writer_version"), -1),
        (("claims", "capabilites"), []),
        (("claims",), []),
        (("name",), None),
        (("name",), 3),
        (("claim",), {}),
    ],
)
def test_a_description_with_a_bent_field_is_refused(path: tuple[str, ...], value: Any) -> None:
    document = encode_description(Description("mine", "1", PLAIN))
    assert decode_description(json.loads(json.dumps(document))).claims == PLAIN
    place = document
    for name in path[:-1]:
        place = place[name]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    with pytest.raises(WireError):
        decode_description(document)


def test_what_is_claimed_no_longer_is_named() -> None:
    before = PLAIN.as_document()
    now = replace(PLAIN, reader_version=1, operations=frozenset({"scan", "txn"})).as_document()
    assert fewer_claims(before, before) == []
    assert fewer_claims(before, now) == ["reader_version: 3 has become 1", "operations: append"]


@pytest.mark.parametrize(
    ("step", "features"),
    [
        ({"operation": "append"}, set()),
        ({"operation": "change_type", "type": "long"}, {"typeWidening"}),
        ({"operation": "enable_feature", "feature": "rowTracking"}, {"rowTracking"}),
        ({"operation": "set_default"}, {"allowColumnDefaults"}),
        (
            {"operation": "set_properties", "properties": {"delta.feature.variantType": "x"}},
            {"variantType"},
        ),
        (
            {"operation": "set_properties", "properties": {"delta.constraints.a": "x > 1"}},
            {"checkConstraints"},
        ),
        ({"operation": "create", "clustering_columns": ["a"]}, {"clustering"}),
    ],
)
def test_a_step_asks_for_features(step: dict[str, Any], features: set[str]) -> None:
    assert features_asked(step) == features


@pytest.mark.parametrize(
    ("step", "capabilities"),
    [
        ({"operation": "overwrite", "filter": {}}, {"overwrite.filter"}),
        ({"operation": "overwrite", "partition": {}}, {"overwrite.partition"}),
        ({"operation": "delete", "filter": {}}, set()),
        ({"operation": "optimize", "purge": True}, {"optimize.purge"}),
        ({"operation": "set_nullable", "nullable": False}, {"set_nullable.required"}),
        ({"operation": "set_nullable", "nullable": True}, set()),
        ({"operation": "checkpoint", "kind": "v2-json"}, {"checkpoint.kind"}),
    ],
)
def test_a_step_asks_for_capabilities(step: dict[str, Any], capabilities: set[str]) -> None:
    assert capabilities_of(step) == capabilities
    assert capabilities <= CAPABILITIES


@pytest.mark.parametrize(("name", "highest"), [("reader_version", 3), ("writer_version", 7)])
def test_a_version_that_no_text_has_is_no_claim(name: str, highest: int) -> None:
    assert [*claims_faults(replace(PLAIN, **{name: highest}))] == []
    (fault,) = claims_faults(replace(PLAIN, **{name: highest + 1}))
    assert fault == f"{name}: {highest} is the highest that the protocol has"
