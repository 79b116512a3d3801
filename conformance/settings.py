"""The options of one run as values."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.generated import Plan
from conformance.options import destination
from conformance.resolve import Isolation, Limits
from conformance.selection import Selection

__all__ = ["SEED", "Settings", "read_settings"]

SEED: Final = "delta_tck_seed"
"""Under which name a test process of xdist is told the seed."""


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
        limits: how much time and memory the adapter may take.
        isolation: ``auto``, ``process`` or ``none``: where the adapter runs.
        plan: which histories to generate.
        witness: the value of ``--witness``.
        bundles: folder for bundles of failures on drawn histories, ``None`` to keep none.

    """

    impl: str
    selection: Selection
    corpus: Path | None
    baseline: Path | None
    write_baseline: Path | None
    results: Path | None
    limits: Limits
    isolation: Isolation
    plan: Plan
    witness: str | None = None
    bundles: Path | None = None

    def repeat_options(self) -> list[str]:
        """Give the options that a command needs to repeat one item."""
        options = [f"--corpus={self.corpus}"] if self.corpus else []
        if self.selection.revision != "upstream":
            options.append(f"--revision={self.selection.revision}")
        if self.plan.profile != "gate":
            options += [f"--generate={self.plan.profile}", f"--seed={self.plan.seed}"]
        if self.witness:
            options.append(f"--witness={self.witness}")
        return options


def read_settings(config: pytest.Config) -> Settings:
    """Read the options of a run that judges."""

    def value(name: str) -> Any:
        return config.getoption(destination(name))

    def path(name: str) -> Path | None:
        text = value(name)
        return Path(config.invocation_params.dir, text) if text else None

    return Settings(
        impl=value("--impl"),
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
        limits=Limits(
            value("--time-limit"), value("--start-limit"), int(value("--memory-limit") * 1024**3)
        ),
        isolation=value("--isolation"),
        plan=_plan(config),
        witness=value("--witness"),
        bundles=path("--bundles") or _bundles(config),
    )


def _bundles(config: pytest.Config) -> Path | None:
    """Give where bundles go when nobody says: whoever explores wants to keep what is found."""
    explores = config.getoption(destination("--generate")) == "explore"
    return Path(config.invocation_params.dir, "delta-tck-bundles") if explores else None


def _plan(config: pytest.Config) -> Plan:
    profile = config.getoption(destination("--generate"))
    if profile == "gate":
        return Plan()
    seed = config.getoption(destination("--seed"))
    # A test process is told the seed of the run.
    seed = getattr(config, "workerinput", {}).get(SEED, seed)
    return Plan(profile, secrets.randbelow(2**31) if seed is None else seed)
