"""Replay write recipes: steps in, a table out, and what the table is worth.

Serves the section "Write recipes" of ``docs/formats.md``. A recipe is judged by what it leaves,
never by how the engine says it went: after every step, and once more by time travel when all
are done, the reference implementation reads the rows that the oracle demands; the properties and
the partitioning that were asked for are in force; and the audit finds nothing in log and files
that a clause forbids. How many versions an engine takes for a step is its own affair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from conformance.adapter import Answer, Claims, Ok, Refused, Request, Write
from conformance.audit import audit
from conformance.cases import Contested, Expected, ExpectedError, Spec
from conformance.compare import Difference, compare_rows
from conformance.faults import KitError
from conformance.outcomes import Hazard, Outcome, Verdict
from generators.delta_schema import Field, Struct, from_json, type_of
from generators.literals import decode
from generators.materialise.arrow_rows import arrow_table
from generators.model import Row
from generators.operations import (
    Append,
    Checkpoint,
    Create,
    Delete,
    Operation,
    Overwrite,
    SetProperties,
    SetTransaction,
    Tree,
    Update,
    replay,
)
from reference_impl import DeltaError, Table, read_table

__all__ = ["AdapterFaultError", "Run", "replay_recipe", "unclaimed_operations"]

Run: TypeAlias = Callable[[Request], tuple[Answer | None, BaseException | None]]
"""Asks an adapter: an answer, or the fault that it ended in."""

_SHOWN: Final = 10
_REQUESTS: Final = ("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion")
"""Beginnings of properties that ask for a protocol and are not stored."""


class AdapterFaultError(Exception):
    """The adapter ended in a fault; the judge knows what to make of it."""

    def __init__(self, fault: BaseException | None) -> None:
        """Keep the fault."""
        super().__init__(str(fault))
        self.fault = fault


def unclaimed_operations(spec: Spec, claims: Claims) -> list[str]:
    """Name the operations of a recipe that an implementation does not claim."""
    wanted = {step["operation"] for step in spec.parameters["operations"]}
    return sorted(wanted - claims.operations)


@dataclass(slots=True)
class _Replay:
    """One run of a recipe.

    Attributes:
        run: asks the adapter.
        table: where the table is to be.
        steps: the recipe.
        given: the schema of the table that is there already.
        history: the steps so far, for the oracle.
        seen: version after each step, with the rows that it has to have.

    """

    run: Run
    table: Path
    steps: Sequence[Mapping[str, Any]]
    given: Struct | None = None
    history: list[Operation] = field(default_factory=list)
    seen: list[tuple[int, pa.Table | None]] = field(default_factory=list)

    def ask(self, step: Mapping[str, Any]) -> Answer:
        """Send one step; raises :class:`AdapterFaultError` when it is not answered."""
        schema = self._schema(step)
        arguments = {k: v for k, v in step.items() if k not in ("operation", "rows")}
        rows = None
        if "rows" in step:
            rows = _arrow(schema, [decode(schema, row) for row in step["rows"]])
        answer, fault = self.run(Write(str(self.table), step["operation"], arguments, rows))
        if answer is None:
            raise AdapterFaultError(fault)
        return answer

    def advance(self, step: Mapping[str, Any]) -> pa.Table | None:
        """Let the oracle do a step, and give the rows that there have to be.

        On a given table the oracle does not know what was there: the last version alone is
        compared, with the rows of the case.
        """
        if self.given is not None:
            return None
        self.history.append(_operation(step, self._schema(step)))
        version = replay(self.history).versions[-1]
        return arrow_table(version.schema, [row.values for row in version.rows])

    def _schema(self, step: Mapping[str, Any]) -> Struct:
        if step["operation"] == "create":
            found = from_json(dict(step["schema"]))
            assert isinstance(found, Struct)
            return found
        if self.given is not None:
            return self.given
        first = self.history[0] if self.history else None
        if not isinstance(first, Create):
            raise KitError("a recipe begins with create")
        return first.schema


def replay_recipe(run: Run, spec: Spec, table: Path) -> Verdict:
    """Replay a recipe and take the verdict.

    Args:
        run: asks the adapter.
        spec: a spec of type ``write``.
        table: where the table is to be: nothing, or the table that is given.

    Raises:
        AdapterFaultError: the adapter did not answer.
        KitError: the recipe is none.

    """
    replayed = _Replay(run, table, spec.parameters["operations"])
    if "given" in spec.parameters:
        text = Table(table).snapshot().metadata.schema_string
        replayed.given = from_json(json.loads(text))
    match spec.expectation:
        case ExpectedError() as error:
            return _refused(replayed, spec, error)
        case Expected() as expected:
            verdict = _followed(replayed, replayed.steps)
            if verdict is not None:
                return verdict
            found = compare_rows(expected.rows(), read_table(table))
            if found is not None:
                return _wrong_rows("the last version", found)
            return _audited(replayed) or Verdict(Outcome.PASS)
        case Contested():
            verdict = _followed(replayed, replayed.steps)
            return Verdict(Outcome.OPEN, f"contested: {verdict.message if verdict else 'written'}")


def _followed(replayed: _Replay, steps: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Take steps that have to succeed; a verdict ends the recipe."""
    for number, step in enumerate(steps):
        name = f"step {number} ({step['operation']})"
        match replayed.ask(step):
            case Refused("unsupported", _, message):
                return Verdict(Outcome.UNSUPPORTED, f"{name} is refused: {message}")
            case Refused(kind, stage, message):
                return Verdict(
                    Outcome.FAIL,
                    f"{name} is refused: {message}",
                    Hazard.WRONG_REFUSAL,
                    "the step is carried out",
                    f"refused ({kind or 'kind not told'}, {stage or 'stage not told'}): {message}",
                )
            case Ok():
                verdict = _read_after(replayed, name, replayed.advance(step))
                if verdict is not None:
                    return verdict
    return _travelled(replayed) or _described(replayed)


def _read_after(replayed: _Replay, name: str, rows: pa.Table | None) -> Verdict | None:
    try:
        version = Table(replayed.table).latest_version()
        seen = read_table(replayed.table, version=version)
        found = compare_rows(rows if rows is not None else seen, seen)
    except DeltaError as error:
        return _unreadable(name, error)
    replayed.seen.append((version, rows))
    return None if found is None else _wrong_rows(name, found)


def _travelled(replayed: _Replay) -> Verdict | None:
    """Read every version again that was the latest once."""
    for version, rows in replayed.seen:
        if rows is None:
            continue
        try:
            found = compare_rows(rows, read_table(replayed.table, version=version))
        except DeltaError as error:
            return _unreadable(f"version {version}, read again at the end", error)
        if found is not None:
            return _wrong_rows(f"version {version}, read again at the end", found)
    return None


def _described(replayed: _Replay) -> Verdict | None:
    """Compare what was asked for with the metadata that are in force."""
    asked: dict[str, str] = {}
    columns: list[str] = []
    for step in replayed.steps:
        asked |= step.get("properties") or {}
        columns = list(step.get("partition_columns") or columns)
    metadata = Table(replayed.table).snapshot().metadata
    faults = [
        f"{name} is {metadata.configuration.get(name)!r}, not {value!r}"
        for name, value in asked.items()
        if not name.startswith(_REQUESTS) and metadata.configuration.get(name) != value
    ]
    if replayed.given is None and list(metadata.partition_columns) != columns:
        faults.append(f"partitionColumns is {list(metadata.partition_columns)}, not {columns}")
    if not faults:
        return None
    return Verdict(
        Outcome.FAIL,
        f"the table is not as it was asked for: {faults[0]}",
        Hazard.CORRUPTING_WRITE,
        "properties and partitioning as asked",
        "; ".join(faults),
        details=tuple(faults),
    )


def _audited(replayed: _Replay) -> Verdict | None:
    """Hold log and files against the clauses that bind writers."""
    found = [each for each in audit(str(replayed.table)) if each.severity == "error"]
    if not found:
        return None
    ids = sorted({each.requirement for each in found})
    return Verdict(
        Outcome.FAIL,
        f"the audit finds {', '.join(ids)}",
        Hazard.CORRUPTING_WRITE,
        "a log and files that break no clause",
        f"{found[0].requirement}: {found[0].message}",
        found[0].requirement,
        details=tuple(
            f"{each.requirement} {each.place}: {each.message}" for each in found[:_SHOWN]
        ),
    )


def _refused(replayed: _Replay, spec: Spec, error: ExpectedError) -> Verdict:
    """Take every step but the last, which has to be refused and to leave no trace."""
    *before, last = replayed.steps
    verdict = _followed(replayed, before)
    if verdict is not None:
        return verdict
    wanted = f"the last step is refused ({error.kind}) and nothing is committed"
    answer = replayed.ask(last)
    name = f"step {len(before)} ({last['operation']})"
    if isinstance(answer, Ok):
        return Verdict(
            Outcome.FAIL,
            f"{name} is carried out where a refusal ({error.kind}) is due",
            spec.hazard or Hazard.CORRUPTING_WRITE,
            wanted,
            "carried out",
            error.requirement,
        )
    if before:
        verdict = _travelled(replayed)
        latest = Table(replayed.table).latest_version()
        if verdict is None and latest != replayed.seen[-1][0]:
            message = f"{name} is refused and version {latest} is there nevertheless"
            return Verdict(Outcome.FAIL, message, Hazard.CORRUPTING_WRITE, wanted, message)
        verdict = verdict or _audited(replayed)
    if verdict is not None:
        return verdict
    passed = Verdict(Outcome.PASS, f"refused: {answer.message}")
    if answer.kind in (None, error.kind):
        return passed
    return replace(
        passed,
        outcome=Outcome.FAIL,
        message=f"refused as {answer.kind} where {error.kind} is due: {answer.message}",
        hazard=Hazard.COSMETIC,
        expected=wanted,
        actual=f"refused as {answer.kind}",
        requirement=error.requirement,
    )


def _wrong_rows(place: str, found: Difference) -> Verdict:
    return Verdict(
        Outcome.FAIL,
        f"{place}: {found.summary}",
        Hazard.CORRUPTING_WRITE,
        "the rows of the oracle",
        found.summary,
        details=found.details,
    )


def _unreadable(place: str, error: DeltaError) -> Verdict:
    return Verdict(
        Outcome.FAIL,
        f"{place}: the table cannot be read: {error}",
        Hazard.CORRUPTING_WRITE,
        "a table that can be read",
        str(error),
        error.requirement,
    )


def _arrow(schema: Struct, rows: Sequence[Row]) -> pa.Table:
    """Give rows as Arrow; columns that must not be null and are, lose their declaration."""
    loose = [
        Field(each.name, each.type, nullable=True)
        if any(row[each.name] is None for row in rows)
        else each
        for each in schema
    ]
    return arrow_table(Struct(tuple(loose)), rows)


def _operation(step: Mapping[str, Any], schema: Struct) -> Operation:
    make = _OPERATIONS.get(step["operation"])
    if make is None:
        raise KitError(f"a recipe has a step {step['operation']!r}, which is none")
    return make(step, schema)


def _create(step: Mapping[str, Any], schema: Struct) -> Create:
    return Create(
        schema,
        tuple(step.get("partition_columns") or ()),
        step.get("properties") or {},
        tuple(step.get("features") or ()),
        _rows(schema, step),
    )


def _update(step: Mapping[str, Any], _: Struct) -> Update:
    values = {
        name: decode(type_of(node["type"]), node["literal"]) for name, node in step["set"].items()
    }
    return Update(values, step.get("filter"))


_OPERATIONS: Final[Mapping[str, Callable[[Mapping[str, Any], Struct], Operation]]] = {
    "create": _create,
    "append": lambda step, schema: Append(_rows(schema, step)),
    "overwrite": lambda step, schema: Overwrite(
        _rows(schema, step), step.get("filter") or _partition(schema, step.get("partition"))
    ),
    "delete": lambda step, _: Delete(step.get("filter")),
    "update": _update,
    "checkpoint": lambda _step, _schema: Checkpoint(),
    "set_properties": lambda step, _: SetProperties(step["properties"]),
    "set_txn": lambda step, _: SetTransaction(step["app_id"], step["txn_version"]),
}
"""What each step of a recipe is to the oracle."""


def _rows(schema: Struct, step: Mapping[str, Any]) -> tuple[Row, ...]:
    rows: list[Row] = [decode(schema, document) for document in step.get("rows") or ()]
    return tuple(rows)


def _partition(schema: Struct, values: Mapping[str, Any] | None) -> Tree | None:
    """Give the filter of a partition that is named by its values."""
    if not values:
        return None
    tests = [
        {
            "op": "<=>",
            "args": [
                {"column": [name]},
                {"literal": value, "type": schema[name].to_json()["type"]},
            ],
        }
        for name, value in values.items()
    ]
    return tests[0] if len(tests) == 1 else {"op": "and", "args": tests}
