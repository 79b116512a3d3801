"""Three opinions on one history agree: the replay, the builder, and what lies on disk."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

from conformance.audit import audit
from generators.materialise.data.arrow_rows import arrow_table
from generators.materialise.histories import write_history
from generators.materialise.layouts import LAYOUTS, Layout, lay_out
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    History,
    Merge,
    MergeClause,
    NoRowChange,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    Restore,
    SetDefault,
    SetDomain,
    SetNullable,
    SetProperties,
    UnsetProperties,
    Update,
    replay,
)
from generators.strategies import histories
from generators.strategies.histories import FEATURES
from reference_impl import Table, read_table

Reader = Callable[[Path, int], list[dict[str, Any]]]

HISTORY: History = (
    Create(struct(field("id", "long"), field("p", "string")), ("p",)),
    Append(tuple({"id": n, "p": "ab"[n % 2]} for n in range(6)), 2),
    Delete(node("=", column("id"), literal("long", 3))),
    Checkpoint(),
    Update({"id": 10}, node("=", column("p"), literal("string", "a"))),
    Overwrite(({"id": 7, "p": None},), node("=", column("p"), literal("string", "b"))),
    Compact(),
)

ALL_FEATURES = tuple(sorted(FEATURES))


def bag(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows as a sorted multiset that takes NaN for NaN and keeps null apart."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return "nan" if math.isnan(value) else value + 0.0
        if isinstance(value, dict):
            return sorted((name, plain(each)) for name, each in value.items())
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        return value

    return sorted(repr(plain(row)) for row in rows)


def expected(builder: Any, version: int) -> list[dict[str, Any]]:
    schema = builder.oracle.versions[version].schema
    rows: list[dict[str, Any]] = arrow_table(schema, builder.rows(version)).to_pylist()
    return rows


def test_the_sample_history_holds_what_it_says() -> None:
    oracle = replay(HISTORY)
    assert [sorted(row["id"] for row in oracle.rows(version)) for version in range(6)] == [
        [],
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 4, 5],
        [1, 5, 10, 10, 10],
        [7, 10, 10, 10],
        [7, 10, 10, 10],
    ]


@st.composite
def featured_histories(draw: st.DrawFn) -> History:
    features = draw(st.lists(st.sampled_from(ALL_FEATURES), unique=True, max_size=3))
    history: History = draw(histories(features=features))
    return history


@profile("gate", examples=20)
@given(featured_histories())
def test_the_builder_and_the_replay_agree(history: History) -> None:
    oracle = replay(history)
    with tempfile.TemporaryDirectory() as folder:
        builder = write_history(Path(folder) / "t", history, features=("v2Checkpoint",))
    assert builder.version + 1 == len(oracle.versions)
    for version in oracle.versions:
        assert bag(builder.rows(version.number)) == bag(oracle.rows(version.number))
        assert builder.oracle.versions[version.number].transactions == version.transactions
        kept = builder.oracle.versions[version.number].domains
        own = {name: text for name, text in kept.items() if not name.startswith("delta.")}
        assert own == version.domains


PAIRS = struct(field("id", "long"), field("p", "string"), field("s", struct(field("a", "long"))))
SAME = node("=", column("target", "id"), column("source", "id"))
WHEN = (
    MergeClause("matched", "delete", node("=", column("source", "p"), literal("string", "gone"))),
    MergeClause("matched", "update"),
    MergeClause("not_matched", "insert"),
    MergeClause("not_matched_by_source", "update", None, {"p": literal("string", "left")}),
)
MORE: History = (
    Create(
        PAIRS,
        ("p",),
        {
            "delta.columnMapping.mode": "name",
            "delta.enableChangeDataFeed": "true",
            "delta.enableRowTracking": "true",
            "delta.enableDeletionVectors": "true",
        },
        rows=tuple({"id": n, "p": "ab"[n % 2], "s": {"a": n}} for n in range(5)),
    ),
    Merge(({"id": 1, "p": "gone"}, {"id": 2, "p": "x"}, {"id": 9, "p": "b"}), SAME, WHEN),
    Update({"p": "y"}, None, {"id": node("+", column("id"), literal("long", 10))}),
    RenameColumn("a", "b", ("s",)),
    RenameColumn("p", "q"),
    Delete(node("=", column("id"), literal("long", 12)), "inline"),
    Overwrite(({"id": 50, "q": "y"},), node("=", column("q"), literal("string", "y"))),
    AddColumn(field("c", "string"), ("s",)),
    SetDefault("q", "'z'"),
    SetNullable("id", nullable=False),
    ReorderColumns(("s", "q", "id")),
    SetProperties({"mine": "x"}),
    UnsetProperties(("mine",)),
    Restore(2),
    NoRowChange(),
    Append(({"id": 77, "p": ""},)),
    Restore(6),
)


def test_merges_restores_and_computed_values_are_laid_out(
    tmp_path: Path, read_plain: Reader
) -> None:
    oracle = replay(MORE)
    builder = write_history(tmp_path / "t", MORE)
    assert builder.version + 1 == len(oracle.versions) == len(MORE)
    for version in oracle.versions:
        number = version.number
        assert bag(builder.rows(number)) == bag(oracle.rows(number))
        assert bag(read_plain(builder.root, number)) == bag(expected(builder, number))
        held = read_table(builder.root, version=number, row_ids=True)
        assert bag(held.to_pylist()) == bag(builder.row_ids(number))
        assert [*builder.oracle.versions[number].schema.names] == [*version.schema.names]
    for number, operation in enumerate(MORE):
        if number == 0 or isinstance(operation, Restore):
            continue  # whole files are the changes of a restore
        feed = (
            Table(builder.root)
            .changes(number, number)
            .drop_columns(["_commit_timestamp"])
            .to_pylist()
        )
        wanted = [
            {k: v for k, v in row.items() if k != "_commit_timestamp"}
            for row in builder.changes(number, number)
        ]
        assert bag(feed) == bag(wanted)
    assert [each for each in audit(str(builder.root)) if each.severity == "error"] == []


@st.composite
def plain_histories(draw: st.DrawFn) -> History:
    features = draw(
        st.lists(
            st.sampled_from(("columnMapping", "deletionVectors", "changeDataFeed")), unique=True
        )
    )
    history: History = draw(histories(features=features, max_operations=4))
    return history


@profile("gate", examples=20)
@given(plain_histories())
def test_what_lies_on_disk_is_what_the_oracle_says(read_plain: Reader, history: History) -> None:
    with tempfile.TemporaryDirectory() as folder:
        builder = write_history(Path(folder) / "t", history)
        for version in range(builder.version + 1):
            assert bag(read_plain(builder.root, version)) == bag(expected(builder, version))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_layout_holds_the_same_rows(tmp_path: Path, layout: Layout) -> None:
    laid = lay_out(tmp_path / "t", HISTORY, layout)
    oracle = replay([each for each in HISTORY if not isinstance(each, Checkpoint)])
    assert laid.builder.version == 5
    for version in laid.versions:
        assert bag(laid.builder.rows(version)) == bag(oracle.rows(version))
    commits = {commit_name(version) for version in range(6)}
    found = {path.name for path in (tmp_path / "t" / LOG_DIRECTORY).glob("*.json")}
    gone = sorted(commits - found)
    assert gone == [commit_name(version) for version in range(len(gone))]
    assert len(gone) <= laid.first + 1


@pytest.mark.parametrize("layout", LAYOUTS[:10], ids=lambda layout: layout.name)
def test_plain_commits_of_every_layout_read_back(
    tmp_path: Path, read_plain: Reader, layout: Layout
) -> None:
    laid = lay_out(tmp_path / "t", HISTORY, layout)
    for version in laid.versions:
        assert bag(read_plain(tmp_path / "t", version)) == bag(expected(laid.builder, version))


EXPECTED_FILES = {
    "classic": ["00000000000000000005.checkpoint.parquet", "_last_checkpoint"],
    "multi-part": [f"00000000000000000005.checkpoint.{n:010d}.0000000003.parquet" for n in (1, 3)],
    "compactions": ["00000000000000000001.00000000000000000002.compacted.json"],
    "checksums": ["00000000000000000000.crc", "00000000000000000005.crc"],
    "v2-json-sidecars": ["_sidecars"],
    "stale-hint": ["00000000000000000000.checkpoint.parquet"],
}


@pytest.mark.parametrize(("name", "files"), EXPECTED_FILES.items())
def test_a_layout_leaves_the_files_of_its_name(tmp_path: Path, name: str, files: list[str]) -> None:
    layout = next(each for each in LAYOUTS if each.name == name)
    lay_out(tmp_path / "t", HISTORY, layout)
    found = {path.name for path in (tmp_path / "t" / LOG_DIRECTORY).iterdir()}
    assert set(files) <= found


def test_layout_names_are_unique() -> None:
    names = [each.name for each in LAYOUTS]
    assert len(set(names)) == len(names) == 26


def test_a_history_begins_with_create(tmp_path: Path) -> None:
    for make in (replay, lambda history: write_history(tmp_path, history)):
        with pytest.raises(ValueError, match="begins with Create"):
            make([Append(())])


def test_a_removed_domain_is_gone_and_can_come_back() -> None:
    create = Create(struct(field("id", "long")), features=("domainMetadata",))
    oracle = replay([create, SetDomain("d", "x"), SetDomain("d", None), SetDomain("d", "y")])
    assert [dict(each.domains) for each in oracle.versions] == [{}, {"d": "x"}, {}, {"d": "y"}]
