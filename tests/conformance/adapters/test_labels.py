"""Labels of columns whose engine has fewer types than Delta."""

from __future__ import annotations

import pyarrow as pa
import pytest

from conformance.adapters.sql.labels import relabelled

UTC = pa.timestamp("us", "UTC")
NTZ = pa.timestamp("us")


@pytest.mark.parametrize(
    ("given", "declared", "labelled_as"),
    [
        (pa.string(), pa.binary(), pa.binary()),
        (pa.string(), pa.string(), pa.string()),
        (UTC, NTZ, NTZ),
        (UTC, UTC, UTC),
        (pa.list_(pa.string()), pa.list_(pa.binary()), pa.list_(pa.binary())),
        (pa.map_(pa.string(), UTC), pa.map_(pa.binary(), NTZ), pa.map_(pa.binary(), NTZ)),
        (
            pa.struct([("a", UTC), ("b", pa.string())]),
            pa.struct([("b", pa.binary()), ("a", NTZ)]),
            pa.struct([("a", NTZ), ("b", pa.binary())]),
        ),
    ],
)
def test_only_the_labels_that_the_engine_lacks_change(
    given: pa.DataType, declared: pa.DataType, labelled_as: pa.DataType
) -> None:
    table = pa.table({"c": pa.array([None], given)})
    assert relabelled(table, {"c": declared}).schema.field("c").type == labelled_as


@pytest.mark.parametrize(
    ("given", "declared"),
    [
        (pa.string(), pa.int64()),
        (pa.int64(), pa.string()),
        (pa.binary(), pa.string()),
        (NTZ, UTC),
        (pa.list_(pa.string()), pa.string()),
    ],
)
def test_a_type_that_the_engine_can_distinguish_is_left_as_it_is(
    given: pa.DataType, declared: pa.DataType
) -> None:
    table = pa.table({"c": pa.array([None], given)})
    assert relabelled(table, {"c": declared}) == table


def test_bytes_and_instants_keep_their_values() -> None:
    text = pa.array(["a", None]).cast(pa.string())
    moment = pa.array([-1, None], pa.int64()).cast(UTC)
    table = relabelled(
        pa.table({"b": text, "n": moment, "undeclared": text}), {"b": pa.binary(), "n": NTZ}
    )
    assert table.column("b").to_pylist() == [b"a", None]
    assert table.column("n").cast(pa.int64()).to_pylist() == [-1, None]
    assert table.column("undeclared").to_pylist() == ["a", None]
