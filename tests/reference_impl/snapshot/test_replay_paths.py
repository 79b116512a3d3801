"""Paths compared by numbers are equal, found and repeated just as their texts are."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.snapshot import paths as replay_paths
from reference_impl.snapshot.paths import Paths, PathSet, fingerprints

SHORT = st.lists(st.sampled_from(["x", "é", "%20", "%"]), min_size=1, max_size=3).map("".join)
TEXTS = st.lists(SHORT | st.text("yz", min_size=5, max_size=70), max_size=30)
LONG = "year=2024/month=01/part-00000-7c1a5bd0-{}-c000.snappy.parquet"


def _paths(texts: list[str], pieces: int = 1) -> Paths:
    step = -(-len(texts) // pieces) or 1
    chunks = [pa.array(texts[at : at + step], pa.string()) for at in range(0, len(texts), step)]
    return Paths.of(chunks)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 3))
def test_a_set_holds_the_paths_that_it_was_given(
    given: list[str], asked: list[str], pieces: int
) -> None:
    held, looked_up = _paths(given, pieces), _paths(asked + given[:2], pieces)
    known = set(held.texts.to_pylist())
    expected = [row for row, text in enumerate(looked_up.texts.to_pylist()) if text in known]
    assert PathSet(held).rows(looked_up).to_pylist() == expected


@settings(derandomize=True, max_examples=150, deadline=None)
@given(TEXTS)
def test_paths_are_distinct_when_their_texts_are(texts: list[str]) -> None:
    paths = _paths(texts, 2)
    plain = paths.texts.to_pylist()
    assert paths.all_distinct() == (len(set(plain)) == len(plain))
    assert paths.repeated().tolist() == [plain.count(text) > 1 for text in plain]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(TEXTS, st.integers(0, 8), st.integers(0, 8))
def test_the_number_of_a_text_does_not_depend_on_its_neighbours(
    texts: list[str], before: int, after: int
) -> None:
    alone = [int(fingerprints(pa.array([text]))[0]) for text in texts]
    framed = pa.array(["x" * 9] * before + texts + ["y"] * after)
    assert fingerprints(framed.slice(before, len(texts))).tolist() == alone


@pytest.mark.parametrize(
    "texts", [["a", "aa", "aaa"], ["é", "e", ""], [LONG.format(n) for n in "12"]]
)
def test_different_texts_have_different_numbers(texts: list[str]) -> None:
    assert len(set(fingerprints(pa.array(texts)).tolist())) == len(texts)


def test_numbers_that_collide_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_paths, "_FACTOR", replay_paths.np.uint64(0))
    paths = _paths(["one/file.parquet", "two/file.parquet", "a"])
    assert len(set(paths.numbers.tolist())) == 1
    assert paths.all_distinct()
    assert paths.repeated().all()
    assert not _paths(["one/file.parquet"] * 2).all_distinct()
    assert PathSet(_paths(["two/file.parquet"])).rows(paths).to_pylist() == [1]


def test_paths_that_differ_only_at_their_begin_are_distinguished() -> None:
    paths = _paths([f"{letter}/{'x' * 100}" for letter in "abca"])
    assert not paths.all_distinct()
    assert PathSet(_paths([f"b/{'x' * 100}"])).rows(paths).to_pylist() == [1]


@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_reconciling_is_what_a_dictionary_does(
    log: Any, seed: int, collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if collide:
        monkeypatch.setattr(replay_paths, "_FACTOR", replay_paths.np.uint64(0))
    random = Random(seed)  # noqa: S311  no secret
    log.start()
    live: dict[str, int] = {}
    for version in range(1, 8):
        actions = []
        for number in random.sample(range(10), random.randrange(8)):
            name = f"part-{number:020}"
            if live.pop(name, None) is None:
                live[name] = version
                actions.append(log.add(name, size=version))
            else:
                actions.append(log.remove(name))
        log.commit(*actions)
    found = log.snapshot().adds().select(["path", "size"]).to_pylist()
    assert {row["path"]: row["size"] for row in found} == live
    assert len(found) == len(live)
