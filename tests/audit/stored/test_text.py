"""Parquet calls any bytes text: a checkpoint that does is reported, and not followed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table


@pytest.mark.parametrize("text", [b'{"numRecords":2', b"id"])
def test_a_checkpoint_whose_texts_are_no_utf8_is_reported(tmp_path: Path, text: bytes) -> None:
    table = Table(tmp_path / "t")
    table.create(pa.schema([("id", pa.int64())]), rows=pa.table({"id": [1, 2]}))
    table.checkpoint()
    path = tmp_path / "t" / "_delta_log" / f"{0:020d}.checkpoint.parquet"
    content = path.read_bytes()
    assert text in content
    path.write_bytes(content.replace(text, b"\xff" * len(text)))
    assert "CKPT-005" in {each.requirement for each in audit(str(tmp_path / "t"))}
