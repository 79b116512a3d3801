"""Checkpoints of every kind hold the same state, and statistics in the forms asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.data.spark_hash import murmur3_text
from reference_impl import Table, read_table
from reference_impl.errors import ConstraintViolation, UnsupportedFeatures
from reference_impl.write.checkpoints.files import hash_text
from reference_impl.write.checkpoints.write import Style

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("part", pa.date32()),
        ("s", pa.struct([("t", pa.timestamp("us", tz="UTC")), ("d", pa.decimal128(10, 2))])),
        ("l", pa.list_(pa.int64())),
    ]
)
STYLES = {
    "classic": Style(),
    "parts": Style(parts=3),
    "v2-parquet": Style("v2"),
    "v2-json": Style("v2", "json"),
    "v2-classic": Style("v2", classic=True),
    "v2-sidecars": Style("v2", "parquet", 2),
    "v2-json-sidecars": Style("v2", "json", 3),
}
MOMENT = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)


def rows(*numbers: int) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": n,
                "part": dt.date(2020, 1, 1 + n % 2),
                "s": {"t": MOMENT, "d": Decimal(n)},
                "l": [n],
            }
            for n in numbers
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize("statistics", ["json", "struct", "both"])
@pytest.mark.parametrize("name", STYLES)
def test_every_kind_of_checkpoint_stands_for_the_log(
    table: Table, clean: Callable[[], None], name: str, statistics: str
) -> None:
    table.create(
        SCHEMA,
        partition_columns=["part"],
        features=["domainMetadata", *(["v2Checkpoint"] if name.startswith("v2") else [])],
        properties={
            "delta.enableDeletionVectors": "true",
            "delta.checkpoint.writeStatsAsJson": str(statistics != "struct").lower(),
            "delta.checkpoint.writeStatsAsStruct": str(statistics != "json").lower(),
        },
    )
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5, 6, 7))
    table.delete("id IN (1, 4)")
    table.set_transaction("app", 3)
    table.set_domain("mine", "{}")
    before = read_table(table.storage.location).sort_by("id")
    table.checkpoint(STYLES[name])
    clean()
    for version in range(table.latest_version()):
        table.storage.delete(f"_delta_log/{version:020d}.json")
    assert read_table(table.storage.location).sort_by("id") == before
    assert read_table(table.storage.location, filter="id > 6").num_rows == 1
    snapshot = table.snapshot()
    assert snapshot.txns["app"].version == 3
    assert snapshot.domain_metadata["mine"].configuration == "{}"


def test_statistics_that_one_checkpoint_left_out_are_lost_to_the_next(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties={"delta.checkpoint.writeStatsAsJson": "false"}, rows=rows(1))
    table.checkpoint()
    table.unset_properties(["delta.checkpoint.writeStatsAsJson"])
    table.append(rows(2))
    table.checkpoint()
    texts = table.snapshot().adds().column("stats").to_pylist()
    assert [text is None for text in texts].count(True) == 1
    clean()


def columns(table: Table) -> Any:
    (path,) = Path(table.storage.location).glob("_delta_log/*.checkpoint.parquet")
    return pq.ParquetFile(path).schema_arrow.field("add").type


def test_parsed_columns_have_the_types_of_their_columns(table: Table) -> None:
    table.create(
        SCHEMA,
        partition_columns=["part"],
        properties={"delta.checkpoint.writeStatsAsStruct": "true"},
        rows=rows(1),
    )
    table.checkpoint()
    add = columns(table)
    assert add.field("partitionValues_parsed").type == pa.struct({"part": pa.date32()})
    low = add.field("stats_parsed").type.field("minValues").type
    inner = pa.struct({"t": pa.timestamp("us", tz="UTC"), "d": pa.decimal128(10, 2)})
    assert low == pa.struct({"id": pa.int64(), "s": inner})


def test_parsed_columns_are_left_out_unless_asked_for(table: Table) -> None:
    table.create(SCHEMA, partition_columns=["part"], rows=rows(1))
    table.checkpoint()
    names = {field.name for field in columns(table)}
    assert not names & {"stats_parsed", "partitionValues_parsed"}


def test_v2_checkpoints_need_their_feature(table: Table) -> None:
    table.create(SCHEMA)
    with pytest.raises(UnsupportedFeatures):
        table.checkpoint(Style("v2"))


@pytest.mark.parametrize("style", [Style(classic=True), Style("v2", "json", classic=True)])
def test_a_classic_name_is_for_checkpoints_in_parquet(table: Table, style: Style) -> None:
    table.create(SCHEMA, features=["v2Checkpoint"])
    with pytest.raises(ConstraintViolation):
        table.checkpoint(style)


def test_several_parts_and_the_v2_feature_rule_each_other_out(table: Table) -> None:
    table.create(SCHEMA, features=["v2Checkpoint"])
    with pytest.raises(ConstraintViolation):
        table.checkpoint(Style(parts=2))


def test_the_policy_of_the_table_chooses(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.checkpointPolicy": "v2"})
    table.checkpoint()
    (name,) = [e.name for e in table.storage.list_from("_delta_log") if "checkpoint." in e.name]
    assert len(name.split(".")) == 4


def test_an_earlier_checkpoint_does_not_take_the_hint_back(table: Table) -> None:
    table.create(SCHEMA, rows=rows(1))
    early = table.snapshot()
    table.append(rows(2))
    table.checkpoint()
    hint = table.storage.get("_delta_log/_last_checkpoint")
    from_before = Table(table.storage)
    from_before.snapshot = lambda *_: early  # type: ignore[method-assign]
    from_before.checkpoint()
    assert table.storage.get("_delta_log/_last_checkpoint") == hint


@pytest.mark.parametrize("text", ["", "a", "part-0001.parquet", "é漢😀", "\x80\xff"])
@pytest.mark.parametrize("seed", [42, -7])
def test_parts_are_split_by_the_hash_of_the_oracle(text: str, seed: int) -> None:
    assert hash_text(text, seed) == murmur3_text(text, seed)
