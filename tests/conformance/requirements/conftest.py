"""Small registries, written for the tests that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Row = dict[str, Any]


@pytest.fixture
def make_row() -> Callable[..., Row]:
    """Make a row; a field that is given as ``None`` is left out."""

    def make(**changes: Any) -> Row:
        fields = {
            "id": "TOY-001",
            "section": "Toys",
            "role": "reader",
            "level": "MUST",
            "feature": "core",
            "revisions": ["2025"],
            "statement": "A toy is put away.",
            **changes,
        }
        return {key: value for key, value in fields.items() if value is not None}

    return make


@pytest.fixture
def write_registry(tmp_path: Path) -> Callable[..., Path]:
    """Write a registry of one chapter and return its folder."""

    def write(*rows: Row) -> Path:
        folder = tmp_path / "registry"
        folder.mkdir(exist_ok=True)
        (folder / "chapters.yaml").write_text("- toys\n")
        document = {"chapter": "toys", "title": "Toys", "requirements": list(rows)}
        (folder / "toys.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        return folder

    return write
