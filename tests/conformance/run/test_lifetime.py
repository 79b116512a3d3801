"""However a run ends, it says so by its status, and leaves no copies of tables behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from projects import HANG_SECONDS, Project

from conformance.base.scratch import Scratch, sweep
from conformance.base.status import Status


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_an_adapter_beside_files_of_any_name_is_found_and_they_are_not(
    project: Project, isolation: str
) -> None:
    project.adapter("pass")
    trap = "import pathlib; pathlib.Path(__file__).with_name('sprung').touch()"
    for name in ("json", "pyarrow", "typing", "secrets", "sitecustomize", "resource"):
        (project.folder / f"{name}.py").write_text(trap)
    for name in ("conformance", "schemas", "generators", "reference_impl"):
        (project.folder / name).mkdir()
        (project.folder / name / "__init__.py").write_text(trap)
    status, output = project.run(f"--tck-isolation={isolation}")
    assert status == Status.OK, output
    assert not list(project.folder.rglob("sprung"))


@pytest.mark.parametrize("action", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_an_adapter_that_ends_the_run_makes_it_no_success(project: Project, action: str) -> None:
    project.adapter(action)
    status, output = project.run("--tck-isolation=none")
    assert status == Status.ERRORS
    assert "before it had judged all" in output
    assert not list(project.temp.glob("delta-tck-*"))


@pytest.mark.parametrize("isolation", ["none", "process"])
@pytest.mark.parametrize("place", ["INIT", "DESCRIBE"])
@pytest.mark.parametrize(
    "action",
    ["raise SystemExit(0)", "raise GeneratorExit", "raise BaseException", "time.sleep(600)"],
)
def test_an_adapter_that_does_not_come_up_is_a_status_of_its_own(
    project: Project, action: str, place: str, isolation: str
) -> None:
    project.adapter(action, place)
    status, output = project.run(f"--tck-isolation={isolation}", "--tck-start-limit=2")
    assert status == Status.ADAPTER, output
    assert "INTERNALERROR" not in output


def test_an_adapter_that_raises_to_end_the_run_costs_a_case(project: Project) -> None:
    project.adapter("raise SystemExit(0)")
    status, output = project.run("--tck-isolation=none")
    assert status == Status.ERRORS
    assert "SystemExit" in output


@pytest.mark.parametrize("place", ["os._exit", "os.waitpid"])
def test_an_adapter_that_spoils_the_end_changes_no_status(project: Project, place: str) -> None:
    project.adapter(f"{place} = lambda *_: 1 / 0")
    status, output = project.run("--tck-isolation=none")
    assert status == Status.OK, output


@pytest.mark.parametrize("isolation", ["none", "process"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_ended_removes_its_copies(
    project: Project, isolation: str, ending: signal.Signals
) -> None:
    project.adapter("(here / 'asked').write_text(str(os.getpid())); time.sleep(600)")
    process = _asked(project, isolation)
    process.send_signal(ending)
    process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == Status.INTERRUPTED
    assert not list(project.temp.glob("delta-tck-*"))
    assert _gone(project)


def test_a_run_that_is_suspended_goes_on_as_if_it_had_not_been(project: Project) -> None:
    project.adapter(
        "(here / 'asked').write_text(str(os.getpid()))\n"
        "while not (here / 'go').exists(): time.sleep(0.05)"
    )
    process = _asked(project, "none")
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)  # beyond the time that the run waits at once
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    (project.folder / "mypackage" / "go").touch()
    _, output = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == Status.OK, output


def test_what_a_killed_run_left_is_swept_by_the_next(project: Project) -> None:
    project.adapter("(here / 'asked').write_text(str(os.getpid())); time.sleep(600)")
    process = _asked(project, "process")
    process.kill()
    process.communicate(timeout=HANG_SECONDS)
    assert _gone(project)
    assert list(project.temp.glob("delta-tck-*"))
    project.adapter("pass")
    assert project.run()[0] == Status.OK
    assert not list(project.temp.glob("delta-tck-*"))


@pytest.mark.parametrize(
    ("isolation", "killed"), [("none", "os.getpid()"), ("process", "os.getppid()")]
)
def test_a_run_ends_where_every_test_process_of_xdist_is_killed(
    project: Project, isolation: str, killed: str
) -> None:
    project.adapter(f"os.kill({killed}, 9)")
    status, output = project.run(f"--tck-isolation={isolation}", "-n2")
    assert status == Status.ERRORS
    assert "NO RECORD" in output
    assert not list(project.temp.glob("delta-tck-*"))


def _asked(project: Project, isolation: str) -> subprocess.Popen[str]:
    process = project.start(f"--tck-isolation={isolation}")
    end = time.monotonic() + HANG_SECONDS
    asked = project.folder / "mypackage" / "asked"
    while not asked.exists() or not asked.read_text():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    return process


def _gone(project: Project) -> bool:
    """Wait for the process that was asked to end; only a hang is a failure."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        text = (project.folder / "mypackage" / "asked").read_text()
        stat = Path(f"/proc/{text or 0}/stat")
        try:
            if stat.read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_only_folders_that_no_process_holds_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = Scratch()
    (held.path / "kept").touch()
    (tmp_path / "delta-tck-run-dead" / "sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    (tmp_path / "delta-tck-run-link").symlink_to(victim)
    (tmp_path / "delta-tck-run-dead" / "link").symlink_to(victim)
    sweep()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {held.path.name, "other", "victim", "delta-tck-run-link"}
    assert (held.path / "kept").exists()
    assert (victim / "file").exists()
    held.close()
    assert not held.path.exists()


def test_a_copy_goes_whatever_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    for name in ("linked", "closed", "deep"):
        (scratch.path / name).mkdir()
    (scratch.path / "linked" / "out").symlink_to(victim)
    (scratch.path / "closed" / "sub").mkdir()
    (scratch.path / "closed" / "sub").chmod(0)
    (scratch.path / "instead").symlink_to(victim)
    here = Path.cwd()
    os.chdir(scratch.path / "deep")
    try:
        for _ in range(3000):
            Path("d").mkdir()
            os.chdir("d")
    finally:
        os.chdir(here)
    for name in ("linked", "closed", "instead", "deep", "never"):
        scratch.remove(name)
        assert not os.path.lexists(scratch.path / name), name
    assert (victim / "file").exists()
    scratch.close()
    assert not scratch.path.exists()
