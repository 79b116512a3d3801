"""The quick answer never contradicts the general validator, and is there for every schema."""

from __future__ import annotations

import copy
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import schemas
from schemas.catalog import contents
from schemas.compiled import is_valid
from schemas.keywords import EXTENSIONS

DATA = Path(__file__).parent / "data"
TABLES: dict[str, Any] = {
    name: table
    for file in ("action", "log", "table", "kit")
    for name, table in json.loads((DATA / f"{file}.json").read_text()).items()
}


def _rejected(name: str) -> list[Any]:
    found = []
    for row in TABLES[name]["rejected"]:
        document = copy.deepcopy(TABLES[name]["accepted"][0])
        for pointer, value in (row.get("set") or {}).items():
            document = _put(document, pointer.split("/")[1:], value)
        for pointer in row.get("drop") or ():
            document = _put(document, pointer.split("/")[1:], ...)
        found.append(document)
    return found


def _put(document: Any, parts: list[str], value: Any) -> Any:
    if not parts:
        return value
    key: Any = parts[0].replace("~1", "/").replace("~0", "~")
    key = int(key) if isinstance(document, list) else key
    if len(parts) == 1 and value is ...:
        del document[key]
    else:
        document[key] = _put(document[key], parts[1:], value) if len(parts) > 1 else value
    return document


@pytest.mark.parametrize("name", schemas.names())
def test_valid_documents_pass_quickly(name: str) -> None:
    assert [doc for doc in TABLES[name]["accepted"] if not is_valid(name, doc)] == []


@pytest.mark.parametrize("name", schemas.names())
def test_no_faulty_document_passes(name: str) -> None:
    assert [doc for doc in _rejected(name) if is_valid(name, doc)] == []


def test_equality_is_that_of_json() -> None:
    good = {"numMetadata": 1, "numProtocol": 1}
    for value in (True, "1", 2):
        assert not is_valid("log/version-checksum", good | {"numMetadata": value})
    whole = TABLES["log/version-checksum"]["accepted"][0]
    assert is_valid("log/version-checksum", whole | {"numMetadata": 1.0})


_OF_SCHEMAS = {"properties", "patternProperties", "$defs"}
"""Keywords whose value gives each of its members a schema."""
_SCHEMAS = {"not", "if", "then", "else", "items", "additionalProperties", "propertyNames"} | {
    *("contains", "allOf", "anyOf", "oneOf", "prefixItems", "contentSchema")
}
_LEAVES = {
    *("$schema", "$id", "$ref", "title", "description", "contentMediaType", "type", "const"),
    *("enum", "required", "minimum", "maximum", "pattern", "minLength", "maxLength"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    *("x-section", "x-requirement", "x-message", "x-contested"),
}


def _keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keywords, schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        if key in _OF_SCHEMAS:
            found |= _keywords([*value.values()])
        elif key in _SCHEMAS:
            found |= _keywords(value)
    return found


@pytest.mark.parametrize("name", schemas.names(shared=True))
def test_no_keyword_is_misspelt_and_so_ignored(name: str) -> None:
    assert _keywords(contents(name)) - _OF_SCHEMAS - _SCHEMAS - _LEAVES - EXTENSIONS.keys() == set()


def test_a_misspelt_keyword_is_seen_below_any_other() -> None:
    schema = {"properties": {"a": {"anyOf": [{"items": {"minLenght": 1}}]}}}
    assert "minLenght" in _keywords(schema)


@pytest.mark.parametrize(
    "version",
    [float("nan"), float("inf"), 10**5000, -(10**5000), "\ud800", b"1", {1: 2}, {"\ud800": 1}],
    ids=["nan", "infinity", "huge", "huge-negative", "surrogate", "bytes", "key", "surrogate-key"],
)
def test_what_json_cannot_say_is_judged_without_a_crash(version: Any) -> None:
    for document in (
        {"appId": "a", "version": version},
        {"appId": "a", "version": 1, "x": version},
    ):
        assert not is_valid("action/txn", document) or not schemas.errors("action/txn", document)


@pytest.mark.parametrize("structs", [10, 40, 330, 50_000])
def test_no_depth_ends_a_process_with_a_small_stack(structs: int) -> None:
    schema: Any = {"type": "struct", "fields": []}
    for _ in range(structs):
        field = {"name": "a", "type": schema, "nullable": True, "metadata": {}}
        schema = {"type": "struct", "fields": [field]}
    found: list[bool] = []
    before = threading.stack_size(160 << 10)
    try:
        asking = threading.Thread(
            target=lambda: found.append(schemas.is_valid("table/schema", schema, deep=False))
        )
        asking.start()
    finally:
        threading.stack_size(before)
    asking.join()
    assert found == [structs < 50_000]
    # Python itself frees a chain of so many objects one frame for each.
    while schema["fields"]:
        schema = schema["fields"].pop()["type"]


def test_a_line_break_behind_a_text_is_explained_as_well() -> None:
    """The end of a pattern is the end of the text: ``$`` of Python also stands before a break."""
    document = copy.deepcopy(TABLES["action/metaData"]["accepted"][0])
    document["id"] = "5fba94ed-9794-4965-ba6e-6ee3c0d22af9\n"
    assert not is_valid("action/metaData", document)
    assert [each.path for each in schemas.errors("action/metaData", document)] == ["/id"]
