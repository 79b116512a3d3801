"""The ids that rules cite are ids of the requirement registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import schemas
from conformance.requirements.registry import load_registry


def _cited(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("x-requirement", ())
        for child in schema.values():
            yield from _cited(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from _cited(child)


@pytest.mark.parametrize("name", schemas.names())
def test_every_cited_requirement_exists(name: str) -> None:
    registry = load_registry()
    assert [cited for cited in _cited(schemas.load(name)) if cited not in registry] == []
