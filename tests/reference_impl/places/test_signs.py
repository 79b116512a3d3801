"""``#`` and ``?`` in a path of the log, which end a path for readers that take it for a whole URI.

The ruling of ADD-003: an escaped sign is a letter of the file's name, and nothing else. A bare
one is read as a letter too, and what lies before it is never deleted.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import (
    CheckpointFileNotFound,
    DeltaError,
    InvalidCheckpoint,
    PlaceRefused,
)
from reference_impl.places import ObjectRoot, Policy, decode_path

SIGNS = ["#f", "?x=1", "#", "?", "?a#b", "#a?b", "#a#b", "?x/y"]
"""What a name goes on with; the last two make it go on in a folder, or end twice."""

ESCAPED = str.maketrans({"#": "%23", "?": "%3f"})
KINDS = ["data", "vector", "change", "sidecar"]


def spelled(world: Any, kind: str, end: str) -> str:
    """Spell a kind of file with an end, as that kind is spelled."""
    name = world.names[kind].rpartition("/")[2] if kind == "sidecar" else world.names[kind]
    return world.fill("{root}/{name}" if kind == "vector" else "{name}", name) + end


def named(world: Any, kind: str, end: str) -> None:
    """Name a kind of file so."""
    if kind == "sidecar":
        world.name()
        world.checkpoint(spelled(world, kind, end))
        for version in (0, 1):
            (world.root / "_delta_log" / f"{version:020}.json").unlink()
    else:
        world.name(**{kind: spelled(world, kind, end)})


def looked_at(world: Any, kind: str) -> Any:
    """Return what comes of reading the kind of file: its rows, or the error's class."""
    try:
        if kind == "change":
            return Table(world.root).changes(2, 2).num_rows
        return sorted(read_table(world.root)["id"].to_pylist())
    except DeltaError as error:
        return type(error)


def cleaned(world: Any) -> None:
    """Delete all that may be deleted."""
    orphan = world.litter()
    world.age()
    table = Table(world.root)
    for delete in (lambda: table.vacuum(retention=0, unsafe=True), table.clean_log):
        try:
            delete()
        except (CheckpointFileNotFound, InvalidCheckpoint, PlaceRefused):
            return  # the log says too little
    assert not orphan.exists()


def grown(world: Any, kind: str, end: str) -> Any:
    """Put a copy of the file where the literal name leads."""
    held = world.root / world.names[kind]
    literal = held.parent / (held.name + end)
    literal.parent.mkdir(exist_ok=True)
    literal.write_bytes(held.read_bytes())
    return literal


@pytest.mark.parametrize("end", SIGNS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_before_a_bare_sign_is_not_read_and_not_deleted(
    world: Any, kind: str, end: str
) -> None:
    named(world, kind, end)
    found = looked_at(world, kind)
    assert isinstance(found, type), found
    if kind != "change":  # those are deleted by age, with their commits
        cleaned(world)
        assert (world.root / world.names[kind]).exists()


@pytest.mark.parametrize("end", [each for each in SIGNS if "/" not in each])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_sign_is_read_as_a_letter_and_no_reading_loses_a_file(
    world: Any, kind: str, end: str
) -> None:
    named(world, kind, end)
    literal = grown(world, kind, end)
    before = literal.read_bytes()
    assert looked_at(world, kind) == (1 if kind == "change" else [2, 3, 4])
    if kind != "change":
        cleaned(world)
        assert literal.read_bytes() == before
        assert (world.root / world.names[kind]).exists()
        assert looked_at(world, kind) == [2, 3, 4]


@pytest.mark.parametrize("end", [each for each in SIGNS if "/" not in each])
@pytest.mark.parametrize("kind", KINDS)
def test_an_escaped_sign_is_a_letter_alone(world: Any, kind: str, end: str) -> None:
    named(world, kind, end.translate(ESCAPED))
    literal = grown(world, kind, end)
    rows = 1 if kind == "change" else [2, 3, 4]
    assert looked_at(world, kind) == rows
    if kind != "change":
        cleaned(world)
        assert literal.exists()
        # Nothing names what lies before it; sidecars go with their checkpoint alone.
        assert (world.root / world.names[kind]).exists() is False
        assert looked_at(world, kind) == rows


@pytest.mark.parametrize("end", ["?a#b#c", "#a?b#c"])
def test_a_file_before_each_of_several_signs_is_kept(world: Any, end: str) -> None:
    world.name(data="part-0.parquet" + end)
    kept = [
        world.root / ("part-0.parquet" + end[:at]) for at, sign in enumerate(end) if sign in "?#"
    ]
    for path in kept:
        path.write_bytes(b"what another reader takes for it")
    cleaned(world)
    assert all(path.exists() for path in kept)


@pytest.mark.parametrize(("end", "bare"), [("#f", True), ("%23f", False), ("?x", True)])
def test_the_audit_looks_at_the_letters_and_reports_a_bare_sign(
    world: Any, end: str, bare: bool
) -> None:
    world.name(data="part-0.parquet" + end)
    grown(world, "data", decode_path(end))
    found = {each.requirement for each in audit(str(world.root)) if each.severity == "error"}
    assert found == ({"ADD-004"} if bare else set())
    (world.root / ("part-0.parquet" + decode_path(end))).unlink()
    found = {each.requirement for each in audit(str(world.root)) if each.severity == "error"}
    assert "SNAP-004" in found


@pytest.mark.parametrize("path", ["a#b", "a%23b", "a?b", "a%3Fb", "s3://bucket/t/a#b", "/t/a?b"])
def test_a_sign_is_a_letter_of_a_key(path: str) -> None:
    decoded = decode_path(path)
    place = ObjectRoot("s3://bucket/t", Policy()).follow(decoded)
    assert (place.within, place.store) == (decoded.rpartition("/")[2], None)
