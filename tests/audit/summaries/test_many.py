"""What many checkpoints and compactions cost: nothing is read or replayed again for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import schemas
from conformance.audit import Finding, audit
from conformance.audit.grammar.retention import retention
from conformance.audit.read import raw
from conformance.audit.read.state import State
from conformance.audit.summaries import checkpoints
from reference_impl import Limits, Table

LOG = "_delta_log"


def counting(monkeypatch: pytest.MonkeyPatch, of: Any, name: str) -> list[Any]:
    """Count the calls of a function from here on."""
    calls: list[Any] = []
    right = getattr(of, name)

    def counted(*given: Any, **options: Any) -> Any:
        calls.append(given)
        return right(*given, **options)

    monkeypatch.setattr(of, name, counted)
    return calls


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a table of 31 commits, each after the first with a transaction."""
    root = tmp_path / "t"
    Table(root).create(pa.schema([("id", pa.int64())]), features=["domainMetadata"])
    for version in range(1, 31):
        line = {"txn": {"appId": f"a{version % 5}", "version": version}}
        (root / LOG / f"{version:020d}.json").write_text(json.dumps(line) + "\n")
    return root


def compact(root: Path, start: int, end: int, text: str | None = None) -> None:
    """Write a compaction; one that is right where no text is given."""
    last = {f"a{version % 5}": version for version in range(start, end + 1)}
    lines = (json.dumps({"txn": {"appId": a, "version": v}}) + "\n" for a, v in last.items())
    name = f"{start:020d}.{end:020d}.compacted.json"
    (root / LOG / name).write_text("".join(lines) if text is None else text)


def compacted(findings: list[Finding]) -> set[tuple[str, str, str]]:
    return {
        (each.requirement, place, each.message)
        for each in findings
        for place in (each.places or [each.place])
        if "compact" in each.place
    }


def test_compactions_of_one_start_go_on_with_each_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in (1, 2):
        for end in range(start + 1, 31):
            compact(root, start, end)
    calls = counting(monkeypatch, State, "apply")
    assert audit(str(root)) == []
    # Each compaction is applied, each commit once for the table and once for a start.
    assert len(calls) < 57 + 31 + 2 * 31


def test_a_wrong_compaction_is_found_alone_and_among_others(root: Path) -> None:
    wrong = '{"txn":{"appId":"a1","version":1}}\n'
    ranges = [(1, 4), (1, 9), (1, 30), (2, 5), (2, 40), (3, 4), (6, 12), (6, 13)]
    alone = set()
    for start, end in ranges:
        compact(root, start, end, wrong)
        alone |= compacted(audit(str(root)))
        for path in (root / LOG).glob("*.compacted.json"):
            path.unlink()
    for start in range(1, 8):
        for end in range(start + 1, 31):
            compact(root, start, end, wrong if (start, end) in ranges else None)
    compact(root, 2, 40, wrong)
    together = compacted(audit(str(root)))
    assert together == alone
    assert {place for _, place, _ in together} > {f"{LOG}/{1:020d}.{9:020d}.compacted.json"}


def test_a_compaction_over_a_gap_keeps_no_other_from_being_compared(root: Path) -> None:
    (root / LOG / f"{20:020d}.json").write_text("{")
    for end in (5, 25, 26):
        compact(root, 1, end, '{"txn":{"appId":"a1","version":1}}\n')
    compact(root, 2, 4, '{"txn":{"appId":"a1","version":1}}\n')
    places = {
        place for requirement, place, _ in compacted(audit(str(root))) if requirement[0:4] == "COMP"
    }
    assert places == {
        f"{LOG}/{1:020d}.{5:020d}.compacted.json",
        f"{LOG}/{2:020d}.{4:020d}.compacted.json",
    }


def test_what_overlapping_compactions_replay_has_a_limit(root: Path) -> None:
    for start in range(1, 29):
        compact(root, start, 30)
    (found,) = audit(str(root), limits=Limits(compacted=100))
    assert (found.severity, found.limit, found.requirement) == ("warning", "compacted", "COMP-004")
    assert audit(str(root), limits=Limits(compacted=1000)) == []


def test_the_same_broken_line_is_explained_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for end in range(2, 30):
        compact(root, 1, end, '{"txn":{"appId":7}}\n')
    calls = counting(monkeypatch, schemas, "errors")
    found = [each for each in audit(str(root)) if "appId" in each.message]
    assert found
    assert {each.count for each in found} == {28}
    assert calls.count(("log/commit-line", {"txn": {"appId": 7}})) <= 1


def test_commits_before_the_ranges_of_compactions_are_searched_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(1, 31):
        domain = {"domain": f"d{version}", "configuration": "", "removed": True}
        line = json.dumps({"domainMetadata": domain}) + "\n"
        (root / LOG / f"{version:020d}.json").write_text(line)
    for start in range(2, 30):
        compact(root, start, start + 1, '{"txn":{"appId":"a","version":1}}\n')
    calls = counting(monkeypatch, raw.Lines, "of")
    lacking = [each for each in audit(str(root)) if "which began in its range" in each.message]
    assert sum(each.count for each in lacking) == 2 * 28
    assert sum(actions == ["domainMetadata"] for _, *actions in calls) < 10 * 31


def test_checkpoints_without_statistics_are_read_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "t"
    table = Table(root)
    table.create(pa.schema([("id", pa.int64())]), features=["domainMetadata"])
    table.append(pa.table({"id": [1]}))
    for version in range(1, 21):
        if version > 1:
            (root / LOG / f"{version:020d}.json").write_text('{"commitInfo":{}}\n')
        table.checkpoint()
        path = root / LOG / f"{version:020d}.checkpoint.parquet"
        held = pq.read_table(path)
        adds = [
            each and {**each, "stats": None} for each in held["add"].to_pylist(maps_as_pydicts=None)
        ]
        at = held.schema.get_field_index("add")
        held = held.set_column(at, "add", pa.array(adds, held.schema.field("add").type))
        pq.write_table(held, path)
    reads = counting(monkeypatch, raw, "parquet_parts")
    keys = counting(monkeypatch, checkpoints, "file_key")
    findings = audit(str(root), data=False)
    lost = [each.place for each in findings if each.requirement == "CKC-018"]
    assert lost == [f"{LOG}/{1:020d}.checkpoint.parquet"]
    assert len(reads) < 2 * 20
    assert len(keys) < 5 * 20


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("interval " + "1 days " * 60 + "!", 7),
        ("interval " + "1 s " * 60 + "!", 7),
        ("1 " * 1_000_000, 7),
        ("interval 1 week 2 days", 9),
        ("INTERVAL 24 Hours", 1),
        ("3 dayss", 7),
        ("interval 3", 7),
    ],
)
@pytest.mark.usefixtures("ends")
def test_an_interval_is_read_in_time_of_its_length(text: str, days: int) -> None:
    assert retention({"delta.deletedFileRetentionDuration": text}) == days * 86_400_000


def test_what_compactions_of_a_cut_log_replay_has_a_limit(root: Path) -> None:
    for start in range(1, 29):
        compact(root, start, 30)
    for version in range(29):
        (root / LOG / f"{version:020d}.json").unlink()
    found = audit(str(root), limits=Limits(compacted=20))
    assert {each.limit for each in found if each.requirement == "COMP-004"} == {"compacted"}
    assert not any(each.limit for each in audit(str(root), limits=Limits(compacted=1000)))
