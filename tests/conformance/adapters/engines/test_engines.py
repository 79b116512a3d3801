"""The adapter of each engine, against the engine: run by the engine's own environment.

``pytest tests/conformance/adapters/engines -m engines -k duckdb``. The marker keeps it out of the
kit's own tests, which need no engine.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference_impl
from conformance.adapter import (
    READ_OPERATIONS,
    WRITE_OPERATIONS,
    Adapter,
    Files,
    History,
    Ok,
    Refused,
    Scan,
    Snapshot,
    Write,
)
from conformance.judging.claims import CAPABILITIES
from conformance.judging.compare import compare_rows
from conformance.workers.resolve import resolve

CASE = Path(__file__).parents[4] / "golden-tables" / "action-reconciliation" / "newest-wins"
ENGINES = ("deltalake", "duckdb", "polars", "chdb", "spark")
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "name", "type": "string", "nullable": True, "metadata": {}},
    ],
}
ROWS = pa.table({"id": pa.array([1, 2, None], pa.int64()), "name": ["a", None, "ü"]})

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    adapter = resolve(request.param)
    yield adapter
    adapter.close()


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(shutil.copytree(CASE / "delta", tmp_path / "table"))


def claimed(engine: Adapter, *operations: str) -> bool:
    return engine.describe().claims.operations.issuperset(operations)


def rows_of(answer: object) -> pa.Table:
    assert isinstance(answer, Ok), answer
    assert isinstance(answer.payload, pa.Table)
    return answer.payload


def test_it_claims_what_the_contract_knows(engine: Adapter) -> None:
    described = engine.describe()
    assert described.engine_version
    assert described.claims.operations <= READ_OPERATIONS | WRITE_OPERATIONS
    assert described.claims.capabilities <= CAPABILITIES


def test_it_scans_a_golden_table_at_its_latest_version(engine: Adapter, table: str) -> None:
    expected = pq.read_table(CASE / "expected" / "read-latest" / "expected_data")
    assert compare_rows(expected, rows_of(engine.run(Scan(table)))) is None


def test_it_travels_selects_and_filters(engine: Adapter, table: str) -> None:
    full = rows_of(engine.run(Scan(table, version=1)))
    name = full.column_names[0]
    keep = {"op": "is_not_null", "args": [{"column": [name]}]}
    answer = engine.run(Scan(table, version=1, columns=[name], filter=keep))
    assert compare_rows(full.select([name]).drop_null(), rows_of(answer)) is None


def test_it_refuses_what_is_not_there(engine: Adapter, table: str, tmp_path: Path) -> None:
    for request in (Scan(str(tmp_path / "nowhere")), Scan(table, version=999)):
        answer = engine.run(request)
        assert isinstance(answer, Refused), request
        assert answer.kind in (None, "not_found"), request


def test_a_refusal_says_the_same_wherever_the_table_lies(engine: Adapter, tmp_path: Path) -> None:
    """Else what blocks, and what a baseline knows, depends on the length of a path."""
    said = set()
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        for folder in (Path(short), tmp_path / ("a" * 60)):
            place = shutil.copytree(CASE / "delta", folder / "t")
            for commit in (place / "_delta_log").glob("*.json"):
                commit.unlink()
            answer = engine.run(Scan(str(place)))
            assert isinstance(answer, Refused)
            said.add(" ".join(answer.message.replace(str(place), "<table>").split()))
    assert len(said) == 1


def test_its_snapshot_files_and_history_are_those_of_the_table(engine: Adapter, table: str) -> None:
    known = reference_impl.Table(table).snapshot()
    if claimed(engine, "snapshot"):
        answer = engine.run(Snapshot(table))
        assert isinstance(answer, Ok)
        assert answer.payload["version"] == known.version
        assert answer.payload["metadata"]["id"] == known.metadata.id
    if claimed(engine, "files"):
        answer = engine.run(Files(table))
        assert isinstance(answer, Ok)
        paths = known.adds().column("path").to_pylist()
        assert sorted(file["path"] for file in answer.payload) == sorted(paths)
    if claimed(engine, "history"):
        answer = engine.run(History(table))
        assert isinstance(answer, Ok)
        versions = [commit["version"] for commit in answer.payload]
        assert versions == list(range(known.version, -1, -1))


def test_what_it_writes_reads_as_written(engine: Adapter, tmp_path: Path) -> None:
    path = str(tmp_path / "written")
    maker = engine
    if not claimed(engine, "create"):
        maker = resolve("ours")
    assert isinstance(maker.run(Write(path, "create", {"schema": SCHEMA})), Ok)
    expected = ROWS
    assert isinstance(engine.run(Write(path, "append", {}, ROWS)), Ok)
    if claimed(engine, "delete"):
        two = {
            "op": "=",
            "args": [{"column": ["id"]}, {"literal": "2", "type": "long"}],
        }
        assert isinstance(engine.run(Write(path, "delete", {"filter": two})), Ok)
        expected = ROWS.filter(pa.array([True, False, True]))
    assert compare_rows(expected, reference_impl.read_table(path)) is None
    assert compare_rows(expected, rows_of(engine.run(Scan(path)))) is None
