"""Golden cases that a reader of one particular fault answers wrongly, by the kind of fault."""

from __future__ import annotations

from generators.golden.chapters.reading import (
    bounds,
    changed_after,
    elsewhere,
    feed_times,
    left_out,
    mapped_names,
    summarised,
    texts,
)

__all__ = ["MODULES"]

MODULES = (changed_after, mapped_names, bounds, texts, feed_times, left_out, elsewhere, summarised)
