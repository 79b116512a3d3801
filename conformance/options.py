"""The kit's pytest options: one table that the parser, the guides and the tests read.

Imports nothing but pytest: every pytest run on a machine with the kit loads this module.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

__all__ = ["IMPLEMENTATIONS", "NARROWING", "OPTIONS", "add_options", "destination"]

IMPLEMENTATIONS: Final = ("ours", "deltalake", "duckdb", "polars", "chdb", "spark")
"""Names that ``--impl`` takes; each is a module of :mod:`conformance.adapters`."""

_REVISIONS: Final = ("2021", "2025", "upstream")
_PROFILES: Final = ("gate", "explore")

OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    (
        "--impl",
        {
            "metavar": "NAME",
            "help": f"judge this implementation: {', '.join(IMPLEMENTATIONS)}, "
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
        "--memory-limit",
        {
            "type": float,
            "default": 4.0,
            "metavar": "GIB",
            "help": "for all processes of the adapter together, in GiB (default: 4)",
        },
    ),
    (
        "--isolation",
        {
            "choices": ("auto", "process", "none"),
            "default": "auto",
            "help": "process: run the adapter in a process of its own; none: in this one, for a "
            "debugger; auto: in its own, but for the reference implementation (default: auto)",
        },
    ),
    (
        "--witness",
        {
            "metavar": "NAME",
            "help": "let this implementation, too, read what write recipes leave; where it reads "
            "otherwise the recipe is open, and nobody fails",
        },
    ),
    (
        "--generate",
        {
            "choices": _PROFILES,
            "default": "gate",
            "help": "gate: the same histories everywhere; explore: ten times as many of "
            "--seed (default: gate)",
        },
    ),
    (
        "--seed",
        {
            "type": int,
            "metavar": "NUMBER",
            "help": "what --generate=explore draws from (default: a new one, printed in ids)",
        },
    ),
    (
        "--bundles",
        {
            "metavar": "FOLDER",
            "help": "keep a bundle of each new failure on a drawn history here, to be replayed "
            "(default with --generate=explore: delta-tck-bundles)",
        },
    ),
)
"""Name of each option and what the parser is told about it."""


NARROWING: Final = ("--requirement", "--feature", "--chapter", "--case", "--corpus")
"""Options after which a run is small."""


def destination(name: str) -> str:
    """Give the name under which pytest keeps an option."""
    return "delta_tck_" + name.removeprefix("--").replace("-", "_")


def add_options(parser: pytest.Parser) -> None:
    """Add the kit's options to pytest's parser."""
    group = parser.getgroup("delta-tck", "conformance of a Delta Lake implementation")
    for name, details in OPTIONS:
        group.addoption(name, dest=destination(name), **details)
