"""The logs that the benchmarks read are tables, however few files they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.logs import build
from reference_impl import Table


@pytest.mark.parametrize("shape", ["classic", "sidecars", "parts"])
@pytest.mark.parametrize("files", [1, 200])
def test_a_log_of_few_files_has_them(tmp_path: Path, shape: str, files: int) -> None:
    assert Table(build(tmp_path, shape, files)).snapshot().adds().num_rows == files
