"""The corpus that is shipped, loaded once in a process; none of the tests writes to it."""

from __future__ import annotations

from functools import cache

from conformance.golden.corpus import Corpus, load_corpus


@cache
def shipped() -> Corpus:
    """Return the corpus, not validated: a test of its own does that."""
    return load_corpus(validate=False)
