"""Random histories of the writer at length, new ones in every run: ``tox run -e explore``.

``DELTA_TCK_HISTORIES`` says how many. Where engines are installed they read the table that a
history leaves, as far as they claim its features, and have to find the oracle's rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import WriterMachine

from conformance.adapter import Ok, Scan
from conformance.compare import compare_rows
from generators.materialise.arrow_rows import arrow_table
from generators.operations import replay
from reference_impl.features import supported

COUNT = int(os.environ.get("DELTA_TCK_HISTORIES", "200"))
STEPS = 25
ENGINES = {"deltalake": "deltalake", "duckdb": "duckdb_extension_delta", "polars": "polars"}
"""Adapter, and the module without which it does not start."""


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


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: no test here pulls the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_the_writer_does_what_the_oracle_does() -> None:
    explored(WriterMachine, COUNT)


def claimed(claims: Any, protocol: Any) -> bool:
    """Tell whether an engine says that it reads tables of a protocol."""
    if protocol.min_reader_version > claims.reader_version:
        return False
    listed = set(protocol.reader_features or ())
    if protocol.min_reader_version == 2:
        listed |= {"columnMapping"} & set(supported(protocol))
    return listed <= set(claims.reader_features)


@pytest.mark.parametrize(
    "engine", [name for name, module in ENGINES.items() if find_spec(module) is not None]
)
def test_an_engine_reads_what_the_oracle_has(
    engine: str, record_property: Callable[[str, object], None]
) -> None:
    adapter = import_module(f"conformance.adapters.{engine}").create()
    claims = adapter.describe().claims
    read: list[bool] = []

    class Witnessed(WriterMachine):
        """Lets an engine read the table in the end."""

        def teardown(self) -> None:
            try:
                if self.history:
                    self.witness()
            finally:
                super().teardown()

        def witness(self) -> None:
            protocol = self.table.snapshot().protocol
            read.append(claimed(claims, protocol))
            if not read[-1]:
                return
            wanted = replay(self.history).versions[-1]
            rows = arrow_table(wanted.schema, [row.values for row in wanted.rows])
            answer = adapter.run(Scan(self.location))
            assert isinstance(answer, Ok), f"{engine} refuses {protocol}: {answer}"
            difference = compare_rows(rows, answer.payload)
            assert difference is None, f"{engine}: {difference}"

    explored(Witnessed, max(COUNT // 4, 20))
    record_property("witness", f"{engine} read {sum(read)} of {len(read)} tables")
    assert any(read), f"{engine} claims none of the tables"
