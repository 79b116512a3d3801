"""The seams at which a right implementation goes wrong: what it sees, leaves, hears and says.

A wrong reader reads a copy of the table that was edited before: its view of the log and of the
storage. A wrong writer works on a table of its own, and what it leaves where it was asked to write
is edited; so its later steps go on from the truth, as those of a writer do that knows what it
meant.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from breaches.model import Ask, How
from conformance.adapter import Answer, Changes, Description, Ok, Refused, Request, Write
from conformance.adapters import ours

Edit: TypeAlias = Callable[[Path, frozenset[str]], None]
"""Edits a table in place: its root, and the files in question, relative to it."""


class Wrong:
    """The adapter of the reference implementation, made wrong; claims what it always claims."""

    def __init__(self, how: How | None = None) -> None:
        self._inner = ours.create()
        self._ask: Ask = self._inner.run if how is None else how(self._inner.run)

    def describe(self) -> Description:
        return self._inner.describe()

    def run(self, request: Request) -> Answer:
        return self._ask(request)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _files(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
        if path.is_file()
    }


def by_request(run: Callable[[Ask, Request], Answer]) -> How:
    """Go wrong at each request for itself."""
    return lambda ask: lambda request: run(ask, request)


def writing(*operations: str) -> Callable[[Request], bool]:
    """Want the requests for some operations."""
    return lambda request: isinstance(request, Write) and request.operation in operations


def viewing(*edits: Edit) -> How:
    """Read an edited copy of the table."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        with _folder() as folder:
            source = Path(request.table)
            root = folder / source.name
            shutil.copytree(source, root, symlinks=True)
            for edit in edits:
                edit(root, frozenset(_files(root)))
            return ask(replace(request, table=str(root)))

    return run


def where_asked(wanted: Callable[[Request], object], how: How) -> How:
    """Go wrong where some requests are asked, and nowhere else."""

    def wrong(ask: Ask) -> Ask:
        other = how(ask)
        return lambda request: (other if wanted(request) else ask)(request)

    return wrong


def leaving(
    *edits: Edit, sums: bool = False, when: Callable[[Request], object] = lambda _: True
) -> How:
    """Write, and edit what a step leaves before the judge sees it.

    Args:
        edits: what is done to the files of the step.
        sums: leave checksum files, too, which record the state that was meant.
        when: says whether what a request leaves is edited.
    """
    always = () if sums else (_without_sums,)

    def how(ask: Ask) -> Ask:
        folder = Path(tempfile.mkdtemp())
        truths: dict[str, Path] = {}

        def run(request: Request) -> Answer:
            visible = Path(request.table)
            truth = truths.get(request.table)
            if truth is None:
                truth = folder / str(len(truths)) / visible.name
                truth.parent.mkdir()
                truths[request.table] = truth
                if visible.exists():
                    shutil.copytree(visible, truth, symlinks=True)
            before = _files(truth) if truth.exists() else {}
            try:
                return ask(replace(request, table=str(truth)))
            finally:
                _follow(truth, visible, before, (*always, *(edits if when(request) else ())))

        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
        return run

    return how


def _without_sums(root: Path, fresh: frozenset[str]) -> None:
    for name in fresh:
        if name.endswith(".crc"):
            (root / name).unlink()


def afterwards(
    change: Callable[[Path], object], before: Callable[[Path], Any] | None = None
) -> How:
    """Do something to the table after each write; gets the root, and what was seen before it."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        root = Path(request.table)
        seen = None if before is None else before(root)
        answer = ask(request)
        if before is None:
            change(root)
        else:
            change(root, seen)  # type: ignore[call-arg]
        return answer

    return run


def _follow(
    truth: Path, visible: Path, before: dict[str, tuple[int, int]], edits: tuple[Edit, ...]
) -> None:
    """Bring what the writer did to where it was asked to write, edited."""
    after = _files(truth) if truth.exists() else {}
    fresh = frozenset(name for name, facts in after.items() if before.get(name) != facts)
    for name in before.keys() - after.keys():
        (visible / name).unlink(missing_ok=True)
    for name in sorted(fresh):
        target = visible / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(truth / name, target)
    if fresh:
        for edit in edits:
            edit(visible, fresh)


def asking(change: Callable[[Any], Any]) -> How:
    """Change what is asked."""
    return lambda ask: lambda request: ask(change(request))


def answering(change: Callable[[Any, Any], Any]) -> How:
    """Change what is answered: gets the request and the answer."""
    return lambda ask: lambda request: change(request, ask(request))


def rows(change: Callable[[Any], Any]) -> How:
    """Change the rows that a read, or a read of changes, gives."""

    def changed(_request: Any, answer: Any) -> Any:
        if isinstance(answer, Ok) and hasattr(answer.payload, "num_rows"):
            return Ok(change(answer.payload))
        return answer

    return answering(changed)


def documents(change: Callable[[Any, Any], Any]) -> How:
    """Change what is answered to everything but reads of rows: gets the request, the payload."""

    def changed(request: Any, answer: Any) -> Any:
        if isinstance(answer, Ok) and not hasattr(answer.payload, "num_rows"):
            return Ok(change(request, answer.payload))
        return answer

    return answering(changed)


def refusing(found: Callable[[Path], object]) -> How:
    """Refuse tables of which something is true."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        with suppress(OSError):
            if found(Path(request.table)):
                return Refused("invalid_table", "load", "refused by a wrong implementation")
        return ask(request)

    return run


def carrying_out() -> How:
    """Say that a write was carried out, whatever came of it."""

    def changed(request: Any, answer: Any) -> Any:
        if isinstance(answer, Refused) and isinstance(request, Write):
            return Ok({"version": None})
        return answer

    return answering(changed)


def during(operation: str, *edits: Edit) -> How:
    """Go wrong in what one operation leaves; the truth goes on apart."""
    return leaving(*edits, when=writing(operation))


def for_changes(how: How) -> How:
    """Go wrong where changes are asked for."""
    return where_asked(lambda request: isinstance(request, Changes), how)


def values_of(name: str, change: Callable[[Any], Any]) -> How:
    """Change the values of a column that are not null."""

    def changed(table: pa.Table) -> pa.Table:
        if name not in table.column_names:
            return table
        at = table.column_names.index(name)
        held = [None if value is None else change(value) for value in table.column(at).to_pylist()]
        return table.set_column(at, name, pa.chunked_array([held], table.schema.field(at).type))

    return rows(changed)


def after_step(number: int, how: How) -> How:
    """Go wrong from a step on, so that what the recipe is about comes to it."""

    def wrong(ask: Ask) -> Ask:
        other, asked = how(ask), [0]

        def run(request: Request) -> Answer:
            asked[0] += 1
            return (other if asked[0] > number else ask)(request)

        return run

    return wrong


def doing_nothing(*operations: str) -> How:
    """Say that some operations were carried out, and do nothing."""
    return where_asked(writing(*operations), lambda _ask: lambda _request: Ok({"version": None}))


def since(operation: str, edit: Edit) -> How:
    """Go wrong in what an operation leaves, and all steps after it."""

    def how(ask: Ask) -> Ask:
        seen: list[bool] = []
        inner = leaving(lambda root, fresh: edit(root, fresh) if seen else None)(ask)

        def run(request: Request) -> Answer:
            if isinstance(request, Write) and request.operation == operation:
                seen.append(True)
            return inner(request)

        return run

    return how
