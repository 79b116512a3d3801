"""What engines may lack beside a feature is asked all the same: to refuse is open to them."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from fakes import EVERYTHING, Told
from shipped import shipped

from conformance.adapter import Answer, Claims, Ok, Refused
from conformance.base.outcomes import Outcome
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore


def _judged(store: TableStore, case: str, spec: str, claims: Claims, answer: Answer) -> Outcome:
    """Judge a question of the corpus by an answer to whatever is asked."""
    found = next(each for each in shipped().cases if each.id == case)
    asked = next(each for each in found.specs if each.id == f"{case}/{spec}")
    adapter = Told(claims)
    adapter.run = lambda _: answer  # type: ignore[method-assign]
    return Judge(adapter, claims, store).judge_once(found, asked).outcome


def test_what_engines_may_lack_beside_a_feature_is_needed_where_it_is_asked() -> None:
    asked = set()
    for case in shipped().cases:
        properties = json.loads((case.table.parent / "table_info.json").read_text())["properties"]
        mapped = properties.get("delta.columnMapping.mode", "none") != "none"
        for spec in case.specs:
            needed = {
                "changes.column_mapping": spec.type == "changes" and mapped,
                "append.invariants": "'delta.invariants'" in repr(spec.parameters),
            }
            asked |= {word for word, needs in needed.items() if needs}
            assert {w: w in spec.needs for w in needed} == needed, spec.id
    assert len(asked) == len(needed)


@pytest.mark.parametrize(
    ("case", "spec"),
    [
        ("add-cdc-file/partitioned-by-id", "changes-all"),
        ("add-cdc-file/column-renamed-in-range", "changes-1-2"),
        ("change-data-files/files-win-mapped-by-name", "changes-1-1"),
    ],
)
@pytest.mark.parametrize(
    ("claimed", "outcome"),
    [((), Outcome.UNSUPPORTED), (("changes.column_mapping",), Outcome.FAIL)],
)
def test_who_claims_changes_of_mapped_tables_must_not_refuse_them(
    store: TableStore, case: str, spec: str, claimed: tuple[str, ...], outcome: Outcome
) -> None:
    claims = replace(
        EVERYTHING,
        reader_version=2,
        reader_features=frozenset({"columnMapping"}),
        capabilities=frozenset(claimed),
    )
    wrong = Ok(pa.table({"_change_type": ["insert"]}))
    assert _judged(store, case, spec, claims, Refused("unsupported", None, "no feed")) is outcome
    assert _judged(store, case, spec, claims, wrong) is Outcome.FAIL


@pytest.mark.parametrize(
    ("answer", "claimed", "outcome"),
    [
        (Ok(None), (), Outcome.FAIL),
        (Refused("unsupported", None, "has an invariant"), (), Outcome.UNSUPPORTED),
        (Refused("unsupported", None, "no"), ("append.invariants",), Outcome.FAIL),
        (Refused("constraint", None, "y > 3"), (), Outcome.PASS),
    ],
)
def test_who_does_not_claim_invariants_refuses_the_row_or_the_table(
    store: TableStore, answer: Answer, claimed: tuple[str, ...], outcome: Outcome
) -> None:
    claims = replace(
        EVERYTHING,
        writer_version=7,
        writer_features=frozenset({"invariants"}),
        operations=EVERYTHING.operations | {"append"},
        capabilities=frozenset(claimed),
    )
    case = "column-invariants/write-refused-after-checkpoint"
    assert _judged(store, case, "write", claims, answer) is outcome
