"""What each step of a write recipe is to the oracle, and what of it an adapter is asked.

Serves the section "Write recipes" of ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.base.faults import KitError
from conformance.golden.partition_filter import in_partition
from generators import steps
from generators.oracle.delta_schema import Struct
from generators.oracle.operations import OPERATIONS, Operation


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
    """Say what a step does to the table: as it completes rows, to which it replaces which."""
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
