"""Adapter of Spark with Delta: one local session for the adapter's life.

The JARs come from the folder that ``DELTA_TCK_SPARK_JARS`` names, or are resolved from Maven
Central by the ``delta-spark`` package.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped,import-not-found,unused-ignore]
from pyspark.errors import PySparkException

from conformance.adapter import FILE_KEYS, METADATA_KEYS, Claims
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule
from conformance.adapters.spark.reading import SparkReader
from conformance.adapters.spark.writing import SparkWriter
from generators.golden.spark.session import open_session

_FEATURES: Final = frozenset(
    {
        "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint",
        "vacuumProtocolCheck", "variantType",
    }
)  # fmt: skip
_CLAIMS: Final = Claims(
    reader_version=3,
    writer_version=7,
    reader_features=_FEATURES,
    # Rows with variants do not reach Spark: they travel as structs, which it keeps apart.
    writer_features=_FEATURES - {"variantType"}
    | {
        "allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "clustering",
        "domainMetadata", "generatedColumns", "icebergCompatV1", "icebergCompatV2",
        "identityColumns", "inCommitTimestamp", "invariants", "rowTracking",
    },
    capabilities=frozenset(
        {
            *FILE_KEYS,
            *METADATA_KEYS,
            "scan.version", "aggregate.version", "scan.timestamp", "scan.columns", "scan.filter",
            "scan.row_ids", "append.invariants", "changes.column_mapping", "snapshot.version",
            "files.version", "txn.version", "domain_metadata.version", "overwrite.filter",
            "create.sql", "add_constraint.sql", "overwrite.partition", "optimize.purge",
        }
    ),
)  # fmt: skip
_REFUSALS: Final = Refusals(
    errors=(PySparkException, Py4JJavaError),
    rules=(
        Rule(r"UNSUPPORTED_FEATURES_FOR_READ", "unsupported", "load"),
        Rule(r"UNSUPPORTED_FEATURES_FOR_WRITE", "unsupported", "commit"),
        Rule(
            r"VersionNotFoundException|DELTA_VERSION_NOT_FOUND|DELTA_TABLE_NOT_FOUND|"
            r"DELTA_PATH_DOES_NOT_EXIST|PATH_NOT_FOUND|DELTA_TIMESTAMP_(GREATER|EARLIER)",
            "not_found",
            "load",
        ),
        Rule(
            r"DELTA_STATE_RECOVER_ERROR|DELTA_TRUNCATED_TRANSACTION_LOG|"
            r"DELTA_VERSIONS_NOT_CONTIGUOUS|"
            r"DELTA_MISSING_PART_FILES|DELTA_DUPLICATE_ACTIONS_FOUND",
            "invalid_table",
            "load",
        ),
        Rule(r"DeltaInvariantViolationException|DELTA_VIOLATE", "constraint"),
        Rule(r"Concurrent\w+Exception|DELTA_CONCURRENT", "conflict", "commit"),
    ),
    noise=r"^\s*(at |\.\.\. \d+ more)",
    # Spark's and the JVM's own words for a broken invariant of their own.
    crashes=(
        r"\[INTERNAL_ERROR|java\.lang\.(NullPointer|ClassCast|IndexOutOfBounds)|"
        r"java\.lang\.(Assertion|StackOverflow|OutOfMemory)Error|scala\.MatchError"
    ),
)

_JVM_LOST: Final = re.compile(
    r"java\.lang\.(\w+Error\b)|Py4JNetworkError|SparkContext was shut down"
)
"""Errors after which the JVM cannot be used: its own, or its end."""


def create() -> EngineAdapter:
    """Start Spark and return its adapter.

    Raises:
        FileNotFoundError: the folder of JARs holds none.
    """
    warehouse = tempfile.TemporaryDirectory(prefix="delta-tck-spark-")
    spark = open_session(Path(warehouse.name))
    spark.sparkContext.setLogLevel("ERROR")
    # The first write and read load most of Spark and Delta; that belongs to starting, not to the
    # first case, whose time limit is shorter.
    first = str(Path(warehouse.name) / "first")
    spark.range(1).write.format("delta").save(first)
    spark.read.format("delta").load(first).toArrow()

    def release() -> None:
        spark.stop()
        warehouse.cleanup()

    return adapter_of(spark, release)


def adapter_of(spark: Any, release: Callable[[], None] = lambda: None) -> EngineAdapter:
    """Return the adapter of a session of Spark; ``release`` ends what is the adapter's alone."""
    reader = SparkReader(spark)

    def renew(error: BaseException) -> bool:
        """Start a new session in the same JVM, which survives exceptions."""
        if not isinstance(error, _REFUSALS.errors) or _JVM_LOST.search(f"{type(error)} {error}"):
            return False
        reader.renew()
        return bool(reader.spark.range(1).toArrow().num_rows == 1)

    return EngineAdapter(
        name="spark",
        engine_version=f"{metadata.version('delta-spark')} (Spark {spark.version})",
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads=reader.operations(),
        writes=SparkWriter(reader).operations(),
        release=release,
        renew=renew,
    )
