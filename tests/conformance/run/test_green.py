"""No run is green by accident: what leaves cases out, or ends a run, without being asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kit_runs import WRONG, Kit, make_kit
from projects import Project
from tiny import READ, READ_V1, SNAPSHOT_SPEC, write_case

from conformance.base.status import Status
from conformance.plugin.partial import LEFT_OUT_ELSEWHERE
from conformance.run.run import status_of_run

pytest_plugins = ["pytester"]

REFUSED: dict[str, Any] = {
    name: {"refused": ["invalid_table", "not this one"]} for name in ("scan", "snapshot")
}
ADVISED = {**READ, "requirement": "PQ-001", "requirements": ["PQ-001"]}
"""A question that judges a SHOULD: a refusal of the table is advised against."""

ENDINGS = {
    "at-import": "import sys\nsys.exit(0)",
    "at-configuration": "import pytest\ndef pytest_configure():\n    pytest.exit('bye', 0)",
    "at-start": "import pytest\ndef pytest_sessionstart():\n    pytest.exit('bye', 0)",
    "in-its-place": "def pytest_cmdline_main():\n    return 0",
}


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def test_claims_to_read_or_write_take_a_version(kit: Kit) -> None:
    kit.case("one", REFUSED)
    assert kit(impl="python:fakes:versionless") is Status.ADAPTER
    for words in ("reader_version: 0 is no version", "writer_version: 0 is no version"):
        assert words in kit.output


DESELECT = "--deselect=test_golden.py::test_golden[table-features/two/read-latest]"


@pytest.mark.parametrize(
    ("ini", "variable", "status"),
    [
        ("addopts = -k one", "", Status.INTERRUPTED),
        ("addopts = -m slow", "", Status.EMPTY_SELECTION),
        (f"addopts = {DESELECT}", "", Status.INTERRUPTED),
        ("python_functions = check_*", "", Status.EMPTY_SELECTION),
        ("", "-k one", Status.INTERRUPTED),
    ],
)
def test_what_a_file_or_a_variable_leaves_out_is_no_success(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, ini: str, variable: str, status: Status
) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    (kit.folder / "pytest.ini").write_text(f"[pytest]\nmarkers = slow\n{ini}\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", variable)
    assert kit(f"-c{kit.folder / 'pytest.ini'}") is status
    assert f"PARTIAL: {LEFT_OUT_ELSEWHERE}" in kit.output


@pytest.mark.parametrize("ini", [True, False])
def test_an_option_of_the_kit_that_a_file_or_a_variable_sets_is_named(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, ini: bool
) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    options = "--tck-case=table-features/one --tck-min-judged=1"
    (kit.folder / "pytest.ini").write_text(f"[pytest]\naddopts = {options if ini else ''}\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "" if ini else options)
    assert kit(f"-c{kit.folder / 'pytest.ini'}", "--tck-min-judged=1") is Status.OK
    words = "NOT OF THE COMMAND: PYTEST_ADDOPTS or pytest's configuration sets --tck-case"
    assert kit.output.count(words + "\n") == 1


def test_an_option_of_a_file_hides_nothing_that_a_plugin_leaves_out(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    (kit.folder / "leaves_out.py").write_text(
        "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
    )
    kit.pytester.syspathinsert()
    monkeypatch.setenv("PYTEST_ADDOPTS", "--ignore=build")
    assert kit("-pleaves_out") is Status.INTERRUPTED
    assert kit("-pleaves_out", "-xkone") is Status.OK


def test_a_skipped_case_is_no_success_in_a_test_process(kit: Kit) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    (kit.folder / "skips.py").write_text(
        "import pytest\n\n\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[1].add_marker(pytest.mark.skip('not today'))\n"
    )
    kit.pytester.syspathinsert()
    assert kit("-pskips", "-n1", "-knot nothing") is Status.ERRORS
    assert "NO RECORD" in kit.output


@pytest.mark.parametrize(
    ("ending", "isolation"),
    [*((ending, "process") for ending in ENDINGS), ("at-configuration", "none")],
)
def test_a_run_that_is_ended_before_it_judged_is_no_success(
    tmp_path: Path, ending: str, isolation: str
) -> None:
    project = Project(tmp_path)
    project.adapter("pass")
    (project.folder / "conftest.py").write_text(ENDINGS[ending])
    status, output = project.run(f"--tck-isolation={isolation}")
    assert status in (Status.EMPTY_SELECTION, Status.USAGE), output
    assert "ended" in output


NAMED = {
    "sys.exit(0)": Status.USAGE,
    "pytest.exit('bye', 0)": Status.USAGE,
    "pytest_collection_modifyitems = lambda items: items.__delitem__(slice(1, None))": (
        Status.INTERRUPTED
    ),
    "pytest_runtest_protocol = pytest.hookimpl(tryfirst=True)(lambda item: True)": Status.ERRORS,
    "def pytest_runtest_setup(item):\n    pytest.skip('not today')": Status.ERRORS,
    "def pytest_runtest_logfinish():\n    pytest.exit('bye', 0)": Status.ERRORS,
}


@pytest.mark.parametrize("source", NAMED)
def test_a_plugin_that_a_variable_names_makes_no_success_of_less(
    tmp_path: Path, source: str
) -> None:
    project = Project(tmp_path)
    project.adapter("pass")
    write_case(project.folder / "corpus", "table-features/two", {"read": READ})
    (project.folder / "named.py").write_text(f"import sys\nimport pytest\n{source}\n")
    status, output = project.run(PYTEST_PLUGINS="named", PYTHONPATH=str(tmp_path))
    assert status == NAMED[source], output
    assert "Traceback" not in output


ENDED_BY_THE_SYSTEM = {
    "sys.exit(0)": Status.USAGE,
    "os._exit(0)": Status.ERRORS,
    "def pytest_sessionfinish():\n    os._exit(0)": Status.ERRORS,
    "def pytest_unconfigure():\n    os._exit(0)": Status.ERRORS,
    "import atexit\natexit.register(os._exit, 0)": Status.NONCONFORMANT,
}


@pytest.mark.parametrize("source", ENDED_BY_THE_SYSTEM)
def test_the_command_makes_no_success_of_a_process_that_a_plugin_ends(
    tmp_path: Path, source: str
) -> None:
    project = Project(tmp_path)
    project.command = [str(Path(sys.executable).with_name("delta-tck")), "run"]
    project.adapter("return Ok(pa.table({'id': [3], 'name': ['c']}))")
    (project.folder / "early.py").write_text(f"import os\nimport sys\n{source}\n")
    status, output = project.run(PYTEST_ADDOPTS="-p early", PYTHONPATH=str(tmp_path))
    assert status == ENDED_BY_THE_SYSTEM[source], output
    assert "Traceback" not in output


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_run_ends_as_usual_whose_folder_an_adapter_removes(
    tmp_path: Path, isolation: str
) -> None:
    project = Project(tmp_path)
    start = project.folder / "start"
    start.mkdir()
    project.adapter(f"import shutil\nshutil.rmtree({str(start)!r})")
    project.folder = start
    status, output = project.run(f"--tck-isolation={isolation}", PYTHONPATH=str(tmp_path))
    assert status == Status.OK, output
    assert "judged 1 of 1 (100 %)" in output


def test_no_hook_around_a_run_makes_a_success_of_it(kit: Kit) -> None:
    kit.case("one", WRONG)
    (kit.folder / "conftest.py").write_text(
        "import pytest\n@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        "def pytest_cmdline_main():\n    yield\n    return 0"
    )
    assert kit() is Status.NONCONFORMANT


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_run_that_lists_fixtures_has_the_status_that_it_prints(
    tmp_path: Path, isolation: str
) -> None:
    project = Project(tmp_path)
    project.adapter("pass")
    status, output = project.run(f"--tck-isolation={isolation}", "--fixtures")
    assert status == Status.ERRORS
    assert "exit status 15 (errors)" in output


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_path_that_is_not_there_is_said(tmp_path: Path, isolation: str) -> None:
    project = Project(tmp_path)
    project.adapter("pass")
    status, output = project.run(f"--tck-isolation={isolation}", "no-such-tests")
    assert status == Status.USAGE
    assert "ERROR: file or directory not found: no-such-tests" in output


@pytest.mark.parametrize("isolation", ["none", "process"])
@pytest.mark.parametrize("option", ["--tck-results", "--tck-write-baseline"])
def test_a_disk_that_is_full_is_said(tmp_path: Path, option: str, isolation: str) -> None:
    project = Project(tmp_path)
    for number in range(9):
        write_case(tmp_path / "corpus", f"table-features/{number}", {"read": READ})
    # The limit stands for the end of a disk: nothing but what the run is to leave is as large.
    limit = 4096 if option == "--tck-results" else 64
    (project.folder / "conftest.py").write_text(
        "import resource\n"
        "def pytest_collection_finish():\n"
        f"    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    )
    project.adapter("pass" if option == "--tck-results" else "1 / 0")
    status, output = project.run(f"--tck-isolation={isolation}", f"{option}={tmp_path / 'kept'}")
    assert status == Status.USAGE, output
    assert "NOT WRITTEN: " in output
    assert "kept: File too large" in output
    assert "INTERNALERROR" not in output
    assert "the run was ended" not in output


def test_no_case_is_blocked_by_one_that_is_not_asked(kit: Kit) -> None:
    specs = {"read-latest": READ, "read-v1": READ_V1}
    kit.case("one", REFUSED, specs=specs)
    kit.case("two", specs={"read-v1": READ_V1})
    assert kit("-kread-v1") is Status.NONCONFORMANT
    assert "one/read-v1" in kit.output


def test_no_case_is_blocked_by_one_that_is_no_failure(kit: Kit) -> None:
    kit.case("one", REFUSED, specs={"read-latest": ADVISED, "snapshot-latest": SNAPSHOT_SPEC})
    kit.case("two")
    assert kit() is Status.NONCONFORMANT
    assert "BLOCKED (1): 1 by table-features/one/snapshot-latest" in kit.output


@pytest.mark.parametrize(
    ("root", "status"),
    [
        ({"outcome": "fail", "standing": "known"}, Status.OK),
        ({"outcome": "pass", "standing": "new"}, Status.ERRORS),
        (None, Status.ERRORS),
    ],
)
def test_a_case_that_is_blocked_has_a_root_that_failed(
    root: dict[str, str] | None, status: Status
) -> None:
    blocked = {"id": "a/b/d", "outcome": "blocked", "message": "blocked by a/b/c: refused"}
    right = {"id": "a/a/a", "outcome": "pass"}
    records = [{"standing": "new", **record} for record in (blocked, right)]
    records += [{"id": "a/b/c", **root}] if root else []
    assert status_of_run(records, (), 0, (), None) is status
