"""A sentence has one digest, whatever way the text around it is rendered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

from conformance.requirements.clauses import ClauseIndex, digest, quotes, sentences, words

PLAIN = "Every box in the `toy_room` must carry a label (see it), e.g. red."


@pytest.mark.parametrize(
    "rendering",
    [
        "every box in the toy_room must carry a label (see it), e.g. red",
        "- Every box in the <code>toy_room</code> **must** carry a label (see [it](#x)), e.g. red.",
        "  3. Every box\n   in the toy_room _must_ carry a label (see it), e.g. &quot;red&quot;.",
        "> Every box in the toy\\_room must carry a label (see [it][1]), e.g. “red”.",
        "Every box in the `toy_room` | must carry a label<br>(see it), | e.g. red |",
    ],
)
def test_renderings_of_a_sentence_agree(rendering: str) -> None:
    assert digest(rendering) == digest(PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("must", "should"),
        PLAIN.replace("a label", "no label"),
        PLAIN.replace("red", "blue"),
        PLAIN.replace("Every box in the `toy_room`", "In the `toy_room` every box"),
    ],
)
def test_a_reworded_sentence_differs(other: str) -> None:
    assert digest(other) != digest(PLAIN)


def test_a_digest_says_how_many_words_it_stands_for() -> None:
    assert digest("Two words.").startswith("2:")
    assert words("n.checkpoint.<u>.json, size1") == ["n", "checkpoint", "u", "json", "size", "1"]


@pytest.mark.parametrize("nothing", ["", " -- ", "<br>", "| | |"])
def test_what_has_no_words_has_no_digest(nothing: str) -> None:
    with pytest.raises(ValueError, match="without words"):
        digest(nothing)


def test_a_sentence_is_found_where_it_opens() -> None:
    text = "# Toys\n\nA ball rolls. *A box stands.* Note:\n\n* A doll | sits.\n"
    present = {digest("A ball rolls."), digest("a box stands"), digest("A doll sits")}
    assert ClauseIndex.of(text).missing(present) == frozenset()


def test_a_sentence_that_is_gone_is_missing() -> None:
    text = "A ball rolls. A box stands."
    gone = {digest("A doll sits."), digest("A ball rolls. A box stands. A doll sits.")}
    assert ClauseIndex.of(text).missing(gone | {digest("A ball rolls.")}) == gone


def test_an_empty_text_holds_nothing() -> None:
    assert ClauseIndex.of("").missing([digest("A ball rolls.")]) == {digest("A ball rolls.")}


@profile("gate")
@given(st.lists(st.text("abc XYZ_*`", min_size=1).filter(words), min_size=1, max_size=8))
def test_every_sentence_of_a_list_is_found(sentences: list[str]) -> None:
    text = "\n".join(f"* {sentence.strip()}." for sentence in sentences)
    assert ClauseIndex.of(text).missing(map(digest, sentences)) == frozenset()


def test_a_sentence_is_found_again_as_it_is_spelled() -> None:
    text = "* A `Ball` must be **round**\n  and [red](colours.md). Boxes stand.\n| x | Y z |\n"
    ball, cell = digest("a ball must be round and red"), digest("y z")
    assert quotes(text, [ball, cell, digest("nothing of it")]) == {
        ball: "A `Ball` must be **round** and red.",
        cell: "Y z",
    }


def test_sentences_of_a_text_are_known_by_digest() -> None:
    found = sentences("One is red. Two are blue.\n\n- Three!\n")
    assert list(found.values()) == ["One is red.", "Two are blue.", "Three!"]
    assert digest("two are blue") in found
