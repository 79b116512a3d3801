"""A history as a JSON document, loss-free, and back.

See ``docs/formats.md``, "Histories". A document comes from our own files or from an
untrusted bundle: its shape is checked, and what is read is written as the same document again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Struct
from generators.oracle.operations import Create, History, Operation, Replace, Restore, replay
from generators.steps import operation_of, step_of
from schemas import errors

_MAX_CHARACTERS: Final = 256 * 1024
"""Characters of a document."""

_MAX_ROWS: Final = 1000
"""Rows that all operations bring; every filter looks at each of them."""

_MISFITS: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    pa.ArrowException,
)  # fmt: skip
"""What operations raise whose rows or columns are not those of the table."""


class HistoryError(ValueError):
    """A document that is no history; the message names the step and what is wrong there."""


class _Progress:
    """What the steps so far have made of a table: its schema, and which step made which version."""

    def __init__(self) -> None:
        self.schema = Struct(())
        self._schemas: list[Struct] = []
        self._steps: list[int] = []
        self._versions: list[int] = []

    def advance(self, operation: Operation) -> None:
        if isinstance(operation, Restore):
            self.schema = self._schemas[operation.version]
        else:
            self.schema = operation.change(self.schema)
        if operation.commits:
            self._steps.append(len(self._versions))
            self._schemas.append(self.schema)
        self._versions.append(len(self._schemas) - 1)

    def step_of_version(self, version: int) -> int:
        return self._steps[version]

    def version_of(self, step: int) -> int:
        return self._versions[step]


def schemas_of(history: History) -> Iterator[tuple[Operation, Struct]]:
    """Return each operation with the schema in force before it, which is empty at first."""
    course = _Progress()
    for operation in history:
        yield operation, course.schema
        course.advance(operation)


def document_of(history: History) -> dict[str, Any]:
    """Return a history as a JSON document.

    Raises:
        ValueError: an operation has no step.
    """
    course = _Progress()
    steps = []
    for operation in history:
        steps.append(step_of(operation, course.schema, course.step_of_version))
        course.advance(operation)
    return {"operations": steps}


def text_of(document: Mapping[str, Any]) -> str:
    """Return the text of a history's document: one line for each operation, in ASCII."""
    lines = ",\n".join(json.dumps(step) for step in document["operations"])
    return f'{{"operations": [\n{lines}\n]}}\n'


def history_of(document: Any) -> tuple[Operation, ...]:
    """Read a history out of its document.

    Raises:
        HistoryError: the document has another shape, is not written as :func:`document_of` writes
            it, or its operations do not fit each other.
    """
    violations = errors("kit/history", document)
    if violations:
        raise HistoryError(f"{violations[0].path or '/'}: {violations[0].message}")
    rows = sum(len(step.get("rows", ())) for step in document["operations"])
    if rows > _MAX_ROWS:
        raise HistoryError(f"{rows} rows, where {_MAX_ROWS} are the most")
    history = tuple(_operations(document["operations"]))
    try:
        same = document_of(history) == document
        for version in replay(history).versions:
            # What a type does not hold would be met later, as a fault of who is judged.
            arrow_table(version.schema, [row.values for row in version.rows])
    except _MISFITS as error:
        raise HistoryError(f"the operations do not fit each other: {_described(error)}") from error
    if not same:
        raise HistoryError("a value is spelled otherwise than its type has it")
    return history


def _operations(steps: list[Mapping[str, Any]]) -> Iterator[Operation]:
    course = _Progress()
    for number, step in enumerate(steps):
        if (number == 0) != (step["operation"] == "create"):
            raise HistoryError(f"/operations/{number}: a history begins with create, once")
        try:
            operation = operation_of(step, course.schema, course.version_of)
            course.advance(operation)
            if isinstance(operation, Create | Replace):
                _check_partitions(operation.partition_columns, course.schema)
        except _MISFITS as error:
            place = f"/operations/{number} ({step['operation']})"
            raise HistoryError(f"{place}: {_described(error)}") from error
        yield operation


def _check_partitions(columns: Sequence[str], schema: Struct) -> None:
    for name in columns:
        schema[name]  # a column that there is
    if len(set(columns)) >= len(schema.names):
        # Data files would have no column, and the kit writes no rows into those.
        raise ValueError("no column is left beside those of partitions")


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def read_history(text: str) -> tuple[Operation, ...]:
    """Read a history out of the text of its document.

    Raises:
        HistoryError: the text is too long, no JSON, or no history.
    """
    if len(text) > _MAX_CHARACTERS:
        raise HistoryError(f"{len(text)} characters, where {_MAX_CHARACTERS} are the most")
    try:
        document = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise HistoryError(f"no JSON: {_described(error)}") from error
    return history_of(document)
