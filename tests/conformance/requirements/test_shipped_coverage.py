"""The gate: every gap of the shipped registry is accounted for, and no entry is stale."""

from __future__ import annotations

import pytest

from conformance.requirements.coverage import run_coverage_cli


def test_every_gap_is_listed_and_every_entry_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    status = run_coverage_cli([])
    assert capsys.readouterr().err == ""
    assert status == 0
