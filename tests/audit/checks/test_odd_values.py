"""Values that no writer means: the audit reports or passes over them, and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

ODD: tuple[Any, ...] = ([], {}, "", True, None, 2**63 - 1, -(2**63), 1.5, [[{}]], {"a": {"b": []}})
"""JSON of every kind."""


def _stats(lake: Any, odd: Any) -> None:
    lake.basic()
    fields = [lake.field(f"c{n}", of) for n, of in enumerate(("float", "long", "string", "date"))]
    lake.commit(lake.metadata(lake.field("id"), *fields))
    kinds = {k: {f"c{n}": odd for n in range(4)} for k in ("minValues", "maxValues", "nullCount")}
    lake.commit(lake.file("c.parquet", pa.table({"id": [1]}), stats=json.dumps(kinds)))


def _changes(lake: Any, odd: Any) -> None:
    column = lake.field("id", **{"delta.typeChanges": odd, "delta.generationExpression": odd})
    lake.commit(lake.protocol("r:typeWidening", "generatedColumns"), lake.metadata(column))
    lake.commit(lake.file("c.parquet", pa.table({"id": pa.array([1], pa.int32())})))


def _identity(lake: Any, odd: Any) -> None:
    keys = ("start", "step", "highWaterMark", "allowExplicitInsert")
    for held in (dict.fromkeys(keys, odd), dict.fromkeys(keys, 1) | {"start": odd}):
        lake.commit(
            lake.protocol("identityColumns"),
            lake.metadata(lake.field("id", **{f"delta.identity.{k}": v for k, v in held.items()})),
            lake.file(f"{lake.version}.parquet", pa.table({"id": [1, None]})),
        )


def _ids(lake: Any, odd: Any) -> None:
    name = "rowTracking__materializedRowIdColumnName"
    lake.commit(
        lake.protocol("rowTracking", "domainMetadata"),
        lake.metadata(lake.field("id"), **{name: "_id"}),
    )
    rows = pa.table({"id": [1, 2], "_id": [2**63 - 1, -(2**63)]})
    odd_ids = {"baseRowId": odd, "defaultRowCommitVersion": odd}
    lake.commit(lake.file("a.parquet", rows, **odd_ids))
    lake.commit(lake.remove("a.parquet", **odd_ids), lake.file("b.parquet", rows, **odd_ids))


def _vector(lake: Any, odd: Any) -> None:
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    for number, key in enumerate(("storageType", "pathOrInlineDv", "offset", "sizeInBytes")):
        lake.commit(lake.file(f"{number}.parquet", deletionVector=lake.vector([0], **{key: odd})))


def _partition(lake: Any, odd: Any) -> None:
    metadata = lake.metadata(lake.field("id"), lake.field("p", nullable=False), partition=["p"])
    lake.commit(lake.protocol(), metadata)
    rows = pa.table({"id": [1]})
    lake.commit(
        lake.file("a.parquet", rows, partitionValues={"p": odd}),
        lake.file("b.parquet", rows, partitionValues=odd),
    )


PLANTS: tuple[Callable[[Any, Any], None], ...] = (
    _stats, _changes, _identity, _ids, _vector, _partition,
)  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_value_stops_no_audit(plant: Any, odd: Any, lake: Any) -> None:
    plant(lake, odd)
    assert all(found.message for found in lake.audit())
