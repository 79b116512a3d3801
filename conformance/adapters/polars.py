"""Adapter of Polars: ``scan_delta`` for reading, ``write_delta`` for writing.

Polars reads the data files itself and asks ``deltalake`` for the log, so both versions stamp
its results.
"""

from __future__ import annotations

import base64
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, Final

import deltalake
import polars as pl
import pyarrow as pa
from deltalake.exceptions import DeltaError

from conformance.adapter import Aggregate, Claims, Scan, Write
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule
from conformance.adapters.sql.text import FilterError

_CLAIMS: Final = Claims(
    reader_version=3,
    writer_version=7,
    reader_features=frozenset({"deletionVectors", "timestampNtz"}),
    writer_features=frozenset({"appendOnly", "invariants", "timestampNtz"}),
    capabilities=frozenset(
        {
            "scan.version", "scan.timestamp", "scan.columns", "scan.filter", "aggregate.version",
            "append.invariants",
        }
    ),
)  # fmt: skip
_REFUSALS: Final = Refusals(
    errors=(DeltaError, pl.exceptions.PolarsError, OSError, ValueError, NotImplementedError),
    rules=(
        Rule(r"Unsupported table features|does not support", "unsupported"),
        Rule(r"^TableNotFoundError|No files in log", "not_found"),
        Rule(r"not the same as the specified end version", "not_found", "load"),
        Rule(r"[Ii]nvariant|[Cc]onstraint", "constraint"),
        Rule(r"append-only", "constraint", "commit"),
        Rule(r"^CommitFailedError.*([Cc]onflict|[Cc]oncurrent)", "conflict", "commit"),
    ),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_PRIMITIVES: Final[Mapping[str, Any]] = {
    "string": pl.String,
    "byte": pl.Int8,
    "short": pl.Int16,
    "integer": pl.Int32,
    "long": pl.Int64,
    "float": pl.Float32,
    "double": pl.Float64,
    "boolean": pl.Boolean,
    "binary": pl.Binary,
    "date": pl.Date,
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
}


def _micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


_VALUES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": _micros,
    "timestamp_ntz": _micros,
}


def expression(tree: Mapping[str, Any]) -> pl.Expr:
    """Return a filter tree of ``docs/formats.md`` as a Polars expression.

    Raises:
        FilterError: the tree is malformed.
    """
    match tree:
        case {"column": [first, *rest]}:
            return reduce(lambda parent, name: parent.struct.field(name), rest, pl.col(first))
        case {"literal": value, "type": str(delta_type)}:
            return _literal(value, delta_type)
        case {"op": str(op), "args": [*arguments]} if op in _OPERATORS:
            return _OPERATORS[op]([expression(node) for node in arguments])
        case _:
            raise FilterError(f"no filter node of docs/formats.md: {tree!r}")


def _literal(value: Any, delta_type: str) -> pl.Expr:
    dtype, convert = _primitive(delta_type)
    if value is None:
        return pl.lit(None, dtype=dtype)
    if delta_type in ("timestamp", "timestamp_ntz"):
        return pl.lit(convert(value), dtype=pl.Int64).cast(dtype)
    return pl.lit(convert(value), dtype=dtype)


def _primitive(delta_type: str) -> tuple[Any, Callable[[Any], Any]]:
    if delta_type.startswith("decimal"):
        precision, scale = (int(n) for n in re.findall(r"\d+", delta_type))
        return pl.Decimal(precision, scale), Decimal
    return _PRIMITIVES[delta_type], _VALUES.get(delta_type, lambda value: value)


def _in(arguments: list[pl.Expr]) -> pl.Expr:
    probe, *members = arguments
    return reduce(operator.or_, [probe == member for member in members], pl.lit(value=False))


_OPERATORS: Final[Mapping[str, Callable[[list[pl.Expr]], pl.Expr]]] = {
    "=": lambda a: a[0] == a[1],
    "<>": lambda a: a[0] != a[1],
    "<": lambda a: a[0] < a[1],
    "<=": lambda a: a[0] <= a[1],
    ">": lambda a: a[0] > a[1],
    ">=": lambda a: a[0] >= a[1],
    "<=>": lambda a: a[0].eq_missing(a[1]),
    "and": lambda a: reduce(operator.and_, a),
    "or": lambda a: reduce(operator.or_, a),
    "not": lambda a: ~a[0],
    "in": _in,
    "is_null": lambda a: a[0].is_null(),
    "is_not_null": lambda a: a[0].is_not_null(),
    "starts_with": lambda a: a[0].str.starts_with(a[1]),
}


def _scan(request: Scan) -> pa.Table:
    version: int | datetime | None = request.version
    if request.timestamp is not None:
        version = _EPOCH + timedelta(milliseconds=request.timestamp)
    frame = pl.scan_delta(request.table, version=version)
    if request.filter is not None:
        frame = frame.filter(expression(request.filter))
    if request.columns is not None:
        frame = frame.select(list(request.columns))
    rows: pa.Table = frame.collect().to_arrow()
    return rows


def _aggregate(request: Aggregate) -> pa.Table:
    extremes = [
        getattr(pl.col(name), function)().alias(alias) for alias, function, name in request.extremes
    ]
    frame = pl.scan_delta(request.table, version=request.version)
    found = frame.select(pl.len().alias("count"), *extremes).collect()
    answer: pa.Table = found.with_columns(pl.col("count").cast(pl.Int64)).to_arrow()
    return answer


def _write(mode: str) -> Callable[[Write], dict[str, Any]]:
    def write(request: Write) -> dict[str, Any]:
        frame = pl.DataFrame(request.rows)
        frame.write_delta(deltalake.DeltaTable(request.table), mode=mode)
        return {"version": deltalake.DeltaTable(request.table).version()}

    return write


def create() -> EngineAdapter:
    """Return the adapter of the installed Polars."""
    return EngineAdapter(
        name="polars",
        engine_version=f"{pl.__version__} (deltalake {deltalake.__version__})",
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads={"scan": _scan, "aggregate": _aggregate},
        writes={"append": _write("append"), "overwrite": _write("overwrite")},
    )
