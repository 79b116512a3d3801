"""Judge a mutant by the cases of the gate, as ``pytest --impl`` does."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from coverage import Coverage

from conformance.adapter import Adapter
from conformance.base.limits import InProcessLimit
from conformance.base.outcomes import Verdict, failing
from conformance.golden.corpus import load_corpus
from conformance.items.generated import Plan, generated_items
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.items.recipes import generated_recipes
from conformance.judging.claims import claims_faults
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.requirements.registry import load_registry
from conformance.run.run import verdict_of
from conformance.run.selection import Selection
from generic.mutant import PACKAGE, Mutant
from generic.tree import adapter_of

__all__ = ["Executed", "executed_by", "executed_on_import", "items", "killer", "prepare"]

REVISION = Selection().revision
REQUEST_SECONDS = 20.0
"""A request takes a fraction of a second; a mutant that takes this long goes round in circles."""

_Cache = type(lru_cache(len))
_MEMORY = 12 * 1024**3
"""Bytes of address space, of which libraries of numbers reserve many that they never use."""


@cache
def items() -> tuple[Item, ...]:
    """Give what a run of an implementation judges."""
    corpus = load_corpus(validate=False)
    plan = Plan()
    found = (
        *golden_items(corpus),
        *generated_items(plan),
        *generated_recipes(plan),
        *mutated_items(load_registry(), audited=False),
    )
    return tuple(item for item in found if item.requirement(REVISION) is not None)


def prepare() -> None:
    """Be a process that judges: no waiting for the disk, and bounds on memory."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    time.sleep = lambda _: None  # type: ignore[assignment]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _verdicts(adapter: Adapter, asked: Iterable[Item]) -> Iterator[tuple[Item, Verdict]]:
    store = TableStore()
    limit = InProcessLimit(REQUEST_SECONDS)
    ids = frozenset(item.id for item in items())
    judge = Judge(adapter, adapter.describe().claims, store, limit, ids, None, REVISION)
    try:
        for item in asked:
            yield item, verdict_of(item, judge, load_registry())
    finally:
        store.close()


def killer(copy: Path, mutant: Mutant, asked: Iterable[Item]) -> str | None:
    """Give the first item that fails a mutant, or what else ends its run; ``None`` for none."""
    try:
        adapter = adapter_of(copy, mutant)
        faults = list(claims_faults(adapter.describe().claims))
    except Exception as error:  # noqa: BLE001  the adapter does not start
        return f"start: {type(error).__name__}"
    if faults:
        return "start: claims"
    for item, verdict in _verdicts(adapter, asked):
        if verdict.outcome in failing("should"):
            return item.id
    return None


@dataclass
class Executed:
    """Which items execute which lines.

    Attributes:
        lines: module and line, and the numbers of the items.
        seconds: processor time of each item.
        failed: items that fail the implementation as it is.
        on_import: lines that are executed when the package is imported.

    """

    lines: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[int, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    on_import: set[tuple[str, int]] = field(default_factory=set)

    def add(self, other: Executed) -> None:
        """Take what another process found."""
        for place, numbers in other.lines.items():
            self.lines[place] |= numbers
        self.seconds |= other.seconds
        self.failed += other.failed

    def take(
        self,
        lines: Mapping[tuple[str, int], set[int]],
        seconds: Mapping[int, float],
        numbers: Mapping[int, int],
    ) -> None:
        """Take what was found before, where items had other numbers."""
        for place, found in lines.items():
            self.lines[place] = {numbers[number] for number in found if number in numbers}
        self.seconds = {numbers[n]: took for n, took in seconds.items() if n in numbers}

    def candidates(self, mutant: Mutant) -> list[int]:
        """Give the numbers of the items that may notice a mutant, the likeliest first.

        Those that execute it; all items, where it is executed on import alone. Chapters take
        turns, each beginning with its shortest items.
        """
        near: set[int] = set()
        for line in mutant.executed:
            near |= self.lines.get((mutant.module, line), set())
        at_import = {(mutant.module, line) for line in mutant.executed} & self.on_import
        if near or (mutant.executed and not at_import):
            return self._in_turns(near)
        for (module, _), numbers in self.lines.items():
            if module == mutant.module:
                near |= numbers
        return [*self._in_turns(near), *self._in_turns(self.seconds.keys() - near)]

    def _in_turns(self, numbers: Iterable[int]) -> list[int]:
        turns: defaultdict[str, list[int]] = defaultdict(list)
        for number in sorted(numbers, key=lambda n: (self.seconds[n], n)):
            turns[items()[number].chapter].append(number)
        ranked = [(turn, name, n) for name, found in turns.items() for turn, n in enumerate(found)]
        return [number for _, _, number in sorted(ranked)]


def executed_by(copy: Path, numbers: Sequence[int], done: Callable[[int], None]) -> Executed:
    """Judge the implementation as it is, and keep which lines each item executes.

    Args:
        copy: what is imported and watched.
        numbers: of the items.
        done: called with the number of each item that is judged.

    """
    adapter = adapter_of(copy, None)
    caches = [
        each
        for each in gc.get_objects()
        if type(each) is _Cache and each.__module__.startswith(PACKAGE.name)
    ]
    watch = Coverage(data_file=None, include=[f"{copy}/*"], concurrency="thread", config_file=False)
    found = Executed()
    watch.start()
    try:
        judging = _verdicts(adapter, _watched(watch, numbers, caches))
        began = time.process_time()
        for number, (item, verdict) in zip(numbers, judging, strict=True):
            found.seconds[number] = time.process_time() - began
            if verdict.outcome in failing("should"):
                found.failed.append(f"{item.id}: {verdict.message}")
            done(number)
            began = time.process_time()
    finally:
        watch.stop()
    data = watch.get_data()
    for path in data.measured_files():
        module = Path(path).relative_to(copy).as_posix()
        for line, contexts in data.contexts_by_lineno(path).items():
            found.lines[module, line] |= {int(name) for name in contexts if name}
    return found


def executed_on_import(copy: Path) -> set[tuple[str, int]]:
    """Import the package, and give the module and number of each line that this executes."""
    watch = Coverage(data_file=None, include=[f"{copy}/*"], config_file=False)
    watch.start()
    try:
        adapter_of(copy, None)
    finally:
        watch.stop()
    data = watch.get_data()
    return {
        (Path(path).relative_to(copy).as_posix(), line)
        for path in data.measured_files()
        for line in data.lines(path) or ()
    }


def _watched(watch: Coverage, numbers: Sequence[int], caches: Sequence[object]) -> Iterator[Item]:
    """Give items, and let what is executed from then on count for them."""
    for number in numbers:
        for each in caches:
            each.cache_clear()
        watch.switch_context(str(number))
        yield items()[number]
