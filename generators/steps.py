"""Operations as the steps of write recipes, and back.

See ``docs/formats.md``, "Write recipes" and "Histories": each operation is one step, whose rows
and constants are written as typed literals. Recipes and stored histories have the codec of the
table of operations in common; what only the kit's own builder does (``layout``), and what no step
of a recipe can ask for (``parent``, ``values``), is in the steps of histories alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from generators.oracle.delta_schema import Struct
from generators.oracle.operations import OPERATIONS, Context, Operation, Step

HISTORY_ONLY: Final = frozenset().union(*(e.seen_by("history") for e in OPERATIONS.values()))
"""Arguments that the steps of histories have, and those of recipes have not."""

_ENTRY_OF_CLASS: Final = {
    entry.make: entry for entry in reversed(OPERATIONS.values()) if entry.make is not None
}


def step_of(
    operation: Operation, schema: Struct, step_of_version: Callable[[int], int] | None = None
) -> dict[str, Any]:
    """Return the step of an operation, which :func:`operation_of` reads back.

    Args:
        operation: any but :class:`NoRowChange`, which has no step of its own.
        schema: the schema in force before it.
        step_of_version: gives the number of the step that made a version; only a restore asks.

    Raises:
        ValueError: the operation has no step.
    """
    entry = _ENTRY_OF_CLASS.get(type(operation))
    if entry is None:
        raise ValueError(f"{operation} is no step of a recipe")
    context = Context(schema)
    if step_of_version is not None:
        context = replace(context, convert=step_of_version)
    return entry.step_of(operation, context)


def recipe_step(operation: Operation, schema: Struct) -> dict[str, Any]:
    """Return the step that asks an implementation for an operation; its layout is left out.

    Raises:
        ValueError: no step of a recipe asks for it, as for fields inside of structs.
    """
    return asked_of(step_of(operation, schema))


def asked_of(step: Step) -> dict[str, Any]:
    """Return what a recipe asks an implementation for in place of the step of a history.

    Raises:
        ValueError: no step of a recipe asks for it.
    """
    asked = {name: value for name, value in step.items() if name != "layout"}
    if HISTORY_ONLY & asked.keys():
        raise ValueError(f"{step['operation']}: {step} is no step of a recipe")
    return asked


def operation_of(step: Step, schema: Struct, version_of: Callable[[int], int]) -> Operation:
    """Return the operation of a step.

    Args:
        step: the step, of the shape that its schema demands.
        schema: the schema in force before it.
        version_of: gives the version that a step made, by the step's number.

    Raises:
        ValueError: no operation has this step, or a value is none of its type.
    """
    entry = OPERATIONS.get(step["operation"])
    if entry is None or entry.make is None:
        raise ValueError(f"{step['operation']!r} is no operation of a history")
    return entry.read(Context(schema, version_of, step))
