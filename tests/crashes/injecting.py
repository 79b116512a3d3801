"""Carry an operation out on a storage that goes wrong, at every step there is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from faulty_storage import Fault, FaultyStorage
from judging import Seen, check_model, content, judge, seen
from scenarios import ALL, make, opened

from reference_impl import Table

COMMIT = re.compile(r"_delta_log/[0-9]{20}\.json")


@dataclass(frozen=True, slots=True)
class Trial:
    """An operation on a table, tried once without a fault.

    Attributes:
        name: the operation.
        kept: the table before it.
        before: what a reader sees there.
        after: what a reader sees after the operation.
        steps: the steps that the operation takes, as names and paths.
        untouched: every file before it.
    """

    name: str
    kept: Path
    before: Seen | None
    after: Seen | None
    steps: list[tuple[str, str]]
    untouched: dict[str, bytes]

    def judge(self, place: Path, *, finished: bool, note: str) -> None:
        """Check a table against before and after; one that nothing touched has been judged."""
        if not finished and content(place) == self.untouched:
            return
        try:
            judge(place, self.before, self.after, finished=finished)
        except AssertionError as error:
            error.add_note(f"{self.name}: {note}; finished: {finished}")
            raise

    def copies(self, root: Path, steps: Iterable[int]) -> Iterator[tuple[int, Path]]:
        """Return a copy of the table for every step, which stands until the next."""
        for step in steps:
            place = root / str(step)
            shutil.copytree(self.kept, place)
            try:
                yield step, place
            finally:
                shutil.rmtree(place)


def tried(root: Path, name: str, base: str) -> Trial:
    """Try an operation without a fault, and check it against the model."""
    kept, whole = root / "kept", root / "whole"
    make(kept, name, base)
    before = seen(kept)
    shutil.copytree(kept, whole)
    counting = FaultyStorage(opened(whole))
    ALL[name].run(Table(counting))
    after = seen(whole)
    check_model(name, before, after)
    judge(whole, after, after, finished=True)
    trial = Trial(name, kept, before, after, counting.taken, content(kept))
    for _, place in trial.copies(root, [0]):
        judge(place, before, before, finished=True)
    return trial


def commit_step(storage: FaultyStorage) -> int:
    """Return the number of the step that created the commit."""
    (number,) = (
        number
        for number, (step, path) in enumerate(storage.taken, 1)
        if step == "put_if_absent" and COMMIT.fullmatch(path)
    )
    return number


def go_wrong(
    trial: Trial, root: Path, fault: Fault, steps: Collection[int], *, lasting: bool = False
) -> int:
    """Let every one of some steps go wrong, each on a table of its own; gives how many did."""
    done = 0
    for step, place in trial.copies(root, steps):
        storage = FaultyStorage(opened(place), step, fault, lasting=lasting)
        finished = True
        try:
            ALL[trial.name].run(Table(storage))
        except OSError:
            finished = False
        taken = " ".join(trial.steps[step - 1])
        trial.judge(place, finished=finished, note=f"step {step}, {taken}, {fault}")
        done += 1
    return done
