"""Make the adapters and the tiny corpora of these tests importable, here and in workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.judging.tables import TableStore

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)


@pytest.fixture
def store() -> Iterator[TableStore]:
    """Hand out copies of tables, which are gone after the test."""
    with closing(TableStore()) as copies:
        yield copies
