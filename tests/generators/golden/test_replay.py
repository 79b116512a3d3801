"""The naive replay: it agrees with the tables that delta-rs wrote, and notices when it may not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from generators.golden.build import CORPUS, read_manifest
from generators.golden.cases.replay import replay_differences

_WRITTEN = sorted(
    case_id
    for case_id, entry in read_manifest()["cases"].items()
    if entry["builder"] == "deltalake"
)
_CASE = "action-reconciliation/delta-rs-delete-update-merge"


@pytest.mark.parametrize("case_id", _WRITTEN)
def test_tables_of_delta_rs_replay_to_their_expected_rows(case_id: str) -> None:
    assert replay_differences(CORPUS / case_id) == []


@pytest.fixture
def case(tmp_path: Path) -> Path:
    shutil.copytree(CORPUS / _CASE, tmp_path / "case")
    return tmp_path / "case"


def test_a_lost_remove_is_noticed(case: Path) -> None:
    for commit in (case / "delta/_delta_log").glob("*.json"):
        lines = commit.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if '"remove"' not in line]
        commit.write_text("\n".join(kept) + "\n", encoding="utf-8")
    found = replay_differences(case)
    assert any("read-latest: a replay has" in line for line in found)


def test_a_missing_commit_is_noticed(case: Path) -> None:
    (case / "delta/_delta_log" / f"{2:020d}.json").unlink()
    assert "read-v2: commit 2 is missing" in replay_differences(case)


def test_a_feature_is_not_passed_over(case: Path) -> None:
    commit = case / "delta/_delta_log" / f"{0:020d}.json"
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    text = commit.read_text(encoding="utf-8")
    commit.write_text(json.dumps({"protocol": protocol}) + "\n" + text, encoding="utf-8")
    assert all("does not know" in line for line in replay_differences(case))


def test_a_case_without_reads_is_no_proof(case: Path) -> None:
    for spec in (case / "specs").glob("read-*.json"):
        spec.unlink()
    assert replay_differences(case) == ["no read to replay"]
