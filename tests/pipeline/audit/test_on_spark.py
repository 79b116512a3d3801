"""A table that Spark audits in buckets has the findings of one that is audited whole.

A sample, run by ``tox run -e pipeline``; ``tox run -e pipeline-audit`` asks for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import audit
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import on_spark
from conformance.pipeline.session import SparkOptions, spark_session

CORPUS = Path(__file__).parents[3] / "golden-tables"
pytestmark = pytest.mark.pipeline

SAMPLE = (
    "checkpoints/at-every-version",
    "action-reconciliation/add-and-remove",
    "delta-log-entries/version-zero-empty",
)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("audit", SparkOptions("local[2]")) as found:
        yield found


def compared(findings: Any) -> list[Any]:
    return sorted(
        (x.requirement, x.severity, x.message, x.hint, x.limit, x.count, x.places or (x.place,))
        for x in findings
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", SAMPLE)
def test_buckets_on_spark_find_the_same(table: str, session: Any) -> None:
    path = str(CORPUS / table / "delta")
    assert compared(on_spark(session, path, Options(), 2)) == compared(audit(path))
