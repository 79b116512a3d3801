"""What a command does not need it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
TABLE = HOME / "golden-tables/checkpoints/at-every-version/delta"
AUDIT = f"from conformance.cli import main\nassert main(['audit', {str(TABLE)!r}]) == 0"


def _loaded(code: str) -> set[str]:
    done = subprocess.run(  # noqa: S603  this Python
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        cwd=HOME,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return {*done.stderr.split()}


def test_a_public_name_is_loaded_when_it_is_used() -> None:
    assert not {"pyarrow", "numpy", "orjson"} & _loaded("import reference_impl")
    assert "reference_impl.read" in _loaded("from reference_impl import read_table")


def test_every_public_name_is_there() -> None:
    code = "import reference_impl as r\nassert all(getattr(r, name) for name in r.__all__)"
    loaded = _loaded(f"{code}\nassert {{*dir(r)}} >= {{*r.__all__}}")
    assert "reference_impl.table" in loaded


@pytest.mark.parametrize(
    "name",
    ["pytest", "hypothesis", "duckdb", "sqlglot", "reference_impl.table", "generators.golden"],
)
def test_an_audit_loads_what_it_uses(name: str) -> None:
    assert name not in _loaded(AUDIT)


@pytest.mark.parametrize("package", ["reference_impl", "generators.mutations", "conformance.audit"])
def test_no_module_makes_arrays_when_it_is_loaded(package: str, tmp_path: Path) -> None:
    # pyarrow imports pandas, where it is installed, for the first array that it makes of a list.
    for name in ("pandas", "polars"):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('{name} is imported')")
    code = (
        f"import importlib, pkgutil, sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        f"package = importlib.import_module({package!r})\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)"
    )
    assert package in _loaded(code)
