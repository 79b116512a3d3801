"""Every rule of every schema accepts what it allows and rejects what it forbids.

The documents are data: ``data/*.json`` has, per schema, accepted documents and changes to the
first of them that a rule rejects, with the place and the requirement that the violation names.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import schemas
from schemas.catalog import contents, urn

DATA = Path(__file__).parent / "data"
TABLES: dict[str, Any] = {
    name: table
    for file in ("action", "log", "table", "kit")
    for name, table in json.loads((DATA / f"{file}.json").read_text()).items()
}
ACCEPTED = [(name, doc) for name, table in TABLES.items() for doc in table["accepted"]]
REJECTED = [(name, row) for name, table in TABLES.items() for row in table["rejected"]]

PREDICATES = frozenset({"if", "not", "anyOf", "oneOf", "contains"})
"""Their subschemas only choose; the rule is the keyword itself."""

ANNOTATIONS = frozenset(
    {"$schema", "$id", "$ref", "title", "description", "contentMediaType", "contentSchema"}
    | {"x-section", "x-requirement", "x-message", "x-contested"}
)


def _dig(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the container and the key that a JSON pointer ends in."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in way:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last


def _document(name: str, row: Any) -> Any:
    changes = row.get("set", {})
    if "" in changes:
        return changes[""]
    document = copy.deepcopy(TABLES[name]["accepted"][0])
    for pointer, value in changes.items():
        container, key = _dig(document, pointer)
        container[key] = value
    for pointer in row.get("drop", ()):
        container, key = _dig(document, pointer)
        del container[key]
    return document


def _label(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "at" in value:
        change = json.dumps([value.get("set"), value.get("drop")])
        return f"{value['at'] or '/'}:{change}"[:90]
    return None


def _rules(name: str, errors: Iterator[ValidationError]) -> Iterator[str]:
    for error in errors:
        yield schemas.locate(name, error).location


def _constraints(location: str, schema: Any) -> Iterator[str]:
    """Yield the location of every rule below a subschema."""
    assert isinstance(schema, dict), f"{location} is {schema}; a rule is an object, to be cited"
    for keyword, value in schema.items():
        at = f"{location}/{keyword}"
        if keyword in ANNOTATIONS or keyword in ("if", "then", "else"):
            if keyword in ("then", "else"):
                yield from _constraints(at, value)
        elif keyword in ("properties", "patternProperties", "$defs"):
            for key, child in value.items():
                escaped = key.replace("~", "~0").replace("/", "~1")
                yield from _constraints(f"{at}/{escaped}", child)
        elif keyword in ("items", "propertyNames") or (
            keyword == "additionalProperties" and value is not False
        ):
            yield from _constraints(at, value)
        elif keyword in ("allOf", "prefixItems"):
            for index, child in enumerate(value):
                yield from _constraints(f"{at}/{index}", child)
        elif keyword == "required":
            yield from (f"{at}/{key}" for key in value)
        else:
            assert keyword in PREDICATES | set(Draft202012Validator.VALIDATORS) | {
                "x-ascending",
                "x-distinct-names",
                "x-same-length",
                "x-within",
            }, f"{at} is no keyword that anything enforces"
            yield at


EVERY = (*schemas.names(), "common/values")


@pytest.mark.parametrize("name", EVERY)
def test_a_schema_is_valid_under_the_metaschema(name: str) -> None:
    Draft202012Validator.check_schema(schemas.load(name))


def test_every_schema_has_documents_of_both_kinds() -> None:
    assert set(TABLES) == set(schemas.names())
    assert all(table["accepted"] and table["rejected"] for table in TABLES.values())


@pytest.mark.parametrize(("name", "document"), ACCEPTED, ids=_label)
def test_a_valid_document_is_accepted(name: str, document: Any) -> None:
    assert schemas.errors(name, document) == []


@pytest.mark.parametrize(("name", "row"), REJECTED, ids=_label)
def test_a_faulty_document_is_rejected_where_it_is_wrong(name: str, row: Any) -> None:
    found = [v for v in schemas.errors(name, _document(name, row)) if v.path == row["at"]]
    assert found
    if "cites" in row:
        cited = {requirement for violation in found for requirement in violation.requirement}
        assert row["cites"] in cited


def test_every_rule_is_broken_by_a_rejected_document() -> None:
    broken = {
        rule
        for name, row in REJECTED
        for rule in _rules(name, schemas.validator(name).iter_errors(_document(name, row)))
    }
    every = {rule for name in EVERY for rule in _constraints(f"{name}#", schemas.load(name))}
    assert sorted(every - broken) == []
    assert broken <= every


def test_references_stay_inside_the_package() -> None:
    text = "".join(json.dumps(schemas.load(name)) for name in EVERY)
    inside = tuple(f'"$ref": "{start}' for start in ("#", "urn:delta-tck:schema:"))
    assert text.count('"$ref": ') == sum(text.count(start) for start in inside)
    for name in EVERY:
        assert contents(name)["$id"] == urn(name)
