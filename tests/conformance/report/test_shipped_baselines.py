"""The baselines that the kit ships: each entry names what is judged, and says why in one way."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from shipped import shipped

from conformance.items.generated import Plan, generated_items
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.items.recipes import generated_recipes
from conformance.report.baseline import UNTRIAGED, Baseline, load_baseline
from conformance.requirements.judged import SUPPORTED
from conformance.requirements.levels import ROWS_READ
from conformance.requirements.registry import load_registry

FOLDER = Path(__file__).resolve().parents[3] / "conformance" / "baselines"
REVISION = "upstream"
"""What the gates of the engines judge by."""

KERNEL = "https://github.com/delta-io/delta-kernel-rs/"
DELTA_RS = "https://github.com/delta-io/delta-rs/"
TRACKERS = {
    "chdb": ("https://github.com/ClickHouse/ClickHouse/", KERNEL),
    "deltalake": (DELTA_RS, KERNEL),
    "duckdb": ("https://github.com/duckdb/duckdb-delta/", KERNEL),
    "polars": ("https://github.com/pola-rs/polars/", DELTA_RS, KERNEL),
    "spark": ("https://github.com/delta-io/delta/",),
}
"""Where faults of each engine, and of what it is built on, are discussed."""


@cache
def items() -> dict[str, Item]:
    registry = load_registry()
    found = (
        *golden_items(shipped()),
        *mutated_items(registry, audited=False),
        *generated_items(Plan()),
        *generated_recipes(Plan()),
    )
    return {item.id: item for item in found}


@pytest.fixture(params=sorted(TRACKERS))
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def baseline(engine: str) -> Baseline:
    return load_baseline(FOLDER / f"{engine}.yaml")


def test_every_shipped_baseline_is_looked_at() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(TRACKERS)


def test_every_entry_was_looked_into(baseline: Baseline) -> None:
    assert [entry.id for entry in baseline.entries if UNTRIAGED in entry.reason.lower()] == []


def test_every_entry_names_what_is_judged(baseline: Baseline) -> None:
    lost = [e.place for e in baseline.entries if not any(map(e.covers, items()))]
    assert lost == []


def test_a_failed_read_is_known_by_a_requirement_that_it_can_show(baseline: Baseline) -> None:
    """Another that the case touches may be broken by something else."""
    wrong = []
    for entry in baseline.entries:
        for item in items().values():
            if entry.covers(item.id) and item.judged.asked == "reader":
                judged = item.requirement(REVISION)
                known = item.requirements_judged(REVISION)
                # Wrong rows are more than the breach of a recommendation to support a form.
                if entry.requirement not in known | ({ROWS_READ} if judged in SUPPORTED else set()):
                    wrong.append(f"{entry.place}: {entry.requirement}, judged is {judged}")
    assert wrong == []


def test_a_reason_has_one_link(baseline: Baseline) -> None:
    links = defaultdict(set)
    for entry in baseline.entries:
        links[entry.reason].add(entry.link)
    assert {reason: found for reason, found in links.items() if len(found) > 1} == {}


def test_a_link_is_about_the_engine(engine: str, baseline: Baseline) -> None:
    known = TRACKERS[engine]
    assert [e.place for e in baseline.entries if e.link and not e.link.startswith(known)] == []
