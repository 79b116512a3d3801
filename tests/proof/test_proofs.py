"""What is proved is proved still, by a sample; and the committed proofs are of this table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from breaches import cli, proving, table
from breaches.proving import Task
from breaches.records import faults_of_proofs, render_proofs

from conformance.requirements.documents import RegistryError
from conformance.requirements.proofs import (
    PROVED,
    Proof,
    Proofs,
    load_proofs,
    proofs_of,
    read_proofs,
)
from conformance.requirements.registry import load_registry

SAMPLE = 12
"""Proofs that every run of the kit's tests takes again; which ones, the code's digest says."""


def test_a_sample_of_the_proofs_holds() -> None:
    assert cli.main(["--sample", str(SAMPLE), "--jobs", "1"]) == 0


def test_the_proofs_are_of_this_table_and_of_these_cases() -> None:
    proofs = load_proofs()
    kept = [proof for found in proofs.all.values() for proof in found]
    assert proofs.digest == proving.digest_of(kept), "run: tox run -e proof -- --write"
    known = {(task.id, task.requirement) for task in cli.tasks()}
    assert [p for p in kept if (p.id, p.requirement) not in known] == []


def test_every_must_of_2025_is_proved_or_has_a_reason() -> None:
    assert faults_of_proofs(load_proofs(), load_registry()) == []


def test_at_least_nine_tenths_of_the_musts_of_2025_are_proved() -> None:
    rows = [row for row in load_registry().for_revision("2025") if row.level == "MUST"]
    assert load_proofs().proved(rows) >= 0.9 * len(rows)


def test_every_breach_is_of_a_row_that_binds_who_is_wrong() -> None:
    registry = load_registry()
    for breach in table.load():
        row = registry[breach.breaks]
        assert (row.role == "reader") is (breach.kind == "reader") or "reader" in row.notice, breach


def test_shards_give_what_one_run_gives(tmp_path: Path) -> None:
    wanted = ["--only", "SIDE-00*", "--only", "REC-01*", "--kind", "reader", "--jobs", "1"]
    parts = []
    for number in (1, 2):
        path = tmp_path / f"{number}.json"
        cli.main([*wanted, "--shard", f"{number}/2", "--out", str(path)])
        parts.append(str(path))
    whole, merged = tmp_path / "whole.json", tmp_path / "merged.json"
    cli.main([*wanted, "--out", str(whole)])
    cli.main(["--merge", *parts, "--out", str(merged)])
    assert json.loads(merged.read_text()) == json.loads(whole.read_text())
    assert len(json.loads(whole.read_text())) > 8


def test_a_breach_that_no_case_shows_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = Task("harmless", "REC-018", "reader", lambda _known: None)
    monkeypatch.setattr(cli, "tasks", lambda: (harmless,))
    assert cli.main(["--jobs", "1"]) == 1
    assert "not proved: REC-018 reader harmless" in capsys.readouterr().out


def test_proofs_come_back_as_they_were_written(tmp_path: Path) -> None:
    proofs = [Proof("REC-018", "reader", "blind", "a/b/c"), Proof("ADD-001", "fault", "x", "t")]
    path = tmp_path / "proved.yaml"
    path.write_text(render_proofs("0" * 64, proofs))
    read = read_proofs(path)
    assert read.digest == "0" * 64
    assert {p for found in read.all.values() for p in found} == {*proofs}
    path.write_text(render_proofs("0" * 64, []))
    assert read_proofs(path).all == {}


def test_a_file_of_proofs_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "proved.yaml"
    line = "  - {breaks: REC-018, kind: luck, id: blind, case: a}\n"
    path.write_text(f"digest: {'0' * 64}\nproofs:\n{line}")
    with pytest.raises(RegistryError, match="luck"):
        read_proofs(path)


def test_a_row_without_proof_or_reason_is_a_fault(tmp_path: Path) -> None:
    unproved = tmp_path / "unproved.yaml"
    unproved.write_text("count: 1\nexceptions:\n  - reason: none\n    requirements: [REC-018]\n")
    proofs = Proofs("", {"REC-018": (Proof("REC-018", "reader", "blind", "a"),)})
    registry = load_registry()
    faults = faults_of_proofs(proofs, registry, unproved, lambda row: row.id == "REC-018")
    assert faults == ["REC-018 has a reason in unproved.yaml and a proof"]
    faults = faults_of_proofs(Proofs("", {}), registry, unproved, lambda row: row.id == "ADD-001")
    assert faults == [
        "ADD-001 has no proof and no reason in unproved.yaml",
        "REC-018 in unproved.yaml needs no proof",
    ]


def test_an_unknown_requirement_has_no_proofs() -> None:
    assert proofs_of("NONE-999") == ()
    assert PROVED.is_file()
