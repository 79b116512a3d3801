"""Lines sorted out by their bytes are those that parsing every line finds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.log.lines import group_lines
from reference_impl.log.names import LogFile, commit_name
from reference_impl.snapshot import segment, snapshot
from reference_impl.snapshot.segment import commit_groups

FILE_ACTIONS = ("add", "remove", "cdc")
SEPARATORS = [(",", ":"), (", ", ": "), (" , ", " : "), (",", ":  ")]


def _spelled(action: str, body: Any, separators: tuple[str, str], around: str) -> bytes:
    return (around + json.dumps({action: body}, separators=separators) + around).encode()


LINES = st.builds(
    _spelled,
    st.sampled_from([*FILE_ACTIONS, "txn", "added", "commitInfo"]),
    st.sampled_from([{"path": "f"}, {"path": "é\n", "x": {}}, {}, None, "}}", {"add": {"a": {}}}]),
    st.sampled_from(SEPARATORS),
    st.sampled_from(["", "", "", " ", "\t"]),
) | st.sampled_from([b"", b"\r", b" ", b"{}", b'{"add":{}}', b'{"add":null,"cdc":{"path":"f"}}'])


LONG = b'{"commitInfo":{"text":"%s"}}' % (b"x" * 20_000)
"""A line that makes a commit large: it is gone through in another way than a small one."""


def _parsed(line: bytes) -> str | None:
    """Return the file action of a line, as parsing it says."""
    found = json.loads(line) if line.strip() else {}
    return next((n for n in FILE_ACTIONS if found.get(n) is not None), None)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=12), st.sampled_from([b"", b"\n", b"\n\n"]), st.booleans())
def test_every_line_goes_where_parsing_it_would_put_it(
    lines: list[bytes], end: bytes, large: bool
) -> None:
    lines = [*lines, *[LONG] * large]
    numbers: list[int] = []

    def other(line: bytes, number: int) -> str | None:
        numbers.append(number)
        assert line == lines[number - 1] if number <= len(lines) else not line
        return _parsed(line)

    found = group_lines(b"\n".join(lines) + end, other, files=True)
    for name in FILE_ACTIONS:
        expected = [line for line in lines if _parsed(line) == name]
        assert list(found[name]) == expected
        assert len(found[name]) == len(expected)
        assert found[name].longest == max(map(len, expected), default=0)
    assert numbers == sorted(set(numbers))
    small = [at for at, line in enumerate(lines, 1) if line.strip() and _parsed(line) is None]
    assert set(small) <= set(numbers)


@pytest.mark.parametrize("length", [1, 20_000])
@pytest.mark.parametrize("separators", SEPARATORS[:2])
@pytest.mark.parametrize("name", FILE_ACTIONS)
def test_usual_spellings_are_not_parsed_to_be_recognised(
    name: str, separators: tuple[str, str], length: int
) -> None:
    line = _spelled(name, {"path": "f" * length, "tags": {}}, separators, "")

    def other(line: bytes, _: int) -> str | None:
        raise AssertionError(line)

    assert list(group_lines(line + b"\n" + line, other, files=True)[name]) == [line, line]
    assert len(group_lines(line, other, files=False)[name]) == 0


def _files(count: int) -> tuple[LogFile, ...]:
    return tuple(LogFile(commit_name(number), "commit", number, number) for number in range(count))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3 << 20), max_size=60))
def test_groups_hold_every_commit_once_and_in_order(sizes: list[int]) -> None:
    files = _files(len(sizes))
    groups, threads = commit_groups(files, dict(enumerate(sizes)))
    assert [file for group in groups for file in group] == list(files)
    assert all(groups)
    assert threads >= 1
    for group in groups:
        assert len(group) == 1 or sum(sizes[file.version] for file in group) <= 4 << 20


def test_threads_and_groups_change_nothing(log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log.start(log.add("f0"))
    for number in range(1, 12):
        log.commit(log.add(f"f{number}", size=number), log.remove(f"f{number - 3}"))
    whole = log.snapshot().adds()
    monkeypatch.setattr(snapshot, "_CACHED_BYTES", -1)
    for threads, group in ((1, 1), (1, 1 << 30), (3, 1), (3, 1 << 30)):
        monkeypatch.setattr(segment, "MAX_THREADS", threads)
        monkeypatch.setattr(segment, "_GROUP_BYTES", group)
        monkeypatch.setattr(segment, "_MIN_THREADED_COMMITS", 1)
        read = log.snapshot()
        assert read.adds().equals(whole)
        assert sorted(read.tombstones()["path"].to_pylist()) == log.dead()


@pytest.mark.parametrize("lines", [10, 100_000])
def test_empty_lines_are_passed_over_unread(lines: int) -> None:
    asked: list[int] = []
    data = b"\n" * lines + b'{"txn":{"appId":"a","version":1}}\n' + b"\n" * lines
    group_lines(data, lambda _, number: asked.append(number), files=True)
    assert asked == [lines + 1]
