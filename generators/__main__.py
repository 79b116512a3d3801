"""The command ``python -m generators``: golden tables, and generated corpora.

``golden`` builds or checks the corpus of the repository, ``histories`` draws or checks the
histories of the gate; ``export`` writes generated cases in the same layout as the corpus for
harnesses in other languages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from generators.export import ExportError, export_histories, export_mutations
from generators.golden import cli as golden
from generators.histories import cli as histories
from generators.strategies.histories import FEATURES


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m generators", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("golden", help="build or check the golden tables", add_help=False)
    commands.add_parser("histories", help="draw or check the gate's histories", add_help=False)
    export = commands.add_parser("export", help="write generated cases into a folder")
    export.add_argument("directory", type=Path, help="the folder; cases of one id are replaced")
    export.add_argument("--count", type=int, default=25, help="how many histories (default 25)")
    export.add_argument("--seed", type=int, default=0, help="which histories (default 0)")
    export.add_argument(
        "--feature",
        action="append",
        default=[],
        choices=sorted(FEATURES),
        help="a table feature that the histories use; may be given several times",
    )
    export.add_argument("--mutations", action="store_true", help="also write every mutation")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, or what those two commands give, or 2 for a wrong request."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["golden"]:
        return golden.main(arguments[1:])
    if arguments[:1] == ["histories"]:
        return histories.main(arguments[1:])
    options = _parser().parse_args(arguments)
    if options.count < 0:
        sys.stderr.write("--count is a number of histories, not negative\n")
        return 2
    try:
        written = list(
            export_histories(
                options.directory,
                count=options.count,
                number=options.seed,
                features=tuple(options.feature),
            )
        )
        if options.mutations:
            written += export_mutations(options.directory)
    except (ExportError, OSError) as error:
        sys.stderr.write(f"{error}\n".encode("utf-8", "backslashreplace").decode())
        return 2
    sys.stdout.write("".join(f"{case_id}\n" for case_id in written))
    sys.stdout.write(f"{len(written)} cases written to {options.directory}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
