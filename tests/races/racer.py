"""One of several processes that change a table at once, and note what they committed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from reference_impl import Table
from reference_impl.errors import ConflictError
from reference_impl.storage import Storage, open_storage

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32())])
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
}
PARTS = ("a", "b", "c", "d", "e", "f")

Note = dict[str, Any]


def arrow(rows: list[Note]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def equal(column: str, kind: str, value: Any) -> Note:
    return {"op": "=", "args": [{"column": [column]}, {"literal": value, "type": kind}]}


class Noting:
    """A storage that notes which versions its commits became."""

    def __init__(self, inner: Storage) -> None:
        self.versions: list[int] = []
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """Leave the rest to the storage."""
        return getattr(self._inner, name)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._inner.put_if_absent(path, data)
        if path.endswith(".json") and path.count(".") == 1:
            self.versions.append(int(path[-25:-5]))


class Racer:
    """Chooses operations at random; the seed fixes the choice, and the race what comes of it."""

    def __init__(self, location: str, number: int, seed: int) -> None:
        self.storage = Noting(open_storage(location))
        self.table = Table(self.storage)  # type: ignore[arg-type]
        self.random = Random(f"{seed}/{number}")  # noqa: S311  a plan, not a secret
        self.number = number
        self.made = 0

    def rows(self) -> list[Note]:
        """Return rows that no other racer makes."""
        fresh = []
        for _ in range(self.random.randint(1, 3)):
            self.made += 1
            key = self.number * 1_000_000 + self.made
            fresh.append({"id": key, "part": self.random.choice(PARTS), "n": 0})
        return fresh

    def where(self) -> Note:
        """Return a filter: of a partition, or of a row that this process once made."""
        if self.random.random() < 0.4:
            return equal("part", "string", self.random.choice(PARTS))
        key = self.number * 1_000_000 + self.random.randint(1, max(self.made, 1))
        return equal("id", "long", str(key))

    def plan(self) -> Note:
        """Choose an operation, and say it in JSON."""
        kinds = {"append": 6, "delete": 3, "update": 3, "merge": 2, "overwrite": 1, "optimize": 1}
        kinds |= {"txn": 1, "domain": 1, "restore": 0.2, "properties": 0.2, "checkpoint": 0.3}
        (kind,) = self.random.choices([*kinds], [*kinds.values()])
        plan: Note = {"kind": kind, "number": self.number, "value": self.random.randint(1, 99)}
        if kind in ("append", "merge", "overwrite"):
            plan["rows"] = self.rows()
        if kind == "merge" and self.made > 3:
            plan["rows"][0]["id"] = self.number * 1_000_000 + self.random.randint(1, self.made - 3)
        if kind in ("delete", "update"):
            plan["where"] = self.where()
        if kind == "overwrite":
            part = self.random.choice(PARTS)
            plan["where"] = equal("part", "string", part)
            plan["rows"] = [row | {"part": part} for row in plan["rows"]]
        if kind == "restore":
            plan["restored"] = max(self.table.latest_version() - 1, 0)
        return plan

    def act(self) -> Note:
        """Carry one operation out; gives the plan with what became of it.

        ``version`` is the version that was committed, ``None`` if none was; ``answer`` is what
        the writer said.
        """
        plan = self.plan()
        before = len(self.storage.versions)
        try:
            plan["answer"] = _ACTIONS[plan["kind"]](self.table, plan)
        except ConflictError as error:
            plan["conflict"] = type(error).__name__
        made = self.storage.versions[before:]
        assert len(made) <= 1, f"{plan} was committed as {made}"
        plan["version"] = made[0] if made else None
        return plan


_ACTIONS: Mapping[str, Callable[[Table, Note], Any]] = {
    "append": lambda t, p: t.append(arrow(p["rows"])),
    "delete": lambda t, p: t.delete(p["where"]),
    "update": lambda t, p: t.update({"n": p["value"]}, p["where"]),
    "merge": lambda t, p: t.merge(arrow(p["rows"]), ["id"]),
    "overwrite": lambda t, p: t.overwrite(arrow(p["rows"]), p["where"]),
    "optimize": lambda t, _: t.optimize(),
    "txn": lambda t, p: t.set_transaction(f"app-{p['number'] % 2}", p["value"]),
    "domain": lambda t, p: t.set_domain(f"domain-{p['number'] % 2}", str(p["value"])),
    "restore": lambda t, p: t.restore(p["restored"]),
    "properties": lambda t, p: t.set_properties({"last": str(p["value"])}),
    "checkpoint": lambda t, _: t.checkpoint(),
}


def race(location: str, number: int, seed: int, commits: int, notes: str) -> None:
    """Commit as often as asked for, and write down every operation that was tried."""
    racer = Racer(location, number, seed)
    with Path(notes).open("w") as file:
        while len(racer.storage.versions) < commits:
            file.write(json.dumps(racer.act()) + "\n")
