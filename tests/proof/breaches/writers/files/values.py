"""Wrong writers of partition values."""

from __future__ import annotations

import re
from typing import Any

from breaches.edits import COMMIT, each, setting
from breaches.model import writer
from breaches.seams import during, leaving
from breaches.views import spelled_values

_VALUES = "add-file-and-remove-file/write-odd-value-"


def _zoned(body: dict[str, Any]) -> dict[str, Any]:
    values = body["partitionValues"]
    return {**body, "partitionValues": {k: v and f"{v}Z" for k, v in values.items()}}


def _partition(change: Any) -> Any:
    def changed(body: dict[str, Any]) -> dict[str, Any]:
        values = body.get("partitionValues") or {}
        return {
            **body,
            "partitionValues": {k: v if v is None else change(v) for k, v in values.items()},
        }

    return each("add", changed, COMMIT)


PARTS = "partition-value-serialization/write-"


ROWS = (
    writer(
        "leaves-partition-values-out",
        "WCON-002",
        leaving(setting("add", "partitionValues", {}, COMMIT)),
        f"{PARTS}string*",
    ),
    writer(
        "keeps-numbers-for-partition-values",
        "PART-001",
        leaving(_partition(lambda v: int(v) if re.fullmatch(r"-?\d+", v) else v)),
        f"{PARTS}integer*",
    ),
    writer(
        "rounds-partition-instants-up",
        "PART-008",
        leaving(_partition(lambda v: v.replace("1969-12-31T23:59:59", "1970-01-01T00:00:00"))),
        f"{PARTS}timestamp/*",
    ),
    writer(
        "pads-partition-texts",
        "PART-003",
        leaving(_partition(lambda v: f"{v} ")),
        f"{PARTS}string*",
    ),
    writer(
        "trims-partition-texts",
        "PART-003",
        leaving(_partition(str.strip)),
        "add-file-and-remove-file/write-odd-value-outer-spaces/*",
    ),
    writer(
        "keeps-numbers-in-hexadecimal",
        "PART-004",
        leaving(_partition(lambda v: f"0x{v}")),
        f"{PARTS}integer*",
    ),
    writer(
        "keeps-dates-with-slashes",
        "PART-005",
        leaving(_partition(lambda v: v.replace("-", "/"))),
        f"{PARTS}date*",
    ),
    writer(
        "keeps-instants-otherwise",
        "PART-011",
        leaving(_partition(lambda v: v.replace(" ", "T"))),
        f"{PARTS}timestamp-ntz*",
    ),
    writer(
        "keeps-booleans-in-capitals",
        "PART-013",
        leaving(_partition(str.upper)),
        f"{PARTS}boolean*",
    ),
    writer(
        "keeps-bytes-otherwise",
        "PART-014",
        leaving(_partition(lambda v: v.encode().hex())),
        f"{PARTS}binary*",
    ),
    *(
        writer(f"{name}-partition-texts", "PART-003", leaving(edit), f"{_VALUES}{of}/*")
        for name, of, edit in (
            ("counts", "number", spelled_values(lambda v: str(int(v)) if v.isdigit() else v)),
            ("escapes", "backslash", spelled_values(lambda v: v.replace("\\", "\\\\"))),
            ("composes", "decomposed", spelled_values(lambda v: v.replace("e\u0301", "\u00e9"))),
        )
    ),
    writer(
        "optimizes-times-into-a-zone",
        "PART-011",
        during("optimize", each("add", _zoned, COMMIT)),
        "timestamp-ntz/write-moves-course/*",
    ),
)
