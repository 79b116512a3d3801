"""Judge the same cases wherever the kit lies, and check the results against each other.

Run by ``tox run -e places``, which installs the wheel: from the checkout and from the wheel, in an
empty folder and beside a folder of Python modules full of constants, with the Hypothesis of the
constraints and with the oldest that ``pyproject.toml`` allows. Items and digests are equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SMALL = ("--tck-case=generated/*",)
"""What is judged unless arguments select something else: everything that was ever drawn."""

_TELL = "import conformance, hypothesis; print(conformance.__file__, hypothesis.__version__)"


class PlaceError(Exception):
    """The kit does not lie where it should, or does not say the same everywhere."""


def oldest() -> str:
    """Return the oldest release of Hypothesis that the kit allows.

    Raises:
        PlaceError: ``pyproject.toml`` names none.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for each in project["dependencies"]:
        name, _, version = each.partition(">=")
        if name == "hypothesis" and version:
            return str(version)
    raise PlaceError("pyproject.toml says no oldest Hypothesis")


def fetch(folder: Path, version: str) -> None:
    """Install one release of Hypothesis into a folder; pins of the environment do not hold here."""
    free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, f"hypothesis=={version}"], env=free, check=True)  # noqa: S603  pip


def fill(folder: Path) -> Path:
    """Fill a folder with modules of constants, as a project has them."""
    folder.mkdir()
    for number in range(8):
        words = ", ".join(f'"word{number}-{n}"' for n in range(40))
        numbers = ", ".join(str(n * 1_000_003 + number) for n in range(1, 40))
        text = f"WORDS = [{words}]\nNUMBERS = [{numbers}]\nFLOATS = [1.125, -7.5]\n"
        (folder / f"mine_{number}.py").write_text(text, encoding="utf-8")
    return folder


def judge(folder: Path, first: Sequence[Path], chosen: Sequence[str], name: str) -> list[str]:
    """Judge in a folder, with some places ahead of the installed packages.

    Returns:
        The lines of the results file.

    Raises:
        PlaceError: the run is not green.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, first))}
    place = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-P", "-c", _TELL],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    results = folder / "results.jsonl"
    ended = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-m", "pytest", "--impl=ours", f"--tck-results={results}", *chosen],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise PlaceError(f"{name}: exit status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    lines = results.read_text(encoding="utf-8").splitlines()
    footer = json.loads(lines[-1])
    print(f"{name}: {place.stdout.strip()}: {footer['records']} judged, {footer['digest']}")  # noqa: T201
    return lines


def main(chosen: Sequence[str]) -> int:
    """Judge everywhere.

    Returns:
        0 where all results are equal.

    Raises:
        PlaceError: a run is not green, or differs from the first.
    """
    with tempfile.TemporaryDirectory(prefix="delta-tck-places-") as name:
        scratch = Path(name)
        version = oldest()
        fetch(scratch / "old", version)
        empty = scratch / "empty"
        empty.mkdir()
        constants = fill(scratch / "constants")
        places = {
            "the wheel in an empty folder": (empty, ()),
            "the checkout": (empty, (ROOT,)),
            f"the wheel beside constants, Hypothesis {version}": (constants, (scratch / "old",)),
        }
        found = {each: judge(*place, chosen, each) for each, place in places.items()}
    first, *others = found.items()
    for place, lines in others:
        if lines != first[1]:
            differing = sum(one != other for one, other in zip(first[1], lines, strict=False))
            raise PlaceError(f"{place} differs from {first[0]} in {differing} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or SMALL))
