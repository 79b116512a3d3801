"""The command line prints what an audit finds, and its status says so."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import schemas
from conformance.audit import CHECKS, run_audit_cli
from conformance.audit.forms import FORMS


def test_a_clean_table_exits_0(lake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lake.basic()
    assert run_audit_cli([str(lake.root)]) == 0
    assert capsys.readouterr().out == f"{lake.root}: 0 error, 0 warning, 0 info\n"


def test_an_error_exits_1_and_says_what_where_and_why(
    lake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic().commit(lake.file("c.parquet", size=1))
    assert run_audit_cli([str(lake.root)]) == 1
    out = capsys.readouterr().out
    assert "error: ADD-006 (Add File and Remove File: add): " in out
    assert "  c.parquet: the file has " in out
    assert out.endswith("1 error, 0 warning, 0 info\n")


def test_a_warning_alone_exits_0(lake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lake.basic().commit(lake.file("c.parquet", pa.table({"id": [1], "own": [1]})))
    assert run_audit_cli([str(lake.root)]) == 0
    assert "warning: WCON-001" in capsys.readouterr().out


def test_many_findings_of_a_kind_are_cut_in_text_and_whole_in_json(
    lake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic().commit(*(lake.file(f"c{n}.parquet", size=1) for n in range(14)))
    assert run_audit_cli([str(lake.root)]) == 1
    assert "  … and 4 more\n" in capsys.readouterr().out
    assert run_audit_cli([str(lake.root), "--format=json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert schemas.errors("kit/audit", document) == []
    assert document["counts"] == {"error": 14, "warning": 0, "info": 0}
    assert document["table"] == str(lake.root)


def test_data_files_can_be_left_alone(lake: Any) -> None:
    lake.basic().commit(lake.file("c.parquet", size=1))
    assert run_audit_cli([str(lake.root), "--no-data"]) == 0


def test_the_checks_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit_cli(["--checks"]) == 0
    out = capsys.readouterr().out
    assert "Report removed data while the table is append-only.\n  APP-002\n" in out
    assert out.count("\n") == 2 * len(CHECKS)


def test_a_missing_table_argument_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit_cli([]) == 2
    assert "TABLE is missing" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--format=xml", "x"], ["a", "b"]])
def test_bad_arguments_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit_cli(argv) == 2
    assert "usage: delta-tck audit" in capsys.readouterr().err


def test_help_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit_cli(["--help"]) == 0
    assert "exit status" in capsys.readouterr().out


def test_no_table_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audit_cli([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"delta-tck audit: {tmp_path}: ")


def test_the_module_runs(lake: Any) -> None:
    lake.basic()
    command = [sys.executable, "-m", "conformance.audit", str(lake.root)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  our own module
    assert (ran.returncode, ran.stderr) == (0, "")


def test_sarif_has_a_result_for_each_finding_with_all_of_its_places(
    lake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic().commit(*(lake.file(f"c {n}.parquet", size=1) for n in range(14)))
    assert run_audit_cli([str(lake.root), "--format=sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (sizes,) = (each for each in run["results"] if each["ruleId"] == "ADD-006")
    assert (sizes["level"], sizes["occurrenceCount"], len(sizes["locations"])) == ("error", 14, 14)
    assert run["tool"]["driver"]["rules"][sizes["ruleIndex"]]["id"] == "ADD-006"
    paths = (each for each in run["results"] if each["ruleId"] == "ADD-004")
    physical = next(paths)["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == f"_delta_log/{3:020d}.json"
    assert physical["region"] == {"startLine": 1}


def test_a_finding_at_many_places_is_reported_once(
    lake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic().commit(*(lake.file(f"c{n}.parquet", size=1) for n in range(3)))
    assert run_audit_cli([str(lake.root)]) == 1
    out = capsys.readouterr().out
    assert out.count("add.size says 1") == 1
    assert "add.size says 1: at 3 places\n    c0.parquet\n    c1.parquet\n    c2.parquet\n" in out


@pytest.mark.parametrize("closed", ["> /dev/full", ">&-", ">&- 2>&-"])
def test_an_output_that_cannot_be_written_is_said_in_a_line(lake: Any, closed: str) -> None:
    lake.basic()
    command = f"{sys.executable} -m conformance.audit {lake.root} {closed}"
    ended = subprocess.run(  # noqa: S602  our own interpreter on our own table
        command, shell=True, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    said = "" if "2>&-" in closed else "delta-tck audit: the output cannot be written: "
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("https://user:hidden@host/t@1", "https://…@host/t@1"),
        ("https://user:@hidden@host/t", "https://…@host/t"),
        ("https://user:a/hidden@host/t", "https://…@host/t"),
        ("https://hidden@host/t", "https://…@host/t"),
        ("https://host/t?sig=hidden", "https://host/t?sig=…"),
        ("abfss://user:hidden@host/t", "abfss://…@host/t"),
        ("abfss://container@host/t", "abfss://container@host/t"),
        ("http://host:80/a@b", "http://host:80/a@b"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("/lake/t?sig=1", "/lake/t?sig=1"),
    ],
)
def test_no_report_has_a_secret_of_a_url(form: str, table: str, shown: str) -> None:
    out = io.StringIO()
    FORMS[form]([(table, [])], out)
    assert "hidden" not in out.getvalue()
    assert (shown if form == "text" else json.dumps(shown)) in out.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        f"{1:020d}.json",
        f"{1:020d}.crc",
        f"{1:020d}.checkpoint.parquet",
        f"{0:020d}.{1:020d}.compacted.json",
        "_last_checkpoint",
    ],
)
def test_a_log_file_that_the_policy_does_not_follow_exits_2(
    lake: Any, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic()
    path = lake.write(name, "{}")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert run_audit_cli([str(lake.root), "--outside=refuse"]) == 2
    message = capsys.readouterr().err
    assert "which the policy 'refuse' does not follow" in message
    assert "Traceback" not in message
