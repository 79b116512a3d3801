"""Results that were cut or altered anywhere, or forged, are refused."""

from __future__ import annotations

import hashlib
import html
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.base.status import Status
from conformance.cli import main
from conformance.report.results import ResultsError, ResultsWriter, read_results

Lines = list[dict[str, Any]]


def record(identity: str, outcome: str) -> dict[str, Any]:
    texts = dict.fromkeys(("message", "title", "expected", "actual"), "")
    none = dict.fromkeys(("hazard", "requirement", "seen", "fault", "stale"))
    lists: dict[str, list[str]] = {"features": [], "details": [], "unclaimed": []}
    more = {"requirements": ["REC-001"], "source": "golden", "chapter": "log", "standing": "new"}
    found = {"id": identity, "outcome": outcome, **texts, **none, **lists, **more}
    found["intermittent"] = False
    return {**found, "hazard": "cosmetic", "message": "rows"} if outcome == "fail" else found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    sets = ("reader_features", "writer_features", "operations", "capabilities")
    claims: dict[str, list[str]] = {name: [] for name in sets}
    header = {
        "kit_version": "0.1.0",
        "corpus_digest": "d",
        "revision": "upstream",
        "impl": "mine",
        "adapter": {"name": "mine", "adapter_version": "1", "engine_version": "1.2"},
        "claims": {"reader_version": 1, "writer_version": 2, **claims},
        "selection": {},
        "cases": 3,
        "selected": 3,
    }
    with ResultsWriter(path) as writer:
        writer.begin(header)
        for name, outcome in (("a", "pass"), ("b", "fail"), ("c", "unsupported")):
            writer.add(record(f"log/{name}/read", outcome))
        writer.close(1, ())
    return path


def refused(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    try:
        read_results(path)
    except ResultsError:
        return True
    return False


def test_what_was_written_is_read(path: Path) -> None:
    assert len(read_results(path).records) == 3


def test_a_file_that_is_cut_anywhere_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    # A last newline says nothing.
    ends = range(0, len(whole) - 1, 7)
    assert [end for end in ends if not refused(path, whole[:end])] == []
    path.write_bytes(whole[:-30])
    with pytest.raises(ResultsError, match="line 5 ends in its middle: the run did not end"):
        read_results(path)


def test_a_byte_that_is_altered_anywhere_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    altered = (
        (at, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for at in range(0, len(whole) - 1, 5)
    )
    assert [at for at, data in altered if not refused(path, data)] == []


def _footer(**changes: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:-1], {**lines[-1], **changes}]


def _without_failures(lines: Lines) -> Lines:
    return [line for line in lines if line.get("outcome") != "fail"]


FORGED: dict[str, Callable[[Lines], Lines]] = {
    "failures left out": _without_failures,
    "failures left out and counted so": lambda lines: _footer(
        records=2, counts={"pass": 1, "unsupported": 1}, judged=1, status=0
    )(_without_failures(lines)),
    "a record doubled": lambda lines: [lines[0], lines[1], *lines[1:]],
    "a record doubled and counted": lambda lines: _footer(
        records=4, counts={"pass": 2, "fail": 1, "unsupported": 1}, judged=3
    )([lines[0], lines[1], *lines[1:]]),
    "a failure that passes": lambda lines: [
        {**line, "outcome": "pass", "hazard": None} if line.get("outcome") == "fail" else line
        for line in lines
    ],
    "more judged than there are": _footer(judged=3),
    "all well": _footer(status=0),
    "all well, though nothing was judged": lambda lines: _footer(
        status=0, counts={"unsupported": 3}, judged=0
    )(
        [
            {**line, "outcome": "unsupported", "hazard": None} if "outcome" in line else line
            for line in lines
        ]
    ),
    "two headers": lambda lines: [lines[0], *lines],
    "two footers": lambda lines: [*lines, lines[-1]],
    "a footer in the middle": lambda lines: [*lines[:2], lines[-1], *lines[2:]],
    "complete and partial": _footer(complete=False),
    "fewer cases than are selected": lambda lines: [{**lines[0], "cases": 2}, *lines[1:]],
}
"""Forgeries whose digest is right."""


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_contradicts_itself(path: Path, name: str) -> None:
    lines = FORGED[name]([json.loads(line) for line in path.read_text().splitlines()])
    assert refused(path, _sealed(lines))


def test_the_forger_knows_how_to_seal(path: Path) -> None:
    """Else the test before would hold whatever is forged."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert not refused(path, _sealed(lines))


def _sealed(lines: Lines) -> bytes:
    """Write lines with the digest that a run would give them."""
    body = b"".join(_line(line) for line in lines[:-1])
    footer = {key: value for key, value in lines[-1].items() if key != "digest"}
    digest = hashlib.sha256(body + _line(footer)).hexdigest()
    return body + _line({**footer, "digest": f"sha256:{digest}"})


def _line(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False) + "\n").encode()


JUNK: dict[str, Any] = {
    "null": None,
    "a negative number": -1,
    "a number without end": 10**399,
    "a fraction": 1.5,
    "a text": "../../x\0\x1b[2J",
    "digits": "9" * 5000,
    "a list": [[{"a": [1]}]],
    "an empty list": [],
    "an object": {"a": {}},
    "true": True,
}


def _with(lines: Lines, at: int, keys: tuple[str, ...], junk: Any) -> Lines:
    made = json.loads(json.dumps(lines))
    inner = made[at]
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    inner[keys[-1]] = junk
    return made


def _places(lines: Lines) -> Iterator[tuple[int, tuple[str, ...]]]:
    for at in (0, 2, -1):
        for key, value in lines[at].items():
            yield at, (key,)
            for inner in value if isinstance(value, dict) else ():
                yield at, (key, inner)
    yield 0, ("claims", "more")
    yield 0, ("selection", "strict")
    for key in ("number", "of", "selected"):
        yield 0, ("shard", key)


@pytest.mark.parametrize("kind", JUNK)
def test_junk_in_any_place_is_refused_or_shown(
    path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing raises, in any of the commands that read results."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["shard"] = {"number": 1, "of": 2, "selected": 3}
    whole, bad, page = (path.with_name(name) for name in ("whole", "bad", "page"))
    whole.write_bytes(_sealed(lines))
    for at, keys in _places(lines):
        bad.write_bytes(_sealed(_with(lines, at, keys, JUNK[kind])))
        results = {
            main(["report", str(bad), f"--output={page}"]),
            *(main(["diff", *map(str, two)]) for two in ((whole, bad), (bad, whole), (bad, bad))),
        }
        assert results <= {0, 1, 2, 3}, keys
        assert main(["merge", str(bad), f"--output={page}"]) in {*Status}, keys
        said = "".join(capsys.readouterr())
        assert not {"\x1b", "\0"} & set(said)


def test_parts_without_end_are_counted_and_not_listed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["shard"] = {"number": 3, "of": 2**63 - 1, "selected": 3}
    path.write_bytes(_sealed(lines))
    assert main(["merge", str(path), f"--output={path.with_name('whole')}"]) == 1
    assert "and 9223372036854775706 more" in capsys.readouterr().out


BOMBS: dict[str, Callable[[Lines], bytes]] = {
    "lines that are none": lambda _: b"{}\n" * 2_000_000,
    "blank lines": lambda _: b"\n" * 2_000_000,
    "a list in a line": lambda lines: _line(lines[0]) + b"[" + b"{}," * 5_000_000 + b"{}]\n",
    "counts": lambda lines: _sealed(
        _footer(counts=dict.fromkeys(map(str, range(10**5)), 1))(lines)
    ),
    "many sets": lambda lines: (
        _sealed([{**lines[0], "selection": {"x": [{}] * 4999}}, *lines[1:]]) * 1001
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_file_takes_no_more_memory_than_results_do(path: Path, kind: str) -> None:
    content = BOMBS[kind]([json.loads(line) for line in path.read_text().splitlines()])
    tracemalloc.start()
    try:
        assert refused(path, content)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100 * 2**20


HIDING = ("\x1b[2J", "\x9b2J", "\0", "a\u202ecba", "a\u2066b", "a\u200bb", "\ufeff", "\u2028")


@pytest.mark.parametrize("text", HIDING, ids=ascii)
def test_a_forged_text_hides_and_turns_nothing(
    path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["adapter"]["engine_version"] = text
    for name in ("message", "title", "expected", "actual", "chapter"):
        lines[2][name] = text
    path.write_bytes(_sealed(lines))
    lines[2]["outcome"], lines[2]["hazard"] = "pass", None
    lines[-1]["counts"] = {"pass": 2, "unsupported": 1}
    other = path.with_name("other.jsonl")
    other.write_bytes(_sealed(lines))
    page = path.with_name("page.html")
    assert main(["report", str(path), f"--output={page}"]) == 0
    assert main(["diff", str(other), str(path), "--format=markdown"]) == 1
    written = page.read_text() + html.unescape(capsys.readouterr().out)
    assert text.encode("unicode_escape").decode() in written
    assert not {*text}.difference("[2Jabc").intersection(written)
