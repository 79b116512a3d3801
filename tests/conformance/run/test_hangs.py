"""A run ends within its limits though an adapter in its process heeds none."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from projects import HANG_SECONDS, Project
from tiny import READ, write_case

from conformance.base.limits import InProcessLimit, Journal, debugged, pause, resume, write_to
from conformance.base.status import Status

LIMITS = ("--tck-time-limit=1", "--tck-start-limit=1")
NAMED = "table-features/one/read went on for more than 3 s"

HANGS = {
    "the alarm is ignored": "import signal; signal.signal(14, signal.SIG_IGN); time.sleep(600)",
    "the timer is stopped": "import signal; signal.setitimer(0, 0); time.sleep(600)",
    "the alarm is blocked": (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {14}); time.sleep(600)"
    ),
    "the alarm is caught": """
while True:
    try:
        time.sleep(600)
    except Exception:
        pass
""",
    "C code holds the interpreter": """
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {14})
ctypes.PyDLL(None).sleep(600)
""",
    "the process is stopped": "os.kill(os.getpid(), 19)",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("action", HANGS.values(), ids=HANGS)
def test_an_adapter_that_heeds_no_alarm_ends_the_run(project: Project, action: str) -> None:
    project.adapter(action)
    status, output = project.run("--tck-isolation=none", *LIMITS)
    assert status == Status.HUNG, output
    assert NAMED in output
    assert not list(project.temp.glob("delta-tck-*"))


def test_a_run_that_an_adapter_stops_goes_on(project: Project) -> None:
    project.command = [str(Path(sys.executable).with_name("delta-tck")), "run"]
    project.adapter("import signal\nos.kill(os.getppid(), signal.SIGSTOP)")
    status, output = project.run()
    assert status == Status.OK, output


def test_a_run_that_hangs_says_in_which_line(project: Project) -> None:
    project.adapter(HANGS["the alarm is ignored"])
    output = project.run("--tck-isolation=none", *LIMITS)[1]
    assert 'mypackage/adapter.py", line' in output


@pytest.mark.parametrize("place", ["INIT", "DESCRIBE", "CLOSE"])
def test_an_adapter_that_hangs_at_either_end_ends_the_run(project: Project, place: str) -> None:
    project.adapter(HANGS["the alarm is ignored"], place)
    status, output = project.run("--tck-isolation=none", *LIMITS)
    assert status == Status.HUNG, output
    at = "end" if place == "CLOSE" else "start"
    assert f"the {at} of the adapter went on for more than 3 s" in output


def test_an_adapter_that_does_not_close_changes_no_verdict(project: Project) -> None:
    project.adapter("raise ValueError('\\x1b[2J')", "CLOSE")
    status, output = project.run("--tck-isolation=none")
    assert status == Status.OK, output
    assert "the adapter did not close: ValueError: \\x1b[2J" in output


def test_a_hang_costs_a_test_process_of_xdist_one_case(project: Project) -> None:
    write_case(project.folder / "corpus", "table-features/two", {"read": READ})
    (project.folder / "mypackage").mkdir()
    (project.folder / "mypackage" / "once").touch()
    once = f"(here / 'once').unlink(); {HANGS['the alarm is ignored']}"
    project.adapter(f"if (here / 'once').exists(): {once}")
    status, output = project.run("--tck-isolation=none", "-n1", "--tck-time-limit=5")
    assert status == Status.ERRORS, output
    assert "table-features/one/read went on for more than 10 s" in output
    assert "judged 1 of 2" in output


PLUGIN = """
import os, time
from conformance.adapters.dispatch import EngineAdapter

run = EngineAdapter.run

def hang(self, request):
    if os.path.exists("once"):
        os.remove("once")
        os.kill(os.getpid(), 19)
    return run(self, request)

EngineAdapter.run = hang
"""


def test_a_hang_costs_a_fork_of_the_reference_implementation_one_case(project: Project) -> None:
    (project.folder / "once").touch()
    (project.folder / "stopping.py").write_text(PLUGIN)
    project.asked = ["-pstopping", "--impl=ours", "--tck-chapter=domain-metadata"]
    status, output = project.run("--tck-time-limit=5", PYTHONPATH=str(project.folder))
    assert status == Status.ERRORS, output
    assert "went on for more than 10 s" in output
    assert output.count("NO RECORD") == 1


def test_a_person_at_the_prompt_of_a_debugger_has_any_time(project: Project) -> None:
    project.adapter("breakpoint()")
    with project.start("--tck-isolation=none", "-s", "--tck-time-limit=4") as process:
        assert process.stdout is not None
        seen = ""
        while not seen.endswith("(Pdb)"):
            seen += process.stdout.read(1)
        time.sleep(12)
        assert process.poll() is None
        output, _ = process.communicate("c\n", timeout=HANG_SECONDS)
    assert process.returncode == Status.OK, output


def test_time_stops_at_a_prompt_and_begins_again_after_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write_to(tmp_path)
    try:
        with InProcessLimit(20).about("case"), InProcessLimit(20):
            [(first, task)] = journal.tasks().items()
            pause()
            paused = journal.tasks()[first]
            resume()
            resumed = journal.tasks()[first]
        done = journal.tasks()[first]
    finally:
        write_to(None)
    assert (task.seconds, task.what) == (30, "case")
    assert paused.seconds == done.seconds == 0
    assert resumed.seconds == 30
    assert len({each.number for each in (task, paused, resumed, done)}) == 4


def test_a_tracer_is_a_debugger_unless_it_measures_coverage() -> None:
    before = sys.gettrace()
    try:
        sys.settrace(lambda *_: None)
        assert debugged()
        sys.settrace(None)
        assert not debugged()
    finally:
        sys.settrace(before)
