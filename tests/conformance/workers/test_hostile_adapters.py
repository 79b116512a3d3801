"""Whatever an adapter writes, starts or takes: the run goes on, and nothing of it stays."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.adapter import Ok, Refused, Request, Scan, Snapshot, Write
from conformance.base.faults import AdapterError, ResolveError
from conformance.base.outcomes import Outcome, Verdict
from conformance.workers.process import ProcessAdapter
from conformance.workers.process_tree import MARK
from conformance.workers.resolve import resolve
from conformance.workers.rows_file import RowsError, read_rows, write_rows
from conformance.workers.wire import WireError, parse_line

PROGRAM = """\
import ctypes, json, os, signal, subprocess, sys, time
import pathlib

claims = {"reader_version": 1, "writer_version": 0, "operations": ["scan", "snapshot"],
          "reader_features": [], "writer_features": []}
hello = {"name": "p", "engine_version": "1", "claims": claims}
here = pathlib.Path(__file__).parent

def daemon(clean):
    "Start a process that leaves its session and its parent, and holds the streams."
    ready, started = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            (here / "pid").write_text(str(os.getpid()))
            os.write(started, b"x")
            argv = [sys.executable, "-c", "import time; time.sleep(600)"]
            os.execve(sys.executable, argv, {} if clean else dict(os.environ))
        os._exit(0)
    os.read(ready, 1)

def answer(document):
    os.write(1, json.dumps(document).encode() + b"\\n")

while True:
    asked = json.loads(sys.stdin.readline())
    if asked["request"] == "describe":
        answer({"id": asked["id"], "ok": hello})
    if asked["request"] == "snapshot":
        answer({"id": asked["id"], "ok": {"version": 0}})
    if asked["request"] == "close":
        break
    if asked["request"] in ("scan", "write"):
        rows_to = asked.get("rows_to")
        ok = {"id": asked["id"], "ok": {"rows": rows_to}}
"""


def program(
    tmp_path: Path,
    body: str,
    time_limit: float = 60,
    memory_limit: int = 2**32,
    disk_limit: int = 2**32,
) -> ProcessAdapter:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + textwrap.indent(textwrap.dedent(body), " " * 8))
    return ProcessAdapter(
        [sys.executable, str(path)],
        time_limit=time_limit,
        start_limit=120,
        memory_limit=memory_limit,
        disk_limit=disk_limit,
    )


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


HOSTILE = {
    "half of a pair": (
        r"""os.write(1, b'{"id": %d, "refused": {"message": "\\ud800"}}\n' % asked["id"])""",
        "garbage",
    ),
    "depth": ("os.write(1, b'[' * 200_000 + b'\\n')", "garbage"),
    "a key twice": ("os.write(1, b'{\"id\": 1, \"id\": %d}\\n' % asked['id'])", "garbage"),
    "a number of 5,000 digits": ("os.write(1, b'{\"id\": ' + b'1' * 5000 + b'}\\n')", "garbage"),
    "NaN": ("os.write(1, b'{\"id\": NaN}\\n')", "garbage"),
    "a line without end": ("while True: os.write(1, b'x' * 65536)", "garbage"),
    "lines without end": ("while True: os.write(1, b'{}\\n' * 999)", "wrong id"),
    "two answers": ("os.mkfifo(rows_to); answer(ok); answer(ok); time.sleep(9)", "garbage"),
    "a claim that is refused": (
        "ok['ok']['rows'] = rows_to; answer({**ok, 'refused': {'message': 'no'}})",
        "garbage",
    ),
    "a FIFO as rows": ("os.mkfifo(rows_to); answer(ok)", "garbage"),
    "a folder as rows": ("os.mkdir(rows_to); answer(ok)", "garbage"),
    "a device as rows": ("os.symlink('/dev/zero', rows_to); answer(ok)", "garbage"),
    "a link as rows": ("os.symlink(__file__, rows_to); answer(ok)", "garbage"),
    "rows elsewhere": ("ok['ok']['rows'] = __file__; answer(ok)", "garbage"),
    "a sparse file as rows": (
        "open(rows_to, 'wb').close(); os.truncate(rows_to, 2**32); answer(ok)",
        "garbage",
    ),
    "a closed output": ("os.close(1); time.sleep(600)", "crash"),
    "a file without end": ("with open(rows_to, 'wb') as f: f.truncate(2**33)", "crash"),
}


@pytest.mark.parametrize(("body", "kind"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_costs_one_request(tmp_path: Path, body: str, kind: str) -> None:
    with closing(program(tmp_path, body)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError) as caught:
            adapter.run(Scan("/t"))
        assert caught.value.kind == kind
        str(caught.value).encode()
        assert adapter.run(Snapshot("/t")) == Ok({"version": 0})


def test_a_line_of_too_many_values_is_not_parsed() -> None:
    with pytest.raises(WireError, match="a line of more than 2000000 values"):
        parse_line(b'{"id": 1, "ok": [' + b"[]," * 1_000_000 + b"[]]}")


HANGING = {
    "a daemon that holds the output": "daemon(clean=False); time.sleep(600)",
    "a daemon that hides": "daemon(clean=True); time.sleep(600)",
    "a daemon of a program that ended": "daemon(clean=False); sys.exit(3)",
    "a program that ignores signals": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsys.stdin.close()\ntime.sleep(600)"
    ),
    "a program that forks": (
        "for _ in range(20):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)"
    ),
}


@pytest.mark.parametrize("body", HANGING.values(), ids=HANGING)
def test_no_process_outlives_its_request(tmp_path: Path, body: str) -> None:
    with closing(program(tmp_path, body, time_limit=3)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError) as caught:
            adapter.run(Scan("/t"))
        assert caught.value.kind == "time limit"
        assert adapter.run(Snapshot("/t")) == Ok({"version": 0})
    if (tmp_path / "pid").exists():
        pid = int((tmp_path / "pid").read_text())
        found = alive(pid)
        if found:
            os.kill(pid, 9)
        assert not found


def test_a_daemon_that_hides_from_its_first_moment_is_ended(tmp_path: Path) -> None:
    body = "daemon(clean=True); answer({'id': asked['id'], 'refused': {'message': 'no'}})"
    with closing(program(tmp_path, body)) as adapter:
        adapter.run(Scan("/t"))
    pid = int((tmp_path / "pid").read_text())
    found = alive(pid)
    if found:
        os.kill(pid, 9)
    assert not found


def test_a_program_that_does_not_read_is_stopped(tmp_path: Path) -> None:
    refusal = "answer({'id': asked['id'], 'refused': {'message': 'no'}}); time.sleep(600)"
    with closing(program(tmp_path, refusal, time_limit=3)) as adapter:
        assert adapter.run(Scan("/t")) == Refused(None, None, "no")
        with pytest.raises(AdapterError, match="no answer within 3 s"):
            adapter.run(Scan("/" + "t" * 2**20))
        assert adapter.run(Snapshot("/t")) == Ok({"version": 0})


@pytest.mark.parametrize("request_", [Scan("/t"), Write("/t", "optimize")], ids=["read", "write"])
def test_what_earlier_requests_left_in_memory_fails_no_later_one(
    tmp_path: Path, request_: Request
) -> None:
    body = """
    held = [*globals().get("held", ()), bytearray(os.urandom(1)) * (2**28 // 10)]
    time.sleep(0.6)
    answer({"id": asked["id"], "refused": {"message": "no"}})
    """
    with closing(program(tmp_path, body, memory_limit=2**28)) as adapter:
        answers = [adapter.run(request_) for _ in range(14)]
    assert all(isinstance(each, Refused) for each in answers)


def test_memory_of_all_processes_is_limited(tmp_path: Path) -> None:
    body = """
    for _ in range(3):
        if os.fork() == 0:
            held = bytearray(os.urandom(1)) * 2**27
            time.sleep(600)
    time.sleep(600)
    """
    with closing(program(tmp_path, body, memory_limit=2**28)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError, match=r"memory limit: held more than 0\.25 GiB") as caught:
            adapter.run(Scan("/t"))
        assert caught.value.kind == "memory limit"
        assert adapter.run(Snapshot("/t")) == Ok({"version": 0})


REPLACING = {
    "nothing": "pass",
    "a link": "os.symlink({!r}, folder)",
    "a folder": "os.mkdir(folder)",
}


@pytest.mark.parametrize("other", REPLACING.values(), ids=REPLACING)
def test_a_folder_of_answers_that_is_gone_is_made_again(tmp_path: Path, other: str) -> None:
    victim = tmp_path / "victim"
    (victim / "temporary").mkdir(parents=True)
    body = f"""
    folder = os.path.dirname(rows_to) if rows_to else None
    if folder:
        os.rename(folder, {str(tmp_path / "moved")!r} + str(asked["id"]))
        {other.format(str(victim))}
    answer({{"id": asked["id"], "refused": {{"message": "no"}}}})
    """
    with closing(program(tmp_path, body)) as adapter:
        adapter.describe()
        asked = [
            Scan("/t"),
            Write("/t", "append", rows=pa.table({"a": [1]})),
            Scan("/t"),
            Scan("/t"),
        ]
        places = {adapter._scratch.path}
        for request in asked:
            assert isinstance(adapter.run(request), Refused)
            places.add(adapter._scratch.path)
    assert len(places) == 3
    assert not [place for place in places if place.is_symlink() or [*place.glob("*")]]
    assert [*victim.rglob("*")] == [victim / "temporary"]


FILLING = {
    "temporary files": "tempfile.gettempdir()",
    "the table": "asked['table']",
    "the folder of answers": "os.path.dirname(rows_to)",
    "a folder by another variable": "os.environ['TMP']",
}


@pytest.mark.parametrize("size", ["2**20", "0"], ids=["large files", "many files"])
@pytest.mark.parametrize("place", FILLING.values(), ids=FILLING)
def test_what_all_processes_put_on_disk_is_limited(tmp_path: Path, place: str, size: str) -> None:
    table = tmp_path / "table"
    table.mkdir()
    body = f"""
    import tempfile
    for number in range(20_000):
        folder = pathlib.Path({place}, "a", str(number % 100))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_bytes(bytes({size}))
        if number % 50 == 49: time.sleep(0.1)
    """
    with closing(program(tmp_path, body, disk_limit=2**22)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError, match=r"disk limit: wrote more than .* GiB") as caught:
            adapter.run(Scan(str(table)))
        assert caught.value.kind == "disk limit"
        shutil.rmtree(table / "a", ignore_errors=True)
        assert adapter.run(Snapshot(str(table))) == Ok({"version": 0})
        left = adapter._scratch.path
        assert not [*left.rglob("a")]
    assert not left.exists()


def test_what_earlier_requests_left_on_disk_fails_no_later_one(tmp_path: Path) -> None:
    body = """
    import tempfile
    fd, name = tempfile.mkstemp()
    os.write(fd, bytes(6 * 2**20))
    time.sleep(1.5)
    answer({"id": asked["id"], "refused": {"message": "no"}})
    """
    with closing(program(tmp_path, body, disk_limit=2**24)) as adapter:
        answers = [adapter.run(Scan("/t")) for _ in range(4)]
    assert all(isinstance(each, Refused) for each in answers)


def test_standard_error_without_end_is_read_and_not_kept(tmp_path: Path) -> None:
    body = """
    for _ in range(2000): os.write(2, b"x" * 65536)
    os.write(2, b"\\x1b[2J the end")
    sys.exit(1)
    """
    with closing(program(tmp_path, body)) as adapter:
        adapter.describe()
        with pytest.raises(AdapterError) as caught:
            adapter.run(Scan("/t"))
    assert caught.value.details.endswith("\\x1b[2J the end")
    assert len(caught.value.details) < 10_000


@pytest.mark.parametrize("line", ["'", '"', "a\\"], ids=ascii)
def test_a_command_line_that_does_not_end_is_refused(line: str) -> None:
    with pytest.raises(ResolveError, match="is no command line"):
        resolve(f"cmd:{line}")


def test_the_mark_is_not_one_that_a_person_sets() -> None:
    assert MARK not in os.environ


def compressed(path: Path, table: pa.Table, copies: int) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        for _ in range(copies):
            writer.write_table(table)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_rows_are_read_however_they_are_packed(tmp_path: Path, codec: str | None) -> None:
    table = pa.table(
        {
            "a": list(range(1000)),
            "s": pa.array(["x", None] * 500).dictionary_encode(),
            "n": pa.array([[{"k": 1}], None] * 500),
            "m": pa.array([[("k", 1)], []] * 500, pa.map_(pa.string(), pa.int8())),
        }
    )
    options = pa.ipc.IpcWriteOptions(compression=codec)
    path = tmp_path / "rows.arrow"
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table, max_chunksize=300)
    assert read_rows(path).equals(table)


def test_rows_that_decompress_without_end_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    compressed(path, pa.table({"z": pa.array([bytes(2**26)])}), copies=17)
    assert path.stat().st_size < 2**20
    with pytest.raises(RowsError, match="decode to"):
        read_rows(path)
    nothing = pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])
    write_rows(pa.table({"n": nothing}), path)
    with pytest.raises(RowsError, match="2147483647, over"):
        read_rows(path)
    offsets = pa.array([0, 2**31 - 1], pa.int32())
    write_rows(pa.table({"n": pa.ListArray.from_arrays(offsets, nothing)}), path)
    with pytest.raises(RowsError, match="values, over"):
        read_rows(path)


def test_no_bent_byte_of_rows_breaks_more_than_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    compressed(path, pa.table({"a": [1, 2, 3], "s": ["a", "b", None]}), copies=1)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            read_rows(path)
        except RowsError as error:
            json.dumps(str(error)).encode()


LONG = pa.array(["x" * 2**20])
SHARED: dict[str, pa.Array] = {
    "a dictionary": pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), LONG),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2000], pa.int32()), LONG),
    "views of text": pa.Array.from_buffers(
        pa.string_view(),
        2000,
        [None, pa.py_buffer(struct.pack("<i4sii", 2**20, b"xxxx", 0, 0) * 2000), LONG.buffers()[2]],
    ),
    "views of lists": pa.ListViewArray.from_arrays(
        pa.array([0] * 2000, pa.int32()),
        pa.array([2**20] * 2000, pa.int32()),
        pa.array(bytes(2**20), pa.int8()),
    ),
    "a dictionary of lists": pa.DictionaryArray.from_arrays(
        pa.array([0] * 2000, pa.int32()), pa.array([[0] * 2**18])
    ),
    "a dictionary in a struct": pa.StructArray.from_arrays(
        [pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int8()), LONG)], ["s"]
    ),
}


@pytest.mark.parametrize("kind", SHARED)
def test_rows_that_share_a_long_value_are_counted_whole(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.arrow"
    write_rows(pa.table({"s": SHARED[kind]}), path)
    assert path.stat().st_size < 2**23
    with pytest.raises(RowsError, match=r"decode to|values, over"):
        read_rows(path)
    few = pa.table({"s": SHARED[kind].slice(0, 2)})
    write_rows(few, path)
    assert read_rows(path).num_rows == 2


@pytest.mark.parametrize("nested", [False, True])
def test_a_name_that_is_no_text_is_refused(tmp_path: Path, nested: bool) -> None:
    path = tmp_path / "rows.arrow"
    held = pa.array([1])
    write_rows(pa.table({"NAME": held} if not nested else {"s": [{"NAME": 1}]}), path)
    path.write_bytes(path.read_bytes().replace(b"NAME", b"N\xff\xfeE"))
    with pytest.raises(RowsError, match="cannot be read"):
        read_rows(path)


def test_a_verdict_holds_no_more_of_an_answer_than_results_can() -> None:
    names = [f"c{n}" for n in range(300_000)]
    verdict = Verdict(Outcome.FAIL, ", ".join(names), details=(", ".join(names), *names))
    assert len(verdict.message) + sum(map(len, verdict.details)) < 2**20
    assert verdict.details[-1] == "… 299802 more lines"
    assert replace(verdict, message="m").details == verdict.details
