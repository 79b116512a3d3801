"""The corpus in the repository: every file keeps to its format and to its builders."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import schemas
from conformance.requirements.registry import load_registry
from generators.golden.build import CORPUS, check_corpus, read_manifest
from generators.golden.chapters import all_definitions
from generators.spec_files import FOLDERS, spec_folder

_REBUILT_EVERY = 15
"""One case in so many is rebuilt here; the golden check of the continuous build does all."""


def _documents(pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(CORPUS.glob(pattern)):
        yield path, json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def specs() -> list[tuple[Path, dict[str, Any]]]:
    return [each for folder in FOLDERS for each in _documents(f"*/*/{folder}/*.json")]


@pytest.fixture(scope="module")
def cases() -> list[tuple[Path, dict[str, Any]]]:
    return list(_documents("*/*/case.json"))


def test_the_corpus_has_its_size(cases: list[Any], specs: list[Any]) -> None:
    assert len(cases) >= 400
    assert len(specs) >= 2000


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("kit/case", "*/*/case.json"),
        ("kit/table-info", "*/*/table_info.json"),
        *(("kit/spec", f"*/*/{folder}/*.json") for folder in FOLDERS),
    ],
)
def test_every_file_is_valid_under_its_schema(schema: str, pattern: str) -> None:
    wrong = [(str(path), schemas.errors(schema, content)) for path, content in _documents(pattern)]
    assert [each for each in wrong if each[1]] == []


def test_a_spec_lies_in_the_folder_of_its_type_under_a_slug_of_its_own(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    wrong = [str(path) for path, spec in specs if path.parent.name != spec_folder(spec["type"])]
    assert wrong == []
    slugs = [(path.parents[1], path.name) for path, _ in specs]
    assert len(slugs) == len(set(slugs))


def test_ids_are_places_and_chapters_are_the_registrys(
    cases: list[tuple[Path, dict[str, Any]]],
) -> None:
    chapters = set(load_registry().chapters)
    for path, case in cases:
        assert case["id"] == path.parent.relative_to(CORPUS).as_posix()
        assert case["id"].split("/")[0] in chapters


def test_every_requirement_is_in_the_registry(
    cases: list[tuple[Path, dict[str, Any]]], specs: list[tuple[Path, dict[str, Any]]]
) -> None:
    registry = load_registry()
    unknown = {
        (str(path), cited)
        for path, content in [*cases, *specs]
        for cited in content["requirements"]
        if cited not in registry
    }
    assert unknown == set()


def test_a_refusal_names_a_clause_that_readers_have_to_notice(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    registry = load_registry()
    for path, spec in specs:
        if spec["type"] != "write" and "error" in spec:
            assert "reader" in registry[spec["error"]["requirement"]].notice, path


def test_expected_data_has_the_rows_that_the_spec_counts(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    seen = 0
    for path, spec in specs:
        folder = path.parents[1] / "expected" / path.stem
        answers = {"": spec.get("expected")}
        if spec["type"] == "contested":
            answers = {each["name"]: each.get("expected") for each in spec["contested"]["accepted"]}
        for name, answer in answers.items():
            place = folder / name / "expected_data" / "part-0.parquet"
            if answer is not None and "rowCount" in answer:
                assert pq.read_metadata(place).num_rows == answer["rowCount"], place
                seen += 1
    assert seen > 1000


def test_titles_state_what_holds(
    cases: list[tuple[Path, dict[str, Any]]], specs: list[tuple[Path, dict[str, Any]]]
) -> None:
    for path, content in [*cases, *specs]:
        words = content["title"].lower().split()
        assert "should" not in words, path
        assert len(content["title"]) <= 70, path


def test_no_title_has_a_version_or_a_configuration_where_there_is_none(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    nothing = ({"txnVersion": None}, {"configuration": None})
    titles = {spec["title"] for _, spec in specs if spec.get("expected") in nothing}
    assert any(title.endswith("is not set") for title in titles)
    assert [title for title in titles if " newest txn" in title or " last set" in title] == []


def test_several_hands_wrote_the_corpus(cases: list[tuple[Path, dict[str, Any]]]) -> None:
    builders = Counter(case["provenance"]["builder"] for _, case in cases)
    assert builders["kit"] >= 300
    assert builders["deltalake"] >= 8
    assert builders["spark"] >= 10


def test_every_defined_case_is_in_the_corpus_and_the_reverse() -> None:
    manifest = read_manifest()["cases"]
    defined = {definition.info.id for definition in all_definitions()}
    assert defined == {name for name, entry in manifest.items() if entry["builder"] == "kit"}


def test_a_sample_of_the_corpus_rebuilds_to_itself() -> None:
    sample = all_definitions()[::_REBUILT_EVERY]
    assert len(sample) > 25
    drifts = check_corpus(sample)
    assert [(drift.case_id, drift.details) for drift in drifts] == []


def test_a_domain_of_the_system_may_be_kept_from_users(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    wrong = []
    for path, spec in specs:
        if not spec.get("domain", "").startswith("delta."):
            continue
        readings = spec.get("contested", {}).get("accepted", [spec])
        if {"configuration": None} not in [each.get("expected") for each in readings]:
            wrong.append(str(path))
    assert wrong == []


def test_a_case_of_the_oldest_text_has_no_form_that_came_later(
    cases: list[tuple[Path, dict[str, Any]]],
) -> None:
    """The text of 2021 knows no reader version 3, and of timestamps whole seconds alone."""
    later = re.compile(r"\d{4}-\d\d-\d\d(T| \d\d:\d\d:\d\d\.)")
    wrong = []
    for path, case in cases:
        if "2021" not in case["revision"]:
            continue
        for action in _actions(path.parent):
            texts = _part(_part(action, "add"), "partitionValues").values()
            if _part(action, "protocol").get("minReaderVersion") == 3 or any(
                isinstance(text, str) and later.match(text) for text in texts
            ):
                wrong.append(case["id"])
                break
    assert wrong == []


def test_no_answer_alone_is_demanded_for_a_time_after_the_newest_version(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    """By no clause a time that no version has reached yet is that of the newest one."""
    wrong = []
    for path, spec in specs:
        if "timestamp" in spec and "expected" in spec:
            asked = datetime.strptime(spec["timestamp"] + " +0000", "%Y-%m-%d %H:%M:%S.%f %z")
            if asked.timestamp() * 1000 > _newest_time(path.parent.parent, spec) + 0.5:
                wrong.append(str(path))
    assert wrong == []


def test_a_text_that_knows_no_removal_may_have_a_drop_of_a_feature_refused(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    wrong = []
    for path, spec in specs:
        operations = [step["operation"] for step in spec.get("operations", ())]
        if "drop_feature" not in operations:
            continue
        case = json.loads((path.parents[1] / "case.json").read_text(encoding="utf-8"))
        readings = spec.get("contested", {}).get("accepted", [spec])
        last = len(operations) - 1
        refused = [
            operations[at]
            for each in readings
            if "error" in each
            for at in each.get("steps", [last])
        ]
        if "2025" in case["revision"] and "drop_feature" not in refused:
            wrong.append(case["id"])
    assert wrong == []


_NEEDING = {
    "add_constraint": "checkConstraints",
    "cluster_by": "clustering",
    "set_default": "allowColumnDefaults",
}
"""Operations that a writer may refuse while their feature is not supported."""


def test_a_recipe_lists_the_feature_that_a_step_needs_or_may_be_refused(
    specs: list[tuple[Path, dict[str, Any]]],
) -> None:
    wrong = []
    for path, spec in specs:
        if spec["type"] != "write" or "given" in spec:
            continue
        first, *steps = spec["operations"]
        listed = {*first.get("features", ())}
        listed |= {"clustering"} if "clustering_columns" in first else set()
        listed |= {step["feature"] for step in steps if step["operation"] == "enable_feature"}
        carried_out = steps[:-1] if "error" in spec else steps
        needed = {_NEEDING.get(step["operation"]) for step in carried_out}
        needed |= {"appendOnly"} if spec.get("error", {}).get("requirement") == "APP-002" else set()
        if needed - {None} - listed:
            wrong.append(path.parents[1].name)
    assert wrong == []


def _newest_time(case: Path, spec: dict[str, Any]) -> int:
    """Return the largest time, in ms, that a version has by its file or by its commit."""
    texts = [path.read_text("utf-8") for path in case.glob("delta/_delta_log/**/*.json")]
    texts += [each.get("content", "") for each in spec.get("ratified", {}).get("commits", ())]
    stamps: list[int] = [
        action["commitInfo"].get("inCommitTimestamp") or 0
        for text in texts
        for action in _parsed(text)
        if isinstance(action.get("commitInfo"), dict)
    ]
    document = json.loads((case / "case.json").read_text(encoding="utf-8"))
    # A published file has a time of its own, by which no version of a catalog goes.
    times: dict[str, int] = {} if "ratified" in spec else document.get("file_times", {})
    return max(*stamps, *times.values(), 0, 0)


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object within one; cases of broken logs have other values there."""
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _actions(case: Path) -> Iterator[dict[str, Any]]:
    for path in case.glob("delta/_delta_log/*.json"):
        yield from _parsed(path.read_text(encoding="utf-8", errors="replace"))


def _parsed(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        with suppress(ValueError):
            action = json.loads(line)
            if isinstance(action, dict):
                yield action
