"""Every golden table has the same findings whole and in buckets on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import AuditError, audit
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import on_spark
from conformance.pipeline.session import SparkOptions, spark_session

CORPUS = Path(__file__).parents[3] / "golden-tables"
pytestmark = pytest.mark.pipeline_audit

TABLES = sorted(str(log.parent.relative_to(CORPUS)) for log in CORPUS.rglob("_delta_log"))


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("audit", SparkOptions("local[2]")) as found:
        yield found


def _either(work: Any) -> Any:
    try:
        found = work()
    except AuditError as error:
        return str(error)
    return sorted(
        (x.requirement, x.severity, x.message, x.hint, x.limit, x.count, x.places or (x.place,))
        for x in found
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", TABLES)
def test_buckets_on_spark_find_the_same(table: str, session: Any) -> None:
    path = str(CORPUS / table)
    spark = _either(lambda: on_spark(session, path, Options(), 2))
    assert spark == _either(lambda: audit(path))
