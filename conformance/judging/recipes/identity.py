"""Values of an identity column, which the table gives: which ones, is its own affair.

See the section "Write recipes" of ``docs/formats.md`` and "Identity Columns". A step names
the column; its rows are found again by their other columns, and the values that they got are
checked against the clauses. The oracle takes them from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from conformance.judging.recipes.checks import Fault
from generators.oracle.delta_schema import Struct, from_json
from generators.oracle.literals import decode, encode
from reference_impl import Snapshot, Table, read_table

_PREFIX: Final = "delta.identity."
_LEGACY: Final = 6
"""The writer version that has identity columns without a list of features."""


def identity_values(
    step: Mapping[str, Any], table: Path, former: Snapshot | None
) -> tuple[Mapping[str, Any], Fault | None]:
    """Return a step with the rows that landed, and what is wrong with the values that they got.

    Args:
        step: a step; the same is given back where it names no identity column.
        table: the table root, after the step.
        former: the version before it.

    Raises:
        DeltaError: the table cannot be read.
    """
    name = step.get("identity")
    if name is None:
        return step, None
    schema = from_json(json.loads(Table(table).snapshot().metadata.schema_string))
    assert isinstance(schema, Struct)
    rest = [each for each in schema.names if each != name]
    rows = read_table(table).to_pylist()
    by_rest: dict[str, list[int | None]] = {}
    for row in rows:
        by_rest.setdefault(repr([row[each] for each in rest]), []).append(row[name])
    stored, values = [], []
    for document in step["rows"]:
        row = decode(schema.select(*rest), document)
        found = by_rest.get(repr([row[each] for each in rest]), [])
        if len(found) != 1:
            return step, None  # the row is lost or doubled, and that has a finding of its own
        values.append(found[0])
        stored.append(encode(schema, {**row, name: found[0]}))
    metadata = schema[name].metadata
    for key in ("start", "step"):
        if type(held := metadata.get(f"{_PREFIX}{key}")) is not int:
            return step, ("SCH-037", f"{_PREFIX}{key} of {name} is {held}")
    legacy = former is not None and former.protocol.min_writer_version == _LEGACY
    if legacy and values.count(None) == len(values):
        return {**step, "stored": stored}, ("WVER-005", f"{name} got no value at all")
    mark = None if former is None else _mark(former, name)
    taken = [row[name] for row in rows if row[name] is not None]
    return {**step, "stored": stored}, _fault(name, metadata, values, mark, taken)


def _mark(snapshot: Snapshot, name: str) -> int | None:
    column = snapshot.schema.get(name)
    found = None if column is None else column.metadata.get(f"{_PREFIX}highWaterMark")
    return found if type(found) is int else None


def _fault(
    name: str,
    metadata: Mapping[str, Any],
    values: Sequence[int | None],
    before: int | None,
    taken: Sequence[int],
) -> Fault | None:
    start, step = metadata[f"{_PREFIX}start"], metadata[f"{_PREFIX}step"]
    if step == 0:
        return "IDN-004", f"the step of {name} is 0"
    after = metadata.get(f"{_PREFIX}highWaterMark")
    sign = 1 if step > 0 else -1
    for value in values:
        if value is None or (value - start) % step or (value - start) // step < 0:
            return "IDN-013", f"{name} got {value}, which is not {start} and steps of {step}"
        if taken.count(value) > 1:
            return "IDN-012", f"{name} got {value} in more than one row"
        if before is not None and sign * value <= sign * before:
            return "IDN-014", f"{name} got {value}, not past the high water mark {before}"
        if type(after) is not int or sign * after < sign * value:
            return "IDN-016", f"{name} got {value}, and the high water mark is {after}"
    return None


def without_identities(rows: pa.Table, steps: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Leave out the columns whose values steps left to the table."""
    names = {step["identity"] for step in steps if "identity" in step}
    return rows.select([name for name in rows.column_names if name not in names])
