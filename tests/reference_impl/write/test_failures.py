"""A writer whose storage fails at any step leaves the table as before or as after."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.storage import LocalStorage

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string())])
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.checkpointInterval": "3",
    "delta.deletedFileRetentionDuration": "interval 0 hours",
}
WRITES = ("put", "put_if_absent", "delete")


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "part": ["ab"[n % 2] for n in numbers]}, schema=SCHEMA)


class Failing(LocalStorage):
    """A storage that fails at one writing step, before or after it is done."""

    def __init__(self, root: Path, step: int, *, late: bool) -> None:
        super().__init__(root)
        self.steps = 0
        self._step = step
        self._late = late

    def _do(self, call: Callable[[], None]) -> None:
        self.steps += 1
        if self.steps == self._step and not self._late:
            raise TimeoutError("before")
        call()
        if self.steps == self._step and self._late:
            raise TimeoutError("after")

    def put(self, path: str, data: bytes) -> None:
        self._do(lambda: super(Failing, self).put(path, data))

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._do(lambda: super(Failing, self).put_if_absent(path, data))

    def delete(self, path: str) -> None:
        self._do(lambda: super(Failing, self).delete(path))


OPERATIONS: dict[str, Callable[[Table], Any]] = {
    "append": lambda t: t.append(rows(8, 9)),
    "delete": lambda t: t.delete("id IN (1, 2)"),
    "update": lambda t: t.update({"id": 70}, "id = 3"),
    "overwrite": lambda t: t.overwrite(rows(50)),
    "merge": lambda t: t.merge(rows(2, 60), ["id"]),
    "optimize": lambda t: t.optimize(),
    "restore": lambda t: t.restore(1),
    "checkpoint": lambda t: t.checkpoint(),
    "properties": lambda t: t.set_properties({"a": "b"}),
    "vacuum": lambda t: t.vacuum(),
}


def seen(table: Table) -> tuple[list[int], str | None]:
    read = read_table(table.storage.location)
    return sorted(read["id"].to_pylist()), table.snapshot().metadata.configuration.get("a")


def build(root: Path) -> Table:
    table = Table(root)
    table.create(SCHEMA, partition_columns=["part"], properties=PROPERTIES)
    table.append(rows(1, 2, 3, 4))
    table.delete("id = 4")
    return table


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failure_at_any_step_leaves_before_or_after(
    tmp_path: Path, name: str, late: bool
) -> None:
    operation = OPERATIONS[name]
    kept = build(tmp_path / "kept").storage.location
    whole = Table(shutil.copytree(kept, tmp_path / "whole"))
    before = seen(whole)
    counting = Failing(tmp_path / "whole", 0, late=late)
    operation(Table(counting))
    after = seen(whole)
    assert counting.steps > 0
    for step in range(1, counting.steps + 1):
        root = tmp_path / str(step)
        table = Table(shutil.copytree(kept, root))
        failed = False
        try:
            operation(Table(Failing(root, step, late=late)))
        except TimeoutError:
            failed = True
        found = seen(table)
        assert found in ([before, after] if failed else [after])
        table.append(rows(1000))
        assert 1000 in seen(table)[0]
        table.vacuum()
        faults = [f for f in audit(str(root)) if f.severity == "error"]
        assert faults == []
