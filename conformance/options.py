"""The kit's pytest options: one table that the parser, the README and the tests read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.resolve import BUILT_IN, Limits
from conformance.selection import Selection

__all__ = ["OPTIONS", "Settings", "add_options", "read_settings"]

_REVISIONS: Final = ("2021", "2025", "upstream")
_PROFILES: Final = ("gate", "explore")

OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    (
        "--impl",
        {
            "metavar": "NAME",
            "help": f"judge this implementation: {', '.join(BUILT_IN)}, "
            "python:package.module:factory or cmd:<command line>",
        },
    ),
    (
        "--revision",
        {
            "choices": _REVISIONS,
            "default": "upstream",
            "help": "revision of the protocol to judge by (default: upstream)",
        },
    ),
    (
        "--baseline",
        {"metavar": "FILE", "help": "YAML file of known failures; a stale entry fails the run"},
    ),
    (
        "--write-baseline",
        {"metavar": "FILE", "help": "write the failures of this run as a baseline to triage"},
    ),
    ("--results", {"metavar": "FILE", "help": "write a line of JSON per case, stamped"}),
    (
        "--corpus",
        {"metavar": "FOLDER", "help": "golden tables to use instead of those shipped"},
    ),
    (
        "--requirement",
        {
            "action": "append",
            "default": [],
            "metavar": "ID",
            "help": "only cases of this requirement; may be repeated",
        },
    ),
    (
        "--feature",
        {
            "action": "append",
            "default": [],
            "metavar": "NAME",
            "help": "only cases of this table feature; may be repeated",
        },
    ),
    (
        "--chapter",
        {
            "action": "append",
            "default": [],
            "metavar": "SLUG",
            "help": "only cases of this chapter; may be repeated",
        },
    ),
    (
        "--case",
        {
            "action": "append",
            "default": [],
            "metavar": "ID",
            "help": "only this case or spec, * stands for any text; may be repeated",
        },
    ),
    (
        "--time-limit",
        {
            "type": float,
            "default": 60.0,
            "metavar": "SECONDS",
            "help": "for one request to the adapter (default: 60)",
        },
    ),
    (
        "--start-limit",
        {
            "type": float,
            "default": 180.0,
            "metavar": "SECONDS",
            "help": "for the adapter to come up (default: 180)",
        },
    ),
    (
        "--isolate",
        {
            "action": "store_true",
            "help": "run the reference implementation in a process of its own too",
        },
    ),
    (
        "--profile-of-generators",
        {
            "choices": _PROFILES,
            "default": "gate",
            "help": "gate: the same histories every time; explore: new ones (default: gate)",
        },
    ),
)
"""Name of each option and what the parser is told about it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one run as values.

    Attributes:
        impl: the value of ``--impl``.
        selection: what to judge.
        corpus: folder of golden tables, ``None`` for the shipped ones.
        baseline: file of known failures.
        write_baseline: file to write today's failures to.
        results: results file to write.
        limits: how long the adapter may take.
        isolate: run the reference implementation in a process of its own.
        profile: profile of the generators.

    """

    impl: str
    selection: Selection
    corpus: Path | None
    baseline: Path | None
    write_baseline: Path | None
    results: Path | None
    limits: Limits
    isolate: bool
    profile: str

    def repeat_options(self) -> list[str]:
        """Give the options that a command needs to repeat one item."""
        options = [f"--corpus={self.corpus}"] if self.corpus else []
        if self.selection.revision != "upstream":
            options.append(f"--revision={self.selection.revision}")
        return options


def _destination(name: str) -> str:
    return "delta_tck_" + name.removeprefix("--").replace("-", "_")


def add_options(parser: pytest.Parser) -> None:
    """Add the kit's options to pytest's parser."""
    group = parser.getgroup("delta-tck", "conformance of a Delta Lake implementation")
    for name, details in OPTIONS:
        group.addoption(name, dest=_destination(name), **details)


def read_settings(config: pytest.Config) -> Settings | None:
    """Read the options; ``None`` when no implementation is to be judged."""

    def value(name: str) -> Any:
        return config.getoption(_destination(name))

    def path(name: str) -> Path | None:
        text = value(name)
        return Path(config.invocation_params.dir, text) if text else None

    impl = value("--impl")
    if not impl:
        return None
    return Settings(
        impl=impl,
        selection=Selection(
            revision=value("--revision"),
            requirements=tuple(value("--requirement")),
            features=tuple(value("--feature")),
            chapters=tuple(value("--chapter")),
            cases=tuple(value("--case")),
        ),
        corpus=path("--corpus"),
        baseline=path("--baseline"),
        write_baseline=path("--write-baseline"),
        results=path("--results"),
        limits=Limits(value("--time-limit"), value("--start-limit")),
        isolate=value("--isolate"),
        profile=value("--profile-of-generators"),
    )
