"""The job audit finds the tables of a fleet, keeps findings once and goes on where it stopped."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.base.faults import OutputError, SelectionError
from conformance.pipeline.audit import job, run_audit_job
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.job import sizes_of
from conformance.pipeline.audit.places import tables_of
from conformance.pipeline.audit.split import Size, buckets_for
from conformance.pipeline.audit.store import AuditStore, TableAudit
from conformance.pipeline.spread import in_this_process


def _lake(root: Path) -> Any:
    path = Path(__file__).parents[2] / "audit" / "conftest.py"
    spec = importlib.util.spec_from_file_location("audit_conftest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Lake(root).basic()


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three tables, of which one names a file with an unescaped space."""
    root = tmp_path / "lake"
    for name in ("a", "b/c", "b/d"):
        lake = _lake(root / name)
        if name == "b/c":
            lake.commit(lake.file("x y.parquet"))
    return root


def _run(*arguments: str) -> int:
    return run_audit_job(["--master=none", *arguments])


def test_a_fleet_is_named_listed_and_found(fleet: Path, tmp_path: Path) -> None:
    listed = tmp_path / "tables.txt"
    listed.write_text(f"# mine\n{fleet}/a\n")
    assert tables_of([f"{fleet}/b/*"], [listed], []) == [f"{fleet}/b/{x}" for x in "cd"] + [
        f"{fleet}/a"
    ]
    assert tables_of([], [], [str(fleet)]) == [f"{fleet}/{x}" for x in ("a", "b/c", "b/d")]


def test_what_names_no_table_is_refused(fleet: Path) -> None:
    with pytest.raises(SelectionError, match="no table fits"):
        tables_of([f"{fleet}/z*"], [], [])
    with pytest.raises(SelectionError, match="no table is named"):
        _run()


def test_a_fleet_is_reported_as_one(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert _run("--below", str(fleet), "--format=json", f"--output={out}") == 1
    reports = json.loads(out.read_text())
    assert [report["counts"]["error"] for report in reports] == [0, 1, 0]


@pytest.mark.parametrize("what", ["fifo", "/dev/zero", "folder", "latin"])
def test_a_list_of_tables_is_a_text_of_bounded_size(tmp_path: Path, what: str) -> None:
    path = tmp_path / "tables.txt"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "latin":
        path.write_bytes(b"t\xe4ble")
    else:
        path.symlink_to(what)
    with pytest.raises(SelectionError, match="cannot be read"):
        tables_of([], [path], [])


def test_a_report_takes_the_place_of_no_list_and_waits_for_no_reader(
    fleet: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "tables.txt"
    listed.write_text(f"{fleet}/a\n")
    with pytest.raises(OutputError, match="is read there"):
        _run(f"--tables-from={listed}", f"--output={listed}")
    assert listed.read_text() == f"{fleet}/a\n"
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OutputError, match="cannot be written"):
        _run(f"{fleet}/a", f"--output={tmp_path / 'fifo'}")


def test_a_process_that_is_killed_changes_no_finding(fleet: Path, tmp_path: Path) -> None:
    many = [f"{fleet}/a", f"{fleet}/b/c"]
    for number in range(16):
        shutil.copytree(fleet / "b" / "c", tmp_path / "many" / str(number))
        many.append(str(tmp_path / "many" / str(number)))
    before = set(multiprocessing.active_children())
    killed = []

    def kill() -> None:
        while not killed:
            for each in set(multiprocessing.active_children()) - before:
                each.kill()
                killed.append(each)
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    out = tmp_path / "out.json"
    assert _run(*many, "--format=json", f"--output={out}") == 1
    thread.join()
    assert killed
    reports = json.loads(out.read_text())
    assert [report["counts"]["error"] for report in reports] == [0] + 17 * [1]
    assert [report["table"] for report in reports] == many


def test_findings_are_kept_once_however_often_the_job_is_run(fleet: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    for _ in range(2):
        assert _run("--below", str(fleet), "--store", store, "--run=one") == 1
    outcomes = {each.table: each for each in AuditStore(store, "one").outcomes()}
    assert {Path(table).name: each.status for table, each in outcomes.items()} == {
        "a": "clean",
        "c": "nonconforming",
        "d": "clean",
    }
    assert [each.requirement for each in outcomes[f"{fleet}/b/c"].findings] == ["ADD-004"]


def test_no_store_keeps_a_secret_of_a_url(tmp_path: Path) -> None:
    table, shown = "https://user:hidden@host/t?sig=hidden", "https://…@host/t?sig=…"
    kept = AuditStore(str(tmp_path / "store"), "one")
    kept.plan([[(table, Size(1, 1))]])
    kept.add(0, [TableAudit(table, fault="no")])
    assert kept.planned([table]) == [[(table, Size(1, 1))]]
    assert kept.planned([]) == [[(shown, Size(1, 1))]]
    assert [each.table for each in kept.outcomes()] == [shown]


def test_a_part_that_was_kept_by_half_is_kept_once(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "store")
    kept = AuditStore(store, "one")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kept._audits.__class__, "add", _dying(die, kept._audits.location))
        with pytest.raises(KeyboardInterrupt):
            _run("--below", str(fleet), "--store", store, "--run=one")
    assert kept.done() == 0
    assert _run("--below", str(fleet), "--store", store, "--run=one") == 1
    assert sum(len(each.findings) for each in kept.outcomes()) == 1


def _dying(die: Any, location: str) -> Any:
    from conformance.pipeline.store import StoredTable  # noqa: PLC0415  the real one, unpatched

    add = StoredTable.add

    def run(self: StoredTable, *arguments: Any) -> bool:
        if self.location == location:
            die()
        return add(self, *arguments)

    return run


def test_a_place_without_a_table_is_reported_and_the_rest_audited(
    fleet: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    assert _run(f"{fleet}/a", f"{fleet}/b", "--store", store, "--run=one") == 2
    outcomes = {each.table: each.status for each in AuditStore(store, "one").outcomes()}
    assert outcomes == {f"{fleet}/a": "clean", f"{fleet}/b": "unusable"}


def test_a_dry_run_writes_nothing(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert _run("--below", str(fleet), "--store", str(store), "--dry-run") == 0
    assert "3 tables with" in capsys.readouterr().err
    assert not store.exists()


def test_a_large_table_is_a_part_of_its_own() -> None:
    options = job._parser().parse_args(["x", "--large=10"])
    a, b, c = ("a", Size(50, 5)), ("b", Size(100, 10)), ("c", Size())
    assert job._parts([a, b, c], options, 2) == [[b], [a, c]]


def test_sidecars_count_for_the_size_of_a_log(tmp_path: Path) -> None:
    lake = _lake(tmp_path / "table")
    before = sizes_of(in_this_process, Options(), [str(lake.root)])[0]
    lake.write("_sidecars/one.parquet", b"x" * 30_000_000)
    (after,) = sizes_of(in_this_process, Options(), [str(lake.root)])
    assert after.bytes == before.bytes + 30_000_000
    assert after.actions == before.actions + 1_000_000
    assert buckets_for(after) == 2


def test_an_outcome_has_the_status_of_its_gravest_finding() -> None:
    assert TableAudit("t").status == "clean"
    assert TableAudit("t", fault="gone").status == "unusable"
