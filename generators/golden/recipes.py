"""Write recipes: one list of operations gives the steps, a table and the rows of its versions.

Serves ``docs/formats.md``, "Write recipes". The case's own table is the same history as the
kit's materialiser lays it out, so that every reader can be asked about it as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from generators.delta_schema import Struct
from generators.golden.case import CaseWriter, Refusal
from generators.golden.filters import Filter
from generators.literals import encode, literal
from generators.materialise.histories import write_history
from generators.materialise.protocols import Protocol
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
    Update,
    replay,
)

__all__ = ["Recipe"]


@dataclass(slots=True)
class Recipe:
    """A recipe that grows step by step.

    Attributes:
        schema: the table schema.
        partition_columns: logical names.
        properties: table properties to create it with.
        features: table features to create it with.
        rows: rows to create it with; ``None`` to create it empty.
        protocol: the exact protocol of the case's own table, for tables that are given.

    """

    schema: Struct
    partition_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    rows: Sequence[Row] | None = None
    protocol: Protocol | None = None
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _history: list[Operation] = field(default_factory=list)
    _start: int = 0

    def __post_init__(self) -> None:
        """Take the first step."""
        step: dict[str, Any] = {"operation": "create", "schema": self.schema.to_json()}
        given = {
            "partition_columns": list(self.partition_columns),
            "properties": dict(self.properties),
            "features": list(self.features),
        }
        step |= {name: value for name, value in given.items() if value}
        if self.rows is not None:
            step["rows"] = self._encoded(self.rows)
        create = Create(
            self.schema,
            self.partition_columns,
            self.properties,
            self.features,
            self._kept(self.rows or ()),
        )
        self._take(step, create)

    def append(self, rows: Sequence[Row]) -> Recipe:
        """Append rows."""
        return self._take(
            {"operation": "append", "rows": self._encoded(rows)}, Append(self._kept(rows))
        )

    def overwrite(self, rows: Sequence[Row], where: Filter | None = None) -> Recipe:
        """Replace the rows of a filter, all without one."""
        step = {"operation": "overwrite", "rows": self._encoded(rows), **_where(where)}
        return self._take(step, Overwrite(self._kept(rows), where.tree if where else None))

    def delete(self, where: Filter | None = None) -> Recipe:
        """Delete the rows of a filter, all without one."""
        step = {"operation": "delete", **_where(where)}
        return self._take(step, Delete(where.tree if where else None))

    def update(self, values: Mapping[str, Any], where: Filter | None = None) -> Recipe:
        """Set columns of the rows of a filter, of all without one."""
        nodes = {name: literal(self.schema[name].type, value) for name, value in values.items()}
        step = {"operation": "update", "set": nodes, **_where(where)}
        return self._take(step, Update(values, where.tree if where else None))

    def checkpoint(self) -> Recipe:
        """Write a checkpoint."""
        return self._take({"operation": "checkpoint"}, Checkpoint())

    def set_properties(self, properties: Mapping[str, str]) -> Recipe:
        """Set table properties."""
        step = {"operation": "set_properties", "properties": dict(properties)}
        return self._take(step, SetProperties(properties))

    def set_transaction(self, application: str, version: int) -> Recipe:
        """Record the progress of an application."""
        step = {"operation": "set_txn", "app_id": application, "txn_version": version}
        return self._take(step, SetTransaction(application, version))

    def given(self) -> Recipe:
        """End the table that an implementation is given; what follows is for it to do."""
        self._start = len(self._steps)
        return self

    def publish(self, case: CaseWriter, *, refusal: Refusal | None = None) -> None:
        """Write the case: the table, a read of its last version, and the recipe.

        Args:
            case: the case to write to.
            refusal: how the last step is refused, when it is; the table is that of the steps
                before it.

        """
        done = self._history if refusal is None else self._history[:-1]
        builder = write_history(
            case.delta, done[: self._start or None], seed=case.info.id, protocol=self.protocol
        )
        rows = builder.rows()
        adds = builder.states[builder.version].adds
        case.describe(
            schema=self.schema.to_json(),
            protocol=builder.protocol.body(),
            configuration=builder.properties,
            log_info={"numAddFiles": len(adds), "numCommits": builder.version + 1},
            data_layout={"numPartitionColumns": len(self.partition_columns)}
            if self.partition_columns
            else {},
        )
        case.read("read-latest", self.schema, rows, title="A read gives the rows put in")
        title = case.info.title
        parameters: dict[str, Any] = {"operations": self._steps[self._start :]}
        if self._start:
            parameters["given"] = case.info.id
        if refusal is not None:
            case.refuse("write", "write", refusal, title=title, parameters=parameters)
            return
        oracle = replay(done)
        parameters["versions"] = len(oracle.versions)
        case.row_spec(
            "write", "write", self.schema, oracle.rows(), title=title, parameters=parameters
        )

    def _take(self, step: dict[str, Any], operation: Operation) -> Recipe:
        self._steps.append(step)
        self._history.append(operation)
        return self

    def _kept(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Give rows as the log can keep them: an empty partition value is null."""
        return tuple(
            {n: None if n in self.partition_columns and v == "" else v for n, v in row.items()}
            for row in rows
        )

    def _encoded(self, rows: Sequence[Row]) -> list[Any]:
        return [encode(self.schema, row) for row in rows]


def _where(where: Filter | None) -> dict[str, Any]:
    return {} if where is None else {"filter": dict(where.tree), "predicate": where.sql}
