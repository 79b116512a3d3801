"""Parts of a run, and the run that they make together."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit_runs import UNCLAIMED, WRONG, Kit, make_kit

from conformance.base.status import Status
from conformance.cli import main
from conformance.report.results import read_results, write_results

pytest_plugins = ["pytester"]

CASES = ("one", "two", "three", "four", "five")


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    made = make_kit(pytester, monkeypatch)
    for name in CASES[:4]:
        made.case(name)
    made.case(CASES[4], WRONG)
    return made


def part(kit: Kit, shard: str, *options: str) -> Path:
    path = kit.folder / f"{shard.replace('/', '-of-')}.jsonl"
    kit(f"--tck-shard={shard}", f"--tck-results={path}", *options)
    return path


def replaced(kit: Kit, **case: Any) -> None:
    """Put another case in place of the one that fails."""
    shutil.rmtree(kit.corpus / "table-features" / CASES[4])
    kit.case(CASES[4], **case)


def merged(kit: Kit, *parts: Path | str) -> Status:
    return Status(main(["merge", f"--output={kit.results}", *map(str, parts)]))


def test_parts_make_the_run_that_a_whole_one_is(kit: Kit) -> None:
    whole = kit.folder / "whole.jsonl"
    status = kit(f"--tck-results={whole}")
    assert merged(kit, part(kit, "1/2"), part(kit, "2/2")) is status
    expected, found = read_results(whole), kit.read()
    assert found.header == expected.header
    assert found.records == expected.records
    leaving = {"digest"}
    assert {k: v for k, v in found.footer.items() if k not in leaving} == {
        k: v for k, v in expected.footer.items() if k not in leaving
    }


def test_each_case_is_in_one_part_and_parts_differ(kit: Kit) -> None:
    found = [read_results(part(kit, f"{number}/3")).records.keys() for number in (1, 2, 3)]
    assert sum(map(len, found)) == len(CASES)
    assert len(set().union(*found)) == len(CASES)
    assert max(map(len, found)) < len(CASES)


def test_a_missing_part_makes_the_run_partial(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    lacking = len(read_results(parts[1]).records)
    merged(kit, parts[0])
    reasons = kit.read().partial
    assert any("there is no part 2" in reason for reason in reasons)
    assert any(f"{lacking} selected case" in reason for reason in reasons)
    assert "PARTIAL" in capsys.readouterr().out


def test_no_part_is_missing_from_a_success(kit: Kit) -> None:
    replaced(kit)
    assert merged(kit, part(kit, "1/2"), part(kit, "2/2")) is Status.OK
    for number in (1, 2):
        assert merged(kit, part(kit, f"{number}/2")) is Status.INTERRUPTED
        assert kit.read().footer["status"] == Status.INTERRUPTED


def test_the_whole_is_held_to_a_least_share(kit: Kit) -> None:
    replaced(kit, specs={"read-latest": UNCLAIMED})
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    assert merged(kit, *parts) is Status.OK
    assert merged(kit, *parts, "--min-judged=100") is Status.TOO_FEW_JUDGED
    assert merged(kit, *parts, "--min-judged=80") is Status.OK


def test_a_part_that_was_cut_short_makes_the_run_partial(kit: Kit) -> None:
    chosen = "table-features/one or table-features/two"  # as -k looks at names of folders too
    parts = [part(kit, "1/2", "-k", chosen), part(kit, "2/2", "-k", chosen)]
    merged(kit, *parts)
    assert any(f"-k {chosen}" in reason for reason in kit.read().partial)


def test_parts_that_do_not_belong_together_are_refused(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    first = part(kit, "1/2")
    again = kit.folder / "again.jsonl"
    again.write_bytes(first.read_bytes())
    third = part(kit, "3/3")
    whole = kit.folder / "whole.jsonl"
    kit(f"--tck-results={whole}")
    other = part(kit, "2/2", "--tck-revision=2025")
    for given, words in (
        ((first, again), "both part 1"),
        ((first, third), "one of 2 parts"),
        ((first, whole), "is of a whole run"),
        ((first, other), "different runs: revision"),
    ):
        assert merged(kit, *given) is Status.USAGE
        assert words in capsys.readouterr().err


def test_a_malformed_shard_is_refused(kit: Kit) -> None:
    for shard in ("0/2", "3/2", "1", "a/b", "1/0"):
        assert kit(f"--tck-shard={shard}") is Status.USAGE, shard
    assert "K/N" in kit.output


def test_a_part_does_not_check_its_share_against_the_baseline_of_the_whole(kit: Kit) -> None:
    baseline = kit.folder / "baseline.yaml"
    kit(f"--tck-write-baseline={baseline}", f"--tck-results={kit.results}")
    assert "judged:\n  upstream:" in baseline.read_text()
    path = part(kit, "1/2", f"--tck-baseline={baseline}")
    assert json.loads(path.read_text().splitlines()[-1])["status"] == Status.OK


def test_the_whole_is_held_to_the_counts_of_a_baseline(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    """No part is, so that a chapter which lost its claims stays unseen there."""
    replaced(kit)
    baseline = kit.folder / "baseline.yaml"
    kit(f"--tck-write-baseline={baseline}")
    option = f"--baseline={baseline}"
    assert merged(kit, *(part(kit, f"{number}/2") for number in (1, 2)), option) is Status.OK
    replaced(kit, specs={"read-latest": UNCLAIMED})
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    assert merged(kit, *parts) is Status.OK
    assert merged(kit, *parts, option) is Status.TOO_FEW_JUDGED
    assert kit.read().footer["status"] == Status.TOO_FEW_JUDGED
    words = "TOO FEW: judged 4 of table-features, and the baseline asks for 5"
    assert words in capsys.readouterr().out
    chosen = "--tck-case=table-features/one"
    parts = [part(kit, f"{number}/2", chosen) for number in (1, 2)]
    assert merged(kit, *parts, option) is Status.OK


def test_an_empty_part_says_so(kit: Kit) -> None:
    found = {}
    for number in (1, 2):
        status = kit("--tck-case=table-features/one", f"--tck-shard={number}/2")
        found[status] = kit.output
    words = "EMPTY PART: none of 1 selected cases is in part"
    assert words in found[Status.EMPTY_SELECTION]
    assert words not in found[Status.OK]


def test_complete_parts_lack_nothing(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(kit)
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    for path in parts:
        found = read_results(path)
        header = {**found.header, "shard": {**found.header["shard"], "selected": 9}}
        write_results(replace(found, header=header), path)
    assert merged(kit, *parts) is Status.USAGE
    assert "9 cases were selected, and parts that say they are complete have 5" in (
        capsys.readouterr().err
    )


def test_parts_that_overlap_are_refused(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    """A pass of one part would take the place of a failure of the other."""
    replaced(kit)
    first = part(kit, "1/2")
    found = read_results(first)
    shard = {**found.header["shard"], "number": 2}
    write_results(replace(found, header={**found.header, "shard": shard}), kit.folder / "2.jsonl")
    assert merged(kit, first, kit.folder / "2.jsonl") is Status.USAGE
    assert "another part has as well" in capsys.readouterr().err


def test_parts_have_no_more_cases_than_were_selected(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    most = max(len(read_results(path).records) for path in parts)
    for path in parts:
        found = read_results(path)
        header = {**found.header, "shard": {**found.header["shard"], "selected": most}}
        footer = {**found.footer, "partial": ["it was cut short"]}
        write_results(replace(found, header=header, footer=footer), path)
    assert merged(kit, *parts) is Status.USAGE
    assert "were selected" in capsys.readouterr().err


@pytest.mark.parametrize("link", [False, True])
def test_no_part_is_lost_to_the_output(
    kit: Kit, capsys: pytest.CaptureFixture[str], *, link: bool
) -> None:
    parts = [part(kit, f"{number}/2") for number in (1, 2)]
    before = [path.read_bytes() for path in parts]
    output = kit.folder / "link.jsonl" if link else parts[1]
    if link:
        output.symlink_to(parts[1])
    for command in (["merge"], ["report"]):
        assert main([*command, f"--output={output}", *map(str, parts)]) != Status.OK
        assert "is read there" in capsys.readouterr().err
    assert [path.read_bytes() for path in parts] == before


def test_no_baseline_is_lost_to_the_results(kit: Kit) -> None:
    path = kit.folder / "baseline.yaml"
    kit(f"--tck-write-baseline={path}")
    before = path.read_bytes()
    for option in ("--tck-baseline", "--tck-write-baseline"):
        assert kit(f"{option}={path}", f"--tck-results={path}") is Status.USAGE
        assert "is read there" in kit.output
        assert path.read_bytes() == before
    new = kit.folder / "new"
    assert kit(f"--tck-write-baseline={new}", f"--tck-results={new}") is Status.USAGE
