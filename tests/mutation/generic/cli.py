"""Draw mutants, judge each by the cases that execute it, and keep what came of them.

A mutant that no case notices stays a survivor until a person has looked into it: its entry in
survivors.yaml then says why no case can notice it, or why none does. ``--write`` keeps the figures
beside the requirements.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from delta_tck_pytest import shard
from generic.crew import Ended, each_in_a_fork
from generic.judging import Executed, executed_by, executed_on_import, items, killer, prepare
from generic.mutant import PACKAGE, Mutant
from generic.population import drawn, population
from generic.results import (
    LOOKED_INTO,
    RESULT,
    Result,
    digest_of,
    drop_reasons,
    figures,
    read_reasons,
    render,
)
from generic.tree import copied

SEED = 20261122
COUNT = 300
_PARTS = 8
"""In how many parts the items are watched, so that processes end at about the same time."""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _watch(copy: Path, numbers: Sequence[int], report: Callable[[Any], None]) -> Executed:
    prepare()
    return executed_by(copy, numbers, report)


def _judge(
    copy: Path, mutant: Mutant, numbers: Sequence[int], report: Callable[[Any], None]
) -> str | None:
    prepare()

    def asked() -> Iterator[Any]:
        for number in numbers:
            report(number)
            yield items()[number]

    return killer(copy, mutant, asked())


def executed(copy: Path, numbers: Sequence[int], jobs: int) -> Executed:
    """Judge the implementation as it is by items, and keep what each executes.

    Raises:
        SystemExit: an item fails it, or ends its process; no mutant can be judged by that.
    """
    whole = Executed()
    parts = [numbers[at::_PARTS] for at in range(_PARTS) if numbers[at::_PARTS]]
    for number, found in each_in_a_fork((partial(_watch, copy, part) for part in parts), jobs):
        if isinstance(found, Ended):
            raise SystemExit(f"part {number} of the items ended with {found.how}")
        whole.add(found)
    if whole.failed:
        raise SystemExit("fail without a change:\n" + "\n".join(whole.failed))
    return whole


def judged(
    copy: Path, mutants: Sequence[Mutant], lines: Executed, arguments: argparse.Namespace
) -> Iterator[tuple[Mutant, str | None]]:
    """Give each mutant with what noticed it; ``None`` for a survivor."""
    work = [(each, lines.candidates(each)[: arguments.most]) for each in mutants]
    forks = each_in_a_fork((partial(_judge, copy, *each) for each in work), arguments.jobs)
    for number, found in forks:
        yield work[number][0], f"ended: {found.how}" if isinstance(found, Ended) else found


def main(argv: Sequence[str]) -> int:
    """Run the command; 0 when every survivor was looked into, 1 when not."""
    parser = argparse.ArgumentParser(prog="python tests/mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="of the draw (%(default)s)")
    parser.add_argument("--count", type=int, default=COUNT, help="mutants drawn (%(default)s)")
    parser.add_argument(
        "--below", action="append", metavar="PATH", help="draw from these modules and folders"
    )
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first N")
    parser.add_argument("--only", action="append", metavar="ID", help="of those drawn, these")
    parser.add_argument(
        "--shard", type=shard, metavar="K/N", help="every Nth mutant, from the Kth on"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--lines", type=Path, help="keep there which lines items execute, or take it"
    )
    parser.add_argument(
        "--most", type=int, help="items that judge a mutant at most, all if not given"
    )
    parser.add_argument("--out", type=Path, help="write what came of each, for --merge")
    parser.add_argument("--merge", type=Path, nargs="+", help="take the results of shards")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--list", action="store_true", help="print the mutants, judge none")
    parser.add_argument("--verbose", "-v", action="store_true", help="say what noticed each")
    arguments = parser.parse_args(argv)
    found: list[Result] = []
    if arguments.merge:
        found = [Result(**row) for path in arguments.merge for row in json.loads(path.read_text())]
        return _end(found, arguments)
    mutants = _chosen(arguments)
    if arguments.list:
        for each in mutants:
            _say(f"{each.id} {each.module}:{each.line} {each.operator}: {each.becomes}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        items()
        gc.freeze()
        lines = _lines(copy, arguments)
        _say(f"{len(items())} items execute {len(lines.lines)} lines")
        for mutant, killed in judged(copy, mutants, lines, arguments):
            unseen = killed is None and not lines.candidates(mutant)
            found.append(Result.of(mutant, killed, executed=not unseen))
            if arguments.verbose or killed is None:
                _say(f"{len(found)} {mutant.id} {mutant.module}:{mutant.line} {found[-1].outcome}")
                _say(f"    {mutant.operator}: {mutant.was}\n    {mutant.becomes}")
    return _end(found, arguments)


def _lines(copy: Path, arguments: argparse.Namespace) -> Executed:
    """Give which lines items execute: what was kept, and the rest from a run of the other items."""
    kept: Path | None = arguments.lines
    ids = [item.id for item in items()]
    found, code = Executed(), digest_of([*copy.rglob("*.py")])
    if kept is not None and kept.exists():
        of, former, lines, seconds = pickle.loads(kept.read_bytes())  # noqa: S301  from below
        if of == code:
            now = {name: number for number, name in enumerate(ids)}
            numbers = {n: now[name] for n, name in enumerate(former) if name in now}
            found.take(lines, seconds, numbers)
    left = [number for number in range(len(ids)) if number not in found.seconds]
    found.add(executed(copy, left, arguments.jobs))
    work = [lambda _: executed_on_import(copy)]
    [(_, found.on_import)] = each_in_a_fork(work, 1)
    if kept is not None:
        kept.write_bytes(pickle.dumps((code, ids, dict(found.lines), found.seconds)))
    return found


def _chosen(arguments: argparse.Namespace) -> list[Mutant]:
    """Give the mutants that are asked for."""
    below = None
    if arguments.below:
        starts = tuple(str(PACKAGE / each) for each in arguments.below)
        below = [place for place in population() if str(place[0]).startswith(starts)]
    mutants = drawn(arguments.seed, arguments.count, below)[arguments.skip :]
    if arguments.only:
        mutants = [each for each in mutants if each.id in arguments.only]
    if arguments.shard:
        which, count = arguments.shard
        mutants = mutants[which - 1 :: count]
    return mutants


def _end(found: list[Result], arguments: argparse.Namespace) -> int:
    reasons = read_reasons(LOOKED_INTO)
    survivors = [each for each in found if each.killed is None]
    unknown = [each for each in survivors if each.id not in reasons]
    for each in unknown:
        _say(f"not looked into: {each.id} {each.module} {each.operator}: {each.becomes}")
    _say(figures(found, reasons))
    if arguments.out:
        arguments.out.write_text(json.dumps([each.as_document() for each in found]))
    if arguments.write:
        RESULT.write_text(render(arguments.seed, found, reasons))
        drop_reasons(LOOKED_INTO, {each.id for each in survivors})
        _say(f"written: {RESULT.name}")
    return 1 if unknown else 0
