"""One defect has one ruling, wherever a golden table or a mutation plants it."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.golden.cases import Case, Contested, ExpectedError
from conformance.golden.corpus import load_corpus
from conformance.requirements.defects import (
    Defect,
    load_defects,
    ruling_of_case,
    ruling_of_mutation,
)
from generators.mutations import MUTATIONS

DEFECTS = load_defects()


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {case.id: case for case in load_corpus(validate=False).cases}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_all_that_plant_a_defect_take_the_same_from_a_reader(
    defect: Defect, cases: dict[str, Case]
) -> None:
    mutations = {each.id: each for each in MUTATIONS}
    found = {name: ruling_of_case(cases[name]) for name in defect.golden}
    found |= {name: ruling_of_mutation(mutations[name]) for name in defect.mutations}
    assert found
    assert found == dict.fromkeys(found, defect.reader)


def test_names_are_unique_and_nothing_is_listed_twice() -> None:
    for listed in (
        [defect.name for defect in DEFECTS],
        [name for defect in DEFECTS for name in defect.golden],
        [name for defect in DEFECTS for name in defect.mutations],
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
