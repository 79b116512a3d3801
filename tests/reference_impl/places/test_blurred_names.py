"""A file that became of a missing one under another spelling is kept, of whatever kind it is."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl import Table

# What the log names, escaped once, and what lies in the table instead.
BLURRED = {
    "case": ("Part-0.X", "part-0.x"),
    "case that has two letters": ("stra%C3%9Fe.x", "STRASSE.x"),
    "case of two letters that share a capital": ("%C4%B1.x", "I.x"),
    "case of a folder": ("P=A/f.x", "p=a/f.x"),
    "composed": ("%C3%A9.x", "e\u0301.x"),
    "decomposed": ("e%CC%81.x", "é.x"),
    "compatible": ("%EF%AC%81.x", "fi.x"),
    "both": ("%C3%89.x", "e\u0301.x"),
    "no escape": ("a%20b.x", "a%20b.x"),
    "two escapes": ("a%2520b.x", "a b.x"),
    "three escapes": ("a%252520b.x", "a b.x"),
    "an escaped slash": ("a%252Fb.x", "a/b.x"),
    "a slash that is not one": ("a%2Fb.x", "a%2Fb.x"),
    "an escaped dot": ("a%252Ex", "a.x"),
    "lower hexadecimal digits": ("a%253db.x", "a%3Db.x"),
    "a plus": ("a+b.x", "a b.x"),
    "a space": ("a%20b.x", "a+b.x"),
    "an escaped plus": ("a%252Bb.x", "a+b.x"),
    "a dot at the end": ("a.x.", "a.x"),
    "a space at the end": ("a.x%20", "a.x"),
    "a dot at the end of a folder": ("f./a.x", "f/a.x"),
    "two slashes, escaped": ("f%252F%252Fa.x", "f/a.x"),
    "dots, escaped": ("f/%252E/a.x", "f/a.x"),
    "case of a letter with a dot": ("%C4%B0.x", "i.x"),
    "a letter without width": ("a%E2%80%8Db.x", "ab.x"),
    "a hyphen that is not shown": ("ab.x", "a\u00adb.x"),
    "a mark of byte order": ("%EF%BB%BFa.x", "a.x"),
    "a backslash for a slash": ("f\\a.x", "f/a.x"),
    "an escaped backslash": ("f%5Ca.x", "f/a.x"),
}


# What other readers take for a place on a drive or on a host.
FOREIGN = [
    "c:/t/a.x",
    "C:\\t\\a.x",
    "c:a.x",
    "\\t\\a.x",
    "\\\\host\\t\\a.x",
    "%5C%5Chost%5Ca.x",
    "//host/t/a.x",
    "//localhost{root}/a.x",
    "/%2Fhost/t/a.x",
]


@pytest.mark.parametrize("kind", ["data", "vector", "change"])
@pytest.mark.parametrize(("named", "there"), BLURRED.values(), ids=BLURRED)
def test_what_may_have_become_of_a_missing_file_stays(
    world: Any, kind: str, named: str, there: str
) -> None:
    folder = "_change_data/" if kind == "change" else ""
    path = world.root / folder / there
    path.parent.mkdir(parents=True, exist_ok=True)
    (world.root / world.names[kind]).rename(path)
    root = f"{world.root}/" if kind == "vector" else ""
    world.name(**{kind: f"{root.replace(' ', '%20')}{folder}{named}"})
    orphan = world.litter()
    world.age()
    if kind == "change":
        for commit in (world.root / "_delta_log").glob("*.json"):
            commit.touch()
    table = Table(world.root)
    table.vacuum() if kind == "change" else table.vacuum(retention=0, unsafe=True)
    assert path.exists()
    assert not orphan.exists()


@pytest.mark.parametrize("kind", ["data", "vector"])
@pytest.mark.parametrize("named", FOREIGN)
def test_what_may_be_a_file_on_a_drive_or_a_host_stays(world: Any, kind: str, named: str) -> None:
    (world.root / world.names[kind]).rename(world.root / "a.x")
    world.name(**{kind: world.fill(named, "")})
    orphan = world.litter()
    world.age()
    Table(world.root).vacuum(retention=0, unsafe=True)
    assert (world.root / "a.x").exists()
    assert not orphan.exists()


@pytest.mark.parametrize("there", ["part-1.parquet", "part-0.parquet.bak", "x/part-0.parquet"])
def test_a_file_of_another_name_goes(world: Any, there: str) -> None:
    (world.root / there).parent.mkdir(exist_ok=True)
    (world.root / there).write_bytes(b"x")
    (world.root / "part-0.parquet").unlink()
    world.name()
    world.age()
    assert there in Table(world.root).vacuum(retention=0, unsafe=True)


def test_names_of_nothing_but_marks_take_no_time(world: Any) -> None:
    world.name(data="a" + "\u0300\u0316" * 200_000)
    orphan = world.litter()
    world.age()
    Table(world.root).vacuum(retention=0, unsafe=True)
    assert not orphan.exists()
