"""What is written can be read again, and is written into no device, pipe or other file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from fakes import EVERYTHING

from conformance.base.faults import BaselineError, OutputError
from conformance.base.outcomes import FAILING, Outcome, Verdict
from conformance.base.status import Status
from conformance.report import run_report_cli
from conformance.report.baseline import Baseline, Entry, load_baseline
from conformance.report.baseline_writing import BaselineFile, Outcomes
from conformance.report.output import open_output
from conformance.report.results import ResultsWriter, read_results, write_results
from conformance.run.merge import run_merge_cli

TEXTS = [
    "a: b",
    "a #c",
    "x\nfailures: []",
    "'q",
    '"q',
    "null",
    "~",
    "*a",
    "&a",
    "!t",
    "- x",
    "\x1b[2J",
    "a\x85b",
    "a\u2028b",
    "\ufeff",
    "\ufffe",
    "\x7f",
    "\x00",
    "\U0010ffff",
    "%d",
    "@x",
    "`x",
    "[a",
    "{a",
    "? x",
    " x ",
    "a\\",
    "\\ud800",
    "/a\nb/",
    "a\r\nb",
    "https://example.org/?a=b&c#d: e",
]


def written(path: Path, *entries: Entry) -> Baseline:
    """Write a baseline after a run that asked nothing, and read it."""
    file = BaselineFile(path, Baseline(entries))
    file.write(Outcomes({}, FAILING, [each.id for each in entries]), EVERYTHING.as_document(), None)
    return load_baseline(path)


@pytest.mark.parametrize("field", ["id", "requirement", "message", "reason", "link"])
def test_every_text_of_an_entry_survives_writing_and_reading(tmp_path: Path, field: str) -> None:
    for each in TEXTS:
        # A message of a character or two would be refused.
        text = f"{each} rows {each}" if field == "message" else each
        fields: dict[str, Any] = dict.fromkeys(Entry.__slots__[:5], "abc") | {field: text}
        (found,) = written(tmp_path / "b.yaml", Entry(**fields)).entries
        assert getattr(found, field) == text
        (tmp_path / "b.yaml").unlink()


def test_a_message_about_a_name_that_is_no_text_is_one() -> None:
    name = os.fsdecode(b"\xff.parquet")
    verdict = Verdict(Outcome.ERROR, name, expected=name, actual=name, details=(name,))
    for text in (verdict.message, verdict.expected, verdict.actual, *verdict.details):
        assert text == r"\udcff.parquet"


def test_a_baseline_that_is_read_with_each_item_in_turn_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    entry = "- {id: 'c%d/*x', requirement: R-001, message: rows, reason: r}\n"
    path.write_text("failures:\n" + "".join(entry % number for number in range(1001)))
    with pytest.raises(BaselineError, match=r"b\.yaml:1002: more than 1000 entries have a \*"):
        load_baseline(path)
    path.write_text("failures: [" + "a," * 600_000 + "]")
    with pytest.raises(BaselineError, match="has more than 500000 values"):
        load_baseline(path)


def test_a_number_that_nothing_counts_to_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    written(path)
    text = path.read_text().replace("reader_version: ", f"reader_version: {'9' * 5000}")
    path.write_text(text)
    with pytest.raises(BaselineError, match="reader_version must be a whole number"):
        load_baseline(path)


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_a_baseline_replaces_nothing_but_a_file(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "b.yaml"
    make(path)
    kind = path.stat().st_mode
    with pytest.raises(OutputError, match="it is no regular file"):
        BaselineFile(path, Baseline())
    assert path.stat().st_mode == kind
    assert [*tmp_path.iterdir()] == [path]


def test_a_baseline_keeps_its_link_and_its_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "b.yaml", tmp_path / "link.yaml"
    written(path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    written(link, Entry("a", "R-001", "m", "r"))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert {each.name for each in tmp_path.iterdir()} == {"b.yaml", "link.yaml"}


def pipe(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


def device(_: Path) -> Path:
    return Path("/dev/full")


@pytest.mark.parametrize("make", [pipe, device])
def test_an_output_that_takes_nothing_is_named(
    tmp_path: Path, make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path)
    results = tmp_path / "r.jsonl"
    header = _header()
    with ResultsWriter(results) as writer:
        writer.begin({**header, "shard": {"number": 1, "of": 1, "selected": 0}})
        writer.close(Status.EMPTY_SELECTION)
    assert read_results(results).records == {}
    with pytest.raises(OutputError, match="results cannot be written"):
        write_results(read_results(results), path)
    with pytest.raises(OutputError, match="results cannot be written"):
        run_merge_cli([str(results), f"--output={path}"])
    assert run_report_cli([str(results), f"--output={path}"]) == 2
    assert "the page cannot be written" in capsys.readouterr().err


def test_a_pipe_with_a_reader_is_written_to(tmp_path: Path) -> None:
    path = pipe(tmp_path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(path, "a text") as file:
        assert os.get_blocking(file.fileno())
        file.write(b"x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)


def _header() -> dict[str, Any]:
    return {
        "kit_version": "1",
        "corpus_digest": "d",
        "revision": "2025",
        "impl": "p",
        "adapter": {"name": "p", "adapter_version": "1", "engine_version": "1"},
        "claims": EVERYTHING.as_document(),
        "selection": {},
        "cases": 0,
        "selected": 0,
    }
