"""Whatever another writer committed to a table, an operation works or gives a typed error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hostile import BASES, OPERATIONS, SCHEMA, attack, nested, plant, with_schema

from reference_impl import DeltaError, LimitExceeded, Table, read_table
from reference_impl.errors import (
    IncompatibleSchemas,
    InvalidAction,
    InvalidMetadata,
    InvalidTableError,
)


@pytest.mark.parametrize("seed", range(4))
def test_an_operation_on_a_hostile_table_works_or_gives_a_typed_error(
    tmp_path: Path, seed: int
) -> None:
    done = refused = 0
    for about, error in attack(tmp_path, seed, 25):
        if error is not None and not isinstance(error, DeltaError):
            raise AssertionError(about) from error
        done += error is None
        refused += error is not None
    assert done
    assert refused


@pytest.mark.parametrize("name", ["id", "part", "N", "", None])
@pytest.mark.parametrize("which", ["RowId", "RowCommitVersion"])
def test_a_materialised_column_that_is_named_like_another_is_refused(
    tmp_path: Path, name: str | None, which: str
) -> None:
    table = BASES["tracked"](tmp_path)
    key = f"delta.rowTracking.materialized{which}ColumnName"

    def planted(actions: dict[str, Any]) -> None:
        actions["metaData"]["configuration"][key] = name

    plant(table, planted)
    for operation in ("append", "update", "optimize", "merge", "delete"):
        with pytest.raises(InvalidMetadata):
            OPERATIONS[operation](table)
    assert read_table(tmp_path).num_rows == 4


def test_no_column_gets_the_name_of_a_materialised_one(tmp_path: Path) -> None:
    table = BASES["tracked"](tmp_path)
    names = [name for name in table.snapshot().metadata.configuration.values() if "col-" in name]
    assert len(names) == 2
    for name in names:
        with pytest.raises(InvalidMetadata):
            table.add_columns(pa.schema([(name, pa.int64())]))


@pytest.mark.parametrize("name", ["_change_type", "_Commit_Version", "_commit_timestamp"])
def test_no_column_is_named_like_one_of_change_data(tmp_path: Path, name: str) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), name: ["mine", "mine"]})
    table = Table(tmp_path)
    table.create(rows.schema, properties={"delta.enableChangeDataFeed": "true"})
    table.append(rows)
    with pytest.raises(IncompatibleSchemas, match=f"'{name}'"):
        table.changes(0)
    if name == "_change_type":
        with pytest.raises(IncompatibleSchemas, match=f"'{name}'"):
            table.delete("id = 1")
    assert read_table(tmp_path).equals(rows)


BAD_TEXTS = ["\ud800", "a\udfffb"]
CALLS: dict[str, Callable[[Table, Any], object]] = {
    "property": lambda t, bad: t.set_properties({"a": bad}),
    "property name": lambda t, bad: t.set_properties({bad: "a"}),
    "application": lambda t, bad: t.set_transaction(bad, 1),
    "domain": lambda t, bad: t.set_domain(bad, "{}"),
    "domain configuration": lambda t, bad: t.set_domain("mine", bad),
    "unset": lambda t, bad: t.unset_properties([bad]),
    "constraint": lambda t, bad: t.add_constraint("c", f"part = '{bad}'"),
    "column": lambda t, bad: t.rename_column("n", bad),
    "default": lambda t, bad: t.set_default("part", f"'{bad}'"),
    "filter": lambda t, bad: t.delete(f"part = '{bad}'"),
}


@pytest.mark.parametrize("text", BAD_TEXTS, ids=ascii)
@pytest.mark.parametrize("call", CALLS)
def test_a_lone_surrogate_is_refused_before_the_commit(
    tmp_path: Path, call: str, text: str
) -> None:
    table = BASES["mapped"](tmp_path)
    version = table.latest_version()
    with pytest.raises(DeltaError):
        CALLS[call](table, text)
    assert table.latest_version() == version


@pytest.mark.parametrize("value", [5, None, True, b"x", ["x"], {"a": "b"}, object()])
def test_what_is_no_text_is_not_committed_as_text(tmp_path: Path, value: Any) -> None:
    table = BASES["tracked"](tmp_path / "t")
    version = table.latest_version()
    for call in (
        lambda: table.set_properties({"a": value}),
        lambda: table.set_transaction(value, 1),
        lambda: Table(tmp_path / "u").create(SCHEMA, properties={"a": value}),
    ):
        with pytest.raises(InvalidTableError):
            call()
    assert table.latest_version() == version
    assert not (tmp_path / "u" / "_delta_log").exists()


def test_a_domain_that_is_no_text_is_refused(tmp_path: Path) -> None:
    table = BASES["tracked"](tmp_path)
    with pytest.raises(InvalidAction):
        table.set_domain("mine", 5)  # type: ignore[arg-type]  # what a caller may do
    table.snapshot()


@pytest.mark.parametrize("depth", [20, 45, 70, 95])
@pytest.mark.parametrize("kind", ["struct", "array", "map"])
def test_a_schema_is_nested_as_deep_as_readers_follow(
    tmp_path: Path, kind: str, depth: int
) -> None:
    table = BASES["plain"](tmp_path)
    column = {"name": "deep", "type": nested(kind, depth), "nullable": True, "metadata": {}}
    plant(table, with_schema(lambda schema: schema["fields"].append(column)))
    for operation in ("append", "set properties", "update", "optimize", "replace"):
        version = table.latest_version()
        try:
            OPERATIONS[operation](table)
        except DeltaError:
            assert table.latest_version() == version
        table.snapshot()
        read_table(tmp_path)


@pytest.mark.parametrize(("depth", "written"), [(94, True), (97, False)])
def test_no_checkpoint_is_deeper_than_readers_follow(
    tmp_path: Path, depth: int, written: bool
) -> None:
    """Statistics as a struct lie three levels deeper than the column."""
    of: pa.DataType = pa.int64()
    value: Any = 7
    for _ in range(depth):
        of, value = pa.struct([("a", of)]), {"a": value}
    rows = pa.table({"deep": pa.array([value], of)})
    table = Table(tmp_path)
    table.create(rows.schema, properties={"delta.checkpoint.writeStatsAsStruct": "true"})
    table.append(rows)
    if written:
        table.checkpoint()
    else:
        with pytest.raises(LimitExceeded, match="levels of a Parquet file"):
            table.checkpoint()
    assert bool([*tmp_path.rglob("*.checkpoint.parquet")]) is written
    for commit in [*tmp_path.rglob("0*.json")] if written else []:
        commit.unlink()
    assert read_table(tmp_path).equals(rows)
