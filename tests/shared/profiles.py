"""Hypothesis profiles: ``gate`` for continuous integration, ``explore`` for a night.

``gate`` is derandomised, has a fixed budget and keeps no database, so that two runs try the same
examples. ``explore`` draws at random, ten times as much, and prints how to reproduce a failure.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from hypothesis import HealthCheck, settings

Profile: TypeAlias = Literal["gate", "explore"]

_QUIET: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

PROFILES: Final[dict[Profile, settings]] = {
    "gate": settings(
        max_examples=25,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=_QUIET,
    ),
    "explore": settings(
        max_examples=250,
        # Hypothesis derandomises by default where it sees CI; exploring means fresh draws.
        derandomize=False,
        deadline=None,
        print_blob=True,
        suppress_health_check=_QUIET,
    ),
}
"""The settings of each profile; a deadline would make a verdict depend on the machine."""


def profile(name: Profile, *, examples: int | None = None) -> settings:
    """Return the settings of a profile, with another number of examples if asked for."""
    chosen = PROFILES[name]
    return chosen if examples is None else settings(chosen, max_examples=examples)


def register() -> None:
    """Make the profiles known to Hypothesis by their names."""
    for name, chosen in PROFILES.items():
        settings.register_profile(name, chosen)
