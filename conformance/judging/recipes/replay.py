"""One run of a write recipe: what was asked, and what the oracle makes of it.

See the section "Write recipes" of ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from conformance.adapter import Answer, Claims, Request, Write
from conformance.audit import AuditError
from conformance.base.faults import CorpusError, KitError
from conformance.base.outcomes import Verdict
from conformance.base.terminal import one_line, shortened
from conformance.judging.claims import unclaimed_by_writer
from conformance.judging.recipes.checks import Watch
from conformance.judging.recipes.files import Seen, first_version
from conformance.judging.recipes.needs import features_asked
from conformance.judging.recipes.traces import Traces
from conformance.requirements.judged import judged_step
from generators import steps
from generators.file_digests import digests
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Field, Struct, from_json
from generators.oracle.filters import in_partition
from generators.oracle.model import Oracle, Row
from generators.oracle.operations import OPERATIONS, Create, Operation, carry_out, input_rows
from reference_impl import DeltaError, Table

Ask: TypeAlias = Callable[[Request], tuple[Answer | None, BaseException | None]]
"""Asks an adapter: an answer, or the fault that it ended in."""


class AdapterFaultError(Exception):
    """The adapter ended in a fault; the judge knows what to make of it."""

    def __init__(self, fault: BaseException | None) -> None:
        """Keep the fault."""
        super().__init__(str(fault))
        self.fault = fault


@contextmanager
def reading_recipe(what: str) -> Iterator[None]:
    """Report a recipe that cannot be taken as an error of its corpus: its values may be anything.

    Raises:
        CorpusError: for whatever a malformed value, schema or table makes our own steps raise.
    """
    try:
        yield
    except (
        ArithmeticError, AttributeError, AuditError, DeltaError, LookupError, OSError,
        RecursionError, TypeError, ValueError, pa.ArrowException,
    ) as error:  # fmt: skip
        said = shortened(one_line(f"{type(error).__name__}: {error}"), 300)
        raise CorpusError(Path("operations"), f"{what} cannot be taken: {said}") from error


@dataclass(slots=True)
class Replay:
    """One run of a recipe.

    Attributes:
        run: asks the adapter.
        claims: what it claims.
        table: where the table is to be.
        steps: the recipe.
        before: the steps that made the table that is given, for the oracle.
        revision: the protocol revision.
        said: number of a step to the requirement that the recipe says it judges.
        unclaimed_needs: capabilities that the recipe needs and are not claimed, for which a step
            may be refused.
        given: the schema of a table that is given without those steps.
        traces: what the steps left beside rows.
        watch: looks at the table before a step and after it.
        done: the table's version after each step, as the implementation counts.
        history: the steps so far, for the oracle.
        oracle: what it makes of them; not set where the table is given without its steps.
        seen: the version after each step, with the rows that it has to have.
        rows: what the table held when it was last read.
        advice: the first SHOULD that is not followed; the recipe goes on.
        files: digest of every file of the table, as the last step left them.
        refused: number of the step that was refused, where it had to be carried out.
    """

    run: Ask
    claims: Claims
    table: Path
    steps: Sequence[Mapping[str, Any]]
    before: Sequence[Mapping[str, Any]]
    revision: str
    said: Mapping[str, str]
    unclaimed_needs: list[str]
    given: Struct | None = None
    traces: Traces = field(init=False)
    watch: Watch = field(init=False)
    done: list[int] = field(default_factory=list)
    history: list[Operation] = field(default_factory=list)
    oracle: Oracle = field(init=False)
    seen: list[Seen] = field(default_factory=list)
    rows: pa.Table | None = None
    advice: Verdict | None = None
    files: Mapping[str, bytes] = field(init=False)
    refused: int | None = None

    def __post_init__(self) -> None:
        """Let the oracle take the steps that made the table that is given."""
        self.files = digests(self.table) if self.table.is_dir() else {}
        self.traces = Traces(self.table)
        self.watch = Watch(self.table)
        first = first_version(self.files)
        for step in self.before:
            rows = self.advance(step)
            version = self.oracle.versions[-1].number
            if version >= first:  # what a cleanup took is not promised any more
                self.seen.append(Seen(version, rows))
            self.done.append(version)
        if self.before:
            # What is given to convert is no table yet; what cannot be read is reported at a step.
            with suppress(DeltaError):
                self.traces.after(None, self.watch.look(), self.oracle.versions[-1], "")

    def ask(self, step: Mapping[str, Any]) -> Answer:
        """Send one step; raises :class:`AdapterFaultError` when it is not answered."""
        rows = None
        with reading_recipe(f"a step {step['operation']!r}"):
            arguments = arguments_of(step)
            if "to_step" in step:
                arguments["version"] = self.done[step["to_step"]]
            if "rows" in step:
                rows = _arrow(*input_rows(step, self._schema(step)))
        answer, fault = self.run(Write(str(self.table), step["operation"], arguments, rows))
        if answer is None:
            raise AdapterFaultError(fault)
        return answer

    def advance(self, step: Mapping[str, Any]) -> pa.Table | None:
        """Let the oracle do a step, and return the rows that there have to be.

        On a given table the oracle does not know what was there: the last version alone is
        compared, with the rows of the case.
        """
        if self.given is not None:
            return None
        with reading_recipe(f"a step {step['operation']!r}"):
            operation = operation_of(step, self._schema(step), self._version_of)
            if isinstance(operation, Create) and self.history:
                # To convert is to create a table of the rows that are there.
                operation = replace(operation, rows=tuple(self.oracle.rows()))
                self.history, self.seen, self.done = [], [], []
            self.history.append(operation)
            if isinstance(operation, Create):
                self.oracle = Oracle(operation.schema, operation.partition_columns)
            carry_out(self.oracle, operation)
            version = self.oracle.versions[-1]
            return arrow_table(version.schema, [row.values for row in version.rows])

    def unclaimed(self, step: Mapping[str, Any]) -> list[str]:
        """Name what a step needs of a writer, or the table as it is, that is not claimed."""
        try:
            protocol = Table(self.table).snapshot().protocol
        except DeltaError:
            protocol = None
        return (
            unclaimed_by_writer(self.claims, protocol, features_asked(step)) + self.unclaimed_needs
        )

    def judged(self, number: int, *, refused: bool = False) -> str | None:
        """Return the requirement that a step judges, or that to refuse it breaks."""
        operation, said = self.steps[number]["operation"], self.said.get(str(number))
        return judged_step(operation, said, refused=refused).in_revision(self.revision)

    def _version_of(self, step: int) -> int:
        return sum(each.commits for each in self.history[: step + 1]) - 1

    def _schema(self, step: Mapping[str, Any]) -> Struct:
        """Return the schema in force before a step."""
        if OPERATIONS[step["operation"]].defines:
            found = from_json(dict(step["schema"]))
            assert isinstance(found, Struct)
            return found
        if self.given is not None:
            return self.given
        if not self.history:
            raise KitError("a recipe begins with create")
        return self.oracle.schema


def _arrow(schema: Struct, rows: Sequence[Row]) -> pa.Table:
    """Return rows as Arrow; columns that must not be null and are, lose their declaration."""
    loose = [
        Field(each.name, each.type, nullable=True)
        if any(row[each.name] is None for row in rows)
        else each
        for each in schema
    ]
    return arrow_table(Struct(tuple(loose)), rows)


def arguments_of(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a step that an adapter sees."""
    seen = OPERATIONS[step["operation"]].seen_by("adapter")
    return {name: value for name, value in step.items() if name in seen}


def operation_of(
    step: Mapping[str, Any], schema: Struct, version_of: Callable[[int], int]
) -> Operation:
    """Return what a step is to the oracle.

    Args:
        step: the step.
        schema: the schema in force before it; of ``create`` the one that it asks for.
        version_of: gives the oracle's version after a step, by the step's number.

    Raises:
        KitError: it is not a step.
    """
    name = step["operation"]
    if (found := OPERATIONS[name].oracle) is not None:
        return found
    try:
        return steps.operation_of(_landed(step, schema), schema, version_of)
    except ValueError as error:
        raise KitError(f"a recipe has a step {name!r} that cannot be taken: {error}") from error


def _landed(step: Mapping[str, Any], schema: Struct) -> Mapping[str, Any]:
    """Return a step as the table gets it: rows complete, and the values that are stored."""
    arguments = dict(step)
    if "stored" in arguments and "set" in arguments:
        arguments["set"] = {**arguments["set"], **arguments.pop("stored")}
    elif "stored" in arguments:
        arguments["rows"] = arguments.pop("stored")
        arguments.pop("columns", None)
    partition = arguments.get("partition")
    if partition and "filter" not in arguments:
        types = {name: schema[name].to_json()["type"] for name in partition}
        arguments["filter"] = in_partition(partition, types)
    return arguments
