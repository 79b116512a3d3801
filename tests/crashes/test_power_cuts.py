"""A power cut at any step leaves the table as before or, once the operation returned, as after.

A few operations; ``test_every_step.py`` tries all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from injecting import tried
from power import cut

from reference_impl import DeltaError
from reference_impl.storage import staging


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("drop row tracking", "rich"),
        ("drop a feature of the log", "mapped"),
        ("create with rows", "nothing"),
    ],
)
def test_a_power_cut_leaves_before_or_after(tmp_path: Path, name: str, base: str) -> None:
    assert cut(tried(tmp_path, name, base), tmp_path) > 10


def test_a_folder_that_is_not_flushed_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = tried(tmp_path, "set properties", "plain")
    monkeypatch.setattr(staging, "_flush_folder", lambda _: None)
    with pytest.raises(AssertionError, match="is neither"):
        cut(trial, tmp_path)


def test_bytes_that_are_not_flushed_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = tried(tmp_path, "append", "plain")
    stage = staging._stage

    def unflushed(folder: str, data: bytes) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.fsync", lambda _: None)
            return stage(folder, data)

    monkeypatch.setattr(staging, "_stage", unflushed)
    with pytest.raises((AssertionError, DeltaError)):
        cut(trial, tmp_path)
