"""Sentences of a protocol text reduced to digests, whatever way the text was rendered.

Covers every section: the registry keeps a digest of the sentence behind each requirement, so
that a new revision can be compared with it without a copy of the text in the repository.

A sentence is reduced to its words: letters and digits in lower case, without markup,
punctuation, quotes and link targets. Its digest is ``<number of words>:<16 hex digits>``; the
number lets an occurrence be looked for in a text that is cut into lines, bullets and table
cells in another way.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.base.untrusted import MIB, DocumentError, read_text

_MAX_TEXT_BYTES: Final = MIB
"""Bytes of a text; those of the protocol have a seventh of them."""

_NESTED_LINKS: Final = 5
"""Links within the text of links; Markdown allows a picture in one."""

_DIGITS: Final = 16
_LINK: Final = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)|\[[^\]]*\])"
)
# Only markup: placeholders as <x> are words of the text.
_TAG: Final = re.compile(
    r"<!--(?:(?!-->).)*+(?:-->)?|</?(?:a|b|br|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|sub|sup"
    r"|table|tbody|td|th|thead|tr|tt|ul)(?:\s[^<>]*)?/?>",
    re.DOTALL | re.IGNORECASE,
)
# A comment without an end reaches to the end, so that each is looked for once. Longer numbers
# and longer runs of marks are no text, and take the library an error, or time squared.
_NO_TEXT: Final = re.compile(r"&#[0-9]{8,}+;?")
_MARKS: Final = re.compile(r"([^\w\s\x00-\u02ff]{30})[^\w\s\x00-\u02ff]++")
_ESCAPE: Final = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~<])")
_LEADER: Final = re.compile(r"^[\s>|]*(?:(?:[-*+•]|[0-9]{1,2}[.)])\s+|\#{1,6}\s+)*", re.MULTILINE)
_END: Final = re.compile(r"[.!?:;][\"'\u201d\u2019)\]*_`]*\s+|[|\n]")
_CLOSING: Final = re.compile(r"[)\]'\"\u201d\u2019`*_]*[.!?:;]?")
# Letters and digits part ways, for a footnote mark sticks to its word in one rendering only.
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")


def read_protocol(path: Path) -> str:
    """Read a text of the protocol.

    Raises:
        conformance.base.untrusted.DocumentError: it is no text, or larger than any of the protocol.
    """
    try:
        return read_text(path, _MAX_TEXT_BYTES)
    except DocumentError as error:
        raise DocumentError(f"{path} {error}") from error


def words(text: str) -> list[str]:
    """Reduce a sentence to its words: lower case, letters and digits only."""
    return _WORD.findall(_plain(text))


def digest(text: str) -> str:
    """Digest a sentence; the same for every rendering of it.

    Raises:
        ValueError: the sentence has no words.
    """
    found = words(text)
    if not found:
        raise ValueError("a clause without words has no digest")
    return f"{len(found)}:{_hash(' '.join(found))}"


@dataclass(frozen=True, slots=True)
class ClauseIndex:
    """A whole text, ready to be asked whether it still holds a sentence.

    Attributes:
        text: the words of the text, joined by single spaces.
        starts: offsets in ``text`` at which each word starts, and one past the end.
        openings: positions, counted in words, at which a sentence, bullet or table cell opens.
    """

    text: str
    starts: tuple[int, ...]
    openings: frozenset[int]

    @classmethod
    def of(cls, document: str) -> ClauseIndex:
        """Index a text, Markdown or its plain rendering."""
        found: list[str] = []
        openings: set[int] = set()
        plain = _plain(document)
        position = 0
        for end in (*(match.end() for match in _END.finditer(plain)), len(plain)):
            openings.add(len(found))
            found.extend(_WORD.findall(plain, position, end))
            position = end
        starts = [0]
        for word in found:
            starts.append(starts[-1] + len(word) + 1)
        return cls(" ".join(found), tuple(starts), frozenset(openings))

    def missing(self, digests: Iterable[str]) -> frozenset[str]:
        """Return the digests of which no sentence occurs in the text."""
        wanted: dict[int, set[str]] = {}
        for value in digests:
            length, _, code = value.partition(":")
            wanted.setdefault(int(length), set()).add(code)
        absent: set[str] = set()
        last = len(self.starts) - 1
        for count, codes in wanted.items():
            windows = (
                self.text[self.starts[first] : self.starts[first + count] - 1]
                for first in self.openings
                if first + count <= last
            )
            left = codes - {_hash(window) for window in windows}
            absent.update(f"{count}:{code}" for code in left)
        return frozenset(absent)


def sentences(document: str) -> Mapping[str, str]:
    """Return every sentence, bullet and table cell of a text by its digest, as it is written."""
    plain = _unmarked(document)
    found: dict[str, str] = {}
    start = 0
    for end in (*(match.end() for match in _END.finditer(plain)), len(plain)):
        text = " ".join(plain[start:end].strip("| \n").split())
        if words(text):
            found.setdefault(digest(text), text)
        start = end
    return found


def quotes(document: str, digests: Iterable[str]) -> Mapping[str, str]:
    """Find the sentences of some digests in a text, and return them as they are written there.

    Args:
        document: the text, Markdown or its plain rendering.
        digests: as :func:`digest` gives them; those that do not occur are left out.
    """
    plain = _unmarked(document)
    tokens = [(each.group().lower(), each.start(), each.end()) for each in _WORD.finditer(plain)]
    starts = [start for _, start, _ in tokens]
    openings = {0, *(bisect_left(starts, each.end()) for each in _END.finditer(plain))}
    wanted = {value: value.partition(":") for value in digests}
    return dict(_quoted(plain, tokens, openings, wanted))


def _quoted(
    plain: str,
    tokens: list[tuple[str, int, int]],
    openings: Iterable[int],
    wanted: Mapping[str, tuple[str, str, str]],
) -> Iterator[tuple[str, str]]:
    found: set[str] = set()
    for first in sorted(openings):
        for value, (count, _, code) in wanted.items():
            window = tokens[first : first + int(count)]
            if value in found or len(window) < int(count):
                continue
            if _hash(" ".join(word for word, _, _ in window)) == code:
                found.add(value)
                tail = _CLOSING.match(plain, window[-1][2])
                end = tail.end() if tail else window[-1][2]
                yield value, " ".join(plain[window[0][1] : end].split())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _plain(text: str) -> str:
    return _unmarked(text).lower()


def _unmarked(text: str) -> str:
    bare = _TAG.sub(" ", text)
    for _ in range(_NESTED_LINKS):
        bare = _LINK.sub(r"\1", bare)
    bare = html.unescape(_NO_TEXT.sub(" ", _ESCAPE.sub(r"\1", bare)))
    return unicodedata.normalize("NFKC", _MARKS.sub(r"\1", _LEADER.sub("", bare)))
