"""Every spelling of a path leads to its file or is refused, and no spelling loses the file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from spellings import ABSOLUTE, NAMES, REFUSED, ROOTS, ROWS, SIDECARS, SPELLINGS, opened

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import DataFileNotFound, InvalidCheckpoint, PlaceRefused


def turns(spelling: str) -> list[str]:
    """Return two ways to open the table, another pair for the next spelling."""
    at = list(SPELLINGS | SIDECARS).index(spelling)
    return [ROOTS[at % len(ROOTS)], ROOTS[(at * 3 + 1) % len(ROOTS)]]


def outcome(location: str) -> Any:
    try:
        return sorted(read_table(location)["id"].to_pylist())
    except PlaceRefused as error:
        return error.hint and REFUSED


def survives(world: Any, location: str, expected: str, *, needed: set[str]) -> None:
    """Vacuum and clean the table, and check it against what it was."""
    orphan = world.litter()
    world.age()
    wanted = [2, 3, 4] if expected == ROWS else REFUSED
    assert outcome(location) == wanted
    before, outside = world.content(), world.content(world.outside)
    table = Table(location)
    assert table.snapshot().files().num_rows == 1
    table.vacuum(retention=0, unsafe=True)
    assert not orphan.exists()
    table.clean_log()
    after = world.content()
    assert {name: after.get(name) for name in needed} == {name: before[name] for name in needed}
    assert world.content(world.outside) == outside
    assert outcome(location) == wanted


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_data_file_outlives_vacuum_in_every_spelling(
    world: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.name(data=world.fill(spelling, "part-0.parquet"))
    for how in turns(spelling):
        needed = {"part-0.parquet", "vectors.bin"}
        survives(world, opened(world, how, monkeypatch), SPELLINGS[spelling], needed=needed)


@pytest.mark.parametrize("how", ROOTS)
@pytest.mark.parametrize("spelling", ["{link}/{name}", "file:{root}/{name}", "{name}"])
def test_a_data_file_outlives_vacuum_however_the_table_is_opened(
    world: Any, spelling: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.name(data=world.fill(spelling, "part-0.parquet"))
    needed = {"part-0.parquet", "vectors.bin"}
    survives(world, opened(world, how, monkeypatch), ROWS, needed=needed)


@pytest.mark.parametrize(
    "end", ["/", "//", "/.", "/./", "/%2E", "%2F.", "/././.", "?x=1", "#f", "?", "#?"]
)
@pytest.mark.parametrize("prefix", ["", "./", "{root}/"])
def test_a_file_that_another_reader_may_find_outlives_vacuum(
    world: Any, prefix: str, end: str
) -> None:
    world.name(data=world.fill(prefix + "{name}", "part-0.parquet") + end)
    world.age()
    with pytest.raises(DataFileNotFound):
        read_table(world.root)
    Table(world.root).vacuum(retention=0, unsafe=True)
    assert (world.root / "part-0.parquet").exists()


@pytest.mark.parametrize("spelling", ABSOLUTE)
def test_a_vector_outlives_vacuum_in_every_spelling(
    world: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.name(vector=world.fill(spelling, "vectors.bin"))
    for how in turns(spelling)[:1]:
        needed = {"part-0.parquet", "vectors.bin"}
        survives(world, opened(world, how, monkeypatch), ABSOLUTE[spelling], needed=needed)


@pytest.mark.parametrize("prefix", ["{name}", "file://{link}/{name}"])
@pytest.mark.parametrize(
    ("name", "spelled"), [(name, each) for name, many in NAMES.items() for each in many]
)
def test_a_name_of_odd_letters_outlives_vacuum(
    world: Any, name: str, spelled: str, prefix: str
) -> None:
    (world.root / "part-0.parquet").rename(world.root / name)
    world.name(data=world.fill(prefix, spelled))
    survives(world, str(world.root), ROWS, needed={name, "vectors.bin"})


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_change_file_is_kept_as_long_as_its_commit_is_young(
    world: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = turns(spelling)[0]
    name = "_change_data/change-0.parquet"
    world.name(change=world.fill(spelling, name))
    location = opened(world, how, monkeypatch)
    world.age()
    for commit in (world.root / "_delta_log").glob("*.json"):
        commit.touch()

    def feed() -> Any:
        try:
            return Table(location).changes(2, 2).num_rows
        except PlaceRefused:
            return REFUSED

    assert feed() == (1 if SPELLINGS[spelling] == ROWS else REFUSED)
    orphan = world.litter()
    world.age()
    for commit in (world.root / "_delta_log").glob("*.json"):
        commit.touch()
    Table(location).vacuum()
    assert not orphan.exists()
    assert (world.root / name).exists()
    assert feed() == (1 if SPELLINGS[spelling] == ROWS else REFUSED)


@pytest.mark.parametrize("spelling", SIDECARS)
def test_a_sidecar_outlives_cleanup_and_lies_in_its_own_folder(
    world: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = turns(spelling)[0]
    world.name()
    location = opened(world, how, monkeypatch)
    world.checkpoint(world.fill(spelling, "sidecar-0.parquet"))
    stray = world.root / "_delta_log" / "_sidecars" / "stray.parquet"
    stray.write_bytes(b"no checkpoint's")
    world.age()

    def read() -> Any:
        try:
            return sorted(read_table(location)["id"].to_pylist())
        except InvalidCheckpoint as error:
            return error.requirement == "SIDE-004" and REFUSED

    wanted = [2, 3, 4] if SIDECARS[spelling] == ROWS else REFUSED
    if wanted == REFUSED:
        for version in (0, 1):
            (world.root / "_delta_log" / f"{version:020}.json").unlink()
    assert read() == wanted
    if wanted == REFUSED:
        assert Table(location).clean_log() == []  # no checkpoint that a reader could begin at
    else:
        Table(location).clean_log()
        assert not stray.exists()
    assert (world.root / "_delta_log" / "_sidecars" / "sidecar-0.parquet").exists()
    assert read() == wanted


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_audit_looks_at_a_file_or_says_that_it_does_not(world: Any, spelling: str) -> None:
    for kind, name in (("data", "part-0.parquet"), ("change", "_change_data/change-0.parquet")):
        world.name(**{kind: world.fill(spelling, name)})
        found = audit(str(world.root))
        refused = [f for f in found if f.requirement == "ADD-002" and "not looked at" in f.message]
        assert bool(refused) is (SPELLINGS[spelling] == REFUSED), found
        assert {f.severity for f in refused} <= {"warning"}
        assert not [f for f in found if f.severity == "error"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_rows_are_deleted_and_files_compacted_in_every_spelling(world: Any, spelling: str) -> None:
    world.name(data=world.fill(spelling, "part-0.parquet"))
    table = Table(world.root)
    table.append(pa.table({"id": [9]}))
    if SPELLINGS[spelling] == REFUSED:
        with pytest.raises(PlaceRefused):
            table.delete("id = 2")
        assert table.latest_version() == 3
        return
    table.delete("id = 2")
    assert outcome(str(world.root)) == [3, 4, 9]
    table.optimize()
    assert outcome(str(world.root)) == [3, 4, 9]
    assert table.snapshot().files().num_rows == 1
    world.age()
    table.vacuum(retention=0, unsafe=True)
    assert outcome(str(world.root)) == [3, 4, 9]
    assert not (world.root / "part-0.parquet").exists()


def test_the_table_of_spellings_is_as_long_as_it_says() -> None:
    assert len(SPELLINGS) + sum(map(len, NAMES.values())) + len(SIDECARS) > 60
    assert {*SPELLINGS.values()} == {ROWS, REFUSED}
