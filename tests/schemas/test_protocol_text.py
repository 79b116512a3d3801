"""The schemas know every example and every field of the protocol text.

``data/examples.json`` has the JSON of the text's examples in the order of its sections. Where an
example contradicts the text around it, the printed form is there as invalid and a corrected form
beside it. ``data/fields.json`` has the fields that the tables of the text name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import schemas

DATA = Path(__file__).parent / "data"
EXAMPLES: list[dict[str, Any]] = json.loads((DATA / "examples.json").read_text())
FIELDS: dict[str, list[str]] = json.loads((DATA / "fields.json").read_text())
PRINTED = [example for example in EXAMPLES if "text" in example]
PARSED = [example for example in EXAMPLES if "document" in example]


def _section(example: dict[str, Any]) -> str:
    return f"{example['section']} / {example['schema']}"


@pytest.mark.parametrize("example", PARSED, ids=_section)
def test_an_example_of_the_text_is_judged_as_it_stands(example: dict[str, Any]) -> None:
    assert (schemas.errors(example["schema"], example["document"]) == []) is example["valid"]


@pytest.mark.parametrize("example", PRINTED, ids=_section)
def test_a_misprinted_example_is_not_json(example: dict[str, Any]) -> None:
    assert not example["valid"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(example["text"])
    assert schemas.errors(example["schema"], json.loads(example["text"] + "}")) == []


def test_a_rejected_example_says_why() -> None:
    assert all("note" in example for example in EXAMPLES if not example["valid"])


def _properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for child in schema.values():
            yield from _properties(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from _properties(child)


def test_every_document_of_the_protocol_has_its_fields_listed() -> None:
    assert set(FIELDS) == {name for name in schemas.names() if not name.startswith("kit/")}


@pytest.mark.parametrize("name", FIELDS)
def test_no_field_of_the_text_is_missing(name: str) -> None:
    assert set(FIELDS[name]) <= set(_properties(schemas.load(name)))


@pytest.mark.parametrize("name", FIELDS)
def test_a_schema_cites_the_requirements_that_it_enforces(name: str) -> None:
    schema = schemas.load(name)
    assert schema["x-section"]
    cited = json.dumps(schema).count('"x-requirement"')
    assert cited or name == "log/commit-line"
