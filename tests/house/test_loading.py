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
