"""Spark sessions of the pipeline: any master, with Delta, and clear words where a part is missing.

Without a master Spark runs in this machine, on all its cores, or where ``spark-submit`` says. The
JARs of Delta are found as the adapter of Spark finds them: in the folder that
``DELTA_TCK_SPARK_JARS`` names, or through Maven Central; ``spark-submit`` gets them from its
caller. Executors run Python, and need the kit installed as the driver does.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conformance.base.faults import UnusableError
from conformance.base.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
_LEAST_JAVA: Final = 17
_END_OF_JAVA_S: Final = 30
_PACKAGES: Final = ("pyspark", "delta", "pandas")
_EXTENSION: Final = "io.delta.sql.DeltaSparkSessionExtension"
_SETTINGS: Final = {
    "spark.sql.extensions": _EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    # The jobs say themselves how far they are.
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_ALONE: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1536m",
    "spark.executor.memory": "1g",
}
"""Settings of a cluster on this machine; :func:`_below` has those that name a folder."""


class SparkMissingError(UnusableError):
    """Something that Spark needs is not there; says what, and how to get it."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How to reach Spark.

    Attributes:
        master: as Spark has it (``local[2]``, ``local-cluster[2,1,1024]``, ``spark://…``); where
            it is ``None``, that of ``spark-submit``, or this machine.
        settings: settings of Spark that win over those of the kit.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """Give a job's parser the options that :func:`spark_options` reads."""
    parser.add_argument(
        "--master", help=f"Spark's master (default: that of spark-submit, or {LOCAL})"
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=_setting,
        metavar="KEY=VALUE",
        help="a setting of Spark; may be repeated",
    )


def spark_options(options: argparse.Namespace) -> SparkOptions:
    """Take what :func:`add_spark_options` added out of parsed arguments."""
    return SparkOptions(options.master, dict(options.conf))


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


@contextmanager
def spark_session(job: str, options: SparkOptions) -> Iterator[SparkSession]:
    """Hold a session of Spark with Delta; its own files are gone afterwards.

    A session that is there already is used as it is, and left. Java is started for a session and
    ended with it: it would keep the settings and the folders of the first one.

    Args:
        job: what it is for, as Spark's name of the application.
        options: how to reach Spark.

    Raises:
        SparkMissingError: Java, a Python package or Delta's JARs are missing.
    """
    submitted = check_spark()
    from pyspark import SparkContext  # noqa: PLC0415  not without the extra
    from pyspark.sql import SparkSession  # noqa: PLC0415  as above

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    starts_java = SparkContext._gateway is None  # noqa: SLF001  the only way to ask
    scratch = Scratch()
    try:
        _prepare(scratch.path, options, submitted=submitted)
        session = _open(job, options, scratch.path, submitted=submitted)
        try:
            yield session
        finally:
            session.stop()
    finally:
        if starts_java:
            _end_java()
        scratch.close()


def _end_java() -> None:
    from pyspark import SparkContext  # noqa: PLC0415  as above

    gateway: Any = SparkContext._gateway  # noqa: SLF001  Spark has no public way to end it
    if gateway is None:
        return
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001  as above
    gateway.shutdown()
    java: subprocess.Popen[bytes] | None = gateway.proc
    if java is None or java.stdin is None:
        return
    java.stdin.close()  # Java ends where its input does
    try:
        java.wait(_END_OF_JAVA_S)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


def is_submitted() -> bool:
    """Return whether ``spark-submit`` runs this process, and so says where Spark runs."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def check_spark() -> bool:
    """Look for what Spark needs; says whether ``spark-submit`` runs this process.

    Raises:
        SparkMissingError: Java or a Python package is missing.
    """
    submitted = is_submitted()
    _check_packages()
    if not submitted:
        _check_java()
    return submitted


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise SparkMissingError(
            f"the pipeline needs {', '.join(missing)}, which is not installed: "
            "pip install 'delta-tck[spark]'"
        )


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    wanted = f"Spark needs Java {_LEAST_JAVA} or later"
    if program is None or not Path(program).exists():
        where = f"JAVA_HOME has no {program}" if home else "there is no java on PATH"
        raise SparkMissingError(f"{wanted}: {where}, and JAVA_HOME says where one is")
    try:
        done = subprocess.run(  # noqa: S603  the user's own Java
            [program, "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkMissingError(f"{wanted}: {program} does not run: {error}") from error
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    if found is None or int(found[1]) < _LEAST_JAVA:
        said = (done.stderr or done.stdout).strip().partition("\n")[0]
        raise SparkMissingError(f"{wanted}: {program} is {said or 'none'}")


def _prepare(scratch: Path, options: SparkOptions, *, submitted: bool) -> None:
    """Set what Spark reads from the environment; what the user set there stays."""
    # The pipeline hands Arrow around; of Pandas, Spark only wants to know that it is there.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if submitted or not (options.master or LOCAL).startswith("local"):
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Processes of local-cluster are started from a Spark at home, and work in it by default.
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.origin).parent))
    os.environ["SPARK_WORKER_DIR"] = str(scratch / "work")


def _open(job: str, options: SparkOptions, scratch: Path, *, submitted: bool) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415  as above

    settings = dict(_SETTINGS)
    builder: Any = SparkSession.builder.appName(f"delta-tck {job}")
    if not submitted:
        master = options.master or LOCAL
        builder = builder.master(master)
        settings["spark.sql.warehouse.dir"] = str(scratch / "warehouse")
        if master.startswith("local"):
            settings |= {**_ALONE, **_below(scratch / "local")}
    elif options.master:
        raise SparkMissingError("under spark-submit, --master is an option of spark-submit")
    for key, value in {**settings, **options.settings}.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = (
            builder if submitted or "spark.jars" in options.settings else _with_jars(builder)
        ).getOrCreate()
    except SparkMissingError:
        raise
    except Exception as error:
        words = str(error).strip().partition("\n")[0] or type(error).__name__
        raise SparkMissingError(f"Spark does not start: {words}") from error
    try:
        loader = session._jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()  # noqa: SLF001  the only way to ask
        loader.loadClass(_EXTENSION)
    except Exception as error:
        session.stop()
        raise SparkMissingError(
            "Spark runs without Delta's JARs: spark-submit takes them with "
            "--packages io.delta:delta-spark_<Scala>:<version> or --jars"
        ) from error
    return session


def _below(folder: Path) -> dict[str, str]:
    """Return the settings by which Spark and its Javas write for themselves below a folder."""
    folder.mkdir()
    java = f'-Duser.timezone=UTC -XX:+UseSerialGC "-Djava.io.tmpdir={folder}"'
    return {
        "spark.local.dir": str(folder),
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
    }


def _with_jars(builder: Any) -> Any:
    from generators.golden.spark.session import with_delta  # noqa: PLC0415  as above

    try:
        return with_delta(builder)
    except FileNotFoundError as error:
        raise SparkMissingError(str(error)) from error
