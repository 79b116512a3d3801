"""The database that evaluates expressions is locked, bounded and interruptible."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from reference_impl import Table, When
from reference_impl.errors import DeltaError, LimitExceeded
from reference_impl.expressions.engine import connect
from reference_impl.expressions.sql import parse_expression, parse_pair
from reference_impl.limits import Limits, within_limits
from reference_impl.types.arrow import from_arrow

GUARD = 120
STATEMENTS = [
    "SET threads = 4",
    "SET GLOBAL memory_limit = '100GB'",
    "SET TimeZone = 'CET'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET temp_directory = '{folder}'",
    "RESET memory_limit",
    "PRAGMA memory_limit = '100GB'",
    "SET profiling_output = '{folder}/x'",
    "ATTACH '{folder}/x.db'",
    "COPY (SELECT 1) TO '{folder}/x'",
    "EXPORT DATABASE '{folder}/x'",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM planted",
    "SELECT getenv('HOME')",
    "INSTALL httpfs",
    "INSTALL '{file}'",
    "LOAD httpfs",
    "LOAD '{file}'",
    "IMPORT DATABASE '{folder}'",
]
FAST = Limits(sql_seconds=0.3)
A = from_arrow(pa.schema([("a", pa.int64())]))
NEVER = "target.a < source.a AND target.a * source.a < 0"
SLOW = f"""
import os, signal, threading, time
import pyarrow as pa
from reference_impl.expressions.sql import parse_pair
from reference_impl.types.arrow import from_arrow

def interrupt():
    while not any(thread.name == "sql" for thread in threading.enumerate()):
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

rows = pa.table({{"a": pa.array(range(100_000), pa.int64())}})
schema = from_arrow(rows.schema)
pair = parse_pair({NEVER!r}, {{"target": schema, "source": schema}})
threading.Thread(target=interrupt, daemon=True).start()
try:
    pair.join(rows, rows)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_database_refuses_files_extensions_and_settings(statement: str, tmp_path: Path) -> None:
    file = tmp_path / "planted.csv"
    file.write_text("a\n1\n")
    planted = pa.table({"a": [1]})
    assert planted.num_rows == 1
    text = statement.format(folder=tmp_path, file=file)
    with connect() as connection, pytest.raises(duckdb.Error):
        connection.execute(text).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["planted.csv"]


def test_every_connection_has_the_locked_settings() -> None:
    wanted = {
        "allow_community_extensions": "false",
        "allow_unsigned_extensions": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
        "lock_configuration": "true",
        "temp_directory": "",
        "threads": "1",
        "TimeZone": "UTC",
    }
    for limits in (Limits(), Limits(sql_memory=64 << 20)):
        with within_limits(limits, "test"), connect() as connection:
            found = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
            assert {name: found[name] for name in wanted} == wanted
            assert found["memory_limit"] == (
                "64.0 MiB" if limits.sql_memory < 1 << 30 else "1.0 GiB"
            )


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_that_a_table_carries_is_refused(statement: str, tmp_path: Path) -> None:
    text = statement.format(folder=tmp_path, file=tmp_path / "x")
    table = Table(tmp_path / "t")
    for planted in (text, f"({text})", f"a = 1; {text}", f"a IN ({text})", f"exists({text})"):
        with pytest.raises(DeltaError):
            table.create(
                {"type": "struct", "fields": [
                    {"name": "a", "type": "long", "nullable": True, "metadata": {}}]},
                properties={"delta.constraints.c": planted},
                rows=pa.table({"a": [1]}),
            )  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) in ([], ["t"])


def test_an_expression_that_takes_too_long_is_stopped() -> None:
    rows = pa.table({"a": pa.array(range(100_000), pa.int64())})
    pair = parse_pair(NEVER, {"target": A, "source": A})
    with within_limits(FAST, "test"), pytest.raises(LimitExceeded) as caught:
        pair.join(rows, rows)
    assert caught.value.limit == "sql_seconds"
    small = rows.slice(0, 10)
    assert [len(side) for side in pair.join(small, small)] == [0, 0]


def test_an_interrupt_ends_a_running_expression() -> None:
    # The query takes longer than the guard where nothing interrupts it.
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", SLOW], check=True, capture_output=True, text=True, timeout=GUARD
    )
    assert done.stdout == "interrupted\n"


def test_a_join_beyond_the_memory_is_stopped() -> None:
    rows = pa.table({"a": pa.array(range(20_000), pa.int64())})
    pair = parse_pair("target.a = target.a", {"target": A, "source": A})
    with within_limits(Limits(sql_memory=32 << 20), "test"), pytest.raises(LimitExceeded) as caught:
        pair.join(rows, rows)
    assert caught.value.limit == "sql_memory"


@pytest.mark.parametrize(
    "text",
    [
        "length(concat(" + ",".join(["s"] * 5_000) + ")) > 0",
        "length(" + " || ".join(["s"] * 3_000) + ") > 0",
        "length(" + "concat(s, " * 50 + "s" + ")" * 50 + ") > 0",
    ],
)
def test_text_that_outgrows_the_memory_is_refused_before_it_is_built(text: str) -> None:
    rows = pa.table({"s": ["x" * 1_000_000] * 50})
    expression = parse_expression(text, from_arrow(rows.schema))
    with pytest.raises(LimitExceeded) as caught:
        expression.evaluate(rows)
    assert caught.value.limit == "sql_memory"


def test_a_result_beyond_the_limit_is_refused() -> None:
    rows = pa.table({"a": pa.array([1] * 300_000, pa.int8())})
    expression = parse_expression(f"concat('{'x' * 1_000}', 'y')", from_arrow(rows.schema))
    with within_limits(Limits(sql_result=1 << 20), "test"), pytest.raises(LimitExceeded) as caught:
        expression.evaluate(rows)
    assert caught.value.limit == "sql_result"


def test_what_a_merge_may_take_is_an_option(tmp_path: Path) -> None:
    rows = pa.table({"a": pa.array(range(400_000), pa.int64())})
    Table(tmp_path).create(rows.schema, rows=rows)

    def merged(limits: Limits) -> int:
        clause = When("matched", "delete")
        return Table(tmp_path, limits=limits).merge(rows, "target.a = source.a", [clause])

    with pytest.raises(LimitExceeded, match=r"raise it by limits=Limits\(sql_memory=") as caught:
        merged(Limits(sql_memory=16 << 20))
    assert caught.value.limit == "sql_memory"
    assert merged(Limits(sql_memory=1 << 30)) == 1
    assert Table(tmp_path).snapshot().files().num_rows == 0


def test_the_package_is_imported_without_the_database() -> None:
    check = "import sys, reference_impl; sys.exit('duckdb' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=GUARD)  # noqa: S603  ours
