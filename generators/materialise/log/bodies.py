"""Bodies of actions, as builders of tables write them.

Covers "Actions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from generators.oracle.delta_schema import Struct

FILE_FIELDS: Final = (
    "path", "partitionValues", "size", "modificationTime", "baseRowId", "defaultRowCommitVersion",
    "clusteringProvider", "tags",
)  # fmt: skip
"""Members of an add action that a ``files`` spec compares, by wire name.

Statistics, the flag of a change and the vector itself are left out: equal tables may spell them in
more than one way.
"""


def commit_info(operation: str, time: int, more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the ``commitInfo`` of an operation.

    Args:
        operation: its name.
        time: of the commit, in milliseconds since the epoch.
        more: further fields, or others in place of these.
    """
    return {
        "timestamp": time,
        "operation": operation,
        "operationParameters": {},
        "engineInfo": "delta-tck",
        **(more or {}),
    }


def metadata(
    identity: str,
    schema: Struct,
    partition_columns: Sequence[str],
    properties: Mapping[str, str],
    created: int,
) -> dict[str, Any]:
    """Return the ``metaData`` of a table; ``created`` in milliseconds since the epoch."""
    return {
        "id": identity,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.schema_string(),
        "partitionColumns": list(partition_columns),
        "configuration": dict(properties),
        "createdTime": created,
    }


def remove(add: Mapping[str, Any], time: int, *, data_change: bool = True) -> dict[str, Any]:
    """Return the ``remove`` of the file that an ``add`` names, with extended metadata.

    Args:
        add: the body of the action.
        time: of the deletion, in milliseconds since the epoch.
        data_change: whether rows go with the file.
    """
    return {
        "path": add["path"],
        "deletionTimestamp": time,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        "partitionValues": dict(add["partitionValues"]),
        "size": add["size"],
    }


def domain(name: str, configuration: str, *, removed: bool = False) -> dict[str, Any]:
    """Return a ``domainMetadata``: a domain's configuration, or its tombstone."""
    return {"domain": name, "configuration": configuration, "removed": removed}
