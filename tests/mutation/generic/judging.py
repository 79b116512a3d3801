"""Judge a mutant by the cases of the gate, as ``pytest --impl --tck-strict=should`` does."""

from __future__ import annotations

import ast
import gc
import os
import re
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
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
from conformance.run.run import verdict_at_level
from conformance.run.selection import Selection
from generic.mutant import PACKAGE, Mutant
from generic.tree import adapter_of

REVISION = Selection().revision
STRICT = "should"
"""The implementation follows every SHOULD as well: what breaks one is noticed."""

REQUEST_SECONDS = 20.0
"""A request takes a fraction of a second; a mutant that takes this long goes round in circles."""

_Cache = type(lru_cache(len))
_CLOSE = 6
"""Lines before and after a mutant that say what it decides."""

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
            yield item, verdict_at_level(item, judge, load_registry())
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
        if verdict.outcome in failing(STRICT):
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

        Those that execute it; with them come early those that execute what stands close to it.
        Where it is executed on import alone, all items, and first those that execute a line which
        says the name that it defines. The shortest items of each chapter alternate with those that
        together execute everything, as lines that many items execute are noticed by few.
        """
        near: set[int] = set()
        for line in mutant.executed:
            near |= self.lines.get((mutant.module, line), set())
        at_import = {(mutant.module, line) for line in mutant.executed} & self.on_import
        if near or (mutant.executed and not at_import):
            return _alternately(self._in_turns(near), self._around(mutant, near))
        for (module, _), numbers in self.lines.items():
            if module == mutant.module:
                near |= numbers
        rest = [self._in_turns(numbers) for numbers in (near, self.seconds.keys() - near)]
        return list(dict.fromkeys([*self._users(mutant), *rest[0], *rest[1]]))

    def _around(self, mutant: Mutant, near: set[int]) -> list[int]:
        """Give the items that execute lines close to a mutant which few others execute, too."""
        close = range(mutant.line - _CLOSE, mutant.line + _CLOSE + 1)
        found = {frozenset(self.lines.get((mutant.module, line), set()) & near) for line in close}
        fewest = sorted((each for each in found if each), key=lambda each: (len(each), min(each)))
        return _alternately(*(self._in_turns(each) for each in fewest))

    def _users(self, mutant: Mutant) -> list[int]:
        """Give the items that execute a line which says what a mutant defines, rare lines first."""
        places = _mentions(_defined_at(mutant.module, mutant.line)) & self.lines.keys()
        found = sorted((self.lines[place] for place in places), key=len)
        return _alternately(*(self._in_turns(numbers) for numbers in found))

    def _in_turns(self, numbers: Iterable[int]) -> list[int]:
        tables: defaultdict[str, list[int]] = defaultdict(list)
        turns: defaultdict[str, list[int]] = defaultdict(list)
        for number in sorted(numbers, key=lambda n: (self.seconds[n], n)):
            tables[items()[number].id.rpartition("/")[0]].append(number)
        # One question of each table first: what a table shows, most of its questions show.
        for number in (n for turn in zip_longest(*tables.values()) for n in turn if n is not None):
            turns[items()[number].chapter].append(number)
        ranked = [(turn, name, n) for name, found in turns.items() for turn, n in enumerate(found)]
        short = [number for _, _, number in sorted(ranked)]
        wanted = set(short)
        return _alternately(short, [number for number in self._together if number in wanted])

    @cached_property
    def _together(self) -> list[int]:
        """Items that execute every line, each the most of those that none before it executes."""
        executed = np.zeros((len(items()), len(self.lines)), np.bool_)
        for at, numbers in enumerate(self.lines.values()):
            executed[list(numbers), at] = True
        packed = np.packbits(executed, axis=1)
        left, found = np.packbits(executed.any(axis=0)), []
        while left.any():
            found.append(int(np.bitwise_count(packed & left).sum(axis=1, dtype=np.int64).argmax()))
            left &= ~packed[found[-1]]
        return found


def _alternately(*parts: list[int]) -> list[int]:
    """Take numbers from each part in turn, each number once."""
    turns = zip_longest(*parts)
    return list(dict.fromkeys(n for turn in turns for n in turn if n is not None))


@cache
def _statements(module: str) -> tuple[ast.stmt, ...]:
    """Give the statements of a module and of its classes, the inner ones first."""
    body = ast.parse((PACKAGE / module).read_text()).body
    inner = (part for each in body if isinstance(each, ast.ClassDef) for part in each.body)
    return (*inner, *body)


def _defined_at(module: str, line: int) -> frozenset[str]:
    """Give the names that the statement of a line binds in its module or class."""
    for each in _statements(module):
        if each.lineno <= line <= (each.end_lineno or each.lineno):
            match each:
                case ast.Assign(targets=bound):
                    found = (node for target in bound for node in ast.walk(target))
                    return frozenset(node.id for node in found if isinstance(node, ast.Name))
                case ast.AnnAssign(target=ast.Name(name)) | ast.ClassDef(name=name):
                    return frozenset((name,))
            break
    return frozenset()


@cache
def _mentions(names: frozenset[str]) -> frozenset[tuple[str, int]]:
    """Give the lines of the package, by module, that say names or constants made of them."""
    places: set[tuple[str, int]] = set()
    known: frozenset[str] = frozenset()
    while names - known:
        says = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names - known)))})\b")
        known |= names
        found = {
            (module, number)
            for module, text in _texts().items()
            for number, line in enumerate(text.splitlines(), 1)
            if says.search(line)
        }
        places |= found
        names = known.union(*(_defined_at(*place) for place in found))
    return frozenset(places)


@cache
def _texts() -> dict[str, str]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in paths}


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
            if verdict.outcome in failing(STRICT):
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


def _watched(watch: Coverage, numbers: Sequence[int], caches: Sequence[Any]) -> Iterator[Item]:
    """Give items, and let what is executed from then on count for them."""
    for number in numbers:
        for each in caches:
            each.cache_clear()
        watch.switch_context(str(number))
        yield items()[number]
