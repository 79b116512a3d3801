"""A table that Spark audits in buckets has the findings of one that is audited whole.

A sample is run by ``tox run -e pipeline``, every golden table by ``tox run -e pipeline-audit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from work_here import either

from conformance.audit import audit
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import on_spark
from conformance.pipeline.session import SparkOptions, spark_session

CORPUS = Path(__file__).parents[3] / "golden-tables"
TABLES = sorted(str(log.parent.relative_to(CORPUS)) for log in CORPUS.rglob("_delta_log"))
SAMPLE = (
    "checkpoints/at-every-version/delta",
    "action-reconciliation/add-and-remove/delta",
    "delta-log-entries/version-zero-empty/delta",
)
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings for hundreds of small tables: what runs once is neither compiled nor adapted."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("audit", SparkOptions("local[2]", SMALL)) as found:
        yield found


def _compare(table: str, session: Any) -> None:
    path = str(CORPUS / table)
    spark = either(lambda: on_spark(session, path, Options(), 2))
    assert spark == either(lambda: audit(path))


@pytest.mark.pipeline
@pytest.mark.parametrize("table", SAMPLE)
def test_buckets_of_a_sample_find_the_same(table: str, session: Any) -> None:
    assert table in TABLES
    _compare(table, session)


@pytest.mark.pipeline_audit
@pytest.mark.parametrize("table", TABLES)
def test_buckets_find_the_same(table: str, session: Any) -> None:
    _compare(table, session)
