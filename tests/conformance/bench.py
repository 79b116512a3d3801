"""Judge the specs of one case by a scripted adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes import EVERYTHING, Told
from tiny import write_case

from conformance.adapter import Claims
from conformance.base.limits import InProcessLimit
from conformance.base.outcomes import Verdict
from conformance.golden.corpus import load_corpus
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore


class Bench:
    """Judge the specs of one case as the scripted adapter answers them."""

    def __init__(self, folder: Path, store: TableStore) -> None:
        self.folder = folder
        self.store = store
        self.adapter = Told(EVERYTHING)
        self.roots: set[str] | None = None

    def __call__(
        self,
        spec: dict[str, Any] | dict[str, dict[str, Any]],
        answers: dict[str, Any] | None = None,
        claims: Claims = EVERYTHING,
        **case: Any,
    ) -> Verdict:
        specs = {"q": spec} if "type" in spec else spec
        write_case(self.folder, "chapter/case", specs, answers, **case)
        (loaded,) = load_corpus(self.folder).cases
        limit = InProcessLimit(0.5)
        judge = Judge(self.adapter, claims, self.store, limit, self.roots)
        last = max(loaded.specs, key=lambda item: item.id)
        return judge.judge(loaded, last)
