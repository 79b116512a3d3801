"""Wrong readers of partition values."""

from __future__ import annotations

from typing import Any

from breaches.model import reader
from breaches.seams import viewing
from breaches.views import partition_values


def _zeros(values: dict[str, Any], _path: str) -> dict[str, Any]:
    return {k: "0" if v == "" else v for k, v in values.items()}


def _by_order(values: dict[str, Any], _path: str) -> dict[str, Any]:
    return dict(zip(sorted(values), values.values(), strict=True))


def _of_32_bits(values: dict[str, Any], _path: str) -> dict[str, Any]:
    return {k: "-2147483648" if v == "2147483648" else v for k, v in values.items()}


ROWS = (
    reader(
        "wraps-partition-values-beyond-their-type",
        "SNAP-007",
        viewing(partition_values(_of_32_bits)),
        "partition-value-serialization/beyond-integer/*",
    ),
    reader(
        "takes-partition-values-by-their-order",
        "SNAP-007",
        viewing(partition_values(_by_order)),
        "partition-value-serialization/keys-in-any-order/*",
    ),
    reader(
        "reads-empty-texts-as-zero",
        "PART-002",
        viewing(
            partition_values(
                lambda values, _path: {
                    name: "0" if text == "" else text for name, text in values.items()
                }
            )
        ),
        "partition-value-serialization/empty-string-typed/*",
    ),
    *(
        reader(
            f"reads-empty-texts-of-{name}-as-zero",
            "PART-002",
            viewing(partition_values(_zeros, kind)),
            "partition-value-serialization/empty-string-of-changes/*",
        )
        for name, kind in (("changes", "cdc"), ("removed-files", "remove"))
    ),
)
