"""Which function of the generators builds a golden case.

Serves "Golden tables" of the contribution guide: a case that reads oddly leads to who wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from conformance.base.home import PROJECT
from conformance.explain.sources import SourceLine
from generators.golden.chapters import all_definitions


@cache
def builders() -> Mapping[str, SourceLine]:
    """Return where each case is built that the kit's own hands build, by its id."""
    return {each.info.id: _place(each.build) for each in all_definitions()}


def builder_of(identity: str) -> SourceLine | None:
    """Return where the table of a golden case, or of a question of it, is built."""
    known = builders()
    return known.get(identity) or known.get(identity.rpartition("/")[0])


def _place(build: Callable[..., Any]) -> SourceLine:
    while isinstance(build, partial):
        build = build.func
    code = build.__code__
    path = Path(code.co_filename).relative_to(PROJECT).as_posix()
    return SourceLine(path, code.co_firstlineno, build.__qualname__)
