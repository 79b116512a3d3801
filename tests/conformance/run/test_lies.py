"""No run over an adapter that lies is green, whatever it lies about."""

from __future__ import annotations

import shutil

import pytest
from kit_runs import Kit, make_kit
from lying import LIES, TRUTHS

from conformance.base.status import Status
from conformance.golden.corpus import default_corpus_path

pytest_plugins = ["pytester"]

CASES = (
    "action-reconciliation/newest-wins/read-*",
    "deletion-vectors/several-in-one-file/read-*",
    "partition-value-serialization/empty-string-text/*",
)
"""Versions that differ, tables that differ, and a contested question."""


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def judge(kit: Kit, lie: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> Status:
    monkeypatch.setenv("DELTA_TCK_LIE", lie)
    for name in {case.rpartition("/")[0] for case in CASES}:
        # The whole corpus takes longer to load than these cases take to be judged.
        shutil.copytree(default_corpus_path() / name, kit.corpus / name)
    cases = [f"--tck-case={case}" for case in CASES]
    files = (f"--tck-corpus={kit.corpus}", f"--tck-results={kit.results}")
    options = ("--tck-isolation=process", *files, *more)
    return kit.run("-pno:cacheprovider", "--impl=python:lying:create", *options, *cases)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_not_green(kit: Kit, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status = judge(kit, lie, monkeypatch, "--tck-time-limit=1")
    assert status in (Status.NONCONFORMANT, Status.ERRORS, Status.GAVE_UP), kit.output[-2000:]
    assert kit.read().footer["status"] == status


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_truth_is_green(kit: Kit, truth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(kit, truth, monkeypatch) is Status.OK, kit.output[-2000:]
