"""No error and no report shows the secrets of a URL, be it of the table or in its log."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import PlaceRefused, StorageFailed

URLS = [
    "https://user:hidden@127.0.0.1:9/x.parquet",
    "https://127.0.0.1:9/x.parquet?sig=hidden",
    "https://127.0.0.1:9/x.parquet;token=hidden",
    "s3://key:hidden@bucket/x.parquet",
]


@pytest.fixture(params=URLS)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a table whose file is named by a URL with a secret."""
    table = Table(tmp_path)
    table.create(pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    (data,) = tmp_path.glob("*.parquet")
    commit = tmp_path / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text().replace(data.name, request.param))
    return tmp_path


def test_an_error_shows_no_secret_of_a_path(root: Path) -> None:
    with pytest.raises(PlaceRefused) as caught:
        read_table(root)
    assert "x.parquet" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_finding_shows_no_secret_of_a_path(root: Path) -> None:
    found = audit(str(root))
    assert any("x.parquet" in finding.place for finding in found)
    assert "hidden" not in json.dumps([asdict(finding) for finding in found])


@pytest.mark.parametrize("url", URLS)
def test_a_failure_shows_no_secret_of_a_file(url: str) -> None:
    failure = StorageFailed("append", OSError(5, f"no answer from {url}", url))
    assert "x.parquet" in str(failure)
    assert "hidden" not in str(failure)


@pytest.mark.parametrize("url", [each.replace("x.parquet", "t") for each in URLS])
def test_a_location_shows_no_secret(url: str) -> None:
    with pytest.raises((PlaceRefused, StorageFailed)) as caught:
        read_table(url, options={"no such option": "1"})
    assert "hidden" not in str(caught.value)
