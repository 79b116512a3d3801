"""Read golden tables back with Spark and say whether it agrees with the corpus.

Spark is a witness here, never the judge: a disagreement is recorded with its reason and changes
no expectation. Every ``read`` spec of a case is asked, so every version is.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from generators.spec_files import spec_files

__all__ = ["CrossCheck", "cross_check", "same_rows"]

_NOTE_LIMIT: Final = 240


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What Spark says of one case.

    Attributes:
        verdict: ``agrees`` when every answer is the expected one, refusals included;
            ``refuses`` when a read that the corpus answers is refused; ``disagrees`` when
            an answer differs or a read that has to be refused is answered.
        note: the first spec that is not agreed on, and why; empty when Spark agrees.

    """

    verdict: str
    note: str = ""


def cross_check(session: SparkSession, case: Path, scratch: Path) -> CrossCheck | None:
    """Ask Spark every ``read`` spec of a case; ``None`` when the case has none.

    Args:
        session: the session that reads.
        case: directory of the case.
        scratch: folder for a copy of the table, so that the corpus cannot be altered.

    """
    specs = [
        (path.stem, document)
        for path in spec_files(case)
        if (document := json.loads(path.read_text(encoding="utf-8")))["type"] == "read"
    ]
    if not specs:
        return None
    table = _copied(case, scratch)
    found = []
    for slug, spec in specs:
        expected = case / "expected" / slug / "expected_data" / "part-0.parquet"
        found.append(_cross_check_spec(session, table, slug, spec, expected))
    session.catalog.clearCache()
    for verdict in ("disagrees", "refuses"):
        for each in found:
            if each.verdict == verdict:
                return each
    return CrossCheck("agrees")


def _copied(case: Path, scratch: Path) -> Path:
    document = json.loads((case / "case.json").read_text(encoding="utf-8"))
    table: Path = scratch / case.parent.name / case.name / document.get("root", "delta")
    shutil.copytree(case / "delta", table)
    for name, milliseconds in document.get("file_times", {}).items():
        os.utime(table / name, ns=(milliseconds * 1_000_000,) * 2)
    return table


def _cross_check_spec(
    session: SparkSession, table: Path, slug: str, spec: Mapping[str, Any], expected: Path
) -> CrossCheck:
    try:
        rows = _read(session, table, spec)
    except (PySparkException, Py4JError, pa.ArrowException) as error:
        if "error" in spec:
            return CrossCheck("agrees")
        return CrossCheck("refuses", _note(slug, str(error)))
    if "error" in spec:
        return CrossCheck(
            "disagrees", _note(slug, f"reads {rows.num_rows} rows of an invalid table")
        )
    difference = same_rows(pq.read_table(expected), rows)
    return (
        CrossCheck("agrees")
        if difference is None
        else CrossCheck("disagrees", _note(slug, difference))
    )


def _read(session: SparkSession, table: Path, spec: Mapping[str, Any]) -> pa.Table:
    reader = session.read.format("delta")
    if "version" in spec:
        reader = reader.option("versionAsOf", spec["version"])
    if "timestamp" in spec:
        reader = reader.option("timestampAsOf", spec["timestamp"])
    frame: Any = reader.load(str(table))
    if "predicate" in spec:
        frame = frame.where(spec["predicate"])
    if "columns" in spec:
        quoted = [f"`{name.replace('`', '``')}`" for name in spec["columns"]]
        frame = frame.select(*quoted)
    rows: pa.Table = frame.toArrow()
    return rows


def _note(slug: str, text: str) -> str:
    first = " ".join(text.split("JVM stacktrace", maxsplit=1)[0].split())
    return f"{slug}: {first}"[:_NOTE_LIMIT]


def same_rows(expected: pa.Table, actual: pa.Table) -> str | None:
    """Compare rows as typed multisets; returns the difference in words, ``None`` when equal.

    Types are those of Delta; rows, columns and map entries have no order.
    """
    if sorted(expected.column_names) != sorted(actual.column_names):
        return f"columns {sorted(actual.column_names)}"
    for column in expected.schema:
        if _kind(column.type) != _kind(actual.schema.field(column.name).type):
            return f"column {column.name} is {actual.schema.field(column.name).type}"
    names = sorted(expected.column_names)
    ours, theirs = _keys(expected.select(names)), _keys(actual.select(names))
    if ours == theirs:
        return None
    missing, extra = ours - theirs, theirs - ours
    example = next(iter(missing or extra))
    return f"{missing.total()} rows missing, {extra.total()} too many, as {example}"


def _kind(data_type: pa.DataType) -> str:
    """Name a type so that Arrow's own variants of it do not matter."""
    if pa.types.is_timestamp(data_type):
        return "timestamp_ntz" if data_type.tz is None else "timestamp"
    if pa.types.is_list(data_type):
        return f"list<{_kind(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"map<{_kind(data_type.key_type)},{_kind(data_type.item_type)}>"
    if pa.types.is_struct(data_type):
        return f"struct<{sorted((part.name, _kind(part.type)) for part in data_type)}>"
    return str(data_type)


def _keys(rows: pa.Table) -> Counter[str]:
    columns: Iterable[list[Any]] = (
        [_canonical(value, column.type) for value in column.to_pylist()] for column in rows.columns
    )
    keys = [str(key) for key in zip(*columns, strict=True)]
    return Counter(keys if rows.num_columns else ["()"] * rows.num_rows)


def _canonical(value: Any, data_type: Any) -> Any:  # noqa: PLR0911  one return per shape
    match value:
        case None:
            return None
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case Decimal():
            return f"decimal {value.normalize():f}"
        case dict():
            parts = {part.name: part.type for part in data_type}
            return sorted((name, _canonical(each, parts[name])) for name, each in value.items())
        case list() if pa.types.is_map(data_type):
            return sorted(
                str((_canonical(key, data_type.key_type), _canonical(item, data_type.item_type)))
                for key, item in value
            )
        case list():
            return [_canonical(each, data_type.value_type) for each in value]
        case _:
            return value
