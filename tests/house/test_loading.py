"""What a command does not need it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
TABLE = HOME / "golden-tables/checkpoints/at-every-version/delta"
AUDIT = f"from conformance.cli import main\nassert main(['audit', {str(TABLE)!r}]) == 0"
READ = f"from reference_impl import read_table\nassert read_table({str(TABLE)!r}).num_rows"


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


NEVER = {"duckdb", "hypothesis", "jsonschema", "obstore", "pytest", "sqlglot"}


@pytest.mark.parametrize(
    ("code", "others"),
    [
        ("from reference_impl import Table", {"pyarrow.dataset", "reference_impl.snapshot"}),
        (READ, {"reference_impl.write", "reference_impl.filters", "reference_impl.expressions"}),
        (AUDIT, {"reference_impl.table", "generators.golden"}),
    ],
    ids=["table", "read", "audit"],
)
def test_a_program_loads_what_it_uses(code: str, others: set[str]) -> None:
    assert not (NEVER | others) & _loaded(code)


def test_an_audit_does_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise RuntimeError('pandas is imported')")
    assert "pandas" not in _loaded(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{AUDIT}")


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
