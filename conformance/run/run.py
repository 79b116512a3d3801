"""One run: what is selected, who is judged, and the verdicts.

Pytest runs the items and carries the records; everything that the kit itself has to know about a
run is here, so that the plugin only translates.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from conformance.adapter import Adapter, Description
from conformance.base.faults import CorpusError
from conformance.base.home import kit_version
from conformance.base.limits import InProcessLimit
from conformance.base.outcomes import FAILING, Outcome, Verdict, failing
from conformance.base.status import Status
from conformance.base.terminal import one_line, printable, warn
from conformance.golden.corpus import Corpus, load_corpus
from conformance.items.generated import generated_items
from conformance.items.items import Item, golden_items
from conformance.items.mutated import judge_checksum, mutated_items
from conformance.items.recipes import generated_recipes
from conformance.judging.claims import fewer_claims, validated
from conformance.judging.judge import Judge
from conformance.judging.messages import blocking
from conformance.judging.tables import TableStore
from conformance.judging.witness import Witness
from conformance.replay.keeper import Keeper
from conformance.report.baseline import Baseline, Entry, load_baseline
from conformance.report.results import record_of
from conformance.report.share import Record, share_of
from conformance.requirements.levels import at_level
from conformance.requirements.registry import Registry, load_registry
from conformance.run.selection import select
from conformance.run.settings import Settings
from conformance.workers.resolve import alarm_of, closed, described, resolve


def all_items(corpus: Corpus, settings: Settings, registry: Registry) -> tuple[Item, ...]:
    """Return everything that can be judged: golden specs, generated layouts, mutations.

    A corpus that the options name is judged alone, and the audit only with our own reader: it is
    the kit's, not the implementation's.
    """
    audited = settings.impl == "ours"
    items = tuple(golden_items(corpus, {"checksum": judge_checksum} if audited else None))
    if settings.corpus is not None:
        return items
    mutations = mutated_items(registry, audited=audited)
    generated = (*generated_items(settings.plan), *generated_recipes(settings.plan))
    return (*items, *generated, *mutations)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A record together with what it means for the run.

    Attributes:
        record: the plain JSON record.
        failure: why the run is red because of it, ``None`` when it is not.
        known: the reason of the baseline entry that expects the failure.
    """

    record: dict[str, Any]
    failure: str | None = None
    known: str | None = None


@dataclass
class Run:
    """The selected items and the adapter to ask, started when first needed.

    Args:
        settings: the options.
        trusted: another process of this run has checked the corpus against schemas and manifest.

    Attributes:
        collected: ids of the items that are going to be asked, where pytest leaves some out.
    """

    settings: Settings
    trusted: bool = False
    collected: frozenset[str] | None = field(default=None, init=False)
    _adapter: Adapter | None = field(default=None, init=False)
    _judge: Judge | None = field(default=None, init=False)
    _keeper: Keeper | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Load and select.

        Raises:
            KitError: something named by the options is missing or malformed.
        """
        self.registry: Registry = load_registry()
        self.corpus: Corpus = load_corpus(
            self.settings.corpus,
            # The kit's own tests check the shipped corpus against its schemas.
            validate=self.settings.corpus is not None and not self.trusted,
            wanted=self.settings.selection.reaches if self.settings.corpus is None else None,
        )
        self.baseline: Baseline = (
            load_baseline(self.settings.baseline) if self.settings.baseline else Baseline()
        )
        self.items = all_items(self.corpus, self.settings, self.registry)
        self.ids = (*(item.id for item in self.items), *self.corpus.unread)
        self.selected = select(
            self.settings.selection, self.items, self.registry, self.corpus.unread
        )
        self.asked = len(self.selected)
        if self.settings.shard is not None:
            self.selected = self.settings.shard.of(self.selected)
        asked = set() if self.trusted else {item.id.rpartition("/")[0] for item in self.selected}
        self._marks = self.corpus.marks(asked)
        self.corpus.refuse_altered(asked)

    def refuse_written(self) -> None:
        """Refuse cases that were written to since the run began.

        Raises:
            CorpusError: a case was.
        """
        now = self.corpus.marks(self._marks)
        for name in sorted(name for name, mark in self._marks.items() if now[name] != mark):
            raise CorpusError(
                self.corpus.root / name,
                "it was written to, or its files were linked to, since the run began",
            )

    def of_source(self, source: str) -> list[Item]:
        """Return the selected items of one source."""
        return [item for item in self.selected if item.source == source]

    @cached_property
    def description(self) -> Description:
        """The implementation that is judged.

        Raises:
            AdapterStartError: the adapter does not come up.
        """
        if self._adapter is None:
            self._adapter = self._resolve(self.settings.impl)
        return validated(described(self._adapter, self.settings.limits))

    @cached_property
    def witness(self) -> Witness | None:
        """Return the other implementation that reads what recipes leave, where one is named.

        Raises:
            AdapterStartError: it does not come up.
        """
        name = self.settings.witness
        if name is None:
            return None
        adapter, limits = self._resolve(name), self.settings.limits
        return Witness(adapter, described(adapter, limits), alarm_of(adapter, limits.request))

    def _resolve(self, name: str) -> Adapter:
        return resolve(name, self.settings.limits, self.settings.isolation)

    @property
    def judge(self) -> Judge:
        """Return the judge of this process."""
        if self._judge is None:
            claims = self.description.claims
            assert self._adapter is not None
            self._judge = Judge(
                self._adapter,
                claims,
                TableStore(),
                alarm_of(self._adapter, self.settings.limits.request),
                self._roots(),
                self.witness,
                self.settings.selection.revision,
            )
        return self._judge

    def _roots(self) -> frozenset[str]:
        """Return the items that may block others: those that are asked, and that can fail.

        Advice is no failure, and no MUST may go unjudged behind it.
        """
        revision = self.settings.selection.revision
        musts = {row.id for row in self.registry if row.level == "MUST"}
        return frozenset(
            item.id
            for item in self.selected
            if item.requirement(revision) in musts
            and (self.collected is None or item.id in self.collected)
        )

    def header(self) -> dict[str, Any]:
        """Return the stamp of this run's results."""
        who = self.description
        shard = self.settings.shard
        part = {} if shard is None else {"shard": shard.as_document(self.asked)}
        return {
            **part,
            "kit_version": kit_version(),
            "corpus_digest": self.corpus.digest,
            "revision": self.settings.selection.revision,
            "impl": self.settings.impl,
            "adapter": who.stamp,
            "claims": who.claims.as_document(),
            "selection": self.settings.as_document(),
            "cases": len(self.ids),
            "selected": len(self.selected),
        }

    def judge_item(self, item: Item) -> Judgement:
        """Judge one item and check the verdict against the baseline; never raises."""
        with self.judge.limit.about(item.id):
            verdict = verdict_at_level(item, self.judge, self.registry)
            return self._with_bundle(item, verdict, self._against_baseline(item, verdict))

    def _with_bundle(self, item: Item, verdict: Verdict, judgement: Judgement) -> Judgement:
        """Keep a bundle of a new failure on a drawn history, and say where it is."""
        new = verdict.outcome in self.failing and judgement.record["standing"] == "new"
        if not new or item.history is None or self.settings.bundles is None:
            return judgement
        if self._keeper is None:
            self._keeper = Keeper(self.settings.bundles, self.description)
        judgement.record["details"].insert(0, self._keeper.keep(item, self.judge, verdict))
        return judgement

    def _against_baseline(self, item: Item, verdict: Verdict) -> Judgement:
        if verdict.outcome is Outcome.BLOCKED and self._by_chance(blocking(verdict.message)):
            return Judgement(record_of(item, verdict, "new", intermittent=True))
        entries = self.baseline.about(item.id)
        failed = verdict.outcome in self.failing
        if not entries:
            failure = verdict.message if failed else None
            return Judgement(record_of(item, verdict, "new"), failure)
        named = {*item.requirements, verdict.requirement}
        requirements = [name for name in named if name]
        for entry in entries:
            if failed and entry.explains(requirements, verdict.message):
                record = record_of(item, verdict, "known", intermittent=entry.intermittent)
                return Judgement(record, known=entry.reason)
        if not failed and self._by_chance(item.id):
            asked = verdict.outcome is not Outcome.UNSUPPORTED
            return Judgement(record_of(item, verdict, "new", intermittent=asked))
        what = _disagreement(entries[0], requirements, verdict, failed=failed)
        return Judgement(record_of(item, verdict, "stale", what), f"stale baseline: {what}")

    def _by_chance(self, name: str) -> bool:
        """Return whether the baseline lets an item pass and fail."""
        entries = self.baseline.about(name)
        return bool(entries) and all(entry.intermittent for entry in entries)

    @property
    def failing(self) -> frozenset[Outcome]:
        """The outcomes that fail at the level of this run."""
        return failing(self.settings.strict)

    def stale_entries(self) -> list[str]:
        """Name the baseline entries that no item has.

        Raises:
            BaselineError: an entry stands for more items than one may.
        """
        return self.baseline.check(self.ids)

    def shortfalls(self, records: Sequence[Record], *, whole: bool) -> list[str]:
        """Return where less was claimed or judged than the baseline and the options ask for.

        Args:
            records: every judged item.
            whole: every item of the selection has a record.
        """
        found = []
        share = share_of(records, len(self.selected))
        least = self.settings.min_judged
        if least is not None and share.percent < least:
            found.append(f"{share}, and --tck-min-judged asks for {least:g} %")
        if self.baseline.claims is not None:
            lost = fewer_claims(self.baseline.claims, self.description.claims.as_document())
            found += [f"the baseline has a claim that is made no longer: {each}" for each in lost]
        if whole and not self.settings.narrowed:
            revision = self.settings.selection.revision
            found += self.baseline.shortfalls(records, len(self.selected), revision)
        return found

    def close(self) -> None:
        """Release the adapter and the copies of tables."""
        if self._judge is not None:
            self._judge.store.close()
            self._judge = None
        if self._adapter is not None:
            _close(self._adapter.close, alarm_of(self._adapter, self.settings.limits.request))
            self._adapter = None
        witness = self.__dict__.pop("witness", None)
        if witness is not None:
            _close(witness.close, witness.limit)


def _close(close: Callable[[], None], limit: InProcessLimit) -> None:
    """Let an adapter release what it holds; what goes wrong there changes no verdict."""
    fault = closed(close, limit)
    if fault is not None:
        warn(f"delta-tck: {one_line(fault)}")


def verdict_at_level(item: Item, judge: Judge, registry: Registry) -> Verdict:
    """Judge one item by the revision of a judge; never raises.

    The verdict can be printed, and its outcome goes by the level of the requirement that is broken.
    """
    judged = item.requirement(judge.revision)
    try:
        verdict = item.judge(judge)
    except CorpusError as error:
        verdict = Verdict(Outcome.ERROR, f"corpus: {error}")
    except Exception as error:  # noqa: BLE001  a fault of the kit costs one case as well
        message = f"kit fault: {type(error).__name__}: {error}"
        trace = tuple(traceback.format_exception(error))
        verdict = Verdict(Outcome.ERROR, message, actual=message, details=trace)
    if judged is not None:
        verdict = at_level(verdict, judged, item.judged.asked, registry, judge.revision)
    return _printable(verdict)


def _printable(verdict: Verdict) -> Verdict:
    """Return a verdict that can be printed and written, whatever engines and tables say in it."""
    return replace(
        verdict,
        message=printable(verdict.message),
        expected=printable(verdict.expected),
        actual=printable(verdict.actual),
        details=tuple(map(printable, verdict.details)),
    )


def _disagreement(
    entry: Entry, requirements: Sequence[str], verdict: Verdict, *, failed: bool
) -> str:
    """Return why an entry does not explain the outcome of its item."""
    if not failed:
        return f"{entry.place} expects a failure, and the outcome is {verdict.outcome}"
    if entry.matches(verdict.message):
        named = ", ".join(sorted(requirements))
        return f"{entry.place} names {entry.requirement}, and the failure is about {named}"
    return f"{entry.place} expects another failure: {entry.message!r}; {verdict.message}"


def rootless(records: Iterable[Record]) -> list[str]:
    """Name the items that are blocked by one that is not there, or did not fail.

    As where an adapter fails at some times only, and two processes judge: it would stay unseen.
    """
    found = list(records)
    failed = {record["id"] for record in found if record["outcome"] in FAILING}
    blocked = (record for record in found if record["outcome"] == Outcome.BLOCKED)
    return [str(each["id"]) for each in blocked if blocking(each["message"]) not in failed]


def status_of_run(
    records: Sequence[Record],
    stale_entries: Iterable[str],
    unrecorded: int,
    shortfalls: Iterable[str],
    strict: str | None,
) -> Status:
    """Return the status of a run that came to its end.

    Args:
        records: every judged item.
        stale_entries: baseline entries that match nothing.
        unrecorded: items that failed without a record, as when a test process died.
        shortfalls: where less was claimed or judged than was asked for.
        strict: the level of ``--tck-strict``.
    """
    if not records and not unrecorded:
        return Status.EMPTY_SELECTION
    new = {str(record["outcome"]) for record in records if record["standing"] == "new"}
    if new & failing(strict) - {Outcome.ERROR}:
        return Status.NONCONFORMANT
    if Outcome.ERROR in new or unrecorded or rootless(records):
        return Status.ERRORS
    if any(stale_entries) or any(record["standing"] == "stale" for record in records):
        return Status.STALE_BASELINE
    if not share_of(records).judged:
        return Status.NOTHING_JUDGED
    return Status.TOO_FEW_JUDGED if any(shortfalls) else Status.OK
