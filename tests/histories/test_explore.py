"""Random histories of the writer at length, new ones in every run: ``tox run -e explore``.

``DELTA_TCK_HISTORIES`` says how many. Where engines are installed they read the table that a
history leaves, as far as they claim its features, and have to find the oracle's rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from engines import ENGINES
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import WriterMachine
from tally import Tally, missed, report

from conformance.adapter import Ok, Scan
from conformance.judging.compare import compare_rows
from conformance.judging.witness import claims_to_read
from generators.materialise.data.arrow_rows import arrow_table
from reference_impl import Snapshot
from reference_impl.log.names import LOG_DIR, parse_name

COUNT = int(os.environ.get("DELTA_TCK_HISTORIES", "200"))
STEPS = 25
ENOUGH = 200
"""So many histories reach all that the writer does."""


def _mapped_and_partitioned(snapshot: Snapshot) -> bool:
    """Find partition columns of mapped tables, read as null: duckdb-delta, issue 343."""
    mapped = "delta.columnMapping.mode" in snapshot.metadata.configuration
    return mapped and bool(snapshot.metadata.partition_columns)


def _has_two_checkpoints_of_a_version(snapshot: Snapshot) -> bool:
    """Find two for one version: the hint counts the parts of the one, the listing of the other."""
    names = [Path(entry.name).name for entry in snapshot.storage.list_from(LOG_DIR)]
    found = {
        (file.version, file.kind, file.parts, file.name if file.kind == "uuid_checkpoint" else "")
        for file in map(parse_name, names)
        if file is not None and file.kind.endswith("checkpoint")
    }
    return len({version for version, *_ in found}) < len(found)


def _lacks_nulls_that_deleted_rows_have(snapshot: Snapshot) -> bool:
    """Find rows that a vector deletes, whose nulls are checked against columns that have none."""
    vectors = snapshot.adds().column("deletionVector")
    strict = any(not each.nullable for each in snapshot.schema.fields)
    return strict and vectors.null_count < len(vectors)


FAULTS: dict[str, tuple[Callable[[Snapshot], bool], ...]] = {
    "deltalake": (_lacks_nulls_that_deleted_rows_have,),
    "duckdb": (_mapped_and_partitioned, _has_two_checkpoints_of_a_version),
}
"""Tables that an engine is known to read wrong, as its baseline has it; nothing new is there."""


def explored(machine: type[WriterMachine], count: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


@pytest.mark.explore
def test_the_writer_does_what_the_oracle_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    monkeypatch.setattr(WriterMachine, "tally", tally)
    explored(WriterMachine, COUNT)
    with capsys.disabled():
        print(f"\n{report(tally)}")  # noqa: T201  for those who explore
    # A few histories cannot reach everything.
    assert COUNT < ENOUGH or missed(tally) == []


def witness(engine: str, count: int) -> str:
    """Let an engine read the tables that random histories leave, and return how many it read."""
    adapter = import_module(f"conformance.adapters.{engine}").create()
    claims = adapter.describe().claims
    read: list[bool] = []

    class Witnessed(WriterMachine):
        """Lets an engine read the table in the end."""

        def teardown(self) -> None:
            try:
                if self.oracle.versions:
                    self.witness()
            finally:
                super().teardown()

        def witness(self) -> None:
            snapshot = self.table.snapshot()
            known = any(fault(snapshot) for fault in FAULTS.get(engine, ()))
            read.append(claims_to_read(claims, snapshot) and not known)
            if not read[-1]:
                return
            wanted = self.oracle.versions[-1]
            rows = arrow_table(wanted.schema, [row.values for row in wanted.rows])
            answer = adapter.run(Scan(self.location))
            assert isinstance(answer, Ok), f"{engine} refuses {snapshot.protocol}: {answer}"
            difference = compare_rows(rows, answer.payload)
            assert difference is None, f"{engine}: {difference}"

    try:
        explored(Witnessed, count)
    finally:
        adapter.close()
    assert any(read), f"{engine} claims none of the tables"
    return f"{engine} read {sum(read)} of {len(read)} tables"


@pytest.mark.witnesses
@pytest.mark.parametrize(
    "engine", [name for name, module in ENGINES.items() if find_spec(module) is not None]
)
def test_an_engine_reads_what_the_oracle_has(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = witness(engine, max(COUNT // 4, 20))
    with capsys.disabled():
        print(f"\n{said}")  # noqa: T201  for those who explore


@pytest.mark.witness_spark
@pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed")
def test_spark_reads_what_the_oracle_has(capsys: pytest.CaptureFixture[str]) -> None:
    said = witness("spark", max(COUNT // 8, 10))
    with capsys.disabled():
        print(f"\n{said}")  # noqa: T201  as above
