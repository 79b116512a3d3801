"""Whatever an adapter's process does costs the request under way and nothing else."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.adapter import Ok, Refused, Scan, Snapshot, Txn, Write
from conformance.base.faults import AdapterError, AdapterStartError, ResolveError
from conformance.workers.process import ProcessAdapter
from conformance.workers.resolve import Limits, resolve

HELPERS = Path(__file__).parents[1]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessAdapter]:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    adapter = resolve("python:fakes:create")
    assert isinstance(adapter, ProcessAdapter)
    with closing(adapter):
        yield adapter


def test_rows_travel_both_ways(scripted: ProcessAdapter) -> None:
    answer = scripted.run(Scan("/t"))
    assert isinstance(answer, Ok)
    assert answer.payload.equals(pa.table({"id": [1, 2]}))
    written = scripted.run(Write("/t", "append", {}, pa.table({"a": [1, 2, 3]})))
    assert written == Ok({"version": 3})


def test_values_and_refusals_travel(scripted: ProcessAdapter) -> None:
    assert scripted.describe().claims.operations >= {"scan", "append"}
    assert scripted.run(Txn("/t", "big")) == Ok(2**60)
    assert scripted.run(Txn("/t", "none")) == Ok(None)
    assert scripted.run(Snapshot("/t", version=7)) == Ok({"version": 7})
    assert scripted.run(Scan("/refuse")) == Refused("invalid_table", "load", "no")


@pytest.mark.parametrize(
    ("table", "reason", "words"),
    [
        ("/crash", "crash", "exit status 3"),
        ("/kill", "crash", "signal 9"),
        ("/raise", "raised", "ZeroDivisionError"),
        ("/exit", "raised", "SystemExit: left early"),
    ],
)
def test_a_fault_costs_one_request(
    scripted: ProcessAdapter, table: str, reason: str, words: str
) -> None:
    with pytest.raises(AdapterError, match=words) as caught:
        scripted.run(Scan(table))
    assert caught.value.kind == reason
    assert isinstance(scripted.run(Scan("/fine")), Ok)


@pytest.mark.parametrize(("table", "kept"), [("/raise", True), ("/exit", False)])
def test_an_adapter_that_restarts_its_engine_keeps_its_process(
    monkeypatch: pytest.MonkeyPatch, table: str, *, kept: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    with closing(resolve("python:fakes:renewed")) as adapter:
        before = adapter.run(Txn("/t", "process"))
        with pytest.raises(AdapterError):
            adapter.run(Scan(table))
        assert (adapter.run(Txn("/t", "process")) == before) is kept


def test_a_hang_costs_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    with closing(resolve("python:fakes:create", Limits(request=1.5))) as adapter:
        with pytest.raises(AdapterError, match=r"no answer within 1\.5 s") as caught:
            adapter.run(Scan("/hang"))
        assert caught.value.kind == "time limit"
        assert "Timeout" in caught.value.details
        assert "fakes.py" in caught.value.details  # where it hangs
        assert adapter.describe().name == "scripted"


def test_prints_of_an_engine_are_no_answers(scripted: ProcessAdapter) -> None:
    assert isinstance(scripted.run(Scan("/print")), Ok)


def program(tmp_path: Path, body: str) -> ProcessAdapter:
    """Write an adapter that a person could write in any language."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent(
            """\
            import json, os, subprocess, sys, time
            claims = {"reader_version": 1, "writer_version": 0, "reader_features": [],
                      "writer_features": [], "operations": ["scan", "snapshot"]}
            hello = {"name": "p", "engine_version": "1", "claims": claims}
            for line in sys.stdin:
                asked = json.loads(line)
                answer = {"id": asked["id"], "ok": hello}
                if asked["request"] == "snapshot":
                    answer["ok"] = {"version": 0}
                if asked["request"] == "scan":
            """
        )
        + textwrap.indent(textwrap.dedent(body), " " * 8)
        + "\n    print(json.dumps(answer), flush=True)\n"
    )
    return ProcessAdapter([sys.executable, str(path)], time_limit=1.5, start_limit=20)


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ("print('hello', flush=True)", "garbage", "not JSON"),
        ("print('[1]', flush=True)", "garbage", "not a JSON object"),
        ("answer['id'] += 1", "wrong id", "answered the request 1 after it"),
        ("answer['id'] = True", "wrong id", "answered True"),
        ("del answer['id']", "wrong id", "answered None"),
        ("del answer['ok']", "garbage", "either ok or refused"),
        ("answer['refused'] = {'message': 'no'}", "garbage", "either ok or refused"),
        ("answer['refused'] = None", "garbage", "leaves out the others, null or not"),
        ("answer['error'] = None", "garbage", "leaves out the others, null or not"),
        ("answer['ok'] = [1, 2]", "garbage", "rows are answered as"),
        ("answer['ok'] = {'rows': asked['rows_to']}", "garbage", "cannot be read"),
        (
            "open(asked['rows_to'], 'wb').close()\nanswer['ok'] = {'rows': asked['rows_to']}",
            "garbage",
            "cannot be read",
        ),
        (
            "del answer['ok']\nanswer['refused'] = {'kind': 'bored', 'message': 'no'}",
            "garbage",
            "kind 'bored' is not known",
        ),
        ("del answer['ok']\nanswer['refused'] = 'no'", "garbage", "object with a message"),
        ("sys.exit(7)", "crash", "exit status 7"),
        ("subprocess.Popen(['sleep', '600']); time.sleep(600)", "time limit", "1.5 s"),
        ("os.close(1); time.sleep(600)", "crash", "its standard output closed"),
    ],
)
def test_a_program_that_breaks_the_messages_is_a_fault(
    tmp_path: Path, body: str, reason: str, words: str
) -> None:
    with closing(program(tmp_path, body)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError, match=words) as caught:
            adapter.run(Scan("/t"))
        assert caught.value.kind == reason
        assert adapter.run(Snapshot("/t")) == Ok({"version": 0})


def test_standard_error_is_kept_for_people(tmp_path: Path) -> None:
    body = "print('the reason', file=sys.stderr, flush=True); sys.exit(1)"
    with closing(program(tmp_path, body)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError) as caught:
            adapter.run(Scan("/t"))
    assert caught.value.details.strip() == "the reason"


def test_an_engine_of_rust_traces_nothing_into_its_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUST_BACKTRACE", "full")
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys\nsys.exit(os.environ['RUST_BACKTRACE'] + os.environ['RUST_LIB_BACKTRACE'])"
    )
    with pytest.raises(AdapterError) as caught:
        ProcessAdapter([sys.executable, str(script)]).describe()
    assert caught.value.details.strip() == "00"


@pytest.mark.parametrize(
    "command",
    [
        ["/does/not/exist"],
        [sys.executable, "-c", "raise SystemExit('broken')"],
        [sys.executable, "-c", "print('Welcome!')"],
        [sys.executable, "-c", f"print({json.dumps(json.dumps({'id': 0, 'ok': {}}))})"],
    ],
)
def test_an_adapter_that_does_not_start_says_so(command: list[str]) -> None:
    with (
        closing(ProcessAdapter(command, start_limit=20)) as adapter,
        pytest.raises(AdapterStartError),
    ):
        adapter.describe()


def test_a_factory_that_raises_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    with (
        closing(resolve("python:fakes:never")) as adapter,
        pytest.raises(AdapterStartError) as caught,
    ):
        adapter.describe()
    assert "the engine is not here" in caught.value.details


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("deltalke", "did you mean 'deltalake'"),
        ("cmd:", "needs a command line"),
        ("nothing", "neither one of"),
    ],
)
def test_an_unknown_implementation_is_refused_with_a_hint(name: str, words: str) -> None:
    with pytest.raises(ResolveError, match=words):
        resolve(name)
