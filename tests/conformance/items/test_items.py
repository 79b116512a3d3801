"""Everything that a run can judge has an id of its own and requirements that exist."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shipped import shipped

from conformance.adapter import Answer, Description, Ok, Request
from conformance.adapters.ours import create
from conformance.base.faults import CorpusError, EmptySelectionError, SelectionError
from conformance.base.outcomes import Outcome
from conformance.golden.cases import Expected
from conformance.golden.corpus import load_corpus
from conformance.items.generated import Plan, ReadHistory, WantedRows, generated_items, read_items
from conformance.items.items import ALL_REVISIONS, Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.items.recipes import generated_recipes
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.requirements.registry import SELECTIONS, Registry, load_registry
from conformance.run.selection import Selection, select
from generators.materialise.layouts import LAYOUTS, lay_out
from generators.oracle.delta_schema import Field, Primitive, Struct


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def items(registry: Registry) -> tuple[Item, ...]:
    corpus = shipped()
    mutations = mutated_items(registry, audited=True)
    generated = (*generated_items(Plan()), *generated_recipes(Plan()))
    return (*golden_items(corpus), *generated, *mutations)


@pytest.fixture
def judge() -> Iterator[Judge]:
    adapter, store = create(), TableStore()
    yield Judge(adapter, adapter.describe().claims, store)
    store.close()


def test_every_id_is_unique(items: tuple[Item, ...]) -> None:
    doubled = [name for name, count in Counter(i.id for i in items).items() if count > 1]
    assert doubled == []


def test_every_requirement_is_in_the_registry(items: tuple[Item, ...], registry: Registry) -> None:
    unknown = {(i.id, name) for i in items for name in i.requirements if name not in registry}
    assert unknown == set()


def test_every_item_applies_to_a_revision(items: tuple[Item, ...]) -> None:
    assert [item.id for item in items if not item.revisions <= ALL_REVISIONS] == []
    assert [item.id for item in items if not item.revisions] == []


def test_a_run_has_the_cases_that_a_gate_needs(items: tuple[Item, ...]) -> None:
    counts = Counter(item.source for item in items)
    assert counts["golden"] >= 400
    assert counts["generated"] >= 100
    assert counts["mutations"] >= 100


class _Wrong:
    """Answers with another name of the table, another protocol and changes of another time."""

    def __init__(self, part: str) -> None:
        self._right, self._part = create(), part

    def describe(self) -> Description:
        return self._right.describe()

    def run(self, request: Request) -> Answer:
        answer = self._right.run(request)
        if not isinstance(answer, Ok):
            return answer
        if isinstance(answer.payload, pa.Table):
            at = answer.payload.column_names.index("_commit_timestamp")
            moved = pa.nulls(answer.payload.num_rows, pa.timestamp("us", "UTC"))
            return Ok(answer.payload.set_column(at, "_commit_timestamp", moved))
        changed = {"metadata": {"name": "another"}, "protocol": {"minWriterVersion": 9}}
        part = {**answer.payload[self._part], **changed[self._part]}
        return Ok({**answer.payload, self._part: part})

    def close(self) -> None:
        self._right.close()


@pytest.mark.parametrize("part", ["metadata", "protocol"])
@pytest.mark.parametrize("revision", SELECTIONS)
def test_what_a_verdict_names_selects_its_item(
    part: str, revision: str, items: tuple[Item, ...]
) -> None:
    adapter, store = _Wrong(part), TableStore()
    judge = Judge(adapter, adapter.describe().claims, store)
    asked = [
        item
        for item in items
        if item.source == "golden"
        and item.judged.question in {"snapshot", "changes"}
        and item.requirement(revision) is not None
        and item.chapter in {"action-reconciliation", "add-cdc-file", "change-metadata"}
    ]
    named = set()
    for item in asked:
        verdict = item.judge(judge)
        if verdict.outcome in {Outcome.FAIL, Outcome.ADVICE}:
            name = verdict.requirement or item.requirement(revision)
            assert name in item.requirements_judged(revision), item.id
            named.add(name)
    store.close()
    rows = {"metadata": {"REC-013"}, "protocol": {"REC-002", "REC-012"}}[part]
    assert rows & named
    assert ("CDC-015" in named) is (revision != "2021")


def test_two_gates_draw_the_same_histories_and_explorers_others(judge: Judge) -> None:
    plans = (Plan(), Plan(), Plan("explore", 7))
    gate, again, explored = (list(generated_items(plan)) for plan in plans)
    assert [i.id for i in gate] == [i.id for i in again]
    assert len(explored) == 10 * len(gate)
    assert explored[0].id == "generated/seed-7-0/plain"
    assert gate[0].judge(judge).outcome is Outcome.PASS
    assert gate[1].judge(judge).outcome is Outcome.PASS


@pytest.mark.parametrize("number", [0, 50, 100])
def test_mutations_are_judged_for_readers_and_for_the_audit(
    registry: Registry, judge: Judge, number: int
) -> None:
    noticed = [i for i in mutated_items(registry, audited=True) if i.id.endswith("/audit")]
    verdict = noticed[number].judge(judge)
    assert verdict.outcome is Outcome.PASS
    reader = {i.id: i for i in mutated_items(registry, audited=False)}
    asked = reader[noticed[number].id.removesuffix("audit") + "read"]
    assert asked.judge(judge).outcome in (Outcome.PASS, Outcome.OPEN)


def test_every_selector_narrows(items: tuple[Item, ...], registry: Registry) -> None:
    for selection in (
        Selection(requirements=("REC-001",)),
        Selection(features=("deletionVectors",)),
        Selection(chapters=("checkpoints",)),
        Selection(cases=("mutations/*",)),
        Selection(revision="2021"),
    ):
        chosen = select(selection, items, registry)
        assert 0 < len(chosen) < len(items)
        assert all(selection.takes(item) for item in chosen)


def test_a_selection_reads_no_table_that_it_cannot_reach(
    items: tuple[Item, ...], registry: Registry
) -> None:
    golden = {item.id for item in items if item.source == "golden"}
    others = tuple(item for item in items if item.source != "golden")
    for selection, least in (
        (Selection(cases=("transaction-identifiers/newest-entry-wins*",)), 9_000),
        (Selection(cases=("*/read-latest",), chapters=("checkpoints",)), 5_000),
        (Selection(cases=("mutations/*",), requirements=("REC-001",)), len(golden)),
        (Selection(features=("deletionVectors",), chapters=("checkpoints",)), 0),
        (Selection(revision="2021"), 0),
    ):
        corpus = load_corpus(validate=False, wanted=selection.reaches)
        read = tuple(golden_items(corpus))
        assert len(corpus.unread) >= least
        assert sorted([*(item.id for item in read), *corpus.unread]) == sorted(golden)
        try:
            chosen = select(selection, items, registry)
        except EmptySelectionError:
            with pytest.raises(EmptySelectionError):
                select(selection, (*read, *others), registry, corpus.unread)
        else:
            again = select(selection, (*read, *others), registry, corpus.unread)
            assert {item.id for item in again} == {item.id for item in chosen}


def test_a_case_that_is_misspelt_is_compared_with_those_that_are_not_read(
    registry: Registry,
) -> None:
    selection = Selection(cases=("transaction-identifiers/newest-entry-win",))
    corpus = load_corpus(validate=False, wanted=selection.reaches)
    assert corpus.cases == ()
    with pytest.raises(SelectionError, match=r"did you mean .*newest-entry-wins"):
        select(selection, (), registry, corpus.unread)


def test_selectors_are_met_together_or_not_at_all(
    items: tuple[Item, ...], registry: Registry
) -> None:
    selection = Selection(chapters=("checkpoints",), cases=("mutations/hint*",))
    with pytest.raises(EmptySelectionError):
        select(selection, items, registry)
    with pytest.raises(SelectionError, match="did you mean"):
        select(Selection(chapters=("checkpoint",)), items, registry)


def test_expected_rows_are_read_as_they_are_stored() -> None:
    for case in shipped().cases[:40]:
        for spec in case.specs:
            if spec.type == "read" and isinstance(spec.expectation, Expected):
                wanted = spec.expectation.document["rowCount"]
                assert spec.expectation.rows().num_rows == wanted, spec.id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "1:2"),
        ("[]", "not a JSON object"),
        ('{"id": "a/b", "id": "a/b"}', "twice in one object"),
        ('{"id": "a/c"}', "is not its folder's"),
        ('{"id": "a/b"}', "the case asks nothing"),
    ],
)
def test_a_bad_case_file_is_reported_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a" / "b" / "case.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(CorpusError, match=words):
        load_corpus(tmp_path, validate=False)


def test_layouts_share_the_tables_of_equal_rows_alone() -> None:
    wanted = WantedRows()
    schema = Struct((Field("a", Primitive("long")),))
    first = wanted.table(1, schema, [{"a": 1}])
    assert wanted.table(1, schema, [{"a": 1}]) is first
    assert wanted.table(1, schema, [{"a": 2}]).to_pylist() == [{"a": 2}]
    assert wanted.table(2, schema, []).num_rows == 0
    drawn = Plan().histories("read")[0]
    histories = [item.history for item in read_items(0, drawn)]
    assert len({id(each.wanted) for each in histories if isinstance(each, ReadHistory)}) == 1


_SHOWN_BY_FILES: Final[Mapping[str, Callable[[Path], bool]]] = {
    "COMP-012": lambda root: any(root.glob("_delta_log/*.compacted.json")),
    "CKPT-004": lambda root: any(_version(each) > 0 for each in root.glob("_delta_log/*.check*")),
    "LAST-003": lambda root: _hinted(root) < max(map(_version, root.glob("_delta_log/*.json"))),
    "DATA-003": lambda root: any(root.glob("*=*")),
    "PQ-001": lambda root: any(map(_stored_otherwise, root.rglob("part-*.parquet"))),
}


def _stored_otherwise(path: Path) -> bool:
    """Say whether a file has times, decimals, lists or maps as files mostly have not."""
    columns = pq.ParquetFile(path).schema
    return any(
        column.physical_type == "INT96"
        or (column.physical_type.startswith("INT") and column.logical_type.type == "DECIMAL")
        or {"bag", "map"}.intersection(column.path.split("."))
        for column in map(columns.column, range(len(columns)))
    )


def _version(path: Path) -> int:
    return int(path.name[:20])


def _hinted(root: Path) -> int:
    return int(json.loads((root / "_delta_log/_last_checkpoint").read_text())["version"])


def test_a_layout_judges_what_its_history_shows(tmp_path: Path) -> None:
    drawn = {each.name: each for each in Plan().histories("read")}
    layouts = {each.name: each for each in LAYOUTS}
    wrong: list[tuple[str, str]] = []
    shown: set[str] = set()
    for item in generated_items(Plan()):
        _, name, layout = item.id.split("/")
        row = item.requirement("2025")
        about = _SHOWN_BY_FILES.keys() & {row, *layouts[layout].requirements}
        for each in about:
            root = tmp_path / name / layout
            if not root.is_dir():
                lay_out(root, drawn[name].load(), layouts[layout])
            found = _SHOWN_BY_FILES[each](root)
            wrong += [(item.id, each)] if found != (each in item.requirements) else []
            shown |= {each} if row == each else set()
    assert wrong == []
    assert shown == _SHOWN_BY_FILES.keys()


def test_a_layout_of_several_kinds_of_summaries_is_held_to_its_rows() -> None:
    asked = [each for each in generated_items(Plan()) if each.id.endswith("/everything")]
    assert {each.requirement(name) for each in asked for name in SELECTIONS} <= {"SNAP-007", None}
    assert asked
