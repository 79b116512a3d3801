"""One defect has one ruling for each role, wherever a table, a mutation or a recipe plants it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from shipped import shipped

from conformance.audit import audit
from conformance.audit.findings import Finding
from conformance.explain.defects import Defect, load_defects
from conformance.golden.cases import Case, Contested, Expected, ExpectedError, Spec
from conformance.golden.commits import commits_in
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.judging.tables import TableStore
from conformance.requirements.judged import judged_of
from conformance.requirements.registry import Registry, load_registry
from generators.mutations import MUTATIONS, Mutation

DEFECTS = load_defects()
REGISTRY = load_registry()


def _spec_of_case(case: Case) -> Spec | None:
    """Return the read of a case's latest version; ``None`` where none is asked."""
    reads = [spec for spec in case.specs if spec.type == "read"]
    latest = [spec for spec in reads if spec.id.endswith("/read-latest")]
    return next(reversed(latest or sorted(reads, key=lambda spec: spec.id)), None)


def _ruling_of_case(case: Case) -> str | None:
    """Return what a read of a case's latest version has to give; ``None`` where none is asked."""
    spec = _spec_of_case(case)
    if spec is None:
        return None
    match spec.expectation:
        case ExpectedError():
            return "refused"
        case Contested():
            return "contested"
        case _:
            return "read"


def _ruling_of_mutation(mutation: Mutation) -> str:
    """Return what a read of a mutated table has to come to."""
    if mutation.expect == "refused":
        return "refused"
    return "contested" if mutation.expect == "contested" or mutation.tolerated else "read"


def _ruling_of_recipe(spec: Spec, registry: Registry) -> tuple[str | None, str | None]:
    """Return what a recipe has of a writer: the ruling, and the row that a refusal obeys."""
    match spec.expectation:
        case Contested():
            return "contested", None
        case ExpectedError(requirement=str(name)):
            return "forbidden" if registry[name].level == "MUST" else "advised", name
        case ExpectedError() | Expected():
            return None, None


def _ruling_of_findings(findings: Iterable[Finding], breaks: str | None) -> str:
    """Return what the audit makes of a table with a defect, by the row that it breaks."""
    severities = {each.severity for each in findings if breaks in (None, each.requirement)}
    if "error" in severities:
        return "forbidden"
    return "advised" if "warning" in severities else "allowed"


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {case.id: case for case in shipped().cases}


@pytest.fixture(scope="module")
def items() -> dict[str, Item]:
    found = (
        *golden_items(shipped()),
        *mutated_items(REGISTRY, audited=False),
    )
    return {item.id: item for item in found}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_all_that_plant_a_defect_take_the_same_from_a_reader(
    defect: Defect, cases: dict[str, Case]
) -> None:
    mutations = {each.id: each for each in MUTATIONS}
    found = {name: _ruling_of_case(cases[name]) for name in defect.golden}
    found |= {name: _ruling_of_mutation(mutations[name]) for name in defect.mutations}
    assert found or defect.recipes
    assert found == dict.fromkeys(found, defect.reader)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_all_that_plant_a_defect_judge_one_requirement(
    defect: Defect, cases: dict[str, Case], items: dict[str, Item]
) -> None:
    asked = {spec.id for name in defect.golden if (spec := _spec_of_case(cases[name]))}
    asked |= {f"mutations/{name}/read" for name in defect.mutations}
    found = {name: items[name].requirement("upstream") for name in asked}
    assert found == dict.fromkeys(found, defect.requirement)


@pytest.mark.parametrize(
    "defect", [each for each in DEFECTS if each.reader], ids=lambda defect: defect.name
)
def test_all_that_plant_a_defect_take_the_same_from_a_writer(
    defect: Defect, cases: dict[str, Case], tmp_path: Path
) -> None:
    if defect.writer is None:
        assert defect.name in ("log-empty-directory", "table-specification-no-log")
        return
    tables = {}
    store = TableStore()
    for name in defect.golden:
        tables[name] = store.table(cases[name])
    for each in MUTATIONS:
        if each.id in defect.mutations:
            each.build(tmp_path / each.id)
            tables[each.id] = tmp_path / each.id
    found = {
        name: _ruling_of_findings(audit(str(table)), defect.breaks)
        for name, table in tables.items()
    }
    store.close()
    assert found == dict.fromkeys(found, defect.writer)
    assert (defect.breaks is None) == (defect.writer == "allowed")


@pytest.mark.parametrize(
    "defect", [each for each in DEFECTS if each.recipes], ids=lambda defect: defect.name
)
def test_all_recipes_that_ask_for_a_defect_take_the_same_from_a_writer(
    defect: Defect, cases: dict[str, Case]
) -> None:
    asked = [(spec, cases[name]) for name in defect.recipes for spec in cases[name].specs]
    asked = [(spec, case) for spec, case in asked if spec.type == "write"]
    specs = [spec for spec, _ in asked]
    assert len(specs) == len(defect.recipes)
    rulings = {spec.id: _ruling_of_recipe(spec, REGISTRY) for spec in specs}
    assert {ruling for ruling, _ in rulings.values()} == {defect.writer}
    assert {obeyed for _, obeyed in rulings.values()} <= {defect.breaks, None}
    assert {judged_of(*each).in_revision("upstream") for each in asked} == {defect.breaks}


def test_every_recipe_that_may_be_refused_names_its_defect(cases: dict[str, Case]) -> None:
    listed = {name for defect in DEFECTS for name in defect.recipes}
    refusable = {
        case.id
        for case in cases.values()
        for spec in case.specs
        if spec.type == "write" and isinstance(spec.expectation, ExpectedError | Contested)
    }
    assert refusable == listed


def test_names_are_unique_and_nothing_is_listed_twice() -> None:
    for listed in (
        [defect.name for defect in DEFECTS],
        [name for defect in DEFECTS for name in defect.golden],
        [name for defect in DEFECTS for name in defect.mutations],
        [name for defect in DEFECTS for name in defect.recipes],
    ):
        assert [name for name, count in Counter(listed).items() if count > 1] == []


def test_every_case_that_a_reader_may_refuse_names_its_defect(cases: dict[str, Case]) -> None:
    listed = {name for defect in DEFECTS for name in defect.golden}
    refusable = {
        case.id
        for case in cases.values()
        for spec in case.specs
        if spec.type == "read"
        and spec.id.endswith("/read-latest")
        and (
            isinstance(spec.expectation, ExpectedError)
            or (
                isinstance(spec.expectation, Contested)
                and any(
                    isinstance(each.answer, ExpectedError) for each in spec.expectation.accepted
                )
            )
        )
    }
    assert refusable - listed == set()


def test_every_mutation_that_a_reader_may_refuse_names_its_defect() -> None:
    listed = {name for defect in DEFECTS for name in defect.mutations}
    assert {
        each.id for each in MUTATIONS if each.expect != "same_rows" or each.tolerated
    } - listed == set()


def test_many_defects_are_planted_more_than_once() -> None:
    assert sum(len(defect.golden) + len(defect.mutations) > 1 for defect in DEFECTS) > 80


def test_changes_over_a_range_whose_schema_changes_are_contested(cases: dict[str, Case]) -> None:
    asked = [(c, s) for c in cases.values() for s in c.specs if s.type == "changes"]
    assert len(asked) > 100
    for case, spec in asked:
        first, last = spec.parameters["start"], spec.parameters.get("end")
        schemas, schema = set(), None
        for version, content in commits_in(case.table).items():
            schema = _schema_in(content or b"") or schema
            if first <= version and (last is None or version <= last):
                schemas.add(schema)
        assert len(schemas) < 2 or isinstance(spec.expectation, Contested), spec.id


def _schema_in(commit: bytes) -> str | None:
    """Return the schema of the last metadata of a commit whose lines can be read."""
    found = None
    for line in commit.splitlines():
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)["metaData"]["schemaString"]
    return found
