"""The loader and the validator keep their promises to callers."""

from __future__ import annotations

import itertools
import json

import pytest
from jsonschema.exceptions import ValidationError

import schemas


def test_names_are_grouped_and_loadable() -> None:
    assert {name.split("/")[0] for name in schemas.names()} == {"action", "log", "table", "kit"}
    for name in schemas.names():
        assert schemas.load(name)["$id"] == f"urn:delta-tck:schema:{name}"


def test_a_loaded_schema_belongs_to_the_caller() -> None:
    schemas.load("action/txn").clear()
    assert schemas.load("action/txn")["title"] == "txn action"


@pytest.mark.parametrize("ask", [schemas.load, schemas.validator])
def test_an_unknown_name_is_answered_with_the_nearest(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(schemas.UnknownSchemaError, match=r"did you mean action/add"):
        ask("action/ad")
    with pytest.raises(schemas.UnknownSchemaError, match=r"see schemas\.names"):
        ask("qqq")


def test_shared_definitions_are_not_a_document() -> None:
    with pytest.raises(schemas.UnknownSchemaError):
        schemas.validator("common/values")


def test_violations_name_place_rule_and_requirement() -> None:
    violation, *rest = schemas.errors("log/commit-line", {"txn": {"appId": "a", "version": "1"}})
    assert rest == []
    assert violation == schemas.Violation(
        path="/txn/version",
        message="'1' is not of type 'integer'",
        rule="common/values#/$defs/long/type",
        requirement=("TXN-002",),
    )


def test_a_missing_property_cites_its_own_requirement() -> None:
    found = schemas.errors("action/txn", {})
    assert [(v.rule, v.requirement) for v in found] == [
        ("action/txn#/required/appId", ("TXN-001",)),
        ("action/txn#/required/version", ("TXN-002",)),
    ]


def test_violations_come_in_the_order_of_their_places() -> None:
    found = schemas.errors("action/add", {"path": 1, "size": "x", "tags": 5})
    assert [v.path for v in found] == sorted(v.path for v in found)
    assert len(found) == len(set(found))


def test_pointers_escape_slash_and_tilde() -> None:
    (violation,) = schemas.errors("action/format", {"provider": "p", "options": {"a/b~c": 1}})
    assert violation.path == "/options/a~1b~0c"


def test_long_messages_are_shortened() -> None:
    (violation,) = schemas.errors("action/txn", {"appId": ["x"] * 10_000, "version": 1})
    assert len(violation.message) < 320
    assert " … " in violation.message


def test_a_bottomless_document_is_beyond_the_limit_and_not_wrong() -> None:
    node: dict[str, object] = {"type": "struct", "fields": []}
    for _ in itertools.repeat(None, 20_000):
        node = {"type": "array", "elementType": node, "containsNull": True}
    field = {"name": "a", "type": node, "nullable": True, "metadata": {}}
    (violation,) = schemas.errors("table/schema", {"type": "struct", "fields": [field]})
    assert violation.limit
    assert "limit of 1000 levels" in violation.message


def test_a_foreign_error_cannot_be_located() -> None:
    (error,) = schemas.validator("action/txn").iter_errors({"appId": 1, "version": 1})
    assert isinstance(error, ValidationError)
    with pytest.raises(ValueError, match=r"action/format"):
        schemas.locate("action/format", error)


def test_schema_files_are_plain_json_without_duplicate_keys() -> None:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys))
        return dict(pairs)

    for name in schemas.names():
        json.loads(json.dumps(schemas.load(name)), object_pairs_hook=unique)


def test_the_requirements_of_a_schema_follow_its_references() -> None:
    cited = schemas.requirements("log/commit-line")
    assert {"LOG-004", "ADD-001", "DVDESC-008", "META-012"} <= set(cited)
    assert "SCH-024" not in cited
    assert list(cited) == sorted(set(cited))
    with pytest.raises(schemas.UnknownSchemaError):
        schemas.requirements("action/none")
