"""The command ``python -m generators histories``: draw the histories of the gate, or check them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from generators.histories.gate import FOLDER, check_gate, gate_histories, write_gate


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m generators histories", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser(
        "draw", help="draw the histories that every gate judges by; their case ids stay"
    )
    draw.add_argument("--check", action="store_true", help="draw nothing, check the files")
    draw.add_argument(
        "--missing", action="store_true", help="draw those that have no file yet, and no others"
    )
    draw.add_argument("--seed", type=int, default=0, help="what to draw from (default 0)")
    draw.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns 0, or 1 where a check finds something."""
    options = _parser().parse_args(list(arguments))
    if options.check:
        wrong = check_gate(options.folder)
        sys.stdout.write("".join(f"{line}\n" for line in wrong))
        return int(bool(wrong))
    # Hypothesis draws, and everything else does without it.
    from generators.histories.drawing import draw_gate  # noqa: PLC0415  see above

    drawn = draw_gate(options.seed)
    if options.missing:
        held = {each.name: each for each in gate_histories(options.folder)}
        drawn = tuple(held.get(each.name, each) for each in drawn)
    before = {path.name: path.read_bytes() for path in options.folder.glob("*.json")}
    write_gate(drawn, options.folder)
    after = {path.name: path.read_bytes() for path in options.folder.glob("*.json")}
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    sys.stdout.write(f"{len(drawn)} histories, {len(changed)} files changed\n")
    if changed:
        sys.stdout.write(
            "Every gate is judged by other histories from now on: "
            "an entry in CHANGELOG.md is due, and baselines have to be looked through.\n"
        )
    return 0
