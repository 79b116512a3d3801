"""Small pieces of work for a writer, with the rows that the model has after them.

They are for rules that one writer alone cannot break, and for what the reference writer keeps to
though the text lets others do otherwise. Each names the requirement that its rows or its refusal
stand for; what the audit finds has requirements of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.audit import audit
from reference_impl import DeltaError, Table, read_table
from reference_impl.storage import LocalStorage

Row = dict[str, Any]

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32())])


def rows(*numbers: int) -> list[Row]:
    return [{"id": n, "part": "ab"[n % 2], "n": n} for n in numbers]


def arrow(*numbers: int) -> pa.Table:
    return pa.Table.from_pylist(rows(*numbers), schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Drill:
    """A piece of work.

    Attributes:
        requirement: what its rows, changes, ids or refusal stand for.
        work: what the writer does.
        rows: the rows that there are in the end, if they are compared.
        refused: a last step that has to be refused and to leave no version.
        meanwhile: versions that others commit while that step is refused.
        holds: what else is true in the end.
    """

    requirement: str
    work: Callable[[Table], object]
    rows: list[Row] | None = None
    refused: Callable[[Table], object] | None = None
    meanwhile: int = 0
    holds: Callable[[Table], bool] | None = None


def complaints(drill: Drill, root: Path, wrong: Callable[[], Any]) -> Iterator[str]:
    """Let a writer do a drill; gives the requirements that it broke.

    ``wrong`` gives a context in which the writer is wrong; nothing is judged inside of it.
    """
    table = Table(root)
    try:
        with wrong():
            drill.work(table)
        if drill.refused is not None:
            yield from _refusal(drill, table, wrong)
        if drill.rows is not None:
            found = sorted(read_table(root).to_pylist(), key=repr)
            if found != sorted(drill.rows, key=repr):
                yield drill.requirement
        if drill.holds is not None and not drill.holds(table):
            yield drill.requirement
    except DeltaError:
        yield drill.requirement
    yield from (found.requirement for found in audit(str(root)) if found.severity == "error")


def _refusal(drill: Drill, table: Table, wrong: Callable[[], Any]) -> Iterator[str]:
    assert drill.refused is not None
    before = table.latest_version()
    try:
        with wrong():
            drill.refused(table)
    except DeltaError:
        if table.latest_version() == before + drill.meanwhile:
            return
    yield drill.requirement


class _Racing(LocalStorage):
    """A storage on which another writer commits just before this one does, so many times."""

    def __init__(self, table: Table, race: Callable[[Table], Any], times: int) -> None:
        super().__init__(Path(table.storage.location))
        self._race, self._times = race, times

    def put(self, path: str, data: bytes) -> None:
        self._commit_first(path)
        super().put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._commit_first(path)
        super().put_if_absent(path, data)

    def _commit_first(self, path: str) -> None:
        if path.startswith("_delta_log/") and path.endswith(".json"):
            self._times -= 1
            if self._times >= 0:
                self._race(Table(self.location))


def racing(table: Table, race: Callable[[Table], Any], times: int = 1) -> Table:
    """Return the table as a writer sees it that another writer overtakes."""
    return Table(_Racing(table, race, times))


def steps(*work: Callable[[Table], object]) -> Callable[[Table], object]:
    return lambda table: [each(table) for each in work]


def made(properties: dict[str, str], *numbers: int, **more: Any) -> Callable[[Table], object]:
    """Return the work that creates a table and appends rows."""
    more.setdefault("partition_columns", ["part"])

    def work(table: Table) -> None:
        table.create(SCHEMA, properties=properties, **more)
        if numbers:
            table.append(arrow(*numbers))

    return work


def overtaken(
    race: Callable[[Table], Any], work: Callable[[Table], object], times: int = 1
) -> Callable[[Table], object]:
    """Return the work of a writer that another writer overtakes."""
    return lambda table: work(racing(table, race, times))


def _commits_nothing(table: Table) -> None:
    """Take the next version, with nothing in it."""
    log = Path(table.storage.location) / "_delta_log"
    (log / f"{len([*log.glob('*.json')]):020}.json").write_text('{"commitInfo":{}}\n')


def _vector_files(table: Table) -> list[bytes]:
    return [p.read_bytes() for p in Path(table.storage.location).rglob("deletion_vector_*.bin")]


_VECTORS = {"delta.enableDeletionVectors": "true"}
_FEED = {"delta.enableChangeDataFeed": "true"}
_PORTABLE = (1681511377).to_bytes(4, "little")
_HEADER = 5
"""Bytes of a vector file before the first vector: a format version, and a size."""


DRILLS: dict[str, Drill] = {
    "append beside append": Drill(
        "WNEW-001",
        steps(made({}, 1), overtaken(lambda o: o.append(arrow(2)), lambda t: t.append(arrow(3)))),
        rows(1, 2, 3),
    ),
    "delete beside append elsewhere": Drill(
        "WNEW-001",
        steps(
            made({}, 1, 3),
            overtaken(lambda o: o.append(arrow(2)), lambda t: t.delete("part = 'b' AND id = 1")),
        ),
        rows(2, 3),
    ),
    "delete after delete": Drill(
        "LOG-003",
        made({}, 1, 3),
        rows(3),
        refused=overtaken(lambda o: o.delete("id = 1"), lambda t: t.delete("id = 3")),
        meanwhile=1,
    ),
    "delete after append": Drill(
        "LOG-003",
        made({}, 1, 3),
        rows(1, 3, 5),
        refused=overtaken(lambda o: o.append(arrow(5)), lambda t: t.delete("id > 1")),
        meanwhile=1,
    ),
    "append after metadata": Drill(
        "LOG-003",
        made({}, 1),
        rows(1),
        refused=overtaken(lambda o: o.set_properties({"a": "b"}), lambda t: t.append(arrow(2))),
        meanwhile=1,
    ),
    "append after protocol": Drill(
        "LOG-003",
        made({}, 1),
        rows(1),
        refused=overtaken(
            lambda o: o.set_properties({}, features=["checkConstraints"]),
            lambda t: t.append(arrow(2)),
        ),
        meanwhile=1,
    ),
    "progress after progress": Drill(
        "TXN-004",
        made({}, 1),
        refused=overtaken(
            lambda o: o.set_transaction("app", 1), lambda t: t.set_transaction("app", 2)
        ),
        meanwhile=1,
    ),
    "domain after domain": Drill(
        "DOM-005",
        made({}, features=["domainMetadata"]),
        refused=overtaken(lambda o: o.set_domain("d", "1"), lambda t: t.set_domain("d", "2")),
        meanwhile=1,
    ),
    "append while others never rest": Drill(
        "LOG-003",
        made({}, 1),
        rows(1),
        refused=overtaken(_commits_nothing, lambda t: t.append(arrow(2)), times=250),
        meanwhile=200,
    ),
    # What the reference writer keeps to.
    "delete from two files": Drill(
        "DVD-024",
        steps(made(_VECTORS, 1, 2, 3, 4), lambda t: t.delete("id < 3")),
        rows(3, 4),
        holds=lambda t: len(_vector_files(t)) == 1,
    ),
    "delete from a file": Drill(
        "DVFMT-008",
        steps(made(_VECTORS, 1, 3), lambda t: t.delete("id = 1")),
        rows(3),
        holds=lambda t: all(f[_HEADER:].startswith(_PORTABLE) for f in _vector_files(t)),
    ),
    "delete whole files of a feed": Drill(
        "CDFF-005",
        steps(made(_FEED, 1, 2, 3), lambda t: t.delete("part = 'b'")),
        rows(2),
        holds=lambda t: not (Path(t.storage.location) / "_change_data").exists(),
    ),
}
"""Work for writers, by what it is about."""
