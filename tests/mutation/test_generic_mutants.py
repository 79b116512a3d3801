"""Generic mutants are drawn as they should be, and judged apart from the judge."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from generic import cli
from generic.crew import Ended, each_in_a_fork
from generic.in_errors import error_parameters
from generic.judging import Executed, executed_by, items, killer
from generic.left_out import LEFT_OUT, SPOKEN
from generic.mutant import PACKAGE, Mutant
from generic.population import _spots, drawn, population
from generic.tree import adapter_of, copied

pytestmark = pytest.mark.mutation

READ = "action-reconciliation"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def sample() -> list:
    return drawn(1, 40)


def test_a_seed_draws_the_same_again_and_a_larger_count_goes_on(sample: list) -> None:
    assert [each.id for each in drawn(1, 10)] == [each.id for each in sample[:10]]
    assert [each.id for each in drawn(2, 10)] != [each.id for each in sample[:10]]


def test_each_mutant_has_an_id_of_its_own(sample: list) -> None:
    assert len({each.id for each in sample}) == len(sample)


def test_nothing_that_is_left_out_is_drawn() -> None:
    modules = {path.relative_to(PACKAGE).as_posix() for path, _ in population()}
    assert "snapshot/replay.py" in modules
    for name in LEFT_OUT:
        module, _, within = name.partition(":")
        assert (PACKAGE / module).exists()
        assert within or not any(each.startswith(name) for each in modules)


def test_a_function_that_is_left_out_has_no_mutants() -> None:
    of = "write/commit/transaction.py"
    places = [place for place in population() if place[0] == PACKAGE / of]
    found = drawn(1, len(places), places)
    within = {each.within for each in found}
    assert "Transaction.commit" in within
    for name in LEFT_OUT:
        assert not (name.startswith(f"{of}:") and name.partition(":")[2] in within)
    assert not any(each.was.startswith("_ATTEMPTS") for each in found)


def test_what_a_refusal_names_and_an_assertion_stay() -> None:
    found = _changes("scan/shredded.py")
    for kept in ("strict=True)", "place)"):
        calls = [(was, becomes) for was, becomes in found if was.endswith(kept)]
        changed = [to for was, to in calls if to.startswith(was.partition("(")[0])]
        assert len(changed) > 10
        assert all(each.endswith(kept) for each in changed)
    assert all((PACKAGE / module).exists() for module in SPOKEN)


def _changes(module: str) -> list[tuple[str, str]]:
    """Return the code of each change, before and after it."""
    whole, spots = _spots(PACKAGE / module)
    return [tuple(map(whole.code_for_node, (each.node, each.mutated))) for each in spots]  # type: ignore[misc]


def test_what_a_message_says_of_types_and_actions_stays() -> None:
    of = "log/checkpoints/columns.py"
    prose = '"a map from string to string"'
    assert prose in (PACKAGE / of).read_text()
    assert prose not in {was for was, _ in _changes(of)}
    found = _changes("log/checkpoints/reader.py")
    calls = [becomes for was, becomes in found if was.startswith("decode_path(")]
    assert len(calls) > 1
    assert all('action="sidecar"' in each for each in calls)


def test_what_errors_alone_say_stays() -> None:
    named = [was for was, _ in _changes("log/lines.py")]
    assert "named = " in (PACKAGE / "log/lines.py").read_text()
    assert not any(was.startswith(("named = ", "too_deep(")) for was in named)
    within = {spot.within for spot in _spots(PACKAGE / "write/alter/dropping.py")[1]}
    assert "drop_feature" in within
    assert "_blocked" not in within  # it returns an error


def test_what_a_function_uses_in_errors_alone_stays_where_it_is_called() -> None:
    named = error_parameters()
    assert named["encode_text"] == {1, "action"}
    assert "_scan" not in named
    calls = [becomes for was, becomes in _changes("write/commit/commit_file.py")]
    assert any("encode_text(None" in each for each in calls)
    assert not any("encode_text(line, None" in each for each in calls)
    rows = {was for was, _ in _changes("model/file_actions.py")}
    assert '"deletionTimestamp"' in rows
    assert '"CDC-008"' not in rows
    logged = [was for was, _ in _changes("write/commit/post_commit.py")]
    assert not any(was.startswith('"check') for was in logged)  # what a log line says


def test_a_place_that_a_refusal_names_stays() -> None:
    found = _changes("types/schema.py")
    assert ('"elementType"', '"ELEMENTTYPE"') in found
    assert '"element"' not in {was for was, _ in found}
    calls = [becomes for was, becomes in found if was.startswith("parse_type(_required")]
    assert len(calls) > 3
    assert all("(*place," in each or "inside" in each for each in calls)


def test_what_only_a_bound_on_memory_looks_at_stays() -> None:
    found = [was for was, _ in _changes("scan/data_file.py")]
    assert "decoded += " in (PACKAGE / "scan/data_file.py").read_text()
    assert not any(was.startswith("decoded += ") for was in found)
    assert any(was.startswith("start += ") for was in found)
    compared = [was for was, _ in _changes("write/rows/changes.py") if was.startswith("change ")]
    assert "change != " in (PACKAGE / "write/rows/changes.py").read_text()
    assert compared == []


def test_the_label_of_a_refusal_stays() -> None:
    found = [was for was, _ in _changes("scan/cdf.py")]
    assert not any(was.startswith("label = ") for was in found)
    assert any(was.startswith("other = ") for was in found)


def test_the_name_of_a_codec_is_not_changed_in_case_alone() -> None:
    found = _changes("model/partition_values.py")
    assert ('"latin-1"', '"XXlatin-1XX"') in found
    assert ('"latin-1"', '"LATIN-1"') not in found


def test_how_deep_an_expression_is_stays() -> None:
    found = [was for was, _ in _changes("expressions/parser.py")]
    assert any(was.startswith("self._expression(") for was in found)
    assert not any(was.startswith("self._depth") for was in found)
    found = [was for was, _ in _changes("expressions/tree.py")]
    assert "height = 1 + " in (PACKAGE / "expressions/tree.py").read_text()
    assert any(was.startswith("Node(kind") for was in found)
    assert not any(was.startswith(("height = ", "1 + ")) for was in found)


def test_the_white_space_of_json_stays() -> None:
    found = [becomes for was, becomes in _changes("model/wire.py") if was.startswith("json.dumps(")]
    assert any("ensure_ascii" not in each for each in found)
    assert all('separators=(",", ":")' in each for each in found)
    assert '":"' not in {was for was, _ in _changes("model/wire.py")}


def test_where_a_caller_lets_a_table_lead_stays() -> None:
    within = {spot.within for spot in _spots(PACKAGE / "places/policy.py")[1]}
    assert within == {"", "Policy", "family"}
    found = [becomes for was, becomes in _changes("table.py") if was.startswith("open_storage(")]
    assert "open_storage(None, options, outside=outside, stores=stores)" in found
    assert all("outside=outside, stores=stores" in each for each in found)


def test_the_two_lists_of_features_that_a_refusal_names_stay() -> None:
    said = {was for was, _ in _changes("model/protocol.py")}
    assert '"readerFeatures"' in (PACKAGE / "model/protocol.py").read_text()
    assert not said & {'"readerFeatures"', '"writerFeatures"'}
    assert "3" in said  # the version at which the list is there


def test_the_place_in_the_log_that_a_refusal_names_stays() -> None:
    found = [was for was, _ in _changes("write/commit/post_commit.py")]
    assert "LogPlace(" in (PACKAGE / "write/commit/post_commit.py").read_text()
    assert not any(was.startswith("LogPlace(") for was in found)


def test_sql_for_the_engine_is_changed_and_not_in_case_alone() -> None:
    found = _changes("expressions/render.py")
    assert ('"NULL"', '"XXNULLXX"') in found
    assert ('"NULL"', '"null"') not in found


def test_a_flag_that_is_false_is_not_given_no_value() -> None:
    found = _changes("write/rows/changes.py")
    assert ("False", "True") in found
    assert not any(was.endswith("= False") and becomes.endswith("= None") for was, becomes in found)


def test_a_mutant_is_one_change_that_compiles(sample: list) -> None:
    for each in sample:
        assert each.was != each.becomes
        assert each.code != (PACKAGE / each.module).read_text()


def _loaded() -> dict[str, ModuleType]:
    return {name: m for name, m in sys.modules.items() if name.startswith("reference_impl")}


def _of(module: str, text: str) -> Mutant:
    """Draw mutants of one module until one says a text."""
    places = [place for place in population() if place[0] == PACKAGE / module]
    return next(each for each in drawn(1, len(places), places) if text in each.becomes)


def test_the_judge_keeps_the_right_implementation(copy: Path, sample: list) -> None:
    before = _loaded()
    adapter = adapter_of(copy, sample[0])
    assert _loaded() == before
    assert adapter.describe().name == "ours"
    assert _loaded() == before


def test_what_is_imported_late_is_changed_and_the_rest_is_right(copy: Path) -> None:
    asked = [item for item in items() if item.id == "column-invariants/write-broken-later/write"]
    wrong = _of("write/rows/operations.py", "changes.insert(prepare(transaction, None))")
    right = replace(wrong, code=(PACKAGE / wrong.module).read_text())
    assert killer(copy, right, asked) is None
    assert killer(copy, wrong, asked) is not None


def test_what_executes_a_line_notices_its_mutant(copy: Path) -> None:
    asked = [n for n, item in enumerate(items()) if item.chapter == READ][:20]
    lines = executed_by(copy, asked, lambda _: None)
    assert lines.failed == []
    wrong = _of("snapshot/replay.py", "both = None")
    near = lines.candidates(wrong)
    assert set(near) <= set(asked)
    assert killer(copy, wrong, [items()[n] for n in asked]) is not None


def test_who_uses_a_constant_comes_first_for_its_mutant() -> None:
    of = "deletion_vectors/descriptor.py"
    text = (PACKAGE / of).read_text().splitlines()
    made, *_, used = (number for number, line in enumerate(text, 1) if "_WEIGHTS" in line)
    wrong = Mutant(of, made, "", "assignment", "", "", (made,))
    lines = Executed(seconds=dict.fromkeys(range(3), 0.0), on_import={(of, made)})
    lines.lines |= {(of, used): {2}, (of, used - 1): {0, 2}, ("limits.py", 1): {1}}
    assert lines.candidates(wrong) == [2, 0, 1]


def test_who_executes_what_few_execute_comes_early() -> None:
    of = "model/actions.py"
    lines = Executed(seconds={n: float(n) for n in range(40)})
    lines.lines |= {(of, 1): set(range(40)), ("snapshot/history.py", 1): {39}}
    assert 39 in lines.candidates(Mutant(of, 1, "", "number", "", "", (1,)))[:2]


def test_a_job_that_ends_its_process_costs_itself_alone() -> None:
    def leave(_report: object) -> None:
        raise SystemExit(3)

    found = dict(each_in_a_fork([leave, lambda _: 7], 2))
    assert found == {0: Ended("exit status 3"), 1: 7}


def test_shards_are_parts_of_the_draw(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--list", "--count", "7", "--seed", "1"])
    whole = capsys.readouterr().out.splitlines()
    parts = []
    for number in (1, 2):
        cli.main(["--list", "--count", "7", "--seed", "1", "--shard", f"{number}/2"])
        parts += capsys.readouterr().out.splitlines()
    assert sorted(parts) == sorted(whole)


def test_a_draw_can_be_of_one_folder(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--list", "--count", "5", "--seed", "1", "--below", "deletion_vectors/"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(line.split()[1].startswith("deletion_vectors/") for line in lines)
