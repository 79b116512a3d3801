"""Name the tables that Spark writes, before there is a Spark session to write them with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from pyspark.sql import SparkSession

from generators.golden.cases.case import REVISIONS, CaseInfo, CaseWriter
from generators.golden.cases.catalog import Definition, title_of
from generators.golden.spark.session import tool_versions
from generators.golden.spark.table import SparkTable

Write: TypeAlias = Callable[[CaseWriter, SparkTable], None]

_SINCE_2025: Final = REVISIONS[1:]


@dataclass(frozen=True, slots=True)
class SparkCase:
    """One table that Spark writes.

    Attributes:
        id: the case id.
        title: what holds, present tense.
        requirements: ids of the registry, separated by spaces.
        write: fills the table and publishes its specs.
        features: table features that a reader has to honour.
        revisions: protocol revisions under which the case applies.
    """

    id: str
    title: str
    requirements: str
    write: Write
    features: tuple[str, ...] = ()
    revisions: tuple[str, ...] = _SINCE_2025

    def bind(self, session: SparkSession) -> Definition:
        """Return the definition whose builder writes with ``session``."""
        info = CaseInfo(
            self.id,
            self.title,
            tuple(self.requirements.split()),
            features=self.features,
            revisions=self.revisions,
            builder="spark",
            tool_versions=tool_versions(),
        )
        return Definition(info, partial(self._build, session))

    def _build(self, session: SparkSession, case: CaseWriter) -> None:
        self.write(case, SparkTable(case, session))


def spark_case(
    case_id: str,
    requirements: str,
    features: tuple[str, ...] = (),
    revisions: tuple[str, ...] = _SINCE_2025,
) -> Callable[[Write], SparkCase]:
    """Define the table that the decorated function fills, and whose title is its docstring."""
    return lambda write: SparkCase(
        case_id, title_of(case_id, write), requirements, write, features, revisions
    )
