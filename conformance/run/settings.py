"""The options of one run as values."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.base.options import destination
from conformance.items.generated import Plan
from conformance.run.selection import NARROWING, Selection, Shard
from conformance.workers.resolve import Isolation, Limits

SEED: Final = "delta_tck_seed"
"""Under which name a test process of xdist gets the seed."""

_BUNDLES: Final = "delta-tck-bundles"


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
        witness: the value of ``--tck-witness``.
        bundles: folder for bundles of failures on drawn histories, ``None`` to keep none.
        min_judged: percent of the selected cases that have to be judged, ``None`` for any share.
        strict: the level of ``--tck-strict``.
        shard: the part of the selection to judge, ``None`` for all of it.
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
    witness: str | None
    bundles: Path | None
    min_judged: float | None
    strict: str | None
    shard: Shard | None

    def repeat_options(self) -> list[str]:
        """Return the options that a command needs to repeat one item."""
        options = [f"--tck-corpus={self.corpus}"] if self.corpus else []
        if self.selection.revision != "upstream":
            options.append(f"--tck-revision={self.selection.revision}")
        if self.plan.profile != "gate":
            options += [f"--tck-generate={self.plan.profile}", f"--tck-seed={self.plan.seed}"]
        if self.witness:
            options.append(f"--tck-witness={self.witness}")
        if self.strict:
            options.append(f"--tck-strict={self.strict}")
        return options

    def as_document(self) -> dict[str, Any]:
        """Return what was asked, and how, for the header of a results file."""
        return {
            **self.selection.as_document(),
            "generate": self.plan.profile,
            "seed": self.plan.seed,
            "witness": self.witness,
            "strict": self.strict,
        }

    @property
    def narrowed(self) -> bool:
        """Return whether the options take less than all cases of the revision."""
        named = (getattr(self.selection, name) for name in NARROWING)
        return self.shard is not None or any(named)


def read_settings(config: pytest.Config) -> Settings:
    """Read the options of a run that judges.

    Raises:
        pytest.UsageError: an option has an empty value.
    """
    # A test process of xdist gets the seed of the run.
    given = getattr(config, "workerinput", {})

    def value(name: str) -> Any:
        found = config.getoption(destination(name))
        if found == "":
            # As of a variable of CI that is not set: what it stands for would be left out unseen.
            raise pytest.UsageError(f"{name}: an empty value asks for nothing")
        if "\0" in (found if isinstance(found, str) else ""):
            raise pytest.UsageError(f"{name}: no path and no name holds a NUL")
        return given.get(SEED, found) if name == "--tck-seed" else found

    return settings_of(value, config.invocation_params.dir)


def settings_of(value: Callable[[str], Any], folder: Path) -> Settings:
    """Return the options of a run.

    Args:
        value: of each option of ``conformance.base.options`` by its name.
        folder: from which relative paths lead.
    """

    def path(name: str) -> Path | None:
        text = value(name)
        return Path(folder, text) if text else None

    explores = value("--tck-generate") == "explore"
    seed = value("--tck-seed")
    return Settings(
        impl=value("--impl"),
        selection=Selection(
            revision=value("--tck-revision"),
            requirements=tuple(value("--tck-requirement")),
            features=tuple(value("--tck-feature")),
            chapters=tuple(value("--tck-chapter")),
            cases=tuple(value("--tck-case")),
        ),
        corpus=path("--tck-corpus"),
        baseline=path("--tck-baseline"),
        write_baseline=path("--tck-write-baseline"),
        results=path("--tck-results"),
        limits=Limits.of(value),
        isolation=value("--tck-isolation"),
        plan=Plan("explore", secrets.randbelow(2**31) if seed is None else seed)
        if explores
        else Plan(),
        witness=value("--tck-witness"),
        # What an exploring run finds is kept.
        bundles=path("--tck-bundles") or (Path(folder, _BUNDLES) if explores else None),
        min_judged=value("--tck-min-judged"),
        strict=value("--tck-strict"),
        shard=Shard(*value("--tck-shard")) if value("--tck-shard") else None,
    )
