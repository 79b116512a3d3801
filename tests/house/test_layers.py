"""Hold the folders to their order and size: each imports itself and what is below it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULES = 12

# From the top down. A module belongs to the longest name that it begins with.
LAYERS = {
    "reference_impl": (
        "read",
        "table",
        "write.interop",
        "write.upkeep",
        "write.alter",
        "write.rows",
        "write.commit",
        "write.checkpoints",
        "write.files",
        "write.features",
        "write",
        "scan",
        "snapshot",
        "log.checkpoints",
        "log",
        "filters",
        "expressions",
        "deletion_vectors",
        "model",
        "parquet",
        "storage",
        "places",
        "types",
        "untrusted",
        "limits",
        "errors",
        "shown",
    ),
    "conformance": (
        "__main__",
        "cli",
        "guides",
        "smoke",
        "pipeline",
        "plugin",
        "run",
        "replay",
        "report",
        "explain",
        "items",
        "judging",
        "workers",
        "adapters",
        "audit",
        "requirements",
        "golden",
        "questions",
        "judging.compare",
        "adapter",
        "base",
    ),
    "generators": (
        "__main__",
        "golden.cli",
        "golden.spark",
        "golden.build",
        "export",
        "histories",
        "golden.chapters",
        "golden.cases",
        "golden",
        "mutations",
        "strategies",
        "materialise",
        "materialise.log",
        "materialise.data",
        "steps",
        "oracle",
        "placeholders",
        "spec_files",
        "file_digests",
    ),
}


def _modules(package: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT / package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _layer(package: str, module: str) -> int | None:
    names = LAYERS[package]
    owners = [name for name in names if module == name or module.startswith(f"{name}.")]
    return names.index(max(owners, key=len)) if owners else None


def _imported(package: str, path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            base = (node.module or "")[len(package) + 1 :]
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield inner if inner in modules else base


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_downward(package: str) -> None:
    modules = _modules(package)
    upward = [
        f"{module} imports {other}"
        for module, path in modules.items()
        for other in _imported(package, path, modules)
        if (at := _layer(package, module)) is not None
        and (to := _layer(package, other)) is not None
        and to < at
    ]
    assert not upward


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_its_place_in_the_order(package: str) -> None:
    assert [m for m in _modules(package) if m and _layer(package, m) is None] == []
    gone = [
        name
        for name in LAYERS[package]
        if not any(m == name or m.startswith(f"{name}.") for m in _modules(package))
    ]
    assert gone in ([], ["pipeline"])


def test_a_folder_holds_a_dozen_modules() -> None:
    folders = Counter(
        PurePosixPath(path.relative_to(ROOT)).parent
        for package in (*LAYERS, "schemas", "tests")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py"
    )
    crowded = {str(folder): count for folder, count in folders.items() if count > MAX_MODULES}
    assert crowded == {}


def test_a_test_module_is_named_as_one() -> None:
    hidden = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("check_*.py")}
    assert hidden == set(), "name it test_*.py and mark it; see tests/conftest.py"


def test_each_folder_of_tests_says_what_it_holds() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    names = {folder.relative_to(ROOT).as_posix() for folder in folders}
    silent = {name for name in names if not (ROOT / name / "README.md").is_file()}
    assert silent == set()


def test_a_marker_of_a_heavy_suite_is_chosen_by_an_environment() -> None:
    """No suite is left out everywhere: ``tests/conftest.py`` leaves out what tox runs."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    markers = {line.split(":")[0] for line in options["markers"]}
    (heavy,) = (
        node.value
        for node in ast.parse((ROOT / "tests/conftest.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HEAVY"
    )
    named = {node.value for node in ast.walk(heavy) if isinstance(node, ast.Constant)}
    assert named == markers
    commands = (ROOT / "tox.ini").read_text() + (ROOT / "tests/races/gateway.py").read_text()
    chosen = re.findall(r"""-m"?,? "?((?:\w+)(?: or \w+)*)""", commands)
    assert markers <= {marker for each in chosen for marker in each.split(" or ")}


def test_a_prefix_that_repeats_is_a_folder() -> None:
    repeated = {}
    for package in LAYERS:
        prefixes = Counter(
            (path.parent.relative_to(ROOT).as_posix(), path.stem.split("_")[0])
            for path in (ROOT / package).rglob("*.py")
            if not path.stem.startswith(("_", "test_"))
        )
        repeated |= {name: count for name, count in prefixes.items() if count > 2}
    assert not repeated
