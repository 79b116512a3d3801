"""Run proofs in parallel and in shards, and keep what they showed.

Everything is tried without options; what was proved before is tried first on the case that showed
it. ``--write`` keeps the result beside the requirements.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from fnmatch import fnmatchcase
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from breaches import proving
from breaches.planted import planted_tasks
from breaches.proving import Task, breach_tasks, mutation_tasks
from breaches.records import render_proofs
from breaches.table import load
from conformance.base.scratch import Scratch
from conformance.requirements.proofs import PROVED, UNPROVED, Proof, Proofs, read_proofs
from conformance.requirements.registry import load_registry
from delta_tck_pytest import shard

_ROOT = Path(__file__).parent.parent.parent.parent
_CODE = ("conformance", "generators", "reference_impl", "schemas")


@cache
def tasks() -> tuple[Task, ...]:
    """Return everything to prove: wrong readers and writers, planted faults, mutations."""
    found = (*breach_tasks(load()), *planted_tasks(), *mutation_tasks())
    seen = Counter((task.id, task.requirement) for task in found)
    twice = [key for key, count in seen.items() if count > 1]
    if twice:
        raise ValueError(f"to be proved twice: {twice[:5]}")
    return found


def _without_waiting() -> ExitStack:
    """Do not wait for the disk until the stack is closed: no proof pulls the plug."""
    stack = ExitStack()
    for name in ("os.fsync", "time.sleep"):
        stack.enter_context(patch(name, lambda _: None))
    return stack


def _prepare_process(folder: Path) -> None:
    """Let a process of a pool, which runs nothing at its end, leave what it leaves in a folder."""
    _without_waiting()
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)


def _prove(job: tuple[int, str | None]) -> tuple[int, Proof | None, float, str]:
    number, known = job
    began = time.process_time()
    try:
        found, wrong = tasks()[number].prove(known), ""
    except Exception as error:  # noqa: BLE001  one wrong row costs one proof
        found, wrong = None, f"{type(error).__name__}: {error}"
    return number, found, time.process_time() - began, wrong


def tree_digest() -> str:
    """Return the digest of the code that judges and is judged."""
    found = hashlib.sha256()
    for folder in _CODE:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            found.update(path.relative_to(_ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def chosen(arguments: argparse.Namespace) -> list[int]:
    """Return the numbers of the tasks that are asked for."""
    numbers = [
        number
        for number, task in enumerate(tasks())
        if not arguments.only
        or any(fnmatchcase(name, p) for p in arguments.only for name in (task.id, task.requirement))
    ]
    if arguments.kind:
        numbers = [n for n in numbers if tasks()[n].kind == arguments.kind]
    if arguments.sample:
        salt = tree_digest()
        ranked = sorted(
            numbers,
            key=lambda n: hashlib.sha256(
                f"{salt} {tasks()[n].id} {tasks()[n].requirement}".encode()
            ).digest(),
        )
        numbers = sorted(ranked[: arguments.sample])
    if arguments.shard:
        which, count = arguments.shard
        numbers = numbers[which - 1 :: count]
    return numbers


def _results(numbers: Sequence[int], known: Proofs, jobs: int) -> Iterator[tuple]:
    by_task = {(p.id, p.requirement): p.case for found in known.all.values() for p in found}
    todo = [(n, by_task.get((tasks()[n].id, tasks()[n].requirement))) for n in numbers]
    if jobs == 1:
        with _without_waiting():
            yield from map(_prove, todo)
        return
    proving.items()
    with (
        closing(Scratch(in_memory=True)) as scratch,
        get_context("fork").Pool(jobs, _prepare_process, (scratch.path,)) as pool,
    ):
        yield from pool.imap_unordered(_prove, todo)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(argv: Sequence[str]) -> int:
    """Run the command; 0 when everything that was tried is proved, 1 when not."""
    parser = argparse.ArgumentParser(prog="python tests/proof", description=__doc__)
    parser.add_argument(
        "--only", action="append", help="ids of breaches or requirements, * allowed"
    )
    parser.add_argument("--kind", choices=("reader", "writer", "fault"))
    parser.add_argument(
        "--shard", type=shard, metavar="K/N", help="every Nth task, from the Kth on"
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="N tasks, chosen by the code's digest"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="write what is proved here, for --merge")
    parser.add_argument("--merge", type=Path, nargs="+", help="take the results of shards")
    parser.add_argument("--write", action="store_true", help=f"write {PROVED.name}")
    parser.add_argument("--anew", action="store_true", help="forget which cases showed it before")
    parser.add_argument("--verbose", "-v", action="store_true")
    arguments = parser.parse_args(argv)
    if arguments.merge:
        merged = [Proof(*row) for path in arguments.merge for row in json.loads(path.read_text())]
        return _end(sorted(merged), [], arguments)
    known = Proofs("", {}) if arguments.anew else read_proofs(PROVED)
    proofs, missing = [], []
    numbers = chosen(arguments)
    for number, proof, took, wrong in _results(numbers, known, arguments.jobs):
        task = tasks()[number]
        if proof is None and not task.offered:
            missing.append(f"{task.requirement} {task.kind} {task.id} {wrong}".rstrip())
        elif proof is not None:
            proofs.append(proof)
        if arguments.verbose:
            _say(
                f"{took:6.2f} {task.requirement} {task.id}: {proof.case if proof else wrong or '-'}"
            )
    return _end(sorted(proofs), sorted(missing), arguments)


def _end(proofs: list[Proof], missing: list[str], arguments: argparse.Namespace) -> int:
    for line in missing:
        _say(f"not proved: {line}")
    rows = {proof.requirement for proof in proofs}
    wanted = [r.id for r in load_registry().for_revision("2025") if r.level == "MUST"]
    kinds = Counter(proof.kind for proof in proofs)
    summary = ", ".join(f"{count} by {kind}" for kind, count in sorted(kinds.items()))
    covered = sum(name in rows for name in wanted)
    _say(f"{len(proofs)} proofs ({summary}); {covered} of {len(wanted)} MUST rows of 2025")
    if arguments.out:
        arguments.out.write_text(
            json.dumps([[p.requirement, p.kind, p.id, p.case] for p in proofs])
        )
    if arguments.write:
        PROVED.write_text(render_proofs(proving.digest_of(proofs), proofs))
        _say(f"written; the reasons of the others are in {UNPROVED.name}")
    return 1 if missing else 0
