"""The command of the generators: exported corpora in the case layout."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from generators.__main__ import main
from generators.export import export_histories, export_mutations
from generators.materialise.log.files import LOG_DIRECTORY
from generators.mutations import by_id
from generators.spec_files import spec_files


def documents(case: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in spec_files(case)}


def test_histories_become_cases_with_a_question_per_version(tmp_path: Path) -> None:
    ids = list(export_histories(tmp_path, count=3, number=1))
    assert [each.split("-", 2)[2] for each in ids] == ["plain", "classic", "classic-in-the-middle"]
    for case_id in ids:
        case = tmp_path / case_id
        info = json.loads((case / "case.json").read_text())
        assert info["id"] == case_id
        commits = sorted((case / "delta" / LOG_DIRECTORY).glob("*[0-9].json"))
        specs = documents(case)
        assert len(specs) == len(commits)
        for slug, spec in specs.items():
            rows = pq.read_table(case / "expected" / slug / "expected_data" / "part-0.parquet")
            assert spec["expected"] == {"rowCount": rows.num_rows}


def test_the_same_request_writes_the_same_corpus(tmp_path: Path) -> None:
    for name in ("a", "b"):
        list(export_histories(tmp_path / name, count=2, number=5))
    first = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*"))
    second = sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*"))
    assert first == second
    for path in first:
        if (tmp_path / "a" / path).is_file():
            assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()


def test_mutations_become_cases_that_refuse_or_read_on(tmp_path: Path) -> None:
    chosen = [by_id("log-missing-middle"), by_id("hint-absent"), by_id("hint-garbage")]
    ids = list(export_mutations(tmp_path, chosen))
    assert ids == [
        "delta-log-entries/mutated-log-missing-middle",
        "last-checkpoint-file/mutated-hint-absent",
    ]
    refused = documents(tmp_path / ids[0])["latest"]["error"]
    assert isinstance(refused, dict)
    assert (refused["kind"], refused["requirement"]) == ("invalid_table", "SNAP-001")
    assert documents(tmp_path / ids[1])["latest"]["expected"] == {"rowCount": 5}


def test_the_command_writes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["export", str(tmp_path), "--count", "2", "--feature", "deletionVectors"])
    assert status == 0
    assert "2 cases written" in capsys.readouterr().out


def test_a_wrong_request_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), "--count", "-1"]) == 2
    assert "not negative" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["export", str(tmp_path), "--feature", "none"])
    assert stop.value.code == 2


def _is_folder(path: Path, _: Path) -> None:
    path.mkdir(parents=True)
    (path / "diary").write_text("x")


IN_THE_WAY: dict[str, Callable[[Path, Path], None]] = {
    "a file": lambda path, _: path.write_text("x") and None,
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a link": lambda path, other: path.symlink_to(other),
    "a link to nothing": lambda path, other: path.symlink_to(other / "nothing"),
    "a folder of another program": _is_folder,
}
PLACES = ("", "generated", "generated/history-00000-plain")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_an_export_replaces_cases_and_nothing_else(
    tmp_path: Path, place: str, make: Callable[[Path, Path], None]
) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    # A folder of another program has the name of a case.
    (other / "history-00000-plain").mkdir(parents=True)
    (other / "history-00000-plain" / "keep").write_text("x")
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    make(out / place, other)
    # A folder to write into may hold other things, and be a link.
    status = 0 if make is _is_folder and place != PLACES[-1] else 2
    if not place and (out / place).is_dir():
        status = 0
    assert main(["export", str(out), "--count", "1"]) == status
    assert (other / "history-00000-plain" / "keep").read_text() == "x"
    if make is _is_folder:
        assert (out / place / "diary").read_text() == "x"
    assert not [*tmp_path.rglob(".scratch*")]


def test_an_export_uses_no_scratch_that_is_there(tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    other.mkdir()
    out.mkdir()
    (out / ".scratch").symlink_to(other)
    assert main(["export", str(out), "--count", "1"]) == 0
    assert main(["export", str(out), "--count", "1"]) == 0
    assert not [*other.iterdir()]
    assert (out / ".scratch").is_symlink()
    assert main(["export", str(out / ("x" * 300)), "--count", "1"]) == 2
