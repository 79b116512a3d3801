"""Keep what fails on a drawn history: shrink it, and write a bundle of it.

See ``docs/formats.md``, "Bundles".
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from conformance.adapter import Adapter, Answer, Description, Ok, Request, Scan, Write
from conformance.base.home import kit_version
from conformance.base.outcomes import FAILING, Verdict
from conformance.items.items import HistoryItem, Item
from conformance.judging.judge import Judge
from conformance.replay.bundle import Contents, write_bundle
from conformance.replay.shrink import Limit, Shrunk, shrink, way_of
from generators.oracle.operations import History

_MAX_BUNDLES: Final = 50
"""Bundles that one process writes; a run of hundreds of failures has something in common."""

_TOGETHER: Final = 300.0
"""Seconds that one process shrinks in all."""


@dataclass(slots=True)
class _Recorder:
    """An adapter that remembers what it was asked and answered last."""

    adapter: Adapter
    request: Request | None = None
    answer: Answer | None = None

    def describe(self) -> Description:
        return self.adapter.describe()

    def run(self, request: Request) -> Answer:
        self.request, self.answer = request, None
        self.answer = self.adapter.run(request)
        return self.answer

    def close(self) -> None:
        self.adapter.close()


@dataclass(slots=True)
class Keeper:
    """Write bundles below a folder.

    Args:
        folder: made when the first bundle is.
        description: who is judged.
        limit: how much may be tried to make one failure small.
    """

    folder: Path
    description: Description
    limit: Limit = field(default_factory=Limit)
    _left: float = _TOGETHER
    _kept: int = 0

    def keep(self, item: Item, judge: Judge, verdict: Verdict) -> str:
        """Keep a failure of an item about a history and say where, or why it was not kept."""
        about = item.history
        assert about is not None
        if self._kept >= _MAX_BUNDLES:
            return f"not kept: {_MAX_BUNDLES} bundles were written before"
        target = self.folder / item.id.removeprefix("generated/").replace("/", "-")
        try:
            write_bundle(target, self._contents(item, about, judge, verdict))
        except Exception as error:  # noqa: BLE001  what cannot be kept costs no verdict
            return f"not kept: {type(error).__name__}: {error}"
        self._kept += 1
        return f"bundle: {target}"

    def _contents(self, item: Item, about: HistoryItem, judge: Judge, verdict: Verdict) -> Contents:
        first = about.drawn.load()
        shrunk = self._shrunk(about, judge, first, verdict)
        recorder = _Recorder(judge.adapter)
        again = about.judge_history(replace(judge, adapter=recorder), shrunk.history)
        if again.outcome in FAILING and way_of(again) == way_of(verdict):
            verdict = again
        else:
            # It comes and goes: keep what was seen, as it was seen.
            shrunk = replace(shrunk, history=first, ended=False)
        return Contents(
            {
                "format": 1,
                "kit_version": kit_version(),
                "implementation": self.description.stamp,
                "case": item.id,
                "kind": about.drawn.kind,
                "layout": about.layout.name if about.layout else None,
                "features": sorted(item.features),
                "requirements": list(item.requirements),
                "verdict": verdict.as_document(),
                "shrinking": {
                    "operations": [len(first), len(shrunk.history)],
                    "asked": shrunk.asked,
                    "ended": shrunk.ended,
                },
                "table_sha256": None,
            },
            shrunk.history,
            Path(recorder.request.table) if isinstance(recorder.request, Write) else None,
            _rows(recorder),
        )

    def _shrunk(self, about: HistoryItem, judge: Judge, first: History, verdict: Verdict) -> Shrunk:
        limit = replace(self.limit, seconds=min(self.limit.seconds, self._left))
        begun = time.monotonic()
        try:
            return shrink(first, lambda h: about.judge_history(judge, h), way_of(verdict), limit)
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - begun))


def _rows(recorder: _Recorder) -> pa.Table | None:
    match recorder.request, recorder.answer:
        case Scan(), Ok(pa.Table() as rows):
            return rows
    return None
