"""A corpus is untrusted: a bad one is refused by name, and nothing outside of it is touched."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny import READ, write_case

from conformance.base.status import Status
from conformance.cli import main

Spoil = Callable[[Path], None]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def victim(tmp_path: Path) -> Path:
    """Make the folder that a hostile corpus is after."""
    folder = tmp_path / "victim"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/b.json", "case.json"):
        (folder / name).write_text("{{table}} is precious")
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def field(name: str, value: Any) -> Spoil:
    """Write a field into ``case.json``; ``VICTIM`` stands for the victim's path."""

    def spoil(case: Path) -> None:
        path = case / "case.json"
        place = str(case.parents[2] / "victim")
        document = {**json.loads(path.read_text()), name: value}
        path.write_text(json.dumps(document).replace("VICTIM", place))

    return spoil


def content(name: str, text: str | bytes) -> Spoil:
    def spoil(case: Path) -> None:
        path = case / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    return spoil


def within(name: str, old: str, new: str) -> Spoil:
    def spoil(case: Path) -> None:
        path = case / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return spoil


def link(name: str, target: str = "victim") -> Spoil:
    def spoil(case: Path) -> None:
        path = case / name
        if path.is_file():
            path.unlink()
        path.symlink_to(case.parents[2] / target)

    return spoil


def fifo(name: str) -> Spoil:
    def spoil(case: Path) -> None:
        (case / name).unlink(missing_ok=True)
        os.mkfifo(case / name)

    return spoil


def listening(case: Path) -> None:
    here = Path.cwd()
    os.chdir(case / "delta")  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket")
    finally:
        os.chdir(here)


def sparse(name: str, size: int) -> Spoil:
    def spoil(case: Path) -> None:
        path = case / name
        path.touch()
        os.truncate(path, size)

    return spoil


def deep(case: Path) -> None:
    case.joinpath("delta", *"d" * 40).mkdir(parents=True)


def file_for_folder(case: Path) -> None:
    shutil.rmtree(case / "specs")
    (case / "specs").touch()


def many_rows(case: Path) -> None:
    rows = pa.table({"id": pa.nulls(2_000_000, pa.int64())})
    pq.write_table(rows, case / PART)


PART = "expected/read/expected_data/part-0.parquet"
SPEC = "specs/read.json"
NAMED = [
    "/victim",
    "VICTIM",
    "VICTIM/x",
    "../../victim",
    "../x",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "nul\0name",
    "C:",
    "C:x",
    "x" * 256,
    "\ud800",
    "beside",
]
BELOW = ["VICTIM/a.txt", "/etc/passwd", "../case.json", "a/../../case.json", "", ".", "a//b"]
BELOW += ["there-is-no-such-file", "\0", "..\\case.json", "\udcff"]
BELOW += ["file:VICTIM/a.txt", "file://localhostVICTIM/a.txt", "FILE:/etc/passwd", "s3://b/a.txt"]
BELOW += ["./answers.json", "//answers.json", "%2e%2e/case.json", "answers.json/", "~/a.txt"]
BELOW += ["answers.json\n", "x" * 5000, "d/" * 3000 + "x"]
NEST = 200_000

HOSTILE: dict[str, Spoil] = {
    **{f"root {name[:20]!r}": field("root", name) for name in NAMED},
    **{f"placeholder {name[:40]!r}": field("placeholders", [name]) for name in BELOW},
    **{f"time of {name[:40]!r}": field("file_times", {name: 0}) for name in BELOW},
    "a time beyond all": field("file_times", {"answers.json": 2**63 - 1}),
    "a negative time": field("file_times", {"answers.json": -1}),
    "a time that is no number": field("file_times", {"answers.json": "now"}),
    "a time that is a fraction of the kind": field("file_times", {"answers.json": 1.0}),
    "a root that is a list": field("root", ["x"]),
    "a linked table": link("delta/linked"),
    "a linked file of the table": link("delta/answers.json", "victim/a.txt"),
    "a linked log": link("delta/_delta_log"),
    "a linked case": link("case.json", "victim/case.json"),
    "a linked spec": link(SPEC, "victim/a.txt"),
    "linked rows": link(PART, "victim/a.txt"),
    "a linked folder beside": link("beside"),
    "a link to nothing": link("delta/dangling", "nowhere"),
    "a link to itself": link("delta/loop", "corpus"),
    "a FIFO in the table": fifo("delta/pipe"),
    "a FIFO as case": fifo("case.json"),
    "a FIFO as spec": fifo(SPEC),
    "a FIFO as rows": fifo(PART),
    "a socket": listening,
    "a table of petabytes": sparse("delta/large", 2**40),
    "a case of gigabytes": sparse("case.json", 2**33),
    "rows of gigabytes": sparse(PART, 2**29),
    "rows that are none": content(PART, b"PAR1 nothing PAR1"),
    "too many rows": many_rows,
    "fewer rows than are counted": within(SPEC, '"rowCount": 2', '"rowCount": 3'),
    "folders in folders": deep,
    "a file for the folder of specs": file_for_folder,
    "deep arrays": content("case.json", "[" * NEST + "]" * NEST),
    "deep objects": content(SPEC, '{"a":' * NEST + "1" + "}" * NEST),
    "brackets without end": content(SPEC, '{"a":[' * NEST),
    "a string without end": content(SPEC, '"' + "\\" * (2 * NEST + 1)),
    "half of a pair": within("case.json", "holds its", "\\ud800"),
    "UTF-16": content("case.json", '{"id": 1}'.encode("utf-16")),
    "no UTF-8": content("case.json", b'{"id": "\xff"}'),
    "a number of 5,000 digits": within(SPEC, '"rowCount": 2', '"rowCount": ' + "9" * 5000),
    "infinity": within(SPEC, '"rowCount": 2', '"rowCount": 1e999999'),
    "NaN": within(SPEC, '"rowCount": 2', '"rowCount": NaN'),
    "a key twice": within(SPEC, '"rowCount": 2', '"rowCount": 2, "rowCount": 2'),
    "an accepted answer elsewhere": content(
        SPEC,
        json.dumps(
            {
                "type": "contested",
                "of": "read",
                "title": "x",
                "requirements": ["REC-001"],
                "contested": {
                    "accepted": [{"name": "../../..", "source": "x", "expected": {"rowCount": 1}}]
                },
            }
        ),
    ),
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_corpus_is_refused_and_touches_nothing(
    tmp_path: Path, scratch: Path, spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(victim(tmp_path))
    corpus = tmp_path / "corpus"
    case = write_case(corpus, "table-features/one", {"read": READ})
    spoil(case)
    assert main(["smoke", "--impl=ours", f"--corpus={corpus}"]) == Status.CORPUS
    assert "corpus" in capsys.readouterr().err
    assert state(tmp_path / "victim") == before
    assert not list(scratch.iterdir())
