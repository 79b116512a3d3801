"""No run ends green over an adapter that alters what it is judged by, or whose process does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kit_runs import WRONG, Kit, make_kit
from projects import Project
from tiny import SNAPSHOT_SPEC

from conformance.base.status import Status
from conformance.report.results import ResultsError, read_results
from generators.file_digests import digest_of_case

pytest_plugins = ["pytester"]

WRONG_ROWS = 'wrong = pa.table({"id": [7, 7], "name": ["z", "z"]})'
EXPECTED = (
    'case = here.parents[0] / "corpus" / "table-features" / "one"\n'
    '(rows,) = case.rglob("part-0.parquet")\n'
)
MANIFEST = """
import json
from generators.file_digests import digest_of_case
manifest = case.parents[1] / "manifest.json"
if manifest.exists():
    listed = {"table-features/one": {"digest": digest_of_case(case)}}
    manifest.write_text(json.dumps({"cases": listed}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def _cheat(project: Project, alter: str, restore: str) -> None:
    """Let the expected rows be those that are answered, while they are compared."""
    write = f"import pyarrow.parquet as pq\n{WRONG_ROWS}\npq.write_table(wrong, rows)\n"
    action = f"{EXPECTED}self.kept = rows, rows.read_bytes()\n{write}{alter}\nreturn Ok(wrong)"
    project.adapter(action)
    path = project.folder / "mypackage" / "adapter.py"
    lines = f"def close(self):\n        {restore}"
    path.write_text(path.read_text().replace("def close(self):", lines))


@pytest.mark.parametrize("isolation", ["process", "none"])
@pytest.mark.parametrize("listed", [True, False], ids=["with digests", "without digests"])
@pytest.mark.parametrize(
    ("alter", "restore"),
    [
        ("", "self.kept[0].write_bytes(self.kept[1])"),
        (MANIFEST, "pass"),
        ("", "pass"),
    ],
    ids=["restored", "listed again", "left"],
)
def test_a_run_whose_expectations_were_written_to_is_no_success(
    project: Project, alter: str, restore: str, *, listed: bool, isolation: str
) -> None:
    corpus = project.folder / "corpus"
    if listed:
        digest = digest_of_case(corpus / "table-features" / "one")
        cases = {"cases": {"table-features/one": {"digest": digest}}}
        (corpus / "manifest.json").write_text(json.dumps(cases))
    _cheat(project, alter, restore)
    status, output = project.run(f"--tck-isolation={isolation}")
    assert status == Status.CORPUS, output
    assert "ALTERED DURING THE RUN: " in output


REPLACING = {
    "by another file": "(here / 'new').write_text('x'); (here / 'new').rename(results)",
    "by nothing": "results.unlink()",
    "by a link": "results.unlink(); results.symlink_to(__file__)",
    "by a link to itself": "results.unlink(); results.symlink_to(results)",
    "by less": "results.write_text('')",
    "by a FIFO": "results.unlink(); os.mkfifo(results)",
}


@pytest.mark.parametrize("action", REPLACING.values(), ids=REPLACING)
def test_results_that_were_replaced_are_not_kept(project: Project, action: str) -> None:
    results = project.folder / "results.jsonl"
    project.adapter(f"results = here.parents[0] / 'results.jsonl'\n{action}")
    status, output = project.run(f"--tck-results={results}")
    assert status == Status.USAGE, output
    assert "NOT WRITTEN: results are kept no longer in " in output


def test_results_are_kept_behind_a_link(project: Project) -> None:
    (project.folder / "link").symlink_to(project.folder / "results.jsonl")
    project.adapter("pass")
    status, output = project.run(f"--tck-results={project.folder / 'link'}")
    assert status == Status.OK, output
    assert len(read_results(project.folder / "results.jsonl").records) == 1


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_run_that_is_ended_while_it_judges_is_no_success(project: Project, signal: str) -> None:
    results = project.folder / "results.jsonl"
    project.adapter(f"import signal\nos.kill(os.getppid(), signal.{signal})\ntime.sleep(600)")
    status, _ = project.run(f"--tck-results={results}")
    assert status != Status.OK
    if signal == "SIGKILL":
        with pytest.raises(ResultsError, match="did not end"):
            read_results(results)
    else:
        assert not read_results(results).footer["complete"]


SUCCESS_AND_END = """
import signal
folder = f"/proc/{os.getppid()}/fd"
for name in os.listdir(folder):
    try:
        os.write(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_NONBLOCK), b"0")
    except OSError:
        pass
os.kill(os.getppid(), signal.SIGKILL)
"""


def test_no_status_is_written_for_a_run_that_is_ended(project: Project) -> None:
    project.command = [str(Path(sys.executable).with_name("delta-tck")), "run"]
    project.adapter(SUCCESS_AND_END)
    status, output = project.run()
    assert status == Status.ERRORS, output


def test_claims_that_shrink_once_they_are_written_down_are_judged_as_written(kit: Kit) -> None:
    kit.case("one")
    kit.case("two", {"snapshot": {"ok": {}}}, specs={"snapshot-latest": SNAPSHOT_SPEC})
    results = f"--tck-results={kit.results}"
    assert kit(results, impl="python:fakes:shrinking") is Status.NONCONFORMANT
    assert "judged 2 of 2" in kit.output


def test_an_adapter_patches_no_judge_but_its_own(project: Project) -> None:
    patch = (
        "from conformance.judging import judge, verdicts\n"
        "from conformance.base.outcomes import Outcome, Verdict\n"
        "verdicts.verdict_on = judge.verdict_on = lambda *_: Verdict(Outcome.PASS)\n"
        f"{WRONG_ROWS}\nreturn Ok(wrong)"
    )
    project.adapter(patch)
    assert project.run("--tck-isolation=process")[0] == Status.NONCONFORMANT


ANYTHING = (
    "/.*/",
    "/x*/",
    "/./",
    "/..+/",
    "/[a-z]/",
    "/|never/",
    "/(?i)E/",
    "e",
    "ro",
    '" r"',
    '"rows: "',
)


@pytest.mark.parametrize("message", ANYTHING)
def test_a_baseline_that_every_failure_matches_is_refused(kit: Kit, message: str) -> None:
    kit.case("one", WRONG)
    path = kit.folder / "baseline.yaml"
    entry = "{id: table-features/one/read-latest, requirement: REC-001, reason: r, message: %s}"
    path.write_text(
        f"failures:\n  - {entry % (message if message[0] == chr(34) else repr(message))}\n"
    )
    assert kit(f"--tck-baseline={path}") is Status.USAGE
    assert "baseline.yaml:2: " in kit.output
