"""The quick answer never contradicts the general validator, and is there for every schema."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import schemas
from schemas.compiled import _Compiler, is_valid

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


def test_an_unknown_keyword_is_refused_and_not_ignored() -> None:
    with pytest.raises(NotImplementedError, match="dependentRequired"):
        _Compiler("action/add").test({"dependentRequired": {}})
