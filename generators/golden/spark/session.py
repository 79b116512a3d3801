"""One local Spark session with Delta, sized for tables of a few rows.

The JARs come from Maven Central through Delta's own helper, or from the folder that
``DELTA_TCK_SPARK_JARS`` names, for machines without Maven.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

__all__ = ["JARS_VARIABLE", "spark_session", "tool_versions"]

JARS_VARIABLE: Final = "DELTA_TCK_SPARK_JARS"
"""Environment variable with a folder of JARs to use in place of Maven Central."""

# A snapshot of fifty partitions and two hundred shuffle partitions cost seconds per read of a
# table of ten rows; one of each does not. Each query runs once, so compiling it costs more than
# running it.
_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Spark's own guard against travelling to versions that a vacuum may have hollowed out.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": (
        "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}


def tool_versions() -> dict[str, str]:
    """Give the versions of the engine, for provenance."""
    return {name: importlib.metadata.version(name) for name in ("delta-spark", "pyspark")}


@contextmanager
def spark_session(warehouse: Path) -> Iterator[SparkSession]:
    """Run one Spark session on two local threads; its own files go below ``warehouse``."""
    builder: Any = SparkSession.builder.master("local[2]").appName("delta-tck golden tables")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.warehouse.dir", str(warehouse))
    folder = os.environ.get(JARS_VARIABLE)
    if folder:
        jars = ",".join(str(path) for path in sorted(Path(folder).glob("*.jar")))
        session = builder.config("spark.jars", jars).getOrCreate()
    else:
        session = configure_spark_with_delta_pip(builder).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
