"""Installing the kit changes no run that does not name it, whatever lies in the folder.

Each run is of a process of its own, because the modules that a run finds are the question.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.base.options import PACKAGES
from conformance.base.status import Status

HOME = Path(__file__).parents[3]
LOCAL = """
def answer():
    return "the project's own"
"""
TESTS = """
import importlib
import sys
import tomllib

import pytest


@pytest.mark.parametrize("name", {names})
def test_the_project_finds_its_own(name, pytestconfig):
    sys.path.insert(0, {folder!r})
    assert importlib.import_module(name).answer() == "the project's own"
"""
OPTIONS = """
def pytest_addoption(parser):
    for name in "feature seed case results requirement chapter corpus revision baseline".split():
        parser.addoption("--" + name)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in PACKAGES:
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(LOCAL)
    (folder / "conftest.py").write_text(OPTIONS)
    (folder / "test_mine.py").write_text(TESTS.format(names=PACKAGES, folder=str(folder)))
    # An installation as pip leaves it: metadata that name the plugin and every module.
    site = tmp_path / "site"
    metadata = site / "delta_tck-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: delta-tck\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\ndelta-tck = delta_tck_pytest\n")
    modules = ["delta_tck_pytest.py", *(f"{name}/__init__.py" for name in PACKAGES)]
    (metadata / "RECORD").write_text("".join(f"{module},,\n" for module in modules))
    for name in ("delta_tck_pytest.py", *PACKAGES):
        (site / name).symlink_to(HOME / name)
    return folder


def _run(project: Path, start: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
    site = project.parent / "site"
    path = os.pathsep.join([str(site), *filter(None, sys.path[1:])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(  # noqa: S603  pytest itself
        [sys.executable, *start, "-pno:cacheprovider", "-pno:xdist", *options],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


SCRIPT = ("-P", "-c", "import pytest, sys; sys.exit(pytest.main())")
MODULE = ("-m", "pytest")


@pytest.mark.parametrize("start", [SCRIPT, MODULE], ids=["pytest", "python -m pytest"])
def test_a_run_that_does_not_name_the_kit_is_as_without_it(
    project: Path, start: Sequence[str]
) -> None:
    options = ("-q", "--seed=3", "--case=a", "--results=x", "-Werror")
    with_kit = _run(project, start, *options)
    without = _run(project, start, *options, "-pno:delta-tck")
    assert with_kit.returncode == 0, with_kit.stdout + with_kit.stderr
    said, alone = (re.sub(r"in [0-9.]+s", "", done.stdout) for done in (with_kit, without))
    assert said == alone
    assert with_kit.stderr == without.stderr


def test_a_run_that_names_the_kit_says_which_package_shadows_it(project: Path) -> None:
    done = _run(project, MODULE, "--impl=ours")
    assert done.returncode == Status.USAGE
    assert f"'schemas' of {project.resolve()} is found in place of the kit's" in done.stderr
    assert "Run `pytest` or `delta-tck run` from another folder" in done.stderr


def test_a_script_that_runs_in_such_a_folder_finds_the_kit(project: Path) -> None:
    (project / "conftest.py").unlink()
    options = ("--impl=ours", "--tck-case=change-metadata/other-provider")
    done = _run(project, SCRIPT, *options)
    assert "delta-tck: judging ours" in done.stdout, done.stdout + done.stderr
    assert "exit status" in done.stdout


def test_the_plugin_loads_nothing_of_the_kit(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "import sys\n\n\n"
        "def test_nothing_is_loaded():\n"
        f"    assert not {{*{PACKAGES!r}}} & {{*sys.modules}}\n"
        "    assert 'delta_tck_pytest' in sys.modules\n"
    )
    done = _run(project, SCRIPT)
    assert done.returncode == 0, done.stdout


def test_the_plugin_is_shipped_beside_the_packages() -> None:
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {*shipped} == {*PACKAGES, "delta_tck_pytest.py", "golden-tables"}
    assert project["project"]["entry-points"]["pytest11"] == {"delta-tck": "delta_tck_pytest"}


def test_the_command_runs_where_warnings_are_errors(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    case = "--case=change-metadata/other-provider"
    done = subprocess.run(  # noqa: S603  the kit itself
        [sys.executable, "-m", "conformance", "run", "--impl=ours", case, "-pno:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HOME)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == Status.OK, done.stdout + done.stderr
