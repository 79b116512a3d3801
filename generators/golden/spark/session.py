"""One local Spark session with Delta, sized for tables of a few rows; the adapter's too.

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

JARS_VARIABLE: Final = "DELTA_TCK_SPARK_JARS"
"""Environment variable with a folder of JARs to use in place of Maven Central."""

MASTER: Final = "local[2]"
"""Where Spark runs: two threads of this process."""

# A snapshot of fifty partitions and two hundred shuffle partitions cost seconds per read of a
# table of ten rows; one of each does not. Each query runs once, so compiling it costs more than
# running it.
_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A vacuum lists folders in ten thousand tasks otherwise.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Spark's own guard against travelling to versions that a vacuum may have hollowed out.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.enabled": "false",
    # Each query is written out for a page that is never opened.
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}


def tool_versions() -> dict[str, str]:
    """Return the versions of the engine, for provenance."""
    return {name: importlib.metadata.version(name) for name in ("delta-spark", "pyspark")}


def open_session(warehouse: Path, master: str | None = None) -> SparkSession:
    """Open one Spark session; what it and Java write for themselves goes below ``warehouse``.

    Args:
        warehouse: a folder that is there.
        master: of Spark; by default that of ``spark-submit`` where it runs this process, or
            :data:`MASTER`.

    Raises:
        FileNotFoundError: ``DELTA_TCK_SPARK_JARS`` names a folder without JARs.
    """
    builder: Any = SparkSession.builder.appName("delta-tck")
    if master or "PYSPARK_GATEWAY_PORT" not in os.environ:
        builder = builder.master(master or MASTER)
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    # A Java that is killed leaves 90 MB in its folder for temporary files: it is to go with ours.
    local = warehouse / ".local"
    local.mkdir(exist_ok=True)
    builder = builder.config("spark.sql.warehouse.dir", str(warehouse))
    builder = builder.config("spark.local.dir", str(local))
    # The quick compiler alone starts 10 s of CPU time sooner, and a whole run asks for thousands
    # of plans: from some 400 requests on, those of both compilers take a fifth less.
    builder = builder.config(
        "spark.driver.extraJavaOptions",
        f'-Duser.timezone=UTC -XX:+UseSerialGC "-Djava.io.tmpdir={local}"',
    )
    session: SparkSession = with_delta(builder).getOrCreate()
    return session


def with_delta(builder: Any) -> Any:
    """Return a session's builder the JARs of Delta.

    Raises:
        FileNotFoundError: ``DELTA_TCK_SPARK_JARS`` names a folder without JARs.
    """
    folder = os.environ.get(JARS_VARIABLE)
    if not folder:
        return configure_spark_with_delta_pip(builder)
    jars = sorted(str(path) for path in Path(folder).glob("*.jar"))
    if not jars:
        raise FileNotFoundError(f"{JARS_VARIABLE}: no *.jar in {folder}")
    return builder.config("spark.jars", ",".join(jars))


@contextmanager
def spark_session(warehouse: Path, master: str | None) -> Iterator[SparkSession]:
    """Hold a session of :func:`open_session` for the length of a ``with`` block."""
    session = open_session(warehouse, master)
    try:
        yield session
    finally:
        session.stop()
