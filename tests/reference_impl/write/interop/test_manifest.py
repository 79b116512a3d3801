"""Manifests are exchanged as a whole, and name no place that a reader would not follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from faulty_storage import Fault, FaultyStorage

from reference_impl import Table
from reference_impl.errors import InvalidPartitionValue, PlaceRefused
from reference_impl.storage import open_storage

_FOLDER = "_symlink_format_manifest"


def _manifests(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / _FOLDER).rglob("*")
        if path.is_file()
    }


@pytest.fixture
def root(table: Table) -> Path:
    """Return a table whose manifests are out of date: one to change, one to go, one to come."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table.create(schema, partition_columns=["p"])
    table.append(pa.table({"id": [1, 2, 3], "p": ["changes", "goes", "stays"]}))
    table.generate_manifest()
    table.delete("p = 'goes'")
    table.append(pa.table({"id": [4, 5], "p": ["changes", "comes"]}))
    return Path(table.storage.location)


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.TIMEOUT, Fault.LATE])
def test_a_step_that_fails_leaves_the_old_manifests_or_the_new(root: Path, fault: Fault) -> None:
    old = _manifests(root)
    counting = FaultyStorage(open_storage(str(root)))
    Table(counting).generate_manifest()
    new = _manifests(root)
    assert old.keys() != new.keys()
    failed = 0
    for step in range(1, len(counting.taken) + 1):
        for name in new.keys() - old.keys():
            (root / name).unlink(missing_ok=True)
        for name, content in old.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        try:
            Table(FaultyStorage(open_storage(str(root)), step, fault)).generate_manifest()
            wanted = new
        except OSError:
            wanted = old
            failed += 1
        assert _manifests(root) == wanted, counting.taken[step - 1]
    assert failed > len(old) + len(new)
    Table(root).generate_manifest()
    assert _manifests(root) == new


@pytest.mark.parametrize(
    "path", ["../t/x.parquet", "a%0Afile:///etc/passwd", "a%0D%0Ab", "%2e%2e/x"]
)
def test_a_manifest_leads_nowhere_that_a_reader_would_not_go(root: Path, path: str) -> None:
    old = _manifests(root)
    _alter(root, {"path": path})
    with pytest.raises(PlaceRefused):
        Table(root).generate_manifest()
    assert _manifests(root) == old


@pytest.mark.parametrize("values", [{}, {"q": "x"}])
def test_a_file_without_a_partition_value_is_in_no_manifest(
    root: Path, values: dict[str, str]
) -> None:
    old = _manifests(root)
    _alter(root, {"partitionValues": values})
    with pytest.raises(InvalidPartitionValue):
        Table(root).generate_manifest()
    assert _manifests(root) == old


def _alter(root: Path, fields: dict[str, Any]) -> None:
    """Change an add action of the latest commit, as another writer may have written it."""
    commit = max((root / "_delta_log").glob("*.json"))

    def named(line: str) -> str:
        action: dict[str, Any] = json.loads(line)
        if action.get("add", {}).get("partitionValues") == {"p": "comes"}:
            action["add"].update(fields)
        return json.dumps(action) + "\n"

    commit.write_text("".join(map(named, commit.read_text().splitlines())))
