"""What each step of a write recipe is to the oracle, and what of it an adapter is asked.

Serves the section "Write recipes" of ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.base.faults import KitError
from conformance.golden.partition_filter import in_partition
from generators import steps
from generators.oracle.delta_schema import Struct
from generators.oracle.operations import NoRowChange, Operation

__all__ = ["JUDGE_ONLY_FIELDS", "operation_of"]

JUDGE_ONLY_FIELDS: Final = frozenset(
    {"operation", "rows", "columns", "stored", "gone", "kept", "to_step", "cluster", "identity"}
)
"""Fields of a step for the judge only; adapters do not see them. Columns are those of the rows."""


def operation_of(
    step: Mapping[str, Any], schema: Struct, version_of: Callable[[int], int]
) -> Operation:
    """Give what a step is to the oracle.

    Args:
        step: the step.
        schema: the schema in force before it; of ``create`` the one that it asks for.
        version_of: gives the oracle's version after a step, by the step's number.

    Raises:
        KitError: it is not a step.

    """
    name = step["operation"]
    if name in _INVISIBLE:
        return NoRowChange(version=_INVISIBLE[name])
    try:
        return steps.operation_of(_landed(step, schema), schema, version_of)
    except ValueError as error:
        raise KitError(f"a recipe has a step {name!r} that cannot be taken: {error}") from error


_INVISIBLE: Final[Mapping[str, bool]] = {
    "vacuum": False,
    "cleanup": False,
    "compact_log": False,
    "generate_manifest": False,
    "set_default": True,
    "add_constraint": True,
    "drop_constraint": True,
    "enable_feature": True,
    "drop_feature": True,
    "cluster_by": True,
}
"""Steps that no reader of rows can see; whether each makes a version."""


def _landed(step: Mapping[str, Any], schema: Struct) -> Mapping[str, Any]:
    """Say what a step does to the table: as it completes rows, to which it replaces which."""
    told = dict(step)
    if "stored" in told:
        told["rows"] = told.pop("stored")
        told.pop("columns", None)
    if told["operation"] == "convert":
        told["operation"] = "create"
    partition = told.get("partition")
    if partition and "filter" not in told:
        types = {name: schema[name].to_json()["type"] for name in partition}
        told["filter"] = in_partition(partition, types)
    return told
