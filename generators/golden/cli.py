"""The command ``python -m generators golden``: build the corpus, or check it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from generators.golden.build import (
    CORPUS,
    build_corpus,
    check_corpus,
    check_written,
    write_manifest,
)
from generators.golden.cases.catalog import Definition
from generators.golden.chapters import all_definitions


def select(definitions: Sequence[Definition], only: Sequence[str]) -> list[Definition]:
    """Return the definitions of some chapters or cases, all of them when none is named.

    Raises:
        LookupError: a name selects nothing.
    """
    if not only:
        return list(definitions)
    for name in only:
        if not any(_matches(definition, name) for definition in definitions):
            raise LookupError(f"no golden case or chapter is named {name!r}")
    return [each for each in definitions if any(_matches(each, name) for name in only)]


def _matches(definition: Definition, name: str) -> bool:
    return name in (definition.info.id, definition.info.chapter)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 when the corpus drifted, 2 when the request is wrong."""
    parser = argparse.ArgumentParser(prog="python -m generators golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write golden tables, or prove that they are right")
    build.add_argument(
        "--only", action="append", default=[], metavar="CHAPTER[/CASE]", help="build just these"
    )
    build.add_argument(
        "--check", action="store_true", help="write nothing; fail when a rebuild differs"
    )
    build.add_argument("--force", action="store_true", help="replace cases that agree, too")
    build.add_argument(
        "--builder", choices=("kit", "deltalake"), default="kit", help="whose tables to write"
    )
    build.add_argument("--corpus", type=Path, default=CORPUS, help="the corpus folder")
    options = parser.parse_args(argv)
    try:
        definitions = select(all_definitions(options.builder), options.only)
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if options.check:
        # Only the kit's own tables can be rebuilt to the same content.
        rebuilt = definitions if options.builder == "kit" else []
        drifts = check_corpus(rebuilt, options.corpus)
        if options.builder == "deltalake":
            drifts += check_written(definitions, options.corpus)
        for drift in drifts:
            sys.stdout.write(f"{drift.case_id}\n" + "".join(f"  {d}\n" for d in drift.details))
        sys.stdout.write(f"{len(definitions)} cases checked, {len(drifts)} differ\n")
        return 1 if drifts else 0
    changed = build_corpus(definitions, options.corpus, force=options.force)
    write_manifest(options.corpus)
    sys.stdout.write("".join(f"wrote {case_id}\n" for case_id in changed))
    sys.stdout.write(f"{len(definitions)} cases built, {len(changed)} changed\n")
    return 0
